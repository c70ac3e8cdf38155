"""Measure how the time of a step grows with ops, batch and parameters, and compare it with a model of three constants.

A step of n ops that multiplies f times and moves b bytes takes n a + f / F + b / B: the overhead of an op, and the
rates at which the machine multiplies and moves bytes. The three constants are measured separately, not fitted.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.scale [--json FILE] [--plot FILE]
    python -m benchmarks.scale --stack 64
    python -m benchmarks.scale --collector
    python -m benchmarks.scale --page

The last form measures nothing: it writes the table of docs/guide/scale.md and its plot from the numbers in
benchmarks/scale.json. To publish others, measure with `--json benchmarks/scale.json` on an idle machine first.
"""

import argparse
import gc
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import tapegrad as tg
from benchmarks.contestant_process import memory_of_process
from benchmarks.rivals import data
from benchmarks.rivals.in_tapegrad import Block
from benchmarks.speed_page import written
from benchmarks.workloads import ROOT, machine
from tapegrad import BalancedCheckpointing, nn, optim

OPS = [10**power for power in range(2, 7)]
BATCHES = [2**power for power in range(3, 14, 2)]
WIDTHS = [2**power for power in range(5, 13)]
FLOAT = 4  # bytes
NUMBERS = ROOT / "benchmarks" / "scale.json"
PAGE = ROOT / "docs" / "guide" / "scale.md"
PICTURE = ROOT / "docs" / "images" / "scale.png"


@dataclass(frozen=True)
class Machine:
    """Seconds that an op costs before it computes; multiplications with an addition, and bytes, a second."""

    op: float
    flops: float
    bytes: float


@dataclass(frozen=True)
class Point:
    """A step that was measured: what it was varied by, and its seconds by the model and by the clock."""

    sweep: str
    size: int
    predicted: float
    measured: float


def best(run: Callable[[], Any], rounds: int = 5) -> float:
    """Return the minimum of several CPU times in seconds, which other processes affect least."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def measured_machine() -> Machine:
    """Measure the three numbers of the model."""
    x = data.numbers(1024, 1024)
    large, out = data.numbers(1 << 24), np.empty(1 << 24, np.float32)
    return Machine(
        op=best(lambda: chain(1_000)) / 1_000,
        flops=1024**3 / best(lambda: x @ x),
        bytes=2 * large.nbytes / best(lambda: np.copyto(out, large)),
    )


def chain(count: int) -> None:
    """Run the given number of ops on eight numbers, and their backward pass."""
    x = tg.tensor(data.numbers(8))
    h: Any = x.trace()
    for _ in range(count // 2):
        h = tg.tanh(h * 1.01)
    h.sum().backward()


def mlp(sizes: tuple[int, ...], batch: int) -> tuple[Callable[[], None], int, int, int]:
    """Return a step of training, and how many ops it has, how often it multiplies and how many bytes it moves."""
    model: Any = nn.Sequential(*(layer for n, m in pairwise(sizes) for layer in (nn.Linear(n, m, rng=n), nn.ReLU())))
    opt, x = optim.SGD(model, lr=1e-4), tg.tensor(data.numbers(batch, sizes[0]))

    def step() -> None:
        y = model(x.trace())
        opt.step((y * y).mean().backward(wrt=model))

    weights = sum(n * m for n, m in pairwise(sizes))
    # Forward one product, and backward two; the first layer's input wants no gradient.
    products = batch * (3 * weights - sizes[0] * sizes[1])
    # A layer adds a bias and clips: four arrays are written and as many read, in the backward pass as many again. The
    # optimizer reads a parameter and its gradient, and writes one.
    moved = FLOAT * (16 * batch * sum(sizes[1:]) + 4 * weights)
    return step, 6 * (len(sizes) - 1) + 8, products, moved


def points(costs: Machine) -> list[Point]:
    """Measure all sweeps."""
    found = [
        Point("ops", count, count * costs.op, best(partial(chain, count), 1 if count > 10**5 else 5)) for count in OPS
    ]
    sweeps: list[tuple[str, int, tuple[int, ...], int]] = [
        ("batch", batch, (784, 256, 128, 10), batch) for batch in BATCHES
    ]
    sweeps += [("width", width, (width, width, width), 64) for width in WIDTHS]
    for sweep, size, sizes, batch in sweeps:
        step, ops, products, moved = mlp(sizes, batch)
        step()
        predicted = ops * costs.op + products / costs.flops + moved / costs.bytes
        found.append(Point(sweep, size, predicted, best(step)))
    return found


def plot(found: list[Point], path: Path) -> None:
    """Draw each point's seconds by the clock over those by the model."""
    pyplot: Any = import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(7, 6), layout="constrained")
    labels = {"ops": "ops on one tape", "batch": "rows of a batch", "width": "width of two layers"}
    for (sweep, label), marker in zip(labels.items(), "osv", strict=True):
        own = [point for point in found if point.sweep == sweep]
        sizes = f"{own[0].size:,} to {own[-1].size:,}"
        axes.loglog([p.predicted for p in own], [p.measured for p in own], marker, label=f"{label}, {sizes}", alpha=0.8)
    ends = [min(p.predicted for p in found) / 2, max(p.predicted for p in found) * 2]
    axes.loglog(ends, ends, color="black", linewidth=1, label="model: $n\\,a + f/F + b/B$")
    axes.set_xlabel("seconds a step by the model")
    axes.set_ylabel("seconds a step by the clock, the least of some")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(path, dpi=150)


