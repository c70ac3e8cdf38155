"""Conversion between mypy's types and the sizes, shapes, tapes and dtypes that rules use."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeGuard

from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    ProperType,
    TupleType,
    Type,
    TypeAliasType,
    TypeOfAny,
    TypeType,
    TypeVarId,
    TypeVarLikeType,
    TypeVarTupleType,
    TypeVarType,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad.errors.messages import SEVERAL_DTYPES
from tapegrad.mypy.mypy_api import accepts, map_instance_to_supertype
from tapegrad.sizes import (
    UNKNOWN,
    Dim,
    Dims,
    Floor,
    Monomial,
    Name,
    Size,
    UnknownDims,
    call_of,
    is_unknown,
    largest,
    names_in,
    opaque_name,
    power,
    simplest,
    size_of_name,
    smallest,
)

if TYPE_CHECKING:
    from mypy.nodes import TypeInfo

TENSOR = "tapegrad.tensors.Tensor"
METHODS = "tapegrad.tensors.methods.TensorMethods"  # the base class of Tensor with the methods that call ops
VALUE = "tapegrad.engines.interface.Value"
NODE = "tapegrad.tapem.tape.Node"
GRADIENTS = "tapegrad.autograd.gradients.Gradients"
NONE_TAPE = "tapegrad.autograd.tape.NoneTape"
OWNED_TAPE = "tapegrad.autograd.tape.OwnedTape"
CONSUMED = "tapegrad.autograd.tape.Consumed"
MERGED = "tapegrad.autograd.tape.Merged"
SUM, PRODUCT, QUOTIENT = (
    "tapegrad.sizes.arithmetic.Sum",
    "tapegrad.sizes.arithmetic.Product",
    "tapegrad.sizes.arithmetic.Quotient",
)
POWER, LARGEST, SMALLEST = (
    "tapegrad.sizes.arithmetic.Power",
    "tapegrad.sizes.arithmetic.Largest",
    "tapegrad.sizes.arithmetic.Smallest",
)
ARITHMETIC: Final[dict[str, Callable[[Size, Size], Size]]] = {  # of the types of computed sizes
    SUM: operator.add,
    PRODUCT: operator.mul,
    QUOTIENT: operator.floordiv,
    POWER: power,
    LARGEST: lambda n, m: largest([n, m]),
    SMALLEST: lambda n, m: smallest([n, m]),
}
_CALLS: Final = {"pow": POWER, "max": LARGEST, "min": SMALLEST}
OPAQUE = "tapegrad.sizes.arithmetic.Opaque"
ARRAY = "numpy.ndarray"
GENERIC = "numpy.generic"
MODULE = "tapegrad.nn.module.Module"
PARAM = "tapegrad.nn.param.Param"

Make: TypeAlias = Callable[[str, list[Type]], Instance]

_variables: dict[tuple[str, str], TypeVarType] = {}  # by label and scope
_names: dict[Name, Dim] = {}
_UNKNOWN = AnyType(TypeOfAny.special_form)
_read: dict[TypeVarId, tuple[TypeVarType, Dim]] = {}
_fits: list[bool] = []  # one item: whether mypy accepts `(..., 8)` for `(2, 8)`; none before the first use


class Many(NamedTuple):
    """Any number of sizes in a shape: `*Batch`, or a whole shape that is a type variable."""

    variable: TypeVarTupleType | TypeVarType | None  # None if the number of sizes and all of them are unknown

    def __str__(self) -> str:
        return "..."


UNKNOWN_REST: Final = Many(None)


class TensorParts(NamedTuple):
    """The three type arguments of a tensor."""

    shape: Type
    tape: Type
    dtype: Type


_ANY_PARTS = TensorParts(_UNKNOWN, _UNKNOWN, _UNKNOWN)


def unknown() -> AnyType:
    """Return the type for unknown parts; one object, because mypy stores the type of every expression."""
    return _UNKNOWN


def tensor_parts(declared: Type) -> TensorParts | None:
    """Return shape, tape and dtype of a tensor, a raw value or a node; None for any other type."""
    t = get_proper_type(declared)
    if not isinstance(t, Instance):
        t = bounded(t)
        if not isinstance(t, Instance):
            return None
    if t.type.fullname == TENSOR and len(t.args) == 3:
        return TensorParts(t.args[0], t.args[1], _as_dtype(t.args[2]))
    if t.type.has_base(TENSOR):
        shape, tape, dtype = map_instance_to_supertype(t, _base(t, TENSOR)).args
        return TensorParts(shape, tape, _as_dtype(dtype))
    if t.type.fullname in (VALUE, NODE):
        return TensorParts(t.args[0], unknown(), t.args[1])
    return None


def is_common_class(t: Type) -> bool:
    """Return whether a type argument is no dtype but what mypy takes as the common class of several dtypes."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and not p.type.has_base(GENERIC)


