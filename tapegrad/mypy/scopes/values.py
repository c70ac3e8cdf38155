"""Values of Python expressions at type-check time, read from the type or, if that is too general, the expression."""

from __future__ import annotations

import operator
from functools import reduce
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    ARG_POS,
    CallExpr,
    ConditionalExpr,
    Expression,
    IndexExpr,
    IntExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    SliceExpr,
    StarExpr,
    StrExpr,
    TupleExpr,
    UnaryExpr,
    Var,
)
from mypy.types import (
    AnyType,
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    TypeVarTupleType,
    TypeVarType,
    UnpackType,
    get_proper_type,
)
from typing_extensions import override

from tapegrad.errors import DTypeError, messages
from tapegrad.mypy.conversion import (
    ARRAY,
    Many,
    dtype_name,
    joined,
    kind_of,
    literal,
    shape_items,
    size_of,
    tensor_parts,
    unknown,
)
from tapegrad.mypy.scopes.collections import comprehension_of, display_of
from tapegrad.mypy.scopes.file_contents import loop_of, position_of
from tapegrad.mypy.scopes.frames import Arrays, Items
from tapegrad.mypy.scopes.items import count_in_type, length_of_type
from tapegrad.mypy.scopes.names import bound_last, bound_once, unpacked_once
from tapegrad.mypy.scopes.numbers import range_of
from tapegrad.mypy.scopes.objects import length_by_method, object_of, steady_size
from tapegrad.mypy.scopes.opaque import ARITHMETIC
from tapegrad.mypy.scopes.rebinding import newest
from tapegrad.mypy.scopes.sequences import length_of
from tapegrad.sizes import (
    UNKNOWN,
    Dim,
    Name,
    Size,
    UnknownDims,
    is_unknown,
    largest,
    product,
    size_of_name,
    smallest,
    surely_same,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapegrad.mypy.mypy_api import Checker


# Functions of sizes, given as arguments or as the items of a tuple or a list.
_FUNCTIONS: Final[dict[str, Callable[[list[Size]], Size]]] = {
    "builtins.abs": lambda sizes: largest([*sizes, *(n * -1 for n in sizes)]),
    "builtins.max": largest,
    "builtins.min": smallest,
    "builtins.sum": lambda sizes: reduce(operator.add, sizes, 0),
    "math.prod": product,
    "numpy._core.fromnumeric.prod": product,
}
LOOP: Final = "a loop"  # the scope of names of numbers that a loop changes
_WHOLE: Final = "builtins.int", "numpy.integer"


class Indices(SimpleNamespace):
    """A tensor or an array used as an index: a rule reads its shape and kind; its numbers are unknown."""

    @override
    def __repr__(self) -> str:
        return "..."


class StarredDims(UnknownDims):
    """Sizes with any number of others among them, `(*Batch, 3)`; they are unknown to code that ignores `items`."""

    items: list[Size | Many]


class ValueUnknownError(Exception):
    """A rule needs a value that is known only at run time."""


def value_of(t: Type, expression: Expression | None, api: Checker) -> Any:
    """Return the value of an argument that is not a tensor.

    Raises:
        ValueUnknownError: Nothing is known of it; an unknown size in a tuple is `UNKNOWN` instead.
    """
    p = literal(t)
    is_list = isinstance(p, Instance) and p.type.fullname == "builtins.list"
    display = display_of(expression, api) if is_list and isinstance(expression, NameExpr) else expression
    if isinstance(display, ListExpr) and (display is expression or _is_steady(display, api)):
        return [value_of(_type_of(item, api), item, api) for item in display.items]
    if isinstance(p, NoneType):
        return None
    if isinstance(p, LiteralType) and isinstance(p.value, bool | int | str):
        return p.value
    if isinstance(p, TupleType):
        return _tuple(p, expression, api)
    if isinstance(p, TypeVarType) and kind_of(p) == "shape":
        return _starred_dims([Many(p)])  # a shape variable, such as that of `Tensor[S]`
    if isinstance(p, Instance) and any(map(p.type.has_base, ("builtins.float", "numpy.floating"))):
        return 0.0  # rules check whether a value is a number, never which float it is
    if isinstance(p, Instance) and p.type.fullname == "builtins.tuple":
        sizes = None if expression is None else _sizes_in(expression, api)
        return UnknownDims() if sizes is None else tuple(sizes)
    size = size_value(t, expression, api)
    if size is UNKNOWN:
        raise ValueUnknownError
    return size


def _length(operand: Expression, api: Checker) -> Size:
    """Return the length of a list that is written, or that a variable is bound to, and of a tensor or an array."""
    made: Expression | None = operand
    if isinstance(operand, NameExpr):
        made = display_of(operand, api) or comprehension_of(operand, api)
    if isinstance(made, ListExpr | ListComprehension) and (count := length_of(made, api)) is not None:
        return count
    length = length_of_type(_type_of(operand, api))
    length = _axis_of_array(operand, 0, api) if is_unknown(length) else length
    return length_by_method(operand, api) if is_unknown(length) else length


def index_of(t: Type, expression: Expression | None, api: Checker) -> Any:
    """Return the index in `x[...]`; for tensors used as indices, their shape and kind.

    Raises:
        ValueUnknownError: It may be one of several kinds of index.
    """
    if isinstance(expression, TupleExpr):
        return tuple(index_of(_type_of(item, api), item, api) for item in expression.items)
    if isinstance(expression, SliceExpr):
        bounds = (expression.begin_index, expression.end_index, expression.stride)
        return slice(*(None if bound is None else _slice_bound(bound, api) for bound in bounds))
    made = _made_slice(expression, api)
    if made is not None:
        return slice(*(_bound_of(bound, api) for bound in made.args))
    display = display_of(expression, api) if isinstance(expression, NameExpr) else expression
    if isinstance(display, ListExpr) and not any(isinstance(item, StarExpr) for item in display.items):
        is_steady = display is expression or _is_steady(display, api)
        return [_bound_of(item, api) if is_steady else UNKNOWN for item in display.items]
    p = literal(t)
    if isinstance(p, Instance) and p.type.has_base("builtins.list") and is_whole(get_proper_type(p.args[0])):
        return Indices(shape=(UNKNOWN,), dtype=SimpleNamespace(kind="i"))
    if isinstance(p, TupleType):
        return tuple(index_of(item, None, api) for item in p.items)
    if isinstance(p, NoneType):
        return None
    parts = tensor_parts(p)
    if parts is not None or (isinstance(p, Instance) and p.type.fullname == ARRAY):
        return _indices(p)
    name = p.type.fullname if isinstance(p, Instance) else ""
    if name in ("builtins.ellipsis", "types.EllipsisType"):
        return ...
    if name == "builtins.slice":
        return slice(UNKNOWN, UNKNOWN, UNKNOWN)
    if isinstance(p, LiteralType):
        return value_of(p, expression, api)
    if isinstance(p, TypeVarType) or is_whole(p):
        return size_value(t, expression, api)
    computed = Arrays.type_computed(expression, api) if isinstance(p, AnyType) and expression is not None else None
    if computed is not None:
        return _indices(get_proper_type(computed))
    raise ValueUnknownError


def _made_slice(expression: Expression | None, api: Checker) -> CallExpr | None:
    """Return the call of `slice`, also one that a variable is bound to once, with the same bounds as now."""
    call, is_steady = expression, True
    if isinstance(expression, NameExpr) and isinstance(expression.node, Var):
        call, _ = bound_once(expression.node, api)
        bounds = call.args if isinstance(call, CallExpr) else []
        is_steady = all(getattr(one, "fullname", "") == "builtins.None" or _is_steady(one, api) for one in bounds)
    if not is_steady or not isinstance(call, CallExpr) or getattr(call.callee, "fullname", "") != "builtins.slice":
        return None
    return call if {*call.arg_kinds} <= {ARG_POS} else None


def _bound_of(expression: Expression, api: Checker) -> Any:
    try:
        return value_of(_type_of(expression, api), expression, api)
    except ValueUnknownError:
        return UNKNOWN


def _slice_bound(expression: Expression, api: Checker) -> Any:
    bound = _bound_of(expression, api)
    return _bound_in_loop(expression, api) if bound is UNKNOWN else bound


def _bound_in_loop(expression: Expression, api: Checker) -> Size:
    """Return a size that a loop over numbers changes, such as `start + 8`, by a name that has the largest as bound."""
    match expression:
        case NameExpr(node=Var() as variable) if (loop := loop_of(variable, api)) is not None:
            last = _last_of(loop.sequence, api) if isinstance(loop.target, NameExpr) else None
            name = Name(variable.name, LOOP, least=0, is_opaque=True, most=last)
            return UNKNOWN if last is None else size_of_name(name)
        case OpExpr(op=sign, left=left, right=right) if sign in ARITHMETIC:
            return ARITHMETIC[sign](_bound_in_loop(left, api), _bound_in_loop(right, api))
    return count_of(_type_of(expression, api), expression, api)


def _last_of(numbers: Expression, api: Checker) -> int | None:
    """Return the largest number of `range(...)`; None if it is not known, or if one may be negative."""
    match numbers:
        case CallExpr(callee=NameExpr(fullname="builtins.range"), args=arguments):
            values = range_of([count_of(_type_of(one, api), one, api) for one in arguments]) or range(0)
            ends = [*values[:1], *values[-1:]]
            return max(ends) if ends and min(ends) >= 0 else None
    return None


def _parts_of_array(array: Type) -> tuple[Type, Type]:
    """Return the types of the shape and of the elements of an array."""
    p = get_proper_type(array)
    shape, dtype = p.args if isinstance(p, Instance) else (unknown(), unknown())
    q = get_proper_type(dtype)
    return shape, q.args[0] if isinstance(q, Instance) and q.args else unknown()


def _indices(p: Type) -> Indices:
    """Return the shape and kind of a tensor or an array used as an index.

    Raises:
        ValueUnknownError: It may or may not be a mask, or its rank is unknown.
        DTypeError: Its dtype is neither integer nor bool.
    """
    parts = tensor_parts(p)
    shape, dtype = (parts.shape, parts.dtype) if parts is not None else _parts_of_array(p)
    items, kind = shape_items(shape), get_proper_type(dtype)
    if items is None or any(isinstance(item, Many) for item in items):
        raise ValueUnknownError
    if not isinstance(kind, Instance):  # whole numbers or a mask, which both leave the other axes as they are
        if len(items) != 1:
            raise ValueUnknownError
        return Indices(shape=(UNKNOWN,), dtype=SimpleNamespace(kind="i"))
    letter = "b" if kind.type.has_base("numpy.bool") else "i" if kind.type.has_base("numpy.integer") else "?"
    if letter == "?":
        if kind.type.has_base("numpy.inexact"):
            raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "index", dtype_name(kind), "integer or bool"))
        raise ValueUnknownError
    return Indices(shape=tuple(items), dtype=SimpleNamespace(kind=letter))


