"""Times mypy with the plugin against mypy with hooks that return the default, on a generated program of 5,000 lines.

Cold, warm, and after one edit; both in turn, the ratio of medians counts. Target: 1.20.

    python benchmarks/check_time.py [--short]
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
TARGET = 1.2
FILES, FUNCTIONS = 10, 50

HEAD = '''"""Generated."""

from typing import Literal as L
from typing import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

N = TypeVar("N", bound=int)
'''
FUNCTION = """
def step_{i}(x: Tensor[Shape[N, L[{a}]], NoneTape], y: Tensor[Shape[L[{a}], L[{b}]], NoneTape]) -> None:
    h = tg.tanh(x @ y)
    g = (h * 2.0 + h).sum(axis=1)
    scores = nn.Linear({b}, 10)(h)
    names = [str(n) for n in range({a})]
    total = sum(len(name) for name in names) + {i}
    print(f"{{total}} of {{names}}", g.shape, scores.shape)
    step_{i}(tg.ones(({c}, {a})), tg.ones(({a}, {b})))
"""


def program(seed: int) -> str:
    """Returns a file of functions that compute with tensors, and with what else a program has."""
    sizes = [(3 + (seed + i) % 7, 2 + i % 5, 4 + i % 3) for i in range(FUNCTIONS)]
    return HEAD + "\n".join(FUNCTION.format(i=i, a=a, b=b, c=c) for i, (a, b, c) in enumerate(sizes))


def checked(folder: Path, plugin: str) -> float:
    """Returns how long mypy takes, in seconds."""
    start = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", f"{plugin}.ini", "--cache-dir", f".cache-{plugin}", "program"],
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
    taken = time.perf_counter() - start
    if run.returncode != 0 and plugin == "ours":
        sys.exit(run.stdout + run.stderr)
    return taken


def main() -> None:
    """Prints the table; exits with 1 where the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--short", action="store_true", help="fewer rounds")
    rounds = 3 if parser.parse_args().short else 7
    taken: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program").mkdir()
        (folder / "program" / "__init__.py").touch()
        for number in range(FILES):
            (folder / "program" / f"part_{number}.py").write_text(program(number))
        for plugin, module in (("ours", "tapegrad.mypy"), ("null", "null_plugin")):
            (folder / f"{plugin}.ini").write_text(f"[mypy]\nplugins = {module}\nallow_redefinition = true\n")
        lines = sum(len(file.read_text().splitlines()) for file in (folder / "program").iterdir())
        checked(folder, "ours")
        for number in range(rounds):
            for plugin in ("ours", "null"):
                shutil.rmtree(folder / f".cache-{plugin}", ignore_errors=True)
            for state in ("cold", "warm", "edited"):
                if state == "edited":
                    with (folder / "program" / "part_0.py").open("a") as file:
                        file.write(f"\nrun_{number} = {number}\n")
                for plugin in ("ours", "null"):
                    taken.setdefault((state, plugin), []).append(checked(folder, plugin))

    print(f"{lines} lines; mypy with the plugin against mypy with hooks that return the default")
    missed = False
    for state in ("cold", "warm", "edited"):
        ours, null = (median(taken[state, plugin]) for plugin in ("ours", "null"))
        missed = missed or ours / null > TARGET
        print(f"{state:8} {ours:6.2f} s against {null:6.2f} s   ratio {ours / null:.2f}   target {TARGET:.2f}")
    sys.exit(missed)


if __name__ == "__main__":
    main()
