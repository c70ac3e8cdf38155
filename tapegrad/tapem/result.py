"""The result of a program: a value, or an error as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, Literal, NoReturn, TypeAlias

from typing_extensions import TypeVar, override

from tapegrad.autograd.gradients import MissingGradientError
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.errors.tracebacks import public_api

A_co = TypeVar("A_co", covariant=True)
Code: TypeAlias = Literal["shape", "dtype", "tape", "missing", "index", "domain"]

_BUT: Final = " but "  # between the actual and the expected, in every message of the library
_RAISED: Final[dict[Code, type[Exception]]] = {
    "shape": ShapeError,
    "dtype": DTypeError,
    "tape": TapeError,
    "missing": MissingGradientError,
    "index": IndexError,
    "domain": ValueError,
}


@dataclass(frozen=True, slots=True)
class Ok(Generic[A_co]):
    """The value of a program that succeeded.

    Examples:
        >>> outcome = tg.tapem.pure(2.5).eval(tg.tapem.Tape.empty())
        >>> outcome
        Ok(value=2.5)
        >>> outcome.unwrap()
        2.5
        >>> isinstance(outcome, tg.tapem.Ok)
        True
    """

    value: A_co

    def unwrap(self) -> A_co:
        """Return the value."""
        return self.value


@dataclass(frozen=True, slots=True)
class Err:
    """The error of a program that failed: `str` gives the message that the library would have raised.

    Attributes:
        code: The kind of error: a shape, a dtype, a tape, a missing gradient, an index, or a value outside the
            domain of the op.
        op: The op that failed.
        expected: What it requires; empty where `got` says everything.
        got: What it was given.

    Examples:
        >>> x, tape = tg.tapem.leaf(tg.tensor([3.0, 4.0])).run(tg.tapem.Tape.empty()).unwrap()
        >>> outcome = tg.tapem.reshape(x, (3,)).eval(tape)
        >>> outcome.code, outcome.op
        ('shape', 'reshape')
        >>> outcome.unwrap()
        Traceback (most recent call last):
            ...
        tapegrad.errors.ShapeError: reshape: x (2,) has 2 elements but shape (3,) has 3
    """

    code: Code
    op: str
    expected: str
    got: str

    @classmethod
    def of(cls, op: str, error: Exception) -> Err:
        """Return the error of an op, or of an op inside it that names itself, as a value."""
        op = getattr(error, "op", "") or op
        code = next(code for code, raised in _RAISED.items() if isinstance(error, raised))
        got, _, expected = str(error).removeprefix(f"{op}: ").partition(_BUT)
        return cls(code, op, expected, got)

    @public_api
    def unwrap(self) -> NoReturn:
        """Raise the error.

        Raises:
            ShapeError: The code is `shape`.
            DTypeError: The code is `dtype`.
            TapeError: The code is `tape`.
            MissingGradientError: The code is `missing`.
            IndexError: The code is `index`.
            ValueError: The code is `domain`.
        """
        raise _RAISED[self.code](str(self))

    @override
    def __str__(self) -> str:
        return f"{self.op}: {self.got}{_BUT if self.expected else ''}{self.expected}"


Result: TypeAlias = Ok[A_co] | Err
ERRORS: Final = tuple(_RAISED.values())  # the errors that an op raises
