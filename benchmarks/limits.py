"""Measure two limits of docs/guide/speed.md: from which size a second thread pays, and what Numba itself holds.

python -m benchmarks.limits
"""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from subprocess import check_output
from typing import Any, Final

import numpy as np

import tapegrad as tg
from tapegrad.engines.numpy.threads import run_in_threads

SIZES: Final = tuple(1 << power for power in range(15, 23))
ROUNDS: Final = 300
_KERNELS: Final = """
from benchmarks.limits import resident
import numpy, tapegrad as tg
tg.use_fast(is_on=True)
x, w = tg.ones((256, 256)), tg.ones((256,))
before = resident()
import numba
imported = resident()
tg.layer_norm(x, w, w)
print(imported - before, resident() - imported)
"""


def resident() -> float:
    """Return how many MiB of memory the process holds."""
    (line,) = [one for one in Path("/proc/self/status").read_text("ascii").splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def least(*calls: Callable[[], object]) -> list[float]:
    """Return the least µs that each of some calls takes, which are made in turn."""
    found = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for number, call in enumerate(calls):
            start = time.perf_counter()
            call()
            found[number] = min(found[number], (time.perf_counter() - start) * 1e6)
    return found


def by_threads(function: Any, size: int) -> list[float]:
    """Return the µs of a function of so many float32 numbers, with one thread and with two."""
    x, out = np.full(size, 0.5, np.float32), np.empty(size, np.float32)

    def work(first: int, last: int) -> None:
        function(x[first:last], out=out[first:last])

    return least(*(partial(run_in_threads, work, size, is_worth_it=is_worth_it) for is_worth_it in (False, True)))


def memory_of_numba() -> list[float]:
    """Return the MiB that importing Numba takes, and those of its first kernel, once it is stored on disk."""
    for _ in range(2):  # the first may compile it
        text = check_output([sys.executable, "-c", _KERNELS], text=True)
    return [*map(float, text.split())]


def main() -> None:
    """Print both tables."""
    tg.set_threads(2)
    empty = least(lambda: run_in_threads(lambda _, __: None, 8, is_worth_it=True))[0]
    print(f"{len(os.sched_getaffinity(0))} cores, NumPy {np.__version__}")
    print(f"a second thread that does nothing: {empty:.0f} µs")
    print("float32 numbers | negative, 1 thread, µs | 2 | exp, 1 thread, µs | 2")
    for size in SIZES:
        numbers = [*by_threads(np.negative, size), *by_threads(np.exp, size)]
        print(size, *(f"{number:.0f}" for number in numbers), sep=" | ")
    imported, first = memory_of_numba()
    print(f"Numba holds {imported:.0f} MiB once it is imported, and {first:.0f} MiB more after the first kernel")


if __name__ == "__main__":
    main()
