"""Times training in tapegrad beside every rival that is installed, on thirteen workloads, in one interleaved run.

Each round runs every contestant once, so that a noisy machine slows all alike. What counts are the ratios to eager
PyTorch; a number in milliseconds holds for the machine that is named above the table. Contestants start from the same
numbers, and their first results are compared.

    python -m benchmarks.workloads [a b …] [--short] [--tuned] [--avx2] [--json FILE] [--plot FILE]
    python -m benchmarks.workloads --page

The second form measures nothing: it writes the tables of docs/guide/speed.md and the plot anew, from the numbers in
benchmarks/workloads.json, and in benchmarks/workloads-avx2.json where there are such. To publish others, measure with
`--tuned --json benchmarks/workloads.json` and `--tuned --avx2 --json benchmarks/workloads-avx2.json` in a quiet hour
first.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from math import ceil, isclose
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

WORKLOADS = {
    "a": "100 chained elementwise ops on (8,)",
    "b": "MLP 2-16-16-1, batch 8, step",
    "c": "MLP 784-256-128-10, batch 64, step",
    "d": "MLP 784-1024-1024-10, batch 256, step",
    "e": "CNN 1-16-32, 64 images of 28×28, step",
    "f": "conv2d 64→64, 3×3, on 8×64×56×56",
    "g": "transformer block 256, 8 heads, 8×128 tokens, step",
    "h": "tanh(x)·sigmoid(x) + x² on 4 million",
    "h fused": "the same as one function under `@fused`",
    "i": "layer_norm and softmax on (4096, 1024)",
    "j": "matmul 2048³",
    "k": "peak memory of 8 blocks of g, MiB",
    "l": "max_pool2d 2 and avg_pool2d 3, stride 2, on 32×32×56×56",
    "m": "Adam on the parameters of d",
}
REFERENCE = "torch"
ROOT = Path(__file__).parent.parent
NUMBERS = ROOT / "benchmarks" / "workloads.json"
HELD = ROOT / "benchmarks" / "workloads-avx2.json"
PAGE = ROOT / "docs" / "guide" / "speed.md"
PICTURE = ROOT / "docs" / "images" / "speed.png"
SAMPLE = 20e-3  # seconds that one sample takes at least: a short one shows what ran before it has left in the caches
BEGIN, END = "<!-- what --page writes begins here -->", "<!-- and ends here -->"
# glibc maps each large array anew and faults in its pages; above these sizes, it keeps them.
TUNED = {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 33)}
# Holds OpenBLAS to what it does on a processor without AVX-512; the BLAS of torch and of XLA choose by themselves.
AVX2 = {"OPENBLAS_CORETYPE": "Haswell"}

Program = Callable[[], float]
Programs = Mapping[str, Callable[[], Program] | None]


@dataclass(frozen=True)
class Contestant:
    """A library, how its workloads are made, and what it says of one that it has not."""

    package: str
    programs: Callable[[], Programs]
    missing: str = "-"
    before: Callable[[], None] = lambda: None  # is called before each of its turns
    also: str = ""  # another package that it needs

    @property
    def is_installed(self) -> bool:
        """Whether it can run."""
        return all(find_spec(package) for package in (self.package, self.also) if package)

    def program(self, workload: str) -> Callable[[], Program] | None:
        """Returns how to make a workload; who fuses nothing by name runs the same program in both places."""
        programs = self.programs()
        return programs[workload] if workload in programs else programs[workload.removesuffix(" fused")]


@dataclass(frozen=True)
class Times:
    """What one contestant took for one workload, in ms; for k, one number of MiB."""

    median: float
    minimum: float


CONTESTANTS = {
    "tapegrad": Contestant(
        "tapegrad", lambda: _of("in_tapegrad").PROGRAMS, before=lambda: _of("in_tapegrad").use_fast(is_on=False)
    ),
    "tapegrad fast": Contestant(
        "tapegrad",
        lambda: _of("in_tapegrad").PROGRAMS,
        before=lambda: _of("in_tapegrad").use_fast(is_on=True),
        also="numba",
    ),
    "torch": Contestant("torch", lambda: _of("in_torch").EAGER),
    "torch.compile": Contestant("torch", lambda: _of("in_torch").COMPILED),
    "jax.jit": Contestant("jax", lambda: _of("in_functions").in_jax()),
    "autograd": Contestant("autograd", lambda: _of("in_functions").in_autograd()),
    "bare numpy": Contestant("numpy", lambda: _of("in_numpy").PROGRAMS),
}


def _of(room: str) -> Any:
    return import_module(f"benchmarks.rivals.{room}")


def timed(workload: str, names: list[str], *, short: bool) -> dict[str, Times | str]:
    """Times one workload of all contestants in turn; what does not run says why in the place of its times."""
    found: dict[str, Times | str] = {}
    running: dict[str, tuple[Program, int]] = {}
    first: dict[str, float] = {}
    for name in names:
        make = CONTESTANTS[name].program(workload)
        if make is None:
            found[name] = CONTESTANTS[name].missing
            continue
        CONTESTANTS[name].before()
        try:
            program = make()
            first[name] = program()
        except Exception as error:  # a rival that fails is a line of the table, not its end
            if CONTESTANTS[name].package == "tapegrad":
                raise
            found[name] = f"failed: {type(error).__name__}"
            continue
        program()
        running[name] = program, ceil(SAMPLE / _seconds(program, 1))
    for name, number in first.items():
        wanted = first.get(REFERENCE, number)
        assert isclose(number, wanted, rel_tol=1e-3, abs_tol=1e-5), f"{workload}: {name} gives {number}, not {wanted}"

    taken: dict[str, list[float]] = {name: [] for name in running}
    for _ in range(_rounds(running, short=short)):
        for name, (program, repeats) in running.items():
            CONTESTANTS[name].before()
            taken[name].append(_seconds(program, repeats) * 1e3)
    return found | {name: Times(median(times), min(times)) for name, times in taken.items()}


def _seconds(program: Program, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        program()
    return (time.perf_counter() - start) / repeats


def _rounds(running: dict[str, tuple[Program, int]], *, short: bool) -> int:
    """Returns as many rounds as fit into a few seconds, or into a few times as many, an odd number."""
    once = sum(_seconds(program, repeats) for program, repeats in running.values())
    return 2 * max(3, min(7 if short else 50, int((2 if short else 20) / once / 2))) + 1


def memory(names: list[str]) -> dict[str, Times | str]:
    """Measures workload k of each contestant in a process of its own."""
    found: dict[str, Times | str] = {}
    for name in names:
        command = [sys.executable, "-m", "benchmarks.workloads", "--memory-of", name]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        said = run.stdout.strip()
        found[name] = Times(float(said), float(said)) if run.returncode == 0 and said else "failed"
    return found


def peak(name: str) -> float:
    """Returns by how many MiB three steps of workload k raise the peak above that of the imports."""
    make = CONTESTANTS[name].programs()["k"]
    assert make is not None
    CONTESTANTS[name].before()
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # forgets the peak, which an import may have set
    before = memory_of_process("VmRSS")
    program = make()
    for _ in range(3):
        program()
    return memory_of_process("VmHWM") - before


def memory_of_process(name: str) -> float:
    """Returns what Linux says of this process's memory now (VmRSS) or at its peak (VmHWM), in MiB."""
    (line,) = [line for line in Path("/proc/self/status").read_text("ascii").splitlines() if line.startswith(name)]
    return int(line.split()[1]) / 1024


