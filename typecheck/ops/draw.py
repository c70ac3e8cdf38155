"""Random tensors: shape, dtype and generator."""

from typing import Literal as L
from typing import assert_type

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)

x = tg.ones((2, 3))
whole = tg.tensor([1, 2, 3])


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
    tg.normal((2,), dtype=np.int64)  # E: normal: dtype is int64 but floating is expected [tapegrad-dtype]


def accept_coins() -> None:
    assert_type(tg.bernoulli((2, 3), p=0.3, rng=0), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.bernoulli((2,), dtype=np.bool_), Tensor[Shape[L[2]], NoneTape, np.bool_])


def reject_negative_bernoulli() -> None:
    tg.bernoulli((2, -3))  # E: bernoulli: shape (2, -3) has the negative size -3 [tapegrad-shape]


def accept_random_numbers_like_others() -> None:
    def drawn(a: Tensor[Shape[N, L[3]]]) -> None:
        assert_type(tg.normal_like(a, mean=1.0), Tensor[Shape[N, L[3]], NoneTape])
        assert_type(tg.uniform_like(a.trace(), low=-1.0), Tensor[Shape[N, L[3]], NoneTape])
        assert_type(tg.bernoulli_like(a, p=0.3, rng=0), Tensor[Shape[N, L[3]], NoneTape])

    drawn(x)


def accept_coins_like_ints() -> None:
    assert_type(tg.bernoulli_like(whole), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_normal_like_ints() -> None:
    tg.normal_like(whole)  # E: normal_like: x is int64 but floating is expected [tapegrad-dtype]


def reject_uniform_like_ints() -> None:
    tg.uniform_like(whole)  # E: uniform_like: x is int64 but floating is expected [tapegrad-dtype]


def accept_dropout() -> None:
    assert_type(tg.dropout(x, rate=0.5, rng=0), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.dropout(x.trace(), rate=0.5, rng=0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.dropout(x.astype(np.float64), rate=0.5, rng=0), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_dropout_of_ints() -> None:
    tg.dropout(whole, rate=0.5, rng=0)  # E: dropout: x is int64 but floating is expected [tapegrad-dtype]
