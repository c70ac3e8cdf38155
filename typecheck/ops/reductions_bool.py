"""all, any, argmax, argmin and count_nonzero: literal sizes and dtypes, as functions and methods."""

from typing import Literal as L
from typing import assert_type

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor

x = tg.ones((2, 3))


def accept_positions() -> None:
    assert_type(tg.argmax(x.trace(), 1), Tensor[Shape[L[2]], NoneTape, np.int64])
    assert_type(x.argmin(0, keepdims=True), Tensor[Shape[L[1], L[3]], NoneTape, np.int64])


def accept_whether() -> None:
    assert_type((x > 0).all(), Tensor[tuple[()], NoneTape, np.bool_])
    assert_type(tg.any(x, (0, 1)), Tensor[tuple[()], NoneTape, np.bool_])


def accept_counts() -> None:
    assert_type(tg.count_nonzero(x.trace(), 1, keepdims=True), Tensor[Shape[L[2], L[1]], NoneTape, np.int64])
    assert_type(tg.count_nonzero(x > 0), Tensor[tuple[()], NoneTape, np.int64])


def reject_argmax() -> None:
    x.argmax(2)  # E: argmax: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_argmin() -> None:
    tg.argmin(tg.ones((0, 3)), 0)  # E: argmin: x (0, 3) has no element along axis 0 [tapegrad-shape]


def reject_all() -> None:
    x.all(-3)  # E: all: axis -3 is out of range for x (2, 3) [tapegrad-shape]


def reject_any() -> None:
    tg.any(x, (1, 1))  # E: any: axis (1, 1) names an axis of x (2, 3) twice [tapegrad-shape]


def reject_count_nonzero() -> None:
    tg.count_nonzero(x, 2)  # E: count_nonzero: axis 2 is out of range for x (2, 3) [tapegrad-shape]
