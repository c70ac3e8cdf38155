"""Which types carry a tape, and what a result of a type holds of the tapes that went into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    TupleType,
    Type,
    TypeType,
    TypeVarType,
    UninhabitedType,
    UnionType,
    get_proper_type,
)

from tapegrad.mypy.conversion import NONE_TAPE, OWNED_TAPE, is_tape, tensor_parts
from tapegrad.mypy.ownership.state import COMMON, EACH, NOTHING, Held, Ref, State, Value, tapes, union

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.mypy.ownership.state import Site

GRADIENT_TAPE = "tapegrad.autograd.tape.GradientTape"
DEEPEST = 4  # levels of a type that are read
ANY = "(any)"  # what an object of an unknown function may hold somewhere
_LONGEST_SITE = 16  # of a part of a type that contains itself
_WITHOUT = frozenset(
    {"int", "float", "str", "bytes", "bool", "complex", "range", "ndarray", "Gradients", "dtype", "type"}
)
_CONTAINERS = frozenset(
    """
    list tuple set frozenset dict deque defaultdict OrderedDict Counter zip map enumerate reversed filter
    chain islice cycle Sequence Iterable Iterator Generator Mapping MutableMapping MutableSequence Collection
    Reversible Coroutine Awaitable Future dict_values dict_items dict_keys ValuesView ItemsView KeysView
    UserDict UserList AsyncIterator Queue LifoQueue PriorityQueue SimpleQueue Task AsyncGenerator partial
    """.split()  # noqa: SIM905  # one literal for each of forty names would fill the screen
)


class _Answers:
    """What is known of types during one walk, which asks for a type at each visit of an expression."""

    def __init__(self, answer: Callable[[Type], bool | None]) -> None:
        self._answer = answer
        self._known: dict[Type, bool | None] = {}

    def of(self, t: Type) -> bool | None:
        """Return the answer for a type."""
        try:
            return self._known[t]
        except KeyError:
            answer = self._known[t] = self._answer(t)
            return answer

    def clear(self) -> None:
        """Forget the answers: the daemon may have changed the class or the alias that a type names."""
        self._known.clear()


def carries(t: Type | None) -> bool | None:
    """Return whether a type is that of a tensor with a tape, or of a tape; None if that is unknown."""
    return None if t is None else _carrying.of(t)


def _carries(t: Type) -> bool | None:
    p = get_proper_type(t)
    if isinstance(p, AnyType):
        return None
    if isinstance(p, UnionType):
        answers = {carries(item) for item in p.items}
        return True if True in answers else None if None in answers else False
    parts = tensor_parts(p)
    if parts is not None:
        if is_tape(parts.tape, OWNED_TAPE):
            return True
        return False if is_tape(parts.tape, NONE_TAPE) else None
    if isinstance(p, Instance):
        if p.type.fullname in (GRADIENT_TAPE, OWNED_TAPE):
            return True
        return None if p.type.fullname in ("builtins.object", "tapegrad.autograd.tape.Tape") else False
    return None if isinstance(p, TypeVarType) else False


_carrying = _Answers(_carries)


def is_container(t: Type | None) -> bool:
    """Return whether a type is that of a container or an iterator of the standard library."""
    p = get_proper_type(t) if t is not None else None
    if isinstance(p, TupleType):
        return True
    return isinstance(p, Instance) and p.type.name in _CONTAINERS and p.type.module_name.split(".")[0] != "tapegrad"


def clear_answers() -> None:
    """Forget what is known of types; called at the beginning of a walk."""
    _carrying.clear()
    _holding.clear()


def carries_inside(t: Type | None, depth: int = 0) -> bool:
    """Return whether a type is that of a tensor with a tape, or of a container of them."""
    p = get_proper_type(t) if t is not None else None
    if carries(p):
        return True
    if depth > DEEPEST or not is_container(p):
        return False
    items = p.items if isinstance(p, TupleType) else p.args if isinstance(p, Instance) else ()
    return any(carries_inside(one, depth + 1) for one in items)


def is_mapping(t: Type | None) -> bool:
    """Return whether a type is that of a dictionary or another mapping."""
    p = get_proper_type(t) if t is not None else None
    return isinstance(p, Instance) and p.type.has_base("typing.Mapping")


def may_hold(t: Type | None) -> bool:
    """Return whether a value of a type may hold a tape, directly or inside."""
    return t is None or bool(_holding.of(t))


def _may_hold(t: Type, depth: int = 0) -> bool:
    if depth > DEEPEST:  # a type may contain itself
        return True
    p = get_proper_type(t)
    if isinstance(p, AnyType | TypeVarType):
        return True
    if isinstance(p, NoneType | LiteralType | UninhabitedType | TypeType):
        return False
    if isinstance(p, UnionType | TupleType):
        return any(_may_hold(item, depth + 1) for item in p.items)
    if isinstance(p, Instance):
        if carries(p) is not False:
            return True
        if tensor_parts(p) is not None or p.type.name in _WITHOUT or is_tape(p, NONE_TAPE):
            return False
        return not is_container(p) or p.type.name == "partial" or any(_may_hold(one, depth + 1) for one in p.args)
    return isinstance(p, CallableType)


_holding = _Answers(_may_hold)


def result_of(t: Type | None, given: Value, shared: Value, site: Site, state: State) -> Value:
    """Return what a result of a type holds.

    Args:
        t: The type; None if it is unknown.
        given: What went into it, of which each part may hold something.
        shared: What each part of it surely holds.
        site: The expression that makes it.
        state: The state, to which its objects are added.
    """
    p = get_proper_type(t) if t is not None else None
    if p is None or isinstance(p, AnyType | TypeVarType):
        return given
    if not may_hold(p) or not given or len(site) > _LONGEST_SITE:
        return NOTHING
    if isinstance(p, UnionType):
        return union(result_of(item, given, shared, (*site, number), state) for number, item in enumerate(p.items))
    if carries(p) is not False:
        return tapes(state.reachable(given)) if not tapes(given) else tapes(given)
    if isinstance(p, TupleType):
        made = new_object(site, state)
        for number, item in enumerate(p.items):
            state.put((*made, f"[{number}]"), result_of(item, given, shared, (*site, number), state))
        return frozenset([made])
    if isinstance(p, Instance):
        made = new_object(site, state)
        if is_container(p):
            item = p.args[-1] if p.args else None
            each = result_of(item, given, shared, (*site, EACH), state)
            state.put((*made, EACH), each)
            state.put((*made, COMMON), each & shared if tapes(each) == each else each)
        else:
            state.put((*made, ANY), given)
        return frozenset([made])
    return NOTHING


def new_object(site: Site, state: State) -> Ref:
    """Return the object that an expression makes."""
    is_first = site not in state.seen
    state.start(site)
    made = Ref(site, 0)
    if not is_first:
        state.drop(made)
    return made


def fresh(site: Site, state: State) -> Value:
    """Return the tape that an expression starts."""
    return frozenset([Held(state.start(site), 0, None)])
