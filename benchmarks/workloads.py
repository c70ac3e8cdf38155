"""Time training in tapegrad and in every installed rival, each contestant in a process of its own.

One process for all would be unfair: after a product the threads of one library's BLAS keep a core busy for
milliseconds, in which the next library computes. Here each contestant has its own process, which is warmed up before
its first measurement. Only one of them runs at a time, in turns (A B C, B C A, ...), and a turn begins when all
threads of the others sleep. All have the same threads, the same allocator settings and the same initial values, and
their first results are compared. A ratio is the median of the ratios of all turns, with the interval in which the
median of endless turns lies: the machine is not alone, and its speed changes by a fifth from turn to turn.

    python -m benchmarks.workloads [workload ...] [--short] [--idiom leanest] [--tuned] [--avx2] [--threads N]
    python -m benchmarks.workloads --publish     measures all that docs/guide/speed.md shows, some 25 minutes
    python -m benchmarks.workloads --fairness    measures how fair the procedure is
    python -m benchmarks.speed_page              writes docs/guide/speed.md from the published numbers

Only the ratios to eager PyTorch are comparable; milliseconds hold for the machine that is named beside them.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from itertools import count
from math import ceil, isclose, sqrt
from pathlib import Path
from statistics import median
from subprocess import PIPE, Popen
from typing import Any

import numpy as np

from benchmarks.contestants import CONTESTANTS, IDIOMS, LEANEST_WORKLOADS, REFERENCE, WORKLOADS

ROOT = Path(__file__).parent.parent
NUMBERS = ROOT / "benchmarks" / "workloads.json"
SAMPLE = 20e-3  # seconds that one measurement takes at least: many short ones average more of the noise than few long
WARM_UP = 7e-3  # seconds of uncounted repetitions before it: the caches hold what ran in the turn before
BUDGET = {True: 3.0, False: 16.0}  # seconds of measurement for one workload, short or not
LEAST_ROUNDS = {True: 5, False: 11}
ROUNDS_BETWEEN_CHECKS = 10  # whether the ratios are known well enough
PRECISION = 0.02  # measuring ends when each ratio is known to so much of itself, with a probability of 95 %
THREADS_SLEEP_WITHIN = 2.0
# glibc returns large arrays to the system and gets new pages for the next; above these sizes, it keeps them.
TUNED = {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 33)}
# Variables of the caller that would tune one contestant and not another.
OWN_SETTINGS = ("MALLOC_", "MKL_", "NUMBA_", "NVPL_", "OMP_", "OPENBLAS_", "TAPEGRAD_", "TORCH", "XLA_")
# Holds NumPy's OpenBLAS to AVX2; the BLAS of torch and of XLA choose by themselves.
AVX2 = {"OPENBLAS_CORETYPE": "Haswell"}
FAIR_WORKLOADS = ("mlp-small", "mlp-wide", "transformer")
TWINS, ALONE = "twins", "alone, to among others"
LIMITS = {TWINS: 0.03, ALONE: 0.05}  # how far ratios of equal programs may be from 1
FAIRNESS_BUDGET = {True: 5.0, False: 55.0}
SHOWN_DOUBT = 0.05  # of a ratio in a table; smaller ones are left out


@dataclass(frozen=True)
class Ratio:
    """A time in units of another, from turns that follow each other: noise of the machine that lasts hits both.

    Attributes:
        median: Of the ratios of all turns.
        low: The median of endless turns is not below it, with a probability of 97.5 %.
        high: The same for above.
    """

    median: float
    low: float
    high: float

    @property
    def doubt(self) -> float:
        """How far the median may be off, in units of itself."""
        return max(self.high - self.median, self.median - self.low) / self.median


def ratio_of(own: Sequence[float], other: Sequence[float]) -> Ratio:
    """Return the ratio of the times of two programs that ran in the same turns."""
    ratios = sorted(one / its for one, its in zip(own, other, strict=True))
    # Half of the turns lie below the true median: how many do is binomial, with a deviation of sqrt(n) / 2.
    outside = max(0, int(len(ratios) / 2 - 0.98 * sqrt(len(ratios))))
    return Ratio(median(ratios), ratios[outside], ratios[-1 - outside])


@dataclass(frozen=True)
class Times:
    """What one contestant took for one workload, in ms; for memory, MiB.

    Attributes:
        median: Of all turns.
        minimum: Of all turns.
        ratio: The time in units of eager PyTorch's, where both ran.
    """

    median: float
    minimum: float
    ratio: Ratio | None = None


Results = dict[str, dict[str, Times | str]]


class ContestantError(Exception):
    """A contestant's process ended or answered with something else than JSON."""


