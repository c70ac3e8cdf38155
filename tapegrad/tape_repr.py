"""What a tape looks like: its ops by name, in a line or as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.dims import show
from tapegrad.mermaid import flow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHOWN = 3  # how many there may be at either end of a line


def counted(number: int, noun: str) -> str:
    """Write how many there are: `1 op`, `2 ops`, `1,000 ops`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(things: Sequence[Any], write: Callable[[Any], str]) -> str:
    """Write what is in a sequence behind commas, and of a long one both of its ends."""
    if len(things) <= 2 * SHOWN:
        return ", ".join(map(write, things))
    return ", ".join([*map(write, things[:SHOWN]), "...", *map(write, things[-SHOWN:])])


def step(entry: tuple[Any, ...]) -> str:
    """Write an entry of a tape: `tanh (2, 3)`, and only its name where nobody knows what it makes."""
    _, out, _, backward = entry
    return name_of(out, backward) if out is None else f"{name_of(out, backward)} {show(out.shape)}"


def name_of(out: Any, backward: Callable[..., Any]) -> str:
    """Return the op whose way back a closure is: the function around it; one that stands alone has its own name."""
    qualname = getattr(backward, "__qualname__", type(backward).__name__)
    return op_named(qualname if out is not None else qualname.rpartition(".<locals>.")[2])


def op_named(qualname: str) -> str:
    """Return the op that a function is, or is the way back of: `cubed` for `Layers.cubed.<locals>.backward`."""
    *around, own = qualname.split(".<locals>.")
    return (around[-1] if around else own).rpartition(".")[2].lstrip("_")


def graph(entries: Sequence[tuple[Any, ...]]) -> str:
    """Write a tape as a Mermaid graph."""
    return flow(*boxes_and_arrows(entries))


def boxes_and_arrows(entries: Sequence[tuple[Any, ...]]) -> tuple[list[str], list[tuple[int, int]]]:
    """Return leaves and ops in the order in which they came, as texts, and what flows where, by their places."""
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
