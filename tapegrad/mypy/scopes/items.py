"""Items of lists and tuples, and other parts of the values that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import Expression, NameExpr, Node, SliceExpr, TupleExpr, Var
from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    UnionType,
    UnpackType,
    get_proper_type,
)

from tapegrad.mypy.conversion import (
    ARRAY,
    Many,
    common_shape,
    joined,
    shape_items,
    size_type,
    tensor_parts,
    unknown,
    without_last_values,
)
from tapegrad.mypy.mypy_api import make
from tapegrad.mypy.scopes.file_contents import position_of
from tapegrad.mypy.scopes.frames import (
    GivenTensor,
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
from tapegrad.sizes import UNKNOWN, Dim, Size, product

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

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
        case Items(values=values):
            return {target.node: common_object(values)}
        case Keywords(values=pairs):
            return element(target, Items(tuple(value for _, value in pairs)))
    return {target.node: None}


def common_object(values: Sequence[Value]) -> Made | None:
    """Return an object with the arguments that several of one class have in common; None if there are others."""
    objects = [one for one in values if isinstance(one, Made)]
    kinds = {(one.info, one.constructor, _key_of_inherited(one), (*dict(one.arguments),)) for one in objects}
    if len(objects) < len(values) or len(kinds) != 1 or objects[0].constructor == objects[0].info.fullname:
        return common_record(values)
    columns = zip(*(one.arguments for one in objects), strict=True)
    arguments = [(column[0][0], _common([value for _, value in column])) for column in columns]
    return objects[0]._replace(arguments=(*arguments,))


def _key_of_inherited(made: Made) -> Hashable:
    return tuple((name, tuple((one, key_of(value)) for one, value in pairs)) for name, pairs in made.inherited)


def common_record(values: Sequence[Value]) -> Made | None:
    """Return a dataclass or a named tuple with what the fields of several have in common; None if nothing is known."""
    records = [one for one in values if isinstance(one, Made) and one.constructor == one.info.fullname]
    if not records or len(records) < len(values) or len({one.info for one in records}) > 1:
        return None
    fields = [dict(one.arguments) for one in records]
    names = [name for name in fields[0] if all(name in one for one in fields)]
    common = [(name, _common([one[name] for one in fields])) for name in names]
    is_known = any(value is not None for _, value in common)
    return records[0]._replace(arguments=(*common,)) if is_known else None


def _common(values: Sequence[Value]) -> Value:
    """Return a value that several values are, or that has what their tensors, arrays or records have in common."""
    first, *others = values
    if all(key_of(one) == key_of(first) for one in others):
        return first
    given = [one.t for one in values if isinstance(one, GivenTensor)]
    if len(given) < len(values):
        return common_record(values)
    arrays = [p for p in map(get_proper_type, given) if isinstance(p, Instance) and p.type.fullname == ARRAY]
    if arrays:
        return _common_array(arrays) if len(arrays) == len(given) else None
    t = joined(UnionType(given))
    return None if tensor_parts(t) is None else GivenTensor(t)


def _common_array(arrays: list[Instance]) -> GivenTensor | None:
    """Return an array with the sizes that several arrays have; None if their ranks or their dtypes differ."""
    first, *others = arrays
    if any(one.args[1] != first.args[1] for one in others):
        return None
    return GivenTensor(first.copy_modified(args=[common_shape([one.args[0] for one in arrays]), first.args[1]]))


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
