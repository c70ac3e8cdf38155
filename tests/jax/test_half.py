"""Half precision under `jit`: XLA gives the results of NumPy up to intermediate rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import tapegrad as tg
from tapegrad import nn, optim

X = tg.normal((4, 6), rng=0)
IMAGES, KERNELS = tg.normal((2, 3, 8, 7), rng=1), tg.normal((5, 3, 3, 2), rng=2)

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "attention": (lambda x: tg.scaled_dot_product_attention(x, x, x), (X,)),
    "conv2d": (tg.conv2d, (IMAGES, KERNELS)),
    "length": (lambda x: tg.norm(x * 64.0), (X,)),
    "matmul": (lambda x, y: x @ y.T, (X, X)),
    "mean": (lambda x: (x * 64.0).mean(), (tg.ones((3000,)),)),
    "nan_to_num": (tg.nan_to_num, (tg.tensor([1.5, -np.inf, np.nan]),)),
    "softmax": (lambda x: tg.softmax(x * 2.0, axis=1), (X,)),
    "sum": (lambda x: x.sum(axis=0), (tg.ones((1000, 3)),)),
}


@pytest.mark.parametrize("dtype", [np.float16, tg.bfloat16])
@pytest.mark.parametrize("name", CALLS)
def test_half_precision_under_jit_equals_eager_results(name: str, dtype: Any) -> None:
    function, wide = CALLS[name]
    operands = [x.astype(dtype) for x in wide]

    @tg.jit
    def step(*operands: Any) -> Any:
        y: Any = function(*(x.trace() for x in operands))
        return y.detach(), (y * 0.5).sum().backward()

    y, grads = step(*operands)
    expected: Any = function(*(x.trace() for x in operands))
    there = (expected * 0.5).sum().backward()

    def compare(one: Any, other: Any) -> None:
        assert one.dtype == other.dtype == dtype
        wide = other.astype(np.float32).numpy()
        # The gradient of a sum of probabilities is 0: there only what was rounded is left.
        np.testing.assert_allclose(
            one.astype(np.float32).numpy(), wide, rtol=2**-5, atol=2**-5 * max(0.5, float(np.abs(wide).max()))
        )

    compare(y, expected.detach())
    for x in operands:
        compare(grads[x], there[x])


def test_a_model_in_float32_trains_through_bfloat16_under_jit() -> None:
    model = nn.Linear(6, 3, rng=0)
    opt, x = optim.SGD(model, lr=0.1), tg.normal((8, 6), rng=1)

    @tg.jit
    def step(model: nn.Linear[Any, Any], opt: optim.SGD, x: Any) -> Any:
        y = model(x.trace()).astype(tg.bfloat16)
        loss = (y * y).astype(np.float32).mean()
        opt.step(loss.backward(wrt=model))
        return loss.detach()

    losses = [step(model, opt, x).item() for _ in range(5)]

    assert losses == sorted(losses, reverse=True)
    assert model.weight.dtype == np.float32


def test_results_of_a_step_compute_in_float32() -> None:
    @tg.jit
    def doubled(x: Any) -> Any:
        return x * 2.0

    assert doubled(tg.ones((1000,), tg.bfloat16)).sum().item() == 2000.0
