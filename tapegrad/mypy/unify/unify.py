"""Match the declared parameters of a call with its arguments, and bind the type variables.

mypy has checked the call before, with parameters of any shape, because it would silently join sizes that differ.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    Overloaded,
    ProperType,
    TupleType,
    Type,
    TypeAliasType,
    TypeType,
    TypeVarId,
    TypeVarType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad.errors import messages
from tapegrad.mypy.conversion import (
    ARITHMETIC,
    ARRAY,
    GENERIC,
    MODULE,
    NONE_TAPE,
    OWNED_TAPE,
    UNKNOWN_REST,
    Many,
    TensorParts,
    dtype_name,
    ends_of,
    is_distribution,
    is_endless,
    is_size,
    is_tape,
    kind_of,
    shape_items,
    size_of,
    star_in,
    tensor_parts,
    unknown,
    without_last_values,
)
from tapegrad.mypy.mypy_api import accepts, called, map_instance_to_supertype, method_of
from tapegrad.mypy.signatures import Signature, opened_call
from tapegrad.mypy.unify.arguments import class_name, numbers_in
from tapegrad.mypy.unify.bindings import Beside, Bindings, CallError, Computed, shape_name
from tapegrad.mypy.unify.named_tuples import field_names
from tapegrad.sizes import UNKNOWN, Size, is_unknown, names_in, surely_differ

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import TypeInfo


def unify(bindings: Bindings, formal: Type, actual: Type, where: str) -> None:
    """Bind the type variables in `formal` to the corresponding parts of `actual`.

    Raises:
        CallError: They do not match.
    """
    if isinstance(formal, TypeAliasType) and is_endless(formal):
        return
    declared, given = get_proper_type(formal), get_proper_type(actual)
    if isinstance(declared, AnyType):
        return
    if isinstance(given, AnyType):
        _forget_tapes(bindings, declared)
        _forget_sizes(bindings, declared, where)
    elif isinstance(declared, UnionType):
        _unify_union(bindings, declared, given, where)
    elif isinstance(declared, TypeVarType):
        bindings.bind(declared, given, where)
    elif isinstance(declared, TypeType):
        instance = instance_of(given)
        # mypy itself rejects a class that is not a scalar type of NumPy.
        if not (
            _is_dtype(bindings, declared.item)
            and isinstance(instance, Instance)
            and not instance.type.has_base(GENERIC)
        ):
            unify(bindings, declared.item, instance, where)
    elif isinstance(declared, TupleType):
        if isinstance(given, TupleType) and len(given.items) == len(declared.items):
            _unify_tuple(bindings, declared, given, where)
    elif isinstance(declared, CallableType):
        _unify_call(bindings, declared, declared, given, method_of(given, "__call__"), where)
    elif isinstance(declared, Instance):
        _unify_instance(bindings, declared, given, where)


def unify_tensor(bindings: Bindings, formal: TensorParts, actual: TensorParts, where: str) -> None:
    """Bind the type variables of a tensor parameter.

    Raises:
        CallError: They do not match.
    """
    shape = get_proper_type(formal.shape)
    if not isinstance(shape, AnyType):
        _unify_shape(bindings, shape, get_proper_type(actual.shape), where)
    _unify_tape(bindings, get_proper_type(formal.tape), get_proper_type(actual.tape), where)
    _unify_dtype(bindings, get_proper_type(formal.dtype), get_proper_type(actual.dtype), where)


def _unify_tuple(bindings: Bindings, declared: TupleType, given: TupleType, where: str) -> None:
    """Bind the type variables in the items of a tuple, and those of the class of a generic `NamedTuple`."""
    is_shape = all(map(_is_count, declared.items))
    names = field_names(declared)
    for position, (one, other) in enumerate(zip(declared.items, given.items, strict=True)):
        if not isinstance(one, UnpackType) and not isinstance(other, UnpackType):
            place = where if is_shape else f"{where}.{names[position]}" if names else f"{where}[{position}]"
            unify(bindings, one, other, place)
    formal, actual = declared.partial_fallback, given.partial_fallback
    if names and actual.type.has_base(formal.type.fullname):
        mapped = map_instance_to_supertype(actual, formal.type)
        _unify_layer(bindings, formal, mapped, where)
        for variable, one, other in zip(formal.type.defn.type_vars, formal.args, mapped.args, strict=False):
            if kind_of(variable) == "tape":
                _unify_tape(bindings, get_proper_type(one), get_proper_type(other), where)
            else:
                unify(bindings, one, other, where)


def _is_count(item: Type) -> bool:
    """Return whether an item of a tuple is a size, so that the tuple is a shape."""
    p = get_proper_type(item)
    return kind_of(p) == "size" if isinstance(p, TypeVarType) else is_size(p)


def _is_dtype(bindings: Bindings, t: Type) -> bool:
    p = get_proper_type(t)
    return isinstance(p, TypeVarType) and bindings.own.get(p.id) == "dtype"


def _unify_union(bindings: Bindings, declared: UnionType, given: ProperType, where: str) -> None:
    items = [*map(get_proper_type, declared.items)]
    for item in items:
        if isinstance(item, TypeType) and _is_dtype(bindings, item.item):
            variable = get_proper_type(item.item)
            if isinstance(given, NoneType) and NoneType() in items and isinstance(variable, TypeVarType):
                unify(bindings, variable, get_proper_type(variable.default), where)
            else:
                _unify_scalar_type(bindings, item.item, given, where)
            return
    numbers = numbers_in(given)
    if numbers or (tensor_parts(given) is None and not isinstance(given, UnionType)):
        for formal in filter(None, map(tensor_parts, declared.items)):
            _tape_of_no_tensor(bindings, get_proper_type(formal.tape))
            _dtype_of_no_tensor(bindings, get_proper_type(formal.dtype), given, numbers, where)
    if isinstance(given, UnionType):
        if not numbers:
            _unify_unions(bindings, declared, given, where)
        return
    fitting = [item for item in map(get_proper_type, declared.items) if _takes(bindings, item, given)]
    if fitting:
        # Of several tensors, such as one with a tape and one without, choose the one that accepts the argument.
        chosen = next((item for item in fitting if len(fitting) == 1 or accepts(item, given)), fitting[0])
        unify(bindings, chosen, given, where)
        return
    _reject_unless_sizes(bindings, declared, given, where)


_NO_SIZES: Final = ("builtins.float", "builtins.list", "builtins.str")


def _reject_unless_sizes(bindings: Bindings, declared: UnionType, given: ProperType, where: str) -> None:
    """Reject an argument that is not a size, or a tuple with the wrong number of sizes.

    mypy accepts anything here if an unsolved size defaults to Any.
    """
    items = list(map(get_proper_type, declared.items))
    tuples = [item for item in items if isinstance(item, TupleType)]
    takes_tuples = tuples or any(isinstance(item, TypeVarType) and kind_of(item) == "shape" for item in items)
    if not takes_tuples or not any(_is_open_size(bindings, item) for item in items):
        return
    if tuples and isinstance(given, TupleType) and not any(isinstance(item, UnpackType) for item in given.items):
        sizes, names = ([size_of(item) for item in one.items] for one in (given, tuples[0]))
        raise CallError(messages.wrong_rank(bindings.name, where, sizes, names), "shape")
    if isinstance(given, Instance) and given.type.fullname in _NO_SIZES:
        kind = messages.with_article(given.type.name)
        message = messages.wrong_dtype(bindings.name, where, kind, "an int or a tuple of ints")
        raise CallError(message, "dtype")


def _is_open_size(bindings: Bindings, item: ProperType) -> bool:
    if not isinstance(item, TypeVarType) or bindings.own.get(item.id) != "size":
        return False
    return isinstance(get_proper_type(item.default), AnyType)


def _unify_scalar_type(bindings: Bindings, declared: Type, given: ProperType, where: str) -> None:
    """Bind a dtype that is given as a dtype or as a scalar type."""
    if isinstance(given, UnionType) or (isinstance(given, Instance) and given.type.fullname == "builtins.type"):
        return
    if isinstance(given, Instance) and given.type.has_base("numpy.dtype"):
        (instance,) = map(get_proper_type, map_instance_to_supertype(given, _base(given, "numpy.dtype")).args)
    else:
        instance = instance_of(given)
    if instance is given or (isinstance(instance, Instance) and not instance.type.has_base(GENERIC)):
        name = instance.type.name if isinstance(instance, Instance) else "NoneType"
        kind = messages.with_article(name) if instance is given else f"the class {name}"
        follows_shape = bindings.name in _BEGINNING_WITH_SHAPE
        raise CallError(messages.no_dtype(bindings.name, where, kind, follows_shape=follows_shape), "dtype")
    if isinstance(instance, Instance) and any(map(instance.type.has_base, UNKNOWN_TO_OPS)):
        raise CallError(messages.no_real_dtype(bindings.name, where, dtype_name(instance)), "dtype")
    unify(bindings, declared, instance, where)


def _takes(bindings: Bindings, item: ProperType, given: ProperType) -> bool:
    """Return whether an argument matches this item of a union, as far as that is known."""
    if isinstance(given, TupleType):
        if isinstance(item, TupleType):
            return len(item.items) == len(given.items)
        if isinstance(item, TypeVarType):
            return bindings.own.get(item.id) == "shape"
        return isinstance(item, Instance) and item.type.fullname == "builtins.tuple"
    if isinstance(item, TypeVarType):
        return bindings.own.get(item.id) == "size" and not is_unknown(size_of(given))
    return isinstance(item, Instance) and isinstance(given, Instance) and given.type is item.type


def _unify_unions(bindings: Bindings, declared: UnionType, given: UnionType, where: str) -> None:
    """Bind tape and dtype where an item of a union may be a tensor; its shape is known only at run time."""
    formals = [parts for parts in map(tensor_parts, declared.items) if parts is not None]
    actuals = [parts for parts in map(tensor_parts, given.items) if parts is not None]
    for formal in formals:
        tape = get_proper_type(formal.tape)
        if isinstance(tape, TypeVarType) and tape.id in bindings.own:
            bindings.bind_tape(tape, _tape_of_one_in(bindings, given))
        for actual in actuals:
            if not isinstance(tape, TypeVarType):
                _unify_tape(bindings, tape, get_proper_type(actual.tape), where)
            _unify_dtype(bindings, get_proper_type(formal.dtype), get_proper_type(actual.dtype), where)


def _tape_of_one_in(bindings: Bindings, given: UnionType) -> Type:
    """Return the tape of a union: a number has no tape, which only tape variables already include."""
    items = list(map(get_proper_type, given.items))
    tapes = [parts.tape for parts in map(tensor_parts, items) if parts is not None]
    if any(isinstance(item, AnyType) for item in items):
        tapes.append(unknown())
    elif len(tapes) < len(items) and not all(isinstance(get_proper_type(tape), TypeVarType) for tape in tapes):
        tapes.append(bindings.make(NONE_TAPE, []))
    return UnionType.make_union(tapes)


def _tape_of_no_tensor(bindings: Bindings, tape: ProperType) -> None:
    """Bind the tape of a parameter that may be a tensor to no tape, because the argument is none."""
    if isinstance(tape, TypeVarType) and tape.id in bindings.own:
        bindings.bind_tape(tape, bindings.make(NONE_TAPE, []))


def _dtype_of_no_tensor(
    bindings: Bindings, formal: ProperType, given: ProperType, numbers: list[Instance], where: str
) -> None:
    """Compare the dtype of an array, or the class of a number, with that of the tensor beside it."""
    if not isinstance(formal, TypeVarType):
        return
    if len(numbers) == 1:  # in a union, the number at run time may be one that matches
        (number,) = numbers
        kind = next(filter(number.type.has_base, _KINDS), "")
        if not kind:
            _unify_dtype(bindings, formal, number, where)
        elif formal.id in bindings.own:
            bindings.beside.append(Beside(formal.id, kind, class_name(number), where))
    elif isinstance(given, Instance) and given.type.fullname == ARRAY:
        dtype = get_proper_type(given.args[1])
        if isinstance(dtype, Instance) and dtype.args:
            _unify_dtype(bindings, formal, get_proper_type(dtype.args[0]), where)


def _forget_tapes(bindings: Bindings, declared: ProperType) -> None:
    """Bind the tapes of an argument of type Any to unknown: it may have a tape, so the result may too."""
    for item in declared.items if isinstance(declared, UnionType) else [declared]:
        parts = tensor_parts(item)
        tape = get_proper_type(parts.tape) if parts is not None else None
        if isinstance(tape, TypeVarType) and tape.id in bindings.own:
            bindings.bind_tape(tape, unknown())


def _forget_sizes(bindings: Bindings, declared: ProperType, where: str) -> None:
    """Bind the sizes of an argument of type Any to unknown, so that none counts as left out."""
    for item in declared.items if isinstance(declared, UnionType | TupleType) else [declared]:
        p = get_proper_type(item)
        if isinstance(p, TupleType):
            _forget_sizes(bindings, p, where)
        elif isinstance(p, TypeVarType) and bindings.own.get(p.id) == "size":
            bindings.sizes.setdefault(p.id, (UNKNOWN, where))


def _unify_instance(bindings: Bindings, declared: Instance, given: ProperType, where: str) -> None:
    if declared.type.fullname in ARITHMETIC:
        actual_number = size_of(given)
        bindings.computed.append(
            Computed(
                declared,
                actual_number,
                where,
                lambda value: messages.wrong_number(bindings.name, where, actual_number, size_of(declared), value),
            )
        )
        return
    formal, actual = tensor_parts(declared), tensor_parts(given)
    if formal is not None and actual is not None:
        unify_tensor(bindings, formal, actual, where)
    elif isinstance(given, Instance) and given.type.has_base(declared.type.fullname) and declared.args:
        mapped = map_instance_to_supertype(given, declared.type)
        if declared.type.fullname == ARRAY:
            mapped = without_last_values(mapped)
        if is_distribution(declared):
            unify_tensor(bindings, TensorParts(*declared.args), TensorParts(*mapped.args), where)
            return
        if declared.type.has_base(MODULE):
            _unify_layer(bindings, declared, mapped, where)
        for one, other in zip(declared.args, mapped.args, strict=False):
            unify(bindings, one, other, where)
    elif isinstance(given, TupleType) and declared.type.fullname in SEQUENCES:
        for item in given.items:
            if not isinstance(item, UnpackType):
                unify(bindings, declared.args[0], item, where)
    elif declared.type.is_protocol:
        for name in declared.type.protocol_members:
            method = method_of(declared, name)
            if method is not None:
                place = where if name == "__call__" else f"{where}.{name}"
                _unify_call(bindings, method, declared, given, method_of(given, name), place)


def _unify_layer(bindings: Bindings, declared: Instance, given: Instance, where: str) -> None:
    """Compare the sizes of a layer with those declared as numbers, or as names of the enclosing function."""
    if len(declared.args) != len(given.args):
        return  # one has any number of layers, as `Sequential` without arguments does
    variables = declared.type.defn.type_vars
    for variable, one, other in zip(variables, declared.args, given.args, strict=False):
        if not bindings.is_open(one) and surely_differ(size_of(one), size_of(other)):
            shown = [_with_arguments(layer, {"size", kind_of(variable)}) for layer in (given, declared)]
            raise CallError(messages.other_shape(bindings.name, where, *shown))


def _with_arguments(layer: Instance, kinds: set[str]) -> str:
    """Return the text of a layer with its sizes, and with its flags if these differ."""
    variables = zip(layer.type.defn.type_vars, layer.args, strict=False)
    shown_sizes = [(one, size_of(argument)) for one, argument in variables if kind_of(one) in kinds]
    sizes = [f"{one.name}={size}" if kind_of(one) == "flag" else size for one, size in shown_sizes]
    return messages.layer(layer.type.name, sizes)


def _unify_call(
    bindings: Bindings,
    declared: CallableType,
    whole: Type,
    given: ProperType,
    function: CallableType | None,
    where: str,
) -> None:
    """Bind the type variables of a function parameter, or of a protocol's method, by the argument's signature."""
    if function is None or len(function.arg_types) != len(declared.arg_types):
        return
    if not accepts(opened_call(whole) if isinstance(whole, CallableType) else whole, given):
        return  # mypy itself has rejected an argument that does not match at all
    for formal, actual in zip(declared.arg_types, function.arg_types, strict=True):
        _unify_part(bindings, formal, actual, function, f"what {where} takes")
        _unify_kind(
            bindings, formal, actual, f"what {where} takes", is_within=lambda ours, theirs: accepts(theirs, ours)
        )
    _note_tapes(bindings, declared, function)
    given_back = _given_by(bindings, function, declared)
    _unify_part(bindings, declared.ret_type, given_back, function, f"what {where} gives")
    _unify_kind(bindings, declared.ret_type, given_back, f"what {where} gives", is_within=accepts)


def _note_tapes(bindings: Bindings, declared: CallableType, function: CallableType) -> None:
    """Note the tapes of a function; a tape that it always returns is part of the result's tape."""
    formals, actuals = ([*map(tensor_parts, (*one.arg_types, one.ret_type))] for one in (declared, function))
    for formal, actual in zip(formals, actuals, strict=True):
        if formal is not None and actual is not None:
            bindings.note_tape_of_call(formal.tape, actual.tape, function)
    if formals[-1] is not None and actuals[-1] is not None and is_tape(actuals[-1].tape, OWNED_TAPE):
        variable = get_proper_type(formals[-1].tape)
        if isinstance(variable, TypeVarType) and variable.id in bindings.own:
            bindings.bind_tape(variable, actuals[-1].tape)


