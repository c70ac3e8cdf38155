"""Sizes with a default in a user's constructor: pyright and plain mypy reject a number for a type variable."""

from typing import Any, Final, Generic, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor, guarded, nn

B = TypeVar("B", bound=int)
N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
T = TypeVar("T", bound=Tape)

WIDTH: Final = 6
COMPUTED = len("ten") * WIDTH
x = tg.ones((2, 6))


class Reader(nn.Module, Generic[N]):
    """Reads six numbers as one of ten classes, or of others."""

    def __init__(self, classes: N = 10) -> None:
        self.fall = nn.Linear(6, classes)

    def forward(self, x: Tensor[Shape[B, L[6]], T]) -> Tensor[Shape[B, N], T]:
        return self.fall(x)


class Guarded(nn.Module, Generic[M, N]):
    """One size that has to be given, and one that need not be."""

    @guarded
    def __init__(self, width: M, *, classes: N = 10) -> None:
        self.fall = nn.Linear(width, classes)

    @guarded
    def forward(self, x: Tensor[Shape[B, M], T]) -> Tensor[Shape[B, N], T]:
        return self.fall(x)


class Twice(nn.Module, Generic[N]):
    """One size for two parameters."""

    def __init__(self, rows: N, columns: N = 3) -> None:
        self.weight = nn.Param(tg.zeros((rows, columns)))


class Named(nn.Module, Generic[M, N]):
    """A default that is a constant, and one that is computed."""

    def __init__(self, width: M = WIDTH, classes: N = COMPUTED) -> None:
        self.fall = nn.Linear(width, classes)


class Inherits(Reader[N]):
    """The constructor of another class."""


class Overrides(Reader[N]):
    """A default of its own."""

    def __init__(self, classes: N = 4) -> None:
        super().__init__(classes)


def accept_a_size_that_is_left_out() -> None:
    assert_type(Reader(), Reader[L[10]])
    assert_type(Reader()(x.trace()), Tensor[Shape[L[2], L[10]], OwnedTape])
    assert_type(Guarded(6), Guarded[L[6], L[10]])
    assert_type(Guarded(6)(x), Tensor[Shape[L[2], L[10]], NoneTape])


def accept_a_default_that_is_no_number_in_the_source() -> None:
    assert_type(Named(), Named[L[6], Any])
    assert_type(Named(classes=4), Named[L[6], L[4]])


def accept_a_size_that_is_given() -> None:
    assert_type(Reader(5), Reader[L[5]])
    assert_type(Reader(classes=7)(x), Tensor[Shape[L[2], L[7]], NoneTape])
    assert_type(Guarded(6, classes=3)(x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_a_subclass() -> None:
    assert_type(Inherits()(x), Tensor[Shape[L[2], L[10]], NoneTape])
    assert_type(Overrides()(x), Tensor[Shape[L[2], L[4]], NoneTape])


def accept_a_size_that_is_unknown() -> None:
    def of_any(classes: int) -> None:
        Reader(classes)(x) @ tg.ones((10, 3))

    of_any(10)


def reject_what_does_not_fit_the_default() -> None:
    Reader()(x) @ tg.ones((11, 3))  # E: matmul: inner sizes differ: x (2, 10) has 10 columns but y (11, 3) has 11 rows [tapegrad-shape]


def reject_an_input_beside_a_default() -> None:
    Guarded(5)(x)  # E: Guarded(5, 10): x is (2, 6) but (B, 5) is expected: axis 1 is 6, not 5 [tapegrad-shape]


def reject_a_size_beside_its_default() -> None:
    Twice(4)  # E(mypy): Twice: N is 4 in rows but 3 in columns [tapegrad-shape]


def reject_a_default_that_is_no_size() -> None:
    class Named(nn.Module, Generic[N]):
        def __init__(self, classes: N = "10") -> None:  # E(mypy): Incompatible default for parameter "classes" (default has type "str", parameter has type "N") [assignment]
            self.classes = classes

    Named()
