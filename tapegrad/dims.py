"""Sizes of tensors: numbers at run time, names and arithmetic over names in the checker.

A shape rule is written once over `Dims` and never learns which of the two it was given.
Sizes answer no `bool`: a rule asks `surely_differ`, `surely_less` or `surely_divides`, which are true only when proven.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, zip_longest
from math import prod
from numbers import Integral
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, SupportsIndex, TypeAlias

from typing_extensions import TypeAliasType, TypeVar, override

from tapegrad.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

N0 = TypeVar("N0", bound=int, default=Any)
N1 = TypeVar("N1", bound=int, default=Any)

# Other checkers see Any; the plugin reads the name before the alias expands and puts an `Arithmetic` in its place.
Add = TypeAliasType("Add", Any, type_params=(N0, N1))
"""`Add[N, M]` is the size N + M; each of the two is a name, a literal, or computed in turn."""
Sub = TypeAliasType("Sub", Any, type_params=(N0, N1))
"""`Sub[N, M]` is the size N - M; each of the two is a name, a literal, or computed in turn."""
Mul = TypeAliasType("Mul", Any, type_params=(N0, N1))
"""`Mul[N, M]` is the size N * M; each of the two is a name, a literal, or computed in turn."""
FloorDiv = TypeAliasType("FloorDiv", Any, type_params=(N0, N1))
"""`FloorDiv[N, M]` is the size N // M; each of the two is a name, a literal, or computed in turn."""


class Arithmetic(int, Generic[N0, N1]):
    """What the plugin knows a computed size by; nothing is ever made of it."""


class Sum(Arithmetic[N0, N1]):
    """The type behind `Add` and `Sub` under the plugin."""


class Product(Arithmetic[N0, N1]):
    """The type behind `Mul` under the plugin."""


class Quotient(Arithmetic[N0, N1]):
    """The type behind `FloorDiv` under the plugin."""


class RankUnknownError(Exception):
    """A rule asked for sizes of an unknown rank or along an unknown axis; the checker answers with an unknown shape."""


class Name(NamedTuple):
    """A size known by name only; two names are two sizes."""

    label: str
    scope: str = ""
    least: int = 1  # of what it may stand for

    @override
    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """A floor division that did not come out even, kept as a factor."""

    numerator: Dim
    denominator: Dim

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Floor) and self._terms() == other._terms()

    @override
    def __hash__(self) -> int:
        return hash(self._terms())

    def _terms(self) -> tuple[object, object]:
        return self.numerator.terms, self.denominator.terms  # sizes themselves answer no ==

    @override
    def __str__(self) -> str:
        above = str(self.numerator)
        if len(self.numerator.terms or ()) > 1 or above.startswith("-"):
            above = f"({above})"  # behind another term `-1 // N` would be read as a difference
        below = str(self.denominator)
        return f"{above} // {below if below.isidentifier() or below.isdecimal() else f'({below})'}"


Monomial: TypeAlias = "tuple[Name | Floor, ...]"


@dataclass(frozen=True, slots=True, eq=False)
class Dim:
    """An integer polynomial over names, in normal form; `terms` is None when nothing is known of the size."""

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

    def _refuse(self, *_: object) -> NoReturn:
        message = "a size answers no bool: ask surely_differ, surely_less or surely_divides"
        raise TypeError(message)

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __mod__ = __rmod__ = __index__ = _refuse
    __eq__ = __ne__ = _refuse

    @override
    def __hash__(self) -> int:
        return hash(self.terms)

    @override
    def __repr__(self) -> str:
        # Equal sets may iterate in two orders; factors are sorted by this text.
        return f"Dim({self.terms and sorted(map(repr, self.terms))})"

    @override
    def __str__(self) -> str:
        if self.terms is None:
            return "?"
        ordered = sorted(self.terms, key=lambda term: (-len(term[0]), [str(factor) for factor in term[0]]))
        first, *rest = (_shown(monomial, coefficient) for monomial, coefficient in ordered)
        return first + "".join(f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in rest)


Size: TypeAlias = int | Dim
Dims: TypeAlias = tuple[Size, ...]


class Divides(NamedTuple):
    """The fact that a size divides another without rest."""

    divisor: Size
    number: Size


class Same(NamedTuple):
    """The fact that a name stands for a size."""

    name: Name
    size: Size


Fact: TypeAlias = Divides | Same

_assumed: ContextVar[tuple[Fact, ...]] = ContextVar("_assumed", default=())

UNKNOWN = Dim(None)


