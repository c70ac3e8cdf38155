"""Logical ops and tests of floats such as isnan: tables, edge cases, shapes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import (
    isfinite,
    isinf,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    nan_to_num,
    normal,
    ones,
    tensor,
    zeros,
)
from tapegrad.testing import check_gradients, check_shape_rule

BINARY: dict[str, Callable[..., Any]] = {
    "logical_and": logical_and,
    "logical_or": logical_or,
    "logical_xor": logical_xor,
}
KINDS: dict[str, Callable[..., Any]] = {"isfinite": isfinite, "isinf": isinf, "isnan": isnan}
UNARY: dict[str, Callable[..., Any]] = {**KINDS, "logical_not": logical_not}


def truth() -> Any:
    return tensor([[False, True]]), tensor([[False], [True]])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("logical_and", [[False, False], [False, True]]),
        ("logical_or", [[False, True], [True, True]]),
        ("logical_xor", [[False, True], [True, False]]),
    ],
)
def test_two_operands_have_their_truth_table(name: str, expected: list[list[bool]]) -> None:
    x, y = truth()

    z = BINARY[name](x.trace(), y)

    assert z.tolist() == expected
    assert z.dtype == np.bool_
    assert not z.owns_tape


def test_logical_not_inverts() -> None:
    x, _ = truth()

    assert logical_not(x).tolist() == [[True, False]]
    assert not logical_not(x.trace()).owns_tape


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("isfinite", [True, True, False, False, False]),
        ("isinf", [False, False, True, True, False]),
        ("isnan", [False, False, False, False, True]),
    ],
)
def test_isnan_isinf_and_isfinite(name: str, expected: list[bool]) -> None:
    y = KINDS[name](tensor([-0.0, 2.5, np.inf, -np.inf, np.nan, 3e38, 3e38]).trace())

    assert y.tolist() == [*expected, *expected[:1] * 2]
    assert not y.owns_tape


def test_empty_tensors_give_empty_results() -> None:
    for kind in KINDS.values():
        assert kind(zeros((0, 3))).shape == (0, 3)
    assert logical_not(zeros((0, 3), np.bool_)).shape == (0, 3)
    for f in BINARY.values():
        assert f(zeros((0, 3), np.bool_), ones((3,), np.bool_)).shape == (0, 3)


def test_single_elements() -> None:
    assert logical_not(tensor([True])).tolist() == [False]
    assert [f(tensor([True]), tensor([True])).tolist() for f in BINARY.values()] == [[True], [True], [False]]


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_match_their_shape_rules(name: str) -> None:
    check_shape_rule(BINARY[name], ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


@pytest.mark.parametrize("name", UNARY)
def test_one_operand_matches_its_shape_rule(name: str) -> None:
    check_shape_rule(UNARY[name], ((),), ((5,),), ((2, 3, 7),), ((2, 0),))


@pytest.mark.parametrize("name", BINARY)
def test_invalid_operands_are_rejected(name: str) -> None:
    x, ints = ones((2, 3), np.bool_), tensor([1, 0, 1])

    with pytest.raises(ShapeError) as rejected:
        BINARY[name](x, ones((4,), np.bool_))
    assert str(rejected.value) == f"{name}: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but bool is expected$"):
        BINARY[name](ints, ints)
    with pytest.raises(DTypeError, match=f"^{name}: x is bool but y is int64$"):
        BINARY[name](x, ints)
    with pytest.raises(DTypeError, match=f"^{name}: y is an int but x is bool$"):
        BINARY[name](x, 1)


def test_logical_not_of_an_int_is_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^logical_not: x is int64 but bool is expected$"):
        logical_not(tensor([1, 0]))  # type: ignore[tapegrad-dtype]  # the mistake under test


@pytest.mark.parametrize("name", KINDS)
def test_isnan_of_an_int_is_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        KINDS[name](tensor([1]))


# nan_to_num


def test_nan_to_num_replaces_nan_and_infinity() -> None:
    x = tensor([1.5, np.nan, np.inf, -np.inf])

    np.testing.assert_array_equal(nan_to_num(x).numpy(), np.nan_to_num(x.numpy()))
    assert nan_to_num(x, nan=7, posinf=8, neginf=9).tolist() == [1.5, 7, 8, 9]
    assert nan_to_num(x, nan=np.inf).tolist()[1] == np.inf
    assert nan_to_num(x, posinf=1e3).dtype == np.float32
    assert nan_to_num(zeros((0, 3))).shape == (0, 3)


def test_the_gradient_of_nan_to_num_passes_finite_elements() -> None:
    x: Any = tensor([1.5, np.nan, np.inf, -np.inf])

    assert nan_to_num(x.trace()).sum().backward()[x].tolist() == [1, 0, 0, 0]
    check_gradients(lambda x: nan_to_num(x, nan=2) * x, normal((2, 3), dtype=np.float64, rng=0), order=2)


def test_nan_to_num_matches_its_shape_rule_and_rejects_ints() -> None:
    check_shape_rule(nan_to_num, ((),), ((5,),), ((2, 3, 7),), ((2, 0),))
    with pytest.raises(DTypeError, match=r"^nan_to_num: x is int64 but floating is expected$"):
        nan_to_num(tensor([1]))  # type: ignore[tapegrad-dtype]  # the mistake under test


def test_nan_to_num_equals_numpy_in_edge_cases() -> None:
    edges = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)

    np.testing.assert_array_equal(nan_to_num(tensor(edges)).numpy(), np.nan_to_num(edges))
