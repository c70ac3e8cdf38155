"""Check one call: arguments against the signature, sizes by the op's rule; compute the result type from both."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

from mypy.nodes import (
    CallExpr,
    ComparisonExpr,
    Expression,
    OperatorAssignmentStmt,
    OpExpr,
)
from mypy.types import (
    CallableType,
    Instance,
    TupleType,
    Type,
    UnionType,
    get_proper_type,
)

from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.mypy.cache import Answers, Call, answers_of, call_of
from tapegrad.mypy.calls.arrays import with_array_sizes
from tapegrad.mypy.calls.assertions import learn, learned_for, message_of
from tapegrad.mypy.calls.binding import CheckedCall, bind_arguments
from tapegrad.mypy.calls.checks import Rule, check_kernels, check_numbers, check_operands
from tapegrad.mypy.calls.learned import facts_of, for_all_values, with_facts
from tapegrad.mypy.calls.left_out_tapes import note_left_out_tape, without_left_out_tapes
from tapegrad.mypy.calls.results import raw_receiver, result_of, unknown_result, unread, with_shape, without_shapes
from tapegrad.mypy.conversion import (
    TENSOR,
    Many,
    TensorParts,
    ends_of,
    has_unknown_rest,
    shape_items,
    shape_type,
    tensor_parts,
)
from tapegrad.mypy.mypy_api import declared_function, expected_type, make, past_trial
from tapegrad.mypy.reports import INTERNAL, report
from tapegrad.mypy.rules.calls import is_several, reject_dtypes, ruled, shaped
from tapegrad.mypy.rules.library import op_in, op_named, op_of_method, standard_op
from tapegrad.mypy.rules.own import RulesError, op_at
from tapegrad.mypy.scopes.names import receiver_of, targets_of
from tapegrad.mypy.signatures import (
    Signature,
    is_op,
    is_overload,
    method_of_tensor,
    parameter_names,
    signature_of,
)
from tapegrad.mypy.unify.arguments import (
    Argument,
    Given,
    arguments_of,
    given_alone,
    sizes_as_tuple,
    sizes_in,
)
from tapegrad.mypy.unify.bindings import Bindings, CallError
from tapegrad.mypy.unify.named_tuples import replaced_fields
from tapegrad.sizes import assumed, assuming, surely_differ

if TYPE_CHECKING:
    from mypy.nodes import Context
    from mypy.plugin import AttributeContext, FunctionContext, MethodContext

    from tapegrad.autograd.registry import Op
    from tapegrad.sizes import Fact


_ARRAY_API = "tapegrad.array_api"


def function_call(ctx: FunctionContext, declared: CallableType) -> Type:
    """Compute the result type of a function call: an op by its rule, any other function by its signature."""
    signature, op = signature_of(declared), _op_named(ctx, declared)
    is_read = op is not None and op.name == "tensor"  # from its data, see `unread`
    cacheable = (
        None if op is None or is_read else _cacheable_given(ctx, signature, op, given_alone(ctx, signature.names))
    )
    if cacheable is not None and (known := cacheable.answer()) is not None:
        return known
    arguments = arguments_of(ctx, signature.names)
    result = check_call(ctx, signature, arguments, op, cacheable=cacheable)
    return unread(result, arguments, ctx.api) if is_read else result


def method_call(
    ctx: MethodContext, declared: CallableType, rule: Rule | None = None, cacheable: Call | None = None
) -> Type:
    """Compute the result type of a method call by its signature; a rule also checks the shapes of the tensors."""
    signature = Signature(declared)
    return check_call(ctx, signature, arguments_of(ctx, signature.names), None, rule, cacheable)


def signed_call(ctx: MethodContext, declared: CallableType) -> Type:
    """Compute the result type of a call by the signature of the op behind it."""
    signature = Signature(declared)
    return check_call(ctx, signature, arguments_of(ctx, signature.names), _op_named(ctx, declared))


def replaced(ctx: MethodContext, declared: CallableType) -> Type:
    """Compute the type of `_replace` of a generic named tuple as a call of its class."""
    signature = Signature(declared)
    fields = replaced_fields(ctx, arguments_of(ctx, signature.names), signature.names)
    return check_call(ctx, signature, fields, None)


def operation(ctx: MethodContext, declared: CallableType, name: str, tensor: TensorParts) -> Type:
    """Compute the type of an operator or method by the op that implements it."""
    if name == "__iter__":
        return rows(ctx, declared)
    found = op_of_method(name)
    if found is None:
        return method_call(ctx, declared)
    op, reflected = found
    function = declared_function(ctx.api, _fullname(op))
    if function is None:
        return ctx.default_return_type
    signature, method = signature_of(function), method_of_tensor(declared)
    names = parameter_names(declared) if method is None else method.names
    first, second = [*signature.names[:2], ""][:2]
    is_operator = reflected or name.startswith("__")
    is_starred = bool(declared.arg_kinds) and declared.arg_kinds[0].is_star()
    alone = None if is_starred else given_alone(ctx, names)
    if alone and is_operator:
        _, t, expression = alone[0]
        alone = [(first if reflected else second, t, expression)]
    operands: list[Given] | None = None if alone is None else [(second if reflected else first, ctx.type, None), *alone]
    cacheable = _cacheable_given(ctx, signature, op, operands)
    if cacheable is not None and (known := cacheable.answer()) is not None:
        return known
    given = arguments_of(ctx, names)
    if is_starred and (sizes := sizes_as_tuple(ctx)) is not None:
        given = {parameter: [sizes] for parameter in given}
    receiver = [Argument(ctx.type, receiver_of(ctx.context, reflected=reflected), tensor)]
    if reflected:
        arguments = {second: receiver, first: next(iter(given.values()))}
    elif is_operator and given:
        arguments = {first: receiver, second: next(iter(given.values()))}
    else:
        arguments = {first: receiver, **given}
    return check_call(ctx, signature, arguments, op, cacheable=cacheable)


@cache
def _fullname(op: Op) -> str:
    return f"{op.function.__module__}.{op.name}"


def rows(ctx: MethodContext, declared: CallableType) -> Type:
    """Compute the type of `iter(x)`; report a tensor of shape (), and a number of rows that unpacking cannot match."""
    parts = tensor_parts(ctx.type)
    items = shape_items(parts.shape) if parts is not None else None
    if items == []:
        report(ctx.api, "len: a tensor of shape () has no length", ctx.context, "shape")
    elif items and isinstance(ctx.context, Expression):
        count = targets_of(ctx.context, ctx.api)
        if count is not None and not isinstance(items[0], Many) and surely_differ(items[0], count):
            report(ctx.api, messages.other_count(items, count), ctx.context, "shape")
    return method_call(ctx, declared)


def transposed(ctx: AttributeContext, receiver: Instance) -> Type:
    """Compute the type of `x.T` or `x.mT`."""
    op = op_named("matrix_transpose" if getattr(ctx.context, "name", "") == "mT" else "transpose")
    if op is None:
        return ctx.default_attr_type
    parts = tensor_parts(receiver)
    try:
        items = shaped(op, {"x": shape_items(parts.shape) if parts is not None else None}, {})
    except ShapeError as error:
        report(ctx.api, f"{op.name}: {error}", ctx.context, "shape")
        items = None
    if items is None:
        return ctx.default_attr_type
    return with_shape(ctx.default_attr_type, shape_type(items, make(ctx.api)))


def is_reflected(declared: CallableType) -> bool:
    """Return whether a method is a reflected operator, such as `__rmatmul__`."""
    found = op_of_method(method_name(declared))
    return found is not None and found[1]


def method_name(declared: CallableType) -> str:
    """Return the name under which a method was defined."""
    return getattr(declared.definition, "name", "")


def check_call(
    ctx: FunctionContext | MethodContext,
    signature: Signature,
    arguments: dict[str, list[Argument]],
    op: Op | None,
    rule: Rule | None = None,
    cacheable: Call | None = None,
) -> Type:
    """Return the result type of a call, with what accepted calls have said about sizes."""
    arguments = with_array_sizes(arguments, ctx)
    learned = learned_for(ctx)
    if not learned:
        return _checked(ctx, signature, arguments, op, rule, cacheable)
    if op is None:
        return _checked_with(learned, ctx, signature, arguments, rule)
    with assuming(learned):
        return _checked(ctx, signature, arguments, op, rule, cacheable)


def _checked(
    ctx: FunctionContext | MethodContext,
    signature: Signature,
    arguments: dict[str, list[Argument]],
    op: Op | None,
    rule: Rule | None,
    cacheable: Call | None,
) -> Type:
    """Return the result type of a call: from the cache, or after binding, checks and the op's rule; report errors."""
    cacheable = cacheable or _cacheable(ctx, signature, arguments, op)
    known = cacheable.answer() if cacheable is not None else None
    if known is not None:
        return known
    call = _call(ctx, signature, arguments, op)
    try:
        items = _judged(call, rule)
        result = result_of(call, items)
    except (CallError, ShapeError, DTypeError) as error:
        return _rejected(call, error)
    if items is None and is_overload(signature.declared) and _has_unknown_rank(arguments):
        return without_shapes(result)
    if call.bindings.equal:  # a cached answer teaches nothing
        return result if op is not None else _taught(call, result)
    if cacheable is None or (op is not None and (items is None or is_several(items))):
        return result
    return cacheable.store(result)