def size_value(t: Type, expression: Expression | None, api: Checker, *, is_plain: bool = False) -> Size:
    """Return a size, from its type or, if that is `int` or Any, from the expression; one of type Any is a number.

    Args:
        t: The type.
        expression: The expression.
        api: mypy's checker.
        is_plain: Whether evaluating the expression again is known to have no effect.
    """
    size = size_of(t)
    if size is not UNKNOWN or expression is None:
        return size
    if not isinstance(get_proper_type(t), AnyType):
        return _computed(expression, api, is_plain=is_plain)
    number = _unpacked(expression, api)
    return number if type(number) is int else UNKNOWN


def count_of(t: Type, expression: Expression | None, api: Checker) -> Size:
    """Return a size, also of an expression of type Any, where nothing but a size can stand."""
    size = size_value(t, expression, api)
    if size is UNKNOWN and expression is not None and isinstance(get_proper_type(t), AnyType):
        return _unpacked(expression, api)
    return size


def _unpacked(expression: Expression, api: Checker) -> Size:
    """Return a size of type Any: `x.shape[1]`, or an opaque one."""
    match expression:
        case IndexExpr(base=MemberExpr(name="shape", expr=receiver), index=index):
            items = _items_of(newest(_type_of(receiver, api), receiver, api)) or _sizes_of_array(receiver, api)
            position = literal(_type_of(index, api))
            axis = position.value if isinstance(position, LiteralType) and isinstance(position.value, int) else None
            if items is not None and axis is not None and -len(items) <= axis < len(items):
                return steady_size(expression, api) if is_unknown(items[axis]) else items[axis]
        case OpExpr(op=sign, left=left, right=right) if sign in ARITHMETIC:
            return ARITHMETIC[sign](*(count_of(_type_of(one, api), one, api) for one in (left, right)))
        case NameExpr(node=Var() as variable) if not is_unknown(size := _size_in_shape(variable, api)):
            return size
    return steady_size(expression, api)


