"""Run the walk over a function, a method or the code of a module after mypy has checked it.

mypy has no hook for that. So at the first call in a unit, a function is scheduled that mypy checks in its next pass.
It consists of one call, whose hook runs the walk: every expression of the unit has a type by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import FuncDef
from mypy.types import CallableType

from tapegrad.mypy.mypy_api import (
    BodiesRead,
    can_report,
    checked_file,
    outermost_scope,
    schedule,
    scheduled_unit,
    store_types,
)
from tapegrad.mypy.ownership.consumed import is_consumed
from tapegrad.mypy.ownership.consuming import ANY, consuming_names, uses
from tapegrad.mypy.scopes.names import ScopeCache

if TYPE_CHECKING:
    from mypy.nodes import SymbolNode

    from tapegrad.mypy.mypy_api import Checker


def note_call(api: Checker, declared: CallableType | None) -> None:
    """Schedule the walk over the unit that is being checked, if a tape may be consumed in it."""
    if BodiesRead.depth:
        return
    names = consuming_names.of(checked_file(api))
    consumes = declared is not None and _consumes(declared)
    if (consumes or names) and can_report(api):
        unit = outermost_scope(api)
        if consumes or ANY in names or not names.isdisjoint(uses.of(unit)):
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
        if api.options.fine_grained_incremental:
            ScopeCache.clear_all()
        UnitWalk(api, unit).run()
