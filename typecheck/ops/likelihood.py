"""Likelihood losses: targets as labels or probabilities must match the predictions and have no tape."""

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
        assert_type(tg.cross_entropy(x, c), Tensor[tuple[()], Any])
        assert_type(tg.mse(a, x), Tensor[tuple[()], OwnedTape])

    loss(x.trace(), labels, labels)


def accept_that_a_loss_goes_backward() -> None:
    a = x.trace()
    gradients = tg.cross_entropy(a, labels).backward()

    assert_type(gradients[a], Tensor[Shape[L[2], L[3]], NoneTape])


def reject_labels_in_a_column() -> None:
    tg.cross_entropy(x, tg.tensor([[0], [1]]))  # E: cross_entropy: target (2, 1) does not fit x (2, 3): expected (2,) [tapegrad-shape]


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


def accept_traced_targets() -> None:
    assert_type(tg.cross_entropy(x.trace(), labels.trace()), Tensor[tuple[()], OwnedTape])
    assert_type(tg.cross_entropy(x, tg.softmax(x.trace())), Tensor[tuple[()], OwnedTape])
    assert_type(tg.kl_div(tg.log_softmax(x), tg.softmax(x.trace())), Tensor[tuple[()], OwnedTape])
    assert_type(tg.bce(tg.sigmoid(x), tg.sigmoid(x.trace())), Tensor[tuple[()], OwnedTape])
    assert_type(tg.bce_with_logits(x, tg.sigmoid(x.trace())), Tensor[tuple[()], OwnedTape])


def reject_traced_labels() -> None:
    tg.nll(tg.log_softmax(x), labels.trace())  # E: nll: target has a tape but must have none [tapegrad-tape]


def reject_bools_as_labels() -> None:
    tg.cross_entropy(x, labels > 0)  # E: cross_entropy: x is float32 but target is bool [tapegrad-dtype]


def reject_probabilities_of_another_dtype() -> None:
    tg.cross_entropy(x, tg.ones((2, 3), np.float64))  # E: cross_entropy: x is float32 but target is float64 [tapegrad-dtype]


def reject_scores_that_are_ints() -> None:
    tg.cross_entropy(tg.ones((2, 3), np.int64), labels)  # E: cross_entropy: x is int64 but floating is expected [tapegrad-dtype]



def accept_the_other_likelihoods() -> None:
    assert_type(tg.nll(tg.log_softmax(x.trace()), labels), Tensor[tuple[()], OwnedTape])
    assert_type(tg.kl_div(tg.log_softmax(x), tg.softmax(x)), Tensor[tuple[()], NoneTape])
    assert_type(tg.bce(tg.sigmoid(x.trace()), x), Tensor[tuple[()], OwnedTape])
    assert_type(tg.bce_with_logits(x, x), Tensor[tuple[()], NoneTape])


def accept_weights_of_positives() -> None:
    weight = tg.tensor([1.0, 2.0, 3.0])
    assert_type(tg.bce_with_logits(x.trace(), x, pos_weight=weight), Tensor[tuple[()], OwnedTape])
    assert_type(tg.bce_with_logits(x, x, pos_weight=tg.tensor(2.0), reduction="none"), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.bce_with_logits(x, x, pos_weight=None), Tensor[tuple[()], NoneTape])

    def loss(a: Tensor[Shape[N, M], OwnedTape], w: Tensor[Shape[M]]) -> None:
        assert_type(tg.bce_with_logits(a, a, pos_weight=w, reduction="none"), Tensor[Shape[N, M], OwnedTape])

    loss(x.trace(), weight)


def accept_weights_of_classes() -> None:
    weight = tg.tensor([1.0, 2.0, 3.0])
    assert_type(tg.cross_entropy(x.trace(), labels, weight=weight), Tensor[tuple[()], OwnedTape])
    assert_type(tg.cross_entropy(x, x, weight=weight, smoothing=0.1, reduction="none"), Tensor[Shape[L[2]], NoneTape])
    assert_type(tg.nll(x, labels, weight=weight, reduction="none"), Tensor[Shape[L[2]], NoneTape])
    assert_type(tg.nll(x, labels, weight=None), Tensor[tuple[()], NoneTape])

    def loss(a: Tensor[Shape[N, M], OwnedTape], w: Tensor[Shape[M]], b: Tensor[Shape[N], NoneTape, np.int64]) -> None:
        assert_type(tg.cross_entropy(a, b, weight=w, reduction="none"), Tensor[Shape[N], OwnedTape])

    loss(x.trace(), weight, labels)


