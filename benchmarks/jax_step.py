"""Times each workload under `tapegrad.jit` beside the same written in plain JAX, in one interleaved run.

Both keep their parameters on the device, give the memory of the old ones away, and hand over what a user would read:
the loss, or a number of the gradient. Each round runs both, one after the other, for the machine slows both alike; what
counts is the ratio, of the medians and of the minima. Their first results are compared.

    python -m benchmarks.jax_step [a b …] [--rounds N]
"""

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from math import ceil, isclose
from statistics import median
from typing import Any

import numpy as np

import tapegrad as tg
from benchmarks.rivals import data, in_functions, in_tapegrad
from tapegrad import ops, optim

jax: Any = import_module("jax")  # Any: not in every environment that mypy sees
jnp: Any = jax.numpy
SAMPLE = 20e-3  # seconds that one sample takes at least

Program = Callable[[], float]


# The workloads in tapegrad: the programs of the table, as steps


def trained(model: Any, criterion: Callable[..., Any], *inputs: Any) -> Program:
    """Returns a step of training."""
    opt, given = optim.SGD(model, lr=data.LR), [tg.tensor(one) for one in inputs]

    @tg.jit
    def step(model: Any, opt: Any, x: Any, *rest: Any) -> Any:
        loss = criterion(model(x.trace()), *rest)
        opt.step(loss.backward(wrt=model))
        return loss.detach()

    return lambda: float(step(model, opt, *given).item())


def differentiated(function: Callable[..., Any], *inputs: Any) -> Program:
    """Returns the gradient of the first input."""
    given = [tg.tensor(one) for one in inputs]

    @tg.jit
    def gradient(x: Any, *rest: Any) -> Any:
        return function(x.trace(), *rest).backward(wrt=x)[x]

    return lambda: float(gradient(*given).numpy().reshape(-1)[0])


def chain(x: Any, w: Any) -> Any:
    """Workload a."""
    for _ in range(data.CHAIN):
        x = tg.tanh(x * w)
    return x.sum()


def mean_square(y: Any) -> Any:
    """What workloads g and k come down to."""
    return (y * y).mean()


IN_TAPEGRAD: dict[str, Callable[[], Program]] = {
    "a": lambda: differentiated(chain, data.numbers(8), data.numbers(8, seed=1)),
    "b": lambda: trained(in_tapegrad._mlp(data.TINY), ops.mse, *data.batch(data.TINY)),
    "c": lambda: trained(in_tapegrad._mlp(data.SMALL), ops.cross_entropy, *data.batch(data.SMALL)),
    "d": lambda: trained(in_tapegrad._mlp(data.WIDE), ops.cross_entropy, *data.batch(data.WIDE)),
    "e": lambda: trained(in_tapegrad.CNN(), ops.cross_entropy, *data.images()),
    "f": lambda: differentiated(
        lambda w, x: (ops.conv2d(x, w, padding=1) * x).sum(),
        data.numbers(64, 64, 3, 3, seed=1),
        data.numbers(8, 64, 56, 56),
    ),
    "g": lambda: trained(in_tapegrad.Block(), mean_square, data.tokens()),
    "h": lambda: differentiated(lambda x: (tg.tanh(x) * tg.sigmoid(x) + x * x).sum(), data.numbers(4_000_000)),
    "i": lambda: differentiated(
        lambda x, target, weight, bias: (tg.softmax(tg.layer_norm(x, weight, bias)) * target).sum(),
        *data.rows(),
        np.ones(1024, np.float32),
        np.zeros(1024, np.float32),
    ),
    "j": lambda: differentiated(
        lambda x, y, seed: ((x @ y) * seed).sum(), *(data.numbers(2048, 2048, seed=seed) for seed in (0, 1, 0))
    ),
    "k": lambda: trained(
        tg.nn.Sequential(*(in_tapegrad.Block(seed) for seed in range(data.BLOCKS))), mean_square, data.tokens()
    ),
}


# The same in plain JAX


