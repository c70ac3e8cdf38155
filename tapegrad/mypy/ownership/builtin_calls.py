"""Functions of the standard library whose effect on containers and functions is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import ArgKind

from tapegrad.mypy.ownership import classes, container_methods, containers, functions
from tapegrad.mypy.ownership.carriers import carries, is_mapping, may_hold, new_object
from tapegrad.mypy.ownership.other_calls import call_from_unknown
from tapegrad.mypy.ownership.state import COMMON, EACH, MAKES, NOTHING, Argument, Function, Ref, aged, tapes, union

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import CallExpr

    from tapegrad.mypy.ownership.state import State, Value
    from tapegrad.mypy.ownership.walk import Walk


_OPERATORS: Final = ("operator.", "_operator.")


def called(walk: Walk, node: CallExpr, name: str, given: list[Argument], state: State) -> Value | None:
    """Return what a function of the standard library returns; None if it is not one that is known.

    It is unknown where arguments are missing, as in `next()`, or are unpacked, as in `heapq.heappush(*pair)`.
    """
    known = _KNOWN.get(name)
    return known(walk, node, given, state) if known is not None and len(given) >= _NEEDED.get(known, 0) else None


def _zip(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    sources: list[Value] = []
    for one in given:
        if one.kind == ArgKind.ARG_POS:
            sources.append(walk.check(one.value, node, one.expression))
        elif one.kind == ArgKind.ARG_STAR:
            sources += containers.elements(one.value, state) or []
    return container_methods.rows(walk, node, sources, state)


def _zip_longest(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return tuples with an element of each argument, of as many as the longest one has."""
    sources = [walk.check(one.value, node, one.expression) for one in given if one.kind == ArgKind.ARG_POS]
    known = [each for one in sources if (each := containers.elements(one, state)) is not None]
    if len(known) < len(sources):
        return container_methods.rows(walk, node, sources, state)
    padded: list[Value] = []
    for number, each in enumerate(known):
        made = new_object(walk.site(node, "padded", number), state)
        containers.fill(made, [*each, *[NOTHING] * (max(map(len, known)) - len(each))], state)
        padded.append(frozenset([made]))
    return container_methods.rows(walk, node, padded, state)


