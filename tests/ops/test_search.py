"""searchsorted and isin: NumPy's values, edge cases, shapes and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import isin, ones, searchsorted, tensor, unique, zeros
from tapegrad.ops.search import _searched
from tapegrad.testing import check_shape_rule

EDGES = np.array([0, 0, 1, -2.5, 2.5, 100, 1e30, -1e30, math.inf, -math.inf, math.nan, math.nan], np.float32)
SIDES: Any = ["left", "right"]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 12])
def test_positions_equal_numpy(side: Any, length: int) -> None:
    ordered, values = np.sort(EDGES[:length]), EDGES.reshape(3, 4)

    found = searchsorted(tensor(ordered), tensor(values).trace(), side=side)

    expected = np.searchsorted(ordered, values, side)
    np.testing.assert_array_equal(found.numpy(), expected)
    np.testing.assert_array_equal(_searched(tensor(ordered), tensor(values), side).numpy(), expected)
    assert found.dtype == np.int64
    assert not found.owns_tape


@pytest.mark.parametrize("side", SIDES)
def test_positions_of_ints_equal_numpy(side: Any) -> None:
    ordered, values = np.array([-3, 1, 1, 4, 9]), np.arange(-5, 12)

    expected = np.searchsorted(ordered, values, side)
    np.testing.assert_array_equal(searchsorted(tensor(ordered), tensor(values), side=side).numpy(), expected)
    np.testing.assert_array_equal(_searched(tensor(ordered), tensor(values), side).numpy(), expected)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("values", [[], [0.0], [math.nan, 100.0, 1.0], [math.inf, -1e30, 3.0, 3.0]], ids=str)
def test_membership_equals_numpy(invert: bool, values: list[float]) -> None:  # noqa: FBT001  # a parameter of the test
    x, among = tensor(EDGES.reshape(3, 4)), np.array(values, np.float32)

    found = isin(x.trace(), tensor(among), invert=invert)

    np.testing.assert_array_equal(found.numpy(), np.isin(x.numpy(), among, invert=invert))
    assert found.dtype == np.bool_
    assert not found.owns_tape


def test_membership_of_ints_and_bools() -> None:
    assert isin(tensor([[3, 1], [7, 0]]), tensor([[7], [3]])).tolist() == [[True, False], [True, False]]
    assert isin(tensor([True, False]), tensor([False])).tolist() == [False, True]


def test_empty_operands_and_single_elements() -> None:
    assert searchsorted(zeros((0,)), tensor(1.0)).item() == 0
    assert searchsorted(ones(1), zeros((2, 0))).shape == (2, 0)
    assert isin(zeros((0, 2)), ones(1)).shape == (0, 2)
    assert isin(tensor(1.0), zeros((0,))).item() is False


def test_results_match_the_shape_rules() -> None:
    check_shape_rule(searchsorted, ((5,), (2, 3)), ((0,), ()), ((1,), (0, 7)))
    check_shape_rule(isin, ((2, 3), (5,)), ((), (2, 3)), ((0,), ()))


def test_other_shapes_dtypes_and_sides_are_rejected() -> None:
    matrix: Any = ones((2, 3))
    other: Any = tensor([1])
    with pytest.raises(ShapeError, match=r"^searchsorted: x \(2, 3\) has rank 2, not 1$"):
        searchsorted(matrix, ones(2))
    with pytest.raises(DTypeError, match=r"^searchsorted: x is float32 but values is int64$"):
        searchsorted(ones(2), other)
    with pytest.raises(DTypeError, match=r"^isin: x is float32 but values is int64$"):
        isin(ones(2), other)
    middle: Any = "middle"
    with pytest.raises(ValueError, match=r"^searchsorted: side is 'middle' but 'left' or 'right' is expected$"):
        searchsorted(ones(2), ones(2), side=middle)


def test_distinct_elements_equal_numpy() -> None:
    for values in (EDGES, EDGES.reshape(3, 4), np.array([[3, 1], [1, 3]]), np.array([True, False, True]), EDGES[:0]):
        found = unique(tensor(values).trace())
        np.testing.assert_array_equal(found.numpy(), np.unique(values))
        assert found.dtype == values.dtype
        assert not found.owns_tape
    assert unique(tensor(3.0)).tolist() == [3.0]
    check_shape_rule(unique, ((2, 3),), ((),), ((0, 7),))
