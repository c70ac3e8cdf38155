"""Functions of the file: a call follows the body, with the parameters bound to the arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    ArgKind,
    CallExpr,
    Decorator,
    FuncDef,
    FuncItem,
    GlobalDecl,
    LambdaExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    NonlocalDecl,
    Var,
)
from mypy.types import CallableType, Instance, get_proper_type

from tapegrad.mypy.mypy_api import formals_of
from tapegrad.mypy.ownership import container_methods, containers, other_calls, recursion
from tapegrad.mypy.ownership.carriers import new_object
from tapegrad.mypy.ownership.constants import constant_of, is_bound_elsewhere
from tapegrad.mypy.ownership.consumed import is_consumed
from tapegrad.mypy.ownership.independence import is_independent
from tapegrad.mypy.ownership.spelling import written
from tapegrad.mypy.ownership.state import (
    EACH,
    NOTHING,
    Argument,
    Function,
    Ref,
    State,
    UnreachableError,
    branched_values,
    joined,
    tapes,
    union,
)
from tapegrad.mypy.ownership.walk import Frame, functions_inside
from tapegrad.mypy.scopes.names import ScopeCache, bound_in, nodes_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy.nodes import Node, TypeInfo

    from tapegrad.mypy.ownership.state import Constant, Value
    from tapegrad.mypy.ownership.walk import Walk


REFERENT: Final = "referent"  # what a weak reference refers to
CACHED: Final = "cached"
MANAGER: Final = "manager"  # a generator function whose calls make context managers
OPENED: Final = "opened"  # such a call
DISPATCHING: Final = "dispatching"  # a function that another one stands in for, by the class of the first argument
OP: Final = "op"  # a method of a tensor that gives another tensor, such as `loss.sum`


def call_all(walk: Walk, known: Value, node: Any, given: list[Argument], state: State) -> Value:
    """Follow a call of one of several functions.

    Raises:
        UnreachableError: None of them returns.
    """
    ends: list[tuple[Value, State]] = []
    options = sorted((one for one in known if isinstance(one, Function)), key=_place)
    for one in options:
        taken = state.copy() if len(options) > 1 else state
        try:
            ends.append((call(walk, one, node, given, taken), taken))
        except UnreachableError:
            continue
    if not ends:
        raise UnreachableError
    held, after = branched_values(ends)
    state.become(after)
    return held


def _place(function: Function) -> tuple[int, str]:
    return (-1, function.node) if isinstance(function.node, str) else (function.node.line, "")


def call(walk: Walk, function: Function, node: Any, given: list[Argument], state: State) -> Value:
    """Follow a call of one function.

    Raises:
        UnreachableError: It does not return.
    """
    known = dict(function.constants)
    given = [
        *(Argument(one, ArgKind.ARG_POS, None, None, known.get(n)) for n, one in enumerate(function.bound)),
        *given,
        *(Argument(one, ArgKind.ARG_NAMED, name, None, known.get(name)) for name, one in function.names),
    ]
    body = function.node
    if body == REFERENT:
        return function.bound[0]
    if isinstance(body, str) and body in container_methods.ADDING:
        container_methods.method(walk, node, body, function.bound[0], [one.value for one in given[1:]], state)
        return NOTHING
    receiver = getattr(function.call, "expr", None)
    if body == OP:
        return union(
            tapes(walk.check(one, node, expression))
            for one, expression in [(function.bound[0], receiver), *((one.value, one.expression) for one in given[1:])]
        )
    if isinstance(body, str):
        other_calls.consuming(walk, node, function.bound[0], receiver, given[1:], state)
        return NOTHING
    if function.call == MANAGER:
        positional_ones = tuple(one.value for one in given if one.kind == ArgKind.ARG_POS)
        names = tuple((one.name, one.value) for one in given if one.kind == ArgKind.ARG_NAMED and one.name)
        return frozenset([Function(body, positional_ones, OPENED, names, function.captured)])
    if function.call == DISPATCHING:
        return call_all(walk, dispatched(walk, body, given), node, given, state)
    if not can_follow(walk, body, given):
        return other_calls.unknown(walk, node, given, state) if isinstance(node, CallExpr) else NOTHING
    if is_independent(walk, function, body, node, given, state):
        return NOTHING
    for variable, held in function.captured:
        state.held["name", variable] = held
        state.know(("name", variable), None if is_bound_elsewhere(walk, variable) else known.get(variable))
    if not is_cached(function):
        held = _followed_once(walk, function, body, node, given, state)
        _consume_declared(walk, node, given, state)
        return held
    holder = ("cached", body, *(written(one.expression) for one in given))
    if holder not in state.held:
        state.held[holder] = followed(walk, body, node, given, state)
    return state.held[holder]


def dispatched(walk: Walk, body: FuncItem, given: list[Argument]) -> Value:
    """Return the functions that `functools.singledispatch` may choose, by the first argument that is not `self`."""
    position = 1 if body.info else 0
    chosen_by = given[position].expression if len(given) > position else None
    t = get_proper_type(walk.type_of(chosen_by)) if chosen_by is not None else None
    choices = {
        info: one
        for one in _registered.of(walk.file).get(body.name, ())
        if one.info is body.info and (info := _class_at(position, one)) is not None
    }
    own = t.type.mro if isinstance(t, Instance) else []
    chosen = [choices[one] for one in own if one in choices][:1] or [body]
    below = [one for info, one in choices.items() if not own or (info not in own and info.has_base(own[0].fullname))]
    return frozenset(Function(one, (), None) for one in {*chosen, *below})


def _class_at(position: int, function: FuncItem) -> TypeInfo | None:
    declared = get_proper_type(function.type) if function.type is not None else None
    types = declared.arg_types[position:] if isinstance(declared, CallableType) else []
    first = get_proper_type(types[0]) if types else None
    return first.type if isinstance(first, Instance) else None


def _registered_in(file: Node | None) -> dict[str, list[FuncItem]]:
    """Return the functions of a file that decorators such as `@show.register` add, by the name they add to."""
    found: dict[str, list[FuncItem]] = {}
    for one in nodes_in.of(file):
        for decorator in one.original_decorators if isinstance(one, Decorator) else ():
            register = decorator.callee if isinstance(decorator, CallExpr) else decorator
            if isinstance(register, MemberExpr) and register.name == "register" and isinstance(register.expr, NameExpr):
                found.setdefault(register.expr.name, []).append(one.func)
    return found


_registered = ScopeCache(_registered_in)


def _consume_declared(walk: Walk, node: Any, given: list[Argument], state: State) -> None:
    """Mark the arguments of parameters that are declared as consumed."""
    declared = get_proper_type(walk.type_of(node.callee)) if isinstance(node, CallExpr) else None
    if isinstance(declared, CallableType):
        formals = formals_of(node, declared)
        for one in given:
            if one.expression in formals and is_consumed(formals[one.expression]):
                walk.consume(tapes(walk.check(one.value, node, one.expression)), node, one.expression, state)


def is_cached(function: Function) -> bool:
    """Return whether a function is decorated with `functools.cache`, so that equal calls return the same object."""
    return bool(function.call == CACHED)


def clear_cache(value: Value, state: State) -> None:
    """Forget what a function with a cache has returned, as `function.cache_clear()` does."""
    bodies = {one.node for one in value if isinstance(one, Function)}
    for holder in [one for one in state.held if one[0] == "cached" and one[1] in bodies]:
        del state.held[holder]


def can_follow(walk: Walk, body: FuncItem, given: Sequence[Argument] = ()) -> bool:
    """Return whether a function is in the file, is checked by mypy, and has not called itself too often."""
    if body not in in_file.of(walk.file):
        return False
    if not walk.may_go_deeper:
        walk.is_complete = False
        return False
    times = walk.entered.count(body)
    if times > 1 and times > recursion.levels(walk, body, given):
        return False
    if body not in walk.checked:
        made = [one for one in nodes_in.of(body) if isinstance(one, CallExpr) and one.analyzed is None]
        walk.checked[body] = not made or any(walk.type_of(one) is not None for one in made)
    return walk.checked[body]


def _functions_in(file: Node | None) -> set[FuncItem]:
    return {one for one in nodes_in.of(file) if isinstance(one, FuncItem)} if isinstance(file, MypyFile) else set()


in_file = ScopeCache(_functions_in)


def _followed_once(
    walk: Walk, function: Function, body: FuncItem, node: Any, given: list[Argument], state: State
) -> Value:
    """Follow a body, or repeat what it did when it was followed from an equal state, in an earlier turn of a loop.

    Raises:
        UnreachableError: It does not return.
    """
    if not any(frame.loops for frame in walk.frames):
        return followed(walk, body, node, given, state)
    key = (node, walk.calls, function.node)
    values = [(one.value, one.kind, one.name, one.constant) for one in given]
    known = walk.calls_before.get(key)
    if known is not None and known[0] == values and known[1].equals(state):
        state.become(known[2].copy())
        for one in known[3]:
            walk.note_exception(one)
        return known[4]
    before, tries, noted = state.copy(), walk.frame.tries, list[State]()
    walk.frame.tries = [noted] if tries else []
    try:
        held = followed(walk, body, node, given, state)
    finally:
        walk.frame.tries = tries
        for one in noted:
            walk.note_exception(one)
    walk.calls_before[key] = (values, before, state.copy(), noted, held)
    return held


def followed(
    walk: Walk,
    body: FuncItem,
    node: Any,
    given: list[Argument],
    state: State,
    at_yield: Callable[[Value, State], None] | None = None,
) -> Value:
    """Follow the body of a function.

    Raises:
        UnreachableError: It does not return.
    """
    calls_itself = body in walk.entered
    key = (node, *walk.calls)
    if calls_itself:
        save(body, key, state)
    _bind_parameters(walk, body, node, given, state)
    frame = Frame(body)
    frame.at_yield = at_yield
    frame.tries = list(walk.frame.tries)
    if isinstance(body, FuncDef) and body.is_generator and at_yield is None:
        frame.made = new_object(walk.site(node, "generator"), state)
        containers.fill(frame.made, [], state)
        walk.generators[frame.made.site] = body
    walk.frames.append(frame)
    walk.calls = (*walk.calls, node)
    walk.entered.append(body)
    if not any(("name", one.variable) in state.constants for one in body.arguments):
        walk.followed.add(body)  # with all of its branches
    try:
        end = joined([walk.through(body.body, one) for one in recursion.states(walk, body, state)])
    finally:
        walk.frames.pop()
        walk.entered.pop()
        walk.calls = walk.calls[:-1]
    returned: Value = NOTHING
    after = end if not frame.returned else None
    if frame.returned:
        nothing = [(NOTHING, end)] if end is not None else []
        returned, after = branched_values([*frame.returned, *nothing])
    after = after or joined(frame.yields)
    if after is None:
        raise UnreachableError
    state.become(after)
    if functions_inside.of(body):
        _close_stored(body, state)
    if frame.made is not None:
        found: Value = frozenset([frame.made])
    else:
        found = _closed(returned, body, state)
    if calls_itself:
        restore(body, key, state)
    elif body not in walk.entered:
        for variable in _variables.of(body):
            state.held.pop(("name", variable), None)
            state.constants.pop(("name", variable), None)
    state.release((*walk.calls, node), found)
    return found


def save(body: FuncItem, key: Any, state: State) -> None:
    """Put the variables of a function aside, while it is followed once more."""
    for variable in _variables.of(body):
        if ("name", variable) in state.held:
            state.held["saved", (variable, key)] = state.held.pop(("name", variable))
        if ("name", variable) in state.constants:
            state.constants["saved", (variable, key)] = state.constants.pop(("name", variable))


def restore(body: FuncItem, key: Any, state: State) -> None:
    """Give a function the variables back that were put aside."""
    for variable in _variables.of(body):
        state.held.pop(("name", variable), None)
        saved = state.held.pop(("saved", (variable, key)), None)
        if saved is not None:
            state.held["name", variable] = saved
        state.know(("name", variable), state.constants.pop(("saved", (variable, key)), None))


def _variables_of(body: Node | None) -> list[Var]:
    """Return the parameters and variables of a function, but not those of a function or a file around it."""
    if not isinstance(body, FuncItem):
        return []
    parameters = [one.variable for one in body.arguments]
    if isinstance(body, LambdaExpr):
        return parameters
    outer = {name for one in nodes_in.of(body) if isinstance(one, NonlocalDecl | GlobalDecl) for name in one.names}
    bound = {one for one in bound_in(body) if isinstance(one, Var) and one.name not in outer}
    return [*parameters, *sorted(bound - {*parameters}, key=lambda one: (one.line, one.name))]


_variables = ScopeCache(_variables_of)


def _close_stored(body: FuncItem, state: State) -> None:
    """Bind the variables of a function that has returned to its inner functions that something still holds."""
    own = functions_inside.of(body)
    local = frozenset(one for one in bound_in(body) if ("name", one) in state.held)
    for holder, held in state.held.items():
        if holder[1] in local and holder[0] == "name":
            continue  # it is gone with the function
        if any(isinstance(one, Function) and one.node in own and not one.captured for one in held):
            state.held[holder] = frozenset(
                _with_captured(one, local, state)
                if isinstance(one, Function) and one.node in own and not one.captured
                else one
                for one in held
            )


def _closed(value: Value, body: FuncItem, state: State) -> Value:
    """Return a value with the variables of a function that has returned bound to the inner functions in it."""
    if not any(isinstance(one, Function) for one in value):
        refs = [one for one in value if isinstance(one, Ref)]
        for ref in refs:
            for name, held in list(state.fields(ref)):
                if any(isinstance(one, Function) for one in held):
                    state.held[*ref, name] = _closed(held, body, state)
        return value
    local = bound_in(body)
    return frozenset(_with_captured(one, local, state) if isinstance(one, Function) else one for one in value)


def _with_captured(function: Function, local: frozenset[Node | None], state: State) -> Function:
    if isinstance(function.node, str):
        return function
    own = bound_in(function.node)
    used = {one.node for one in nodes_in.of(function.node) if isinstance(one, NameExpr) and one.node in local - own}
    captured = tuple(
        (one, _cut_off(state.held["name", one], function.node))
        for one in sorted((one for one in used if isinstance(one, Var)), key=lambda one: one.name)
        if ("name", one) in state.held
    )
    constants = tuple((one, state.constants["name", one]) for one, _ in captured if ("name", one) in state.constants)
    return replace(function, captured=(*function.captured, *captured), constants=(*function.constants, *constants))


def _cut_off(value: Value, node: FuncItem, *, is_inside: bool = False) -> Value:
    """Return a captured value in which a function captures itself only once, as `f = derivative(f)` in a loop does."""
    if not any(isinstance(one, Function) for one in value):
        return value
    return frozenset(
        replace(
            one,
            captured=tuple(
                (variable, _cut_off(held, node, is_inside=is_inside or one.node is node))
                for variable, held in one.captured
            ),
        )
        if isinstance(one, Function)
        else one
        for one in value
        if not (is_inside and isinstance(one, Function) and one.node is node)
    )


def _bind_parameters(walk: Walk, body: FuncItem, node: Any, given: list[Argument], state: State) -> None:
    names = body.arg_names
    bound: dict[int, Value] = {}
    constants: dict[int, Constant | None] = {}
    rest: list[Value] = []
    named: dict[str, Value] = {}
    position = 0
    for one in given:
        if one.kind == ArgKind.ARG_POS:
            while position < len(names) and not body.arg_kinds[position].is_positional():
                position += 1
            if position < len(names):
                bound[position], constants[position] = one.value, one.constant
                position += 1
            else:
                rest.append(one.value)
        elif one.kind == ArgKind.ARG_STAR:
            parts = containers.elements(one.value, state)
            if parts is None:
                parts = containers.all_elements(one.value, state)[:1] * (len(names) - position)
            for part in parts:
                if position < len(names) and body.arg_kinds[position].is_positional():
                    bound[position] = part
                    position += 1
                else:
                    rest.append(part)
        elif one.kind == ArgKind.ARG_NAMED and one.name is not None:
            if one.name in names and not body.arg_kinds[names.index(one.name)].is_star():
                number = names.index(one.name)
                bound[number], constants[number] = one.value, one.constant
            else:
                named[one.name] = one.value
        elif one.kind == ArgKind.ARG_STAR2:
            for ref in (held for held in one.value if isinstance(held, Ref)):
                for name, held in state.fields(ref):
                    if name.startswith("['") and name[2:-2] in names:
                        bound[names.index(name[2:-2])] = held
                    elif name.startswith("['"):
                        named[name[2:-2]] = held
    for number, argument in enumerate(body.arguments):
        value = bound.get(number, NOTHING)
        if argument.kind == ArgKind.ARG_STAR:
            made = new_object(walk.site(node, body, number), state)
            containers.fill(made, rest, state)
            value = frozenset([made])
        elif argument.kind == ArgKind.ARG_STAR2:
            made = new_object(walk.site(node, body, number), state)
            state.put((*made, EACH), NOTHING)
            for name, held in named.items():
                state.put((*made, f"[{name!r}]"), held)
            value = frozenset([made])
        elif number not in bound and isinstance(argument.initializer, NameExpr | MemberExpr):
            value = walk.value(argument.initializer, state)  # evaluated when the function was defined
        state.held["name", argument.variable] = value
        is_default = number not in bound and not argument.kind.is_star()
        constant = constant_of(argument.initializer, None) if is_default else constants.get(number)
        state.know(("name", argument.variable), constant)


def bound(given: list[Argument]) -> Value:
    """Return the first argument, a function, with the others bound to it."""
    values = tuple(one.value for one in given[1:] if one.kind == ArgKind.ARG_POS)
    names = tuple((one.name, one.value) for one in given[1:] if one.name is not None)
    placed = [one for one in given[1:] if one.kind == ArgKind.ARG_POS]
    named = [(one.name, one.constant) for one in given[1:] if one.name is not None and one.constant is not None]
    return frozenset(
        replace(
            one,
            bound=(*one.bound, *values),
            names=(*one.names, *names),
            constants=(
                *one.constants,
                *((len(one.bound) + n, each.constant) for n, each in enumerate(placed) if each.constant is not None),
                *named,
            ),
        )
        for one in given[0].value
        if isinstance(one, Function)
    )


def named(name: str, held: Value) -> Argument:
    """Return a keyword argument."""
    return Argument(held, ArgKind.ARG_NAMED, name, None)


def positional(held: Value) -> Argument:
    """Return a positional argument."""
    return Argument(held, ArgKind.ARG_POS, None, None)
