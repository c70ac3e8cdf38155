"""`check_programs` and the pytest plugin, in a package of a user outside of the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tapegrad.testing import check_programs
from tests.warm_mypy_cache import copy_warm_cache

SETTINGS = "[mypy]\nplugins = tapegrad.mypy\nallow_redefinition = true\n"
ADD = "add: x (3,) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"
HEAD = "import tapegrad as tg\n\n"
PYPROJECT = """
[tool.mypy]
plugins = ["tapegrad.mypy"]
allow_redefinition = true
"""
MODULE = """
from typing import Literal as L

from tapegrad import NoneTape, Shape, Tensor


def halved(x: Tensor[Shape[L[4]], NoneTape]) -> Tensor[Shape[L[4]], NoneTape]:
    return x / 2
"""
TESTS = """
from typing import Any

import numpy as np
import pytest
import tapegrad as tg
from tapegrad.testing import check_programs

from mine import halved


def test_programs() -> None:
    assert check_programs("programs") == 5


def test_the_package_is_guarded() -> None:
    anything: Any = tg.tensor(np.ones(5, np.float32))
    with pytest.raises(tg.ShapeError, match="halved: x is \\\\(5,\\\\) but \\\\(4,\\\\) is expected"):
        halved(anything)
"""
PROGRAM = f"""
import tapegrad as tg
from mine import halved


def accept_a_vector() -> None:
    assert halved(tg.ones(4)).shape == (4,)


def reject_two_sizes() -> None:
    tg.ones(3) + tg.ones(4)  # E: {ADD} [tapegrad-shape]


def reject_another_size() -> None:
    halved(tg.ones(5))  # E: halved: x is (5,) but (4,) is expected: axis 0 is 5, not 4
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let mypy read what it knows of tapegrad from a cache, of which each test has a copy.

    In a shared cache mypy would find an unchanged program, and report its errors in the folder of an earlier run.
    """
    copy_warm_cache(tmp_path, name="cache", settings=SETTINGS)
    monkeypatch.setenv("MYPY_CACHE_DIR", str(tmp_path / "cache"))


def written(folder: Path, program: str) -> Path:
    (folder / "program.py").write_text(HEAD + dedent(program), "utf-8")
    (folder / "mypy.ini").write_text(SETTINGS, "utf-8")
    return folder


def test_a_package_of_a_user(tmp_path: Path) -> None:
    for name, text in {
        "pyproject.toml": PYPROJECT,
        "mine.py": MODULE,
        "test_mine.py": TESTS,
        "programs/vectors.py": PROGRAM,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    plugin = ["-p", "tapegrad.project.pytest_plugin"] if not is_installed() else []

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, "--tapegrad-packages=mine", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert "2 passed" in run.stdout


def is_installed() -> bool:
    """Return whether the installed tapegrad has the entry point; an environment may be older than this tree."""
    from importlib.metadata import entry_points

    return any(one.value == "tapegrad.project.pytest_plugin" for one in entry_points(group="pytest11"))


def test_all_differences_are_listed_by_line(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        f"""
        def accept_other_sizes() -> None:
            tg.ones(3) + tg.ones(4)

        def reject_nothing() -> None:
            tg.ones(3)  # E: {ADD}

        def reject_other_words() -> None:
            tg.ones(3) + tg.ones(4)  # E: other words [tapegrad-dtype]

        def reject_without_a_comment() -> None:
            tg.ones(3)

        def reject_in_mypy_alone() -> None:
            number: int = "a"  # E(mypy): Incompatible types in assignment
        """,
    )
    file = (folder / "program.py").resolve()
    text = 'Incompatible types in assignment (expression has type "str", variable has type "int")'

    with pytest.raises(AssertionError) as caught:
        check_programs(folder, config=folder / "mypy.ini")

    assert str(caught.value).splitlines() == [
        "check_programs: 8 differences",
        f"{file}:5: mypy reports {ADD!r}",
        f"{file}:8: mypy reports nothing but {ADD!r} is expected",
        f"{file}:11: mypy reports {ADD!r} [tapegrad-shape] but 'other words' [tapegrad-dtype] is expected",
        f"{file}:17: mypy reports {text!r} [assignment] but {text.partition(' (')[0]!r} is expected",
        f"{file}:5: Python raises {ADD!r}",
        f"{file}:7: reject_nothing raises nothing but {ADD!r} is expected",
        f"{file}:11: Python raises {ADD!r} but 'other words' is expected",
        f"{file}:13: reject_without_a_comment has no line with an expected error",
    ]


def test_a_folder_without_programs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^check_programs: .* has no Python file$"):
        check_programs(tmp_path)


def test_mypy_that_does_not_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"^check_programs: mypy does not run: "):
        check_programs(written(tmp_path, ""), config=tmp_path / "missing.ini")