def without_common_class(result: Type, receiver: Type) -> Type:
    """Return the type of an attribute of a tensor of several dtypes, such as `x.dtype`, with an unknown dtype."""
    p, tensor = get_proper_type(result), get_proper_type(receiver)
    if not isinstance(tensor, Instance) or tensor.type.fullname != TENSOR or not is_common_class(tensor.args[2]):
        return result
    if p == tensor.args[2]:
        return _UNKNOWN
    if not isinstance(p, Instance):
        return result
    return p.copy_modified(args=[without_common_class(argument, tensor) for argument in p.args])


def _as_dtype(t: Type) -> Type:
    return _UNKNOWN if is_common_class(t) else t


def joined(t: Type) -> Type:
    """Return a union of tensors as one tensor with their common parts; any other type unchanged.

    Tensors of one subclass, such as parameters, keep their class.
    """
    p = get_proper_type(t)
    if not isinstance(p, UnionType):
        return t
    items = list(map(get_proper_type, p.items))
    parts = [_ANY_PARTS if isinstance(item, AnyType) else tensor_parts(item) for item in items]
    known = next((item for item in items if isinstance(item, Instance) and item.type.has_base(TENSOR)), None)
    if known is None or None in parts:
        return t
    same = [item for item in items if isinstance(item, Instance) and item.type is known.type]
    if len(same) == len(items) and known.type.fullname != TENSOR:
        return known.copy_modified(
            args=[reduce(_common, part) for part in zip(*(one.args for one in same), strict=True)]
        )
    return Instance(_base(known, TENSOR), [reduce(_common, part) for part in zip(*filter(None, parts), strict=True)])


def _common(one: Type, other: Type) -> Type:
    """Return the common parts of two types, unknown where they differ; shapes of one rank are compared by size."""
    p, q = get_proper_type(one), get_proper_type(other)
    if p == q:
        return p
    if not isinstance(p, TupleType) or not isinstance(q, TupleType) or len(p.items) != len(q.items):
        return unknown()
    if any(isinstance(item, UnpackType) for item in (*p.items, *q.items)):
        return unknown()
    return p.copy_modified(items=list(map(_common, p.items, q.items)))


def common_shape(shapes: Sequence[Type]) -> Type:
    """Return a shape with the sizes that several have, unknown where they differ."""
    return reduce(_common, shapes)


def bounded(t: Type) -> ProperType:
    """Return the bound of a type variable that is bounded by a tensor; any other type unchanged."""
    proper = get_proper_type(t)
    if isinstance(proper, TypeVarType):
        bound = get_proper_type(proper.upper_bound)
        if isinstance(bound, Instance) and bound.type.has_base(TENSOR):
            return bound
    return proper


def literal(t: Type) -> ProperType:
    """Return the literal type of a known value; for a member of an int or str enum, that of its value."""
    p = get_proper_type(t)
    if isinstance(p, Instance) and p.last_known_value is not None:
        p = p.last_known_value
    if not (isinstance(p, LiteralType) and p.is_enum_literal()):
        return p
    kind = p.fallback.type
    value = kind.names[str(p.value)].type if any(map(kind.has_base, ("builtins.int", "builtins.str"))) else None
    return p.fallback if value is None else literal(value)


