"""Tensors as conditions: Python asks `if x < y:` for one truth value, and a tensor of several elements has none."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from mypy.nodes import (
    AssertStmt,
    ComparisonExpr,
    ConditionalExpr,
    DictionaryComprehension,
    Expression,
    GeneratorExpr,
    IfStmt,
    OpExpr,
    UnaryExpr,
    WhileStmt,
)

from tapegrad.mypy.mypy_api import checked_file, past_trial
from tapegrad.mypy.ownership.tape_methods import check_one_element
from tapegrad.mypy.scopes.names import ScopeCache, nodes_in

if TYPE_CHECKING:
    from mypy.nodes import Context, Node
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker


def check_condition(call: Context, result: Type, api: Checker) -> None:
    """Check the result of an op that is a condition, for which it must have one element.

    mypy tries operators by turns, and would take the report for one that rejects its operands.
    """
    if isinstance(call, Expression) and call in _conditions.of(checked_file(api)):
        with past_trial(api) if isinstance(call, ComparisonExpr | OpExpr) else nullcontext():
            check_one_element("bool", result, call, api)


def _read_conditions(file: Node | None) -> set[Expression]:
    """Return the expressions of a file of which Python takes the truth value."""
    found: set[Expression] = set()
    pending = [one for node in nodes_in.of(file) for one in _tested(node)]
    while pending:
        condition = pending.pop()
        found.add(condition)
        if isinstance(condition, OpExpr) and condition.op in ("and", "or"):
            pending += [condition.left, condition.right]
    return found


def _tested(node: Node) -> list[Expression]:
    """Return the parts of a node of which Python takes the truth value, also where the node is no condition itself."""
    match node:
        case IfStmt(expr=conditions):
            return conditions
        case WhileStmt(expr=condition) | AssertStmt(expr=condition) | ConditionalExpr(cond=condition):
            return [condition]
        case UnaryExpr(op="not", expr=condition) | OpExpr(op="and" | "or", left=condition):
            return [condition]
        case GeneratorExpr(condlists=several) | DictionaryComprehension(condlists=several):
            return [condition for conditions in several for condition in conditions]
        case ComparisonExpr(operators=[_, _, *_]):  # `a < b < c` is `a < b and b < c`
            return [node]
    return []


_conditions = ScopeCache(_read_conditions)