def _size_in_shape(variable: Var, api: Checker) -> Size:
    """Return the size of a name that is bound once, to a part of the shape of an array."""
    value = _settled(variable, api)
    if isinstance(value, IndexExpr) and isinstance(value.base, MemberExpr) and value.base.name == "shape":
        return _unpacked(value, api)
    unpacked = unpacked_once(variable, api) if value is None else None
    return UNKNOWN if unpacked is None else _unpacked_axis(*unpacked, api)


def _items_of(t: Type) -> list[Size] | None:
    parts = tensor_parts(joined(t))
    items = shape_items(parts.shape) if parts is not None else None
    if items is None or any(isinstance(one, Many) for one in items):
        return None
    return [one for one in items if not isinstance(one, Many)]


def _computed(expression: Expression, api: Checker, *, is_plain: bool) -> Size:
    size = _computed_from_types(expression, api, is_plain=is_plain)
    return steady_size(expression, api) if is_unknown(size) else size


def _computed_from_types(expression: Expression, api: Checker, *, is_plain: bool) -> Size:
    match expression:
        case IntExpr(value=value):
            return value
        case UnaryExpr(op="-", expr=operand):
            return _size(operand, api, is_plain=is_plain) * -1
        case OpExpr(op=sign, left=left, right=right) if sign in ARITHMETIC:
            return ARITHMETIC[sign](_size(left, api, is_plain=is_plain), _size(right, api, is_plain=is_plain))
        case ConditionalExpr(if_expr=one, else_expr=other):
            n, m = _size(one, api, is_plain=is_plain), _size(other, api, is_plain=is_plain)
            return n if surely_same(n, m) else UNKNOWN
        case CallExpr(callee=NameExpr(fullname="builtins.len"), args=[operand]):
            return _length(operand, api)
        case IndexExpr(base=MemberExpr(name="shape", expr=operand), index=index) if (
            axis := position_of(index)
        ) is not None:
            return _axis_of_array(operand, axis, api)
        case IndexExpr(base=NameExpr(node=Var() as variable), index=index) if (axis := position_of(index)) is not None:
            match _settled(variable, api):
                case MemberExpr(name="shape", expr=operand):
                    return _axis_of_array(operand, axis, api)
        case CallExpr(callee=RefExpr(fullname=name)) if name in _FUNCTIONS:
            sizes = _sizes_given(expression, api)
            return _FUNCTIONS[name](sizes) if sizes else UNKNOWN
        case CallExpr(args=[operand]) if _converts(expression, api):
            return _size(operand, api)
        case MemberExpr(name="ndim" | "size" as name, expr=operand):
            count = count_in_type(_type_of(operand, api), name)
            sizes = _sizes_of_array(operand, api) if is_unknown(count) else None
            return count if sizes is None else len(sizes) if name == "ndim" else product(sizes)
        case NameExpr(node=Var(final_value=int(value))):
            return value
        case NameExpr(node=Var() as variable):
            value = _settled(variable, api)
            if value is None and (unpacked := unpacked_once(variable, api)) is not None:
                return _unpacked_axis(*unpacked, api)
            return _followed(expression, api) if value is None else _size(value, api)
    return UNKNOWN