def size_of(t: Type) -> Size:
    """Return the size that a type represents, or unknown."""
    p = literal(t)
    if isinstance(p, TypeVarType):
        return _named(p)
    if isinstance(p, LiteralType):
        return p.value if isinstance(p.value, int) else UNKNOWN
    if isinstance(p, Instance) and p.type.fullname in ARITHMETIC:
        left, right = map(size_of, p.args)
        return ARITHMETIC[p.type.fullname](left, right)
    if isinstance(p, Instance) and p.type.fullname == OPAQUE:
        return _opaque(get_proper_type(p.args[0]))
    return UNKNOWN


def _opaque(content: ProperType) -> Size:
    """Return the size of an opaque type; unknown where mypy has joined several of them."""
    if not isinstance(content, LiteralType):
        return size_of(content)
    label, _, scope = str(content.value).partition("@")
    return size_of_name(opaque_name(label, scope))


def has_opaque(t: Type) -> bool:
    """Return whether a type mentions an opaque size; called for every call, so most types return early."""
    if isinstance(t, TypeAliasType):
        if t.is_recursive:
            return False
        t = get_proper_type(t)
    if isinstance(t, Instance):
        if not t.args:
            return False
        if t.type.fullname == OPAQUE:
            return True
        parts: Sequence[Type] = t.args
    elif isinstance(t, UnionType | TupleType):
        parts = t.items
    elif isinstance(t, CallableType):
        parts = [*t.arg_types, t.ret_type]
    elif isinstance(t, TypeType | UnpackType):
        parts = [t.item if isinstance(t, TypeType) else t.type]
    else:
        return False
    for part in parts:  # noqa: SIM110  # a generator would take twice as long
        if has_opaque(part):
            return True
    return False


def fields_of(info: TypeInfo) -> list[str]:
    """Return the field names of the class of a named tuple."""
    symbol = info.get("__match_args__")
    names = get_proper_type(symbol.type) if symbol is not None else None
    items = names.items if isinstance(names, TupleType) else []
    return [str(one.value) for one in map(get_proper_type, items) if isinstance(one, LiteralType)]


def has_any(t: Type) -> bool:
    """Return whether a type has an unknown part, as a tensor with an unknown size has; an array counts as known."""
    p = get_proper_type(t)
    parts = p.args if isinstance(p, Instance) and p.type.fullname != ARRAY else getattr(p, "items", ())
    return isinstance(p, AnyType) or (not is_endless(t) and any(map(has_any, parts)))


def opaque_paths(t: Type) -> frozenset[str]:
    """Return the opaque sizes that a type mentions."""
    if is_endless(t):
        return frozenset()
    p = get_proper_type(t)
    if isinstance(p, Instance) and p.type.fullname == OPAQUE and isinstance(p.args[0], LiteralType):
        return frozenset([str(p.args[0].value)])
    parts = p.args if isinstance(p, Instance) else p.items if isinstance(p, UnionType | TupleType) else ()
    return frozenset().union(*map(opaque_paths, parts))


def without_opaque(t: Type, kept: frozenset[str] = frozenset()) -> Type:
    """Return a type with Any in place of each opaque size and of what is computed from one, except the `kept` ones."""
    if not has_opaque(t):
        return t
    return with_parts(t, lambda p: p if kept and opaque_paths(p) <= kept else unknown())


_OPAQUE_PARTS: Final = (OPAQUE, *ARITHMETIC)


