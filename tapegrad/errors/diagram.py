"""Diagrams of mismatched shapes: which axes a shape rule compared when it raised, drawn one above the other.

A shape rule does not report the axes. So it is called once more, with sizes that record the axes they were computed
from; the last two sizes that it found to differ are those that the message is about.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tapegrad import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tapegrad.errors import ShapeError

Axes: TypeAlias = dict[str, list[int]]  # by operand, counted from the front
_INDENT: Final = "    "
Origins: TypeAlias = frozenset[tuple[str, int]]  # operands and axes that a size was computed from


def annotate_axes(error: ShapeError, tracker: AxisTracker) -> None:
    """Set the axes that do not match on an error, and add a diagram below its message where that helps."""
    axes = tracker.axes(str(error))
    error.axes = {name: tuple(found) for name, found in axes.items()}
    draw(error, {name: tracker.shapes[name] for name in axes}, axes)


def draw(error: ShapeError, shapes: Mapping[str, Sequence[Any]], axes: Axes) -> None:
    """Add a diagram as a note below the message of an error, unless the shapes are too short to need one."""
    if not errors.diagrams:
        return
    ranks = [len(shape) for shape in shapes.values()]
    is_pair = len(shapes) == 2 and max(ranks) > 1 and all(len(found) == 1 for found in axes.values())
    if is_pair or (len(shapes) == 1 and ranks[0] > 2):
        error.add_note(diagram(shapes, axes))


def diagram(shapes: Mapping[str, Sequence[Any]], axes: Axes) -> str:
    """Return a diagram: shapes one above the other, the axes that do not match aligned and underlined.

    x  (32, 10)
    w      ( 5, 2)
            ^^
    """
    front = max(found[0] for found in axes.values())
    missing = {name: front - found[0] for name, found in axes.items()}
    rows = {name: [""] * missing[name] + [str(size) for size in shape] for name, shape in shapes.items()}
    columns = list(zip_longest(*rows.values(), fillvalue=""))
    widths = [max(map(len, column)) for column in columns]
    label = max(map(len, rows)) + 2

    marked = {missing[name] + axis for name, found in axes.items() for axis in found}
    marks = ["^" * width if place in marked else "" for place, width in enumerate(widths)]
    lines = [name.ljust(label) + _row(cells, widths) for name, cells in rows.items()]
    lines.append(" " * (label + 1) + "  ".join(map(str.rjust, marks, widths)).rstrip())
    return "\n".join(f"{_INDENT}{line}" for line in lines)


def _row(cells: list[str], widths: list[int]) -> str:
    missing = sum(not cell for cell in cells)
    sizes = [cell.rjust(width) for cell, width in zip(cells, widths, strict=False)][missing:]
    return " " * sum(width + 2 for width in widths[:missing]) + f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


class AxisTracker:
    """A tracker that creates sizes with their axes of origin, and stores the last two sizes found to differ."""

    def __init__(self) -> None:
        self.misfit: tuple[tuple[int, Origins], tuple[int, Origins]] | None = None
        self.shapes: dict[str, tuple[Any, ...]] = {}

    def sizes(self, name: str, shape: Sequence[Any]) -> tuple[Any, ...]:
        """Return a shape whose ints are tracked; symbolic sizes stay as they are."""
        self.shapes[name] = tuple(shape)
        return tuple(
            TrackedInt(size, frozenset({(name, axis)}), self) if type(size) is int else size
            for axis, size in enumerate(shape)
        )

    def axes(self, message: str) -> Axes:
        """Return the axes that a message is about, by operand; none if it is not about the stored sizes."""
        found: Axes = {}
        for number, origins in self.misfit or ():
            if not self._is_said(number, origins, message):
                return {}
            for name, axis in sorted(origins):
                if axis not in found.setdefault(name, []):
                    found[name].append(axis)
        return found

    def _is_said(self, number: int, origins: Origins, message: str) -> bool:
        said = re.findall(r"\b\d+\b", message)
        sizes = [self.shapes[name][axis] for name, axis in origins]
        return str(number) in said or all(str(size) in said for size in sizes)


class TrackedInt(int):
    """A size with the axes that it was computed from; the tracker stores each comparison that finds a mismatch."""

    origins: Origins
    tracker: AxisTracker

    def __new__(cls, number: int, origins: Origins, tracker: AxisTracker) -> TrackedInt:  # noqa: PYI034  # it is final
        """Return a tracked size for a number."""
        size = super().__new__(cls, number)
        size.origins, size.tracker = origins, tracker
        return size

    def __reduce__(self) -> Any:
        return int, (int(self),)

    __hash__ = int.__hash__


def _compares(name: str, *, misfit: bool) -> Callable[[Any, Any], Any]:
    """Return a comparison that stores both sizes in the tracker when its answer is `misfit`."""
    plain = getattr(int, name)

    def compare(x: TrackedInt, y: Any) -> Any:
        answer = plain(x, y)
        if answer is misfit:
            x.tracker.misfit = (int(x), x.origins), (int(y), getattr(y, "origins", frozenset()))
        return answer

    return compare


def _computes(name: str) -> Callable[[Any, Any], Any]:
    """Return an operator whose result has the origins of both operands."""
    plain = getattr(int, name)

    def compute(x: TrackedInt, y: Any) -> Any:
        result = plain(x, y)
        if result is NotImplemented:
            return result  # a symbolic size handles the operation itself
        return TrackedInt(result, x.origins | getattr(y, "origins", frozenset()), x.tracker)

    return compute


for _name in ("__ne__", "__lt__", "__gt__"):
    setattr(TrackedInt, _name, _compares(_name, misfit=True))
for _name in ("__eq__", "__le__", "__ge__"):
    setattr(TrackedInt, _name, _compares(_name, misfit=False))
for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(TrackedInt, f"__{_name}__", _computes(f"__{_name}__"))
    setattr(TrackedInt, f"__r{_name}__", _computes(f"__r{_name}__"))
