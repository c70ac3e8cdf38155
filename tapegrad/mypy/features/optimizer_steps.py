"""Steps of optimizers with gradients that are surely of other tensors than parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import CallExpr, Expression, ListExpr, MemberExpr, NameExpr, OpExpr, RefExpr, TupleExpr, Var
from mypy.types import Instance, get_proper_type

from tapegrad.errors import messages
from tapegrad.mypy.conversion import OWNED_TAPE, TENSOR, is_tape, shape_items, tensor_parts, unknown
from tapegrad.mypy.mypy_api import checked_file, stored_type
from tapegrad.mypy.reports import report
from tapegrad.mypy.scopes.names import ScopeCache, bound_once, nodes_in

if TYPE_CHECKING:
    from mypy.nodes import Node
    from mypy.plugin import MethodContext
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker

_CLIPPING: Final = ("clip_norm", "clip_value")  # methods that return gradients of the same tensors


def check_step(ctx: MethodContext) -> Type:
    """Check `optimizer.step(loss.backward(wrt=x))`, which fails if x is a tensor and no parameter."""
    call, optimizer = ctx.context, get_proper_type(ctx.type)
    if not isinstance(call, CallExpr) or not isinstance(optimizer, Instance) or "allow_unused" in call.arg_names:
        return ctx.default_return_type
    targets = [] if _accumulates.of(checked_file(ctx.api)) or not call.args else _targets(call.args[0], ctx.api)
    shapes = [_shape_of_tensor(one, ctx.api) for one in targets]
    known = [messages.shown(one) for one in shapes if one is not None]
    if known and len(known) == len(shapes):
        name = f"{optimizer.type.name}.step"
        report(ctx.api, messages.gradients_of_others(name, known, "its parameters"), call, "tape")
    return ctx.default_return_type


def _adds_to_others(file: Node | None) -> bool:
    """Return whether a file adds gradients to others, by `trace(grads=...)`."""
    return any(isinstance(node, CallExpr) and "grads" in node.arg_names for node in nodes_in.of(file))


_accumulates = ScopeCache(_adds_to_others)


def _targets(gradients: Expression, api: Checker) -> list[Expression]:
    """Return the tensors whose gradients `backward` computes; empty if that is not written in one place."""
    match gradients:
        case NameExpr(node=Var() as variable):
            value, _ = bound_once(variable, api)
            return [] if value is None else _targets(value, api)
        case CallExpr(callee=MemberExpr(expr=of, name=name)) if name in _CLIPPING:
            return _targets(of, api)
        case CallExpr(callee=MemberExpr(expr=loss, name="backward"), args=arguments, arg_names=names) if (
            "wrt" in names and _is_tensor(loss, api)
        ):
            wrt = arguments[names.index("wrt")]
            return wrt.items if isinstance(wrt, ListExpr | TupleExpr) else [wrt]
    return []


def _shape_of_tensor(target: Expression, api: Checker) -> list[object] | None:
    """Return the sizes of a tensor that is surely no parameter: it has a tape, or an op has made it here."""
    p = get_proper_type(stored_type(api, target))
    if not isinstance(p, Instance) or p.type.fullname != TENSOR or (parts := tensor_parts(p)) is None:
        return None
    items = shape_items(parts.shape)
    return list(items) if items is not None and (is_tape(parts.tape, OWNED_TAPE) or _is_made(target, api)) else None


def _is_tensor(expression: Expression, api: Checker) -> bool:
    return tensor_parts(stored_type(api, expression) or unknown()) is not None


def _is_made(target: Expression, api: Checker) -> bool:
    match target:
        case OpExpr():
            return True
        case CallExpr(callee=RefExpr(fullname=name)):
            return name.startswith("tapegrad.ops.")
        case NameExpr(node=Var(is_inferred=True) as variable):
            value, _ = bound_once(variable, api)
            return value is not None and _is_made(value, api)
    return False