class ContestantProcess:
    """One workload of one contestant in its own process."""

    def __init__(self, idiom: str, name: str, workload: str, environment: Mapping[str, str]) -> None:
        self.name = name
        command = [sys.executable, "-m", "benchmarks.contestant_process", idiom, name, workload]
        own = {**environment, **IDIOMS[idiom][name].environment}
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, env=own, cwd=ROOT)

    @property
    def pid(self) -> int:
        """The number of the process, which is that of its main thread on Linux."""
        return self._process.pid

    def answer(self) -> dict[str, Any]:
        """Read one answer.

        Raises:
            ContestantError: There is none.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            _, errors = self._process.communicate()
            raise ContestantError((errors.strip().splitlines() or ["the process ended without a word"])[-1])
        facts: dict[str, Any] = json.loads(line)
        return facts

    def seconds(self, repeats: int) -> float:
        """Return what one of some repetitions takes, measured in one go."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{repeats}\n")
        self._process.stdin.flush()
        taken: float = self.answer()["seconds"]
        return taken

    def measure(self, once: float) -> float:
        """Return the seconds of one repetition, after a warm-up, and wait until all threads of the process sleep."""
        self.seconds(ceil(WARM_UP / once))
        taken = self.seconds(ceil(SAMPLE / once))
        self.wait_until_asleep()
        return taken

    def wait_until_asleep(self) -> None:
        """Wait until no thread of the process runs: those of a BLAS look for work for a while after the last.

        Raises:
            ContestantError: Some thread still runs after two seconds, and would slow the next contestant.
        """
        tasks = Path(f"/proc/{self._process.pid}/task")
        if not tasks.exists():  # not Linux
            time.sleep(0.1)
            return
        end, calm = time.perf_counter() + THREADS_SLEEP_WITHIN, 0
        while calm < 3:
            calm = 0 if any(_is_running(task) for task in tasks.iterdir()) else calm + 1
            if time.perf_counter() > end:
                message = f"{self.name}: a thread still runs {THREADS_SLEEP_WITHIN} s after the measurement"
                raise ContestantError(message)
            time.sleep(2e-3)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def _is_running(task: Path) -> bool:
    try:
        stat = (task / "stat").read_text("ascii")
    except (FileNotFoundError, ProcessLookupError):  # the thread ended meanwhile
        return False
    return stat.rpartition(")")[2].split()[0] == "R"


@contextmanager
def processes(idiom: str, names: list[str], workload: str, environment: Mapping[str, str]) -> Iterator[Any]:
    """Start the processes of some contestants, all at once."""
    with ExitStack() as stack:
        started = {}
        for name in names:
            started[name] = ContestantProcess(idiom, name.removesuffix(" (twin)"), workload, environment)
            stack.callback(started[name].close)
        yield started


def timed(
    workload: str, names: list[str], environment: Mapping[str, str], *, idiom: str = "usual", short: bool = False
) -> dict[str, Times | str]:
    """Time one workload of all contestants in turns; one that cannot run says why in place of its times."""
    found: dict[str, Times | str] = {}
    if workload == "memory":  # one after the other: three at once might not fit
        for name in names:
            with processes(idiom, [name], workload, environment) as started:
                found[name] = _peak_of(started[name])
        return _with_ratios(found)
    with processes(idiom, names, workload, environment) as started:
        found |= _timed_in(started, workload, short=short)
    return {name: found[name] for name in names}


