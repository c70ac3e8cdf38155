"""Time each line that a comment in tapegrad/ justifies by its speed, against the plain line that it replaces.

A comment names its row. Both lines of a row are timed in turn, in CPU time, so that a busy machine slows both alike.
The ratios are those of the medians and of the minima; a line whose ratios are not above 1 should be removed.

    python benchmarks/devices.py [--short]
"""

from __future__ import annotations

import argparse
import collections
import inspect
import signal
import sys
from _thread import start_new_thread
from contextvars import Context
from importlib import import_module
from statistics import median
from threading import Lock
from time import process_time
from timeit import Timer
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tapegrad as tg
from tapegrad.autograd import registry, tape
from tapegrad.engines import engine, underflow
from tapegrad.engines.interface import Backend
from tapegrad.engines.numba import pools
from tapegrad.engines.numba.kernels import compiled
from tapegrad.engines.numba.pools import _combined
from tapegrad.engines.numpy import half_array
from tapegrad.engines.numpy.engine import NumPy
from tapegrad.engines.numpy.large import added
from tapegrad.engines.numpy.pooling import pooled
from tapegrad.engines.numpy.rows import buffers_of_rows
from tapegrad.engines.numpy.threads import HELPERS
from tapegrad.engines.thresholds import ACCUMULATE_MIN_ELEMENTS
from tapegrad.engines.windows import Windows
from tapegrad.tensors import operands

if TYPE_CHECKING:
    from collections.abc import Callable

native_signal: Any = import_module("_signal")
ENGINE = NumPy()
rng = np.random.default_rng(0)
small = np.linspace(0.5, 1.5, 8, dtype=np.float32)
large = rng.normal(size=(512, 2048)).astype(np.float32)
out, condition = np.empty_like(large), large > 0
ones = np.ones(2048, np.float32)
part, column, part_out = large[:64], large[:64, :1].copy(), np.empty_like(large[:64])
tiny, halves = np.full(1 << 16, 1e-6, np.float32), np.dtype(np.float16)
matrix = rng.normal(size=(256, 128)).astype(np.float32)
images = rng.normal(size=(32, 32, 56, 56)).astype(np.float32)
cells, pool = rng.normal(size=(64, 26, 26, 16)).astype(np.float32), np.empty((64, 13, 13, 16), np.float32)
gradients, bias = np.empty_like(cells), np.ones(16, np.float32)
windows = Windows(images.shape, (28, 28), (3, 3), (2, 2), (1, 1), (1, 1), (1, 1))
extremes = ENGINE.pool(images, windows, "maximum")
three, two, rank_0 = np.array(3), np.array(2), np.array(0.5, np.float32)
rows = slice(0, 512)
handler = native_signal.getsignal(signal.SIGINT)  # not as an enumeration, which native_signal.signal does not take
x = tg.tensor(small)
model = tg.nn.Sequential(*(tg.nn.ReLU() for _ in range(5)))
square = np.eye(8, dtype=np.float32)
MUL = registry.OPS["mul"]
memory = np.zeros((1 << 15) + 128, np.uint8)
first = -memory.ctypes.data % 64
aligned, unaligned = (memory[start : start + (1 << 15)].view(np.float32) for start in (first, first + 16))
TERMS = [(("N",), 2), (("M",), 3), (("N",), 4), ((), 1)]