def _has_unknown_rank(arguments: dict[str, list[Argument]]) -> bool:
    """Return whether sizes at the ends of an argument are known: mypy chooses the first overload that they fit."""
    tensors = (one.tensor for several in arguments.values() for one in several if one.tensor is not None)
    return any(has_unknown_rest(ends_of(tensor.shape)) for tensor in tensors)


def _checked_with(
    learned: list[Fact],
    ctx: FunctionContext | MethodContext,
    signature: Signature,
    arguments: dict[str, list[Argument]],
    rule: Rule | None,
) -> Type:
    """Return the result type of a call that is no op, see `tapegrad.mypy.calls.learned`."""
    call = _call(ctx, signature, arguments, None)
    try:
        with assuming(for_all_values(learned)):
            _judged(call, rule)
    except (CallError, ShapeError, DTypeError) as error:
        return _rejected(call, error)
    call = _call(ctx, signature, arguments, None)
    try:
        with assuming(learned):
            items = _judged(call, rule)
            result = result_of(call, items)
    except (CallError, ShapeError, DTypeError):
        return _checked(ctx, signature, arguments, None, rule, None)
    return _taught(call, result)


def _call(
    ctx: FunctionContext | MethodContext, signature: Signature, arguments: dict[str, list[Argument]], op: Op | None
) -> CheckedCall:
    bindings = Bindings(_call_name(signature.declared, op, ctx.context), signature, make(ctx.api))
    return CheckedCall(ctx, signature, arguments, op, bindings)