def _timed_in(started: Mapping[str, ContestantProcess], workload: str, *, short: bool) -> dict[str, Times | str]:
    """Time the contestants in turns; one that cannot run says why in place of its times."""
    missing: dict[str, str] = {}
    first: dict[str, float] = {}
    once: dict[str, float] = {}
    for name, process in started.items():
        try:
            facts = process.answer()
        except ContestantError as error:
            if CONTESTANTS[name.removesuffix(" (twin)")].packages[0] == "tapegrad":
                raise
            missing[name] = f"failed: {error}"
            continue
        if "missing" in facts:
            missing[name] = "-"
            continue
        first[name], once[name] = facts["first"], facts["seconds"]
    _compare_first_results(workload, first)
    once = _measured_again(started, once)
    taken: dict[str, list[float]] = {name: [] for name in once}
    for turn in _turns(BUDGET[short], short=short):
        for name in _rotated([*once], turn):
            taken[name].append(started[name].measure(once[name]) * 1e3)
        if turn % ROUNDS_BETWEEN_CHECKS == 0 and turn >= LEAST_ROUNDS[short] and _are_known(_ratios(taken).values()):
            break
    ratios = _ratios(taken)
    return {**missing, **{name: Times(median(each), min(each), ratios.get(name)) for name, each in taken.items()}}


def _ratios(taken: Mapping[str, list[float]]) -> dict[str, Ratio]:
    """Return the ratios of all contestants to eager PyTorch, if it ran."""
    return {name: ratio_of(each, taken[REFERENCE]) for name, each in taken.items()} if REFERENCE in taken else {}


def _are_known(ratios: Iterable[Ratio]) -> bool:
    """Return whether each ratio is known well enough."""
    return all(one.doubt <= PRECISION for one in ratios)


