"""Context managers: what `with manager as name` binds, and what happens at its end.

A generator that is a context manager is followed twice: up to its `yield` where the body begins, and again where the
body ends. The second time, all before the `yield` runs in a state of its own, which is then dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import FuncItem

from tapegrad.mypy.ownership import classes, containers, functions
from tapegrad.mypy.ownership.other_calls import call_from_unknown
from tapegrad.mypy.ownership.state import NOTHING, Argument, Function, Ref, State, UnreachableError, joined, union

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from mypy.nodes import CallExpr

    from tapegrad.mypy.ownership.state import Constant, Value
    from tapegrad.mypy.ownership.walk import Walk

    Exit: TypeAlias = Callable[[State, Constant], None]  # of the state, and NO_ERROR or ERROR

STACKS: Final = ("contextlib.ExitStack", "contextlib.AsyncExitStack")
NO_ERROR: Final[Constant] = (type(None), None)  # what `__exit__` gets where no exception leaves the block
ERROR: Final[Constant] = (Exception, "raised")  # differs from None


def entered(
    walk: Walk, manager: Any, held: Value, state: State, *, is_async: bool = False
) -> tuple[Value | None, Exit | None]:
    """Return what `with manager as name` binds, None if that is unknown, and what to do at the end of the body."""
    for one in held:
        if isinstance(one, Function) and one.call == functions.OPENED and isinstance(one.node, FuncItem):
            return _generator(walk, one.node, one, manager, state)
    t = walk.type_of(manager)
    begin = classes.method_of(walk, manager, t, "__aenter__" if is_async else "__enter__", held)
    exit_name = "__aexit__" if is_async else "__exit__"
    end = classes.method_of(walk, manager, t, exit_name, held)
    found = functions.call_all(walk, begin, manager, [], state) if begin else None
    if end:
        holder = ("manager", manager)
        state.held[holder] = held

        def leave(after: State, raised: Constant) -> None:
            owner = after.held.pop(holder, held)
            method = classes.method_of(walk, manager, t, exit_name, owner)
            given = [functions.positional(NOTHING)._replace(constant=raised)] * 3
            functions.call_all(walk, method, manager, given, after)

        return found, leave
    info = classes.info_of(t)
    if info is not None and info.fullname in STACKS:
        return held, lambda after, raised: close(walk, manager, held, after, raised)
    return found, None


def is_generator(held: Value) -> bool:
    """Return whether a manager is a generator of the file, which shows whether it suppresses an error."""
    return any(isinstance(one, Function) and one.call == functions.OPENED for one in held)


def _generator(
    walk: Walk, body: FuncItem, function: Function, manager: Any, state: State
) -> tuple[Value | None, Exit | None]:
    """Follow a generator up to its `yield`."""
    before = state.copy()
    yielded: list[tuple[Value, State]] = []

    def stop(held: Value, at_yield: State) -> None:
        yielded.append((held, at_yield.copy()))
        raise UnreachableError

    key = (manager, *walk.calls)
    _run(walk, body, function, manager, before.copy(), stop)
    reached = joined([one for _, one in yielded])
    if reached is None:
        return None, None
    state.become(reached)
    functions.save(body, key, state)

    def leave(after: State, raised: Constant) -> None:
        def go_on(_: Value, at_yield: State) -> None:
            at_yield.become(after.copy())
            functions.restore(body, key, at_yield)
            if raised == ERROR:  # it is raised at the `yield`
                walk.note_exception(at_yield)
                raise UnreachableError

        scratch = before.copy()
        if _run(walk, body, function, manager, scratch, go_on):
            after.become(scratch)
        elif raised == ERROR:
            raise UnreachableError

    return union(held for held, _ in yielded), leave


def _run(
    walk: Walk,
    body: FuncItem,
    function: Function,
    node: Any,
    state: State,
    at_yield: Callable[[Value, State], None],
) -> bool:
    """Follow a generator, and return whether it ends."""
    given = [*map(functions.positional, function.bound)]
    given += [functions.named(name, held) for name, held in function.names]
    if not functions.can_follow(walk, body):
        return False
    try:
        functions.followed(walk, body, node, given, state, at_yield)
    except UnreachableError:
        return False
    return True


def stacked(walk: Walk, node: CallExpr, owner: Value, name: str, given: list[Argument], state: State) -> Value | None:
    """Return what a method of an `ExitStack` returns, after noting what to do at its end; None for other methods."""
    if name in ("enter_context", "enter_async_context") and given:
        found, leave = entered(walk, given[0].expression, given[0].value, state)
        if leave is not None:
            _push(walk, owner, leave)
        return found if found is not None else NOTHING
    if name in ("callback", "push_async_callback") and given:
        for one in owner:
            if isinstance(one, Ref):
                containers.append(one, functions.bound(given), state)
        return NOTHING
    if name in ("close", "aclose"):
        close(walk, node, owner, state)
        forget_stack(walk, owner)
        return NOTHING
    return None


def _push(walk: Walk, owner: Value, leave: Exit) -> None:
    for one in owner:
        if isinstance(one, Ref):
            walk.exits.setdefault(one.site, []).append(leave)


def forget_stack(walk: Walk, stack: Value) -> None:
    """Forget what a stack of context managers does at its end, which has come."""
    for one in stack:
        if isinstance(one, Ref):
            walk.exits.pop(one.site, None)


def close(walk: Walk, node: Any, stack: Value, state: State, raised: Constant = NO_ERROR) -> None:
    """Do what a stack of context managers does at its end, the last one first."""
    for one in stack:
        if not isinstance(one, Ref):
            continue
        known = containers.elements(frozenset([one]), state)
        for number in reversed(range(2 if known is None else len(known))):
            held = containers.element(frozenset([one]), (node, *walk.calls), state)
            if known is not None:
                held = containers.at(frozenset([one]), f"[{number}]", state)
            for function in held:
                if isinstance(function, Function):
                    call_from_unknown(walk, function, node, [], state)
        for leave in reversed(walk.exits.get(one.site, [])):
            leave(state, raised)
