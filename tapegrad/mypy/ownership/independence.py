"""Calls that are not followed: the function gets no tape, keeps none and returns none, so it is checked on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    CallExpr,
    Expression,
    FuncDef,
    GlobalDecl,
    MemberExpr,
    MypyFile,
    NameExpr,
    NonlocalDecl,
    RaiseStmt,
    RefExpr,
    Var,
)
from mypy.types import CallableType, Instance, get_proper_type

from tapegrad.mypy.mypy_api import names_used
from tapegrad.mypy.ownership.carriers import carries_inside, may_hold
from tapegrad.mypy.ownership.state import Ref
from tapegrad.mypy.scopes.names import ScopeCache, bound_in, inside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy.nodes import FuncItem, Node
    from mypy.types import Type

    from tapegrad.mypy.ownership.state import Argument, Function, State, Value
    from tapegrad.mypy.ownership.walk import Walk


_WITHOUT_TAPES: Final = ("builtins.", "math.", "numpy.", "tapegrad.")  # the variables of these packages


class _Outside(NamedTuple):
    """What a function and all functions that it may call use of the code around them."""

    functions: set[FuncDef]
    variables: set[Var]
    binds: bool  # whether one of them binds a variable of another function or of the module


def is_independent(
    walk: Walk, function: Function, body: FuncItem, node: Any, given: list[Argument], state: State
) -> bool:
    """Return whether a call can neither consume a tape of its caller nor leave one behind."""
    if not isinstance(body, FuncDef) or body.info or function.captured:
        return False
    boxes = _boxes(walk, (one.value for one in given), state)
    if boxes is None:
        return False
    outside = _outside(walk.api.tree, body)
    if any(isinstance(one.body.body[-1], RaiseStmt) for one in outside.functions):
        return False  # it may never return
    if outside.binds or (may_hold(t := walk.type_of(node)) and (_is_function(t) or _may_start(walk, body, outside))):
        return False
    held = [(state.held.get(("name", one)), one.type) for one in outside.variables]
    if any(value is None and may_hold(t) for value, t in held):
        return False
    more = _boxes(walk, (value for value, _ in held if value is not None), state)
    if more is None:
        return False
    for ref in boxes | more:  # the function may add elements, none of which holds a tape
        state.forget_positions(ref)
        state.forget_constants(ref)
    return True


def _boxes(walk: Walk, values: Iterable[Value], state: State) -> set[Ref] | None:
    """Return the containers in values that hold no tape; None if one does, or if there is a function or an object."""
    found: set[Ref] = set()
    pending = [one for value in values for one in value]
    while pending:
        one = pending.pop()
        if not isinstance(one, Ref) or one.site in walk.classes:
            return None
        if one not in found:
            found.add(one)
            pending += [each for _, held in state.fields(one) for each in held]
    return found


def _may_start(walk: Walk, body: FuncDef, outside: _Outside) -> bool:
    """Return whether a function, or one that it may call, makes a tape, a function or an object of the file."""
    if body not in walk.starting:
        walk.starting[body] = any(
            carries_inside(t) or _is_function(t) or (isinstance(t, Instance) and t.type.module_name == file)
            for file in (walk.api.tree.fullname,)
            for function in outside.functions
            for one in _expressions.of(function)
            if (t := walk.type_of(one)) is not None and (t := get_proper_type(t)) is not None
        )
    return walk.starting[body]


def _is_function(t: Type | None) -> bool:
    p = get_proper_type(t) if t is not None else None
    return isinstance(p, CallableType) and not p.is_type_obj()


def _expressions_in(scope: Node | None) -> list[Expression]:
    """Return the expressions of a function, without the functions that it calls or passes on to a call."""
    found = [one for one in inside(scope) if isinstance(one, Expression)]
    passed = {each for one in found if isinstance(one, CallExpr) for each in (one.callee, *one.args)}
    return [one for one in found if one not in passed or not isinstance(one, RefExpr)]


_expressions = ScopeCache(_expressions_in)


def _outside(file: MypyFile, body: FuncDef) -> _Outside:
    """Return what a function uses of the code around it; a function is called by any use of its name."""
    functions, known = _functions.of(file), _known.of(file)
    if body not in known:
        pending, found = [body], {body}
        while pending:
            called = [one for name in names_used(pending.pop()) for one in functions.get(name, ()) if one not in found]
            found.update(called)
            pending += called
        uses = [one for function in found for one in inside(function)]
        own = {name for function in found for name in bound_in(function)}
        used = {one.node for one in uses if isinstance(one, NameExpr | MemberExpr) and isinstance(one.node, Var)}
        outside = {one for one in used - own if not one.fullname.startswith(_WITHOUT_TAPES)}
        known[body] = _Outside(found, outside, any(isinstance(one, GlobalDecl | NonlocalDecl) for one in uses))
    return known[body]


def _functions_by_name(file: Node | None) -> dict[str, list[FuncDef]]:
    """Return the functions and methods of a file; those of a class are also called by its name."""
    found: dict[str, list[FuncDef]] = {}
    for one in inside(file):
        if isinstance(one, FuncDef):
            for name in {one.name, one.info.name if one.info else one.name}:
                found.setdefault(name, []).append(one)
    return found


_functions = ScopeCache(_functions_by_name)
_known: ScopeCache[dict[FuncDef, _Outside]] = ScopeCache(lambda _: {})
