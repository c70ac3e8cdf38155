"""isclose and allclose: NumPy's values, edge cases, shapes and errors."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import allclose, isclose, ones, tensor, zeros
from tapegrad.testing import check_shape_rule

EDGES = np.array([0, -0.0, 1, 1, 1 + 1e-6, 1.1, -2.5, 100, 100.001, 1e30, -1e30, math.inf, -math.inf, math.nan])
OPTIONS: list[dict[str, Any]] = [
    {},
    {"rtol": 0.2},
    {"atol": 0.5, "rtol": 0},
    {"equal_nan": True},
    {"rtol": 0, "atol": 0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_equal_numpy(options: dict[str, Any], dtype: type[Any]) -> None:
    edges = EDGES.astype(dtype)
    x, y = tensor(edges[:, None]), tensor(edges)

    close = isclose(x, y, **options)

    np.testing.assert_array_equal(close.numpy(), np.isclose(edges[:, None], edges, **options))
    assert close.dtype == np.bool_
    assert not close.owns_tape
    for one, other in product(edges, edges):
        assert allclose(tensor(one), tensor(other), **options).item() == np.allclose(one, other, **options)


def test_a_tape_is_left_and_numbers_are_compared() -> None:
    x = tensor([1.0, 2.0])

    assert isclose(x.trace(), 2.0, atol=0.5).tolist() == [False, True]
    assert isclose(2.0, x).tolist() == [False, True]
    assert allclose(x.trace(), x.numpy()).item() is True
    assert not allclose(x, 2.0).owns_tape


def test_unsigned_ints_do_not_wrap() -> None:
    x, y = tensor([1, 2, 200], np.uint8), tensor([2, 1, 100], np.uint8)

    assert isclose(x, y, atol=1.0).tolist() == [True, True, False]
    assert isclose(x, y).tolist() == [False, False, False]


def test_the_tolerance_is_relative_to_the_second_operand() -> None:
    x, y = tensor(10.0), tensor(11.0)

    assert isclose(x, y, rtol=0.095).item()
    assert not isclose(y, x, rtol=0.095).item()


def test_empty_tensors_are_close() -> None:
    assert isclose(zeros((0, 3)), zeros((3,))).shape == (0, 3)
    assert allclose(zeros((0, 3)), ones((3,))).item() is True


def test_results_match_the_shape_rules() -> None:
    cases = (((2, 3), (3,)), ((), (5,)), ((2, 1), (1, 3)), ((0,), (1,)), ((2,), (3,)))
    check_shape_rule(isclose, *cases)
    check_shape_rule(allclose, *cases)


@pytest.mark.parametrize("f", [isclose, allclose], ids=["isclose", "allclose"])
def test_other_shapes_dtypes_and_tolerances_are_rejected(f: Any) -> None:
    with pytest.raises(ShapeError, match=rf"^{f.__name__}: x \(2,\) and y \(3,\) do not broadcast: axis -1 is 2 in x"):
        f(ones(2), ones(3))
    with pytest.raises(DTypeError, match=f"^{f.__name__}: x is bool but number is expected$"):
        f(tensor([True]), tensor([True]))
    with pytest.raises(DTypeError, match=f"^{f.__name__}: x is float32 but y is float64$"):
        f(ones(2), ones(2, np.float64))
    with pytest.raises(ValueError, match=f"^{f.__name__}: rtol is -0.1 but must be at least 0$"):
        f(ones(2), ones(2), rtol=-0.1)
    with pytest.raises(ValueError, match=f"^{f.__name__}: atol is nan but must be at least 0$"):
        f(ones(2), ones(2), atol=math.nan)
    with pytest.raises(DTypeError, match=f"^{f.__name__}: atol is '1' but a number is expected$"):
        f(ones(2), ones(2), atol="1")
