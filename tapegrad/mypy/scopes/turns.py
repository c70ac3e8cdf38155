"""Expressions in loops: which of them surely have the same type at each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import (
    Expression,
    ForStmt,
    FuncDef,
    MemberExpr,
    MypyFile,
    NameExpr,
    OperatorAssignmentStmt,
    RefExpr,
    TypeInfo,
    Var,
    WhileStmt,
)
from mypy.types import CallableType, Overloaded, get_proper_type

from tapegrad.mypy.mypy_api import checked_file, stored_type
from tapegrad.mypy.scopes.collections import Use, targets_bound, use_of
from tapegrad.mypy.scopes.file_contents import loop_of
from tapegrad.mypy.scopes.names import ScopeCache, bound_once, inside, nodes_in, unpacked_once

if TYPE_CHECKING:
    from mypy.nodes import Node

    from tapegrad.mypy.mypy_api import Checker


def is_same_at_each_turn(expression: Expression, api: Checker) -> bool:
    """Return whether no loop around an expression changes what it is computed from.

    mypy reads a loop again until the types of its variables stay, and at its first turn they are those of the first.
    """
    if expression not in _loops_around.of(checked_file(api)):
        return True
    pending: list[Expression] = [expression]
    seen: set[Node] = set()
    while pending:
        for node in inside(pending.pop()):
            if isinstance(node, MemberExpr) and not _is_steady_attribute(node, api):
                return False
            if not isinstance(node, NameExpr) or not isinstance(node.node, Var) or node.node in seen:
                continue
            seen.add(node.node)
            sources = _sources(node, node.node, api)
            if sources is None:
                return False
            pending += sources
    return True


def _sources(name: NameExpr, variable: Var, api: Checker) -> list[Expression] | None:
    """Return what a variable is computed from; None if it may be bound again, or is a collection that changes."""
    value, is_once = bound_once(variable, api)
    if not is_once or use_of(name, api) is Use.EXTENDED:
        return None
    if value is not None:
        return [value]
    if variable.is_argument:
        return []
    if (unpacked := unpacked_once(variable, api)) is not None:
        return [unpacked[0]]
    loop = loop_of(variable, api)
    return None if loop is None else [loop.sequence]


def _is_steady_attribute(attribute: MemberExpr, api: Checker) -> bool:
    """Return whether an attribute is one of a module or a class, a method, or one that only constructors assign."""
    if isinstance(attribute.expr, RefExpr) and isinstance(attribute.expr.node, MypyFile | TypeInfo):
        return True
    t = get_proper_type(stored_type(api, attribute))
    return isinstance(t, CallableType | Overloaded) or attribute.name not in _replaced.of(checked_file(api))


def share_loop(one: Expression, other: Expression, api: Checker) -> bool:
    """Return whether a loop, of which mypy may read further turns, is around two expressions."""
    around = _loops_around.of(checked_file(api))
    return not around.get(one, set()).isdisjoint(around.get(other, ()))


def _read_loops_around(file: Node | None) -> dict[Node, set[Node]]:
    found: dict[Node, set[Node]] = {}
    for loop in nodes_in.of(file):
        for node in inside(loop) if isinstance(loop, ForStmt | WhileStmt) else ():
            found.setdefault(node, set()).add(loop)
    return found


def _read_replaced(file: Node | None) -> set[str]:
    """Return the attributes that a statement outside of the constructors of a file assigns."""
    nodes = nodes_in.of(file)
    constructors = [node for node in nodes if isinstance(node, FuncDef) and node.name == "__init__"]
    skipped = {node for one in constructors for node in inside(one)}
    targets = [one for node in nodes if node not in skipped for one in targets_bound(node)]
    written = [node.lvalue for node in nodes if isinstance(node, OperatorAssignmentStmt)]
    return {one.name for one in (*targets, *written) if isinstance(one, MemberExpr)}


_loops_around = ScopeCache(_read_loops_around)
_replaced = ScopeCache(_read_replaced)
