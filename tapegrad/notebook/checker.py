"""The checker: what mypy says of a program that grows, in milliseconds while it imports nothing new.

A first run of mypy fills the cache, and a child process loads it (`tapegrad.notebook.server`). A program with a new
module takes another run and another child; so does an edited plugin, and a child that fell ill.
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

if TYPE_CHECKING:
    from types import TracebackType

    from tapegrad.notebook.program import Draft

SETTINGS: Final = Path(__file__).parent / "mypy.ini"
REPORT: Final = re.compile(
    r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+):(?P<end_line>\d+):(?P<end_column>\d+): "
    r"(?P<kind>error|note): (?P<text>.*?)(?:  \[(?P<code>[\w-]+)\])?$"
)


class CheckerError(Exception):
    """mypy did not answer, and why."""


class Report(NamedTuple):
    """What mypy says of a place in a cell; lines and columns count from 1, the end is inside."""

    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    text: str
    code: str


class Checker:
    """Asks mypy about one program after another, each mostly the one before."""

    def __init__(self, folder: Path) -> None:
        """Prepares a checker.

        Args:
            folder: Where the notebook runs: its modules are found there, and mypy's cache is kept there.
        """
        self._folder = folder
        self._place = TemporaryDirectory(prefix="tapegrad")
        self._path = Path(self._place.name, "notebook.py")
        self._child: subprocess.Popen[str] | None = None
        self._is_loading = False
        self._plugin = ""
        self._ids = count()
        self._written = int(time.time())
        self._asking = Lock()  # the first run may still be warming up in another thread

    def check(self, draft: Draft) -> list[Report]:
        """Returns what mypy says of the cell.

        Raises:
            CheckerError: It says nothing: it cannot be started, or it fails twice.
        """
        with self._asking:
            self._wait()
            self._write(draft.text)
            text = self._ask(draft)
            if text is None:
                text = self._run()
                self._start()
        return _in_cell(text, draft)

    def close(self) -> None:
        """Ends the child."""
        with self._asking:
            self._stop()
            self._place.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self) -> None:
        """Waits until a child that was started has read the program that it was started for."""
        if self._is_loading and self._child is not None and self._child.stdout is not None:
            self._child.stdout.readline()  # nothing comes of one that died, and the question that follows finds it out
        self._is_loading = False

    def _write(self, text: str) -> None:
        """Writes the program so that mypy sees it anew: of a file that keeps its size it looks at whole seconds."""
        self._path.write_text(text, "utf-8")
        self._written += 1
        os.utime(self._path, (self._written, self._written))

    def _ask(self, draft: Draft) -> str | None:
        """Asks the child; there is no answer if there is no child, or not the right one."""
        child = self._child
        if child is None or child.stdin is None or child.stdout is None or self._plugin != _plugin_version():
            return None
        request = {"id": next(self._ids), "modules": sorted(draft.modules)}
        try:
            child.stdin.write(json.dumps(request) + "\n")
            child.stdin.flush()
            answer = json.loads(child.stdout.readline())
        except (OSError, ValueError):  # it died, and the run that follows starts another
            return None
        if answer["id"] != request["id"] or answer["new"] or answer["failed"]:
            return None
        return str(answer["text"])

    def _run(self) -> str:
        """Runs mypy from its start, which fills the cache."""
        ran = subprocess.run(  # noqa: S603  # mypy, in this interpreter
            [sys.executable, "-m", "mypy", *self._flags(), "--no-error-summary", str(self._path)],
            cwd=self._folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode not in (0, 1) and not any(map(_report, ran.stdout.splitlines())):
            raise CheckerError((ran.stderr or ran.stdout).strip())
        return ran.stdout

    def _start(self) -> None:
        self._stop()
        self._plugin = _plugin_version()
        self._child = subprocess.Popen(  # noqa: S603  # our own module, in this interpreter
            [sys.executable, "-m", "tapegrad.notebook.server", *self._flags(), str(self._path)],
            cwd=self._folder,
            env=self._environment(),
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
                with suppress(OSError):  # a child that died cannot be told the rest
                    stream.close()
        self._child.kill()
        self._child.wait()
        self._child = None

    def _flags(self) -> list[str]:
        cache = self._folder / ".mypy_cache" / "notebook"
        if not os.access(self._folder, os.W_OK):
            cache = Path(self._place.name, "cache")
        return ["--config-file", str(SETTINGS), "--cache-dir", str(cache)]

    def _environment(self) -> dict[str, str]:
        paths = [str(self._folder), *filter(None, [os.environ.get("MYPYPATH")])]
        return {**os.environ, "MYPYPATH": os.pathsep.join(paths)}


def _plugin_version() -> str:
    """Returns what changes with any file of the plugin and of the ops: the child holds what it once loaded."""
    newest = max(file.stat().st_mtime_ns for file in Path(__file__).parent.parent.rglob("*.py"))
    return str(newest)


def _in_cell(text: str, draft: Draft) -> list[Report]:
    found = [report for report in map(_report, text.splitlines()) if report]
    start = draft.start
    return [
        report._replace(line=report.line - start, end_line=report.end_line - start, text=_in_lines(report.text, start))
        for report in found
        if report.line > start
    ]


def _in_lines(text: str, start: int) -> str:
    """Writes a line that a message names as a line of the cell, if it is one."""

    def written(line: re.Match[str]) -> str:
        inside = int(line[1]) - start
        return f"on line {inside}" if inside > 0 else "in an earlier cell"

    return re.sub(r"\bon line (\d+)", written, text)


def _report(line: str) -> Report | None:
    match = REPORT.match(line)
    if match is None:
        return None
    line, column, end_line, end_column = (int(match[name]) for name in ("line", "column", "end_line", "end_column"))
    return Report(line, column, end_line, end_column, match["kind"], match["text"], match["code"] or "")
