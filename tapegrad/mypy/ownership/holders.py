"""What a name, an attribute or an element refers to, and what it held before the walk began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import CallExpr, Expression, IndexExpr, IntExpr, MemberExpr, NameExpr, StrExpr, UnaryExpr, Var
from mypy.types import Instance, TupleType, UnionType, get_proper_type

from tapegrad.mypy.ownership.carriers import carries, is_container, may_hold
from tapegrad.mypy.ownership.state import COMMON, EACH, EPOCH, NOTHING, Held, Ref, State, tapes, union
from tapegrad.mypy.scopes.names import parts_of

if TYPE_CHECKING:
    from mypy.types import Type

    from tapegrad.mypy.ownership.state import Holder, Site, Value


def label(index: Any) -> str:
    """Return the name of an element with a constant index or key."""
    if isinstance(index, UnaryExpr) and index.op == "-" and isinstance(index.expr, IntExpr):
        return f"[-{index.expr.value}]"
    return f"[{index.value!r}]" if isinstance(index, IntExpr | StrExpr) else EACH


def holder_of(node: Expression, state: State) -> Holder | None:
    """Return what a name, an attribute or an element with a constant index refers to; None for anything else."""
    match node:
        case NameExpr(node=Var()):
            return ("name", node.node)
        case MemberExpr(expr=owner, name=name):
            objects = objects_in(_quiet(owner, state))
            return (*objects[0], name) if len(objects) == 1 else None
        case IndexExpr(base=base, index=IntExpr() | StrExpr()):
            objects = objects_in(_quiet(base, state))
            return (*objects[0], label(node.index)) if len(objects) == 1 else None
    return None


def _quiet(node: Expression, state: State) -> Value:
    """Return what a name or an attribute holds, without calling a property."""
    if isinstance(node, NameExpr) and isinstance(node.node, Var):
        return state.held.get(("name", node.node), NOTHING)
    holder = holder_of(node, state)
    return state.held.get(holder, NOTHING) if holder is not None else NOTHING


def objects_in(owner: Value) -> list[Ref]:
    """Return the objects of a value."""
    return [one for one in owner if isinstance(one, Ref)]


def source_of(node: Expression | None, state: State) -> Expression | None:
    """Return the name from which an expression has its tapes, for the message: `loss` of `(2.0 * loss)`."""
    if isinstance(node, NameExpr | MemberExpr) or node is None:
        return node
    inner = operands_of(node)
    named = [one for one in (source_of(one, state) for one in inner) if one is not None]
    for one in named:
        holder = holder_of(one, state)
        if holder is not None and tapes(state.held.get(holder, NOTHING)):
            return one
    return node


def operands_of(node: Any) -> list[Any]:
    """Return the operands, arguments or elements of an expression."""
    if isinstance(node, CallExpr):
        return [*([node.callee.expr] if isinstance(node.callee, MemberExpr) else []), *node.args]
    return flat(parts_of(node))


def flat(parts: Any) -> list[Any]:
    """Return parts, and parts of parts, as one list."""
    if isinstance(parts, list | tuple):
        return [one for part in parts if part is not None for one in flat(part)]
    return [parts]


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
