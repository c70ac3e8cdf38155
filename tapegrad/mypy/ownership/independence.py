"""Calls that are not followed: the function gets no tape, keeps none and returns none, so it is checked on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import (
    CallExpr,
    DictionaryComprehension,
    Expression,
    FuncDef,
    GeneratorExpr,
    GlobalDecl,
    LambdaExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    NonlocalDecl,
    RaiseStmt,
    RefExpr,
    Var,
)
from mypy.types import CallableType, Instance, TypedDictType, TypeVarType, get_proper_type

from tapegrad.mypy.mypy_api import names_used
from tapegrad.mypy.ownership.carriers import carries_inside, may_hold
from tapegrad.mypy.ownership.consuming import ANY, consuming_names
from tapegrad.mypy.ownership.state import Function, Ref
from tapegrad.mypy.scopes.names import ScopeCache, bound_in, classes_in, nodes_in, targets_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy.nodes import FuncItem, Node, TypeInfo
    from mypy.types import Type

    from tapegrad.mypy.ownership.state import Argument, Held, State, Value
    from tapegrad.mypy.ownership.walk import Walk


# The classes of these packages keep no tape that they get in a call.
_KEEPING_NONE: Final = ("tapegrad.nn.", "tapegrad.optim.")
_WITHOUT_ATTRIBUTES: Final = (*_KEEPING_NONE, "builtins.", "typing.", "enum.", "abc.")
_GENERATED: Final = ("__", "_field")  # attributes that named tuples and dataclasses have of their own
_SPECIAL: Final = frozenset({"__call__", "__enter__", "__exit__", "__iter__", "__next__", "__getitem__"})
_WITHOUT_TAPES: Final = ("builtins.", "math.", "numpy.", "tapegrad.")  # the variables of these packages


class _Outside(NamedTuple):
    """What a function and all functions that it may call use of the code around them."""

    functions: set[FuncDef]
    variables: set[Var]
    binds: bool  # whether one of them binds a variable of another function or of the module


class _Uses(NamedTuple):
    """What one function uses."""

    names: set[str]
    variables: set[Var]
    own: set[Node | None]
    binds: bool


def is_independent(
    walk: Walk, function: Function, body: FuncItem, node: Any, given: list[Argument], state: State
) -> bool:
    """Return whether a call can neither consume a tape of its caller nor leave one behind."""
    if not isinstance(body, FuncDef) or body.info or function.captured:
        return False
    boxes = _boxes(walk, (one.value for one in given), state)
    if boxes is None:
        return False
    outside = _outside(walk.file, body)
    if any(isinstance(one.body.body[-1], RaiseStmt) for one in outside.functions):
        return False  # it may never return
    t = walk.type_of(node)
    may_return = may_hold(t) or isinstance(get_proper_type(t) if t is not None else None, TypedDictType)
    if outside.binds or (may_return and (_is_function(t) or _may_start(walk, body, outside))):
        return False
    held = [(state.held.get(("name", one)), one.type) for one in outside.variables]
    if any(value is None and _may_keep(walk, t) for value, t in held):
        return False
    more = _boxes(walk, (value for value, _ in held if value is not None), state)
    if more is None:
        return False
    for ref in boxes | more:  # the function may add elements, none of which holds a tape
        state.forget_positions(ref)
        state.forget_constants(ref)
    return True


def _boxes(walk: Walk, values: Iterable[Value], state: State) -> set[Ref] | None:
    """Return the containers and objects in values that hold no tape; None if one does or may keep one later."""
    found: set[Ref] = set()
    pending = [one for value in values for one in value]
    while pending:
        one = pending.pop()
        if isinstance(one, Function) and isinstance(one.node, LambdaExpr) and not one.values():
            read = _read_by(walk, one.node, state)
            if read is None:
                return None
            pending += read
            continue
        if not isinstance(one, Ref) or (one.site in walk.classes and _keeps(walk, walk.classes[one.site])):
            return None
        if one not in found:
            found.add(one)
            pending += [each for _, held in state.fields(one) for each in held]
    return found


def _read_by(walk: Walk, function: LambdaExpr, state: State) -> list[Held | Ref | Function] | None:
    """Return what the variables around a lambda hold; None if it may consume a tape or reads something unknown."""
    uses = _uses.of(function)
    if not uses.names.isdisjoint(consuming_names.of(walk.file)):
        return None
    held = [(state.held.get(("name", one)), one.type) for one in uses.variables - uses.own]
    if any(value is None and _may_keep(walk, t) for value, t in held):
        return None
    return [one for value, _ in held if value is not None for one in value]


def _may_keep(walk: Walk, t: Type | None) -> bool:
    """Return whether a value of a type may hold a tape, or be given one by a function that gets the value."""
    p = get_proper_type(t) if t is not None else None
    if isinstance(p, TypeVarType):
        return _may_keep(walk, p.upper_bound)
    if isinstance(p, Instance) and may_hold(p):
        if p.type.fullname.startswith(_KEEPING_NONE):
            return False
        if p.type.module_name == walk.file.fullname:
            return _keeps(walk, p.type)
    return isinstance(p, TypedDictType) or may_hold(p)


def _keeps(walk: Walk, info: TypeInfo) -> bool:
    """Return whether an attribute of a class of the file, or of one of its subclasses, may hold a tape.

    A class with a method that may consume a tape counts too, because a protocol does not say which method it calls.
    """
    if info not in walk.keeping:
        consuming = consuming_names.of(walk.file)
        walk.keeping[info] = False  # while its attributes are read, one of which may be of the class itself
        walk.keeping[info] = any(
            _called_as(name) in consuming
            or (isinstance(one.node, Var) and not name.startswith(_GENERATED) and _may_keep(walk, one.node.type))
            for each in (info, *(one for one in classes_in.of(walk.file) if one.has_base(info.fullname)))
            for base in each.mro
            if not base.fullname.startswith(_WITHOUT_ATTRIBUTES)
            for name, one in base.names.items()
        )
    return walk.keeping[info]


def _called_as(method: str) -> str:
    return ANY if method == "forward" or method in _SPECIAL else method


def _may_start(walk: Walk, body: FuncDef, outside: _Outside) -> bool:
    """Return whether a function, or one that it may call, makes a tape, a function or an object of the file."""
    if body not in walk.starting:
        walk.starting[body] = any(
            carries_inside(t) or _is_function(t) or (isinstance(t, Instance) and t.type.module_name == file)
            for file in (walk.file.fullname,)
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
    found = [one for one in nodes_in.of(scope) if isinstance(one, Expression)]
    passed = {each for one in found if isinstance(one, CallExpr) for each in (one.callee, *one.args)}
    return [one for one in found if one not in passed or not isinstance(one, RefExpr)]


_expressions = ScopeCache(_expressions_in)


def _uses_of(function: Node | None) -> _Uses:
    own: set[Node | None] = set()
    variables: set[Var] = set()
    binds = False
    for one in nodes_in.of(function):
        if isinstance(one, NameExpr | MemberExpr):
            if isinstance(one.node, Var) and not one.node.fullname.startswith(_WITHOUT_TAPES):
                variables.add(one.node)
        elif isinstance(one, GeneratorExpr | DictionaryComprehension):
            own.update(each.node for each in targets_in(one.indices) if isinstance(each, NameExpr))
        elif isinstance(one, GlobalDecl | NonlocalDecl):
            binds = True
    if function is None:
        return _Uses(set(), variables, own, binds)
    return _Uses(names_used(function), variables, own | bound_in(function), binds)


_uses = ScopeCache(_uses_of)


def _outside(file: MypyFile, body: FuncDef) -> _Outside:
    """Return what a function uses of the code around it; a function is called by any use of its name."""
    functions, known = _functions.of(file), _known.of(file)
    if body not in known:
        pending, found = [body], {body}
        while pending:
            called = [
                one for name in _uses.of(pending.pop()).names for one in functions.get(name, ()) if one not in found
            ]
            found.update(called)
            pending += called
        each = [_uses.of(one) for one in found]
        outside = set[Var]().union(*(one.variables for one in each)).difference(*(one.own for one in each))
        known[body] = _Outside(found, outside, any(one.binds for one in each))
    return known[body]


def _functions_by_name(file: Node | None) -> dict[str, list[FuncDef]]:
    """Return the functions and methods of a file; those of a class are also called by its name."""
    found: dict[str, list[FuncDef]] = {}
    for one in nodes_in.of(file):
        if isinstance(one, FuncDef):
            for name in {one.name, one.info.name if one.info else one.name}:
                found.setdefault(name, []).append(one)
    return found


_functions = ScopeCache(_functions_by_name)
_known: ScopeCache[dict[FuncDef, _Outside]] = ScopeCache(lambda _: {})
