"""Losses: scalars that keep the tape of the predictions; targets fit them and have no tape."""

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


# mse


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


# cross_entropy


def accept_labels() -> None:
    assert_type(tg.cross_entropy(x, labels), Tensor[tuple[()], NoneTape])
    assert_type(tg.cross_entropy(x.trace(), labels), Tensor[tuple[()], OwnedTape])
    assert_type(tg.cross_entropy(x.trace(), labels.astype(np.uint8)), Tensor[tuple[()], OwnedTape])
    assert_type(tg.cross_entropy(tg.ones((2, 4, 3)), tg.zeros((2, 4), np.int32)), Tensor[tuple[()], NoneTape])
    assert_type(tg.cross_entropy(tg.ones((3,)), tg.tensor(1)), Tensor[tuple[()], NoneTape])


def accept_probabilities() -> None:
    assert_type(tg.cross_entropy(x.trace(), tg.softmax(x)), Tensor[tuple[()], OwnedTape])
    assert_type(tg.cross_entropy(tg.ones((3,)), tg.ones((3,))), Tensor[tuple[()], NoneTape])


def accept_labels_of_named_sizes() -> None:
    def loss(a: Tensor[Shape[N, M], OwnedTape], b: Tensor[Shape[N], NoneTape, np.int64]) -> Tensor[tuple[()], OwnedTape]:
        return tg.cross_entropy(a, b)

    assert_type(loss(x.trace(), labels), Tensor[tuple[()], OwnedTape])


def accept_unknown_sizes() -> None:
    def loss(a: Tensor[Any, OwnedTape], b: Tensor[Shape[Any], NoneTape, np.int64], c: Tensor[Any, Any, Any]) -> None:
        assert_type(tg.cross_entropy(a, b), Tensor[tuple[()], OwnedTape])
        assert_type(tg.cross_entropy(x, b), Tensor[tuple[()], NoneTape])
        assert_type(tg.cross_entropy(x, c), Tensor[tuple[()], NoneTape])
        assert_type(tg.mse(a, x), Tensor[tuple[()], OwnedTape])

    loss(x.trace(), labels, labels)


def accept_that_a_loss_goes_backward() -> None:
    a = x.trace()
    gradients = tg.cross_entropy(a, labels).backward()

    assert_type(gradients[a], Tensor[Shape[L[2], L[3]], NoneTape])


# Refused


def reject_a_target_that_would_broadcast() -> None:
    tg.mse(x, tg.ones((3,)))  # E: mse: target (3,) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_a_target_of_size_one() -> None:
    tg.mse(x.trace(), tg.ones((2, 1)))  # E: mse: target (2, 1) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_a_target_of_other_names() -> None:
    def loss(a: Tensor[Shape[N, M]], b: Tensor[Shape[M, N]]) -> None:
        tg.mse(a, b)  # E(mypy): mse: target (M, N) does not fit x (N, M): expected (N, M) [tapegrad-shape]

    loss(x, x.T)


def reject_a_traced_target() -> None:
    tg.mse(x.trace(), x.trace())  # E: mse: target has a tape but must have none [tapegrad-tape]


def reject_a_target_of_another_dtype() -> None:
    tg.mse(x, x.astype(np.float64))  # E: mse: x is float32 but target is float64 [tapegrad-dtype]


def reject_squared_errors_of_ints() -> None:
    tg.mse(labels, labels)  # E: mse: x is int64 but floating is expected [tapegrad-dtype]


def reject_labels_of_another_batch() -> None:
    tg.cross_entropy(x, tg.tensor([0, 1, 2]))  # E: cross_entropy: target (3,) does not fit x (2, 3): expected (2,) [tapegrad-shape]


def reject_probabilities_of_another_width() -> None:
    tg.cross_entropy(x.trace(), tg.ones((2, 4)))  # E: cross_entropy: target (2, 4) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_labels_of_another_rank() -> None:
    tg.cross_entropy(tg.ones((7, 2, 3)), labels)  # E: cross_entropy: target (2,) does not fit x (7, 2, 3): expected (7, 2) [tapegrad-shape]


def reject_scores_without_classes() -> None:
    tg.cross_entropy(tg.ones(()), labels)  # E: cross_entropy: x () has rank 0 but needs at least 1 [tapegrad-shape]


def reject_labels_of_another_name() -> None:
    def loss(a: Tensor[Shape[N, M]], b: Tensor[Shape[M], NoneTape, np.int64]) -> None:
        tg.cross_entropy(a, b)  # E(mypy): cross_entropy: target (M,) does not fit x (N, M): expected (N,) [tapegrad-shape]

    loss(x, tg.tensor([0, 1, 2]))


def reject_traced_labels() -> None:
    tg.cross_entropy(x.trace(), labels.trace())  # E: cross_entropy: target has a tape but must have none [tapegrad-tape]


def reject_traced_probabilities() -> None:
    tg.cross_entropy(x, tg.softmax(x.trace()))  # E: cross_entropy: target has a tape but must have none [tapegrad-tape]


def reject_bools_as_labels() -> None:
    tg.cross_entropy(x, labels > 0)  # E: cross_entropy: x is float32 but target is bool [tapegrad-dtype]


def reject_probabilities_of_another_dtype() -> None:
    tg.cross_entropy(x, tg.ones((2, 3), np.float64))  # E: cross_entropy: x is float32 but target is float64 [tapegrad-dtype]


def reject_scores_that_are_ints() -> None:
    tg.cross_entropy(tg.ones((2, 3), np.int64), labels)  # E: cross_entropy: x is int64 but floating is expected [tapegrad-dtype]
