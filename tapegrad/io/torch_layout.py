"""PyTorch's layout: by which name a parameter goes there, and whether its axes stand the other way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tapegrad.nn import Linear, Module, Param, Sequential
from tapegrad.nn.module import children

if TYPE_CHECKING:
    from collections.abc import Iterator


class Place(NamedTuple):
    """A parameter, and where it stands in a file of PyTorch's."""

    name: str
    parameter: Param[Any, Any]
    transposed: bool


def places(module: Module) -> dict[str, Place]:
    """Returns each parameter once, by its attribute path, with its place in a `state_dict` of the same architecture.

    A `Sequential` numbers its layers without saying `layers`, and the weight of a `Linear` is `(Out, In)`. All else has
    the names and shapes it has here.
    """
    first: dict[Param[Any, Any], tuple[str, Place]] = {}
    for path, place in _walk(module, "", "", (module,)):
        first.setdefault(place.parameter, (path, place))
    return dict(first.values())


def _walk(module: Module, ours: str, theirs: str, above: tuple[Module, ...]) -> Iterator[tuple[str, Place]]:
    for path, child in children(module):
        name = path.removeprefix("layers.") if isinstance(module, Sequential) else path
        if isinstance(child, Param):
            yield ours + path, Place(theirs + name, child, isinstance(module, Linear) and path == "weight")
        elif isinstance(child, Module) and not any(child is one for one in above):
            yield from _walk(child, f"{ours}{path}.", f"{theirs}{name}.", (*above, child))
