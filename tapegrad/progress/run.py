"""Training runs: epochs over batches with a progress display, a log, early stopping and resumption."""

from __future__ import annotations

import time
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, SupportsFloat

import numpy as np
from typing_extensions import TypeVar

from tapegrad.errors import DTypeError, messages
from tapegrad.errors.options import check_at_least_zero, check_count
from tapegrad.errors.tracebacks import public_api
from tapegrad.io import load, save
from tapegrad.io.atomic import check_folder, remove_leftovers
from tapegrad.io.formats import format_of, headers
from tapegrad.progress.display import Display, display, written
from tapegrad.progress.log import OF_THE_LOG, Log
from tapegrad.progress.loggers import Logger, loggers_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from tapegrad.progress.stopping import EarlyStopping

Item = TypeVar("Item", covariant=True, default=Any)

OURS = ("run", "batches", "until")  # names in a checkpoint that are reserved for the run


class Passes(Protocol[Item]):
    """An iterable with a length that can be iterated repeatedly: `Batches`, a range, a list."""

    def __len__(self) -> int:
        """Return the number of items in one pass."""

    def __iter__(self) -> Iterator[Item]:
        """Start a pass."""


@public_api
class Epoch(Generic[Item]):
    """One pass over the batches of a run, which can be iterated once, and the metrics noted in it.

    Attributes:
        number: The number of the epoch, from 1.

    Examples:
        >>> for epoch in tg.progress.track([4.0, 2.0], epochs=2, show=False):
        ...     for number in epoch:
        ...         epoch.note(loss=number / epoch.number)
        ...     print(epoch.number, epoch.step, epoch.means)
        1 1 {'loss': 3.0}
        2 3 {'loss': 1.5}
    """

    def __init__(self, run: Run[Item]) -> None:
        self.run = run
        self.number = run.done + 1
        self._has_begun = False
        self._sums = run.sums  # kept here, because the run replaces its dict for the next epoch

    @property
    def step(self) -> int:
        """The index of the current batch in the whole run, from 0, for learning rate schedules."""
        return (self.number - 1) * len(self.run.batches) + max(self.run.passed - 1, 0)

    def __iter__(self) -> Iterator[Item]:
        if self._has_begun:
            message = f"Epoch: epoch {self.number} is finished; a loop over the run returns the next one"
            raise ValueError(message)
        self._has_begun = True
        return self._items()

    def _items(self) -> Iterator[Item]:
        run = self.run
        first = 0 if _has_state(run.batches) else run.passed  # an iterable without state is skipped to its position
        for item in islice(iter(run.batches), first, None):
            run.passed += 1
            yield item
            run._draw(self)
            run._save_if_due()

    def note(self, **numbers: SupportsFloat) -> None:
        """Record metrics by name; the mean over the epoch is shown and logged.

        Args:
            numbers: Floats, or tensors of one element: `note(loss=loss)`.

        Raises:
            ValueError: A name is reserved for the log.
        """
        for name, number in numbers.items():
            if name in OF_THE_LOG:
                message = f"Epoch.note: {name} is noted by the log itself"
                raise ValueError(message)
            total, count = self._sums.get(name, (0.0, 0))
            self._sums[name] = total + float(number), count + 1

    @property
    def means(self) -> dict[str, float]:
        """The means of the metrics noted in this epoch so far, by name."""
        return {name: total / count for name, (total, count) in self._sums.items()}


