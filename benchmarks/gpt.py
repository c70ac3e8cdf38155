"""Train a GPT of four layers in tapegrad under `tapegrad.jit` and in equinox with optax, and compare.

    python -m benchmarks.gpt [--size tiny|small|large] [--json FILE]
    python -m benchmarks.gpt --page

Both models have the same initial parameters and batches. Each contestant is measured in processes of its own: several
are started one after the other for the time of the first step, which traces and compiles, and for the peak of memory;
then one of each takes steps in turns. Their losses must agree as well as equinox's agree with its own when each initial
parameter is the next larger float32: Adam divides by small gradients, so rounding grows from step to step. First losses
may always differ by 1e-5; a GPU, which multiplies with ten bits by default, may move them by more.

`--json` adds the numbers to a file, by device and size. `--page` measures nothing: it writes the table of
docs/guide/jax.md from benchmarks/gpt.json. `make bench` installs equinox and optax.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contestant_process import memory_of_process
from benchmarks.json_process import JSONProcess
from benchmarks.rivals.gpt_data import BATCHES, SIZES
from docs.marks import between_marks

ROOT = Path(__file__).parent.parent
NUMBERS = ROOT / "benchmarks" / "gpt.json"
PAGE = ROOT / "docs" / "guide" / "jax.md"
BEGIN, END = "<!-- generated from benchmarks.gpt: begin -->", "<!-- generated from benchmarks.gpt: end -->"
CONTESTANTS = {"tapegrad.jit": "gpt_in_tapegrad", "equinox, optax": "gpt_in_equinox"}
REFERENCE = "equinox, optax"
MODULE = "benchmarks.gpt"
STARTS, ROUNDS, REPEATS = 3, 15, 5
FIRST, FURTHER = 1e-5, 3.0  # how far first losses may always be apart, and all losses in units of what rounding does


@dataclass(frozen=True)
class Figures:
    """What was measured of a contestant: seconds, MiB, and how far its losses are from the other's at most."""

    first_step: list[float]
    steps: list[float]
    memory: list[float]


