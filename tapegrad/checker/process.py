"""The parent's side of the checker: starts the child, asks it, and replaces it when a module is new or it has died."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Self

from tapegrad.project.reports import OPTIONS, plain_environment, read_reports, stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from tapegrad.project.reports import MypyError, Report

LIBRARY: Final = Path(__file__).parent.parent
_PLACES: Final = ("--show-column-numbers", "--show-error-end")


class CheckerError(Exception):
    """mypy did not check the program; the message gives the reason."""


class Answer(NamedTuple):
    """What mypy reports on a program.

    Attributes:
        reports: On all files, also on those that were not requested.
        details: What is known of each file in which that has changed, for the requests that ask for it.
        stopped: Why mypy stopped before it had checked everything; None if it did not.
        is_first: Whether mypy ran to fill its cache; then the details follow in the next answer.
    """

    reports: list[Report]
    details: dict[str, Any]
    stopped: MypyError | None
    is_first: bool


class CheckerProcess:
    """mypy in a child process, which checks one program after another; each is usually an edit of the one before."""

    def __init__(
        self,
        folder: Path,
        flags: list[str],
        *,
        variables: Mapping[str, str] | None = None,
        watched: Path | None = None,
        on_death: Callable[[], None] | None = None,
    ) -> None:
        """Prepare a process, which the first check starts.

        Args:
            folder: Where mypy runs.
            flags: mypy's options: its settings, and a cache that nothing else uses.
            variables: For the environment of the child, besides those of this process.
            watched: A file of settings; after a change the child is replaced.
            on_death: Called when the child has died, before another one is started.
        """
        self._folder = folder
        self._flags = flags
        self._variables = dict(variables or {})
        self._watched = watched
        self._on_death = on_death
        self._child: subprocess.Popen[str] | None = None
        self._errors: IO[bytes] | None = None
        self._version = ""
        self._ids = count()
        self._lock = Lock()

    @property
    def is_running(self) -> bool:
        """Whether there is a child, whose checks are fast."""
        return self._child is not None

    def check(
        self,
        paths: list[str],
        texts: Mapping[str, str],
        *,
        above: int | None = None,
        details: bool = False,
        again: bool = False,
    ) -> Answer:
        """Check files.

        Args:
            paths: The files, absolute.
            texts: Texts that stand in for files: those that are not saved, or on no disk.
            above: If only the end of the one file matters, how many lines are above it. Then all errors in the end are
                reported, and those above it only as far as the end causes them.
            details: Whether to return what is known of each tensor.
            again: Whether to start another child, because the answer of the current one was of no use.

        Raises:
            UnreadableOutputError: The output of mypy cannot be read, and may contain an error.
            CheckerError: mypy cannot be started, or crashes at its first check.
        """
        with self._lock:
            request = {"paths": paths, "texts": dict(texts), "above": above, "details": details}
            if self._child is not None and not again and self._version == self._newest():
                answer = self._ask(request)
                if answer is not None and not answer["new"]:
                    return self._read(answer)
                if answer is None and self._on_death is not None:
                    self._on_death()
            self._start()
            answer = self._ask(request)
            if answer is None:
                raise CheckerError(self._last_words())
            return self._read(answer)

    def close(self) -> None:
        """Stop the child."""
        with self._lock:
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the child's answer; None if it has died."""
        child = self._child
        if child is None or child.stdin is None or child.stdout is None:
            return None
        number = next(self._ids)
        try:
            child.stdin.write(json.dumps({"id": number, **request}) + "\n")
            child.stdin.flush()
            while True:
                answer: dict[str, Any] = json.loads(child.stdout.readline())
                if answer["id"] == number:  # an earlier one is left over if Ctrl-C interrupted its reading
                    return answer
        except (OSError, ValueError):
            return None

    @staticmethod
    def _read(answer: dict[str, Any]) -> Answer:
        if "failed" in answer:
            error = stopped(answer["failed"].splitlines())
            return Answer(error.reports, {}, error, answer["first"])
        return Answer(read_reports(answer["text"]), answer.get("details", {}), None, answer["first"])

    def _start(self) -> None:
        self._stop()
        self._version = self._newest()
        self._errors = TemporaryFile()  # noqa: SIM115  # the child writes to it as long as it lives
        self._child = subprocess.Popen(  # noqa: S603  # our own module, in this interpreter
            [sys.executable, "-m", "tapegrad.checker.server", *self._flags, *OPTIONS, *_PLACES],
            cwd=self._folder,
            env=plain_environment() | self._variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            errors="backslashreplace",
        )

    def _stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            for stream in (child.stdin, child.stdout):
                if stream:
                    with suppress(OSError):  # the pipe of a dead child is broken
                        stream.close()
            child.kill()
            child.wait()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _last_words(self) -> str:
        """Return what the child wrote before it died."""
        if self._child is None or self._errors is None:
            return "mypy did not start"
        self._child.kill()
        code = self._child.wait()
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip() or f"mypy ended with exit code {code}"

    def _newest(self) -> str:
        """Return the time of the newest file that a child reads once: of the library, with its rules, and settings."""
        files = [*LIBRARY.rglob("*.py"), *filter(None, [self._watched])]
        return str(max(file.stat().st_mtime_ns for file in files if file.is_file()))