def general(function: Any) -> Any:
    """Return a function called with `*args`, as an op of any number of operands is."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


def pair(function: Any) -> Any:
    """Return a function called with two operands."""

    def call(x: Any, y: Any) -> Any:
        return function(x, y)

    return call


multiply_pair, multiply_general = pair(np.multiply), general(np.multiply)


def errstate_product() -> Any:
    """Multiply while underflow is ignored."""
    with np.errstate(under="ignore"):
        return small * small


def buffered_by_row() -> None:
    """Multiply each row by a number, with buffers that hold one row."""
    with buffers_of_rows(part.shape[1]):
        np.multiply(part, column, out=part_out)


def added_by_dict() -> dict[Any, int]:
    """Add up terms in a dict."""
    total: dict[Any, int] = {}
    for key, coefficient in TERMS:
        total[key] = total.get(key, 0) + coefficient
    return total


def added_by_counter() -> dict[Any, int]:
    """Add up terms in a Counter."""
    total: collections.Counter[Any] = collections.Counter()
    for key, coefficient in TERMS:
        total[key] += coefficient
    return total


def layer_by_layer() -> Any:
    """Call each layer of a sequence in a block that adds its path to an error."""
    result: Any = x
    for index, layer in enumerate(model.layers):
        result = model._through(index, layer, result)
    return result


def answered(call: Callable[[Callable[[], None]], object]) -> None:
    """Wait until another thread has called a function."""
    lock = Lock()
    lock.acquire()
    call(lock.release)
    lock.acquire()


def in_new_thread(function: Callable[[], None]) -> None:
    """Call a function in a new thread."""
    start_new_thread(function, ())


@compiled
def pool_in_place(x: Any, y: Any) -> None:
    """Reduce windows of 2×2 cells of images `x`, `(N, H, W, C)`, to their maxima: each cell is combined with `y`."""
    channels = np.uintp(x.shape[3])
    line = np.empty(x.shape[2] * x.shape[3], x.dtype)
    for n in range(x.shape[0]):
        for i in range(y.shape[1]):
            line[:] = -np.inf
            for k in range(2):
                row = x[n, 2 * i + k].reshape(-1)
                for cell in range(line.shape[0]):
                    line[cell] = _combined(line[cell], row[cell], 1)
            results = y[n, i].reshape(-1)
            results[:] = -np.inf
            for j in range(y.shape[2]):
                for m in range(2):
                    start, result = np.uintp(2 * j + m) * channels, np.uintp(j) * channels
                    for c in range(channels):
                        results[result + c] = _combined(results[result + c], line[start + c], 1)


def run_back(batch_size: int) -> None:
    """Run back a hundred products, whose entries are released in batches."""
    before = vars(tape)["_BATCH_SIZE"]
    vars(tape)["_BATCH_SIZE"] = batch_size
    try:
        h = x.trace()
        for _ in range(100):
            h = h * x
        h.backward(seed=x)
    finally:
        vars(tape)["_BATCH_SIZE"] = before


class Row(NamedTuple):
    """A line and the plain one, as source or functions, and how often each is called per round."""

    line: Any
    plain: Any
    number: int


ROWS = {
    "a basic index": Row("out[rows] += large[rows]", "np.add.at(out, rows, large[rows])", 5),
    "a cube": Row("large * large * large", "large**three", 3),
    "a bias": Row(
        lambda: ENGINE.add_channels(np.moveaxis(cells, -1, 1), bias, 2),
        lambda: np.add(np.moveaxis(cells, -1, 1), bias.reshape(16, 1, 1), out=np.moveaxis(gradients, -1, 1)),
        20,
    ),
    "a counter": Row(added_by_dict, added_by_counter, 5000),
    "a large relu": Row(lambda: ENGINE.relu(large), lambda: np.maximum(large, rank_0, out=out), 5),
    "a large sum": Row(lambda: added(large), lambda: np.add.reduce(large, axis=None), 20),
    "a mask": Row("ENGINE.where(condition, large, 0)", "np.where(condition, large, 0)", 5),
    "a number of rank 0": Row("small + rank_0", "small + 0.5", 20_000),
    "a sequence of layers": Row(lambda: model.forward(x), layer_by_layer, 1000),
    "a small accumulation": Row(
        lambda: small + small if small.size < ACCUMULATE_MIN_ELEMENTS else None,
        lambda: engine(small).accumulate({0: small}, 0, small),
        20_000,
    ),
    "a small product": Row("square.dot(square)", "square @ square", 20_000),
    "a small sum": Row("np.add.reduce(small, axis=0)", "np.sum(small, axis=0)", 20_000),
    "a square": Row("large**2", "large**two", 5),
    "a tuple of types": Row("isinstance(1.5, (str, int))", "isinstance(1.5, str | int)", 20_000),
    "an aligned buffer": Row("np.add(aligned, aligned, aligned)", "np.add(unaligned, unaligned, unaligned)", 2000),
    "an array copied": Row(
        "operands.constant(small, x, 'x', 'y')", "operands.from_array(operands.copy_native(small))", 20_000
    ),
    "batches of entries": Row(lambda: run_back(16), lambda: run_back(1), 20),
    "buffers of a row": Row(buffered_by_row, "np.multiply(part, column, out=part_out)", 50),
    "columns by BLAS": Row("ones[:256].dot(matrix)", "np.add.reduce(matrix, axis=0)", 2000),
    "errors": Row(lambda: Context().run(underflow._is_ignored), lambda: Context().run(np.geterr), 20_000),
    "no errstate": Row("small * small", errstate_product, 5000),
    "no tapes": Row(
        "x.tape is x.tape is x.tape is tape.NONE", lambda: operands.unwrap_all((x, x, x), "operands"), 20_000
    ),
    "pooling kernel": Row(
        lambda: pools.extreme_channels(cells, pool, (2, 2), (2, 2), (0, 0), 1), "pool_in_place(cells, pool)", 5
    ),
    "pooling gradient": Row(
        lambda: pools.squares_back_channels(cells, pool, pool, gradients, (2, 2), (2, 2), (0, 0), is_of_relu=False),
        lambda: pools.extreme_back_channels(cells, pool, pool, gradients, (2, 2), (2, 2), (0, 0)),
        5,
    ),
    "rows by BLAS": Row("np.vecdot(large, ones)", "np.add.reduce(large, axis=1)", 20),
    "runs": Row(
        'np.copyto(gradients[:, ::2, ::2].view("V64"), pool.view("V64"))',
        "np.copyto(gradients[:, ::2, ::2], pool)",
        20,
    ),
    "signal": Row("native_signal.signal(2, handler)", "signal.signal(signal.SIGINT, handler)", 2000),
    "signatures": Row(lambda: registry.signature_of(MUL.function), lambda: inspect.signature(MUL.function), 500),
    "subnormal halves": Row(lambda: half_array.rounded(tiny, halves), lambda: tiny.astype(halves), 5),
    "softplus": Row("ENGINE.map('softplus', large)", "np.logaddexp(large, 0)", 2),
    "tanh": Row("small - small * small * small", "(1 - small * small) * small", 20_000),
    "tiles of images": Row(
        lambda: ENGINE.pool_extreme_back(images, extremes, extremes, windows),
        lambda: Backend.pool_extreme_back(ENGINE, images, extremes, extremes, windows),
        1,
    ),
    "two operands": Row("multiply_pair(small, small)", "multiply_general(small, small)", 20_000),
    "waiting threads": Row(
        lambda: answered(lambda function: HELPERS.call(function, 1)), lambda: answered(in_new_thread), 200
    ),
    "windows along axes": Row(
        lambda: pooled(images, windows, "add", by_axes=True), lambda: pooled(images, windows, "add", by_axes=False), 2
    ),
}


def measured(row: Row, rounds: int) -> tuple[list[float], list[float]]:
    """Return the CPU times of a line and of the plain one in each round, in µs."""
    timers = [Timer(call, globals=globals(), timer=process_time) for call in (row.line, row.plain)]
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for times, timer in zip(taken, timers, strict=True):
            times.append(timer.timeit(row.number) / row.number * 1e6)
    return taken


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="fewer rounds")
    rounds = 3 if parser.parse_args().short else 21
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}")
    print(f"{'row':24} {'line, µs':>12} {'plain, µs':>12} {'medians':>7} {'minima':>7}")
    with np.errstate(all="ignore"):
        for name, row in ROWS.items():
            line, plain = measured(row, rounds)
            medians, minima = median(plain) / median(line), min(plain) / min(line)
            print(f"{name:24} {median(line):12.2f} {median(plain):12.2f} {medians:7.2f} {minima:7.2f}")


if __name__ == "__main__":
    main()
