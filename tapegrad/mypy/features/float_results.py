"""Tensors of unknown dtype that surely are floats, such as a loss: `loss.item()` is then a float, not Any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import (
    CallExpr,
    FuncDef,
    FuncItem,
    MemberExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    ReturnStmt,
    UnaryExpr,
    Var,
)
from mypy.types import AnyType, Instance, NoneType, Type, TypeVarType, UnionType, get_proper_type

from tapegrad.mypy.conversion import tensor_parts
from tapegrad.mypy.mypy_api import checked_file, declared_signatures, depend_on_bodies, in_scope_of, make, stored_type
from tapegrad.mypy.rules.library import op_of_method
from tapegrad.mypy.scopes.names import bound_last, bound_once, inside
from tapegrad.mypy.sources import module_of

if TYPE_CHECKING:
    from mypy.nodes import Context, Expression

    from tapegrad.mypy.mypy_api import Checker

_DEEPEST: Final = 8  # expressions inside of each other, and functions that call each other


def as_float(result: Type, call: Context, api: Checker) -> Type:
    """Return the type of `x.item()`: a float if `x` is a loss of unknown dtype, of which mypy says Any."""
    match call:
        case CallExpr(callee=MemberExpr(expr=tensor)) if isinstance(get_proper_type(result), AnyType):
            return make(api)("builtins.float", []) if gives_floats(tensor, api) else result
    return result


def gives_floats(tensor: Expression, api: Checker, depth: int = 0) -> bool:
    """Return whether a tensor has a float dtype for any operands: what it is computed by makes floats only."""
    if depth > _DEEPEST:
        return False
    parts = tensor_parts(stored_type(api, tensor) or _NOTHING)
    if parts is not None and _is_float(parts.dtype):
        return True
    match tensor:
        case NameExpr(node=Var() as variable):
            value, is_once = bound_once(variable, api)
            values = bound_last(tensor, api) if not is_once else [] if value is None else [value]
            return bool(values) and all(gives_floats(one, api, depth + 1) for one in values)
        case UnaryExpr(op="-" | "+", expr=operand):
            return gives_floats(operand, api, depth + 1)
        case OpExpr(op="/"):
            return parts is not None  # of whole numbers as well
        case OpExpr(op="+" | "-" | "*" | "@" | "**", left=left, right=right):
            return parts is not None and (gives_floats(left, api, depth + 1) or gives_floats(right, api, depth + 1))
        case CallExpr(callee=MemberExpr(expr=receiver, name=name), args=arguments) if (
            tensor_parts(stored_type(api, receiver) or _NOTHING) is not None
        ):
            found = op_of_method(name)
            op = "" if found is None else f"{found[0].function.__module__}.{found[0].name}"
            return _op_gives_floats(op, [receiver, *arguments], api, depth)
        case CallExpr(callee=RefExpr(fullname=name), args=arguments) if name.startswith("tapegrad.ops."):
            return _op_gives_floats(name, arguments, api, depth)
        case CallExpr(callee=RefExpr(node=FuncDef() as function)):
            return _function_gives_floats(function, api, depth)
    return False


_NOTHING: Final = NoneType()  # the type of no tensor


def _is_float(dtype: Type) -> bool:
    """Return whether a dtype is one of floats; the mean of bools, the only op of both, is one too."""
    p = get_proper_type(dtype)
    p = get_proper_type(p.upper_bound) if isinstance(p, TypeVarType) else p
    if isinstance(p, UnionType):
        names = {one.type.fullname for one in map(get_proper_type, p.items) if isinstance(one, Instance)}
        return names == {"numpy.bool", "numpy.floating"}
    return isinstance(p, Instance) and p.type.has_base("numpy.floating")


def _op_gives_floats(op: str, given: list[Expression], api: Checker, depth: int) -> bool:
    """Return whether all signatures of an op return floats, or the dtype of the first operand, which is one."""
    signatures = declared_signatures(api, op)
    for signature in signatures:
        result = tensor_parts(signature.ret_type)
        if result is None:
            return False
        first = tensor_parts(signature.arg_types[0]) if signature.arg_types else None
        is_of_first = first is not None and get_proper_type(first.dtype) == get_proper_type(result.dtype)
        if not _is_float(result.dtype) and not (is_of_first and given and gives_floats(given[0], api, depth + 1)):
            return False
    return bool(signatures)


def _function_gives_floats(function: FuncDef, api: Checker, depth: int) -> bool:
    """Return whether a function of the file that is checked returns floats at each of its `return` statements."""
    if module_of(function) != checked_file(api).fullname or function.is_generator or function.is_coroutine:
        return False
    depend_on_bodies(api)
    own = [node for node in inside(function.body) if isinstance(node, ReturnStmt | FuncItem)]
    if not own or not all(isinstance(one, ReturnStmt) for one in own):
        return False
    with in_scope_of(api, function):
        values = [one.expr for one in own if isinstance(one, ReturnStmt)]
        return all(one is not None and gives_floats(one, api, depth + 1) for one in values)
