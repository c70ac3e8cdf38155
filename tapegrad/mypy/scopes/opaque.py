"""Opaque sizes: values of expressions that do not change: a parameter, `config.width`, `sizes["width"]`, `self.heads`.

A name is opaque if it is a parameter or is assigned once, outside of loops, see `file_contents`. An attribute is opaque
if it is frozen, or if the file that is checked assigns to it at most once, in the constructor; an assignment in another
file is not seen.
"""

from __future__ import annotations

import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    CallExpr,
    Decorator,
    Expression,
    ExpressionStmt,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    ReturnStmt,
    SliceExpr,
    StarExpr,
    StrExpr,
    TupleExpr,
    TypeInfo,
    UnaryExpr,
    Var,
)
from mypy.types import AnyType, Instance, get_proper_type

from tapegrad.mypy.conversion import ARRAY, Many, size_of, tensor_parts
from tapegrad.mypy.mypy_api import depend_on_bodies
from tapegrad.mypy.scopes.collections import Use, may_change, use_of
from tapegrad.mypy.scopes.file_contents import (
    checked_contents,
    is_of_another_file,
    origin_of,
    position_of,
    steady_name,
    steady_value,
    unpacked_names,
)
from tapegrad.mypy.scopes.frames import Reading, value_of_name
from tapegrad.mypy.scopes.functions import body_of_getter
from tapegrad.mypy.scopes.module_values import in_module, module_value
from tapegrad.mypy.scopes.object_paths import is_fixed, is_module, object_path, path_of_item, path_of_name
from tapegrad.mypy.scopes.written_attributes import only_constant, write_by_constructor
from tapegrad.sizes import UNKNOWN, Dim, is_unknown, names_in, opaque_name, power, size_of_name, surely_same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy.nodes import Node
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.object_paths import Path
    from tapegrad.sizes import Size

