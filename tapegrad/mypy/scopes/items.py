"""Items of lists and tuples, and other parts of the values that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import Expression, NameExpr, Node, SliceExpr, TupleExpr, Var
from mypy.types import AnyType, Instance, LiteralType, NoneType, TupleType, Type, UnpackType, get_proper_type

from tapegrad.mypy.conversion import ARRAY, Many, shape_items, size_type, tensor_parts, unknown, without_last_values
from tapegrad.mypy.mypy_api import make
from tapegrad.mypy.scopes.frames import (
    Items,
    Keywords,
    LayerCall,
    Layers,
    Made,
    Nothing,
    Returned,
    Several,
    key_of,
)
from tapegrad.mypy.scopes.names import inside
from tapegrad.mypy.scopes.opaque import position_of
from tapegrad.sizes import UNKNOWN, Dim, Size, product

if TYPE_CHECKING:
    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value

MOST_ITEMS = 64  # of a list whose items are known one by one


def has_unknown_part(value: Value) -> bool:
    """Return whether a value, or a part of it, is unknown."""
    match value:
        case Made(arguments=pairs) | Keywords(values=pairs):
            return any(has_unknown_part(one) for _, one in pairs)
        case Items(values=values) | Layers(items=values):
            return any(map(has_unknown_part, values))
        case Several(item=item):
            return has_unknown_part(item)
        case LayerCall(types=types):
            return any(isinstance(get_proper_type(t), AnyType) for t in types)
        case Returned(value=inner):
            return has_unknown_part(inner)
    return value is None


def known_items(values: list[Value]) -> Items | None:
    """Return the items of a list; None if there are too many, or if none is known."""
    is_known = not values or any(one is not None for one in values)
    return Items((*values,)) if is_known and len(values) <= MOST_ITEMS else None


def are_single(layers: tuple[Value, ...]) -> bool:
    """Return whether each value is one layer, and none a list of them."""
    return not any(one is None or isinstance(one, Several) for one in layers)


def assigned(target: Expression, value: Value) -> dict[Node, Value]:
    """Return the values that variables get when a value is assigned to them."""
    match target, value:
        case NameExpr(node=Var() as variable), _:
            return {variable: value}
        case TupleExpr(items=targets), Items(values=values) if len(targets) == len(values):
            pairs = zip(targets, values, strict=True)
            return {variable: one for target, item in pairs for variable, one in assigned(target, item).items()}
    return unknown_elements(target)


def element(target: Expression, several: Value) -> dict[Node, Value]:
    """Return the value of the variable of a loop over a list, if it is the same at each turn."""
    if not isinstance(target, NameExpr) or not isinstance(target.node, Var):
        return unknown_elements(target)
    match several:
        case Several(item=item):
            return {target.node: item}
        case Items(values=[item, *others]) if all(key_of(one) == key_of(item) for one in others):
            return {target.node: item}
        case Keywords(values=pairs):
            return element(target, Items(tuple(value for _, value in pairs)))
    return {target.node: None}


def unknown_elements(target: Expression) -> dict[Node, Value]:
    """Return the variables of a loop, of which nothing is known."""
    return {one.node: None for one in inside(target) if isinstance(one, NameExpr) and isinstance(one.node, Var)}


def bounds_of(part: SliceExpr) -> slice | None:
    """Return a slice whose bounds and step are written as whole numbers; None for any other."""
    written = part.begin_index, part.end_index, part.stride
    bounds = [None if one is None else position_of(one) for one in written]
    are_known = all((one is None) == (bound is None) for one, bound in zip(written, bounds, strict=True))
    return slice(*bounds) if are_known and bounds[2] != 0 else None


def type_of_value(value: Value, api: Checker) -> Type:
    """Return the type of a value as an argument; Any if nothing is known of it."""
    match value:
        case bool():
            return LiteralType(value, make(api)("builtins.bool", []))
        case str():
            return LiteralType(value, make(api)("builtins.str", []))
        case int() | Dim():
            return size_type(value, make(api))
        case Nothing():
            return NoneType()
        case Items(values=values):
            return TupleType([type_of_value(one, api) for one in values], make(api)("builtins.tuple", [unknown()]))
    return unknown()


def length_of_type(t: Type) -> Size:
    """Return the `len` of a tensor, an array or a tuple."""
    p = get_proper_type(t)
    parts = tensor_parts(p)
    if parts is None and isinstance(p, Instance) and p.type.fullname == ARRAY:
        first = next(iter(shape_items(without_last_values(p).args[0]) or ()), UNKNOWN)
        return UNKNOWN if isinstance(first, Many) else first
    if parts is None:
        return (
            len(p.items)
            if isinstance(p, TupleType) and not any(isinstance(one, UnpackType) for one in p.items)
            else UNKNOWN
        )
    first = next(iter(shape_items(parts.shape) or ()), UNKNOWN)
    return UNKNOWN if isinstance(first, Many) else first


def count_in_type(t: Type, name: str) -> Size:
    """Return the rank of a tensor, or the number of its elements."""
    parts = tensor_parts(get_proper_type(t))
    items = shape_items(parts.shape) if parts is not None else None
    if items is None or any(isinstance(item, Many) for item in items):
        return UNKNOWN
    return len(items) if name == "ndim" else product(item for item in items if not isinstance(item, Many))
