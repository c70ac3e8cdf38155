"""Where the traceback of an error ends: at whoever called the library, unless `full_tracebacks` asks for more."""

from __future__ import annotations

import functools
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tapegrad import errors
from tapegrad.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

_HOUSE: Final = __file__.removesuffix("traces.py")


def shorten(error: BaseException | None) -> None:
    """Takes the library's own frames out of the traceback of an error of its own, which leaves it by a bare `raise`.

    For a frame that raises so is not entered into the traceback again, as it is by `raise error`. An `IndexError` of
    Python's is tapegrad's own where an op has put its name in it.
    """
    is_ours = isinstance(error, Refusal) or hasattr(error, "op")
    if error is not None and is_ours and not errors.full_tracebacks:
        error.__traceback__ = _outside(error.__traceback__)
        shorten(error.__cause__)


class _Leaving:
    """Shortens the traceback of an error that leaves its block."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        shorten(error)


leaving: Final = _Leaving()


def edge(function: F) -> F:
    """Lets the traceback of an error end at whoever called a function of the library."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    return call  # type: ignore[return-value]  # wraps() keeps the signature, which mypy cannot see


def _outside(trace: TracebackType | None) -> TracebackType | None:
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_HOUSE):
            kept.append(trace)
        trace = trace.tb_next
    below: TracebackType | None = None
    for one in reversed(kept):
        below = TracebackType(below, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return below
