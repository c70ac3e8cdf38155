"""The walk over one function, method or module, in execution order, with the tapes that each name may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import FuncItem, MypyFile

from tapegrad.errors import messages
from tapegrad.mypy.mypy_api import note
from tapegrad.mypy.ownership import classes, expressions, functions, recursion, statements
from tapegrad.mypy.ownership.state import State
from tapegrad.mypy.ownership.walk import SHALLOW, Frame, TooLongError, Walk
from tapegrad.mypy.reports import report
from tapegrad.mypy.scopes.names import inside

if TYPE_CHECKING:
    from mypy.nodes import Node

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.ownership.state import End


class UnitWalk(Walk):
    """Follows a unit, and every function of the file that it calls, along all paths."""

    value = expressions.value
    through = statements.through
    bind = statements.bind
    call = functions.call

    def __init__(self, api: Checker, unit: Node, *, reported: bool = True) -> None:
        super().__init__(api, unit)
        self.is_reported = reported
        self._alone: dict[FuncItem, dict[Any, tuple[str, End]]] = {}

    def run(self) -> None:
        """Follow the unit and report the uses of consumed tapes."""
        try:
            self._follow()
        except TooLongError:
            self.found, self.is_complete = self._found_above(), False
        if self.is_reported:
            if not self.is_complete:
                note(self.api, messages.too_long_to_follow(getattr(self.unit, "name", "")), self.unit)
            for context, (message, _) in self.found.items():
                report(self.api, message, context, "tape")

    def _follow(self) -> None:
        if isinstance(self.unit, MypyFile):
            self.through(self.unit.defs, State())
        elif isinstance(self.unit, FuncItem):
            self._follow_alone(self.unit)
        else:
            for function in classes.functions_of(self.unit):
                self._follow_alone(function)

    def _found_above(self) -> dict[Any, tuple[str, End]]:
        """Return what is reported of the unit if fewer calls inside calls are followed."""
        if self.deepest == SHALLOW:
            return {}
        walk = UnitWalk(self.api, self.unit, reported=False)
        walk.deepest, walk._alone = SHALLOW, self._alone
        walk.run()
        return walk.found

    def _follow_alone(self, function: FuncItem) -> None:
        self.frames, self.entered = [Frame(function)], [function]
        for state in recursion.states(self, function, State()):
            self.through(function.body, state)
        for inner in inside(function.body):
            if isinstance(inner, FuncItem) and inner not in self.followed:
                self.found |= self.found_alone(inner)

    def found_alone(self, function: FuncItem) -> dict[Any, tuple[str, End]]:
        """Return what is reported in a function for any arguments."""
        if function not in self._alone:
            self._alone[function] = {}  # while it is being followed
            walk = UnitWalk(self.api, function, reported=False)
            walk._alone = self._alone
            walk.run()
            self._alone[function] = walk.found
            self.is_complete = self.is_complete and walk.is_complete
        return self._alone[function]
