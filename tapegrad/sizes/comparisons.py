"""Whether two sizes are equal, differ, or divide each other for all values of their names.

Each answer is true only if proven. Two sizes that do not surely differ need not be the same: one may be unknown.
"""

from __future__ import annotations

import operator
from math import gcd
from typing import TYPE_CHECKING

from tapegrad.sizes.bounds import surely_less
from tapegrad.sizes.symbols import is_symbol, proven
from tapegrad.sizes.terms import Dim, Name, Size, Terms, from_terms, is_unknown, terms_in, with_names
from tapegrad.sizes.values import names_in, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def surely_differ(a: Size, b: Size) -> bool:
    """Return whether `a` and `b` are proven to differ; names are rigid, so `N` and `M` differ, and so do `N` and 5.

    An opaque name may be equal to any other size, but not to three times itself.

    Examples:
        >>> n = tg.sizes.named("N")
        >>> tg.sizes.surely_differ(n, n + 1), tg.sizes.surely_differ(n, 5)
        (True, True)
        >>> tg.sizes.surely_differ(n, n), tg.sizes.surely_differ(n, tg.sizes.UNKNOWN)
        (False, False)
    """
    if isinstance(a, int) and isinstance(b, int):
        return a != b
    if a is b:
        return False
    if is_symbol(a) or is_symbol(b):
        return proven(operator.ne, a, b)
    left, right = terms_in(a), terms_in(b)
    if left is None or right is None or left == right:
        return False
    if any(factor.is_opaque for factor in _names_in_terms(left, right)):
        return _differ_for_all_values(left, right)
    return True


def _names_in_terms(*several: Terms) -> Iterator[Name]:
    for terms in several:
        for monomial in terms:
            for factor in monomial:
                yield from names_of(factor)


def _differ_for_all_values(left: Terms, right: Terms) -> bool:
    """Return whether two sizes differ for all values of their names, as far as neither of them is 0.

    The factors of a size that is a product are then at least 1.
    """
    difference = from_terms(left) - from_terms(right)
    if isinstance(difference, int):
        return True  # they are not the same, so it is not 0
    constant = dict(difference.terms or ()).get((), 0)
    if constant % gcd(*(times for monomial, times in difference.terms or () if monomial)):
        return True
    products = [monomial for terms in (left, right) if len(terms) == 1 and left and right for monomial in terms]
    factors = [factor for one in products for factor in one if isinstance(factor, Name) and factor.least >= 0]
    from_one = {factor: factor._replace(least=1) for factor in factors}
    changed = with_names(difference, from_one)
    return surely_less(0, changed) or surely_less(changed, 0)


def surely_same(a: Size, b: Size) -> bool:
    """Return whether `a` and `b` are known and proven to be equal for all values of the names.

    Examples:
        >>> n = tg.sizes.named("N")
        >>> tg.sizes.surely_same((n + 1) * 2, 2 * n + 2)
        True
        >>> tg.sizes.surely_same(n, tg.sizes.UNKNOWN)
        False
    """
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if is_symbol(a) or is_symbol(b):
        return proven(operator.eq, a, b)
    left = terms_in(a)
    return left is not None and (a is b or left == terms_in(b))


def surely_divides(a: Size, b: Size) -> bool:
    """Return whether `a` is proven to divide `b` for all values of the names.

    Examples:
        >>> n = tg.sizes.named("N")
        >>> tg.sizes.surely_divides(2, 4 * n + 6), tg.sizes.surely_divides(n, n * n)
        (True, True)
        >>> tg.sizes.surely_divides(2, n)
        False
    """
    if isinstance(a, int) and a == 0:
        return False
    if isinstance(a, int) and isinstance(b, int):
        return b % a == 0
    if is_symbol(a) or is_symbol(b):
        return proven(lambda a, b: b % a == 0, a, b)
    if is_unknown(a) or is_unknown(b) or not surely_differ(a, 0):
        return False
    return surely_same(b // a * a, b)


def positive_divisor(size: Size) -> Size:
    """Return a divisor with opaque names that are at least 1, because no size is divided by 0."""
    return with_names(size, {one: one._replace(least=1) for one in names_in(size)}) if isinstance(size, Dim) else size
