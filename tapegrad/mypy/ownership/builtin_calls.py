"""Functions of the standard library whose effect on containers and functions is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from mypy.nodes import ArgKind, StrExpr

from tapegrad.mypy.ownership import container_methods, containers, functions
from tapegrad.mypy.ownership.carriers import carries, may_hold, new_object
from tapegrad.mypy.ownership.state import EACH, NOTHING, Argument, Function, Ref, tapes, union

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import CallExpr

    from tapegrad.mypy.ownership.state import State, Value
    from tapegrad.mypy.ownership.walk import Walk


def called(walk: Walk, node: CallExpr, name: str, given: list[Argument], state: State) -> Value | None:
    """Return what a function of the standard library returns; None if it is not one that is known."""
    known = _KNOWN.get(name)
    return known(walk, node, given, state) if known is not None else None


def _zip(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    return container_methods.rows(walk, node, [one.value for one in given if one.kind == ArgKind.ARG_POS], state)


def _enumerate(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    return container_methods.rows(walk, node, [NOTHING, given[0].value], state) if given else NOTHING


def _copy(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return a new container with the elements of the first argument, as `list(xs)` does."""
    if not given:
        made = new_object(walk.site(node), state)
        state.put((*made, EACH), NOTHING)
        return frozenset([made])
    source = given[0].value
    if any(isinstance(one, Ref) and (*one, containers.ROW) in state.held for one in source):
        return source
    known = containers.elements(source, state)
    if known is not None:
        made = new_object(walk.site(node), state)
        containers.fill(made, known, state)
        return frozenset([made])
    return containers.copied(source, walk.site(node), state)


def _reversed(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    known = containers.elements(given[0].value, state) if given else None
    if known is None:
        return _copy(walk, node, given, state)
    made = new_object(walk.site(node), state)
    containers.fill(made, known[::-1], state)
    return frozenset([made])


def _next(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    held = containers.element(given[0].value, walk.site(node), state)
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
    if not carries(walk.type_of(node)):
        return NOTHING
    return union(tapes(walk.check(state.reachable(one.value), node, one.expression)) for one in given)


def _map(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value | None:
    known = frozenset(one for one in given[0].value if isinstance(one, Function)) if given else NOTHING
    if not known:
        return None
    sources = [one.value for one in given[1:]]
    each = [containers.elements(one, state) for one in sources]
    made = new_object(walk.site(node), state)
    state.put((*made, EACH), NOTHING)
    if len(each) == 1 and each[0] is not None:
        results = []
        for number in range(len(each[0])):
            one = containers.at(sources[0], f"[{number}]", state)
            results.append(functions.call_all(walk, known, node, [functions.positional(one)], state))
        containers.fill(made, results, state)
        return frozenset([made])
    for _ in range(2):
        elements = [
            functions.positional(containers.element(one, walk.site(node, number), state))
            for number, one in enumerate(sources)
        ]
        state.add(made, functions.call_all(walk, known, node, elements, state))
    for number, one in enumerate(given[1:]):
        containers.consumed_inside(walk, one.expression, walk.site(node, number), state)
    return frozenset([made])


def _partial(_walk: Walk, _node: CallExpr, given: list[Argument], _state: State) -> Value:
    """Return the function that `partial` makes, with the arguments bound."""
    if not given:
        return NOTHING
    positional = tuple(one.value for one in given[1:] if one.kind == ArgKind.ARG_POS)
    named = tuple((one.name, one.value) for one in given[1:] if one.name is not None)
    return frozenset(
        replace(one, bound=(*one.bound, *positional), names=(*one.names, *named))
        for one in given[0].value
        if isinstance(one, Function)
    )


def _chain(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    made = new_object(walk.site(node), state)
    state.put((*made, EACH), NOTHING)
    for one in given:
        for each in containers.all_elements(one.value, state):
            state.add(made, each)
    return frozenset([made])


def _replaced(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    """Return a copy of an object with some attributes replaced, as `dataclasses.replace` does."""
    sources = [one for one in given[0].value if isinstance(one, Ref)] if given else []
    made = new_object(walk.site(node), state)
    for source in sources:
        for name, held in list(state.fields(source)):
            state.put((*made, name), held)
        if source.site in walk.classes:
            walk.classes[made.site] = walk.classes[source.site]
    for one in given[1:]:
        if one.name is not None:
            state.put((*made, one.name), one.value)
    return frozenset([made])


def _method_replaced(walk: Walk, node: CallExpr, given: list[Argument], state: State) -> Value:
    owner = walk.value(node.callee.expr, state)  # type: ignore[attr-defined]  # `x._replace` has an owner
    return _replaced(walk, node, [functions.positional(owner), *given], state)


def _getattr(_walk: Walk, _node: CallExpr, given: list[Argument], state: State) -> Value:
    name = given[1].expression if len(given) > 1 else None
    if not isinstance(name, StrExpr):
        return NOTHING
    return union(state.held.get((*one, name.value), NOTHING) for one in given[0].value if isinstance(one, Ref))


def _setattr(_walk: Walk, _node: CallExpr, given: list[Argument], state: State) -> Value:
    name = given[1].expression if len(given) > 2 else None
    for one in given[0].value if given else ():
        if isinstance(one, Ref) and isinstance(name, StrExpr):
            state.put((*one, name.value), given[2].value)
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
                functions.call_from_unknown(walk, one, node, rest, state)
    return NOTHING


_KNOWN: Final[dict[str, Callable[..., Value | None]]] = {
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.list": _copy,
    "builtins.tuple": _copy,
    "builtins.set": _copy,
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
    "collections.deque": _copy,
    "copy.copy": _replaced,
    "dataclasses.replace": _replaced,
    "._replace": _method_replaced,
    ".map": _map,
    "functools.partial": _partial,
    "itertools.chain": _chain,
    "random.choice": _one_of,
    "threading.Thread": _thread,
}
