"""What each name, attribute and element may hold at one point of a program: tapes, objects and functions.

A tape is known by its site, the expression that started it. In a loop, a site starts one tape after another: the last
one has age 0, and all earlier ones together have age 1. A call that consumes a tape marks it in everything that holds
it, so a mark belongs to what a holder holds, not to the site.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mypy.nodes import ArgKind, Expression, FuncItem

Site: TypeAlias = tuple[Any, ...]  # the expression that starts a tape or makes an object, and the calls around it
Holder: TypeAlias = tuple[Any, ...]  # a variable, or an object with the name of its attribute or element
Value: TypeAlias = "frozenset[Held | Ref | Function]"
Constant: TypeAlias = "tuple[type, Any]"  # of a number, a string, None, or a member of an enumeration

EACH: Final = "[*]"  # what any element of a container may hold
ONE: Final = "(one)"  # whether a container has at most one element
COMMON: Final = "[&]"  # what every element of a container holds
KNOWN: Final = "(known)"  # whether all elements are known by their positions
MAKES: Final = "(makes)"  # whether a dictionary makes an element for each new key
ELEMENT: Final = "element"  # ends the site of what a container holds at an unknown position
SEEN: Final = "(seen)"  # the tapes of a container when a loop went through all of its elements
OF: Final = "(of)"  # the objects of which an unknown one may be any
RAISED: Final = ("raised", "")  # the exception that is on its way to a handler
BRANCH: Final = ("branch", "")  # the value of an expression that is evaluated in a branch
EPOCH: Final = "(epoch)"  # the last call that may have bound the attributes of an object
NOTHING: Final[Value] = frozenset()


class UnreachableError(Exception):
    """An expression never returns, so that no path leads on."""


class End(NamedTuple):
    """The call that consumed a tape."""

    line: int
    after: tuple[int, int]  # line and column where the call ends
    call: str
    name: str
    by_traced: bool = False
    in_call: bool = False  # whether it ran inside a function that the unit calls


class Held(NamedTuple):
    """A tape that something holds; `end` is set if it may have been consumed."""

    site: Site
    age: int
    end: End | None


class Ref(NamedTuple):
    """A reference to an object or a container."""

    site: Site
    age: int


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the file, or a method of a tensor, with the arguments that are bound to it."""

    node: FuncItem | str  # a name for a method of a tensor
    bound: tuple[Value, ...]
    call: Any  # the expression that made it
    names: tuple[tuple[str, Value], ...] = ()
    captured: tuple[tuple[Any, Value], ...] = ()  # the variables of a function that has returned
    constants: tuple[tuple[Any, Constant], ...] = ()  # by position, name or captured variable

    def values(self) -> list[Value]:
        """Return what is bound to it."""
        return [*self.bound, *(held for _, held in self.names), *(held for _, held in self.captured)]


class Argument(NamedTuple):
    """An argument of a call: what it holds, how it is passed, and its expression."""

    value: Value
    kind: ArgKind
    name: str | None
    expression: Expression | None
    constant: Constant | None = None


def live(value: Value) -> Value:
    """Return a value without its consumed tapes."""
    return frozenset(one for one in value if not isinstance(one, Held) or one.end is None)


def tapes(value: Iterable[Held | Ref | Function]) -> Value:
    """Return the tapes of a value."""
    return frozenset(one for one in value if isinstance(one, Held))


def union(values: Iterable[Value]) -> Value:
    """Return what any of several values may hold."""
    found = NOTHING
    for value in values:
        found = found | value if found else value
    return found


class Holders(dict[Holder, Value]):
    """What each holder holds, with the names of the attributes and elements of each object."""

    __slots__ = ("names",)

    def __init__(self, held: dict[Holder, Value], names: dict[Holder, tuple[str, ...]]) -> None:
        super().__init__(held)
        self.names = names

    @override
    def __setitem__(self, holder: Holder, value: Value) -> None:
        if len(holder) == 3 and holder not in self:
            self.names[holder[:2]] = (*self.names.get(holder[:2], ()), holder[2])
        super().__setitem__(holder, value)

    @override
    def __delitem__(self, holder: Holder) -> None:
        super().__delitem__(holder)
        if len(holder) == 3:
            self.names[holder[:2]] = tuple(name for name in self.names[holder[:2]] if name != holder[2])

    @override
    def pop(self, holder: Holder, default: Any = None) -> Any:
        held = self.get(holder)
        if held is None:
            return default
        del self[holder]
        return held

    @override
    def copy(self) -> Holders:
        return Holders(self, self.names.copy())


