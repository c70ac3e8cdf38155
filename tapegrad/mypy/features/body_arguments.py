"""Types and values that a call gives the parameters of a function whose body is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    ARG_STAR,
    ARG_STAR2,
    CallExpr,
    DictExpr,
    FloatExpr,
    FuncDef,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    ListComprehension,
    ListExpr,
    NameExpr,
)
from mypy.plugin import MethodContext
from mypy.types import AnyType, CallableType, Instance, NoneType, TupleType, TypeOfAny, UnionType, get_proper_type

from tapegrad.mypy.calls.array_types import is_array
from tapegrad.mypy.calls.arrays import with_array_sizes, with_starred_arrays
from tapegrad.mypy.conversion import (
    Many,
    is_distribution,
    is_function,
    is_iterator,
    is_size,
    joined,
    shape_items,
    shape_type,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.features.body_lists import list_of, listed_items
from tapegrad.mypy.features.body_outcomes import hold_tensors
from tapegrad.mypy.features.body_state import UnreadError
from tapegrad.mypy.features.partial_types import holds_tensors, join
from tapegrad.mypy.features.readable_bodies import frame_with
from tapegrad.mypy.features.tensor_functions import is_layer, makes_tensors
from tapegrad.mypy.mypy_api import Argument as TriedArgument
from tapegrad.mypy.mypy_api import any_list, any_tuple, get_all_type_vars, make, stored_type
from tapegrad.mypy.mypy_files import in_file
from tapegrad.mypy.scopes.called_functions import (
    arguments_of_call,
    object_with_method,
    surely_yields,
    type_as_array,
)
from tapegrad.mypy.scopes.collections import Use, use_of_variable
from tapegrad.mypy.scopes.entries import (
    entries_of,
    is_dictionary,
    only_reads_parameter,
    with_entries,
    with_inner_entries,
)
from tapegrad.mypy.scopes.frames import (
    ClassOf,
    FunctionOf,
    GivenTensor,
    Held,
    Items,
    Keywords,
    Made,
    Nothing,
    Reading,
    Several,
    within,
)
from tapegrad.mypy.scopes.functions import is_method, parameter_default, with_body_of_lambda
from tapegrad.mypy.scopes.objects import object_of, value_of_expression
from tapegrad.mypy.scopes.records import PASSES_NOTHING_KNOWN
from tapegrad.mypy.scopes.sequences import has_items
from tapegrad.mypy.signatures import lacks_annotations, parameter_names
from tapegrad.mypy.unify.arguments import arguments_of
from tapegrad.sizes import Dim, is_unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import Argument, Expression, MypyFile, Var
    from mypy.plugin import FunctionContext
    from mypy.types import ProperType, Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.entries import Entries
    from tapegrad.mypy.scopes.frames import Frame, Value
    from tapegrad.mypy.unify.arguments import Argument as Actual
    from tapegrad.sizes import Size


def says_more(value: Value) -> bool:
    """Return whether a value that a call gives says more than the name of the parameter, or its class."""
    if isinstance(value, Held):
        return not is_unknown(value.length)
    return value is not None and not isinstance(value, bool | str | float | Dim | Nothing | ClassOf)


def arrays_given(function: FuncDef, call: CallExpr, types: list[Type], api: Checker) -> dict[Var, Type]:
    """Return the types of the parameters that a call gives arrays, tensors and functions.

    Of a starred argument, none is known.
    """
    given: dict[Var, Type] = {}
    for parameter, place in _places_of_parameters(function, call).items():
        t = get_proper_type(with_body_of_lambda(call.args[place], types[place], parameter.type, api))
        t = _chosen_function(t, call.args[place], api)
        if is_array(t) or tensor_parts(t) or is_function(t):
            given[parameter] = t
    return given


def _chosen_function(t: ProperType, argument: Expression, api: Checker) -> ProperType:
    """Return the type of the function that a call gives by a known name, such as `LOSSES["mse"]`; else its type."""
    chosen = object_of(argument, api) if isinstance(t, CallableType | AnyType) else None
    return get_proper_type(chosen.t) if isinstance(chosen, FunctionOf) else t


def dictionaries_given(
    function: FuncDef, call: CallExpr, frame: Frame, file: MypyFile, api: Checker
) -> dict[Var, Type]:
    """Return the types of the parameters that a call gives dictionaries whose keys are known and stay."""
    given: dict[Var, Type] = {}
    for parameter, place in _places_of_parameters(function, call).items():
        argument = call.args[place]
        p = get_proper_type(stored_type(api, argument))
        entries = entries_of(argument, api) if isinstance(p, Instance) and is_dictionary(p) else None
        if isinstance(p, Instance) and entries and only_reads_parameter(parameter, entries, function, frame, file, api):
            given[parameter] = with_entries(_as_declared(p, parameter), entries, parameter)
    return given


def _as_declared(given: Instance, parameter: Var) -> Instance:
    """Return the type of a dictionary for a body: that of the parameter, if its values have nothing in common."""
    declared, value = get_proper_type(parameter.type), get_proper_type(given.args[-1])
    if not isinstance(value, Instance) or value.type.fullname != "builtins.object":
        return given
    is_declared = isinstance(declared, Instance) and is_dictionary(declared)
    return (
        declared
        if is_declared and isinstance(declared, Instance)
        else given.copy_modified(args=[*given.args[:-1], unknown()])
    )


def _places_of_parameters(function: FuncDef, call: CallExpr) -> dict[Var, int]:
    """Return which argument of a call is given for which parameter; none of a call with a starred argument."""
    if ARG_STAR in call.arg_kinds:
        return {}
    parameters = function.arguments[1 if function.info and not function.is_static else 0 :]
    names = [one.variable.name for one in parameters]
    found: dict[Var, int] = {}
    for position, name in enumerate(call.arg_names):
        place = position if name is None else names.index(name) if name in names else len(names)
        if place < len(parameters) and parameters[place].kind not in (ARG_STAR, ARG_STAR2):
            found[parameters[place].variable] = position
    return found


def arguments_given(ctx: FunctionContext | MethodContext) -> list[TriedArgument]:
    """Return the arguments of a call, to try the call of another function with them."""
    return [
        TriedArgument(joined(t), kind, name)
        for types, kinds, names in zip(ctx.arg_types, ctx.arg_kinds, ctx.arg_names, strict=True)
        for t, kind, name in zip(types, kinds, names, strict=True)
    ]


def receiver_of_call(ctx: FunctionContext | MethodContext, function: FuncDef) -> Made | ClassOf | None:
    """Return the object, or the class, of a method that is called, if its class is known and has this method."""
    call = ctx.context
    if isinstance(call, IndexExpr) and function.name == "__getitem__":
        made = object_of(call.base, ctx.api)
        return made if isinstance(made, Made) and is_method(made, function) else None
    if not function.info or not isinstance(call, CallExpr):
        return None
    if Reading.is_tried:
        made = Reading.layer
        return made if isinstance(made, Made) and is_method(made, function) else None
    return object_with_method(call.callee, function, ctx.api)


def given_types(
    ctx: FunctionContext | MethodContext,
    declared: CallableType,
    function: FuncDef,
    frame: Frame,
    file: MypyFile,
) -> dict[Var, Type]:
    """Return the types of the parameters in a call.

    Raises:
        UnreadError: No tensor, object or number among them is known, or another parameter, such as a function, is
            declared with type variables: in the body it would keep them, beside tensors that have the sizes of the
            call.
    """
    arguments = with_array_sizes(arguments_of(with_starred_arrays(ctx), _names_written(declared, function)), ctx)
    given: dict[Var, Type] = {}
    is_known = not any(t is not None and holds_tensors(t) for t in _types_given(function))
    for argument in function.arguments:
        actuals = arguments.get(argument.variable.name, [])
        if argument.kind in (ARG_STAR, ARG_STAR2):
            if any(one.starred for one in actuals):
                raise UnreadError("has a starred argument", ctx.context.line)
            given[argument.variable] = _rest_of_arguments(argument, [one.type for one in actuals], ctx.api)
            is_known = is_known or any(is_of_known_rank(one.type) for one in actuals)
            continue
        if not actuals:
            if isinstance(argument.initializer, NameExpr) and argument.initializer.name == "None":
                given[argument.variable] = NoneType()
            elif type(argument.initializer) in _WRITTEN_NUMBERS and _has_no_annotation(argument):
                given[argument.variable] = make(ctx.api)(_WRITTEN_NUMBERS[type(argument.initializer)], [])
            continue
        if len(actuals) > 1 or actuals[0].starred:
            raise UnreadError("has a starred argument", ctx.context.line)
        tensor = actuals[0].tensor
        declared_type = argument.variable.type
        t = get_proper_type(with_body_of_lambda(actuals[0].expression, actuals[0].type, declared_type, ctx.api))
        if actuals[0].expression is not None:
            t = get_proper_type(type_as_array(actuals[0].expression, t, ctx.api) or t)
            t = _chosen_function(t, actuals[0].expression, ctx.api)
        of_items = _collection_that_is_read(actuals[0], argument.variable, function, frame, file, ctx.api)
        if of_items is not None:
            given[argument.variable] = of_items
            is_known = is_known or any(map(is_of_known_rank, _items_of(of_items)))
            continue
        if (
            tensor is not None
            or _may_be_none(t)
            or is_array(t)
            or _holds_tensor(t)
            or is_distribution(t)
            or is_layer(t)
            or is_function(t)
            or (isinstance(t, Instance) and is_iterator(t) and holds_tensors(t))
            or is_size(argument.variable.type or t)
        ):
            given[argument.variable] = t
            held = frame.values.get(argument.variable.name)
            if isinstance(held, Held | None) and is_array(t) and is_of_known_rank(t):
                frame.values[argument.variable.name] = GivenTensor(t)
            elif isinstance(held, Held | None) and is_iterator(t) and actuals[0].expression is not None:
                # Of what a generator yields, only its type is known, and perhaps that there is something.
                is_filled = has_items(actuals[0].expression, ctx.api) or surely_yields(actuals[0].expression, ctx.api)
                frame.values[argument.variable.name] = Several(None, is_filled=True) if is_filled else held
        elif _has_no_annotation(argument) and isinstance(t, Instance) and t.type.fullname in _NUMBERS:
            given[argument.variable] = t.copy_modified(last_known_value=None)
        elif (shape := _shape_given(argument, frame.values.get(argument.variable.name), ctx.api)) is not None:
            given[argument.variable] = shape
        is_known = is_known or is_of_known_rank(t)
    if isinstance(ctx, MethodContext) and _takes_object(function):
        given[function.arguments[0].variable] = ctx.type
    written = function.arguments[1:] if function.is_class else function.arguments  # without the class: `type[Self]`
    others = (argument.variable.type for argument in written if argument.variable not in given)
    types = [inner for t in given.values() for inner in with_inner_entries(t)]
    is_of_tensors = not lacks_annotations(declared) or any(map(holds_tensors, types))
    # The layers of a model that is known, or a number, say something of tensors whose shapes are not.
    is_known = is_known or any(map(says_more, (*frame.values.values(), frame.receiver)))
    if not is_known or not (is_of_tensors or makes_tensors(function, ctx.api)):
        raise UnreadError(PASSES_NOTHING_KNOWN, ctx.context.line)
    if any(t is not None and get_all_type_vars(t) for t in others):
        raise UnreadError("a parameter that is no tensor is declared with a type variable")
    return given


def is_rejected(ctx: FunctionContext | MethodContext, declared: CallableType) -> bool:
    """Return whether a call gives a tensor of another shape than is declared, so that the call itself is an error."""
    formals = dict(zip(declared.arg_names, declared.arg_types, strict=True))
    arguments = arguments_of(ctx, parameter_names(declared))
    return any(
        _misfits(formals[name], one.type) for name, several in arguments.items() if name in formals for one in several
    )


def _misfits(declared: Type, given: Type) -> bool:
    """Return whether two tensors have different ranks or sizes."""
    expected, sizes = _sizes_of(declared), _sizes_of(given)
    if expected is None or sizes is None:
        return False
    numbers = (pair for pair in zip(expected, sizes, strict=False) if all(isinstance(one, int) for one in pair))
    return len(expected) != len(sizes) or any(one != other for one, other in numbers)


def _sizes_of(t: Type) -> list[Size] | None:
    """Return the sizes of a tensor; None if their number is not known."""
    parts = tensor_parts(t)
    items = shape_items(parts.shape) if parts is not None else None
    sizes = [one for one in items or () if not isinstance(one, Many)]
    return sizes if items is not None and len(sizes) == len(items) else None


def _shape_given(parameter: Argument, value: Value, api: Checker) -> Type | None:
    """Return the type of a parameter such as `shape: tuple[int, ...]`, with the sizes that a call gives it."""
    declared = get_proper_type(parameter.variable.type)
    is_shape = isinstance(declared, Instance) and declared.type.fullname == "builtins.tuple"
    if not is_shape or not isinstance(value, Items):
        return None
    sizes = tuple(one for one in value.values if isinstance(one, int | Dim) and not isinstance(one, bool))
    is_known = len(sizes) == len(value.values) and not any(map(is_unknown, sizes))
    return shape_type(sizes, make(api)) if is_known else None


def _has_no_annotation(parameter: Argument) -> bool:
    declared = get_proper_type(parameter.variable.type)
    return declared is None or (isinstance(declared, AnyType) and declared.type_of_any == TypeOfAny.unannotated)


_NUMBERS: Final = frozenset({"builtins.bool", "builtins.float", "builtins.int", "builtins.str"})
_WRITTEN_NUMBERS: Final[dict[object, str]] = {FloatExpr: "builtins.float", IntExpr: "builtins.int"}


def _rest_of_arguments(parameter: Argument, types: list[Type], api: Checker) -> Type:
    """Return the type of `*args`, or of `**options`, in a call with arguments of some types."""
    if parameter.kind is ARG_STAR:
        return TupleType(types, any_tuple(api))
    of = make(api)
    return of("builtins.dict", [of("builtins.str", []), join(types) if types else unknown()])


def _collection_that_is_read(
    actual: Actual, parameter: Var, function: FuncDef, frame: Frame, file: MypyFile, api: Checker
) -> TupleType | Instance | None:
    """Return the type of a list or a dictionary of tensors that a body only reads.

    The items of a list that is written in the call are known one by one, and of others what they have in common.
    """
    p = get_proper_type(actual.type)
    if isinstance(p, TupleType) and listed_items(p) is not None:
        return p
    if not isinstance(p, Instance) or p.type.fullname not in _COLLECTIONS:
        return None
    entries = entries_of(actual.expression, api) if is_dictionary(p) and actual.expression is not None else None
    if not holds_tensors(p):
        if entries and any(map(is_array, entries.values())):
            is_read = only_reads_parameter(parameter, entries, function, frame, file, api)
            return with_entries(_as_declared(p, parameter), entries, parameter) if is_read else None
        if not isinstance(get_proper_type(p.args[-1]), AnyType) or not hold_tensors(entries):
            return None
        p = p.copy_modified(args=[*p.args[:-1], unknown()])
    if entries is not None and only_reads_parameter(parameter, entries, function, frame, file, api):
        return with_entries(p.copy_modified(args=[p.args[0], _common(entries, p)]), entries, parameter)
    match actual.expression:
        case ListExpr(items=items):
            written = [stored_type(api, one) for one in items]
        case DictExpr(items=pairs):
            written = [stored_type(api, one) for _, one in pairs]
        case ListComprehension(generator=GeneratorExpr(left_expr=each)):
            written = [stored_type(api, each)]
        case _:
            written = [p.args[-1]]
    types = [one for one in written if one is not None]
    item = get_proper_type(joined(UnionType(types)))
    item = get_proper_type(join(types)) if types and tensor_parts(item) is None else item
    is_of_tensors = tensor_parts(item) is not None or _holds_tensor(item)
    if None in written or not is_of_tensors:
        return None
    if isinstance(actual.expression, ListExpr):
        return list_of(types, any_list(api))
    if use_of_variable(parameter, {file}) is not Use.READ:
        return None
    return p.copy_modified(args=[*p.args[:-1], item])


def _common(entries: Entries, declared: Instance) -> Type:
    """Return what the tensors of a dictionary have in common."""
    common = joined(UnionType([*entries.values()])) if entries else declared.args[-1]
    return common if tensor_parts(common) is not None else declared.args[-1]


def _items_of(collection: TupleType | Instance) -> Sequence[Type]:
    if isinstance(collection, TupleType):
        return collection.items
    return [*collection.args[-1:], *with_inner_entries(collection)[1:]]


_COLLECTIONS: Final = frozenset(
    [*(f"builtins.{name}" for name in ("dict", "list")), *(f"typing.{name}" for name in ("Mapping", "Sequence"))]
)


def _types_given(function: FuncDef) -> list[Type | None]:
    """Return the declared types of the arguments that a call of a function gives."""
    return [one.variable.type for one in function.arguments[1 if _takes_object(function) else 0 :]]


def _takes_object(function: FuncDef) -> bool:
    return bool(function.info) and not function.is_static and not function.is_class


def _holds_tensor(t: ProperType) -> bool:
    """Return whether a type is a tuple with a tensor in it."""
    return isinstance(t, TupleType) and any(tensor_parts(item) is not None for item in t.items)


def is_of_known_rank(t: Type) -> bool:
    """Return whether a type is a tensor or an array of known rank, or a tuple with one."""
    p = get_proper_type(t)
    if isinstance(p, Instance) and is_array(p):
        return isinstance(get_proper_type(p.args[0]), TupleType)
    if isinstance(p, TupleType):
        return any(map(is_of_known_rank, p.items))
    if isinstance(p, Instance) and is_iterator(p):
        return is_of_known_rank(p.args[0])
    if is_distribution(p):
        return not isinstance(get_proper_type(p.args[0]), AnyType)
    parts = tensor_parts(p)
    return parts is not None and not isinstance(get_proper_type(parts.shape), AnyType)


def _may_be_none(t: ProperType) -> bool:
    """Return whether a type is None, or a tensor or None."""
    items = map(get_proper_type, t.items if isinstance(t, UnionType) else [t])
    return all(isinstance(item, NoneType) or tensor_parts(item) is not None for item in items)


def frame_of_call(
    ctx: FunctionContext | MethodContext,
    declared: CallableType,
    function: FuncDef,
    receiver: Made | ClassOf | None,
    file: MypyFile,
) -> Frame:
    """Return the frame of a function that a call calls, with the values of the arguments that are known."""
    arguments = arguments_of(ctx, _names_written(declared, function))
    values: dict[str, Value] = {}
    for argument in function.arguments[1 if function.info and not function.is_static else 0 :]:
        name = argument.variable.name
        if argument.kind in (ARG_STAR, ARG_STAR2):
            values[name] = _rest_of_values(argument, arguments.get(name, []), ctx.api)
            continue
        for actual in arguments.get(name, ()):
            if actual.tensor is None and actual.expression is None:
                values[name] = _values_given(function, ctx).get(name)
            elif actual.tensor is None and actual.expression is not None:
                values[name] = value_of_expression(actual.expression, ctx.api)
        if name not in arguments and (default := parameter_default(argument, file)) is not None:
            with in_file(file, ctx.api), within(None):
                values[name] = value_of_expression(default, ctx.api)
    return frame_with(function, values, receiver, ctx.api)


def _names_written(declared: CallableType, function: FuncDef) -> list[str]:
    """Return the names of the parameters of a call, also those of `__getitem__`, which mypy leaves out."""
    names = [one.variable.name for one in function.arguments[1 if function.info and not function.is_static else 0 :]]
    return names if len(names) == len(declared.arg_names) else parameter_names(declared)


def _values_given(function: FuncDef, ctx: FunctionContext | MethodContext) -> dict[str, Value]:
    """Return the values that a call gives the parameters of a function, also by `*sizes` and `**options`."""
    call = ctx.context
    return dict((arguments_of_call(function, call, ctx.api) if isinstance(call, CallExpr) else None) or ())


def _rest_of_values(parameter: Argument, actuals: list[Actual], api: Checker) -> Value:
    """Return the values that `*args`, or `**options`, has in a call."""
    values = [None if one.expression is None else value_of_expression(one.expression, api) for one in actuals]
    if parameter.kind is ARG_STAR:
        return Items((*values,))
    names = [one.keyword for one in actuals]
    return Keywords((*((name, value) for name, value in zip(names, values, strict=True) if name is not None),))