def with_parts(t: Type, replaced: Callable[[Type], Type]) -> Type:
    """Return a type with its opaque sizes, and those that are computed from them, replaced by others."""
    if not has_opaque(t):
        return t
    p = get_proper_type(t)
    if isinstance(p, Instance):
        if p.type.fullname in _OPAQUE_PARTS:
            return replaced(p)
        return p.copy_modified(args=[with_parts(one, replaced) for one in p.args])
    if isinstance(p, TupleType):
        items, fallback = [with_parts(one, replaced) for one in p.items], p.partial_fallback
        args = [with_parts(one, replaced) for one in fallback.args]
        return p.copy_modified(items=items, fallback=fallback.copy_modified(args=args))
    if isinstance(p, UnionType):
        return UnionType([with_parts(one, replaced) for one in p.items], p.line, p.column)
    if isinstance(p, CallableType):
        takes = [with_parts(one, replaced) for one in p.arg_types]
        return p.copy_modified(arg_types=takes, ret_type=with_parts(p.ret_type, replaced))
    if isinstance(p, TypeType):
        return TypeType.make_normalized(with_parts(p.item, replaced))
    return UnpackType(with_parts(p.type, replaced)) if isinstance(p, UnpackType) else t


def is_distribution(t: Type) -> TypeGuard[Instance]:
    """Return whether a type is a distribution, whose arguments are the shape, the tape and the dtype of a tensor."""
    p = get_proper_type(t)
    if not isinstance(p, Instance):
        return False
    return p.type.module_name == "tapegrad.distributions" and len(p.args) == len(TensorParts._fields)


def is_function(t: Type | None) -> TypeGuard[CallableType]:
    """Return whether a type is that of a function, of which a parameter such as `act: Callable` says less."""
    p = get_proper_type(t)
    return isinstance(p, CallableType) and p.definition is not None


def may_be_any_function(t: Type) -> bool:
    """Return whether a type is that of any function of some parameters: a `Callable`, or a protocol of functions."""
    p = get_proper_type(t)
    if isinstance(p, Instance):
        return p.type.is_protocol and "__call__" in p.type.names
    return isinstance(p, CallableType) and p.definition is None and not p.is_type_obj()


def is_iterator(t: ProperType) -> bool:
    """Return whether a type is that of what a generator returns, such as `Iterator[Tensor]`, or one of batches."""
    return isinstance(t, Instance) and t.type.fullname in _ITERATORS and bool(t.args)


BATCHES: Final = "tapegrad.data.batches.Batches"  # which give at least one
_ITERATORS: Final = {
    BATCHES,
    "typing.Generator",
    "typing.Iterable",
    "typing.Iterator",
}


def is_size(t: Type) -> bool:
    """Return whether a type is a known size: a number, a name or arithmetic on them."""
    return not is_unknown(size_of(t))


def _named(variable: TypeVarType) -> Dim:
    known = _read.get(variable.id)
    if known is None or known[0] is not variable:  # the daemon has read the file again
        known = _read[variable.id] = variable, _newly_named(variable)
    return known[1]


def _newly_named(variable: TypeVarType) -> Dim:
    key = variable.name, f"{variable.id.raw_id}@{variable.id.namespace}"
    _variables[key] = variable
    default = get_proper_type(variable.default)
    default = get_proper_type(default.default) if isinstance(default, TypeVarType) else default
    name = Name(*key, least=0 if isinstance(default, LiteralType) and default.value == 0 else 1)
    if name not in _names:
        _names[name] = size_of_name(name)
    return _names[name]


def shape_items(shape: Type) -> list[Size | Many] | None:
    """Return the sizes of a shape type; None if the rank is unknown."""
    p = get_proper_type(shape)
    if isinstance(p, TypeVarType):
        return [Many(p)]
    if not isinstance(p, TupleType):
        return None
    items: list[Size | Many] = []
    for item in p.items:
        if isinstance(item, LiteralType) and isinstance(item.value, int):
            items.append(item.value)
            continue
        if not isinstance(item, UnpackType):
            items.append(size_of(item))
            continue
        inner = get_proper_type(item.type)
        if not isinstance(inner, TypeVarTupleType):
            return None
        items.append(Many(inner))
    return items


