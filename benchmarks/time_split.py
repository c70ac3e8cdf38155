"""Split the time of each workload into matrix products, passes over arrays, memory pages and Python.

    python -m benchmarks.time_split [workload ...] [--tuned] [--avx2] [--threads N]
    python -m benchmarks.time_split --publish    measures all, and writes the tables of docs/guide/speed.md

Each contestant runs in its own process, as in `benchmarks.workloads`. Linux's `perf` samples the thread that runs the
program, a thousand times a second; a sample counts for the library whose code runs. Time without samples is waiting
for other threads; time in which other programs have the cores is left out. Passes over arrays are also given in bytes:
those that a copy reads and writes in the same time.
"""

import argparse
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, run
from typing import Any, Final

import numpy as np

from benchmarks import targets
from benchmarks.contestants import WORKLOADS
from benchmarks.workloads import ROOT, ContestantProcess, environment_of, machine, processes
from docs.marks import between_marks

NUMBERS: Final = targets.SPLIT
PAGE: Final = ROOT / "docs" / "guide" / "speed.md"
BEGIN, END = "<!-- time split: begin -->", "<!-- time split: end -->"
CONTESTANTS: Final = ("tapegrad", "tapegrad fast")
SAMPLES_A_SECOND: Final = 997  # not a multiple of what else happens regularly
SECONDS: Final = 3.0  # of one measurement
PARTS: Final = ("products", "passes", "pages", "Python", "waiting")
COPIED: Final = 1 << 26  # bytes, more than any cache holds

_SAMPLE: Final = re.compile(r"\s*(?P<thread>\d+)\s+[0-9a-f]+ (?P<symbol>.+) \((?P<library>.+)\)")
# The inner loops of NumPy; what else runs in its library prepares a call, as Python does.
_LOOP: Final = re.compile(
    r"^[A-Z]+_|^syrk|aligned|contig|strided|pairwise|simd|_to_|cast|fill|raw_array_assign|memset|memcpy|memmove|[Aa]vx"
)
_POOLS: Final = ("omppool", "tbbpool", "workqueue", "libgomp", "libtbb")


class PerfError(Exception):
    """`perf` is missing, is not allowed to sample, or wrote something else than samples."""


def part_of(library: str, symbol: str) -> str:
    """Return the part of a workload's time that a sample belongs to.

    Raises:
        PerfError: The sample is in NumPy's library, which has no symbols that separate its loops from its calls.
    """
    name = library.rpartition("/")[2]
    if "blas" in name:
        return "products"
    if name.startswith(("[kernel", "[guest.kernel")):
        return "pages"
    if any(pool in name for pool in _POOLS):
        return "waiting"
    if name.startswith(("[unknown]", "[JIT]", "perf-", "anon", "libm.", "libmvec")):  # kernels that Numba compiled
        return "passes"
    if "_multiarray_umath" in name and symbol == "[unknown]":
        message = f"{name} has no symbols, which would separate its loops from its calls"
        raise PerfError(message)
    if "_multiarray_umath" in name or name.startswith("libc."):
        return "passes" if _LOOP.search(symbol) else "Python"
    return "Python"


def parts_of(lines: Iterable[str], thread: int) -> Counter[str]:
    """Count the samples of one thread by part.

    Raises:
        PerfError: A line is no sample, or one that belongs to no part.
    """
    found: Counter[str] = Counter()
    for line in lines:
        match = _SAMPLE.fullmatch(line.rstrip())
        if match is None:
            message = f"perf script wrote {line!r}, which is no sample"
            raise PerfError(message)
        if int(match["thread"]) == thread:
            found[part_of(match["library"], match["symbol"])] += 1
    return found


def copied_per_second() -> float:
    """Return how many bytes a second one thread reads and writes in a copy."""
    source, target = np.ones(COPIED, np.uint8), np.empty(COPIED, np.uint8)
    taken = []
    for _ in range(15):
        start = time.perf_counter()
        np.copyto(target, source)
        taken.append(time.perf_counter() - start)
    return 2 * COPIED / min(taken)


def delayed(process: int) -> float:
    """Return the seconds in which the main thread of a process could have run, but other programs had the cores."""
    return int(Path(f"/proc/{process}/task/{process}/schedstat").read_text("ascii").split()[1]) / 1e9


