"""`Consumed[Tensor[...]]`: a parameter whose tape a function uses up, as it is declared or as the body shows.

mypy stores only the types of a function in its cache, so a caller in another file sees no body. When mypy analyzes the
annotation of a parameter, this module looks for a `backward` of that parameter, or of what is computed from it, in the
statements of the function. If there is one, the parameter gets the type that `Consumed[...]` would give it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    ComparisonExpr,
    Expression,
    FuncDef,
    FuncItem,
    MemberExpr,
    MypyFile,
    NameExpr,
    OperatorAssignmentStmt,
)
from mypy.types import CallableType, Type, TypeAliasType

from tapegrad.mypy.conversion import CONSUMED
from tapegrad.mypy.mypy_api import alias_of, analyzed_function
from tapegrad.mypy.scopes.names import ScopeCache, inside, parts_of

if TYPE_CHECKING:
    from mypy.nodes import Node
    from mypy.plugin import AnalyzeTypeContext

# What these give has no tape.
_WITHOUT_TAPE: Final = frozenset(
    {
        "detach",
        "item",
        "numpy",
        "shape",
        "argmax",
        "tolist",
        "ndim",
        "size",
        "dtype",
        "owns_tape",
        "trace",
        "with_empty_tape",
    }
)


def is_consumed(t: Type) -> bool:
    """Return whether a parameter is declared, or inferred, as one that a function uses up."""
    return isinstance(t, TypeAliasType) and t.alias is not None and t.alias.fullname == CONSUMED


def as_consumed(tensor: Type, ctx: AnalyzeTypeContext) -> Type:
    """Return the type of a tensor as `Consumed` if it annotates a parameter that its function consumes."""
    function = analyzed_function(ctx.api)
    if not isinstance(function, FuncDef) or not isinstance(function.type, CallableType):
        return tensor
    position = next((n for n, t in enumerate(function.type.arg_types) if t is ctx.type), None)
    if position is None or function.arg_names[position] not in _consumed_by.of(function):
        return tensor
    alias = alias_of(ctx.api, CONSUMED)
    return tensor if alias is None else TypeAliasType(alias, [tensor], ctx.type.line, ctx.type.column)


def _consumed_parameters(function: Node | None) -> frozenset[str]:
    """Return the parameters that a function consumes, as far as its own statements show."""
    if not isinstance(function, FuncItem) or isinstance(function, MypyFile):
        return frozenset()
    nested = [one for one in inside(function.body) if isinstance(one, FuncItem)]
    elsewhere = {one for inner in nested for one in inside(inner)}  # runs when the inner function is called
    own = [one for one in inside(function.body) if one not in elsewhere]
    receivers = [_receiver(one) for one in own if isinstance(one, CallExpr)]
    consumed: set[str] = {name for one in receivers if one is not None for name in _names(one)}
    if not consumed:
        return frozenset()
    bound = [one for one in own if isinstance(one, AssignmentStmt | OperatorAssignmentStmt)]
    counts = Counter(name for one in bound for name in _targets(one))
    while True:
        more = {
            name
            for one in bound
            if any(name in consumed and counts[name] == 1 for name in _targets(one))
            for name in _names(one.rvalue)
        } - consumed
        if not more:
            break
        consumed |= more
    # A parameter that is bound again may be another tensor by then.
    return frozenset(name for name in function.arg_names if name in consumed and name not in counts)


_consumed_by = ScopeCache(_consumed_parameters)


def _receiver(call: CallExpr) -> Expression | None:
    callee = call.callee
    if not isinstance(callee, MemberExpr) or callee.name != "backward" or "retain_tape" in call.arg_names:
        return None
    return callee.expr


def _targets(statement: AssignmentStmt | OperatorAssignmentStmt) -> set[str]:
    targets = statement.lvalues if isinstance(statement, AssignmentStmt) else [statement.lvalue]
    return {one.name for target in targets for one in inside(target) if isinstance(one, NameExpr)}


def _names(expression: Any) -> set[str]:
    """Return the names whose tapes an expression may have."""
    if isinstance(expression, NameExpr):
        return {expression.name}
    if isinstance(expression, ComparisonExpr) or (
        isinstance(expression, MemberExpr) and expression.name in _WITHOUT_TAPE
    ):
        return set()
    if isinstance(expression, CallExpr):
        if isinstance(expression.callee, NameExpr) and expression.callee.name in ("float", "int", "len", "bool"):
            return set()
        arguments = [expression.callee] if isinstance(expression.callee, MemberExpr) else []
        return {name for one in [*arguments, *expression.args] for name in _names(one)}
    if isinstance(expression, list | tuple):
        return {name for one in expression for name in _names(one)}
    return {name for one in parts_of(expression) for name in _names(one)} if expression is not None else set()
