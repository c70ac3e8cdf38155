"""Calls: methods of tensors and tapes, functions of the file, which are followed, and all others, by their types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import (
    ArgKind,
    CallExpr,
    IndexExpr,
    MemberExpr,
    NameExpr,
    RefExpr,
    SuperExpr,
    TypeApplication,
    TypeInfo,
    Var,
)
from mypy.types import AnyType, Instance, get_proper_type

from tapegrad.mypy.conversion import tensor_parts
from tapegrad.mypy.ownership import (
    builtin_calls,
    classes,
    container_methods,
    context_managers,
    element_access,
    functions,
    generators,
    other_calls,
)
from tapegrad.mypy.ownership.attributes import attribute
from tapegrad.mypy.ownership.carriers import carries, fresh, is_container
from tapegrad.mypy.ownership.constants import constant_of
from tapegrad.mypy.ownership.holders import holder_of
from tapegrad.mypy.ownership.spelling import end_of, written
from tapegrad.mypy.ownership.state import (
    NOTHING,
    Argument,
    End,
    Function,
    Held,
    Ref,
    State,
    UnreachableError,
    tapes,
)

if TYPE_CHECKING:
    from tapegrad.mypy.ownership.state import Value
    from tapegrad.mypy.ownership.walk import Walk


def called(walk: Walk, node: CallExpr, state: State) -> Value:
    """Return what a call returns, after its effects.

    Raises:
        UnreachableError: mypy has not checked it, because no path leads there.
    """
    if node.analyzed is not None:
        return NOTHING
    if walk.type_of(node) is None:
        raise UnreachableError
    callee = node.callee
    if isinstance(callee, MemberExpr):
        owner = walk.value(callee.expr, state)
        given = arguments(walk, node, state)
        return _method(walk, node, callee, owner, given, state)
    if isinstance(callee, SuperExpr):
        given = arguments(walk, node, state)
        inherited = classes.super_method(walk, callee, state)
        if inherited:
            return functions.call_all(walk, inherited, node, given, state)
        found = _super_container(walk, node, callee, given, state)
        return found if found is not None else other_calls.unknown(walk, node, given, state)
    if isinstance(callee, IndexExpr) and isinstance(callee.analyzed, TypeApplication):
        callee = callee.analyzed.expr  # `Trainer` of `Trainer[int](...)`
    if isinstance(callee, NameExpr | MemberExpr) and isinstance(callee.node, TypeInfo):
        given = arguments(walk, node, state)
        return _made(walk, node, callee.node, given, state)
    function = walk.value(callee, state)
    if isinstance(callee, NameExpr) and callee.fullname == "builtins.next" and node.args:
        walk.single_turn = node.args[0]
    given = arguments(walk, node, state)
    return _function(walk, node, function, given, state)


def arguments(walk: Walk, node: CallExpr, state: State) -> list[Argument]:
    """Return the arguments of a call, evaluated in order."""
    values = walk.values(node.args, state)
    return [
        Argument(held, kind, name, one, constant_of(one, state))
        for held, one, kind, name in zip(values, node.args, node.arg_kinds, node.arg_names, strict=True)
    ]


def _function(walk: Walk, node: CallExpr, function: Value, given: list[Argument], state: State) -> Value:
    known = frozenset(one for one in function if isinstance(one, Function))
    found = builtin_calls.called(walk, node, getattr(node.callee, "fullname", "") or "", given, state)
    if found is not None:
        return found
    if known:
        return functions.call_all(walk, known, node, given, state)
    objects = frozenset(one for one in function if isinstance(one, Ref))
    callee_type = get_proper_type(walk.type_of(node.callee))
    if isinstance(callee_type, Instance) or objects:  # an object whose class has `__call__` is a function too
        method = classes.method_of(walk, node.callee, callee_type, "__call__", objects)
        if isinstance(callee_type, Instance) and callee_type.type.has_base("tapegrad.nn.module.Module"):
            method = classes.method_of(walk, node.callee, callee_type, "forward", objects)
        if method:
            return functions.call_all(walk, method, node, given, state)
    return other_calls.unknown(walk, node, given, state)


def _made(walk: Walk, node: CallExpr, info: TypeInfo, given: list[Argument], state: State) -> Value:
    """Return what a call of a class makes."""
    found = builtin_calls.called(walk, node, info.fullname, given, state)
    if found is not None:
        return found
    base = classes.container_base(walk, info)
    if base and classes.is_inherited(walk, walk.type_of(node), "__init__"):
        found = builtin_calls.called(walk, node, base, given, state)
        for one in found or ():
            if isinstance(one, Ref):
                walk.classes[one.site] = info
        return found or NOTHING
    if info.module_name == walk.file.fullname:
        return classes.constructed(walk, node, info, given, state)
    return other_calls.unknown(walk, node, given, state)


def _method(walk: Walk, node: CallExpr, callee: MemberExpr, owner: Value, given: list[Argument], state: State) -> Value:
    t = walk.type_of(callee.expr)
    if callee.name == "traced" and t is not None and tensor_parts(t) is not None:
        return _traced(walk, node, callee, owner, state)
    if tapes(owner) or tensor_parts(t or AnyType(0)) is not None or carries(t):
        return other_calls.tensor_method(walk, node, callee.name, owner, callee.expr, given, state)
    if isinstance(callee.node, TypeInfo):
        return _made(walk, node, callee.node, given, state)
    if callee.name == "cache_clear":
        functions.clear_cache(owner, state)
        return NOTHING
    if isinstance(callee.expr, RefExpr) and callee.node is not None and not isinstance(callee.node, Var) and not owner:
        return _function(walk, node, attribute(walk, callee, owner, state), given, state)
    if callee.name == "send" and len(given) == 1:
        generators.sent(walk, node, owner, given[0].value, state)
    if is_container(t) or classes.is_inherited(walk, t, callee.name):
        if callee.name in ("put", "put_nowait") and given and given[0].constant == (type(None), None):
            return NOTHING  # it is the end of a queue, not one of the elements that are used
        found = container_methods.method(walk, node, callee.name, owner, [one.value for one in given], state)
        if found is not None:
            _check_stored(walk, node, callee, given)
            return found
    info = classes.info_of(t)
    if info is not None and info.fullname in context_managers.STACKS:
        found = context_managers.stacked(walk, node, owner, callee.name, given, state)
        if found is not None:
            return found
    function = attribute(walk, callee, owner, state)
    known = frozenset(one for one in function if isinstance(one, Function))
    if known:
        return functions.call_all(walk, known, node, given, state)
    if any(isinstance(one, Ref) for one in function):
        return _function(walk, node, function, given, state)
    found = builtin_calls.called(walk, node, f".{callee.name}", given, state)
    if found is not None:
        return found
    if isinstance(classes.member(walk, callee.expr, callee.name), Var):
        return other_calls.unknown(walk, node, given, state)  # an attribute that is called, not a method
    return other_calls.unknown(walk, node, [*given, Argument(owner, ArgKind.ARG_POS, None, callee.expr)], state)


def _super_container(
    walk: Walk, node: CallExpr, callee: SuperExpr, given: list[Argument], state: State
) -> Value | None:
    """Return what `super().append(x)` returns in a class derived from a container; None if it is no such method."""
    if not classes.container_base(walk, callee.info):
        return None
    owner, values = classes.receiver_of_super(walk, state), [one.value for one in given]
    if callee.name == "__init__":
        for ref in (one for one in owner if isinstance(one, Ref)):
            container_methods.extend(ref, values[0], state) if values else None
        return NOTHING
    if callee.name == "__setitem__" and len(given) == 2:
        element_access.put(owner, node.args[0], values[1], state)
        return NOTHING
    if callee.name == "__getitem__" and len(given) == 1:
        return element_access.got(walk, node, owner, node.args[0], state)
    return container_methods.method(walk, node, callee.name, owner, values, state)


def _check_stored(walk: Walk, node: CallExpr, callee: MemberExpr, given: list[Argument]) -> None:
    """Report a consumed tensor that is added to a container of tensors with a tape."""
    p = get_proper_type(walk.type_of(callee.expr))
    is_added = callee.name in ("append", "add", "insert", "put", "appendleft") and given and not walk.calls
    if is_added and isinstance(p, Instance) and p.args and carries(p.args[-1]):
        walk.check(given[-1].value, node, given[-1].expression)


def _traced(walk: Walk, node: CallExpr, callee: MemberExpr, owner: Value, state: State) -> Value:
    """Follow `x.traced()`, after which `x` itself may not be used."""
    walk.check(owner, node, callee.expr)
    holder = holder_of(callee.expr, state)
    if holder is not None:
        end = End(node.line, end_of(node), written(node), written(callee.expr), by_traced=True)
        state.held[holder] = frozenset([Held(walk.site(node, "traced"), 0, end)])
    return fresh(walk.site(node), state)
