"""What mypy has found in an open file, and where that is in a text that has been edited since."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tapegrad.lsp.program import Range
from tapegrad.mypy.mypy_api import character
from tapegrad.project.reports import is_about_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.project.reports import Report

REVEALED: Final = "Revealed shape is "


class Known(NamedTuple):
    """What is known of an expression.

    Attributes:
        text: Such as `(B, 32, 10) float32, owned tape`.
        annotation: The type as a program writes it; empty if it cannot.
    """

    range: Range
    text: str
    annotation: str


class Finding(NamedTuple):
    """An error or a note."""

    range: Range
    text: str
    code: str
    is_error: bool


@dataclass(frozen=True)
class Results:
    """What is known of one file.

    Attributes:
        text: That mypy has checked.
        findings: In that text.
        described: The text that `known` and `hints` describe: an older one while the file does not parse.
        hints: What to show behind an assignment, at the end of the range.
    """

    text: str = ""
    findings: tuple[Finding, ...] = ()
    described: str = ""
    known: tuple[Known, ...] = ()
    hints: tuple[Known, ...] = field(default=())

    def at(self, text: str, line: int, column: int) -> Known | None:
        """Return what is known of the smallest expression at a place in the current text."""
        lines = {new: old for old, new in _unchanged_lines(self.described, text)}
        old = lines.get(line)
        if old is None:
            return None
        around = [one for one in self.known if one.range.contains(old, column)]
        found = min(around, key=_extent, default=None)
        if found is None:
            return None
        shift = line - old
        return found._replace(range=_moved(found.range, shift))

    def hints_in(self, text: str) -> Iterator[Known]:
        """Yield the hints at their places in the current text; none on lines that have changed."""
        lines = dict(_unchanged_lines(self.described, text))
        for hint in self.hints:
            if hint.range.end_line in lines:
                yield hint._replace(range=_moved(hint.range, lines[hint.range.end_line] - hint.range.end_line))


def _extent(known: Known) -> tuple[int, int]:
    return known.range.end_line - known.range.line, known.range.end_column - known.range.column


def _moved(place: Range, lines: int) -> Range:
    return place._replace(line=place.line + lines, end_line=place.end_line + lines)


def _unchanged_lines(old: str, new: str) -> Iterator[tuple[int, int]]:
    """Yield the lines above and below the part of a text that has changed: the old number and the new one."""
    before, after = old.splitlines(), new.splitlines()
    shortest = min(len(before), len(after))
    above = next((at for at in range(shortest) if before[at] != after[at]), shortest)
    below = next((at for at in range(shortest - above) if before[-1 - at] != after[-1 - at]), shortest - above)
    yield from ((at, at) for at in range(above))
    yield from ((len(before) - 1 - at, len(after) - 1 - at) for at in range(below))


def is_shown(report: Report, *, all_errors: bool) -> bool:
    """Return whether a report is shown: one about tensors, one that nothing else was checked for, or any."""
    if all_errors:
        return True
    if report.kind == "note":
        return report.text.startswith(REVEALED)
    return is_about_tensors(report)


def finding_of(report: Report, lines: list[str]) -> Finding:
    """Return a report with its place in characters."""
    line, end_line = max(report.line - 1, 0), max(report.end_line - 1, 0)
    start = character(lines[line] if line < len(lines) else "", max(report.column - 1, 0))
    end = character(lines[end_line] if end_line < len(lines) else "", max(report.end_column, 0))
    place = Range(line, start, end_line, max(end, start + (line == end_line)))
    return Finding(place, report.text, report.code, report.kind == "error")


def known_in(data: list[Any]) -> tuple[Known, ...]:
    """Return what the checker's child knows of expressions."""
    return tuple(
        Known(Range(line - 1, column, end_line - 1, end_column), text, annotation)
        for (line, column, end_line, end_column), text, annotation in data
    )
