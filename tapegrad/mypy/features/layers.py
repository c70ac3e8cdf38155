"""Calls of layers, whose errors name the layer, and checks of models where they are made and called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import ARG_STAR, CallExpr, MemberExpr, Var
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    LiteralType,
    NoneType,
    ProperType,
    TupleType,
    Type,
    TypeVarTupleType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad.errors import messages
from tapegrad.mypy.calls.assertions import learned_for
from tapegrad.mypy.calls.check import cacheable_layer_call, method_call, method_name
from tapegrad.mypy.conversion import (
    MODULE,
    TENSOR,
    has_opaque,
    kind_of,
    shape_items,
    shape_type,
    size_of,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.features.body_arguments import arguments_given
from tapegrad.mypy.features.layer_names import call_path, is_forward, layer_text
from tapegrad.mypy.features.made_layers import inner_value, leaves_sizes_open, type_made
from tapegrad.mypy.features.models import CONTAINERS, ModelPass, RejectedError, container
from tapegrad.mypy.mypy_api import (
    accepts,
    attribute_variable,
    expand_type,
    get_all_type_vars,
    is_of_library,
    is_reported,
    make,
    map_instance_to_supertype,
    method_signature,
    stored_type,
)
from tapegrad.mypy.reports import CurrentLayer, report, with_path
from tapegrad.mypy.rules.layers import rule_of
from tapegrad.mypy.scopes.called_functions import called_function
from tapegrad.mypy.scopes.file_contents import checked_contents
from tapegrad.mypy.scopes.frames import Layers, Reading, within
from tapegrad.mypy.scopes.objects import object_of
from tapegrad.mypy.scopes.written_attributes import write_by_constructor
from tapegrad.mypy.signatures import any_layers

if TYPE_CHECKING:
    from mypy.nodes import Context
    from mypy.plugin import FunctionContext, MethodContext

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value


def of_several_lists(call: Context, declared: CallableType) -> CallableType | None:
    """Return the signature of a container for several starred lists of layers, which mypy rejects; None for others."""
    kinds = call.arg_kinds if isinstance(call, CallExpr) else []
    result = get_proper_type(declared.ret_type)
    if kinds.count(ARG_STAR) < 2 or not isinstance(result, Instance) or not declared.is_type_obj():
        return None
    if not result.type.has_base(MODULE) or not result.type.has_type_var_tuple_type:
        return None
    made = result.copy_modified(args=any_layers(result.type))
    return declared.copy_modified(arg_types=[unknown()] * len(declared.arg_types), ret_type=made, variables=[])


def called(ctx: MethodContext, declared: CallableType) -> Type:
    """Compute the type of a call of a `forward` method, or of a module, which calls its `forward`."""
    receiver = get_proper_type(ctx.type)
    if not isinstance(receiver, Instance) or not receiver.type.has_base(MODULE):
        return method_call(ctx, declared)
    if (declares := _declares(ctx, receiver)) is not None and (result := _through_made(ctx, declares)) is not None:
        return result
    if container(receiver) is not None:
        return _threaded(ctx, declared, receiver)
    declared = _with_sizes_of_argument(declared, receiver, ctx.api)
    cacheable = None if learned_for(ctx) else cacheable_layer_call(ctx, declared, receiver)
    known = cacheable.answer() if cacheable is not None else None
    if known is not None:
        return _without_int(known, ctx.api)
    rule = rule_of(receiver)
    if CurrentLayer.add_path is not None or is_forward(ctx.context):
        return _without_int(method_call(ctx, declared, rule, cacheable), ctx.api)
    with with_path(lambda message: messages.of_layer(call_path(ctx), layer_text(receiver), message)):
        return _without_int(method_call(ctx, declared, rule, cacheable), ctx.api)


def _declares(ctx: MethodContext, receiver: Instance) -> Instance | None:
    """Return the type of a layer if it says less than the call that makes the layer; of one of several, any module."""
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    if callee is not None and isinstance(get_proper_type(stored_type(ctx.api, callee)), UnionType):
        return Instance(next(base for base in receiver.type.mro if base.fullname == MODULE), [])
    return receiver if leaves_sizes_open(receiver) else None


def _with_sizes_of_argument(declared: CallableType, receiver: Instance, api: Checker) -> CallableType:
    """Return the signature of a layer of unknown sizes: the result has those sizes of the argument that a layer keeps.

    So `x` of 8 columns has 8 behind `LayerNorm(width)` too, of which only the argument says what the width is.
    """
    is_open = [isinstance(get_proper_type(one), AnyType) for one in receiver.args]
    if not any(is_open) or not is_of_library(declared):
        return declared
    symbol = receiver.type.get("forward")
    written = get_proper_type(symbol.type) if symbol is not None else None
    if not isinstance(written, CallableType):
        return declared
    taken = {one.id for t in written.arg_types[1:] for one in get_all_type_vars(t)}
    kept = {one.id for one in get_all_type_vars(written.ret_type) if one.id in taken and kind_of(one) == "size"}
    variables = [
        one for one, is_any in zip(receiver.type.defn.type_vars, is_open, strict=True) if is_any and one.id in kept
    ]
    if not variables:
        return declared
    own = {one.id for one in variables}
    args = [one if one.id in own else arg for one, arg in zip(receiver.type.defn.type_vars, receiver.args, strict=True)]
    found = method_signature(api, receiver.copy_modified(args=args), "forward")
    if not isinstance(found, CallableType):
        return declared
    return found.copy_modified(variables=[*found.variables, *variables])


def called_unknown(ctx: MethodContext) -> Type:
    """Compute the type of a call of an object that is declared to be a `Module`, which may be any."""
    receiver = get_proper_type(ctx.type)
    if not isinstance(receiver, Instance) or receiver.type.fullname != MODULE:
        return ctx.default_return_type
    return _through_made(ctx, receiver) or ctx.default_return_type


def _through_made(ctx: MethodContext, receiver: Instance) -> Type | None:
    """Return the type of a call of a layer of unknown sizes by those that it was made with; None if not known."""
    if Reading.is_tried:  # with the type that is known
        return None
    value = _object_called(ctx)
    made = type_made(receiver, value, ctx.api)
    arguments = arguments_given(ctx)
    if made is None or made == receiver or not arguments or arguments[0].kind.is_star():
        return None
    path = "" if is_forward(ctx.context) else call_path(ctx)
    if container(made) is not None:
        path = path or receiver.type.name
    try:
        model_pass = ModelPass(ctx.api, ctx.context, arguments[1:])
        others = () if container(made) is not None else arguments[1:]
        return model_pass.through(made, arguments[0].given, path, others, inner_value(value, ctx.api))
    except RejectedError as rejected:
        inner = inner_value(value, ctx.api)
        is_new = isinstance(inner, Layers) and (inner.has_lists or inner.info is not receiver.type)
        if is_new or _is_made_by_function(ctx) or not _is_reported(made, ctx):
            _report(rejected, ctx)
        return ctx.default_return_type


def with_masks(ctx: MethodContext, declared: CallableType) -> Type:
    """Compute the type of a call of `encode` or `decode`, whose masks the blocks of a `Transformer` reject."""
    receiver = get_proper_type(ctx.type)
    if not isinstance(receiver, Instance) or not receiver.type.has_base(MODULE):
        return method_call(ctx, declared)
    return method_call(ctx, declared, rule_of(receiver, method_name(declared)))


def newest_forward(ctx: MethodContext) -> CallableType | None:
    """Return the signature of the layer that a variable was last bound to, of the several in its type."""
    receiver = get_proper_type(ctx.type)
    if not isinstance(receiver, Instance) or not receiver.type.has_base(MODULE):
        return None
    found = method_signature(ctx.api, receiver, "forward")
    return found if isinstance(found, CallableType) else None


def wired(ctx: FunctionContext, result: Type) -> Type:
    """Check a model where it is made: the output of each layer must match the input of the next."""
    model = get_proper_type(result)
    if not isinstance(model, Instance) or model.type.name not in CONTAINERS:
        return result
    # For a single layer, mypy reports the error itself.
    several = model.args if model.type.has_type_var_tuple_type and container(model) is not None else ()
    for position, layer in enumerate(map(get_proper_type, several)):
        if given := _no_module(layer):
            message = messages.no_module(f"{model.type.name}: layer {position}", given)
            report(ctx.api, message, ctx.context, "dtype")
            return result
    if not any(_is_miswired(layer, ctx.api, ctx.context) for layer in model.args):
        _report(_miswiring(model, ctx.api, ctx.context), ctx)
    return result


def _no_module(p: ProperType) -> str:
    """Return the description of an argument that cannot be a layer; empty if it may be one."""
    if isinstance(p, FunctionLike):
        return f"the class {p.type_object().name}" if p.is_type_obj() else "a function"
    if isinstance(p, NoneType):
        return "a NoneType"
    if isinstance(p, Instance) and not p.type.is_protocol and not p.type.has_base(MODULE):
        return messages.with_article(p.type.name)
    return ""


def item(ctx: MethodContext) -> Type:
    """Return the type of `model[1]`, the layer at that index."""
    model, arguments = container(ctx.type), [t for types in ctx.arg_types for t in types]
    if model is None or model.type.name == "Repeated" or len(arguments) != 1:
        return ctx.default_return_type
    index, count = size_of(arguments[0]), len(model.args)
    if any(isinstance(layer, UnpackType) for layer in model.args) or not isinstance(index, int):
        return ctx.default_return_type
    return model.args[index] if -count <= index < count else ctx.default_return_type


def flag(layer: Type) -> bool | None:
    """Return whether a layer has a bias; None if that is unknown."""
    p = get_proper_type(layer)
    if not isinstance(p, Instance) or not p.type.has_base(MODULE):
        return None
    for owner in p.type.mro:
        for position, variable in enumerate(owner.defn.type_vars):
            if kind_of(variable) == "flag" and owner.module_name.startswith("tapegrad.nn."):
                value = get_proper_type(map_instance_to_supertype(p, owner).args[position])
                return bool(value.value) if isinstance(value, LiteralType) else None
    return None


def _without_int(result: Type, api: Any) -> Type:
    """Make `int` sizes unknown: mypy infers `int` for layers of different sizes in a list."""
    p, parts = get_proper_type(result), tensor_parts(result)
    shape = get_proper_type(parts.shape) if parts is not None else None
    if not isinstance(p, Instance) or not isinstance(shape, TupleType):
        return result
    items = [get_proper_type(item) for item in shape.items]
    if not any(isinstance(item, Instance) and item.type.fullname == "builtins.int" for item in items):
        return result
    return p.copy_modified(args=[shape_type(shape_items(shape), make(api)), *p.args[1:]])


def _threaded(ctx: MethodContext, declared: CallableType, model: Instance) -> Type:
    """Compute the type of a call of a model, by passing the arguments through its layers."""
    arguments = arguments_given(ctx)
    # The signature of a container accepts any shape, but that of `MixedPrecision` is its model's.
    is_any_shape = model.type.name != "MixedPrecision"
    if not arguments or (is_any_shape and not accepts(declared.arg_types[0], arguments[0].given)):
        return ctx.default_return_type  # mypy has reported the error itself
    path = "" if is_forward(ctx.context) else call_path(ctx)
    try:
        model_pass = ModelPass(ctx.api, ctx.context, arguments[1:])
        return model_pass.through(model, arguments[0].given, path or model.type.name, value=_value(ctx, model))
    except RejectedError as rejected:
        if not _is_reported(model, ctx):
            _report(rejected, ctx)
        return ctx.default_return_type


def _value(ctx: MethodContext, model_type: Instance) -> Value:
    """Return what the model that is called was made with, if that is known and says more than its type."""
    return _object_called(ctx) if _has_own_layers(model_type) else None


def _object_called(ctx: MethodContext) -> Value:
    """Return what the layer that is called was made with; None if that is not known."""
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    model = callee.expr if isinstance(callee, MemberExpr) and is_forward(ctx.context) else callee
    return None if model is None else object_of(model, ctx.api)


def _has_own_layers(t: Type) -> bool:
    """Return whether layers of a model are of classes that are not tapegrad's."""
    p = get_proper_type(t.type if isinstance(t, UnpackType) else t)
    if not isinstance(p, Instance) or p.type.fullname.startswith("builtins."):
        return isinstance(p, Instance) and any(map(_has_own_layers, p.args))
    return not p.type.fullname.startswith("tapegrad.") or any(map(_has_own_layers, p.args))


