"""What was read of the bodies of functions at their calls, for the report on what mypy knows of each expression."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from mypy.nodes import FuncDef

from tapegrad.mypy.mypy_api import checked_file, enclosing_function, file_has_code, is_daemon, shown_path
from tapegrad.mypy.reports import UNKNOWN
from tapegrad.mypy.scopes.names import inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mypy.nodes import CallExpr, Context, Expression, MypyFile, Node, TypeInfo, Var
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker


PASSES_NOTHING_KNOWN: Final = "passes no tensor of known shape"
IS_OF_UNKNOWN_OBJECT: Final = "is of an object that is not known"


class Unread(NamedTuple):
    """A function whose body was not read for a call.

    Attributes:
        reason: A clause; if the call is the reason, it goes on behind "the call on line 3".
        call_line: The line of that call.
    """

    function: FuncDef
    reason: str
    call_line: int | None


class LayersMade(NamedTuple):
    """What the constructor of an object makes.

    Attributes:
        info: The class of the object.
        at: The call that makes it.
        types: The types of the layers by the calls that make them; None for those that make other objects.
        files: Those with these calls, perhaps as they were parsed again.
    """

    info: TypeInfo
    at: CallExpr
    types: dict[Expression, list[Type] | None]
    files: set[MypyFile]


@dataclass(eq=False)  # two bodies are never the same one
class Calls:
    """The calls in one function, or outside of functions, that may be read: the declared types of variables hold there.

    Attributes:
        file: The file that they are in; while a body of another file is read, that file as it was parsed for this.
        path: Its path, as mypy shows it.
        caller: The function that they are in.
        read: Each line with a call, and the reading of the function that is called.
        unread: The functions that are called and not read.
        made: What the constructors of the objects make that are made in it.
    """

    file: MypyFile
    path: str
    caller: FuncDef | None = None
    read: list[tuple[int, BodyReading]] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    made: list[LayersMade] = field(default_factory=list)


class BodyReading(NamedTuple):
    """A function as its body was read for one call or several, whose arguments have the same types and values.

    Attributes:
        given: The types of the arguments, by parameter.
        types: The types of the expressions.
        result: The type of what it returns.
        calls: The calls in the body; those of no other reading.
    """

    function: FuncDef
    given: dict[Var, Type]
    types: dict[Expression, Type]
    result: Type
    calls: Calls


_roots: dict[MypyFile, dict[FuncDef | None, Calls]] = {}
_skipped: set[object] = set()  # the parts of comprehensions whose turns have been read
_inside: list[Calls] = []  # those of each body that is being read


def is_recorded(api: Checker) -> bool:
    """Return whether a report on the file that is being checked is wanted; the daemon checks only parts of one."""
    return (api.options.export_types or file_has_code(api, UNKNOWN)) and not is_daemon(api.options)


@contextmanager
def recorded_calls(api: Checker) -> Iterator[Calls]:
    """Record the calls in a body that is read."""
    calls = _calls_in(checked_file(api), api)
    _inside.append(calls)
    try:
        yield calls
    finally:
        _inside.pop()


@contextmanager
def unrecorded(comprehensions: Iterable[Node]) -> Iterator[None]:
    """Record no calls in comprehensions, of which each turn has been read: what follows knows less of their items."""
    before = {*_skipped}
    _skipped.update(node for one in comprehensions for node in inside(one))
    try:
        yield
    finally:
        _skipped.clear()
        _skipped.update(before)


def record_read(api: Checker, reading: BodyReading, call: Context) -> None:
    """Record that the body of the called function was read for a call."""
    calls = _calls_here(api)
    is_new = not any(call.line == line and reading is other for line, other in calls.read)
    if is_new and call not in _skipped:
        calls.read.append((call.line, reading))


def record_unread(api: Checker, function: FuncDef, unread: tuple[str, int | None], at: Context) -> None:
    """Record that the body of the called function was not read for a call, with the reason and the line of the call."""
    if at in _skipped:
        return
    call = Unread(function, *unread)
    calls = _calls_here(api)
    if call not in calls.unread:
        calls.unread.append(call)


def record_made(api: Checker, made: LayersMade) -> None:
    """Record what the constructor of an object makes."""
    if made.at not in _skipped:
        _calls_here(api).made.append(made)


def _calls_here(api: Checker) -> Calls:
    if _inside:
        return _inside[-1]
    scope, tree = enclosing_function(api), checked_file(api)
    caller = scope if isinstance(scope, FuncDef) else None
    callers = _roots.setdefault(tree, {})
    if caller not in callers:
        callers[caller] = _calls_in(tree, api, caller)
    return callers[caller]


def _calls_in(tree: MypyFile, api: Checker, caller: FuncDef | None = None) -> Calls:
    return Calls(tree, shown_path(tree.path, api), caller)


def calls_in(tree: MypyFile) -> list[Calls]:
    """Return the calls that were recorded while a file was checked, without those in bodies."""
    return list(_roots.get(tree, {}).values())


def forget_records(tree: MypyFile) -> None:
    """Drop what was recorded of a file, after the report on it."""
    _roots.pop(tree, None)
