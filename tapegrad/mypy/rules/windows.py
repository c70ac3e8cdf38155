"""Checks of convolution and pooling layers that no signature makes: window sizes, and default strides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mypy.types import Instance, NoneType, Type, get_proper_type

from tapegrad.mypy.conversion import Many, size_of
from tapegrad.mypy.mypy_api import map_instance_to_supertype
from tapegrad.mypy.rules.library import op_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import TypeInfo

    from tapegrad.sizes import Size

POOLS = "tapegrad.nn.pool"
MODULES = frozenset({"tapegrad.nn.conv", "tapegrad.nn.conv_transpose", POOLS})


def rule_of(layer: Instance, owner: TypeInfo) -> Callable[[dict[str, list[Size | Many] | None]], None] | None:
    """Return a function that rejects images as the layer's op does; None if a size is unknown.

    The owner is the class that defines `forward`.
    """
    op = op_named(snake(owner.name))
    if op is None:
        return None
    known = zip(owner.defn.type_vars, map_instance_to_supertype(layer, owner).args, strict=True)
    sizes = {snake(variable.name): size_of(argument) for variable, argument in known}
    axes = int(owner.name[-2])
    flags = {name: sizes.pop(name) for name in ("ceil_mode",) if name in sizes}
    options = {name: _along(axes, name, sizes) for name in op.parameters if name in sizes}
    if not all(isinstance(size, int) for one in [*options.values(), flags.values()] for size in one):
        return None
    numbers: dict[str, Any] = {name: one[0] if len(set(one)) == 1 else one for name, one in options.items()}
    numbers |= {name: bool(given) for name, given in flags.items()}
    kernels = _kernels(sizes, axes, transposed="Transpose" in owner.name) if "in" in sizes else {}

    def judge(shapes: dict[str, list[Size | Many] | None]) -> None:
        shape = shapes.get("x")
        if shape is not None and len(shape) <= axes and not any(isinstance(size, Many) for size in shape):
            op.rule(x=tuple(shape), **kernels, **numbers)  # which rejects the rank
        # One image is enough where the batch has several axes, or unknown ones.
        images = [] if shape is None else shape[-axes - 2 :]
        if images and isinstance(images[0], Many):
            images = images[1:]
        if len(images) > axes and not any(isinstance(size, Many) for size in images):
            op.rule(x=tuple(images), **kernels, **numbers)

    return judge


def stepped(layer: Type, stride: list[Type]) -> Type:
    """Return a pool that is given no stride with its window as stride along each axis; other layers unchanged."""
    has_stride = any(not isinstance(get_proper_type(one), NoneType) for one in stride)
    if has_stride or not isinstance(layer, Instance) or layer.type.module_name != POOLS:
        return layer
    names = [variable.name for variable in layer.type.defn.type_vars]
    sizes = dict(zip(names, layer.args, strict=True))
    return layer.copy_modified(args=[sizes[name.replace("Stride", "Kernel")] for name in names])


def _kernels(sizes: dict[str, Size], axes: int, *, transposed: bool) -> dict[str, Any]:
    ends = [sizes["out"], sizes["in"]]
    return {"w": (*(ends[::-1] if transposed else ends), *_along(axes, "kernel", sizes))}


def _along(axes: int, name: str, sizes: dict[str, Size]) -> tuple[Size, ...]:
    """Return the value of an option along each axis."""
    later = ("h", "w") if axes == 3 else ("w",) * (axes - 1)
    return (sizes[name], *(sizes[f"{name}_{axis}"] for axis in later))


def snake(name: str) -> str:
    """Return the name of the op of a layer: `max_pool2d` for `MaxPool2d`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