def _report(rejected: RejectedError | None, ctx: FunctionContext | MethodContext) -> None:
    errors = rejected.errors if rejected is not None else []
    if any(is_reported(ctx.api, ctx.context, code) for _, code in errors):
        return
    for message, code in errors:
        ctx.api.fail(message, ctx.context, code=code)


def _is_reported(model: Type, ctx: MethodContext) -> bool:
    """Return whether the error of a model is reported where it was made, because the model fails for every input.

    In a body that is read the sizes of an attribute such as `self.mlp` are numbers, of which that place knows the names
    alone: with them, some input may pass.
    """
    if not _is_miswired(model, ctx.api, ctx.context):
        return False
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    if Reading.frame is None or not isinstance(callee, MemberExpr):
        return True
    variable = attribute_variable(callee, ctx.api)
    if not isinstance(variable, Var) or variable.type is None or not has_opaque(variable.type):
        return True
    with within(None):
        return _is_miswired(variable.type, ctx.api, ctx.context)


def _is_made_by_function(ctx: MethodContext) -> bool:
    """Return whether a constructor gets the model in an attribute from a function of the program.

    Only the names of its sizes are known there, so that the error is not reported where the model is made.
    """
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    owner = get_proper_type(stored_type(ctx.api, callee.expr)) if isinstance(callee, MemberExpr) else None
    if not isinstance(callee, MemberExpr) or not isinstance(owner, Instance):
        return False
    written = write_by_constructor(owner.type, callee.name, checked_contents(ctx.api))
    made = None if written is None else written.value
    return isinstance(made, CallExpr) and called_function(made.callee, ctx.api) is not None


