"""What an expression holds, and what it does to the tapes of other holders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    AssignmentExpr,
    AwaitExpr,
    BytesExpr,
    CallExpr,
    CastExpr,
    ComparisonExpr,
    ComplexExpr,
    ConditionalExpr,
    Decorator,
    DictExpr,
    DictionaryComprehension,
    EllipsisExpr,
    FloatExpr,
    FuncItem,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    NameExpr,
    OperatorAssignmentStmt,
    OpExpr,
    OverloadedFuncDef,
    SetComprehension,
    SetExpr,
    StarExpr,
    StrExpr,
    SuperExpr,
    TupleExpr,
    UnaryExpr,
    Var,
    YieldExpr,
    YieldFromExpr,
)
from mypy.types import UninhabitedType, get_proper_type

from tapegrad.mypy.conversion import tensor_parts
from tapegrad.mypy.ownership import calls, classes, containers, element_access, functions, loops, tables
from tapegrad.mypy.ownership.attributes import attribute
from tapegrad.mypy.ownership.carriers import carries, is_container
from tapegrad.mypy.ownership.conditions import truth
from tapegrad.mypy.ownership.holders import entry, flat
from tapegrad.mypy.ownership.state import (
    NOTHING,
    Function,
    State,
    UnreachableError,
    branched_values,
    tapes,
    union,
)
from tapegrad.mypy.scopes.names import parts_of

if TYPE_CHECKING:
    from tapegrad.mypy.ownership.state import Holder, Value
    from tapegrad.mypy.ownership.walk import Walk


_LITERALS: Final = frozenset({IntExpr, FloatExpr, StrExpr, BytesExpr, ComplexExpr, EllipsisExpr})
_METHODS: Final = {
    "+": "__add__",
    "-": "__sub__",
    "*": "__mul__",
    "/": "__truediv__",
    "@": "__matmul__",
    "|": "__or__",
    "&": "__and__",
    "<<": "__lshift__",
    ">>": "__rshift__",
}


def value(walk: Walk, node: Any, state: State) -> Value:
    """Return what an expression holds, after its effects on the state.

    Raises:
        UnreachableError: The expression never returns.
    """
    walk.step()
    if type(node) in _LITERALS:
        return NOTHING
    match node:
        case NameExpr():
            return _name(walk, node, state)
        case CallExpr():
            found = calls.called(walk, node, state)
            if isinstance(get_proper_type(walk.type_of(node)), UninhabitedType):
                raise UnreachableError
            return found
        case MemberExpr():
            return attribute(walk, node, walk.value(node.expr, state), state)
        case OpExpr(op="and" | "or"):
            left = walk.value(node.left, state)
            return left | branch(walk, node.right, state)
        case OpExpr(op=op) if op in _METHODS and classes.info_of(walk.type_of(node.left)) in classes.in_file(walk):
            left, right = walk.value(node.left, state), walk.value(node.right, state)
            method = classes.method_of(walk, node.left, walk.type_of(node.left), _METHODS[op], left)
            if method:
                return functions.call_all(walk, method, node, [functions.positional(right)], state)
            return NOTHING
        case OpExpr() | ComparisonExpr() | UnaryExpr():
            return operation(walk, node, parts_of(node), state)
        case IndexExpr():
            return element_access.item(walk, node, state)
        case TupleExpr() | ListExpr() | SetExpr() | DictExpr():
            return containers.display(walk, node, state)
        case ListComprehension(generator=inner) | SetComprehension(generator=inner):
            return loops.comprehension(walk, node, inner, state)
        case GeneratorExpr() | DictionaryComprehension():
            return loops.comprehension(walk, node, node, state)
        case ConditionalExpr(cond=condition, if_expr=then, else_expr=otherwise):
            walk.value(condition, state)
            holds = truth(walk, condition, state)
            if holds is not None:
                return walk.value(then if holds else otherwise, state)
            taken = state.copy()
            held, after = branched_values([(branch(walk, then, taken), taken), (branch(walk, otherwise, state), state)])
            state.become(after)
            return held
        case AssignmentExpr(target=target, value=bound):
            held = walk.value(bound, state)
            walk.bind(target, held, state, bound)
            return held
        case LambdaExpr():
            return frozenset([Function(node, (), node)])
        case AwaitExpr(expr=awaited) | CastExpr(expr=awaited):
            held = walk.value(awaited, state)
            return containers.awaited(walk, node, held, state)
        case YieldExpr(expr=given):
            held = walk.check(walk.value(given, state), node, given) if given is not None else NOTHING
            if walk.frame.at_yield is not None:
                walk.frame.at_yield(held, state)
            if given is not None and walk.frame.made is not None:
                containers.yielded(walk.frame.made, held, state)
            if walk.frame.made is not None:
                walk.frame.yields.append(state.copy())
            return NOTHING
        case YieldFromExpr(expr=given):
            held = walk.value(given, state)
            if walk.frame.made is not None:
                containers.delegated(walk.frame.made, held, state)
                walk.frame.yields.append(state.copy())
            return NOTHING
        case StarExpr(expr=starred):
            return walk.value(starred, state)
        case SuperExpr():
            return NOTHING
    found = [walk.value(one, state) for one in flat(parts_of(node))]
    return union(found) if carries(walk.type_of(node)) else NOTHING


def branch(walk: Walk, expression: Any, state: State) -> Value:
    """Evaluate an expression that may be skipped, such as the right side of `and`."""
    taken = state.copy()
    try:
        found = walk.value(expression, taken)
    except UnreachableError:
        return NOTHING
    held, after = branched_values([(found, taken), (NOTHING, state)])
    state.become(after)
    return held


def _name(walk: Walk, node: NameExpr, state: State) -> Value:
    target = node.node
    if isinstance(target, Decorator | FuncItem | OverloadedFuncDef):
        return classes.function_named(walk, target, node, state)
    if not isinstance(target, Var):
        return NOTHING
    holder: Holder = ("name", target)
    held = state.held.get(holder)
    if held is None:
        tables.fill(walk, target, target.type, state)
        held = state.held.get(holder)
    if held is None:
        held = entry(holder, walk.type_of(node) or target.type, state)
    return held


def operation(walk: Walk, node: Any, operands: list[Any], state: State) -> Value:
    """Return what an operator's result holds: the tapes of all its operands."""
    parts = flat(operands)
    held = walk.values(parts, state)
    t = walk.type_of(node.lvalue if isinstance(node, OperatorAssignmentStmt) else node)
    for one, operand in zip(held, parts, strict=True):
        walk.check_traced(one, node, operand)
    if is_container(t):
        return containers.combined(walk, node, parts, held, t, state)
    if carries(t) is False:
        return NOTHING
    if carries(t) is None:
        for one, operand in zip(held, parts, strict=True) if not isinstance(node, ComparisonExpr) else ():
            of = walk.type_of(operand)
            if of is not None and tensor_parts(of) is not None:
                walk.check(one, node, operand)
        return union(held)
    return union(tapes(walk.check(one, node, operand)) for one, operand in zip(held, parts, strict=True))
