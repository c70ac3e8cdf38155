"""The workloads as pure functions of parameters, for libraries that differentiate those: jitted JAX, HIPS autograd."""

from collections.abc import Callable
from copy import deepcopy
from importlib import import_module
from typing import Any

from benchmarks.rivals import data

Made = Callable[[], Callable[[], float]]


def layer_norm(np: Any, x: Any, weight: Any, bias: Any) -> Any:
    """Normalizes each row."""
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + data.EPS) * weight + bias


def softmax(np: Any, x: Any) -> Any:
    """Turns scores into probabilities."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def run_block(np: Any, p: Any, x: Any) -> Any:
    """Adds what the heads of a transformer block find, then what its two layers make of it."""
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
    """Workload a."""
    w = data.numbers(8, seed=1)
    for _ in range(data.CHAIN):
        x = np.tanh(x * w)
    return np.sum(x)


def perceptron(np: Any, layers: Any, x: Any) -> Any:
    """Workloads b, c and d, up to the loss."""
    for position, (weight, bias) in enumerate(layers):
        x = np.dot(np.maximum(x, 0) if position else x, weight) + bias
    return x


def mean_square(np: Any, layers: Any, x: Any, y: Any) -> Any:
    """Workload b."""
    return np.mean((perceptron(np, layers, x) - y) ** 2)


def entropy_of(np: Any, scores: Any, classes: Any) -> Any:
    """Returns the mean cross-entropy."""
    shifted = scores - np.max(scores, axis=-1, keepdims=True)
    of_class = shifted[np.arange(len(classes)), classes]
    return np.mean(np.log(np.sum(np.exp(shifted), axis=-1)) - of_class)


def entropy(np: Any, layers: Any, x: Any, y: Any) -> Any:
    """Workloads c and d."""
    return entropy_of(np, perceptron(np, layers, x), y)


def blocks(np: Any, every: Any, x: Any) -> Any:
    """Workloads g and k."""
    for p in every:
        x = run_block(np, p, x)
    return np.mean(x * x)


def elementwise(np: Any, x: Any) -> Any:
    """Workload h."""
    return np.sum(np.tanh(x) * (1 / (1 + np.exp(-x))) + x * x)


def normalized(np: Any, leaves: Any, target: Any) -> Any:
    """Workload i."""
    return np.sum(softmax(np, layer_norm(np, *leaves)) * target)


def product(np: Any, leaves: Any, seed: Any) -> Any:
    """Workload j, whose result is weighed with the seed."""
    return np.sum(np.matmul(*leaves) * seed)


def made(step: Callable[..., Made], gradient: Callable[..., Made]) -> dict[str, Made | None]:
    """Returns how to make each workload, of what trains parameters and what gives a gradient."""
    x, target = data.rows()
    ones, nothing = data.numbers(1024, scale=0) + 1, data.numbers(1024, scale=0)
    square = [data.numbers(2048, 2048, seed=seed) for seed in range(2)]
    return {
        "a": gradient(chain, data.numbers(8)),
        "b": step(mean_square, data.layers(data.TINY), *data.batch(data.TINY)),
        "c": step(entropy, data.layers(data.SMALL), *data.batch(data.SMALL)),
        "d": step(entropy, data.layers(data.WIDE), *data.batch(data.WIDE)),
        "e": None,
        "f": None,
        "g": step(blocks, [data.block()], data.tokens()),
        "h": gradient(elementwise, data.numbers(4_000_000)),
        "i": gradient(normalized, (x, ones, nothing), target),
        "j": gradient(product, tuple(square), square[0]),
        "k": step(blocks, [data.block(seed) for seed in range(data.BLOCKS)], data.tokens()),
        "l": None,
        "m": None,
    }


def in_jax() -> dict[str, Made | None]:
    """Returns the workloads in JAX, each jitted whole, with the parameters given away."""
    jax: Any = import_module("jax")
    np = jax.numpy

    def step(loss_of: Any, params: Any, *inputs: Any) -> Made:
        def make() -> Callable[[], float]:
            given = [jax.device_put(one) for one in inputs]

            def stepped(params: Any) -> Any:
                loss, grads = jax.value_and_grad(lambda p: loss_of(np, p, *given))(params)
                return loss, jax.tree.map(lambda p, g: p - data.LR * g, params, grads)

            jitted, held = jax.jit(stepped, donate_argnums=0), [jax.tree.map(jax.device_put, params)]

            def run() -> float:
                loss, held[0] = jitted(held[0])
                jax.block_until_ready(held[0])
                return float(loss)

            return run

        return make

    def gradient(f: Any, leaves: Any, *inputs: Any) -> Made:
        def make() -> Callable[[], float]:
            given, moved = [jax.device_put(one) for one in inputs], jax.tree.map(jax.device_put, leaves)
            jitted = jax.jit(jax.grad(lambda p, *rest: f(np, p, *rest)))

            def run() -> float:
                grads = jax.block_until_ready(jitted(moved, *given))
                return float(jax.tree.leaves(grads)[0].reshape(-1)[0])

            return run

        return make

    found = made(step, gradient)

    def cnn() -> Callable[[], float]:
        images, classes = data.images()

        def pooled(x: Any) -> Any:
            return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

        def loss_of(np: Any, p: Any, x: Any, y: Any) -> Any:
            h = pooled(np.maximum(jax.lax.conv(x, p["first"], (1, 1), "VALID"), 0))
            h = pooled(np.maximum(jax.lax.conv(h, p["second"], (1, 1), "VALID"), 0))
            return entropy_of(np, h.reshape(len(x), -1) @ p["head_w"] + p["head_b"], y)

        return step(loss_of, data.cnn(), images, classes)()

    def convolution() -> Callable[[], float]:
        x, w = data.numbers(8, 64, 56, 56), data.numbers(64, 64, 3, 3, seed=1)
        return gradient(lambda np, p, y: np.sum(jax.lax.conv(p[1], p[0], (1, 1), "SAME") * y), (w, x), x)()

    def pools() -> Callable[[], float]:
        x = np.asarray(data.numbers(*data.POOLED))
        seeds = [np.asarray(data.numbers(*data.POOLED[:2], 28, 28, seed=seed)) for seed in (1, 2)]
        twos, threes = (1, 1, 2, 2), (1, 1, 3, 3)

        def largest(x: Any) -> Any:
            return jax.lax.reduce_window(x, -float("inf"), jax.lax.max, twos, twos, "VALID")

        def mean(x: Any) -> Any:
            total = jax.lax.reduce_window(x, 0.0, jax.lax.add, threes, twos, [(0, 0), (0, 0), (1, 1), (1, 1)])
            return total / 9

        def both(x: Any) -> Any:
            return sum(jax.vjp(f, x)[1](seed)[0] for f, seed in zip((largest, mean), seeds, strict=True))

        jitted = jax.jit(both)
        return lambda: float(jitted(x)[0, 0, 0, 0])

    def adam() -> Callable[[], float]:
        arrays = data.parameters_and_gradients(data.WIDE)
        grads = [jax.device_put(gradient) for _, gradient in arrays]

        def moved(x: Any, dx: Any, first: Any, second: Any, steps: Any) -> Any:
            first, second = first * 0.9 + dx * 0.1, second * 0.999 + dx * dx * 0.001
            root = np.sqrt(second / (1 - 0.999**steps)) + 1e-8
            return x - first / (1 - 0.9**steps) / root * 1e-3, first, second

        def change(state: Any, steps: Any) -> Any:
            return [moved(x, dx, first, second, steps) for dx, (x, first, second) in zip(grads, state, strict=True)]

        jitted = jax.jit(change, donate_argnums=0)
        state = [tuple(jax.device_put(one) for one in (x, 0 * x, 0 * x)) for x, _ in arrays]
        steps = 0

        def run() -> float:
            nonlocal state, steps
            steps += 1
            state = jitted(state, steps)
            return float(state[0][0][0, 0])

        return run

    return {**found, "e": cnn, "f": convolution, "l": pools, "m": adam}


def in_autograd() -> dict[str, Made | None]:
    """Returns the workloads in HIPS autograd, which has no convolution fit for batches of channels."""
    autograd: Any = import_module("autograd")
    np: Any = import_module("autograd.numpy")

    def step(loss_of: Any, params: Any, *inputs: Any) -> Made:
        def make() -> Callable[[], float]:
            own = deepcopy(params)
            grad = autograd.value_and_grad(lambda p: loss_of(np, p, *inputs))

            def run() -> float:
                loss, grads = grad(own)
                _move(own, grads)
                return float(loss)

            return run

        return make

    def gradient(f: Any, leaves: Any, *inputs: Any) -> Made:
        def make() -> Callable[[], float]:
            grad = autograd.grad(lambda p: f(np, p, *inputs))

            def run() -> float:
                found = grad(leaves)
                return float((found[0] if isinstance(found, tuple) else found).reshape(-1)[0])

            return run

        return make

    return made(step, gradient)


def _move(params: Any, grads: Any) -> None:
    """Goes a step down, in place, parameter by parameter."""
    if isinstance(params, dict):
        for name, one in params.items():
            _move(one, grads[name])
    elif isinstance(params, list | tuple):
        for one, gradient in zip(params, grads, strict=True):
            _move(one, gradient)
    else:
        params -= data.LR * grads
