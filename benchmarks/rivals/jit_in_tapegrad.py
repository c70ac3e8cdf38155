"""The programs of `benchmarks.jit` under `tapegrad.jit`."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import tapegrad as tg
from benchmarks.rivals.data import numbers
from benchmarks.rivals.jit_in_jax import BATCH, LAYERS, SHAPES, TENSORS, WIDTH, square_weights
from tapegrad import nn, optim
from tapegrad.autograd.gradients import Gradients

jax: Any = import_module("jax")  # Any: the tree's environment need not have it


def call() -> Callable[[], object]:
    """Return a call of a small function."""

    @tg.jit
    def step(x: Any) -> Any:
        return x + 1

    x = tg.tensor(np.ones(4, np.float32))
    return lambda: jax.block_until_ready(step(x).node)


def summed() -> Callable[[], object]:
    """Return a sum of a list of tensors."""

    @tg.jit
    def step(xs: Any) -> Any:
        return sum(xs[1:], xs[0])

    xs = [tg.tensor(one) for one in numbers(TENSORS, 4)]
    return lambda: jax.block_until_ready(step(xs).node)


def mlp() -> Callable[[], object]:
    """Return a training step of the smallest MLP."""
    in_tapegrad_jit = import_module("benchmarks.rivals.in_tapegrad_jit")
    found: Callable[[], object] = in_tapegrad_jit.PROGRAMS["mlp-tiny"]()
    return found


def rnn(count: int) -> Callable[[], object]:
    """Return a call of an RNN by `tapegrad.scan`."""

    @tg.jit
    def gradients(w: Any, u: Any, x: Any) -> Any:
        w_taped, u_taped = w.trace(), u.trace()

        def step(h: Any, row: Any) -> Any:
            h = (row @ w_taped + h @ u_taped).tanh()
            return h, h

        _, y = tg.scan(step, tg.zeros((BATCH, WIDTH)), x)
        loss = (y * y).mean()
        grads = loss.backward(wrt=[w, u])
        return loss.detach(), grads[w], grads[u]

    w, u = map(tg.tensor, square_weights())
    x = tg.tensor(numbers(count, BATCH, WIDTH))
    return lambda: jax.block_until_ready([one.node for one in gradients(w, u, x)])


def lstm(count: int) -> Callable[[], object]:
    """Return a call of an LSTM."""

    @tg.jit
    def gradients(model: Any, x: Any) -> Any:
        y, *_ = model(x.trace())
        loss = (y * y).mean()
        grads = loss.backward(wrt=model)
        return loss.detach(), *(grads[one] for one in model.parameters().values())

    model, x = nn.LSTM(WIDTH, WIDTH, rng=0), tg.tensor(numbers(BATCH, count, WIDTH))
    return lambda: jax.block_until_ready([one.node for one in gradients(model, x)])


class Blocks(nn.Module):
    """The parameters of the blocks alone."""

    def __init__(self) -> None:
        self.layers = [[nn.Param(tg.tensor(numbers(*shape))) for shape in SHAPES] for _ in range(LAYERS)]


def adam() -> Callable[[], object]:
    """Return a step of Adam for the parameters of all blocks with given gradients."""

    @tg.jit
    def step(model: Any, opt: Any, *grads: Any) -> None:
        found = Gradients()
        found.values_by_node = {x: dx.data for x, dx in zip(model.parameters().values(), grads, strict=True)}
        opt.step(found)

    model: Any = Blocks()
    opt = optim.Adam(model)
    grads = [tg.tensor(numbers(*shape, seed=1)) for shape in LAYERS * SHAPES]
    parameters = [*model.parameters().values()]

    def run() -> object:
        step(model, opt, *grads)
        return jax.block_until_ready([one.on_device for one in parameters])

    return run


def trained(model: Any) -> Callable[[], object]:
    """Return a training step of a stack of blocks."""

    @tg.jit
    def step(model: Any, opt: Any, x: Any) -> Any:
        loss = tg.square(model(x.trace())).mean()
        opt.step(loss.backward(wrt=model))
        return loss.detach()

    opt, x = optim.Adam(model), tg.tensor(numbers(4, 32, WIDTH))
    return lambda: step(model, opt, x).item()


def block() -> Any:
    """Return a transformer block."""
    return nn.TransformerEncoderBlock(WIDTH, 4, 4 * WIDTH, causal=True, rng=0)


PROGRAMS: dict[str, Callable[[], Callable[[], object]]] = {
    "call": call,
    "mlp": mlp,
    "list": summed,
    "scan": partial(rnn, 200),
    **{f"lstm-{count}": partial(lstm, count) for count in (100, 200, 400)},
    "adam-384": adam,
    "blocks-24": lambda: trained(nn.Repeated(block, LAYERS)),
    "stack-24": lambda: trained(nn.Sequential(*(block() for _ in range(LAYERS)))),
}
