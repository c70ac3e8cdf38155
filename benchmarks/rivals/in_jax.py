"""The workloads in plain JAX: each step is one jitted function, which reuses the memory of the old parameters."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.rivals import data, functions
from benchmarks.rivals.functions import Made

jax: Any = import_module("jax")  # Any: the tree's environment need not have it
jnp: Any = jax.numpy


def first_number(x: Any) -> float:
    """Read through NumPy, which costs no dispatch of a JAX op."""
    return float(np.asarray(x).reshape(-1)[0])


def step(loss_of: Any, params: Any, *inputs: Any) -> Made:
    """Return how to build a training step of SGD."""

    def make() -> Callable[[], float]:
        def stepped(params: Any, *given: Any) -> Any:
            loss, grads = jax.value_and_grad(lambda p: loss_of(jnp, p, *given))(params)
            return loss, jax.tree.map(lambda p, g: p - data.LR * g, params, grads)

        given = [jax.device_put(one) for one in inputs]
        jitted, held = jax.jit(stepped, donate_argnums=0), [jax.tree.map(jax.device_put, params)]

        def run() -> float:
            loss, held[0] = jitted(held[0], *given)
            jax.block_until_ready(held[0])
            return float(loss)

        return run

    return make


def gradient(function: Any, leaves: Any, *inputs: Any) -> Made:
    """Return how to build a gradient with respect to the leaves."""

    def make() -> Callable[[], float]:
        given, moved = [jax.device_put(one) for one in inputs], jax.tree.map(jax.device_put, leaves)
        jitted = jax.jit(jax.grad(lambda p, *rest: function(jnp, p, *rest)))

        def run() -> float:
            return first_number(jax.tree.leaves(jax.block_until_ready(jitted(moved, *given)))[0])

        return run

    return make


def cnn() -> Callable[[], float]:
    """Return the workload cnn."""

    def pooled(x: Any) -> Any:
        return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss_of(np: Any, p: Any, x: Any, y: Any) -> Any:
        h = pooled(np.maximum(jax.lax.conv(x, p["first"], (1, 1), "VALID"), 0))
        h = pooled(np.maximum(jax.lax.conv(h, p["second"], (1, 1), "VALID"), 0))
        return functions.entropy_of(np, h.reshape(len(x), -1) @ p["head_w"] + p["head_b"], y)

    return step(loss_of, data.cnn(), *data.images())()


def convolution() -> Callable[[], float]:
    """Return the workload convolution."""
    x, w = data.numbers(8, 64, 56, 56), data.numbers(64, 64, 3, 3, seed=1)
    return gradient(lambda np, p, y: np.sum(jax.lax.conv(p[1], p[0], (1, 1), "SAME") * y), (w, x), x)()


def pooling() -> Callable[[], float]:
    """Return the workload pooling."""
    x = jnp.asarray(data.numbers(*data.POOLED))
    seeds = [jnp.asarray(data.numbers(*data.POOLED[:2], 28, 28, seed=seed)) for seed in (1, 2)]
    twos, threes = (1, 1, 2, 2), (1, 1, 3, 3)

    def largest(x: Any) -> Any:
        return jax.lax.reduce_window(x, -float("inf"), jax.lax.max, twos, twos, "VALID")

    def mean(x: Any) -> Any:
        total = jax.lax.reduce_window(x, 0.0, jax.lax.add, threes, twos, [(0, 0), (0, 0), (1, 1), (1, 1)])
        return total / 9

    def both(x: Any, *seeds: Any) -> Any:
        return sum(jax.vjp(f, x)[1](seed)[0] for f, seed in zip((largest, mean), seeds, strict=True))

    jitted = jax.jit(both)
    return lambda: first_number(jitted(x, *seeds))


def adam() -> Callable[[], float]:
    """Return the workload adam."""
    arrays = data.parameters_and_gradients(data.WIDE)
    grads = [jax.device_put(gradient) for _, gradient in arrays]

    def moved(x: Any, dx: Any, first: Any, second: Any, steps: Any) -> Any:
        first, second = first * 0.9 + dx * 0.1, second * 0.999 + dx * dx * 0.001
        root = jnp.sqrt(second / (1 - 0.999**steps)) + 1e-8
        return x - first / (1 - 0.9**steps) / root * 1e-3, first, second

    def change(state: Any, grads: Any, steps: Any) -> Any:
        return [moved(x, dx, first, second, steps) for dx, (x, first, second) in zip(grads, state, strict=True)]

    jitted = jax.jit(change, donate_argnums=0)
    state = [tuple(jax.device_put(one) for one in (x, 0 * x, 0 * x)) for x, _ in arrays]
    steps = 0

    def run() -> float:
        nonlocal state, steps
        steps += 1
        state = jax.block_until_ready(jitted(state, grads, steps))
        return first_number(state[0][0])

    return run


PROGRAMS = functions.programs(step, gradient) | {
    "cnn": cnn,
    "convolution": convolution,
    "pooling": pooling,
    "adam": adam,
}
