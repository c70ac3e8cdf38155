"""Training in PyTorch without modules and optimizers, images channels last, as its users write to save overhead."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.rivals import data
from benchmarks.rivals.in_torch import run_block

torch: Any = import_module("torch")  # Any: the tree's environment need not have it
F: Any = torch.nn.functional

Program = Callable[[], float]


def leaf(array: Any) -> Any:
    """Return a tensor that requires a gradient."""
    return torch.tensor(array).requires_grad_()


def step(loss_of: Callable[..., Any], params: list[Any], *inputs: Any) -> Program:
    """Return a training step of SGD that updates all parameters in one call."""

    def run() -> float:
        loss = loss_of(*inputs)
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            torch._foreach_add_(params, grads, alpha=-data.LR)
        return float(loss.item())

    return run


def programs(compiled: Callable[..., Any]) -> dict[str, Callable[[], Program] | None]:
    """Return how to build each workload; `compiled` transforms each function that computes a loss."""

    def mlp(sizes: tuple[int, ...]) -> Callable[[], Program]:
        def make() -> Program:
            layers = [(leaf(weight.T.copy()), leaf(bias)) for weight, bias in data.layers(sizes)]
            criterion = F.mse_loss if sizes[-1] == 1 else F.cross_entropy

            def loss_of(x: Any, y: Any) -> Any:
                for place, (weight, bias) in enumerate(layers):
                    x = F.linear(F.relu(x) if place else x, weight, bias)
                return criterion(x, y)

            params = [one for layer in layers for one in layer]
            return step(compiled(loss_of), params, *map(torch.tensor, data.batch(sizes)))

        return make

    def cnn() -> Program:
        p = {name: torch.tensor(array) for name, array in data.cnn().items()}
        for name in ("first", "second"):
            p[name] = p[name].to(memory_format=torch.channels_last)
        for one in p.values():
            one.requires_grad_()
        images, classes = map(torch.tensor, data.images())

        def loss_of(x: Any, y: Any) -> Any:
            h = F.max_pool2d(F.relu(F.conv2d(x, p["first"])), 2)
            h = F.max_pool2d(F.relu(F.conv2d(h, p["second"])), 2)
            return F.cross_entropy(torch.addmm(p["head_b"], h.flatten(1), p["head_w"]), y)

        images = images.to(memory_format=torch.channels_last)
        return step(compiled(loss_of), list(p.values()), images, classes)

    def convolution() -> Program:
        x, w = torch.tensor(data.numbers(8, 64, 56, 56)), torch.tensor(data.numbers(64, 64, 3, 3, seed=1))
        leaves = [one.to(memory_format=torch.channels_last).requires_grad_() for one in (w, x)]
        seed, f = leaves[1].detach().clone(), compiled(lambda w, x: F.conv2d(x, w, padding=1))

        def run() -> float:
            dw, _ = torch.autograd.grad(f(*leaves), leaves, seed)
            return float(dw[0, 0, 0, 0])

        return run

    def transformer() -> Program:
        p = {name: leaf(array) for name, array in data.block().items()}

        def loss_of(x: Any) -> Any:
            y = run_block(p, x)
            return (y * y).mean()

        return step(compiled(loss_of), list(p.values()), torch.tensor(data.tokens()))

    return {
        "mlp-tiny": mlp(data.TINY),
        "mlp-small": mlp(data.SMALL),
        "mlp-wide": mlp(data.WIDE),
        "cnn": cnn,
        "convolution": convolution,
        "transformer": transformer,
    }


EAGER = programs(lambda f: f)
COMPILED = programs(torch.compile)
