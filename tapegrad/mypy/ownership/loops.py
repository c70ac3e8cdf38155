"""Loops and comprehensions, which are followed until another iteration adds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    AssertStmt,
    BreakStmt,
    ConditionalExpr,
    ContinueStmt,
    DictionaryComprehension,
    ForStmt,
    GeneratorExpr,
    IfStmt,
    IndexExpr,
    IntExpr,
    ListComprehension,
    MatchStmt,
    MemberExpr,
    NameExpr,
    RaiseStmt,
    ReturnStmt,
    TryStmt,
    WhileStmt,
)

from tapegrad.mypy.ownership import classes, containers, functions, loop_keys
from tapegrad.mypy.ownership.carriers import carries, is_container, is_mapping, may_hold, new_object
from tapegrad.mypy.ownership.spelling import written
from tapegrad.mypy.ownership.state import EACH, NOTHING, Ref, State, UnreachableError, joined, repeated, tapes, union
from tapegrad.mypy.scopes.names import ScopeCache, inside, nodes_in

if TYPE_CHECKING:
    from mypy.nodes import Expression, Node

    from tapegrad.mypy.ownership.loop_keys import Keys
    from tapegrad.mypy.ownership.state import Site, Value
    from tapegrad.mypy.ownership.walk import Walk


_CHOOSING: Final = (
    IfStmt,
    BreakStmt,
    ContinueStmt,
    ReturnStmt,
    TryStmt,
    MatchStmt,
    WhileStmt,
    ConditionalExpr,
    RaiseStmt,
    AssertStmt,
)
_MOST_TURNS: Final = 6  # until a loop adds nothing


def loop(walk: Walk, node: WhileStmt | ForStmt, state: State) -> State | None:
    """Follow a loop until another iteration adds nothing."""
    if isinstance(node, WhileStmt):
        return _while(walk, node, state)
    source = _iterated(walk, node.expr, walk.value(node.expr, state), state)
    known = containers.elements(source, state)
    turns = 1 if containers.has_one(source, state) else _MOST_TURNS
    walk.frame.unnamed.append(source)
    try:
        if known is not None:
            return _unrolled(walk, node, source, len(known), state)
        keys = loop_keys.first(walk, node, state)
        if keys.is_complete:
            return _followed_exactly(walk, node, source, keys, state)
        return _repeated(walk, node, state, lambda entry: _next(walk, node, source, entry), turns, keys, source)
    finally:
        walk.frame.unnamed.pop()


def _next(walk: Walk, node: ForStmt, source: Value, entry: State) -> State | None:
    is_whole = _is_straight.of(node)
    is_each = is_whole and _is_of_attribute(node.expr) and containers.is_one(source, entry)
    held = _element(walk, node.expr, source, walk.site(node), entry, is_each=is_each, is_whole=is_whole)
    walk.bind(node.index, held, entry, None)
    return entry


def _runs_straight(node: Node | None) -> bool:
    """Return whether each iteration of a loop runs the same statements, so that it uses every element alike."""
    return isinstance(node, ForStmt) and not any(isinstance(one, _CHOOSING) for one in nodes_in.of(node.body))


_is_straight = ScopeCache(_runs_straight)


def _is_of_attribute(sequence: Expression) -> bool:
    """Return whether a loop goes through an attribute, or a slice of one: a name may be a list of another iteration."""
    inner = sequence.base if isinstance(sequence, IndexExpr) else sequence
    return isinstance(inner, MemberExpr)


def _element(
    walk: Walk, sequence: Any, source: Value, site: Site, state: State, *, is_each: bool, is_whole: bool
) -> Value:
    """Return what the next element of an iterator holds, which `__next__` of a class of the file may make."""
    method = classes.iterator_method(walk, sequence, source)
    if method:
        return functions.call_all(walk, method, sequence, [], state)
    return containers.element(source, site, state, is_each=is_each, is_whole=is_whole)


def _while(walk: Walk, node: WhileStmt, state: State) -> State | None:
    def begin(entry: State) -> State | None:
        walk.value(node.expr, entry)
        return entry

    return _repeated(walk, node, state, begin)


def _with_keys(
    walk: Walk, node: ForStmt, keys: Keys, state: State, begin: Any
) -> tuple[State | None, list[State], list[State]]:
    """Follow the first iterations of a loop, in which its name is a known constant.

    Returns the state after them, the states before each of them, and those that leave the loop.
    """
    entry: State | None = state
    before: list[State] = []
    left: list[State] = []
    for constant in keys.constants:
        if entry is None:
            break
        before.append(entry.copy())
        walk.frame.loops.append(([], []))
        try:
            first = begin(entry)
            first.know(("name", keys.variable), constant)
        except UnreachableError:
            first = None
        end = walk.through(node.body, first)
        breaks, continues = walk.frame.loops.pop()
        left += breaks
        entry = joined([end, *continues])
    return entry, before, left


def _followed_exactly(walk: Walk, node: ForStmt, source: Value, keys: Keys, state: State) -> State | None:
    """Follow a loop over a few known numbers."""
    end, _, left = _with_keys(walk, node, keys, state, lambda entry: _next(walk, node, source, entry))
    return joined([walk.through(node.else_body, end), *left])


def _repeated(
    walk: Walk,
    node: WhileStmt | ForStmt,
    state: State,
    begin: Any,
    turns: int = _MOST_TURNS,
    keys: Keys = loop_keys.NO_KEYS,
    source: Value = NOTHING,
) -> State | None:
    entry: State | None = state
    before: list[State] = []
    early: list[State] = []
    if keys.constants and isinstance(node, ForStmt):
        entry, before, early = _with_keys(walk, node, keys, state, begin)
    breaks: list[State] = []
    for _ in range(turns):
        if entry is None:
            break
        walk.frame.loops.append(([], []))
        try:
            first = begin(entry.copy())
        except UnreachableError:
            first = None
        end = walk.through(node.body, first)
        breaks, continues = walk.frame.loops.pop()
        again = repeated(entry, [end, *continues], union(one for frame in walk.frames for one in frame.unnamed))
        if again == entry:
            break
        entry = again
    left = joined([entry, *before]) if not _is_endless(node) else None
    if left is not None:
        if isinstance(node, ForStmt):
            everything = source if _is_straight.of(node) else NOTHING
            containers.consumed_inside(walk, node.expr, walk.site(node), left, source=everything)
            for lookup in _lookups.of(node):
                containers.consumed_inside(walk, lookup.base, walk.site(lookup), left)
        else:
            walk.value(node.expr, left)
    return joined([walk.through(node.else_body, left), *early, *breaks])


def _iterated(walk: Walk, node: Expression, source: Value, state: State) -> Value:
    """Return what `for` goes through: the elements of a container, or what `__iter__` of an object returns."""
    t = walk.type_of(node)
    if carries(t):
        return walk.check(source, node, node)
    if is_mapping(t):
        return containers.keys_of(source, walk.site(node), state) or source
    if is_container(t) or tapes(source) or not any(isinstance(one, Ref) for one in source):
        return source
    method = classes.method_of(walk, node, t, "__iter__", source)
    return functions.call_all(walk, method, node, [], state) if method else source


def _lookups_in(node: Node | None) -> list[IndexExpr]:
    """Return what reads each element of a container, as `xs[i]` does in `for i in range(len(xs))`."""
    if not isinstance(node, ForStmt) or not isinstance(node.index, NameExpr):
        return []
    containers_read = {written(one) for one in inside(node.expr) if isinstance(one, NameExpr | MemberExpr)}
    if not containers_read:
        return []
    return [
        one
        for one in nodes_in.of(node.body)
        if isinstance(one, IndexExpr)
        and isinstance(one.index, NameExpr)
        and one.index.node is node.index.node
        and written(one.base) in containers_read
    ]


_lookups = ScopeCache(_lookups_in)


def _unrolled(walk: Walk, node: ForStmt, source: Value, count: int, state: State) -> State | None:
    """Follow a loop over a display, element by element."""
    entry: State | None = state
    all_breaks: list[State] = []
    for number in range(count):
        if entry is None:
            break
        walk.frame.loops.append(([], []))
        walk.bind(node.index, containers.at(source, f"[{number}]", entry), entry, None)
        containers.know(node.index, source, number, entry)
        end = walk.through(node.body, entry)
        breaks, continues = walk.frame.loops.pop()
        all_breaks += breaks
        entry = joined([end, *continues])
    return joined([walk.through(node.else_body, entry), *all_breaks])


def comprehension(walk: Walk, node: Any, inner: GeneratorExpr | DictionaryComprehension, state: State) -> Value:
    """Follow a comprehension, and return the container that it makes."""
    made = new_object(walk.site(node), state)
    state.put((*made, EACH), NOTHING)
    source = _iterated(walk, inner.sequences[0], walk.value(inner.sequences[0], state), state)
    known = containers.elements(source, state) if len(inner.indices) == 1 and not inner.condlists[0] else None
    if known is not None:
        _each_known(walk, node, inner, made, source, len(known), state)
        return frozenset([made]) if may_hold(walk.type_of(node)) else NOTHING
    for _ in range(1 if node is walk.single_turn else _MOST_TURNS):
        before = state.copy()
        state.add(made, _turn(walk, inner, NOTHING, state, first=source))
        state.become(joined([before, state]))
        if state == before:
            break
    for position, sequence in enumerate(inner.sequences):
        containers.consumed_inside(walk, sequence, walk.site(inner, position), state)
    return frozenset([made]) if may_hold(walk.type_of(node)) else NOTHING


def _each_known(walk: Walk, node: Any, inner: Any, made: Ref, source: Value, count: int, state: State) -> None:
    """Follow a comprehension over a display, element by element."""
    is_list = isinstance(node, ListComprehension | GeneratorExpr)
    if is_list:
        containers.fill(made, [], state)
    for number in range(1 if node is walk.single_turn else count):
        held = _turn(walk, inner, containers.at(source, f"[{number}]", state), state, at=(source, number))
        if is_list:
            state.put((*made, f"[{number}]"), held)
        else:
            state.add(made, held)


def _turn(
    walk: Walk,
    inner: Any,
    given: Value,
    state: State,
    first: Value | None = None,
    at: tuple[Value, int] = (NOTHING, 0),
) -> Value:
    """Follow one iteration of a comprehension, and return the element."""
    for position, index in enumerate(inner.indices):
        if first is None and not position:
            walk.bind(index, given, state, None)
            containers.know(index, *at, state)
        else:
            source = first if first is not None and not position else walk.value(inner.sequences[position], state)
            is_each = not any(inner.condlists)
            site = walk.site(inner, position)
            held = _element(walk, inner.sequences[position], source, site, state, is_each=is_each, is_whole=is_each)
            walk.bind(index, held, state, None)
        for condition in inner.condlists[position]:
            walk.value(condition, state)
    if isinstance(inner, GeneratorExpr):
        return walk.value(inner.left_expr, state)
    walk.value(inner.key, state)
    return walk.value(inner.value, state)


def _is_endless(node: WhileStmt | ForStmt) -> bool:
    if not isinstance(node, WhileStmt):
        return False
    condition = node.expr
    if isinstance(condition, IntExpr):
        return condition.value != 0
    return isinstance(condition, NameExpr) and condition.fullname == "builtins.True"
