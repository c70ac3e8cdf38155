"""The hooks behind the plugin class: each determines what is called and passes the call on."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from mypy.nodes import CallExpr, Expression, FuncDef, IndexExpr, MemberExpr, RefExpr, SuperExpr, TypeInfo
from mypy.plugin import MethodContext, MethodSigContext
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    TypeVarType,
    get_proper_type,
)

from tapegrad.mypy.calls import check as calls
from tapegrad.mypy.calls.array_types import turned
from tapegrad.mypy.calls.arrays import attribute_of_scalar
from tapegrad.mypy.calls.assertions import facts_for
from tapegrad.mypy.conversion import (
    GRADIENTS,
    MODULE,
    TENSOR,
    VALUE,
    has_opaque,
    is_size,
    settled,
    size_type,
    tensor_parts,
    unknown,
    without_common_class,
    without_opaque,
)
from tapegrad.mypy.features import (
    attributes,
    bodies,
    body_lists,
    collections,
    constructors,
    datasets,
    drivers,
    dtypes,
    einops_calls,
    layers,
    loops,
    numbers,
    numpy_calls,
    pure_tape,
)
from tapegrad.mypy.features.fields import made_with_fields, replaced_with_fields
from tapegrad.mypy.features.float_results import as_float
from tapegrad.mypy.features.idle import report_idle
from tapegrad.mypy.features.lambdas import with_lambdas
from tapegrad.mypy.features.layer_choices import with_other_choices
from tapegrad.mypy.features.optimizer_steps import check_step
from tapegrad.mypy.features.partial_types import is_sequence
from tapegrad.mypy.features.truth import check_condition
from tapegrad.mypy.mypy_api import (
    accepts,
    depend_on,
    drop_union_context,
    make,
    remove_optional,
    returned_type,
    skips_untyped,
    stored_type,
    type_of_other,
)
from tapegrad.mypy.ownership import tape_methods
from tapegrad.mypy.ownership.schedule import note_call, walk_over
from tapegrad.mypy.reports import CODES
from tapegrad.mypy.scopes.functions import returned_class
from tapegrad.mypy.scopes.names import is_given_back
from tapegrad.mypy.scopes.plain_calls import plain_call
from tapegrad.mypy.scopes.rebinding import bound, newest, with_attribute, with_newest
from tapegrad.mypy.scopes.values import size_value
from tapegrad.mypy.signatures import (
    clear_signatures,
    declared_for,
    has_own_sizes,
    is_concerned,
    is_overload,
    lacks_annotations,
    method_of_tensor,
    open_signature,
    register,
    with_numbers,
)
from tapegrad.mypy.unify.named_tuples import is_replace, replace_signature
from tapegrad.mypy.unify.starred_arguments import with_options
from tapegrad.mypy.unify.starred_shapes import with_starred_shapes
from tapegrad.sizes import assuming, is_unknown

if TYPE_CHECKING:
    from typing import TypeGuard

    from mypy.plugin import AttributeContext, FunctionContext, FunctionSigContext
    from mypy.types import FunctionLike

    from tapegrad.mypy.mypy_api import Checker


def opened_signature(ctx: FunctionSigContext | MethodSigContext) -> FunctionLike:
    """Return a signature that accepts tensors of any shape, tape and dtype; the result hooks check the call later."""
    declared = ctx.default_signature
    drop_union_context(ctx.api, declared)
    open_context(ctx.api)
    if isinstance(declared, CallableType) and (method := method_of_tensor(declared)) is not None:
        register(ctx.context, declared)
        opened = with_options(declared.copy_modified(arg_types=method.opened), ctx)
        return with_starred_shapes(opened, ctx)
    if not has_own_sizes(declared):
        collections.open_arguments(ctx, declared)
    signature = _loosened_signature(ctx, declared)
    if (
        not isinstance(signature, CallableType)
        or has_own_sizes(declared)
        or not any(map(has_opaque, signature.arg_types))
    ):
        return signature
    # The parameter types of a lambda are those that its body is checked with.
    takes = [t if isinstance(get_proper_type(t), CallableType) else without_opaque(t) for t in signature.arg_types]
    return signature.copy_modified(arg_types=takes)


def _loosened_signature(ctx: FunctionSigContext | MethodSigContext, declared: FunctionLike) -> FunctionLike:
    if isinstance(ctx, MethodSigContext) and (op := pure_tape.op_called(ctx)) is not None:
        register(ctx.context, op)
        return pure_tape.signature(ctx, op)
    if isinstance(ctx, MethodSigContext) and (changed := replace_signature(ctx, declared)) is not None:
        declared = changed
    if isinstance(declared, CallableType) and (several := layers.of_several_lists(ctx.context, declared)) is not None:
        clear_signatures(ctx.context, declared)
        return several
    if isinstance(ctx.context, IndexExpr) and _assigns_item(ctx, declared):
        return declared.copy_modified(arg_types=[unknown()] * len(declared.arg_types))
    if not is_concerned(declared):
        if isinstance(declared, CallableType) and is_overload(declared):
            register(ctx.context, declared)  # mypy may choose this overload
        elif isinstance(ctx.context, CallExpr) and lacks_annotations(declared) and not skips_untyped(ctx.api.options):
            register(ctx.context, declared)  # the body says what the signature does not
        else:
            clear_signatures(ctx.context, declared)
        return with_options(declared, ctx) if isinstance(declared, CallableType) else declared
    register(ctx.context, declared)
    depend_on(ctx.api, declared)
    opened = with_numbers(open_signature(declared, ctx), declared, ctx)
    opened = with_lambdas(opened, declared, ctx)
    return with_starred_shapes(with_options(opened, ctx), ctx) if isinstance(opened, CallableType) else opened


def open_context(api: Checker) -> None:
    """Expect any size where an opaque one is expected, such as in an item of a list after the first."""
    expected = api.type_context[-1]
    if expected is not None and has_opaque(expected):
        api.type_context[-1] = without_opaque(expected)


def _assigns_item(ctx: FunctionSigContext | MethodSigContext, declared: FunctionLike) -> TypeGuard[CallableType]:
    return (
        isinstance(declared, CallableType)
        and calls.method_name(declared) == "__setitem__"
        and isinstance(ctx, MethodSigContext)
        and tensor_parts(ctx.type) is not None
    )


def function_result(ctx: FunctionContext) -> Type:
    """Compute the result type of a call of a function or a class."""
    declared = declared_for(ctx)
    note_call(ctx.api, declared)
    ctx = with_newest(ctx)
    asserted = facts_for(ctx)
    if asserted:
        with assuming(asserted):
            result = _judged_function(ctx, declared)
    else:
        result = _judged_function(ctx, declared)
    result = made_with_fields(ctx, declared, result)
    called = declared or _method_of_super(ctx)
    result = drivers.check_driver(ctx, result) if called is None else bodies.completed(ctx, called, result)
    if isinstance(ctx.context, CallExpr) and getattr(ctx.context.callee, "fullname", "") == datasets.BATCHES:
        result = datasets.with_rows(ctx, datasets.with_examples(ctx, result))
        datasets.check_rows(ctx)
    if makes_layer(ctx):
        bodies.check_builder(ctx)
    if makes_model(ctx):
        constructors.check_constructor(ctx)
    report_idle(ctx, result)
    check_condition(ctx.context, result, ctx.api)
    result = bound(ctx.context, result, ctx.api)
    return with_other_choices(ctx.context, with_attribute(ctx.context, result, ctx.api), ctx.api)


def _method_of_super(ctx: FunctionContext) -> CallableType | None:
    """Return the method that `super().method(...)` calls, of which mypy asks for no signature."""
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    method = get_proper_type(stored_type(ctx.api, callee)) if isinstance(callee, SuperExpr) else None
    return method if isinstance(method, CallableType) and not method.is_type_obj() else None


def makes_layer(ctx: FunctionContext) -> bool:
    """Return whether a call is one of a function of the program that returns a layer."""
    result, call = ctx.default_return_type, ctx.context
    is_layer = isinstance(result, Instance) and result.type.has_base(MODULE)
    function = (
        call.callee.node if is_layer and isinstance(call, CallExpr) and isinstance(call.callee, RefExpr) else None
    )
    return isinstance(function, FuncDef) and returned_class(function) is not None


def makes_model(ctx: FunctionContext) -> bool:
    """Return whether a call makes an object of a class of the program that is a layer."""
    result = ctx.default_return_type
    is_own = isinstance(result, Instance) and not result.type.fullname.startswith("tapegrad.")
    callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
    is_class = isinstance(callee, RefExpr) and isinstance(callee.node, TypeInfo)
    return is_own and is_class and isinstance(result, Instance) and result.type.has_base(MODULE)


def walk_scheduled(ctx: FunctionContext) -> Type:
    """Follow the tapes through a unit that mypy has checked."""
    walk_over(ctx.api, ctx.context)
    return ctx.default_return_type


def scan_signature(ctx: FunctionSigContext) -> FunctionLike:
    """Return a signature of `scan` that accepts any step and state, because the result hook checks the call."""
    return loops.signature(ctx)


def scan_result(ctx: FunctionContext) -> Type:
    """Compute the result type of a call of `scan`."""
    result = loops.scanned(with_newest(ctx))
    return bound(ctx.context, result, ctx.api)


def cast_result(ctx: FunctionContext) -> Type:
    """Compute the result type of a call of `nn.cast`."""
    ctx = with_newest(ctx)
    result = dtypes.cast_result(ctx)
    return bound(ctx.context, result, ctx.api)


def method_result(ctx: MethodContext) -> Type:
    """Compute the result type of a call of a method or an operator."""
    if isinstance(ctx.context, IndexExpr) and len(ctx.args) == 2 and tensor_parts(ctx.type) is not None:
        return tape_methods.item_assigned(ctx)
    declared = declared_for(ctx)
    note_call(ctx.api, declared)
    if declared is None:
        if isinstance(ctx.context, IndexExpr):
            return layers.item(ctx)
        if _is_item(ctx):
            return numbers.expected(as_float(tape_methods.item(ctx), ctx.context, ctx.api), ctx.context, ctx.api)
        result = drivers.check_driver(ctx, layers.called_unknown(ctx))
        check_condition(ctx.context, result, ctx.api)
        return without_common_class(result, ctx.type)
    older = ctx.type
    ctx = with_newest(ctx, reflected=calls.is_reflected(declared))
    if ctx.type is not older and calls.method_name(declared) == "forward":
        declared = layers.newest_forward(ctx) or declared
    asserted = facts_for(ctx)
    if asserted:
        with assuming(asserted):
            result = _judged_method(ctx, declared)
    else:
        result = _judged_method(ctx, declared)
    result = bodies.completed(ctx, declared, result)
    check_condition(ctx.context, result, ctx.api)
    result = bound(ctx.context, result, ctx.api)
    return without_common_class(result, older)


def _is_item(ctx: MethodContext) -> bool:
    """Return whether a call is `x.item()`, whose signature mentions no tensor."""
    call = ctx.context
    is_item = isinstance(call, CallExpr) and isinstance(call.callee, MemberExpr) and call.callee.name == "item"
    return is_item and tensor_parts(ctx.type) is not None


def _judged_function(ctx: FunctionContext, declared: CallableType | None) -> Type:
    return layers.wired(ctx, ctx.default_return_type if declared is None else calls.function_call(ctx, declared))


def _judged_method(ctx: MethodContext, declared: CallableType) -> Type:
    name = calls.method_name(declared)
    receiver = get_proper_type(ctx.type)
    if isinstance(receiver, Instance) and (tensor := tensor_parts(receiver)) is not None and not is_replace(declared):
        if name in tape_methods.METHODS:
            return tape_methods.METHODS[name](ctx, calls.method_call(ctx, declared))
        return calls.operation(ctx, declared, name, tensor)
    if pure_tape.op_of(receiver, ctx.api) is not None:
        return pure_tape.call(ctx, declared)
    if name == "bind" and (result := pure_tape.bound(ctx)) is not None:
        return result
    if is_replace(declared):
        return replaced_with_fields(ctx, declared, calls.replaced(ctx, declared))
    if name == "forward":
        return layers.called(ctx, declared)
    if name in ("encode", "decode"):
        return layers.with_masks(ctx, declared)
    if name == "__getitem__" and isinstance(receiver, Instance) and receiver.type.fullname == GRADIENTS:
        return tape_methods.gradient_taken(ctx, calls.method_call(ctx, declared))
    if name == "from_inner":
        return tape_methods.from_inner(ctx, calls.method_call(ctx, declared))
    if not getattr(declared.definition, "info", None):  # an op in an attribute, such as `self.loss`
        return calls.signed_call(ctx, declared)
    return calls.method_call(ctx, declared)


def growing_signature(ctx: MethodSigContext) -> FunctionLike:
    """Return the signature of a method that adds items to a collection."""
    open_context(ctx.api)
    return collections.growing(ctx)


def result_of_plain_call(ctx: MethodContext) -> Type:
    """Return the type of what `partial(f, x)`, or a function with a cache, returns: that of the function itself.

    A list of a function with a cache is the same at each call, and the program may have added to it.
    """
    default = ctx.default_return_type
    if is_sequence(default):
        return default
    plain = plain_call(ctx.context, ctx.api) if isinstance(ctx.context, CallExpr) else None
    found = None if plain is None else type_of_other(ctx.api, plain, CODES.values())
    return bound(ctx.context, found if found is not None and accepts(default, found) else default, ctx.api)


def number_of_tensor(ctx: FunctionContext) -> Type:
    """Check a call of `float`, `int` or `format` with a tensor."""
    return tape_methods.number(ctx)


def formatted_tensor(ctx: MethodContext) -> Type:
    """Check a tensor in a formatted string."""
    return tape_methods.formatted(ctx)


def optimizer_step(ctx: MethodContext) -> Type:
    """Check the gradients that an optimizer takes."""
    return check_step(ctx)


def joined_lists(ctx: MethodContext) -> Type:
    """Compute the type of `xs + ys` of two lists."""
    result = collections.joined_lists(ctx)
    return bound(ctx.context, result, ctx.api)


def value_of_key(ctx: MethodContext) -> Type:
    """Compute the type of an item of a dictionary of tensors."""
    result = collections.value_of_key(ctx)
    return bound(ctx.context, result, ctx.api)


def all_values(ctx: MethodContext) -> Type:
    """Compute the type of the values of a dictionary of tensors."""
    return collections.all_values(ctx)


def popped_result(ctx: MethodContext) -> Type:
    """Compute the type of `items.pop()` of a list whose items are known one by one."""
    return body_lists.popped(ctx)


def turned_attribute(ctx: AttributeContext) -> Type:
    """Return the type of `array.T`, which in NumPy's stubs has the shape of `array`."""
    return turned(ctx.default_attr_type, ctx.api)


