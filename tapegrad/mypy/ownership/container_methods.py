"""What the methods of lists, dicts, queues and iterators return, and what they do to the elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    IntExpr,
    SuperExpr,
    UnaryExpr,
)

from tapegrad.mypy.ownership import containers
from tapegrad.mypy.ownership.carriers import is_mapping, new_object
from tapegrad.mypy.ownership.constants import place_of
from tapegrad.mypy.ownership.holders import label
from tapegrad.mypy.ownership.state import EACH, NOTHING, Ref, replaced, union

if TYPE_CHECKING:
    from tapegrad.mypy.ownership.state import State, Value
    from tapegrad.mypy.ownership.walk import Walk


ADDING: Final = frozenset({"append", "add", "put", "put_nowait", "appendleft", "extend"})


_IN_ORDER: Final = frozenset(
    {"sort", "reverse", "insert", "rotate", "remove", "pop", "popleft", "appendleft", "extendleft"}
)


_REMOVING: Final = frozenset({"pop", "popleft", "get_nowait"})


_READS: Final = frozenset(
    {"empty", "full", "qsize", "count", "index", "task_done", "join", "__len__", "__contains__", "move_to_end", "done"}
)


def method(walk: Walk, node: Any, name: str, owner: Value, given: list[Value], state: State) -> Value | None:
    """Return what a method of a container returns, after its effects; None if it is not one that is known."""
    refs = [one for one in owner if isinstance(one, Ref)]
    if not refs:
        return None
    if name in ("append", "add", "put", "put_nowait", "appendleft", "insert") and given:
        for ref in refs:
            if name == "append":
                containers.append(ref, given[-1], state)
            else:
                state.forget_positions(ref)
                state.add(ref, given[-1])
        return NOTHING
    if name in ("extend", "update", "extendleft") and given:
        for ref in refs:
            extend(ref, given[-1], state)
        return NOTHING
    if name == "setdefault" and len(given) == 2:
        return _set_default(walk, node, refs, given[1], state)
    if name in ("pop", "popleft", "get", "get_nowait", "popitem", "__next__", "result"):
        return _taken(walk, node, name, refs, given, state)
    if name in ("values", "items", "copy", "keys", "__iter__"):
        return _viewed(walk, node, name, owner, state)
    if name == "clear":
        for ref in refs:
            state.drop(ref)
            if _is_of_mapping(walk, node):
                state.put((*ref, EACH), NOTHING)
            else:
                containers.fill(ref, [], state)
        return NOTHING
    if name in _READS:
        return NOTHING
    if name in _IN_ORDER:
        for ref in refs:
            state.forget_positions(ref)
        return NOTHING
    return None


def extend(ref: Ref, given: Value, state: State) -> None:
    """Add the elements of another container, those with keys by their keys."""
    for one in given:
        if isinstance(one, Ref):
            for name, held in state.fields(one):
                if name.startswith("['"):
                    state.put((*ref, name), held)
    for each in containers.all_elements(given, state):
        if not any(each is held for name, held in state.fields(ref) if name.startswith("['")):
            state.forget_positions(ref) if containers.elements(frozenset([ref]), state) is not None else None
            state.add(ref, each)


def _taken(walk: Walk, node: Any, name: str, refs: list[Ref], given: list[Value], state: State) -> Value:
    """Return the element that a method returns; one that is removed is no longer held."""
    found: Value = NOTHING
    index = node.args[0] if node.args else None
    if name == "popitem":
        named = [part for ref in refs for part, _ in state.fields(ref) if part.startswith("['")]
        if len(refs) == 1 and len(named) == 1 and _only_named(frozenset(refs), state):
            last = state.held.pop((*refs[0], named[0]))
        else:
            last = containers.element(frozenset(refs), walk.site(node), state)
        pair = new_object(walk.site(node), state)
        containers.fill(pair, [NOTHING, last], state)
        return frozenset([pair])
    place = place_of(index, state)
    is_key = index is not None and place != EACH and _is_of_mapping(walk, node)
    for ref in refs:
        if is_key:
            found |= containers.at(frozenset([ref]), place, state)
            if name == "pop":
                state.held.pop((*ref, place), None)
            continue
        known = containers.elements(frozenset([ref]), state)
        position = {"popleft": 0, "pop": -1}.get(name)
        if isinstance(index, IntExpr | UnaryExpr):
            position = int(label(index)[1:-1]) if label(index) != EACH else None
        if known and position is not None and -len(known) <= position < len(known) and name in ("pop", "popleft"):
            found |= known.pop(position)
            state.drop(ref)
            containers.fill(ref, known, state)
            continue
        if (name in _REMOVING or (name == "get" and not given)) and containers.has_one(frozenset([ref]), state):
            found |= union(containers.all_elements(frozenset([ref]), state))
            state.drop(ref)
            containers.fill(ref, [], state)
            continue
        held = containers.element(frozenset([ref]), walk.site(node), state)
        # `get` with an unknown key may return the default.
        found |= replaced(held, lambda one: one._replace(end=None)) if name == "get" and given else held
        if name != "get":
            state.forget_positions(ref)
    return found | union(given[1:]) if name == "get" else found


def _set_default(walk: Walk, node: Any, refs: list[Ref], given: Value, state: State) -> Value:
    """Return the element with a key, which is the given one if there is none."""
    found: Value = NOTHING
    for ref in refs:
        place = place_of(node.args[0], state)
        if place == EACH:
            state.add(ref, given)
            found |= containers.element(frozenset([ref]), walk.site(node), state) or given
            continue
        held = containers.at(frozenset([ref]), place, state) or given
        state.put((*ref, place), held)
        found |= held
    return found


def _viewed(walk: Walk, node: Any, name: str, owner: Value, state: State) -> Value:
    """Return the container of a view such as `x.items()`, or a copy."""
    if name == "keys":
        return containers.keys_of(owner, walk.site(node), state)
    if name in ("copy", "__iter__", "values"):
        known = containers.elements(owner, state)
        if known is not None:
            made = new_object(walk.site(node), state)
            containers.fill(made, known, state)
            return frozenset([made])
        named = [
            held for one in owner if isinstance(one, Ref) for part, held in state.fields(one) if part.startswith("['")
        ]
        if name == "copy" and named:
            made = new_object(walk.site(node), state)
            for one in owner:
                for part, held in list(state.fields(one)) if isinstance(one, Ref) else []:
                    state.put((*made, part), held)
            return frozenset([made])
        if name == "values" and named and _only_named(owner, state):
            made = new_object(walk.site(node), state)
            containers.fill(made, named, state)
            return frozenset([made])
        return containers.copied(owner, walk.site(node), state)
    made = new_object(walk.site(node), state)
    pairs = [held for one in owner if isinstance(one, Ref) for part, held in state.fields(one) if part.startswith("['")]
    if pairs and _only_named(owner, state):
        each = []
        for number, held in enumerate(pairs):
            row = new_object(walk.site(node, number), state)
            containers.fill(row, [NOTHING, held], state)
            each.append(frozenset([row]))
        containers.fill(made, each, state)
        return frozenset([made])
    return rows(walk, node, [NOTHING, owner], state)


def rows(walk: Walk, node: Any, sources: list[Value], state: State) -> Value:
    """Return an iterator over tuples with an element of each source, such as `zip(xs, ys)`."""
    made = new_object(walk.site(node), state)
    known = [containers.elements(one, state) for one in sources]
    counts = [len(one) for one in known if one is not None]
    if counts and all(one is not None or not held for one, held in zip(known, sources, strict=True)):
        each = []
        for number in range(min(counts)):
            row = new_object(walk.site(node, number), state)
            containers.fill(row, [one[number] if one is not None else NOTHING for one in known], state)
            each.append(frozenset([row]))
        containers.fill(made, each, state)
        return frozenset([made])
    state.put((*made, containers.ROW), frozenset([made]))
    for number, held in enumerate(sources):
        state.put((*made, f"{containers.SOURCE} {number})"), held)
    return frozenset([made])


def _is_of_mapping(walk: Walk, node: Any) -> bool:
    """Return whether a method is that of a mapping."""
    if isinstance(node.callee, SuperExpr):
        return bool(node.callee.info is not None and node.callee.info.has_base("typing.Mapping"))
    return is_mapping(walk.type_of(node.callee.expr))


def _only_named(owner: Value, state: State) -> bool:
    return all(not held for one in owner if isinstance(one, Ref) for part, held in state.fields(one) if part == EACH)
