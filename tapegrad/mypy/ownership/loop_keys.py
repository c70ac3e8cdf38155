"""The first keys that the name of a loop is: `0` of `for i in range(n)`, or the first element of `for name in names`.

A cache such as `if i not in cache: cache[i] = model(x.trace())` holds another tensor for each key. The next loop over
the same keys reads the same elements, so what the first iterations store is known by its key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy.nodes import CallExpr, ComparisonExpr, ForStmt, IndexExpr, NameExpr, RefExpr, TupleExpr, Var, WhileStmt

from tapegrad.mypy.ownership.carriers import may_hold
from tapegrad.mypy.ownership.constants import constant_of
from tapegrad.mypy.scopes.names import ScopeCache, bindings_in, bound_in, inside
from tapegrad.mypy.scopes.numbers import range_of

if TYPE_CHECKING:
    from mypy.nodes import Node

    from tapegrad.mypy.ownership.state import Constant, State
    from tapegrad.mypy.ownership.walk import Walk

_MOST_EXACT: Final = 3  # numbers of a loop that is followed for each of them
_FEW: Final = 2  # iterations of a loop that does nothing with its numbers
_FIRST: Final = 2  # numbers of any other loop


class Keys(NamedTuple):
    """The name of a loop, what it is in the first iterations, and whether there are no others."""

    variable: Var | None
    constants: tuple[Constant, ...]
    is_complete: bool = False


NO_KEYS: Final = Keys(None, ())


def first(walk: Walk, node: ForStmt, state: State) -> Keys:
    """Return the first keys of a loop whose body looks something up by them, or compares them."""
    variable = _deciding.of(node)
    if variable is None and walk.may_repeat:
        return _few(node, state)
    if not isinstance(variable, Var) or not walk.may_repeat:
        return NO_KEYS
    if isinstance(node.expr, CallExpr):
        numbers = _numbers(node.expr, state)
        if numbers is None:
            return NO_KEYS
        is_complete = isinstance(numbers, range) and len(numbers) <= _MOST_EXACT
        chosen = list(numbers) if is_complete else list(numbers[:_FIRST])
        return Keys(variable, tuple((int, one) for one in chosen), is_complete)
    sequence = node.expr.node if isinstance(node.expr, NameExpr) else None
    if isinstance(sequence, Var) and not may_hold(walk.type_of(node.index)) and _is_fixed(walk, sequence):
        return Keys(variable, ((object, sequence),))
    return NO_KEYS


def _few(node: ForStmt, state: State) -> Keys:
    """Return the numbers of a loop that runs once or twice, as what it has stored is not read a third time."""
    if isinstance(node.expr, CallExpr) and isinstance(node.index, NameExpr) and isinstance(node.index.node, Var):
        numbers = _numbers(node.expr, state)
        if isinstance(numbers, range) and len(numbers) <= _FEW:
            return Keys(node.index.node, tuple((int, one) for one in numbers), is_complete=True)
    return NO_KEYS


def _numbers(call: CallExpr, state: State) -> range | list[int] | None:
    """Return all numbers that a loop goes through, or the first of them; None if they are unknown."""
    given = [constant_of(one, state) for one in call.args]
    known = [one[1] if one is not None and one[0] is int else None for one in given]
    is_range = getattr(call.callee, "fullname", "") == "builtins.range"
    if is_range and (numbers := range_of(known)) is not None:
        return numbers
    if is_range:
        start, step = (0 if len(known) < 2 else known[0]), (1 if len(known) < 3 else known[2])
    else:
        start, step = (0 if len(known) < 2 else known[1]), 1
    return [start, start + step] if start is not None and step else None


def _key_of(node: Node | None) -> Var | None:
    """Return the name of a loop by which its body looks something up, or which it compares or passes on."""
    if not isinstance(node, ForStmt):
        return None
    index: Any = node.index
    if isinstance(node.expr, CallExpr):
        name = getattr(node.expr.callee, "fullname", "")
        if name == "builtins.enumerate" and isinstance(index, TupleExpr):
            index = index.items[0]
        elif name != "builtins.range":
            return None
    if not isinstance(index, NameExpr) or not isinstance(index.node, Var):
        return None
    used = {
        one.node for each in inside(node.body) for part in _deciding_parts(each) for one in part if hasattr(one, "node")
    }
    return index.node if index.node in used else None


def _deciding_parts(node: Any) -> list[list[Any]]:
    """Return the parts of an expression that select what it does."""
    match node:
        case IndexExpr(index=index):
            return [inside(index)]
        case ComparisonExpr(operands=operands):
            return [inside(one) for one in operands if not isinstance(one, CallExpr)]
        case CallExpr(callee=callee, args=arguments):
            name = callee.fullname if isinstance(callee, RefExpr) else ""
            return [arguments] if not name.startswith(("builtins.", "tapegrad.")) else []
    return []


_deciding: ScopeCache[Var | None] = ScopeCache(_key_of)


def _is_fixed(walk: Walk, sequence: Var) -> bool:
    """Return whether a name is bound once, outside loops, so that each loop goes through the same elements."""
    for scope in (walk.unit, walk.file):
        names, bound_often = _bound.of(scope)
        if sequence in names:
            return sequence not in bound_often
    return False


def _bound_often(scope: Node | None) -> tuple[set[Any], set[Any]]:
    """Return the names that a scope binds, and those that it binds in a loop, or more than once."""
    if scope is None:
        return set(), set()
    counts = bindings_in(scope)
    often = {name for name, values in counts.items() if len(values) > 1}
    for loop in inside(scope):
        if isinstance(loop, ForStmt | WhileStmt):
            often |= bound_in(loop)
    return set(counts), often


_bound = ScopeCache(_bound_often)
