"""Run one workload of one contestant in a separate process, for `benchmarks.workloads`.

    python -m benchmarks.contestant_process IDIOM CONTESTANT WORKLOAD

Each line of standard input is a number of repetitions; the answer to it is a line of JSON with the seconds that one
repetition took. Between two lines the process sleeps. The first line that it writes describes the program: its first
result, and the libraries that are loaded.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.contestants import IDIOMS, Program

LIBRARIES = ("autograd", "jax", "numba", "numpy", "tapegrad", "torch")
MEMORY_STEPS = 3


def seconds_of(program: Program, repeats: int) -> float:
    """Return how long one of some repetitions takes."""
    start = time.perf_counter()
    for _ in range(repeats):
        program()
    return (time.perf_counter() - start) / repeats


def memory_of_process(name: str) -> float:
    """Return what Linux says of this process's memory now (VmRSS) or at its peak (VmHWM), in MiB."""
    (line,) = [line for line in Path("/proc/self/status").read_text("ascii").splitlines() if line.startswith(name)]
    return int(line.split()[1]) / 1024


def peak(make: Callable[[], Program]) -> float:
    """Return by how many MiB some steps raise the peak above the memory that the imports need."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # resets the peak, which an import may have set
    before = memory_of_process("VmRSS")
    program = make()
    for _ in range(MEMORY_STEPS):
        program()
    return memory_of_process("VmHWM") - before


def described(program: Program) -> dict[str, Any]:
    """Return what the parent process has to know before it asks for times."""
    first = program()
    program()  # compilers compile again where a state changes its place or its kind after the first step
    return {
        "first": first,
        "seconds": min(seconds_of(program, 1) for _ in range(3)),
        "libraries": [name for name in LIBRARIES if name in sys.modules],
    }


def main() -> None:
    """Answer until standard input ends."""
    idiom, name, workload = sys.argv[1:]
    # What a library prints goes to standard error, so that every line of the answers is ours.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)

    def answer(facts: dict[str, Any]) -> None:
        answers.write(f"{json.dumps(facts)}\n")

    make = IDIOMS[idiom][name].program(workload)
    if make is None:
        answer({"missing": True})
        return
    if workload == "memory":
        answer({"peak": peak(make)})
        return
    program = make()
    answer(described(program))
    for line in sys.stdin:
        answer({"seconds": seconds_of(program, int(line))})


if __name__ == "__main__":
    main()