def bind_given_shape(bindings: Bindings, formal: Type, given: Type, where: str, *, is_lambda: bool) -> None:
    """Bind a shape variable by a function's result, unless mypy has compared it with a parameter; never in a lambda.

    Raises:
        CallError: It is already bound to another shape.
    """
    declared = get_proper_type(formal)
    gives = tensor_parts(declared.ret_type) if isinstance(declared, CallableType) else None
    shape = get_proper_type(gives.shape) if gives is not None else None
    if not isinstance(declared, CallableType) or not isinstance(shape, TypeVarType) or shape.id not in bindings.own:
        return
    takes = [get_proper_type(parts.shape) for parts in map(tensor_parts, declared.arg_types) if parts is not None]
    function = called(given)
    if function is None or len(function.arg_types) != len(declared.arg_types) or (shape in takes and not is_lambda):
        return
    result = tensor_parts(_given_by(bindings, function, declared))
    sizes = shape_items(result.shape) if result is not None else None
    if result is None or sizes is None:
        return
    own = {variable.id for variable in function.variables} | bindings.own.keys()
    if not any(isinstance(size, Many) or is_unknown(size) for size in _fixed(sizes, own, len(sizes))):
        bindings.bind_shape(shape, get_proper_type(result.shape), f"what {where} gives")


