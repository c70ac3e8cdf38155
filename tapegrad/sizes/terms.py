"""Sizes of tensors: ints at run time, symbolic names and arithmetic over names in the type checker.

A symbolic size is an integer polynomial over names and floor divisions, in normal form: equal sizes have equal terms.
A shape rule is written once over `Dims` and works for both kinds. Symbolic sizes cannot be compared with `==` or `<`:
a rule calls the functions of `tapegrad.sizes.comparisons` and `tapegrad.sizes.bounds`.
"""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class RankUnknownError(Exception):
    """A rule needs sizes of an unknown rank or along an unknown axis; the checker then infers an unknown shape."""


class Name(NamedTuple):
    """A symbolic size, known by name only; two different names are two different sizes.

    An opaque name stands for the value of an expression, such as `config.width`: two of them may be equal.

    Examples:
        >>> name = tg.sizes.Name("N")
        >>> print(tg.sizes.size_of_name(name) + 1)
        N + 1
        >>> name.least
        1
        >>> tg.sizes.Name("N", scope="encode") == tg.sizes.Name("N", scope="decode")
        False
        >>> width = tg.sizes.size_of_name(tg.sizes.Name("width", least=0, is_opaque=True))
        >>> tg.sizes.surely_differ(width, 5), tg.sizes.surely_differ(width, 3 * width)
        (False, True)
    """

    label: str
    scope: str = ""
    least: int = 1  # the least possible value: 1, 0, or -1 where it may be any int
    is_opaque: bool = False
    most: int | None = None  # the greatest possible value, if there is one

    @override
    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """A floor division that could not be simplified, stored as a factor.

    Examples:
        >>> n, m = tg.sizes.named("N"), tg.sizes.named("M")
        >>> print(tg.sizes.Floor(n + 1, m))
        (N + 1) // M
        >>> print((n + 1) // m * 2)
        2*((N + 1) // M)
        >>> print(n * m // m)
        N
    """

    numerator: Dim
    denominator: Dim

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Floor) and self._terms() == other._terms()

    @override
    def __hash__(self) -> int:
        return hash(self._terms())

    def _terms(self) -> tuple[object, object]:
        return self.numerator.terms, self.denominator.terms  # a `Dim` does not support ==

    @override
    def __str__(self) -> str:
        from tapegrad.sizes.text import text_of_floor

        return text_of_floor(self)


Factor: TypeAlias = Name | Floor


Monomial: TypeAlias = "tuple[Factor, ...]"


Terms: TypeAlias = "Mapping[Monomial, int]"


@dataclass(frozen=True, slots=True, eq=False)
class Dim:
    """An integer polynomial over names, in normal form; `terms` is None if nothing is known about the size.

    Examples:
        >>> n, m = tg.sizes.named("N"), tg.sizes.named("M")
        >>> print((n + m) * 2 - n)
        2*M + N
        >>> print((4 * n + 6) // 2)
        2*N + 3
        >>> n == m
        Traceback (most recent call last):
            ...
        TypeError: a size answers no bool: ask surely_differ, surely_less or surely_divides
    """

    terms: frozenset[tuple[Monomial, int]] | None

    def __add__(self, other: Size) -> Size:
        left, right = terms_in(self), terms_in(other)
        return UNKNOWN if left is None or right is None else normal([*left.items(), *right.items()])

    def __mul__(self, other: Size) -> Size:
        left, right = terms_in(self), terms_in(other)
        if left is None or right is None:
            return UNKNOWN
        return normal((sorted_factors(m + k), a * b) for m, a in left.items() for k, b in right.items())

    def __sub__(self, other: Size) -> Size:
        left, right = terms_in(self), terms_in(other)
        if left is None or right is None:
            return UNKNOWN
        return normal([*left.items(), *((monomial, -coefficient) for monomial, coefficient in right.items())])

    def __rsub__(self, other: int) -> Size:
        return self * -1 + other

    def __floordiv__(self, other: Size) -> Size:
        from tapegrad.sizes.division import floor_divided

        return floor_divided(self, other)

    def __rfloordiv__(self, other: int) -> Size:
        from tapegrad.sizes.division import floor_divided

        return floor_divided(other, self)

    __radd__ = __add__
    __rmul__ = __mul__

    def _reject(self, *_: object) -> NoReturn:
        message = "a size answers no bool: ask surely_differ, surely_less or surely_divides"
        raise TypeError(message)

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __mod__ = __rmod__ = __index__ = _reject
    __eq__ = __ne__ = _reject

    @override
    def __hash__(self) -> int:
        return hash(self.terms)

    @override
    def __repr__(self) -> str:
        # Equal sets may iterate in different orders; factors are sorted by this text.
        return f"Dim({self.terms and sorted(map(repr, self.terms))})"

    @override
    def __str__(self) -> str:
        from tapegrad.sizes.text import text_of_dim

        return text_of_dim(self)


Size: TypeAlias = int | Dim


Dims: TypeAlias = tuple[Size, ...]


UNKNOWN = Dim(None)


REPLACEMENTS: ContextVar[tuple[tuple[Monomial, Size], ...]] = ContextVar("REPLACEMENTS", default=())  # see `Facts`


