"""SGD: numeric results."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.autograd.gradients import Gradients
from tapegrad.nn import Param
from tapegrad.ops import tensor
from tapegrad.optim import SGD

GRADIENTS = [[0.5, -1.0, 0.0], [-0.25, 2.0, 4.0], [1.0, 1e-6, -3.0]]


def test_three_steps_equal_torch() -> None:
    start: Any = tensor([1.0, -2.0, 3.0])
    x = Param(start)
    optimizer, seen = SGD([x], lr=0.5), []

    for gradient in GRADIENTS:
        grads, dx = Gradients(), tensor(gradient)
        grads.add(x, dx.data)
        optimizer.step(grads)
        seen.append(x.tolist())

    # torch 2.13: SGD([x], lr=0.5) with these gradients
    np.testing.assert_allclose(seen, [[0.75, -1.5, 3.0], [0.875, -2.5, 1.0], [0.375, -2.5000005, 2.5]], rtol=1e-7)


def test_the_learning_rate_may_change_between_steps() -> None:
    start: Any = tensor([1.0])
    x = Param(start)
    optimizer, grads = SGD({"x": x}, lr=0.5), Gradients()
    grads.add(x, tensor([1.0]).data)

    optimizer.step(grads)
    optimizer.lr = 0.25
    optimizer.step(grads)

    assert x.tolist() == [0.25]
