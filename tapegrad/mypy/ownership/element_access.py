"""Elements that are read and bound: `x[i]`, slices, `x[i] = y`, `del x[i]`, and unpacking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    IndexExpr,
    IntExpr,
    ListExpr,
    NameExpr,
    SliceExpr,
    StarExpr,
    TupleExpr,
    UnaryExpr,
)
from mypy.types import Instance, TupleType, get_proper_type

from tapegrad.mypy.ownership import classes, container_methods, containers, functions
from tapegrad.mypy.ownership.carriers import carries, fresh, is_container, is_mapping, may_hold, new_object
from tapegrad.mypy.ownership.constants import constant_of, place_of
from tapegrad.mypy.ownership.holders import label
from tapegrad.mypy.ownership.state import EACH, KNOWN, MAKES, NOTHING, Ref, tapes

if TYPE_CHECKING:
    from mypy.nodes import Expression
    from mypy.types import Type

    from tapegrad.mypy.ownership.state import State, Value
    from tapegrad.mypy.ownership.walk import Walk


def targets(target: Any) -> list[Any]:
    """Return the targets of a `del` statement."""
    return target.items if isinstance(target, TupleExpr) else [target]


def item(walk: Walk, node: IndexExpr, state: State) -> Value:
    """Return what `x[i]` holds."""
    if node.analyzed is not None:
        return NOTHING
    source, t = walk.value(node.base, state), walk.type_of(node)
    walk.value(node.index, state)
    if tapes(source):
        return tapes(walk.check(source, node, node.base)) if carries(t) else NOTHING
    if not may_hold(t):
        return NOTHING
    if not is_container(walk.type_of(node.base)):
        method = classes.method_of(walk, node.base, walk.type_of(node.base), "__getitem__", source)
        if method:
            key = functions.positional(NOTHING)._replace(constant=constant_of(node.index, state))
            return functions.call_all(walk, method, node, [key], state)
    if isinstance(node.index, SliceExpr):
        return _sliced(walk, node, node.index, source, state)
    name = place_of(node.index, state)
    if name != EACH and not is_mapping(t) and _is_new_key(name, source, state):
        return _made_when_read(name, source, t, state)
    is_known = any(isinstance(one, Ref) and (*one, name) in state.held for one in source)
    if isinstance(node.index, NameExpr) and not is_known and _makes_elements(walk.type_of(node.base)):
        name = EACH  # all that it makes for unknown keys is known as one
    if name != EACH:
        found = containers.at(source, name, state) or _missing(walk, node, source, state)
        return found or _made_when_read(name, source, t, state)
    found = containers.element(source, walk.site(node), state)
    if tapes(found):
        state.held["element", node] = found  # a loop over all positions marks the container by it
    if not found and carries(t) and not any(isinstance(one, Ref) for one in source):
        return fresh(walk.site(node), state)
    return found


def got(walk: Walk, node: Any, owner: Value, index: Any, state: State) -> Value:
    """Return what an element of a container holds."""
    name = place_of(index, state)
    return containers.at(owner, name, state) if name != EACH else containers.element(owner, walk.site(node), state)


def _missing(walk: Walk, node: IndexExpr, source: Value, state: State) -> Value:
    """Return what `__missing__` of a class of the file makes for a key that is not there."""
    t = walk.type_of(node.base)
    method = classes.method_of(walk, node.base, t, "__missing__", source) if not is_container(t) else NOTHING
    key = functions.positional(NOTHING)._replace(constant=constant_of(node.index, state))
    return functions.call_all(walk, method, node, [key], state) if method else NOTHING


def _makes_elements(t: Type | None) -> bool:
    p = get_proper_type(t) if t is not None else None
    return isinstance(p, Instance) and p.type.fullname == "collections.defaultdict"


def _is_new_key(name: str, source: Value, state: State) -> bool:
    """Return whether a `defaultdict` has no element with a key yet, nor one with an unknown key."""
    refs = [one for one in source if isinstance(one, Ref)]
    if len(refs) != 1 or len(source) != 1 or refs[0].age or (*refs[0], MAKES) not in state.held:
        return False
    unknown = state.held.get((*refs[0], EACH), NOTHING)
    return (*refs[0], name) not in state.held and not any(containers.all_elements(unknown, state))


def _made_when_read(name: str, source: Value, t: Type | None, state: State) -> Value:
    """Return the container that a `defaultdict` makes for a new key."""
    refs = [one for one in source if isinstance(one, Ref)]
    if len(refs) != 1 or not is_container(t) or isinstance(get_proper_type(t), TupleType):
        return NOTHING
    made = new_object((*refs[0], name, "made"), state)
    containers.fill(made, [], state)
    state.put((*refs[0], name), frozenset([made]))
    return frozenset([made])


def _sliced(walk: Walk, node: IndexExpr, part: SliceExpr, source: Value, state: State) -> Value:
    known = containers.elements(source, state)
    ends = [_constant(one) for one in (part.begin_index, part.end_index, part.stride)]
    if known is None or any(one is _UNKNOWN for one in ends):
        return containers.copied(source, walk.site(node), state)
    made = new_object(walk.site(node), state)
    containers.fill(made, known[slice(*ends)], state)
    return frozenset([made])


_UNKNOWN: Final = object()


def _constant(index: Expression | None) -> Any:
    """Return a constant index as a number."""
    if index is None:
        return None
    name = label(index)
    return int(name[1:-1]) if name != EACH and isinstance(index, IntExpr | UnaryExpr) else _UNKNOWN


def extended(walk: Walk, target: Any, value: Any, state: State) -> None:
    """Add the elements of another container, as `x += y` does for lists."""
    if not containers.is_mutable(walk.type_of(target)):
        return
    for ref in (one for one in walk.value(target, state) if isinstance(one, Ref)):
        container_methods.extend(ref, walk.value(value, state), state)


def set_item(walk: Walk, target: IndexExpr, held: Value, state: State) -> None:
    """Bind an element."""
    walk.value(target.index, state)
    owner, t = walk.value(target.base, state), walk.type_of(target.base)
    method = classes.method_of(walk, target.base, t, "__setitem__", owner) if not is_container(t) else NOTHING
    if method:
        key = functions.positional(NOTHING)._replace(constant=constant_of(target.index, state))
        functions.call_all(walk, method, target, [key, functions.positional(held)], state)
        return
    put(owner, target.index, held, state)


def put(owner: Value, index: Any, held: Value, state: State) -> None:
    """Let an element of a container hold a value."""
    name = place_of(index, state)
    for ref in (one for one in owner if isinstance(one, Ref)):
        if isinstance(index, SliceExpr):
            _set_slice(ref, index, held, state)
        elif name == EACH:
            if (*ref, KNOWN) in state.held:
                state.forget_positions(ref)
            state.add(ref, held)
        else:
            state.put((*ref, containers.counted(ref, name, state)), held)


def _set_slice(ref: Ref, part: SliceExpr, held: Value, state: State) -> None:
    """Bind several elements; `xs[:] = ys` replaces all of them."""
    if _is_whole(part):
        known = containers.elements(held, state)
        state.drop(ref)
        if known is not None:
            containers.fill(ref, known, state)
            return
        state.put((*ref, EACH), NOTHING)
    state.forget_positions(ref)
    for one in containers.all_elements(held, state):
        state.add(ref, one)


def _is_whole(part: SliceExpr) -> bool:
    """Return whether a slice is `[:]`."""
    return part.begin_index is part.end_index is None and part.stride is None


def removed(walk: Walk, target: IndexExpr, state: State) -> None:
    """Remove an element."""
    for ref in (one for one in walk.value(target.base, state) if isinstance(one, Ref)):
        place = place_of(target.index, state)
        if isinstance(target.index, SliceExpr) and _is_whole(target.index):
            state.drop(ref)
            containers.fill(ref, [], state)
        elif place != EACH and is_mapping(walk.type_of(target.base)):
            state.held.pop((*ref, place), None)
        else:
            state.forget_positions(ref)


def unpack(walk: Walk, items: list[Any], held: Value, state: State, source: Any) -> None:
    """Bind each of several targets to an element."""
    if source is not None and carries(walk.type_of(source)):
        held = walk.check(held, source, source)
    known = containers.elements(held, state)
    star = next((number for number, one in enumerate(items) if isinstance(one, StarExpr)), None)
    if known is not None and star is not None and len(known) >= len(items) - 1:
        stop = len(known) - (len(items) - star - 1)
        rest = new_object(walk.site(items[star]), state)
        containers.fill(rest, known[star:stop], state)
        known = [*known[:star], frozenset([rest]), *known[stop:]]
    parts = source.items if isinstance(source, TupleExpr | ListExpr) and star is None else [None] * len(items)
    for number, target in enumerate(items):
        if known is not None and number < len(known):
            one = known[number]
        elif isinstance(target, StarExpr):
            one = containers.copied(held, walk.site(target), state)
        else:
            one = containers.at(held, f"[{number}]", state)
        part = parts[number] if number < len(parts) else None
        walk.bind(target.expr if isinstance(target, StarExpr) else target, one, state, part)
        if part is None and known is not None:
            containers.know(target, held, number, state)
