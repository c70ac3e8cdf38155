"""Gradient clipping by norm and by value."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from tapegrad.autograd.gradients import Gradients
from tapegrad.errors import DTypeError
from tapegrad.nn import Linear, Param
from tapegrad.ops import ones, tensor, zeros


def gradients(*values: Any) -> tuple[Gradients, list[Any]]:
    grads, parameters = Gradients(), []
    for value in values:
        array: Any = np.array(value, np.float32)
        parameters.append(Param(zeros(array.shape)))
        grads.add(parameters[-1], array)
    return grads, parameters


def test_all_gradients_are_scaled_to_the_norm_together() -> None:
    grads, (x, y) = gradients([3.0, 0.0], [[0.0, -4.0]])

    clipped = grads.clip_norm(1.0)

    # torch 2.13: clip_grad_norm_([x, y], 1.0) found a norm of 5
    assert grads.norm() == 5
    np.testing.assert_allclose(clipped[x].tolist(), [0.6, 0.0], rtol=1e-6)
    np.testing.assert_allclose(clipped[y].tolist(), [[0.0, -0.8]], rtol=1e-6)
    assert clipped[x].dtype == np.float32
    assert grads[x].tolist() == [3, 0]


def test_norms_are_reported_by_path() -> None:
    layer, other = Linear(2, 3, rng=0), Linear(2, 3, rng=1)
    grads = layer(tensor([[3.0, 4.0]]).trace()).sum().backward(wrt=layer.weight)

    assert grads.norms(layer) == {"weight": 75**0.5}  # three columns of 3 and 4
    assert grads.norms(other) == {}


@pytest.mark.parametrize("limit", [5.0, 7.0, math.inf])
def test_small_gradients_are_unchanged(limit: float) -> None:
    grads, (x, y) = gradients([3.0, 0.0], [[0.0, -4.0]])

    clipped = grads.clip_norm(limit)

    assert (clipped[x].tolist(), clipped[y].tolist()) == ([3, 0], [[0, -4]])


def test_the_norm_of_the_largest_numbers_is_finite() -> None:
    grads, (x,) = gradients([3e38, 3e38])

    np.testing.assert_allclose(grads.clip_norm(1.0)[x].tolist(), [0.5**0.5] * 2, rtol=1e-6)


def test_elements_are_clipped_on_both_sides() -> None:
    grads, (x, y) = gradients([0.25, -2.0, math.inf], 7.0)

    clipped = grads.clip_value(0.5)

    assert (clipped[x].tolist(), clipped[y].item()) == ([0.25, -0.5, 0.5], 0.5)
    assert clipped[x].dtype == clipped[y].dtype == np.float32
    assert grads[y].item() == 7


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_non_finite_element_is_detected_and_spreads_when_clipped_by_norm(bad: float) -> None:
    grads, (x, y) = gradients([0.0, bad], [1.0])

    clipped = grads.clip_norm(1.0)

    assert not grads.is_finite()
    assert not clipped.is_finite()
    assert np.isnan(clipped[x].numpy()).all()
    assert np.isnan(clipped[y].numpy()).all()


def test_infinities_of_both_signs_do_not_cancel() -> None:
    assert not gradients([math.inf, -math.inf])[0].is_finite()


def test_the_largest_numbers_of_both_signs_are_finite() -> None:
    grads, largest = Gradients(), tensor([1.7e308, -1.7e308], dtype=np.float64)
    grads.add(largest, largest.data)

    assert grads.is_finite()


def test_empty_gradients_are_finite_with_norm_zero() -> None:
    for grads in (Gradients(), gradients(np.ones((0, 3)), [0.0])[0]):
        assert grads.is_finite()
        assert grads.norm() == 0
        assert len(grads.clip_norm(1.0)) == len(grads.clip_value(1.0)) == len(grads)


def test_a_gradient_that_is_a_tensor_is_clipped_like_an_array() -> None:
    grads, x = Gradients(), Param(ones((2,)))
    dx: Any = tensor([3.0, -4.0])
    grads.add(x, dx)

    assert grads.norm() == 5
    assert grads.is_finite()
    assert grads.clip_value(3.5)[x].tolist() == [3, -3.5]
    np.testing.assert_allclose(grads.clip_norm(2.5)[x].tolist(), [1.5, -2], rtol=1e-6)


@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan])
def test_a_limit_that_is_not_positive_is_rejected(limit: float) -> None:
    for call in ("clip_norm", "clip_value"):
        with pytest.raises(ValueError, match=f"^{call}: limit is {re.escape(str(limit))} but must be above 0$"):
            getattr(Gradients(), call)(limit)


@pytest.mark.parametrize("limit", ["1", None, True, [1.0]])
def test_a_limit_that_is_no_number_is_rejected(limit: Any) -> None:
    for call in ("clip_norm", "clip_value"):
        with pytest.raises(DTypeError, match=f"^{call}: limit is {re.escape(repr(limit))} but a number is expected$"):
            getattr(Gradients(), call)(limit)
