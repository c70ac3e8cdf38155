"""What was read of the bodies of functions at their calls, for the report on what mypy knows of each expression."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from mypy.nodes import FuncDef

from tapegrad.mypy.mypy_api import checked_file, enclosing_function, file_has_code, is_daemon
from tapegrad.mypy.reports import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy.nodes import Expression, MypyFile, Var
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker


@dataclass
class Calls:
    """The calls in one function, or outside of functions, that may be read: the declared types of variables hold there.

    Attributes:
        read: Each line with a call, and the reading of the function that is called.
        unread: Each function that is called and not read, with the reason: a clause.
    """

    read: list[tuple[int, BodyReading]] = field(default_factory=list)
    unread: list[tuple[FuncDef, str]] = field(default_factory=list)


class BodyReading(NamedTuple):
    """A function as its body was read for one call or several, whose arguments have the same types and values.

    Attributes:
        given: The types of the arguments, by parameter.
        types: The types of the expressions.
        result: The type of what it returns.
        calls: The calls in the body.
    """

    function: FuncDef
    given: dict[Var, Type]
    types: dict[Expression, Type]
    result: Type
    calls: Calls


_roots: dict[MypyFile, dict[FuncDef | None, Calls]] = {}
_inside: list[Calls] = []  # those of each body that is being read


def is_recorded(api: Checker) -> bool:
    """Return whether a report on the file that is being checked is wanted; the daemon checks only parts of one."""
    return (api.options.export_types or file_has_code(api, UNKNOWN)) and not is_daemon(api.options)


@contextmanager
def recorded_calls() -> Iterator[Calls]:
    """Record the calls in a body that is read."""
    calls = Calls()
    _inside.append(calls)
    try:
        yield calls
    finally:
        _inside.pop()


def record_read(api: Checker, reading: BodyReading, line: int) -> None:
    """Record that the body of the called function was read for a call."""
    call = line, reading
    calls = _calls_here(api)
    if not any(line == one and reading is other for one, other in calls.read):
        calls.read.append(call)


def record_unread(api: Checker, function: FuncDef, reason: str) -> None:
    """Record that the body of the called function was not read for a call, with the reason."""
    call = function, reason
    calls = _calls_here(api)
    if call not in calls.unread:
        calls.unread.append(call)


def _calls_here(api: Checker) -> Calls:
    if _inside:
        return _inside[-1]
    caller = enclosing_function(api)
    callers = _roots.setdefault(checked_file(api), {})
    return callers.setdefault(caller if isinstance(caller, FuncDef) else None, Calls())


def forget_records(tree: MypyFile) -> None:
    """Drop what was recorded of a file, after the report on it."""
    _roots.pop(tree, None)


class Readings:
    """The readings of the functions of one file, which were recorded while it was checked.

    A function that is read for all of its calls counts as those readings say; its calls of others with the types that
    it declares count only where it is not.
    """

    def __init__(self, tree: MypyFile) -> None:
        self._callers = _roots.get(tree, {})
        self._read: dict[FuncDef, list[tuple[int, BodyReading]]] = {}
        self._unread: dict[FuncDef, list[str]] = {}
        self._follow(set())
        complete = {*self._read}
        self._follow(complete)
        while lost := complete & self._unread.keys() or complete - self._read.keys():
            complete -= lost
            self._follow(complete)
        self._complete = complete

    def _follow(self, complete: set[FuncDef]) -> None:
        """Find what is read and what is not, from the calls in all functions that are not complete."""
        self._read, self._unread = {}, {}
        pending = [calls for caller, calls in self._callers.items() if caller is None or caller not in complete]
        seen: set[int] = set()
        while pending:
            calls = pending.pop()
            if id(calls) in seen:
                continue
            seen.add(id(calls))
            for function, reason in calls.unread:
                self._unread.setdefault(function, []).append(reason)
            for line, reading in calls.read:
                self._read.setdefault(reading.function, []).append((line, reading))
                pending.append(reading.calls)

    def why_unread(self, function: FuncDef) -> str:
        """Return why a body was not read for all of its calls, as a clause; empty if nothing in the file calls it."""
        return next(iter(self._unread.get(function, ())), "")

    def of(self, function: FuncDef) -> list[tuple[int, BodyReading]]:
        """Return the readings of a function, each with the line of a call; none if a call of it was not read."""
        return self._read[function] if function in self._complete else []

    def types(self) -> dict[Expression, list[Type]]:
        """Return the types of the expressions in bodies that were read for all of their calls."""
        found: dict[Expression, list[Type]] = {}
        for function in self._complete:
            readings = {id(reading): reading for _, reading in self._read[function]}
            for reading in readings.values():
                for expression, t in reading.types.items():
                    found.setdefault(expression, []).append(t)
        return found
