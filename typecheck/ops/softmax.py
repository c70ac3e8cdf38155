"""softmax and log_softmax keep the shape; the axis must exist."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
stack = tg.ones((2, 3, 5)).trace()
whole = tg.tensor([1, 2, 3])


def accept_the_last_axis() -> None:
    assert_type(tg.softmax(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.log_softmax(stack), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])


def accept_any_axis() -> None:
    assert_type(tg.softmax(stack, 0), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])
    assert_type(tg.log_softmax(x, axis=-2), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_an_axis_that_only_the_run_time_knows() -> None:
    def normalised(axis: int) -> None:
        assert_type(tg.softmax(x, axis), Tensor[Shape[L[2], L[3]], NoneTape])
        assert_type(tg.log_softmax(x, axis), Tensor[Shape[L[2], L[3]], NoneTape])

    normalised(1)


def accept_named_sizes() -> None:
    def normalised(a: Tensor[Shape[N, M], OwnedTape]) -> Tensor[Shape[N, M], OwnedTape]:
        assert_type(tg.softmax(a, 0), Tensor[Shape[N, M], OwnedTape])
        return tg.log_softmax(a)

    assert_type(normalised(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_unknown_sizes() -> None:
    def normalised(a: Tensor[Shape[Any, L[3]]], b: Tensor[Any, OwnedTape], c: Tensor) -> None:
        assert_type(tg.softmax(a), Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(tg.log_softmax(b), Tensor[Any, OwnedTape])
        assert_type(tg.softmax(c, 1), Tensor[Any, Any, Any])

    normalised(x, stack, x)


def accept_dtypes() -> None:
    assert_type(tg.softmax(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_softmax_along_no_axis() -> None:
    tg.softmax(stack, 3)  # E: softmax: axis 3 is out of range for x (2, 3, 5) [tapegrad-shape]


def reject_log_softmax_along_no_axis() -> None:
    tg.log_softmax(x, axis=-3)  # E: log_softmax: axis -3 is out of range for x (2, 3) [tapegrad-shape]


def reject_a_scalar() -> None:
    tg.softmax(tg.ones(()))  # E: softmax: axis -1 is out of range for x () [tapegrad-shape]


def reject_an_axis_of_named_sizes() -> None:
    def normalised(a: Tensor[Shape[N]]) -> None:
        tg.log_softmax(a, 1)  # E(mypy): log_softmax: axis 1 is out of range for x (N,) [tapegrad-shape]

    normalised(tg.ones((3,)))


def reject_ints() -> None:
    tg.softmax(whole)  # E: softmax: x is int64 but floating is expected [tapegrad-dtype]


def reject_bools() -> None:
    tg.log_softmax(whole > 1)  # E: log_softmax: x is bool but floating is expected [tapegrad-dtype]
