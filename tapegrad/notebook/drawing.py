"""Graphs as SVG, for notebooks that do not render Mermaid."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LETTER: Final = 7  # maximum width of a letter in pixels
HEIGHT: Final = 26
GAP: Final = (18, 30)  # between boxes of a row, and between rows


class Box(NamedTuple):
    """The position and size of a text, in pixels."""

    text: str
    left: float
    top: float
    width: float

    @property
    def middle(self) -> float:
        """The horizontal centre."""
        return self.left + self.width / 2

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.top + HEIGHT


def drawing(texts: Sequence[str], arrows: Sequence[tuple[int, int]]) -> str:
    """Draw an acyclic graph from top to bottom, as SVG.

    Args:
        texts: The text of each box.
        arrows: Pairs of source and target boxes, counted from 0; a box is below all of its sources.
    """
    boxes = _placed(texts, _rows(len(texts), arrows))
    width = max((box.left + box.width for box in boxes), default=0) + 2
    height = max((box.bottom for box in boxes), default=0) + 2
    lines = "".join(_arrow(boxes[start], boxes[end]) for start, end in arrows)
    shapes = "".join(map(_box, boxes))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'font-family="sans-serif" font-size="12">{lines}{shapes}</svg>'
    )


def _rows(count: int, arrows: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Assign each box to the row after the last of its sources, ordered by their positions."""
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for start, end in arrows:
        before[end].append(start)
        after[start].append(end)

    depths = [0] * count
    for box in range(count):  # the sources of a box come before it
        depths[box] = max((depths[one] + 1 for one in before[box]), default=0)
    for box in range(count):
        if not before[box] and after[box]:  # a leaf is directly above its first use
            depths[box] = min(depths[one] for one in after[box]) - 1

    rows: list[list[int]] = [[] for _ in range(max(depths, default=-1) + 1)]
    places = [0.0] * count
    for box in sorted(range(count), key=depths.__getitem__):
        rows[depths[box]].append(box)
    for row in rows:
        row.sort(key=lambda box: sum(places[one] for one in before[box]) / len(before[box]) if before[box] else box)
        for place, box in enumerate(row):
            places[box] = place
    return rows


def _placed(texts: Sequence[str], rows: list[list[int]]) -> list[Box]:
    widths = [LETTER * len(text) + 16 for text in texts]
    across, down = GAP
    spans = [sum(widths[box] for box in row) + across * (len(row) - 1) for row in rows]
    boxes: dict[int, Box] = {}
    for number, (row, span) in enumerate(zip(rows, spans, strict=True)):
        left = 1 + (max(spans) - span) / 2
        for box in row:
            boxes[box] = Box(texts[box], left, 1 + number * (HEIGHT + down), widths[box])
            left += widths[box] + across
    return [boxes[box] for box in range(len(texts))]


def _box(box: Box) -> str:
    return (
        f'<rect x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{HEIGHT}" rx="5" '
        f'fill="#f4f6fa" stroke="#4a6484"/>'
        f'<text x="{box.middle:.1f}" y="{box.top + 17:.1f}" text-anchor="middle" fill="#1d2733">'
        f"{escape(box.text)}</text>"
    )


def _arrow(start: Box, end: Box) -> str:
    x, y, tip = end.middle, end.top, 5
    bend = (y - start.bottom) / 2
    return (
        f'<path d="M{start.middle:.1f},{start.bottom:.1f} C{start.middle:.1f},{start.bottom + bend:.1f} '
        f'{x:.1f},{y - bend - tip:.1f} {x:.1f},{y - tip:.1f}" fill="none" stroke="#8a9bb0"/>'
        f'<path d="M{x - 4:.1f},{y - tip - 2:.1f} L{x + 4:.1f},{y - tip - 2:.1f} L{x:.1f},{y:.1f} Z" fill="#8a9bb0"/>'
    )
