"""Check one call: arguments against the signature, sizes by the op's rule; compute the result type from both."""

from __future__ import annotations

from contextlib import nullcontext
from inspect import signature as parameters_of
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mypy.nodes import (
    CallExpr,
    ComparisonExpr,
    Decorator,
    Expression,
    LambdaExpr,
    OperatorAssignmentStmt,
    OpExpr,
)
from mypy.plugin import MethodContext
from mypy.types import (
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    TypeVarType,
    UnionType,
    get_proper_type,
    has_type_vars,
)

from tapegrad import messages
from tapegrad.constraints import CHECKS
from tapegrad.dims import Dims, Size, assumed, surely_differ
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.mypy import INTERNAL
from tapegrad.mypy.arguments import (
    Argument,
    Parts,
    arguments_of,
    class_name,
    known_value,
    listed,
    numbers_in,
    refined,
    together,
)
from tapegrad.mypy.bindings import Bindings, CallError
from tapegrad.mypy.conversion import (
    ARRAY,
    CONSUMED_TAPE,
    MODULE,
    NONE_TAPE,
    TENSOR,
    VALUE,
    Make,
    Many,
    TensorParts,
    consumer_of,
    is_behind,
    is_tape,
    kind_of,
    shape_items,
    shape_type,
    tensor_parts,
)
from tapegrad.mypy.facts import in_words
from tapegrad.mypy.internals import accepts, declared_function, make, past_trial
from tapegrad.mypy.memory import Answers, Call, answers_of, call_of
from tapegrad.mypy.name_resolution import receiver_of, targets_of
from tapegrad.mypy.named_tuples import replaced_fields
from tapegrad.mypy.own_rules import RulesError, op_at
from tapegrad.mypy.paths import End, consumed_by, consumed_in
from tapegrad.mypy.reports import report
from tapegrad.mypy.rule_calls import is_several, reject_dtypes, ruled, shaped
from tapegrad.mypy.rules import op_in, op_named, op_of_method
from tapegrad.mypy.signatures import (
    Signature,
    is_op,
    is_overload,
    method_of_tensor,
    opened_call,
    parameter_names,
    signature_of,
)
from tapegrad.mypy.size_defaults import defaults_of
from tapegrad.mypy.unify import bind_given_shape, unify, unify_tensor
from tapegrad.mypy.values import ValueUnknownError
from tapegrad.mypy.window_results import stepped

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Context, TypeInfo
    from mypy.plugin import AttributeContext, FunctionContext

    from tapegrad.op import Op


Rule: TypeAlias = "Callable[[list[Size | Many] | None], None]"

_NO_OPERANDS: Final = frozenset(
    f"builtins.{name}" for name in ("bytes", "complex", "dict", "frozenset", "list", "range", "set", "str", "tuple")
)
_MOST_LISTED: Final = 4096  # a tuple type lists up to this many parts; above, it has their common type


def function_call(ctx: FunctionContext, declared: CallableType) -> Type:
    """Compute the result type of a function call: an op by its rule, any other function by its signature."""
    signature = signature_of(declared)
    return _judged(ctx, signature, arguments_of(ctx, signature.names), _op_named(ctx, declared))


def method_call(
    ctx: MethodContext, declared: CallableType, rule: Rule | None = None, asked: Call | None = None
) -> Type:
    """Compute the result type of a method call by its signature; a rule also checks the first tensor's shape."""
    signature = Signature(declared)
    return _judged(ctx, signature, arguments_of(ctx, signature.names), None, rule, asked)


def signed_call(ctx: MethodContext, declared: CallableType) -> Type:
    """Compute the result type of a call by the signature of the op behind it."""
    signature = Signature(declared)
    return _judged(ctx, signature, arguments_of(ctx, signature.names), _op_named(ctx, declared))


def replaced(ctx: MethodContext, declared: CallableType) -> Type:
    """Compute the type of `_replace` of a generic named tuple as a call of its class."""
    signature = Signature(declared)
    fields = replaced_fields(ctx, arguments_of(ctx, signature.names), signature.names)
    return _judged(ctx, signature, fields, None)


