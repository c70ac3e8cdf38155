"""Time what types and tape add to NumPy's own calls, and what importing tapegrad adds to importing NumPy.

All measurements of a round are taken in turn, so that a noisy machine slows them alike. Targets: one op on a tapeless
tensor of eight elements 1.2 µs over NumPy's call; recorded and with its backward pass 2.5 µs over the same written in
NumPy; the import 15 ms.

    python benchmarks/overhead.py [--short]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from timeit import Timer

import numpy as np

import tapegrad as tg

LENGTH = 100  # ops on one tape, so that its making and its running are shared as in a model
a, b = np.linspace(0.5, 1.5, 8, dtype=np.float32), np.linspace(0.9, 1.1, 8, dtype=np.float32)
x, y = tg.tensor(a), tg.tensor(b)


def products() -> None:
    """Record `LENGTH` products on one tape and run them back, with the gradients of both operands."""
    h, w = x.trace(), y.trace()
    for _ in range(LENGTH):
        h = h * w
    h.backward(seed=x)


def bare_products() -> None:
    """Do what `products` does, in NumPy alone."""
    h, seen = a, []
    for _ in range(LENGTH):
        seen.append(h)
        h = h * b
    dh, db = a, np.zeros_like(b)
    for h in reversed(seen):
        dh, db = dh * b, db + dh * h


def tanhs() -> None:
    """Record `LENGTH` times tanh on one tape and run them back."""
    h = x.trace()
    for _ in range(LENGTH):
        h = tg.tanh(h)
    h.backward(seed=x)


def bare_tanhs() -> None:
    """Do what `tanhs` does, in NumPy alone."""
    h, seen = a, []
    for _ in range(LENGTH):
        h = np.tanh(h)
        seen.append(h)
    dh = a
    for h in reversed(seen):
        dh = dh * (1 - h * h)


def interleaved(rounds: int, calls: dict[str, tuple[str | Callable[[], object], int]]) -> dict[str, float]:
    """Return each call's median, in µs."""
    timers = {name: (Timer(call, globals=globals()), number) for name, (call, number) in calls.items()}
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, (timer, number) in timers.items():
            taken[name].append(timer.timeit(number) / number * 1e6)
    return {name: median(times) for name, times in taken.items()}


def imports(rounds: int) -> tuple[float, float]:
    """Return what `import tapegrad` adds to a process that imports NumPy, and what its first tensor adds, in ms."""
    programs = ("import numpy", "import numpy, tapegrad", "import numpy, tapegrad; tapegrad.ones((3,))")
    taken: tuple[list[float], ...] = ([], [], [])
    with tempfile.TemporaryDirectory() as compiled:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
        for number in range(rounds + 1):
            for times, program in zip(taken, programs, strict=True):
                start = time.perf_counter()
                subprocess.run([sys.executable, "-c", program], check=True, env=env)
                if number:  # the first compiles
                    times.append((time.perf_counter() - start) * 1e3)
    bare, imported, used = map(median, taken)
    return imported - bare, used - bare


def main() -> None:
    """Print the table; exits with 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="fewer rounds")
    short: bool = parser.parse_args().short
    t = interleaved(
        9 if short else 41,
        {
            "numpy mul": ("a * b", 5000),
            "mul": ("x * y", 5000),
            "numpy tanh": ("np.tanh(a)", 5000),
            "tanh": ("tg.tanh(x)", 5000),
            "numpy mul recorded": (bare_products, 50),
            "mul recorded": (products, 50),
            "numpy tanh recorded": (bare_tanhs, 50),
            "tanh recorded": (tanhs, 50),
        },
    )
    rows = [
        ("x * y", t["mul"] - t["numpy mul"], 1.2, "µs"),
        ("tanh(x)", t["tanh"] - t["numpy tanh"], 1.2, "µs"),
        ("x * y recorded and run back", (t["mul recorded"] - t["numpy mul recorded"]) / LENGTH, 2.5, "µs"),
        ("tanh(x) recorded and run back", (t["tanh recorded"] - t["numpy tanh recorded"]) / LENGTH, 2.5, "µs"),
    ]
    imported, used = imports(5 if short else 15)
    rows.append(("import tapegrad", imported, 15.0, "ms"))

    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}; over NumPy's own calls")
    for name, over, target, unit in rows:
        print(f"{name:32} {over:7.2f} {unit}   target {target:5.1f} {unit}   {'met' if over <= target else 'MISSED'}")
    print(f"{'import tapegrad and a tensor':32} {used:7.2f} ms   no target: this loads every op")
    sys.exit(any(over > target for _, over, target, _ in rows))


if __name__ == "__main__":
    main()
