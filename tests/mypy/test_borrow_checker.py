"""The programs of the borrow checker's benchmark: Python raises a TapeError for each mistake that mypy reports.

`tests/test_typecheck.py` compares mypy's reports with the marks in the programs, and runs those without a mistake.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmarks.borrow_checker import BEGIN, END, PAGE, PROGRAMS, RUST, VERDICTS, programs, table
from tapegrad import TapeError
from tapegrad.__main__ import main
from tapegrad.project.reports import run_mypy
from tests.test_typecheck import loaded
from tests.warm_mypy_cache import write_settings

# The types reject these: a consumed tensor is kept where one with a tape is declared. Nothing uses its tape.
KEPT = {"reject_a_consumed_loss_that_is_stored", "reject_a_loss_that_is_returned_after_backward"}
ROOT = Path(__file__).parents[2]
MISTAKES = [one for one in programs() if one.is_mistake]


@pytest.mark.parametrize("program", MISTAKES, ids=lambda one: f"{one.file}:{one.name}")
def test_python_raises_a_tape_error_for_each_mistake(program: Any) -> None:
    function = getattr(loaded(PROGRAMS / f"{program.file}.py"), program.name)

    if program.name in KEPT:
        function()
    else:
        with pytest.raises(TapeError, match="consumed"):
            function()


def test_mypy_rejects_exactly_the_mistakes() -> None:
    assert len(programs()) >= 150
    assert [one.name for one in programs() if one.is_rejected != one.is_mistake] == []


def test_each_program_has_a_counterpart_and_a_verdict_of_rustc() -> None:
    rust = "\n".join(path.read_text("utf-8") for path in RUST.glob("*.rs"))
    rejected = json.loads(VERDICTS.read_text("utf-8"))["rejected"]

    assert all(f"fn {one.name}(" in rust for one in programs())
    assert set(rejected) <= {one.name for one in programs()}


def test_the_page_shows_the_table() -> None:
    assert f"{BEGIN}\n\n{table()}\n\n{END}" in PAGE.read_text("utf-8")


def test_a_note_says_where_ownership_analysis_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = ["import tapegrad as tg", "from tapegrad import OwnedTape, Tensor", "from typing import Any", ""]
    for depth in range(6):
        lines.append(f"def f{depth}(x: Tensor[Any, OwnedTape]) -> Tensor[Any, OwnedTape]:")
        lines += 8 * [f"    x = f{depth - 1}(x)" if depth else "    x = x * 2.0"] + ["    return x", ""]
    lines += ["def train(x: Tensor[Any]) -> None:", "    loss = f5(x.trace()).sum()"] + 2 * ["    loss.backward()"]
    write_settings(tmp_path)
    (tmp_path / "deep.py").write_text("\n".join(lines) + "\n", "utf-8")

    report, error = run_mypy(["deep.py"], folder=tmp_path)

    assert (error.line, error.kind) == (len(lines), "error")  # which the body of train() alone shows
    assert (report.line, report.kind) == (lines.index("def train(x: Tensor[Any]) -> None:") + 1, "note")
    assert report.text == (
        "train: too long to follow all of its tapes; a use of a consumed tape may not be reported here"
    )
    monkeypatch.chdir(tmp_path)
    main(["coverage", "deep.py"])
    assert f"deep.py:{report.line}: note: {report.text}" in "".join(capfd.readouterr())


def test_a_note_says_that_calls_are_too_deep_inside_each_other(tmp_path: Path) -> None:
    lines = ["import tapegrad as tg", "from tapegrad import OwnedTape, Tensor", "Loss = Tensor[tuple[()], OwnedTape]"]
    lines += ["def f0(x: Loss) -> None: x.backward()"]
    lines += [f"def f{depth}(x: Loss) -> None: f{depth - 1}(x)" for depth in range(1, 45)]
    lines += ["def train(loss: Loss) -> None:", "    f44(loss)", "    f0(loss)"]
    lines += ["def train_less(loss: Loss) -> None:", "    f38(loss)", "    f0(loss)"]
    write_settings(tmp_path)
    (tmp_path / "deeper.py").write_text("\n".join(lines) + "\n", "utf-8")

    reports = run_mypy(["deeper.py"], folder=tmp_path)

    shown = [(report.line, report.kind, report.text.split(":")[0]) for report in reports]
    assert shown[-2:] == [(len(lines) - 5, "note", "train"), (len(lines), "error", "f0(loss)")]


def test_a_mistake_is_reported_in_code_that_is_too_long_to_follow(tmp_path: Path) -> None:
    lines = ["import tapegrad as tg", "from tapegrad import OwnedTape, Tensor", "Loss = Tensor[tuple[()], OwnedTape]"]
    for depth in range(9):
        lines.append(f"def f{depth}(x: Loss) -> Loss:")
        lines += 4 * [f"    x = f{depth - 1}(x)" if depth else "    x = x * 2.0"] + ["    return x"]
    lines += ["def train(loss: Loss) -> None:", "    other = f8(loss)", "    loss.backward()", "    loss.backward()"]
    write_settings(tmp_path)
    (tmp_path / "wide.py").write_text("\n".join(lines) + "\n", "utf-8")

    reports = run_mypy(["wide.py"], folder=tmp_path)

    assert [(report.line, report.kind) for report in reports] == [(len(lines) - 3, "note"), (len(lines), "error")]


def test_functions_of_functions_in_loops_are_followed_to_their_end(tmp_path: Path) -> None:
    write_settings(tmp_path)
    files = [
        f"tests/{name}.py" for name in ("autograd/test_parameter_tape", "collector", "op_coverage", "oracle/calls")
    ]
    for name in ("tapegrad/testing/gradients.py", *files):
        (tmp_path / name.removeprefix("tapegrad/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name.removeprefix("tapegrad/"))

    assert run_mypy(["--explicit-package-bases", "testing/gradients.py", *files], folder=tmp_path) == []


def test_a_function_read_from_the_cache_of_mypy_may_be_returned(tmp_path: Path) -> None:
    lines = [
        "from collections.abc import Callable",
        "import tapegrad as tg",
        "def chosen() -> Callable[[float], float]:",
    ]
    lines += [
        "    return abs",
        "loss = tg.ones((3,)).trace().sum()",
        "chosen()(1.0)",
        "loss.backward()",
        "loss.backward()",
    ]
    write_settings(tmp_path)
    (tmp_path / "chosen.py").write_text("\n".join(lines), "utf-8")

    # The first run fills the cache; the second reads `abs` from it, without its body.
    for _ in range(2):
        reports = run_mypy(["chosen.py"], folder=tmp_path)
        (tmp_path / "chosen.py").write_text("\n".join([*lines, "loss"]), "utf-8")

    assert [(report.line, report.code) for report in reports] == [(8, "tapegrad-tape")]