def operation(ctx: MethodContext, declared: CallableType, name: str, tensor: TensorParts) -> Type:
    """Compute the type of an operator or method by the op that implements it."""
    if name == "__iter__":
        return rows(ctx, declared)
    found = op_of_method(name)
    if found is None:
        return method_call(ctx, declared)
    op, reflected = found
    function = declared_function(ctx.api, f"{op.function.__module__}.{op.name}")
    if function is None:
        return ctx.default_return_type
    signature, method = signature_of(function), method_of_tensor(declared)
    given = arguments_of(ctx, parameter_names(declared) if method is None else method.names)
    if declared.arg_kinds and declared.arg_kinds[0].is_star() and (sizes := together(ctx)) is not None:
        given = {parameter: [sizes] for parameter in given}
    receiver = [Argument(ctx.type, receiver_of(ctx.context, reflected=reflected), tensor)]
    first, second = [*signature.names[:2], ""][:2]
    if reflected:
        arguments = {second: receiver, first: next(iter(given.values()))}
    elif name.startswith("__") and given:
        arguments = {first: receiver, second: next(iter(given.values()))}
    else:
        arguments = {first: receiver, **given}
    return _judged(ctx, signature, arguments, op)


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
    return _with_shape(ctx.default_attr_type, shape_type(items, make(ctx.api)))


def is_reflected(declared: CallableType) -> bool:
    """Return whether a method is a reflected operator, such as `__rmatmul__`."""
    found = op_of_method(method_name(declared))
    return found is not None and found[1]


def method_name(declared: CallableType) -> str:
    """Return the name under which a method was defined."""
    return getattr(declared.definition, "name", "")


def _judged(
    ctx: FunctionContext | MethodContext,
    signature: Signature,
    arguments: dict[str, list[Argument]],
    op: Op | None,
    rule: Rule | None = None,
    asked: Call | None = None,
) -> Type:
    asked = asked or _asked(ctx, signature, arguments, op)
    known = asked.answer() if asked is not None else None
    if known is not None:
        return known
    bindings = Bindings(_call_name(signature.declared, op, ctx.context), signature, make(ctx.api))
    try:
        for name, formal in signature.formals.items():
            actuals, expected = arguments.get(name, []), signature.tensors[name]
            if op is not None and name in op.sequences:
                bindings.given.append(formal)
                for parts in listed(op, name, actuals, ctx.api):
                    _unify_parts(bindings, formal, name, parts)
                continue
            for position, argument in enumerate(actuals):
                place = argument.keyword or (f"{name}[{position}]" if name in signature.starred else name)
                if argument.tensor is not None and name not in signature.unasked:
                    _reject_consumed(bindings.name, place, argument, ctx.api)
                bindings.given.append(formal)
                # In a union of a tensor with other types, each tensor type counts.
                is_one = not isinstance(get_proper_type(formal), UnionType) or tensor_parts(argument.type) is not None
                if argument.tensor is not None and expected is not None and is_one:
                    unify_tensor(bindings, expected, argument.tensor, place)
                elif not _is_rejected_lambda(argument, formal):
                    unify(bindings, formal, refined(argument, ctx.api), place)
                    is_lambda = isinstance(argument.expression, LambdaExpr)
                    bind_given_shape(bindings, formal, argument.type, place, is_lambda=is_lambda)
        if op is not None:
            _reject_no_operand(op, arguments)
            _reject_no_tensor(op, signature, arguments)
        elif signature.declared.is_type_obj():
            _bind_defaults(bindings, signature, arguments)
        bindings.finish(raw=_raw_receiver(ctx) is not None)
        if rule is not None:
            _reject_by(rule, arguments)
        if signature.declared.is_type_obj():
            _reject_numbers(signature, bindings, arguments, ctx.api)
        items = ruled(op, signature, arguments, ctx.api) if op is not None else None
        if op is not None and op.dtypes is not None and items is not None:
            reject_dtypes(op, op.dtypes, arguments, ctx.api)
        if op is not None:
            result = _op_result(ctx, signature, bindings, items)
            return result if asked is None or items is None or is_several(items) else asked.kept(result)
        if signature.declared.is_type_obj() and isinstance(signature.result, Instance):
            made = _constructed(signature, signature.result, bindings, ctx.default_return_type)
            result = stepped(made, [argument.type for argument in arguments.get("stride", [])])
        else:
            result = bindings.applied(signature.result, ctx.default_return_type)
        return result if asked is None else asked.kept(result)
    except CallError as error:
        message = _ruled_out(op, signature, arguments, ctx.api) if error.kind == "shape" else None
        with past_trial(ctx.api) if _is_operation(ctx, op) else nullcontext():
            report(ctx.api, message or str(error), ctx.context, error.kind)
        return _unknown_result(ctx, signature, bindings.make)
    except (ShapeError, DTypeError) as error:
        # All overloads of an op share one rule: without `past_trial`, mypy would list the overloads instead.
        with past_trial(ctx.api) if is_overload(signature.declared) or _is_operation(ctx, op) else nullcontext():
            kind = "shape" if isinstance(error, ShapeError) else "dtype"
            given = [argument for actuals in arguments.values() for argument in actuals]
            report(ctx.api, f"{bindings.name}: {in_words(error, given, ctx)}", ctx.context, kind)
        return _unknown_result(ctx, signature, bindings.make)


