"""The hooks that the plugin's entry asks: each finds out what is called and passes it on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import IndexExpr
from mypy.plugin import MethodSigContext
from mypy.types import Instance, Type, get_proper_type

from tapegrad.dims import assuming
from tapegrad.mypy import calls, flow, layers, lifted
from tapegrad.mypy.codec import TENSOR, VALUE, tensor_parts
from tapegrad.mypy.facts import facts_for
from tapegrad.mypy.signatures import declared_for, forget, is_concerned, loosened, remember

if TYPE_CHECKING:
    from mypy.plugin import AttributeContext, FunctionContext, FunctionSigContext, MethodContext
    from mypy.types import CallableType, FunctionLike


def loosened_signature(ctx: FunctionSigContext | MethodSigContext) -> FunctionLike:
    """Lets a tensor of any shape, tape and dtype through mypy's own check: the call is judged afterwards."""
    declared = ctx.default_signature
    if isinstance(ctx, MethodSigContext) and (op := lifted.op_called(ctx)) is not None:
        remember(ctx.context, op)
        return lifted.signature(ctx, op)
    if not is_concerned(declared):
        forget(ctx.context, declared)
        return declared
    remember(ctx.context, declared)
    return loosened(declared)


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
    if isinstance(receiver, Instance) and (tensor := tensor_parts(receiver)) is not None:
        if name in flow.METHODS:
            return flow.METHODS[name](ctx, calls.method_call(ctx, declared))
        return calls.operation(ctx, declared, name, tensor)
    return calls.method_call(ctx, declared)


def attribute_type(ctx: AttributeContext) -> Type:
    """Types the attributes `T` and `mT` of a tensor."""
    receiver = get_proper_type(ctx.type)
    if isinstance(receiver, Instance) and (receiver.type.has_base(TENSOR) or receiver.type.fullname == VALUE):
        return calls.transposed(ctx, receiver)
    return ctx.default_attr_type