def _given_by(bindings: Bindings, function: CallableType, declared: CallableType) -> Type:
    """Return the result type of a function for the declared arguments, as far as it is known."""
    if not function.variables:
        return function.ret_type
    inner = Bindings(bindings.name, Signature(function), bindings.make)
    with suppress(CallError):
        for formal, actual in zip(function.arg_types, declared.arg_types, strict=True):
            unify(inner, formal, bindings.applied(actual, None), "")
        inner.finish(raw=True)
    return inner.applied(function.ret_type, function.ret_type)


def _unify_part(bindings: Bindings, formal: Type, actual: Type, function: CallableType, where: str) -> None:
    """Bind the sizes in one parameter of a function, or in its result, by the sizes that the function fixes."""
    declared, given = tensor_parts(formal), tensor_parts(actual)
    shape = get_proper_type(declared.shape) if declared is not None else None
    expected = shape_items(shape) if shape is not None else None
    sizes = shape_items(given.shape) if given is not None else None
    if not isinstance(shape, TupleType) or expected is None or sizes is None:
        return
    own = {variable.id for variable in function.variables}
    fixed = _fixed(sizes, own | bindings.own.keys(), len(expected))
    if any(isinstance(size, Many) for size in (*fixed, *expected)):
        return
    if len(fixed) != len(expected):
        raise CallError(messages.wrong_rank(bindings.name, where, fixed, expected))
    for axis, size in enumerate(fixed):
        if not isinstance(size, Many) and not is_unknown(size):
            _unify_size(bindings, shape.items[axis], axis, fixed, expected, where)


