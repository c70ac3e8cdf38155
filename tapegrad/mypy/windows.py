"""Convolutions and pools of the library: their op's rule says what no signature can, that a window finds no room."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mypy.maptype import map_instance_to_supertype
from mypy.nodes import TypeInfo

from tapegrad.mypy.codec import Many, size_of
from tapegrad.mypy.rules import op_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.types import Instance

    from tapegrad.dims import Size

ROOMS = frozenset({"tapegrad.nn.conv", "tapegrad.nn.conv_transpose", "tapegrad.nn.pool"})


def rule_of(layer: Instance) -> Callable[[list[Size | Many] | None], None] | None:
    """Returns what refuses images that a layer's op would refuse; None for a layer without windows."""
    symbol = layer.type.get("forward")
    owner = getattr(symbol.node, "info", None) if symbol is not None else None
    if not isinstance(owner, TypeInfo) or owner.module_name not in ROOMS:
        return None
    op = op_named(_snake(owner.name))
    if op is None:
        return None
    known = zip(owner.defn.type_vars, map_instance_to_supertype(layer, owner).args, strict=True)
    sizes = {_snake(variable.name): size_of(argument) for variable, argument in known}
    axes = int(owner.name[-2])
    options = {name: _along(axes, name, sizes) for name in op.parameters if name in sizes}
    if not all(isinstance(size, int) for one in options.values() for size in one):
        return None
    numbers = {name: one[0] if len(set(one)) == 1 else one for name, one in options.items()}
    kernels = _kernels(sizes, axes, transposed="Transpose" in owner.name) if "in" in sizes else {}

    def judge(shape: list[Size | Many] | None) -> None:
        # A single image is as good as a batch, and its channels the signature has compared.
        image = [] if shape is None else shape[-axes - 1 :]
        if len(image) == axes + 1 and not any(isinstance(size, Many) for size in image):
            channels = [sizes["in"]] if kernels else image[:1]
            op.rule(x=(*channels, *image[1:]), **kernels, **numbers)

    return judge


def _kernels(sizes: dict[str, Size], axes: int, *, transposed: bool) -> dict[str, Any]:
    ends = [sizes["out"], sizes["in"]]
    return {"w": (*(ends[::-1] if transposed else ends), *_along(axes, "kernel", sizes))}


def _along(axes: int, name: str, sizes: dict[str, Size]) -> tuple[Size, ...]:
    """Returns a number for each axis; a pool has one for all."""
    later = ("h", "w") if axes == 3 else ("w",) * (axes - 1)
    return (sizes[name], *(sizes.get(f"{name}_{axis}", sizes[name]) for axis in later))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