def _asked(
    ctx: FunctionContext | MethodContext, signature: Signature, arguments: dict[str, list[Argument]], op: Op | None
) -> Call | None:
    """Return a call of an op, or of a class of the library, whose answer may be cached."""
    if op is not None:
        return _call(signature.answers, arguments, op.sequences, ctx.api) if signature.is_open else None
    definition = signature.declared.definition
    if definition is None or not definition.fullname.startswith("tapegrad.nn.") or not signature.declared.is_type_obj():
        return None
    return _call(signature.answers, arguments, frozenset(), ctx.api, default=ctx.default_return_type)


def layer_asked(ctx: MethodContext, declared: CallableType, layer: Instance) -> Call | None:
    """Return a call of a layer of the library whose answer may be cached."""
    answers = answers_of(declared.definition) if layer.type.fullname.startswith("tapegrad.nn.") else None
    if answers is None:
        return None
    arguments = arguments_of(ctx, parameter_names(declared))
    return _call(answers, arguments, frozenset(), ctx.api, layer=layer, default=ctx.default_return_type)


def _call(
    answers: Answers,
    arguments: dict[str, list[Argument]],
    sequences: frozenset[str],
    api: Any,
    layer: Instance | None = None,
    default: Type | None = None,
) -> Call | None:
    """Return a call that can be cached; None if its answer depends on more than the types."""
    if assumed():
        return None
    consumed = consumed_in(api)
    read: list[tuple[str, Type, Expression | None]] = []
    for name, actuals in arguments.items():
        argument = actuals[0]
        if len(actuals) > 1 or argument.starred or argument.expression in consumed:
            return None
        if name in sequences and not isinstance(get_proper_type(argument.type), TupleType):
            return None
        read.append((name, argument.type, argument.expression))
    return call_of(answers, read, layer, default)


def _bind_defaults(bindings: Bindings, signature: Signature, arguments: dict[str, list[Argument]]) -> None:
    """Bind the omitted sizes and flags of a constructor to their defaults."""
    owner = _owner_of_init(signature.result)
    for name, value in defaults_of(owner).items() if owner is not None else ():
        if name not in arguments and name in signature.formals:
            default = LiteralType(value, bindings.make(f"builtins.{type(value).__name__}", []))
            bindings.given.append(signature.formals[name])
            unify(bindings, signature.formals[name], default, name)


def _owner_of_init(made: Type) -> TypeInfo | None:
    p = get_proper_type(made)
    return next((one for one in p.type.mro if "__init__" in one.names), None) if isinstance(p, Instance) else None


def _ruled_out(op: Op | None, signature: Signature, arguments: dict[str, list[Argument]], api: Any) -> str | None:
    """Return the message of an op's rule for sizes that its signature rejects, because Python raises that message."""
    try:
        if op is not None:
            ruled(op, signature, arguments, api)
    except ShapeError as error:
        return f"{op.name}: {error}" if op is not None else None
    return None


def _is_rejected_lambda(argument: Argument, formal: Type) -> bool:
    """Return whether mypy itself rejects a lambda, which it infers from the expected type."""
    if not isinstance(argument.expression, LambdaExpr):
        return False
    p = get_proper_type(formal)
    return not accepts(opened_call(p) if isinstance(p, CallableType) else p, argument.type)


