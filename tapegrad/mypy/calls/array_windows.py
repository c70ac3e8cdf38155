"""Parts of an array that begin at drawn positions, such as `ids[i : i + n]` for each i of `rng.integers(len(ids) - n)`.

NumPy cuts a slice at the end of an array, so its length is known only where all positions are far enough from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mypy.nodes import CallExpr, IndexExpr, IntExpr, MemberExpr, NameExpr, OpExpr, Var
from mypy.types import Instance, get_proper_type

from tapegrad.mypy.calls.array_calls import GENERATORS
from tapegrad.mypy.mypy_api import stored_type
from tapegrad.mypy.scopes.file_contents import loop_of
from tapegrad.mypy.scopes.names import bound_once, name_same
from tapegrad.mypy.scopes.sequences import size_or_length
from tapegrad.sizes import is_unknown

if TYPE_CHECKING:
    from mypy.nodes import Expression, SliceExpr

    from tapegrad.mypy.mypy_api import Checker
    from tapegrad.sizes import Size

_MOST_NAMES: Final = 8  # bound to each other


class _Sum(NamedTuple):
    """A sum such as `i + len(x) - 3`: how often it has the position and the length, and the rest."""

    positions: int
    lengths: int
    rest: Size

    def plus(self, other: _Sum, sign: int) -> _Sum:
        return _Sum(
            self.positions + sign * other.positions, self.lengths + sign * other.lengths, self.rest + sign * other.rest
        )


def window_length(array: Expression, part: SliceExpr, length: Size, api: Checker) -> Size | None:
    """Return the length of a part of an array that begins at a drawn position; None for any other part.

    Args:
        array: The array.
        part: The slice.
        length: That of the array, which may be unknown.
        api: mypy's checker.
    """
    if part.begin_index is None or part.end_index is None or part.stride is not None:
        return None
    for position in _names_in(part.begin_index):
        high = _bound_of(position, api)
        if high is None:
            continue
        sums = [_sum_of(one, position, array, api) for one in (part.begin_index, part.end_index, high)]
        begin, end, bound = sums
        if begin is None or end is None or bound is None or (begin.positions, end.positions) != (1, 1):
            return None
        if begin.lengths or end.lengths or bound.positions or bound.lengths not in (0, 1):
            return None
        last = bound.rest - 1 + end.rest  # where the last one ends, from the end of the array if that is in the bound
        left = 0 - last if bound.lengths else length - last
        is_inside = isinstance(begin.rest, int) and begin.rest >= 0 and isinstance(left, int) and left >= 0
        return end.rest - begin.rest if is_inside else None
    return None


def _names_in(expression: Expression) -> list[Var]:
    match expression:
        case NameExpr(node=Var() as variable):
            return [variable]
        case OpExpr(op="+" | "-", left=left, right=right):
            return [*_names_in(left), *_names_in(right)]
    return []


def _bound_of(position: Var, api: Checker) -> Expression | None:
    """Return the bound of whole numbers that a generator draws, from 0 on, for a variable; None for any other."""
    loop = loop_of(position, api)
    if loop is None:
        value, _ = bound_once(position, api)
    else:
        value = loop.sequence if isinstance(loop.target, NameExpr) else None
    if isinstance(value, NameExpr) and isinstance(value.node, Var):
        value, _ = bound_once(value.node, api)
    match value:
        case CallExpr(callee=NameExpr(fullname="builtins.int"), args=[inner]):
            value = inner
    match value:
        case CallExpr(callee=MemberExpr(expr=generator, name="integers" | "randint"), args=args, arg_names=names):
            t = get_proper_type(stored_type(api, generator))
            if not isinstance(t, Instance) or t.type.fullname not in GENERATORS or "endpoint" in names:
                return None
            given = dict(zip(names, args, strict=True))
            positional = [one for one, name in zip(args, names, strict=True) if name is None]
            bounds = [*positional[:2], *(given[one] for one in ("low", "high") if one in given)][:2]
            if len(bounds) == 1:
                return bounds[0]
            is_from_start = len(bounds) > 1 and isinstance(bounds[0], IntExpr) and bounds[0].value >= 0
            return bounds[1] if is_from_start else None
    return None


def _sum_of(expression: Expression, position: Var, array: Expression, api: Checker, names: int = 0) -> _Sum | None:
    match expression:
        case NameExpr(node=node) if node is position:
            return _Sum(1, 0, 0)
        case CallExpr(callee=NameExpr(fullname="builtins.len"), args=[of]) if name_same(of, array):
            return _Sum(0, 1, 0)
        case IndexExpr(base=MemberExpr(expr=of, name="shape"), index=IntExpr(value=0)) if name_same(of, array):
            return _Sum(0, 1, 0)
        case OpExpr(op="+" | "-" as sign, left=left, right=right):
            one, other = (_sum_of(side, position, array, api, names) for side in (left, right))
            return None if one is None or other is None else one.plus(other, 1 if sign == "+" else -1)
        case NameExpr(node=Var() as variable) if names < _MOST_NAMES:
            value, _ = bound_once(variable, api)
            if isinstance(value, CallExpr | OpExpr):
                return _sum_of(value, position, array, api, names + 1)
    size = size_or_length(expression, api)
    return None if is_unknown(size) else _Sum(0, 0, size)