def stack(count: int) -> str:
    """Train a stack of transformer blocks under balanced checkpointing, and say what it takes."""
    model = nn.Sequential(*(Block(seed) for seed in range(count)))
    opt, x = optim.SGD(model, lr=1e-3), tg.tensor(data.tokens())
    before = memory_of_process("VmRSS")
    started = time.perf_counter()
    for _ in range(2):
        y: Any = model(x.trace(checkpoint=BalancedCheckpointing()))
        opt.step((y * y).mean().backward(wrt=model))
    seconds = (time.perf_counter() - started) / 2
    return (
        f"{count} blocks: {seconds:.1f} s a step, {memory_of_process('VmHWM') - before:,.0f} MiB above the parameters"
    )


def collector() -> list[str]:
    """Time chains of ops with the collector of cycles and without it, and write microseconds an op."""
    lines = ["| ops | with the collector, µs an op | without, µs an op |", "| --- | --- | --- |"]
    chain(1_000)
    for count in (1_000, 10_000, 100_000, 300_000):
        collected = best(partial(chain, count), 3) / count
        gc.disable()
        try:
            alone = best(partial(chain, count), 3) / count
        finally:
            gc.enable()
        lines.append(f"| {count:,} | {collected * 1e6:.1f} | {alone * 1e6:.1f} |")
    return lines


def table(facts: dict[str, str], costs: Machine, found: list[Point]) -> list[str]:
    """Write machine, model and points, as they are printed and as the page shows them."""
    lines = [f"- {name}: {fact}" for name, fact in facts.items()]
    lines.append(
        f"- a = {costs.op * 1e6:.2f} µs an op, F = {costs.flops / 1e9:.0f} G multiplications a second, "
        f"B = {costs.bytes / 1e9:.1f} GB a second"
    )
    lines += ["", "| varied | size | by the model, ms | by the clock, ms | ratio |", "| --- " * 5 + "|"]
    for point in found:
        times = f"{point.predicted * 1e3:.3g} | {point.measured * 1e3:.3g} | {point.measured / point.predicted:.2f}"
        lines.append(f"| {point.sweep} | {point.size:,} | {times} |")
    return lines


def page(text: str, numbers: dict[str, Any]) -> str:
    """Return the page with the table of some numbers between its two marks."""
    points = [Point(**one) for one in numbers["points"]]
    return written(text, table(numbers["machine"], Machine(**numbers["costs"]), points))


def main() -> None:
    """Measure, and write the requested files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all points there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them there; needs the extra plot")
    parser.add_argument("--stack", type=int, metavar="BLOCKS", help="train so many blocks instead")
    parser.add_argument("--collector", action="store_true", help="measure what the collector of cycles costs instead")
    parser.add_argument("--page", action="store_true", help="write the page of the docs from the numbers in the tree")
    options = parser.parse_args()
    if options.page:
        numbers = json.loads(NUMBERS.read_text("utf-8"))
        PAGE.write_text(page(PAGE.read_text("utf-8"), numbers), "utf-8")
        plot([Point(**one) for one in numbers["points"]], PICTURE)
        return
    if options.collector:
        tg.set_threads(1)
        print(*collector(), sep="\n")
        return
    if options.stack:
        print(stack(options.stack))
        return
    tg.set_threads(1)
    facts, costs = machine([]), measured_machine()
    found = points(costs)
    print(*table(facts, costs, found), sep="\n")
    if options.json:
        numbers = {"machine": facts, "costs": asdict(costs), "points": [asdict(point) for point in found]}
        options.json.write_text(json.dumps(numbers, indent=2) + "\n", "utf-8")
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
