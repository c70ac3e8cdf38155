"""Text that a command writes between two marks of a page, the rest of which is written by hand."""

from __future__ import annotations


def between_marks(page: str, start: str, end: str, text: str) -> str:
    """Return a page with another text between its two marks, which are lines of their own."""
    before, _, rest = page.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}\n\n{text.rstrip()}\n\n{end}{after}"