class UnknownDims(tuple[Size, ...]):
    """The sizes of a tensor of unknown rank: every access raises RankUnknownError.

    Examples:
        >>> dims = tg.sizes.UnknownDims()
        >>> tg.sizes.show(dims)
        '(...)'
        >>> dims[0]
        Traceback (most recent call last):
            ...
        tapegrad.sizes.terms.RankUnknownError
    """

    __slots__ = ()

    def _reject(self, *_: object) -> NoReturn:
        raise RankUnknownError

    __iter__ = __len__ = __getitem__ = __contains__ = _reject
    __add__ = __radd__ = __mul__ = __rmul__ = _reject


def named(label: str, scope: str = "") -> Dim:
    """Return the symbolic size named `label`; the same label in two scopes is two sizes.

    Examples:
        >>> n = tg.sizes.named("N")
        >>> print(2 * n + 1)
        2*N + 1
        >>> tg.sizes.show((n, n // 2, 64))
        '(N, N // 2, 64)'
        >>> tg.sizes.surely_differ(n, tg.sizes.named("N", scope="decode"))
        True
    """
    return size_of_name(Name(label, scope))


def size_of_name(name: Name) -> Dim:
    """Return the symbolic size of a name.

    Examples:
        >>> name = tg.sizes.Name("N", least=0)
        >>> size = tg.sizes.size_of_name(name)
        >>> print(3 * size)
        3*N
        >>> tg.sizes.surely_less(0, size)
        False
    """
    return Dim(frozenset({((name,), 1)}))


def is_unknown(size: Size) -> bool:
    """Return whether nothing is known about a size.

    Examples:
        >>> tg.sizes.is_unknown(tg.sizes.UNKNOWN + 1)
        True
        >>> tg.sizes.is_unknown(tg.sizes.named("N") + 1)
        False
    """
    return isinstance(size, Dim) and size.terms is None


def with_names(size: Dim, names: Mapping[Name, Name]) -> Dim:
    """Return a size with other names."""
    return Dim(
        frozenset((sorted_factors(tuple(_factor_with(one, names) for one in m)), n) for m, n in size.terms or ())
    )


def _factor_with(factor: Factor, names: Mapping[Name, Name]) -> Factor:
    if isinstance(factor, Name):
        return names.get(factor, factor)
    return Floor(with_names(factor.numerator, names), with_names(factor.denominator, names))


def terms_in(size: Size) -> Terms | None:
    """Return the terms of a size by the facts that are assumed; None if it is unknown."""
    if not isinstance(size, Dim):  # an int of Python or of NumPy
        return {(): int(size)} if size else {}
    if size.terms is None:
        return None
    if REPLACEMENTS.get():
        size = normal(size.terms)
        return raw_terms(size) if isinstance(size, Dim) else terms_in(size)
    return raw_terms(size)


def raw_terms(size: Dim) -> Terms:
    """Return the terms of a size as they are, without any fact."""
    return dict(size.terms or ())


def from_terms(terms: Terms) -> Dim:
    """Return the size of terms in normal form."""
    return Dim(frozenset(terms.items()))


def normal(terms: Iterable[tuple[Monomial, int]]) -> Size:
    """Return the sum of terms in normal form; an int if no name is left."""
    total: dict[Monomial, int] = {}  # a Counter is slower (benchmarks/devices.py, "a counter")
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = {monomial: coefficient for monomial, coefficient in total.items() if coefficient}
    replacements = REPLACEMENTS.get()
    for monomial, coefficient in kept.items() if replacements else ():
        replaced = _replaced(monomial, replacements)
        if replaced is not None:
            del kept[monomial]
            return from_terms(kept) + replaced * coefficient
    return kept.get((), 0) if kept.keys() <= {()} else Dim(frozenset(kept.items()))


def _replaced(monomial: Monomial, replacements: Iterable[tuple[Monomial, Size]]) -> Size | None:
    """Return a product with the replacement of part of it inserted, or None if no part has one."""
    for part, value in replacements:
        if is_part(part, monomial):
            return from_terms({without_factors(monomial, Counter(part)): 1}) * value
    for factor in monomial:
        if isinstance(factor, Floor):
            above, below = factor.numerator, factor.denominator
            if terms_in(above) != raw_terms(above) or terms_in(below) != raw_terms(below):
                return from_terms({without_factors(monomial, Counter([factor])): 1}) * (above // below)
    return None


def sorted_factors(monomial: Monomial) -> Monomial:
    """Return a product with its factors in the order of the normal form."""
    return monomial if len(monomial) < 2 else tuple(sorted(monomial, key=repr))


def is_part(factors: Monomial, monomial: Monomial) -> bool:
    """Return whether a product contains all of these factors."""
    if len(factors) < 2:
        return not factors or factors[0] in monomial
    return Counter(factors) <= Counter(monomial)


def without_factors(monomial: Monomial, factors: Counter[Factor]) -> Monomial:
    """Return a product divided by some of its factors."""
    return sorted_factors(tuple((Counter(monomial) - factors).elements())) if factors else monomial


def highest_product(terms: Terms) -> Monomial:
    """Return the highest product, in an order that multiplication by another product preserves."""
    if len(terms) == 1:
        return next(iter(terms))
    return max(terms, key=lambda monomial: (len(monomial), list(map(repr, monomial))))
