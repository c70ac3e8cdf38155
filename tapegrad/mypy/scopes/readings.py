"""What is known of the parts of an expression, for as long as one expression is read.

The value of `node.next().next()` needs that of `node.next()` for several reasons: which method is called, and whether
it is one of a dictionary. The sizes of `f(f(x))` need those of `f(x)` for the types of the arguments, for the elements
of the result, and for the values of the parameters of f. Each part is read once.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Generic

from typing_extensions import TypeVar

from tapegrad.mypy.mypy_api import pass_of
from tapegrad.mypy.scopes.frames import Reading, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from mypy.nodes import Expression

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Frame

_V = TypeVar("_V")

_MOST: Final = 1000  # objects of which something is kept in one pass; far more than a file makes


class PassCache(Generic[_V]):
    """What is read of objects in one pass of mypy, in the next of which expressions may have other types."""

    def __init__(self) -> None:
        self._during: tuple[object, object] = (None, None)
        self._found: dict[Hashable, _V] = {}

    def of(self, key: Hashable, read: Callable[[], _V], api: Checker, *, meanwhile: _V) -> _V:
        """Return what is read for a key, once in each pass; `meanwhile` is the answer while that is being read."""
        if self._during != (api, pass_of(api)) or len(self._found) >= _MOST:
            self._found.clear()
            self._during = api, pass_of(api)
        if key not in self._found:
            self._found[key] = meanwhile
            self._found[key] = read()
        return self._found[key]


# What was read so far, with the frame in which that holds: one for each expression whose reading has begun.
_readings: Final[list[tuple[Frame | None, dict[Hashable, object]]]] = []


@contextmanager
def reading_again() -> Iterator[None]:
    """Read all parts of expressions again, because what is known of variables has changed."""
    _readings.append((Reading.frame, {}))
    try:
        yield
    finally:
        _readings.pop()


def read_once(read: Callable[[Expression], _V], kind: Hashable, expression: Expression) -> _V:
    """Return what a function reads of an expression, which it reads once while an expression around it is read.

    Args:
        read: The function.
        kind: What it reads, such as "sizes", with all else on which that depends.
        expression: The expression.
    """
    if not _readings or _readings[-1][0] is not Reading.frame:
        with reading_again():
            return read_once(read, kind, expression)
    known = _readings[-1][1]
    key = kind, expression, *((variable, key_of(value)) for variable, value in Reading.bound.items())
    if key not in known:
        known[key] = read(expression)
    found: _V = known[key]  # type: ignore[assignment]  # of the same kind
    return found
