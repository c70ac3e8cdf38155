"""How long an editor waits: from an edit to its errors, for a hover, and for the hints of a file.

Run it as `python -m benchmarks.editor`; it opens an example in a real language server, through its streams.
"""

from __future__ import annotations

import shutil
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from tapegrad.lsp.session import DEBOUNCE
from tests.lsp.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES: Final = Path(__file__).parent.parent / "examples"
TIMES: Final = 25
MISTAKE: Final = "\n_ = tg.ones((2, {0})) @ tg.ones((2, {0}))\n"


def main() -> None:
    """Print the medians and the extremes."""
    with TemporaryDirectory(prefix="tapegrad") as place:
        folder = Path(place)
        for file in ("multi_head.py", "shared.py"):
            shutil.copy(EXAMPLES / file, folder)
        text = (folder / "multi_head.py").read_text("utf-8")
        print(f"multi_head.py, {text.count(chr(10))} lines; {DEBOUNCE * 1000:.0f} ms of each edit are the debounce")
        for state in ("cold cache", "warm cache"):
            started = time.perf_counter()
            client = Client(folder)
            client.open("multi_head.py", text)
            client.errors("multi_head.py")
            print(f"opening, {state}: {time.perf_counter() - started:.1f} s to the first errors")
            if state == "cold cache":
                client.stop()
        report("edit to errors", [edit(client, text, number) for number in range(3, 3 + TIMES)])
        report("hover", [duration(lambda: client.hover("multi_head.py", r"def ")) for _ in range(TIMES)])
        hints = client.hints("multi_head.py")
        report(f"{len(hints)} hints", [duration(lambda: client.hints("multi_head.py")) for _ in range(TIMES)])
        client.stop()


def edit(client: Client, text: str, number: int) -> float:
    """Return the time from an edit to the error that it makes."""
    client.edit("multi_head.py", text + MISTAKE.format(number))
    started = time.perf_counter()
    errors = client.errors("multi_head.py")
    assert len(errors) == 1, errors
    return time.perf_counter() - started


def duration(act: Callable[[], object]) -> float:
    """Return how long a call takes, in seconds."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def report(name: str, seconds: list[float]) -> None:
    """Print one row."""
    median, least, most = statistics.median(seconds), min(seconds), max(seconds)
    print(f"{name}: median {median * 1000:.1f} ms, {least * 1000:.1f} to {most * 1000:.1f}")


if __name__ == "__main__":
    main()
