"""What an attribute holds, and the method that it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mypy.nodes import Decorator, FuncItem, MemberExpr, OverloadedFuncDef, Var
from mypy.types import FunctionLike, get_proper_type

from tapegrad.mypy.ownership import classes, container_methods, functions
from tapegrad.mypy.ownership.carriers import ANY, carries, is_container, result_of
from tapegrad.mypy.ownership.holders import entry, objects_in
from tapegrad.mypy.ownership.other_calls import CONSUMERS, forget
from tapegrad.mypy.ownership.state import NOTHING, Function, Ref, State, tapes, union

if TYPE_CHECKING:
    from mypy.types import Type

    from tapegrad.mypy.ownership.state import Holder, Value
    from tapegrad.mypy.ownership.walk import Walk


def attribute(walk: Walk, node: MemberExpr, owner: Value, state: State) -> Value:
    """Return what an attribute holds, or the function that a method is."""
    t = walk.type_of(node)
    owner_type = walk.type_of(node.expr)
    if node.name == "__dict__":
        forget(objects_in(owner), node, walk, state)
        return NOTHING
    if node.name in CONSUMERS and carries(owner_type) and tapes(owner):
        return frozenset([Function(node.name, (owner,), node)])
    if carries(owner_type) is not False and tapes(owner):
        if returns_tape(t):
            return frozenset([Function(functions.OP, (owner,), node)])
        return tapes(owner) if carries(t) else NOTHING
    if node.node is not None and isinstance(node.node, Var) and not tapes(owner) and not objects_in(owner):
        return _global(node.node, t, state)
    if node.name in container_methods.ADDING and is_container(owner_type):
        return frozenset([Function(node.name, (owner,), node)]) if objects_in(owner) else NOTHING
    member = classes.member(walk, node.expr, node.name)
    if isinstance(member, FuncItem | Decorator | OverloadedFuncDef):
        return classes.bound_or_read(walk, node, member, owner, state)
    if isinstance(member, Var) and member.is_initialized_in_class:
        read = classes.method_of(walk, node, member.type, "__get__", state.held.get(("name", member), NOTHING))
        if read:  # a descriptor of the file
            given = [functions.positional(one) for one in (owner, NOTHING)]
            return functions.call_all(walk, read, node, given, state)
    if isinstance(member, Var) and not objects_in(owner):
        return _global(member, t, state)  # an attribute of a class
    return union([field(walk, one, node.name, t, node, state) for one in objects_in(owner)])


def returns_tape(t: Type | None) -> bool:
    """Return whether a type is that of a function whose result has a tape, such as `loss.sum`."""
    p = get_proper_type(t) if t is not None else None
    return isinstance(p, FunctionLike) and any(carries(one.ret_type) is not False for one in p.items)


def _global(variable: Var, t: Type | None, state: State) -> Value:
    """Return what a name of another module holds, as in `settings.loss`."""
    holder: Holder = ("name", variable)
    held = state.held.get(holder)
    return entry(holder, t, state) if held is None else held


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
