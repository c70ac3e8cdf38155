"""The child process that keeps mypy in memory: it answers requests in lines of JSON.

It loads the cache of an earlier run of mypy, reports that it is ready, and then checks one file repeatedly. It never
adds a module to its memory, which takes mypy ten seconds to two minutes and sometimes crashes it: it reports that
there is a new module, and the parent starts it again.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from mypy.dmypy_server import Server, process_start_options
from mypy.find_sources import create_source_list

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from mypy.server.update import FineGrainedBuildManager


class CheckedFile:
    """One file that mypy checks repeatedly."""

    def __init__(self, flags: list[str], path: str) -> None:
        self.options = process_start_options([*flags, "--use-fine-grained-cache"], allow_sources=False)
        self.server = Server(self.options, os.devnull + ".no_status_file")
        self.sources = create_source_list([path], self.options, self.server.fscache)
        self.check()  # before the first request, so that mypy detects the imports that the request adds

    def check(self) -> dict[str, Any]:
        """Check the current content of the file."""
        return self.server.check(self.sources, export_types=False, is_tty=False, terminal_width=80)

    def answer(self, modules: Iterable[str]) -> dict[str, Any]:
        """Check the file, unless it imports a module that is not in memory."""
        held = self.server.fine_grained_manager
        if held is None or any(_is_new(module, held) for module in modules):
            return {"new": True}
        checked = self.check()
        return {"new": False, "text": checked["out"], "failed": checked["err"]}


def _is_new(name: str, held: FineGrainedBuildManager) -> bool:
    """Return whether a name is a module that mypy has not loaded; `from m import f` may or may not name one."""
    return name not in held.graph and isinstance(held.manager.find_module_cache.find_module(name), str)


def serve(requests: TextIO, answers: TextIO, flags: list[str], path: str) -> None:
    """Report that the server is ready, and answer requests until there are no more."""
    checked_file = CheckedFile(flags, path)
    answers.write("ready\n")
    answers.flush()
    for line in requests:
        request = json.loads(line)
        answer = checked_file.answer(request["modules"])
        answers.write(json.dumps({"id": request["id"], **answer}) + "\n")
        answers.flush()


def main() -> None:
    """Serve on the standard streams of this process, and redirect the output that mypy prints."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the cell
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    *flags, path = sys.argv[1:]
    serve(sys.stdin, answers, flags, path)


if __name__ == "__main__":
    main()