def machine(names: list[str]) -> dict[str, str]:
    """Names what every number depends on."""
    packages = sorted({package for name in names for package in _packages(name)} - {"tapegrad"} | {"numpy"})
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "Python": platform.python_version(),
        "versions": ", ".join(f"{package} {version(package)}" for package in packages),
        "BLAS of NumPy": _blas(),
        "allocator": "tuned: " + ", ".join(f"{name}={os.environ[name]}" for name in TUNED)
        if all(name in os.environ for name in TUNED)
        else f"{'-'.join(platform.libc_ver())}, as it comes",
    }


def _packages(name: str) -> list[str]:
    return [package for package in (CONTESTANTS[name].package, CONTESTANTS[name].also) if package]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unnamed")
    return f"{model}{', AVX-512' if any('avx512f' in line for line in lines) else ''}"


def _blas() -> str:
    """Says which BLAS multiplies, and the variables that hold OpenBLAS to one kind of processor."""
    config: Any = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]
    held = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("OPENBLAS_")]
    return ", ".join([f"{blas['name']} {blas['version']}", *(held or ["no OPENBLAS_ variable"])])


def ratio(times: Mapping[str, Times | str], name: str) -> Times | None:
    """Returns a contestant's median and minimum in units of eager PyTorch's, where both ran."""
    own, reference = times[name], times.get(REFERENCE)
    if not isinstance(own, Times) or not isinstance(reference, Times):
        return None
    return Times(own.median / reference.median, own.minimum / reference.minimum)


def row(workload: str, times: Mapping[str, Times | str]) -> str:
    """Writes a line of the table."""
    cells = [f"{workload}  {WORKLOADS[workload]}"]
    for name, one in times.items():
        if isinstance(one, str):
            cells.append(one)
            continue
        relative = ratio(times, name)
        shown = f"{one.median:.3g}" if workload == "k" else f"{one.median:.3g}/{one.minimum:.3g}"
        cells.append(shown if relative is None else f"**{relative.median:.2f}/{relative.minimum:.2f}** {shown}")
    return f"| {' | '.join(cells)} |"


