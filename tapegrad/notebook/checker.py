"""Runs mypy on a growing program: each check takes milliseconds unless the program imports a new module.

A first run of mypy fills the cache, and a child process loads it (`tapegrad.notebook.server`). A program with a new
module needs another run and another child; so does an edited plugin, and a child that crashed.

An answer counts only if it is about the current program: directly above the cell is a number that mypy has to
repeat. So a cell that mypy skipped is never reported as free of errors.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from tapegrad.project.reports import (
    OPTIONS,
    MypyError,
    Report,
    UnreadableOutputError,
    plain_environment,
    read_reports,
    run_mypy,
)

if TYPE_CHECKING:
    from types import TracebackType

    from tapegrad.notebook.program import Draft, Import

SETTINGS: Final = Path(__file__).parent / "mypy.ini"
SKIPPED: Final = (
    "mypy skipped it, because to mypy a cell above never ends, or because a comment turns errors off for the whole cell"
)


class CheckerError(Exception):
    """mypy did not check the cell; the message gives the reason."""


class Question(NamedTuple):
    """A program in the file that mypy reads.

    Attributes:
        number: The number above the cell that mypy has to repeat, unique for each program.
        start: How many lines are above the cell.
    """

    number: int
    start: int


class Checker:
    """Checks one program after another with mypy; each usually extends the one before."""

    def __init__(self, folder: Path) -> None:
        """Prepare a checker.

        Args:
            folder: Where the notebook runs: its modules are imported from there, and mypy's cache is stored there.
        """
        self._folder = folder
        self._place = TemporaryDirectory(prefix="tapegrad")
        self._path = Path(self._place.name, "notebook.py").resolve()
        self._child: subprocess.Popen[str] | None = None
        self._is_loading = False
        self._loaded: frozenset[Import] = frozenset()  # the imports that the child has loaded
        self._plugin = ""
        self._ids = count()
        self._written = int(time.time())
        self._lock = Lock()  # the first run may still be warming up in another thread

    def check(self, draft: Draft) -> list[Report]:
        """Return mypy's reports on the cell, with the cell's own line numbers.

        Raises:
            UnreadableOutputError: The output of mypy cannot be read, and may contain an error.
            CheckerError: mypy does not check the cell: it cannot be started, fails twice, or skips the cell.
        """
        with self._lock:
            self._wait()
            reports = self._request(draft)
            if reports is None:
                reports = self._run(draft)
                self._start()
        return reports

    def close(self) -> None:
        """Stop the child process."""
        with self._lock:
            self._stop()
            self._place.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self) -> None:
        """Wait until the child has checked the program with which it was started."""
        if self._is_loading and self._child is not None and self._child.stdout is not None:
            self._child.stdout.readline()  # empty if the child died, which the next request detects
        self._is_loading = False

    def _write(self, draft: Draft) -> Question:
        """Write a program with a later file time: for files of the same size mypy compares times in whole seconds.

        The child must never unload a module: mypy's daemon then reports errors twice, and stops at the second
        (`assert file not in self.flushed_files` in mypy 2.4). So each program imports what the child has loaded.
        """
        number = next(self._ids)
        loaded = "".join(f"    {one.statement}\n" for one in sorted(self._loaded)) or "    pass\n"
        head = f"from typing import reveal_type as _reveal_type\ndef _loaded() -> None:\n{loaded}"
        above = f"{head}{draft.above}_reveal_type({number})\n"
        self._path.write_text(above + draft.cell, "utf-8")
        self._written += 1
        os.utime(self._path, (self._written, self._written))
        return Question(number, above.count("\n"))

    def _request(self, draft: Draft) -> list[Report] | None:
        """Ask the child; return None if there is no child, or its answer is not about this program."""
        child = self._child
        if child is None or child.stdin is None or child.stdout is None or self._plugin != _plugin_version():
            return None
        question = self._write(draft)
        modules = set[str]().union(*(one.modules for one in draft.imports))
        request = {"id": question.number, "modules": sorted(modules)}
        try:
            child.stdin.write(json.dumps(request) + "\n")
            child.stdin.flush()
            answer = json.loads(child.stdout.readline())
        except (OSError, ValueError):  # the child died; the run that follows starts another
            return None
        if answer["id"] != request["id"] or answer["new"] or answer["failed"]:
            return None
        try:
            return self._in_cell(read_reports(answer["text"]), question)
        except MypyError:  # the run that follows reports the error
            return None

    def _run(self, draft: Draft) -> list[Report]:
        """Run mypy in a new process, which fills the cache."""
        self._loaded = draft.imports
        question = self._write(draft)
        try:
            reports = run_mypy([*self._flags(), str(self._path)], folder=self._folder, environment=self._paths())
        except UnreadableOutputError:
            raise
        except MypyError as error:  # mypy stopped; perhaps because of the cell
            found, reason = self._in_cell(error.reports, question), str(error)
        else:
            found, reason = self._in_cell(reports, question), SKIPPED
        if found is None:
            raise CheckerError(reason)
        return found

    def _in_cell(self, reports: list[Report], question: Question) -> list[Report] | None:
        """Return the reports on the cell, or None if the reports are not about this program."""
        own = [report for report in reports if Path(self._folder, report.file).resolve() == self._path]
        start = question.start
        inside = [
            report._replace(
                line=report.line - start, end_line=report.end_line - start, text=_in_lines(report.text, start)
            )
            for report in own
            if report.line > start
        ]
        repeated = any(report.line == start and f'"Literal[{question.number}]?"' in report.text for report in own)
        return inside if repeated or any(report.kind == "error" for report in inside) else None

    def _start(self) -> None:
        self._stop()
        self._plugin = _plugin_version()
        self._child = subprocess.Popen(  # noqa: S603  # our own module, in this interpreter
            [sys.executable, "-m", "tapegrad.notebook.server", *self._flags(), *OPTIONS, str(self._path)],
            cwd=self._folder,
            env=plain_environment() | self._paths(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._is_loading = True

    def _stop(self) -> None:
        if self._child is None:
            return
        for stream in (self._child.stdin, self._child.stdout):
            if stream:
                with suppress(OSError):  # the pipe of a dead child is broken
                    stream.close()
        self._child.kill()
        self._child.wait()
        self._child = None

    def _flags(self) -> list[str]:
        cache = self._folder / ".mypy_cache" / "notebook"
        if not os.access(self._folder, os.W_OK):
            cache = Path(self._place.name, "cache")
        return ["--config-file", str(SETTINGS), "--cache-dir", str(cache)]

    def _paths(self) -> dict[str, str]:
        paths = [str(self._folder), *filter(None, [os.environ.get("MYPYPATH")])]
        return {"MYPYPATH": os.pathsep.join(paths)}


def _plugin_version() -> str:
    """Return the time of the newest file of the library, because the child does not reload the plugin and the ops."""
    newest = max(file.stat().st_mtime_ns for file in Path(__file__).parent.parent.rglob("*.py"))
    return str(newest)


def _in_lines(text: str, start: int) -> str:
    """Convert a line number in a message to a line of the cell, if it is one."""

    def written(line: re.Match[str]) -> str:
        inside = int(line[1]) - start
        return f"on line {inside}" if inside > 0 else "in an earlier cell"

    return re.sub(r"\bon line (\d+)", written, text)
