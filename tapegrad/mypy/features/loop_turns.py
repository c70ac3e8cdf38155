"""Calls in loops over items that are written, such as models of several classes, which are read for each of them.

In a body that is read, each turn of such a loop is; here are the loops of what mypy itself checks, such as a script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    AssertStmt,
    AssignmentStmt,
    BreakStmt,
    CallExpr,
    ConditionalExpr,
    ContinueStmt,
    DictionaryComprehension,
    ExpressionStmt,
    ForStmt,
    GeneratorExpr,
    LambdaExpr,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    RaiseStmt,
    ReturnStmt,
    TryStmt,
)

from tapegrad.mypy.features.body_expressions import MOST_TURNS_READ, differ
from tapegrad.mypy.mypy_api import checked_file, enclosing_function
from tapegrad.mypy.scopes.collections import collection_of, targets_bound
from tapegrad.mypy.scopes.frames import Reading
from tapegrad.mypy.scopes.names import ScopeCache, bound_by, inside, is_short_circuit, nodes_in, targets_in
from tapegrad.mypy.scopes.sequences import turns

if TYPE_CHECKING:
    from mypy.nodes import Block, Context, Expression, Node

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value

_ENDING: Final = AssertStmt, BreakStmt, ContinueStmt, RaiseStmt, ReturnStmt, TryStmt
_CHOOSING: Final = ConditionalExpr, DictionaryComprehension, GeneratorExpr, LambdaExpr


def turns_of_call(call: Context, api: Checker) -> list[dict[Node, Value]]:
    """Return the values that the variables of the loop around a call have at each turn; one without any if not known.

    The call must surely run at each turn.
    """
    if Reading.frame is not None or not isinstance(call, CallExpr):
        return [{}]
    loop = _loops.of(enclosing_function(api) or checked_file(api)).get(call)
    if loop is None:
        return [{}]
    target, sequence = loop
    variables = {one.node for one in targets_in(target) if isinstance(one, NameExpr)}
    if not any(isinstance(node, NameExpr) and node.node in variables for node in inside(call)):
        return [{}]
    several = turns(target, sequence, api) or []
    return several if differ(several) and len(several) <= MOST_TURNS_READ else [{}]


def _read_loops(scope: Node | None) -> dict[CallExpr, tuple[Expression, Expression]]:
    """Return the calls that run at each turn of a loop, with the target and the sequence of the loop."""
    found: dict[CallExpr, tuple[Expression, Expression]] = {}
    for node in nodes_in.of(scope):
        changed: set[object] = set()
        match node:
            case ForStmt(index=target, expr=sequence, body=body, else_body=None) if not any(
                isinstance(one, _ENDING) for one in inside(body)
            ):
                changed = _changed_in(body)
                kinds = AssignmentStmt, ExpressionStmt, OperatorAssignmentStmt
                parts: list[Any] = [one for one in body.body if isinstance(one, kinds)]
            case GeneratorExpr(left_expr=item, indices=[target], sequences=[sequence], condlists=[[]]):
                parts = [item]
            case _:
                continue
        for part in parts:
            nodes = inside(part)
            if not any(isinstance(one, _CHOOSING) or is_short_circuit(one) for one in nodes):
                calls = (one for one in nodes if isinstance(one, CallExpr))
                found |= {one: (target, sequence) for one in calls if changed.isdisjoint(_read_in(one))}
    return found


def _changed_in(body: Block) -> set[object]:
    """Return the variables that statements bind or change, and the names of the attributes that they assign."""
    nodes = inside(body)
    names: set[object] = {name for node in nodes for name, _ in bound_by(node)}
    targets = [one for node in nodes for one in targets_bound(node)]
    return names | {
        one.name if isinstance(one, MemberExpr) else getattr(one, "node", None) for one in map(collection_of, targets)
    }


def _read_in(call: CallExpr) -> set[object]:
    """Return the variables and the names of the attributes in a call."""
    nodes = inside(call)
    variables: set[object] = {one.node for one in nodes if isinstance(one, NameExpr)}
    return variables | {one.name for one in nodes if isinstance(one, MemberExpr)}


_loops = ScopeCache(_read_loops)
