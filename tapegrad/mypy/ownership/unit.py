"""The walk over one function, method or module, in execution order, with the tapes that each name may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import FuncItem, MypyFile

from tapegrad.errors import messages
from tapegrad.mypy.mypy_api import note
from tapegrad.mypy.ownership import classes, expressions, functions, statements
from tapegrad.mypy.ownership.state import State
from tapegrad.mypy.ownership.walk import Frame, TooLongError, Walk
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
        self._is_complete = True

    def run(self) -> None:
        """Follow the unit and report the uses of consumed tapes."""
        state = State()
        try:
            if isinstance(self.unit, MypyFile):
                self.through(self.unit.defs, state)
            elif isinstance(self.unit, FuncItem):
                self._follow_alone(self.unit)
            else:
                for function in classes.functions_of(self.unit):
                    self._follow_alone(function)
        except TooLongError:
            self.found, self._is_complete = {}, False
        if self.is_reported:
            if not self._is_complete:
                note(self.api, messages.too_long_to_follow(getattr(self.unit, "name", "")), self.unit)
            for context, (message, _) in self.found.items():
                report(self.api, message, context, "tape")

    def _follow_alone(self, function: FuncItem) -> None:
        self.frames, self.entered = [Frame(function)], [function]
        self.through(function.body, State())
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
            self._is_complete = self._is_complete and walk._is_complete
        return self._alone[function]
