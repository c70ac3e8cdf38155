"""Types of tensors of which parts are known: what several have in common, and what one says in place of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    PartialType,
    ProperType,
    TupleType,
    Type,
    TypeAliasType,
    TypeOfAny,
    UnionType,
    UnpackType,
    flatten_nested_unions,
    get_proper_type,
)

from tapegrad.mypy.conversion import ARRAY, common_shape, is_distribution, is_iterator, joined, tensor_parts, unknown
from tapegrad.mypy.mypy_api import map_instance_to_supertype, simplified_union
from tapegrad.mypy.scopes.entries import entries_in, is_dictionary, with_entries, without_entries

if TYPE_CHECKING:
    from mypy.nodes import Var


def is_open(t: Type, around: tuple[object, ...] = ()) -> bool:
    """Return whether a type is a tensor with unknown parts, or has one in it; `around` are the aliases around it.

    So is a distribution, which has the parts of its tensor.
    """
    if isinstance(t, TypeAliasType):
        if t.alias in around:  # a named tuple may contain itself
            return False
        around = (*around, t.alias)
    p = get_proper_type(t)
    if isinstance(p, TupleType | UnionType):
        return any(is_open(one, around) for one in p.items)
    if not isinstance(p, Instance) or not _has_parts(p) or len(p.args) != 3:
        return False
    shape = get_proper_type(p.args[0])
    sizes = shape.items if isinstance(shape, TupleType) else [shape]
    return any(map(_is_any_size, sizes)) or any(isinstance(get_proper_type(part), AnyType) for part in p.args[1:])


def _has_parts(t: Type) -> bool:
    """Return whether a type is a tensor or a distribution, with a shape, a tape and a dtype."""
    return tensor_parts(t) is not None or is_distribution(t)


def _is_any_size(t: Type) -> bool:
    """Return whether a size says nothing: Any, or `int` as in `Shape[int, L[2]]`."""
    p = get_proper_type(t)
    is_int = isinstance(p, Instance) and p.type.fullname == "builtins.int"
    return is_int or isinstance(p, AnyType)


def holds_open(t: Type) -> bool:
    """Return whether a type is a tensor with unknown parts, or a collection of such tensors."""
    return any(map(is_open, _parts(t)))


def holds_tensors(t: Type) -> bool:
    """Return whether a type is a tensor, or a collection of tensors."""
    return any(map(_has_parts, _parts(t)))


def _parts(t: Type) -> list[Type]:
    """Return a type and, without those of tensors, the types of its elements, of their elements and so on."""
    p = get_proper_type(t)
    inner = p.items if isinstance(p, TupleType | UnionType) else p.args if isinstance(p, Instance) else ()
    if isinstance(t, TypeAliasType) or _has_parts(t):  # an alias may contain itself
        inner = ()
    return [t, *(part for one in inner for part in _parts(one))]


def join(types: list[Type]) -> Type:
    """Return what a value is that has one of several types: of tensors, the parts that agree are kept."""
    types = [t for t in types if not isinstance(t, PartialType)] or types  # an empty list has any elements
    first, *others = types
    if all(are_same(first, one) for one in others):
        return first
    items = flatten_nested_unions(types)
    tuples = [p for p in map(get_proper_type, items) if isinstance(p, TupleType) and not _is_starred(p)]
    if len(tuples) == len(items) and len({len(p.items) for p in tuples}) == 1:
        return tuples[0].copy_modified(items=[join([*one]) for one in zip(*(p.items for p in tuples), strict=True)])
    dictionaries = [p for p in map(get_proper_type, items) if isinstance(p, Instance) and is_dictionary(p)]
    if len(dictionaries) == len(items) and all(
        one.type is dictionaries[0].type and are_same(one.args[0], dictionaries[0].args[0]) for one in dictionaries
    ):
        return _common_dictionary(dictionaries)
    lists = [p for p in map(get_proper_type, items) if isinstance(p, Instance) and p.type.fullname == "builtins.list"]
    if len(lists) == len(items):
        return lists[0].copy_modified(args=[join([one.args[0] for one in lists])])
    arrays = [p for p in map(get_proper_type, items) if isinstance(p, Instance) and p.type.fullname == ARRAY]
    if len(arrays) == len(items):
        dtypes = [get_proper_type(one.args[1]) for one in arrays]
        dtype = dtypes[0]
        if isinstance(dtype, Instance) and not all(are_same(dtype, one) for one in dtypes):
            dtype = dtype.copy_modified(args=[unknown()])
        return arrays[0].copy_modified(args=[common_shape([one.args[0] for one in arrays]), dtype])
    tensors = [item for item in items if tensor_parts(item) is not None]
    rest = [without_value(item) for item in items if tensor_parts(item) is None]
    return simplified_union([*([joined(UnionType.make_union(tensors))] if tensors else []), *rest])


def _common_dictionary(several: list[Instance]) -> Instance:
    """Return the type of several dictionaries, with what each key has in all of them."""
    common = several[0].copy_modified(args=[several[0].args[0], join([one.args[1] for one in several])])
    known = [entries for entries in map(entries_in, several) if entries is not None]
    if len(known) < len(several) or len({frozenset(entries) for entries in known}) > 1:
        return common
    return with_entries(common, {key: join([entries[key] for entries in known]) for key in known[0]})


def joined_dictionary(types: list[Type], variable: Var) -> Type:
    """Return what a variable has whose dictionary is filled in one of several ways: for each key, what it may have."""
    not_empty = [t for t in types if entries_in(t) is None or entries_in(t)] or types[:1]
    several = [p for p in map(get_proper_type, not_empty) if isinstance(p, Instance) and is_dictionary(p)]
    if len(several) < len(not_empty):
        return join(types)
    key, item = (join([one.args[at] for one in several]) for at in (0, 1))
    is_one = all(are_same(key, one.args[0]) for one in several)
    args = [key if is_one else unknown(), item if tensor_parts(item) is not None else unknown()]
    common = several[0].copy_modified(args=args)
    known = [entries for entries in map(entries_in, several) if entries is not None]
    if len(known) < len(several):
        return common
    keys = dict.fromkeys(key for entries in known for key in entries)
    each = {key: join([entries[key] for entries in known if key in entries]) for key in keys}
    return with_entries(common, each, variable)


def _is_starred(t: TupleType) -> bool:
    return any(isinstance(item, UnpackType) for item in t.items)


def without_value(t: Type) -> Type:
    """Return the type of a number or a string without its value, and of a dictionary without its entries."""
    p = get_proper_type(t)
    if isinstance(p, Instance) and p.last_known_value is not None:
        return p.copy_modified(last_known_value=None)
    return without_entries(t)


def are_same(one: Type | None, other: Type | None) -> bool:
    """Return whether two types are the same, apart from the class behind a tuple, which shapes have differently."""
    p, q = get_proper_type(one), get_proper_type(other)
    if isinstance(p, Instance) and isinstance(q, Instance):
        is_one = p.type is q.type and p.last_known_value == q.last_known_value and len(p.args) == len(q.args)
        return is_one and all(map(are_same, p.args, q.args)) and _have_same_entries(p, q)
    if isinstance(p, TupleType) and isinstance(q, TupleType):
        return len(p.items) == len(q.items) and all(map(are_same, p.items, q.items))
    return p == q


def _have_same_entries(one: Instance, other: Instance) -> bool:
    first, second = entries_in(one), entries_in(other)
    if first is None or second is None:
        return first is second
    return first.keys() == second.keys() and all(are_same(first[key], second[key]) for key in first)


def _tensor_in(t: Type) -> Type:
    """Return the only tensor among the types that a value may have, such as a tensor or None."""
    p = get_proper_type(t)
    tensors = [item for item in p.items if tensor_parts(item) is not None] if isinstance(p, UnionType) else []
    return tensors[0] if len(tensors) == 1 else t


def filled(declared: Type, read: Type) -> Type:
    """Return a tensor type with what was read in place of its unknown parts."""
    p, q = get_proper_type(declared), get_proper_type(read)
    if isinstance(p, AnyType) and p.type_of_any == TypeOfAny.unannotated:
        return _tensors_of(q)
    if isinstance(q, UnionType) and tensor_parts(p) is not None:
        q = get_proper_type(joined(q))
    if isinstance(p, TupleType) and isinstance(q, TupleType) and len(p.items) == len(q.items):
        return p.copy_modified(items=[filled(one, other) for one, other in zip(p.items, q.items, strict=True)])
    if isinstance(p, UnionType):
        return UnionType.make_union([filled(item, _tensor_in(read)) for item in p.items])
    if isinstance(p, Instance) and isinstance(q, Instance) and p.type is q.type and is_iterator(p):
        return p.copy_modified(args=[filled(p.args[0], q.args[0]), *p.args[1:]])
    if not _has_parts(p):
        return declared
    if isinstance(p, Instance) and isinstance(q, Instance) and q.type.has_base(p.type.fullname):  # such as a parameter
        q = map_instance_to_supertype(q, p.type)
    if not isinstance(p, Instance) or not isinstance(q, Instance) or p.type is not q.type or len(p.args) != len(q.args):
        return declared
    return p.copy_modified(args=[_filled_part(one, other) for one, other in zip(p.args, q.args, strict=True)])


def is_sequence(t: Type) -> TypeGuard[Instance]:
    """Return whether a type is that of a list, or of another sequence of any length."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname in _SEQUENCES and len(p.args) == 1


