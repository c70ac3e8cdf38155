"""Checks of the calls that start and end a tape: a tensor is traced once, differentiated once, and then consumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import CallExpr, Expression, MemberExpr, NameExpr
from mypy.types import AnyType, Instance, LiteralType, TupleType, Type, get_proper_type

from tapegrad.errors import DTypeError, messages
from tapegrad.mypy.conversion import (
    CONSUMED_BY_TRACED,
    CONSUMED_TAPE,
    NONE_TAPE,
    OWNED_TAPE,
    Many,
    consumer_of,
    dtype_name,
    is_behind,
    is_tape,
    shape_items,
    tensor_parts,
)
from tapegrad.mypy.mypy_api import make, narrow
from tapegrad.mypy.ownership.paths import End, consumed_by, may_be_renewed, retains_tape
from tapegrad.mypy.reports import report
from tapegrad.mypy.scopes.values import ValueUnknownError, index_of
from tapegrad.sizes import UNKNOWN, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Context
    from mypy.plugin import AttributeContext, MethodContext


def backward(ctx: MethodContext, result: Type) -> Type:
    """Check `x.backward()`, after which `x` is consumed."""
    parts = tensor_parts(ctx.type)
    if parts is None:
        return result
    tape, end = get_proper_type(parts.tape), _end(ctx)
    if end is not None and not is_tape(tape, NONE_TAPE):
        report(ctx.api, _consumed("backward", ctx, end), ctx.context, "tape")
        return result
    if not _owns_tape(ctx) and not isinstance(tape, AnyType):
        report(ctx.api, messages.not_differentiable(), ctx.context, "tape")
        return result
    items, shape = shape_items(parts.shape), get_proper_type(parts.shape)
    seeded = any(ctx.args[position] for position, name in enumerate(ctx.callee_arg_names) if name == "seed")
    if items and isinstance(shape, TupleType) and not seeded and not all(isinstance(item, Many) for item in items):
        report(ctx.api, messages.not_scalar(items), ctx.context, "shape")
    if not retains_tape(ctx.context):
        _consume(ctx)
    return result


def trace(ctx: MethodContext, result: Type) -> Type:
    """Check `x.trace()`, for which `x` must have no tape."""
    _begin("trace", ctx)
    return result


def traced(ctx: MethodContext, result: Type) -> Type:
    """Check `x.traced()`, after which `x` is consumed."""
    _begin("traced", ctx)
    _consume(ctx, CONSUMED_BY_TRACED)
    return result


def put_tape(ctx: MethodContext, result: Type) -> Type:
    """Check `x.put_tape(tape)`, for which `x` must have no tape."""
    if not _is_consumed_by_traced("put_tape", ctx) and _owns_tape(ctx):
        report(ctx.api, messages.tape_unwanted("put_tape", "x"), ctx.context, "tape")
    return result


def with_empty_tape(ctx: MethodContext, result: Type) -> Type:
    """Check `x.with_empty_tape()`, which starts a new tape if that of `x` was consumed."""
    tensor, parts = get_proper_type(result), tensor_parts(result)
    if _is_consumed_by_traced("with_empty_tape", ctx) or parts is None or not isinstance(tensor, Instance):
        return result
    if not is_tape(parts.tape, CONSUMED_TAPE) or len(tensor.args) != 3:
        return result
    return tensor.copy_modified(args=[tensor.args[0], make(ctx.api)(OWNED_TAPE, []), tensor.args[2]])


def owns_tape(ctx: AttributeContext) -> Type:
    """Return the type of `x.owns_tape`: a literal where mypy narrows a union by it, item by item.

    A plain read stays a bool; otherwise mypy would skip the body of `if x.owns_tape:` for some tensors.
    """
    parts = tensor_parts(ctx.type)
    if parts is None or getattr(ctx.context, "name", "") == "owns_tape":
        return ctx.default_attr_type
    owns = is_tape(parts.tape, OWNED_TAPE) or is_tape(parts.tape, CONSUMED_TAPE)
    if not owns and not is_tape(parts.tape, NONE_TAPE):
        return ctx.default_attr_type
    return LiteralType(owns, make(ctx.api)("builtins.bool", []))


def item_assigned(ctx: MethodContext) -> Type:
    """Report the item assignment `x[0] = ...` as an error, because tensors are immutable."""
    try:
        index = messages.written_index(index_of(ctx.arg_types[0][0], ctx.args[0][0], ctx.api))
    except (ValueUnknownError, DTypeError):  # with an invalid index too, the assignment is the error to report
        index = "..."
    report(ctx.api, messages.immutable(index), ctx.context, "dtype")
    return ctx.default_return_type


def gradient_taken(ctx: MethodContext, result: Type) -> Type:
    """Check `grads[x]`, for which `x` must not have an integer or bool dtype."""
    parts = tensor_parts(result)
    dtype = get_proper_type(parts.dtype) if parts is not None else None
    if isinstance(dtype, Instance) and any(map(dtype.type.has_base, ("numpy.integer", "numpy.bool"))):
        report(ctx.api, messages.without_gradient(dtype_name(dtype)), ctx.context, "dtype")
    return result


METHODS: dict[str, Callable[[MethodContext, Type], Type]] = {
    "backward": backward,
    "put_tape": put_tape,
    "trace": trace,
    "traced": traced,
    "with_empty_tape": with_empty_tape,
}


def _consume(ctx: MethodContext, kind: str = CONSUMED_TAPE) -> None:
    """Narrow a variable to a tensor with a consumed tape; variables assigned from it later get this type too."""
    receiver, name = get_proper_type(ctx.type), _receiver(ctx)
    if not isinstance(name, NameExpr) or not isinstance(receiver, Instance) or len(receiver.args) != 3:
        return  # any method may bind an attribute again; `paths` follows attributes
    if may_be_renewed(name, ctx.api):
        return
    consumed = make(ctx.api)(kind, [])
    consumed.set_line(ctx.context)
    narrow(ctx.api, name, receiver.copy_modified(args=[receiver.args[0], consumed, receiver.args[2]]))


def _begin(call: str, ctx: MethodContext) -> None:
    if not _is_consumed_by_traced(call, ctx) and _owns_tape(ctx):
        report(ctx.api, messages.traced_twice(), ctx.context, "tape")


def _end(ctx: MethodContext) -> End | None:
    """Return the call that may have consumed the receiver."""
    parts = tensor_parts(ctx.type)
    tape = None if parts is None else get_proper_type(parts.tape)
    if tape is not None and is_tape(tape, CONSUMED_TAPE) and is_behind(tape, ctx.context):
        return End(tape.line, consumer_of(tape))
    return consumed_by(_receiver(ctx), ctx.api)


def _is_consumed_by_traced(call: str, ctx: MethodContext) -> bool:
    """Return whether `traced` may have consumed the receiver, and report it if so."""
    end = _end(ctx)
    if end is None or end.method != "traced":
        return False
    report(ctx.api, _consumed(call, ctx, end), ctx.context, "tape")
    return True


def _owns_tape(ctx: MethodContext) -> bool:
    parts = tensor_parts(ctx.type)
    tape = None if parts is None else get_proper_type(parts.tape)
    if tape is None or not is_tape(tape, CONSUMED_TAPE):
        return tape is not None and is_tape(tape, OWNED_TAPE)
    return consumer_of(tape) == "backward" or is_behind(tape, ctx.context)  # False: `traced()` checked again


def _consumed(call: str, ctx: MethodContext, end: End) -> str:
    return messages.consumed(call, _written(ctx), f"on line {end.line}", end.method)


def _receiver(ctx: MethodContext) -> Expression | None:
    call = ctx.context
    return call.callee.expr if isinstance(call, CallExpr) and isinstance(call.callee, MemberExpr) else None


def _written(ctx: MethodContext) -> str:
    expression = _receiver(ctx)
    names: list[str] = []
    while isinstance(expression, MemberExpr):
        names.append(expression.name)
        expression = expression.expr
    if isinstance(expression, NameExpr):
        names.append(expression.name)
    return ".".join(reversed(names)) or "x"


def is_item(call: Context) -> bool:
    """Return whether a call is `x.item()`, whose signature mentions no tensor."""
    return isinstance(call, CallExpr) and isinstance(call.callee, MemberExpr) and call.callee.name == "item"


def item(ctx: MethodContext) -> Type:
    """Check `x.item()`, for which `x` must have one element."""
    parts = tensor_parts(ctx.type)
    items = shape_items(parts.shape) if parts is not None else None
    count = UNKNOWN if items is None else product(UNKNOWN if isinstance(size, Many) else size for size in items)
    if items is not None and isinstance(count, int) and count != 1:
        report(ctx.api, messages.not_one_element("item", items, count), ctx.context, "shape")
    return ctx.default_return_type
