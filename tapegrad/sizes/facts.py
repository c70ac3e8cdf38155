"""Facts that arithmetic uses: which size divides which, and which name is which size; errors where none decides."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tapegrad.errors import ShapeError
from tapegrad.sizes.comparisons import surely_divides, surely_same
from tapegrad.sizes.solving import Quotient, solved_for_name, without_rest, written_out
from tapegrad.sizes.terms import (
    REPLACEMENTS,
    Dim,
    Floor,
    Monomial,
    Name,
    Size,
    is_unknown,
    normal,
    size_of_name,
    with_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


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


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """Facts, and the replacements that follow from them.

    If 2 divides `W`, arithmetic replaces `W` by `2 * q`, also in sizes computed from it, so that `(W + 1) // 2` is `q`.
    The final result is written without `q` again.
    """

    given: tuple[Fact, ...] = ()
    replacements: tuple[tuple[Monomial, Size], ...] = ()  # part of a product, and its replacement
    quotients: tuple[Quotient, ...] = ()
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
            quotient: Quotient | None = None
            replacements: list[tuple[Monomial, Size]] = []
            if isinstance(fact, Same):
                replacements = solved_for_name(size_of_name(fact.name) - fact.size, fact.name)
            elif not is_unknown(fact.number) and not surely_divides(fact.divisor, fact.number):
                quotient, replacements = without_rest(fact, f"quotient {len(self.quotients)}")
        return _Facts(
            (*self.given, fact),
            (*self.replacements, *replacements),
            self.quotients if quotient is None else (*self.quotients, quotient),
        )


_MOST_FACTS = 100  # more than a file has assertions that come first in a function


_NO_FACTS = _Facts()


_assumed: ContextVar[_Facts] = ContextVar("_assumed", default=_NO_FACTS)


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
    size = normal(size.terms)
    with _using(_NO_FACTS):
        for quotient in reversed(facts.quotients):
            size = written_out(size, quotient)
    return size


@contextmanager
def _using(facts: _Facts) -> Iterator[None]:
    token, replaced = _assumed.set(facts), REPLACEMENTS.set(facts.replacements)
    try:
        yield
    finally:
        _assumed.reset(token)
        REPLACEMENTS.reset(replaced)


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
    return with_names(size, {name: name._replace(label=label) for name, label in expressions.items()})
