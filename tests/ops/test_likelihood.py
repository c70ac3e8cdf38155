"""Likelihood losses: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tapegrad.autodiff import Autodiff
from tapegrad.engines.bfloat16 import bfloat16
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.ops import (
    at_set,
    bce,
    bce_with_logits,
    cross_entropy,
    kl_div,
    log_softmax,
    nll,
    normal,
    ones,
    sigmoid,
    softmax,
    tensor,
    zeros,
)
from tapegrad.ops.likelihood import bce_with_logits_shape, cross_entropy_shape
from tapegrad.sizes import UnknownDims
from tapegrad.testing import check_gradients, check_shape_rule

OF_PROBABILITIES: dict[str, Callable[..., Any]] = {
    "bce": bce,
    "bce_with_logits": bce_with_logits,
    "cross_entropy": cross_entropy,
    "kl_div": kl_div,
}
LOSSES = OF_PROBABILITIES | {"nll": nll}
REDUCTIONS = ["mean", "sum", "none"]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


# cross_entropy


def test_cross_entropy_of_labels_is_the_mean_negative_log_likelihood() -> None:
    x: Any = tensor([[0.0, math.log(2), math.log(5)], [0.0, 0.0, 0.0]], np.float64)

    # -(ln 5/8 + ln 1/3) / 2
    assert cross_entropy(x, tensor([2, 0])).item() == pytest.approx((math.log(8 / 5) + math.log(3)) / 2, rel=1e-15)


def test_cross_entropy_of_probabilities_is_the_weighted_mean() -> None:
    x, target = real(4, 3), softmax(real(4, 3, seed=1))

    expected = -(log_softmax(x).numpy() * target.numpy()).sum(-1).mean()

    assert cross_entropy(x, target).item() == pytest.approx(expected, rel=1e-14)


def test_labels_equal_one_hot_probabilities() -> None:
    x, labels = real(4, 3), [2, 0, 1, 2]

    assert cross_entropy(x, tensor(labels)).item() == cross_entropy(x, tensor(np.eye(3)[labels])).item()


@pytest.mark.parametrize(
    ("x", "target"),
    [((4, 3), tensor([2, 0, 1, 2])), ((2, 2, 3), tensor([[2, 0], [1, 2]])), ((3,), tensor(1)), ((1, 1), tensor([0]))],
    ids=str,
)
def test_gradients_of_cross_entropy_with_labels_can_be_differentiated(x: tuple[int, ...], target: Any) -> None:
    check_gradients(lambda x: cross_entropy(x, target), real(*x), order=2)


@pytest.mark.parametrize("shape", [(4, 3), (2, 2, 3), (3,)], ids=str)
def test_gradients_of_cross_entropy_with_weights_can_be_differentiated(shape: tuple[int, ...]) -> None:
    # Weights that do not add up to one: the gradient must not count on it.
    target = real(*shape, seed=1)

    check_gradients(lambda x: cross_entropy(x, target), real(*shape), order=2)


def test_cross_entropy_matches_its_shape_rule() -> None:
    check_shape_rule(
        cross_entropy,
        ((4, 3), (4,)),
        ((4, 3), (4, 3)),
        ((2, 5, 3), (2, 5)),
        ((3,), ()),
        ((0, 3), (0,)),
        ((4, 3), (3,)),
        ((4, 3), (4, 5)),
    )


def test_large_scores_do_not_overflow() -> None:
    x: Any = tensor([[1e4, 0.0], [0.0, 1e4]])

    loss = cross_entropy(x.trace(), tensor([0, 0]))

    assert loss.item() == 5e3
    assert loss.backward()[x].tolist() == [[0, 0], [-0.5, 0.5]]


def test_a_class_with_probability_zero_adds_no_loss_unless_it_is_the_label() -> None:
    # The loss was NaN. torch 2.13: F.cross_entropy(torch.tensor([[-inf, 1., 2.]]), torch.tensor([1]))
    x: Any = tensor([[-np.inf, 1.0, 2.0]])

    loss = cross_entropy(x.trace(), tensor([1]))

    assert loss.item() == pytest.approx(1.3132616)
    assert loss.backward()[x].tolist() == [[0, pytest.approx(-0.7310586), pytest.approx(0.7310586)]]
    assert cross_entropy(x, tensor([0])).item() == math.inf
    assert cross_entropy(x, tensor([[0.0, 1.0, 0.0]])).item() == pytest.approx(1.3132616)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf - inf
@pytest.mark.parametrize("score", [math.inf, math.nan])
def test_with_a_nan_or_infinite_score_the_loss_is_nan(score: float) -> None:
    # torch 2.13: F.cross_entropy(torch.tensor([[0., score, 2.]]), torch.tensor([1]))
    assert math.isnan(cross_entropy(tensor([[0.0, score, 2.0]]), tensor([1])).item())


def test_cross_entropy_of_nothing_is_nan() -> None:
    assert math.isnan(cross_entropy(zeros((0, 3)), zeros((0,), np.int64)).item())


@pytest.mark.parametrize(
    ("x", "target", "message"),
    [
        ((4, 3), (5,), "target (5,) does not fit x (4, 3): expected (4,)"),
        ((4, 3), (4, 5), "target (4, 5) does not fit x (4, 3): expected (4, 3)"),
        ((4, 3), (), "target () does not fit x (4, 3): expected (4,)"),
        ((4, 3), (4, 3, 1), "target (4, 3, 1) does not fit x (4, 3): expected (4,)"),
        ((4, 3), (4, 1), "target (4, 1) does not fit x (4, 3): expected (4,)"),
        ((), (), "x () has rank 0 but needs at least 1"),
    ],
    ids=str,
)
def test_targets_of_a_wrong_shape_are_rejected(x: tuple[int, ...], target: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        cross_entropy(real(*x), real(*target))

    assert str(rejected.value) == f"cross_entropy: {message}"


def test_labels_out_of_range_are_rejected() -> None:
    x = real(2, 3)

    with pytest.raises(IndexError, match=r"^cross_entropy: label 3 is not one of the 3 classes of x \(2, 3\)$"):
        cross_entropy(x, tensor([0, 3]))
    with pytest.raises(IndexError, match=r"^cross_entropy: label -1 is not one of the 3 classes of x \(2, 3\)$"):
        cross_entropy(x, tensor([0, -1]))


def test_targets_of_a_wrong_dtype_are_rejected() -> None:
    x = real(2, 3)

    with pytest.raises(DTypeError, match=r"^cross_entropy: target is float64 but integer is expected$"):
        cross_entropy(x, real(2))
    for target in (ones((2,)), ones((2, 3))):
        with pytest.raises(DTypeError, match=r"^cross_entropy: x is float64 but target is float32$"):
            cross_entropy(x, target)
    with pytest.raises(DTypeError, match=r"^cross_entropy: x is int64 but floating is expected$"):
        cross_entropy(tensor([[1, 2]]), tensor([0]))  # type: ignore[tapegrad-dtype]  # the mistake under test


def test_label_smoothing_mixes_targets_with_the_uniform_distribution() -> None:
    x, labels = real(4, 3), tensor([2, 0, 1, 2])
    smooth = tensor(np.eye(3)[[2, 0, 1, 2]] * 0.75 + 0.25 / 3)

    assert cross_entropy(x, labels, smoothing=0.25).item() == pytest.approx(cross_entropy(x, smooth).item(), rel=1e-14)
    assert cross_entropy(x, smooth, smoothing=0.25).item() > cross_entropy(x, smooth).item()


def test_ignored_labels_add_no_loss_and_are_not_counted() -> None:
    x, labels = real(4, 3), tensor([2, -100, 1, -100])
    kept: Any = tensor([2, 1])

    for loss in (cross_entropy, partial(cross_entropy, smoothing=0.1), nll):
        each = loss(x, labels, ignore_index=-100, reduction="none").tolist()
        expected = loss(x.take(tensor([0, 2])), kept).item()

        assert each[1] == each[3] == 0
        assert loss(x, labels, ignore_index=-100).item() == pytest.approx(expected, rel=1e-14)


def test_the_mean_over_ignored_labels_alone_is_nan() -> None:
    x, labels = real(2, 3), tensor([1, 1])

    assert math.isnan(cross_entropy(x, labels, ignore_index=1).item())
    assert cross_entropy(x, labels, ignore_index=1, reduction="sum").item() == 0


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("options", [{"smoothing": 0.25}, {"ignore_index": 1}, {"smoothing": 0.1, "ignore_index": 2}])
def test_gradients_with_options_can_be_differentiated(options: dict[str, Any], reduction: Any) -> None:
    labels = tensor([2, 0, 1, 2])

    check_gradients(lambda x: cross_entropy(x, labels, reduction=reduction, **options), real(4, 3), order=2)


@pytest.mark.usefixtures("numpy_and_kernels")
@pytest.mark.parametrize("smoothing", [0.0, 0.25])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_the_cross_entropy_of_many_rows_is_that_of_the_formula(smoothing: float, reduction: Any) -> None:
    rng = np.random.default_rng(5)
    logits, labels = rng.normal(size=(40, 30, 200)) * 20, rng.integers(0, 200, (40, 30))
    logits[0, 0] += 1e4
    labels[rng.random((40, 30)) < 0.2] = -1
    counted = (labels != -1)[..., None]

    logs = logits - logits.max(-1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(-1, keepdims=True))
    probabilities = ((np.arange(200) == labels[..., None]) * (1 - smoothing) + smoothing / 200) * counted
    losses, gradient = -(probabilities * logs).sum(-1), np.exp(logs) * counted - probabilities
    share = 1 / counted.sum() if reduction == "mean" else 1.0

    x: Any = tensor(logits, np.float32)
    options: Any = {"smoothing": smoothing, "ignore_index": -1, "reduction": reduction}
    y = cross_entropy(x.trace(), tensor(labels), **options)
    grads = y.sum().backward() if reduction == "none" else y.backward()

    np.testing.assert_allclose(y.numpy(), losses if reduction == "none" else losses.sum() * share, rtol=1e-5)
    np.testing.assert_allclose(grads[x].numpy(), gradient * share, rtol=1e-3, atol=1e-5 * share)


@pytest.mark.usefixtures("numpy_and_kernels")
@pytest.mark.parametrize("shape", [(3, 5), (40, 1031)])
def test_a_retained_loss_gives_the_same_gradient_for_each_upstream_gradient(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(7)
    x: Any = tensor(rng.normal(size=shape), np.float32)
    labels = tensor(rng.integers(0, shape[1], shape[0]))
    x_traced: Any = x.trace()
    loss = cross_entropy(x_traced, labels)
    thrice = loss * 3

    of_loss = loss.backward(retain_tape=True)[x].numpy()
    of_thrice = thrice.backward(retain_tape=True)[x].numpy()
    again = loss.backward()[x].numpy()

    powers = np.exp(x.numpy())
    expected = (powers / powers.sum(1, keepdims=True) - np.eye(shape[1])[labels.numpy()]) / shape[0]
    np.testing.assert_allclose(of_loss, expected, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(of_thrice, 3 * expected, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(again, expected, rtol=1e-4, atol=1e-7)


WEIGHTS = tensor([0.5, 4.0, 0.0], np.float64)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_a_class_counts_as_often_as_its_weight(smoothing: float, reduction: Any) -> None:
    x, labels, w = real(5, 3), np.array([1, 0, 2, 1, 0]), WEIGHTS.numpy()
    logs, target = log_softmax(x).numpy(), np.eye(3)[labels] * (1 - smoothing) + smoothing / 3
    losses, counted = -(target * w * logs).sum(-1), labels != 0

    options: Any = {"weight": WEIGHTS, "smoothing": smoothing, "reduction": reduction}
    of_probabilities = cross_entropy(x, tensor(np.eye(3)[labels]), **options).numpy()
    of_labels = cross_entropy(x, tensor(labels), **options).numpy()
    of_others = cross_entropy(x, tensor(labels), ignore_index=0, **options).numpy()

    expected = {"mean": losses.mean(), "sum": losses.sum(), "none": losses}[reduction]
    np.testing.assert_allclose(of_probabilities, expected, rtol=1e-13)
    expected = {"mean": losses.sum() / w[labels].sum(), "sum": losses.sum(), "none": losses}[reduction]
    np.testing.assert_allclose(of_labels, expected, rtol=1e-13)
    total, others = w[labels[counted]].sum(), losses * counted
    expected = {"mean": others.sum() / total, "sum": others.sum(), "none": others}[reduction]
    np.testing.assert_allclose(of_others, expected, rtol=1e-13)
    if not smoothing:
        found = nll(log_softmax(x), tensor(labels), weight=WEIGHTS, ignore_index=0, reduction=reduction)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-13)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("options", [{}, {"smoothing": 0.25}, {"ignore_index": 1}], ids=str)
def test_gradients_with_weights_of_classes_can_be_differentiated(options: dict[str, Any], reduction: Any) -> None:
    for shape in ((4,), (2, 2), ()):
        labels = tensor(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 3)
        check_gradients(
            lambda x, t=labels: cross_entropy(x, t, weight=WEIGHTS, reduction=reduction, **options),
            real(*shape, 3),
            order=2,
        )
    if "smoothing" not in options:
        labels = tensor([2, 0, 1, 2])
        check_gradients(lambda x: nll(x, labels, weight=WEIGHTS, reduction=reduction, **options), real(4, 3), order=2)
    if "ignore_index" not in options:
        check_gradients(
            lambda x, target: cross_entropy(x, target, weight=WEIGHTS, reduction=reduction, **options),
            real(4, 3),
            softmax(real(4, 3, seed=1)),
            order=2,
        )


def test_the_mean_over_classes_that_weigh_nothing_is_nan() -> None:
    x: Any = real(2, 3)

    for loss in (cross_entropy, nll):
        assert math.isnan(loss(x, tensor([2, 2]), weight=WEIGHTS).item())
        assert loss(x, tensor([2, 2]), weight=WEIGHTS, reduction="sum").item() == 0
    assert math.isnan(cross_entropy(zeros((0, 3)), zeros((0,), np.int64), weight=ones((3,))).item())
    assert cross_entropy(zeros((2, 0)), tensor([0, 0]), weight=zeros((0,)), ignore_index=0, reduction="sum").item() == 0


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_row_that_is_left_out_has_no_gradient_beside_an_infinite_one() -> None:
    x: Any = real(2, 3)
    losses = cross_entropy(x.trace(), tensor([0, 1]), ignore_index=1, reduction="none")

    gradient = (losses * tensor([1.0, math.inf], np.float64)).sum().backward()[x]

    assert gradient[1].tolist() == [0, 0, 0]


def test_labels_in_a_column_are_rejected() -> None:
    labels: Any = zeros((2, 1), np.int64)
    for classes in (2, 3):
        with pytest.raises(ShapeError, match=rf"target \(2, 1\) does not fit x \(2, {classes}\): expected \(2,\)$"):
            cross_entropy(zeros((2, classes)), labels)


def test_a_class_of_weight_and_probability_zero_adds_no_loss() -> None:
    x: Any = tensor([[1.0, 2.0, -np.inf]], np.float64)

    loss = cross_entropy(x.trace(), tensor([0]), weight=WEIGHTS, smoothing=0.3)

    # Of the weighted probabilities 0.5 * 0.8, 4 * 0.1 and 0 * 0.1, divided by the weight of the label.
    logs = log_softmax(x[0, :2]).numpy()
    assert loss.item() == pytest.approx(-(0.4 * logs[0] + 0.4 * logs[1]) / 0.5, rel=1e-14)
    assert np.isfinite(loss.backward()[x].numpy()).all()


def test_weights_of_classes_in_half_precision_are_computed_in_float32() -> None:
    x, weight = tensor([[1.0, -2.0]]).astype(np.float16), tensor([300.0, 500.0]).astype(np.float16)

    y = cross_entropy(x, tensor([1]), weight=weight, reduction="sum")

    assert y.dtype == np.float16
    assert y.item() == pytest.approx(500 * math.log1p(math.exp(3)), rel=1e-3)


@pytest.mark.parametrize("loss", [cross_entropy, nll], ids=["cross_entropy", "nll"])
@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (zeros((2,)), ShapeError, r"weight \(2,\) does not fit x \(2, 3\): expected \(3,\)"),
        (zeros((1, 3)), ShapeError, r"weight \(1, 3\) does not fit x \(2, 3\): expected \(3,\)"),
        (zeros((3,), np.float64), DTypeError, "x is float32 but weight is float64"),
        (zeros((3,)).trace(), TapeError, "weight has a tape but must have none"),
        ([1.0, 2.0, 3.0], DTypeError, "weight is a list, not a tensor"),
    ],
    ids=str,
)
def test_invalid_weights_of_classes_are_rejected(loss: Any, weight: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{loss.__name__}: {message}"):
        loss(zeros((2, 3)), tensor([0, 1]), weight=weight)


# nll, kl_div, bce, bce_with_logits


def test_cross_entropy_equals_nll_loss_of_log_softmax() -> None:
    x, labels = real(4, 3), tensor([2, 0, 1, 2])

    for reduction in REDUCTIONS:
        whole = cross_entropy(x, labels, reduction=reduction)  # type: ignore[arg-type]  # one of the three
        np.testing.assert_allclose(nll(log_softmax(x), labels, reduction=reduction).numpy(), whole.numpy())  # type: ignore[arg-type]  # one of the three


def test_kl_div_equals_cross_entropy_minus_entropy() -> None:
    x, target = real(4, 3), softmax(real(4, 3, seed=1))
    own = -(target.numpy() * np.log(target.numpy())).sum(-1)

    found = kl_div(log_softmax(x), target, reduction="none").numpy()

    np.testing.assert_allclose(found, cross_entropy(x, target, reduction="none").numpy() - own, rtol=1e-12)
    assert kl_div(log_softmax(x), target).item() == pytest.approx(found.mean(), rel=1e-12)
    assert kl_div(target.astype(np.float64) * 0.0, tensor(np.eye(4, 3))).item() == 0


def test_bce_equals_the_formula() -> None:
    x, target = tensor([0.25, 0.25, 0.5]), tensor([1.0, 0.0, 0.5])

    losses = [math.log(4), -math.log(0.75), math.log(2)]

    np.testing.assert_allclose(bce(x, target, reduction="none").numpy(), losses, rtol=1e-6)
    assert bce(x, target).item() == pytest.approx(sum(losses) / 3, rel=1e-6)


def test_bce_with_logits_equals_bce_of_sigmoid() -> None:
    x, target = real(2, 3), sigmoid(real(2, 3, seed=1))

    for reduction in REDUCTIONS:
        whole = bce(sigmoid(x), target, reduction=reduction)  # type: ignore[arg-type]  # one of the three
        np.testing.assert_allclose(bce_with_logits(x, target, reduction=reduction).numpy(), whole.numpy())  # type: ignore[arg-type]  # one of the three


def test_the_losses_of_positives_count_as_often_as_their_weight() -> None:
    x, target, weight = real(2, 3), sigmoid(real(2, 3, seed=1)), tensor([0.5, 1.0, 4.0], np.float64)
    t, p = target.numpy(), weight.numpy()
    of_true, of_false = np.logaddexp(0, -x.numpy()), np.logaddexp(0, x.numpy())

    expected = p * t * of_true + (1 - t) * of_false
    losses = bce_with_logits(x, target, pos_weight=weight, reduction="none").numpy()
    np.testing.assert_allclose(losses, expected, rtol=1e-14)
    ones: Any = tensor(1.0, np.float64)
    np.testing.assert_allclose(
        bce_with_logits(x, target, pos_weight=ones).item(), bce_with_logits(x, target).item(), rtol=1e-14
    )
    large: Any = tensor([1e30, -1e30, 1e30, -1e30])
    right: Any = tensor([1.0, 0.0, 0.0, 1.0])
    losses = bce_with_logits(large, right, pos_weight=tensor(2.0), reduction="none").numpy()
    np.testing.assert_allclose(losses, [0, 0, 1e30, 2e30], rtol=1e-6)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 1), (2, 3)], ids=str)
def test_gradients_beside_weights_can_be_differentiated(reduction: Any, shape: tuple[int, ...]) -> None:
    weight: Any = sigmoid(real(*shape, seed=2)) * 3.0

    def loss(x: Any, target: Any) -> Any:
        return bce_with_logits(x, target, pos_weight=weight, reduction=reduction)

    check_gradients(loss, real(2, 3), sigmoid(real(2, 3, seed=1)), order=2)


def test_weights_of_positives_in_half_precision_are_computed_in_float32() -> None:
    x, weight = tensor([1.0, -2.0]).astype(np.float16), tensor(300.0).astype(np.float16)
    target: Any = tensor([1.0, 1.0]).astype(np.float16)

    y = bce_with_logits(x, target, pos_weight=weight)

    assert y.dtype == np.float16
    assert y.item() == pytest.approx(150 * (math.log1p(math.exp(-1)) + math.log1p(math.exp(2))), rel=1e-3)


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (zeros((2,)), ShapeError, r"bce_with_logits: pos_weight \(2,\) does not broadcast to x \(2, 3\)"),
        (zeros((1, 2, 3)), ShapeError, r"bce_with_logits: pos_weight \(1, 2, 3\) does not broadcast to x \(2, 3\)"),
        (zeros((3,), np.float64), DTypeError, "bce_with_logits: x is float32 but pos_weight is float64"),
        (zeros((3,)).trace(), TapeError, "bce_with_logits: pos_weight has a tape but must have none"),
        (3.0, DTypeError, "bce_with_logits: pos_weight is a float, not a tensor"),
    ],
    ids=str,
)
def test_invalid_weights_of_positives_are_rejected(weight: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        bce_with_logits(zeros((2, 3)), zeros((2, 3)), pos_weight=weight)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_gradients_of_probabilities_can_be_differentiated(reduction: Any) -> None:
    for shape in ((2, 3), (1,), (5, 1, 2)):
        target = softmax(real(*shape, seed=1))
        for loss in (bce_with_logits, kl_div):
            check_gradients(partial(loss, target=target, reduction=reduction), real(*shape), order=2)
        check_gradients(partial(bce, target=target, reduction=reduction), sigmoid(real(*shape)), order=2)
        labels = zeros(shape[:-1], np.int64)
        check_gradients(partial(nll, target=labels, reduction=reduction), real(*shape), order=2)


def test_bce_of_probabilities_0_and_1_equals_pytorch() -> None:
    # What torch.nn.functional.binary_cross_entropy of PyTorch 2.13 and its gradient give for float64.
    x = [0.0, 1.0, 0.0, 1.0, 0.5, 1e-5, 0.3, 1e-40, 1 - 1e-7, 1e-13, 1e-50]
    target = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.25, 1.0, 0.0, 0.0, 1.0]
    losses = [0, 0, 100, 100, math.log(2), 1.0000050000333337e-05, 0.5684994090355333, 92.10340371976183]
    losses += [16.118095651484676, 1.00000000000005e-13, 100]
    derivatives = [
        0,
        0,
        -1e12,
        1e12,
        -2,
        1.000010000100001,
        0.23809523809523805,
        -1e12,
        1.0000000005263558e7,
        0.1,
        -1e12,
    ]

    taped, labels = tensor(x, np.float64).trace(), tensor(target, np.float64)
    loss = bce(taped, labels, reduction="none")

    np.testing.assert_allclose(loss.numpy(), losses, rtol=1e-12, atol=1e-30)
    np.testing.assert_allclose(loss.sum().backward()[taped].numpy(), derivatives, rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, bfloat16])
def test_saturated_scores_keep_all_gradients_finite(dtype: Any) -> None:
    # One such row once made every gradient of the model NaN.
    x = tensor(np.array([-1000.0, 1000.0, 0.0]), dtype).trace()

    loss = bce(sigmoid(x), tensor(np.array([1.0, 0.0, 1.0]), dtype), reduction="sum")
    dx = loss.backward()[x].astype(np.float64)

    assert loss.item() == pytest.approx(200 + math.log(2), rel=1e-2)
    assert dx.tolist() == [0, 0, -0.5]


def test_bce_of_probabilities_0_and_1_can_be_differentiated() -> None:
    x, level = tensor([0.0, 1.0, 1.0, 0.25], np.float64), Autodiff()
    taped = x.trace()

    inner: Any = level.from_inner(taped)
    loss = bce(inner.trace(), tensor([1.0, 1.0, 0.0, 1.0], np.float64), reduction="sum")
    penalty = level.inner(loss.backward(wrt=inner)[inner])
    dx = (level.inner(loss.detach()) + (penalty * np.array([0.0, 0.0, 0.0, 1.0])).sum()).backward()[x]

    assert dx.tolist() == [0, -1, 0, -1 / 0.25 + 1 / 0.25**2]


def test_bce_rejects_invalid_probabilities() -> None:
    x, target = tensor([[0.5, 1.0], [0.0, 1.0]]), zeros((2, 2))

    with pytest.raises(ValueError, match=r"^bce: x is 2.0 but must be from 0 to 1; bce_with_logits takes scores$"):
        bce(tensor(2.0), tensor(1.0))
    with pytest.raises(
        ValueError, match=r"^bce: x is -0.5 at index \(1, 0\) but must be from 0 to 1; bce_with_logits takes scores$"
    ):
        bce(at_set(x, (1, 0), -0.5).trace(), target)
    with pytest.raises(ValueError, match=r"^bce: target is 7.0 at index \(0, 1\) but must be from 0 to 1$"):
        bce(x, at_set(target, (0, 1), 7.0))
    with pytest.raises(ValueError, match=r"^bce: x is inf at index \(1,\) but must be from 0 to 1; "):
        bce(tensor([math.nan, math.inf]), zeros((2,)))
    with pytest.raises(ValueError, match=r"^bce: x is 1.5 at index \(0,\) but must be from 0 to 1; "):
        bce(tensor([1.5], np.float16), tensor([1.0], np.float16))
    with pytest.raises(ValueError, match=r"^bce: x is 1000.0 but must be from 0 to 1; "):
        bce(tensor(1000.0), tensor(1.0))


def test_impossible_classes_with_target_zero_add_no_loss() -> None:
    x = tensor([[-math.inf, 0.0]])

    assert nll(x, tensor([1])).item() == 0
    assert nll(x, tensor([0])).item() == math.inf
    assert kl_div(x, tensor([[0.0, 1.0]])).item() == 0


@pytest.mark.parametrize("name", LOSSES)
def test_nan_and_large_scores_reach_the_loss(name: str) -> None:
    x = tensor([[math.nan, 1.0], [1.0, 0.0] if name == "bce" else [300.0, -300.0]])
    target = tensor([0, 0]) if name == "nll" else tensor([[1.0, 0.0], [1.0, 0.0]])
    large = {"nll": -300, "kl_div": -300, "cross_entropy": 0, "bce_with_logits": 0}

    with np.errstate(invalid="ignore", divide="ignore"):
        found = LOSSES[name](x, target, reduction="none").numpy().reshape(2, -1)[:, 0]

    assert math.isnan(found[0])
    assert name not in large or found[1] == large[name]


def test_finite_scores_have_a_finite_loss() -> None:
    x, target = tensor([-3e38, 3e38, 0.0, 0.0]), tensor([0.0, 1.0, 1.0, 0.0])

    np.testing.assert_allclose(
        bce_with_logits(x, target, reduction="none").numpy(), [0, 0, math.log(2), math.log(2)], rtol=1e-6
    )


@pytest.mark.parametrize("name", LOSSES)
def test_likelihood_losses_match_their_shape_rules(name: str) -> None:
    shapes = [((2, 3), (2, 3)), ((1,), (1,)), ((0, 5), (0, 5))]
    of_labels = [((2, 3), (2,)), ((1,), ()), ((0, 5), (0,))]

    for reduction in REDUCTIONS:
        cases = of_labels if name == "nll" else [*shapes, *of_labels] if name == "cross_entropy" else shapes
        check_shape_rule(LOSSES[name], *({"x": x, "target": y, "reduction": reduction} for x, y in cases))


def test_a_last_size_of_one_is_a_probability_if_there_is_one_class_and_otherwise_rejected() -> None:
    assert cross_entropy(real(4, 1), ones((4, 1), np.float64)).item() == 0
    assert cross_entropy_shape((4, 1), (4, 1), reduction="none") == (4,)
    for classes in (3, 0):
        message = rf"^cross_entropy: target \(4, 1\) does not fit x \(4, {classes}\): expected \(4,\)$"
        with pytest.raises(ShapeError, match=message):
            cross_entropy(real(4, classes), ones((4, 1), np.float64))


def test_weights_of_a_loss_may_have_any_shape_if_the_rank_of_the_logits_is_unknown() -> None:
    assert bce_with_logits_shape(UnknownDims(), (2, 3), pos_weight=(5,)) == ()


@pytest.mark.parametrize("name", OF_PROBABILITIES)
def test_the_mean_of_nothing_is_nan(name: str) -> None:
    assert math.isnan(LOSSES[name](zeros((0, 3)), zeros((0, 3))).item())
    assert LOSSES[name](zeros((0, 3)), zeros((0, 3)), reduction="sum").item() == 0
    assert math.isnan(nll(zeros((0, 3)), zeros((0,), np.int64)).item())


@pytest.mark.parametrize("name", ["bce", "bce_with_logits", "kl_div"])
def test_probabilities_that_would_broadcast_are_rejected(name: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        LOSSES[name](real(2, 3), real(3))

    assert str(rejected.value) == f"{name}: target (3,) does not fit x (2, 3): expected (2, 3)"


def test_nll_loss_rejects_labels_of_a_wrong_shape_or_out_of_range() -> None:
    x = real(2, 3)

    with pytest.raises(ShapeError, match=r"^nll: target \(2, 3\) does not fit x \(2, 3\): expected \(2,\)$"):
        nll(x, zeros((2, 3), np.int64))
    with pytest.raises(IndexError, match=r"^nll: label 3 is not one of the 3 classes of x \(2, 3\)$"):
        nll(x, tensor([0, 3]))
    with pytest.raises(DTypeError, match=r"^nll: target is float64 but integer is expected$"):
        nll(x, real(2))


@pytest.mark.parametrize("name", OF_PROBABILITIES)
def test_ints_and_mixed_dtypes_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        LOSSES[name](tensor([1, 2]), tensor([1, 2]))
    with pytest.raises(DTypeError, match=f"^{name}: x is float32 but target is float64$"):
        LOSSES[name](ones((2,)), real(2))


@pytest.mark.parametrize("name", OF_PROBABILITIES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_target_has_its_gradient(name: str, reduction: str) -> None:
    loss = partial(LOSSES[name], reduction=reduction)
    x = sigmoid(real(2, 3)) if name == "bce" else real(2, 3)
    target = sigmoid(real(2, 3, seed=1))

    check_gradients(loss, x, target, order=2)
    check_gradients(lambda t: loss(x, t), target)
    if name == "cross_entropy":
        check_gradients(partial(loss, smoothing=0.3), x, target, order=2)


def test_a_target_has_the_gradient_of_its_formula() -> None:
    x, t = log_softmax(tensor([[1.0, 0.0]])), tensor([[0.25, 0.75]])

    grads = kl_div(x, t.trace()).backward()

    np.testing.assert_allclose(grads[t].numpy(), np.log(t.numpy()) + 1 - x.numpy(), rtol=1e-6)


def test_a_target_of_zero_has_a_finite_gradient() -> None:
    x, t = log_softmax(tensor([[1.0, 0.0]])), tensor([[0.0, 1.0]])

    assert kl_div(x, t.trace()).backward()[t].numpy()[0, 0] == 0


def test_labels_may_have_a_tape() -> None:
    x, labels = real(2, 3), tensor([0, 2])

    grads = cross_entropy(x.trace(), labels.trace()).backward()

    assert grads[x].tolist() == cross_entropy(x.trace(), labels).backward()[x].tolist()
    assert cross_entropy(x, labels.trace()).owns_tape
    taped = x.trace()
    whole = (x * 0.0).astype(np.int64)[:, 0]
    assert cross_entropy(taped, whole + taped.astype(np.int64)[:, 0] * 0).backward()[x].shape == (2, 3)


def test_traced_labels_of_a_negative_log_likelihood_are_rejected() -> None:
    with pytest.raises(TapeError, match=r"^nll: target has a tape but must have none$"):
        nll(real(2, 3).trace(), tensor([0, 1]).trace())  # type: ignore[tapegrad-tape]  # the mistake under test


@pytest.mark.parametrize("name", LOSSES)
def test_a_target_that_is_no_tensor_is_rejected(name: str) -> None:
    with pytest.raises(
        DTypeError, match=rf"^{name}: target is an ndarray, not a tensor; tg\.tensor\(target\) makes one$"
    ):
        LOSSES[name](real(2, 3), np.ones((2,) if name == "nll" else (2, 3)))


@pytest.mark.parametrize("name", LOSSES)
def test_an_unknown_reduction_is_rejected(name: str) -> None:
    target = tensor([0, 1]) if name == "nll" else real(2, 3)

    with pytest.raises(ValueError, match=f"^{name}: reduction is 'avg' but 'mean', 'sum' or 'none' is expected$"):
        LOSSES[name](real(2, 3), target, reduction="avg")


def test_invalid_options_are_rejected() -> None:
    x = real(2, 3)

    with pytest.raises(ValueError, match=r"^cross_entropy: smoothing is 1.5 but must be from 0 to 1$"):
        cross_entropy(x, tensor([0, 1]), smoothing=1.5)  # type: ignore[arg-type]  # out of range
    with pytest.raises(
        ValueError, match=r"^cross_entropy: ignore_index is 1 but target holds probabilities, not labels$"
    ):
        cross_entropy(x, softmax(x), ignore_index=1)


def test_infinite_scores_have_no_finite_loss() -> None:
    x, target = tensor([math.inf, -math.inf]), tensor([0.5, 0.5])

    with np.errstate(invalid="ignore"):
        assert bce_with_logits(x, target, reduction="none").tolist() == [math.inf, math.inf]


def test_smoothing_over_zero_classes_does_not_divide() -> None:
    # Drawn calls found a ZeroDivisionError.
    assert cross_entropy(zeros((2, 0)), zeros((2, 0)), smoothing=0.5, reduction="none").shape == (2,)
