"""The child process that keeps mypy in memory: it answers requests in lines of JSON.

The first request makes it run mypy, which fills the cache; then it loads the cache, and from then on it checks only
what has changed. It never adds a module to its memory, which takes mypy ten seconds to two minutes and sometimes
crashes it, and never removes one, which crashes it too. If a module is new, the parent starts another child.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tapegrad.checker.details import Details
from tapegrad.checker.imports import Import, imports_in
from tapegrad.mypy.mypy_api import BuildError, ResidentMypy

if TYPE_CHECKING:
    from typing import TextIO

# A file that no disk has: it imports what the checked files did at first, so that all of it stays loaded.
LOADED: Final = "tapegrad_loaded.py"


class CheckerServer:
    """Checks the files of the first request, and again for each further one."""

    def __init__(self, flags: list[str]) -> None:
        self._flags = flags
        self._mypy: ResidentMypy | None = None
        self._loaded: dict[str, str] = {}
        self._imports: dict[str, tuple[list[str], frozenset[Import]]] = {}
        self._details = Details()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Check the files that a request names, or say that a module or a file is new."""
        paths, texts, above = request["paths"], request["texts"], request["above"]
        mypy = self._mypy
        try:
            if mypy is None:
                return {"new": False, "first": True, "text": self._first_check(paths, texts)}
            if not mypy.is_loaded or self._is_new(mypy, paths, texts):
                return {"new": True}
            mypy.files.set_texts(texts | self._loaded)
            messages = mypy.check() if above is None else mypy.check_end(paths[0], above)
        except BuildError as error:
            return {"new": False, "first": mypy is None, "failed": str(error)}
        if not request["details"]:
            return {"new": False, "first": False, "text": messages}
        self._details.read(mypy)
        details = {path: self._details.of(mypy, path, self._text(mypy, path, texts)) for path in paths}
        return {
            "new": False,
            "first": False,
            "text": messages,
            "details": {path: one for path, one in details.items() if one},
        }

    def load(self, *, with_types: bool) -> None:
        """Load the cache after the first answer; the next request has to wait for it."""
        if self._mypy is not None and not self._mypy.is_loaded:
            self._mypy.load(with_types=with_types)
            if with_types:
                self._details.read(self._mypy)

    def _first_check(self, paths: list[str], texts: dict[str, str]) -> str:
        path = str(Path(paths[0]).with_name(LOADED))
        complaints = StringIO()
        try:
            with redirect_stderr(complaints):
                mypy = ResidentMypy(self._flags, [*paths, path], texts | {path: ""})
        except SystemExit as error:  # wrong settings
            raise BuildError(complaints.getvalue().strip() or str(error)) from error
        imports = {one for text_path in paths for one in self._imported(mypy, text_path, texts)}
        self._loaded = {path: _imported_again(imports)}
        mypy.files.set_texts(texts | self._loaded)
        messages = mypy.first_check()
        self._mypy = mypy
        return "".join(f"{message}\n" for message in messages)

    def _is_new(self, mypy: ResidentMypy, paths: list[str], texts: dict[str, str]) -> bool:
        if not {*paths} <= mypy.modules.keys():
            return True
        imports = {one for path in paths for one in self._imported(mypy, path, texts)}
        return any(mypy.is_new(module) for one in imports for module in one.modules)

    def _imported(self, mypy: ResidentMypy, path: str, texts: dict[str, str]) -> frozenset[Import]:
        text = self._text(mypy, path, texts)
        lines = [line for line in text.splitlines() if "import" in line]
        known, found = self._imports.get(path, (None, frozenset[Import]()))
        if lines != known:
            try:
                found = imports_in(text, mypy.package_of(path))
            except SyntaxError:  # mypy reports it, and follows no import
                return found
            self._imports[path] = lines, found
        return found

    @staticmethod
    def _text(mypy: ResidentMypy, path: str, texts: dict[str, str]) -> str:
        return texts[path] if path in texts else mypy.files.read(path).decode(errors="replace")


def _imported_again(imports: set[Import]) -> str:
    statements = (f"{one.statement} as _{number}\n" for number, one in enumerate(sorted(imports)))
    return f"# mypy: ignore-errors\n{''.join(statements)}"


def serve(requests: TextIO, answers: TextIO, flags: list[str]) -> None:
    """Answer requests until there are no more."""
    server = CheckerServer(flags)
    for line in requests:
        request = json.loads(line)
        answers.write(json.dumps({"id": request["id"], **server.answer(request)}) + "\n")
        answers.flush()
        server.load(with_types=request["details"])


def main() -> None:
    """Serve on the standard streams of this process, and redirect the output that mypy prints."""
    gc.set_threshold(200 * 1000, 30, 30)  # as mypy does at its own start
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the parent
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin, answers, sys.argv[1:])


if __name__ == "__main__":
    main()