def plain_step(loss_of: Callable[..., Any], params: Any, *inputs: Any) -> Program:
    """Returns a step of training."""
    given = [jax.device_put(one) for one in inputs]

    def stepped(params: Any, *inputs: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(params, *inputs)
        return loss, jax.tree.map(lambda p, g: p - data.LR * g, params, grads)

    jitted, held = jax.jit(stepped, donate_argnums=0), [jax.tree.map(jax.device_put, params)]

    def run() -> float:
        loss, held[0] = jitted(held[0], *given)
        return float(loss)

    return run


def plain_gradient(function: Callable[..., Any], *inputs: Any) -> Program:
    """Returns the gradient of the first input."""
    given = [jax.device_put(one) for one in inputs]
    jitted = jax.jit(jax.grad(function))
    return lambda: float(np.asarray(jitted(*given)).reshape(-1)[0])


def plain_cnn(p: Any, x: Any, y: Any) -> Any:
    """Workload e."""
    for name in ("first", "second"):
        h = jnp.maximum(jax.lax.conv(x, p[name], (1, 1), "VALID"), 0)
        x = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return in_functions.entropy_of(jnp, x.reshape(len(x), -1) @ p["head_w"] + p["head_b"], y)


def plain_chain(x: Any, w: Any) -> Any:
    """Workload a."""
    for _ in range(data.CHAIN):
        x = jnp.tanh(x * w)
    return jnp.sum(x)


def plain_mlp(sizes: tuple[int, ...]) -> Program:
    """Workloads b, c and d."""
    loss_of = in_functions.mean_square if sizes[-1] == 1 else in_functions.entropy
    return plain_step(lambda *args: loss_of(jnp, *args), data.layers(sizes), *data.batch(sizes))


IN_JAX: dict[str, Callable[[], Program]] = {
    "a": lambda: plain_gradient(plain_chain, data.numbers(8), data.numbers(8, seed=1)),
    "b": lambda: plain_mlp(data.TINY),
    "c": lambda: plain_mlp(data.SMALL),
    "d": lambda: plain_mlp(data.WIDE),
    "e": lambda: plain_step(plain_cnn, data.cnn(), *data.images()),
    "f": lambda: plain_gradient(
        lambda w, x: jnp.sum(jax.lax.conv(x, w, (1, 1), "SAME") * jax.lax.stop_gradient(x)),
        data.numbers(64, 64, 3, 3, seed=1),
        data.numbers(8, 64, 56, 56),
    ),
    "g": lambda: plain_step(lambda p, x: in_functions.blocks(jnp, p, x), [data.block()], data.tokens()),
    "h": lambda: plain_gradient(lambda x: in_functions.elementwise(jnp, x), data.numbers(4_000_000)),
    "i": lambda: plain_gradient(
        lambda x, target, weight, bias: in_functions.normalized(jnp, (x, weight, bias), target),
        *data.rows(),
        np.ones(1024, np.float32),
        np.zeros(1024, np.float32),
    ),
    "j": lambda: plain_gradient(
        lambda x, y, seed: jnp.sum((x @ y) * seed), *(data.numbers(2048, 2048, seed=seed) for seed in (0, 1, 0))
    ),
    "k": lambda: plain_step(
        lambda p, x: in_functions.blocks(jnp, p, x), [data.block(seed) for seed in range(data.BLOCKS)], data.tokens()
    ),
}


def compared(workload: str, rounds: int) -> str:
    """Times both in turn, and writes a line of the table."""
    ours, plain = IN_TAPEGRAD[workload](), IN_JAX[workload]()
    first, wanted = ours(), plain()
    assert isclose(first, wanted, rel_tol=1e-3, abs_tol=1e-5), f"{workload}: {first} is not {wanted}"
    ours()
    plain()
    repeats = ceil(SAMPLE / _seconds(plain, 1))
    taken: dict[str, list[float]] = {"tapegrad": [], "JAX": []}
    for turn in range(rounds):
        both = [("tapegrad", ours), ("JAX", plain)]
        for name, program in both if turn % 2 else reversed(both):
            taken[name].append(_seconds(program, repeats) * 1e3)
    middle, least = ([f(taken[name]) for name in ("tapegrad", "JAX")] for f in (median, min))
    ratios = f"**{middle[0] / middle[1]:.2f}** / {least[0] / least[1]:.2f}"
    return f"| {workload} | {middle[0]:.3g} / {least[0]:.3g} | {middle[1]:.3g} / {least[1]:.3g} | {ratios} |"


def _seconds(program: Program, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        program()
    return (time.perf_counter() - start) / repeats


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("workloads", nargs="*", metavar="workload", help="some of a to k; else all")
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    print(f"JAX {jax.__version__} on {jax.devices()[0].device_kind}, {len(jax.devices())} device(s)\n")
    print("| workload | tapegrad.jit, ms, median / minimum | plain JAX | ratio, median / minimum |")
    print("| --- | --- | --- | --- |")
    for workload in options.workloads or IN_JAX:
        print(compared(workload, options.rounds), flush=True)


if __name__ == "__main__":
    main()
