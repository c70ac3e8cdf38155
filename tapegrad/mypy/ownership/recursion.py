"""Functions that call themselves: how often they are followed, and the numbers that stand for one that is unknown.

A call with constants is followed exactly, so that `f(loss, 3)` runs the branch `if n == 2` once, not at each level.
Where the number is unknown, such a function is followed once for each of a few numbers around those in its conditions.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from mypy.nodes import ComparisonExpr, FuncDef, IntExpr, MemberExpr, MypyFile, NameExpr, Var
from mypy.types import Instance, get_proper_type

from tapegrad.mypy.scopes.names import ScopeCache, nodes_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy.nodes import FuncItem, Node

    from tapegrad.mypy.ownership.state import Argument, State
    from tapegrad.mypy.ownership.walk import Walk

_MOST_COUNTED: Final = 16  # calls inside each other that pass on another constant number
_FIRST: Final = frozenset(range(4))
_PAIRS: Final = (0, 2, 3)  # for each of two parameters


def levels(walk: Walk, body: FuncItem, given: Sequence[Argument]) -> int:
    """Return how often a function may be followed inside itself; one that calls itself twice takes more steps."""
    counts = any(one.constant is not None and one.constant[0] is int for one in given)
    places = _places.of(body)
    if counts and places < 2 and calls_itself(walk, body):
        return _MOST_COUNTED
    return 3 if places == 1 else 1


def _places_in(body: Node | None) -> int:
    name = getattr(body, "name", "")
    return sum(
        isinstance(one, NameExpr | MemberExpr) and one.name == name and not isinstance(one.node, Var)
        for one in nodes_in.of(body)
    )


_places = ScopeCache(_places_in)


def calls_itself(walk: Walk, body: FuncItem) -> bool:
    """Return whether a function uses its own name, or that of a function that does so for it."""
    return body.name in _reached.of(walk.file).get(body.name, ())


def _names_reached(file: Node | None) -> dict[str, set[str]]:
    """Return the functions of a file that each name reaches by calls."""
    if not isinstance(file, MypyFile):
        return {}
    used: dict[str, set[str]] = {}
    for one in nodes_in.of(file):
        if isinstance(one, FuncDef):
            used.setdefault(one.name, set()).update(_functions_used(one))
    found = {name: names & used.keys() for name, names in used.items()}
    while True:
        more = {name: names.union(*(found[one] for one in names)) for name, names in found.items()}
        if more == found:
            return found
        found = more


def _functions_used(function: FuncDef) -> set[str]:
    names = [one for one in nodes_in.of(function) if isinstance(one, NameExpr | MemberExpr)]
    return {one.name for one in names if isinstance(one, MemberExpr) or not isinstance(one.node, Var)}


_reached = ScopeCache(_names_reached)


def states(walk: Walk, body: FuncItem, state: State) -> list[State]:
    """Return a state for each number that stands for an unknown one, in a function that calls itself with numbers."""
    unknown = [one for one in _counters.of(body) if ("name", one) not in state.constants]
    if not unknown or len(unknown) > 2 or walk.entered.count(body) > 1 or not calls_itself(walk, body):
        return [state]
    compared = {
        one.value
        for each in nodes_in.of(body)
        if isinstance(each, ComparisonExpr)
        for one in each.operands
        if isinstance(one, IntExpr)
    }
    numbers = sorted(_FIRST | compared | {one + 1 for one in compared})[:6] if len(unknown) == 1 else _PAIRS
    found = []
    for chosen in product(numbers, repeat=len(unknown)):
        found.append(state.copy())
        for variable, number in zip(unknown, chosen, strict=True):
            found[-1].know(("name", variable), (int, number))
    return found


def _counters_of(body: Node | None) -> list[Var]:
    """Return the parameters of a function that are numbers."""
    if not isinstance(body, FuncDef):
        return []
    return [
        one.variable
        for one in body.arguments
        if isinstance(t := get_proper_type(one.variable.type), Instance) and t.type.fullname == "builtins.int"
    ]


_counters = ScopeCache(_counters_of)
