"""Training logs: one line for each epoch, as JSON lines or CSV, truncated when a run is resumed."""

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
OF_THE_LOG = ("epoch", "step", "seconds")  # names that are reserved for the log


class Log:
    """A log file to which a run appends a line for each epoch.

    Args:
        path: The file, CSV if its name ends in `.csv`, otherwise JSON lines. It is truncated to `length`, because a
            resumed run repeats the epochs after it.
        length: The number of bytes to keep.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], length: int) -> None:
        self.path = Path(path)
        with self.path.open("ab") as file:
            file.truncate(min(length, file.tell()))  # a file shorter than `length` must not be padded with zeros

    def write(self, numbers: Mapping[str, float]) -> None:
        """Append one line and flush it to disk; the first line of a CSV file has the column names.

        Raises:
            ValueError: A name is not a column of the CSV file.
        """
        text = self._rows(numbers) if self.path.suffix == _TABLE else _line(numbers)
        with self.path.open("ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())

    @property
    def length(self) -> int:
        """The size of the file in bytes."""
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
    """Return the lines of a log; a last line that is incomplete, because it is being written, is skipped."""
    path = Path(path)
    lines = [line for line in path.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")]
    if path.suffix != _TABLE:
        return [json.loads(line) for line in lines]
    return [{name: _number(cell) for name, cell in row.items()} for row in csv.DictReader(lines)]


def _line(numbers: Mapping[str, float]) -> str:
    return f"{json.dumps({name: number if isfinite(number) else None for name, number in numbers.items()})}\n"


def _number(cell: str) -> float | None:
    """Return the number in a cell, or None if the epoch did not note that name."""
    if not cell:
        return None
    return int(cell) if cell.isdecimal() else float(cell)
