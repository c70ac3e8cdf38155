"""Cumulative sums, products and extremes: literal, named and unknown sizes, as functions and methods."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)

x = tg.ones((2, 3))
truth = tg.tensor([True, False, True])


def accept_running_sums() -> None:
    assert_type(x.trace().cumsum(1), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.cumsum(x), Tensor[Shape[L[6]], NoneTape])


def accept_running_products() -> None:
    assert_type(x.trace().cumprod(1), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.cumprod(x), Tensor[Shape[L[6]], NoneTape])


def accept_running_extremes() -> None:
    assert_type(tg.cummax(x.trace(), -1), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.cummin(x), Tensor[Shape[L[6]], NoneTape])
    assert_type(tg.cummax(truth), Tensor[Shape[L[3]], NoneTape, np.bool_])


def accept_indices_of_running_extremes() -> None:
    assert_type(tg.argcummax(x.trace(), -1), Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(x.argcummin(), Tensor[Shape[L[6]], NoneTape, np.int64])


def accept_logarithms_of_running_sums() -> None:
    assert_type(tg.logcumsumexp(x.trace(), 1), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(x.logcumsumexp(), Tensor[Shape[L[6]], NoneTape])


def accept_differences() -> None:
    assert_type(tg.diff(x.trace()), Tensor[Shape[L[2], L[2]], OwnedTape])
    assert_type(x.diff(1, 0), Tensor[Shape[L[1], L[3]], NoneTape])
    assert_type(tg.diff(x, 5), Tensor[Shape[L[2], L[0]], NoneTape])
    assert_type(tg.diff(tg.tensor([1, 4, 9])), Tensor[Shape[L[2]], NoneTape, np.int64])


def accept_named_and_unknown_sizes() -> None:
    def run(a: Tensor[Shape[N, L[3]]], b: Tensor[Shape[Any, L[3]]]) -> None:
        assert_type(tg.cumprod(a), Tensor[Shape[Mul[L[3], N]], NoneTape])
        assert_type(tg.cummax(a, 0), Tensor[Shape[N, L[3]], NoneTape])
        assert_type(tg.argcummax(a, 0), Tensor[Shape[N, L[3]], NoneTape, np.int64])
        assert_type(tg.cummin(b), Tensor[Shape[Any], NoneTape])
        assert_type(tg.logcumsumexp(a, 0), Tensor[Shape[N, L[3]], NoneTape])
        assert_type(tg.diff(a), Tensor[Shape[N, L[2]], NoneTape])
        assert_type(tg.diff(b, axis=0), Tensor[Shape[Any, L[3]], NoneTape])

    run(x, x)


def reject_cumsum() -> None:
    x.cumsum(2)  # E: cumsum: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_cumprod() -> None:
    x.cumprod(-3)  # E: cumprod: axis -3 is out of range for x (2, 3) [tapegrad-shape]


def reject_cumprod_of_bools() -> None:
    tg.cumprod(truth)  # E: cumprod: x is bool but number is expected [tapegrad-dtype]


def reject_cummax() -> None:
    tg.cummax(x, 2)  # E: cummax: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_argcummax() -> None:
    tg.argcummax(x, 2)  # E: argcummax: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_argcummin() -> None:
    x.argcummin(-3)  # E: argcummin: axis -3 is out of range for x (2, 3) [tapegrad-shape]


def reject_cummin() -> None:
    tg.cummin(tg.ones(()), 0)  # E: cummin: axis 0 is out of range for x () [tapegrad-shape]


def reject_logcumsumexp() -> None:
    tg.logcumsumexp(x, 2)  # E: logcumsumexp: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_logcumsumexp_of_bools() -> None:
    tg.logcumsumexp(truth)  # E: logcumsumexp: x is bool but floating is expected [tapegrad-dtype]


def reject_differences_along_an_axis_that_is_not_there() -> None:
    tg.diff(x, 1, 2)  # E: diff: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_fewer_than_no_differences() -> None:
    tg.diff(x, -1)  # E: diff: n is -1 but at least 0 is expected [tapegrad-shape]


def reject_differences_of_bools() -> None:
    tg.diff(truth)  # E: diff: x is bool but number is expected [tapegrad-dtype]