def _unpacked_axis(shape: Expression, position: int, api: Checker) -> Size:
    """Return the size of a name that is unpacked from the shape of an array, as in `n, m = x.shape`."""
    if not isinstance(shape, MemberExpr) or shape.name != "shape" or not _is_steady(shape, api):
        return UNKNOWN
    return _axis_of_array(shape.expr, position, api)


def _axis_of_array(operand: Expression, axis: int, api: Checker) -> Size:
    sizes = _sizes_of_array(operand, api) or []
    return sizes[axis] if -len(sizes) <= axis < len(sizes) else UNKNOWN


def _sizes_of_array(operand: Expression, api: Checker) -> list[Size] | None:
    p = get_proper_type(_type_of(operand, api))
    is_array = isinstance(p, AnyType) or (isinstance(p, Instance) and p.type.fullname == ARRAY)
    return Arrays.sizes(operand, api) if is_array else None


def _sizes_given(call: CallExpr, api: Checker) -> list[Size] | None:
    """Return the arguments of a function of sizes, or the items of its only argument; None if any is unknown."""
    if not call.args or any(kind is not ARG_POS for kind in call.arg_kinds):
        return None
    items: list[Expression] = call.args
    given = get_proper_type(_type_of(items[0], api)) if len(items) == 1 else None
    if isinstance(items[0], TupleExpr | ListExpr) and len(items) == 1:
        items = items[0].items
    elif isinstance(given, TupleType):
        parts = zip(given.items, _items_at(items[0], len(given.items)), strict=True)
        sizes = [UNKNOWN if _is_star(t) else size_value(t, part, api) for t, part in parts]
        return None if any(map(is_unknown, sizes)) else sizes
    sizes = [_size(item, api) for item in items]
    return None if any(map(is_unknown, sizes)) else sizes


