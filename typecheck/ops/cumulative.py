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


def accept_named_and_unknown_sizes() -> None:
    def run(a: Tensor[Shape[N, L[3]]], b: Tensor[Shape[Any, L[3]]]) -> None:
        assert_type(tg.cumprod(a), Tensor[Shape[Mul[L[3], N]], NoneTape])
        assert_type(tg.cummax(a, 0), Tensor[Shape[N, L[3]], NoneTape])
        assert_type(tg.cummin(b), Tensor[Shape[Any], NoneTape])

    run(x, x)


def reject_cumsum() -> None:
    x.cumsum(2)  # E: cumsum: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_cumprod() -> None:
    x.cumprod(-3)  # E: cumprod: axis -3 is out of range for x (2, 3) [tapegrad-shape]


def reject_cumprod_of_bools() -> None:
    tg.cumprod(truth)  # E: cumprod: x is bool but number is expected [tapegrad-dtype]


def reject_cummax() -> None:
    tg.cummax(x, 2)  # E: cummax: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_cummin() -> None:
    tg.cummin(tg.ones(()), 0)  # E: cummin: axis 0 is out of range for x () [tapegrad-shape]