def _unify_kind(
    bindings: Bindings, formal: Type, actual: Type, where: str, *, is_within: Callable[[Type, Type], bool]
) -> None:
    """Compare tape and dtype in one parameter of a function, or in its result, if both are fixed."""
    declared, given = tensor_parts(formal), tensor_parts(actual)
    if declared is None or given is None:
        return
    ours, theirs = get_proper_type(declared.tape), get_proper_type(given.tape)
    if isinstance(ours, Instance) and isinstance(theirs, Instance) and not is_within(ours, theirs):
        said = messages.tape_unwanted if is_tape(ours, NONE_TAPE) else messages.tape_missing
        raise CallError(said(bindings.name, where), "tape")
    ours, theirs = get_proper_type(declared.dtype), get_proper_type(given.dtype)
    if isinstance(ours, Instance) and isinstance(theirs, Instance) and not is_within(ours, theirs):
        raise CallError(messages.wrong_dtype(bindings.name, where, dtype_name(theirs), dtype_name(ours)), "dtype")


def _unify_shape(bindings: Bindings, formal: ProperType, actual: ProperType, where: str) -> None:
    if isinstance(formal, AnyType):
        return
    if isinstance(formal, TypeVarType) and formal.id in bindings.own:
        bindings.bind_shape(formal, actual, where)
        return
    expected, shape = shape_items(formal), ends_of(actual)
    if isinstance(formal, TypeVarType) or isinstance(actual, TypeVarType):
        if formal != actual and not isinstance(actual, AnyType):
            raise CallError(messages.other_shape(bindings.name, where, shape_name(actual), shape_name(formal)))
        return
    if expected is None or shape is None or not isinstance(formal, TupleType):
        return
    many, rest = star_in(expected), star_in(shape)
    if rest is not None and shape[rest] is UNKNOWN_REST:
        _unify_ends(bindings, formal, shape, rest, expected, where)
        return
    after = 0 if many is None else len(expected) - many - 1
    wrong_rank = len(shape) < len(expected) - 1 if many is not None else len(shape) != len(expected)
    if wrong_rank or (many is None and any(isinstance(item, Many) for item in shape)):
        raise CallError(_other_shape(bindings.name, where, shape, expected))
    before = len(expected) if many is None else many
    for axis in (*range(before), *range(-after, 0)):
        _unify_size(bindings, formal.items[axis], axis, shape, expected, where)
    if many is not None:
        bindings.bind_many(expected[many], shape[many : len(shape) - after], where)