_SEQUENCES: Final = {"builtins.list", "builtins.tuple", "typing.Collection", "typing.Sequence"}


def filled_sequence(declared: Type, read: Type) -> Type:
    """Return the type of what a function returns, also of a list, with what was read in place of unknown parts."""
    p, q = get_proper_type(declared), get_proper_type(read)
    if isinstance(p, TupleType) and isinstance(q, TupleType) and len(p.items) == len(q.items):
        return p.copy_modified(items=[filled_sequence(one, other) for one, other in zip(p.items, q.items, strict=True)])
    if not is_sequence(p):
        return filled(declared, read)
    if is_sequence(q):
        return p.copy_modified(args=[filled(p.args[0], q.args[0])])
    if isinstance(q, TupleType) and q.items and not _is_starred(q):
        return p.copy_modified(args=[filled(p.args[0], join(q.items))])
    return declared


def _tensors_of(read: ProperType) -> Type:
    """Return what a function without annotations returns: a tensor or a tuple with tensors, and Any for the rest.

    mypy would report how a program uses a list, a number or None that was read from a body.
    """
    if isinstance(read, TupleType) and holds_tensors(read) and not _is_starred(read):
        return read.copy_modified(items=[_tensors_of(get_proper_type(item)) for item in read.items])
    if isinstance(read, UnionType) and all(tensor_parts(item) is not None for item in read.items):
        return joined(read)
    return read if tensor_parts(read) is not None else AnyType(TypeOfAny.unannotated)


def _filled_part(declared: Type, read: Type) -> Type:
    p, q = get_proper_type(declared), get_proper_type(read)
    if _is_any_size(p):
        return q
    if isinstance(p, TupleType) and isinstance(q, TupleType) and len(p.items) == len(q.items):
        return p.copy_modified(items=[_filled_part(one, other) for one, other in zip(p.items, q.items, strict=True)])
    are_sizes = isinstance(p, LiteralType) and isinstance(q, LiteralType)
    return read if are_sizes and p != q else declared  # what the program computes, if the declaration is wrong
