"""A shape that a rule gives for named sizes is right for every number that the names may stand for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from tapegrad.errors import ShapeError
from tapegrad.ops.axes import flatten_shape, squeeze_shape
from tapegrad.ops.einsum import einsum_shape, tensordot_shape
from tapegrad.ops.elementwise import broadcast_shape
from tapegrad.ops.index import gather_shape
from tapegrad.ops.join import chunk_shape, concat_shape
from tapegrad.ops.matmul import bmm_shape, matmul_shape
from tapegrad.ops.move import broadcast_to_shape, reshape_shape
from tapegrad.ops.ranges import arange_shape
from tapegrad.ops.reduce import extremum_shape
from tapegrad.ops.repeat import repeat_shape
from tapegrad.sizes import (
    UNKNOWN,
    Dim,
    Name,
    RankUnknownError,
    Size,
    UnknownDims,
    is_unknown,
    named,
    show,
    size_of_name,
    surely_differ,
    surely_divides,
    surely_less,
    surely_same,
    value_of,
)

N, M = named("N"), named("M")
P = size_of_name(Name("P", least=0))
SIZES: list[Size] = [0, 1, 2, 3, N, P, N + 1, 2 * N, N // 2, N - M, UNKNOWN]
FEWER: list[Size] = [1, 2, N, 2 * N, UNKNOWN]
ASSIGNMENTS = [{Name("N"): n, Name("M"): m, Name("P", least=0): p} for n, m, p in product((1, 2, 3), (1, 2), (0, 1))]
SUBSTITUTES = (0, 1, 3)  # for each unknown size

Shape = tuple[Size, ...]


def numbers(sizes: Any, names: dict[Name, int], unknown: list[int]) -> Any:
    """Return the sizes with numbers for the names, and the next of the numbers for each unknown one."""
    if isinstance(sizes, tuple):
        return tuple(numbers(one, names, unknown) for one in sizes)
    if not isinstance(sizes, Dim):
        return sizes
    return unknown.pop() if is_unknown(sizes) else value_of(sizes, names)


def flat(sizes: Any) -> list[Any]:
    return [size for one in sizes for size in flat(one)] if isinstance(sizes, tuple) else [sizes]


def is_true(claimed: Any, actual: Any, names: dict[Name, int]) -> bool:
    if isinstance(claimed, UnknownDims):
        return True
    if isinstance(claimed, tuple):
        return len(claimed) == len(actual) and all(
            is_true(one, other, names) for one, other in zip(claimed, actual, strict=True)
        )
    return value_of(claimed, names) in (None, actual)


def check_claims(rule: Callable[..., Any], *arguments: Any) -> None:
    """Compare what a rule says of sizes with what it says of all the numbers that these may be."""
    try:
        claimed = rule(*arguments)
    except (ShapeError, RankUnknownError, ZeroDivisionError):
        return
    unknown = sum(is_unknown(size) for size in flat(arguments) if isinstance(size, Dim))
    for names in ASSIGNMENTS:
        for substitutes in product(SUBSTITUTES, repeat=unknown):
            given = numbers(arguments, names, list(substitutes))
            if any(size < 0 for size in flat(given) if isinstance(size, int)):
                continue
            try:
                actual = rule(*given)
            except (ShapeError, ZeroDivisionError):
                continue
            said = ", ".join(show(one) if isinstance(one, tuple) else str(one) for one in arguments)
            assert is_true(claimed, actual, names), f"{rule.__name__}({said}) is {claimed}, but of {given} {actual}"


def test_provably_equal_sizes_are_equal_for_all_numbers() -> None:
    for a, b in product(SIZES, repeat=2):
        if surely_same(a, b):
            assert all(value_of(a, names) == value_of(b, names) for names in ASSIGNMENTS)
            assert not surely_differ(a, b)
            assert not surely_less(a, b)
        if surely_divides(a, b):
            pairs = [(value_of(a, names), value_of(b, names)) for names in ASSIGNMENTS]
            assert all(m is not None and m % n == 0 for n, m in pairs if n)  # by 0 nothing is divided


def test_an_unknown_size_is_provably_equal_to_none() -> None:
    for size in SIZES:
        assert not surely_same(UNKNOWN, size)
        assert not surely_same(size, UNKNOWN)
    assert surely_same(N, named("N"))
    assert surely_same(N + M, M + N)
    assert surely_same(1000, int("1000"))
    assert not surely_same(N, M)
    assert not surely_same(N, 1)


@pytest.mark.parametrize("x", SIZES, ids=str)
def test_rules_of_two_sizes(x: Size) -> None:
    for y in SIZES:
        check_claims(broadcast_shape, (x,), (y,))
        check_claims(broadcast_shape, (x, 1), (y,))
        check_claims(broadcast_to_shape, (x,), (y,))
        check_claims(arange_shape, x, y)
        check_claims(gather_shape, (x, y), (2, y))
        check_claims(concat_shape, ((x, y), (2, y)), 0)
        check_claims(repeat_shape, (2, x), y, 1)
        check_claims(lambda n, m: n // m, x, y)


@pytest.mark.parametrize("x", SIZES, ids=str)
def test_rules_of_one_shape(x: Size) -> None:
    for y in FEWER:
        check_claims(lambda dims: extremum_shape(dims, 0), (x, y))
        check_claims(lambda dims: squeeze_shape(dims, 0), (x, y))
        check_claims(squeeze_shape, (x, y))
        check_claims(flatten_shape, (x, y))
        for count in (1, 2, 3):
            check_claims(lambda dims, count=count: chunk_shape(dims, count, 1), (x, y))


@pytest.mark.parametrize("x", FEWER, ids=str)
@pytest.mark.parametrize("y", FEWER, ids=str)
def test_rules_of_four_sizes(x: Size, y: Size) -> None:
    for z, w in product(FEWER, repeat=2):
        check_claims(matmul_shape, (x, y), (z, w))
        check_claims(matmul_shape, (x, y, 2), (z, 2, w))
        check_claims(lambda a, b: einsum_shape("ij,jk->ik", (a, b)), (x, y), (z, w))
        check_claims(lambda a, b: einsum_shape("...i,i->...", (a, b)), (x, y), (z,))
        check_claims(lambda a, b: tensordot_shape(a, b, 1), (x, y), (z, w))
        check_claims(bmm_shape, (x, 2, y), (z, y, w))
        check_claims(reshape_shape, (x, y), (z, w))
    for z in FEWER:
        check_claims(lambda dims, other: reshape_shape(dims, (-1, *other)), (x, y), (z,))
