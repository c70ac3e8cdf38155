"""The workloads in tapegrad, each step compiled by `tapegrad.jit`."""

from collections.abc import Callable
from typing import Any

import tapegrad as tg
from benchmarks.rivals import data
from benchmarks.rivals.in_tapegrad import CNN, Block, mlp_of, parameter
from tapegrad import nn, ops, optim

Program = Callable[[], float]


def trained(model: Any, criterion: Callable[..., Any], *inputs: Any) -> Program:
    """Return a training step of SGD."""
    opt, given = optim.SGD(model, lr=data.LR), [tg.tensor(one) for one in inputs]

    @tg.jit
    def step(model: Any, opt: Any, x: Any, *rest: Any) -> Any:
        loss = criterion(model(x.trace()), *rest)
        opt.step(loss.backward(wrt=model))
        return loss.detach()

    return lambda: float(step(model, opt, *given).item())


def differentiated(function: Callable[..., Any], *inputs: Any, wrt: int = 1) -> Program:
    """Return the gradients of a function with respect to its first inputs, `wrt` of them."""
    given = [tg.tensor(one) for one in inputs]

    @tg.jit
    def gradient(*given: Any) -> Any:
        leaves = [x.trace() for x in given[:wrt]]
        grads = function(*leaves, *given[wrt:]).backward(wrt=given[:wrt])
        return tuple(grads[x] for x in given[:wrt])

    return lambda: float(gradient(*given)[0].numpy().reshape(-1)[0])


def chain() -> Program:
    """Return the workload elementwise-small."""

    def chained(x: Any, w: Any) -> Any:
        for _ in range(data.CHAIN):
            x = tg.tanh(x * w)
        return x.sum()

    return differentiated(chained, data.numbers(8), data.numbers(8, seed=1))


def mlp(sizes: tuple[int, ...]) -> Callable[[], Program]:
    """Return how to build one of the MLPs."""
    return lambda: trained(mlp_of(sizes), ops.mse if sizes[-1] == 1 else ops.cross_entropy, *data.batch(sizes))


def convolution() -> Program:
    """Return the workload convolution."""
    x, w = data.numbers(8, 64, 56, 56), data.numbers(64, 64, 3, 3, seed=1)
    return differentiated(lambda w, x, dy: (ops.conv2d(x, w, padding=1) * dy).sum(), w, x, x, wrt=2)


def mean_square(y: Any) -> Any:
    """Return the loss of transformer and memory."""
    return (y * y).mean()


def blocks(count: int) -> Program:
    """Return the workload transformer or memory."""
    return trained(nn.Sequential(*(Block(seed) for seed in range(count))), mean_square, data.tokens())


def elementwise() -> Program:
    """Return the workload elementwise-large."""
    return differentiated(lambda x: (tg.tanh(x) * tg.sigmoid(x) + x * x).sum(), data.numbers(4_000_000))


def normalization() -> Program:
    """Return the workload normalization."""
    x, target = data.rows()

    def weighted(x: Any, weight: Any, bias: Any, target: Any) -> Any:
        return (tg.softmax(tg.layer_norm(x, weight, bias)) * target).sum()

    return differentiated(weighted, x, data.numbers(1024, scale=0) + 1, data.numbers(1024, scale=0), target, wrt=3)


def matmul() -> Program:
    """Return the workload matmul."""
    x, y = (data.numbers(2048, 2048, seed=seed) for seed in range(2))
    return differentiated(lambda x, y, seed: ((x @ y) * seed).sum(), x, y, x, wrt=2)


def pooling() -> Program:
    """Return the workload pooling."""
    seeds = [data.numbers(*data.POOLED[:2], 28, 28, seed=seed) for seed in (1, 2)]

    def pooled(x: Any, first: Any, second: Any) -> Any:
        mean = tg.avg_pool2d(x, 3, stride=2, padding=1)
        return (tg.max_pool2d(x, 2) * first).sum() + (mean * second).sum()

    return differentiated(pooled, data.numbers(*data.POOLED), *seeds)


def adam() -> Program:
    """Return the workload adam."""
    arrays = data.parameters_and_gradients(data.WIDE)
    model: Any = nn.Sequential()
    for place, (array, _) in enumerate(arrays):
        setattr(model, f"p{place}", parameter(array))
    opt, given = optim.Adam(model), [tg.tensor(gradient) for _, gradient in arrays]

    @tg.jit
    def step(model: Any, opt: Any, given: Any) -> None:
        params = model.parameters().values()
        loss: Any = sum((x * dx.trace()).sum() for x, dx in zip(params, given, strict=True))
        opt.step(loss.backward(wrt=model))

    def run() -> float:
        step(model, opt, given)
        return float(model.p0.numpy()[0, 0])

    return run


PROGRAMS: dict[str, Callable[[], Program] | None] = {
    "elementwise-small": chain,
    "mlp-tiny": mlp(data.TINY),
    "mlp-small": mlp(data.SMALL),
    "mlp-wide": mlp(data.WIDE),
    "cnn": lambda: trained(CNN(), ops.cross_entropy, *data.images()),
    "convolution": convolution,
    "transformer": lambda: blocks(1),
    "elementwise-large": elementwise,
    "normalization": normalization,
    "matmul": matmul,
    "pooling": pooling,
    "cross-entropy": lambda: differentiated(ops.cross_entropy, *data.logits()),
    "adam": adam,
    "memory": lambda: blocks(data.BLOCKS),
}
