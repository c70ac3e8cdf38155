"""SSM: results, gradients of all parameters, and errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn import SSM
from tapegrad.ops import normal, ones, tensor
from tapegrad.optim import Adam


def by_hand(layer: Any, x: Any) -> Any:
    """Compute the recurrence step by step, of `(Batch, Steps, Width)`."""
    rate, step = -np.exp(layer.log_rate.numpy()), np.exp(layer.log_step.numpy())[:, None]
    kept = np.exp(step * rate)
    taken, state, rows = (kept - 1) / rate, np.zeros(layer.mix.shape), []
    for row in np.moveaxis(x, -2, 0):
        state = kept * state + taken * row[..., None]
        rows.append((state * layer.mix.numpy()).sum(-1) + layer.skip.numpy() * row)
    return np.stack(rows, -2)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
def test_every_channel_sums_its_states(batch: tuple[int, ...]) -> None:
    layer, x = SSM(5, 4, rng=0), normal((*batch, 7, 5), rng=1)

    np.testing.assert_allclose(layer(x).numpy(), by_hand(layer, x.numpy()), rtol=1e-5, atol=1e-6)


def test_a_state_decays_by_its_rate() -> None:
    layer = SSM(1, 1, rng=0)
    for one, value in {"log_rate": 0.0, "log_step": 0.0, "mix": 1.0, "skip": 0.0}.items():
        parameter = layer.parameters()[one]
        parameter.assign(tg.full(parameter.shape, value))

    y: Any = layer(tensor([[1.0], [0.0], [0.0]]))

    # a = -1, Δ = 1: kept is 1 / e, taken 1 - 1 / e
    np.testing.assert_allclose(y.numpy()[:, 0], (1 - np.exp(-1)) * np.exp([0, -1, -2]), rtol=1e-6)


def test_initial_parameters_equal_the_reference() -> None:
    layer = SSM(200, 3, rng=0)

    np.testing.assert_allclose(np.exp(layer.log_rate.numpy()), np.tile([1, 2, 3], (200, 1)), rtol=1e-6)
    steps = np.exp(layer.log_step.numpy())
    assert 0.001 <= steps.min() < 0.002
    assert 0.08 < steps.max() <= 0.1
    assert layer.skip.tolist() == [1.0] * 200
    np.testing.assert_array_equal(SSM(200, 3, rng=0).mix.numpy(), layer.mix.numpy())


def test_outputs_do_not_depend_on_later_inputs() -> None:
    layer, x = SSM(3, 4, rng=0), normal((6, 3), rng=1)

    dx = layer(x.trace())[2].sum().backward()[x].numpy()

    assert (np.abs(dx).max(1) > 0).tolist() == [True] * 3 + [False] * 3


def test_it_learns_a_moving_average() -> None:
    x = normal((8, 20, 1), rng=0)
    target, state = [], np.zeros((8, 1))
    for row in np.moveaxis(x.numpy(), 1, 0):
        state = 0.7 * state + 0.3 * row
        target.append(state)
    model, averages = SSM(1, 4, rng=1), tensor(np.stack(target, 1).astype(np.float32))
    opt, losses = Adam(model, lr=0.05), []

    for _ in range(100):
        loss = tg.mse(model(x.trace()), averages)
        grads = loss.backward(wrt=model)
        assert all(np.abs(grads[one].numpy()).max() > 0 for one in model.parameters().values())
        opt.step(grads)
        losses.append(loss.item())

    assert losses[-1] < losses[0] / 100


def test_it_has_a_summary_and_a_repr() -> None:
    assert repr(SSM(3, 4)) == "SSM(3, 4)"
    assert tg.summary(SSM(3, 4), ("N", 6, 3)).rows[0].output == "(N, 6, 3)"


def test_invalid_arguments_are_rejected() -> None:
    message = "SSM(3, 4): x is (2, 7, 5) but (..., Steps, 3) is expected: axis -1 is 5, not 3"
    layer: Any = SSM(3, 4)
    with pytest.raises(ShapeError, match=f"^{re.escape(message.replace('SSM', 'layer SSM'))}$"):
        layer(ones((2, 7, 5)))
    with pytest.raises(DTypeError, match=r"^layer SSM\(3, 4\): x is float64 but float32 is expected$"):
        layer(ones((2, 7, 3), np.float64))
    with pytest.raises(ShapeError, match=r"^SSM: States is 0 in states but a named size is at least 1$"):
        SSM(3, 0)  # type: ignore[tapegrad-shape]  # under test