class UnknownDims(tuple[Size, ...]):
    """The sizes of a tensor of unknown rank: whoever looks at them learns nothing."""

    __slots__ = ()

    def _refuse(self, *_: object) -> NoReturn:
        raise RankUnknownError

    __iter__ = __len__ = __getitem__ = __contains__ = _refuse
    __add__ = __radd__ = __mul__ = __rmul__ = _refuse


def named(label: str, scope: str = "") -> Dim:
    """Returns the size that goes by `label`; names of two scopes are two sizes."""
    return size_of_name(Name(label, scope))


def size_of_name(name: Name) -> Dim:
    """Returns the size that goes by a name."""
    return Dim(frozenset({((name,), 1)}))


def is_unknown(size: Size) -> bool:
    """Says whether nothing is known of a size."""
    return isinstance(size, Dim) and size.terms is None


def simplest(size: Size) -> Size:
    """Returns a size by what has been claimed of it, which may be simpler."""
    if isinstance(size, Dim) and size.terms is not None and _assumed.get():
        return _normal(size.terms)
    return size


def surely_differ(a: Size, b: Size) -> bool:
    """Says whether `a` and `b` are two sizes; names are rigid, so `N` and `M` are, and so are `N` and 5."""
    if isinstance(a, int) and isinstance(b, int):
        return a != b
    if a is b:
        return False
    left, right = _terms(a), _terms(b)
    return left is not None and right is not None and left != right


def surely_less(a: Size, b: Size) -> bool:
    """Says whether `a < b` whatever the names stand for."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    if is_unknown(a) or is_unknown(b):
        return False
    least = _least(b - a)
    return least is not None and least > 0


def surely_divides(a: Size, b: Size) -> bool:
    """Says whether `a` divides `b` whatever the names stand for."""
    if isinstance(a, int) and isinstance(b, int):
        return a != 0 and b % a == 0
    if is_unknown(a) or is_unknown(b) or not surely_differ(a, 0):
        return False
    return not surely_differ(b // a * a, b)


def show(dims: Iterable[Size]) -> str:
    """Writes sizes as Python writes a tuple, with `?` for an unknown one."""
    if isinstance(dims, UnknownDims):
        return "(...)"
    sizes = [str(size) for size in dims]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def at_least(rank: int, **operand: Dims) -> Dims:
    """Returns the operand's sizes, of which there must be `rank` or more."""
    ((name, dims),) = operand.items()
    if len(dims) < rank:
        message = f"{name} {show(dims)} has rank {len(dims)} but needs at least {rank}"
        raise ShapeError(message)
    return dims


def of_rank(rank: int, **operand: Dims) -> Dims:
    """Returns the operand's sizes, of which there must be `rank`."""
    ((name, dims),) = operand.items()
    if len(dims) != rank:
        message = f"{name} {show(dims)} has rank {len(dims)}, not {rank}"
        raise ShapeError(message)
    return dims


def broadcast(last: int = 0, /, **operands: Dims) -> Dims:
    """Returns the shape to which all operands broadcast, NumPy's rule: sizes align from the right, 1 fits any.

    The `last` axes of each, such as those of a matrix, take no part.
    """
    leading = {name: sizes for name, dims in operands.items() if (sizes := dims[: max(len(dims) - last, 0)])}
    if len(leading) < 2:
        return next(iter(leading.values()), ())
    for name, other in combinations(leading, 2):
        pairs = zip(reversed(leading[name]), reversed(leading[other]), strict=False)
        for back, (n, m) in enumerate(pairs, start=last + 1):
            if n is not m and surely_differ(n, 1) and surely_differ(m, 1) and surely_differ(n, m):
                message = (
                    f"{name} {show(operands[name])} and {other} {show(operands[other])} do not broadcast: "
                    f"axis -{back} is {n} in {name} but {m} in {other}"
                )
                raise ShapeError(message)
    aligned = zip_longest(*(reversed(dims) for dims in leading.values()), fillvalue=1)
    return tuple(reduce(_broadcast_size, sizes) for sizes in aligned)[::-1]


@contextmanager
def assuming(facts: Iterable[Fact]) -> Iterator[None]:
    """Lets arithmetic use facts about names: which size divides which, and which go by two names."""
    token = _assumed.set((*_assumed.get(), *facts))
    try:
        yield
    finally:
        _assumed.reset(token)


def assumed() -> tuple[Fact, ...]:
    """Returns the facts that arithmetic uses here."""
    return _assumed.get()


def window(size: Size, kernel: Size, *, stride: Size = 1, padding: Size = 0, dilation: Size = 1) -> Size:
    """Returns how many windows of `kernel` cells fit into `size` cells with `padding` more on both sides.

    The cells of a window are `dilation` apart.
    """
    padded, span = size + 2 * padding, dilation * (kernel - 1) + 1
    if surely_less(padded, span):
        message = f"a window of {span} is longer than the {padded} cells it slides over"
        raise ShapeError(message)
    return (padded - span) // stride + 1