def _reject_by(rule: Rule, arguments: dict[str, list[Argument]]) -> None:
    first = next(iter(arguments.values()), [])
    if first and first[0].tensor is not None:
        rule(shape_items(first[0].tensor.shape))


def _reject_numbers(signature: Signature, bindings: Bindings, arguments: dict[str, list[Argument]], api: Any) -> None:
    """Reject numbers that a layer's constructor rejects: below a minimum, if it is guarded, or not divisible.

    Raises:
        CallError: A number is rejected.
    """
    owner = _owner_of_init(signature.result)
    if owner is None:
        return
    if isinstance(owner.names["__init__"].node, Decorator):
        bindings.reject_too_small(signature.declared.variables)
    for check in CHECKS.get(owner.fullname, ()):
        try:
            check(**{name: _number(signature, arguments, name, api) for name in parameters_of(check).parameters})
        except ShapeError as error:
            raise CallError(str(error)) from None
        except ValueUnknownError:
            continue


def _number(signature: Signature, arguments: dict[str, list[Argument]], name: str, api: Any) -> Any:
    """Return the value given for a parameter of a layer's constructor.

    Raises:
        ValueUnknownError: The argument is left out, has a type that mypy itself rejects, or is unknown.
    """
    actuals, formal = arguments.get(name, []), get_proper_type(signature.formals[name])
    expected = formal.upper_bound if isinstance(formal, TypeVarType) else formal
    if actuals and not accepts(expected, actuals[0].type):
        raise ValueUnknownError
    return known_value(actuals, api)


def _op_result(
    ctx: FunctionContext | MethodContext, signature: Signature, bindings: Bindings, items: list[Any] | None
) -> Type:
    declared = signature.result
    # A result of several tensors may be empty.
    if items is not None and (is_several(items) or not (items or tensor_parts(declared))):
        return _several(bindings.applied(declared, ctx.default_return_type), items, bindings.make)
    if items is not None and signature.is_open:
        return _raw(ctx, bindings.applied_beside(shape_type(items, bindings.make), declared))
    return _raw(ctx, bindings.applied(declared, ctx.default_return_type))


def _several(result: Type, items: list[Dims], make: Make) -> Type:
    """Compute the type of a tuple of tensors, each with its own shape."""
    p = get_proper_type(result)
    if isinstance(p, TupleType) and len(p.items) == len(items):
        shapes = (shape_type(dims, make) for dims in items)
        return p.copy_modified(items=list(map(_with_shape, p.items, shapes)))
    if not isinstance(p, Instance) or p.type.fullname != "builtins.tuple":
        return result
    if len(items) > _MOST_LISTED:
        is_one = all(isinstance(n, int) for dims in items for n in dims) and len({*items}) == 1
        return p.copy_modified(args=[_with_shape(p.args[0], shape_type(items[0] if is_one else None, make))])
    return TupleType([_with_shape(p.args[0], shape_type(dims, make)) for dims in items], p)


def _raw(ctx: FunctionContext | MethodContext, result: Type) -> Type:
    """Return a tensor type as that of a raw value, if the operator was called on one."""
    receiver = _raw_receiver(ctx)
    if receiver is None:
        return result
    parts = tensor_parts(result)
    return receiver.copy_modified(args=[parts.shape, parts.dtype]) if parts else result


def _raw_receiver(ctx: FunctionContext | MethodContext) -> Instance | None:
    receiver = get_proper_type(ctx.type) if isinstance(ctx, MethodContext) else None
    return receiver if isinstance(receiver, Instance) and receiver.type.fullname == VALUE else None


def _constructed(signature: Signature, declared: Instance, bindings: Bindings, default: Type) -> Type:
    """Return the type of a new object, with the sizes that its constructor was called with."""
    if not declared.type.has_base(MODULE) and not any(map(has_type_vars, signature.formals.values())):
        return default  # also for a class whose fields another plugin has typed
    answer = get_proper_type(default)
    others = answer.args if isinstance(answer, Instance) and len(answer.args) == len(declared.args) else None
    variables = declared.type.defn.type_vars
    if len(variables) != len(declared.args) or any(kind_of(variable) == "sizes" for variable in variables):
        return default
    return declared.copy_modified(
        args=[
            bindings.applied(variable, others[position] if others is not None else None)
            for position, variable in enumerate(variables)
        ]
    )


