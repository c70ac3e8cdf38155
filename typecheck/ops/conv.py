"""Convolutions: channels must equal those of the kernels, and each size is the number of windows."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, FloorDiv, Mul, NoneTape, OwnedTape, Shape, Sub, Tensor

N = TypeVar("N", bound=int)
C = TypeVar("C", bound=int)
O = TypeVar("O", bound=int)
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)
K = TypeVar("K", bound=int)
P = TypeVar("P", bound=int)
Q = TypeVar("Q", bound=int)

images = tg.ones((2, 3, 28, 20))
kernels = tg.ones((6, 3, 5, 3))
line, filters = tg.ones((3, 28)), tg.ones((6, 3, 5))
volume, cubes = tg.ones((2, 3, 5, 6, 7)), tg.ones((4, 3, 3, 3, 3))


def accept_known_sizes() -> None:
    assert_type(tg.conv2d(images, kernels), Tensor[Shape[L[2], L[6], L[24], L[18]], NoneTape])
    assert_type(tg.conv1d(line, filters), Tensor[Shape[L[6], L[24]], NoneTape])
    assert_type(tg.conv3d(volume, cubes), Tensor[Shape[L[2], L[4], L[3], L[4], L[5]], NoneTape])


def accept_options() -> None:
    assert_type(tg.conv2d(images, kernels, stride=2), Tensor[Shape[L[2], L[6], L[12], L[9]], NoneTape])
    assert_type(tg.conv2d(images, kernels, padding=(2, 1)), Tensor[Shape[L[2], L[6], L[28], L[20]], NoneTape])
    assert_type(tg.conv2d(images, kernels, dilation=(2, 1)), Tensor[Shape[L[2], L[6], L[20], L[18]], NoneTape])
    assert_type(tg.conv2d(images, kernels, padding="same"), Tensor[Shape[L[2], L[6], L[28], L[20]], NoneTape])
    assert_type(tg.conv2d(images, kernels, padding="valid"), Tensor[Shape[L[2], L[6], L[24], L[18]], NoneTape])
    assert_type(tg.conv2d(images, tg.ones((6, 1, 5, 3)), groups=3), Tensor[Shape[L[2], L[6], L[24], L[18]], NoneTape])
    assert_type(tg.conv1d(line, filters, stride=3, padding=1), Tensor[Shape[L[6], L[9]], NoneTape])
    assert_type(tg.conv3d(volume, cubes, padding="same"), Tensor[Shape[L[2], L[4], L[5], L[6], L[7]], NoneTape])


def accept_the_tape_of_either() -> None:
    assert_type(tg.conv1d(line.trace(), filters), Tensor[Shape[L[6], L[24]], OwnedTape])
    assert_type(tg.conv1d(line, filters.trace()), Tensor[Shape[L[6], L[24]], OwnedTape])


def accept_any_batch() -> None:
    def batched(x: Tensor[Shape[N, L[3], L[28], L[20]], NoneTape]) -> None:
        assert_type(tg.conv2d(x, kernels), Tensor[Shape[N, L[6], L[24], L[18]], NoneTape])

    batched(images)


def accept_named_sizes() -> None:
    def same(x: Tensor[Shape[N, C, H, W], NoneTape], w: Tensor[Shape[O, C, L[3], L[3]], NoneTape]) -> None:
        assert_type(tg.conv2d(x, w, padding=1), Tensor[Shape[N, O, H, W], NoneTape])
        assert_type(tg.conv2d(x, w, padding="same"), Tensor[Shape[N, O, H, W], NoneTape])
        assert_type(tg.conv2d(x, w), Tensor[Shape[N, O, Sub[H, L[2]], Sub[W, L[2]]], NoneTape])
        assert_type(tg.conv2d(x, w, stride=2, padding=1), Tensor[Shape[N, O, Add[FloorDiv[Sub[H, L[1]], L[2]], L[1]], Add[FloorDiv[Sub[W, L[1]], L[2]], L[1]]], NoneTape])

    same(images, tg.ones((6, 3, 3, 3)))


def accept_named_options() -> None:
    def conv_sizes(x: Tensor[Shape[C, H], NoneTape], w: Tensor[Shape[O, C, K], NoneTape], stride: P, padding: Q) -> Tensor[Shape[O, Add[FloorDiv[Sub[Add[H, Mul[L[2], Q]], K], P], L[1]]], NoneTape]:
        return tg.conv1d(x, w, stride=stride, padding=padding)

    assert_type(conv_sizes(line, filters, 3, 1), Tensor[Shape[L[6], L[9]], NoneTape])


def accept_unknown_sizes() -> None:
    def conv_sizes(a: Tensor[Shape[N, L[3], Any, L[20]]], b: Tensor[Any, OwnedTape], c: Tensor, stride: int) -> None:
        assert_type(tg.conv2d(a, kernels), Tensor[Shape[N, L[6], Any, L[18]], NoneTape])
        assert_type(tg.conv2d(b, kernels), Tensor[Shape[*tuple[Any, ...], L[6], Any, Any], OwnedTape])
        assert_type(tg.conv2d(c, kernels), Tensor[Shape[*tuple[Any, ...], L[6], Any, Any], Any])
        tg.conv2d(images, kernels, stride=stride)

    conv_sizes(images, images.trace(), images, 2)


def accept_dtypes() -> None:
    assert_type(tg.conv1d(line.astype(np.float64), filters.astype(np.float64)), Tensor[Shape[L[6], L[24]], NoneTape, np.float64])


def reject_other_channels() -> None:
    tg.conv2d(images, tg.ones((6, 1, 5, 5)))  # E: conv2d: axis 1 of x (2, 3, 28, 20) has 3 channels but w (6, 1, 5, 5) expects 1 [tapegrad-shape]


def reject_other_named_channels() -> None:
    def conv_sizes(x: Tensor[Shape[C, H], NoneTape], w: Tensor[Shape[O, K, L[1]], NoneTape]) -> None:
        tg.conv1d(x, w)  # E(mypy): conv1d: axis 0 of x (C, H) has C channels but w (O, K, 1) expects K [tapegrad-shape]

    conv_sizes(line, tg.ones((2, 3, 1)))


def reject_channels_in_other_groups() -> None:
    tg.conv2d(images, kernels, groups=2)  # E: conv2d: axis 1 of x (2, 3, 28, 20) has 3 channels but w (6, 3, 5, 3) expects 6 in 2 groups [tapegrad-shape]


def reject_kernels_that_groups_do_not_divide() -> None:
    tg.conv1d(line, tg.ones((4, 1, 5)), groups=3)  # E: conv1d: w has 4 kernels, which do not divide into 3 groups [tapegrad-shape]


def reject_a_kernel_longer_than_its_image() -> None:
    tg.conv2d(images, tg.ones((6, 3, 31, 5)), padding=1)  # E: conv2d: a window of 31 does not fit into 28 cells with a padding of 1 along axis 2 of x (2, 3, 28, 20) [tapegrad-shape]


def reject_a_kernel_dilated_beyond_its_volume() -> None:
    tg.conv3d(volume, cubes, dilation=3)  # E: conv3d: a window of 7 does not fit into 5 cells along axis 2 of x (2, 3, 5, 6, 7) [tapegrad-shape]


def reject_a_matrix_as_an_image() -> None:
    tg.conv2d(tg.ones((28, 28)), kernels)  # E: conv2d: x (28, 28) has rank 2, not 4, or 3 without a batch [tapegrad-shape]


def reject_kernels_of_another_rank() -> None:
    tg.conv2d(images, filters)  # E: conv2d: w (6, 3, 5) has rank 3, not 4 [tapegrad-shape]


def reject_a_stride_of_zero() -> None:
    tg.conv2d(images, kernels, stride=0)  # E: conv2d: stride is 0, below 1 [tapegrad-shape]


def reject_a_stride_that_keeps_no_size() -> None:
    tg.conv2d(images, kernels, padding="same", stride=2)  # E: conv2d: padding 'same' needs a stride of 1, not 2 [tapegrad-shape]


def reject_ints() -> None:
    tg.conv1d(tg.ones((3, 28), np.int64), tg.ones((6, 3, 5), np.int64))  # E: conv1d: x is int64 but floating is expected [tapegrad-dtype]


def reject_kernels_of_another_dtype() -> None:
    tg.conv1d(line, filters.astype(np.float64))  # E: conv1d: x is float32 but w is float64 [tapegrad-dtype]
