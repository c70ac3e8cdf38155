"""A progress line under a cell that waits for mypy; it is cleared when the check is done."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import Event, Timer
from typing import TYPE_CHECKING, Final

from IPython.display import clear_output

if TYPE_CHECKING:
    from collections.abc import Generator

    from IPython.core.interactiveshell import InteractiveShell

DELAY: Final = 1.0  # seconds; most cells are checked faster and show nothing
TEXT: Final = "mypy is checking this cell; a new package takes up to a minute"


@contextmanager
def shown_while_slow(shell: InteractiveShell, delay: float = DELAY) -> Generator[None]:
    """Show the user that mypy is running if it takes longer than a delay."""
    if not (hasattr(shell, "kernel") or sys.stdout.isatty()):
        yield
        return
    is_shown = Event()

    def show() -> None:
        is_shown.set()
        print(TEXT, end="", flush=True)

    timer = Timer(delay, show)
    timer.daemon = True  # so that a kernel can shut down without waiting for it
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if is_shown.is_set():  # the cell has printed nothing yet, so there is nothing else to clear
            clear_output()