def accept_a_loss_for_each_row() -> None:
    assert_type(tg.cross_entropy(x.trace(), labels, reduction="none"), Tensor[Shape[L[2]], OwnedTape])
    assert_type(tg.cross_entropy(x, x, smoothing=0.1, reduction="none"), Tensor[Shape[L[2]], NoneTape])
    assert_type(tg.cross_entropy(x, labels, ignore_index=-100, reduction="sum"), Tensor[tuple[()], NoneTape])
    assert_type(tg.nll(x, labels, reduction="none"), Tensor[Shape[L[2]], NoneTape])
    assert_type(tg.kl_div(x, x, reduction="none"), Tensor[Shape[L[2]], NoneTape])
    assert_type(tg.bce_with_logits(x, x, reduction="none"), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_rows_of_named_and_unknown_sizes() -> None:
    def loss(a: Tensor[Shape[N, M], OwnedTape], b: Tensor[Shape[N], NoneTape, np.int64], c: Tensor[Any]) -> None:
        assert_type(tg.cross_entropy(a, b, reduction="none"), Tensor[Shape[N], OwnedTape])
        assert_type(tg.nll(a, b, reduction="none"), Tensor[Shape[N], OwnedTape])
        assert_type(tg.kl_div(x, c), Tensor[tuple[()], NoneTape])

    loss(x.trace(), labels, x)


def reject_labels_that_are_floats() -> None:
    tg.cross_entropy(x, tg.ones((2,)))  # E: cross_entropy: target is float32 but integer is expected [tapegrad-dtype]


def reject_probabilities_that_are_ints() -> None:
    tg.cross_entropy(x, tg.ones((2, 3), np.uint8))  # E: cross_entropy: x is float32 but target is uint8 [tapegrad-dtype]


def reject_labels_of_another_shape() -> None:
    tg.nll(x, tg.ones((2, 3), np.int64))  # E: nll: target (2, 3) does not fit x (2, 3): expected (2,) [tapegrad-shape]


def reject_a_target_of_kl_div_that_would_broadcast() -> None:
    tg.kl_div(x, tg.ones((3,)))  # E: kl_div: target (3,) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_a_target_of_bce_that_would_broadcast() -> None:
    tg.bce(x, tg.ones((3,)))  # E: bce: target (3,) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_a_target_of_bce_with_logits_that_would_broadcast() -> None:
    tg.bce_with_logits(x, tg.ones((3,)))  # E: bce_with_logits: target (3,) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_weights_for_other_classes() -> None:
    tg.bce_with_logits(x, x, pos_weight=tg.ones((2,)))  # E: bce_with_logits: pos_weight (2,) does not broadcast to x (2, 3) [tapegrad-shape]


def reject_weights_of_other_classes() -> None:
    tg.cross_entropy(x, labels, weight=tg.ones((2,)))  # E: cross_entropy: weight (2,) does not fit x (2, 3): expected (3,) [tapegrad-shape]


def reject_weights_of_other_classes_in_nll() -> None:
    tg.nll(x, labels, weight=tg.ones((2, 3)))  # E: nll: weight (2, 3) does not fit x (2, 3): expected (3,) [tapegrad-shape]


def reject_traced_weights_of_classes() -> None:
    tg.cross_entropy(x, labels, weight=tg.ones((3,)).trace())  # E: cross_entropy: weight has a tape but must have none [tapegrad-tape]


def reject_weights_of_classes_of_another_dtype() -> None:
    tg.cross_entropy(x, labels, weight=tg.ones((3,), np.float64))  # E: cross_entropy: x is float32 but weight is float64 [tapegrad-dtype]


def reject_weights_of_classes_for_rows_of_named_sizes() -> None:
    def loss(a: Tensor[Shape[N, M]], w: Tensor[Shape[N]], b: Tensor[Shape[N], NoneTape, np.int64]) -> None:
        tg.cross_entropy(a, b, weight=w)  # E(mypy): cross_entropy: weight (N,) does not fit x (N, M): expected (M,) [tapegrad-shape]

    loss(tg.ones((3, 3)), tg.ones((3,)), tg.tensor([0, 1, 2]))


def reject_weights_for_rows_of_named_sizes() -> None:
    def loss(a: Tensor[Shape[N, M]], w: Tensor[Shape[N]]) -> None:
        tg.bce_with_logits(a, a, pos_weight=w)  # E(mypy): bce_with_logits: pos_weight (N,) does not broadcast to x (N, M) [tapegrad-shape]

    loss(tg.ones((3, 3)), tg.ones((3,)))


def reject_traced_weights() -> None:
    tg.bce_with_logits(x, x, pos_weight=tg.ones((3,)).trace())  # E: bce_with_logits: pos_weight has a tape but must have none [tapegrad-tape]


def reject_weights_of_another_dtype() -> None:
    tg.bce_with_logits(x, x, pos_weight=tg.ones((3,), np.float64))  # E: bce_with_logits: x is float32 but pos_weight is float64 [tapegrad-dtype]


def reject_floats_as_labels_of_nll() -> None:
    tg.nll(x, tg.ones((2,)))  # E: nll: target is float32 but integer is expected [tapegrad-dtype]
