"""Time mypy with the plugin against mypy with a plugin whose hooks do nothing, on two generated programs.

The typical program has 13,000 lines with 20,000 tensor operations; the dense one has 16,500 in 5,000 lines, with a
tensor in every line. Each is checked cold, warm and after one edit, and by a daemon after one edit; both plugins in
turn. The result is the median of the ratios of CPU time, which other processes on the machine hardly affect; wall time
is printed beside it. A daemon computes in another process, so its result is the wall time of an answer.

Targets: 1.20, and the daemon answers within 0.3 s, or 1.20 where mypy alone takes longer than that.

    python benchmarks/check_time.py [--short] [--program usual] [--state edited]
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
TARGET = 1.2
DAEMON_TARGET = 0.3
PLUGINS = {"ours": "tapegrad.mypy", "null": "null_plugin"}
STATES = ("cold", "warm", "edited", "daemon")
FUNCTIONS = 50

HEAD = '''"""Generated."""

from typing import Literal as L
from typing import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

N = TypeVar("N", bound=int)
'''
USUAL = """
def step_{i}(x: Tensor[Shape[N, L[{a}]], NoneTape], y: Tensor[Shape[L[{a}], L[{b}]], NoneTape]) -> None:
    h = tg.tanh(x @ y + 0.5) * 2.0
    g = (h / (h.sum(axis=1, keepdims=True) + 1.0)).mean(axis=0)
    scores = tg.softmax(nn.Linear({b}, 10)(h) * 0.5)
    names = [str(n) for n in range({a})]
    total = sum(len(name) for name in names) + {i}
    print(f"{{total}} of {{names}}", g.shape, scores[0].shape)
    step_{i}(tg.ones(({c}, {a})), tg.ones(({a}, {b})))
"""
DENSE = """
def step_{i}(x: Tensor[Shape[N, L[{a}]], NoneTape], y: Tensor[Shape[L[{a}], L[{b}]], NoneTape]) -> None:
    h = tg.tanh(x @ y) * 2.0 + 1.0
    h = h - h.mean(axis=1, keepdims=True)
    g = (h / tg.sqrt((h * h).sum(axis=1, keepdims=True) + 0.5)).T
    scores = tg.softmax(tg.relu(nn.Linear({b}, 10)(h)) + h.sum())
    both = tg.concat((h, h * 0.5), axis=1)[:, 1:].reshape((-1, 1))
    print(tg.exp(g @ h).max(axis=0) - g[:, 0].mean(), scores.T @ h, both.shape)
    step_{i}(tg.ones(({c}, {a})), tg.ones(({a}, {b})))
"""


@dataclass(frozen=True)
class Program:
    """A program to generate: so many files of functions."""

    name: str
    files: int
    function: str
    operations: int  # calls, operators, indices and attributes of a tensor or a layer in one function

    def write(self, folder: Path) -> int:
        """Write the files and return the number of lines."""
        (folder / "program").mkdir()
        (folder / "program" / "__init__.py").touch()
        for number in range(self.files):
            (folder / "program" / f"part_{number}.py").write_text(self._file(number))
        return sum(len(file.read_text().splitlines()) for file in (folder / "program").iterdir())

    def _file(self, seed: int) -> str:
        sizes = [(3 + (seed + i) % 7, 2 + i % 5, 4 + i % 3) for i in range(FUNCTIONS)]
        return HEAD + "\n".join(self.function.format(i=i, a=a, b=b, c=c) for i, (a, b, c) in enumerate(sizes))


PROGRAMS = (Program("usual", 26, USUAL, 16), Program("dense", 10, DENSE, 33))


class Taken(NamedTuple):
    """What a command took, in seconds; of a daemon only its client is counted as CPU."""

    cpu: float
    wall: float


def run(folder: Path, plugin: str, *command: str) -> Taken:
    """Return what a command takes; what it says against a program that is right stops everything."""
    start, before = time.perf_counter(), children()
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'benchmarks'}",
            "MYPYPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "",  # an installed package is compiled once
            "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    taken = Taken(children() - before, time.perf_counter() - start)
    if done.returncode != 0 and plugin == "ours":
        sys.exit(done.stdout + done.stderr)
    return taken


def children() -> float:
    """Return the CPU time of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def settings(plugin: str) -> list[str]:
    """Return the options that a run with one of the plugins has."""
    return ["--config-file", f"{plugin}.ini", "--cache-dir", f".cache-{plugin}", "program"]


