"""The checker of cells reports only the program that it got."""

from __future__ import annotations

import ast
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tapegrad.checker.process import CheckerError
from tapegrad.notebook.checker import SETTINGS, Checker
from tapegrad.notebook.program import Program
from tapegrad.project.reports import Report
from tests.warm_mypy_cache import copy_warm_cache

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checker]:
    folder = tmp_path_factory.mktemp("checker")
    copy_warm_cache(folder, name=".mypy_cache/notebook", settings=SETTINGS.read_text("utf-8"))
    with Checker(folder) as checker:
        yield checker


def checked_names(checker: Checker, program: str) -> list[Report]:
    return checker.check(Program().with_cell(program, ast.parse(program)))


def test_programs_of_equal_length_are_distinguished_without_delay(checker: Checker) -> None:
    program = """\
from typing import Literal as L

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor


def f(x: Tensor[Shape[L[{n}], L[2]], NoneTape]) -> Tensor[Shape[L[{n}]], NoneTape]:
    return x.sum(axis=1)


class C:
    def m(self, x: Tensor[Shape[L[{n}], L[2]], NoneTape]) -> Tensor[Shape[L[{n}]], NoneTape]:
        return f(x)


reveal_type(f(tg.ones(({m}, 2))))
reveal_type(C().m(tg.ones(({m}, 2))))
"""

    for n, m in [(3, 3), (4, 4), (4, 3), (3, 3), (3, 4), (5, 5), (5, 3), (3, 3)] * 2:
        reports = checked_names(checker, program.format(n=n, m=m))

        wrong = [report.text for report in reports if report.kind == "error"]
        shown = [report.text for report in reports if report.kind == "note"]
        assert all(f"[tuple[Literal[{n}]]" in text for text in shown)
        assert len(shown) == 2
        words = f"x is ({m}, 2) but ({n}, 2) is expected: axis 0 is {m}, not {n}"
        assert wrong == ([] if n == m else [f"f: {words}", f"C.m: {words}"])


def test_a_child_process_that_dies_is_replaced(checker: Checker) -> None:
    checked_names(checker, "x = 1\n")
    child = checker._process._child
    assert child is not None
    child.kill()
    child.wait()

    assert [report.text for report in checked_names(checker, "y: str = 1\n")] == [
        'Incompatible types in assignment (expression has type "int", variable has type "str")'
    ]


def test_a_new_module_starts_a_new_child(checker: Checker) -> None:
    checked_names(checker, "import colorsys\n")
    first = checker._process._child
    checked_names(checker, "import colorsys\nimport sndhdr\n")
    second = checker._process._child
    checked_names(checker, "import colorsys\nimport sndhdr\nx = 1\n")

    assert second is not first
    assert checker._process._child is second


@pytest.mark.parametrize("can_write", [True, False])
def test_a_killed_kernel_would_leave_a_temporary_folder_only_for_the_cache(
    *, can_write: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(os, "access", lambda *_: can_write)

    with Checker(tmp_path):
        assert len(list(temporary.iterdir())) == (0 if can_write else 1)

    assert list(temporary.iterdir()) == []


def test_settings_of_the_folder_are_ignored(checker: Checker) -> None:
    Path(checker._folder, "mypy.ini").write_text("[mypy]\nignore_errors = true\n", "utf-8")

    assert len(checked_names(checker, "z: str = 1\n")) == 1


WRONG = 'Incompatible types in assignment (expression has type "int", variable has type "str")'


def test_a_new_child_reports_an_identical_mistake_again(checker: Checker) -> None:
    for _ in range(3):
        assert [report.text for report in checked_names(checker, "again: str = 1\n")] == [WRONG]

    checked_names(checker, "import wave\n")  # starts another child
    for _ in range(2):
        assert [report.text for report in checked_names(checker, "again: str = 1\n")] == [WRONG]
    child = checker._process._child
    assert child is not None
    child.kill()
    child.wait()
    for _ in range(2):
        assert [report.text for report in checked_names(checker, "again: str = 1\n")] == [WRONG]


def test_a_child_survives_errors_in_programs_with_fewer_imports(checker: Checker) -> None:
    checked_names(checker, "import concurrent.futures\nfrom xml.dom import minidom\nfrom email import *\n")
    child = checker._process._child
    assert child is not None

    for number in range(3):
        assert [report.text for report in checked_names(checker, f"x{number}: str = {number}\n")] == [WRONG]

    assert checker._process._child is child
    assert child.poll() is None


def test_errors_in_an_imported_local_module_are_not_reported_for_the_cell(checker: Checker) -> None:
    module = Path(checker._folder, "beside.py")
    module.write_text("# a comment\n" * 100 + "x: str = 1\n", "utf-8")

    assert checked_names(checker, "import beside\nprint(beside.x)\n") == []
    assert checked_names(checker, "import beside\nprint(beside.x, 1)\n") == []

    module.write_text("x = (\n", "utf-8")
    with pytest.raises(CheckerError, match=r"^beside\.py:\d+: "):
        checked_names(checker, "import beside\ny: str = 1\n")


def test_an_error_in_a_function_of_an_earlier_cell_is_reported_at_the_call(checker: Checker) -> None:
    above = """\
import tapegrad as tg
from tapegrad import Tensor, nn


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        self.up = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x)


net = Net(8)
"""
    program = Program()
    program.add(ast.parse(above).body)

    right, wrong = (
        checker.check(program.with_cell(cell, ast.parse(cell)))
        for cell in ("net(tg.ones((2, 8)))\n", "x = tg.ones((2, 7))\nnet(x)\n")
    )

    text = "Net.up Linear(8, 3): x is (2, 7) but (..., 8) is expected: axis -1 is 7, not 8"
    assert right == []
    assert [(one.line, one.code, one.text) for one in wrong] == [
        (2, "tapegrad-shape", f"{text} (in a function of an earlier cell)")
    ]


def test_the_text_above_a_cell_that_defines_names_again_stays_as_it_was_checked() -> None:
    program = Program()
    program.add(ast.parse("def f(): return 1\nclass C: pass\nx = f()\n").body)
    tree = ast.parse("def f(): return C()\nclass C: y = 1\n")
    checked = program.with_cell(ast.unparse(tree), tree)
    program.add(tree.body)

    following = program.with_cell("f()\n", ast.parse("f()\n"))

    assert following.above.startswith(checked.above)
    assert checked.above.endswith("def _f_0():\n    return 1\nclass _C_1:\n    pass\nx = _f_0()\n")