class State:
    """What every holder may hold at one point of a program."""

    __slots__ = ("constants", "held", "seen")

    def __init__(self) -> None:
        self.held = Holders({}, {})
        self.seen: dict[Site, int] = {}  # how often each site has started a tape or an object
        self.constants: dict[Holder, Constant] = {}

    def copy(self) -> State:
        """Return a state that changes on its own."""
        copied = State()
        copied.held, copied.seen, copied.constants = self.held.copy(), self.seen.copy(), self.constants.copy()
        return copied

    def become(self, other: State | None) -> None:
        """Hold what another state holds."""
        if other is not None:
            self.held, self.seen, self.constants = other.held, other.seen, other.constants

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.held == other.held and self.constants == other.constants

    def __hash__(self) -> int:
        return id(self)

    def equals(self, other: State) -> bool:
        """Return whether what is followed from here does the same as from another state."""
        return self == other and self.seen.keys() == other.seen.keys()

    def holds_like(self, other: State) -> bool:
        """Return whether each holder holds the same as in another state, where it is known there."""
        ours, theirs = ({holder: one for holder, one in each.held.items() if one} for each in (self, other))
        return ours == theirs

    def put(self, holder: Holder, value: Value, *, weak: bool = False) -> None:
        """Let a holder hold a value; `weak` if it may also keep what it holds."""
        if weak or (len(holder) == 3 and holder[1]):
            value = value | self.held.get(holder, NOTHING)
        self.held[holder] = value
        if self.constants:
            self.constants.pop(holder, None)

    def know(self, holder: Holder, constant: Constant | None) -> None:
        """Note the constant that a holder holds; None if it is unknown."""
        if constant is not None:
            self.constants[holder] = constant
        elif self.constants:
            self.constants.pop(holder, None)

    def start(self, site: Site) -> Site:
        """Note that a site starts one more tape or object: the one before is now one of the earlier ones."""
        started = self.seen[site] = self.seen.get(site, 0) + 1
        if started > 1:
            self.age(site)
        return site

    def age(self, site: Site) -> None:
        """Let what a site started last be one of the earlier ones."""
        for holder in [one for one in self.constants if one[0] == site]:
            del self.constants[holder]
        fields = [(site, 0, name) for name in self.held.names.get((site, 0), ())]
        known = _sites.get
        holders = [
            holder for holder, value in self.held.items() if value and site in (known(value) or _last_sites(value))
        ]
        for holder in dict.fromkeys([*fields, *holders]):
            aged = _changed(self.held[holder], partial(_aged, site))
            if len(holder) == 3 and holder[:2] == (site, 0):
                del self.held[holder]
                older = (site, 1, holder[2])
                if older in self.held:
                    aged = self.held[older] & aged if holder[2] == COMMON else self.held[older] | aged
                self.held[older] = aged
            else:
                self.held[holder] = aged

    def consume(self, value: Value, end: End, holder: Holder | None = None) -> None:
        """Mark the tapes of a value as consumed in all that holds them.

        Of the earlier tapes of a site, only those in `holder` are the same.
        """
        gone = {(one.site, one.age) for one in value if isinstance(one, Held) and one.end is None}
        if not gone:
            return
        last = {one for one in gone if not one[1]}
        for other, held in self.held.items():
            consumed = gone if other == holder else last
            marked = _changed(held, partial(_marked, consumed, end))
            if marked is not held:
                self.held[other] = marked

    def fields(self, ref: Ref) -> Iterator[tuple[str, Value]]:
        """Yield the attributes or elements of an object that are known."""
        for name in self.held.names.get(ref, ()):
            held = self.held.get((*ref, name))
            if held is not None:  # else it was removed in the meantime
                yield name, held

    def drop(self, ref: Ref, names: Iterable[str] | None = None) -> None:
        """Remove what is known of the attributes or elements of an object."""
        gone = [name for name, _ in self.fields(ref)] if names is None else names
        for name in gone:
            self.held.pop((*ref, name), None)
            self.constants.pop((*ref, name), None)

    def add(self, ref: Ref, held: Value, *, around: tuple[Ref, ...] = ()) -> None:
        """Add an element at an unknown position of a container, and of each that it may be."""
        for one in self.held.get((*ref, OF), NOTHING):
            if isinstance(one, Ref) and one not in around:
                self.forget_positions(one)
                self.add(one, held, around=(*around, ref))
        each, common, one = (*ref, EACH), (*ref, COMMON), (*ref, ONE)
        self.held[each] = self.held.get(each, NOTHING) | held
        if common in self.held:
            self.held[common] = self.held[common] & held
            self.held.pop(one, None)
        else:
            self.held[common], self.held[one] = held, NOTHING

    def release(self, calls: tuple[Any, ...], returned: Value) -> None:
        """Forget the objects that a call has made and that nothing holds any more, so that equal states are equal."""
        depth = len(calls) + 1
        made = {ref for ref in self.held.names if ref[0][1:depth] == calls}
        if not made:
            return
        pending = [*returned]
        for holder, held in self.held.items():
            if held and holder[:2] not in made and holder[-1] != OF:
                pending += held
        while pending and made:
            one = pending.pop()
            if isinstance(one, Ref):
                if one in made:
                    made.remove(one)
                    pending += [each for name, held in self.fields(one) if name != OF for each in held]
            elif isinstance(one, Function):
                pending += [each for held in one.values() for each in held]
            elif one.site[-1] == ELEMENT:  # where it comes from is noted with its site, or with that of its object
                made -= {(one.site, one.age), (one.site[:-2], one.age)}
        for ref in made:
            self.drop(Ref(*ref))
            self.held.names.pop(ref, None)

    def forget_in_sources(self, ref: Ref, name: str, around: tuple[Ref, ...] = ()) -> None:
        """Forget an attribute of the objects that an unknown one may be, because it was bound."""
        for one in self.held.get((*ref, OF), NOTHING):
            if isinstance(one, Ref) and one not in around:
                self.held.pop((*one, name), None)
                self.constants.pop((*one, name), None)
                self.forget_in_sources(one, name, (*around, ref))

    def forget_constants(self, ref: Ref) -> None:
        """Forget which constants the attributes or elements of an object are."""
        for holder in [one for one in self.constants if one[:2] == ref]:
            del self.constants[holder]

    def forget_positions(self, ref: Ref) -> None:
        """Keep the elements of a container, but not their positions."""
        self.held.pop((*ref, KNOWN), None)
        for name, held in list(self.fields(ref)):
            if name.startswith("[") and name not in (EACH, COMMON):
                del self.held[*ref, name]
                self.constants.pop((*ref, name), None)
                self.add(ref, held)

    def reachable(self, value: Value) -> Value:
        """Return what a value holds, and all that its elements hold, directly or inside other containers."""
        found, pending = set(value), [one for one in value if isinstance(one, Ref)]
        while pending:
            for name, inner in self.fields(pending.pop()):
                if not name.startswith("["):
                    continue
                pending += [one for one in inner if isinstance(one, Ref) and one not in found]
                found |= inner
        return frozenset(found)


