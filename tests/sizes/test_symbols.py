"""Sizes of other libraries that are no numbers yet, such as those of a program that is exported."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tapegrad.sizes import is_int, one_int, several_ints, surely_differ, surely_divides, surely_less, surely_same
from tapegrad.sizes.symbols import SYMBOLS, UNDECIDED


class OpenError(Exception):
    """A comparison holds in some cases and not in others."""


class Exported:
    """A size of which only the cases are known, one number for each."""

    def __init__(self, *cases: int) -> None:
        self.cases = cases

    def _decide(self, compare: Callable[[int, int], bool], other: Any) -> bool:
        answers = {compare(n, m) for n, m in cases(self, other)}
        if len(answers) > 1:
            raise OpenError
        return answers.pop()

    def __lt__(self, other: Any) -> bool:
        return self._decide(operator.lt, other)

    def __gt__(self, other: Any) -> bool:
        return self._decide(operator.gt, other)

    def __eq__(self, other: object) -> bool:
        return self._decide(operator.eq, other)

    def __ne__(self, other: object) -> bool:
        return self._decide(operator.ne, other)

    def __mod__(self, other: Any) -> Exported:
        return Exported(*(n % m for n, m in cases(self, other)))

    def __rmod__(self, other: Any) -> Exported:
        return Exported(*(m % n for n, m in cases(self, other)))

    __hash__ = None  # type: ignore[assignment]  # as of anything that is compared with an open result


def cases(a: Any, b: Any) -> list[tuple[int, int]]:
    """Return the pairs of numbers that two sizes, one of which is a symbol, may be."""
    count = len((a if isinstance(a, Exported) else b).cases)
    left, right = (one.cases if isinstance(one, Exported) else (one,) * count for one in (a, b))
    return list(zip(left, right, strict=True))


@pytest.fixture(autouse=True)
def exported() -> Iterator[None]:
    SYMBOLS.add(Exported)
    UNDECIDED.add(OpenError)
    yield
    SYMBOLS.remove(Exported)
    UNDECIDED.remove(OpenError)


N: Any = Exported(1, 2, 3)
SIZES: list[Any] = [N, Exported(1, 2, 3), Exported(2, 3, 4), Exported(2, 4, 6), 1, 2, 3, 5, 12]


@pytest.mark.parametrize(
    ("ask", "holds"),
    [
        (surely_less, operator.lt),
        (surely_differ, operator.ne),
        (surely_same, operator.eq),
        (surely_divides, lambda n, m: m % n == 0),
    ],
)
def test_a_relation_to_a_symbol_is_sure_if_it_holds_in_all_cases(
    ask: Callable[[Any, Any], bool], holds: Callable[[int, int], bool]
) -> None:
    pairs = [
        (a, b) for a, b in itertools.product(SIZES, repeat=2) if isinstance(a, Exported) or isinstance(b, Exported)
    ]

    for a, b in pairs:
        assert ask(a, b) == all(holds(n, m) for n, m in cases(a, b))


def test_a_symbol_is_an_int_and_stays_a_symbol() -> None:
    assert is_int(N)
    assert one_int(N) is N
    assert several_ints((N, 2))[0] is N


def test_0_divides_no_symbol() -> None:
    assert not surely_divides(0, N)
