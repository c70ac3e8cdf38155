"""Tables of functions at the top of a file, such as a registry that decorators fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import AssignmentStmt, Decorator, NameExpr
from mypy.types import CallableType, Instance, get_proper_type

from tapegrad.mypy.ownership import classes
from tapegrad.mypy.ownership.carriers import is_container
from tapegrad.mypy.ownership.decorators import decorator_names

if TYPE_CHECKING:
    from mypy.nodes import Var
    from mypy.types import Type

    from tapegrad.mypy.ownership.state import State
    from tapegrad.mypy.ownership.walk import Walk


def fill(walk: Walk, table: Var, t: Type | None, state: State) -> None:
    """Let a table of the file hold its functions, which the code of the module has added before anything is called."""
    if not _holds_functions(t) or table.fullname != f"{walk.api.tree.fullname}.{table.name}":
        return
    for statement in walk.api.tree.defs:
        if isinstance(statement, AssignmentStmt):
            if any(isinstance(one, NameExpr) and one.node is table for one in statement.lvalues):
                walk.through(statement, state)
        elif isinstance(statement, Decorator) and table.name in decorator_names.of(statement):
            classes.function_named(walk, statement, statement, state)


def _holds_functions(t: Type | None) -> bool:
    p = get_proper_type(t) if t is not None else None
    if not isinstance(p, Instance) or not is_container(p) or not p.args:
        return False
    return isinstance(get_proper_type(p.args[-1]), CallableType)
