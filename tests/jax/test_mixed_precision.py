"""Mixed precision and layers of another dtype under `jit`: the numbers of NumPy up to roundings of half precision."""

from __future__ import annotations

import copy
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tapegrad as tg
from tapegrad import nn, optim

pytest.importorskip("jax", reason="the extra jax installs it")

X, LABELS = tg.normal((16, 6), rng=0), tg.arange(16) % 3
DTYPES = [np.float16, ml_dtypes.bfloat16]


def network() -> Any:
    return nn.Sequential(nn.Linear(6, 8, rng=1), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 3, rng=2))


def loss_and_gradients(model: Any, x: Any, labels: Any) -> Any:
    loss = tg.cross_entropy(model(x.trace()), labels)
    return loss.detach(), loss.backward(wrt=model)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_compiled_step_has_the_gradients_of_numpy(dtype: Any) -> None:
    eager, compiled = (nn.MixedPrecision(network(), compute=dtype) for _ in range(2))

    expected, grads = loss_and_gradients(eager, X, LABELS)
    loss, found = tg.jit(loss_and_gradients)(compiled, X, LABELS)

    assert loss.dtype == np.float32
    np.testing.assert_allclose(loss.numpy(), expected.numpy(), rtol=0.02)
    for one, same in zip(eager.parameters().values(), compiled.parameters().values(), strict=True):
        assert found[same].dtype == np.float32
        np.testing.assert_allclose(found[same].numpy(), grads[one].numpy(), atol=0.01)
    for one, same in zip(eager.buffers().values(), compiled.buffers().values(), strict=True):
        assert same.dtype == np.float32
        np.testing.assert_allclose(same.numpy(), one.numpy(), rtol=0.01, atol=1e-3)


def test_a_compiled_training_run_learns() -> None:
    model = nn.MixedPrecision(network(), compute=ml_dtypes.bfloat16)
    opt = optim.Adam(model, lr=0.02)

    @tg.jit
    def step(model: Any, opt: Any, x: Any, labels: Any) -> Any:
        loss = tg.cross_entropy(model(x.trace()), labels)
        value = loss.detach()
        opt.step(loss.backward(wrt=model))
        return value

    losses = [step(model, opt, X, LABELS).item() for _ in range(60)]

    assert losses[-1] < losses[0] / 3
    assert {str(one.dtype) for one in model.parameters().values()} == {"float32"}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_converted_model_is_compiled(dtype: Any) -> None:
    model = nn.cast(network(), dtype)
    x = X.astype(dtype)

    y = tg.jit(lambda model, x: model(x))(model, x)

    assert y.dtype == dtype
    np.testing.assert_allclose(y.astype(np.float32).numpy(), model(x).astype(np.float32).numpy(), atol=0.05)


def test_each_dtype_is_compiled_by_itself() -> None:
    model = network()
    predict: Any = tg.jit(lambda model, x: model(x))

    plain = predict(copy.deepcopy(model), X)
    found = [predict(nn.MixedPrecision(copy.deepcopy(model), compute=dtype), X).tolist() for dtype in DTYPES]

    assert found[0] != found[1]
    assert plain.tolist() not in found


class Counted(nn.Module):
    """A layer that counts its calls, and the traces of them."""

    calls = 0

    def __init__(self, rng: np.random.Generator) -> None:
        self.layer = nn.Linear(6, 6, rng=rng)

    def forward(self, x: Any) -> Any:
        Counted.calls += 1
        return tg.tanh(self.layer(x))


def test_layers_in_a_loop_are_those_one_by_one() -> None:
    rng = np.random.default_rng(0)
    model = nn.MixedPrecision(nn.Repeated(lambda: Counted(rng), 17), compute=ml_dtypes.bfloat16)

    expected, grads = loss_and_gradients(model, X, LABELS)
    Counted.calls = 0
    loss, found = tg.jit(loss_and_gradients)(model, X, LABELS)

    assert 0 < Counted.calls < 17

    np.testing.assert_allclose(loss.numpy(), expected.numpy(), rtol=0.02)
    for one in model.parameters().values():
        np.testing.assert_allclose(found[one].numpy(), grads[one].numpy(), atol=0.01)
