"""Sizes as text, as messages and annotations show them."""

from __future__ import annotations

from tapegrad.sizes.facts import simplest
from tapegrad.sizes.functions import call_of
from tapegrad.sizes.terms import Dim, Floor, Monomial, Name


def text_of_dim(size: Dim) -> str:
    """Return a size as text, simplified by the facts assumed about it, with the highest products first."""
    if size.terms is None:
        return "?"
    simple = simplest(size)
    if not isinstance(simple, Dim):
        return str(simple)
    ordered = sorted(simple.terms or (), key=lambda term: (-len(term[0]), [str(factor) for factor in term[0]]))
    first, *rest = (_shown(monomial, coefficient) for monomial, coefficient in _with_number_inside(ordered))
    return first + "".join(f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in rest)


def text_of_floor(floor: Floor) -> str:
    """Return a floor division as text, in brackets where a product or a difference would be read otherwise."""
    above = str(floor.numerator)
    if len(floor.numerator.terms or ()) > 1 or above.startswith("-"):
        above = f"({above})"  # after another term `-1 // N` would read as a difference
    below = str(floor.denominator)
    return f"{above} // {below if below.replace('.', '').isidentifier() or below.isdecimal() else f'({below})'}"


def _with_number_inside(terms: list[tuple[Monomial, int]]) -> list[tuple[Monomial, int]]:
    """Return the terms with the number taken into max or min: `max(N, 2) - 2` is shown as `max(N - 2, 0)`.

    A positive number beside other sizes stays where it is.
    """
    number = next((coefficient for monomial, coefficient in terms if not monomial), 0)
    if not number or (number > 0 and len(terms) > 2):
        return terms
    for place, (monomial, coefficient) in enumerate(terms):
        call = call_of(monomial[0]) if len(monomial) == 1 and isinstance(monomial[0], Name) else None
        if coefficient == 1 and call is not None and call.function in {"max", "min"}:
            # No number among the arguments gets below 0.
            lowest = max((-size for size in call.arguments if isinstance(size, int)), default=number)
            inside = max(number, lowest)
            label = f"{call.function}({', '.join(str(size + inside) for size in call.arguments)})"
            shown = [*terms[:place], ((Name(label),), 1), *terms[place + 1 :]]
            outside = [((), number - inside)] if number < inside else []
            return [*(term for term in shown if term[0]), *outside]
    return terms


def _shown(monomial: Monomial, coefficient: int) -> str:
    if not monomial:
        return str(coefficient)
    if len(monomial) == 1 and coefficient == 1:
        return str(monomial[0])
    factors = "*".join(str(factor) if isinstance(factor, Name) else f"({factor})" for factor in monomial)
    return {1: factors, -1: f"-{factors}"}.get(coefficient, f"{coefficient}*{factors}")
