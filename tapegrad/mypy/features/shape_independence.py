"""Loops and branches that may not run, but about which the shapes of tensors decide nothing.

An error in one, such as in the loop over `range(epochs)` or below `if step % 10 == 0:`, is an error of the program, as
it is where mypy checks the statements without a call. Whether others run, below `if mask is not None:` for example, may
depend on the tensors that the call passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    AssignmentStmt,
    CallExpr,
    ComparisonExpr,
    Expression,
    FloatExpr,
    ForStmt,
    FuncItem,
    IfStmt,
    IntExpr,
    MemberExpr,
    NameExpr,
    OpExpr,
    RefExpr,
    Statement,
    TupleExpr,
    UnaryExpr,
    Var,
    WithStmt,
)
from mypy.types import Instance, NoneType, get_proper_type

from tapegrad.mypy.conversion import ARRAY, tensor_parts
from tapegrad.mypy.features.body_lists import changed_lists, items_assigned
from tapegrad.mypy.mypy_api import type_in_body
from tapegrad.mypy.scopes.names import bound_by, inside, targets_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import Node
    from mypy.types import Type

    from tapegrad.mypy.mypy_api import Checker

_ARITHMETIC: Final = {"+", "-", "*", "/", "//", "%"}
_COMPARISONS: Final = {"<", "<=", ">", ">=", "==", "!="}
_PLAIN: Final = {f"builtins.{name}" for name in ("bool", "float", "int", "str")}
_SIZES: Final = {"ndim", "shape", "size"}


def counters_in(target: Expression, sequence: Expression) -> list[Var]:
    """Return the variable that counts the turns of a loop over `range(...)` or `enumerate(...)`."""
    match target, sequence:
        case NameExpr(node=Var() as variable), CallExpr(callee=RefExpr(fullname="builtins.range")):
            return [variable]
        case TupleExpr(items=[NameExpr(node=Var() as variable), _]), CallExpr(
            callee=RefExpr(fullname="builtins.enumerate")
        ):
            return [variable]
    return []


def is_counted(sequence: Expression) -> bool:
    """Return whether a loop runs over `range(...)` of numbers that are no sizes of tensors, as they are written."""
    match sequence:
        case CallExpr(callee=RefExpr(fullname="builtins.range"), args=bounds):
            nodes = [node for one in bounds for node in inside(one)]
            return not any(isinstance(node, CallExpr) or _may_be_size(node) for node in nodes)
        case CallExpr(callee=RefExpr(fullname="builtins.enumerate" | "tapegrad.progress.run.track"), args=[of, *_]):
            return is_counted(of)
    return False


def _may_be_size(part: Node) -> bool:
    """Return whether an expression is `x.shape`, or a variable of the body, which may be computed from it."""
    match part:
        case MemberExpr(name=name):
            return name in _SIZES
        case NameExpr(node=Var() as variable):
            return variable.fullname == variable.name and not variable.is_argument
    return False


def depends_on_no_shape(condition: Expression, counters: set[Var], api: Checker) -> bool:
    """Return whether a condition is one on the number of a turn, the value of a tensor or a random number.

    Args:
        condition: The condition.
        counters: The variables that count the turns of the loops around it.
        api: mypy's checker, which has checked the condition in the body that is read.
    """
    match condition:
        case UnaryExpr(op="not", expr=inner):
            return depends_on_no_shape(inner, counters, api)
        case OpExpr(op="and" | "or", left=left, right=right):
            return depends_on_no_shape(left, counters, api) and depends_on_no_shape(right, counters, api)
        case ComparisonExpr(operators=operators, operands=operands) if {*operators} <= _COMPARISONS:
            found = [_is_of_turn_or_value(one, counters, api) for one in operands]
            return None not in found and True in found
    return _is_of_turn_or_value(condition, counters, api) is True


def _is_of_turn_or_value(number: Expression, counters: set[Var], api: Checker) -> bool | None:
    """Return whether the number of a turn, a value or a random number is part of a number; None if it may be a size."""
    match number:
        case IntExpr() | FloatExpr():
            return False
        case NameExpr(node=Var() as variable):
            is_float = not variable.is_argument and _name_of_class(variable.type) == "builtins.float"
            return True if variable in counters else False if is_float else None
        case CallExpr(callee=MemberExpr(expr=owner, name=name), args=[]):
            return _is_value(owner, name, api) or None
        case OpExpr(op="%", left=left, right=NameExpr() | MemberExpr()):
            return _is_of_turn_or_value(left, counters, api) or None
        case OpExpr(op=sign, left=left, right=right) if sign in _ARITHMETIC:
            found = _is_of_turn_or_value(left, counters, api), _is_of_turn_or_value(right, counters, api)
            return None if None in found else True in found
    return None


def _is_value(owner: Expression, method: str, api: Checker) -> bool:
    """Return whether a method returns the value of a tensor or an array, or a random number."""
    if method == "random":
        of = type_in_body(api, owner)
        is_module = isinstance(owner, RefExpr) and owner.fullname in ("numpy.random", "random")
        return is_module or _name_of_class(of) in ("numpy.random._generator.Generator", "random.Random")
    t = type_in_body(api, owner) if method == "item" else None
    return t is not None and (tensor_parts(t) is not None or _name_of_class(t) == ARRAY)


def are_alike(target: Expression | None, body: list[Statement]) -> bool:
    """Return whether all turns of a loop find the same tensors: they use none that an earlier turn has made."""
    nodes = [node for statement in body for node in inside(statement)]
    if any(isinstance(one, MemberExpr) for node in nodes for one in targets_in(getattr(node, "lvalues", None))):
        return False
    of_turn = {one.node for one in targets_in(target) if isinstance(one, NameExpr)}
    bound = {name for node in nodes if not isinstance(node, FuncItem) for name, _ in bound_by(node)} - of_turn
    changed = changed_lists(body) | items_assigned(nodes)
    return all(_is_plain(one) or _is_bound_first(one, body) for one in bound | changed)


def _is_bound_first(name: Node | None, statements: Sequence[Statement]) -> bool:
    """Return whether statements use a name only after they have bound it."""
    using = [one for one in statements if _uses(one, name)]
    match using:
        case []:
            return True
        case [AssignmentStmt(lvalues=targets, rvalue=value), *_] if not _uses(value, name):
            return any(isinstance(one, NameExpr) and one.node is name for one in targets_in(targets))
        case [IfStmt(expr=conditions, body=blocks, else_body=otherwise)] if not _uses(conditions, name):
            every = [*blocks, *([] if otherwise is None else [otherwise])]
            return all(_is_bound_first(name, one.body) for one in every)
        case [WithStmt(expr=managers, body=block)] if not _uses(managers, name):
            return _is_bound_first(name, block.body)
        case [ForStmt(index=index, expr=sequence, body=block, else_body=None)] if not _uses(sequence, name):
            is_index = any(isinstance(one, NameExpr) and one.node is name for one in targets_in(index))
            return is_index or _is_bound_first(name, block.body)
    return False


def _uses(part: Any, name: Node | None) -> bool:
    return any(
        (isinstance(node, NameExpr) and node.node is name) or any(one is name for one, _ in bound_by(node))
        for node in inside(part)
    )


def _is_plain(name: Node | None) -> bool:
    return is_plain_type(name.type if isinstance(name, Var) else None)


def is_plain_type(t: Type | None) -> bool:
    """Return whether a type is that of a number, a text or None, which nothing can change."""
    return isinstance(get_proper_type(t), NoneType) or _name_of_class(t) in _PLAIN


def _name_of_class(t: Type | None) -> str:
    p = get_proper_type(t)
    return p.type.fullname if isinstance(p, Instance) else ""