def covered(
    count: Size, kernel: Size, *, stride: Size = 1, padding: Size = 0, dilation: Size = 1, beyond: Size = 0
) -> Size:
    """Returns how many cells `count` windows cover, and `beyond` more, without `padding` on both sides.

    It is the least size that has so many windows, and `window` leads back while `beyond` is below `stride`.
    """
    size = (count - 1) * stride + dilation * (kernel - 1) + 1 + beyond - 2 * padding
    if surely_less(size, 1):
        message = f"a padding of {padding} leaves {size} cells of {size + 2 * padding}"
        raise ShapeError(message)
    return size


def product(dims: Iterable[Size]) -> Size:
    """Returns the number of elements of a shape, unknown where the rank is."""
    if isinstance(dims, UnknownDims):
        return UNKNOWN
    count: Size = 1
    for size in dims:
        count = count * size
    return count


def value_of(size: Size, names: Mapping[Name, int]) -> int | None:
    """Returns the number that a size comes to when names stand for numbers, or None where one is unknown."""
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


def normal_axis(axis: SupportsIndex | Dim, dims: Dims, name: str = "x") -> int:
    """Returns `axis` counted from the front; of an unknown one nothing follows."""
    place = one_int(axis)
    if isinstance(place, Dim):
        raise RankUnknownError
    if not -len(dims) <= place < len(dims):
        message = f"axis {place} is out of range for {name} {show(dims)}"
        raise ShapeError(message)
    return place % len(dims)


def normal_axes(axis: SupportsIndex | tuple[SupportsIndex, ...] | None, dims: Dims, name: str = "x") -> tuple[int, ...]:
    """Returns the axes that NumPy's `axis` argument names, counted from the front; None names all."""
    if axis is None:
        return tuple(range(len(dims)))
    axes = tuple(normal_axis(one, dims, name) for one in several_ints(axis))
    if len(set(axes)) < len(axes):
        message = f"axis {axis} names an axis of {name} {show(dims)} twice"
        raise ShapeError(message)
    return axes


def one_int(number: SupportsIndex | Dim, name: str = "axis") -> Size:
    """Returns an axis or a count, which is no truth value and no array; of NumPy's ints, Python's.

    Raises:
        DTypeError: It is not an int, of Python or of NumPy.
    """
    if not is_int(number):
        message = f"{name} is {number!r} but an int is expected"
        raise DTypeError(message)
    return number if isinstance(number, int | Dim) else int(number)


def several_ints(numbers: Any, name: str = "axis") -> tuple[Any, ...]:
    """Returns the axes, or the sizes, that an argument names, one or several.

    Raises:
        DTypeError: They are not ints.
    """
    several = numbers if isinstance(numbers, tuple) else (numbers,)
    if not all(map(is_int, several)):
        message = f"{name} is {numbers!r} but an int or a tuple of ints is expected"
        raise DTypeError(message)
    return tuple(map(one_int, several))


def is_int(axis: object) -> bool:
    """Says whether a value counts axes or elements: an int of Python or NumPy, and no truth value."""
    return type(axis) is int or isinstance(axis, Dim) or (isinstance(axis, Integral) and not isinstance(axis, bool))


def _factor_value(factor: Name | Floor, names: Mapping[Name, int]) -> int | None:
    if isinstance(factor, Name):
        return names.get(factor)
    above, below = value_of(factor.numerator, names), value_of(factor.denominator, names)
    return None if above is None or below is None else above // below


def _broadcast_size(n: Size, m: Size) -> Size:
    if n is m:
        return n
    if is_unknown(n) or is_unknown(m):
        known = m if is_unknown(n) else n
        # A known number that is not 1 wins: the unknown can only be it or 1. A name may itself stand for 1.
        return known if isinstance(known, int) and known != 1 else UNKNOWN
    return n if surely_differ(n, 1) else m


def _terms(size: Size) -> Mapping[Monomial, int] | None:
    size = simplest(size)
    if not isinstance(size, Dim):  # an int of Python or of NumPy
        return {(): int(size)} if size else {}
    return None if size.terms is None else dict(size.terms)


def _normal(terms: Iterable[tuple[Monomial, int]]) -> Size:
    total: dict[Monomial, int] = {}  # a Counter takes four times as long
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = {monomial: coefficient for monomial, coefficient in total.items() if coefficient}
    for fact in _assumed.get():
        for monomial, coefficient in kept.items():
            simpler = _replaced(monomial, coefficient, fact)
            if simpler is not None:
                del kept[monomial]
                return Dim(frozenset(kept.items())) + simpler
    return kept.get((), 0) if kept.keys() <= {()} else Dim(frozenset(kept.items()))


