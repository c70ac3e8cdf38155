"""Lists, tuples, dicts and iterators: what their elements hold.

Elements at known positions hold values of their own. Of all others only two sets are known: what any element may hold,
and what every element holds. An element that is read at an unknown position holds the second set; what else it holds is
a tape of its own, because it may be another element at each read.
"""

from __future__ import annotations

from ast import literal_eval
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    CallExpr,
    DictExpr,
    IndexExpr,
    IntExpr,
    ListExpr,
    MemberExpr,
    NameExpr,
    StarExpr,
    TupleExpr,
    Var,
)
from mypy.types import Instance, get_proper_type

from tapegrad.mypy.ownership.carriers import ANY, carries, fresh, is_mapping, may_hold, new_object
from tapegrad.mypy.ownership.constants import FIRST_OF, constant_of
from tapegrad.mypy.ownership.holders import label
from tapegrad.mypy.ownership.sources import mark
from tapegrad.mypy.ownership.state import (
    COMMON,
    EACH,
    ELEMENT,
    KNOWN,
    NOTHING,
    OF,
    ONE,
    SEEN,
    Function,
    Held,
    Ref,
    aged,
    bound_tapes,
    replaced,
    tapes,
    union,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import Expression
    from mypy.types import Type

    from tapegrad.mypy.ownership.state import End, Holder, Site, State, Value
    from tapegrad.mypy.ownership.walk import Walk

ROW: Final = "(row)"  # marks an iterator whose elements are tuples, with an element of each of its sources
SOURCE: Final = "(source"
PAIRS: Final = "(pairs)"  # the elements of which an iterator returns each with the next one
MERGED: Final = "merged"
SHARED: Final = "(shared)"  # a tape that two elements share which a generator yields one after the other
AGAIN: Final = "(again)"  # marks an iterator that comes back to its elements
OBJECT: Final = "object"
_DEEPEST: Final = 3  # objects inside objects that are known
MOST_UNROLLED: Final = 8
_MUTABLE: Final = frozenset({"builtins.list", "builtins.set", "builtins.dict", "collections.deque"})


def is_mutable(t: Type | None) -> bool:
    """Return whether `x += y` changes an object of a type in place."""
    p = get_proper_type(t) if t is not None else None
    return isinstance(p, Instance) and p.type.fullname in _MUTABLE


def display(walk: Walk, node: Any, state: State) -> Value:
    """Return the container that a display such as `[a, b]` makes."""
    pairs: list[tuple[Any, Any]] = node.items if isinstance(node, DictExpr) else list(enumerate(node.items))
    for key, _ in pairs:
        if isinstance(node, DictExpr) and key is not None:
            walk.value(key, state)
    held = walk.values([item for _, item in pairs], state)
    made = new_object(walk.site(node), state)
    held = [aged(made.site, one) for one in held]
    state.put((*made, EACH), NOTHING)
    if isinstance(node, DictExpr):
        for (key, _), one in zip(pairs, held, strict=True):
            name = label(key) if key is not None else EACH
            if name == EACH:
                state.add(made, one if key is not None else element(one, walk.site(node, "**"), state))
            else:
                state.put((*made, name), one)
                state.know((*made, name), constant_of(dict(pairs).get(key), state))
    elif any(isinstance(item, StarExpr) for item in node.items) or not isinstance(node, TupleExpr | ListExpr):
        for item, one in zip(node.items, held, strict=True):
            for each in all_elements(one, state) if isinstance(item, StarExpr) else [one]:
                state.add(made, each)
    else:
        fill(made, held, state)
        for number, item in enumerate(node.items):
            state.know((*made, f"[{number}]"), constant_of(item, state))
    return frozenset([made])


def fill(made: Ref, held: Sequence[Value], state: State) -> None:
    """Give a new container its elements, in order."""
    state.put((*made, EACH), NOTHING)
    state.put((*made, KNOWN), NOTHING)
    for number, one in enumerate(held):
        state.put((*made, f"[{number}]"), one)


def append(ref: Ref, held: Value, state: State) -> None:
    """Add an element at the end of a container."""
    known = elements(frozenset([ref]), state)
    if known is not None and len(known) < MOST_UNROLLED:
        state.put((*ref, f"[{len(known)}]"), held)
    else:
        state.forget_positions(ref)
        state.add(ref, held)


def yielded(ref: Ref, held: Value, state: State) -> None:
    """Add what a generator yields; note if it shares a tape with another element of the same iteration."""
    last = _last_live(held)
    if last and any(not last.isdisjoint(one) for one in all_elements(frozenset([ref]), state)):
        _share(ref, state)
    append(ref, held, state)


def delegated(ref: Ref, given: Value, state: State) -> None:
    """Add what `yield from` yields; note if two of these elements share a tape."""
    known = elements(given, state)
    for one in known or ():
        yielded(ref, one, state)
    if known is None:
        extend(ref, given, state)
        if any(isinstance(one, Ref) and (*one, SHARED) in state.held for one in given) or _last_live(
            common(given, state)
        ):
            _share(ref, state)


def _last_live(held: Value) -> set[Held]:
    """Return the tapes that their sites started last, and that are not consumed."""
    return {one for one in held if isinstance(one, Held) and not one.age and one.end is None}


def _share(ref: Ref, state: State) -> None:
    """Note that two elements of a generator share a tape."""
    state.put((*ref, SHARED), frozenset([Held((*ref.site, SHARED), 0, None)]))


def extend(ref: Ref, given: Value, state: State) -> None:
    """Add the elements of another container at the end of one."""
    known = elements(given, state)
    if known is None:
        state.forget_positions(ref)
    for one in known if known is not None else all_elements(given, state):
        append(ref, one, state) if known is not None else state.add(ref, one)


def elements(source: Value, state: State) -> list[Value] | None:
    """Return the elements of a display in order; None if they are not known, or too many."""
    refs = [one for one in source if isinstance(one, Ref)]
    if len(refs) > 1:
        source = frozenset(one for one in source if not _is_empty(one, state))
        refs = [one for one in source if isinstance(one, Ref)]
    if len(refs) != 1 or refs[0].age or len(source) != 1:
        return None
    fields = dict(state.fields(refs[0]))
    if KNOWN not in fields:
        return None
    names = [name for name in fields if name.startswith("[") and name not in (EACH, COMMON)]
    if len(names) > MOST_UNROLLED or names != [f"[{number}]" for number in range(len(names))]:
        return None
    return [fields[name] for name in names]


def _is_empty(one: Held | Ref | Function, state: State) -> bool:
    """Return whether a container surely has no elements, as the default in `handlers.get(event, [])`."""
    return isinstance(one, Ref) and {name for name, _ in state.fields(one)} == {EACH, KNOWN}


def has_one(source: Value, state: State) -> bool:
    """Return whether a container has at most one element, at an unknown position."""
    refs = [one for one in source if isinstance(one, Ref)]
    return (
        len(refs) == len(source) == 1
        and (*refs[0], ONE) in state.held
        and not any(_is_element(name) for name, _ in state.fields(refs[0]))
    )


def all_elements(source: Value, state: State) -> list[Value]:
    """Return what each element of a container may hold, those at unknown positions as one."""
    found = []
    for one in source:
        if isinstance(one, Ref):
            is_known = (*one, KNOWN) in state.held
            found += [
                held
                for name, held in state.fields(one)
                if name.startswith("[") and name != COMMON and not (name == EACH and (is_known or not held))
            ]
            found += [held for name, held in state.fields(one) if name == ANY]
    return found


def _is_element(name: str) -> bool:
    """Return whether a field is an element at a known position or with a known key."""
    return name.startswith("[") and name not in (EACH, COMMON)


def common(source: Value, state: State) -> Value:
    """Return what every element of a container holds."""
    shared: Value | None = None
    for one in source:
        if not isinstance(one, Ref):
            continue
        if (*one, ONE) in state.held and not any(_is_element(name) for name, _ in state.fields(one)):
            return NOTHING  # what its only element holds is not shared with another one
        if _has_only_first(one, state):
            return NOTHING
        for name, held in state.fields(one):
            if name == EACH:
                continue
            if name.startswith("[") or name == ANY:
                shared = held if shared is None else _in_both(shared, held)
    return shared or NOTHING


def _in_both(a: Value, b: Value) -> Value:
    """Return what two elements share: not an earlier tape of a site, because each may have another one."""
    return frozenset(one for one in a & b if not (isinstance(one, Held) and one.age))


def _has_only_first(ref: Ref, state: State) -> bool:
    """Return whether one element of a dictionary is known, by the first of the names in a loop, but not the others."""
    named = [name for name, held in state.fields(ref) if _is_element(name) or (name == EACH and held)]
    return len(named) == 1 and named[0].startswith(FIRST_OF)


def comes_back(source: Value, state: State) -> bool:
    """Return whether an iterator comes back to its elements."""
    return any(isinstance(one, Ref) and (*one, AGAIN) in state.held for one in source)


def element(source: Value, site: Site, state: State, *, is_each: bool = False, is_whole: bool = False) -> Value:
    """Return what an element at an unknown position holds.

    Args:
        source: The containers.
        site: Where it is read.
        state: The state.
        is_each: Whether all elements of one container are read in turn.
        is_whole: Whether all elements are used alike.
    """
    direct = tapes(source)  # rows of a tensor
    if comes_back(source, state):
        return union(all_elements(source, state))
    rows = [one for one in source if isinstance(one, Ref) and state.held.get((*one, ROW)) is not None]
    if rows:
        return frozenset([_row(rows[0], site, state, is_whole=is_whole)])
    direct |= union(state.held.get((*one, SHARED), NOTHING) for one in source if isinstance(one, Ref))
    any_of = union(all_elements(source, state))
    if any(isinstance(one, Ref) and _has_only_first(one, state) for one in source):
        any_of = replaced(any_of, lambda one: one._replace(end=None))  # another one may not be consumed
    if not any_of:
        return direct
    found = direct | _one_of(any_of, common(source, state), site, state, is_each=is_each)
    if is_whole:
        own = Ref((*site, ELEMENT), 0)
        state.put((*own, OF), frozenset(one for one in source if isinstance(one, Ref)))
        state.put((*own, SEEN), tapes(any_of))
        if Ref((*site, OBJECT), 0) in found:
            state.put(((*site, OBJECT), 0, SEEN), NOTHING)
    return found


def _one_of(any_of: Value, shared: Value, site: Site, state: State, *, is_each: bool = False) -> Value:
    """Return what one of several values holds: what all share, and a tape of its own for the rest."""
    found, rest = shared, any_of - shared
    own = [one for one in rest if isinstance(one, Held)]
    if own:
        ends = [one.end for one in own if one.end is not None]
        is_consumed = bool(ends) if is_each else len(ends) == len(own)
        found |= {Held(state.start((*site, ELEMENT)), 0, min(ends) if is_consumed else None)}
    objects = [one for one in rest if isinstance(one, Ref)]
    if objects:
        found |= {_unknown_object(objects, site, state)}
    called = [one for one in rest if isinstance(one, Function)]
    return found | _one_of_functions(called, site, state) if called else found


def _one_of_functions(called: list[Function], site: Site, state: State) -> Value:
    """Return functions of which one is called, with tapes of its own but for those that are bound to each."""
    bound = [bound_tapes(one) for one in called]
    shared = bound[0].intersection(*bound[1:]) if len(called) > 1 else NOTHING
    if not union(bound) - shared:
        return frozenset(called)
    own = state.start((*site, "function", ELEMENT))
    return replaced(frozenset(called), lambda one: one if one in shared else Held(own, 0, one.end))


def is_one(source: Value, state: State) -> bool:
    """Return whether a value is a single container, whose tapes are not those of one of several containers."""
    held = tapes(union(all_elements(source, state)))
    return len(source) == 1 and not any(isinstance(one, Held) and OBJECT in one.site for one in held)


def merged(values: list[Value], site: Site, state: State) -> Value:
    """Let the elements of containers share the tape into which an op merges theirs, and return that tape."""
    boxes = [one for value in values for one in value if isinstance(one, Ref)]
    boxes = [ref for ref in boxes if tapes(state.held.get((*ref, EACH), NOTHING))]
    if not boxes:
        return NOTHING
    tape = frozenset([Held(state.start((*site, MERGED)), 0, None)])
    for ref in boxes:
        for name, held in list(state.fields(ref)):
            if name == COMMON or (name.startswith("[") and held):
                state.held[*ref, name] = held | tape
    return tape


def pairs(source: Value, site: Site, state: State) -> Value:
    """Return an iterator over each element with the one after it, as `itertools.pairwise` does."""
    made = new_object(site, state)
    state.put((*made, ROW), frozenset([made]))
    state.put((*made, PAIRS), source)
    return frozenset([made])


def _pair(source: Value, rows: Ref, site: Site, state: State) -> list[Value]:
    """Return the second element of the pair before, and the next one."""
    last: Holder = ("pair", (*rows, *site))
    if last not in state.held:
        state.held[last] = element(source, (*site, 0), state)
    second = element(source, (*site, 1), state)
    first, state.held[last] = state.held[last], second
    return [first, second]


def _row(rows: Ref, site: Site, state: State, *, is_whole: bool) -> Ref:
    """Return the next tuple of an iterator such as `zip(xs, ys)`: an element of each."""
    if (*rows, PAIRS) in state.held:
        pair = _pair(state.held[*rows, PAIRS], rows, site, state)
        made = new_object((*site, ROW), state)
        fill(made, pair, state)
        return made
    sources = [held for name, held in state.fields(rows) if name.startswith(SOURCE)]
    made = new_object((*site, ROW), state)
    each = [element(held, (*site, number), state, is_whole=is_whole) for number, held in enumerate(sources)]
    fill(made, each, state)
    return made


def _unknown_object(refs: list[Ref], site: Site, state: State) -> Ref:
    """Return one of several objects, of which is known what all of them have."""
    made = new_object((*site, OBJECT), state)
    refs = [one for one in aged(made.site, frozenset(refs)) if isinstance(one, Ref)]
    state.put((*made, OF), frozenset(refs))
    if site.count(OBJECT) >= _DEEPEST:  # an object may hold itself
        return made
    each = [dict(state.fields(one)) for one in refs]
    if all(KNOWN in fields for fields in each) and len({len(fields) for fields in each}) == 1:
        state.put((*made, KNOWN), NOTHING)
    for name in each[0]:
        held = [fields[name] for fields in each if name in fields]
        if len(held) == len(each) and (_is_element(name) or name.isidentifier()):
            shared = held[0].intersection(*held[1:])
            state.put((*made, name), _one_of(union(held), shared, (*made.site, name), state))
    if any(name in (EACH, COMMON) or _is_element(name) for fields in each for name in fields):
        inner = frozenset(refs)
        shared, any_of = common(inner, state), union(all_elements(inner, state))
        has_position = (*made, KNOWN) in state.held
        state.put((*made, EACH), NOTHING if has_position else _one_of(any_of, shared, made.site, state))
        if any_of and not has_position:
            state.put((*made, COMMON), shared)
            if len(refs) == 1 and (*refs[0], ONE) in state.held:
                state.put((*made, ONE), NOTHING)
    return made


def consumed_inside(walk: Walk, sequence: Any, site: Site, state: State, *, source: Value = NOTHING) -> None:
    """After a loop that consumed its elements, mark what the container holds as consumed.

    Args:
        walk: The walk.
        sequence: What the loop goes through.
        site: The loop.
        state: The state after it.
        source: What the sequence held, if each element was consumed: then its tapes are, also in other containers.
    """
    marked = [
        (holder, one)
        for holder, held in state.held.items()
        for one in held
        if isinstance(one, Held) and one.end is not None and one.site[: len(site)] == site and one.site[-1] == ELEMENT
    ]
    direct = [one.end for _, one in marked if OBJECT not in one.site[len(site) :] and one.end is not None]
    if direct:
        last = tapes(union(all_elements(source, state)))
        if any(_is_inside(one, site[0]) for one in direct):  # else it was after the loop, in an earlier iteration
            state.consume(frozenset(one for one in last if isinstance(one, Held) and not one.age), min(direct))
        for ref in (one for one in _read_again(walk, sequence, state) if isinstance(one, Ref)):
            for name, _ in state.fields(ref):
                if name.startswith("["):
                    mark((*ref, name), min(direct), state)
    for holder, one in marked:
        if one.end is not None and OBJECT in holder[0][len(site) :] and len(holder) == 3:
            for other in state.held.get((*holder[:2], OF), NOTHING):
                if isinstance(other, Ref):
                    mark((*other, holder[2]), one.end, state)


def _is_inside(end: End, loop: Any) -> bool:
    """Return whether a call that consumed a tape is in a loop itself, not in a function that is called there."""
    return not end.in_call and loop.line <= end.line <= (loop.end_line or loop.line)


def _read_again(walk: Walk, sequence: Any, state: State) -> Value:
    """Return the containers that a sequence is made of, without calling anything."""
    if isinstance(sequence, NameExpr | MemberExpr):
        return walk.value(sequence, state)
    if isinstance(sequence, CallExpr):
        inner = [sequence.callee.expr] if isinstance(sequence.callee, MemberExpr) else []
        return union(_read_again(walk, one, state) for one in [*inner, *sequence.args])
    if isinstance(sequence, IndexExpr):  # an element at an unknown position, as it was read
        return frozenset([Ref((*walk.site(sequence), OBJECT), 0)])
    return NOTHING


def know(target: Expression, source: Value, number: int, state: State) -> None:
    """Note which constant an element of a display is that a name is bound to, as in `for name in ("main", "extra")`."""
    ref = next((one for one in source if isinstance(one, Ref)), None)
    if isinstance(target, NameExpr) and isinstance(target.node, Var) and ref is not None:
        state.know(("name", target.node), state.constants.get((*ref, f"[{number}]")))


def at(source: Value, name: str, state: State) -> Value:
    """Return what the element with a constant index or key holds."""
    found = tapes(source)
    for one in source:
        if not isinstance(one, Ref):
            continue
        place = counted(one, name, state)
        held = state.held.get((*one, place))
        if held is None:
            held = element(frozenset([one]), (*one, place), state) if not has_known_keys(one, state) else NOTHING
            if place != EACH and not one.age:
                state.held[*one, place] = held
        found |= held
    return found


def has_known_keys(ref: Ref, state: State) -> bool:
    """Return whether all keys of a dictionary are known, so that another key is not in it."""
    fields = dict(state.fields(ref))
    is_keyed = EACH in fields and not fields[EACH] and KNOWN not in fields and COMMON not in fields
    return is_keyed and not any(name.startswith(FIRST_OF) for name in fields)


def keys_of(source: Value, site: Site, state: State) -> Value:
    """Return the keys of a dictionary as constants, if all of them are known; else nothing."""
    refs = [one for one in source if isinstance(one, Ref)]
    if len(refs) != 1 or len(source) != 1 or refs[0].age or not has_known_keys(refs[0], state):
        return NOTHING
    names = [name for name, _ in state.fields(refs[0]) if _is_element(name)]
    made = new_object((*site, "keys"), state)
    fill(made, [NOTHING] * len(names), state)
    for number, name in enumerate(names):
        key = literal_eval(name[1:-1])
        state.know((*made, f"[{number}]"), (type(key), key))
    return frozenset([made])


def counted(ref: Ref, name: str, state: State) -> str:
    """Return the name of an element that is counted from the end, if the number of elements is known."""
    known = elements(frozenset([ref]), state) if name.startswith("[-") else None
    if known is None:
        return name
    return f"[{len(known) + int(name[1:-1])}]"


def rows_of(held: Value, site: Site, state: State) -> Value:
    """Return a container with the rows of a tensor."""
    made = new_object(site, state)
    state.put((*made, EACH), held)
    state.put((*made, COMMON), held)
    return frozenset([made])


def copied(source: Value, site: Site, state: State) -> Value:
    """Return another container with elements of the same container, in unknown order."""
    made = new_object(site, state)
    source = aged(made.site, source)
    state.put((*made, EACH), union(all_elements(source, state)))
    state.put((*made, COMMON), common(source, state))
    return frozenset([made])


def combined(walk: Walk, node: Any, operands: list[Any], held: list[Value], t: Type | None, state: State) -> Value:
    """Return the container that `a + b` or `a * 2` makes."""
    if not may_hold(t):
        return NOTHING
    counts = [one.value for one in operands if isinstance(one, IntExpr)]
    known = [elements(one, state) for one in held if any(isinstance(ref, Ref) for ref in one)]
    made = new_object(walk.site(node), state)
    held = [aged(made.site, one) for one in held]
    known = [[aged(made.site, each) for each in one] if one is not None else None for one in known]
    state.put((*made, EACH), NOTHING)
    if is_mapping(t):
        for ref in (each for one in held for each in one if isinstance(each, Ref)):
            for name, inner in list(state.fields(ref)):
                if _is_element(name):
                    state.put((*made, name), inner)
                elif name == EACH and inner:
                    state.add(made, inner)
        return frozenset([made])
    if all(one is not None for one in known):
        fill(made, [each for one in known for each in one or []] * (counts[0] if counts else 1), state)
        return frozenset([made])
    for one in held:
        for each in all_elements(one, state):
            state.add(made, each)
    return frozenset([made])


def awaited(walk: Walk, node: Any, held: Value, state: State) -> Value:
    """Return what `await x` or `cast(T, x)` holds."""
    t = walk.type_of(node)
    if not may_hold(t):
        return NOTHING
    if carries(t) and not tapes(held):
        return tapes(state.reachable(held)) or fresh(walk.site(node), state)
    return held
