"""Adam: numeric results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.autograd.gradients import Gradients
from tapegrad.nn import Param
from tapegrad.ops import tensor
from tapegrad.optim import Adam

GRADIENTS = [[0.5, -1.0, 0.0], [-0.25, 2.0, 4.0], [1.0, 1e-6, -3.0]]


def stepped(x: Param[Any, Any], optimizer: Adam, gradient: list[float]) -> list[float]:
    grads, dx = Gradients(), tensor(gradient)
    grads.add(x, dx.data)
    optimizer.step(grads)
    values: list[float] = x.tolist()
    return values


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # torch 2.13: Adam([x], lr=0.1) with these gradients
        ({}, [[0.9, -1.9, 3.0], [0.87336636, -1.9366103, 2.9255862], [0.8075552, -1.9649103, 2.917918]]),
        # torch 2.13: Adam([x], lr=0.1, betas=(0.5, 0.75), eps=0.25)
        (
            {"betas": (0.5, 0.75), "eps": 0.25},
            [[0.93333334, -1.92, 3.0], [0.93333334, -1.9727006, 2.9185431], [0.87421584, -2.001441, 2.9360528]],
        ),
    ],
)
def test_three_steps_equal_torch(options: dict[str, Any], expected: list[list[float]]) -> None:
    start: Any = tensor([1.0, -2.0, 3.0])
    x = Param(start)
    optimizer = Adam([x], lr=0.1, **options)

    seen = [stepped(x, optimizer, gradient) for gradient in GRADIENTS]

    np.testing.assert_allclose(seen, expected, rtol=1e-6)


def test_bias_correction_counts_the_steps_of_each_parameter() -> None:
    one: Any = tensor([1.0])
    early, late = Param(one), Param(one)
    optimizer, alone = Adam([early, late], lr=0.1), Gradients()
    alone.add(early, tensor([3.0]).data)
    optimizer.step(alone, allow_unused=True)
    both = Gradients()
    both.add(early, tensor([3.0]).data)
    both.add(late, tensor([3.0]).data)

    optimizer.step(both)

    # The first step of Adam is lr in the direction of the gradient, for any norm.
    np.testing.assert_allclose(late.tolist(), [0.9], rtol=1e-6)
    assert (optimizer.state[early].steps, optimizer.state[late].steps) == (2, 1)


def test_a_scalar_is_a_parameter_too() -> None:
    start: Any = tensor(1.0)
    x = Param(start)
    optimizer = Adam([x], lr=0.1)

    for _ in range(2):
        grads = Gradients()
        grads.add(x, tensor(2.0).data)
        optimizer.step(grads)

    np.testing.assert_allclose(x.item(), 0.8, rtol=1e-6)
    assert x.shape == ()
    assert x.dtype == np.float32


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"betas": (1.0, 0.999)}, "Adam: beta 1 is 1.0 but must be from 0 to below 1"),
        ({"betas": (0.9, -0.1)}, "Adam: beta 2 is -0.1 but must be from 0 to below 1"),
        ({"eps": -1e-8}, "Adam: eps is -1e-08 but must be at least 0"),
        ({"lr": float("nan")}, "Adam: lr is nan but must be at least 0"),
    ],
)
def test_numbers_out_of_range_are_rejected(options: dict[str, Any], message: str) -> None:
    start: Any = tensor([1.0])

    with pytest.raises(ValueError, match=f"^{message}$"):
        Adam([Param(start)], **options)
