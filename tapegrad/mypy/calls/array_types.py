"""Types of NumPy's arrays, and what they say of sizes and elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import CallExpr, GeneratorExpr, ListComprehension, ListExpr, NameExpr, RefExpr, StarExpr
from mypy.types import AnyType, Instance, TupleType, UnionType, get_proper_type

from tapegrad.mypy.conversion import ARRAY, Many, shape_items, shape_type, without_last_values
from tapegrad.mypy.mypy_api import make, stored_type
from tapegrad.mypy.rules.calls import is_several
from tapegrad.mypy.scopes.opaque import length_of_unchanged
from tapegrad.mypy.scopes.sequences import length_of
from tapegrad.mypy.unify.arguments import numbers_in
from tapegrad.sizes import UNKNOWN, is_unknown, surely_same

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.types import Type

    from tapegrad.mypy.calls.array_sizes import Sizes
    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.unify.arguments import Argument
    from tapegrad.sizes import Size

LISTING: Final = frozenset(["builtins.list", "builtins.sorted", "builtins.tuple"])  # keep the number of items
_MOST_AXES: Final = 8  # of lists in lists
SCALARS: Final = {"b": "numpy.bool", "i": "numpy.integer"}


def turned(t: Type, api: Checker) -> Type:
    """Return the type of an array whose axes have other places, without its sizes."""
    array, items = array_of_type(t), sizes_of_type(t)
    if array is None or items is None or all(map(is_unknown, items)):
        return t
    return with_given_sizes(array, [UNKNOWN] * len(items), api)


def may_be_array(argument: Argument, api: Checker) -> bool:
    """Return whether an argument is an array, or Any, by its type or by one of the types that it may have."""
    written = None if argument.expression is None else stored_type(api, argument.expression)
    if numbers_in(get_proper_type(argument.type)):
        return isinstance(argument.expression, CallExpr | NameExpr)  # it may be `np.float32(x)` of an array
    return any(may_have_array_type(one) for one in (argument.type, written) if one is not None)


def may_have_array_type(t: Type) -> bool:
    """Return whether a type is an array or Any, alone or beside others, as that of `x.all(axis=0)`."""
    p = get_proper_type(t)
    items = list(map(get_proper_type, p.items)) if isinstance(p, UnionType) else [p]
    return any(isinstance(one, AnyType) or array_of_type(one) is not None for one in items)


def is_array(t: Type) -> bool:
    """Return whether a type is an array of NumPy."""
    return array_of_type(t) is not None


def scalar_type_of(t: Type | None) -> Type | None:
    """Return the type of the elements of an array, or of a number of NumPy, by its type; None if it is not known."""
    number = get_proper_type(t)
    if isinstance(number, Instance) and number.type.has_base("numpy.generic"):
        if number.type.fullname in {"numpy.bool", "numpy.float64"}:
            return number
        return number if number.args and not is_vague(number) else None
    array = array_of_type(t)
    dtype = None if array is None or len(array.args) != 2 else get_proper_type(array.args[1])
    scalar = dtype.args[0] if isinstance(dtype, Instance) and dtype.args else None
    return None if isinstance(get_proper_type(scalar), AnyType) else scalar


def is_vague(scalar: Type | None) -> bool:
    """Return whether a type of elements is unknown, or has one of several widths.

    Such as `np.floating[Any]`, as the stubs give `x + y`, or `np.intp`, which is 32 or 64 bits wide to the stubs.
    """
    p = get_proper_type(scalar)
    if p is None:
        return True
    return isinstance(p, Instance) and any(isinstance(get_proper_type(n), AnyType | UnionType) for n in p.args)


def sizes_of_list(data: Argument, api: Checker) -> list[Size] | None:
    """Return the sizes of what NumPy makes of a list of numbers by its type, such as `list[int]`; None if unclear.

    A list of lists may be empty, and is then an array of one axis, unless its items are written.
    """
    match data.expression:
        case ListComprehension(generator=generator):
            each = stored_type(api, generator.left_expr)
            return [_count(data.expression, api)] if each is not None and numbers_in(each) else None
        case CallExpr(callee=RefExpr(fullname=name), args=[of]) if name in LISTING and _has_numbers(of, api):
            return [_count(of, api)]  # such as 3 of list((0.1, 0.5, 0.9))
    items = data.expression.items if isinstance(data.expression, ListExpr) else []
    several = [stored_type(api, one) for one in items if not isinstance(one, StarExpr)]
    if several and len(several) == len(items) and all(one is not None and _is_of_numbers(one) for one in several):
        first, *others = (_count(one, api) for one in items)
        return [len(items), first if all(surely_same(first, one) for one in others) else UNKNOWN]
    return [_count(data.expression, api)] if _is_of_numbers(data.type) else None


def _count(sequence: Expression | None, api: Checker) -> Size:
    """Return how many items a list has, as a number or as the name `len(ids)` of a list that is only read."""
    if sequence is None:
        return UNKNOWN
    if (count := length_of(sequence, api)) is not None:
        return count
    match sequence:
        case ListComprehension(generator=GeneratorExpr(sequences=[of], condlists=[[]])):
            return _count(of, api)
    return length_of_unchanged(sequence, api)


def _has_numbers(sequence: Expression, api: Checker) -> bool:
    """Return whether all items of a list, a tuple or a range are numbers, by its type."""
    p = get_proper_type(stored_type(api, sequence))
    if isinstance(p, TupleType):
        return all(map(numbers_in, p.items))
    is_range = isinstance(p, Instance) and p.type.fullname == "builtins.range"
    is_several = isinstance(p, Instance) and p.type.fullname in ("builtins.list", "builtins.tuple")
    return is_range or (is_several and isinstance(p, Instance) and bool(numbers_in(p.args[0])))


def _is_of_numbers(t: Type) -> bool:
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname in _LISTS and bool(numbers_in(p.args[0]))


_LISTS: Final = ("builtins.list", "builtins.tuple", "typing.Sequence")


def are_whole(t: Type | None) -> bool:
    """Return whether a type is that of a list, or of lists in a list, of ints."""
    p = get_proper_type(t)
    for _ in range(_MOST_AXES):  # a type may contain itself
        if isinstance(p, Instance) and p.type.fullname == "builtins.list":
            p = get_proper_type(p.args[0])
    return isinstance(p, Instance) and p.type.fullname == "builtins.int"


def array_of_type(t: Type | None) -> Instance | None:
    """Return a type if it is that of an array of NumPy; None for any other."""
    p = None if t is None else get_proper_type(t)
    return without_last_values(p) if isinstance(p, Instance) and p.type.fullname == ARRAY else None


def sizes_of_type(t: Type | None) -> Sizes | None:
    """Return the sizes that the type of an array says; None for an unknown rank, or for any other type."""
    array = array_of_type(t)
    return None if array is None else plain_sizes(shape_items(array.args[0]))


def is_known(array: Instance) -> bool:
    """Return whether a type says the sizes of an array; NumPy's stubs say `()` where they know nothing of a shape."""
    items = shape_items(array.args[0]) or []
    return len(items) > 0 and not any(is_unknown(one) for one in items if not isinstance(one, Many))


def with_given_sizes(array: Instance, sizes: Sizes, api: Checker) -> Instance:
    """Return the type of an array with other sizes."""
    return array.copy_modified(args=[shape_type(tuple(sizes), make(api)), *array.args[1:]])


def plain_sizes(items: list[Any] | None) -> Sizes | None:
    """Return sizes without a star among them; None for an unknown rank, or for several results."""
    if items is None or is_several(items) or any(isinstance(one, Many) for one in items):
        return None
    return items