def serve(name: str, size: str, *, is_rounded: bool) -> None:
    """Be a contestant: take a first step, then as many as each line of standard input says, and report in JSON."""
    module = import_module(f"benchmarks.rivals.{CONTESTANTS[name]}")
    jax = import_module("jax")
    jax.block_until_ready(jax.numpy.zeros(1) + 1)  # starts the device
    before = memory_of_process("VmRSS")
    step: Callable[[], float] = module.program(SIZES[size], is_rounded=is_rounded)
    start = time.perf_counter()
    losses = [step()]
    first_step = time.perf_counter() - start
    losses += [step() for _ in range(BATCHES - 1)]
    device = jax.devices()[0]
    facts = {"first_step": first_step, "losses": losses, "device": device.device_kind, "jax": jax.__version__}
    print(json.dumps(facts), flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            step()
        seconds = (time.perf_counter() - start) / int(line)
        on_device = device.memory_stats()
        peak = on_device["peak_bytes_in_use"] / 2**20 if on_device else memory_of_process("VmHWM") - before
        print(json.dumps({"seconds": seconds, "memory": peak}), flush=True)


def options(name: str, size: str) -> list[str]:
    """Return the options for the process of a contestant."""
    return ["--contestant", name, "--size", size]


def measured(size: str) -> dict[str, Any]:
    """Measure both contestants, and return the numbers of one size on this device."""
    first_steps: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    seconds: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    memory: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    losses: dict[str, list[float]] = {}
    for _ in range(STARTS - 1):
        for name in CONTESTANTS:
            with JSONProcess(MODULE, *options(name, size)) as process:
                first_steps[name].append(process.facts["first_step"])
                memory[name].append(process.ask(1)["memory"])
    with ExitStack() as stack:
        processes = {name: stack.enter_context(JSONProcess(MODULE, *options(name, size))) for name in CONTESTANTS}
        for name, process in processes.items():
            first_steps[name].append(process.facts["first_step"])
            losses[name] = process.facts["losses"]
        for _ in range(ROUNDS):
            for name, process in processes.items():
                seconds[name].append(process.ask(REPEATS)["seconds"])
        for name, process in processes.items():
            memory[name].append(process.ask(1)["memory"])
        facts = next(iter(processes.values())).facts
    with JSONProcess(MODULE, *options(REFERENCE, size), "--rounded") as process:
        rounded = process.facts["losses"]
    own, other = losses.values()
    return {
        "size": str(SIZES[size]),
        "device": facts["device"],
        "jax": facts["jax"],
        "losses": {
            "first": other[0],
            "last": other[-1],
            "first_apart": abs(own[0] - other[0]),
            "apart": apart(own, other),
            "first_rounding": abs(rounded[0] - other[0]),
            "rounding": apart(rounded, other),
        },
        "figures": {name: asdict(Figures(first_steps[name], seconds[name], memory[name])) for name in CONTESTANTS},
    }


def apart(some: list[float], others: list[float]) -> float:
    """Return how far losses are apart at most."""
    return max(abs(a - b) for a, b in zip(some, others, strict=True))


def table(part: Mapping[str, Any]) -> list[str]:
    """Return a table of one size on one device; lower is better."""
    own, other = (Figures(**part["figures"][name]) for name in CONTESTANTS)
    rows = {
        "training step, ms": (own.steps, other.steps, 1e3),
        "first step, which compiles, s": (own.first_step, other.first_step, 1.0),
        "peak memory, MiB": (own.memory, other.memory, 1.0),
    }
    names = " | ".join(CONTESTANTS)
    lines = [f"| | {names} | ratio of medians | ratio of minima |", f"| --- |{' ---: |' * 4}"]
    for title, (mine, its, unit) in rows.items():
        medians, minima = (median(mine), median(its)), (min(mine), min(its))
        cells = [f"{value * unit:.3g}" if unit * value < 100 else f"{value * unit:.0f}" for value in medians]
        ratios = [f"{medians[0] / medians[1]:.2f}", f"{minima[0] / minima[1]:.2f}"]
        lines.append(f"| {title} | {' | '.join(cells + ratios)} |")
    return lines


def page_lines(numbers: Mapping[str, Any]) -> list[str]:
    """Return what stands between the marks of the page."""
    lines: list[str] = []
    for part in numbers.values():
        losses = part["losses"]
        agree = (
            f"The first losses differ by {losses['first_apart']:.1g}, where rounding moves equinox's by "
            f"{losses['first_rounding']:.1g}, and those of {BATCHES} steps by at most {losses['apart']:.1g}, where it "
            f"moves them by {losses['rounding']:.1g}."
        )
        lines += [
            f"{part['device']}, JAX {part['jax']}, {part['size']}:",
            "",
            *table(part),
            "",
            agree,
            "",
        ]
    return lines[:-1]


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description="Compares a GPT in tapegrad with one in equinox.")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--json", type=Path, help="a file of numbers to add these to")
    parser.add_argument("--page", action="store_true", help="write the table of docs/guide/jax.md, and measure nothing")
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--rounded", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.contestant:
        serve(given.contestant, given.size, is_rounded=given.rounded)
        return
    if given.page:
        numbers = json.loads(NUMBERS.read_text("utf-8"))
        PAGE.write_text(between_marks(PAGE.read_text("utf-8"), BEGIN, END, "\n".join(page_lines(numbers))), "utf-8")
        return
    part = measured(given.size)
    print("\n".join(page_lines({"now": part})))
    if given.json:
        numbers = json.loads(given.json.read_text("utf-8")) if given.json.exists() else {}
        numbers[f"{part['device']}, {given.size}"] = part
        given.json.write_text(f"{json.dumps(numbers, indent=1)}\n", "utf-8")
    losses = part["losses"]
    first = max(FIRST, FURTHER * losses["first_rounding"])
    if losses["first_apart"] > first or losses["apart"] > FURTHER * losses["rounding"]:
        sys.exit(f"the losses differ by more than rounding: {losses}")


if __name__ == "__main__":
    main()
