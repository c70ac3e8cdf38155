"""Compare calls, loops and first calls of `tapegrad.jit` with the same programs in plain JAX.

    python -m benchmarks.jit [--row ROW] [--short] [--json FILE]
    python -m benchmarks.jit --page

Each contestant is measured in processes of its own: several are started in turns for the time of the first call, which
traces and compiles; then one of each is called in turns. All times are CPU seconds of all threads of the process,
because they depend less on what else the machine does.

`--json` adds the numbers to a file, by program. `--page` measures nothing: it writes the table of docs/guide/jax.md
from benchmarks/jit.json.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.json_process import JSONProcess
from docs.marks import between_marks

ROOT = Path(__file__).parent.parent
NUMBERS = ROOT / "benchmarks" / "jit.json"
PAGE = ROOT / "docs" / "guide" / "jax.md"
BEGIN, END = "<!-- generated from benchmarks.jit: begin -->", "<!-- generated from benchmarks.jit: end -->"
MODULE = "benchmarks.jit"
CONTESTANTS = {"tapegrad.jit": "jit_in_tapegrad", "plain JAX": "jit_in_jax"}
PAIR = (*CONTESTANTS,)
TITLES = {
    "call": "`x + 1` on 4 numbers",
    "mlp": "MLP 2-16-16-1, batch 8, training step",
    "list": "sum of a list of 200 tensors of 4 numbers",
    "scan": "RNN of 200 steps by `scan`, 8×64, loss and gradients",
    "lstm-100": "LSTM of 100 steps, 8×64, loss and gradients",
    "lstm-200": "LSTM of 200 steps, 8×64, loss and gradients",
    "lstm-400": "LSTM of 400 steps, 8×64, loss and gradients",
    "adam-384": "Adam on the 384 parameters of 24 transformer blocks of width 64",
    "blocks-24": "24 transformer blocks of width 64 in `nn.Repeated`, Adam, training step",
    "stack-24": "24 transformer blocks of width 64 in `nn.Sequential`, Adam, training step",
}
MISSING = {"plain JAX": ("blocks-24", "stack-24")}
STARTS, ROUNDS, SECONDS = 3, 40, 0.05

Figures = dict[str, dict[str, list[float]]]


def serve(name: str, row: str) -> None:
    """Be a contestant: make a first call, then measure calls for each line of standard input, and report in JSON."""
    jax = import_module("jax")
    jax.block_until_ready(jax.numpy.zeros(1) + 1)  # starts the device
    make: Callable[[], Callable[[], object]] = import_module(f"benchmarks.rivals.{CONTESTANTS[name]}").PROGRAMS[row]
    began = time.process_time()
    run = make()
    run()
    print(json.dumps({"first": rounded(time.process_time() - began)}), flush=True)
    run()
    began = time.perf_counter()
    run()
    repeats = max(1, round(SECONDS / (time.perf_counter() - began)))
    for _ in sys.stdin:
        began = time.process_time()
        for _ in range(repeats):
            run()
        print(json.dumps({"call": rounded((time.process_time() - began) / repeats)}), flush=True)


def rounded(seconds: float) -> float:
    """Return a number of seconds with four digits, which are more than the noise leaves."""
    return float(f"{seconds:.4g}")


def measured(row: str, starts: int, rounds: int) -> Figures:
    """Measure a program, and return the CPU seconds of first and later calls of each contestant."""
    options = {name: ("--contestant", name, "--row", row) for name in PAIR if row not in MISSING.get(name, ())}
    found: Figures = {name: {"first": [], "call": []} for name in options}
    for _ in range(starts - 1):
        for name, of in options.items():
            with JSONProcess(MODULE, *of) as process:
                found[name]["first"].append(process.facts["first"])
    with ExitStack() as stack:
        processes = {name: stack.enter_context(JSONProcess(MODULE, *of)) for name, of in options.items()}
        for name, process in processes.items():
            found[name]["first"].append(process.facts["first"])
        for _ in range(rounds):
            for name, process in processes.items():
                found[name]["call"].append(process.ask("")["call"])
    return found


def line(row: str, figures: Figures) -> str:
    """Return a line of the table: medians of both contestants, and the ratios of medians and of minima."""
    cells = [TITLES[row]]
    for kind, unit in (("call", 1e3), ("first", 1.0)):
        values = {name: [one * unit for one in of[kind]] for name, of in figures.items()}
        cells += [f"{median(values[name]):.3g}" if name in values else "-" for name in PAIR]
        for summary in (median, min):
            both: list[Any] = [summary(one) for one in values.values()]
            cells.append(f"{both[0] / both[1]:.2f}" if len(both) > 1 else "-")
    return f"| {' | '.join(cells)} |"


def table(numbers: Mapping[str, Figures]) -> list[str]:
    """Return the table of all programs; lower is better."""
    heads = ["program"]
    for what in ("a call, ms", "first call, s"):
        heads += [*(f"{name}: {what}" for name in PAIR), "ratio of medians", "ratio of minima"]
    rows = [line(row, numbers[row]) for row in TITLES if row in numbers]
    return [f"| {' | '.join(heads)} |", f"| --- |{' ---: |' * (len(heads) - 1)}", *rows]


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description="Compares tapegrad.jit with plain JAX.")
    parser.add_argument("--short", action="store_true", help="one process of each, and few calls")
    parser.add_argument("--json", type=Path, help="a file of numbers to add these to")
    parser.add_argument("--page", action="store_true", help="write the table of docs/guide/jax.md, and measure nothing")
    parser.add_argument("--row", choices=TITLES, help="measure this program only")
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.contestant:
        serve(given.contestant, given.row)
        return
    if given.page:
        lines = table(json.loads(NUMBERS.read_text("utf-8")))
        PAGE.write_text(between_marks(PAGE.read_text("utf-8"), BEGIN, END, "\n".join(lines)), "utf-8")
        return
    for row in [given.row] if given.row else TITLES:
        figures = measured(row, *((1, 5) if given.short else (STARTS, ROUNDS)))
        print(line(row, figures), flush=True)
        if given.json:
            numbers = json.loads(given.json.read_text("utf-8")) if given.json.exists() else {}
            given.json.write_text(f"{json.dumps(numbers | {row: figures}, indent=1)}\n", "utf-8")


if __name__ == "__main__":
    main()
