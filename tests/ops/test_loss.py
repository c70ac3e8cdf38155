"""Losses: values, edges, gradients, shapes and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.ops import cross_entropy, log_softmax, mse, normal, ones, softmax, tensor, zeros
from tapegrad.testing import check_gradients, check_shape_rule

LOSSES: dict[str, Callable[..., Any]] = {"mse": mse, "cross_entropy": cross_entropy}


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


# mse


def test_mse_averages_the_squares() -> None:
    x: Any = tensor([[1.0, 2.0], [3.0, 4.0]])
    target: Any = tensor([[1.0, 0.0], [0.0, 5.0]])

    assert mse(x, target).item() == (0 + 4 + 9 + 1) / 4


@pytest.mark.parametrize("shape", [(2, 3), (), (1,), (5, 1, 2)], ids=str)
def test_gradients_of_mse_can_be_differentiated(shape: tuple[int, ...]) -> None:
    check_gradients(lambda x: mse(x, real(*shape, seed=1)), real(*shape), order=2)


def test_mse_keeps_the_law_of_rules() -> None:
    check_shape_rule(mse, ((2, 3), (2, 3)), ((), ()), ((0, 5), (0, 5)), ((2, 3), (3,)))


def test_mse_of_nothing_is_nan() -> None:
    assert math.isnan(mse(zeros((0, 3)), zeros((0, 3))).item())


@np.errstate(all="ignore")
def test_mse_passes_infinities_and_nan_and_overflows() -> None:
    for x, loss in ((np.inf, math.inf), (np.nan, math.nan), (3e38, math.inf), (0.0, 0.5)):
        assert mse(tensor([x, 1.0]), tensor([0.0, 0.0])).item() == pytest.approx(loss, nan_ok=True)


def test_mse_broadcasts_nothing_and_is_refused() -> None:
    x, target = real(2, 3), real(3)

    with pytest.raises(ShapeError, match=r"^mse: target \(3,\) does not fit x \(2, 3\): expected \(2, 3\)$"):
        mse(x, target)
    with pytest.raises(ShapeError, match=r"^mse: target \(2, 1\) does not fit x \(2, 3\): expected \(2, 3\)$"):
        mse(x, real(2, 1))


def test_mse_of_ints_or_of_two_dtypes_is_refused() -> None:
    with pytest.raises(DTypeError, match=r"^mse: x is int64 but floating is expected$"):
        mse(tensor([1, 2]), tensor([1, 2]))  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^mse: x is float32 but target is float64$"):
        mse(ones((2,)), real(2))


# cross_entropy


def test_cross_entropy_of_labels_averages_the_nats() -> None:
    x: Any = tensor([[0.0, math.log(2), math.log(5)], [0.0, 0.0, 0.0]], np.float64)

    # -(ln 5/8 + ln 1/3) / 2
    assert cross_entropy(x, tensor([2, 0])).item() == pytest.approx((math.log(8 / 5) + math.log(3)) / 2, rel=1e-15)


def test_cross_entropy_of_probabilities_weighs_them() -> None:
    x, target = real(4, 3), softmax(real(4, 3, seed=1))

    expected = -(log_softmax(x).numpy() * target.numpy()).sum(-1).mean()

    assert cross_entropy(x, target).item() == pytest.approx(expected, rel=1e-14)


def test_labels_are_probabilities_of_one() -> None:
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


def test_cross_entropy_keeps_the_law_of_rules() -> None:
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


def test_a_class_that_is_ruled_out_costs_nothing_unless_it_is_the_label() -> None:
    # The loss was NaN. torch 2.13: F.cross_entropy(torch.tensor([[-inf, 1., 2.]]), torch.tensor([1]))
    x: Any = tensor([[-np.inf, 1.0, 2.0]])

    loss = cross_entropy(x.trace(), tensor([1]))

    assert loss.item() == pytest.approx(1.3132616)
    assert loss.backward()[x].tolist() == [[0, pytest.approx(-0.7310586), pytest.approx(0.7310586)]]
    assert cross_entropy(x, tensor([0])).item() == math.inf
    assert cross_entropy(x, tensor([[0.0, 1.0, 0.0]])).item() == pytest.approx(1.3132616)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf - inf
@pytest.mark.parametrize("score", [math.inf, math.nan])
def test_beside_nan_or_an_infinite_score_the_loss_is_nan(score: float) -> None:
    # torch 2.13: F.cross_entropy(torch.tensor([[0., score, 2.]]), torch.tensor([1]))
    assert math.isnan(cross_entropy(tensor([[0.0, score, 2.0]]), tensor([1])).item())


def test_cross_entropy_of_nothing_is_nan() -> None:
    assert math.isnan(cross_entropy(zeros((0, 3)), zeros((0,), np.int64)).item())


@pytest.mark.parametrize(
    ("x", "target", "sentence"),
    [
        ((4, 3), (5,), "target (5,) does not fit x (4, 3): expected (4,)"),
        ((4, 3), (4, 5), "target (4, 5) does not fit x (4, 3): expected (4, 3)"),
        ((4, 3), (), "target () does not fit x (4, 3): expected (4,)"),
        ((4, 3), (4, 3, 1), "target (4, 3, 1) does not fit x (4, 3): expected (4,)"),
        ((), (), "x () has rank 0 but needs at least 1"),
    ],
    ids=str,
)
def test_targets_of_another_shape_are_refused(x: tuple[int, ...], target: tuple[int, ...], sentence: str) -> None:
    with pytest.raises(ShapeError) as refused:
        cross_entropy(real(*x), real(*target))

    assert str(refused.value) == f"cross_entropy: {sentence}"


def test_labels_that_are_no_class_are_refused() -> None:
    x = real(2, 3)

    with pytest.raises(IndexError, match=r"^cross_entropy: label 3 is not one of the 3 classes of x \(2, 3\)$"):
        cross_entropy(x, tensor([0, 3]))
    with pytest.raises(IndexError, match=r"^cross_entropy: label -1 is not one of the 3 classes of x \(2, 3\)$"):
        cross_entropy(x, tensor([0, -1]))


def test_targets_of_another_dtype_are_refused() -> None:
    x = real(2, 3)

    with pytest.raises(DTypeError, match=r"^cross_entropy: target is float64 but integer is expected$"):
        cross_entropy(x, real(2))
    for target in (ones((2,)), ones((2, 3))):
        with pytest.raises(DTypeError, match=r"^cross_entropy: x is float64 but target is float32$"):
            cross_entropy(x, target)
    with pytest.raises(DTypeError, match=r"^cross_entropy: x is int64 but floating is expected$"):
        cross_entropy(tensor([[1, 2]]), tensor([0]))  # type: ignore[tapegrad-dtype]  # the mistake under test


@pytest.mark.parametrize("name", LOSSES)
def test_a_taped_target_is_refused(name: str) -> None:
    x, target = real(2, 3), real(2, 3, seed=1)

    with pytest.raises(TapeError, match=f"^{name}: target has a tape but must have none$"):
        LOSSES[name](x.trace(), target.trace())


@pytest.mark.parametrize("name", LOSSES)
def test_a_target_that_is_no_tensor_is_refused(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: target is an ndarray, not a tensor$"):
        LOSSES[name](real(2, 3), np.ones((2, 3)))