def _judged(call: CheckedCall, rule: Rule | None) -> list[Any] | None:
    """Bind the arguments of a call, check them and apply the op's rule; return the shape of its result.

    Raises:
        CallError: An argument does not match its parameter.
        ShapeError: The sizes do not fit.
        DTypeError: The dtypes do not.
    """
    check_kernels(call)
    bind_arguments(call)
    check_operands(call)
    call.bindings.finish(raw=raw_receiver(call.ctx) is not None)
    check_numbers(call, rule)
    return _apply_rule(call)


def _rejected(call: CheckedCall, error: CallError | ShapeError | DTypeError) -> Type:
    """Report what is wrong in a call, and return what is known of its result."""
    if isinstance(error, CallError):
        _report_mismatch(call, error)
    else:
        _report_rule(call, error)
    result = unknown_result(call.ctx, call.signature, call.bindings.make)
    if isinstance(error, CallError) and error.kind == "tape" and call.op is None:
        note_left_out_tape(call.ctx.api, call.signature.declared, str(error), call.ctx.context)
        return without_left_out_tapes(result)
    return result


def _taught(call: CheckedCall, result: Type) -> Type:
    """Learn from an accepted call, and return its result with the sizes that are known then."""
    learn(call.ctx, call.bindings.equal)
    facts: list[Fact] = [*learned_for(call.ctx), *facts_of(call.bindings.equal)]
    return with_facts(result, facts, sizes_in(call.arguments), call.bindings.make) if facts else result


def _apply_rule(call: CheckedCall) -> list[Any] | None:
    """Return the shape of an op's result, or several of them; None if it is unknown, or without an op.

    Raises:
        ShapeError: The sizes do not fit.
        DTypeError: The dtypes do not.
    """
    if call.op is None:
        return None
    items = ruled(call.op, call.signature, call.arguments, call.ctx.api)
    if call.op.dtypes is not None and items is not None:
        reject_dtypes(call.op, call.op.dtypes, call.arguments, call.ctx.api)
    return items


def _report_mismatch(call: CheckedCall, error: CallError) -> None:
    """Report that the arguments do not match the declaration, by the message of the op's rule if it has one."""
    ctx = call.ctx
    message = _ruled_out(call.op, call.signature, call.arguments, ctx.api) if error.kind == "shape" else None
    with past_trial(ctx.api) if _is_operation(ctx, call.op) else nullcontext():
        report(ctx.api, message or str(error), ctx.context, error.kind)


