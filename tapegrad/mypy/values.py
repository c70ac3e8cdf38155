"""What a Python value is, read from its type and, where the type has forgotten, from the expression itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from mypy.nodes import (
    AssignmentStmt,
    Block,
    CallExpr,
    Expression,
    FuncItem,
    IntExpr,
    ListExpr,
    MypyFile,
    NameExpr,
    Node,
    SliceExpr,
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
    TypeVarType,
    UnpackType,
    get_proper_type,
)

from tapegrad.dims import UNKNOWN, Size, UnknownDims
from tapegrad.mypy.codec import ARRAY, Many, shape_items, size_of, tensor_parts
from tapegrad.mypy.internals import enclosing_function, module_tree

if TYPE_CHECKING:
    from tapegrad.mypy.internals import Checker


class ValueUnknownError(Exception):
    """A rule needs a value that only the run time knows."""


def value_of(t: Type, expression: Expression | None, api: Checker) -> Any:
    """Reads an argument that is no tensor.

    Raises:
        ValueUnknownError: Nothing is known of it; a size among others is `UNKNOWN` instead.
    """
    if isinstance(expression, ListExpr):
        return [value_of(_type_of(item, api), item, api) for item in expression.items]
    p = get_proper_type(t)
    if isinstance(p, Instance) and p.last_known_value is not None:
        p = p.last_known_value
    if isinstance(p, NoneType):
        return None
    if isinstance(p, LiteralType) and isinstance(p.value, bool | int | str):
        return p.value
    if isinstance(p, TupleType):
        return _tuple(p, expression, api)
    if isinstance(p, Instance) and p.type.fullname == "builtins.float":
        return 0.0  # rules ask whether something is a number, never which float
    if isinstance(p, Instance) and p.type.fullname == "builtins.tuple":
        return UnknownDims()
    size = size_value(t, expression, api)
    if size is UNKNOWN:
        raise ValueUnknownError
    return size


def index_of(t: Type, expression: Expression | None, api: Checker) -> Any:
    """Reads what stands between the brackets of `x[...]`; of tensors of indices their shape and kind.

    Raises:
        ValueUnknownError: It may be one of several kinds of index.
    """
    if isinstance(expression, TupleExpr):
        return tuple(index_of(_type_of(item, api), item, api) for item in expression.items)
    if isinstance(expression, SliceExpr):
        bounds = (expression.begin_index, expression.end_index, expression.stride)
        return slice(*(None if bound is None else _bound_of(bound, api) for bound in bounds))
    if isinstance(expression, CallExpr) and getattr(expression.callee, "fullname", "") == "builtins.slice":
        return slice(*(_bound_of(bound, api) for bound in expression.args))
    p = get_proper_type(t)
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
    if isinstance(p, LiteralType) or (name == "builtins.bool" and isinstance(p, Instance) and p.last_known_value):
        return value_of(p, expression, api)
    if name == "builtins.int" or isinstance(p, TypeVarType):
        return size_value(t, expression, api)
    raise ValueUnknownError


def _bound_of(expression: Expression, api: Checker) -> Size | None:
    t = _type_of(expression, api)
    return None if isinstance(get_proper_type(t), NoneType) else size_value(t, expression, api)


def _indices(p: Type) -> SimpleNamespace:
    """Stands for a tensor or an array among indices.

    Raises:
        ValueUnknownError: It may be a mask or not, or its rank is open.
    """
    parts = tensor_parts(p)
    shape, dtype = (parts.shape, parts.dtype) if parts is not None else (p.args[0], p.args[1].args[0])  # type: ignore[attr-defined]  # an array
    items, kind = shape_items(shape), get_proper_type(dtype)
    if items is None or any(isinstance(item, Many) for item in items) or not isinstance(kind, Instance):
        raise ValueUnknownError
    letter = "b" if kind.type.has_base("numpy.bool") else "i" if kind.type.has_base("numpy.integer") else "?"
    if letter == "?":
        raise ValueUnknownError
    return SimpleNamespace(shape=tuple(items), dtype=SimpleNamespace(kind=letter))


def size_value(t: Type, expression: Expression | None, api: Checker) -> Size:
    """Reads a size: from its type, or from the only assignment to the name that stands there."""
    size = size_of(t)
    if size is not UNKNOWN or expression is None or isinstance(get_proper_type(t), AnyType):
        return size
    if isinstance(expression, IntExpr):
        return expression.value
    if isinstance(expression, UnaryExpr) and expression.op == "-":
        return size_value(_type_of(expression.expr, api), expression.expr, api) * -1
    if isinstance(expression, NameExpr) and isinstance(expression.node, Var):
        return _assigned_once(expression.node, api)
    return UNKNOWN


def _tuple(p: TupleType, expression: Expression | None, api: Checker) -> Any:
    if any(isinstance(item, UnpackType) for item in p.items):
        return UnknownDims()
    written = expression.items if isinstance(expression, TupleExpr) else [None] * len(p.items)
    if len(written) != len(p.items):
        return UnknownDims()
    return tuple(
        value_of(item, part, api) if _is_nested(item) else size_value(item, part, api)
        for item, part in zip(p.items, written, strict=True)
    )


def _is_nested(item: Type) -> bool:
    p = get_proper_type(item)
    return isinstance(p, TupleType) or (
        isinstance(p, Instance) and p.type.fullname in ("builtins.list", "builtins.float")
    )


def _type_of(expression: Expression, api: Checker) -> Type:
    found: Type = api.get_expression_type(expression)
    return found


def _assigned_once(variable: Var, api: Checker) -> Size:
    if isinstance(variable.final_value, int):
        return variable.final_value
    scope = enclosing_function(api) if variable.fullname == variable.name else module_tree(api, variable)
    found = [value for name, value in _assignments(scope) if name is variable]
    match found:
        case [IntExpr(value=value)]:
            return value
        case [UnaryExpr(op="-", expr=IntExpr(value=value))]:
            return -value
    return UNKNOWN


def _assignments(scope: Node | None) -> list[tuple[Node | None, Node | None]]:
    """Lists what a function or module binds, name beside value; a value is None where a statement computes it."""
    found: list[tuple[Node | None, Node | None]] = []
    pending: list[Any] = [scope]
    while pending:
        node = pending.pop()
        if isinstance(node, AssignmentStmt):
            for target in node.lvalues:
                found += [(name, node.rvalue if target is name_expr else None) for name_expr, name in _names(target)]
        elif isinstance(node, MypyFile):
            pending += node.defs
        elif isinstance(node, FuncItem):
            found += [(argument.variable, None) for argument in node.arguments]
            pending.append(node.body)
        elif isinstance(node, Block):
            pending += node.body
        elif node is not None:
            found += _bound_by_statement(node)
            for part in ("body", "else_body", "finally_body", "handlers", "bodies"):
                blocks = getattr(node, part, None)
                pending += blocks if isinstance(blocks, list) else [blocks]
    return found


def _bound_by_statement(node: Any) -> list[tuple[Node | None, Node | None]]:
    """Lists the names that a loop, a `with`, an augmented assignment or a `del` binds."""
    targets = [getattr(node, part, None) for part in ("index", "lvalue", "expr")]
    targets += getattr(node, "target", None) or []
    return [(name, None) for target in targets if target is not None for _, name in _names(target)]


def _names(target: Any) -> list[tuple[Any, Node | None]]:
    if isinstance(target, NameExpr):
        return [(target, target.node)]
    if isinstance(target, TupleExpr | ListExpr):
        return [found for item in target.items for found in _names(item)]
    return []
