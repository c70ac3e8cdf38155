"""The hooks that the plugin's entry asks: each finds out what is called and passes it on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import Expression, IndexExpr
from mypy.plugin import MethodSigContext
from mypy.types import CallableType, Instance, TupleType, Type, get_proper_type

from tapegrad.dims import assuming, is_unknown
from tapegrad.mypy import calls, flow, layers, lifted
from tapegrad.mypy.bound import is_given_back
from tapegrad.mypy.codec import GRADIENTS, TENSOR, VALUE, is_size, settled, size_type, tensor_parts, unknown
from tapegrad.mypy.facts import facts_for
from tapegrad.mypy.internals import make, returned_type
from tapegrad.mypy.signatures import (
    declared_for,
    forget,
    is_concerned,
    is_overload,
    loosened,
    method_of_tensor,
    remember,
)
from tapegrad.mypy.values import size_value

if TYPE_CHECKING:
    from typing import TypeGuard

    from mypy.plugin import AttributeContext, FunctionContext, FunctionSigContext, MethodContext
    from mypy.types import FunctionLike

    from tapegrad.mypy.internals import Checker


def loosened_signature(ctx: FunctionSigContext | MethodSigContext) -> FunctionLike:
    """Lets a tensor of any shape, tape and dtype through mypy's own check: the call is judged afterwards."""
    declared = ctx.default_signature
    if isinstance(declared, CallableType) and (method := method_of_tensor(declared)) is not None:
        remember(ctx.context, declared)
        return declared.copy_modified(arg_types=method.opened)
    if isinstance(ctx, MethodSigContext) and (op := lifted.op_called(ctx)) is not None:
        remember(ctx.context, op)
        return lifted.signature(ctx, op)
    if isinstance(ctx.context, IndexExpr) and _assigns_item(ctx, declared):
        return declared.copy_modified(arg_types=[unknown()] * len(declared.arg_types))
    if not is_concerned(declared):
        if isinstance(declared, CallableType) and is_overload(declared):
            remember(ctx.context, declared)  # it may be the one that mypy chooses
        else:
            forget(ctx.context, declared)
        return declared
    remember(ctx.context, declared)
    return loosened(declared, ctx)


def _assigns_item(ctx: FunctionSigContext | MethodSigContext, declared: FunctionLike) -> TypeGuard[CallableType]:
    return (
        isinstance(declared, CallableType)
        and calls.method_name(declared) == "__setitem__"
        and isinstance(ctx, MethodSigContext)
        and tensor_parts(ctx.type) is not None
    )


def function_result(ctx: FunctionContext) -> Type:
    """Types the call of a function or a class."""
    declared = declared_for(ctx)
    claimed = facts_for(ctx)
    if claimed:
        with assuming(claimed):
            return _judged_function(ctx, declared)
    return _judged_function(ctx, declared)


def method_result(ctx: MethodContext) -> Type:
    """Types the call of a method or an operator."""
    if isinstance(ctx.context, IndexExpr) and len(ctx.args) == 2 and tensor_parts(ctx.type) is not None:
        return flow.item_assigned(ctx)
    declared = declared_for(ctx)
    if declared is None:
        if isinstance(ctx.context, IndexExpr):
            return layers.item(ctx)
        return flow.item(ctx) if flow.is_item(ctx.context) else ctx.default_return_type
    claimed = facts_for(ctx)
    if claimed:
        with assuming(claimed):
            return _judged_method(ctx, declared)
    return _judged_method(ctx, declared)


def _judged_function(ctx: FunctionContext, declared: CallableType | None) -> Type:
    return layers.wired(ctx, ctx.default_return_type if declared is None else calls.function_call(ctx, declared))


def _judged_method(ctx: MethodContext, declared: CallableType) -> Type:
    if lifted.op_of(ctx.type, ctx.api) is not None:
        return lifted.call(ctx, declared)
    name = calls.method_name(declared)
    if name == "bind" and (result := lifted.bound(ctx)) is not None:
        return result
    if name == "forward":
        return layers.called(ctx, declared)
    receiver = get_proper_type(ctx.type)
    if name == "__getitem__" and isinstance(receiver, Instance) and receiver.type.fullname == GRADIENTS:
        return flow.gradient_taken(ctx, calls.method_call(ctx, declared))
    if isinstance(receiver, Instance) and (tensor := tensor_parts(receiver)) is not None:
        if name in flow.METHODS:
            return flow.METHODS[name](ctx, calls.method_call(ctx, declared))
        return calls.operation(ctx, declared, name, tensor)
    return calls.method_call(ctx, declared)


def number_result(ctx: FunctionContext | MethodContext) -> Type:
    """Types `n + 1` and `len(x)` where a size is expected, see `_number`."""
    return _number(ctx, ctx.default_return_type)


def _number(ctx: FunctionContext | MethodContext | AttributeContext, default: Type) -> Type:
    """Types a number where a size is expected; anywhere else it stays an int, so that its name may be bound again."""
    expected, expression = ctx.api.type_context[-1], ctx.context
    if not isinstance(expression, Expression):
        return default
    if not is_size(expected) if expected is not None else not _is_given_as_size(expression, ctx.api):
        return default
    with assuming(facts_for(ctx)):
        size = size_value(default, expression, ctx.api)
        return default if is_unknown(size) else size_type(size, make(ctx.api))


def _is_given_as_size(value: Expression, api: Checker) -> bool:
    """Says whether a name stands for an expression, and for nothing else, that a function of sizes gives back."""
    given = returned_type(api)
    items = given.items if isinstance(given, TupleType) else [given] if given is not None else []
    return any(map(is_size, items)) and is_given_back(value, api)


def settled_attribute(ctx: AttributeContext) -> Type:
    """Types an attribute whose sizes are computed from those of its object: where these are numbers, so are those."""
    if getattr(ctx.context, "name", "") in ("ndim", "size") and tensor_parts(ctx.type) is not None:
        return _number(ctx, ctx.default_attr_type)
    return settled(ctx.default_attr_type, make(ctx.api))


def attribute_type(ctx: AttributeContext) -> Type:
    """Types the attributes `T` and `mT` of a tensor."""
    receiver = get_proper_type(ctx.type)
    if isinstance(receiver, Instance) and (receiver.type.has_base(TENSOR) or receiver.type.fullname == VALUE):
        return calls.transposed(ctx, receiver)
    return ctx.default_attr_type
