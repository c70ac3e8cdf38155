"""Turning and surrounding: literal sizes, as functions and methods."""

from typing import Literal as L
from typing import assert_type

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor

x = tg.ones((2, 3, 5))


def accept_flip() -> None:
    assert_type(tg.flip(x, 1), Tensor[Shape[L[2], L[3], L[5]], NoneTape])


def accept_pad() -> None:
    assert_type(tg.pad(x, 1), Tensor[Shape[L[4], L[5], L[7]], NoneTape])
    assert_type(tg.pad(x, ((0, 0), (1, 0), (2, 2)), value=0.5), Tensor[Shape[L[2], L[4], L[9]], NoneTape])


def reject_flip() -> None:
    tg.flip(x, (0, -4))  # E: flip: axis -4 is out of range for x (2, 3, 5) [tapegrad-shape]


def reject_pad() -> None:
    tg.pad(x, ((1, 0), (0, 1)))  # E: pad: x (2, 3, 5) has rank 3 but pad_width has 2 pairs [tapegrad-shape]
