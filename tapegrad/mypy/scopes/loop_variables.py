"""Which variables of a loop have values of one turn only: the loop passes nothing but numbers on to its next turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    AssignmentStmt,
    Block,
    CallExpr,
    DictExpr,
    Expression,
    FloatExpr,
    ForStmt,
    IfStmt,
    IndexExpr,
    IntExpr,
    ListExpr,
    MemberExpr,
    NameExpr,
    Node,
    OperatorAssignmentStmt,
    OpExpr,
    StrExpr,
    TupleExpr,
    UnaryExpr,
    Var,
    WhileStmt,
    WithStmt,
)
from mypy.types import Instance, LiteralType, get_proper_type

from tapegrad.mypy.mypy_api import enclosing_function, outermost_scope, stored_type
from tapegrad.mypy.scopes.names import ScopeCache, bound_by, inside, nodes_in, targets_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker

_NUMBERS: Final = {f"builtins.{name}" for name in ("bool", "float", "int", "str")}
ADDING: Final = {"add", "append", "appendleft", "extend", "insert", "push", "put", "setdefault", "update"}
_OF_NUMBERS: Final = {"bool", "float", "int", "len", "round", "str"}


class _Passed(NamedTuple):
    """What a loop may pass on to its next turn.

    Attributes:
        variables: Those that a turn may read before it binds them.
        stored: What is assigned to attributes and items, and put into collections.
    """

    variables: set[Node | None]
    stored: list[Expression]


def is_of_one_turn(variable: Node | None, api: Checker) -> bool:
    """Return whether the value of a variable of a loop, and all that is computed from it, is used in one turn only."""
    loops = _loops_around.of(enclosing_function(api) or outermost_scope(api)).get(variable, [])
    return bool(loops) and all(
        all(_holds_number(one) for one in loop.variables) and all(_is_number(one, api) for one in loop.stored)
        for loop in loops
    )


def _read_loops(scope: Node | None) -> dict[Node | None, list[_Passed]]:
    """Return, for each variable that loops bind, what these loops pass on."""
    found: dict[Node | None, list[_Passed]] = {}
    for loop in nodes_in.of(scope):
        if not isinstance(loop, ForStmt | WhileStmt):
            continue
        variables = {name for node in inside(loop) for name, _ in bound_by(node)}
        passed = _Passed(_passed_on(loop, variables), _stored(loop))
        for variable in variables:
            found.setdefault(variable, []).append(passed)
    return found


_loops_around = ScopeCache(_read_loops)


def _passed_on(loop: ForStmt | WhileStmt, variables: set[Node | None]) -> set[Node | None]:
    passed: set[Node | None] = set()
    bound: set[Node | None] = set()
    if isinstance(loop, ForStmt):
        bound |= _names(loop.index)
    else:
        _note_reads([loop.expr], variables, bound, passed)
    _follow(loop.body.body, variables, bound, passed)
    return passed


def _follow(
    statements: Iterable[Any], variables: set[Node | None], bound: set[Node | None], passed: set[Node | None]
) -> None:
    """Note what a turn may read before it binds it, and add to `bound` what it surely binds."""
    for statement in statements:
        match statement:
            case AssignmentStmt(lvalues=targets, rvalue=value):
                places = [one for one in targets_in(targets) if not isinstance(one, NameExpr)]
                _note_reads([value, *places], variables, bound, passed)
                bound |= _names(targets)
            case IfStmt(expr=conditions, body=blocks, else_body=otherwise):
                _note_reads(conditions, variables, bound, passed)
                ends = []
                for block in [*blocks, otherwise or Block([])]:
                    end = {*bound}
                    _follow(block.body, variables, end, passed)
                    ends.append(end)
                bound |= set.intersection(*ends)
            case ForStmt(index=target, expr=value, body=body, else_body=otherwise):
                _note_reads([value], variables, bound, passed)
                _follow(body.body, variables, bound | _names(target), passed)
                _follow(otherwise.body if otherwise is not None else [], variables, {*bound}, passed)
            case WithStmt(expr=managers, target=targets, body=body):
                _note_reads([*managers, *(one for one in targets if one is not None)], variables, bound, passed)
                _follow(body.body, variables, bound, passed)
            case _:
                _note_reads([statement], variables, bound, passed)


def _note_reads(
    nodes: Iterable[Any], variables: set[Node | None], bound: set[Node | None], passed: set[Node | None]
) -> None:
    for node in nodes:
        for one in inside(node):
            if isinstance(one, NameExpr) and one.node in variables and one.node not in bound:
                passed.add(one.node)


def _names(target: Any) -> set[Node | None]:
    return {one.node for one in targets_in(target) if isinstance(one, NameExpr)}


def _stored(loop: ForStmt | WhileStmt) -> list[Expression]:
    found: list[Expression] = []
    for node in inside(loop):
        match node:
            case AssignmentStmt(lvalues=targets, rvalue=value):
                is_stored = any(isinstance(one, IndexExpr | MemberExpr) for one in targets_in(targets))
                found += [value] if is_stored else []
            case OperatorAssignmentStmt(lvalue=IndexExpr() | MemberExpr(), rvalue=value):
                found.append(value)
            case CallExpr(callee=MemberExpr(name=name), args=args) if name in ADDING:
                found += args
    return found


def _is_number(expression: Expression, api: Checker) -> bool:
    match expression:
        case IntExpr() | FloatExpr() | StrExpr():
            return True
        case NameExpr(node=Var() as variable):
            return _holds_number(variable)
        case OpExpr(left=left, right=right):
            return _is_number(left, api) and _is_number(right, api)
        case UnaryExpr(expr=operand):
            return _is_number(operand, api)
        case TupleExpr(items=items) | ListExpr(items=items):
            return all(_is_number(one, api) for one in items)
        case DictExpr(items=pairs):
            return all(_is_number(one, api) for _, one in pairs)
        case CallExpr(callee=MemberExpr(name="item")):
            return True
        case CallExpr(callee=NameExpr(name=name)) if name in _OF_NUMBERS:
            return True
    return _is_type_of_number(stored_type(api, expression))


def _holds_number(variable: Node | None) -> bool:
    return isinstance(variable, Var) and _is_type_of_number(variable.type)


def _is_type_of_number(t: Type | None) -> bool:
    p = get_proper_type(t)
    return isinstance(p, LiteralType) or (isinstance(p, Instance) and p.type.fullname in _NUMBERS)
