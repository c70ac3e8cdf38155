"""Checks a growing program with mypy: each check takes milliseconds unless the program imports a new module.

An answer counts only if it is about the current program: directly above the cell is a number that mypy has to
repeat. So a cell that mypy skipped is never reported as free of errors.
"""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from uuid import uuid4

from tapegrad.checker.process import Answer, CheckerError, CheckerProcess

if TYPE_CHECKING:
    from types import TracebackType

    from tapegrad.notebook.program import Draft
    from tapegrad.project.reports import Report

SETTINGS: Final = Path(__file__).parent / "mypy.ini"
SKIPPED: Final = (
    "mypy skipped it, because to mypy a cell above never ends, or because a comment turns errors off for the whole cell"
)


class Question(NamedTuple):
    """A program with a cell at its end.

    Attributes:
        number: The number above the cell that mypy has to repeat, unique for each program.
        start: How many lines are above the cell.
        text: The program.
    """

    number: int
    start: int
    text: str


class Checker:
    """Checks one program after another with mypy; each usually extends the one before."""

    def __init__(self, folder: Path) -> None:
        """Prepare a checker.

        Args:
            folder: Where the notebook runs: its modules are imported from there, and mypy's cache is stored there.
        """
        self._folder = folder
        self._path = Path(gettempdir(), f"tapegrad{uuid4().hex}", "notebook.py").resolve()  # not on the disk
        self._cache: TemporaryDirectory[str] | None = None
        self._ids = count()
        self._process = CheckerProcess(folder, self._flags(), variables=self._paths())

    def check(self, draft: Draft) -> list[Report]:
        """Return mypy's reports on the cell, with the cell's own line numbers.

        Raises:
            UnreadableOutputError: The output of mypy cannot be read, and may contain an error.
            CheckerError: mypy does not check the cell: it cannot be started, fails twice, or skips the cell.
        """
        question = self._question(draft)
        answer = self._ask(question)
        found = self._in_cell(answer.reports, question)
        if found is None and not answer.is_first:
            answer = self._ask(question, again=True)
            found = self._in_cell(answer.reports, question)
        if found is None:
            raise CheckerError(SKIPPED if answer.stopped is None else str(answer.stopped))
        return found

    def close(self) -> None:
        """Stop the child process."""
        self._process.close()
        if self._cache is not None:
            self._cache.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _question(self, draft: Draft) -> Question:
        number = next(self._ids)
        above = f"from typing import reveal_type as _reveal_type\n{draft.above}_reveal_type({number})\n"
        return Question(number, above.count("\n"), above + draft.cell)

    def _ask(self, question: Question, *, again: bool = False) -> Answer:
        path = str(self._path)
        above = question.start - 1  # without the number
        return self._process.check([path], {path: question.text}, above=above, again=again)

    def _in_cell(self, reports: list[Report], question: Question) -> list[Report] | None:
        """Return the reports on the cell, or None if the reports are not about this program."""
        start = question.start
        own = [report for report in reports if Path(self._folder, report.file).resolve() == self._path]
        own = _at_calls(own, start)
        inside = [
            report._replace(
                line=report.line - start, end_line=report.end_line - start, text=_in_lines(report.text, start)
            )
            for report in own
            if report.line > start
        ]
        repeated = any(report.line == start and f'"Literal[{question.number}]?"' in report.text for report in own)
        return inside if repeated or any(report.kind == "error" for report in inside) else None

    def _flags(self) -> list[str]:
        cache = self._folder / ".mypy_cache" / "notebook"
        if not os.access(self._folder, os.W_OK):
            self._cache = TemporaryDirectory(prefix="tapegrad")
            cache = Path(self._cache.name)
        return ["--config-file", str(SETTINGS), "--cache-dir", str(cache)]

    def _paths(self) -> dict[str, str]:
        paths = [str(self._folder), *filter(None, [os.environ.get("MYPYPATH")])]
        return {"MYPYPATH": os.pathsep.join(paths)}


def _at_calls(reports: list[Report], start: int) -> list[Report]:
    """Move errors in functions of earlier cells to the line of the cell with the call, which a note names last."""
    found: list[Report] = []
    for report in reports:
        led = re.fullmatch(r"in the call on line (?:\d+, )*(\d+)", report.text)
        if report.line < start and led is not None and int(led[1]) > start and found:
            line, error = int(led[1]), found.pop()
            text = f"{error.text} (in a function of an earlier cell)"
            found.append(error._replace(line=line, column=1, end_line=line, end_column=1, text=text))
        else:
            found.append(report)
    return found


def _in_lines(text: str, start: int) -> str:
    """Convert a line number in a message to a line of the cell, if it is one."""

    def written(line: re.Match[str]) -> str:
        inside = int(line[1]) - start
        return f"on line {inside}" if inside > 0 else "in an earlier cell"

    return re.sub(r"\bon line (\d+)", written, text)
