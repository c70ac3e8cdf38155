"""Run the programs of other systems in docs/guide/comparison.md, and compare their output with the page.

    python -m benchmarks.comparison [--write]

A block of `py` is run by the system in its title, and the block of `output` below it must be its output. The systems
are PyTorch, jaxtyping with beartype, and pyrefly with its stubs for PyTorch; `make compare` installs them. `--write`
puts the current output into the page.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from importlib.metadata import version
from itertools import dropwhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE: Final = Path(__file__).parent.parent / "docs" / "guide" / "comparison.md"
CLAIM: Final = re.compile(
    r'^```py title="(?P<who>.*?)"\n(?P<program>.*?)^```\n\n```output title="(?P=who)"\n(?P<said>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
COMPARED: Final = ("torch", "jaxtyping", "beartype", "pyrefly", "pyrefly-torch-stubs")


def run(program: str) -> str:
    """Return what a program prints, or the exception it ends with."""
    with TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(program, "utf-8")
        ran = subprocess.run([sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, check=False)
    last = ran.stderr.rpartition("Traceback (most recent call last):\n")[2].splitlines(keepends=True)
    return ran.stdout + "".join(dropwhile(lambda line: line.startswith(" "), last))


def pyrefly(program: str) -> str:
    """Return what pyrefly says of a program, as it comes."""
    with TemporaryDirectory() as folder:
        Path(folder, "program.py").write_text(program, "utf-8")
        Path(folder, "pyrefly.toml").write_text("", "utf-8")
        binary = Path(sys.executable).parent / "pyrefly"
        options = ("--python-interpreter-path", sys.executable, "--output-format", "min-text", "--summary", "none")
        command = [str(binary), "check", *options, "program.py"]
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    return said.replace(f"{folder}/", "")


SYSTEMS: Final[dict[str, Callable[[str], str]]] = {"PyTorch": run, "jaxtyping": run, "pyrefly": pyrefly}


def spoken(claim: re.Match[str]) -> str:
    """Return the blocks of a claim with what is said now."""
    said = SYSTEMS[claim["who"]](claim["program"]).strip()
    lines = "".join(f"{line.strip()}\n" for line in (said or "(nothing)").splitlines())
    who = claim["who"]
    return f'```py title="{who}"\n{claim["program"]}```\n\n```output title="{who}"\n{lines}```'


def main() -> None:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description="Compares the page of comparisons with what is said now.")
    parser.add_argument("--write", action="store_true", help="put what is said now into the page")
    writes = parser.parse_args().write
    print(", ".join(f"{name} {version(name)}" for name in COMPARED))
    page = PAGE.read_text("utf-8")
    now = CLAIM.sub(spoken, page)
    if writes:
        PAGE.write_text(now, "utf-8")
        return
    for then, claim in zip(CLAIM.finditer(page), CLAIM.finditer(now), strict=True):
        alike = then["said"] == claim["said"]
        print("as written" if alike else "OTHERWISE", claim["who"], claim["said"].partition("\n")[0], sep="  ")
    sys.exit(now != page)


if __name__ == "__main__":
    main()
