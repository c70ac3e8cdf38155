"""Decorators of the program that leave a function as it is, or whose result calls it with the same arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    ARG_POS,
    ARG_STAR,
    ARG_STAR2,
    CallExpr,
    CastExpr,
    Decorator,
    Expression,
    FuncDef,
    FuncItem,
    GlobalDecl,
    NameExpr,
    NonlocalDecl,
    RefExpr,
    ReturnStmt,
    TryStmt,
    WithStmt,
)

from tapegrad.mypy.scopes.collections import targets_bound
from tapegrad.mypy.scopes.file_contents import is_defined_once
from tapegrad.mypy.scopes.names import ScopeCache, bound_by, inside, nodes_in
from tapegrad.mypy.scopes.plain_calls import is_cache
from tapegrad.mypy.sources import are_changing, decorators_of, file_of, module_of, written_function

if TYPE_CHECKING:
    from mypy.nodes import Node

    from tapegrad.mypy.mypy_api import Checker


def is_changed(function: FuncDef, api: Checker | None) -> bool:
    """Return whether decorators may make another function, or another kind of method, of a function of the program.

    Without mypy's checker, each decorator that is a function of the program may.
    """
    if not function.is_decorated:
        return False
    decorators = decorators_of(function, api)
    if decorators is None or api is None:
        return decorators is None or are_changing(decorators)
    return not all(not are_changing([one]) or _keeps(one, api) for one in decorators)


def _keeps(decorator: Expression, api: Checker) -> bool:
    """Return whether what a decorator returns calls the function with the arguments that it gets."""
    if is_cache(decorator):
        return True
    match decorator:
        case CallExpr(callee=RefExpr(node=FuncDef() as function)):  # `@timed("forward")`
            expected = _MAKES_DECORATOR
        case RefExpr(node=FuncDef() as function):
            expected = _KEEPS
        case _:
            return False
    written, file = written_function(function, api), file_of(module_of(function), api)
    if written is None or file is None or not is_defined_once(written, file):
        return False
    return written.fullname not in _assigned.of(file) and _keeping.of(written) == expected


def _read_assigned(file: Node | None) -> set[str]:
    """Return the full names of the functions of a file under whose names it assigns something else."""
    targets = [one for node in nodes_in.of(file) for one in targets_bound(node) if isinstance(one, NameExpr)]
    return {one.node.fullname for one in targets if isinstance(one.node, FuncDef)}


_KEEPS: Final = "is a decorator that keeps a function"
_MAKES_DECORATOR: Final = "returns such a decorator"


def _read_keeping(node: Node | None) -> str:
    """Return what a function is to another that it decorates; empty if it may change it."""
    if not isinstance(node, FuncDef) or node.is_decorated or _is_suspended(node):
        return ""
    if returns_same_function(node):
        return _KEEPS
    inner = returned_function(node)
    return _MAKES_DECORATOR if inner is not None and returns_same_function(inner) else ""


_keeping = ScopeCache(_read_keeping)
_assigned = ScopeCache(_read_assigned)


def returns_same_function(decorator: FuncDef) -> bool:
    """Return whether a decorator returns its argument, or a function that calls it with its own arguments."""
    if len(decorator.arguments) != 1 or decorator.arguments[0].kind is not ARG_POS or _is_suspended(decorator):
        return False
    function = decorator.arguments[0].variable
    if any(name is function for node in _statements(decorator) for name, _ in bound_by(node)):
        return False
    values = _returned(decorator)
    if values and all(isinstance(one, NameExpr) and one.node is function for one in values):
        return _always_returns(decorator)
    wrapper = returned_function(decorator)
    return wrapper is not None and _only_calls(wrapper, function)


def returned_function(outer: FuncDef) -> FuncDef | None:
    """Return the function that is defined in another one, and that each `return` statement of that one returns."""
    inner = [_undecorated(one) for one in outer.body.body if isinstance(one, FuncDef | Decorator)]
    defined = [one.name for one in inside(outer.body) if isinstance(one, FuncDef)]
    values = _returned(outer)
    names = {one.name for one in values if isinstance(one, NameExpr)}
    found = [one for one in inner if one is not None and one.name in names]
    if len(found) != 1 or len(names) != 1 or not all(isinstance(one, NameExpr) for one in values):
        return None
    bound = [getattr(name, "name", "") for node in _statements(outer) for name, _ in bound_by(node)]
    is_only = defined.count(found[0].name) == 1 and found[0].name not in bound
    return found[0] if is_only and _always_returns(outer) else None


def _undecorated(statement: FuncDef | Decorator) -> FuncDef | None:
    """Return a function with no decorator but `functools.wraps`."""
    if isinstance(statement, FuncDef):
        return statement
    is_plain = all(
        isinstance(one, CallExpr) and isinstance(one.callee, RefExpr) and one.callee.fullname == "functools.wraps"
        for one in statement.original_decorators
    )
    return statement.func if is_plain else None


def _only_calls(wrapper: FuncDef, function: Any) -> bool:
    """Return whether a function returns what another one returns for the same arguments, unless it raises."""
    calls = [one for one in inside(wrapper) if isinstance(one, CallExpr) and _is(one.callee, function)]
    parameters = [one.variable for one in wrapper.arguments]
    is_plain = all(one.kind in (ARG_POS, ARG_STAR, ARG_STAR2) for one in wrapper.arguments)
    is_plain = is_plain and [one.kind for one in wrapper.arguments].count(ARG_POS) <= 1  # others may change places
    if not calls or not is_plain or _is_suspended(wrapper) or not _always_returns(wrapper):
        return False
    kinds = [one.kind for one in wrapper.arguments]
    passed: set[Expression] = set()
    for call in calls:
        if call.arg_kinds != kinds or not all(map(_is, call.args, parameters)):
            return False
        passed.update(call.args)
    targets = [part for node in inside(wrapper) for one in targets_bound(node) for part in inside(one)]
    nodes = [*inside(wrapper), *targets]
    options = [one.variable for one in wrapper.arguments if one.kind is ARG_STAR2]
    if any(isinstance(one, NameExpr) and one.node in options and one not in passed for one in nodes):
        return False  # which may change them
    results: dict[Any, list[Any]] = {}
    for node in inside(wrapper.body):
        for name, value in bound_by(node):
            results.setdefault(name, []).append(value)
    if any(one in results for one in (function, *parameters)):
        return False
    unchanged = {name for name, several in results.items() if len(several) == 1 and several[0] in calls}
    values = _returned(wrapper)
    return bool(values) and all(one in calls or (isinstance(one, NameExpr) and one.node in unchanged) for one in values)


def _is(expression: Expression, variable: Any) -> bool:
    return isinstance(expression, NameExpr) and expression.node is variable


def _is_suspended(function: FuncDef) -> bool:
    """Return whether a function is a generator or asynchronous."""
    return function.is_generator or function.is_coroutine or function.is_async_generator


def _statements(function: FuncDef) -> list[Any]:
    """Return the statements and expressions of a function, without those of the functions in it."""
    skipped = {node for one in inside(function.body) if isinstance(one, FuncItem) for node in inside(one)}
    return [node for node in inside(function.body) if node not in skipped]


def _returned(function: FuncDef) -> list[Expression | None]:
    """Return what a function returns; `cast` returns its argument."""
    values = [node.expr for node in _statements(function) if isinstance(node, ReturnStmt)]
    return [_cast(one) for one in values]


def _cast(value: Expression | None) -> Expression | None:
    return value.analyzed.expr if isinstance(value, CallExpr) and isinstance(value.analyzed, CastExpr) else value


def _always_returns(function: FuncDef) -> bool:
    """Return whether the last statement of a function is a `return`, and no other statement catches an exception."""
    body = function.body.body
    catches = any(isinstance(one, TryStmt | WithStmt | GlobalDecl | NonlocalDecl) for one in inside(function.body))
    return bool(body) and isinstance(body[-1], ReturnStmt) and not catches