def _followed(name: NameExpr, api: Checker) -> Size:
    """Return the size of a name that is bound more than once, if all its possible values here are the same size."""
    values = bound_last(name, api)
    sizes = [_size(value, api) if _is_steady(value, api) else UNKNOWN for value in values]
    return sizes[0] if sizes and all(surely_same(n, sizes[0]) for n in sizes) else UNKNOWN


def _size(expression: Expression, api: Checker, *, is_plain: bool = False) -> Size:
    """Return a size if evaluating its expression again has no effect, which holds for the parts of a plain one."""
    if not is_plain and not _is_plain(expression):
        return UNKNOWN
    return size_value(_type_of(expression, api), expression, api, is_plain=True)


def _is_plain(expression: Expression) -> bool:
    """Return whether evaluating an expression again has no effect: no call but `len`, `int` and functions of sizes."""
    match expression:
        case IntExpr() | StrExpr() | NameExpr():
            return True
        case (
            UnaryExpr(expr=operand)
            | MemberExpr(expr=operand)
            | CallExpr(callee=NameExpr(fullname="builtins.len" | "builtins.int"), args=[operand])
        ):
            return _is_plain(operand)
        case OpExpr(left=left, right=right) | IndexExpr(base=left, index=right):
            return _is_plain(left) and _is_plain(right)
        case TupleExpr(items=items) | ListExpr(items=items):
            return all(map(_is_plain, items))
        case CallExpr(callee=RefExpr(fullname=name), args=args) if name in _FUNCTIONS:
            return all(map(_is_plain, args))
        case ConditionalExpr(if_expr=one, else_expr=other):
            return _is_plain(one) and _is_plain(other)
    return False


def _settled(variable: Var, api: Checker) -> Expression | None:
    """Return the value that a name is bound to, if evaluating it now gives the same result."""
    value, _ = bound_once(variable, api)
    return value if value is not None and _is_steady(value, api) else None


def _is_steady(value: Expression, api: Checker) -> bool:
    """Return whether evaluating an expression now gives the same result as at its own position."""
    return _is_plain(value) and all(stays(name, api) for name in _names_in(value))


def stays(name: NameExpr, api: Checker) -> bool:
    """Return whether a name has the same value at each use: it is bound once, or is no variable."""
    return not isinstance(name.node, Var) or name.node.is_final or bound_once(name.node, api)[1]


def _names_in(expression: Any) -> Iterator[NameExpr]:
    if isinstance(expression, NameExpr):
        yield expression
    for part in ("expr", "left", "right", "base", "index", "if_expr", "else_expr"):
        inner = getattr(expression, part, None)
        if isinstance(inner, Expression):
            yield from _names_in(inner)
    for inner in (*getattr(expression, "args", ()), *getattr(expression, "items", ())):
        yield from _names_in(inner)


def is_whole(t: Type) -> bool:
    """Return whether a type is an integer of Python, of an enum or of NumPy; a bool is not."""
    p = get_proper_type(t)
    return isinstance(p, Instance) and p.type.fullname != "builtins.bool" and any(map(p.type.has_base, _WHOLE))