def joined(states: Iterable[State | None]) -> State | None:
    """Return what every holder may hold where paths join; None where no path arrives."""
    reached = [state for state in states if state is not None]
    if len(reached) < 2:
        return reached[0] if reached else None
    result = reached[0].copy()
    for other in reached[1:]:
        unequal = _of_unequal_length(result, other)
        state = other.copy() if unequal else other
        for ref in unequal:
            result.forget_positions(ref)
            state.forget_positions(ref)
        result.seen = {**state.seen, **result.seen} if result.seen.keys() != state.seen.keys() else result.seen
        if result.constants:
            result.constants = {
                holder: one for holder, one in result.constants.items() if state.constants.get(holder) == one
            }
        for holder in [one for one in result.held if one[-1] == ONE]:
            if holder not in state.held and (*holder[:2], COMMON) in state.held:
                del result.held[holder]
        for holder, value in state.held.items():
            if result.held.get(holder) is not value:
                _join_holder(result, holder, value)
    return result


def branched(ends: Iterable[State | None]) -> State | None:
    """Return what every holder may hold where branches join: a new object of one is not the last one of another."""
    reached = [state for state in ends if state is not None]
    made = {ref[0] for state in reached for ref in state.held.names if not ref[1]} if len(reached) > 1 else ()
    for site in made:
        started = [state.seen.get(site, 0) for state in reached]
        for state, count in zip(reached, started, strict=True):
            if 0 < count < max(started):
                state.age(site)
                state.seen[site] = max(started)
    return joined(reached)


