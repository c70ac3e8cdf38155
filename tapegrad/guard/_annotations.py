"""The conversion of annotations into checks."""

from __future__ import annotations

import operator
import typing
from abc import ABCMeta
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import InitVar, fields, is_dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    TypeVarTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import typing_extensions
from typing_extensions import get_original_bases

from tapegrad.autograd.tape import Merge, NoneTape, OwnedTape, Tape
from tapegrad.errors import ShapeError
from tapegrad.errors.messages import with_article
from tapegrad.guard._checks import (
    Anything,
    Check,
    ClassCheck,
    DTypeCheck,
    Other,
    ShapeCheck,
    SizeCheck,
    TensorCheck,
    WordCheck,
)
from tapegrad.guard._containers import EachCheck, FieldsCheck, ItemsCheck, KeysCheck, TupleCheck, UnionCheck
from tapegrad.guard._names import name_of
from tapegrad.guard._parts import DTypes, Sizes, Tapes
from tapegrad.sizes import UNKNOWN, Add, FloorDiv, Mul, Pow, Size, Sub, power, size_of_name
from tapegrad.tensors import Tensor, Tensor0D, Tensor1D, Tensor2D, Tensor3D, Tensor4D, Tensor5D, Tensor6D
from tapegrad.tensors.aliases import N0, N1, N2, N3, N4, N5

_OPERATORS: dict[Any, Callable[[Any, Any], Any]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    FloorDiv: operator.floordiv,
    Pow: power,
}
# Without arguments, an alias keeps its own type variables as unknown sizes; no other annotation has them.
_UNKNOWN_SIZES = (N0, N1, N2, N3, N4, N5)
_BARE_TENSORS = (Tensor0D, Tensor1D, Tensor2D, Tensor3D, Tensor4D, Tensor5D, Tensor6D)
_NUMBERS = {float: (float, int), complex: (complex, float, int)}  # as type checkers promote them
_ANY_SHAPE = Sizes(many=True)


_COLLECTIONS = (list, Sequence, MutableSequence, set, frozenset, AbstractSet, deque, Collection, Iterable)
_MAPPINGS = (dict, Mapping, MutableMapping, OrderedDict, defaultdict)

# Before Python 3.12, the Unpack of typing_extensions is another one than that of typing.
_UNPACKS = (typing.Unpack, typing_extensions.Unpack)
_NOT_REQUIRED = (typing.NotRequired, typing_extensions.NotRequired)
_QUALIFIERS = (
    *_NOT_REQUIRED,
    typing.Required,
    typing_extensions.Required,
    typing_extensions.ReadOnly,
    typing.Final,
)


class UnreadableError(Exception):
    """An annotation is invalid; the message says why."""


