"""softmax and log_softmax: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import exp, log_softmax, normal, softmax, tensor, zeros
from tapegrad.testing import check_gradients, check_shape_rule

BOTH: dict[str, Callable[..., Any]] = {"softmax": softmax, "log_softmax": log_softmax}


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def test_values_computed_by_hand() -> None:
    x: Any = tensor([0.0, math.log(2), math.log(5)], np.float64)

    np.testing.assert_allclose(softmax(x).numpy(), [1 / 8, 2 / 8, 5 / 8], rtol=1e-15)
    np.testing.assert_allclose(log_softmax(x).numpy(), np.log([1 / 8, 2 / 8, 5 / 8]), rtol=1e-15)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("axis", [None, (0, 1), [1], True])
def test_only_one_axis_is_accepted(name: str, axis: Any) -> None:
    message = f"^{name}: axis is {re.escape(repr(axis))} but an int is expected$"
    with pytest.raises(DTypeError, match=message):
        BOTH[name](real(2, 3), axis)


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
def test_any_axis_is_accepted(axis: int) -> None:
    x = real(2, 3, 5)

    weights = np.exp(x.numpy())
    expected = weights / weights.sum(axis, keepdims=True)

    np.testing.assert_allclose(softmax(x, axis).numpy(), expected, rtol=1e-13)
    np.testing.assert_allclose(log_softmax(x, axis).numpy(), np.log(expected), rtol=1e-13)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 3), -1), ((2, 3), 0), ((5,), 0), ((2, 1), 1), ((2, 3, 2), 1)], ids=str
)
def test_gradients_can_be_differentiated(name: str, shape: tuple[int, ...], axis: int) -> None:
    check_gradients(lambda x: BOTH[name](x, axis), real(*shape), order=2)


@pytest.mark.parametrize("name", BOTH)
def test_results_match_the_shape_rules(name: str) -> None:
    check_shape_rule(BOTH[name], ((5,),), ((2, 3, 7), 0), ((2, 3, 7), -1), ((2, 0), 1), ((),), ((2, 3), 2))


@pytest.mark.parametrize("name", BOTH)
def test_a_missing_axis_is_rejected(name: str) -> None:
    with pytest.raises(ShapeError, match=rf"^{name}: axis 2 is out of range for x \(2, 3\)$"):
        BOTH[name](real(2, 3), 2)
    with pytest.raises(ShapeError, match=rf"^{name}: axis -1 is out of range for x \(\)$"):
        BOTH[name](real())
    with pytest.raises(ShapeError, match=rf"^{name}: axis -3 is out of range for x \(3, 0\)$"):
        BOTH[name](real(3, 0), -3)


@pytest.mark.parametrize("name", BOTH)
def test_ints_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        BOTH[name](tensor([1, 2]))


def test_large_scores_do_not_overflow() -> None:
    x: Any = tensor([1e4, 0.0, -1e4])

    assert softmax(x).tolist() == [1, 0, 0]
    assert log_softmax(x).tolist() == [0, -1e4, -2e4]
    assert np.isfinite(softmax(tensor([3e38, -3e38]) / 2).numpy()).all()


def test_a_score_of_minus_infinity_has_no_probability_and_no_gradient() -> None:
    x: Any = tensor([0.0, -np.inf, 0.0])

    y = softmax(x.trace())

    assert y.tolist() == [0.5, 0, 0.5]
    assert y.backward(seed=tensor([1.0, 2.0, 3.0]))[x].tolist() == [-0.5, 0, 0.5]


def test_equal_scores_are_equally_probable() -> None:
    x = tensor([100.0, 100.0, 100.0, 100.0])

    assert softmax(x).tolist() == [0.25] * 4
    assert log_softmax(x).tolist() == [pytest.approx(-math.log(4))] * 4


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf - inf
def test_with_a_nan_or_infinite_score_all_results_are_nan(name: str) -> None:
    # torch 2.13: torch.softmax(torch.tensor([[nan, 1.], [inf, 1.]]), 1)
    assert np.isnan(BOTH[name](tensor([[np.nan, 1.0], [np.inf, 1.0]])).numpy()[0]).all()


def test_probabilities_add_up_to_one() -> None:
    x = real(3, 5)

    np.testing.assert_allclose(softmax(x, 0).sum(0).numpy(), np.ones(5), rtol=1e-15)
    np.testing.assert_allclose(exp(log_softmax(x)).sum(1).numpy(), np.ones(3), rtol=1e-14)


@pytest.mark.parametrize("name", BOTH)
def test_empty_tensors_give_empty_results(name: str) -> None:
    assert BOTH[name](zeros((2, 0))).shape == (2, 0)
    assert BOTH[name](zeros((0, 3)), 0).shape == (0, 3)
    check_gradients(BOTH[name], zeros((0, 3), np.float64))


def test_a_single_score_has_probability_one() -> None:
    assert softmax(tensor([[7.0], [-3.0]])).tolist() == [[1], [1]]
    assert log_softmax(tensor([7.0])).tolist() == [0]


@pytest.mark.usefixtures("numpy_and_kernels")
@pytest.mark.parametrize("name", BOTH)
def test_a_large_gradient_that_is_referenced_elsewhere_stays_unchanged(name: str) -> None:
    x, weight, other = normal((300, 400), rng=0), normal((300, 400), rng=1), zeros((300, 400))
    f = BOTH[name]

    alone = (f(x.trace()) * weight).sum().backward()[x]
    y = f(x.trace())
    grads = (y * weight).sum().backward(wrt=[x, y])
    shared = ((f(x.trace()) + other.trace()) * weight).sum().backward(wrt=[x, other])

    np.testing.assert_array_equal(grads[y].numpy(), weight.numpy())
    np.testing.assert_array_equal(shared[other].numpy(), weight.numpy())
    np.testing.assert_array_equal(grads[x].numpy(), alone.numpy())
    np.testing.assert_array_equal(shared[x].numpy(), alone.numpy())
    row = x[7]
    np.testing.assert_allclose(
        alone[7].numpy(), (f(row.trace()) * weight[7]).sum().backward()[row].numpy(), rtol=1e-4, atol=1e-7
    )
