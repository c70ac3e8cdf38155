"""Progress display: a bar in a terminal or below the cell of a notebook, otherwise one line for each epoch."""

from __future__ import annotations

import importlib
import sys
import time
from datetime import timedelta
from html import escape
from math import inf
from typing import TYPE_CHECKING, Any

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Mapping

REDRAWN = 0.1  # seconds between two updates of the bar
WIDE = 70  # columns of a terminal, from which on the remaining time is shown
SHORTEST = 8  # columns of the bar beside a long text


def display(total: int, done: int) -> Display:
    """Return a bar in a notebook, and in a terminal if rich is installed, otherwise a display of lines.

    Args:
        total: The number of batches in the whole run.
        done: The number of batches that were done before the run was resumed.
    """
    if _is_in_notebook():
        return NotebookBar(total, done)
    if not sys.stderr.isatty():
        return Lines()
    try:
        return Bar(total, done)
    except ImportError:
        return Lines()


class Display:
    """Base class of displays, which shows nothing."""

    def is_due(self) -> bool:
        """Return whether it is time to update the display."""
        return False

    def draw(self, text: str, done: int) -> None:
        """Show a text and the number of batches done."""

    def close(self, text: str, done: int) -> None:
        """Show the results of an epoch."""

    def stop(self) -> None:
        """Restore the terminal."""


class Lines(Display):
    """Prints one line for each epoch, without rich."""

    @override
    def close(self, text: str, done: int) -> None:
        print(text, file=sys.stderr, flush=True)  # noqa: T201  # printing is the purpose of this class


class NotebookBar(Display):
    """A progress bar below the cell that runs, in HTML: it needs no widgets, and stays in the saved notebook."""

    def __init__(self, total: int, done: int) -> None:
        self.total = total
        self.before = done
        self.since = time.monotonic()
        self.drawn = -inf
        show: Any = importlib.import_module("IPython.display").display
        self.handle = show(self._bundle("", done), raw=True, display_id=True)

    @override
    def is_due(self) -> bool:
        return time.monotonic() - self.drawn >= REDRAWN

    @override
    def draw(self, text: str, done: int) -> None:
        self.handle.update(self._bundle(text, done), raw=True)
        self.drawn = time.monotonic()

    @override
    def close(self, text: str, done: int) -> None:
        self.draw(text, done)

    def _bundle(self, text: str, done: int) -> dict[str, str]:
        """Return the bar as text and as HTML."""
        count = done - self.before
        seconds = (self.total - done) * (time.monotonic() - self.since) / count if count > 0 else 0.0
        remaining = f", {timedelta(seconds=round(seconds))} left" if seconds else ""
        shown = f"{done / max(self.total, 1):.0%} {text}{remaining}".rstrip()
        bar = f'<progress value="{done}" max="{self.total}"></progress>'
        return {"text/plain": shown, "text/html": f"<div>{bar} {escape(shown)}</div>"}


class Bar(Display):
    """A progress bar with the remaining time.

    It is drawn between two batches and not by a thread, so that it takes no processor time during a batch.

    Raises:
        ImportError: rich is not installed.
    """

    def __init__(self, total: int, done: int) -> None:
        rich: Any = importlib.import_module("rich.progress")
        console: Any = importlib.import_module("rich.console").Console(stderr=True)
        self.is_wide = console.width >= WIDE
        bar, remaining = (
            rich.BarColumn(20 if self.is_wide else SHORTEST),
            [rich.TimeRemainingColumn()] if self.is_wide else [],
        )
        columns = (bar, rich.TaskProgressColumn(), "{task.description}", *remaining)
        self.progress: Any = rich.Progress(*columns, console=console, auto_refresh=False)
        self.task = self.progress.add_task("", total=total, completed=done)
        self.drawn = -inf
        self.progress.start()

    @override
    def is_due(self) -> bool:
        return time.monotonic() - self.drawn >= REDRAWN

    @override
    def draw(self, text: str, done: int) -> None:
        self.progress.update(self.task, description=self._cut(text), completed=done, refresh=True)
        self.drawn = time.monotonic()

    @override
    def close(self, text: str, done: int) -> None:
        self.progress.update(self.task, description=self._cut(text), completed=done)

    @override
    def stop(self) -> None:
        self.progress.stop()

    def _cut(self, text: str) -> str:
        """Return as much of a text as fits on the line; otherwise rich leaves the bar out."""
        beside = "100%   0:00:00" if self.is_wide else "100%  "
        width = self.progress.console.width - SHORTEST - len(beside)
        return text if len(text) <= width else f"{text[: max(width, 1) - 1]}…"


def _is_in_notebook() -> bool:
    """Return whether a kernel of Jupyter runs this program; IPython in a terminal is none."""
    interactive: Any = sys.modules.get("IPython")
    return interactive is not None and hasattr(interactive.get_ipython(), "kernel")


def written(numbers: Mapping[str, float]) -> str:
    """Format numbers with their names: `loss 0.123, test accuracy 0.98`."""
    return ", ".join(f"{name.replace('_', ' ')} {number:.4g}" for name, number in numbers.items())
