"""Sizes of tensors: ints at run time, symbolic names and arithmetic over names in the type checker.

A shape rule is written once over `Dims` and works for both.
Symbolic sizes cannot be compared with `==` or `<`: a rule calls `surely_same`, `surely_differ`, `surely_less` or
`surely_divides`, which are true only if proven. Two sizes that do not surely differ need not be the same: one of them
may be unknown.
"""

from __future__ import annotations

import operator
from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from math import gcd, prod
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from typing_extensions import override

from tapegrad.errors import ShapeError
from tapegrad.sizes.symbols import is_symbol, proven

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


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
        above = str(self.numerator)
        if len(self.numerator.terms or ()) > 1 or above.startswith("-"):
            above = f"({above})"  # after another term `-1 // N` would read as a difference
        below = str(self.denominator)
        return f"{above} // {below if below.replace('.', '').isidentifier() or below.isdecimal() else f'({below})'}"


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
        left, right = _terms(self), _terms(other)
        return UNKNOWN if left is None or right is None else _normal([*left.items(), *right.items()])

    def __mul__(self, other: Size) -> Size:
        left, right = _terms(self), _terms(other)
        if left is None or right is None:
            return UNKNOWN
        return _normal((_sorted(m + k), a * b) for m, a in left.items() for k, b in right.items())

    def __sub__(self, other: Size) -> Size:
        left, right = _terms(self), _terms(other)
        if left is None or right is None:
            return UNKNOWN
        return _normal([*left.items(), *((monomial, -coefficient) for monomial, coefficient in right.items())])

    def __rsub__(self, other: int) -> Size:
        return self * -1 + other

    def __floordiv__(self, other: Size) -> Size:
        return _floor_divided(self, other)

    def __rfloordiv__(self, other: int) -> Size:
        return _floor_divided(other, self)

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
        if self.terms is None:
            return "?"
        size = simplest(self)
        if not isinstance(size, Dim):
            return str(size)
        ordered = sorted(size.terms or (), key=lambda term: (-len(term[0]), [str(factor) for factor in term[0]]))
        first, *rest = (_shown(monomial, coefficient) for monomial, coefficient in ordered)
        return first + "".join(f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in rest)


Size: TypeAlias = int | Dim


Dims: TypeAlias = tuple[Size, ...]


class Divides(NamedTuple):
    """The fact that a size divides another without remainder.

    Examples:
        >>> w = tg.sizes.named("W")
        >>> tg.sizes.surely_same(w // 2 * 2, w)
        False
        >>> with tg.sizes.assuming([tg.sizes.Divides(2, w)]):
        ...     tg.sizes.surely_same(w // 2 * 2, w)
        True
    """

    divisor: Size
    number: Size


class UndecidedError(ShapeError):
    """Whether sizes match depends on whether one of them divides another, which is not known.

    Args:
        doubt: The message that says what is not known.
        assertions: The facts that would decide it.
    """

    def __init__(self, doubt: str, assertions: tuple[Divides, ...]) -> None:
        super().__init__(_with_assertions(doubt, assertions, {}))
        self.doubt = doubt
        self.assertions = assertions

    def with_expressions(self, expressions: Mapping[Name, str]) -> str:
        """Return the message with the names of sizes replaced by expressions of the program."""
        return _with_assertions(self.doubt, self.assertions, expressions)


class Same(NamedTuple):
    """The fact that a name denotes a size.

    Examples:
        >>> n, m = tg.sizes.named("N"), tg.sizes.named("M")
        >>> with tg.sizes.assuming([tg.sizes.Same(tg.sizes.Name("N"), 2 * m)]):
        ...     print(n // 2)
        M
    """

    name: Name
    size: Size


Fact: TypeAlias = Divides | Same


