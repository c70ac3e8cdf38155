"""Loggers: objects that take the numbers of a training by step, such as files and TensorBoard."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, SupportsFloat, runtime_checkable

from tapegrad.errors import DTypeError
from tapegrad.errors.messages import with_article
from tapegrad.errors.tracebacks import public_api
from tapegrad.progress.log import Log

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


@runtime_checkable
class Logger(Protocol):
    """An object that logs the numbers of a training: `LogFile`, `TensorBoard`, or a class of your own.

    Examples:
        >>> class Printed:
        ...     def log(self, step, values):
        ...         print(step, dict(values))
        >>> for epoch in tg.progress.track([0.5, 0.25], epochs=2, log=Printed(), show=False):
        ...     for loss in epoch:
        ...         epoch.note(loss=loss / epoch.number)
        2 {'loss': 0.375}
        4 {'loss': 0.1875}
    """

    def log(self, step: int, values: Mapping[str, SupportsFloat]) -> None:
        """Log numbers, or tensors of one element, by name.

        Args:
            step: The number of steps so far.
            values: The numbers by name.
        """


@public_api
class LogFile:
    """A file with a line for each call of `log`, as JSON, or as CSV if its name ends in `.csv`.

    A CSV file has the columns of its first line. A file that exists is overwritten.

    Args:
        path: The file.

    Raises:
        OSError: The file cannot be written.

    Examples:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = tg.progress.LogFile(pathlib.Path(folder, "steps.csv"))
        ...     for step in range(3):
        ...         file.log(step, {"loss": 1 / (step + 1)})
        ...     print(pathlib.Path(folder, "steps.csv").read_text().split())
        ['step,loss', '0,1.0', '1,0.5', '2,0.3333333333333333']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = Log(path, 0)

    def log(self, step: int, values: Mapping[str, SupportsFloat]) -> None:
        """Append a line.

        Args:
            step: The number of steps so far.
            values: The numbers by name, floats or tensors of one element.

        Raises:
            ValueError: A name is no column of the CSV file.
        """
        self._file.write({"step": step} | {name: float(value) for name, value in values.items()})


@public_api
class TensorBoard:
    """A folder of event files that TensorBoard shows; needs the package tensorboardX.

    A run that resumes may use the same folder: what it logged after the step at which it continues is not shown.

    Args:
        folder: The folder; it is made at the first call of `log`.

    Raises:
        ImportError: tensorboardX is not installed.

    Examples:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     board = tg.progress.TensorBoard(folder)
        ...     for step in range(3):
        ...         board.log(step, {"loss": 1 / (step + 1)})
        ...     board.close()
        ...     print([path.name[:6] for path in pathlib.Path(folder).iterdir()])
        ['events']
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            # By name, because the package has no types.
            self._package = importlib.import_module("tensorboardX")
        except ImportError:
            message = 'TensorBoard: an event file needs the package tensorboardX: pip install "tapegrad[tensorboard]"'
            raise ImportError(message) from None
        self._writer: Any = None

    def log(self, step: int, values: Mapping[str, SupportsFloat]) -> None:
        """Write a scalar for each name.

        Args:
            step: The number of steps so far.
            values: The numbers by name, floats or tensors of one element; `train/loss` is in the group `train`.
        """
        if self._writer is None:
            self._writer = self._package.SummaryWriter(str(self.folder), purge_step=step)
        for name, value in values.items():
            self._writer.add_scalar(name, float(value), step)
        self._writer.flush()

    def close(self) -> None:
        """Close the event file; a later call of `log` begins another."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def loggers_of(log: Logger | Sequence[Logger]) -> list[Logger]:
    """Return the loggers that `track` was given.

    Raises:
        DTypeError: One of them has no method `log`.
    """
    several: list[object] = list(log) if isinstance(log, list | tuple) else [log]
    found: list[Logger] = []
    for one in several:
        if not isinstance(one, Logger):
            given = with_article(type(one).__name__)
            message = f"track: log is {given}, neither a path nor an object with log(step, values)"
            raise DTypeError(message)
        found.append(one)
    return found
