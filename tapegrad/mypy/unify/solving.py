"""Solve a computed size for its one unbound name: if `N + 1` is 7, N is 6."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tapegrad.sizes import UNKNOWN, Dim, Floor, Name, Size, names_in, surely_divides

if TYPE_CHECKING:
    from collections.abc import Mapping

OPEN = "open"  # the scope of unbound names, which no name of a program has


class LeavesRestError(Exception):
    """No whole number solves the equation: `2*N` is never 7."""


class Linear(NamedTuple):
    """A size as `coefficient * name + rest`, where only the name, or a floor division in its place, is unbound."""

    name: Name | Floor
    coefficient: Size
    rest: Size


def linear(size: Size) -> Linear | None:
    """Return a size by its one unbound name; None if it has none or several, or one squared or in a floor division."""
    names = _open(names_in(size))
    return _by(names.pop(), size) if len(names) == 1 else None


def linear_in_floor(size: Size) -> Linear | None:
    """Return a size by its one floor division with an unbound name, which is treated as one unknown, or None."""
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
        term = Dim(frozenset({(others, factor)})) + 0  # `+ 0` makes it an int if no name is left
        if len(others) < len(monomial) - 1 or _open(names_in(term)):
            return None
        if len(others) < len(monomial):
            coefficient = coefficient + term
        else:
            rest = rest + term
    return Linear(name, coefficient, rest)


def solved(equation: Linear, value: Size) -> Size | None:
    """Return the value of the name for which the size equals `value`; None if that is unknown.

    Raises:
        LeavesRestError: No whole number solves it.
    """
    multiple = value - equation.rest
    if surely_divides(equation.coefficient, multiple):
        return multiple // equation.coefficient
    if isinstance(equation.coefficient, int) and _surely_leaves_rest(multiple, equation.coefficient):
        raise LeavesRestError
    return None


def _surely_leaves_rest(size: Size, divisor: int) -> bool:
    """Return whether a division leaves a remainder for all values of the names."""
    if isinstance(size, int):
        return size % divisor != 0
    rests = {monomial: coefficient % divisor for monomial, coefficient in size.terms or ()}
    return bool(rests.pop((), 0)) and not any(rests.values())


def replaced(size: Size, known: Mapping[Floor, Size]) -> Size:
    """Return a size with the known values of its floor divisions; unknown if a name is still unbound."""
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