def attribute_of_number(ctx: AttributeContext) -> Type:
    """Return the type of `x.shape` where NumPy's stubs take `x` for a number, which may be an array."""
    return attribute_of_scalar(ctx)


def turned_result(ctx: MethodContext) -> Type:
    """Return the type of `array.transpose(...)` or `array.swapaxes(0, 1)`, with no sizes of `array`."""
    return turned(ctx.default_return_type, ctx.api)


def number_result(ctx: FunctionContext | MethodContext) -> Type:
    """Compute the type of `n + 1` or `len(x)` where a size is expected, see `_number`."""
    return _number(ctx, ctx.default_return_type)


def power_result(ctx: MethodContext) -> Type:
    """Compute the type of `n ** 0.5`, which is Any in typeshed because a negative base has a complex root."""
    return numbers.power(ctx, ctx.type, ctx.arg_types[0][0])


def reflected_power_result(ctx: MethodContext) -> Type:
    """Compute the type of `n ** 0.5` where mypy asks for `__rpow__` of the exponent."""
    return numbers.power(ctx, ctx.arg_types[0][0], ctx.type)


def extreme_result(ctx: FunctionContext) -> Type:
    """Compute the type of `max(n, n + m)`, for which mypy finds no common type."""
    return numbers.extreme(ctx)