def ends_of(shape: Type) -> list[Size | Many] | None:
    """Return the sizes of a shape type as `shape_items` does, also those at the ends of one of unknown rank.

    Such a shape is `(..., 8)`, behind a layer of 8 columns whose argument is unknown.
    """
    p = get_proper_type(shape)
    if not isinstance(p, TupleType) or not any(map(_is_unknown_rest, p.items)):
        return shape_items(p)
    if sum(isinstance(item, UnpackType) for item in p.items) > 1:
        return None
    return [UNKNOWN_REST if isinstance(item, UnpackType) else size_of(item) for item in p.items]


def star_in(items: Sequence[Size | Many]) -> int | None:
    """Return the position of any number of sizes in a shape, such as `*Batch`; None if the rank is known."""
    return next((position for position, item in enumerate(items) if isinstance(item, Many)), None)


def has_unknown_rest(items: Sequence[Size | Many] | None) -> bool:
    """Return whether sizes are the known ones at the ends of a shape of unknown rank."""
    return any(item is UNKNOWN_REST for item in items or ())


def _is_unknown_rest(item: Type) -> bool:
    inner = get_proper_type(item.type) if isinstance(item, UnpackType) else None
    return isinstance(inner, Instance) and isinstance(get_proper_type(inner.args[0]), AnyType)


def without_last_values(array: Instance) -> Instance:
    """Return an array type without the last known values that mypy keeps of ints, as in `tuple[Literal[3]?]`.

    NumPy 2.5 types `np.zeros((3,))` so, and mypy keeps the number where it joins that array with one of another shape.
    """
    shape = get_proper_type(array.args[0]) if array.args else None
    if not isinstance(shape, TupleType):
        return array
    sizes = map(get_proper_type, shape.items)
    items: list[Type] = [
        one.copy_modified(last_known_value=None) if isinstance(one, Instance) else one for one in sizes
    ]
    return array.copy_modified(args=[shape.copy_modified(items=items), *array.args[1:]])


def shape_type(items: list[Size | Many] | Dims | None, make: Make) -> Type:
    """Return the type of a shape."""
    if items is None or isinstance(items, UnknownDims):
        return unknown()
    if has_unknown_rest(items):
        says_nothing = all(item is UNKNOWN_REST or _says_nothing(item) for item in items)
        if says_nothing or not _fits_known_rank(make):
            return unknown()
    for item in items:
        if isinstance(item, Many) and isinstance(item.variable, TypeVarType):
            # A shape variable is a type by itself, but cannot be one of several items.
            return item.variable if len(items) == 1 else unknown()
    return TupleType(item_types(items, make), make("builtins.tuple", [unknown()]))


def _fits_known_rank(make: Make) -> bool:
    """Return whether mypy accepts a shape `(..., 8)` where `(2, 8)` is expected, as it does from 2.4 on.

    An older one would reject programs that are right, so there the whole shape is unknown.
    """
    if not _fits:
        tuples = make("builtins.tuple", [unknown()])
        two, eight = (LiteralType(n, make("builtins.int", [])) for n in (2, 8))
        _fits.append(accepts(TupleType([two, eight], tuples), TupleType([UnpackType(tuples), eight], tuples)))
    return _fits[0]


def item_types(items: Sequence[Size | Many], make: Make) -> list[Type]:
    """Return the types of the sizes of a shape, one for each."""
    return [_rest_type(item, make) if isinstance(item, Many) else size_type(item, make) for item in items]


def _rest_type(many: Many, make: Make) -> UnpackType:
    return UnpackType(make("builtins.tuple", [unknown()]) if many.variable is None else many.variable)


def _says_nothing(item: Size | Many) -> bool:
    return not isinstance(item, Many) and is_unknown(item)


def size_type(size: Size, make: Make) -> Type:
    """Return the type of a size; equal sizes have the same normal form and so the same type."""
    size = simplest(size)
    if isinstance(size, int):
        return LiteralType(size, make("builtins.int", []))
    if size.terms is None:
        return unknown()
    written = _written(size.terms, make)
    is_opaque = any(name.is_opaque for name in names_in(size))
    return make(OPAQUE, [written]) if is_opaque and not _is_of(OPAQUE, written) else written


