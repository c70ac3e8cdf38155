"""Run the walk over a function, a method or the code of a module after mypy has checked it.

mypy has no hook for that. So at the first call in a unit, a function is scheduled that mypy checks in its next pass.
It consists of one call, whose hook runs the walk: every expression of the unit has a type by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import FuncItem, MemberExpr, MypyFile, NameExpr, Node, SuperExpr

from tapegrad.mypy.mypy_api import (
    can_report,
    checked_file,
    outermost_scope,
    schedule,
    scheduled_unit,
    store_types,
    written_types,
)
from tapegrad.mypy.ownership.consumed import is_consumed
from tapegrad.mypy.ownership.walk import Walk
from tapegrad.mypy.scopes.names import ScopeCache, inside

if TYPE_CHECKING:
    from mypy.types import CallableType

    from tapegrad.mypy.mypy_api import Checker

CONSUMERS = frozenset({"backward", "execute", "traced"})


def note_call(api: Checker, declared: CallableType | None) -> None:
    """Schedule the walk over the unit that is being checked, if a tape may be consumed in it."""
    names, unit = _consuming.of(checked_file(api)), outermost_scope(api)
    consumes = declared is not None and any(map(is_consumed, written_types(declared)))
    if (consumes or not names.isdisjoint(_names_used.of(unit))) and can_report(api):
        schedule(api, unit)


def walk_over(api: Checker, call: Any) -> None:
    """Walk over the unit for which mypy checks the scheduled call."""
    unit = scheduled_unit(api, call)
    if unit is not None:
        store_types(api)
        Walk(api, unit).run()


def _consuming_names(file: Node | None) -> frozenset[str]:
    """Return the methods that consume a tape and are called in a file, and its functions that may call them."""
    if not isinstance(file, MypyFile):
        return frozenset()
    used: dict[str, set[str]] = {}
    found: set[str] = set()
    for function in inside(file):
        if isinstance(function, MemberExpr) and function.name in CONSUMERS:
            found.add(function.name)
    if not found:
        return frozenset()
    for function in inside(file):
        if isinstance(function, FuncItem):
            used.setdefault(function.name, set()).update(_names_in(function))
    while True:
        more = {name for name, names in used.items() if name not in found and not found.isdisjoint(names)}
        if not more:
            return frozenset(found)
        found |= more


_consuming = ScopeCache(_consuming_names)


def _names_in(scope: Node | None) -> frozenset[str]:
    return frozenset(one.name for one in inside(scope) if isinstance(one, NameExpr | MemberExpr | SuperExpr))


_names_used = ScopeCache(_names_in)
