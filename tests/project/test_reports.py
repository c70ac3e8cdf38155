"""Reports of mypy are parsed alike in every terminal, locale and environment, and no line of output is dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tapegrad.project.reports import MypyError, Report, UnreadableOutputError, read_reports, run_mypy

PROGRAM = "x: str = 1\nreveal_type(x)\n"
REPORTS = [
    Report(
        file="program.py",
        line=1,
        column=10,
        end_line=1,
        end_column=10,
        kind="error",
        text='Incompatible types in assignment (expression has type "int", variable has type "str")',
        code="assignment",
    ),
    Report("program.py", 2, 13, 2, 13, "note", 'Revealed type is "str"', "misc"),
]
LINE = {
    "file": "program.py",
    "line": 1,
    "column": 0,
    "end_line": 1,
    "end_column": 3,
    "message": "a: error: in the text",
    "hint": "the first note\nthe second note",
    "code": None,
    "severity": "error",
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"--cache-dir={tmp_path_factory.mktemp('cache')}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"FORCE_COLOR": "1", "TERM": "xterm-color"},
        {"MYPY_FORCE_COLOR": "1", "TERM": "xterm-color", "MYPY_FORCE_TERMINAL_WIDTH": "20", "COLUMNS": "20"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"MYPY_NUM_WORKERS": "2"},
    ],
    ids=["as it is", "colors", "colors and width", "ASCII", "workers"],
)
def test_reports_do_not_depend_on_the_environment(
    environment: dict[str, str], folder: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert run_mypy([cache, "program.py"], folder=folder) == REPORTS


def test_reports_do_not_depend_on_output_settings(folder: Path, cache: str) -> None:
    (folder / "mypy.ini").write_text("[mypy]\npretty = true\ncolor_output = true\nshow_error_end = true\n", "utf-8")

    assert run_mypy([cache, "--pretty", "program.py"], folder=folder) == REPORTS


def test_notes_that_belong_to_an_error_follow_it() -> None:
    error, first, second = read_reports(json.dumps(LINE))

    assert error == Report("program.py", 1, 1, 1, 3, "error", "a: error: in the text", "")
    assert first == error._replace(kind="note", text="the first note")
    assert second == error._replace(kind="note", text="the second note")


def test_the_text_of_a_daemon_of_mypy_2_0_is_read() -> None:
    lines = (
        "C:\\new\\program.py:1:2:3:4: error: mul: x (2,) and y (3,)  [tapegrad-shape]",
        "a.py:5:6:5:6: note: in the call",
    )

    error, note = read_reports("\n".join(lines))

    assert error == Report("C:\\new\\program.py", 1, 2, 3, 4, "error", "mul: x (2,) and y (3,)", "tapegrad-shape")
    assert note == Report("a.py", 5, 6, 5, 6, "note", "in the call", "")


@pytest.mark.parametrize(
    "line",
    [
        'program.py:1: error: Name "y" is not defined  [name-defined]',
        f"program.py:1: \x1b[1m\x1b[31merror:\x1b(B\x1b[m {LINE['message']}",
        "[]",
        '{"file": "program.py"}',
    ],
    ids=["text", "colors", "a list", "keys"],
)
def test_unparsable_output_is_an_error(line: str) -> None:
    with pytest.raises(UnreadableOutputError) as error:
        read_reports(f"{json.dumps(LINE)}\n{line}\n")

    assert str(error.value) == f"mypy wrote a line that is not a report: {line}"
    assert len(error.value.reports) == 3


def test_a_run_that_mypy_aborts_is_an_error(folder: Path) -> None:
    (folder / "program.py").write_text("x = (\n", "utf-8")

    with pytest.raises(MypyError) as error:
        run_mypy(["program.py"], folder=folder)
    assert [report.code for report in error.value.reports] == ["syntax"]

    with pytest.raises(MypyError, match=r"absent\.py"):
        run_mypy(["absent.py"], folder=folder)
