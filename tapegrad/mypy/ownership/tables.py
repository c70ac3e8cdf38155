"""Tables of functions at the top of a file, such as a registry or an event bus that decorators fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import AssignmentStmt, Decorator, MypyFile, NameExpr
from mypy.types import CallableType, Instance, get_proper_type

from tapegrad.mypy.ownership import classes
from tapegrad.mypy.ownership.carriers import is_container
from tapegrad.mypy.ownership.decorators import decorator_names
from tapegrad.mypy.ownership.state import NOTHING, Ref
from tapegrad.mypy.scopes.names import ScopeCache

if TYPE_CHECKING:
    from mypy.nodes import Node, Var
    from mypy.types import Type

    from tapegrad.mypy.ownership.state import State
    from tapegrad.mypy.ownership.walk import Walk


def fill(walk: Walk, table: Var, t: Type | None, state: State) -> None:
    """Let a table of the file hold its functions, which the code of the module has added before anything is called."""
    if table.fullname != f"{walk.file.fullname}.{table.name}" or not (
        _holds_functions(t) or (_is_object(walk, t) and table.name in _registering.of(walk.file))
    ):
        return
    for statement in walk.file.defs:
        if isinstance(statement, AssignmentStmt):
            if any(isinstance(one, NameExpr) and one.node is table for one in statement.lvalues):
                walk.through(statement, state)
        elif isinstance(statement, Decorator) and table.name in decorator_names.of(statement):
            classes.function_named(walk, statement, statement, state)
    for one in state.held.get(("name", table), NOTHING):
        if isinstance(one, Ref):
            state.forget_constants(one)  # other functions may have bound its attributes since


def _names_in_decorators(file: Node | None) -> set[str]:
    """Return the names that decorators at the top of a file use."""
    decorated = [one for one in file.defs if isinstance(one, Decorator)] if isinstance(file, MypyFile) else []
    return {name for one in decorated for name in decorator_names.of(one)}


_registering = ScopeCache(_names_in_decorators)


def _is_object(walk: Walk, t: Type | None) -> bool:
    p = get_proper_type(t) if t is not None else None
    return isinstance(p, Instance) and p.type in classes.in_file(walk)


def _holds_functions(t: Type | None) -> bool:
    p = get_proper_type(t) if t is not None else None
    if not isinstance(p, Instance) or not is_container(p) or not p.args:
        return False
    return isinstance(get_proper_type(p.args[-1]), CallableType)
