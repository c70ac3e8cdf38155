"""The names in a size, and its value for given values of the names."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tapegrad.sizes.terms import Dim, Factor, Floor, Name, Size, terms_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def names_in(size: Size) -> set[Name]:
    """Return the names that a size is computed from.

    Examples:
        >>> n, m = tg.sizes.named("N"), tg.sizes.named("M")
        >>> sorted(name.label for name in tg.sizes.names_in(n * m // 2 + 1))
        ['M', 'N']
        >>> tg.sizes.names_in(64)
        set()
    """
    terms = size.terms or () if isinstance(size, Dim) else ()
    return {name for monomial, _ in terms for factor in monomial for name in names_of(factor)}


def names_of(factor: Factor) -> set[Name]:
    """Return the names that a factor of a product is computed from."""
    if isinstance(factor, Name):
        _, arguments = _computed.get(factor, (None, ()))
        return {factor}.union(*map(names_in, arguments)) if arguments else {factor}
    return names_in(factor.numerator) | names_in(factor.denominator)


def value_of(size: Size, names: Mapping[Name, int]) -> int | None:
    """Return the value of a size for given values of its names, or None if a name or the size is unknown.

    Examples:
        >>> size = 2 * tg.sizes.named("N") + 1
        >>> tg.sizes.value_of(size, {tg.sizes.Name("N"): 3})
        7
        >>> print(tg.sizes.value_of(size, {}))
        None
    """
    terms = terms_in(size)
    if terms is None:
        return None
    total = 0
    for monomial, coefficient in terms.items():
        factors = [_factor_value(factor, names) for factor in monomial]
        if None in factors:
            return None
        total += coefficient * prod(factor for factor in factors if factor is not None)
    return total


def _factor_value(factor: Name | Floor, names: Mapping[Name, int]) -> int | None:
    if isinstance(factor, Name):
        return names[factor] if factor in names else _computed_value(factor, names)
    above, below = value_of(factor.numerator, names), value_of(factor.denominator, names)
    return None if above is None or below is None else above // below


def value_is_computed_by(name: Name, function: Callable[..., Size], arguments: tuple[Size, ...]) -> None:
    """Let `value_of` compute the value of a name by a function of sizes."""
    _computed[name] = function, arguments


_computed: dict[Name, tuple[Callable[..., Size], tuple[Size, ...]]] = {}


def _computed_value(name: Name, names: Mapping[Name, int]) -> int | None:
    function, arguments = _computed.get(name, (None, ()))
    values = [value_of(argument, names) for argument in arguments]
    if function is None or None in values:
        return None
    value = function(*values)
    return value if isinstance(value, int) else None
