"""The walk over one function, method or module, in execution order, with the tapes that each name may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import FuncItem, MypyFile

from tapegrad.errors import messages
from tapegrad.mypy.mypy_api import lasting_statements, note
from tapegrad.mypy.ownership import carriers, classes, expressions, functions, recursion, statements
from tapegrad.mypy.ownership.state import State
from tapegrad.mypy.ownership.walk import SHALLOW, Frame, TooLongError, Walk, functions_inside
from tapegrad.mypy.reports import report

if TYPE_CHECKING:
    from mypy.nodes import Node, Statement, TypeInfo

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.ownership.state import End, Site


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
        if self.is_reported:
            carriers.clear_answers()
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
            self._follow_file(self.unit)
        elif isinstance(self.unit, FuncItem):
            self._follow_alone(self.unit)
        else:
            for function in classes.functions_of(self.unit):
                self._follow_alone(function)

    def _follow_file(self, file: MypyFile) -> None:
        """Follow the code of a module: if only its end has changed since the last walk, that alone."""
        lasting = lasting_statements(file) if self.is_reported else 0
        state: State | None = State()
        start = 0
        if lasting and _last.is_beginning_of(file.defs[:lasting], self.api):
            start, state = len(_last.statements), _last.restored(self)
        if lasting:
            state = self.through(file.defs[start:lasting], state)
            _last.set(self, file.defs[:lasting], state)
            start = lasting
        self.through(file.defs[start:], state)

    def _found_above(self) -> dict[Any, tuple[str, End]]:
        """Return what is reported of the unit if fewer calls inside calls are followed."""
        shallower = [one for one in SHALLOW if one < self.deepest]
        if not shallower:
            return {}
        walk = UnitWalk(self.api, self.unit, reported=False)
        walk.deepest, walk._alone = shallower[0], self._alone
        walk.run()
        return walk.found

    def _follow_alone(self, function: FuncItem) -> None:
        self.frames, self.entered = [Frame(function)], [function]
        for state in recursion.states(self, function, State()):
            self.through(function.body, state)
        for inner in functions_inside.of(function):
            if inner not in self.followed:
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


class _Beginning:
    """The beginning of a file that a walk has followed, to follow what comes behind it."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self._api: Checker | None = None
        self._state: State | None = None
        self._known: tuple[set[FuncItem], dict[Site, TypeInfo], bool, int] = set(), {}, True, 0

    def set(self, walk: UnitWalk, statements: list[Statement], state: State | None) -> None:
        """Store what a walk knows behind some statements, unless its context managers wait there for their end."""
        self._api, self.statements = (None, []) if walk.exits else (walk.api, statements)
        self._state = None if state is None else state.copy()
        self._known = {*walk.followed}, {**walk.classes}, walk.is_complete, walk._steps

    def is_beginning_of(self, statements: list[Statement], api: Checker) -> bool:
        """Return whether the same checker has other statements behind the same ones."""
        same = zip(self.statements, statements, strict=False)
        return api is self._api and len(self.statements) <= len(statements) and all(one is other for one, other in same)

    def restored(self, walk: UnitWalk) -> State | None:
        """Return the state behind the beginning, and let a walk know what is known there."""
        followed, classes_of, walk.is_complete, walk._steps = self._known
        walk.followed, walk.classes = {*followed}, {**classes_of}
        return None if self._state is None else self._state.copy()


_last = _Beginning()
