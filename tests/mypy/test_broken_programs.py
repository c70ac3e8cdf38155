"""The script that measures which mistakes mypy reports before a program runs, on a program that mypy knows whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
import tapegrad as tg


def main() -> None:
    x, y = tg.ones((3, 4)), tg.ones((4, 5))
    assert tg.relu(x @ y).shape == (3, 5)


main()
"""


def measured(program: str, folder: Path) -> str:
    path = folder / "whole.py"
    path.write_text(program)
    # A process of its own: the script forks, of which JAX warns where another test has used it.
    command = [sys.executable, "-m", "tests.mypy.broken_programs", str(path), "--broken", "4"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()[-1]


def test_all_mistakes_in_a_known_program_are_reported_where_it_raises(tmp_path: Path) -> None:
    assert measured(PROGRAM, tmp_path).startswith(
        "all: 4 of 4 broken variants are reported, 4 at the line that raises, 4 there or where it was changed; 0 of "
    )


def test_mistakes_in_an_unknown_program_are_counted_as_missed(tmp_path: Path) -> None:
    hidden = PROGRAM.replace("tg.ones", "getattr(tg, 'ones')")

    assert measured(hidden, tmp_path).startswith("all: 0 of 4 broken variants are reported")
