"""The workloads in tapegrad."""

from collections.abc import Callable
from typing import Any

import tapegrad as tg
from benchmarks.rivals import data
from tapegrad import Tensor, nn, optim


def parameter(array: Any) -> Any:
    """Return a parameter of these numbers."""
    return nn.Param(tg.tensor(array))


class Block(nn.Module):
    """A transformer block, norms first."""

    def __init__(self, seed: int = 0) -> None:
        for name, array in data.block(seed).items():
            setattr(self, name, parameter(array))

    def forward(self, x: Any) -> Any:
        """Add what its heads find, then what its two layers make of it."""
        p: Any = self
        b, n, d = x.shape
        h = tg.layer_norm(x, p.norm1_w, p.norm1_b) @ p.qkv_w + p.qkv_b
        q, k, v = h.reshape((b, n, 3, data.HEADS, d // data.HEADS)).transpose((2, 0, 3, 1, 4))
        scores = q @ tg.swapaxes(k, -1, -2) * (d // data.HEADS) ** -0.5
        heads = (tg.softmax(scores) @ v).transpose((0, 2, 1, 3)).reshape((b, n, d))
        x = x + (heads @ p.out_w + p.out_b)
        h = tg.gelu(tg.layer_norm(x, p.norm2_w, p.norm2_b) @ p.up_w + p.up_b, approximate="tanh")
        return x + (h @ p.down_w + p.down_b)


class CNN(nn.Module):
    """Two convolutions and a linear layer."""

    def __init__(self) -> None:
        for name, array in data.cnn().items():
            setattr(self, name, parameter(array))

    def forward(self, x: Any) -> Any:
        """Score each image for ten classes."""
        p: Any = self
        h = tg.max_pool2d(tg.relu(tg.conv2d(x, p.first)), 2)
        h = tg.max_pool2d(tg.relu(tg.conv2d(h, p.second)), 2)
        return h.reshape((len(x), -1)) @ p.head_w + p.head_b


def chain() -> Callable[[], float]:
    """Return the workload elementwise-small."""
    x, w = tg.tensor(data.numbers(8)), tg.tensor(data.numbers(8, seed=1))

    def run() -> float:
        h: Any = x.trace()
        for _ in range(data.CHAIN):
            h = tg.tanh(h * w)
        return float(h.sum().backward()[x].numpy()[0])

    return run


def mlp(sizes: tuple[int, ...]) -> Callable[[], Callable[[], float]]:
    """Return the workload of one of the MLPs."""

    def make() -> Callable[[], float]:
        model = mlp_of(sizes)
        opt = optim.SGD(model, lr=data.LR)
        x, y = map(tg.tensor, data.batch(sizes))
        criterion: Any = tg.mse if sizes[-1] == 1 else tg.cross_entropy

        def run() -> float:
            loss = criterion(model(x.trace()), y)
            opt.step(loss.backward(wrt=model))
            return float(loss.item())

        return run

    return make


def mlp_of(sizes: tuple[int, ...]) -> Any:
    """Return an MLP."""
    parts: list[Any] = []
    for weight, bias in data.layers(sizes):
        layer: Any = nn.Linear(*weight.shape)
        layer.weight.assign(tg.tensor(weight))
        layer.bias.assign(tg.tensor(bias))
        parts += [layer, nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def cnn() -> Callable[[], float]:
    """Return the workload cnn."""
    model, (images, classes) = CNN(), data.images()
    opt, x, y = optim.SGD(model, lr=data.LR), tg.tensor(images), tg.tensor(classes)

    def run() -> float:
        loss = tg.cross_entropy(model(x.trace()), y)
        opt.step(loss.backward(wrt=model))
        return float(loss.item())

    return run


def convolution() -> Callable[[], float]:
    """Return the workload convolution."""
    x: Tensor[Any, Any] = tg.tensor(data.numbers(8, 64, 56, 56))
    w: Tensor[Any, Any] = tg.tensor(data.numbers(64, 64, 3, 3, seed=1))

    def run() -> float:
        y = tg.conv2d(x.trace(), w.trace(), padding=1)  # as many channels go out as come in
        grads = y.backward(seed=x)
        return float(grads[w].numpy()[0, 0, 0, 0])

    return run


def block() -> Callable[[], float]:
    """Return the workload transformer."""
    return blocks(1)


def blocks(count: int) -> Callable[[], float]:
    """Return the workload transformer or memory."""
    model = nn.Sequential(*(Block(seed) for seed in range(count)))
    opt, x = optim.SGD(model, lr=data.LR), tg.tensor(data.tokens())

    def run() -> float:
        y: Any = model(x.trace())
        loss = (y * y).mean()
        opt.step(loss.backward(wrt=model))
        return float(loss.item())

    return run


def elementwise() -> Callable[[], float]:
    """Return the workload elementwise-large."""
    x = tg.tensor(data.numbers(4_000_000))

    def run() -> float:
        h = x.trace()
        y = tg.tanh(h) * tg.sigmoid(h) + h * h
        return float(y.sum().backward()[x].numpy()[0])

    return run


@tg.fused
def _gated(x: Any) -> Any:
    return tg.tanh(x) * tg.sigmoid(x) + x * x


def fused() -> Callable[[], float]:
    """Return the workload elementwise-fused."""
    x = tg.tensor(data.numbers(4_000_000))

    def run() -> float:
        return float(_gated(x.trace()).sum().backward()[x].numpy()[0])

    return run


def normalized() -> Callable[[], float]:
    """Return the workload normalization."""
    x, target = map(tg.tensor, data.rows())
    weight, bias = tg.ones((1024,)), tg.zeros((1024,))

    def run() -> float:
        y = tg.softmax(tg.layer_norm(x.trace(), weight.trace(), bias.trace()))
        return float((y * target).sum().backward()[x].numpy()[0, 0])

    return run


def product() -> Callable[[], float]:
    """Return the workload matmul."""
    x, y = tg.tensor(data.numbers(2048, 2048)), tg.tensor(data.numbers(2048, 2048, seed=1))

    def run() -> float:
        z = x.trace() @ y.trace()
        return float(z.backward(seed=x)[x].numpy()[0, 0])

    return run


def pools() -> Callable[[], float]:
    """Return the workload pooling."""
    x: Tensor[Any, Any] = tg.tensor(data.numbers(*data.POOLED))
    seeds = [tg.tensor(data.numbers(*data.POOLED[:2], 28, 28, seed=seed)) for seed in (1, 2)]

    def run() -> float:
        largest = tg.max_pool2d(x.trace(), 2).backward(seed=seeds[0])[x]
        mean = tg.avg_pool2d(x.trace(), 3, stride=2, padding=1).backward(seed=seeds[1])[x]
        return float((largest.numpy() + mean.numpy())[0, 0, 0, 0])

    return run


def adam() -> Callable[[], float]:
    """Return the workload adam."""
    arrays = data.parameters_and_gradients(data.WIDE)
    of = [parameter(array) for array, _ in arrays]
    loss: Any = sum((x * tg.tensor(gradient).trace()).sum() for x, (_, gradient) in zip(of, arrays, strict=True))
    opt, grads = optim.Adam(of), loss.backward(wrt=of)

    def run() -> float:
        opt.step(grads)
        return float(of[0].numpy()[0, 0])

    return run


def cross_entropy() -> Callable[[], float]:
    """Return the workload cross-entropy."""
    x, y = map(tg.tensor, data.logits())

    def run() -> float:
        return float(tg.cross_entropy(x.trace(), y).backward()[x].numpy()[0, 0])

    return run


PROGRAMS = {
    "elementwise-small": chain,
    "mlp-tiny": mlp(data.TINY),
    "mlp-small": mlp(data.SMALL),
    "mlp-wide": mlp(data.WIDE),
    "cnn": cnn,
    "convolution": convolution,
    "transformer": block,
    "elementwise-large": elementwise,
    "elementwise-fused": fused,
    "normalization": normalized,
    "matmul": product,
    "memory": lambda: blocks(data.BLOCKS),
    "pooling": pools,
    "cross-entropy": cross_entropy,
    "adam": adam,
}
