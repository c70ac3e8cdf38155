"""What is known of the parts of an expression, for as long as one expression is read.

The value of `node.next().next()` needs that of `node.next()` for several reasons: which method is called, and whether
it is one of a dictionary. The sizes of `f(f(x))` need those of `f(x)` for the types of the arguments, for the elements
of the result, and for the values of the parameters of f. Each part is read once.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from typing_extensions import TypeVar

from tapegrad.mypy.scopes.frames import Reading, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from mypy.nodes import Expression

    from tapegrad.mypy.scopes.frames import Frame

_V = TypeVar("_V")

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