def _enumerate(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    if not given:
        return NOTHING
    made = container_methods.rows(walk, node, [NOTHING, walk.check(given[0].value, node, given[0].expression)], state)
    if len(given) == 1:
        for number, row in enumerate(containers.elements(made, state) or []):
            for one in row:
                state.know((*one, "[0]"), (int, number)) if isinstance(one, Ref) else None
    return made


def _tee(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return two iterators over the same elements."""
    made = new_object(walk.site(node), state)
    containers.fill(made, [given[0].value] * 2 if len(given) == 1 else [], state)
    return frozenset([made]) if len(given) == 1 else NOTHING


def _flattened(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return the elements of the containers in a container."""
    made = new_object(walk.site(node), state)
    containers.fill(made, [], state)
    known = containers.elements(given[0].value, state)
    for one in known if known is not None else containers.all_elements(given[0].value, state) * 2:
        containers.extend(made, one, state)
    return frozenset([made])


def _starmap(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value | None:
    """Follow the function that `starmap` calls with the elements of each tuple."""
    known = frozenset(one for one in given[0].value if isinstance(one, Function))
    if not known:
        return None
    made = new_object(walk.site(node), state)
    containers.fill(made, [], state)
    rows = containers.elements(given[1].value, state)
    if rows is None:
        rows = [containers.element(given[1].value, walk.site(node), state) for _ in range(2)]
    for row in rows:
        parts = [functions.positional(one) for one in containers.elements(row, state) or []]
        containers.append(made, functions.call_all(walk, known, node, parts, state), state)
    return frozenset([made])


def _pairwise(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return each element with the one after it."""
    source = given[0].value
    known = containers.elements(source, state)
    if known is None:
        return containers.pairs(source, walk.site(node), state)
    made = [new_object(walk.site(node, number), state) for number in range(2)]
    for one, held in zip(made, (known[:-1], known[1:]), strict=True):
        containers.fill(one, held, state)
    return container_methods.rows(walk, node, [frozenset([one]) for one in made], state)


def _copy(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return a new container with the elements of the first argument, as `list(xs)` does."""
    if not given or given[0].kind != ArgKind.ARG_POS:
        return _empty(walk, node, given, state)
    source = given[0].value
    if given[0].expression is not None and carries(walk.type_of(given[0].expression)):
        return containers.rows_of(walk.check(source, node, given[0].expression), walk.site(node), state)
    if any(isinstance(one, Ref) and (*one, containers.ROW) in state.held for one in source):
        return source
    if is_mapping(walk.type_of(given[0].expression)) if given[0].expression is not None else False:
        source = containers.keys_of(source, walk.site(node), state)
    known = containers.elements(source, state)
    if known is not None:
        made = new_object(walk.site(node), state)
        containers.fill(made, [aged(made.site, one) for one in known], state)
        return frozenset([made])
    return containers.copied(source, walk.site(node), state)


def _empty(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return a container without elements, such as `deque(maxlen=2)`; one with a bound loses elements by itself."""
    made = new_object(walk.site(node), state)
    if given:
        state.put((*made, EACH), NOTHING)
    else:
        containers.fill(made, [], state)
    return frozenset([made])


def _queue(walk: Walk, node: CallExpr, _given: list[Argument], state: State) -> Value:
    return _empty(walk, node, [], state)


def _dict(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return the dictionary that `dict(other, a=x)` or `dict(zip(keys, values))` makes."""
    made = new_object(walk.site(node), state)
    state.put((*made, EACH), NOTHING)
    for one in given:
        held = aged(made.site, one.value)
        if one.kind == ArgKind.ARG_NAMED:
            state.put((*made, f"[{one.name!r}]"), held)
        elif one.kind == ArgKind.ARG_STAR2 or (one.expression and is_mapping(walk.type_of(one.expression))):
            container_methods.extend(made, held, state)
        else:
            for _ in range(2):  # twice, because two pairs have tapes of their own
                pair = containers.element(held, walk.site(node), state)
                state.add(made, containers.at(pair, "[1]", state))
    return frozenset([made])


def _defaultdict(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return a dictionary that makes a container for each new key; those of unknown keys are known as one."""
    made = new_object(walk.site(node), state)
    state.put((*made, EACH), NOTHING)
    if given and getattr(given[0].expression, "fullname", "") in _KNOWN:
        inner = new_object(walk.site(node, "default"), state)
        state.put((*inner, EACH), NOTHING)
        state.put((*made, EACH), frozenset([inner]))
        state.put((*made, COMMON), NOTHING)
        state.put((*made, MAKES), NOTHING)
    for one in given[1:]:
        container_methods.extend(made, one.value, state)
    return frozenset([made])


def _reversed(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    known = containers.elements(given[0].value, state) if given else None
    if known is None:
        return _copy(walk, node, given, state)
    made = new_object(walk.site(node), state)
    containers.fill(made, known[::-1], state)
    return frozenset([made])


def _next(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    source = given[0].value
    method = classes.iterator_method(walk, node.args[0], source)
    if method:
        return functions.call_all(walk, method, node, [], state)
    if containers.comes_back(source, state):
        source = containers.copied(source, walk.site(node), state)
    held = containers.element(source, walk.site(node), state)
    return held | union(one.value for one in given[1:])


def _one_of(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value | None:
    """Return one of several tensors, as `max(a, b)` does, which may be any of them."""
    if not may_hold(walk.type_of(node)):
        return NOTHING
    positional = [one.value for one in given if one.kind == ArgKind.ARG_POS]
    if len(positional) == 1:
        return containers.element(positional[0], walk.site(node), state)
    made = new_object(walk.site(node, "choices"), state)
    containers.fill(made, positional, state)
    return containers.element(frozenset([made]), walk.site(node), state)


def _sum(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    if carries(walk.type_of(node)) is False:  # an argument whose parameter is a tensor of any kind has an unknown type
        return NOTHING
    held = union(tapes(walk.check(state.reachable(one.value), node, one.expression)) for one in given)
    return held | containers.merged([one.value for one in given], walk.site(node), state)


def _reduce(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value | None:
    """Return what `reduce(operator.add, xs)` holds, the tapes of all elements, or what a function of the file does."""
    operator = getattr(node.args[0], "fullname", "") if node.args else ""
    if (operator or "").startswith(_OPERATORS):
        return _sum(walk, node, given, state)
    known = frozenset(one for one in given[0].value if isinstance(one, Function)) if len(given) > 1 else NOTHING
    if not known or not all(one.kind == ArgKind.ARG_POS for one in given):
        return None
    elements = containers.elements(given[1].value, state)
    if elements is None:
        return _reduced(walk, node, known, given, state)
    values = [given[2].value] if len(given) > 2 else []
    values += [containers.at(given[1].value, f"[{number}]", state) for number in range(len(elements))]
    if not values:
        return NOTHING
    held = values[0]
    for one in values[1:]:
        held = functions.call_all(walk, known, node, [functions.positional(held), functions.positional(one)], state)
    return held


def _reduced(walk: Walk, node: CallExpr, known: Value, given: list[Argument], state: State) -> Value:
    """Return what `reduce(f, xs)` holds for an unknown number of elements, whose tapes `f` may merge."""
    source = given[1].value
    first = given[2].value if len(given) > 2 else containers.element(source, walk.site(node, "first"), state)
    second = containers.element(source, walk.site(node, "second"), state)
    parts = [functions.positional(first), functions.positional(second)]
    held = functions.call_all(walk, known, node, parts, state)
    if not tapes(second) or not tapes(first) | tapes(second) <= held:
        return held
    walk.check(state.reachable(source), node, given[1].expression)
    return held | containers.merged([source], walk.site(node), state)


def _map(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value | None:
    known = frozenset(one for one in given[0].value if isinstance(one, Function)) if given else NOTHING
    if not known:
        return None
    sources = [one.value for one in given[1:]]
    each = [containers.elements(one, state) for one in sources]
    made = new_object(walk.site(node), state)
    state.put((*made, EACH), NOTHING)
    if len(each) == 1 and each[0] is not None:
        containers.fill(made, [], state)
        for number in range(len(each[0])):
            one = containers.at(sources[0], f"[{number}]", state)
            held = functions.call_all(walk, known, node, [functions.positional(one)], state)
            state.put((*made, f"[{number}]"), held)
        return frozenset([made])
    for _ in range(2):
        held = [containers.element(one, walk.site(node, number), state) for number, one in enumerate(sources)]
        for number, one in enumerate(held):
            state.held["element", (node, number)] = one  # so that the container is marked by what the function consumes
        state.add(made, functions.call_all(walk, known, node, list(map(functions.positional, held)), state))
    for number, one in enumerate(given[1:]):
        containers.consumed_inside(walk, one.expression, walk.site(node, number), state)
    return frozenset([made])


def _filter(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return the elements of the second argument for which the first returns true."""
    if len(given) != 2:
        return NOTHING
    source = given[1].value
    made = new_object(walk.site(node), state)
    source = aged(made.site, source)
    known = frozenset(one for one in given[0].value if isinstance(one, Function))
    if known:
        for _ in range(2):
            one = functions.positional(containers.element(source, walk.site(node), state))
            functions.call_all(walk, known, node, [one], state)
    kept = [one for one in containers.elements(source, state) or [] if one]
    shared = kept[0].intersection(*kept[1:]) if len(kept) > 1 else containers.common(source, state)
    state.put((*made, EACH), union(containers.all_elements(source, state)))
    state.put((*made, COMMON), shared)
    return frozenset([made])


def _heap_pushed(_walk: Walk, _node: CallExpr, given: list[Argument], state: State) -> Value:
    for one in given[0].value:
        if isinstance(one, Ref):
            state.forget_positions(one)
            state.add(one, given[1].value)
    return NOTHING


def _heap_popped(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    for one in given[0].value:
        if isinstance(one, Ref):
            state.forget_positions(one)
    return containers.element(given[0].value, walk.site(node), state)


def _cycle(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return an iterator that comes back to each element."""
    made = new_object(walk.site(node), state)
    state.put((*made, EACH), aged(made.site, union(containers.all_elements(given[0].value, state))))
    state.put((*made, containers.AGAIN), NOTHING)
    return frozenset([made])


def _islice(_walk: Walk, _node: CallExpr, given: list[Argument], state: State) -> Value | None:
    """Return the first elements of a cycle, which may be all of them, and more than once."""
    return given[0].value if given and containers.comes_back(given[0].value, state) else None


def _weak(_walk: Walk, node: CallExpr, given: list[Argument], _state: State) -> Value:
    """Return a weak reference, which gives the object when it is called."""
    return frozenset([Function(functions.REFERENT, (given[0].value,), node)]) if given else NOTHING


def _partial(_walk: Walk, _node: CallExpr, given: list[Argument], _state: State) -> Value:
    """Return the function that `partial` makes, with the arguments bound."""
    return functions.bound(given) if given else NOTHING


def _chain(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    made = new_object(walk.site(node), state)
    state.put((*made, EACH), NOTHING)
    for one in given:
        for each in containers.all_elements(one.value, state):
            state.add(made, each)
    return frozenset([made])


def _replaced(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return a copy of an object with some attributes replaced, as `dataclasses.replace` does."""
    if given and tapes(given[0].value):
        return tapes(given[0].value)
    sources = [one for one in given[0].value if isinstance(one, Ref)] if given else []
    made = new_object(walk.site(node), state)
    sources = [one for one in aged(made.site, frozenset(sources)) if isinstance(one, Ref)]
    for number, source in enumerate(sources):
        for name, held in list(state.fields(source)):
            state.put((*made, name), held, weak=number > 0)
        if source.site in walk.classes:
            walk.classes[made.site] = walk.classes[source.site]
    for one in given[1:]:
        if one.name is not None:
            state.put((*made, one.name), one.value)
    return frozenset([made])


def _itself(_walk: Walk, _node: CallExpr, given: list[Argument], _state: State) -> Value:
    """Return the first argument of a function that only reads it, such as `reveal_shape`."""
    return given[0].value if given else NOTHING


def _method_replaced(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    owner = walk.value(node.callee.expr, state)  # type: ignore[attr-defined]  # `x._replace` has an owner
    return _replaced(walk, node, [functions.positional(owner), *given], state)


def _getattr(_walk: Walk, _node: CallExpr, given: list[Argument], state: State) -> Value:
    name = given[1].constant[1] if len(given) > 1 and given[1].constant is not None else None
    if not isinstance(name, str):
        return NOTHING
    return union(state.held.get((*one, name), NOTHING) for one in given[0].value if isinstance(one, Ref))


def _setattr(_walk: Walk, _node: CallExpr, given: list[Argument], state: State) -> Value:
    name = given[1].constant[1] if len(given) > 2 and given[1].constant is not None else None
    for one in given[0].value if given else ():
        if isinstance(one, Ref) and isinstance(name, str):
            state.put((*one, name), given[2].value)
            state.know((*one, name), given[2].constant if not one.age else None)
        elif isinstance(one, Ref):
            state.drop(one)
    return NOTHING


def _thread(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Follow the function that a thread runs."""
    named = {one.name: one for one in given}
    if "target" in named:
        rest = [named["args"]] if "args" in named else []
        for one in named["target"].value:
            if isinstance(one, Function):
                call_from_unknown(walk, one, node, rest, state)
    return NOTHING


_QUEUES: Final = (
    "queue.Queue",
    "queue.LifoQueue",
    "queue.PriorityQueue",
    "_queue.SimpleQueue",
    "asyncio.queues.Queue",
    "asyncio.queues.LifoQueue",
)
_KNOWN: Final[dict[str, Callable[..., Value | None]]] = {
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.dict": _dict,
    "builtins.list": _copy,
    "builtins.tuple": _copy,
    "builtins.set": _copy,
    "builtins.filter": _filter,
    "builtins.frozenset": _copy,
    "builtins.iter": _copy,
    "builtins.sorted": _copy,
    "builtins.reversed": _reversed,
    "builtins.next": _next,
    "builtins.max": _one_of,
    "builtins.min": _one_of,
    "builtins.sum": _sum,
    "builtins.map": _map,
    "builtins.getattr": _getattr,
    "builtins.setattr": _setattr,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _defaultdict,
    "collections.UserDict": _dict,
    "collections.UserList": _copy,
    "collections.deque": _copy,
    **dict.fromkeys(_QUEUES, _queue),
    "contextlib.AsyncExitStack": _queue,
    "contextlib.ExitStack": _queue,
    "copy.copy": _replaced,
    "dataclasses.replace": _replaced,
    "._replace": _method_replaced,
    ".from_iterable": _flattened,
    **dict.fromkeys((".insort", ".insort_left", ".insort_right"), _heap_pushed),
    ".map": _map,
    "functools.partial": _partial,
    **dict.fromkeys(("heapq.heappush", "_heapq.heappush"), _heap_pushed),
    **dict.fromkeys(("heapq.heappop", "_heapq.heappop"), _heap_popped),
    "itertools.chain": _chain,
    "itertools.cycle": _cycle,
    "itertools.islice": _islice,
    "functools.reduce": _reduce,
    "itertools.pairwise": _pairwise,
    "itertools.starmap": _starmap,
    "itertools.tee": _tee,
    "itertools.zip_longest": _zip_longest,
    "random.choice": _one_of,
    "tapegrad.guard.assertions.assert_shape": _itself,
    "tapegrad.guard.assertions.reveal_shape": _itself,
    "threading.Thread": _thread,
    **dict.fromkeys(("weakref.ref", "weakref.ReferenceType", "_weakref.ReferenceType"), _weak),
}
# How many arguments the functions read that a call cannot leave out.
_NEEDED: Final[dict[Callable[..., Value | None], int]] = {
    _cycle: 1,
    _flattened: 1,
    _heap_popped: 1,
    _heap_pushed: 2,
    _next: 1,
    _pairwise: 1,
    _starmap: 2,
}