def _report_rule(call: CheckedCall, error: ShapeError | DTypeError) -> None:
    """Report what the op's rule rejects."""
    ctx = call.ctx
    # All overloads of an op share one rule: without `past_trial`, mypy would list the overloads instead.
    all_overloads = is_overload(call.signature.declared) or _is_operation(ctx, call.op)
    with past_trial(ctx.api) if all_overloads else nullcontext():
        kind = "shape" if isinstance(error, ShapeError) else "dtype"
        given = [argument for actuals in call.arguments.values() for argument in actuals]
        report(ctx.api, f"{call.bindings.name}: {message_of(error, given, ctx)}", ctx.context, kind)


def _cacheable(
    ctx: FunctionContext | MethodContext, signature: Signature, arguments: dict[str, list[Argument]], op: Op | None
) -> Call | None:
    """Return a call of an op, or of a class of the library, whose answer may be cached."""
    if op is not None:
        return _cacheable_with(signature.answers, arguments, op.sequences) if signature.is_open else None
    definition = signature.declared.definition
    if definition is None or not definition.fullname.startswith("tapegrad.nn.") or not signature.declared.is_type_obj():
        return None
    return _cacheable_with(signature.answers, arguments, frozenset(), default=ctx.default_return_type)


def cacheable_layer_call(ctx: MethodContext, declared: CallableType, layer: Instance) -> Call | None:
    """Return a call of a layer of the library whose answer may be cached."""
    answers = answers_of(declared.definition) if layer.type.fullname.startswith("tapegrad.nn.") else None
    if answers is None or isinstance(expected_type(ctx.api), UnionType):  # see `calls.results`, for several tapes
        return None
    arguments = arguments_of(ctx, parameter_names(declared))
    return _cacheable_with(answers, arguments, frozenset(), layer=layer, default=ctx.default_return_type)


def _cacheable_given(
    ctx: FunctionContext | MethodContext, signature: Signature, op: Op, given: list[Given] | None
) -> Call | None:
    """Return a call of an op that can be cached, before its arguments are read: most calls are in the cache."""
    if given is None or not signature.is_open or assumed() or learned_for(ctx):
        return None
    if op.sequences and any(
        name in op.sequences and not isinstance(get_proper_type(t), TupleType) for name, t, _ in given
    ):
        return None
    return call_of(signature.answers, given)


def _cacheable_with(
    answers: Answers,
    arguments: dict[str, list[Argument]],
    sequences: frozenset[str],
    layer: Instance | None = None,
    default: Type | None = None,
) -> Call | None:
    """Return a call that can be cached; None if its answer depends on more than the types."""
    if assumed():
        return None
    read: list[tuple[str, Type, Expression | None]] = []
    for name, actuals in arguments.items():
        argument = actuals[0]
        if len(actuals) > 1 or argument.starred:
            return None
        if name in sequences and not isinstance(get_proper_type(argument.type), TupleType):
            return None
        read.append((name, argument.type, argument.expression))
    return call_of(answers, read, layer, default)


def _ruled_out(op: Op | None, signature: Signature, arguments: dict[str, list[Argument]], api: Any) -> str | None:
    """Return the message of an op's rule for sizes that its signature rejects, because Python raises that message."""
    try:
        if op is not None:
            ruled(op, signature, arguments, api)
    except ShapeError as error:
        return f"{op.name}: {error}" if op is not None else None
    return None


def _call_name(declared: CallableType, op: Op | None, call: Context) -> str:
    if op is not None:
        return op.name
    definition = declared.definition
    if definition is None:
        # A function that another one returned has the name by which it is called.
        written = getattr(call.callee, "name", None) if isinstance(call, CallExpr) else None
        return (declared.name or written or "the call").partition(" of ")[0].strip('"')
    owner = getattr(definition, "info", None)
    qualname = f"{owner.name}.{definition.name}" if owner and owner.fullname != TENSOR else definition.name
    return messages.callee(qualname)


def _is_operation(ctx: FunctionContext | MethodContext, op: Op | None) -> bool:
    """Return whether mypy is trying an operator: for `1 + x` it would report `int`'s error, not the tensor's."""
    return op is not None and isinstance(ctx.context, OpExpr | ComparisonExpr | OperatorAssignmentStmt)


def _op_named(ctx: FunctionContext | MethodContext, declared: CallableType) -> Op | None:
    definition = declared.definition
    if definition is None:
        return None
    if is_op(declared):
        return op_in(definition.fullname.rpartition(".")[0], definition.name)
    module, _, name = definition.fullname.rpartition(".")
    if module == _ARRAY_API:
        return standard_op(name)
    try:
        return op_at(definition.fullname)
    except RulesError as error:
        ctx.api.fail(f"tapegrad failed here: {error}", ctx.context, code=INTERNAL)
        return None