def _measured_again(started: Mapping[str, ContestantProcess], once: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of one repetition of each contestant, now that no other one builds its program."""
    for name in once:
        started[name].wait_until_asleep()
    return {name: started[name].measure(seconds) for name, seconds in once.items()}


def _rotated(names: list[str], turn: int) -> list[str]:
    place = turn % len(names)
    return names[place:] + names[:place]


def _with_ratios(found: Mapping[str, Times | str]) -> dict[str, Times | str]:
    """Add the ratios of what was measured once."""
    taken = {name: [one.median] for name, one in found.items() if isinstance(one, Times)}
    ratios = _ratios(taken)
    return {
        name: replace(one, ratio=ratios.get(name)) if isinstance(one, Times) else one for name, one in found.items()
    }


def _peak_of(process: ContestantProcess) -> Times | str:
    try:
        facts = process.answer()
    except ContestantError as error:
        return f"failed: {error}"
    return "-" if "missing" in facts else Times(facts["peak"], facts["peak"])


def _compare_first_results(workload: str, first: Mapping[str, float]) -> None:
    for name, number in first.items():
        expected = first.get(REFERENCE, number)
        assert isclose(number, expected, rel_tol=1e-3, abs_tol=1e-5), f"{workload}: {name} {number}, not {expected}"


def _turns(budget: float, *, short: bool) -> Iterator[int]:
    """Count turns until some seconds are over, after a least number of them."""
    end = time.perf_counter() + budget
    for turn in count():
        if turn >= LEAST_ROUNDS[short] and time.perf_counter() > end:
            return
        yield turn


def environment_of(*, tuned: bool, avx2: bool, threads: int) -> dict[str, str]:
    """Return the environment of every process, the same for all contestants."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    same = {name: value for name, value in os.environ.items() if not name.startswith(OWN_SETTINGS)}
    return same | dict.fromkeys(names, str(threads)) | (TUNED if tuned else {}) | (AVX2 if avx2 else {})


def machine(names: list[str], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what every number depends on."""
    own = os.environ if environment is None else environment
    packages = sorted({p for name in names for p in CONTESTANTS[name].packages} - {"tapegrad"} | {"numpy"})
    is_tuned = all(name in own for name in TUNED)
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} cores",
        "Python": platform.python_version(),
        "versions": ", ".join(f"{package} {version(package)}" for package in packages),
        "BLAS of NumPy": _blas(own),
        "allocator": "keeps its pages: " + ", ".join(f"{name}={own[name]}" for name in TUNED)
        if is_tuned
        else f"{'-'.join(platform.libc_ver())}, default settings",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unnamed")
    return f"{model}{', AVX-512' if any('avx512f' in line for line in lines) else ''}"


def _blas(environment: Mapping[str, str]) -> str:
    """Return the name of NumPy's BLAS, and the variables that hold OpenBLAS to one kind of processor."""
    config: Any = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]
    held = [f"{name}={value}" for name, value in sorted(environment.items()) if name.startswith("OPENBLAS_C")]
    return ", ".join([f"{blas['name']} {blas['version']}", *(held or ["no OPENBLAS_CORETYPE"])])


def results_of(part: Mapping[str, Any]) -> Results:
    """Return the times in what `measured` returned."""
    return {
        workload: {name: one if isinstance(one, str) else _times(one) for name, one in times.items()}
        for workload, times in part["results"].items()
    }


def _times(facts: Mapping[str, Any]) -> Times:
    ratio = facts["ratio"]
    return Times(facts["median"], facts["minimum"], None if ratio is None else Ratio(**ratio))


def ratio(times: Mapping[str, Times | str], name: str) -> Ratio | None:
    """Return a contestant's time in units of eager PyTorch's, where both ran."""
    own = times[name]
    return None if isinstance(own, str) else own.ratio


def ratio_of_minima(times: Mapping[str, Times | str], name: str) -> float | None:
    """Return a contestant's smallest time in units of eager PyTorch's smallest, where both ran."""
    own, reference = times[name], times.get(REFERENCE)
    return own.minimum / reference.minimum if isinstance(own, Times) and isinstance(reference, Times) else None


def measured(
    workloads: list[str], names: list[str], environment: Mapping[str, str], *, idiom: str, short: bool
) -> dict[str, Any]:
    """Time some workloads, print a line for each, and return the numbers with the machine that they hold for."""
    facts = machine(names, environment)
    print(*(f"- {name}: {fact}" for name, fact in facts.items()), "", sep="\n")
    print(f"| median ratio to {REFERENCE}, minimum ratio, median ms | {' | '.join(names)} |")
    print("| --- " * (len(names) + 1) + "|")
    results: Results = {}
    for workload in workloads:
        results[workload] = timed(workload, names, environment, idiom=idiom, short=short)
        print(f"| {workload} | {' | '.join(_cell(results[workload], name) for name in names)} |", flush=True)
    shown = {
        workload: {name: one if isinstance(one, str) else asdict(one) for name, one in times.items()}
        for workload, times in results.items()
    }
    settings = {"idiom": idiom, "threads": int(environment["OMP_NUM_THREADS"]), "short": short}
    return {"machine": facts, "settings": settings, "results": shown}


def _cell(times: Mapping[str, Times | str], name: str) -> str:
    one, relative, minima = times[name], ratio(times, name), ratio_of_minima(times, name)
    if isinstance(one, str):
        return one
    if relative is None or minima is None:
        return f"{one.median:.3g}"
    return f"{with_doubt(relative)} {minima:.2f} {one.median:.3g}"


def with_doubt(one: Ratio) -> str:
    """Return a ratio with how far it may be off, where that is more than `SHOWN_DOUBT`."""
    shown = f"{one.median:.2f}"
    return shown if one.doubt <= SHOWN_DOUBT else f"{shown} ± {max(one.doubt * one.median, 0.01):.2f}"


def fairness(environment: Mapping[str, str], *, short: bool) -> dict[str, dict[str, Ratio]]:
    """Measure how far two processes of one program differ, and a process by itself from the same among rivals.

    The turns of both kinds alternate, because the machine itself changes from minute to minute.
    """
    found: dict[str, dict[str, Ratio]] = {}
    names = [name for name in ("tapegrad", "torch") if CONTESTANTS[name].is_installed]
    twins = [f"{name} (twin)" for name in names]
    for workload in FAIR_WORKLOADS:
        among: dict[str, list[float]] = {name: [] for name in (*names, *twins)}
        alone: dict[str, list[float]] = {name: [] for name in names}
        with processes("usual", [*names, *twins], workload, environment) as started:
            once = _measured_again(started, {name: started[name].answer()["seconds"] for name in among})
            for turn in _turns(FAIRNESS_BUDGET[short], short=short):
                for name in _rotated([*among], turn):
                    among[name].append(started[name].measure(once[name]))
                for name in _rotated(names, turn):
                    started[name].measure(once[name])  # not counted: another one ran before it
                    alone[name].append(started[name].measure(once[name]))
        found[workload] = {}
        for name, twin in zip(names, twins, strict=True):
            found[workload][f"{name}: {TWINS}"] = ratio_of(among[name], among[twin])
            found[workload][f"{name}: {ALONE}"] = ratio_of(alone[name], among[name])
        print(
            workload, {key: f"{one.median:.3f} ± {one.doubt:.3f}" for key, one in found[workload].items()}, flush=True
        )
    return found


def is_fair(found: Mapping[str, Mapping[str, Ratio]]) -> bool:
    """Say whether all ratios of equal programs are 1 within the limits."""
    every = [(key.partition(": ")[2], one) for each in found.values() for key, one in each.items()]
    return all(abs(one.median - 1) <= LIMITS[kind] for kind, one in every)


def publish(threads: int) -> None:
    """Measure everything that the page of the docs shows, and write it into the tree."""
    names = [name for name, one in CONTESTANTS.items() if one.is_installed]
    lean = [name for name in names if name in IDIOMS["leanest"]]
    plain = environment_of(tuned=False, avx2=False, threads=threads)
    tuned = environment_of(tuned=True, avx2=False, threads=threads)
    found = fairness(tuned, short=False)
    if not is_fair(found):
        sys.exit("two processes of one program differ: nothing was published")
    everything = {
        "fairness": {workload: {key: asdict(one) for key, one in each.items()} for workload, each in found.items()},
        "default": measured(list(WORKLOADS), names, plain, idiom="usual", short=False),
        "tuned": measured([one for one in WORKLOADS if one != "memory"], names, tuned, idiom="usual", short=False),
        "leanest": measured(list(LEANEST_WORKLOADS), lean, tuned, idiom="leanest", short=False),
    }
    NUMBERS.write_text(json.dumps(everything, indent=2) + "\n", "utf-8")


def main() -> None:
    """Print the machine and the table, and write the requested files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("workloads", nargs="*", metavar="workload", help=f"some of {', '.join(WORKLOADS)}; else all")
    parser.add_argument("--short", action="store_true", help="fewer rounds")
    parser.add_argument("--idiom", choices=IDIOMS, default="usual", help="how the programs are written")
    parser.add_argument("--tuned", action="store_true", help="let the allocator keep its pages, for all contestants")
    parser.add_argument("--avx2", action="store_true", help="hold NumPy's BLAS to AVX2, for all contestants")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of each contestant")
    parser.add_argument("--only", help="contestants to run, separated by commas")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all times there")
    parser.add_argument("--fairness", action="store_true", help="measure how far equal programs differ, and stop")
    parser.add_argument("--publish", action="store_true", help="measure all that the docs show, and write it down")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])  # XLA takes its threads from here
    environment = environment_of(tuned=options.tuned, avx2=options.avx2, threads=options.threads)
    if options.publish:
        publish(options.threads)
        return
    if options.fairness:
        sys.exit(0 if is_fair(fairness(environment, short=options.short)) else "not fair: a difference is too large")
    table = IDIOMS[options.idiom]
    chosen = options.only.split(",") if options.only else list(table)
    names = [name for name in chosen if table[name].is_installed]
    every = list(WORKLOADS) if options.idiom == "usual" else list(LEANEST_WORKLOADS)
    found = measured(options.workloads or every, names, environment, idiom=options.idiom, short=options.short)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
