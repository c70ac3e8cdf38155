"""What an expression holds, and what it does to the tapes of other holders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import (
    AssignmentExpr,
    AwaitExpr,
    CallExpr,
    CastExpr,
    ComparisonExpr,
    ConditionalExpr,
    Decorator,
    DictExpr,
    DictionaryComprehension,
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
from mypy.types import Instance, TupleType, UninhabitedType, UnionType, get_proper_type

from tapegrad.mypy.ownership import calls, classes, containers, element_access, loops, other_calls, statements
from tapegrad.mypy.ownership.carriers import ANY, carries, fresh, is_container, may_hold, result_of
from tapegrad.mypy.ownership.state import (
    COMMON,
    EACH,
    EPOCH,
    NOTHING,
    Function,
    Held,
    Ref,
    State,
    UnreachableError,
    joined,
    tapes,
    union,
)
from tapegrad.mypy.scopes.names import parts_of

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.types import Type

    from tapegrad.mypy.ownership.state import Holder, Site, Value
    from tapegrad.mypy.ownership.walk import Walk


def value(walk: Walk, node: Any, state: State) -> Value:
    """Return what an expression holds, after its effects on the state.

    Raises:
        UnreachableError: The expression never returns.
    """
    walk.step()
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
            taken = state.copy()
            first, second = branch(walk, then, taken), branch(walk, otherwise, state)
            state.become(joined([state, taken]))
            return first | second
        case AssignmentExpr(target=target, value=bound):
            held = walk.value(bound, state)
            statements.bind(walk, target, held, state, bound)
            return held
        case LambdaExpr():
            return frozenset([Function(node, (), node)])
        case AwaitExpr(expr=awaited) | CastExpr(expr=awaited):
            held = walk.value(awaited, state)
            return containers.awaited(walk, node, held, state)
        case YieldExpr(expr=given):
            if given is not None:
                held = walk.check(walk.value(given, state), node, given)
                if walk.frame.at_yield is not None:
                    walk.frame.at_yield(held, state)
                if walk.frame.made is not None:
                    containers.append(walk.frame.made, held, state)
            return NOTHING
        case YieldFromExpr(expr=given):
            held = walk.value(given, state)
            if walk.frame.made is not None:
                for one in containers.all_elements(held, state):
                    state.add(walk.frame.made, one)
            return NOTHING
        case StarExpr(expr=starred):
            return walk.value(starred, state)
        case SuperExpr():
            return NOTHING
    found = [walk.value(one, state) for one in _flat(parts_of(node))]
    return union(found) if carries(walk.type_of(node)) else NOTHING


def branch(walk: Walk, expression: Any, state: State) -> Value:
    """Evaluate an expression that may be skipped, such as the right side of `and`."""
    taken = state.copy()
    try:
        found = walk.value(expression, taken)
    except UnreachableError:
        return NOTHING
    state.become(joined([state, taken]))
    return found


def _flat(parts: Any) -> list[Any]:
    if isinstance(parts, list | tuple):
        return [one for part in parts if part is not None for one in _flat(part)]
    return [parts]


def _name(walk: Walk, node: NameExpr, state: State) -> Value:
    target = node.node
    if isinstance(target, Decorator | FuncItem | OverloadedFuncDef):
        return classes.function_named(walk, target, node, state)
    if not isinstance(target, Var):
        return NOTHING
    holder: Holder = ("name", target)
    held = state.held.get(holder)
    if held is None:
        held = entry(holder, walk.type_of(node) or target.type, state)
    return held


def entry(holder: Holder, t: Type | None, state: State) -> Value:
    """Return what something holds that was bound before the walk began, the same at each read."""
    if not may_hold(t) or t is None:
        return NOTHING
    epoch = state.held.get((*holder[:2], EPOCH)) if len(holder) == 3 else None
    held = state.held[holder] = _before(t, (*holder, epoch), state)
    return held


def _before(t: Type, site: Site, state: State, age: int = 0) -> Value:
    """Return what a value of a type holds that was made before the walk began."""
    p = get_proper_type(t)
    if isinstance(p, UnionType):
        return union(_before(item, site, state, age) for item in p.items)
    if not may_hold(p) or len(site) > 8:  # a type may contain itself
        return NOTHING
    is_tape = carries(p)
    if is_tape is not False:
        return frozenset([Held(site, age, None)]) if is_tape else NOTHING
    made = Ref(site, 0)
    if isinstance(p, TupleType):
        for number, item in enumerate(p.items):
            state.held[*made, f"[{number}]"] = _before(item, (*site, number), state, age)
    elif isinstance(p, Instance) and is_container(p) and p.args:
        state.held[*made, EACH] = _before(p.args[-1], (*site, EACH), state, 1)
        state.held[*made, COMMON] = NOTHING
    return frozenset([made])


def attribute(walk: Walk, node: MemberExpr, owner: Value, state: State) -> Value:
    """Return what an attribute holds, or the function that a method is."""
    t = walk.type_of(node)
    owner_type = walk.type_of(node.expr)
    if node.name in other_calls.CONSUMERS and carries(owner_type) and tapes(owner):
        return frozenset([Function(node.name, (owner,), node)])
    if carries(owner_type) is not False and tapes(owner):
        return tapes(owner) if carries(t) else NOTHING
    if node.node is not None and isinstance(node.node, Var) and not tapes(owner) and not _objects(owner):
        return _global(node.node, t, state)
    member = classes.member(walk, node.expr, node.name)
    if isinstance(member, FuncItem | Decorator | OverloadedFuncDef):
        return classes.bound_or_read(walk, node, member, owner, state)
    if isinstance(member, Var) and not _objects(owner):
        return _global(member, t, state)  # an attribute of a class
    return union([field(walk, one, node.name, t, node, state) for one in _objects(owner)])


def _global(variable: Var, t: Type | None, state: State) -> Value:
    """Return what a name of another module holds, as in `settings.loss`."""
    holder: Holder = ("name", variable)
    held = state.held.get(holder)
    return entry(holder, t, state) if held is None else held


def _objects(owner: Value) -> list[Ref]:
    return [one for one in owner if isinstance(one, Ref)]


def field(walk: Walk, owner: Ref, name: str, t: Type | None, node: Any, state: State) -> Value:
    """Return what an attribute of an object holds."""
    holder: Holder = (*owner, name)
    held = state.held.get(holder)
    if held is not None:
        return held
    somewhere = state.held.get((*owner, ANY))
    if somewhere is not None:
        held = result_of(t, somewhere, NOTHING, (*holder, "field"), state)
        state.held[holder] = held
        return held
    default = classes.class_default(walk, getattr(node, "expr", None), name, state)
    if default is not None:
        return default
    return entry(holder, t, state)


def operation(walk: Walk, node: Any, operands: list[Any], state: State) -> Value:
    """Return what an operator's result holds: the tapes of all its operands."""
    flat = _flat(operands)
    held = [walk.value(one, state) for one in flat]
    t = walk.type_of(node.lvalue if isinstance(node, OperatorAssignmentStmt) else node)
    for one, operand in zip(held, flat, strict=True):
        walk.check_traced(one, node, operand)
    if is_container(t):
        return containers.combined(walk, node, flat, held, t, state)
    if not carries(t):
        return union(held) if carries(t) is None else NOTHING
    return union(tapes(walk.check(one, node, operand)) for one, operand in zip(held, flat, strict=True))