def split(process: ContestantProcess) -> dict[str, float] | None:
    """Return the ms that one repetition takes, by part; None where the contestant has no such workload.

    Raises:
        PerfError: `perf` is missing, or samples are.
    """
    facts = process.answer()
    if "missing" in facts:
        return None
    once = process.measure(facts["seconds"])
    repeats = ceil(SECONDS / once)
    with tempfile.NamedTemporaryFile(suffix=".data") as data:
        seconds, errors = sampled(process, repeats, data.name)
        command = ["perf", "script", f"--input={data.name}", "--fields=tid,ip,sym,dso"]
        read = run(command, check=False, capture_output=True, text=True)
    if read.returncode or not read.stdout:
        message = f"perf found no samples: {(errors + read.stderr).strip()}"
        raise PerfError(message)
    counts = parts_of(read.stdout.splitlines(), process.pid)
    counts["waiting"] += max(0, round(repeats * seconds * SAMPLES_A_SECOND) - counts.total())
    return {part: seconds * 1e3 * counts[part] / counts.total() for part in PARTS}


def sampled(process: ContestantProcess, repeats: int, path: str) -> tuple[float, str]:
    """Sample some repetitions; return the seconds of one, and what `perf` says."""
    command = ["perf", "record", "--event=cpu-clock", f"--freq={SAMPLES_A_SECOND}", f"--pid={process.pid}"]
    with Popen([*command, f"--output={path}"], stdout=DEVNULL, stderr=PIPE, text=True) as sampler:
        time.sleep(0.5)  # until it is attached; the process sleeps meanwhile
        before = delayed(process.pid)
        seconds = process.seconds(repeats) - (delayed(process.pid) - before) / repeats
        sampler.send_signal(signal.SIGINT)
        _, errors = sampler.communicate()
    return seconds, errors


def measured(names: Iterable[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Split the time of some workloads.

    Raises:
        PerfError: `perf` is missing, or samples are.
    """
    if shutil.which("perf") is None:
        message = "perf is missing: it is Linux's profiler, on Debian in the package linux-perf"
        raise PerfError(message)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in names:
        for contestant in CONTESTANTS:
            with processes("usual", [contestant], name, environment) as started:
                parts = split(started[contestant])
            if parts is not None:
                found.setdefault(contestant, {})[name] = parts
    return {
        "machine": machine(list(CONTESTANTS), environment),
        "threads": int(environment["OMP_NUM_THREADS"]),
        "copied": copied_per_second(),
        "parts": found,
    }


def table(parts: Mapping[str, Mapping[str, float]], copied: float) -> list[str]:
    """Return a table of the shares of one contestant's time, in percent."""
    lines = [
        "| workload | ms | products | passes | pages | Python and calls | waiting | passes, MiB |",
        f"| --- |{' ---: |' * 7}",
    ]
    for workload, ms in parts.items():
        whole = sum(ms.values())
        shares = " | ".join(f"{ms[part] / whole:.0%}" for part in PARTS)
        moved = ms["passes"] * 1e-3 * copied / 2**20
        lines.append(f"| {WORKLOADS[workload]} | {whole:.3g} | {shares} | {moved:.3g} |")
    return lines


def page_lines(numbers: Mapping[str, Any]) -> list[str]:
    """Return what stands between the marks of the speed page."""
    facts = numbers["machine"]
    lines = [
        f"- {facts['date']}, {facts['processor']}, Python {facts['Python']}, {facts['versions']}",
        f"- allocator: {facts['allocator']}",
        f"- a copy by one thread reads and writes {numbers['copied'] / 2**30:.1f} GiB a second",
    ]
    for contestant, parts in numbers["parts"].items():
        lines += ["", f"`{contestant}`:", "", *table(parts, numbers["copied"])]
    return lines


def page(text: str, numbers: Mapping[str, Any]) -> str:
    """Return the speed page with the tables of some numbers."""
    return between_marks(text, BEGIN, END, "\n".join(page_lines(numbers)))


def main() -> None:
    """Print the tables, or write them to the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    workloads = [name for name in WORKLOADS if name != "memory"]
    parser.add_argument("workloads", nargs="*", default=workloads, metavar="workload", help=", ".join(workloads))
    parser.add_argument("--tuned", action="store_true", help="the allocator keeps its pages")
    parser.add_argument("--avx2", action="store_true", help="hold NumPy's BLAS to AVX2")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--publish", action="store_true", help="measure all, and write docs/guide/speed.md")
    options = parser.parse_args()
    environment = environment_of(tuned=options.tuned, avx2=options.avx2, threads=options.threads)
    try:
        numbers = measured(workloads if options.publish else options.workloads, environment)
    except PerfError as error:
        sys.exit(str(error))
    print("\n".join(page_lines(numbers)))
    if options.publish:
        NUMBERS.write_text(f"{json.dumps(numbers, indent=1)}\n", "utf-8")
        PAGE.write_text(page(PAGE.read_text("utf-8"), numbers), "utf-8")
        targets.main()


if __name__ == "__main__":
    main()
