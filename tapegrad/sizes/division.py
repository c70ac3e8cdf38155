"""Floor division of sizes, as far as it can be computed; the rest is a `Floor`."""

from __future__ import annotations

import operator
from collections import Counter
from functools import reduce
from math import gcd

from tapegrad.errors import ShapeError
from tapegrad.sizes.bounds import surely_less
from tapegrad.sizes.terms import (
    UNKNOWN,
    Dim,
    Factor,
    Floor,
    Monomial,
    Size,
    Terms,
    from_terms,
    highest_product,
    is_part,
    normal,
    sorted_factors,
    terms_in,
    without_factors,
)


def floor_divided(a: Size, b: Size) -> Size:
    """Return `a // b` in normal form; it raises ShapeError if `b` is 0."""
    above, below = terms_in(a), terms_in(b)
    if above is None or below is None:
        return UNKNOWN
    if not below:
        message = f"{a} is divided by zero"
        raise ShapeError(message)
    above, below = in_lowest_terms(above, below)
    quotient, rest = _divided(above, below)
    return normal(quotient.items()) + _floor(rest, below)


def in_lowest_terms(above: Terms, below: Terms) -> tuple[Terms, Terms]:
    """Divide both by the factors that all their terms have in common, and make the divisor's sign positive."""
    scale = gcd(*above.values(), *below.values())
    if below[highest_product(below)] < 0:
        scale = -scale
    common: Counter[Factor] = Counter()
    if () not in below and () not in above:
        common = reduce(operator.and_, map(Counter, (*above, *below)))
    if scale == 1 and not common:
        return above, below
    return _scaled_down(above, common, scale), _scaled_down(below, common, scale)


def _scaled_down(terms: Terms, factors: Counter[Factor], scale: int) -> Terms:
    return {without_factors(monomial, factors): coefficient // scale for monomial, coefficient in terms.items()}


def _divided(above: Terms, below: Terms) -> tuple[Terms, Terms]:
    """Return quotient and remainder; a divisor of several terms divides only if there is no remainder."""
    if len(below) > 1:
        whole = _exactly_divided(above, below)
        return (whole, {}) if whole is not None else ({}, above)
    ((factors, scale),) = below.items()
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in above.items():
        if not is_part(factors, monomial):
            rest[monomial] = coefficient
            continue
        # floor((scale * q + r) / scale) is q + floor(r / scale), so each coefficient is divided separately.
        whole, left = divmod(coefficient, scale)
        if whole:
            quotient[without_factors(monomial, Counter(factors))] = whole
        if left:
            rest[monomial] = left
    return quotient, rest


def _exactly_divided(above: Terms, below: Terms) -> Terms | None:
    """Return the polynomial `q` with `below * q == above`, or None if there is none."""
    highest = highest_product(below)
    quotient: dict[Monomial, int] = {}
    left = dict(above)
    while left:
        monomial = highest_product(left)
        times, rest = divmod(left[monomial], below[highest])
        if rest or not is_part(highest, monomial):
            return None
        factor = without_factors(monomial, Counter(highest))
        quotient[factor] = times
        for other, coefficient in below.items():
            taken = sorted_factors(factor + other)
            left[taken] = left.get(taken, 0) - times * coefficient
            if not left[taken]:
                del left[taken]
    return quotient


def _floor(above: Terms, below: Terms) -> Size:
    """Return floor(above / below) in normal form, for terms that cannot be divided any further."""
    is_number = below.keys() == {()}
    if not above or (is_number and above.keys() == {()}):  # a remainder is less than the divisor
        return 0
    # floor((step * x + r) / (step * d)) is floor((x + floor(r / step)) / d).
    step = gcd(*below.values(), *(coefficient for monomial, coefficient in above.items() if monomial))
    is_positive = is_number or surely_less(0, from_terms(below))
    if step > 1 and is_positive:
        above = {monomial: whole for monomial, coefficient in above.items() if (whole := coefficient // step)}
        below = {monomial: coefficient // step for monomial, coefficient in below.items()}
    numerator, denominator = from_terms(above), from_terms(below)
    if not is_number:
        if surely_less(-1, numerator) and surely_less(numerator, denominator):
            return 0
        if surely_less(numerator, 0) and surely_less(-1, numerator + denominator):
            return -1
    # floor((floor(a / b) + k) / d) is floor((a + b * k) / (b * d)).
    for inner in floors_alone(above) if is_positive else []:
        others = from_terms({monomial: times for monomial, times in above.items() if monomial != (inner,)})
        return floor_divided(inner.numerator + inner.denominator * others, inner.denominator * denominator)
    return Dim(frozenset({((Floor(numerator, denominator),), 1)}))


def floors_alone(terms: Terms) -> list[Floor]:
    """Return the floor division that is a term by itself, if exactly one term is."""
    floors = [m[0] for m, times in terms.items() if times == 1 and len(m) == 1 and isinstance(m[0], Floor)]
    return floors if len(floors) == 1 else []