def checked(folder: Path, plugin: str) -> Taken:
    """Return what mypy takes."""
    return run(folder, plugin, "mypy", *settings(plugin))


def answered(folder: Path, plugin: str) -> Taken:
    """Return what the daemon takes, which the first time is started."""
    return run(folder, plugin, "mypy.dmypy", "--status-file", f"{plugin}.json", "run", "--", *settings(plugin))


def edit(folder: Path, number: int) -> None:
    """Add a line to one file of the program."""
    with (folder / "program" / "part_0.py").open("a") as file:
        file.write(f"\nrun_{number} = {number}\n")


def measured(folder: Path, rounds: int, states: Sequence[str]) -> dict[tuple[str, str], list[Taken]]:
    """Return the times by state and plugin."""
    taken: dict[tuple[str, str], list[Taken]] = {(state, plugin): [] for state in states for plugin in PLUGINS}
    for plugin, module in PLUGINS.items():
        (folder / f"{plugin}.ini").write_text(f"[mypy]\nplugins = {module}\nallow_redefinition = true\n")
        checked(folder, plugin)  # compiles
        if "daemon" in states:
            answered(folder, plugin)
    try:
        for number in range(rounds):
            for state in states:
                if state == "cold":
                    for plugin in PLUGINS:
                        shutil.rmtree(folder / f".cache-{plugin}", ignore_errors=True)
                if state == "edited" or (state == "daemon" and "edited" not in states):
                    edit(folder, number)
                for plugin in PLUGINS:
                    taken[state, plugin].append((answered if state == "daemon" else checked)(folder, plugin))
    finally:
        for plugin in PLUGINS if "daemon" in states else ():
            run(folder, plugin, "mypy.dmypy", "--status-file", f"{plugin}.json", "stop")
    return taken


def report(taken: dict[tuple[str, str], list[Taken]]) -> bool:
    """Print a line for each state; says whether a target is missed."""
    missed = False
    for state in sorted({state for state, _ in taken}, key=STATES.index):
        both = [taken[state, plugin] for plugin in PLUGINS]
        wall, wall_ratio = compared(*([one.wall for one in times] for times in both))
        cpu, ratio = compared(*([one.cpu for one in times] for times in both))
        counted, target = f"{cpu:5.2f} s, ratio {ratio:.2f}", f"{TARGET:.2f} of CPU"
        if state == "daemon":
            counted, target = "", f"{DAEMON_TARGET:.2f} s, or {TARGET:.2f}"
            missed = missed or (wall > DAEMON_TARGET and wall_ratio > TARGET)
        else:
            missed = missed or ratio > TARGET
        print(f"  {state:8} {counted:22} {wall:5.2f} s, ratio {wall_ratio:.2f}   target {target}")
    return missed


def compared(ours: list[float], null: list[float]) -> tuple[float, float]:
    """Return the median of our times, and that of their ratios to those beside them."""
    return median(ours), median(one / other for one, other in zip(ours, null, strict=True))


def main() -> None:
    """Print the tables; exits with 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="fewer rounds")
    parser.add_argument("--program", choices=[program.name for program in PROGRAMS], help="only this program")
    parser.add_argument("--state", choices=STATES, help="only this state")
    options = parser.parse_args()
    rounds, states = 3 if options.short else 7, [options.state] if options.state else STATES
    print("mypy with the plugin against mypy with hooks that return the default")
    missed = False
    for program in PROGRAMS:
        if options.program not in (None, program.name):
            continue
        with tempfile.TemporaryDirectory() as name:
            lines = program.write(Path(name))
            operations = program.files * FUNCTIONS * program.operations
            print(f"{program.name}: {lines:,} lines, {operations:,} tensor operations\n{'':11}{'CPU':22}it took")
            missed = report(measured(Path(name), rounds, states)) or missed
    sys.exit(missed)


if __name__ == "__main__":
    main()
