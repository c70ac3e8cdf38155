"""Rules that divide the parameters of a module over the axes of a mesh, by path pattern."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.jax.library import jax
from tapegrad.nn.paths import check_pattern, fits
from tapegrad.sizes import show

if TYPE_CHECKING:
    from tapegrad.nn import Module
    from tapegrad.nn.param import State

Axis: TypeAlias = str | tuple[str, ...] | None
Axes: TypeAlias = tuple[Axis, ...]
Rules: TypeAlias = Mapping[str, Axes]


def names_of(axis: Axis) -> tuple[str, ...]:
    """Return the axes of a mesh that divide one axis of a tensor."""
    return () if axis is None else (axis,) if isinstance(axis, str) else tuple(axis)


def axes_of(module: Module, mesh: Any, rules: Rules) -> dict[State[Any, Any], Axes]:
    """Return for each parameter and buffer the axes that the first rule for one of its paths names, after a check.

    Raises:
        ShapeError: The mesh does not divide the size of an axis, or a tensor has fewer axes than its rule.
        DTypeError: `mesh` is no mesh, or a rule no tuple.
        ValueError: A rule holds for no path, or the mesh has no axis of that name, or has it divide two axes.
    """
    if not isinstance(mesh, jax.sharding.Mesh):
        kind = messages.with_article(type(mesh).__name__)
        message = f"place: rules need a jax.sharding.Mesh but devices is {kind}"
        raise DTypeError(message)
    paths = [*module.paths(), *module.buffers().items()]
    found: dict[State[Any, Any], Axes] = {}
    for pattern, axes in rules.items():
        rule = f"rules[{pattern!r}]"
        if not isinstance(axes, tuple):
            message = f"place: {rule} is {axes!r} but a tuple of axes of the mesh is expected, such as ('data', None)"
            raise DTypeError(message)
        check_pattern("place", pattern, [path for path, _ in paths])
        chosen: dict[State[Any, Any], str] = {}
        for path, x in paths:
            if x not in found and fits(path, pattern):
                chosen.setdefault(x, path)
        if not chosen:
            message = f"place: {rule} holds for no path, because earlier rules hold for each path that it fits"
            raise ValueError(message)
        for x, path in chosen.items():
            check_axes("place", path, x.shape, mesh, axes, rule)
            found[x] = axes
    return found


def check_axes(call: str, name: str, shape: Any, mesh: Any, axes: Axes, source: str = "axes") -> None:
    """Reject axes of a mesh that cannot divide a tensor.

    Args:
        call: The name of the calling function, for error messages.
        name: The name of the tensor there, for error messages.
        shape: The shape of the tensor.
        mesh: The mesh.
        axes: For each axis of the tensor the axes of the mesh that divide it.
        source: What names the axes, for error messages.

    Raises:
        ShapeError: The devices do not divide the size of an axis, or there are too many axes.
        ValueError: The mesh has no axis of that name, or has it divide two axes.
    """
    tensor = f"{call}: {name} {show(shape)}"
    if len(axes) > len(shape):
        message = f"{tensor} has rank {len(shape)} but {source} is {axes!r}, of length {len(axes)}"
        raise ShapeError(message)
    named = [one for axis in axes for one in names_of(axis)]
    for one in named:
        if one not in mesh.shape:
            axes_there = ", ".join(map(repr, mesh.shape))
            message = f"{tensor}: {source} is {axes!r} but the axes of the mesh are {axes_there}"
            raise ValueError(message)
        if named.count(one) > 1:
            message = f"{tensor}: {source} is {axes!r}, where {one!r} would divide two axes"
            raise ValueError(message)
    for position, (size, axis) in enumerate(zip(shape, axes, strict=False)):
        count = prod(mesh.shape[one] for one in names_of(axis))
        if size % count:
            by = " and ".join(map(repr, names_of(axis)))
            message = f"{tensor}: axis {position} is {size}, which cannot be divided among the {count} devices of {by}"
            raise ShapeError(message)
