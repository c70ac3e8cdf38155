"""Dictionaries whose keys are words or whole numbers: their entries, as the program writes, copies and changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import AssignmentStmt, CallExpr, DelStmt, IndexExpr, IntExpr, MemberExpr, NameExpr, RefExpr, StrExpr

from tapegrad.mypy.scopes.frames import Expressions, Items, Keywords, Several, binding
from tapegrad.mypy.scopes.options import changes_before

if TYPE_CHECKING:
    from mypy.nodes import Expression, Node

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.mypy.scopes.frames import Value
    from tapegrad.mypy.scopes.options import Change


def entries_at_use(use: Expression, created: Keywords, api: Checker) -> Keywords | None:
    """Return what a dictionary has at a use of it, after what its block has changed; None if that is not certain."""
    changes = changes_before(use, api) if isinstance(use, NameExpr) else None
    found: Keywords | None = None if changes is None else created
    for change in changes or ():
        found = None if found is None else _after_change(found, change, api)
    return None if found is None else Keywords(tuple((name, _unless_shared(value)) for name, value in found.values))


def _unless_shared(value: Value) -> Value:
    """Return a value, but not a collection, which the program may change by another name."""
    return None if isinstance(value, Several | Items | Keywords) else value


def _after_change(before: Keywords, change: Change, api: Checker) -> Keywords | None:
    """Return what a dictionary has after a statement or a call that changes it; None if that is not known."""
    pairs = dict(before.values)
    match change:
        case DelStmt(expr=IndexExpr(index=StrExpr(value=name) | IntExpr(value=name))) if name in pairs:
            del pairs[name]
        case AssignmentStmt(lvalues=[IndexExpr(index=StrExpr(value=name) | IntExpr(value=name))], rvalue=value):
            pairs[name] = Expressions.value_of(value, api)
        case CallExpr(callee=MemberExpr(name="pop"), args=[StrExpr(value=name) | IntExpr(value=name), *default]) if (
            name in pairs or default
        ):
            pairs.pop(name, None)
        case CallExpr(callee=MemberExpr(name="setdefault"), args=[StrExpr(value=name) | IntExpr(value=name), default]):
            if name not in pairs:
                pairs[name] = Expressions.value_of(default, api)
        case CallExpr(callee=MemberExpr(name="update")) if (others := given_entries(change, api)) is not None:
            pairs |= dict(others.values)
        case _:
            return None
    return Keywords((*pairs.items(),))


def given_entries(call: CallExpr, api: Checker) -> Keywords | None:
    """Return the entries that a call such as `options.update(others, width=8)` gives; None if some are not known."""
    pairs: dict[str | int, Value] = {}
    for expression, name in zip(call.args, call.arg_names, strict=True):
        value = Expressions.value_of(expression, api)
        if name is None and not isinstance(value, Keywords):
            return None
        pairs |= dict(value.values) if name is None and isinstance(value, Keywords) else {name or "": value}
    return Keywords((*pairs.items(),))


def written_entries(pairs: list[tuple[Expression | None, Expression]], api: Checker) -> Keywords | None:
    """Return the entries of a written dictionary, such as `{**options, "width": 8}`; None if none is known."""
    entries: dict[str | int, Value] = {}
    for key, expression in pairs:
        value = Expressions.value_of(expression, api)
        if isinstance(key, StrExpr | IntExpr):
            entries[key.value] = value
        elif isinstance(value, Keywords):
            entries |= value.values
        else:
            return None
    is_known = not entries or any(one is not None for one in entries.values())
    return Keywords((*entries.items(),)) if is_known else None


def entries_of_comprehension(
    key: Expression | None,
    value: Expression,
    several: list[dict[Node, Value]] | None,
    tests: list[Expression],
    api: Checker,
) -> Keywords | None:
    """Return the entries of a comprehension such as `{name: 2 * n for name, n in sizes.items()}`."""
    entries: dict[str | int, Value] = {}
    for turn in several or ():
        with binding(turn):
            are_met = [Expressions.decided(one, api) for one in tests]
            if None in are_met:
                return None
            name = Expressions.value_of(key, api) if all(are_met) and key is not None else None
            if isinstance(name, str | int):
                entries[name] = Expressions.value_of(value, api)
            elif all(are_met):
                return None
    return None if several is None else Keywords((*entries.items(),))


def named_entries(call: CallExpr, api: Checker) -> Keywords | None:
    """Return the entries of a dictionary that a call such as `Sizes(width=8)` makes; None if it has other arguments."""
    named = [(name, Expressions.value_of(value, api)) for name, value in zip(call.arg_names, call.args, strict=True)]
    entries = [(name, value) for name, value in named if name is not None]
    return Keywords((*entries,)) if len(entries) == len(named) else None


def copied_entries(call: CallExpr, api: Checker) -> Keywords | None:
    """Return the dictionary that `dict(options, width=8)`, `options.copy()` or `copy.copy(options)` makes."""
    match call.callee:
        case RefExpr(fullname="builtins.dict" | "copy.copy"):
            return given_entries(call, api)
        case MemberExpr(expr=holder) if not call.args and isinstance(
            of := Expressions.object_of(holder, api), Keywords
        ):
            return Keywords(of.values)
    return None


def value_at_key(keywords: Keywords, call: CallExpr, api: Checker) -> Value:
    """Return what `options.get("width", 8)`, or `pop`, returns."""
    match call.args:
        case [StrExpr(value=name) | IntExpr(value=name)] if name in dict(keywords.values):
            return dict(keywords.values)[name]
        case [StrExpr(value=name) | IntExpr(value=name), default]:
            values = dict(keywords.values)
            return values[name] if name in values else Expressions.value_of(default, api)
    return None
