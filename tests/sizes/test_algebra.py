"""Size arithmetic: the normal form, provable relations, and the rules that all ops share."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tapegrad.errors import ShapeError
from tapegrad.sizes import (
    UNKNOWN,
    Dims,
    Divides,
    Name,
    RankUnknownError,
    Same,
    Size,
    UndecidedError,
    UnknownDims,
    assuming,
    at_least,
    broadcast,
    covered,
    is_unknown,
    largest,
    misfit,
    named,
    names_in,
    normal_axes,
    normal_axis,
    of_rank,
    power,
    product,
    show,
    simplest,
    size_of_name,
    smallest,
    surely_differ,
    surely_divides,
    surely_less,
    surely_same,
    value_of,
    window,
)
from tapegrad.sizes.bounds import upper_bound
from tapegrad.testing import check_shape_rule

N, M, C, H, W = (named(label) for label in "NMCHW")

Tree: TypeAlias = "int | str | tuple[str, Tree, Tree]"
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
}

letters = st.sampled_from("abc")
positive = st.one_of(
    st.integers(1, 4),
    letters,
    st.tuples(st.just("*"), st.integers(1, 3), letters),
    st.tuples(st.just("+"), letters, st.one_of(st.integers(1, 3), letters)),
)
polynomials = st.recursive(
    st.one_of(st.integers(-3, 5), letters), lambda tree: st.tuples(st.sampled_from("+-*"), tree, tree), max_leaves=6
)
trees: st.SearchStrategy[Tree] = st.recursive(
    st.one_of(st.integers(-3, 5), letters),
    lambda tree: st.one_of(
        st.tuples(st.sampled_from("+-*"), tree, tree),
        st.tuples(st.just("//"), tree, positive),
    ),
    max_leaves=6,
)
numbers = st.fixed_dictionaries({letter: st.integers(1, 7) for letter in "abc"})

divisors: st.SearchStrategy[Tree] = st.one_of(st.integers(-3, 6), positive, polynomials)
nested: st.SearchStrategy[Tree] = st.recursive(
    st.one_of(st.integers(-3, 5), letters),
    lambda tree: st.one_of(st.tuples(st.sampled_from("+-*"), tree, tree), st.tuples(st.just("//"), tree, divisors)),
    max_leaves=5,
)
GRID = [dict(zip("abc", values, strict=True)) for values in itertools.product(range(1, 7), repeat=3)]


def computed(tree: Tree, leaves: Callable[[str], Any]) -> Any:
    if isinstance(tree, tuple):
        operation, left, right = tree
        return OPERATIONS[operation](computed(left, leaves), computed(right, leaves))
    return leaves(tree) if isinstance(tree, str) else tree


def known(tree: Tree, values: dict[str, int]) -> int:
    number: int = computed(tree, values.__getitem__)
    return number


def substituted(size: Size, values: dict[str, int]) -> int | None:
    return value_of(size, {Name(label): n for label, n in values.items()})


@given(trees, numbers)
def test_the_normal_form_has_the_value_of_the_arithmetic(tree: Tree, values: dict[str, int]) -> None:
    assert substituted(computed(tree, named), values) == known(tree, values)


@given(trees, trees, numbers)
def test_sizes_that_do_not_differ_are_equal_for_all_values(a: Tree, b: Tree, values: dict[str, int]) -> None:
    if not surely_differ(computed(a, named), computed(b, named)):
        assert known(a, values) == known(b, values)


def on_the_grid(*trees_to_compute: Tree) -> list[tuple[int, ...]]:
    """Return what the trees come to for every assignment of small numbers under which none divides by zero."""
    rows = []
    for values in GRID:
        with suppress(ZeroDivisionError):
            rows.append(tuple(known(tree, values) for tree in trees_to_compute))
    return rows


def symbolic(tree: Tree) -> Size:
    """Compute a tree over names; a tree that surely divides by zero is no example."""
    try:
        size: Size = computed(tree, named)
    except (ShapeError, ZeroDivisionError):
        reject()
    return size


@given(nested)
def test_the_normal_form_has_the_same_value_for_all_small_numbers(tree: Tree) -> None:
    size = symbolic(tree)
    for values in GRID:
        with suppress(ZeroDivisionError):
            number = known(tree, values)
            assert substituted(size, values) == number


@given(nested, nested)
def test_no_small_numbers_contradict_a_provable_relation(a: Tree, b: Tree) -> None:
    x, y = symbolic(a), symbolic(b)
    rows = on_the_grid(a, b)

    if not surely_differ(x, y):
        assert all(n == m for n, m in rows)
    assert surely_same(x, y) != surely_differ(x, y)
    if surely_less(x, y):
        assert all(n < m for n, m in rows)
    if surely_divides(x, y):
        assert all(m % n == 0 for n, m in rows if n)
    for size in (x, y):
        assert not surely_same(size, UNKNOWN)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = OPERATIONS | {
    "max": lambda n, m: largest([n, m]),
    "min": lambda n, m: smallest([n, m]),
    "**": power,
}
NUMBERS: dict[str, Callable[[int, int], int]] = OPERATIONS | {"max": max, "min": min, "**": lambda n, m: n ** max(m, 0)}
mixed: st.SearchStrategy[Tree] = st.recursive(
    st.one_of(st.integers(-3, 5), letters),
    lambda tree: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "max", "min"]), tree, tree),
        st.tuples(st.just("//"), tree, divisors),
        st.tuples(st.just("**"), st.one_of(st.integers(1, 3), letters), st.one_of(st.integers(0, 3), letters)),
    ),
    max_leaves=5,
)
MAX_EXAMPLES = 100_000 if settings().max_examples > 1000 else 150  # in `make fuzz`


def with_functions(tree: Tree, leaves: Callable[[str], Any], operations: dict[str, Callable[[Any, Any], Any]]) -> Any:
    if isinstance(tree, tuple):
        name, left, right = tree
        return operations[name](with_functions(left, leaves, operations), with_functions(right, leaves, operations))
    return leaves(tree) if isinstance(tree, str) else tree


@settings(max_examples=MAX_EXAMPLES)
@given(mixed, mixed)
def test_no_small_numbers_contradict_functions_of_sizes(a: Tree, b: Tree) -> None:
    try:
        x, y = (with_functions(tree, named, FUNCTIONS) for tree in (a, b))
    except (ShapeError, ZeroDivisionError):
        reject()
    same, differ, less, divides = surely_same(x, y), surely_differ(x, y), surely_less(x, y), surely_divides(x, y)
    most = upper_bound(x)
    for values in itertools.product((1, 2, 3, 6), repeat=3):
        by_name = dict(zip("abc", values, strict=True))
        try:
            n, m = (with_functions(tree, by_name.__getitem__, NUMBERS) for tree in (a, b))
        except ZeroDivisionError:
            continue
        assert is_unknown(x) or substituted(x, by_name) == n
        assert n == m or not same
        assert n < m or not less
        assert not divides or n == 0 or m % n == 0
        assert most is None or n <= most
        if differ and has_function(x, y) and n and m:
            assert n != m


def has_function(*sizes: Size) -> bool:
    return any(name.is_opaque for size in sizes for name in names_in(size))


def opaque(label: str) -> Size:
    return size_of_name(Name(label, least=0, is_opaque=True))


@given(nested, nested)
def test_no_small_numbers_make_provably_different_opaque_sizes_equal(a: Tree, b: Tree) -> None:
    try:
        x, y = computed(a, opaque), computed(b, opaque)
    except (ShapeError, ZeroDivisionError):
        reject()
    for values in itertools.product(range(5), repeat=3):
        with suppress(ZeroDivisionError):
            n, m = (known(tree, dict(zip("abc", values, strict=True))) for tree in (a, b))
            if n and m:
                assert n != m or not surely_differ(x, y)
            assert n == m or not surely_same(x, y)


def test_opaque_sizes_differ_only_if_no_values_make_them_equal() -> None:
    w, v = map(opaque, "wv")

    differing = [(w, 3 * w), (w, w + 1), (4 * w, w + 1), (w // 2, w), (10, 4 * w), (N, N + 2 * w + 1), (w, 2 * w * v)]
    perhaps_equal = [
        (w, v),
        (w, 5),
        (w, N),
        (w, w + v),
        (w, w * v),
        (w, w // v),
        (4, 4 * w),
        (N * w, M * w),
        (0, w),
        (2 * w * v, 0),
    ]

    assert all(surely_differ(a, b) and surely_differ(b, a) for a, b in differing)
    assert not any(surely_differ(a, b) or surely_same(a, b) for a, b in perhaps_equal)


def test_a_fact_about_opaque_sizes_is_used() -> None:
    w, h = map(opaque, "wh")

    with assuming([Divides(h, w)]):
        assert surely_same(w // h * h, w)


@given(st.lists(st.tuples(divisors, nested), min_size=1, max_size=3), nested, nested)
def test_no_small_numbers_contradict_conclusions_from_facts(claims: list[tuple[Tree, Tree]], a: Tree, b: Tree) -> None:
    facts = [Divides(symbolic(divisor), symbolic(number)) for divisor, number in claims]
    with assuming(facts):
        x, y = symbolic(a), symbolic(b)
        try:
            written = simplest(x)
        except ShapeError:  # facts that contradict each other may divide by zero
            reject()
        differ, is_less, divides = surely_differ(x, y), surely_less(x, y), surely_divides(x, y)

    for values in GRID:
        with suppress(ZeroDivisionError):
            if any(known(number, values) % known(divisor, values) for divisor, number in claims):
                continue
            n, m = known(a, values), known(b, values)
            with suppress(ZeroDivisionError):  # in another form of the same
                assert substituted(written, values) == n
            assert differ or n == m
            assert not is_less or n < m
            assert not divides or n == 0 or m % n == 0


@given(letters, *[st.integers(1, 5)] * 2, *[st.integers(-5, 5)] * 2, *[st.integers(1, 4)] * 2)
def test_one_floor_of_one_name_has_one_form(
    letter: str, scale: int, other: int, more: int, less: int, first: int, second: int
) -> None:
    nested_twice: Tree = ("//", ("+", ("//", ("+", ("*", scale, letter), more), first), less), second)
    at_once: Tree = ("//", ("+", ("*", other, letter), more + first * less), first * second)
    # But for a linear part both repeat after first * second, at most 16: equal below 60, they are equal everywhere.
    are_equal = all(known(nested_twice, {letter: n}) == known(at_once, {letter: n}) for n in range(1, 60))

    assert surely_differ(symbolic(nested_twice), symbolic(at_once)) != are_equal


@given(trees, trees, trees)
def test_the_order_of_arithmetic_does_not_matter(a: Tree, b: Tree, c: Tree) -> None:
    x, y, z = (computed(tree, named) for tree in (a, b, c))

    assert not surely_differ(x + y, y + x)
    assert not surely_differ(x * y, y * x)
    assert not surely_differ((x + y) + z, x + (y + z))
    assert not surely_differ((x * y) * z, z * (y * x))
    assert not surely_differ(x * (y + z), x * z + x * y)
    assert not surely_differ((x - y) + y, x)
    assert not surely_differ(x - x, 0)
    assert not surely_differ(x + 0, x)
    assert not surely_differ(x * 1, x)
    assert not surely_differ(x * 0, 0)
    assert not surely_differ(0 - x, x * -1)


@given(trees, positive, polynomials)
def test_divisible_terms_are_moved_out_of_a_quotient(a: Tree, b: Tree, c: Tree) -> None:
    x, y, z = (computed(tree, named) for tree in (a, b, c))
    is_one_term = isinstance(b, int | str) or b[0] == "*"

    assert not surely_differ(x // 1, x)
    assert not surely_differ(y // y, 1)
    if is_one_term:  # by several terms nothing but themselves is divided
        assert not surely_differ((x + y * z) // y, x // y + z)


@given(trees, numbers)
def test_a_size_is_shown_in_normal_form(tree: Tree, values: dict[str, int]) -> None:
    written = str(computed(tree, named))

    assert eval(written, dict(values)) == known(tree, values)  # noqa: S307  # written above


@given(st.lists(trees, min_size=2, max_size=2), numbers)
def test_two_sizes_that_broadcast_do_so_for_all_values(pair: list[Tree], values: dict[str, int]) -> None:
    x, y = (computed(tree, named) for tree in pair)
    n, m = (known(tree, values) for tree in pair)
    try:
        (both,) = broadcast(x=(x,), y=(y,))
    except ShapeError:
        return

    if n >= 1 and m >= 1:
        assert 1 in (n, m) or n == m
        assert substituted(both, values) == max(n, m)


@given(letters, positive, positive, numbers, st.integers(1, 3))
def test_a_fact_implies_its_consequences(
    letter: str, divisor: Tree, other: Tree, values: dict[str, int], times: int
) -> None:
    fact = Divides(computed(divisor, named), computed(other, named))
    size = computed(divisor, named) * (computed(other, named) // computed(divisor, named)) * times + named(letter)
    number = known(divisor, values) * (known(other, values) // known(divisor, values)) * times + values[letter]

    if known(other, values) % known(divisor, values) == 0:
        with assuming([fact]):
            written = simplest(size)
        assert substituted(written, values) == number


@given(polynomials, st.integers(1, 5), letters)
def test_a_product_divided_by_its_factor_is_the_other_factor(tree: Tree, scale: int, letter: str) -> None:
    size, factor = computed(tree, named), scale * named(letter)

    assert not surely_differ(size * factor // factor, size)


@given(trees, trees, numbers)
def test_surely_less_holds_for_all_values(a: Tree, b: Tree, values: dict[str, int]) -> None:
    if surely_less(computed(a, named), computed(b, named)):
        assert known(a, values) < known(b, values)


@given(positive, trees, numbers)
def test_surely_divides_holds_for_all_values(a: Tree, b: Tree, values: dict[str, int]) -> None:
    if surely_divides(computed(a, named), computed(b, named)):
        assert known(b, values) % known(a, values) == 0


@given(st.lists(trees, min_size=1, max_size=3), numbers)
def test_maximum_and_minimum_hold_for_all_values(several: list[Tree], values: dict[str, int]) -> None:
    sizes, expected = [computed(one, named) for one in several], [known(one, values) for one in several]
    names = {Name(label): value for label, value in values.items()}

    for size, extreme in ((largest(sizes), max(expected)), (smallest(sizes), min(expected))):
        assert is_unknown(size) or value_of(size, names) == extreme


@given(trees, st.integers(0, 4), numbers)
def test_a_power_is_a_product(a: Tree, exponent: int, values: dict[str, int]) -> None:
    names = {Name(label): value for label, value in values.items()}

    assert value_of(power(computed(a, named), exponent), names) == known(a, values) ** exponent


def test_a_power_is_unknown_where_the_exponent_is_no_small_number_or_size() -> None:
    assert [is_unknown(power(*one)) for one in ((N, -1), (N, 9), (2, N - 2), (2, 64), (N, UNKNOWN))] == [True] * 5
    assert power(2, 63) == 2**63
    assert is_unknown(power(UNKNOWN, 2))


@given(st.integers(-9, 9), st.integers(-9, 9))
def test_numbers_are_compared_exactly(a: int, b: int) -> None:
    assert surely_differ(a, b) == (a != b)
    assert surely_less(a, b) == (a < b)
    assert surely_divides(a, b) == (a != 0 and b % a == 0)


def test_equal_sizes_have_one_form() -> None:
    assert not surely_differ(N + M, M + N)
    assert not surely_differ((H + 2 - 3) // 1 + 1, H)
    assert not surely_differ((2 * N + 3) // 2, N + 1)
    assert not surely_differ(C * H * W // (H * W), C)
    assert not surely_differ(8 * (N * M // 8), 8 * (M * N // 8))
    assert not surely_differ((H + 1) // 2 * ((W + 1) // 2), (W + 1) // 2 * ((1 + H) // 2))


def test_nested_floor_divisions_are_one_division() -> None:
    assert str(H // 2 // 2) == "H // 4"
    assert str((H + 1) // 2 // 3) == "(H + 1) // 6"
    assert str((H // 2 + 1) // 3) == "(H + 2) // 6"
    assert str((H // N - 1) // M) == "(H - N) // (M*N)"
    assert str(window(window(H, 3, stride=2, padding=1), 3, stride=2, padding=1)) == "(H + 3) // 4"
    assert str((3 * (H // 2) + 1) // 2) == "(H + 2) // 4 + H // 2"
    assert str((H // 2 + W // 3) // 5) == "(H // 2 + W // 3) // 5"  # of two divisions, neither comes first
    assert not surely_differ((H // 2) // -3, (0 - H // 2) // 3)


def test_a_quotient_is_in_lowest_terms() -> None:
    assert str(2 * N * W // (2 * N * H)) == "W // H"
    assert str((2 * N + 1) // 4) == "N // 2"
    assert str(5 // (2 * N)) == "2 // N"
    assert str((N + M) // -2) == str((0 - N - M) // 2)
    assert str(N * W // (N * H)) == "W // H"
    assert str(2 * N // (2 * M - 2 * C)) == "N // (-C + M)"


@pytest.mark.parametrize(
    ("tree", "other"),
    [
        # Where the divisor is negative, the first two pairs differ; where a is 1, the third one does.
        (("//", ("+", ("*", 2, "a"), 1), ("*", 2, ("-", "b", "c"))), ("//", "a", ("-", "b", "c"))),
        (("//", ("//", "a", 2), ("-", "c", "b")), ("//", "a", ("*", 2, ("-", "c", "b")))),
        (("//", ("-", 1, "a"), ("+", "a", "b")), -1),
    ],
)
def test_a_division_is_simplified_only_if_it_is_right_for_each_sign(tree: Tree, other: Tree) -> None:
    assert any(n != m for n, m in on_the_grid(tree, other))

    assert not surely_same(symbolic(tree), symbolic(other))
    for values in GRID:
        with suppress(ZeroDivisionError):
            assert substituted(symbolic(tree), values) == known(tree, values)


def test_what_may_be_zero_is_not_divided_as_if_it_were_negative() -> None:
    padding = Name("P", least=0)
    size = (0 - size_of_name(padding)) // (size_of_name(padding) + N)

    assert value_of(size, {padding: 0, Name("N"): 3}) == 0
    assert value_of(size, {padding: 2, Name("N"): 3}) == -1
    assert (0 - N) // (N + size_of_name(padding)) == -1


def test_several_terms_divide_their_multiples() -> None:
    assert str((2 * N - 1) * M // (2 * N - 1)) == "M"
    assert str((N + M) * (N - M) // (N - M)) == "M + N"
    assert str((N * N - 1) // (N - 1)) == "N + 1"
    assert surely_divides(N + 1, (N + 1) * (M - 2 * C))
    assert not surely_divides(N + 1, (N + 1) * M + 1)
    assert not surely_divides(2 * N + 2, (N + 1) * M)


def test_a_quotient_is_zero_if_the_divisor_is_larger() -> None:
    assert (N - 1) // N == 0
    assert N // (N + M) == 0
    assert -1 // N == -1
    assert str((N * M + N - 1) // N) == "M"
    assert str((N - M) // N) == "(-M) // N + 1"


def test_a_name_equals_only_itself() -> None:
    assert surely_differ(N, M)
    assert surely_differ(N, 5)
    assert surely_differ(N, N + 1)
    assert surely_differ(named("N", "f"), named("N", "g"))
    assert not surely_differ(named("N", "f"), named("N", "f"))


def test_nothing_is_provable_of_an_unknown_size() -> None:
    for size in (0, 1, 5, N, UNKNOWN):
        assert not surely_differ(UNKNOWN, size)
        assert not surely_less(UNKNOWN, size)
        assert not surely_less(size, UNKNOWN)
        assert not surely_divides(size, UNKNOWN)
        assert not surely_divides(UNKNOWN, size)
        assert is_unknown(UNKNOWN + size)
        assert is_unknown(size * UNKNOWN)
    assert is_unknown(6 // UNKNOWN)
    assert not is_unknown(N)


def test_names_are_at_least_one() -> None:
    assert surely_less(0, N)
    assert surely_less(N, N + 1)
    assert surely_less(N, 2 * N + M)
    assert surely_less(-1, N * M - 1)
    assert surely_less(0, (N + 1) // 2 + 1)
    assert not surely_less(1, N)
    assert not surely_less(0, N - 1)
    assert not surely_less(0, N // 2)
    assert not surely_less(N, M)
    assert surely_less(N // 2, N)
    assert surely_less(2 * (N // 2), N + 1)
    assert surely_less(M * (N // 3), M * N)
    assert surely_less((N // 2 + 1) // 2, N + 1)
    assert not surely_less(2 * (N // 2), N)
    assert surely_less((M // C) * (N // 3), (M // C) * N + 1)


def test_a_product_with_a_bounded_name_is_bounded_by_the_other_factors() -> None:
    k = size_of_name(Name("k", least=0, is_opaque=True, most=8))

    assert surely_less(N * k, 9 * N)
    assert not surely_less(N * k, 8 * N)
    assert surely_less(N * k * k, 65 * N)
    assert not surely_less(k * opaque("m"), 9)
    assert upper_bound(k * k) == 64
    assert surely_differ(N * k, 9 * N)
    assert not surely_differ(N * k, 7 * N)


def test_a_size_that_may_be_any_int_has_no_lower_bound() -> None:
    least = smallest([N - M, 3])

    assert surely_less(least, 4)
    assert not any(surely_less(bound, times * least) for bound in (-9, -2, 0) for times in (1, 2))
    assert value_of(least, {Name("N"): 1, Name("M"): 20}) == -19


@pytest.mark.parametrize(("n", "m", "c"), list(itertools.permutations("abc")))
def test_the_order_of_names_does_not_affect_proofs(n: str, m: str, c: str) -> None:
    n, m, c = map(named, (n, m, c))

    assert surely_less(0, 3 * n - 2)
    assert surely_less(0, 2 * n + 2 * m - 3)
    assert surely_less(-1, n * m - n)
    assert not surely_less(-1, n * m - n * c)
    assert not surely_less(-1, n // 2 - 3)
    assert not surely_less(-1, n // 2 + m - 3)
    assert not surely_less(-1, (n - 5) // 2)
    assert not surely_less(-1, (n - m) // 2)
    assert not surely_less(-1, n // 2 - m * c)


def test_a_factor_surely_divides_its_product() -> None:
    assert surely_divides(N, N * M)
    assert surely_divides(2, 2 * N + 4)
    assert surely_divides(2 * N, 6 * N * M)
    assert not surely_divides(2, N)
    assert not surely_divides(N, N + 1)
    assert not surely_divides(0, N)


def test_a_size_has_no_truth_value() -> None:
    questions: tuple[Callable[[Any], object], ...] = (
        bool,
        range,
        lambda n: n == 5,
        lambda n: n != N,
        lambda n: n < 5,
        lambda n: n >= 5,
        lambda n: n % 2,
        lambda n: 7 % n,
    )
    for question in questions:
        with pytest.raises(
            TypeError, match=r"^a size answers no bool: ask surely_differ, surely_less or surely_divides$"
        ):
            question(N)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (N, "N"),
        (UNKNOWN, "?"),
        (N + 1, "N + 1"),
        (1 - N, "-N + 1"),
        (2 * N * M - 3 * N, "2*M*N - 3*N"),
        (W + N + H + M + C, "C + H + M + N + W"),
        ((N + 1) // 2, "(N + 1) // 2"),
        (2 * ((N + 1) // 2), "2*((N + 1) // 2)"),
        (1 - N // 2, "-(N // 2) + 1"),
        (5 // (3 * N + 1), "5 // (3*N + 1)"),
        (N // M // 2, "N // (2*M)"),
        (N // named("config.width"), "N // config.width"),
        (N // named("..."), "N // (...)"),  # a size behind `...`, which has no name
        ((1 + N) * (-2 // N), "((-2) // N)*N + (-2) // N"),
        (largest([N - 2, 0]), "max(N - 2, 0)"),
        (largest([N, 2]) + M - 2, "M + max(N - 2, 0)"),
        (largest([N, 3]) - 2, "max(N - 2, 1)"),
        (largest([N, 2]) - 3, "max(N - 2, 0) - 1"),
        (largest([N, 2]) + 1, "max(N + 1, 3)"),
        (largest([N, 2]) + M + 1, "M + max(N, 2) + 1"),
        (2 * largest([N, 2]) - 2, "2*max(N, 2) - 2"),
        (largest([N, M]) - 2, "max(M - 2, N - 2)"),
    ],
)
def test_a_size_is_shown_as_arithmetic(size: Size, text: str) -> None:
    assert str(size) == text


@pytest.mark.parametrize("number", [-7, -1, 0, 1, 7])
def test_a_number_may_be_inside_or_beside_the_largest_and_the_smallest(number: int) -> None:
    for extreme in (largest, smallest):
        assert surely_same(extreme([N + 7, 9]) + number, extreme([N + 7 + number, 9 + number]))
        assert surely_same(extreme([N, M, 9]) + number, extreme([N + number, M + number, 9 + number]))


def test_a_size_broadcasts_with_itself_or_one() -> None:
    rows = size_of_name(Name("rows", least=0, is_opaque=True))

    for pair in ((rows, largest([rows - 1, 0]) + 1), (largest([rows, 1]), rows)):
        (both,) = broadcast(x=pair[:1], y=pair[1:])
        assert surely_same(both, rows)


def test_a_size_shows_its_terms_in_one_order() -> None:
    assert repr(UNKNOWN) == "Dim(None)"
    assert repr(2 * N + 1) == repr(1 + 2 * N)


def test_a_shape_is_shown_as_a_tuple() -> None:
    assert show(()) == "()"
    assert show((3,)) == "(3,)"
    assert show((3, N, UNKNOWN)) == "(3, N, ?)"
    assert show(UnknownDims()) == "(...)"


def test_division_by_zero_is_rejected() -> None:
    with pytest.raises(ShapeError, match=r"N \+ 1 is divided by zero"):
        (N + 1) // 0


def test_a_value_is_known_when_all_of_its_names_are() -> None:
    names = {Name("N"): 7, Name("M"): 2}

    assert value_of(5, {}) == 5
    assert value_of(N * M - (N + 1) // M, names) == 10
    assert value_of(N * C, names) is None
    assert value_of((N + 1) // C, names) is None
    assert value_of(UNKNOWN, names) is None
    assert value_of(power(2, N), {Name("N"): 5}) == 32
    assert value_of(power(2, N), {Name("N"): 64}) is None  # larger than any size


def test_the_names_in_a_size_are_those_it_is_computed_from() -> None:
    assert {name.label for name in names_in((N + 1) // M + 2 * H * C)} == {"N", "M", "H", "C"}
    assert {name.label for name in names_in(largest([N - 2, W]))} == {"max(N, W + 2)", "N", "W"}
    assert names_in(5) == set()
    assert names_in(UNKNOWN) == set()


def test_an_unknown_rank_aborts_a_rule() -> None:
    questions: tuple[Callable[[Any], object], ...] = (
        len,
        list,
        bool,
        sum,
        max,
        lambda x: x[0],
        lambda x: x[-2:],
        lambda x: (3, *x),
        lambda x: (*x, 3),
        lambda x: (3,) + x,  # noqa: RUF005  # this spelling asks too
        lambda x: x + (3,),  # noqa: RUF005  # this spelling asks too
        lambda x: x * 2,
        lambda x: 3 in x,
        lambda x: list(reversed(x)),
        lambda x: list(zip(x, x, strict=True)),
    )
    for question in questions:
        with pytest.raises(RankUnknownError):
            question(UnknownDims())


def test_at_least_counts_axes() -> None:
    assert at_least(2, x=(3, N)) == (3, N)

    with pytest.raises(ShapeError, match=r"^y \(3,\) has rank 1 but needs at least 2$"):
        at_least(2, y=(3,))


def test_of_rank_counts_axes() -> None:
    assert of_rank(2, x=(3, N)) == (3, N)

    with pytest.raises(ShapeError, match=r"^y \(3, 5\) has rank 2, not 1$"):
        of_rank(1, y=(3, 5))
    with pytest.raises(ShapeError, match=r"^y \(3,\) has rank 1, not 2$"):
        of_rank(2, y=(3,))


@pytest.mark.parametrize(
    ("x", "y", "both"),
    [
        ((3, 5), (5,), "(3, 5)"),
        ((3, 1), (1, 5), "(3, 5)"),
        ((5,), (2, 5), "(2, 5)"),
        ((1, 5), (5,), "(1, 5)"),
        ((N + 1, 1000), (1 + N, int("1000")), "(N + 1, 1000)"),  # equal, and not one object
        ((), (2, 0), "(2, 0)"),
        ((1,), (0,), "(0,)"),
        ((N, 1), (M,), "(N, M)"),
        ((N,), (N,), "(N,)"),
        ((5,), (UNKNOWN,), "(5,)"),
        ((UNKNOWN,), (5,), "(5,)"),
        ((1,), (UNKNOWN,), "(?,)"),
        ((N,), (UNKNOWN,), "(?,)"),  # the unknown may be N, and where N is 1 it may be any number
        ((UNKNOWN,), (UNKNOWN,), "(?,)"),
    ],
)
def test_broadcasting_aligns_from_the_right_and_one_fits_any(x: Dims, y: Dims, both: str) -> None:
    assert show(broadcast(x=x, y=y)) == both


def test_numbers_broadcast_to_a_number() -> None:
    assert broadcast(x=()) == ()
    assert broadcast(x=(), y=()) == ()


def test_broadcasting_names_both_shapes_and_the_axis() -> None:
    with pytest.raises(ShapeError, match=r"^x \(2, 3\) and y \(4,\) do not broadcast: axis -1 is 3 in x but 4 in y$"):
        broadcast(x=(2, 3), y=(4,))
    with pytest.raises(ShapeError, match=r"^x \(N, 3\) and y \(M, 1\) do not broadcast: axis -2 is N in x but M in y$"):
        broadcast(x=(N, 3), y=(M, 1))


def test_broadcasting_three_names_the_two_that_differ() -> None:
    # The size 3 once went by the name of the first operand.
    with pytest.raises(ShapeError, match=r"^x \(3,\) and y \(4,\) do not broadcast: axis -1 is 3 in x but 4 in y$"):
        broadcast(condition=(1,), x=(3,), y=(4,))


def test_broadcasting_may_exclude_the_last_axes() -> None:
    assert broadcast(2, x=(2, 1, 5, 7), y=(3, 7, 4)) == (2, 3)
    assert broadcast(2, x=(7,), y=(3, 7, 4)) == (3,)

    with pytest.raises(ShapeError, match=r"^x \(2, 5, 7\) and y \(3, 7, 4\) .*: axis -3 is 2 in x but 3 in y$"):
        broadcast(2, x=(2, 5, 7), y=(3, 7, 4))


def broadcast_three_shape(x: Dims, y: Dims, z: Dims) -> Dims:
    return broadcast(x=x, y=y, z=z)


def test_broadcasting_matches_its_shape_rule() -> None:
    check_shape_rule(
        broadcast_three_shape,
        ((3, 1), (5,), ()),
        ((1, 5), (3, 1), (3, 5)),
        ((2, 0), (1,), (2, 1)),
        ((3,), (1,), (1, 1)),
    )


def window_shape(size: Size, kernel: Size, stride: Size, padding: Size, dilation: Size = 1) -> Size:
    return window(size, kernel, stride=stride, padding=padding, dilation=dilation)


def covered_shape(count: Size, kernel: Size, stride: Size, padding: Size, dilation: Size, beyond: Size) -> Size:
    return covered(count, kernel, stride=stride, padding=padding, dilation=dilation, beyond=beyond)


def test_a_window_slides_over_the_padded_cells() -> None:
    # Dumoulin & Visin, A guide to convolution arithmetic, relationship 6: i=5, k=3, s=2, p=1 gives 3
    assert window(5, 3, stride=2, padding=1) == 3
    assert window(28, 5) == 24
    assert window(3, 3) == 1
    assert str(window(H, 3, padding=1)) == "H"
    assert str(window(H, 3, stride=2, padding=1)) == "(H + 1) // 2"  # (H - 1) // 2 + 1
    assert window(7, 3, dilation=3) == 1
    assert str(window(H, 3, padding=2, dilation=2)) == "H"
    check_shape_rule(window_shape, (5, 3, 2, 1), (28, 5, 1, 0), (7, 3, 2, 0), (9, 2, 1, 0, 3))


def test_windows_cover_the_cells_they_slide_over() -> None:
    # Dumoulin & Visin, A guide to convolution arithmetic, relationship 14: i'=3, k=3, s=2, p=1, a=1 gives 6
    assert covered(3, 3, stride=2, padding=1, beyond=1) == 6
    assert covered(1, 1) == 1
    assert str(covered(H, 2, stride=2)) == "2*H"
    assert str(covered(H, 3, padding=1)) == "H"
    for n, k, s, p, d in itertools.product((7, 8, 9), (1, 2, 3), (1, 2, 3), (0, 1), (1, 2)):
        count = window(n, k, stride=s, padding=p, dilation=d)
        rest = (n + 2 * p - d * (k - 1) - 1) % s
        assert covered(count, k, stride=s, padding=p, dilation=d, beyond=rest) == n
    check_shape_rule(covered_shape, (3, 3, 2, 1, 1, 1), (5, 2, 3, 0, 2, 0))


def test_a_padding_that_leaves_no_cell_is_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^a padding of 2 leaves 0 cells of 4$"):
        covered(2, 3, padding=2)


def test_a_name_that_may_be_0_is_not_assumed_positive() -> None:
    padding = size_of_name(Name("P", least=0))

    assert surely_less(0, N)
    assert not surely_less(0, padding)
    assert surely_less(-1, padding)
    assert surely_less(-1, padding * N - 0)
    assert surely_less(padding, padding + N)
    assert not surely_less(padding, padding * N + 1 - N)
    assert not surely_less(0, padding * N)
    assert surely_less(-1, padding // 2)
    assert surely_less(-1, N // M)
    assert not surely_less(-1, N // padding)
    assert not surely_less(-1, (padding - 5) // M)
    assert window(H, 1, padding=padding) is not None
    assert str(window(H, 3, padding=padding)) == "H + 2*P - 2"


def test_a_window_larger_than_its_input_is_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^a window of 5 does not fit into 2 cells with a padding of 1$"):
        window(2, 5, padding=1)
    with pytest.raises(ShapeError, match=r"^a window of N \+ 1 does not fit into N cells$"):
        window(N, N + 1)


def test_product_counts_elements() -> None:
    assert product(()) == 1
    assert product((2, 3, 7)) == 42
    assert product((2, 0, 7)) == 0
    assert str(product((C, 2, H))) == "2*C*H"
    assert is_unknown(product(UnknownDims()))


def test_axes_are_counted_from_either_end() -> None:
    assert normal_axis(-1, (3, 5)) == 1
    assert normal_axes(None, (3, 5)) == (0, 1)
    assert normal_axes((-1, 0), (3, 5)) == (1, 0)
    assert normal_axes((), (3, 5)) == ()

    with pytest.raises(ShapeError, match=r"^axis 2 is out of range for x \(3, 5\)$"):
        normal_axis(2, (3, 5))
    with pytest.raises(ShapeError, match=r"^axis -3 is out of range for w \(3, N\)$"):
        normal_axis(-3, (3, N), "w")
    with pytest.raises(ShapeError, match=r"^axis 2 is out of range for w \(3, N\)$"):
        normal_axes((0, 2), (3, N), "w")
    with pytest.raises(RankUnknownError):
        normal_axis(N, (3, 5))
    with pytest.raises(ShapeError, match=r"^axis \(0, -2\) names an axis of x \(3, 5\) twice$"):
        normal_axes((0, -2), (3, 5))


def test_an_assumed_divisor_cancels() -> None:
    d, h, n = named("D"), named("H"), named("N")

    with assuming([Divides(h, d)]):
        assert str(n * h * (d // h) + 1) == "D*N + 1"
        assert surely_divides(h, d)
        assert not surely_differ(h * (d // h) * 2, 2 * d)
    with assuming([Divides(4, d)]):
        assert str(d // 4 * 8) == "2*D"
        assert str(h * (d // 4) * 8) == "2*D*H"
        assert str(d // 4 * 2) == "D // 2"

    with assuming([Divides(n + 1, d)]):
        assert str(d // (n + 1) * 2) == "2*(D // (N + 1))"
        assert str(d // (n + 1) * (n + 1)) == "D"

    assert surely_differ(h * (d // h), d)
    assert not surely_divides(h, d)


def test_an_assumed_divisor_leaves_no_remainder() -> None:
    b, n, h, w = (named(label) for label in "BNHW")

    with assuming([Divides(2, w)]):
        assert str((w + 1) // 2) == "W // 2"
        assert str(window(w, 3, stride=2, padding=1)) == "W // 2"
        assert str((w + 3) // 4) == "(W + 2) // 4"
        assert str(w // 3 + w // 2 + w) == "W + W // 2 + W // 3"
        assert not surely_differ((w + 1) // 2 + w // 2, w)
        assert surely_differ((w + 1) // 3, w // 3)
        assert surely_less(1, w)
    with assuming([Divides(4, w)]):
        assert str(w // 3) == "W // 3"
        assert str(1 - w // 3) == "-(W // 3) + 1"
        assert str(n * (w // 3) + w // 4) == "(W // 3)*N + W // 4"
    with assuming([Divides(h, w)]):
        assert str(b * n * w // (b * n * h)) == "W // H"
        assert str((w + h - 1) // h) == "W // H"
        assert str(w // (h * n)) == "W // (H*N)"
        assert surely_divides(h, b * w)
        assert not surely_divides(h, w + 1)

    assert str((w + 1) // 2) == "(W + 1) // 2"


def test_sums_and_products_may_be_assumed_divisible() -> None:
    d, h, n, w = (named(label) for label in "DHNW")

    with assuming([Divides(2, w + 1)]):
        assert str((w + 1) // 2 * 2) == "W + 1"
        assert str(w // 2) == "(W + 1) // 2 - 1"
    with assuming([Divides(h, d * n)]):
        assert str(d * n // h * h * w) == "D*N*W"
        assert surely_divides(h, d * n * w)
    with assuming([Divides(2, w // 2)]):
        assert str(w // 4 * 2) == "W // 2"
        assert str(w // 4 * 4) == "2*(W // 2)"
    with assuming([Divides(5, 2 * n + 3 * w)]):
        assert str((2 * n + 3 * w) // 5 * 5) == "2*N + 3*W"
    with assuming([Divides(n, 12)]):
        assert 12 // n * n == 12
    with assuming([Divides(2, h - n)]):
        assert str((h - n) // 2 * 2) == "H - N"
        assert not surely_less(-1, (h - n) // 2)


def test_facts_can_be_combined() -> None:
    w = named("W")

    with assuming([Divides(2, w), Divides(3, w)]):
        assert surely_divides(6, w)
        assert str((w + 5) // 6) == "W // 6"
    with assuming([Divides(2, w)]), assuming([Same(Name("W"), 8)]):
        assert w // 2 == 4
    with assuming([Divides(2, 2 * w + 1), Divides(2, 3), Divides(0, w)]):  # what is not so, or says nothing
        assert str(w // 2) == "W // 2"


def test_equality_that_depends_on_divisibility_is_not_provable() -> None:
    h, w, n = (named(label) for label in "HWN")
    error = misfit(w // h * h, w, "they differ", "they may differ")

    assert isinstance(error, UndecidedError)
    assert str(error) == "they may differ: add tg.assert_divides(H, W)"
    assert error.with_expressions({Name("W"): "x.shape[1]"}) == (
        "they may differ: add tg.assert_divides(H, x.shape[1])"
    )
    assert str(misfit((w + n // 2) // 3 * 3, w + n // 2, "", "open")) == ("open: add tg.assert_divides(6, N + 2*W)")
    with assuming([Divides(2, w)]):
        assert str(misfit(w // 4 * 4, w, "", "open")) == "open: add tg.assert_divides(2, W // 2)"
    for one, other in ((5, 4), (2 * n + 1, (2 * n + 1) // 2 * 2), (n, w // 2 * 2)):
        assert type(misfit(one, other, "they differ", "they may differ")) is ShapeError


def test_a_name_assumed_to_be_a_size_is_that_size() -> None:
    n, m = named("N"), named("M")

    with assuming([Same(Name("N"), m)]):
        assert not surely_differ(n, m)
        assert str(n + m) == "2*M"
        assert str(n // 2) == "M // 2"
    with assuming([Same(Name("N"), 5)]):
        assert n + 1 == 6
        assert surely_less(n, 6)

    assert surely_differ(n, m)