def declared_size(t: Type) -> Type:
    """Return the type of a computed size as an annotation declares it: its names are replaced at each call."""
    p = get_proper_type(t)
    return p.args[0] if isinstance(p, Instance) and p.type.fullname == OPAQUE else p


def _is_of(fullname: str, t: Type) -> bool:
    return isinstance(t, Instance) and t.type.fullname == fullname


def _written(terms: frozenset[tuple[Monomial, int]], make: Make) -> Type:
    """Return the type of a symbolic size, as a name or as arithmetic."""
    if len(terms) == 1:
        ((monomial, factor),) = terms
        if factor == 1 and len(monomial) == 1:
            return _factor_type(monomial[0], make)
        return _term_type(monomial, factor, make)
    ordered = sorted(terms, key=lambda term: (-len(term[0]), repr(term[0])))
    return _nested(SUM, [_term_type(monomial, factor, make) for monomial, factor in ordered], make)


def settled(t: Type, make: Make) -> Type:
    """Return a type with each computed size in its normal form; the same object if nothing changes."""
    if is_endless(t):
        return t
    p = get_proper_type(t)
    if isinstance(p, Instance) and p.type.fullname in (*ARITHMETIC, OPAQUE):
        return size_type(size_of(p), make)
    parts = p.args if isinstance(p, Instance) else p.items if isinstance(p, TupleType) else ()
    new = [settled(part, make) for part in parts]
    if all(map(operator.is_, new, parts)):
        return t
    if isinstance(p, TupleType):
        return p.copy_modified(items=new)
    return p.copy_modified(args=new) if isinstance(p, Instance) else t


def merged_tape(tapes: list[Type], make: Make) -> Type:
    """Return the merged tape: none if no operand has one, owned if any does, else unknown or what is still open."""
    if len(tapes) == 1 and isinstance(tapes[0], TypeVarType):
        return tapes[0]
    if all(isinstance(tape, Instance) and tape.type.fullname == NONE_TAPE for tape in tapes):
        return tapes[0] if tapes else make(NONE_TAPE, [])
    parts = [part for tape in tapes for part in _tape_parts(tape)]
    names = [t.type.fullname if isinstance(t, Instance) else "" for t in map(get_proper_type, parts)]
    if OWNED_TAPE in names:
        return make(OWNED_TAPE, [])
    if any(
        isinstance(get_proper_type(part), AnyType) or name == "tapegrad.autograd.tape.Tape"
        for part, name in zip(parts, names, strict=True)
    ):
        return unknown()
    variables = {str(p): p for p in map(get_proper_type, parts) if isinstance(p, TypeVarType)}
    if not variables:
        return make(NONE_TAPE, [])
    return _nested(MERGED, [variables[key] for key in sorted(variables)], make)


