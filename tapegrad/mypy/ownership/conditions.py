"""Conditions, and the branches that they select.

After `apply(loss, step=False)`, only the branch of `apply` that runs is followed. Where a condition is unknown, each
branch may run; but where a block tests it again, as in `if late: ...` and later `if late: ...`, the same one runs.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    AssignmentStmt,
    Block,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    FloatExpr,
    FuncDef,
    GlobalDecl,
    IfStmt,
    IntExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    NonlocalDecl,
    OperatorAssignmentStmt,
    OpExpr,
    RefExpr,
    StrExpr,
    TupleExpr,
    TypeInfo,
    UnaryExpr,
    Var,
)
from mypy.types import Instance, get_proper_type

from tapegrad.mypy.ownership.constants import as_number, constant_of, equal, is_instance
from tapegrad.mypy.ownership.holders import holder_of
from tapegrad.mypy.scopes.names import ScopeCache, bindings_in, inside, nodes_in, parts_of, targets_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mypy.nodes import Node

    from tapegrad.mypy.ownership.state import Constant, Holder, State
    from tapegrad.mypy.ownership.walk import Walk

_OPPOSITE: Final = {"!=": "==", "is not": "is", "not in": "in"}
_ORDERED: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MOST: Final = 2  # conditions that the statements around one have tested before


def tested_again(walk: Walk, node: IfStmt) -> set[Any]:
    """Return the parts of a condition that a later statement of its block tests, where nothing changes the answer."""
    if not walk.may_repeat or len(walk.frame.tested) >= _MOST:
        return set()
    parts = _tested_again.of(walk.frame.function).get(node)
    if not parts:
        return set()
    elsewhere = _bound_elsewhere.of(walk.file)
    return {
        key
        for key, part in parts.items()
        if not any(isinstance(one, NameExpr | MemberExpr) and one.name in elsewhere for one in inside(part))
    }


def truth(walk: Walk, node: Any, state: State) -> bool | None:
    """Return whether a condition surely holds or surely does not; None if that is unknown."""
    match node:
        case UnaryExpr(op="not", expr=inner):
            known = truth(walk, inner, state)
            return None if known is None else not known
        case OpExpr(op="and" | "or", left=left, right=right):
            decisive = node.op == "or"
            both = [truth(walk, left, state), truth(walk, right, state)]
            return decisive if decisive in both else None if None in both else not decisive
        case ComparisonExpr(operators=[op], operands=[left, right]):
            known = _compared(op, left, right, state)
            return _answer(walk, node, state) if known is None else known
        case CallExpr(callee=RefExpr(fullname="builtins.isinstance"), args=[tested, RefExpr(node=TypeInfo() as info)]):
            holder = holder_of(tested, state)
            return is_instance(walk, state.held.get(holder), info) if holder is not None else None
    known_constant = constant_of(node, state)
    if known_constant is None:
        return _answer(walk, node, state)
    return None if known_constant[0] in (Var, object) else bool(known_constant[1])


def _compared(op: str, left: Any, right: Any, state: State) -> bool | None:
    a = constant_of(left, state)
    if a is None:
        return None
    if op in ("in", "not in"):
        items = right.items if isinstance(right, TupleExpr) else []
        answers = [equal(a, constant_of(one, state)) for one in items]
        found = True if True in answers else None if None in answers or not items else False
        return found if found is None or op == "in" else not found
    if op in _ORDERED:
        x, y = as_number(a), as_number(constant_of(right, state))
        return _ORDERED[op](x, y) if x is not None and y is not None else None
    if op not in ("==", "is", "!=", "is not"):
        return None
    same = equal(a, constant_of(right, state))
    return same if same is None or op in ("==", "is") else not same


def assume(walk: Walk, node: Any, state: State, *, holds: bool) -> None:
    """Note that a condition holds, or that it does not."""
    match node:
        case UnaryExpr(op="not", expr=inner):
            assume(walk, inner, state, holds=not holds)
        case OpExpr(op="and" | "or", left=left, right=right):
            if holds == (node.op == "and"):
                assume(walk, left, state, holds=holds)
                assume(walk, right, state, holds=holds)
        case _:
            key, is_opposite = _key_and_sense(node)
            if key in walk.frame.tested:
                state.constants[_holder(walk, key)] = bool, holds is not is_opposite
                _assume_constant(walk, node, state, holds=holds)


def _assume_constant(walk: Walk, node: Any, state: State, *, holds: bool) -> None:
    """Note which constant a name or an attribute holds where a condition holds: also functions that get it know it."""
    known: Constant | None = None
    match node:
        case NameExpr() | MemberExpr() as tested:
            t = get_proper_type(walk.type_of(tested))
            known = (bool, holds) if isinstance(t, Instance) and t.type.fullname == "builtins.bool" else None
        case ComparisonExpr(operators=["==" | "is" | "!=" | "is not"], operands=[tested, other]):
            known = constant_of(other, state) if holds is (node.operators[0] in ("==", "is")) else None
    holder = holder_of(tested, state) if known is not None else None
    if holder is not None:
        state.know(holder, known)


def _answer(walk: Walk, node: Any, state: State) -> bool | None:
    """Return what an earlier statement of the block has found out about a condition; None if it is unknown."""
    if not walk.frame.tested:
        return None
    key, is_opposite = _key_and_sense(node)
    known = state.constants.get(_holder(walk, key)) if key in walk.frame.tested else None
    return None if known is None else known[1] is not is_opposite


def forget(walk: Walk, keys: Iterable[Any], state: State) -> None:
    """Forget what was found out about conditions."""
    for key in keys:
        state.constants.pop(_holder(walk, key), None)


def _holder(walk: Walk, key: Any) -> Holder:
    return "condition", (key, walk.frame.function, walk.calls)


def _tested_in(node: Any) -> dict[Any, Any]:
    """Return the parts of a condition that are joined by `and`, `or` and `not`, by what they test."""
    match node:
        case UnaryExpr(op="not", expr=inner):
            return _tested_in(inner)
        case OpExpr(op="and" | "or", left=left, right=right):
            return _tested_in(left) | _tested_in(right)
    key, _ = _key_and_sense(node)
    return {} if key is None else {key: node}


def _key_and_sense(node: Any) -> tuple[Any, bool]:
    """Return what a condition tests, None if the answer may change by itself, and whether it holds for the opposite."""
    if isinstance(node, ComparisonExpr) and len(node.operators) == 1 and node.operators[0] in _OPPOSITE:
        sides = [_key(one) for one in node.operands]
        key = None if None in sides else ((_OPPOSITE[node.operators[0]],), *sides)
        return key, True
    return _key(node), False


def _subject(node: Any) -> Any:
    """Return what a condition compares with constants, as `mode` in `mode == "late"`; None if it does no such thing."""
    if not isinstance(node, ComparisonExpr) or len(node.operands) != 2:
        return None
    tested, other = node.operands
    constants = other.items if isinstance(other, TupleExpr) else [other]
    return ("subject", _key(tested)) if all(constant_of(one, None) is not None for one in constants) else None


def _key(node: Any) -> Any:
    """Return an expression of names, attributes, numbers and operators as a value; None for any other one."""
    match node:
        case NameExpr(node=target):
            return (target,) if target is not None else None
        case IntExpr() | StrExpr() | FloatExpr():
            return type(node), node.value
        case TupleExpr():
            inside_it: tuple[Any, ...] = ("tuple",)
        case MemberExpr(name=name):
            inside_it = ("attribute", name)
        case UnaryExpr(op=op) | OpExpr(op=op):
            inside_it = (op,)
        case ComparisonExpr(operators=operators):
            inside_it = (tuple(operators),)
        case _:
            return None
    parts = [_key(one) for part in parts_of(node) for one in (part if isinstance(part, list) else [part])]
    return None if None in parts else (*inside_it, *parts)


def _conditions_tested_again(scope: Node | None) -> dict[IfStmt, dict[Any, Any]]:
    """Return the parts of each condition that its block tests later, without binding a name or an attribute in them."""
    blocks = [one.body for one in nodes_in.of(scope) if isinstance(one, Block)]
    if isinstance(scope, MypyFile):
        blocks.append(scope.defs)
    found: dict[IfStmt, dict[Any, Any]] = {}
    for statements in blocks:
        if len(statements) > 1 and any(isinstance(one, IfStmt) for one in statements):
            _read_block(statements, found)
    return found


def _read_block(statements: list[Any], found: dict[IfStmt, dict[Any, Any]]) -> None:
    later: set[Any] = set()
    bound: set[Any] = set()
    for statement in reversed(statements):
        within = inside(statement)
        bound |= {*bindings_in(statement), *_attributes_bound(within)}
        if isinstance(statement, IfStmt) and later:
            parts = {key: part for arm in _arms(statement) for key, part in _tested_in(arm.expr[0]).items()}
            found[statement] = {
                key: part
                for key, part in parts.items()
                if (key in later or _subject(part) in later)
                and bound.isdisjoint(each for one in inside(part) for each in _names(one))
            }
        for one in within:
            if isinstance(one, IfStmt | ConditionalExpr):
                tests = _tested_in(one.expr[0] if isinstance(one, IfStmt) else one.cond)
                later |= {*tests, *map(_subject, tests.values())} - {None}


_tested_again = ScopeCache(_conditions_tested_again)


def elif_of(node: IfStmt) -> IfStmt | None:
    """Return the `elif` of an `if`, which mypy puts into its `else`; None if there is none that runs."""
    otherwise = node.else_body
    if otherwise is None or otherwise.is_unreachable or len(otherwise.body) != 1:
        return None
    return otherwise.body[0] if isinstance(otherwise.body[0], IfStmt) else None


def _arms(node: IfStmt) -> list[IfStmt]:
    """Return an `if` and each `elif` of it."""
    following = elif_of(node)
    return [node, *(_arms(following) if following is not None else [])]


def _names(node: Any) -> tuple[Any, ...]:
    """Return what a name or an attribute is called where it is bound."""
    if isinstance(node, NameExpr):
        return (node.node,)
    return (node.name,) if isinstance(node, MemberExpr) else ()


def _attributes_bound(nodes: list[Any]) -> set[str]:
    """Return the names of the attributes that some statements bind."""
    targets = [
        one
        for node in nodes
        if isinstance(node, AssignmentStmt | OperatorAssignmentStmt)
        for one in targets_in(node.lvalues if isinstance(node, AssignmentStmt) else node.lvalue)
    ]
    return {one.name for one in targets if isinstance(one, MemberExpr)}


def _bound_by_functions(file: Node | None) -> set[str]:
    """Return the attributes that functions bind, but for constructors, and the names that other functions may bind."""
    found: set[str] = set()
    for one in nodes_in.of(file):
        if isinstance(one, NonlocalDecl | GlobalDecl):
            found.update(one.names)
        elif isinstance(one, FuncDef) and one.name != "__init__":
            found |= _attributes_bound(nodes_in.of(one))
    return found


_bound_elsewhere = ScopeCache(_bound_by_functions)