def branched_values(ends: Iterable[tuple[Value, State]]) -> tuple[Value, State | None]:
    """Return what any of several expressions may hold, of which each is evaluated in a branch, with the state."""
    branches = list(ends)
    if len(branches) == 1:
        return branches[0]
    for held, state in branches:
        state.held[BRANCH] = held
    after = branched(state for _, state in branches)
    return (after.held.pop(BRANCH), after) if after is not None else (NOTHING, None)


def repeated(before: State, ends: list[State | None], unnamed: Value = NOTHING) -> State | None:
    """Return the state at the head of a loop, where the state before it and those at its end join.

    A name that holds one tape before the loop and another one later may hold either: what consumes it then consumes
    no other name's tape. `unnamed` is what statements around the loop hold without a name.
    """
    after = joined(ends)
    if after is None:
        return before
    entry, after = before.copy(), after.copy()
    for ref in _lost(before, after, unnamed):
        after.drop(ref)
    for ref in _made_again(before, after):
        entry.drop(ref)
    for holder, value in before.held.items():
        later = after.held.get(holder)
        if later is None or later == value or holder[0] != "name":
            continue
        ours, theirs = ({(one.site, one.age) for one in each if isinstance(one, Held)} for each in (value, later))
        if ours - theirs and theirs - ours:
            differing = ours ^ theirs
            entry.held[holder] = _changed(value, partial(_one_of, differing))
            after.held[holder] = _changed(later, partial(_one_of, differing))
    return joined([entry, after])


def _made_again(before: State, after: State) -> set[Ref]:
    """Return the objects that nothing held before a loop, and whose sites have made another one in the loop."""
    found = {
        Ref(*ref) for ref in before.held.names if not ref[1] and before.seen.get(ref[0], 0) < after.seen.get(ref[0], 0)
    }
    pending = [one for holder, value in before.held.items() if found and holder[-1] != OF for one in value]
    while pending and found:
        one = pending.pop()
        if isinstance(one, Function):
            pending += [each for held in one.values() for each in held]
        elif isinstance(one, Ref):
            found.discard(one)
    return found


def _lost(before: State, after: State, unnamed: Value) -> set[Ref]:
    """Return the objects that names led to before a loop, and that nothing holds at its end."""
    lost: set[Ref] = set()
    _follow(before, [one for holder, value in before.held.items() if holder[0] == "name" for one in value], lost.add)
    if lost:
        outside = [
            one
            for holder, value in after.held.items()
            if value and holder[-1] != OF and (len(holder) != 3 or holder[:2] not in lost)
            for one in value
        ]
        _follow(after, [*outside, *unnamed], lost.discard)
    return lost


def _follow(state: State, pending: list[Held | Ref | Function], reach: Callable[[Ref], None]) -> None:
    """Call a function with each object to which some values lead."""
    reached: set[Ref] = set()
    while pending:
        one = pending.pop()
        if isinstance(one, Function):
            pending += [each for held in one.values() for each in held]
        elif isinstance(one, Ref) and one not in reached:
            reached.add(one)
            reach(one)
            pending += [each for name, held in state.fields(one) if name != OF for each in held]