def _unify_ends(
    bindings: Bindings, formal: TupleType, shape: list[Size | Many], rest: int, expected: list[Size | Many], where: str
) -> None:
    """Bind the sizes at both ends of a shape of unknown rank."""
    many = star_in(expected)
    if many is None and len(expected) < len(shape) - 1:
        raise CallError(_other_shape(bindings.name, where, shape, expected))
    before, after = (len(expected),) * 2 if many is None else (many, len(expected) - many - 1)
    for axis in (*range(min(before, rest)), *range(-min(after, len(shape) - rest - 1), 0)):
        _unify_size(bindings, formal.items[axis], axis, shape, expected, where)
    if many is not None:
        bindings.bind_many(expected[many], _between(shape, rest, before, after), where)


def _between(shape: list[Size | Many], rest: int, before: int, after: int) -> list[Size | Many]:
    """Return a shape of unknown rank without its first and its last sizes.

    If fewer sizes are known at one end, the others may be among those at the other end.
    """
    first, last = shape[:rest], shape[rest + 1 :]
    missing_first, missing_last = max(before - len(first), 0), max(after - len(last), 0)
    first = first[before : max(len(first) - missing_last, 0)]
    last = last[missing_first : max(len(last) - after, 0)]
    return [*first, shape[rest], *last]


