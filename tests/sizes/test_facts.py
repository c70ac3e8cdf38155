"""Facts about sizes: what arithmetic concludes from them, and which ones an error asks for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tapegrad.errors import ShapeError
from tapegrad.sizes import (
    UNKNOWN,
    Divides,
    Name,
    Same,
    Size,
    UndecidedError,
    assumed,
    assuming,
    misfit,
    named,
    simplest,
    size_of_name,
    surely_divides,
    surely_less,
    surely_same,
    value_of,
)

N, M, C, H, W = (named(label) for label in "NMCHW")
P = size_of_name(Name("P", least=0))


def small(*labels: str) -> Iterator[dict[Name, int]]:
    """Yield all assignments of small numbers to names."""
    names = [Name(label) for label in labels]
    for values in itertools.product(range(1, 9), repeat=len(names)):
        yield dict(zip(names, values, strict=True))


def test_the_assumed_facts_are_those_of_all_contexts_in_order() -> None:
    first, second, third = Divides(2, W), Same(Name("N"), M), Divides(3, H)

    with assuming([first, second]), assuming([third]):
        assert assumed() == (first, second, third)
    assert assumed() == ()


def test_a_fact_simplifies_sizes_that_were_computed_before_it() -> None:
    before = M * (N // 2)

    with assuming([Same(Name("N"), 6)]):
        assert str(simplest(before)) == "3*M"


def test_a_fact_about_an_unknown_size_says_nothing() -> None:
    with assuming([Divides(2, UNKNOWN)]):
        assert not surely_divides(2, W)
        assert not surely_divides(2, UNKNOWN)


def test_that_a_size_divides_0_says_nothing() -> None:
    with assuming([Divides(size_of_name(Name("config.width", least=0)), 0)]):
        assert not surely_divides(2, N)
        assert surely_divides(N, 2 * N)


# Which size a name is


def test_an_equation_is_solved_only_where_the_quotient_is_whole() -> None:
    with assuming([Same(Name("N"), N + 2 * M - 3 * C)]):  # 2 * M is 3 * C: no name is a whole number of the other
        m, c = simplest(M), simplest(C)

    for values in small("M", "C"):
        if 2 * values[Name("M")] == 3 * values[Name("C")]:
            assert value_of(m, values) == values[Name("M")]
            assert value_of(c, values) == values[Name("C")]


def test_an_equation_with_a_name_on_both_sides_is_not_replaced_endlessly() -> None:
    with assuming([Same(Name("N"), N * M)]):
        assert str(N + 1) == "N + 1"
    with assuming([Same(Name("N"), M // N)]):
        assert str(N + 1) == "N + 1"
        assert surely_same(M // N, N)


@pytest.mark.parametrize(("first", "second", "third"), list(itertools.combinations("ABCDEFGH", 3)))
def test_which_name_is_replaced_is_the_same_in_each_run(first: str, second: str, third: str) -> None:
    n, scale, a, b, c = map(named, ("N", "S", first, second, third))

    with assuming([Same(Name("N"), n * scale + a + b + c)]):
        assert str(a) == f"-N*S - {second} - {third} + N"
        assert [str(b), str(c)] == [second, third]
    with assuming([Divides(5, a + b + c)]):
        assert [str(b // 5), str(c // 5)] == [f"{second} // 5", f"{third} // 5"]


# Which size divides which


def test_a_divisor_that_may_be_negative_says_nothing_about_signs() -> None:
    divisor = 2 * N - 3  # -1 if N is 1
    with assuming([Divides(divisor, W)]):
        is_positive = surely_less(0, W // divisor)

    assert value_of(W // divisor, {Name("N"): 1, Name("W"): 4}) == -4
    assert not is_positive


def test_a_quotient_is_negative_or_zero_only_if_the_number_may_be() -> None:
    with assuming([Divides(2, P)]):
        assert surely_less(-1, P // 2)
        assert not surely_less(0, P // 2)
    with assuming([Divides(2, P + N)]):
        assert surely_less(0, (P + N) // 2)
    with assuming([Divides(2, P - N)]):
        assert not surely_less(-1, (P - N) // 2)


@pytest.mark.parametrize(
    ("divisor", "number"),
    [
        (N + 1, 2 * M),
        (N + 1, 2 * M + 3 * C),
        (H, 2 * W + H),
        (H, 2 * W - 3 * H),
        (5, N * H + H + W),
        (N, W + C),
        (N, H * W),
    ],
)
def test_a_number_is_its_quotient_times_the_divisor(divisor: Size, number: Size) -> None:
    assert not surely_same(number // divisor * divisor, number)

    with assuming([Divides(divisor, number)]):
        assert surely_same(number // divisor * divisor, number)
        assert surely_divides(divisor, number)
        assert not surely_divides(divisor, number + 1)


def test_a_remainder_moves_to_the_other_terms() -> None:
    with assuming([Divides(H, 2 * W + H)]):
        assert surely_same(2 * W // H * H, 2 * W)
    with assuming([Divides(N, W + C)]):
        assert surely_divides(N, H * (W + C))


def test_a_fact_in_which_a_quotient_occurs_twice_is_not_replaced_endlessly() -> None:
    number = H * N * (W // H) + W
    with assuming([Divides(H, number)]):
        assert str(number // H) == "(W // H)*N + W // H"


def test_a_fact_about_a_quotient_holds_together_with_one_about_its_number() -> None:
    with assuming([Divides(5, W + H // 2), Divides(2, H)]):
        assert surely_divides(5, W + H // 2)
        assert surely_divides(10, 2 * W + H)


# Text


@pytest.mark.parametrize(
    ("divisor", "size", "text"),
    [
        (2, N - W, "N - W"),
        (2, 1 - W - W // 2, "-W - (W // 2) + 1"),
        (4, W // 4 * 3, "3*(W // 4)"),
        (4, W // 4 * (W // 4) * 3, "3*(W // 4)*(W // 4)"),
        (4, W // (2 * H) + W // 4, "W // (2*H) + W // 4"),
        (3, N * W - W // 3 * M, "N*W - (W // 3)*M"),
    ],
)
def test_a_size_is_written_without_the_quotient_of_a_fact(divisor: int, size: Size, text: str) -> None:
    with assuming([Divides(divisor, W)]):
        written = simplest(size)
        assert str(size) == text

    for values in small("N", "M", "H", "W"):
        if values[Name("W")] % divisor == 0:
            assert value_of(written, values) == value_of(size, values)


# Errors


def decided(a: Size, b: Size) -> str:
    return str(misfit(a, b, "they differ", "open"))


def test_sizes_that_no_divisor_makes_equal_differ() -> None:
    assert decided(N, N + 1) == "they differ"
    assert decided(N // 2 * 2 + 1, N) == "they differ"


def test_an_error_asks_for_no_more_than_is_needed() -> None:
    pairs, both = (N // 2 * 2 + M // 3 * 3, N + M), "tg.assert_divides(3, M) and tg.assert_divides(2, N)"

    assert decided(*pairs) == f"open: add {both}"
    assert decided(pairs[0] * (C // 5), pairs[1] * (C // 5)) == f"open: add {both}"  # whether 5 divides C or not
    assert decided(N // 4 + N // 2 * 2, N // 4 + N) == "open: add tg.assert_divides(2, N)"


def test_halves_that_are_added_and_subtracted_may_be_equal() -> None:
    # M without the first half of N, and without all of it but with the second half.
    assert decided(M - N // 2, M - N + N // 2) == "open: add tg.assert_divides(2, N)"


def test_an_error_asks_for_nothing_that_has_no_name() -> None:
    rest = named("...", "x.0")
    error = misfit(rest // 2 * 2, rest, "they differ", "open")

    assert isinstance(error, UndecidedError)
    assert isinstance(error, ShapeError)
    assert str(error) == "open"
