"""Checks of single methods of tensors by their types: whether there is a tape, and whether a loss is a scalar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import CallExpr, MemberExpr
from mypy.types import AnyType, Instance, LiteralType, TupleType, Type, UnionType, get_proper_type

from tapegrad.errors import DTypeError, messages
from tapegrad.mypy.conversion import (
    NONE_TAPE,
    OWNED_TAPE,
    Many,
    dtype_name,
    is_tape,
    shape_items,
    tensor_parts,
)
from tapegrad.mypy.mypy_api import make, stored_type
from tapegrad.mypy.reports import report
from tapegrad.mypy.scopes.values import ValueUnknownError, index_of
from tapegrad.sizes import UNKNOWN, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Context
    from mypy.plugin import AttributeContext, MethodContext


def backward(ctx: MethodContext, result: Type) -> Type:
    """Check `x.backward()`, for which `x` must be a scalar with a tape, or have a seed."""
    parts = tensor_parts(ctx.type)
    if parts is None:
        return result
    if not _may_own_tape(parts.tape) and not _is_one_of_several(ctx):
        report(ctx.api, messages.not_differentiable(), ctx.context, "tape")
        return result
    items, shape = shape_items(parts.shape), get_proper_type(parts.shape)
    seeded = any(ctx.args[position] for position, name in enumerate(ctx.callee_arg_names) if name == "seed")
    if items and isinstance(shape, TupleType) and not seeded and not all(isinstance(item, Many) for item in items):
        report(ctx.api, messages.not_scalar(items), ctx.context, "shape")
    return result


def trace(ctx: MethodContext, result: Type) -> Type:
    """Check `x.trace()`, for which `x` must have no tape."""
    if _owns_tape(ctx):
        report(ctx.api, messages.traced_twice(), ctx.context, "tape")
    return result


def put_tape(ctx: MethodContext, result: Type) -> Type:
    """Check `x.put_tape(tape)`, for which `x` must have no tape."""
    if _owns_tape(ctx):
        report(ctx.api, messages.tape_unwanted("put_tape", "x"), ctx.context, "tape")
    return result


def from_inner(ctx: MethodContext, result: Type) -> Type:
    """Check `Autodiff(NumPy()).from_inner(x)`, for which `x` must have no tape, because NumPy records nothing."""
    receiver = get_proper_type(ctx.type)
    if not isinstance(receiver, Instance) or receiver.type.fullname != _AUTODIFF or not receiver.args:
        return result
    below = get_proper_type(receiver.args[0])
    given = [get_proper_type(one) for types in ctx.arg_types for one in types]
    if (
        isinstance(below, Instance)
        and below.type.has_base(_NUMPY)
        and any(is_tape(parts.tape, OWNED_TAPE) for one in given if (parts := tensor_parts(one)) is not None)
    ):
        report(ctx.api, messages.tape_unwanted("Autodiff.from_inner", "x"), ctx.context, "tape")
    return result


def owns_tape(ctx: AttributeContext) -> Type:
    """Return the type of `x.owns_tape`: a literal where mypy narrows a union by it, item by item.

    A plain read stays a bool; otherwise mypy would skip the body of `if x.owns_tape:` for some tensors.
    """
    parts = tensor_parts(ctx.type)
    if parts is None or getattr(ctx.context, "name", "") == "owns_tape":
        return ctx.default_attr_type
    owns = is_tape(parts.tape, OWNED_TAPE)
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


_AUTODIFF = "tapegrad.autodiff.Autodiff"
_NUMPY = "tapegrad.engines.numpy.engine.NumPy"
METHODS: dict[str, Callable[[MethodContext, Type], Type]] = {
    "backward": backward,
    "put_tape": put_tape,
    "trace": trace,
    "traced": trace,
}


def _owns_tape(ctx: MethodContext) -> bool:
    parts = tensor_parts(ctx.type)
    return parts is not None and is_tape(parts.tape, OWNED_TAPE)


def _may_own_tape(tape: Type) -> bool:
    """Return whether a tape is owned, unknown, or one of several of which not all are missing.

    A variable alone may be no tape in any call, but `T | NoneTape` is the result of a function that decides itself.
    """
    p = get_proper_type(tape)
    if isinstance(p, UnionType):
        return not all(is_tape(item, NONE_TAPE) for item in p.items)
    return isinstance(p, AnyType) or is_tape(p, OWNED_TAPE)


def _is_one_of_several(ctx: MethodContext) -> bool:
    """Return whether a tensor without a tape is an item of a union, of which another item may own one."""
    call = ctx.context
    if not isinstance(call, CallExpr) or not isinstance(call.callee, MemberExpr):
        return False
    p = get_proper_type(stored_type(ctx.api, call.callee.expr) or ctx.type)
    several = [parts.tape for parts in map(tensor_parts, p.items if isinstance(p, UnionType) else []) if parts]
    return bool(several) and _may_own_tape(UnionType(several))


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
