"""Logs: one line of JSON for each epoch, cut off where a resumed run goes on."""

from __future__ import annotations

import json
import os
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

OF_THE_LOG = ("epoch", "step", "seconds")  # the names that a log gives itself


class Log:
    """A file that grows by a line for each epoch.

    Args:
        path: The file; what is in it behind `length` is cut off, for the run does that again.
        length: The bytes that are kept.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], length: int) -> None:
        self.path = Path(path)
        with self.path.open("ab") as file:
            file.truncate(min(length, file.tell()))  # one that someone has shortened is not filled up with zeros

    def write(self, numbers: Mapping[str, float]) -> None:
        """Appends one line, which is on the disk when this returns."""
        line = json.dumps({name: number if isfinite(number) else None for name, number in numbers.items()})
        with self.path.open("ab") as file:
            file.write(f"{line}\n".encode())
            file.flush()
            os.fsync(file.fileno())

    @property
    def length(self) -> int:
        """The bytes that are there."""
        return self.path.stat().st_size


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Returns the lines of a log; of one that is being written, those that are whole."""
    return [json.loads(line) for line in Path(path).read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