def plot(results: Mapping[str, Mapping[str, Times | str]], names: list[str], path: Path) -> None:
    """Draws each contestant's ratio to eager PyTorch, on a logarithmic axis."""
    pyplot: Any = import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(11, 5), layout="constrained")
    shown = [name for name in names if name != REFERENCE]
    for place, name in enumerate(shown):
        bars = [(row, ratio(times, name)) for row, times in enumerate(results.values())]
        drawn = [(row, relative.median) for row, relative in bars if relative is not None]
        offset = (place - (len(shown) - 1) / 2) * 0.8 / len(shown)
        # Bars grow from 1, so that what is faster than PyTorch hangs down.
        axes.bar(
            [row + offset for row, _ in drawn],
            [height - 1 for _, height in drawn],
            0.8 / len(shown),
            bottom=1,
            label=name,
        )
    axes.axhline(1, color="black", linewidth=1)
    axes.set_yscale("log")
    axes.set_xticks(range(len(results)), list(results))
    axes.set_ylabel("median, in units of eager PyTorch's")
    axes.legend(ncols=len(shown), loc="upper center", bbox_to_anchor=(0.5, -0.06), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def head(names: list[str], facts: Mapping[str, str]) -> list[str]:
    """Writes what all numbers depend on, and the head of the table."""
    return [
        *(f"- {name}: {fact}" for name, fact in facts.items()),
        "",
        f"| workload: **ratio to {REFERENCE}** and ms, each median/minimum | {' | '.join(names)} |",
        "| --- " * (len(names) + 1) + "|",
    ]


def read(numbers: Mapping[str, Any]) -> dict[str, dict[str, Times | str]]:
    """Returns the times that a file of numbers has."""
    return {
        workload: {name: one if isinstance(one, str) else Times(**one) for name, one in times.items()}
        for workload, times in numbers["results"].items()
    }


def page(text: str, numbers: Mapping[str, Any]) -> str:
    """Returns the page with the tables of some numbers, and of those with OpenBLAS held to AVX2, between its marks."""
    lines = table(numbers)
    if HELD.exists():
        lines += ["", "The same with NumPy's BLAS held to AVX2:", "", *table(json.loads(HELD.read_text("utf-8")))]
    return written(text, lines)


def table(numbers: Mapping[str, Any]) -> list[str]:
    """Writes what some numbers depend on, and their table."""
    results = read(numbers)
    names = list(next(iter(results.values())))
    return [*head(names, numbers["machine"]), *(row(workload, times) for workload, times in results.items())]


def written(text: str, lines: list[str]) -> str:
    """Returns a page with other lines between its two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"])


def write_page() -> None:
    """Writes the tables of the page and the plot, from the numbers that were measured last."""
    numbers = json.loads(NUMBERS.read_text("utf-8"))
    PAGE.write_text(page(PAGE.read_text("utf-8"), numbers), "utf-8")
    results = read(numbers)
    plot(results, list(next(iter(results.values()))), PICTURE)


def main() -> None:
    """Prints the machine and the table, and writes what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("workloads", nargs="*", metavar="workload", help=f"some of {' '.join(WORKLOADS)}; else all")
    parser.add_argument("--short", action="store_true", help="fewer rounds")
    parser.add_argument("--tuned", action="store_true", help="let the allocator keep its pages, for all contestants")
    parser.add_argument("--avx2", action="store_true", help="hold NumPy's BLAS to AVX2, for all contestants")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all times there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios there; needs the extra plot")
    parser.add_argument("--page", action="store_true", help="write the page of the docs from the numbers in the tree")
    parser.add_argument("--only", help="contestants to run, separated by commas")
    parser.add_argument("--memory-of", choices=CONTESTANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        print(peak(options.memory_of))
        return
    if options.page:
        write_page()
        return
    asked = (TUNED if options.tuned else {}) | (AVX2 if options.avx2 else {})
    if asked.items() - os.environ.items():  # which are read when a process starts
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.workloads", *sys.argv[1:]], os.environ | asked)  # noqa: S606  # this very program again
    chosen = options.only.split(",") if options.only else list(CONTESTANTS)
    names = [name for name in chosen if CONTESTANTS[name].is_installed]
    workloads = options.workloads or list(WORKLOADS)

    facts = machine(names)
    print(*head(names, facts), sep="\n")
    results: dict[str, dict[str, Times | str]] = {}
    for workload in workloads:
        times = memory(names) if workload == "k" else timed(workload, names, short=options.short)
        results[workload] = {name: times[name] for name in names}
        print(row(workload, results[workload]), flush=True)
    if options.json:
        times_by_name = {
            workload: {name: one if isinstance(one, str) else asdict(one) for name, one in times.items()}
            for workload, times in results.items()
        }
        options.json.write_text(json.dumps({"machine": facts, "results": times_by_name}, indent=2) + "\n", "utf-8")
    if options.plot:
        plot(results, names, options.plot)


if __name__ == "__main__":
    main()