ARITHMETIC: Final[dict[str, Callable[[Any, Any], Size]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda n, m: UNKNOWN if surely_same(m, 0) else n // m,
    "%": lambda n, m: n % m if isinstance(n, int) and isinstance(m, int) and m else UNKNOWN,
    "**": power,
    "<<": lambda n, m: n * power(2, m),
    ">>": lambda n, m: UNKNOWN if is_unknown(below := power(2, m)) else n // below,
}
_IMMUTABLE: Final = "builtins.str", "builtins.bytes", "builtins.tuple", "builtins.frozenset", "builtins.range"


class Finder(NamedTuple):
    """What returns the size that an expression denotes, and that of an item of a sequence."""

    of_expression: Callable[[Expression, Checker], Size]
    of_item: Callable[[Expression, int, Checker], Size]


def note_shape(expression: Expression, items: list[Size | Many] | None) -> None:
    """Note the shape that an expression `x.shape` has where it stands, for the names that it is unpacked to."""
    if len(_shapes) >= _MOST:
        _shapes.clear()
    _shapes[expression] = None if items is None else [UNKNOWN if isinstance(n, Many) else n for n in items]


@contextmanager
def other_shapes() -> Iterator[None]:
    """Forget afterwards the shapes that are noted meanwhile."""
    shapes = dict(_shapes)
    try:
        yield
    finally:
        _shapes.clear()
        _shapes.update(shapes)


_MOST = 1000  # far more than the shapes that one function reads
_shapes: dict[object, list[Size] | None] = {}
_active: set[object] = set()  # expressions that are being read: a name may be assigned to itself


def opaque_size(expression: Expression, api: Checker) -> Size:
    """Return the size that an expression always has where it stands, or unknown."""
    if expression in _active:
        return UNKNOWN
    _active.add(expression)
    try:
        return _size(expression, api)
    finally:
        _active.discard(expression)


def _size(expression: Expression, api: Checker) -> Size:
    match expression:
        case IntExpr(value=value):
            return value
        case UnaryExpr(op="-", expr=operand):
            return opaque_size(operand, api) * -1
        case OpExpr(op=sign, left=left, right=right) if sign in ARITHMETIC:
            return ARITHMETIC[sign](opaque_size(left, api), opaque_size(right, api))
        case NameExpr(node=Var() as variable):
            return _size_of_name(variable, api)
        case MemberExpr():
            return _size_of_attribute(expression, api)
        case CallExpr(callee=NameExpr(fullname="builtins.len"), args=[NameExpr() | MemberExpr() as operand]):
            return length_of_unchanged(operand, api)
        case IndexExpr(base=MemberExpr(name="shape") as shape, index=index):
            position = position_of(index)
            axis = _axis(shape, position) if position is not None else None
            return named_axis_of(shape.expr, position, api) if axis is None else axis
        case IndexExpr(index=StrExpr()):
            return _of_path(object_path(expression, api))
        case IndexExpr(base=base, index=index) if (position := position_of(index)) is not None:
            return _opaque_item(base, position, api)
    return UNKNOWN


def _opaque_item(sequence: Expression, index: int, api: Checker) -> Size:
    return size_of_item(sequence, index, api, _OPAQUE)


_OPAQUE: Final = Finder(opaque_size, _opaque_item)


def size_of_item(sequence: Expression, index: int, api: Checker, find: Finder) -> Size:
    """Return the size that is an item of a written list or tuple, or of a comprehension; unknown if it may change.

    A negative index counts from the end.
    """
    match sequence:
        case ListExpr(items=items) | TupleExpr(items=items):
            is_known = -len(items) <= index < len(items) and not any(isinstance(one, StarExpr) for one in items)
            return find.of_expression(items[index], api) if is_known else UNKNOWN
        case ListComprehension(generator=comprehension) | (GeneratorExpr() as comprehension):
            match comprehension:
                case GeneratorExpr(left_expr=item, indices=[target], sequences=[of], condlists=[[]]):
                    with _bound(target, of, index, find):
                        return find.of_expression(item, api)
        case CallExpr(callee=NameExpr(fullname="builtins.list" | "builtins.tuple"), args=[of]):
            return find.of_item(of, index, api)
        case IndexExpr(base=of, index=SliceExpr(begin_index=begin, end_index=end, stride=None)):
            first = 0 if begin is None else position_of(begin)
            if first is not None and first >= 0 and (index >= 0 or (end is None and first == 0)):
                return find.of_item(of, first + index, api)
        case RefExpr(node=Var() as variable) if (known := module_value(variable, api)) is not None:
            with in_module(known, api):
                return find.of_item(known.value, index, api)
        case NameExpr(node=Var() as variable) if is_fixed(sequence, api):
            value, _ = steady_value(variable, api)
            found = UNKNOWN if value is None else find.of_item(value, index, api)
            if not is_unknown(found):
                return found
    return _of_path(path_of_item(sequence, index, api))


_items: dict[Node, tuple[Expression | int, int, Finder]] = {}  # of comprehensions that are being read, by variable


@contextmanager
def _bound(target: Expression, sequence: Expression, index: int, find: Finder) -> Iterator[None]:
    """Give the variables of a comprehension the values that they have for one item."""
    before = dict(_items)
    _items.update({name: (of, position, find) for name, of, position in _bindings(target, sequence, index)})
    try:
        yield
    finally:
        _items.clear()
        _items.update(before)


def _bindings(target: Expression, sequence: Expression, index: int) -> Iterator[tuple[Node, Expression | int, int]]:
    """Yield each variable of a loop with the sequence of which it is an item and the position, or with its number."""
    match target, sequence:
        case NameExpr(node=Var() as variable), CallExpr(callee=NameExpr(fullname="builtins.range"), args=[_]):
            if index >= 0:
                yield variable, index, index
        case NameExpr(node=Var() as variable), _:
            yield variable, sequence, index
        case TupleExpr(items=targets), CallExpr(callee=RefExpr(fullname="builtins.zip"), args=several):
            for one, of in zip(targets, several, strict=False):
                yield from _bindings(one, of, index)
        case TupleExpr(items=[one, other]), CallExpr(callee=RefExpr(fullname="itertools.pairwise"), args=[of]):
            if index >= 0:
                yield from (*_bindings(one, of, index), *_bindings(other, of, index + 1))
        case TupleExpr(items=[number, one]), CallExpr(callee=RefExpr(fullname="builtins.enumerate"), args=[of]):
            if isinstance(number, NameExpr) and isinstance(number.node, Var) and index >= 0:
                yield number.node, index, index
            yield from _bindings(one, of, index)


def unpacked_shape(expression: Expression, api: Checker) -> list[Size] | None:
    """Return the name of each variable that `x.shape` is unpacked to, if assigned once; None if it is not unpacked."""
    names = unpacked_names(expression, api)
    return None if names is None else [_size_named(name, api) for name in names]


def named_axis(expression: MemberExpr, axis: int, rank: int, api: Checker) -> Size:
    """Return a name for an unknown axis of `x.shape`: that of `n = x.shape[0]`, or else `x.shape[0]`."""
    name, position = checked_contents(api).axes.get(expression, (None, 0))
    size = _size_named(name, api) if position % rank == axis else UNKNOWN
    path = object_path(expression.expr, api) if is_unknown(size) else None
    return size if path is None else _named(f"{path.label}.shape[{axis}]", path.scope)


def _size_named(name: Node | None, api: Checker) -> Size:
    """Return the size that a variable denotes if it is assigned once, outside of loops."""
    found = steady_name(name, api)
    return UNKNOWN if found is None else _named(*found)


def _size_of_name(variable: Var, api: Checker) -> Size:
    known = size_of(variable.type) if variable.type is not None else UNKNOWN
    if Reading.frame is not None and any(not name.is_opaque for name in names_in(known)):
        known = UNKNOWN  # in a body that is read, the call gives what a size variable stands for
    for values in (Reading.bound, Reading.frame.variables if Reading.frame is not None else {}):
        if variable in values:
            return value if isinstance(value := values[variable], int | Dim) else known
    if variable in _items:
        of, index, find = _items[variable]
        return of if isinstance(of, int) else find.of_item(of, index, api)
    if isinstance(variable.final_value, int):
        return variable.final_value
    if not is_unknown(known):
        return known
    origin = origin_of(variable, api)
    if origin is None:
        return _size_elsewhere(variable, api) if is_of_another_file(variable, api) else UNKNOWN
    is_declared_any = isinstance(get_proper_type(variable.type), AnyType) and not variable.is_inferred
    if not origin.is_steady and variable.is_argument:  # its default is negative: a number, of a call whose body is read
        value = value_of_name(variable.name, origin.scope)
        return value if isinstance(value, int) else UNKNOWN
    if not origin.is_steady or (is_declared_any and not variable.is_argument):
        return UNKNOWN
    if origin.value is not None:
        size = opaque_size(origin.value, api)
        if not is_unknown(size):
            return size
    if origin.unpacked is not None and (axis := _axis(*origin.unpacked)) is not None:
        return axis
    if not _may_be_size(variable.type):
        return UNKNOWN
    return _named(variable.name, origin.scope)


def _size_elsewhere(variable: Var, api: Checker) -> Size:
    """Return the size that a variable of another module has."""
    known = module_value(variable, api)
    if known is not None:
        with in_module(known, api):
            size = opaque_size(known.value, api)
        if not is_unknown(size):
            return size
    return _of_path(path_of_name(variable, api))


def _axis(shape: Expression, position: int) -> Size | None:
    """Return a size that was unpacked from the shape of a tensor; None if it was not known there."""
    items = _shapes.get(shape) or ()
    return items[position] if -len(items) <= position < len(items) and not is_unknown(items[position]) else None


def _size_of_attribute(expression: MemberExpr, api: Checker) -> Size:
    if isinstance(expression.node, Var) and is_module(expression.expr):
        return _size_elsewhere(expression.node, api)
    contents = checked_contents(api)
    owner = expression.expr.node if isinstance(expression.expr, NameExpr) else None
    method = contents.receivers.get(owner) if owner is not None else None
    if method is None:
        if isinstance(owner, TypeInfo) and (constant := only_constant(owner, expression.name, contents)) is not None:
            size = opaque_size(constant, api)
            if not is_unknown(size):
                return size
        size = _of_path(object_path(expression, api))
        return _size_of_property(expression, api) if is_unknown(size) else size
    written = write_by_constructor(method.info, expression.name, contents)
    if written is not None and written.value is not None:
        size = opaque_size(written.value, api)
        if not is_unknown(size):
            return size
    return _of_path(object_path(expression, api))


def _size_of_property(expression: MemberExpr, api: Checker) -> Size:
    """Return the size that a property computes of attributes of the object, which do not change, such as their sum."""
    base = object_path(expression.expr, api)
    p = get_proper_type(base.type) if base is not None and base.type is not None else None
    symbol = p.type.get(expression.name) if isinstance(p, Instance) else None
    if symbol is None or not isinstance(symbol.node, Decorator) or not symbol.node.func.is_property:
        return UNKNOWN
    depend_on_bodies(api)
    statements, _ = body_of_getter(symbol.node.func, api)
    match statements[1:] if isinstance(statements[0] if statements else None, ExpressionStmt) else statements:
        case [ReturnStmt(expr=Expression() as value)]:
            return _size_in_property(value, expression.expr, api)
    return UNKNOWN


def _size_in_property(value: Expression, owner: Expression, api: Checker) -> Size:
    """Return the size of an expression in a property of an object, in which `self` is the object."""
    match value:
        case IntExpr(value=number):
            return number
        case OpExpr(op=sign, left=left, right=right) if sign in ARITHMETIC:
            return ARITHMETIC[sign](_size_in_property(left, owner, api), _size_in_property(right, owner, api))
        case MemberExpr(expr=NameExpr(name="self"), name=name):
            return opaque_size(MemberExpr(owner, name), api)
    return UNKNOWN


def length_of_unchanged(operand: Expression, api: Checker) -> Size:
    """Return the length of an object that cannot be changed, such as a string, or of a list that is only read."""
    path = object_path(operand, api)
    if path is None or path.type is None:
        return UNKNOWN
    p = get_proper_type(path.type)
    is_immutable = isinstance(p, Instance) and any(map(p.type.has_base, _IMMUTABLE))
    is_unchanged = is_immutable or (may_change(p) and use_of(operand, api) is Use.READ)
    return _named(f"len({path.label})", path.scope) if is_unchanged else named_axis_of(operand, 0, api)


def named_axis_of(array: Expression, axis: int | None, api: Checker) -> Size:
    """Return a name for an axis of a tensor or an array that is never bound again: nothing changes its shape."""
    path = None if axis is None else object_path(array, api)
    p = get_proper_type(path.type) if path is not None and path.type is not None else None
    is_array = p is not None and (tensor_parts(p) is not None or (isinstance(p, Instance) and p.type.fullname == ARRAY))
    return _named(f"{path.label}.shape[{axis}]", path.scope) if path is not None and is_array else UNKNOWN


def _of_path(path: Path | None) -> Size:
    if path is None or not _may_be_size(path.type):
        return UNKNOWN
    return _named(path.label, path.scope)


def _named(label: str, scope: str) -> Size:
    """Return the size with a name, or its value in the body that is read."""
    value = value_of_name(label, scope)
    return size_of_name(opaque_name(label, scope)) if value is None else value


def _may_be_size(t: Type | None) -> bool:
    p = get_proper_type(t) if t is not None else None
    if isinstance(p, AnyType):
        return True
    return isinstance(p, Instance) and p.type.fullname != "builtins.bool" and _is_integer(p)


def _is_integer(p: Instance) -> bool:
    return any(map(p.type.has_base, ("builtins.int", "numpy.integer")))