def is_tape(t: Type, fullname: str) -> bool:
    """Return whether a type is that kind of tape."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname == fullname


def is_endless(t: Type) -> bool:
    """Return whether a type is an alias that contains itself, such as a tree of values; recursion would not end."""
    return isinstance(t, TypeAliasType) and t.is_recursive


def expanded(t: Type) -> Type:
    """Return a type with its aliases expanded, because mypy expands an alias each time it is read."""
    if is_endless(t):
        return t
    p = get_proper_type(t)
    if isinstance(p, UnionType | TupleType):
        items = list(map(expanded, p.items))
        return p if all(map(operator.is_, items, p.items)) else _with_items(p, items)
    if isinstance(p, Instance) and p.args:
        args = list(map(expanded, p.args))
        return p if all(map(operator.is_, args, p.args)) else p.copy_modified(args=args)
    return p


def _with_items(p: UnionType | TupleType, items: list[Type]) -> Type:
    return p.copy_modified(items=items) if isinstance(p, TupleType) else UnionType(items, p.line, p.column)


def kind_of(variable: TypeVarLikeType) -> str:
    """Return the kind of a type variable: "size", "sizes", "flag", "shape", "tape", "dtype" or "other"."""
    if isinstance(variable, TypeVarTupleType):
        return "sizes"
    bound = get_proper_type(variable.upper_bound)
    if isinstance(bound, UnionType):
        bound = get_proper_type(bound.items[0])
    if isinstance(bound, TupleType) or (isinstance(bound, Instance) and bound.type.fullname == "builtins.tuple"):
        return "shape"
    if isinstance(bound, Instance):
        if bound.type.fullname == "builtins.int":
            return "size"
        if bound.type.fullname == "builtins.bool":
            return "flag"
        if bound.type.fullname == "tapegrad.autograd.tape.Tape":
            return "tape"
        if bound.type.has_base(GENERIC):
            return "dtype"
    return "other"


def last_of(variable: TypeVarLikeType) -> TypeVarType | None:
    """Return the size that a shape ends in: `N`, if its variable has the default `Shape[N]`; None for others."""
    default = get_proper_type(variable.default)
    last = get_proper_type(default.items[0]) if isinstance(default, TupleType) and len(default.items) == 1 else None
    return last if isinstance(last, TypeVarType) else None


def dtype_name(t: Type) -> str:
    """Return the name of a dtype in NumPy's notation."""
    p = get_proper_type(t)
    if isinstance(p, UnionType):
        return " or ".join(map(dtype_name, p.items))
    if isinstance(p, TypeVarType):
        return p.name
    if not isinstance(p, Instance):
        return "?"
    if is_common_class(p):
        return SEVERAL_DTYPES
    name = p.type.name.removesuffix("_")
    bits = get_proper_type(p.args[0]) if p.args else None
    width = bits.type.name.strip("_").removesuffix("Bit").removesuffix("bit") if isinstance(bits, Instance) else ""
    kind = name.removesuffix("ing").replace("unsignedinteger", "uint").replace("signedinteger", "int")
    if kind == "complexfloat" and width.isdigit():  # two floats of this width
        return f"complex{2 * int(width)}"
    return f"{kind}{width}" if width.isdigit() else name


def _base(t: Instance, fullname: str) -> Any:
    return next(base for base in t.type.mro if base.fullname == fullname)


def _tape_parts(tape: Type) -> list[Type]:
    p = get_proper_type(tape)
    if isinstance(p, UnionType):
        # The tape of a union is known only if all items have the same one.
        kinds = {str(get_proper_type(item)) for item in p.items}
        return _tape_parts(p.items[0]) if len(kinds) == 1 else [unknown()]
    if is_tape(p, MERGED) and isinstance(p, Instance):
        return [part for argument in p.args for part in _tape_parts(argument)]
    return [p]


def _nested(fullname: str, parts: list[Type], make: Make) -> Type:
    whole = parts[0]
    for part in parts[1:]:
        whole = make(fullname, [whole, part])
    return whole


def _term_type(monomial: Monomial, factor: int, make: Make) -> Type:
    parts = [_factor_type(one, make) for one in monomial]
    if factor != 1 or not parts:
        parts.insert(0, size_type(factor, make))
    return _nested(PRODUCT, parts, make)


def _factor_type(factor: Name | Floor, make: Make) -> Type:
    if isinstance(factor, Name):
        if (call := call_of(factor)) is not None:
            return _nested(_CALLS[call.function], [size_type(_plain(one), make) for one in call.arguments], make)
        if factor.is_opaque:
            return make(OPAQUE, [LiteralType(f"{factor.label}@{factor.scope}", make("builtins.str", []))])
        return _variables[factor.label, factor.scope]
    return make(QUOTIENT, [size_type(_plain(factor.numerator), make), size_type(_plain(factor.denominator), make)])


def _plain(size: Size) -> Size:
    return size + 0
