"""Regression and cosine losses: predictions and targets must have one shape, and the loss has the tape of both."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
labels = tg.tensor([0, 2])


def accept_squared_errors() -> None:
    assert_type(tg.mse(x, tg.zeros((2, 3))), Tensor[tuple[()], NoneTape])
    assert_type(tg.mse(x.trace(), x), Tensor[tuple[()], OwnedTape])
    assert_type(tg.mse(tg.ones(()), tg.zeros(())), Tensor[tuple[()], NoneTape])
    assert_type(tg.mse(x.astype(np.float64), x.astype(np.float64)), Tensor[tuple[()], NoneTape, np.float64])


def accept_squared_errors_of_named_and_unknown_sizes() -> None:
    def loss(a: Tensor[Shape[N, M], OwnedTape], b: Tensor[Shape[N, M]], c: Tensor[Shape[Any, L[3]]]) -> None:
        assert_type(tg.mse(a, b), Tensor[tuple[()], OwnedTape])
        assert_type(tg.mse(x, c), Tensor[tuple[()], NoneTape])
        assert_type(tg.mse(c, c), Tensor[tuple[()], NoneTape])

    loss(x.trace(), x, x)


def reject_a_target_that_would_broadcast() -> None:
    tg.mse(x, tg.ones((3,)))  # E: mse: target (3,) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_a_target_of_size_one() -> None:
    tg.mse(x.trace(), tg.ones((2, 1)))  # E: mse: target (2, 1) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_a_target_of_other_names() -> None:
    def loss(a: Tensor[Shape[N, M]], b: Tensor[Shape[M, N]]) -> None:
        tg.mse(a, b)  # E(mypy): mse: target (M, N) does not fit x (N, M): expected (N, M) [tapegrad-shape]

    loss(x, x.T)


def accept_a_traced_target() -> None:
    for loss in (tg.mse(x, x.trace()), tg.rmse(x, x.trace()), tg.mae(x, x.trace()), tg.hinge(x, x.trace())):
        assert_type(loss, Tensor[tuple[()], OwnedTape])
    assert_type(tg.huber(x.trace(), x.trace()), Tensor[tuple[()], OwnedTape])
    assert_type(tg.smooth_l1(x.trace(), x), Tensor[tuple[()], OwnedTape])
    assert_type(tg.cosine(x, x.trace(), reduction="none"), Tensor[Shape[L[2]], OwnedTape])


def reject_a_target_of_another_dtype() -> None:
    tg.mse(x, x.astype(np.float64))  # E: mse: x is float32 but target is float64 [tapegrad-dtype]


def reject_squared_errors_of_ints() -> None:
    tg.mse(labels, labels)  # E: mse: x is int64 but floating is expected [tapegrad-dtype]


def accept_distances_of_known_sizes() -> None:
    for loss in (tg.rmse(x, x), tg.mae(x, x), tg.huber(x, x, delta=0.5), tg.smooth_l1(x, x, beta=0.5)):
        assert_type(loss, Tensor[tuple[()], NoneTape])
    assert_type(tg.hinge(x.trace(), x), Tensor[tuple[()], OwnedTape])
    assert_type(tg.cosine(x.trace(), x, eps=1e-6), Tensor[tuple[()], OwnedTape])


def accept_every_reduction() -> None:
    assert_type(tg.mse(x, x, reduction="sum"), Tensor[tuple[()], NoneTape])
    assert_type(tg.mse(x.trace(), x, reduction="none"), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.huber(x, x, reduction="none"), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.cosine(x, x, reduction="none"), Tensor[Shape[L[2]], NoneTape])


def accept_reductions_of_named_and_unknown_sizes() -> None:
    def loss(a: Tensor[Shape[N, M], OwnedTape], b: Tensor[Shape[N, M]], c: Tensor[Shape[Any, L[3]]]) -> None:
        assert_type(tg.mae(a, b, reduction="none"), Tensor[Shape[N, M], OwnedTape])
        assert_type(tg.cosine(a, b, reduction="none"), Tensor[Shape[N], OwnedTape])
        assert_type(tg.mae(c, x, reduction="none"), Tensor[Shape[L[2], L[3]], NoneTape])

    loss(x.trace(), x, x)


def accept_an_unknown_reduction() -> None:
    def loss(reduction: L["mean", "none"]) -> None:
        assert_type(tg.mse(x, x, reduction=reduction), Tensor[Any, NoneTape])

    loss("none")


def reject_a_loss_of_each_element_as_a_start() -> None:
    tg.mse(x.trace(), x, reduction="none").backward()  # E: backward: x (2, 3) is not a scalar; reduce it or pass seed= [tapegrad-shape]


def reject_a_target_of_rmse_that_would_broadcast() -> None:
    tg.rmse(x, tg.ones((3,)))  # E: rmse: target (3,) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_a_target_of_mae_that_would_broadcast() -> None:
    tg.mae(x, tg.ones((3,)))  # E: mae: target (3,) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_a_target_of_huber_that_would_broadcast() -> None:
    tg.huber(x, tg.ones((3,)))  # E: huber: target (3,) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_a_target_of_smooth_l1_that_would_broadcast() -> None:
    tg.smooth_l1(x, tg.ones((3,)))  # E: smooth_l1: target (3,) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_a_target_of_hinge_that_would_broadcast() -> None:
    tg.hinge(x, tg.ones((3,)))  # E: hinge: target (3,) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_a_target_of_cosine_that_would_broadcast() -> None:
    tg.cosine(x, tg.ones((3,)))  # E: cosine: target (3,) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_directions_without_an_axis() -> None:
    tg.cosine(tg.ones(()), tg.ones(()))  # E: cosine: x () has rank 0 but needs at least 1 [tapegrad-shape]


def reject_distances_of_two_dtypes() -> None:
    tg.mae(x, x.astype(np.float64))  # E: mae: x is float32 but target is float64 [tapegrad-dtype]