def _replaced(monomial: Monomial, coefficient: int, fact: Fact) -> Size | None:
    """Returns a term by a fact: `H * (D // H)` is `D` where `H` divides `D`; None where it says nothing."""
    left = list(monomial)
    if isinstance(fact, Same):
        if fact.name not in left:
            return None
        left.remove(fact.name)
        return Dim(frozenset({(tuple(left), coefficient)})) * fact.size
    for factor in monomial:
        if isinstance(factor, Floor) and _are(factor, fact):
            left.remove(factor)
            divisor = factor.denominator.terms or ()
            ((factors, scale),) = divisor if len(divisor) == 1 else (((), 0),)
            if scale and coefficient % scale == 0 and not Counter(factors) - Counter(left):
                rest = tuple((Counter(left) - Counter(factors)).elements())
                return Dim(frozenset({(_sorted(rest), coefficient // scale)})) * fact.number
    return None


def _are(factor: Floor, fact: Divides) -> bool:
    return (factor.numerator.terms, factor.denominator.terms) == (_terms_of(fact.number), _terms_of(fact.divisor))


def _terms_of(size: Size) -> frozenset[tuple[Monomial, int]] | None:
    return size.terms if isinstance(size, Dim) else _constant(size).terms


def _sorted(monomial: Monomial) -> Monomial:
    return monomial if len(monomial) < 2 else tuple(sorted(monomial, key=repr))


def _floor_divided(a: Size, b: Size) -> Size:
    if isinstance(b, int) and b == 0:
        message = f"{a} is divided by zero"
        raise ShapeError(message)
    if is_unknown(a) or is_unknown(b):
        return UNKNOWN
    if not surely_differ(a, b):
        return 1
    quotient, rest = _divided_by_term(a, b)
    if isinstance(rest, int) and (rest == 0 or isinstance(b, int)):  # what is left of a number is less than it
        return quotient
    factor = Floor(rest if isinstance(rest, Dim) else _constant(rest), b if isinstance(b, Dim) else _constant(b))
    return quotient + Dim(frozenset({((factor,), 1)}))


def _divided_by_term(a: Size, b: Size) -> tuple[Size, Size]:
    """Returns quotient and rest, where the quotient takes every term of `a` that the one term `b` divides."""
    divisor = _terms(b) or {}
    if len(divisor) != 1:
        return 0, a
    ((factors, scale),) = divisor.items()
    quotient: list[tuple[Monomial, int]] = []
    rest: list[tuple[Monomial, int]] = []
    for monomial, coefficient in (_terms(a) or {}).items():
        left = Counter(monomial)
        left.subtract(factors)
        if all(count >= 0 for count in left.values()):
            # floor((scale * q + r) / scale) is q + floor(r / scale), so each coefficient gives its own whole part.
            quotient.append((_sorted(tuple(left.elements())), coefficient // scale))
            rest.append((monomial, coefficient % scale))
        else:
            rest.append((monomial, coefficient))
    return _normal(quotient), _normal(rest)


def _constant(value: int) -> Dim:
    return Dim(frozenset({((), value)}))


def _least(size: Size) -> int | None:
    """Returns the least value of a size whatever its names stand for, or None where this shift does not prove one."""
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
        if any(isinstance(factor, Floor) for factor in monomial):
            if coefficient < 0 or any(isinstance(f, Floor) and not _is_non_negative(f) for f in monomial):
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
        if coefficient < 0 or not isinstance(name, Name):
            return None
        least += coefficient * (0 if name.least == 0 else 1)  # any other is known to be at least 1
    return least


def _without_a_floor(terms: Mapping[Monomial, int]) -> tuple[int, Size] | None:
    """Returns a divisor, and what is at most so many times a size: floor(a / d) is at most a / d."""
    for monomial, coefficient in terms.items():
        for factor in monomial if coefficient < 0 else ():
            others = list(monomial)
            others.remove(factor)
            divisor = factor.denominator + 0 if isinstance(factor, Floor) else 0
            if not isinstance(factor, Floor) or not isinstance(divisor, int) or divisor < 1:
                continue
            if all(isinstance(one, Name) or _is_non_negative(one) for one in others):
                rest = Dim(frozenset((one, n) for one, n in terms.items() if one != monomial))
                return divisor, rest * divisor + Dim(frozenset({(tuple(others), coefficient)})) * factor.numerator
    return None


def _is_non_negative(factor: Floor) -> bool:
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