def numpy_signature(ctx: FunctionSigContext | MethodSigContext, fullname: str) -> FunctionLike:
    """Return the signature of a function of NumPy: that of the op that it is, if it is called with a tensor."""
    if isinstance(ctx, MethodSigContext):
        return numpy_calls.ufunc_signature(ctx)
    return numpy_calls.function_signature(ctx, fullname)


def numpy_result(ctx: FunctionContext | MethodContext, fullname: str) -> Type:
    """Compute the type of a call of a function of NumPy, by the op that it is if it is called with a tensor."""
    if isinstance(ctx, MethodContext):
        newer = with_newest(ctx)
        with assuming(facts_for(newer)):
            result = numpy_calls.ufunc_result(newer)
        if result is None and isinstance(get_proper_type(ctx.default_return_type), AnyType):
            return numbers.ufunc(ctx)
    else:
        newest_function = with_newest(ctx)
        with assuming(facts_for(newest_function)):
            result = numpy_calls.function_result(newest_function, fullname)
    if result is None:
        return ctx.default_return_type
    return bound(ctx.context, result, ctx.api)


def einops_result(ctx: FunctionContext, function: str) -> Type:
    """Compute the type of a call of a function of einops, by its pattern if it is called with tensors."""
    newer = with_newest(ctx)
    with assuming(facts_for(newer)):
        result = einops_calls.result(newer, function)
    return bound(ctx.context, result, ctx.api)


