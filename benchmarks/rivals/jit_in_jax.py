"""The programs of `benchmarks.jit` in plain JAX, without a library of layers or optimizers."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.rivals.data import numbers

jax: Any = import_module("jax")  # Any: the tree's environment need not have it
jnp: Any = jax.numpy

BATCH, WIDTH, LAYERS, TENSORS = 8, 64, 24, 200
# The parameters of a transformer block: attention, two layers, and two norms.
SHAPES: list[tuple[int, ...]] = [
    *[(WIDTH, WIDTH), (WIDTH,)] * 4,
    (WIDTH, 4 * WIDTH),
    (4 * WIDTH,),
    (4 * WIDTH, WIDTH),
    *[(WIDTH,)] * 5,
]


def call() -> Callable[[], object]:
    """Return a call of a small function."""
    step, x = jax.jit(lambda x: x + 1), jax.device_put(np.ones(4, np.float32))
    return lambda: jax.block_until_ready(step(x))


def summed() -> Callable[[], object]:
    """Return a sum of a list of arrays."""
    step, xs = jax.jit(lambda xs: sum(xs[1:], xs[0])), [jax.device_put(one) for one in numbers(TENSORS, 4)]
    return lambda: jax.block_until_ready(step(xs))


def mlp() -> Callable[[], object]:
    """Return a training step of the smallest MLP."""
    in_jax = import_module("benchmarks.rivals.in_jax")
    found: Callable[[], object] = in_jax.PROGRAMS["mlp-tiny"]()
    return found


def _trained(loss_of: Any, weights: Any, x: Any) -> Callable[[], object]:
    """Return a call of the loss and the gradients of weights."""
    step = jax.jit(jax.value_and_grad(loss_of))
    held, given = [jax.device_put(one) for one in weights], jax.device_put(x)
    return lambda: jax.block_until_ready(step(held, given))


def rnn(count: int) -> Callable[[], object]:
    """Return a call of an RNN by `lax.scan`."""

    def loss_of(weights: Any, x: Any) -> Any:
        w, u = weights

        def step(h: Any, row: Any) -> Any:
            h = jnp.tanh(row @ w + h @ u)
            return h, h

        _, y = jax.lax.scan(step, jnp.zeros((BATCH, WIDTH), jnp.float32), x)
        return jnp.mean(y * y)

    return _trained(loss_of, square_weights(), numbers(count, BATCH, WIDTH))


def lstm(count: int) -> Callable[[], object]:
    """Return a call of an LSTM by `lax.scan`."""

    def loss_of(weights: Any, x: Any) -> Any:
        w, u, b, d = weights
        gates_x = jnp.moveaxis(x @ w + b, 1, 0)

        def step(state: Any, row: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(row + h @ u + d, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((BATCH, WIDTH), jnp.float32)
        _, y = jax.lax.scan(step, (zero, zero), gates_x)
        return jnp.mean(y * y)

    weights = [numbers(WIDTH, 4 * WIDTH, seed=place, scale=0.1) for place in range(2)]
    return _trained(loss_of, [*weights, *[np.zeros(4 * WIDTH, np.float32)] * 2], numbers(BATCH, count, WIDTH))


def adam() -> Callable[[], object]:
    """Return a step of Adam for the parameters of all blocks, with one step count and given gradients."""

    def step(xs: Any, first: Any, second: Any, count: Any, grads: Any) -> Any:
        count = count + 1
        correction = jnp.sqrt(1 - 0.999 ** count.astype(jnp.float32))
        rate = 1e-3 * correction / (1 - 0.9 ** count.astype(jnp.float32))
        first = [m + (dx - m) * (1 - 0.9) for m, dx in zip(first, grads, strict=True)]
        second = [v * 0.999 + dx * dx * (1 - 0.999) for v, dx in zip(second, grads, strict=True)]
        moved = zip(xs, first, second, strict=True)
        return [x - m / (jnp.sqrt(v) + 1e-8 * correction) * rate for x, m, v in moved], first, second, count

    jitted = jax.jit(step, donate_argnums=(0, 1, 2, 3))
    grads = [jax.device_put(numbers(*shape, seed=1)) for shape in LAYERS * SHAPES]
    zeros = [[jnp.zeros(one.shape, jnp.float32) for one in grads] for _ in range(2)]
    held = [[jax.device_put(numbers(*shape)) for shape in LAYERS * SHAPES], *zeros, jnp.zeros((), jnp.int32)]

    def run() -> object:
        held[:] = jitted(*held, grads)
        return jax.block_until_ready(held)

    return run


def square_weights() -> list[Any]:
    """Return the weights of an RNN."""
    return [numbers(WIDTH, WIDTH, seed=place, scale=0.1) for place in range(2)]


PROGRAMS: dict[str, Callable[[], Callable[[], object]]] = {
    "call": call,
    "mlp": mlp,
    "list": summed,
    "scan": partial(rnn, 200),
    **{f"lstm-{count}": partial(lstm, count) for count in (100, 200, 400)},
    "adam-384": adam,
}
