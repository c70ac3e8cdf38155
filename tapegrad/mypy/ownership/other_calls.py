"""Calls that are not followed: ops of the library, and functions of other files, which are known by their types."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import ArgKind, CallExpr, Expression, MemberExpr, RefExpr
from mypy.types import AnyType, CallableType, Instance, get_proper_type

from tapegrad.mypy.conversion import OWNED_TAPE, is_tape, tensor_parts
from tapegrad.mypy.mypy_api import depend_on_name, formals_of
from tapegrad.mypy.ownership import containers
from tapegrad.mypy.ownership.carriers import carries, carries_inside, fresh, is_container, may_hold, result_of
from tapegrad.mypy.ownership.consumed import is_consumed
from tapegrad.mypy.ownership.holders import source_of
from tapegrad.mypy.ownership.state import (
    EACH,
    EPOCH,
    NOTHING,
    Argument,
    Function,
    Held,
    Ref,
    State,
    UnreachableError,
    tapes,
    union,
)

if TYPE_CHECKING:
    from tapegrad.mypy.ownership.state import Value
    from tapegrad.mypy.ownership.walk import Walk


CONSUMERS: Final = frozenset({"backward", "execute"})


_FRESH: Final = frozenset({"trace", "with_empty_tape", "retaped"})


_VALUES: Final = frozenset({"item", "numpy", "tolist"})


_TAPE_METHODS: Final = frozenset({"append", "add_backward_op", "record"})


_REGISTERING: Final = frozenset(
    {"register", "signal", "connect", "subscribe", "setattr", "add_done_callback", "isinstance"}
)


_HARMLESS: Final = (
    "builtins.",
    "tapegrad.",
    "itertools.",
    "functools.",
    "copy.",
    "math.",
    "logging.",
    "typing.",
    "dataclasses.",
)


# Modules of the standard library bind no attribute of the objects that they get, and few of them change a list.
_READING: Final = sys.stdlib_module_names - {"heapq", "random", "bisect", "builtins", "this"}


def tensor_method(
    walk: Walk, node: CallExpr, name: str, owner: Value, receiver: Expression, given: list[Argument], state: State
) -> Value:
    """Return what a method of a tensor or a tape returns."""
    t = walk.type_of(node)
    if name in CONSUMERS:
        consuming(walk, node, owner, receiver, given, state)
        return NOTHING
    if name in _FRESH:
        walk.check_traced(owner, node, receiver)
        return fresh(walk.site(node), state) if carries(t) else NOTHING
    everything = [Argument(owner, ArgKind.ARG_POS, None, receiver), *given]
    if name == "split_tape":  # works on a consumed tape too
        return result_of(t, tapes(owner), tapes(owner), walk.site(node), state)
    if name in _TAPE_METHODS and not carries(t):
        for one in everything:
            walk.check(one.value, node, one.expression)
        return NOTHING
    returned = library(walk, node, everything, state)
    return NOTHING if name in _VALUES else returned  # of a tensor of unknown dtype, mypy takes a value for Any


def consuming(
    walk: Walk, node: Any, owner: Value, receiver: Expression | None, given: list[Argument], state: State
) -> None:
    """Follow a call of `backward` or `execute`, which consumes the tape unless `retain_tape` is given."""
    owner = walk.check(owner, node, source_of(receiver, state))
    retained = [one for one in given if one.name == "retain_tape"]
    if not retained or retained[0].constant == (bool, False):
        walk.consume(owner, node, source_of(receiver, state), state)


def library(walk: Walk, node: Any, given: list[Argument], state: State) -> Value:
    """Return what an op or a layer of the library returns: the tapes of all its operands."""
    t = walk.type_of(node)
    for one in given:
        walk.check_traced(one.value, node, one.expression)
    kept = functions_in(given)
    if (
        kept
        and isinstance(get_proper_type(t), CallableType | AnyType | Instance)
        and not is_container(t)
        and not carries(t)
    ):
        return kept  # a function that calls the given one, such as that of `jit`
    _hand_over(walk, node, given, state)
    if not may_hold(t):
        return NOTHING
    reached = [state.reachable(one.value) for one in given]
    does_carry = carries(t)
    # The result of a parameter that is declared as `Tensor` has a tape if the tensor that a call gives has one.
    if does_carry or (does_carry is None and tensor_parts(t or AnyType(0)) is not None and _records(walk, node)):
        held = union(
            tapes(walk.check(one, node, argument.expression)) for one, argument in zip(reached, given, strict=True)
        )
        held |= containers.merged([one.value for one in given], walk.site(node), state)
        return held or (fresh(walk.site(node), state) if does_carry else NOTHING)
    if carries_inside(t):
        for argument in given:
            walk.check(argument.value, node, argument.expression)
    held = union(tapes(one) for one in reached)
    return result_of(
        t, frozenset(one for one in held if isinstance(one, Held) and one.end is None), held, walk.site(node), state
    )


def _records(walk: Walk, node: Any) -> bool:
    """Return whether an expression is an op or a call of a layer, which need the tapes of their operands.

    Others do not, such as `level.inner(x)`, which returns a tensor of the level below.
    """
    match node:
        case CallExpr(callee=RefExpr(fullname=name)) if name.startswith("tapegrad.ops."):
            return True
        case CallExpr(callee=callee):
            of = walk.type_of(callee.expr) if isinstance(callee, MemberExpr) else None
            p = get_proper_type(walk.type_of(callee))
            is_layer = isinstance(p, Instance) and p.type.has_base("tapegrad.nn.module.Module")
            return is_layer or (of is not None and tensor_parts(of) is not None)
    return True


def functions_in(given: list[Argument]) -> Value:
    """Return the functions among arguments."""
    return frozenset(one for argument in given for one in argument.value if isinstance(one, Function))


def unknown(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return what a function of another file returns, as far as the types say."""
    declared = get_proper_type(walk.type_of(node.callee))
    name = getattr(node.callee, "fullname", "") or _owner_of(declared)
    if isinstance(declared, CallableType) and declared.definition is not None:
        name = name or declared.definition.fullname
        if not name.startswith(("builtins.", "tapegrad.")):
            depend_on_name(walk.api, declared.definition.fullname)
    if (
        name.startswith("tapegrad.")
        or (name.startswith("numpy.") and carries(walk.type_of(node)))  # NumPy calls the op
        or (isinstance(declared, Instance) and declared.type.has_base("tapegrad.nn.module.Module"))
    ):
        return library(walk, node, given, state)
    formals = formals_of(node, declared) if isinstance(declared, CallableType) else {}
    for argument in given:
        formal = formals.get(argument.expression)
        if formal is not None and is_consumed(formal):
            held = walk.check(argument.value, node, argument.expression)
            walk.consume(tapes(held), node, argument.expression, state)
        elif formal is not None and _asks_tape(formal):
            walk.check(argument.value, node, argument.expression)
    returned = _shared(walk, node, given, state)
    if not name.startswith(_HARMLESS):
        _hand_over(walk, node, given, state)
        if name.split(".")[0] not in _READING:
            forget([one for argument in given for one in argument.value if isinstance(one, Ref)], node, walk, state)
    return returned