class _Quotient(NamedTuple):
    """The name of the quotient of a division without remainder: `name * divisor` is `number`."""

    name: Name
    divisor: Size
    number: Size


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """Facts, and the replacements that follow from them.

    If 2 divides `W`, arithmetic replaces `W` by `2 * q`, also in sizes computed from it, so that `(W + 1) // 2` is `q`.
    The final result is written without `q` again.
    """

    given: tuple[Fact, ...] = ()
    replacements: tuple[tuple[Monomial, Size], ...] = ()  # part of a product, and its replacement
    quotients: tuple[_Quotient, ...] = ()
    known: dict[int, tuple[Fact, _Facts]] = field(default_factory=dict)  # by the id of a fact, which is kept alive

    def and_(self, fact: Fact) -> _Facts:
        """Return these facts and another one, cached because the same fact is added in many calls."""
        if id(fact) not in self.known:
            if len(self.known) >= _MOST_FACTS:
                self.known.clear()
            self.known[id(fact)] = fact, self._with(fact)
        return self.known[id(fact)][1]

    def _with(self, fact: Fact) -> _Facts:
        with _using(self):
            quotient: _Quotient | None = None
            replacements: list[tuple[Monomial, Size]] = []
            if isinstance(fact, Same):
                replacements = _equal(size_of_name(fact.name) - fact.size, fact.name)
            elif not is_unknown(fact.number) and not surely_divides(fact.divisor, fact.number):
                quotient, replacements = _without_rest(fact, f"quotient {len(self.quotients)}")
        return _Facts(
            (*self.given, fact),
            (*self.replacements, *replacements),
            self.quotients if quotient is None else (*self.quotients, quotient),
        )


_MOST_FACTS = 100  # more than a file has assertions that come first in a function


_NO_FACTS = _Facts()


_assumed: ContextVar[_Facts] = ContextVar("_assumed", default=_NO_FACTS)


UNKNOWN = Dim(None)


