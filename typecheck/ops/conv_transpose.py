"""Transposed convolutions: channels must equal those of the kernels, and each size is what the kernels cover."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, Mul, NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
C = TypeVar("C", bound=int)
O = TypeVar("O", bound=int)
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)

images = tg.ones((2, 6, 14, 10))
kernels = tg.ones((6, 3, 5, 3))
line, filters = tg.ones((3, 14)), tg.ones((3, 6, 4))
volume, cubes = tg.ones((2, 3, 5, 6, 7)), tg.ones((3, 4, 2, 2, 2))


def accept_known_sizes() -> None:
    assert_type(tg.conv_transpose2d(images, kernels), Tensor[Shape[L[2], L[3], L[18], L[12]], NoneTape])
    assert_type(tg.conv_transpose1d(line, filters), Tensor[Shape[L[6], L[17]], NoneTape])
    assert_type(tg.conv_transpose3d(volume, cubes), Tensor[Shape[L[2], L[4], L[6], L[7], L[8]], NoneTape])


def accept_any_number_of_axes() -> None:
    assert_type(tg.conv_transpose(images, kernels, stride=2), Tensor[Shape[L[2], L[3], L[31], L[21]], NoneTape])
    assert_type(tg.conv_transpose(line, filters), Tensor[Shape[L[6], L[17]], NoneTape])
    assert_type(tg.conv_transpose(volume.trace(), cubes), Tensor[Shape[L[2], L[4], L[6], L[7], L[8]], OwnedTape])


def accept_options() -> None:
    assert_type(tg.conv_transpose2d(images, kernels, stride=2), Tensor[Shape[L[2], L[3], L[31], L[21]], NoneTape])
    assert_type(tg.conv_transpose2d(images, kernels, padding=(2, 1)), Tensor[Shape[L[2], L[3], L[14], L[10]], NoneTape])
    assert_type(tg.conv_transpose2d(images, kernels, dilation=(2, 1)), Tensor[Shape[L[2], L[3], L[22], L[12]], NoneTape])
    assert_type(tg.conv_transpose2d(images, kernels, groups=2), Tensor[Shape[L[2], L[6], L[18], L[12]], NoneTape])
    assert_type(tg.conv_transpose1d(line, filters, stride=2, padding=1, output_padding=1), Tensor[Shape[L[6], L[29]], NoneTape])


def accept_the_tape_of_either() -> None:
    assert_type(tg.conv_transpose1d(line.trace(), filters), Tensor[Shape[L[6], L[17]], OwnedTape])
    assert_type(tg.conv_transpose1d(line, filters.trace()), Tensor[Shape[L[6], L[17]], OwnedTape])


def accept_named_sizes() -> None:
    def larger(x: Tensor[Shape[N, C, H, W], NoneTape], w: Tensor[Shape[C, O, L[4], L[4]], NoneTape]) -> None:
        assert_type(tg.conv_transpose2d(x, w, stride=2, padding=1), Tensor[Shape[N, O, Mul[L[2], H], Mul[L[2], W]], NoneTape])
        assert_type(tg.conv_transpose2d(x, w), Tensor[Shape[N, O, Add[H, L[3]], Add[W, L[3]]], NoneTape])

    larger(images, tg.ones((6, 3, 4, 4)))


def accept_unknown_sizes() -> None:
    def laid(a: Tensor[Shape[N, L[6], Any, L[10]]], b: Tensor[Any, OwnedTape], c: Tensor) -> None:
        assert_type(tg.conv_transpose2d(a, kernels), Tensor[Shape[N, L[3], Any, L[12]], NoneTape])
        assert_type(tg.conv_transpose2d(b, kernels), Tensor[Shape[*tuple[Any, ...], L[3], Any, Any], OwnedTape])
        assert_type(tg.conv_transpose2d(c, kernels), Tensor[Shape[*tuple[Any, ...], L[3], Any, Any], Any])

    laid(images, images.trace(), images)


def accept_dtypes() -> None:
    assert_type(tg.conv_transpose1d(line.astype(np.float64), filters.astype(np.float64)), Tensor[Shape[L[6], L[17]], NoneTape, np.float64])


def reject_other_channels() -> None:
    tg.conv_transpose2d(images, tg.ones((3, 6, 5, 5)))  # E: conv_transpose2d: axis 1 of x (2, 6, 14, 10) has 6 channels but w (3, 6, 5, 5) expects 3 [tapegrad-shape]


def reject_channels_that_groups_do_not_divide() -> None:
    tg.conv_transpose1d(line, filters, groups=2)  # E: conv_transpose1d: axis 0 of x (3, 14) has 3 channels, which do not divide into 2 groups [tapegrad-shape]


def reject_a_padding_that_leaves_nothing() -> None:
    tg.conv_transpose2d(images, kernels, padding=9)  # E: conv_transpose2d: a padding of 9 leaves 0 cells of 18 [tapegrad-shape]


def reject_an_output_padding_that_a_stride_would_reach() -> None:
    tg.conv_transpose1d(line, filters, stride=2, output_padding=2)  # E: conv_transpose1d: output_padding is 2, not below the stride, 2 [tapegrad-shape]


def reject_kernels_of_another_rank() -> None:
    tg.conv_transpose3d(volume, kernels)  # E: conv_transpose3d: w (6, 3, 5, 3) has rank 4, not 5 [tapegrad-shape]


def reject_kernels_without_an_axis() -> None:
    tg.conv_transpose(images, tg.ones((6, 3)))  # E: conv_transpose: w (6, 3) has rank 2 but needs at least 3 [tapegrad-shape]


def reject_cells_of_fewer_axes_than_kernels() -> None:
    tg.conv_transpose(line, kernels)  # E: conv_transpose: x (3, 14) has rank 2, not 4, or 3 without a batch [tapegrad-shape]


def reject_ints() -> None:
    tg.conv_transpose1d(tg.ones((3, 28), np.int64), tg.ones((3, 6, 5), np.int64))  # E: conv_transpose1d: x is int64 but floating is expected [tapegrad-dtype]


def reject_kernels_of_another_dtype() -> None:
    tg.conv_transpose1d(line, filters.astype(np.float64))  # E: conv_transpose1d: x is float32 but w is float64 [tapegrad-dtype]
