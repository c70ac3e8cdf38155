"""A contestant in a process of its own, which answers questions in JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, Self

ROOT = Path(__file__).parent.parent


class JSONProcess:
    """A process that reports facts in a line of JSON when it has started, and then answers each line with one.

    Attributes:
        facts: What it has reported first.
    """

    def __init__(self, module: str, *options: str) -> None:
        # Otherwise JAX takes most of a GPU's memory when it starts, and the peak says nothing.
        environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        self.facts = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _pipe(self._process.stdin).close()
        self._process.wait()

    def ask(self, question: object) -> dict[str, Any]:
        """Write a line, and return the answer."""
        print(question, file=_pipe(self._process.stdin), flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise RuntimeError(f"a contestant ended with exit status {self._process.wait()}; its error is above")
        found: dict[str, Any] = json.loads(line)
        return found


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