def read(hint: Any) -> Check:
    """Return the check for an annotation.

    Raises:
        UnreadableError: A tensor type has an invalid shape, tape or dtype.
    """
    hint = _expanded(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return Anything()
    if isinstance(hint, TypeVar):
        return _read_variable(hint)
    if _is_tensor(hint):
        return _read_tensor(hint)
    if origin is Union or origin is UnionType:
        members = tuple(map(read, arguments))
        return Anything() if any(type(member) is Anything for member in members) else UnionCheck(members)
    if origin in _OPERATORS or _is_literal_size(hint):
        return SizeCheck(_read_size(hint))
    if origin is Literal and all(isinstance(one, str) for one in arguments):
        return WordCheck(arguments)
    if origin is Callable or hint is Callable:
        return ClassCheck("a function", (Callable,))
    if origin is tuple:
        return _read_tuple(arguments)
    if origin is Annotated:
        meant = read(arguments[0])
        return meant if _has_names(meant) else Other()
    if origin in _COLLECTIONS:
        item = read(*arguments)
        return EachCheck(origin, item) if _has_names(item) else Other()
    if origin in _MAPPINGS:
        key, item = map(read, arguments)
        return ItemsCheck(origin, key, item) if _has_names(item) or _has_names(key) else Other()
    if _has_fields(origin or hint):
        return _read_fields(hint)
    if origin is type and isinstance(arguments[0], TypeVar) and _is_class(arguments[0].__bound__, np.generic):
        return DTypeCheck(_read_dtype(arguments[0]))
    return _read_class(hint)


def _read_class(hint: Any) -> Check:
    if hint is None or hint is NoneType:
        return ClassCheck("None", (NoneType,))
    if type(hint) not in (type, ABCMeta) or getattr(hint, "_is_protocol", False):
        return Other()
    return ClassCheck(with_article(hint.__name__), _NUMBERS.get(hint, (hint,)))


def _read_variable(variable: Any) -> Check:
    bound = variable.__bound__
    if bound is int:
        return SizeCheck(_read_size(variable))
    if _is_shape(bound):
        return ShapeCheck(_read_shape(variable))
    if variable.__constraints__:
        return Other()
    return Anything() if bound is None else read(bound)


def _read_tensor(hint: Any) -> Check:
    shape, tape, dtype = _tensor_arguments(hint)
    return TensorCheck(get_origin(hint) or hint, _read_shape(shape), _read_tape(tape), _read_dtype(dtype))


def _read_tuple(arguments: tuple[Any, ...]) -> Check:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return EachCheck(tuple, read(arguments[0]))
    stars = [one for one in arguments if _unpacked(one) is not None]
    sizes = [one for one in arguments if _is_certainly_size(one)]
    if sizes and len(stars) + len(sizes) + arguments.count(int) == len(arguments):
        return ShapeCheck(_read_items(arguments))
    if stars:
        return Other()
    return TupleCheck(tuple(map(read, arguments)))


def _read_shape(hint: Any) -> Sizes:
    hint = _expanded(hint)
    if isinstance(hint, TypeVar):
        within = _read_shape(hint.__bound__) if _is_shape(hint.__bound__) else _ANY_SHAPE
        return Sizes(many=True, name=name_of(hint), within=None if within == _ANY_SHAPE else within)
    if hint is Any or hint is tuple or get_origin(hint) in (Union, UnionType):
        return _ANY_SHAPE
    if get_origin(hint) is not tuple:
        raise UnreadableError(f"{_written(hint)} is no shape")
    arguments = get_args(hint)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        if not _is_unknown_size(arguments[0]):
            raise UnreadableError(f"{_written(hint)} is no shape")
        return _ANY_SHAPE
    return _read_items(arguments)


def _read_items(arguments: tuple[Any, ...]) -> Sizes:
    before: list[Size] = []
    for position, item in enumerate(arguments):
        packed = _unpacked(item)
        if packed is None:
            before.append(_read_size(item))
        elif isinstance(packed, TypeVarTuple):
            return Sizes(tuple(before), many=True, name=name_of(packed), after=_read_sizes(arguments[position + 1 :]))
        else:
            inner = _read_shape(packed)
            after = _read_sizes(arguments[position + 1 :])
            before += inner.before
            if inner.many:
                return Sizes(tuple(before), many=True, name=inner.name, after=(*inner.after, *after))
    return Sizes(tuple(before))


def _read_sizes(hints: tuple[Any, ...]) -> tuple[Size, ...]:
    return tuple(map(_read_size, hints))


def _read_size(hint: Any) -> Size:
    hint = _expanded(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, TypeVar):
        return UNKNOWN if hint in _UNKNOWN_SIZES else size_of_name(name_of(hint))
    if isinstance(hint, int):
        return hint
    if _is_literal_size(hint):
        size: int = arguments[0]
        return size
    if origin in _OPERATORS:
        left, right = map(_read_size, arguments)
        try:
            result: Size = _OPERATORS[origin](left, right)
        except ShapeError as error:  # divided by zero
            raise UnreadableError(str(error)) from None
        return result
    if _is_unknown_size(hint):
        return UNKNOWN
    raise UnreadableError(f"{_written(hint)} is no size")


def _read_tape(hint: Any) -> Tapes:
    hint = _expanded(hint)
    if get_origin(hint) is Merge:
        parts = [_read_tape(part) for part in get_args(hint)]
        if any(part.owned for part in parts):
            return Tapes(owned=True)
        if any(part.owned is None and not part.names for part in parts):
            return Tapes()
        names = frozenset(name for part in parts for name in part.names)
        return Tapes(names=names, merged=True) if names else Tapes(owned=False)
    if isinstance(hint, TypeVar):
        within = _read_tape(hint.__bound__) if hint.__bound__ else Tapes()
        return Tapes(names=frozenset({name_of(hint)})) if within.owned is None else within
    if _is_class(hint, OwnedTape):
        return Tapes(owned=True)
    if _is_class(hint, NoneTape):
        return Tapes(owned=False)
    if hint is Any or _is_class(hint, Tape) or get_origin(hint) in (Union, UnionType):
        return Tapes()
    raise UnreadableError(f"{_written(hint)} is no tape")


def _read_dtype(hint: Any) -> DTypes:
    hint = _expanded(hint)
    origin = get_origin(hint)
    if hint is Any or hint is np.generic:
        return DTypes()
    if isinstance(hint, TypeVar):
        within = hint.__constraints__ or ((hint.__bound__,) if hint.__bound__ else ())
        types = [_read_dtype(one).types for one in within]
        return DTypes(sum(types, ()) if all(types) else (), name_of(hint))
    if origin is Union or origin is UnionType:
        members = [_read_dtype(one).types for one in get_args(hint)]
        return DTypes(sum(members, ()) if all(members) else ())
    scalar_type = origin or hint
    if not _is_class(scalar_type, np.generic):
        raise UnreadableError(f"{_written(hint)} is no dtype")
    return DTypes((scalar_type,))


def _expanded(hint: Any) -> Any:
    """Return the value of an alias; the size operators and `Merge` are returned unchanged."""
    if hint in _BARE_TENSORS:
        return hint[tuple(variable.__default__ for variable in hint.__parameters__)]
    alias = get_origin(hint) or hint
    if not hasattr(alias, "__value__") or alias in _OPERATORS or alias is Merge:
        return hint
    value = alias.__value__
    meaning = dict(zip(alias.__type_params__, get_args(hint), strict=False))
    parameters = getattr(value, "__parameters__", ())
    return _expanded(value[tuple(meaning.get(one, Any) for one in parameters)] if parameters else value)


def _tensor_arguments(hint: Any) -> tuple[Any, Any, Any]:
    """Return the shape, tape and dtype of a tensor type, which may be a subclass of `Tensor`."""
    origin = get_origin(hint) or hint
    parameters, arguments = origin.__parameters__, get_args(hint)
    if len(parameters) != len(arguments):
        arguments = (Any,) * len(parameters)
    meaning = dict(zip(parameters, arguments, strict=True))
    if origin is Tensor:
        shape, tape, dtype = meaning.values()
        return shape, tape, dtype
    base = next(base for base in get_original_bases(origin) if _is_tensor(base))
    open_ones = base.__parameters__ if get_origin(base) else ()
    return _tensor_arguments(base[tuple(meaning.get(one, Any) for one in open_ones)] if open_ones else base)


def _has_fields(hint: Any) -> bool:
    """Return whether a class is a named tuple, a `TypedDict` or a dataclass; a module has parameters, not fields."""
    if not isinstance(hint, type) or hasattr(hint, "parameters"):
        return False
    return (issubclass(hint, tuple) and hasattr(hint, "_fields")) or typing.is_typeddict(hint) or is_dataclass(hint)


def _read_fields(hint: Any) -> Check:
    """Return the check for a class with fields, which may have type arguments."""
    origin = get_origin(hint) or hint
    of_the_class = _read_class(origin)
    is_generic = any(isinstance(one, TypeVarTuple) for one in getattr(origin, "__parameters__", ()))
    if is_generic or origin in _reading:
        return of_the_class
    _reading.append(origin)  # a field may be of the same class, as in a tree
    try:
        declared = {name: read(one) for name, one in _field_types(hint).items()}
    except NameError:  # string annotations of a class inside a function, whose local names cannot be found
        return of_the_class
    finally:
        _reading.pop()
    named = tuple((name, check) for name, check in declared.items() if _has_names(check))
    if not named:
        return of_the_class
    if typing.is_typeddict(origin):
        optional = _optional_keys(origin)
        required = tuple(one for one in named if one[0] not in optional)
        return KeysCheck(origin.__name__, required, tuple(one for one in named if one[0] in optional))
    return FieldsCheck(origin, named)


_reading: list[Any] = []  # the classes whose fields are being read


def _field_types(hint: Any) -> dict[str, Any]:
    """Return the annotation of each field, in which a type variable without an argument is unknown."""
    origin = get_origin(hint) or hint
    meaning = dict(zip(getattr(origin, "__parameters__", ()), get_args(hint), strict=False))
    types: dict[str, Any] = {}
    for base in get_original_bases(origin):
        if get_origin(base) is not None and _has_fields(get_origin(base)):
            types |= _field_types(base)
    own = get_type_hints(origin, include_extras=True)
    shown = {one.name for one in fields(origin)} if is_dataclass(origin) else {*own}
    types = {name: types.get(name, one) for name, one in own.items() if name in shown}
    return {name: _given(_of_field(one), meaning) for name, one in types.items()}


def _optional_keys(cls: Any) -> set[str]:
    """Return the keys that a `TypedDict` may lack; the class itself does not see a `NotRequired` in a string."""
    own = get_type_hints(cls, include_extras=True)
    marked = {name for name, one in own.items() if get_origin(one) in _NOT_REQUIRED}
    return marked | {*cls.__optional_keys__}


def _of_field(hint: Any) -> Any:
    """Return the type of a field without `Required`, `NotRequired`, `ReadOnly` and `InitVar`."""
    while get_origin(hint) in _QUALIFIERS:
        hint = get_args(hint)[0]
    return hint.type if isinstance(hint, InitVar) else hint


def _given(hint: Any, meaning: dict[Any, Any]) -> Any:
    """Return an annotation with type variables replaced by the type arguments of a class, else by Any."""
    if isinstance(hint, TypeVar):
        return meaning.get(hint, Any)
    parameters = getattr(hint, "__parameters__", ())
    if any(isinstance(one, TypeVarTuple) for one in parameters):
        return Any
    return hint[tuple(meaning.get(one, Any) for one in parameters)] if parameters else hint


def _is_tensor(hint: Any) -> bool:
    return _is_class(get_origin(hint) or hint, Tensor)


def _is_class(hint: Any, base: type) -> bool:
    return isinstance(hint, type) and issubclass(hint, base)


def _is_shape(bound: Any) -> bool:
    return bound is tuple or get_origin(bound) is tuple


def _is_literal_size(hint: Any) -> bool:
    return get_origin(hint) is Literal and len(get_args(hint)) == 1 and type(get_args(hint)[0]) is int


def _is_certainly_size(hint: Any) -> bool:
    is_name = isinstance(hint, TypeVar) and hint.__bound__ is int
    return is_name or _is_literal_size(hint) or get_origin(hint) in _OPERATORS


def _is_unknown_size(hint: Any) -> bool:
    if get_origin(hint) in (Literal, Union, UnionType):
        return all(type(one) is int or _is_unknown_size(one) for one in get_args(hint))
    return hint is Any or _is_class(hint, int)


def _unpacked(hint: Any) -> Any:
    """Return the type that a star unpacks, or None if there is no star."""
    if get_origin(hint) in _UNPACKS:
        return get_args(hint)[0]
    return hint if getattr(hint, "__unpacked__", False) else None


def _has_names(check: Check) -> bool:
    """Return whether a check involves tensors or sizes, which beartype cannot check."""
    if isinstance(check, UnionCheck):
        return any(map(_has_names, check.members))
    if isinstance(check, TupleCheck):
        return any(map(_has_names, check.items))
    if isinstance(check, FieldsCheck):
        return any(_has_names(one) for _, one in check.fields)
    if isinstance(check, KeysCheck):
        return True
    if isinstance(check, ItemsCheck):
        return _has_names(check.key) or _has_names(check.value)
    if isinstance(check, EachCheck):
        return _has_names(check.item)
    return isinstance(check, TensorCheck | SizeCheck | ShapeCheck | DTypeCheck)


def _written(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and get_origin(hint) is None else repr(hint)