def made_by(walk: Walk, node: Any, state: State) -> Value:
    """Return what an expression holds that is another tape at each evaluation."""
    return fresh(walk.site(node), state) if carries(walk.type_of(node)) else NOTHING


def operands_of(node: Any) -> list[Any]:
    """Return the operands, arguments or elements of an expression."""
    if isinstance(node, CallExpr):
        return [*([node.callee.expr] if isinstance(node.callee, MemberExpr) else []), *node.args]
    return _flat(parts_of(node))


def holder_of(walk: Walk, node: Expression, state: State) -> Holder | None:
    """Return what a name, an attribute or an element with a constant index refers to; None for anything else."""
    match node:
        case NameExpr(node=Var()):
            return ("name", node.node)
        case MemberExpr(expr=owner, name=name):
            objects = _objects(_quiet(walk, owner, state))
            return (*objects[0], name) if len(objects) == 1 else None
        case IndexExpr(base=base, index=IntExpr() | StrExpr()):
            objects = _objects(_quiet(walk, base, state))
            return (*objects[0], containers.label(node.index)) if len(objects) == 1 else None
    return None


def _quiet(walk: Walk, node: Expression, state: State) -> Value:
    """Return what a name or an attribute holds, without calling a property."""
    if isinstance(node, NameExpr) and isinstance(node.node, Var):
        return state.held.get(("name", node.node), NOTHING)
    holder = holder_of(walk, node, state)
    return state.held.get(holder, NOTHING) if holder is not None else NOTHING
