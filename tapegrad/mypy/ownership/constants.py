"""Constants that names, attributes and elements hold, and the patterns that they match."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from mypy.nodes import (
    GlobalDecl,
    IndexExpr,
    IntExpr,
    MemberExpr,
    NameExpr,
    NonlocalDecl,
    OpExpr,
    RefExpr,
    StrExpr,
    TypeInfo,
    UnaryExpr,
    Var,
)
from mypy.patterns import (
    AsPattern,
    ClassPattern,
    MappingPattern,
    OrPattern,
    SequencePattern,
    SingletonPattern,
    StarredPattern,
    ValuePattern,
)

from tapegrad.mypy.ownership.holders import holder_of, label
from tapegrad.mypy.ownership.state import EACH, KNOWN, Ref
from tapegrad.mypy.scopes.names import ScopeCache, nodes_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import Node

    from tapegrad.mypy.ownership.state import Constant, State, Value
    from tapegrad.mypy.ownership.walk import Walk

_ARITHMETIC: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
FIRST_OF: Final = "['(first of"  # a key that is the first element of a sequence
_LARGEST: Final = 1 << 31  # of the numbers that are computed
_NAMES: Final[dict[str, bool | None]] = {"builtins.True": True, "builtins.False": False, "builtins.None": None}


def constant_of(node: Any, state: State | None) -> Constant | None:
    """Return the constant that an expression is; None if it is unknown."""
    match node:
        case StrExpr(value=value) | IntExpr(value=value):
            return type(value), value
        case RefExpr(fullname=name) if name in _NAMES:
            return type(_NAMES[name]), _NAMES[name]
        case MemberExpr(node=Var() as member, expr=RefExpr(node=TypeInfo() as owner)):
            return (Var, member) if owner.is_enum else None
        case NameExpr() | MemberExpr() | IndexExpr():
            holder = holder_of(node, state) if state is not None and state.constants else None
            return state.constants.get(holder) if state is not None and holder is not None else None
        case UnaryExpr(op="-", expr=inner):
            known = as_number(constant_of(inner, state))
            return (int, -known) if known is not None else None
        case OpExpr(op=op, left=left, right=right) if op in _ARITHMETIC:
            a = as_number(constant_of(left, state))
            b = as_number(constant_of(right, state)) if a is not None else None
            if a is None or b is None or (not b and op in ("//", "%")):
                return None
            return int, _ARITHMETIC[op](a, b)
    return None


def as_number(constant: Constant | None) -> int | None:
    """Return a constant that is a number."""
    return constant[1] if constant is not None and constant[0] is int and abs(constant[1]) < _LARGEST else None


def equal(a: Constant, b: Constant | None) -> bool | None:
    """Return whether two constants are equal; None if one is unknown or both are numbers of different types."""
    if b is None or (a[0] is not b[0] and {a[0], b[0]} == {bool, int}):
        return None
    if object in (a[0], b[0]):  # an unknown key, which only equals itself surely
        return True if a == b else None
    return a == b


def is_instance(walk: Walk, held: Value | None, info: TypeInfo) -> bool | None:
    """Return whether an object whose class is known is an instance of a class."""
    classes = {walk.classes.get(one.site) if isinstance(one, Ref) else None for one in held or ()}
    if not classes or None in classes:
        return None
    answers = {one.has_base(info.fullname) for one in classes if one is not None}
    return answers.pop() if len(answers) == 1 else None


def matches(walk: Walk, pattern: Any, constant: Constant | None, held: Value, state: State) -> bool | None:
    """Return whether a pattern surely matches a subject, or surely does not; None if that is unknown."""
    match pattern:
        case AsPattern(pattern=None):
            return True
        case AsPattern(pattern=inner):
            return matches(walk, inner, constant, held, state)
        case OrPattern(patterns=choices):
            answers = [matches(walk, one, constant, held, state) for one in choices]
            return True if True in answers else None if None in answers else False
        case ValuePattern(expr=expression):
            return equal(constant, constant_of(expression, state)) if constant is not None else None
        case SingletonPattern(value=value):
            return equal(constant, (type(value), value)) if constant is not None else None
        case SequencePattern(patterns=items):
            before = next((number for number, one in enumerate(items) if isinstance(one, StarredPattern)), len(items))
            each = [(f"[{number}]", one) for number, one in enumerate(items[:before])]
            return _parts_match(walk, each, held, state, count=len(items) if before == len(items) else None)
        case MappingPattern(keys=keys, values=values):
            return _parts_match(walk, list(zip(map(label, keys), values, strict=True)), held, state)
        case ClassPattern():
            return _class_matches(walk, pattern, held, state)
    return None


def _parts_match(
    walk: Walk, parts: list[tuple[str, Any]], held: Value, state: State, count: int | None = None
) -> bool | None:
    """Return False if one part of a subject surely does not match, True if it has as many parts and all match."""
    refs = [one for one in held if isinstance(one, Ref)]
    if len(refs) != 1 or len(held) != 1:
        return None
    answers = []
    for name, pattern in parts:
        holder = (*refs[0], name)
        inner = state.held.get(holder, frozenset())
        answers.append(matches(walk, pattern, state.constants.get(holder), inner, state) if name != EACH else None)
    if False in answers:
        return False
    lengths = [name for name, _ in state.fields(refs[0]) if name.startswith("[") and name != EACH]
    is_whole = count is not None and (*refs[0], KNOWN) in state.held and len(lengths) == count
    return True if is_whole and None not in answers else None


def _class_matches(walk: Walk, pattern: ClassPattern, held: Value, state: State) -> bool | None:
    info = pattern.class_ref.node
    is_of_class = is_instance(walk, held, info) if isinstance(info, TypeInfo) else None
    if is_of_class is False:
        return False
    parts = _parts_match(walk, list(zip(pattern.keyword_keys, pattern.keyword_values, strict=True)), held, state)
    if parts is False:
        return False
    return is_of_class if not pattern.positionals and not pattern.keyword_keys else None


def _names_bound_elsewhere(file: Node | None) -> set[str]:
    declared = [one for one in nodes_in.of(file) if isinstance(one, NonlocalDecl | GlobalDecl)]
    return {name for one in declared for name in one.names}


_bound_elsewhere = ScopeCache(_names_bound_elsewhere)


def is_bound_elsewhere(walk: Walk, variable: Var) -> bool:
    """Return whether another function may bind a variable, at a time that is not known."""
    return variable.name in _bound_elsewhere.of(walk.file)


def place_of(index: Any, state: State) -> str:
    """Return the name of an element, whose index or key may be a name for a constant."""
    known = constant_of(index, state) if isinstance(index, NameExpr | MemberExpr) else None
    if known is not None and known[0] is object:
        return f"{FIRST_OF} {known[1].name})']"
    return f"[{known[1]!r}]" if known is not None and known[0] in (str, int) else label(index)
