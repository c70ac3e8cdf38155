"""Logs: one line for each epoch, of JSON or of a table, cut off where a resumed run goes on."""

from __future__ import annotations

import csv
import io
import json
import os
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLE: Final = ".csv"
OF_THE_LOG = ("epoch", "step", "seconds")  # the names that a log gives itself


class Log:
    """A file that grows by a line for each epoch.

    Args:
        path: The file, a table if it ends in `.csv`, else one of JSON lines; what is in it behind `length` is cut off,
            for the run does that again.
        length: The bytes that are kept.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], length: int) -> None:
        self.path = Path(path)
        with self.path.open("ab") as file:
            file.truncate(min(length, file.tell()))  # one that someone has shortened is not filled up with zeros

    def write(self, numbers: Mapping[str, float]) -> None:
        """Append one line, which is on the disk when this returns; a table begins with the names of its columns.

        Raises:
            ValueError: A name has no column in the table, which has those of its first line.
        """
        text = self._rows(numbers) if self.path.suffix == _TABLE else _line(numbers)
        with self.path.open("ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())

    @property
    def length(self) -> int:
        """The bytes that are there."""
        return self.path.stat().st_size

    def _rows(self, numbers: Mapping[str, float]) -> str:
        with self.path.open(encoding="utf-8", newline="") as file:
            columns = next(csv.reader(file), [])
        missing = [name for name in numbers if name not in columns] if columns else []
        if missing:
            message = f"track: epoch {numbers['epoch']} notes {', '.join(missing)}: no column of {self.path.name}"
            raise ValueError(message)
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, columns or list(numbers), lineterminator="\n")
        if not columns:
            table.writeheader()
        table.writerow(numbers)
        return text.getvalue()


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the lines of a log; of one that is being written, those that are whole."""
    path = Path(path)
    lines = [line for line in path.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")]
    if path.suffix != _TABLE:
        return [json.loads(line) for line in lines]
    return [{name: _number(cell) for name, cell in row.items()} for row in csv.DictReader(lines)]


def _line(numbers: Mapping[str, float]) -> str:
    return f"{json.dumps({name: number if isfinite(number) else None for name, number in numbers.items()})}\n"


def _number(cell: str) -> float | None:
    """Return what a cell holds; what was not noted in an epoch leaves it empty."""
    if not cell:
        return None
    return int(cell) if cell.isdecimal() else float(cell)
