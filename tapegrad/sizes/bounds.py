"""Bounds of sizes that hold for all values of the names, and the order of two sizes."""

from __future__ import annotations

import operator
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

from tapegrad.sizes.symbols import is_symbol, proven
from tapegrad.sizes.terms import Dim, Factor, Floor, Monomial, Name, Size, is_unknown, terms_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def surely_less(a: Size, b: Size) -> bool:
    """Return whether `a < b` is proven for all values of the names.

    Examples:
        >>> n, m = tg.sizes.named("N"), tg.sizes.named("M")
        >>> tg.sizes.surely_less(n, n + m)
        True
        >>> tg.sizes.surely_less(n, m), tg.sizes.surely_less(m, n)
        (False, False)
    """
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    if is_symbol(a) or is_symbol(b):
        return proven(operator.lt, a, b)
    if is_unknown(a) or is_unknown(b):
        return False
    least = _least(b - a)
    return least is not None and least > 0


def upper_bound(size: Size) -> int | None:
    """Return a proven upper bound of a size for all values of its names, or None if none is proven."""
    least = _least(size * -1)
    return None if least is None else -least


def _least(size: Size) -> int | None:
    """Return a proven lower bound of a size for all values of its names, or None if none is proven."""
    terms = terms_in(size)
    if terms is None:
        return None
    if all(not monomial or (len(monomial) == 1 and isinstance(monomial[0], Name)) for monomial in terms):
        return _least_of_linear(terms)
    if (above := _without_a_floor(terms)) is not None:
        divisor, least = above[0], _least(above[1])
        return None if least is None else -(-least // divisor)
    if (above_bound := _without_a_bounded_name(terms)) is not None:
        return _least(above_bound)
    shifted: Counter[Monomial] = Counter()
    for monomial, coefficient in terms.items():
        if not all(map(_is_non_negative, monomial)):
            return None
        if any(isinstance(factor, Floor) for factor in monomial):
            if coefficient < 0:
                return None
            continue
        from_zero = tuple(name for name in monomial if isinstance(name, Name) and name.least == 0)
        for kept in _subsets(tuple(name for name in monomial if name not in from_zero)):  # each is 1 + t with t >= 0
            shifted[(*kept, *from_zero)] += coefficient
    if any(coefficient < 0 for monomial, coefficient in shifted.items() if monomial):
        return None
    return shifted[()]


def _least_of_linear(terms: Mapping[Monomial, int]) -> int | None:
    least = 0
    for monomial, coefficient in terms.items():
        if not monomial:
            least += coefficient
            continue
        (name,) = monomial
        if not isinstance(name, Name) or (coefficient > 0 and name.least < 0):
            return None
        bound = name.least if coefficient > 0 else name.most
        if bound is None:
            return None
        least += coefficient * bound
    return least


def _without_a_floor(terms: Mapping[Monomial, int]) -> tuple[int, Size] | None:
    """Return a divisor d and a lower bound of d times the size, by floor(a / d) <= a / d."""
    for monomial, coefficient in terms.items():
        for factor in monomial if coefficient < 0 else ():
            others = list(monomial)
            others.remove(factor)
            divisor = factor.denominator + 0 if isinstance(factor, Floor) else 0
            if not isinstance(factor, Floor) or not isinstance(divisor, int) or divisor < 1:
                continue
            if all(map(_is_non_negative, others)):
                rest = Dim(frozenset((one, n) for one, n in terms.items() if one != monomial))
                return divisor, rest * divisor + Dim(frozenset({(tuple(others), coefficient)})) * factor.numerator
    return None


def _without_a_bounded_name(terms: Mapping[Monomial, int]) -> Size | None:
    """Return a lower bound of a size: what is subtracted is at most what it is with the largest value of one name."""
    for monomial, coefficient in terms.items():
        for factor in monomial if coefficient < 0 else ():
            others = list(monomial)
            others.remove(factor)
            if isinstance(factor, Name) and factor.most is not None and all(map(_is_non_negative, others)):
                rest = Dim(frozenset((one, n) for one, n in terms.items() if one != monomial))
                return rest + Dim(frozenset({(tuple(others), coefficient * factor.most)}))
    return None


def _is_non_negative(factor: Factor) -> bool:
    if isinstance(factor, Name):
        return factor.least >= 0
    above, below = _least(factor.numerator), _least(factor.denominator)
    return above is not None and above >= 0 and below is not None and below > 0


def _subsets(monomial: Monomial) -> Iterator[Monomial]:
    for count in range(len(monomial) + 1):
        yield from combinations(monomial, count)
