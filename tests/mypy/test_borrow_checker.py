"""The programs of the borrow checker's benchmark: Python raises a TapeError for each mistake that mypy reports.

`tests/test_typecheck.py` compares mypy's reports with the marks in the programs, and runs those without a mistake.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.borrow_checker import BEGIN, END, PAGE, PROGRAMS, RUST, VERDICTS, programs, table
from tapegrad import TapeError
from tests.test_typecheck import loaded

# The types reject these: a consumed tensor is kept where one with a tape is declared. Nothing uses its tape.
KEPT = {"reject_a_consumed_loss_that_is_kept", "reject_a_loss_that_is_returned_after_backward"}
MISTAKES = [one for one in programs() if one.is_mistake]


@pytest.mark.parametrize("program", MISTAKES, ids=lambda one: f"{one.file}:{one.name}")
def test_python_raises_a_tape_error_for_each_mistake(program: Any) -> None:
    function = getattr(loaded(PROGRAMS / f"{program.file}.py"), program.name)

    if program.name in KEPT:
        function()
    else:
        with pytest.raises(TapeError, match="consumed"):
            function()


def test_mypy_rejects_every_mistake_and_no_other_program() -> None:
    assert len(programs()) >= 150
    assert [one.name for one in programs() if one.is_rejected != one.is_mistake] == []


def test_each_program_has_a_counterpart_and_a_verdict_of_rustc() -> None:
    rust = "\n".join(path.read_text("utf-8") for path in RUST.glob("*.rs"))
    rejected = json.loads(VERDICTS.read_text("utf-8"))["rejected"]

    assert all(f"fn {one.name}(" in rust for one in programs())
    assert set(rejected) <= {one.name for one in programs()}


def test_the_page_shows_the_table() -> None:
    assert f"{BEGIN}\n\n{table()}\n\n{END}" in PAGE.read_text("utf-8")
