"""Piecewise activations: values, bounds, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError
from tapegrad.ops import hardswish, hardtanh, normal, relu6, tensor
from tapegrad.testing import check_gradients, check_shape_rule

PIECEWISE: dict[str, Callable[..., Any]] = {"hardswish": hardswish, "hardtanh": hardtanh, "relu6": relu6}
# torch 2.13: F.hardswish(x), ... and their gradients of X
X = [math.inf, math.nan, 100.0, 100.0, 6.0, 3.5, 3.0, 1.0, 0.0, -1.0, -3.0, -5.0]
VALUES: dict[str, list[float]] = {
    "hardswish": [math.inf, math.nan, 100, 100, 6, 3.5, 3, 2 / 3, 0, -1 / 3, 0, 0],
    "hardtanh": [1, math.nan, 1, 1, 1, 1, 1, 1, 0, -1, -1, -1],
    "relu6": [6, math.nan, 6, 6, 6, 3.5, 3, 1, 0, 0, 0, 0],
}
DERIVATIVES: dict[str, list[float]] = {
    "hardswish": [1, math.nan, 1, 1, 1, 1, 1, 5 / 6, 0.5, 1 / 6, 0, 0],
    "hardtanh": [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    "relu6": [0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0],
}


def real(*shape: int) -> Any:
    return normal(shape, dtype=np.float64, rng=0)


@pytest.mark.parametrize("name", PIECEWISE)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_values_and_derivatives_equal_torch(name: str) -> None:
    x: Any = tensor(X, np.float64)

    np.testing.assert_allclose(PIECEWISE[name](x).numpy(), VALUES[name], rtol=1e-15)
    np.testing.assert_allclose(PIECEWISE[name](x.trace()).sum().backward()[x].numpy(), DERIVATIVES[name], rtol=1e-15)


def test_hardswish_of_minus_infinity_is_zero() -> None:
    x: Any = tensor([-math.inf])

    assert hardswish(x).tolist() == [0]
    assert hardswish(x.trace()).sum().backward()[x].tolist() == [0]


def test_other_bounds_of_hardtanh() -> None:
    x: Any = tensor([-3.0, -2.0, 0.25, 0.5, 2.0])

    assert hardtanh(x, -2.0, 0.5).tolist() == [-2, -2, 0.25, 0.5, 0.5]
    assert hardtanh(x.trace(), -2.0, 0.5).sum().backward()[x].tolist() == [0, 0, 1, 0, 0]
    assert hardtanh(x, min=1.0, max=1.0).tolist() == [1] * 5
    with pytest.raises(ValueError, match=r"^hardtanh: min is 2\.0 but max is 1\.0, which is below$"):
        hardtanh(x, 2.0, 1.0)


@pytest.mark.parametrize("name", PIECEWISE)
@pytest.mark.parametrize("shape", [(2, 3), (), (1,), (0, 3)], ids=str)
def test_gradients_can_be_differentiated(name: str, shape: tuple[int, ...]) -> None:
    check_gradients(PIECEWISE[name], real(*shape) * 2, order=2)
    check_gradients(lambda x: hardtanh(x, -0.5, 2.0), real(*shape), order=2)


@pytest.mark.parametrize("name", PIECEWISE)
def test_a_piecewise_activation_matches_its_shape_rule_and_rejects_ints(name: str) -> None:
    check_shape_rule(PIECEWISE[name], ((),), ((5,),), ((2, 3, 7),), ((2, 0),))
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        PIECEWISE[name](tensor([1, 2]))


def test_bounds_of_hardtanh_are_no_bools() -> None:
    with pytest.raises(DTypeError, match=r"^hardtanh: max is True but a number is expected$"):
        hardtanh(tensor([1.0, 2.0]), max=True)  # type: ignore[arg-type]  # under test
