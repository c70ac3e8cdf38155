"""signbit, copysign and heaviside."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
y = tg.ones((3,))
column = tg.ones((2, 1))
whole = tg.tensor([1, 2, 3])


def accept_signbit() -> None:
    assert_type(tg.signbit(x), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.signbit(x.trace()), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def reject_signbit_of_ints() -> None:
    tg.signbit(whole)  # E: signbit: x is int64 but floating is expected [tapegrad-dtype]


def accept_copysign() -> None:
    assert_type(tg.copysign(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.copysign(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.copysign(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.copysign(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_copysign_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.copysign(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.copysign(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_copysign_of_columns() -> None:
    tg.copysign(x, tg.ones((2, 4)))  # E: copysign: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_copysign_of_two_dtypes() -> None:
    tg.copysign(y, whole)  # E: copysign: x is float32 but y is int64 [tapegrad-dtype]


def reject_copysign_of_ints() -> None:
    tg.copysign(whole, 2)  # E: copysign: x is int64 but floating is expected [tapegrad-dtype]


def accept_heaviside() -> None:
    assert_type(tg.heaviside(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.heaviside(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.heaviside(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.heaviside(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_heaviside_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.heaviside(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.heaviside(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_heaviside_of_columns() -> None:
    tg.heaviside(x, tg.ones((2, 4)))  # E: heaviside: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_heaviside_of_two_dtypes() -> None:
    tg.heaviside(y, whole)  # E: heaviside: x is float32 but y is int64 [tapegrad-dtype]


def reject_heaviside_of_ints() -> None:
    tg.heaviside(whole, 2)  # E: heaviside: x is int64 but floating is expected [tapegrad-dtype]
