"""Runs mypy over one program, in a folder of its own, and says what the installed mypy can do."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest
from mypy.plugin import Plugin

from tests.warm_mypy_cache import write_settings

if TYPE_CHECKING:
    from pathlib import Path

needs_bodies_of_other_files: Final = pytest.mark.skipif(
    not hasattr(Plugin, "get_additional_indirect_deps"), reason="before mypy 2.4 no body in another file is read"
)


def reports(folder: Path, program: str) -> list[str]:
    """Return what mypy says of a program, by line."""
    write_settings(folder)
    (folder / "program.py").write_text(program, "utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return run.stdout.splitlines()
