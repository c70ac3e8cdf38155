"""Run the walk over a function, a method or the code of a module after mypy has checked it.

mypy has no hook for that. So at the first call in a unit, a function is scheduled that mypy checks in its next pass.
It consists of one call, whose hook runs the walk: every expression of the unit has a type by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import AssignmentStmt, Decorator, FuncDef, FuncItem, MypyFile, NameExpr, Node, SuperExpr
from mypy.types import CallableType

from tapegrad.mypy.mypy_api import (
    BodiesRead,
    can_report,
    checked_file,
    names_used,
    outermost_scope,
    schedule,
    scheduled_unit,
    store_types,
)
from tapegrad.mypy.ownership.consumed import is_consumed
from tapegrad.mypy.ownership.decorators import decorator_names
from tapegrad.mypy.scopes.names import ScopeCache, inside

if TYPE_CHECKING:
    from mypy.nodes import SymbolNode

    from tapegrad.mypy.mypy_api import Checker

CONSUMERS = frozenset({"backward", "execute", "traced"})
ANY = "(any)"  # a method consumes a tape that no name calls, such as `__exit__`
_CONSTRUCTORS = frozenset({"__init__", "__post_init__", "__new__"})


def note_call(api: Checker, declared: CallableType | None) -> None:
    """Schedule the walk over the unit that is being checked, if a tape may be consumed in it."""
    if BodiesRead.depth:
        return
    names = _consuming.of(checked_file(api))
    consumes = declared is not None and _consumes(declared)
    if (consumes or names) and can_report(api):
        unit = outermost_scope(api)
        if consumes or ANY in names or not names.isdisjoint(_names_used.of(unit)):
            schedule(api, unit)


def _consumes(declared: CallableType) -> bool:
    """Return whether a function consumes a parameter; cached, because each call asks."""
    function = declared.definition
    written = function.type if isinstance(function, FuncDef) else declared
    if not isinstance(written, CallableType):
        return any(map(is_consumed, declared.arg_types))
    known, consumes = _answers.get(function, (None, False))
    if known is not written:  # the daemon has read the file again
        known, consumes = written, any(map(is_consumed, written.arg_types))
        _answers[function] = known, consumes
    return consumes


_answers: dict[SymbolNode | None, tuple[CallableType | None, bool]] = {}


def walk_over(api: Checker, call: Any) -> None:
    """Walk over the unit for which mypy checks the scheduled call."""
    unit = scheduled_unit(api, call)
    if unit is not None:
        from tapegrad.mypy.ownership.unit import UnitWalk  # most programs consume no tape

        store_types(api)
        UnitWalk(api, unit).run()


def _consuming_names(file: Node | None) -> frozenset[str]:
    """Return the methods that consume a tape and are called in a file, and its functions that may call them."""
    if not isinstance(file, MypyFile):
        return frozenset()
    found = {*CONSUMERS & _names_in(file)}
    if not found:
        return frozenset()
    used: dict[str, set[str]] = {}
    in_tables: dict[str, set[str]] = {}
    for function in inside(file):
        if isinstance(function, FuncItem):
            used.setdefault(_called_as(function), set()).update(_names_in(function))
        elif isinstance(function, AssignmentStmt):  # such as `run = partial(step, scale=2.0)`
            for target in function.lvalues:
                if isinstance(target, NameExpr):
                    used.setdefault(target.name, set()).update(_names_in(function.rvalue))
        elif isinstance(function, Decorator):  # which may add it to a table
            for name in decorator_names.of(function):
                in_tables.setdefault(name, set()).add(function.name)
    for name in in_tables.keys() & used.keys():
        used[name] |= in_tables[name]
    while True:
        more = {name for name, names in used.items() if name not in found and not found.isdisjoint(names)}
        if not more:
            return frozenset(found)
        found |= more


def _called_as(function: FuncItem) -> str:
    """Return the name by which a function is called; a constructor is called by the name of its class."""
    if function.name in _CONSTRUCTORS:
        return function.info.name if function.info else ANY
    is_called_unnamed = function.name == "forward" or function.name[:2] == function.name[-2:] == "__"
    return ANY if is_called_unnamed else function.name


_consuming = ScopeCache(_consuming_names)


def _names_in(scope: Node | None) -> set[str]:
    if scope is None:
        return set()
    found = names_used(scope)
    if "super" in found:
        found.update(one.name for one in inside(scope) if isinstance(one, SuperExpr))
    return found


_names_used = ScopeCache(_names_in)
