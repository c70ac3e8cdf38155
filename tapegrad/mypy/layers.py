"""Sequential: a tensor threaded through the layers, each of which names itself in what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.types import CallableType, Instance, Type, TypeVarType, get_proper_type

from tapegrad.mypy.calls import Thread
from tapegrad.mypy.codec import TENSOR, size_of, tensor_parts, unknown
from tapegrad.mypy.internals import Trial, method_signature, tried_method

if TYPE_CHECKING:
    from mypy.nodes import Context
    from mypy.plugin import FunctionContext, MethodContext

SEQUENTIAL = "tapegrad.nn.sequential.Sequential"


def is_sequential(t: Type) -> bool:
    """Says whether a type is a `Sequential` with known layers."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname == SEQUENTIAL and bool(p.args)


def threaded(ctx: MethodContext) -> Type:
    """Types a call of a `Sequential`: what its last layer gives."""
    receiver = get_proper_type(ctx.type)
    if not isinstance(receiver, Instance) or not ctx.arg_types or len(ctx.arg_types[0]) != 1:
        return ctx.default_return_type
    trial = _through(receiver, ctx.arg_types[0][0], ctx.api, ctx.context)
    if not trial.errors:
        return trial.result
    if not _is_miswired(receiver, ctx.api, ctx.context):  # else it was said where the model was made
        _report(trial, ctx)
    return unknown()


def wired(ctx: FunctionContext, result: Type) -> Type:
    """Judges a `Sequential` as it is made: what one layer gives must be what the next one takes."""
    made = get_proper_type(result)
    if isinstance(made, Instance) and is_sequential(made):
        said = any(_is_miswired(layer, ctx.api, ctx.context) for layer in made.args)
        x = _first_input(made, ctx.api)
        if x is not None and not said:
            _report(_through(made, x, ctx.api, ctx.context), ctx)
    return result


def _report(trial: Trial, ctx: FunctionContext | MethodContext) -> None:
    for message, code in trial.errors:
        ctx.api.fail(message, ctx.context, code=code)


def _is_miswired(t: Type, api: Any, context: Context) -> bool:
    """Says whether a model fails by itself, whatever comes in."""
    model = get_proper_type(t)
    if not isinstance(model, Instance) or not is_sequential(model):
        return False
    x = _first_input(model, api)
    return x is not None and bool(_through(model, x, api, context).errors)


def _through(model: Instance, x: Type, api: Any, context: Context) -> Trial:
    outer = Thread.path
    try:
        for index, layer in enumerate(map(get_proper_type, model.args)):
            if not isinstance(layer, Instance):
                return Trial(unknown(), [])
            Thread.path = _path(outer, index, layer)
            trial = tried_method(api, layer, "forward", x, context)
            if trial.errors:
                return trial
            x = trial.result
    finally:
        Thread.path = outer
    return Trial(x, [])


def _path(outer: str, index: int, layer: Instance) -> str:
    start = outer.partition(" ")[0] if outer else "Sequential"
    return f"{start}[{index}] {_written(layer)}"


def _written(layer: Instance) -> str:
    if layer.type.fullname == SEQUENTIAL:
        return "Sequential"
    return f"{layer.type.name}({', '.join(str(size_of(argument)) for argument in layer.args)})"


def _first_input(layer: Type, api: Any) -> Type | None:
    p = get_proper_type(layer)
    if not isinstance(p, Instance):
        return None
    if p.type.fullname == SEQUENTIAL:
        return _first_input(p.args[0], api) if p.args else None
    signature = method_signature(api, p, "forward")
    if not isinstance(signature, CallableType) or not signature.arg_types:
        return None
    x = get_proper_type(signature.arg_types[0])
    parts = tensor_parts(x)
    if not isinstance(x, Instance) or parts is None or x.type.fullname != TENSOR:
        return None
    # What goes by a name of the layer's own is whatever comes in.
    shape, dtype = (unknown() if isinstance(get_proper_type(t), TypeVarType) else t for t in (parts.shape, parts.dtype))
    return x.copy_modified(args=[shape, unknown(), dtype])
