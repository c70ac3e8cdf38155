"""What is seen of a run: a bar in a terminal, whole lines elsewhere, both on the standard error."""

from __future__ import annotations

import importlib
import sys
import time
from math import inf
from typing import TYPE_CHECKING, Any

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Mapping

REDRAWN = 0.1  # seconds between two pictures of a bar


def display(total: int, done: int) -> Display:
    """Return a bar where the standard error is a terminal and rich is installed, lines where not.

    Args:
        total: Batches in the whole run.
        done: Those that were done before, by a process that was killed.
    """
    if not sys.stderr.isatty():
        return Lines()
    try:
        return Bar(total, done)
    except ImportError:
        return Lines()


class Display:
    """Shows nothing."""

    def is_due(self) -> bool:
        """Return whether something would be drawn now."""
        return False

    def draw(self, text: str, done: int) -> None:
        """Show how many batches are done."""

    def close(self, text: str, done: int) -> None:
        """Show what came of an epoch."""

    def stop(self) -> None:
        """Leave the terminal as it was."""


class Lines(Display):
    """One line for each epoch; rich is not even imported."""

    @override
    def close(self, text: str, done: int) -> None:
        print(text, file=sys.stderr, flush=True)  # noqa: T201  # what this class is for


class Bar(Display):
    """One line that is drawn again and again, with the time that is left.

    It is drawn between two batches, and by no thread: whatever the program does meanwhile has all of the processor.

    Raises:
        ImportError: rich is not installed.
    """

    def __init__(self, total: int, done: int) -> None:
        rich: Any = importlib.import_module("rich.progress")
        console: Any = importlib.import_module("rich.console").Console(stderr=True)
        columns = (rich.BarColumn(20), rich.TaskProgressColumn(), "{task.description}", rich.TimeRemainingColumn())
        self.progress: Any = rich.Progress(*columns, console=console, auto_refresh=False)
        self.task = self.progress.add_task("", total=total, completed=done)
        self.drawn = -inf
        self.progress.start()

    @override
    def is_due(self) -> bool:
        return time.monotonic() - self.drawn >= REDRAWN

    @override
    def draw(self, text: str, done: int) -> None:
        self.progress.update(self.task, description=text, completed=done, refresh=True)
        self.drawn = time.monotonic()

    @override
    def close(self, text: str, done: int) -> None:
        self.progress.update(self.task, description=text, completed=done)

    @override
    def stop(self) -> None:
        self.progress.stop()


def written(numbers: Mapping[str, float]) -> str:
    """Return numbers with their names, `loss 0.123, test accuracy 0.98`."""
    return ", ".join(f"{name.replace('_', ' ')} {number:.4g}" for name, number in numbers.items())
