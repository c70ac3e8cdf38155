"""Where sizes clash: which axes a rule compared when it refused, and a picture of them, one above the other.

No rule says so itself. It is asked once more, of sizes that know where they come from, and the last two of them that it
found not to fit are those that the message is about.
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


def point_out(error: ShapeError, watch: Watch) -> None:
    """Tell an error which axes clash, and draw them below its message where that helps."""
    axes = watch.axes(str(error))
    error.axes = {name: tuple(found) for name, found in axes.items()}
    draw(error, {name: watch.shapes[name] for name in axes}, axes)


def draw(error: ShapeError, shapes: Mapping[str, Sequence[Any]], axes: Axes) -> None:
    """Note a picture below the message of an error, unless that says it all."""
    if not errors.pictures:
        return
    ranks = [len(shape) for shape in shapes.values()]
    is_pair = len(shapes) == 2 and max(ranks) > 1 and all(len(found) == 1 for found in axes.values())
    if is_pair or (len(shapes) == 1 and ranks[0] > 2):
        error.add_note(picture(shapes, axes))


def picture(shapes: Mapping[str, Sequence[Any]], axes: Axes) -> str:
    """Write shapes one above the other, the axes that clash in one column, with a mark below it.

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


class Watch:
    """Gives out sizes that know where they come from, and remembers what was last found not to fit."""

    def __init__(self) -> None:
        self.misfit: tuple[tuple[int, Origins], tuple[int, Origins]] | None = None
        self.shapes: dict[str, tuple[Any, ...]] = {}

    def sizes(self, name: str, shape: Sequence[Any]) -> tuple[Any, ...]:
        """Return a shape whose numbers are watched; a size that goes by a name stays as it is."""
        self.shapes[name] = tuple(shape)
        return tuple(
            Watched(size, frozenset({(name, axis)}), self) if type(size) is int else size
            for axis, size in enumerate(shape)
        )

    def axes(self, message: str) -> Axes:
        """Return the axes that a message is about, by operand; none if it is not about what was last compared."""
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


class Watched(int):
    """A size that knows the axes it was computed from; what it is compared with in vain is remembered."""

    origins: Origins
    watch: Watch

    def __new__(cls, number: int, origins: Origins, watch: Watch) -> Watched:  # noqa: PYI034  # it is final
        """Make one of a number."""
        size = super().__new__(cls, number)
        size.origins, size.watch = origins, watch
        return size

    def __reduce__(self) -> Any:
        return int, (int(self),)

    __hash__ = int.__hash__


def _compares(name: str, *, misfit: bool) -> Callable[[Any, Any], Any]:
    """Return a comparison whose answer `misfit` is remembered."""
    plain = getattr(int, name)

    def compare(x: Watched, y: Any) -> Any:
        answer = plain(x, y)
        if answer is misfit:
            x.watch.misfit = (int(x), x.origins), (int(y), getattr(y, "origins", frozenset()))
        return answer

    return compare


def _computes(name: str) -> Callable[[Any, Any], Any]:
    """Return an operator whose result comes from where both operands do."""
    plain = getattr(int, name)

    def compute(x: Watched, y: Any) -> Any:
        result = plain(x, y)
        if result is NotImplemented:
            return result  # a size that goes by a name takes it from here
        return Watched(result, x.origins | getattr(y, "origins", frozenset()), x.watch)

    return compute


for _name in ("__ne__", "__lt__", "__gt__"):
    setattr(Watched, _name, _compares(_name, misfit=True))
for _name in ("__eq__", "__le__", "__ge__"):
    setattr(Watched, _name, _compares(_name, misfit=False))
for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(Watched, f"__{_name}__", _computes(f"__{_name}__"))
    setattr(Watched, f"__r{_name}__", _computes(f"__r{_name}__"))
