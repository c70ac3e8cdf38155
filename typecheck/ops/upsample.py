"""Upsampling: height and width are multiplied."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, OwnedTape, Shape, Tensor, nn

N = TypeVar("N", bound=int)
C = TypeVar("C", bound=int)
H = TypeVar("H", bound=int)

images = tg.ones((2, 3, 5, 7))


def accept_known_sizes() -> None:
    assert_type(tg.upsample2d(images, 2), Tensor[Shape[L[2], L[3], L[10], L[14]], NoneTape])
    assert_type(tg.upsample2d(images[0].trace(), (3, 1), mode="bilinear"), Tensor[Shape[L[3], L[15], L[7]], OwnedTape])
    assert_type(tg.upsample2d(images, 2, mode="bilinear", align_corners=True), Tensor[Shape[L[2], L[3], L[10], L[14]], NoneTape])


def accept_named_and_unknown_sizes() -> None:
    def larger(x: Tensor[Shape[N, C, H, Any], NoneTape]) -> None:
        assert_type(tg.upsample2d(x, 2), Tensor[Shape[N, C, Mul[L[2], H], Any], NoneTape])

    larger(images)


def accept_sizes_of_resampled_axes() -> None:
    assert_type(tg.interpolate(images, (8, 3)), Tensor[Shape[L[2], L[3], L[8], L[3]], NoneTape])
    assert_type(tg.interpolate(images.trace(), 3, mode="cubic"), Tensor[Shape[L[2], L[3], L[5], L[3]], OwnedTape])

    def resized(x: Tensor[Shape[N, C, H, Any]], height: H) -> None:
        assert_type(tg.interpolate(x, (2 * x.shape[2], 9), "linear"), Tensor[Shape[N, C, Mul[L[2], H], L[9]], NoneTape])
        assert_type(tg.interpolate(x, (7, height)), Tensor[Shape[N, C, L[7], H], NoneTape])

    resized(images, 5)


def reject_more_sizes_than_axes() -> None:
    tg.interpolate(tg.ones((5,)), (3, 2))  # E: interpolate: x (5,) has rank 1 but needs at least 2 [tapegrad-shape]


def reject_a_size_of_zero() -> None:
    tg.interpolate(images, (3, 0))  # E: interpolate: size is 0, below 1 [tapegrad-shape]


def reject_ints_to_resample() -> None:
    tg.interpolate(tg.ones((3, 5, 7), np.int64), 2)  # E: interpolate: x is int64 but floating is expected [tapegrad-dtype]


def accept_a_layer() -> None:
    assert_type(nn.Upsample(2)(images), Tensor[Shape[L[2], L[3], L[10], L[14]], NoneTape])
    assert_type(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample(2, mode="bilinear"))(images), Tensor[Shape[L[2], L[4], L[6], L[10]], NoneTape])


def reject_a_scale_of_zero() -> None:
    tg.upsample2d(images, 0)  # E: upsample2d: scale is 0, below 1 [tapegrad-shape]


def reject_a_matrix() -> None:
    tg.upsample2d(tg.ones((5, 7)), 2)  # E: upsample2d: x (5, 7) has rank 2, not 4, or 3 without a batch [tapegrad-shape]


def reject_ints() -> None:
    tg.upsample2d(tg.ones((3, 5, 7), np.int64), 2)  # E: upsample2d: x is int64 but floating is expected [tapegrad-dtype]
