"""Positions: this package counts characters, an editor the units of an encoding, mostly UTF-16."""

from __future__ import annotations

from typing import Final

from lsprotocol import types as lsp

from tapegrad.lsp.program import Range

_ENCODINGS: Final = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Positions:
    """Converts the positions in one text."""

    def __init__(self, text: str, encoding: str) -> None:
        """Prepare to convert.

        Args:
            text: The text.
            encoding: That the editor counts in: `utf-8`, `utf-16` or `utf-32`.
        """
        self._lines = text.splitlines()
        self._encoding, self._bytes = _ENCODINGS[encoding]

    def for_editor(self, place: Range) -> lsp.Range:
        """Return a range in the units of the editor."""
        start = lsp.Position(place.line, self._units(place.line, place.column))
        return lsp.Range(start, lsp.Position(place.end_line, self._units(place.end_line, place.end_column)))

    def from_editor(self, given: lsp.Range) -> Range:
        """Return a range of the editor in characters."""
        start, end = given.start, given.end
        return Range(
            start.line,
            self._characters(start.line, start.character),
            end.line,
            self._characters(end.line, end.character),
        )

    def _units(self, line: int, column: int) -> int:
        return len(self._line(line)[:column].encode(self._encoding, "surrogatepass")) // self._bytes

    def _characters(self, line: int, units: int) -> int:
        content = self._line(line).encode(self._encoding, "surrogatepass")[: units * self._bytes]
        return len(content.decode(self._encoding, "replace"))

    def _line(self, line: int) -> str:
        return self._lines[line] if line < len(self._lines) else ""
