"""Solves a computed size for the one name in it that is still open: `N + 1` is 7, so N is 6."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tapegrad.dims import UNKNOWN, Dim, Floor, Name, Size, names_in, surely_divides

if TYPE_CHECKING:
    from collections.abc import Mapping

OPEN = "open"  # the scope of a name that stands for nothing yet: no program has one of it


class LeavesRestError(Exception):
    """No whole number solves it: `2*N` is never 7."""


class Linear(NamedTuple):
    """A size as `coefficient * name + rest`, of which only the name is open, or what is divided in its place."""

    name: Name | Floor
    coefficient: Size
    rest: Size


def linear(size: Size) -> Linear | None:
    """Return a size by its open name; None where that is none, one of several, squared or under a floor."""
    names = _open(names_in(size))
    return _by(names.pop(), size) if len(names) == 1 else None


def linear_in_floor(size: Size) -> Linear | None:
    """Return a size by its one floor division with an open name in it, which is one number whatever the name is."""
    floors = {
        factor
        for monomial, _ in (size.terms or () if isinstance(size, Dim) else ())
        for factor in monomial
        if isinstance(factor, Floor) and _open(names_in(factor.numerator) | names_in(factor.denominator))
    }
    return _by(floors.pop(), size) if len(floors) == 1 else None


def _by(name: Name | Floor, size: Size) -> Linear | None:
    terms = size.terms or () if isinstance(size, Dim) else ()
    coefficient: Size = 0
    rest: Size = 0
    for monomial, factor in terms:
        others = tuple(one for one in monomial if one != name)
        term = Dim(frozenset({(others, factor)})) + 0  # a plain number again where no name is left
        if len(others) < len(monomial) - 1 or _open(names_in(term)):
            return None
        if len(others) < len(monomial):
            coefficient = coefficient + term
        else:
            rest = rest + term
    return Linear(name, coefficient, rest)


def solved(equation: Linear, value: Size) -> Size | None:
    """Return what the name is where the whole comes to `value`; None where that cannot be told.

    Raises:
        LeavesRestError: No size is.
    """
    multiple = value - equation.rest
    if surely_divides(equation.coefficient, multiple):
        return multiple // equation.coefficient
    if isinstance(equation.coefficient, int) and _surely_leaves_rest(multiple, equation.coefficient):
        raise LeavesRestError
    return None


def _surely_leaves_rest(size: Size, divisor: int) -> bool:
    """Return whether a division comes out uneven whatever the names stand for."""
    if isinstance(size, int):
        return size % divisor != 0
    rests = {monomial: coefficient % divisor for monomial, coefficient in size.terms or ()}
    return bool(rests.pop((), 0)) and not any(rests.values())


def replaced(size: Size, known: Mapping[Floor, Size]) -> Size:
    """Return a size with what floor divisions have come to; unknown where a name is still open."""
    if not isinstance(size, Dim) or size.terms is None:
        return size
    total: Size = 0
    for monomial, coefficient in size.terms:
        term: Size = coefficient
        for factor in monomial:
            one = Dim(frozenset({((factor,), 1)}))
            term = known.get(factor, one) * term if isinstance(factor, Floor) else one * term
        total = term + total
    return UNKNOWN if _open(names_in(total)) else total


def _open(names: set[Name]) -> set[Name]:
    return {name for name in names if name.scope.startswith(OPEN)}