def _one_of(differing: set[tuple[Site, int]], one: Held | Ref) -> Held | Ref:
    return one._replace(age=1) if isinstance(one, Held) and (one.site, one.age) in differing else one


def _join_holder(state: State, holder: Holder, value: Value) -> None:
    known = state.held.get(holder)
    if known is None:
        if holder[-1] != ONE or (*holder[:2], COMMON) not in state.held:
            state.held[holder] = value
    elif known != value:
        state.held[holder] = known & value if holder[-1] == COMMON else _without_twins(known | value)


def _of_unequal_length(state: State, other: State) -> list[Ref]:
    """Return the containers to which two paths give different numbers of elements."""
    known = {ref for one in (state, other) for ref, names in one.held.names.items() if KNOWN in names}
    return [
        Ref(*ref)
        for ref in known
        if set(ours := state.held.names.get(ref, ())) != set(theirs := other.held.names.get(ref, ()))
        and EACH in ours
        and EACH in theirs
    ]


def _without_twins(value: Value) -> Value:
    """Keep one mark of each tape: that it may have been consumed, by the first call that may have done so."""
    first: dict[tuple[Site, int], Held] = {}
    for one in value:
        if isinstance(one, Held):
            other = first.get((one.site, one.age))
            if other is None or other.end is None or (one.end is not None and one.end < other.end):
                first[one.site, one.age] = one
    return frozenset([*(one for one in value if not isinstance(one, Held)), *first.values()])


def _changed(value: Value, change: Callable[[Held | Ref], Held | Ref]) -> Value:
    """Return a value with a change made to each part, also to what is bound to its functions."""
    if not value:
        return value
    changed = [_with_change(one, change) if isinstance(one, Function) else change(one) for one in value]
    return value if all(map(operator.is_, changed, value)) else frozenset(changed)


def _with_change(one: Function, change: Callable[[Held | Ref], Held | Ref]) -> Function:
    before = one.values()
    after = [_changed(held, change) for held in before]
    if all(map(operator.is_, after, before)):
        return one
    values = iter(after)  # in the order of `Function.values`
    return replace(
        one,
        bound=tuple(next(values) for _ in one.bound),
        names=tuple((name, next(values)) for name, _ in one.names),
        captured=tuple((variable, next(values)) for variable, _ in one.captured),
    )


def bound_tapes(one: Function) -> Value:
    """Return the tapes that are bound to a function."""
    return union(map(tapes, one.values()))


def replaced(value: Value, change: Callable[[Held], Held]) -> Value:
    """Return a value with a change made to each tape, also to those that are bound to its functions."""
    return _changed(value, lambda one: change(one) if isinstance(one, Held) else one)


def aged(site: Site, value: Value) -> Value:
    """Return a value as it is after a site has started one more tape or object."""
    return _changed(value, partial(_aged, site))


def _last_sites(value: Value) -> tuple[Site, ...]:
    """Return the sites of which a value may hold what they started last; cached, because each new object asks."""
    if len(_sites) >= _MOST_SITES:
        _sites.clear()
    found = [one.site for one in value if not isinstance(one, Function) and not one.age]
    inner = (held for one in value if isinstance(one, Function) for held in one.values() if held)
    _sites[value] = (*found, *(site for held in inner for site in _last_sites(held))) or _NO_SITES
    return _sites[value]


_NO_SITES: Final[tuple[Site, ...]] = ((),)  # which is no empty answer
_sites: dict[Value, tuple[Site, ...]] = {}
_MOST_SITES: Final = 10_000


def _aged(site: Site, one: Held | Ref) -> Held | Ref:
    return one._replace(age=1) if one.site == site and not one.age else one


def _marked(consumed: set[tuple[Site, int]], end: End, one: Held | Ref) -> Held | Ref:
    is_consumed = isinstance(one, Held) and one.end is None and (one.site, one.age) in consumed
    return Held(one.site, one.age, end) if is_consumed else one