class UnknownDims(tuple[Size, ...]):
    """The sizes of a tensor of unknown rank: every access raises RankUnknownError.

    Examples:
        >>> dims = tg.sizes.UnknownDims()
        >>> tg.sizes.show(dims)
        '(...)'
        >>> dims[0]
        Traceback (most recent call last):
            ...
        tapegrad.sizes.algebra.RankUnknownError
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


def simplest(size: Size) -> Size:
    """Return a size simplified by the facts assumed about it.

    Examples:
        >>> n = tg.sizes.named("N")
        >>> with tg.sizes.assuming([tg.sizes.Same(tg.sizes.Name("N"), 6)]):
        ...     tg.sizes.simplest(n // 2)
        3
    """
    facts = _assumed.get()
    if not facts.replacements or not isinstance(size, Dim) or size.terms is None:
        return size
    size = _normal(size.terms)
    with _using(_NO_FACTS):
        for quotient in reversed(facts.quotients):
            size = _written_out(size, quotient)
    return size


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
    left, right = _terms(a), _terms(b)
    if left is None or right is None or left == right:
        return False
    if any(factor.is_opaque for factor in _names_in_terms(left, right)):
        return _differ_for_all_values(left, right)
    return True


def _names_in_terms(*several: Terms) -> Iterator[Name]:
    for terms in several:
        for monomial in terms:
            for factor in monomial:
                yield from _names_of(factor)


def _differ_for_all_values(left: Terms, right: Terms) -> bool:
    """Return whether two sizes differ for all values of their names, as far as neither of them is 0.

    The factors of a size that is a product are then at least 1.
    """
    difference = _of(left) - _of(right)
    if isinstance(difference, int):
        return True  # they are not the same, so it is not 0
    constant = dict(difference.terms or ()).get((), 0)
    if constant % gcd(*(times for monomial, times in difference.terms or () if monomial)):
        return True
    products = [monomial for terms in (left, right) if len(terms) == 1 and left and right for monomial in terms]
    factors = [factor for one in products for factor in one if isinstance(factor, Name) and factor.least >= 0]
    from_one = {factor: factor._replace(least=1) for factor in factors}
    changed = _with_names(difference, from_one)
    return surely_less(0, changed) or surely_less(changed, 0)


def _from_one(size: Size) -> Size:
    """Return a divisor with opaque names that are at least 1, because no size is divided by 0."""
    return _with_names(size, {one: one._replace(least=1) for one in names_in(size)}) if isinstance(size, Dim) else size


def _with_names(size: Dim, names: Mapping[Name, Name]) -> Dim:
    """Return a size with other names."""
    return Dim(frozenset((_sorted(tuple(_factor_with(one, names) for one in m)), n) for m, n in size.terms or ()))


def _factor_with(factor: Factor, names: Mapping[Name, Name]) -> Factor:
    if isinstance(factor, Name):
        return names.get(factor, factor)
    return Floor(_with_names(factor.numerator, names), _with_names(factor.denominator, names))


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
    left = _terms(a)
    return left is not None and (a is b or left == _terms(b))


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


def surely_divides(a: Size, b: Size) -> bool:
    """Return whether `a` is proven to divide `b` for all values of the names.

    Examples:
        >>> n = tg.sizes.named("N")
        >>> tg.sizes.surely_divides(2, 4 * n + 6), tg.sizes.surely_divides(n, n * n)
        (True, True)
        >>> tg.sizes.surely_divides(2, n)
        False
    """
    if isinstance(a, int) and isinstance(b, int):
        return a != 0 and b % a == 0
    if is_symbol(a) or is_symbol(b):
        return proven(lambda a, b: b % a == 0, a, b)
    if is_unknown(a) or is_unknown(b) or not surely_differ(a, 0):
        return False
    return surely_same(b // a * a, b)


def misfit(a: Size, b: Size, message: str, doubt: str) -> ShapeError:
    """Return the error for two sizes that are not proven to be equal.

    Args:
        a: A size.
        b: Another one.
        message: The message if they differ.
        doubt: The message if they are equal provided that one size divides another, as `N` and `2 * (N // 2)` are.

    Examples:
        >>> n = tg.sizes.named("N")
        >>> message, doubt = "x and y differ", "x and y may differ"
        >>> print(tg.sizes.misfit(n, n + 1, message, doubt))
        x and y differ
        >>> print(tg.sizes.misfit(n, n // 2 * 2, message, doubt))
        x and y may differ: add tg.assert_divides(2, N)
    """
    difference = a - b
    floors = [f for m, _ in (difference.terms or () if isinstance(difference, Dim) else ()) for f in m]
    assertions = [
        Divides(simplest(floor.denominator + 0), simplest(floor.numerator + 0))
        for floor in sorted({floor for floor in floors if isinstance(floor, Floor)}, key=repr)
    ]
    if not _are_same(a, b, assertions):
        return ShapeError(message)
    for assertion in assertions[:]:
        others = [one for one in assertions if one is not assertion]
        assertions = others if _are_same(a, b, others) else assertions
    return UndecidedError(doubt, tuple(assertions))


def _are_same(a: Size, b: Size, facts: Iterable[Fact]) -> bool:
    with assuming(facts):
        return surely_same(a, b)


def _with_assertions(doubt: str, assertions: Iterable[Divides], expressions: Mapping[Name, str]) -> str:
    """Add the assertions that would decide, unless one would need the sizes behind `...`, which have no name."""
    sides = [
        [str(_renamed(size, expressions) if isinstance(size, Dim) else size) for size in assertion]
        for assertion in assertions
    ]
    if any("..." in side for pair in sides for side in pair):
        return doubt
    return f"{doubt}: add " + " and ".join(f"tg.assert_divides({divisor}, {number})" for divisor, number in sides)


def _renamed(size: Dim, expressions: Mapping[Name, str]) -> Dim:
    return _with_names(size, {name: name._replace(label=label) for name, label in expressions.items()})


@contextmanager
def assuming(facts: Iterable[Fact]) -> Iterator[None]:
    """Use facts about names in arithmetic: which size divides which, and which name denotes which size.

    Examples:
        >>> width = tg.sizes.named("W")
        >>> print((width + 1) // 2)
        (W + 1) // 2
        >>> with tg.sizes.assuming([tg.sizes.Divides(2, width)]):
        ...     print((width + 1) // 2 * 2)
        W
    """
    with _using(reduce(_Facts.and_, facts, _assumed.get())):
        yield


def assumed() -> tuple[Fact, ...]:
    """Return the facts that arithmetic currently uses.

    Examples:
        >>> tg.sizes.assumed()
        ()
        >>> with tg.sizes.assuming([tg.sizes.Divides(2, tg.sizes.named("W"))]):
        ...     for fact in tg.sizes.assumed():
        ...         print(fact.divisor, "divides", fact.number)
        2 divides W
    """
    return _assumed.get().given


def value_of(size: Size, names: Mapping[Name, int]) -> int | None:
    """Return the value of a size for given values of its names, or None if a name or the size is unknown.

    Examples:
        >>> size = 2 * tg.sizes.named("N") + 1
        >>> tg.sizes.value_of(size, {tg.sizes.Name("N"): 3})
        7
        >>> print(tg.sizes.value_of(size, {}))
        None
    """
    terms = _terms(size)
    if terms is None:
        return None
    total = 0
    for monomial, coefficient in terms.items():
        factors = [_factor_value(factor, names) for factor in monomial]
        if None in factors:
            return None
        total += coefficient * prod(factor for factor in factors if factor is not None)
    return total


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
    return {name for monomial, _ in terms for factor in monomial for name in _names_of(factor)}


def _names_of(factor: Factor) -> set[Name]:
    if isinstance(factor, Name):
        _, arguments = _computed.get(factor, (None, ()))
        return {factor}.union(*map(names_in, arguments)) if arguments else {factor}
    return names_in(factor.numerator) | names_in(factor.denominator)


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


def _terms(size: Size) -> Terms | None:
    if not isinstance(size, Dim):  # an int of Python or of NumPy
        return {(): int(size)} if size else {}
    if size.terms is None:
        return None
    if _assumed.get().replacements:
        size = _normal(size.terms)
        return _terms_of(size) if isinstance(size, Dim) else _terms(size)
    return _terms_of(size)


def _normal(terms: Iterable[tuple[Monomial, int]]) -> Size:
    total: dict[Monomial, int] = {}  # a Counter is slower (benchmarks/devices.py, "a counter")
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = {monomial: coefficient for monomial, coefficient in total.items() if coefficient}
    replacements = _assumed.get().replacements
    for monomial, coefficient in kept.items() if replacements else ():
        replaced = _replaced(monomial, replacements)
        if replaced is not None:
            del kept[monomial]
            return _of(kept) + replaced * coefficient
    return kept.get((), 0) if kept.keys() <= {()} else Dim(frozenset(kept.items()))


def _replaced(monomial: Monomial, replacements: Iterable[tuple[Monomial, Size]]) -> Size | None:
    """Return a product with the replacement of part of it inserted, or None if no part has one."""
    for part, value in replacements:
        if _is_part(part, monomial):
            return _of({_without(monomial, Counter(part)): 1}) * value
    for factor in monomial:
        if isinstance(factor, Floor):
            above, below = factor.numerator, factor.denominator
            if _terms(above) != _terms_of(above) or _terms(below) != _terms_of(below):
                return _of({_without(monomial, Counter([factor])): 1}) * (above // below)
    return None


def _terms_of(size: Dim) -> Terms:
    return dict(size.terms or ())


@contextmanager
def _using(facts: _Facts) -> Iterator[None]:
    token = _assumed.set(facts)
    try:
        yield
    finally:
        _assumed.reset(token)


def _equal(difference: Size, preferred: Name) -> list[tuple[Monomial, Size]]:
    """Return the replacement of a name if a difference is 0; none if it cannot be solved for any name."""
    terms = _terms(difference) or {}
    scale = gcd(*terms.values())
    for monomial in sorted(terms, key=lambda monomial: (monomial != (preferred,), repr(monomial))):
        others = {other: times // -terms[monomial] for other, times in terms.items() if other != monomial}
        if abs(terms[monomial]) == scale and len(monomial) == 1 and not _has(_of(others), monomial):
            return [(monomial, _of(others) + 0)]
    return []


def _without_rest(fact: Divides, label: str) -> tuple[_Quotient | None, list[tuple[Monomial, Size]]]:
    """Return the name of the quotient if a size divides another, and the replacements of products in terms of it.

    They replace a name in the number, for example `W` by `2*q - 1` if 2 divides `W + 1`, or else its highest product.
    If the equation can be solved for neither, they replace only the highest product of divisor and quotient.
    """
    if not surely_less(0, _from_one(fact.divisor)):
        return None, []
    above, below = _in_lowest_terms(_terms(fact.number) or {}, _terms(fact.divisor) or {})
    divisor = _of(below) + 0
    part, above = _solvable(above, divisor)
    number = _of(above) + 0
    least = next((least for least in (1, 0) if surely_less(least - 1, number)), -1)
    quotient = _Quotient(Name(label, "of what a program asserts", least), divisor, number)
    q = size_of_name(quotient.name)
    if part:
        replacements = [(part, _of({part: 1}) - (number - divisor * q) * above[part])]
    elif below[highest := _highest(below)] == 1:
        replacements = [(_sorted((*highest, quotient.name)), number - (divisor - _of({highest: 1})) * q)]
    else:
        return None, []
    whole = number // divisor
    for floor in _floors_alone(_terms(whole) or {}):
        others = whole - _of({(floor,): 1})
        if not _has(others, (floor,)):
            replacements.append(((floor,), q - others))
    return quotient, replacements


def _solvable(number: Terms, divisor: Size) -> tuple[Monomial, Terms]:
    """Return a product that the other terms of a number and the quotient determine, and the number to divide instead.

    If an int divides a number, it also divides multiples of the number, and the number plus multiples of the int.
    """
    names = sorted((m for m in number if len(m) == 1), key=lambda m: (isinstance(m[0], Floor), repr(m)))
    for monomial in filter(None, (*names, _highest(number))):
        others = _of({other: times for other, times in number.items() if other != monomial})
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
    for monomial in _terms_of(size) if isinstance(size, Dim) else ():
        floors = (one for one in monomial if isinstance(one, Floor))
        if _is_part(part, monomial) or any(_has(one.numerator, part) or _has(one.denominator, part) for one in floors):
            return True
    return False


def _floors_alone(terms: Terms) -> list[Floor]:
    """Return the floor division that is a term by itself, if exactly one term is."""
    floors = [m[0] for m, times in terms.items() if times == 1 and len(m) == 1 and isinstance(m[0], Floor)]
    return floors if len(floors) == 1 else []


def _written_out(size: Size, quotient: _Quotient) -> Size:
    """Return a size rewritten without the name of a quotient."""
    terms = dict(_terms(size) or {})
    total: Size = 0
    for monomial in list(terms):
        floors = [factor for factor in monomial if isinstance(factor, Floor)]
        if len(floors) == 1 and isinstance(quotient.divisor, int):
            factors, times = _without(monomial, Counter(floors)), terms.pop(monomial)
            whole = _found_again(floors[0], quotient, terms, factors, times)
            total = total + _term_written_out(factors, times, quotient) * whole
    for monomial, times in terms.items():
        total = total + _term_written_out(monomial, times, quotient)
    return total


def _found_again(floor: Floor, quotient: _Quotient, terms: dict[Monomial, int], factors: Monomial, times: int) -> Size:
    """Return a floor division without the name of a quotient; subtract the terms that it uses from `terms`.

    For example, `W // 3` has become `q + q // 3` if `W` is `4*q`.
    """
    above, below = dict(_terms_of(floor.numerator)), floor.denominator + 0
    divisor = quotient.divisor
    if isinstance(below, int) and isinstance(divisor, int):
        for product in [product for product in above if quotient.name in product]:
            beside = _sorted(factors + product)
            most = terms.get(beside, 0) // times
            count = next((n for n in range(most + 1) if (above[product] + n * below) % divisor == 0), 0)
            above[product] += count * below
            terms[beside] = terms.get(beside, 0) - count * times
    return _written_out(_of(above), quotient) // _written_out(below, quotient)


def _term_written_out(monomial: Monomial, times: int, quotient: _Quotient) -> Size:
    if quotient.name not in monomial:
        term: Size = times
        for factor in monomial:
            if isinstance(factor, Name):
                term = term * size_of_name(factor)
            else:
                above, below = (_written_out(size, quotient) for size in (factor.numerator, factor.denominator))
                term = term * (above // below)
        return term
    _, divisor, number = quotient
    q, left = size_of_name(quotient.name), _without(monomial, Counter([quotient.name]))
    below = _terms(divisor) or {}
    highest = _highest(below)
    whole, rest = divmod(abs(times), below[highest])
    sign = 1 if times > 0 else -1
    if whole and _is_part(highest, left):
        others = number - (divisor - _of({highest: below[highest]})) * q
        replaced = _of({_without(left, Counter(highest)): sign * whole}) * others
        again = _term_written_out(monomial, sign * rest, quotient) if rest else 0
        return _written_out(replaced, quotient) + again
    # If q is n // 4, then 2*q is n // 2.
    shared = gcd(times, divisor) if isinstance(divisor, int) else 1
    return _written_out(_of({left: times // shared}), quotient) * (number // (divisor // shared))


def _sorted(monomial: Monomial) -> Monomial:
    return monomial if len(monomial) < 2 else tuple(sorted(monomial, key=repr))


def _floor_divided(a: Size, b: Size) -> Size:
    above, below = _terms(a), _terms(b)
    if above is None or below is None:
        return UNKNOWN
    if not below:
        message = f"{a} is divided by zero"
        raise ShapeError(message)
    above, below = _in_lowest_terms(above, below)
    quotient, rest = _divided(above, below)
    return _normal(quotient.items()) + _floor(rest, below)


def _in_lowest_terms(above: Terms, below: Terms) -> tuple[Terms, Terms]:
    """Divide both by the factors that all their terms have in common, and make the divisor's sign positive."""
    scale = gcd(*above.values(), *below.values())
    if below[_highest(below)] < 0:
        scale = -scale
    common: Counter[Factor] = Counter()
    if () not in below and () not in above:
        common = reduce(operator.and_, map(Counter, (*above, *below)))
    if scale == 1 and not common:
        return above, below
    return _scaled_down(above, common, scale), _scaled_down(below, common, scale)


def _scaled_down(terms: Terms, factors: Counter[Factor], scale: int) -> Terms:
    return {_without(monomial, factors): coefficient // scale for monomial, coefficient in terms.items()}


def _divided(above: Terms, below: Terms) -> tuple[Terms, Terms]:
    """Return quotient and remainder; a divisor of several terms divides only if there is no remainder."""
    if len(below) > 1:
        whole = _exactly_divided(above, below)
        return (whole, {}) if whole is not None else ({}, above)
    ((factors, scale),) = below.items()
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in above.items():
        if not _is_part(factors, monomial):
            rest[monomial] = coefficient
            continue
        # floor((scale * q + r) / scale) is q + floor(r / scale), so each coefficient is divided separately.
        whole, left = divmod(coefficient, scale)
        if whole:
            quotient[_without(monomial, Counter(factors))] = whole
        if left:
            rest[monomial] = left
    return quotient, rest


def _exactly_divided(above: Terms, below: Terms) -> Terms | None:
    """Return the polynomial `q` with `below * q == above`, or None if there is none."""
    highest = _highest(below)
    quotient: dict[Monomial, int] = {}
    left = dict(above)
    while left:
        monomial = _highest(left)
        times, rest = divmod(left[monomial], below[highest])
        if rest or not _is_part(highest, monomial):
            return None
        factor = _without(monomial, Counter(highest))
        quotient[factor] = times
        for other, coefficient in below.items():
            taken = _sorted(factor + other)
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
    is_positive = is_number or surely_less(0, _of(below))
    if step > 1 and is_positive:
        above = {monomial: whole for monomial, coefficient in above.items() if (whole := coefficient // step)}
        below = {monomial: coefficient // step for monomial, coefficient in below.items()}
    numerator, denominator = _of(above), _of(below)
    if not is_number:
        if surely_less(-1, numerator) and surely_less(numerator, denominator):
            return 0
        if surely_less(numerator, 0) and surely_less(-1, numerator + denominator):
            return -1
    # floor((floor(a / b) + k) / d) is floor((a + b * k) / (b * d)).
    for inner in _floors_alone(above) if is_positive else []:
        others = _of({monomial: times for monomial, times in above.items() if monomial != (inner,)})
        return _floor_divided(inner.numerator + inner.denominator * others, inner.denominator * denominator)
    return Dim(frozenset({((Floor(numerator, denominator),), 1)}))


def _is_part(factors: Monomial, monomial: Monomial) -> bool:
    """Return whether a product contains all of these factors."""
    if len(factors) < 2:
        return not factors or factors[0] in monomial
    return Counter(factors) <= Counter(monomial)


def _without(monomial: Monomial, factors: Counter[Factor]) -> Monomial:
    return _sorted(tuple((Counter(monomial) - factors).elements())) if factors else monomial


def _highest(terms: Terms) -> Monomial:
    """Return the highest product, in an order that multiplication by another product preserves."""
    if len(terms) == 1:
        return next(iter(terms))
    return max(terms, key=lambda monomial: (len(monomial), list(map(repr, monomial))))


def _of(terms: Terms) -> Dim:
    return Dim(frozenset(terms.items()))


def _least(size: Size) -> int | None:
    """Return a proven lower bound of a size for all values of its names, or None if none is proven."""
    terms = _terms(size)
    if terms is None:
        return None
    if all(not monomial or (len(monomial) == 1 and isinstance(monomial[0], Name)) for monomial in terms):
        return _least_of_linear(terms)
    if (above := _without_a_floor(terms)) is not None:
        divisor, least = above[0], _least(above[1])
        return None if least is None else -(-least // divisor)
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


def upper_bound(size: Size) -> int | None:
    """Return a proven upper bound of a size for all values of its names, or None if none is proven."""
    least = _least(size * -1)
    return None if least is None else -least


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


def _is_non_negative(factor: Factor) -> bool:
    if isinstance(factor, Name):
        return factor.least >= 0
    above, below = _least(factor.numerator), _least(factor.denominator)
    return above is not None and above >= 0 and below is not None and below > 0


def _subsets(monomial: Monomial) -> Iterator[Monomial]:
    for count in range(len(monomial) + 1):
        yield from combinations(monomial, count)


def _shown(monomial: Monomial, coefficient: int) -> str:
    if not monomial:
        return str(coefficient)
    if len(monomial) == 1 and coefficient == 1:
        return str(monomial[0])
    factors = "*".join(str(factor) if isinstance(factor, Name) else f"({factor})" for factor in monomial)
    return {1: factors, -1: f"-{factors}"}.get(coefficient, f"{coefficient}*{factors}")
