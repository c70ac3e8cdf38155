"""Text representations of tapes: the names of the ops in a line, or a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.mermaid import flow
from tapegrad.sizes import show

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHOWN = 3  # the number of elements shown at either end of a long sequence


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 op`, `2 ops`, `1,000 ops`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(things: Sequence[Any], write: Callable[[Any], str]) -> str:
    """Return the elements of a sequence separated by commas; only both ends of a long one."""
    if len(things) <= 2 * SHOWN:
        return ", ".join(map(write, things))
    return ", ".join([*map(write, things[:SHOWN]), "...", *map(write, things[-SHOWN:])])


def step(entry: tuple[Any, ...]) -> str:
    """Return the text of a tape's entry: `tanh (2, 3)`, or only the name if the output is unknown."""
    _, out, _, backward = entry
    return name_of(out, backward) if out is None else f"{name_of(out, backward)} {show(out.shape)}"


def name_of(out: Any, backward: Callable[..., Any]) -> str:
    """Return the op of a backward closure: the name of the enclosing function, or its own if there is no output."""
    qualname = getattr(backward, "__qualname__", type(backward).__name__)
    return op_named(qualname if out is not None else qualname.rpartition(".<locals>.")[2])


def op_named(qualname: str) -> str:
    """Return the op of a function or of its backward closure: `cubed` for `Layers.cubed.<locals>.backward`."""
    *around, own = qualname.split(".<locals>.")
    return (around[-1] if around else own).rpartition(".")[2].lstrip("_")


def graph(entries: Sequence[tuple[Any, ...]]) -> str:
    """Return a tape as a Mermaid graph."""
    return flow(*boxes_and_arrows(entries))


def boxes_and_arrows(entries: Sequence[tuple[Any, ...]]) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the texts of leaves and ops in recorded order, and the edges as pairs of their indices."""
    boxes: list[str] = []
    arrows: list[tuple[int, int]] = []
    places: dict[Any, int] = {}

    def place(box: str) -> int:
        boxes.append(box)
        return len(boxes) - 1

    for entry in sorted(entries, key=lambda entry: entry[0]):
        _, out, inputs, _ = entry
        for x in inputs:
            if x not in places:
                places[x] = place(f"{'leaf' if x.version is None else 'parameter'} {show(x.shape)}")
        number = place(step(entry))
        arrows += [(places[x], number) for x in inputs]
        places[out] = number
    return boxes, arrows
