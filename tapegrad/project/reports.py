"""Run mypy as a process and parse its reports, independently of the terminal, locale and environment.

Text output depends on the environment: ipykernel and many CI services set `FORCE_COLOR`, and then a pattern for
plain text finds no errors. So mypy writes JSON, and a line that is not a report raises an error here instead of
passing for a program without errors.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

OPTIONS: Final = ("--output=json", "--no-color-output", "--no-pretty", "--no-error-summary")
# Variables that change mypy's output format or number of processes, but not its reports.
DROPPED: Final = frozenset({"FORCE_COLOR", "MYPY_FORCE_COLOR", "MYPY_FORCE_TERMINAL_WIDTH", "MYPY_NUM_WORKERS"})
SYNTAX: Final = "syntax"  # the code of an error without which mypy would have checked the program
# What the daemon of mypy 2.0 writes instead of JSON.
_TEXT: Final = re.compile(r"(.+?):(\d+):(\d+):(\d+):(\d+): (error|note): (.+?)(?:  \[([a-z-]+)\])?")
# The words of the plugin for an error of mypy about tensors, which keeps mypy's code.
_OF_TENSORS: Final = re.compile(
    r" but .+ is expected\b| has no tape but needs one$| has a tape but must have none$|\bTensor\["
)


class Report(NamedTuple):
    """An error or a note; lines and columns count from 1, the end is included.

    Attributes:
        kind: `error` or `note`.
        text: The message, without its code.
        code: Such as `tapegrad-shape`, without brackets.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    text: str
    code: str


def is_about_tensors(report: Report) -> bool:
    """Return whether an error is about tensors, or about a program that does not parse, so that nothing is checked."""
    return report.code.startswith("tapegrad-") or report.code == SYNTAX or bool(_OF_TENSORS.search(report.text))


class MypyError(Exception):
    """mypy stopped before it had checked everything.

    Attributes:
        reports: What it had reported by then.
    """

    def __init__(self, message: str, reports: list[Report] | None = None) -> None:
        super().__init__(message)
        self.reports = reports or []


class UnreadableOutputError(MypyError):
    """mypy wrote a line that is not a report; it may have been an error."""


def plain_environment() -> dict[str, str]:
    """Return the environment of this process without the variables that change mypy's output format."""
    return {name: value for name, value in os.environ.items() if name not in DROPPED}


def run_mypy(arguments: Iterable[str], *, folder: Path, environment: Mapping[str, str] | None = None) -> list[Report]:
    """Run mypy and return its reports.

    Args:
        arguments: Files, folders and options; options that change the output format have no effect.
        folder: Where mypy is started.
        environment: Variables to set besides those of this process.

    Raises:
        MypyError: mypy stopped: it cannot be started, cannot read a file, or crashed.
        UnreadableOutputError: It wrote something that is not a report.
    """
    ran = subprocess.run(  # noqa: S603  # mypy, in this interpreter
        [sys.executable, "-m", "mypy", *arguments, *OPTIONS],
        cwd=folder,
        env=plain_environment() | {"PYTHONIOENCODING": "utf-8"} | dict(environment or {}),
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        check=False,
    )
    if ran.returncode not in (0, 1):
        raise stopped(
            [*ran.stdout.splitlines(), *ran.stderr.splitlines()], f"mypy ended with exit code {ran.returncode}"
        )
    return read_reports(ran.stdout)


def stopped(lines: Iterable[str], otherwise: str = "mypy stopped") -> MypyError:
    """Return the error for a run that stopped before it had checked everything.

    Args:
        lines: What mypy wrote; reports and others.
        otherwise: The message if it wrote nothing.
    """
    read = {line: _reports(line) for line in lines}
    shown = [_located(found[0]) if found else line for line, found in read.items()]
    return MypyError("\n".join(shown) or otherwise, [report for found in read.values() for report in found])


def read_reports(output: str) -> list[Report]:
    """Parse what mypy wrote with `OPTIONS`.

    Raises:
        UnreadableOutputError: A line is not a report.
    """
    found: list[Report] = []
    for line in filter(str.strip, output.splitlines()):
        reports = _reports(line)
        if not reports:
            message = f"mypy wrote a line that is not a report: {line}"
            raise UnreadableOutputError(message, found)
        found += reports
    return found


def _located(report: Report) -> str:
    """Return a report after its file and line; a report on a whole file has no line."""
    return f"{report.file}:{report.line}: {report.text}" if report.line > 0 else f"{report.file}: {report.text}"


def _report_of(written: re.Match[str]) -> Report:
    file, *places, kind, text, code = written.groups()
    line, column, end_line, end_column = map(int, places)
    return Report(file, line, column, end_line, end_column, kind, text, code or "")


def _reports(line: str) -> list[Report]:
    """Return an error with the notes that mypy attaches to it, or nothing if the line is not a report."""
    try:
        read = json.loads(line)
        report = Report(
            file=read["file"],
            line=read["line"],
            column=read["column"] + 1,
            end_line=read["end_line"],
            end_column=read["end_column"],
            kind=read["severity"],
            text=read["message"],
            code=read["code"] or "",
        )
        notes = (read["hint"] or "").splitlines()
    except (ValueError, TypeError, KeyError):
        written = _TEXT.fullmatch(line)
        return [] if written is None else [_report_of(written)]
    return [report, *(report._replace(kind="note", text=note) for note in notes)]
