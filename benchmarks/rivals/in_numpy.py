"""The workloads in NumPy alone, with hand-written backward passes: the baseline of a tape over NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.rivals import data

_ROOT, _CUBIC = np.float32(0.7978845608), np.float32(0.044715)


def chain() -> Callable[[], float]:
    """Return the workload elementwise-small."""
    first, w = data.numbers(8), data.numbers(8, seed=1)

    def run() -> float:
        x, seen = first, []
        for _ in range(data.CHAIN):
            x = np.tanh(x * w)
            seen.append(x)
        dx: Any = np.ones_like(x)
        for y in reversed(seen):
            dx = dx * (1 - y * y) * w
        return float(dx[0])

    return run


def mlp(sizes: tuple[int, ...]) -> Callable[[], Callable[[], float]]:
    """Return the workload of one of the MLPs."""

    def make() -> Callable[[], float]:
        layers, (x, y) = data.layers(sizes), data.batch(sizes)
        rows = np.arange(len(x))

        def loss_of(scores: Any) -> tuple[float, Any]:
            if sizes[-1] == 1:
                error = scores - y
                return float(np.mean(error * error)), error * np.float32(2 / error.size)
            scores = scores - scores.max(1, keepdims=True)
            e = np.exp(scores)
            total = e.sum(1, keepdims=True)
            loss = np.mean(np.log(total[:, 0]) - scores[rows, y])
            e /= total
            e[rows, y] -= 1
            e /= np.float32(len(x))
            return float(loss), e

        def run() -> float:
            h, seen = x, []
            for position, (weight, bias) in enumerate(layers):
                h = np.maximum(h, 0) if position else h
                seen.append(h)
                h = h @ weight + bias
            loss, dh = loss_of(h)
            for position in reversed(range(len(layers))):
                weight, bias = layers[position]
                before = seen[position]
                dw, db = before.T @ dh, dh.sum(0)
                if position:
                    dh = dh @ weight.T
                    dh *= before > 0
                weight -= np.float32(data.LR) * dw
                bias -= np.float32(data.LR) * db
            return loss

        return run

    return make


def _normalized(x: Any, weight: Any, bias: Any) -> tuple[Any, Callable[[Any], tuple[Any, Any, Any]]]:
    centred = x - x.mean(-1, keepdims=True)
    factor = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(data.EPS))
    centred *= factor

    def backward(dy: Any) -> tuple[Any, Any, Any]:
        flat, wide = (one.reshape(-1, x.shape[-1]) for one in (dy, dy * centred))
        dx = dy * weight
        dx = dx - dx.mean(-1, keepdims=True) - centred * (dx * centred).mean(-1, keepdims=True)
        return dx * factor, wide.sum(0), flat.sum(0)

    return centred * weight + bias, backward


def _softmax(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    y = np.exp(x - x.max(-1, keepdims=True))
    y /= y.sum(-1, keepdims=True)

    def backward(dy: Any) -> Any:
        weighted = dy * y
        return weighted - y * weighted.sum(-1, keepdims=True)

    return y, backward


def _gelu(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    square = x * x
    t = np.tanh(_ROOT * (x + _CUBIC * (square * x)))

    def backward(dy: Any) -> Any:
        derivative = _ROOT * (1 + 3 * _CUBIC * square)
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * derivative)

    return 0.5 * x * (1 + t), backward


def _linear(x: Any, weight: Any, bias: Any) -> tuple[Any, Callable[[Any], tuple[Any, Any, Any]]]:
    def backward(dy: Any) -> tuple[Any, Any, Any]:
        rows, columns = x.reshape(-1, x.shape[-1]), dy.reshape(-1, dy.shape[-1])
        return (columns @ weight.T).reshape(x.shape), rows.T @ columns, columns.sum(0)

    return x @ weight + bias, backward


def _run_block(p: dict[str, Any], x: Any) -> tuple[Any, Callable[[Any], tuple[Any, dict[str, Any]]]]:
    b, n, d = x.shape
    width = d // data.HEADS
    scale = np.float32(width**-0.5)

    def of(layer: Any, name: str, h: Any) -> Any:
        return layer(h, p[f"{name}_w"], p[f"{name}_b"])

    h, from_norm1 = of(_normalized, "norm1", x)
    h, from_qkv = of(_linear, "qkv", h)
    q, k, v = h.reshape(b, n, 3, data.HEADS, width).transpose(2, 0, 3, 1, 4)
    weights, from_softmax = _softmax(q @ k.swapaxes(-1, -2) * scale)
    heads = (weights @ v).transpose(0, 2, 1, 3).reshape(b, n, d)
    attended, from_out = of(_linear, "out", heads)
    x = x + attended
    h, from_norm2 = of(_normalized, "norm2", x)
    h, from_up = of(_linear, "up", h)
    h, from_gelu = _gelu(h)
    h, from_down = of(_linear, "down", h)

    def backward(dy: Any) -> tuple[Any, dict[str, Any]]:
        grads: dict[str, Any] = {}

        def through(way_back: Any, name: str, dh: Any) -> Any:
            dh, grads[f"{name}_w"], grads[f"{name}_b"] = way_back(dh)
            return dh

        dh = from_gelu(through(from_down, "down", dy))
        dx = dy + through(from_norm2, "norm2", through(from_up, "up", dh))
        dheads = through(from_out, "out", dx).reshape(b, n, data.HEADS, width).transpose(0, 2, 1, 3)
        dscores = from_softmax(dheads @ v.swapaxes(-1, -2)) * scale
        parts = np.stack([dscores @ k, dscores.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ dheads])
        dh = through(from_qkv, "qkv", parts.transpose(1, 3, 0, 2, 4).reshape(b, n, 3 * d))
        return dx + through(from_norm1, "norm1", dh), grads

    return x + h, backward


def blocks(count: int) -> Callable[[], float]:
    """Return the workload transformer or memory."""
    every, first = [data.block(seed) for seed in range(count)], data.tokens()

    def run() -> float:
        x, ways_back = first, []
        for p in every:
            x, way_back = _run_block(p, x)
            ways_back.append(way_back)
        dx = x * np.float32(2 / x.size)
        for p in reversed(every):
            dx, grads = ways_back.pop()(dx)
            for name, gradient in grads.items():
                p[name] -= np.float32(data.LR) * gradient
        return float(np.mean(x * x))

    return run


def elementwise() -> Callable[[], float]:
    """Return the workload elementwise-large."""
    x = data.numbers(4_000_000)

    def run() -> float:
        t, s = np.tanh(x), 1 / (1 + np.exp(-x))
        (t * s + x * x).sum()
        dx = (1 - t * t) * s + t * (s * (1 - s)) + 2 * x
        return float(dx[0])

    return run


def normalized() -> Callable[[], float]:
    """Return the workload normalization."""
    x, target = data.rows()
    weight, bias = np.ones(1024, np.float32), np.zeros(1024, np.float32)

    def run() -> float:
        h, from_norm = _normalized(x, weight, bias)
        y, from_softmax = _softmax(h)
        (y * target).sum()
        return float(from_norm(from_softmax(target))[0][0, 0])

    return run


def product() -> Callable[[], float]:
    """Return the workload matmul."""
    x, y = (data.numbers(2048, 2048, seed=seed) for seed in range(2))

    def run() -> float:
        x @ y  # timed
        return float((x @ y.T)[0, 0] + 0 * (x.T @ x)[0, 0])

    return run


def adam() -> Callable[[], float]:
    """Return the workload adam."""
    params = [(x, dx, np.zeros_like(x), np.zeros_like(x)) for x, dx in data.parameters_and_gradients(data.WIDE)]
    steps = 0

    def run() -> float:
        nonlocal steps
        steps += 1
        for x, dx, first, second in params:
            np.add(first, (dx - first) * np.float32(0.1), out=first)
            np.multiply(second, np.float32(0.999), out=second)
            np.add(second, dx * dx * np.float32(0.001), out=second)
            root = np.sqrt(second) / np.float32((1 - 0.999**steps) ** 0.5) + np.float32(1e-8)
            np.subtract(x, first / root * np.float32(1e-3 / (1 - 0.9**steps)), out=x)
        return float(params[0][0][0, 0])

    return run


def cross_entropy() -> Callable[[], float]:
    """Return the workload cross-entropy."""
    x, y = data.logits()
    rows = np.arange(len(x))

    def run() -> float:
        e = np.exp(x - x.max(1, keepdims=True))
        e /= e.sum(1, keepdims=True)
        e[rows, y] -= 1
        e /= np.float32(len(x))
        return float(e[0, 0])

    return run


PROGRAMS = {
    "elementwise-small": chain,
    "mlp-tiny": mlp(data.TINY),
    "mlp-small": mlp(data.SMALL),
    "mlp-wide": mlp(data.WIDE),
    "cnn": None,
    "convolution": None,
    "transformer": lambda: blocks(1),
    "elementwise-large": elementwise,
    "normalization": normalized,
    "matmul": product,
    "memory": lambda: blocks(data.BLOCKS),
    "pooling": None,
    "cross-entropy": cross_entropy,
    "adam": adam,
}