@public_api
class Run(Generic[Item]):
    """Iterable of epochs, created by `track`.

    Attributes:
        batches: The batches of each epoch.
        epochs: The total number of epochs.
        done: The number of epochs that are done.
        passed: The number of batches yielded in the current epoch.
        is_over: Whether early stopping has ended the run.
        seconds: The run time in seconds at the last checkpoint, summed over all processes.

    Examples:
        >>> run = tg.progress.track(range(3), epochs=2, show=False)
        >>> for epoch in run:
        ...     print(list(epoch), run.done)
        [0, 1, 2] 0
        [0, 1, 2] 1
        >>> run.done
        2
    """

    def __init__(
        self,
        batches: Passes[Item],
        epochs: int,
        *,
        log: str | os.PathLike[str] | Logger | Sequence[Logger] | None,
        checkpoint: str | os.PathLike[str] | None,
        saved: Mapping[str, object] | None,
        every: float,
        until: EarlyStopping | None,
        show: bool,
    ) -> None:
        _check(epochs, checkpoint, saved, every)
        self.batches = batches
        self.epochs = epochs
        self.until = until
        self.every = every
        self.show = show
        self.done = self.passed = 0
        self.is_over = False
        self.seconds = 0.0
        self.sums: dict[str, tuple[float, int]] = {}
        self.log: Log | None = None
        self.loggers: list[Logger] = []
        if log is not None and not isinstance(log, str | PathLike):
            self.loggers = loggers_of(log)
        self._log_length = 0
        self._display = Display()

        self._path = None if checkpoint is None else Path(checkpoint)
        ours = {"run": self, "batches": batches, "until": until}
        self._saved = {**(saved or {}), **{name: one for name, one in ours.items() if _has_state(one)}}
        if self._path is not None:
            remove_leftovers(self._path)  # temporary files of processes killed while they wrote a checkpoint
        if self._path is not None and self._path.exists():
            prefix = "run.sums."
            names = [name.removeprefix(prefix) for name in headers("load", self._path) if name.startswith(prefix)]
            self.sums = dict.fromkeys(names, (0.0, 0))  # `load` expects exactly the metrics that the file contains
            load(self._saved, self._path)
        if isinstance(log, str | PathLike):
            self.log = Log(log, self._log_length)
        self._since = self._saved_at = time.monotonic()
        self._before = self.done * len(batches) + self.passed, self.seconds

    def __iter__(self) -> Iterator[Epoch[Item]]:
        if self.show:
            self._display = display(self.epochs * len(self.batches), self._before[0])
        self._since = self._saved_at = time.monotonic()
        try:
            while self.done < self.epochs and not self.is_over:
                epoch = Epoch(self)
                yield epoch
                self._end(epoch)
        finally:
            self._display.stop()

    def arrays(self) -> dict[str, Any]:
        """Return the progress of the run as arrays, for `tapegrad.io.save`."""
        length = self._log_length if self.log is None else self.log.length
        numbers = {"done": self.done, "passed": self.passed, "is_over": self.is_over, "log": length}
        sums = {f"sums.{name}": np.asarray(one, np.float64) for name, one in self.sums.items()}
        return {name: np.asarray(number) for name, number in (numbers | {"seconds": self.seconds}).items()} | sums

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Restore the result of `arrays`."""
        self.done, self.passed, self._log_length = (int(arrays[name]) for name in ("done", "passed", "log"))
        self.is_over, self.seconds = bool(arrays["is_over"]), float(arrays["seconds"])
        for name in self.sums:
            total, count = arrays[f"sums.{name}"].tolist()
            self.sums[name] = total, int(count)

    def _draw(self, epoch: Epoch[Any]) -> None:
        if self._display.is_due():
            self._display.draw(self._text(epoch), self.done * len(self.batches) + self.passed)

    def _save_if_due(self, *, is_due: bool = False) -> None:
        """Write a checkpoint if one is due."""
        now = time.monotonic()
        if self._path is not None and (is_due or now - self._saved_at >= self.every):
            self.seconds = self._before[1] + now - self._since
            save(self._saved, self._path)
            self._saved_at = now

    def _end(self, epoch: Epoch[Any]) -> None:
        """Finish an epoch: check early stopping, show and log the epoch, and write a checkpoint if due."""
        means = epoch.means
        if self.until is not None:
            if self.until.name not in means:
                noted = ", ".join(means) or "nothing"
                message = f"track: until watches {self.until.name}, but epoch {epoch.number} noted {noted}"
                raise ValueError(message)
            self.is_over = self.until.is_over(means[self.until.name])
        self._display.close(self._text(epoch), (self.done + 1) * len(self.batches))
        if self.log is not None:
            seconds = round(self._before[1] + time.monotonic() - self._since, 3)
            step = epoch.number * len(self.batches)
            self.log.write({"epoch": epoch.number, "step": step, "seconds": seconds} | means)
        for logger in self.loggers:
            logger.log(epoch.number * len(self.batches), means)
        self.done, self.passed, self.sums = self.done + 1, 0, {}
        self._save_if_due(is_due=self.is_over or self.done == self.epochs)

    def _text(self, epoch: Epoch[Any]) -> str:
        count = self.done * len(self.batches) + self.passed - self._before[0]
        rate = count * getattr(self.batches, "size", 1) / max(time.monotonic() - self._since, 1e-9)
        unit = "rows" if hasattr(self.batches, "size") else "batches"
        pace = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        parts = (f"epoch {epoch.number}/{self.epochs}", written(epoch.means), f"{pace} {unit}/s")
        return ", ".join(filter(None, parts))


@public_api
def track(
    batches: Passes[Item],
    *,
    epochs: int = 1,
    log: str | os.PathLike[str] | Logger | Sequence[Logger] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    saved: Mapping[str, object] | None = None,
    every: float = 60.0,
    until: EarlyStopping | None = None,
    show: bool = True,
) -> Run[Item]:
    """Iterate over batches epoch by epoch, with a progress display, a log, and checkpoints to resume from.

        for epoch in track(batches, epochs=20):
            for x, y in epoch:
                loss = cross_entropy(model(x.trace()), y)
                opt.step(loss.backward(wrt=model))
                epoch.note(loss=loss)

    In a notebook, and in a terminal if rich is installed, a bar shows the metrics, the rows per second and the
    remaining time. Otherwise a line is printed for each epoch. Terminals and files get both on standard error.

    With a checkpoint, the same program resumes when it is run again, also in the middle of an epoch. The resulting
    parameters are identical, bit for bit, to those of an uninterrupted run. This requires that `saved` contains all
    objects that the loop changes: the model, the optimizer, and the generators that the loop draws from. A learning
    rate schedule follows from `epoch.step`. A finished run continues if `epochs` is increased, unless `until` ended it.

    Args:
        batches: The batches of each epoch: `Batches`, or another iterable with a length that can be iterated
            repeatedly. The checkpoint contains the position; an iterable without state, such as a range, is skipped to
            that position.
        epochs: The total number of epochs, at least 1.
        log: A file to which a line is written for each epoch, as JSON, or as CSV if its name ends in `.csv`: the number
            of the epoch, its last step, the seconds since the start, and the means of the metrics. In JSON, NaN and
            infinities are null. A CSV file has columns for the metrics of the first epoch. A new run overwrites the
            file. Or a logger, or a list of them, such as `TensorBoard`: its `log` is called after each epoch, with the
            number of steps so far and the means of the metrics.
        checkpoint: A file, `.npz` or `.safetensors`, that is written periodically and at the end. If it exists, the run
            resumes from it.
        saved: The objects in the checkpoint, by name: any that `tapegrad.io.save` accepts.
        every: The seconds between two checkpoints, at least 0, which means one for each batch.
        until: An early stopping criterion, or None.
        show: Whether to show progress.

    Returns:
        An iterable of epochs, which are iterables of batches.

    Raises:
        DTypeError: `epochs` is not an int, `every` is not a number, or `log` is neither a path nor a logger.
        ValueError: A number is out of range, only one of `checkpoint` and `saved` is given, or a name in `saved` is
            reserved. During the run: an epoch did not note the metric of `until`.
        FileError: The suffix of `checkpoint` is unknown, or the file does not match `saved`.
        OSError: The folder of `checkpoint` does not exist or is not writable, or a file cannot be read or written.

    Examples:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "run.csv")
        ...     for epoch in tg.progress.track([0.5, 0.25], epochs=2, log=path, show=False):
        ...         for loss in epoch:
        ...             epoch.note(loss=loss / epoch.number)
        ...     print([line.split(",")[-1] for line in path.read_text().splitlines()])
        ['loss', '0.375', '0.1875']
    """
    if not hasattr(batches, "__iter__"):
        kind = messages.with_article(type(batches).__name__)
        message = (
            f"track: batches is {kind} but an iterable of batches is expected, such as data.batches(x, y, size=32)"
        )
        raise DTypeError(message)
    return Run(batches, epochs, log=log, checkpoint=checkpoint, saved=saved, every=every, until=until, show=show)


def _check(
    epochs: int, checkpoint: str | os.PathLike[str] | None, saved: Mapping[str, object] | None, every: float
) -> None:
    check_count("track", "epochs", epochs)
    check_at_least_zero("track", "every", every)
    if checkpoint is not None and not saved:
        message = f"track: checkpoint is {Path(checkpoint).name}, but there is nothing in saved"
        raise ValueError(message)
    if checkpoint is None and saved:
        message = f"track: saved has {', '.join(saved)}, but there is no checkpoint to save it to"
        raise ValueError(message)
    for name in saved or ():
        if name in OURS:
            message = f"track: {name} in saved is a name of the run's own"
            raise ValueError(message)
    if checkpoint is not None:
        format_of("track", Path(checkpoint))
        check_folder("track", Path(checkpoint))


def _has_state(one: object) -> bool:
    return hasattr(one, "arrays") and hasattr(one, "restore")
