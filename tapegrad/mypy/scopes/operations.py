"""Numbers of type Any that are known, and operations on them and tensors, such as `x % config["classes"]`.

mypy takes an operation for Any where one of its operands is, without asking the plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import ComparisonExpr, Expression, NameExpr, OpExpr, TempNode, Var
from mypy.types import AnyType, Type, get_proper_type

from tapegrad.mypy.conversion import tensor_parts
from tapegrad.mypy.mypy_api import make, stored_type, type_of_other
from tapegrad.mypy.scopes.file_contents import steady_value
from tapegrad.mypy.scopes.items import type_of_value
from tapegrad.mypy.scopes.objects import value_of_expression

if TYPE_CHECKING:
    from tapegrad.mypy.mypy_api import Checker

_OPERATORS: Final = frozenset({"+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">="})


def type_of_any(expression: Expression, api: Checker) -> Type | None:
    """Return the type of a known number, or of an operation on a tensor and one, that mypy takes for Any.

    None if the expression may be anything else.
    """
    match expression:
        case OpExpr(op=sign, left=left, right=right):
            return _of_operation(expression, sign, [left, right], api)
        case ComparisonExpr(operators=[sign], operands=operands):
            return _of_operation(expression, sign, operands, api)
        case NameExpr(node=Var() as variable) if isinstance(
            value := steady_value(variable, api)[0], OpExpr | ComparisonExpr
        ):
            return type_of_any(value, api)
    number = value_of_expression(expression, api)
    if isinstance(number, float):
        return make(api)("builtins.float", [])
    return type_of_value(number, api) if isinstance(number, int) and not isinstance(number, bool) else None


def _of_operation(operation: Expression, sign: str, operands: list[Expression], api: Checker) -> Type | None:
    types = [_of_operand(one, api) for one in operands] if sign in _OPERATORS else []
    known = [one for one in types if one is not None]
    if not known or len(known) < len(types) or all(tensor_parts(one) is None for one in known):
        return None
    left, right = (TempNode(one, context=operation) for one in known)
    is_comparison = isinstance(operation, ComparisonExpr)
    same = ComparisonExpr([sign], [left, right]) if is_comparison else OpExpr(sign, left, right)
    same.set_line(operation)
    return type_of_other(api, same, ())


def _of_operand(operand: Expression, api: Checker) -> Type | None:
    t = stored_type(api, operand)
    return type_of_any(operand, api) if isinstance(get_proper_type(t), AnyType) else t
