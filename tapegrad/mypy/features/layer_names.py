"""Paths of layers, such as `Net.layers[1]`: the counterpart of `tapegrad.nn.layer_names` for mypy's expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import (
    CallExpr,
    Decorator,
    Expression,
    IndexExpr,
    IntExpr,
    MemberExpr,
    NameExpr,
    StrExpr,
    SuperExpr,
    UnaryExpr,
)
from mypy.types import Instance, LiteralType, TypeVarLikeType, TypeVarType, get_proper_type

from tapegrad.errors import messages
from tapegrad.mypy.conversion import kind_of, last_of, shape_items, size_of

if TYPE_CHECKING:
    from mypy.nodes import Context
    from mypy.plugin import MethodContext

    from tapegrad.sizes import Size


def call_path(ctx: MethodContext) -> str:
    """Return the path by which a layer is called, with the class for `self`: `Net.layers[1]`; empty if none."""
    return _path(ctx.context.callee, ctx.api) if isinstance(ctx.context, CallExpr) else ""


def layer_text(layer: Instance) -> str:
    """Return the text of a layer: its class, with the sizes that a guarded `__init__` stores at run time."""
    symbol = layer.type.names.get("__init__")
    # mypy's cache keeps that there is a decorator, but not which.
    guarded = symbol is not None and isinstance(symbol.node, Decorator)
    variables = layer.type.defn.type_vars
    is_shown = [kind_of(one) in ("size", "flag", "dtype") or last_of(one) is not None for one in variables]
    if not guarded or not all(is_shown):
        return messages.layer(layer.type.name, [])
    known = {
        one.name: (one, size_of(argument))
        for one, argument in zip(variables, layer.args, strict=True)
        if kind_of(one) == "size"
    }
    shown: dict[str, str] = {}
    for variable, argument in zip(variables, layer.args, strict=True):
        last, axes = last_of(variable), shape_items(argument)
        if last is not None and axes is not None and len(axes) > 1:
            shown[last.name] = messages.shown(axes)
    sizes = [shown.get(name, size) for name, (_, size) in known.items()]
    by_name = {name: size for name, (_, size) in known.items()}
    defaults = [_default(one, by_name) for one, _ in known.values()]
    return messages.layer(layer.type.name, messages.trim_defaults(sizes, defaults))


def _default(variable: TypeVarLikeType, sizes: dict[str, Size]) -> Size | None:
    """Return the default size of a class's type variable; None if it has none."""
    default = get_proper_type(variable.default)
    if isinstance(default, TypeVarType):
        return sizes.get(default.name)
    return size_of(default) if isinstance(default, LiteralType) else None


def is_forward(call: Context) -> bool:
    """Return whether a call is of `forward` itself, not of the module."""
    return (
        isinstance(call, CallExpr) and isinstance(call.callee, MemberExpr | SuperExpr) and call.callee.name == "forward"
    )


def _path(expression: Expression, api: Any) -> str:
    if isinstance(expression, NameExpr):
        owner = get_proper_type(api.get_expression_type(expression)) if expression.name == "self" else None
        return owner.type.name if isinstance(owner, Instance) else expression.name
    if isinstance(expression, MemberExpr):
        owner_path = _path(expression.expr, api)
        return f"{owner_path}.{expression.name}" if owner_path else ""
    if isinstance(expression, IndexExpr):
        base, key = _path(expression.base, api), _key(expression.index)
        return f"{base}[{key}]" if base and key else ""
    return ""


def _key(index: Expression) -> str:
    if isinstance(index, IntExpr | StrExpr):
        return repr(index.value)
    if isinstance(index, UnaryExpr) and index.op == "-" and isinstance(index.expr, IntExpr):
        return f"-{index.expr.value}"
    return index.name if isinstance(index, NameExpr) else ""