def _with_shape(t: Type, shape: Type) -> Type:
    p = get_proper_type(t)
    return p.copy_modified(args=[shape, *p.args[1:]]) if isinstance(p, Instance) and p.args else t


def _unknown_result(ctx: FunctionContext | MethodContext, signature: Signature, make: Make) -> Type:
    """Return the result type of a rejected call, so that one mistake gives one message."""
    bindings = Bindings("", signature, make)
    bindings.given = list(signature.formals.values())  # so that every dtype counts as given
    return _raw(ctx, bindings.applied(signature.result, ctx.default_return_type))


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


def _reject_consumed(call: str, name: str, argument: Argument, api: Any) -> None:
    if argument.tensor is None:
        return
    tape = get_proper_type(argument.tensor.tape)
    reader = argument.expression
    known = is_tape(tape, CONSUMED_TAPE) and (reader is None or is_behind(tape, reader))
    end = End(tape.line, consumer_of(tape)) if known else consumed_by(reader, api)
    if end is not None and (end.method == "traced" or not is_tape(tape, NONE_TAPE)):
        raise CallError(messages.consumed(call, name, f"on line {end.line}", end.method), "tape")


def _is_operation(ctx: FunctionContext | MethodContext, op: Op | None) -> bool:
    """Return whether mypy is trying an operator: for `1 + x` it would report `int`'s error, not the tensor's."""
    return op is not None and isinstance(ctx.context, OpExpr | ComparisonExpr | OperatorAssignmentStmt)


def _reject_no_operand(op: Op, arguments: dict[str, list[Argument]]) -> None:
    """Reject an operand that cannot be one, such as a list, which mypy accepts because `==` takes any object."""
    if op.operator not in ("__eq__", "__ne__"):
        return
    for name in op.operands & arguments.keys():
        p = get_proper_type(arguments[name][0].type)
        p = p.partial_fallback if isinstance(p, TupleType) else p.fallback if isinstance(p, LiteralType) else p
        if isinstance(p, NoneType) or (isinstance(p, Instance) and p.type.fullname in _NO_OPERANDS):
            kind = p.type.name if isinstance(p, Instance) else "NoneType"
            raise CallError(messages.no_operand(op.name, messages.with_article(kind)), "dtype")


def _reject_no_tensor(op: Op, signature: Signature, arguments: dict[str, list[Argument]]) -> None:
    """Reject a call whose operands are all numbers or arrays, although each alone may be one."""
    if (
        len(op.operands) < 2
        or len([name for name in arguments if name in op.operands and arguments[name][0].tensor is None]) < 2
    ):
        return
    either = [
        name
        for name, formal in signature.formals.items()
        if name in arguments and isinstance(p := get_proper_type(formal), UnionType) and any(map(tensor_parts, p.items))
    ]
    given = [get_proper_type(arguments[name][0].type) for name in either]
    classes = [[t] if isinstance(t, Instance) and t.type.fullname == ARRAY else numbers_in(t) for t in given]
    if len(either) > 1 and all(classes):
        x, y = (messages.with_article(class_name(one)) for one, *_ in classes)
        raise CallError(messages.no_tensor(op.name, x, y), "dtype")


def _op_named(ctx: FunctionContext | MethodContext, declared: CallableType) -> Op | None:
    definition = declared.definition
    if definition is None:
        return None
    if is_op(declared):
        return op_in(definition.fullname.rpartition(".")[0], definition.name)
    try:
        return op_at(definition.fullname)
    except RulesError as error:
        ctx.api.fail(f"tapegrad failed here: {error}", ctx.context, code=INTERNAL)
        return None


def _unify_parts(bindings: Bindings, formal: Type, name: str, parts: Parts) -> None:
    p = get_proper_type(formal)
    for position, part in enumerate(parts.types):
        place = f"{name}[{position}]" if parts.counted else name
        _reject_consumed(bindings.name, place, Argument(part, None, tensor_parts(part)), None)
        if isinstance(p, Instance):
            unify(bindings, formal if tensor_parts(p) is not None else p.args[0], part, place)
