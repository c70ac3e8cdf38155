"""Equations between sizes: the name that a size replaces, and the quotient of a division without remainder."""

from __future__ import annotations

from collections import Counter
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from tapegrad.sizes.bounds import surely_less
from tapegrad.sizes.comparisons import positive_divisor
from tapegrad.sizes.division import floors_alone, in_lowest_terms
from tapegrad.sizes.terms import (
    Dim,
    Floor,
    Monomial,
    Name,
    Size,
    Terms,
    from_terms,
    highest_product,
    is_part,
    raw_terms,
    size_of_name,
    sorted_factors,
    terms_in,
    without_factors,
)

if TYPE_CHECKING:
    from tapegrad.sizes.facts import Divides


class Quotient(NamedTuple):
    """The name of the quotient of a division without remainder: `name * divisor` is `number`."""

    name: Name
    divisor: Size
    number: Size


def solved_for_name(difference: Size, preferred: Name) -> list[tuple[Monomial, Size]]:
    """Return the replacement of a name if a difference is 0; none if it cannot be solved for any name."""
    terms = terms_in(difference) or {}
    scale = gcd(*terms.values())
    for monomial in sorted(terms, key=lambda monomial: (monomial != (preferred,), repr(monomial))):
        others = {other: times // -terms[monomial] for other, times in terms.items() if other != monomial}
        if abs(terms[monomial]) == scale and len(monomial) == 1 and not _has(from_terms(others), monomial):
            return [(monomial, from_terms(others) + 0)]
    return []


def without_rest(fact: Divides, label: str) -> tuple[Quotient | None, list[tuple[Monomial, Size]]]:
    """Return the name of the quotient if a size divides another, and the replacements of products in terms of it.

    They replace a name in the number, for example `W` by `2*q - 1` if 2 divides `W + 1`, or else its highest product.
    If the equation can be solved for neither, they replace only the highest product of divisor and quotient.
    """
    if not surely_less(0, positive_divisor(fact.divisor)):
        return None, []
    above, below = in_lowest_terms(terms_in(fact.number) or {}, terms_in(fact.divisor) or {})
    if not above:  # each size divides 0
        return None, []
    divisor = from_terms(below) + 0
    part, above = _solvable(above, divisor)
    number = from_terms(above) + 0
    least = next((least for least in (1, 0) if surely_less(least - 1, number)), -1)
    quotient = Quotient(Name(label, "of what a program asserts", least), divisor, number)
    q = size_of_name(quotient.name)
    if part:
        replacements = [(part, from_terms({part: 1}) - (number - divisor * q) * above[part])]
    elif below[highest := highest_product(below)] == 1:
        replacements = [(sorted_factors((*highest, quotient.name)), number - (divisor - from_terms({highest: 1})) * q)]
    else:
        return None, []
    whole = number // divisor
    for floor in floors_alone(terms_in(whole) or {}):
        others = whole - from_terms({(floor,): 1})
        if not _has(others, (floor,)):
            replacements.append(((floor,), q - others))
    return quotient, replacements


def _solvable(number: Terms, divisor: Size) -> tuple[Monomial, Terms]:
    """Return a product that the other terms of a number and the quotient determine, and the number to divide instead.

    If an int divides a number, it also divides multiples of the number, and the number plus multiples of the int.
    """
    names = sorted((m for m in number if len(m) == 1), key=lambda m: (isinstance(m[0], Floor), repr(m)))
    for monomial in filter(None, (*names, highest_product(number))):
        others = from_terms({other: times for other, times in number.items() if other != monomial})
        if _has(others, monomial) or _has(divisor, monomial):
            continue
        if isinstance(divisor, int) and gcd(number[monomial], divisor) == 1:
            times = pow(number[monomial], -1, divisor)
            return monomial, {m: rest for m, n in number.items() if (rest := n * times % divisor)}
        if abs(number[monomial]) == 1 and (len(number) == 1 or len(monomial) == 1):
            return monomial, number
    return (), number


def _has(size: Size, part: Monomial) -> bool:
    """Return whether a product is part of a product in a size, at any depth."""
    for monomial in raw_terms(size) if isinstance(size, Dim) else ():
        floors = (one for one in monomial if isinstance(one, Floor))
        if is_part(part, monomial) or any(_has(one.numerator, part) or _has(one.denominator, part) for one in floors):
            return True
    return False


def written_out(size: Size, quotient: Quotient) -> Size:
    """Return a size rewritten without the name of a quotient."""
    terms = dict(terms_in(size) or {})
    total: Size = 0
    for monomial in list(terms):
        floors = [factor for factor in monomial if isinstance(factor, Floor)]
        if len(floors) == 1 and isinstance(quotient.divisor, int):
            factors, times = without_factors(monomial, Counter(floors)), terms.pop(monomial)
            whole = _found_again(floors[0], quotient, terms, factors, times)
            total = total + _term_written_out(factors, times, quotient) * whole
    for monomial, times in terms.items():
        total = total + _term_written_out(monomial, times, quotient)
    return total


def _found_again(floor: Floor, quotient: Quotient, terms: dict[Monomial, int], factors: Monomial, times: int) -> Size:
    """Return a floor division without the name of a quotient; subtract the terms that it uses from `terms`.

    For example, `W // 3` has become `q + q // 3` if `W` is `4*q`.
    """
    above, below = dict(raw_terms(floor.numerator)), floor.denominator + 0
    divisor = quotient.divisor
    if isinstance(below, int) and isinstance(divisor, int):
        for product in [product for product in above if quotient.name in product]:
            beside = sorted_factors(factors + product)
            most = terms.get(beside, 0) // times
            count = next((n for n in range(most + 1) if (above[product] + n * below) % divisor == 0), 0)
            above[product] += count * below
            terms[beside] = terms.get(beside, 0) - count * times
    return written_out(from_terms(above), quotient) // written_out(below, quotient)


def _term_written_out(monomial: Monomial, times: int, quotient: Quotient) -> Size:
    if quotient.name not in monomial:
        term: Size = times
        for factor in monomial:
            if isinstance(factor, Name):
                term = term * size_of_name(factor)
            else:
                above, below = (written_out(size, quotient) for size in (factor.numerator, factor.denominator))
                term = term * (above // below)
        return term
    _, divisor, number = quotient
    q, left = size_of_name(quotient.name), without_factors(monomial, Counter([quotient.name]))
    below = terms_in(divisor) or {}
    highest = highest_product(below)
    whole, rest = divmod(abs(times), below[highest])
    sign = 1 if times > 0 else -1
    if whole and is_part(highest, left):
        others = number - (divisor - from_terms({highest: below[highest]})) * q
        replaced = from_terms({without_factors(left, Counter(highest)): sign * whole}) * others
        again = _term_written_out(monomial, sign * rest, quotient) if rest else 0
        return written_out(replaced, quotient) + again
    # If q is n // 4, then 2*q is n // 2.
    shared = gcd(times, divisor) if isinstance(divisor, int) else 1
    return written_out(from_terms({left: times // shared}), quotient) * (number // (divisor // shared))
