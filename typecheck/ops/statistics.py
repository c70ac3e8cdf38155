"""Variance, deviation, logsumexp and norms: literal and named sizes, as functions and methods."""

from typing import Literal as L
from typing import assert_type

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)

x = tg.ones((2, 3))


def accept_axes() -> None:
    assert_type(tg.var(x, 0), Tensor[Shape[L[3]], NoneTape])
    assert_type(x.std(correction=1), Tensor[tuple[()], NoneTape])
    assert_type(tg.logsumexp(x.trace(), -1, keepdims=True), Tensor[Shape[L[2], L[1]], OwnedTape])
    assert_type(x.min(1), Tensor[Shape[L[2]], NoneTape])
    assert_type(tg.prod(x), Tensor[tuple[()], NoneTape])
    assert_type(tg.norm(x.trace(), 1, ord=1), Tensor[Shape[L[2]], OwnedTape])
    assert_type(tg.norm(x, keepdims=True), Tensor[Shape[L[1], L[1]], NoneTape])


def accept_named_sizes() -> None:
    def spread(a: Tensor[Shape[N, L[3]]]) -> None:
        assert_type(a.var(1), Tensor[Shape[N], NoneTape])

    spread(x)


def reject_var() -> None:
    tg.var(x, 2)  # E: var: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_std() -> None:
    x.std((0, -2))  # E: std: axis (0, -2) names an axis of x (2, 3) twice [tapegrad-shape]


def reject_logsumexp() -> None:
    tg.logsumexp(tg.ones((0, 3)))  # E: logsumexp: x (0, 3) has no element along axis 0 [tapegrad-shape]


def reject_min() -> None:
    tg.ones((0, 3)).min(0)  # E: min: x (0, 3) has no element along axis 0 [tapegrad-shape]


def reject_prod() -> None:
    x.prod(-3)  # E: prod: axis -3 is out of range for x (2, 3) [tapegrad-shape]


def reject_norm() -> None:
    tg.norm(x, 2)  # E: norm: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_norm_of_ints() -> None:
    tg.norm(tg.tensor([3, 4]))  # E: norm: x is int64 but floating is expected [tapegrad-dtype]
