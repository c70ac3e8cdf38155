"""Runs mypy over one program, in a folder of its own, and says what the installed mypy can do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest
from mypy.plugin import Plugin

from tests.warm_mypy_cache import write_settings

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

IS_BEFORE_2_4: Final = not hasattr(Plugin, "get_additional_indirect_deps")
needs_bodies_of_other_files: Final = pytest.mark.skipif(
    IS_BEFORE_2_4, reason="before mypy 2.4 no body in another file is read"
)

# A daemon without a request for ten minutes ends: a test that was killed did not end its own.
RUN_DAEMON: Final = ("run", "--timeout", "600", "--")
_LATE: Final = "Failed to establish connection with worker"
_MOST_TRIES: Final = 5


def python(folder: Path, *arguments: str, environment: dict[str, str] | None = None) -> CompletedProcess[str]:
    """Run Python in a folder; again if mypy gave up its workers, which it waits 3 s for, as on a loaded machine."""
    for _ in range(_MOST_TRIES):
        run = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        if _LATE not in run.stdout + run.stderr:
            break
    return run


def reports(folder: Path, program: str) -> list[str]:
    """Return what mypy says of a program, by line."""
    write_settings(folder)
    (folder / "program.py").write_text(program, "utf-8")
    run = python(folder, "-m", "mypy", "program.py")
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return run.stdout.splitlines()


def first_errors(folder: Path, program: str, *options: str) -> dict[int, str]:
    """Return the first error that mypy reports on each line of a program."""
    (folder / "program.py").write_text(program)
    write_settings(folder)
    run = python(folder, "-m", "mypy", "--no-color-output", "--no-pretty", *options, "program.py")
    found = [re.fullmatch(r"program\.py:(\d+): error: (.*)", line) for line in run.stdout.splitlines()]
    return {int(match[1]): match[2] for match in reversed(found) if match is not None}