def _number(ctx: FunctionContext | MethodContext | AttributeContext, default: Type) -> Type:
    """Return the type of a number: a size where one is expected, else int, so that its variable can be bound again."""
    expected, expression = ctx.api.type_context[-1], ctx.context
    if not isinstance(expression, Expression):
        return default
    if not _takes_sizes(expected) if expected is not None else not _is_given_as_size(expression, ctx.api):
        return default
    with assuming(facts_for(ctx)):
        size = size_value(default, expression, ctx.api)
    if not is_unknown(size):
        return size_type(size, make(ctx.api))
    # An unknown number is accepted as a named or computed size; mypy itself checks an expected literal.
    return expected if expected is not None and _is_declared(expected) else default


def _takes_sizes(expected: Type) -> bool:
    """Return whether a type is a size, and no variable for other types too, as in `max(len(a), len(b))`."""
    p = get_proper_type(expected)
    bound = get_proper_type(p.upper_bound) if isinstance(p, TypeVarType) else None
    return is_size(p) and (bound is None or (isinstance(bound, Instance) and bound.type.has_base("builtins.int")))


def _is_declared(size: Type) -> bool:
    """Return whether a size is named or computed, without names that mypy has yet to infer."""
    p = get_proper_type(size)
    if isinstance(p, TypeVarType):
        return not p.id.is_meta_var()
    return (
        isinstance(p, Instance)
        and bool(p.args)
        and all(isinstance(one, LiteralType) or _is_declared(one) for one in p.args)
    )


