"""The workloads as pure functions of parameters, for libraries that differentiate those: jitted JAX, HIPS autograd."""

from collections.abc import Callable
from typing import Any

from benchmarks.rivals import data

Made = Callable[[], Callable[[], float]]


def layer_norm(np: Any, x: Any, weight: Any, bias: Any) -> Any:
    """Normalize each row."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + data.EPS) * weight + bias


def softmax(np: Any, x: Any) -> Any:
    """Turn scores into probabilities."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def run_block(np: Any, p: Any, x: Any) -> Any:
    """Add what the heads of a transformer block find, then what its two layers make of it."""
    b, n, d = x.shape
    h = np.matmul(layer_norm(np, x, p["norm1_w"], p["norm1_b"]), p["qkv_w"]) + p["qkv_b"]
    h = np.transpose(np.reshape(h, (b, n, 3, data.HEADS, d // data.HEADS)), (2, 0, 3, 1, 4))
    q, k, v = h[0], h[1], h[2]
    weights = softmax(np, np.matmul(q, np.swapaxes(k, -1, -2)) * (d // data.HEADS) ** -0.5)
    heads = np.reshape(np.transpose(np.matmul(weights, v), (0, 2, 1, 3)), (b, n, d))
    x = x + (np.matmul(heads, p["out_w"]) + p["out_b"])
    h = np.matmul(layer_norm(np, x, p["norm2_w"], p["norm2_b"]), p["up_w"]) + p["up_b"]
    h = 0.5 * h * (1 + np.tanh(0.7978845608 * (h + 0.044715 * (h * h * h))))
    return x + (np.matmul(h, p["down_w"]) + p["down_b"])


def chain(np: Any, x: Any) -> Any:
    """Apply products and tanh in turn, and add up: elementwise-small."""
    w = data.numbers(8, seed=1)
    for _ in range(data.CHAIN):
        x = np.tanh(x * w)
    return np.sum(x)


def perceptron(np: Any, layers: Any, x: Any) -> Any:
    """Return the scores of an MLP."""
    for position, (weight, bias) in enumerate(layers):
        x = np.dot(np.maximum(x, 0) if position else x, weight) + bias
    return x


def mean_square(np: Any, layers: Any, x: Any, y: Any) -> Any:
    """Return the loss of mlp-tiny."""
    return np.mean((perceptron(np, layers, x) - y) ** 2)


def entropy_of(np: Any, scores: Any, classes: Any) -> Any:
    """Return the mean cross-entropy."""
    shifted = scores - np.max(scores, axis=-1, keepdims=True)
    of_class = shifted[np.arange(len(classes)), classes]
    return np.mean(np.log(np.sum(np.exp(shifted), axis=-1)) - of_class)


def entropy(np: Any, layers: Any, x: Any, y: Any) -> Any:
    """Return the loss of mlp-small and mlp-wide."""
    return entropy_of(np, perceptron(np, layers, x), y)


def blocks(np: Any, every: Any, x: Any) -> Any:
    """Return the loss of transformer and memory."""
    for p in every:
        x = run_block(np, p, x)
    return np.mean(x * x)


def elementwise(np: Any, x: Any) -> Any:
    """Return the sum for elementwise-large."""
    return np.sum(np.tanh(x) * (1 / (1 + np.exp(-x))) + x * x)


def normalized(np: Any, leaves: Any, target: Any) -> Any:
    """Return the weighted sum for normalization."""
    return np.sum(softmax(np, layer_norm(np, *leaves)) * target)


def product(np: Any, leaves: Any, seed: Any) -> Any:
    """Return the product of matmul, weighted by the upstream gradient."""
    return np.sum(np.matmul(*leaves) * seed)


def cross_entropy(np: Any, scores: Any, classes: Any) -> Any:
    """Return the loss of cross-entropy."""
    return entropy_of(np, scores, classes)


def programs(step: Callable[..., Made], gradient: Callable[..., Made]) -> dict[str, Made | None]:
    """Return how to build each workload, from a function that trains parameters and one that returns a gradient."""

    def later(build: Callable[..., Made], function: Any, arrays: Callable[[], tuple[Any, ...]]) -> Made:
        """Return how to build a workload whose arrays are made only then: no process has those of the others."""

        def make() -> Callable[[], float]:
            return build(function, *arrays())()

        return make

    def mlp(loss_of: Any, sizes: tuple[int, ...]) -> Made:
        return later(step, loss_of, lambda: (data.layers(sizes), *data.batch(sizes)))

    def rows() -> tuple[Any, ...]:
        x, target = data.rows()
        return (x, data.numbers(1024, scale=0) + 1, data.numbers(1024, scale=0)), target

    def matrices() -> tuple[Any, ...]:
        x, y = (data.numbers(2048, 2048, seed=seed) for seed in range(2))
        return (x, y), x

    return {
        "elementwise-small": later(gradient, chain, lambda: (data.numbers(8),)),
        "mlp-tiny": mlp(mean_square, data.TINY),
        "mlp-small": mlp(entropy, data.SMALL),
        "mlp-wide": mlp(entropy, data.WIDE),
        "cnn": None,
        "convolution": None,
        "transformer": later(step, blocks, lambda: ([data.block()], data.tokens())),
        "elementwise-large": later(gradient, elementwise, lambda: (data.numbers(4_000_000),)),
        "normalization": later(gradient, normalized, rows),
        "matmul": later(gradient, product, matrices),
        "pooling": None,
        "cross-entropy": later(gradient, cross_entropy, data.logits),
        "adam": None,
        "memory": later(step, blocks, lambda: ([data.block(seed) for seed in range(data.BLOCKS)], data.tokens())),
    }
