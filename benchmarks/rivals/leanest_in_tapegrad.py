"""Training in tapegrad without modules: parameters in a dictionary, and functions of them."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import tapegrad as tg
from benchmarks.rivals import data, in_tapegrad
from benchmarks.rivals.in_tapegrad import CNN, Block, parameter
from tapegrad import optim

Program = Callable[[], float]


def step(loss_of: Callable[..., Any], params: list[Any], *inputs: Any) -> Program:
    """Return a training step of SGD."""
    opt, (x, *rest) = optim.SGD(params, lr=data.LR), (tg.tensor(one) for one in inputs)

    def run() -> float:
        loss = loss_of(x.trace(), *rest)
        opt.step(loss.backward(wrt=params))
        return float(loss.item())

    return run


def mlp(sizes: tuple[int, ...]) -> Callable[[], Program]:
    """Return how to build one of the MLPs."""

    def make() -> Program:
        layers = [(parameter(weight), parameter(bias)) for weight, bias in data.layers(sizes)]
        criterion: Any = tg.mse if sizes[-1] == 1 else tg.cross_entropy

        def loss_of(x: Any, y: Any) -> Any:
            for place, (weight, bias) in enumerate(layers):
                x = (tg.relu(x) if place else x) @ weight + bias
            return criterion(x, y)

        return step(loss_of, [one for layer in layers for one in layer], *data.batch(sizes))

    return make


def cnn() -> Program:
    """Return the workload cnn."""
    p: Any = SimpleNamespace(**{name: parameter(array) for name, array in data.cnn().items()})
    return step(lambda x, y: tg.cross_entropy(CNN.forward(p, x), y), [*vars(p).values()], *data.images())


def transformer() -> Program:
    """Return the workload transformer."""
    p: Any = SimpleNamespace(**{name: parameter(array) for name, array in data.block().items()})

    def loss_of(x: Any) -> Any:
        y = Block.forward(p, x)
        return (y * y).mean()

    return step(loss_of, [*vars(p).values()], data.tokens())


PROGRAMS: dict[str, Callable[[], Program] | None] = {
    "mlp-tiny": mlp(data.TINY),
    "mlp-small": mlp(data.SMALL),
    "mlp-wide": mlp(data.WIDE),
    "cnn": cnn,
    "convolution": in_tapegrad.convolution,
    "transformer": transformer,
}