def _asks_tape(formal: Any) -> bool:
    """Return whether a parameter is declared as a tensor with an `OwnedTape`."""
    parts = tensor_parts(formal)
    return parts is not None and is_tape(parts.tape, OWNED_TAPE)


def _owner_of(declared: Any) -> str:
    return declared.type.fullname if isinstance(declared, Instance) else ""


def _shared(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return what a result shares with the arguments: all of their tapes that are not consumed."""
    t = walk.type_of(node)
    if not may_hold(t):
        return NOTHING
    if carries(t) is None and not tensor_parts(t or AnyType(0)):
        kept = functions_in(given)
        if kept:
            return kept
    held = union(tapes(state.reachable(one.value)) for one in given)
    alive = frozenset(one for one in held if isinstance(one, Held) and one.end is None)
    if carries(t):
        return alive or fresh(walk.site(node), state)
    boxes = [one.value for one in given if any(isinstance(held, Ref) for held in one.value)]
    shared = union(tapes(one.value) for one in given)
    if len(boxes) == 1:
        shared |= containers.common(boxes[0], state)
    if is_container(t) and len(boxes) == 1 and not shared:
        return containers.copied(boxes[0], walk.site(node), state)
    return result_of(t, alive, shared, walk.site(node), state)


def _hand_over(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> None:
    """Follow the functions that a call is given: unknown code may call each of them."""
    if getattr(node.callee, "name", "") in _REGISTERING:
        return
    for position, argument in enumerate(given):
        for one in argument.value:
            if isinstance(one, Function):
                call_from_unknown(walk, one, node, given[position + 1 :], state)


def forget(objects: list[Ref], node: Any, walk: Walk, state: State) -> None:
    """Forget what is known of objects, because code that is not followed may bind their attributes."""
    for one in objects:
        is_box = any(name.startswith("[") for name, _ in state.fields(one))
        state.drop(one)
        if is_box:
            state.put((*one, EACH), NOTHING)
        state.held[*one, EPOCH] = frozenset([Ref(walk.site(node), 0)])


def call_from_unknown(walk: Walk, function: Function, node: Any, rest: list[Argument], state: State) -> None:
    """Follow a function that unknown code calls, with the arguments that follow it: `submit(f, x)`."""
    passed = [one for one in rest if one.kind == ArgKind.ARG_POS or one.name == "args"]
    given: list[Argument] = []
    for one in passed:
        if one.name == "args":
            parts = containers.elements(one.value, state) or []
            given += [Argument(part, ArgKind.ARG_POS, None, one.expression) for part in parts]
        else:
            given.append(one)
    try:
        walk.call(function, node, given if function.node not in CONSUMERS else [], state)
    except UnreachableError:
        return
