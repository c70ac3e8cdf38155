"""Time the import of a package with the import hook against a plain import: the best of several fresh interpreters."""

import subprocess
import sys
import tempfile
from pathlib import Path

MODULES = 100
FUNCTIONS = 20  # in each module; a quarter names tensors
ROUNDS = 7
TARGET = 3.0  # times the plain import of nothing but functions, once the bytecode is cached

HEAD = """\
from typing import Any, TypeVar
import tapegrad as tg
from tapegrad import Shape, Tape, Tensor
N = TypeVar("N", bound=int)
T = TypeVar("T", bound=Tape)
"""
TENSORS = '''
def tensors_{}(x: Tensor[Shape[N], T], y: Tensor[Shape[N], Any], scale: float = 1.0) -> Tensor[Shape[N], T]:
    """Sums."""
    if scale == 1.0:
        return x + y
    return (x + y) * scale
'''
OTHERS = '''
def others_{}(lines: list[str], start: int = 0, *, mark: str | None = None) -> dict[str, int]:
    """Counts."""
    found = {{}}
    for number, line in enumerate(lines, start):
        if mark is None or mark in line:
            found[line] = number
    return found
'''
PROGRAM = """\
import sys, time
import tapegrad as tg
tg.Tensor, tg.guarded
{install}
start = time.process_time()
import package
print(time.process_time() - start)
"""


def write(folder: Path) -> None:
    """Write the package."""
    functions = [(OTHERS if number % 4 else TENSORS).format(number) for number in range(FUNCTIONS)]
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("".join(f"import package.m{i}\n" for i in range(MODULES)), "utf-8")
    for number in range(MODULES):
        (folder / "package" / f"m{number}.py").write_text(HEAD + "".join(functions), "utf-8")


def seconds(folder: Path, install: str, *options: str) -> float:
    """Return how long the import takes in a fresh interpreter."""
    command = [sys.executable, *options, "-c", PROGRAM.format(install=install)]
    run = subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, check=True)
    return float(run.stdout)


def main() -> int:
    """Print the table, and return 1 if a cached import under the hook takes longer than the target."""
    hook = "tg.install_import_hook('package')"
    uncached = "-B"  # writes no bytecode; it reads what is there, so these go first
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        first_plain, first_guarded = (
            min(seconds(folder, install, uncached) for _ in range(ROUNDS)) for install in ("", hook)
        )
        plain, guarded = (min(seconds(folder, install) for _ in range(ROUNDS + 1)) for install in ("", hook))
    print(f"{MODULES} modules of {FUNCTIONS} functions{'plain':>12}{'guarded':>12}{'ratio':>8}")
    for label, before, after in (("first", first_plain, first_guarded), ("cached", plain, guarded)):
        print(f"{label:31}{before * 1e3:9.0f} ms{after * 1e3:9.0f} ms{after / before:8.1f}")
    return int(guarded / plain > TARGET)


if __name__ == "__main__":
    sys.exit(main())
