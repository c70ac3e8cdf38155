"""Loss scaling: small float16 gradients survive, a step that is not finite is skipped, and the scale adapts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tapegrad import io, nn, ops, optim
from tapegrad.errors import DTypeError, TapeError
from tapegrad.nn import Param


def half_loss(w: Any, factor: float) -> Any:
    """Compute in float16, of parameters in float32: the gradient is `factor`, which half precision may not hold."""
    x = w.trace().astype(np.float16)
    return (x.astype(np.float32) * factor).sum()


def test_a_gradient_that_underflows_in_half_precision_is_recovered() -> None:
    w, tiny = Param(ops.zeros(3)), 2.0**-26
    opt, scaler = optim.SGD([w], lr=1.0), optim.LossScaler()

    alone = half_loss(w, tiny).backward(wrt=[w])[w].tolist()
    taken = scaler.step(opt, scaler.scaled(half_loss(w, tiny)).backward(wrt=[w]))

    assert alone == [0, 0, 0]
    assert taken
    assert w.tolist() == [-tiny] * 3


def test_gradients_are_those_without_a_scale() -> None:
    model = nn.Linear(3, 2, rng=0)
    x = ops.normal((5, 3), rng=1)
    expected = (model(x.trace()) ** 2).mean().backward(wrt=model)
    opt, scaler = optim.SGD(model, lr=0.0), optim.LossScaler(2.0**10)

    grads = scaler.scaled((model(x.trace()) ** 2).mean()).backward(wrt=model)
    scaler.step(opt, grads)

    for parameter in model.parameters().values():
        np.testing.assert_allclose(grads[parameter].numpy(), expected[parameter].numpy(), rtol=1e-6)


@np.errstate(over="ignore", invalid="ignore")
def test_a_non_finite_step_is_skipped_and_the_scale_decreases() -> None:
    w = Param(ops.ones(3))
    opt, scaler = optim.Adam([w], lr=1.0), optim.LossScaler(2.0**16, backoff=0.25)

    taken = scaler.step(opt, scaler.scaled(half_loss(w, 8.0)).backward(wrt=[w]))

    assert not taken
    assert w.tolist() == [1, 1, 1]
    assert opt.state == {}
    assert scaler.scale == 2.0**14


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_element_that_is_not_finite_is_enough(bad: float) -> None:
    w = Param(ops.ones(3))
    scaler = optim.LossScaler(8.0)
    factors = ops.tensor([1.0, bad, 1.0])

    assert not scaler.step(optim.SGD([w], lr=1.0), (w.trace() * factors).sum().backward(wrt=[w]))
    assert (w.tolist(), scaler.scale) == ([1, 1, 1], 4)


def test_the_scale_grows_after_so_many_steps_in_a_row() -> None:
    w = Param(ops.ones(1))
    opt, scaler = optim.SGD([w], lr=0.0), optim.LossScaler(4.0, growth=3.0, interval=2)
    scales = []

    for factor in (1.0, np.inf, 1.0, 1.0, 1.0):
        scaler.step(opt, scaler.scaled((w.trace() * factor).sum()).backward(wrt=[w]))
        scales.append(scaler.scale)

    assert scales == [4, 2, 2, 6, 6]


def test_frozen_and_unused_parameters_are_unchanged() -> None:
    w, unused = Param(ops.ones(1)), Param(ops.ones(1))
    scaler = optim.LossScaler(4.0)

    with pytest.raises(TapeError, match=r"^SGD\.step: no gradient for \[1\]: not used, "):
        scaler.step(optim.SGD([w, unused], lr=1.0), scaler.scaled(w.trace().sum()).backward(wrt=[w]))
    assert scaler.step(
        optim.SGD([w, unused], lr=1.0), scaler.scaled(w.trace().sum()).backward(wrt=[w]), allow_unused=True
    )
    assert (w.tolist(), unused.tolist()) == ([0], [1])


def test_a_saved_run_continues(tmp_path: Path) -> None:
    scaler, other = optim.LossScaler(4.0), optim.LossScaler()
    w = Param(ops.ones(1))
    scaler.step(optim.SGD([w], lr=1.0), scaler.scaled(w.trace().sum()).backward(wrt=[w]))

    io.save({"scaler": scaler}, tmp_path / "scaler.npz")
    io.load({"scaler": other}, tmp_path / "scaler.npz")

    assert (other.scale, other.taken) == (4, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 0.0}, "scale is 0.0 but must be above 0 and finite"),
        ({"growth": 0.5}, "growth is 0.5 but must be at least 1 and finite"),
        ({"backoff": 1.0}, "backoff is 1.0 but must be between 0 and 1"),
        ({"interval": 0}, "interval is 0 but must be at least 1"),
    ],
)
def test_numbers_out_of_range_are_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^LossScaler: {message}$"):
        optim.LossScaler(**options)


def test_other_arguments_are_named() -> None:
    w: Any = Param(ops.ones(3))
    opt, scaler = optim.SGD([w], lr=1.0), optim.LossScaler()
    loss: Any = half_loss(w, 1.0)

    with pytest.raises(DTypeError) as of_a_loss:
        scaler.step(opt, loss)
    with pytest.raises(DTypeError) as of_a_parameter:
        scaler.step(w, loss.backward(wrt=[w]))

    expected = "LossScaler.step: grads is a Tensor but Gradients, which backward gives, are expected"
    assert str(of_a_loss.value) == expected
    assert str(of_a_parameter.value) == "LossScaler.step: opt is a Param but an optimizer is expected"


def test_an_overflow_can_be_silenced() -> None:
    w: Any = Param(ops.ones(3))
    opt, scaler = optim.SGD([w], lr=1.0), optim.LossScaler(2.0**30)

    with pytest.warns(RuntimeWarning, match="overflow"):
        scaler.scaled(half_loss(w, 1.0)).backward(wrt=[w])
    with np.errstate(over="ignore", invalid="ignore"):
        taken = scaler.step(opt, scaler.scaled(half_loss(w, 1.0)).backward(wrt=[w]))

    assert not taken
