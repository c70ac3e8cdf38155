"""Whole models, each with one number that is larger by one: mypy reports those that Python rejects, and no other.

The tests change some numbers of each program of `models/`; `python -m tests.mypy.test_models` changes all of them.
"""

from __future__ import annotations

import sys
import traceback
import types
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from tokenize import NUMBER, generate_tokens

import pytest

from tapegrad.errors import TapegradError
from tapegrad.project.reports import Report, run_mypy
from tests.warm_mypy_cache import SETTINGS, write_settings

MODELS = sorted(Path(__file__, "..", "models").resolve().glob("*.py"))


def changed(source: str) -> list[str]:
    """Return a program with each of its whole numbers in turn larger by one."""
    lines = source.splitlines()
    programs = []
    for token in generate_tokens(StringIO(source).readline):
        if token.type == NUMBER and token.string.isdigit():
            (row, start), end = token.start, token.end[1]
            line = f"{lines[row - 1][:start]}{int(token.string) + 1}{lines[row - 1][end:]}"
            programs.append("\n".join([*lines[: row - 1], line, *lines[row:], ""]))
    return programs


def failure(program: str, name: str) -> tuple[str, list[int]] | None:
    """Run a program; return the error that stops it, and the lines that led there."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        exec(compile(program, name, "exec"), vars(module))  # noqa: S102  # the program above
    except (TapegradError, AssertionError, LookupError, TypeError, ValueError) as error:
        frames = traceback.extract_tb(error.__traceback__)
        return f"{type(error).__name__}: {error}", [one.lineno or 0 for one in frames if one.filename == name]
    finally:
        del sys.modules[name]
    return None


def differences(programs: dict[str, str], folder: Path) -> list[str]:
    """Return where mypy does not report what Python raises, or something that Python does not raise."""
    for name, program in programs.items():
        (folder / f"{name}.py").write_text(program, "utf-8")
    reports: dict[str, list[Report]] = {}
    for one in run_mypy([f"{name}.py" for name in programs], folder=folder):
        if one.kind == "error":
            reports.setdefault(Path(one.file).stem, []).append(one)
    found = []
    for name, program in programs.items():
        raised, said = failure(program, name), reports.get(name, [])
        shown = "; ".join(f"line {one.line}: {one.text}" for one in said)
        if raised is None and said:
            found.append(f"{name}: runs, but mypy reports {shown}")
        elif raised is not None and not said:
            found.append(f"{name}: mypy does not report {raised[0]} of line {raised[1]}")
        elif raised is not None and said[0].line not in raised[1] and not is_of_a_whole_model(said[0]):
            found.append(f"{name}: {raised[0]} of line {raised[1]}, but mypy reports {shown}")
    return found


def is_of_a_whole_model(report: Report) -> bool:
    """Return whether no input fits a model, which mypy reports where it is made, and Python where it is called."""
    return "x is (..., " in report.text


def programs_of(model: Path, every: int) -> dict[str, str]:
    source = model.read_text("utf-8")
    several = {f"{model.stem}_{number}": program for number, program in enumerate(changed(source))}
    return {model.stem: source} | {name: several[name] for name in [*several][::every]}


def test_mypy_reports_the_changed_models_that_python_rejects(tmp_path: Path) -> None:
    write_settings(tmp_path, SETTINGS)

    programs = {name: program for model in MODELS for name, program in programs_of(model, every=9).items()}

    assert differences(programs, tmp_path) == []


def test_a_missing_report_is_found(tmp_path: Path) -> None:
    write_settings(tmp_path, SETTINGS)
    program = "import numpy as np\n\nnp.ones(3).reshape(2, 2)\n"

    assert differences({"wrong": program}, tmp_path) == [
        "wrong: mypy does not report ValueError: cannot reshape array of size 3 into shape (2,2) of line [3]"
    ]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.stem)
def test_a_model_runs(model: Path) -> None:
    assert failure(model.read_text("utf-8"), model.stem) is None


def main() -> None:
    """Print all differences, which is as long as mypy does not know all that Python does."""
    with TemporaryDirectory() as folder:
        write_settings(Path(folder), SETTINGS)
        programs = {name: program for model in MODELS for name, program in programs_of(model, every=1).items()}
        found = differences(programs, Path(folder))
    print(*found, f"{len(found)} differences in {len(programs)} programs", sep="\n")  # noqa: T201  # the result


if __name__ == "__main__":
    main()