def _other_shape(call: str, where: str, shape: list[Size | Many], expected: list[Size | Many]) -> str:
    """Return the message for a shape of another rank, or of any rank with a size at its end that surely differs."""
    ends = list(takewhile(lambda n: not isinstance(n, Many), reversed(shape)))
    for place, n in enumerate(ends[: len(expected)] if len(ends) < len(shape) else [], 1):
        other = expected[-place]
        if not isinstance(other, Many) and not isinstance(n, Many) and surely_differ(n, other):
            return messages.wrong_size(call, where, shape, expected, -place)
    return messages.wrong_rank(call, where, shape, expected)


def _unify_size(
    bindings: Bindings, formal: Type, axis: int, shape: list[Size | Many], expected: list[Size | Many], where: str
) -> None:
    actual, declared = shape[axis], get_proper_type(formal)
    if isinstance(actual, Many):
        return
    if isinstance(declared, TypeVarType) and declared.id in bindings.own:
        bindings.bind_size(declared, actual, where)
    elif isinstance(declared, Instance) and declared.type.fullname in ARITHMETIC:
        bindings.computed.append(
            Computed(
                formal,
                actual,
                where,
                lambda value: messages.wrong_size(bindings.name, where, shape, expected, axis, value),
            )
        )
    elif surely_differ(size := size_of(declared), actual):
        raise CallError(messages.wrong_size(bindings.name, where, shape, expected, axis))
    else:
        bindings.learn(size, actual)


