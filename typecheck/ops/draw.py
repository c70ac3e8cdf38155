"""Random numbers: of which shape, of which dtype, from which generator."""

from typing import Literal as L
from typing import assert_type

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor


def accept_random_numbers() -> None:
    assert_type(tg.normal((2, 3), mean=1.0, std=0.5, rng=0), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.uniform((7,), low=-1, high=1, rng=np.random.default_rng(0)), Tensor[Shape[L[7]], NoneTape])
    with tg.random(0):
        assert_type(tg.normal((2,)), Tensor[Shape[L[2]], NoneTape])


def reject_negative_normal() -> None:
    tg.normal((2, -3), rng=0)  # E: normal: shape (2, -3) has the negative size -3 [tapegrad-shape]


def reject_negative_uniform() -> None:
    tg.uniform((-2,), rng=0)  # E: uniform: shape (-2,) has the negative size -2 [tapegrad-shape]


def reject_random_ints() -> None:
    tg.normal((2,), dtype=np.int64)  # E(mypy): Value of type variable "Float" of "normal" cannot be "signedinteger[_64Bit]" [type-var]