def _is_given_as_size(value: Expression, api: Checker) -> bool:
    """Return whether a function that returns sizes returns a variable that is bound once, to this expression."""
    given = returned_type(api)
    items = given.items if isinstance(given, TupleType) else [given] if given is not None else []
    return any(map(is_size, items)) and is_given_back(value, api)


def owns_tape(ctx: AttributeContext) -> Type:
    """Return the type of the attribute `owns_tape` of a tensor."""
    return tape_methods.owns_tape(ctx)


def settled_attribute(ctx: AttributeContext) -> Type:
    """Return the type of an attribute whose sizes are computed from its object's, with number arithmetic evaluated."""
    name = getattr(ctx.context, "name", "")
    if name in ("ndim", "size", "shape") and tensor_parts(ctx.type) is not None:
        return (
            _number(ctx, ctx.default_attr_type)
            if name != "shape"
            else attributes.shape_read(ctx, _newest_receiver(ctx))
        )
    return settled(without_common_class(attributes.read(ctx), ctx.type), make(ctx.api))


def _newest_receiver(ctx: AttributeContext) -> Type:
    return newest(ctx.type, getattr(ctx.context, "expr", None), ctx.api)


def bias_type(ctx: AttributeContext) -> Type:
    """Return the type of the bias of a layer whose type says whether it has one: a parameter, or None."""
    has_bias = None if ctx.is_lvalue else layers.flag(ctx.type)
    if has_bias is None:
        return settled_attribute(ctx)
    return settled(remove_optional(ctx.default_attr_type), make(ctx.api)) if has_bias else NoneType()


def attribute_type(ctx: AttributeContext) -> Type:
    """Return the type of the attribute `T` or `mT` of a tensor."""
    receiver = get_proper_type(_newest_receiver(ctx))
    if isinstance(receiver, Instance) and (receiver.type.has_base(TENSOR) or receiver.type.fullname == VALUE):
        return without_common_class(calls.transposed(ctx, receiver), receiver)
    return ctx.default_attr_type


def item_of_appended(ctx: MethodContext) -> Type:
    """Return the type of an item of a list that `append` fills, or of an iterator of its items."""
    return collections.item_of_appended(ctx)


def item_of_objects(ctx: MethodContext) -> Type:
    """Return the type of an item of a list of lists, or of dictionaries, which mypy takes for objects."""
    return collections.item_of_objects(ctx)


# Let no garbage collection search what exists by now once more; mypy does the same when it has read its cache.
gc.freeze()
gc.unfreeze()
