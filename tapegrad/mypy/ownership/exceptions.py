"""Exceptions: the states from which a handler may start, and the exception that it catches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import TupleExpr, Var

from tapegrad.mypy.ownership import classes
from tapegrad.mypy.ownership.carriers import new_object
from tapegrad.mypy.ownership.state import NOTHING, RAISED, Ref, joined

if TYPE_CHECKING:
    from mypy.nodes import Expression, NameExpr

    from tapegrad.mypy.ownership.state import State
    from tapegrad.mypy.ownership.walk import Walk


def caught(walk: Walk, name: NameExpr | None, kinds: Expression | None, states: list[State]) -> State | None:
    """Return the state in which a handler starts, with its name bound to the exception.

    If the file raises such an exception, the handler starts only from there.
    """
    names = _classes_of(walk, kinds)
    known = [one for one in states if name is not None and _matching(walk, names, one)]
    entry = joined([one.copy() for one in known or states])
    if entry is None:
        return None
    if name is not None and isinstance(name.node, Var):
        held = frozenset(_matching(walk, names, entry) or [new_object(walk.site(name), entry)])
        entry.held["name", name.node] = held
    entry.held.pop(RAISED, None)
    return entry


def _matching(walk: Walk, names: list[str], state: State) -> list[Ref]:
    """Return the exceptions on their way that are of some classes."""
    return [
        one
        for one in state.held.get(RAISED, NOTHING)
        if isinstance(one, Ref) and (info := walk.classes.get(one.site)) is not None and any(map(info.has_base, names))
    ]


def _classes_of(walk: Walk, kinds: Expression | None) -> list[str]:
    """Return the names of the classes that a handler catches."""
    if isinstance(kinds, TupleExpr):
        return [name for one in kinds.items for name in _classes_of(walk, one)]
    info = classes.info_of(walk.type_of(kinds)) if kinds is not None else None
    return [info.fullname] if info is not None else []
