"""The session: checks the open files in a thread of its own, again after each edit."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Condition, Thread
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from tapegrad.checker.process import CheckerError, CheckerProcess
from tapegrad.lsp.results import Results, finding_of, is_shown, known_in
from tapegrad.project.reports import SYNTAX, MypyError
from tapegrad.project.settings import OWN, read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tapegrad.checker.process import Answer

DEBOUNCE: Final = 0.1  # seconds without an edit, before mypy checks
DIED: Final = "tapegrad: mypy stopped unexpectedly, and was started again"


class Document(NamedTuple):
    """An open file.

    Attributes:
        version: The editor's number of this text.
    """

    text: str
    version: int | None


class Editor(Protocol):
    """What the session sends to the editor; called in the session's thread."""

    def publish(self, path: str, results: Results, version: int | None) -> None:
        """Show the findings in a file, and ask for its hints again."""

    def show(self, message: str) -> None:
        """Show a message to the user."""

    def working(self, message: str) -> None:
        """Show that mypy starts, which takes seconds; an empty message ends that."""


class Session:
    """The open files, and what mypy knows of them.

    Attributes:
        results: By path, of the files that mypy has checked, also of those that are closed again.
    """

    def __init__(self, folder: Path, editor: Editor, *, all_errors: bool) -> None:
        """Prepare a session; `start` begins to check.

        Args:
            folder: Where mypy runs and finds its settings.
            editor: What shows the results of each check.
            all_errors: Whether all errors of mypy are shown, not only those about tensors.
        """
        self.results: dict[str, Results] = {}
        self._folder = folder
        self._editor = editor
        self._all_errors = all_errors
        self._documents: dict[str, Document] = {}
        self._said: set[str] = set()
        self._condition = Condition()
        self._due: float | None = None  # when to check next
        self._is_closed = False
        self._process: CheckerProcess | None = None
        self._cache: TemporaryDirectory[str] | None = None
        self._thread = Thread(target=self._run, name="tapegrad checks", daemon=True)

    def start(self) -> None:
        """Start the thread that checks."""
        self._thread.start()

    def change(self, path: str, document: Document | None) -> None:
        """Take over a text of the editor; None if the file was closed.

        Args:
            path: With all symbolic links resolved.
            document: The text.
        """
        with self._condition:
            if document is None:
                self._documents.pop(path, None)
            else:
                self._documents[path] = document
            self._due = time.monotonic() + DEBOUNCE
            self._condition.notify()

    def check_again(self) -> None:
        """Check at once: a file on the disk has changed."""
        with self._condition:
            self._due = time.monotonic()
            self._condition.notify()

    def close(self) -> None:
        """Stop checking, and stop the child."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()
        if self._process is not None:
            self._process.close()
        if self._cache is not None:
            self._cache.cleanup()

    def _run(self) -> None:
        while (documents := self._wait()) is not None:
            if documents:
                try:
                    self._check(documents)
                except Exception as error:  # noqa: BLE001  # the thread has to go on, and the user to know
                    self._show_once(f"tapegrad checked nothing: {type(error).__name__}: {error}")

    def _wait(self) -> dict[str, Document] | None:
        """Return the open files when a check is due; None if the session is closed."""
        with self._condition:
            while not self._is_closed:
                left = None if self._due is None else self._due - time.monotonic()
                if left is not None and left <= 0:
                    self._due = None
                    return dict(self._documents)
                self._condition.wait(left)
        return None

    def _check(self, documents: dict[str, Document]) -> None:
        process = self._usable_process()
        if process is None:
            return
        self._editor.working("" if process.is_running else "mypy reads the libraries")
        try:
            answer = process.check(sorted(documents), {path: one.text for path, one in documents.items()}, details=True)
        except (CheckerError, MypyError) as error:
            self._show_once(f"tapegrad checks nothing: {error}")
            return
        finally:
            self._editor.working("")
        if answer.is_first and answer.stopped is None:
            with self._condition:  # the details come with the next answer
                self._due = self._due or time.monotonic()
        if answer.stopped is not None or any(one.code == SYNTAX for one in answer.reports):
            self._show_what_stops(answer, documents)
        self._publish(answer, documents)

    def _usable_process(self) -> CheckerProcess | None:
        """Return the process that checks; None if the settings of the folder lack the plugin."""
        if self._process is None:
            settings = read_settings(self._folder)
            if settings.file is not None and not settings.has_plugin:
                self._show_once(
                    f"tapegrad checks nothing: {settings.file} does not name the plugin."
                    " `python -m tapegrad doctor` shows what to add."
                )
                return None
            cache = settings.cache / "editor"
            if not os.access(self._folder, os.W_OK):
                self._cache = TemporaryDirectory(prefix="tapegrad")
                cache = Path(self._cache.name)
            file = settings.file or OWN
            flags = ["--config-file", str(file), "--cache-dir", str(cache)]
            self._process = CheckerProcess(self._folder, flags, watched=file, on_death=lambda: self._editor.show(DIED))
        return self._process

    def _show_what_stops(self, answer: Answer, documents: Mapping[str, Document]) -> None:
        """Show the user what keeps mypy from checking, unless that is an error in an open file."""
        stopping = answer.reports if answer.stopped is not None else [r for r in answer.reports if r.code == SYNTAX]
        if any(report.line > 0 and self._path(report.file) in documents for report in stopping):
            return
        text = str(answer.stopped or f"{stopping[0].file}:{stopping[0].line}: {stopping[0].text}")
        self._show_once(f"tapegrad checks nothing: mypy stopped: {text}")

    def _show_once(self, message: str) -> None:
        """Show a message, but each only once."""
        if message not in self._said:
            self._said.add(message)
            self._editor.show(message)

    def _path(self, file: str) -> str:
        return os.path.realpath(self._folder / file)

    def _publish(self, answer: Answer, documents: Mapping[str, Document]) -> None:
        shows_all = self._all_errors or answer.stopped is not None  # then only what stopped mypy is reported
        for path, document in documents.items():
            lines = document.text.splitlines()
            findings = tuple(
                finding_of(report, lines)
                for report in answer.reports
                if report.line > 0 and self._path(report.file) == path and is_shown(report, all_errors=shows_all)
            )
            results = replace(self.results.get(path, Results()), text=document.text, findings=findings)
            if details := answer.details.get(path):
                known, hints = known_in(details["known"]), known_in(details["hints"])
                results = replace(results, described=document.text, known=known, hints=hints)
            with self._condition:
                if path not in self._documents:
                    continue
                self.results[path] = results
            self._editor.publish(path, results, document.version)
