"""Ops on nodes of the pure tape with mypy's cache, which does not store the owner of a signature."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.warm_mypy_cache import write_settings

PROGRAM = """import tapegrad as tg
from tapegrad import tapem

x, tape = tapem.leaf(tg.ones((2, 3))).run(tapem.Tape.empty()).unwrap()
reveal_type(tapem.transpose(x))
mine = tapem.lift(tg.flatten)
reveal_type(mine(x))
"""

FLOAT32 = "numpy.floating[numpy._typing._nbit_base._32Bit]"
OUTPUT = [
    f'program.py:{line}: note: Revealed type is "tapegrad.tapem.program.TapeM'
    f'[tapegrad.tapem.tape.Node[tuple[{sizes}], {FLOAT32}]]"'
    for line, sizes in ((5, "Literal[3], Literal[2]"), (7, "Literal[6]"))
]


def test_a_wrapper_read_from_the_cache_has_the_rule_of_its_op(tmp_path: Path) -> None:
    write_settings(tmp_path)

    for change in ("", "# another version of the program, but not of the library\n"):
        (tmp_path / "program.py").write_text(PROGRAM + change, "utf-8")
        run = subprocess.run(
            [sys.executable, "-m", "mypy", "program.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.stdout.splitlines()[:-1] == OUTPUT, run.stdout + run.stderr
