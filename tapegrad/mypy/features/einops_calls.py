"""Calls of einops with tensors: the shape is that of the pattern, and not that of the argument as its types say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from mypy.nodes import ListExpr
from mypy.types import Instance, LiteralType, TupleType, Type, get_proper_type

from tapegrad.mypy.conversion import (
    TENSOR,
    Many,
    joined,
    literal,
    merged_tape,
    shape_items,
    shape_type,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.mypy_api import make
from tapegrad.mypy.scopes.values import size_value
from tapegrad.sizes import UNKNOWN, Size, is_unknown, product, surely_less

if TYPE_CHECKING:
    from mypy.plugin import FunctionContext

_Group: TypeAlias = "list[str]"  # the names of one axis; those of `(h w)` are several, those of `1` none

_BY_PATTERN: Final = frozenset(["rearrange", "reduce", "repeat"])
_KEEPING: Final = frozenset(["max", "mean", "min", "prod", "sum"])  # reductions that keep the dtype of a float


class _UnreadError(Exception):
    """A pattern, a size in it, or the rank of a tensor is unknown."""


def result(ctx: FunctionContext, function: str) -> Type:
    """Compute the type of `rearrange`, `reduce` or `repeat` of a tensor or of a list of tensors; of others less."""
    if function not in _BY_PATTERN:
        return _without_shapes(ctx.default_return_type)
    given = ctx.arg_types[0][0] if ctx.arg_types and ctx.arg_types[0] else None
    several = None if given is None else _listed(given)
    parts = tensor_parts(joined(several or given)) if given is not None else None
    if parts is None:
        return ctx.default_return_type
    try:
        sizes: list[Size] | None = _sizes(ctx, function, several is not None)
    except _UnreadError:
        sizes = None
    dtype = parts.dtype if function != "reduce" or _keeps_dtype(ctx, parts.dtype) else unknown()
    shape = shape_type(None if sizes is None else tuple(sizes), make(ctx.api))
    return make(ctx.api)(TENSOR, [shape, merged_tape([parts.tape], make(ctx.api)), dtype])


def _without_shapes(t: Type) -> Type:
    """Return the type of a result without the shapes of the arguments, which einops gives it, and without a tape."""
    p = get_proper_type(t)
    if isinstance(p, TupleType):
        return p.copy_modified(items=list(map(_without_shapes, p.items)))
    if not isinstance(p, Instance):
        return t
    if p.type.fullname == TENSOR:
        return p.copy_modified(args=[unknown(), unknown(), p.args[2]])
    return p.copy_modified(args=list(map(_without_shapes, p.args))) if p.type.fullname == "builtins.list" else t


def _listed(t: Type) -> Type | None:
    p = get_proper_type(t)
    return p.args[0] if isinstance(p, Instance) and p.type.fullname == "builtins.list" else None


def _keeps_dtype(ctx: FunctionContext, dtype: Type) -> bool:
    reduction = literal(ctx.arg_types[2][0])
    p = get_proper_type(dtype)
    is_float = isinstance(p, Instance) and p.type.has_base("numpy.floating")
    return is_float and isinstance(reduction, LiteralType) and reduction.value in _KEEPING


def _sizes(ctx: FunctionContext, function: str, is_listed: bool) -> list[Size]:  # noqa: FBT001  # of a helper
    pattern = literal(ctx.arg_types[1][0])
    if not isinstance(pattern, LiteralType) or not isinstance(pattern.value, str) or pattern.value.count("->") != 1:
        raise _UnreadError
    left, right = map(_groups, pattern.value.split("->"))
    axes = _axes(ctx, is_listed)
    known = _given(ctx, 3 if function == "reduce" else 2)
    dots = [position for position, group in enumerate(left) if group == ["..."]]
    rest: list[Size] = []
    if dots:
        after = len(left) - dots[0] - 1
        if len(axes) < len(left) - 1:
            raise _UnreadError  # einops rejects it
        rest = axes[dots[0] : len(axes) - after]
        axes = [*axes[: dots[0]], *axes[len(axes) - after :]]
        left = [*left[: dots[0]], *left[dots[0] + 1 :]]
    if len(axes) != len(left):
        raise _UnreadError
    for group, size in zip(left, axes, strict=True):
        _bind(group, size, known)
    found: list[Size] = []
    for group in right:
        if group == ["..."]:
            found += rest
        else:
            parts = [product(rest) if name == "..." else _named(name, known) for name in group]
            found.append(product(parts))
    return found


def _groups(side: str) -> list[_Group]:
    """Return the axes of one side of a pattern.

    Raises:
        _UnreadError: The parentheses do not match.
    """
    groups: list[_Group] = []
    inside: _Group | None = None
    for token in side.replace("(", " ( ").replace(")", " ) ").replace("…", "...").split():
        if token == "(" and inside is None:  # noqa: S105  # no password
            inside = []
        elif token == ")" and inside is not None:  # noqa: S105  # as above
            groups.append(inside)
            inside = None
        elif token in ("(", ")"):
            raise _UnreadError
        elif inside is not None:
            inside.append(token)
        else:
            groups.append([token])
    if inside is not None:
        raise _UnreadError
    return groups


def _axes(ctx: FunctionContext, is_listed: bool) -> list[Size]:  # noqa: FBT001  # of a helper
    """Return the sizes of the tensor; of a list of tensors, their number comes first.

    Raises:
        _UnreadError: The rank is unknown.
    """
    given = ctx.arg_types[0][0]
    parts = tensor_parts(joined(_listed(given) or given))
    items = shape_items(parts.shape) if parts is not None else None
    if items is None:
        raise _UnreadError
    axes = [one for one in items if not isinstance(one, Many)]
    if len(axes) < len(items):
        raise _UnreadError
    written = ctx.args[0][0]
    count: Size = len(written.items) if isinstance(written, ListExpr) else UNKNOWN
    return [count, *axes] if is_listed else axes


def _given(ctx: FunctionContext, position: int) -> dict[str, Size]:
    """Return the sizes that are given by name."""
    if len(ctx.arg_types) <= position:
        return {}
    named = zip(ctx.arg_names[position], ctx.arg_types[position], ctx.args[position], strict=True)
    known: dict[str, Size] = {}
    for name, t, expression in named:
        if name is None:  # `**sizes`
            raise _UnreadError
        known[name] = size_value(t, expression, ctx.api)
    return known


def _bind(group: _Group, size: Size, known: dict[str, Size]) -> None:
    """Learn the size of the one name of an axis that is not given, from the size of the axis."""
    open_ones = [name for name in group if name not in known and not name.isdecimal()]
    if len(open_ones) > 1:
        raise _UnreadError
    if open_ones:
        others = product([_named(name, known) for name in group if name != open_ones[0]])
        if is_unknown(others) or is_unknown(size):
            known[open_ones[0]] = size if len(group) == 1 else UNKNOWN
        elif surely_less(others, 1) or (isinstance(size, int) and isinstance(others, int) and size % others):
            raise _UnreadError  # einops rejects it
        else:
            known[open_ones[0]] = size // others


def _named(name: str, known: dict[str, Size]) -> Size:
    if name.isdecimal():
        return int(name)
    if name not in known:
        raise _UnreadError
    return known[name]
