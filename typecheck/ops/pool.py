"""Pooling keeps the channels, and each size is the number of windows."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, FloorDiv, NoneTape, OwnedTape, Shape, Sub, Tensor

N = TypeVar("N", bound=int)
C = TypeVar("C", bound=int)
H = TypeVar("H", bound=int)
K = TypeVar("K", bound=int)
P = TypeVar("P", bound=int)

images = tg.ones((2, 3, 28, 21))
line = tg.ones((3, 28))


def accept_known_sizes() -> None:
    assert_type(tg.max_pool2d(images, 2), Tensor[Shape[L[2], L[3], L[14], L[10]], NoneTape])
    assert_type(tg.min_pool2d(images, (2, 3)), Tensor[Shape[L[2], L[3], L[14], L[7]], NoneTape])
    assert_type(tg.avg_pool2d(images, 3, stride=2, padding=1), Tensor[Shape[L[2], L[3], L[14], L[11]], NoneTape])
    assert_type(tg.smooth_max_pool2d(images, 2, beta=3.0), Tensor[Shape[L[2], L[3], L[14], L[10]], NoneTape])
    assert_type(tg.adaptive_avg_pool2d(images, (7, 1)), Tensor[Shape[L[2], L[3], L[7], L[1]], NoneTape])
    assert_type(tg.max_pool1d(line, 3), Tensor[Shape[L[3], L[9]], NoneTape])
    assert_type(tg.min_pool1d(line, 3, stride=1), Tensor[Shape[L[3], L[26]], NoneTape])
    assert_type(tg.avg_pool1d(line, 4, count_include_pad=False), Tensor[Shape[L[3], L[7]], NoneTape])
    assert_type(tg.smooth_max_pool1d(line, 4, padding=2), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(tg.adaptive_avg_pool1d(line, 5), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_dilated_and_last_windows() -> None:
    assert_type(tg.max_pool1d(line, 3, dilation=2), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(tg.min_pool2d(images, 3, stride=1, dilation=(2, 1)), Tensor[Shape[L[2], L[3], L[24], L[19]], NoneTape])
    assert_type(tg.smooth_max_pool2d(images, 3, dilation=2, ceil_mode=True), Tensor[Shape[L[2], L[3], L[9], L[7]], NoneTape])
    assert_type(tg.avg_pool1d(line, 3, ceil_mode=True, divisor_override=2), Tensor[Shape[L[3], L[10]], NoneTape])
    assert_type(tg.avg_pool1d(line, 2, stride=29, padding=1, ceil_mode=True), Tensor[Shape[L[3], L[1]], NoneTape])
    assert_type(tg.max_pool1d(tg.ones((1, 2)), 3, ceil_mode=True), Tensor[Shape[L[1], L[1]], NoneTape])


def accept_named_last_windows() -> None:
    def pooled(x: Tensor[Shape[C, H], NoneTape]) -> Tensor[Shape[C, FloorDiv[Add[H, L[1]], L[2]]], NoneTape]:
        return tg.max_pool1d(x, 2, ceil_mode=True)

    assert_type(pooled(tg.ones((3, 27))), Tensor[Shape[L[3], L[14]], NoneTape])


def accept_tapes_and_dtypes() -> None:
    assert_type(tg.max_pool1d(line.trace(), 2), Tensor[Shape[L[3], L[14]], OwnedTape])
    assert_type(tg.avg_pool1d(line.astype(np.float64), 2), Tensor[Shape[L[3], L[14]], NoneTape, np.float64])


def accept_named_sizes() -> None:
    def pooled(x: Tensor[Shape[N, C, H, H], NoneTape]) -> Tensor[Shape[N, C, FloorDiv[H, L[2]], FloorDiv[H, L[2]]], NoneTape]:
        assert_type(tg.avg_pool2d(x, 3, stride=1, padding=1), Tensor[Shape[N, C, H, H], NoneTape])
        assert_type(tg.adaptive_avg_pool2d(x, 1), Tensor[Shape[N, C, L[1], L[1]], NoneTape])
        return tg.max_pool2d(x, 2)

    assert_type(pooled(tg.ones((2, 3, 8, 8))), Tensor[Shape[L[2], L[3], L[4], L[4]], NoneTape])


def accept_a_pool_of_a_pool() -> None:
    def pooled(x: Tensor[Shape[N, C, H, H], NoneTape]) -> Tensor[Shape[N, C, FloorDiv[H, L[4]], FloorDiv[H, L[4]]], NoneTape]:
        return tg.max_pool2d(tg.avg_pool2d(x, 2), 2)

    assert_type(pooled(tg.ones((2, 3, 11, 11))), Tensor[Shape[L[2], L[3], L[2], L[2]], NoneTape])


def accept_overlapping_pools() -> None:
    def pooled(x: Tensor[Shape[C, H], NoneTape]) -> Tensor[Shape[C, FloorDiv[Add[H, L[3]], L[4]]], NoneTape]:
        return tg.max_pool1d(tg.max_pool1d(x, 3, stride=2, padding=1), 3, stride=2, padding=1)

    assert_type(pooled(line), Tensor[Shape[L[3], L[7]], NoneTape])


def accept_named_windows() -> None:
    def pooled(x: Tensor[Shape[C, H], NoneTape], kernel: K, stride: P) -> Tensor[Shape[C, Add[FloorDiv[Sub[H, K], P], L[1]]], NoneTape]:
        return tg.max_pool1d(x, kernel, stride=stride)

    assert_type(pooled(line, 3, 2), Tensor[Shape[L[3], L[13]], NoneTape])


def accept_unknown_sizes() -> None:
    def pooled(a: Tensor[Shape[N, L[3], Any, L[20]]], b: Tensor[Any, OwnedTape], kernel: int) -> None:
        assert_type(tg.max_pool2d(a, 2), Tensor[Shape[N, L[3], Any, L[10]], NoneTape])
        assert_type(tg.avg_pool2d(b, 2), Tensor[Any, OwnedTape])
        tg.min_pool2d(a, kernel)

    pooled(tg.ones((2, 3, 4, 20)), images.trace(), 2)


def reject_a_window_larger_than_the_image() -> None:
    tg.max_pool2d(tg.ones((3, 4, 28)), 5)  # E: max_pool2d: a window of 5 does not fit into 4 cells along axis 1 of x (3, 4, 28) [tapegrad-shape]


def reject_a_window_longer_than_a_line() -> None:
    tg.max_pool1d(line, 29)  # E: max_pool1d: a window of 29 does not fit into 28 cells along axis 1 of x (3, 28) [tapegrad-shape]


def reject_a_dilated_window_longer_than_a_line() -> None:
    tg.max_pool1d(line, 15, dilation=2)  # E: max_pool1d: a window of 29 does not fit into 28 cells along axis 1 of x (3, 28) [tapegrad-shape]


def reject_a_last_window_that_reaches_too_far() -> None:
    tg.avg_pool1d(line, 30, stride=2, ceil_mode=True)  # E: avg_pool1d: a window of 30 does not fit into 28 cells, nor with ceil_mode into 29, along axis 1 of x (3, 28) [tapegrad-shape]


def reject_a_dilation_of_zero() -> None:
    tg.min_pool2d(images, 2, dilation=0)  # E: min_pool2d: dilation is 0, below 1 [tapegrad-shape]


def reject_a_pool_of_a_pool_as_a_third() -> None:
    def added(x: Tensor[Shape[C, H], NoneTape], y: Tensor[Shape[C, FloorDiv[H, L[3]]], NoneTape]) -> None:
        tg.max_pool1d(tg.max_pool1d(x, 2), 2) + y  # E(mypy): add: x (C, H // 4) and y (C, H // 3) do not broadcast: axis -1 is H // 4 in x but H // 3 in y [tapegrad-shape]

    added(tg.ones((3, 5)), tg.ones((3, 1)))


def reject_a_padding_that_fills_windows() -> None:
    tg.avg_pool2d(images, 3, padding=2)  # E: avg_pool2d: padding is 2, more than half of a window of 3 [tapegrad-shape]


def reject_a_line_as_an_image() -> None:
    tg.min_pool2d(line, 2)  # E: min_pool2d: x (3, 28) has rank 2, not 4, or 3 without a batch [tapegrad-shape]


def reject_an_image_as_a_line() -> None:
    tg.min_pool1d(images, 2)  # E: min_pool1d: x (2, 3, 28, 21) has rank 4, not 3, or 2 without a batch [tapegrad-shape]


def reject_a_stride_of_zero() -> None:
    tg.avg_pool1d(line, 2, stride=0)  # E: avg_pool1d: stride is 0, below 1 [tapegrad-shape]


def reject_a_window_of_nothing() -> None:
    tg.smooth_max_pool2d(images, (2, 0))  # E: smooth_max_pool2d: kernel is 0, below 1 [tapegrad-shape]


def reject_a_smooth_window_larger_than_the_input() -> None:
    tg.smooth_max_pool1d(line, 40)  # E: smooth_max_pool1d: a window of 40 does not fit into 28 cells along axis 1 of x (3, 28) [tapegrad-shape]


def reject_no_windows() -> None:
    tg.adaptive_avg_pool2d(images, 0)  # E: adaptive_avg_pool2d: size is 0, below 1 [tapegrad-shape]


def reject_an_average_of_ints() -> None:
    tg.adaptive_avg_pool1d(tg.ones((3, 4), np.int64), 2)  # E: adaptive_avg_pool1d: x is int64 but floating is expected [tapegrad-dtype]