def _unify_tape(bindings: Bindings, formal: ProperType, actual: ProperType, where: str) -> None:
    if isinstance(formal, TypeVarType) and formal.id in bindings.own:
        bindings.bind_tape(formal, actual)
    elif is_tape(formal, OWNED_TAPE) and (is_tape(actual, NONE_TAPE) or isinstance(actual, TypeVarType)):
        raise CallError(messages.tape_missing(bindings.name, where), "tape")
    elif is_tape(formal, NONE_TAPE) and (is_owned(actual) or isinstance(actual, TypeVarType)):
        raise CallError(messages.tape_unwanted(bindings.name, where), "tape")


def _unify_dtype(bindings: Bindings, formal: ProperType, actual: ProperType, where: str) -> None:
    if isinstance(formal, TypeVarType) and formal.id in bindings.own:
        bindings.bind_dtype(formal, actual, where)
    elif isinstance(formal, UnionType) and isinstance(actual, Instance):
        items = [get_proper_type(item) for item in formal.items]
        if not any(isinstance(item, Instance) and accepts(item, actual) for item in items):
            variables = [item for item in items if isinstance(item, TypeVarType) and item.id in bindings.own]
            for variable in variables:
                _unify_dtype(bindings, variable, actual, where)
            if not variables:
                expected = " or ".join(map(dtype_name, items))
                raise CallError(messages.wrong_dtype(bindings.name, where, dtype_name(actual), expected), "dtype")
    elif isinstance(formal, Instance) and isinstance(actual, Instance) and not accepts(formal, actual):
        raise CallError(messages.wrong_dtype(bindings.name, where, dtype_name(actual), dtype_name(formal)), "dtype")


_BEGINNING_WITH_SHAPE = ("empty", "ones", "zeros")  # functions whose dtype follows the shape
_KINDS = ("builtins.bool", "builtins.int", "builtins.float")
UNKNOWN_TO_OPS = tuple(
    f"numpy.{name}" for name in ("complexfloating", "datetime64", "flexible", "object_", "timedelta64")
)
SEQUENCES = frozenset({"builtins.tuple", "typing.Sequence", "typing.Iterable", "typing.Collection"})


def is_owned(tape: Type) -> bool:
    """Return whether a tape is owned, consumed or not."""
    return is_tape(tape, OWNED_TAPE)


def _fixed(sizes: list[Size | Many], own: set[TypeVarId], rank: int) -> list[Size | Many]:
    """Return the sizes of a function's parameter, unknown where each call may choose."""
    open_names = {f"{one.raw_id}@{one.namespace}" for one in own}
    fixed: list[Size | Many] = []
    for size in sizes:
        if isinstance(size, Many):
            is_own = size.variable is not None and size.variable.id in own
            fixed += [UNKNOWN] * (rank - len(sizes) + 1) if is_own else [size]
        else:
            fixed.append(UNKNOWN if any(name.scope in open_names for name in names_in(size)) else size)
    return fixed


def _base(given: Instance, name: str) -> TypeInfo:
    return next(base for base in given.type.mro if base.fullname == name)


def instance_of(given: ProperType) -> ProperType:
    """Return the instance type of a class given as an argument, such as `numpy.float32`."""
    if isinstance(given, UnionType):
        return UnionType([instance_of(get_proper_type(item)) for item in given.items])
    if isinstance(given, TypeType):
        return given.item
    if isinstance(given, Overloaded):
        given = given.items[0]
    if not isinstance(given, CallableType):
        return given
    instance = get_proper_type(given.ret_type)
    if isinstance(instance, Instance) or not given.is_type_obj():
        return instance
    return Instance(given.type_object(), [unknown() for _ in given.type_object().type_vars])  # for `numpy.object_`
