"""Dictionaries of options that a program changes key by key before it uses them, as by `options.pop("batch")`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mypy.nodes import (
    ARG_NAMED,
    ARG_POS,
    ARG_STAR2,
    AssignmentStmt,
    Block,
    CallExpr,
    ComparisonExpr,
    ConditionalExpr,
    DelStmt,
    DictionaryComprehension,
    ExpressionStmt,
    FuncItem,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    Node,
    ReturnStmt,
    StrExpr,
    Var,
)

from tapegrad.mypy.mypy_api import checked_file
from tapegrad.mypy.scopes.collections import Use, collection_of, targets_bound, use_in
from tapegrad.mypy.scopes.names import ScopeCache, children_of, inside, is_short_circuit, nodes_in, parts_of

if TYPE_CHECKING:
    from tapegrad.mypy.mypy_api import Checker

Change: TypeAlias = "CallExpr | AssignmentStmt | DelStmt"  # of one or more keys of a dictionary
_Place: TypeAlias = tuple[int, int, int]  # the index of the statement in its block, the line and the column

_CHANGING: Final = frozenset({"pop", "setdefault", "update"})
_CONDITIONAL: Final = ComparisonExpr, ConditionalExpr, DictionaryComprehension, FuncItem, GeneratorExpr
_LAST: Final = 1 << 40  # behind all lines


class _History(NamedTuple):
    """What a file does with the dictionary in a variable, in the block in which it is made.

    Attributes:
        changes: Those that surely happen, one after the other, each with its place.
        uses: The places of the uses behind the statement that makes the dictionary.
    """

    changes: list[tuple[_Place, Change]]
    uses: dict[NameExpr, _Place]


def changes_before(use: NameExpr, api: Checker) -> list[Change] | None:
    """Return what changes a dictionary in a variable before it is used, in order; None if that is not certain.

    All changes are statements of the block that binds the variable, and the use is behind that statement.
    """
    history = _histories.of(checked_file(api)).get(use.node)
    place = None if history is None else history.uses.get(use)
    if history is None or place is None:
        return None
    return [change for at, change in history.changes if at <= place]


def _read_histories(file: Node | None) -> dict[Node | None, _History | None]:
    """Return the histories of the variables in a file whose dictionaries change; None for those that are unclear."""
    changed = {base.node for node in nodes_in.of(file) for base in _changed_by(node)}
    if not changed:
        return {}
    found: dict[Node | None, _History | None] = {}
    for node in nodes_in.of(file):
        body: list[Any] = node.body if isinstance(node, Block) else node.defs if isinstance(node, MypyFile) else []
        for position, statement in enumerate(body):
            match statement:
                case AssignmentStmt(lvalues=[NameExpr(node=Var() as variable)]) if variable in changed:
                    is_first = variable not in found
                    found[variable] = _history(variable, body, position) if is_first else None
    for node in nodes_in.of(file):
        for variable in _unclear_in(node, found):
            found[variable] = None
    return found


def _unclear_in(node: Any, histories: dict[Node | None, _History | None]) -> list[Node | None]:
    """Return the variables with histories whose dictionaries a node may change in another way, or give another name."""
    unclear: list[Node | None] = []
    for child in children_of(node, NameExpr):
        history = histories.get(child.node)
        if history is not None and not _is_clear(node, child, history):
            unclear.append(child.node)
    for target in targets_bound(node):
        history = histories.get(getattr(collection_of(target), "node", None))
        if isinstance(target, IndexExpr) and history is not None and node not in [one for _, one in history.changes]:
            unclear.append(getattr(collection_of(target), "node", None))
        unclear += [base.node for part in inside(target) for base in _changed_by(part)]
    return unclear


def _history(variable: Var, body: list[Any], start: int) -> _History:
    history = _History([], {})
    for position, statement in enumerate(body[start + 1 :], start + 1):
        for node in _without_functions(statement):
            if isinstance(node, NameExpr) and node.node is variable:
                history.uses[node] = position, node.line, node.column
        calls = [node for node in _evaluated(statement) if variable in {base.node for base in _changed_by(node)}]
        calls.sort(key=lambda node: (node.end_line or node.line, node.end_column or node.column))
        history.changes.extend(
            ((position, call.end_line or call.line, call.end_column or call.column), call) for call in calls
        )
        if any(base.node is variable for base in _changed_by(statement)):
            history.changes.append(((position, _LAST, 0), statement))
    return history


def _changed_by(node: Any) -> list[NameExpr]:
    """Return the variables whose dictionaries a node changes by keys that are written."""
    match node:
        case CallExpr(
            callee=MemberExpr(expr=NameExpr() as base, name="pop" | "setdefault"), args=[StrExpr() | IntExpr(), *_]
        ):
            return [base] if {*node.arg_kinds} == {ARG_POS} else []
        case CallExpr(callee=MemberExpr(expr=NameExpr() as base, name="update"), arg_kinds=kinds):
            return [base] if {*kinds} <= {ARG_POS, ARG_NAMED, ARG_STAR2} else []
        case AssignmentStmt(lvalues=[IndexExpr(base=NameExpr() as base, index=StrExpr() | IntExpr())]):
            return [base]
        case DelStmt(expr=IndexExpr(base=NameExpr() as base, index=StrExpr() | IntExpr())):
            return [base]
    return []


def _evaluated(statement: Any) -> list[CallExpr]:
    """Return the calls that a plain statement surely evaluates."""
    value = statement.rvalue if isinstance(statement, AssignmentStmt) else None
    value = statement.expr if isinstance(statement, ExpressionStmt | ReturnStmt) else value
    found: list[CallExpr] = []
    pending: list[Any] = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, list | tuple):
            pending += node
        elif node is not None and not isinstance(node, _CONDITIONAL) and not is_short_circuit(node):
            found += [node] if isinstance(node, CallExpr) else []
            pending += parts_of(node)
    return found


def _without_functions(statement: Any) -> list[Any]:
    """Return the parts of a statement, without those of functions in it, which may run later."""
    nodes = inside(statement)
    inner = {one for node in nodes if isinstance(node, FuncItem) for one in inside(node)}
    return [node for node in nodes if node not in inner]


def _is_clear(node: Any, child: NameExpr, history: _History) -> bool:
    """Return whether an expression or a statement leaves a dictionary as it is, or changes it in a known way."""
    match node:
        case MemberExpr(name=name) if name in _CHANGING:
            return any(isinstance(change, CallExpr) and change.callee is node for _, change in history.changes)
        case ReturnStmt():
            return child in history.uses  # not in an inner function, whose caller may then change it
    return use_in(node, child) is Use.READ


_histories = ScopeCache(_read_histories)
