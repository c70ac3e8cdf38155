"""Calls of what `functools` makes of a function, as calls of the function itself.

These are `step(x)` after `step = partial(loss, model)`, and calls of a function with a cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy.nodes import ARG_STAR, ARG_STAR2, GDEF, CallExpr, Decorator, Expression, FuncDef, NameExpr, RefExpr, Var

from tapegrad.mypy.mypy_api import checked_file
from tapegrad.mypy.scopes.file_contents import is_bound_once, steady_value
from tapegrad.mypy.scopes.names import ScopeCache, inside
from tapegrad.mypy.sources import decorators_of

if TYPE_CHECKING:
    from tapegrad.mypy.mypy_api import Checker

_CACHES: Final = {"functools.cache", "functools.lru_cache"}


def is_cache(decorator: Expression) -> bool:
    """Return whether a decorator keeps the results of a function, for calls with the same arguments."""
    made_by = decorator.callee if isinstance(decorator, CallExpr) else decorator
    return isinstance(made_by, RefExpr) and made_by.fullname in _CACHES


def _has_cache(function: FuncDef, api: Checker) -> bool:
    decorators = decorators_of(function, api) or []
    return len(decorators) == 1 and is_cache(decorators[0])


def plain_call(call: CallExpr, api: Checker) -> CallExpr | None:
    """Return the call of the function itself; None for any other call, or if it is not known."""
    known = _plain.of(checked_file(api))
    if call not in known:
        known[call] = _newly_found(call, api)
    return known[call]


_plain: ScopeCache[dict[CallExpr, CallExpr | None]] = ScopeCache(lambda _: {})  # filled where they are read


def _newly_found(call: CallExpr, api: Checker) -> CallExpr | None:
    match call.callee:
        case RefExpr(node=Decorator(func=function)) if not function.info and _has_cache(function, api):
            return _like(call, CallExpr(_named(function), call.args, call.arg_kinds, call.arg_names))
        case NameExpr(node=Var() as variable):
            made, _ = steady_value(variable, api)
            is_read = isinstance(made, CallExpr) and not _is_circular(variable, api)
            return _of_partial(made, call, api) if is_read and isinstance(made, CallExpr) else None
    return None


def _is_circular(variable: Var, api: Checker) -> bool:
    """Return whether a function is made of itself, as by `step = partial(step, 1)`, which Python rejects."""
    seen: set[Var] = set()
    function: object = variable
    while isinstance(function, Var):
        if function in seen:
            return True
        seen.add(function)
        made, _ = steady_value(function, api)
        function = getattr(made.args[0], "node", None) if isinstance(made, CallExpr) and made.args else None
    return False


def _of_partial(made: CallExpr, call: CallExpr, api: Checker) -> CallExpr | None:
    """Return the call of a function with the arguments that `partial` got, and those of the call."""
    kinds = [*made.arg_kinds[1:], *call.arg_kinds]
    is_partial = isinstance(made.callee, RefExpr) and made.callee.fullname == "functools.partial"
    if not is_partial or {ARG_STAR, ARG_STAR2} & {*kinds} or not all(_stays(one, api) for one in made.args):
        return None
    given = [*zip(made.args[1:], made.arg_kinds[1:], made.arg_names[1:], strict=True)]
    later = [*zip(call.args, call.arg_kinds, call.arg_names, strict=True)]
    given = [one for one in given if one[2] is None or one[2] not in call.arg_names]
    arguments = sorted([*given, *later], key=lambda one: one[2] is not None)  # stable: those by position come first
    values, kinds, names = ([*column] for column in zip(*arguments, strict=True)) if arguments else ([], [], [])
    return _like(call, CallExpr(made.args[0], values, kinds, names))


def _stays(argument: Expression, api: Checker) -> bool:
    """Return whether an expression has the same value where the call is: each of its variables is bound once."""
    variables = [one.node for one in inside(argument) if isinstance(one, NameExpr) and isinstance(one.node, Var)]
    return all(is_bound_once(one, api) for one in variables if not one.fullname.startswith("builtins."))


def _named(function: FuncDef) -> NameExpr:
    name = NameExpr(function.name)
    name.node, name.kind, name.fullname = function, GDEF, function.fullname
    return name


def _like(call: CallExpr, plain: CallExpr) -> CallExpr:
    plain.set_line(call)
    return plain