def _is_miswired(layer: Type, api: Any, context: Context) -> bool:
    """Return whether a model fails for every input."""
    p = get_proper_type(layer)
    return isinstance(p, Instance) and container(p) is not None and _miswiring(p, api, context) is not None


def _miswiring(model: Instance, api: Any, context: Context) -> RejectedError | None:
    """Return the error of a model that fails for every input of any rank; None if some input may pass."""
    x = _first_input(model, api)
    failures: list[RejectedError] = []
    for one in [x, *_of_each_rank(x)] if x is not None else []:
        try:
            ModelPass(api, context).through(model, one, model.type.name)
        except RejectedError as rejected:
            failures.append(rejected)
        else:
            return None
    # A rank that the first layers reject says little, so report the error that occurs after the most layers.
    return max(failures, key=lambda rejected: rejected.passed, default=None)


def _first_input(layer: Type, api: Any) -> Type | None:
    p, holder = get_proper_type(layer), container(layer)
    if holder is not None:
        if holder.type.name != "AddInto":
            return _first_input(holder.args[0], api) if holder.args else None
        inputs = [_first_input(one, api) or unknown() for one in holder.args]
        return TupleType(inputs, make(api)("builtins.tuple", [unknown()]))
    if not isinstance(p, Instance) or not p.type.has_base(MODULE):
        return None
    signature = method_signature(api, p, "forward")
    if not isinstance(signature, CallableType) or not signature.arg_types:
        return None
    # The type variables of `forward` itself accept any input.
    own = {one.id: unknown() for one in signature.variables if not isinstance(one, TypeVarTupleType)}
    x = get_proper_type(expand_type(signature.arg_types[0], own))
    if not isinstance(x, Instance) or x.type.fullname != TENSOR:
        return None
    return x.copy_modified(args=[x.args[0], unknown(), x.args[2]])


def _of_each_rank(x: Type) -> list[Type]:
    """Return tensors with zero to seven unknown sizes in place of `...`; none if the shape has no `...`."""
    p = get_proper_type(x)
    shape = get_proper_type(p.args[0]) if isinstance(p, Instance) and p.args else None
    if not isinstance(p, Instance) or not isinstance(shape, TupleType):
        return []
    many = next((position for position, item in enumerate(shape.items) if isinstance(item, UnpackType)), None)
    if many is None:
        return []
    before, after = shape.items[:many], shape.items[many + 1 :]
    shapes = [shape.copy_modified(items=[*before, *[unknown()] * count, *after]) for count in range(8)]
    return [p.copy_modified(args=[one, *p.args[1:]]) for one in shapes]