def _converts(call: CallExpr, api: Checker) -> bool:
    """Return whether a call converts an integer to another integer type, as `int(n)` and `np.int64(3)` do."""
    made, given = (get_proper_type(_type_of(one, api)) for one in (call, *call.args))
    name = getattr(call.callee, "fullname", "")
    is_class = name == "builtins.int" or name.startswith("numpy.")
    return is_class and is_whole(made) and (is_whole(given) or isinstance(given, TypeVarType))


def _tuple(p: TupleType, expression: Expression | None, api: Checker) -> Any:
    settled = (
        _settled(expression.node, api)
        if isinstance(expression, NameExpr) and isinstance(expression.node, Var)
        else None
    )
    display = expression if settled is None else settled
    written: list[Expression | None] = []
    if isinstance(display, TupleExpr):
        written = [one for item in display.items for one in _expanded(item, api)]
    elif isinstance(expression, NameExpr | MemberExpr):
        written = [*_items_at(expression, len(p.items))]
    if len(written) != len(p.items):
        written = [None] * len(p.items)
    values: list[Any] = [
        _star(item) if isinstance(item, UnpackType) else _item(item, part, api)
        for item, part in zip(p.items, written, strict=True)
    ]
    if any(value is None for value in values):
        return UnknownDims()
    if expression is not None and any(value is UNKNOWN for value in values):
        values = _completed(values, _sizes_in(expression, api))
    return _starred_dims(values) if any(isinstance(value, Many) for value in values) else tuple(values)


def _completed(values: list[Any], sizes: list[Size] | None) -> list[Any]:
    """Return the values of a tuple, with the sizes that its expression says where its type does not."""
    if sizes is None or len(sizes) != len(values):
        return values
    return [size if value is UNKNOWN else value for value, size in zip(values, sizes, strict=True)]


def _sizes_in(sequence: Expression, api: Checker) -> list[Size] | None:
    """Return the sizes in a tuple or a list, such as `(n, *[1] * 3)`; None if their number is not known."""
    match sequence:
        case TupleExpr(items=items) | ListExpr(items=items):
            sizes: list[Size] = []
            for item in items:
                several = _sizes_in(item.expr, api) if isinstance(item, StarExpr) else [_size_in(item, api)]
                if several is None:
                    return None
                sizes += several
            return sizes
        case OpExpr(op="+", left=left, right=right):
            first, second = _sizes_in(left, api), _sizes_in(right, api)
            return None if first is None or second is None else first + second
    match object_of(sequence, api):
        case Items(values=values):
            sizes = [UNKNOWN if one is None else one for one in values if one is None or isinstance(one, int | Dim)]
            return sizes if len(sizes) == len(values) and not any(isinstance(one, bool) for one in sizes) else None
    return None


def _size_in(item: Expression, api: Checker) -> Size:
    return count_of(_type_of(item, api), item, api)


def _starred_dims(items: list[Size | Many]) -> StarredDims:
    dims = StarredDims()
    dims.items = items
    return dims


def _item(item: Type, expression: Expression | None, api: Checker) -> Any:
    return value_of(item, expression, api) if _is_nested(item) else count_of(item, expression, api)


def _star(item: UnpackType) -> Many | None:
    """Return the variable of `*Batch`; None for `*tuple[int, ...]`."""
    inner = get_proper_type(item.type)
    return Many(inner) if isinstance(inner, TypeVarTupleType) else None


def _expanded(item: Expression, api: Checker) -> list[Expression | None]:
    """Return the expression of each item of a written tuple; None for what `*` adds if its number is unknown."""
    if not isinstance(item, StarExpr):
        return [item]
    inner = get_proper_type(_type_of(item.expr, api))
    if not isinstance(inner, TupleType):
        return [None]
    return [*_items_at(item.expr, len(inner.items))]


def _items_at(sequence: Expression, count: int) -> list[IndexExpr]:
    """Return `sequence[0]`, `sequence[1]` and so on."""
    return [IndexExpr(sequence, IntExpr(position)) for position in range(count)]


def _is_star(item: Type) -> bool:
    return isinstance(item, UnpackType)


def _is_nested(item: Type) -> bool:
    p = get_proper_type(item)
    return isinstance(p, TupleType) or (
        isinstance(p, Instance) and p.type.fullname in ("builtins.list", "builtins.float")
    )


def _type_of(expression: Expression, api: Checker) -> Type:
    found: Type = api.get_expression_type(expression)
    return found
