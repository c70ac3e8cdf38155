"""Reductions: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import max, mean, min, normal, prod, sum, tensor, zeros
from tapegrad.testing import check_gradients, check_shape_rule

REDUCTIONS: dict[str, Callable[..., Any]] = {"sum": sum, "mean": mean, "max": max, "min": min, "prod": prod}
AXES = [None, 0, 1, -1, (0,), (0, 2), (-1, 0), (0, 1, 2), ()]


ROWS = np.array(
    [[0, 0, 2], [3, 3, 3], [np.inf, -np.inf, 100], [-np.inf, -np.inf, 1e38], [1, np.nan, np.inf]], np.float32
)


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize(
    ("name", "total", "rows"),
    [
        ("sum", 21.0, [6, 15]),
        ("mean", 3.5, [2, 5]),
        ("max", 6.0, [3, 6]),
        ("min", 1.0, [1, 4]),
        ("prod", 720.0, [6, 120]),
    ],
)
def test_values_computed_by_hand(name: str, total: float, rows: list[float]) -> None:
    x: Any = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    assert REDUCTIONS[name](x).item() == total
    assert REDUCTIONS[name](x, 1).tolist() == rows
    assert REDUCTIONS[name](x, axis=-1, keepdims=True).shape == (2, 1)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("axis", "keepdims"), list(product(AXES, [False, True])), ids=str)
def test_every_choice_of_axes_equals_numpy_and_has_its_gradient(name: str, axis: Any, keepdims: bool) -> None:  # noqa: FBT001  # a parameter
    f, x = REDUCTIONS[name], real(2, 3, 5)

    np.testing.assert_allclose(
        f(x, axis, keepdims=keepdims).numpy(), getattr(np, name)(x.numpy(), axis=axis, keepdims=keepdims), rtol=1e-13
    )
    check_gradients(lambda x: f(x, axis, keepdims=keepdims), x)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf - inf
def test_rows_with_zeros_ties_infinities_and_nan_equal_numpy(name: str) -> None:
    np.testing.assert_allclose(REDUCTIONS[name](tensor(ROWS), 1).numpy(), getattr(np, name)(ROWS, axis=1), rtol=1e-6)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_gradients_can_be_differentiated(name: str) -> None:
    f, x = REDUCTIONS[name], real(2, 3)

    check_gradients(f, x, order=2)
    check_gradients(lambda x: f(x * x, 0) * f(x, 1, keepdims=True), x, order=2)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_results_match_the_shape_rules(name: str) -> None:
    check_shape_rule(
        REDUCTIONS[name],
        *({"x": (2, 3, 7), "axis": axis, "keepdims": keep} for axis, keep in product(AXES, [False, True])),
        {"x": (0, 3)},
        {"x": (0, 3), "axis": 1},
        {"x": ()},
        {"x": (3,), "axis": 1},
    )


@pytest.mark.parametrize("name", REDUCTIONS)
def test_missing_axes_are_rejected(name: str) -> None:
    f, x = REDUCTIONS[name], real(2, 3)

    with pytest.raises(ShapeError, match=rf"^{name}: axis 2 is out of range for x \(2, 3\)$"):
        f(x, 2)
    with pytest.raises(ShapeError, match=rf"^{name}: axis -3 is out of range for x \(2, 3\)$"):
        f(x, (0, -3))
    with pytest.raises(ShapeError, match=rf"^{name}: axis \(1, -1\) names an axis of x \(2, 3\) twice$"):
        f(x, (1, -1))
    for axis in (0, -1, (0,)):  # NumPy overlooks these
        with pytest.raises(
            ShapeError, match=rf"^{name}: axis {axis if isinstance(axis, int) else 0} is out of range for x \(\)$"
        ):
            f(real(), axis)


def test_a_scalar_reduces_to_itself() -> None:
    for f in REDUCTIONS.values():
        assert f(real()).shape == ()
        check_gradients(f, real(), order=2)


def test_an_empty_sum_is_zero_a_product_one_and_a_mean_nan() -> None:
    x = zeros((0, 3), np.float64)

    assert sum(x, 0).tolist() == [0, 0, 0]
    assert all(math.isnan(n) for n in mean(x, 0).tolist())
    assert math.isnan(mean(x).item())
    assert mean(x, 1).shape == (0,)
    assert prod(x, 0).tolist() == [1, 1, 1]
    check_gradients(lambda x: sum(x, 0), x)
    check_gradients(lambda x: prod(x, 0), x)
    check_gradients(mean, x)


@pytest.mark.parametrize("name", ["max", "min"])
def test_an_empty_extreme_is_rejected(name: str) -> None:
    f, x = REDUCTIONS[name], zeros((0, 3))

    with pytest.raises(ShapeError, match=rf"^{name}: x \(0, 3\) has no element along axis 0$"):
        f(x)
    with pytest.raises(ShapeError, match=rf"^{name}: x \(0, 3\) has no element along axis 0$"):
        f(x, (0, 1))

    assert f(x, 1).shape == (0,)


def test_ties_share_the_gradient_of_a_max() -> None:
    x: Any = tensor([[2.0, 7.0, 7.0], [7.0, 1.0, 0.0]])

    over_rows = max(x.trace(), 1).sum().backward()[x]
    over_all = max(x.trace()).backward()[x]

    assert over_rows.tolist() == [[0, 0.5, 0.5], [1, 0, 0]]
    np.testing.assert_allclose(over_all.numpy(), np.array([[0, 1, 1], [1, 0, 0]]) / 3, rtol=1e-6)


def test_ties_share_the_gradient_of_a_min() -> None:
    x: Any = tensor([[2.0, 7.0, 2.0], [1.0, 1.0, 0.0]])

    assert min(x.trace(), 1).sum().backward()[x].tolist() == [[0.5, 0, 0.5], [0, 0, 1]]


@pytest.mark.parametrize("zeroes", [(1,), (0, 2), (0, 1, 2)], ids=str)
def test_the_gradient_of_a_product_is_right_with_zeros(zeroes: tuple[int, ...]) -> None:
    x = real(4).at_set(np.array(zeroes), 0.0)

    # By hand: with one zero only its own gradient is left; with more none is.
    others = [math.prod(n for j, n in enumerate(x.tolist()) if j != i) for i in range(4)]
    np.testing.assert_allclose(prod(x.trace()).backward()[x].numpy(), others)
    check_gradients(prod, x, order=2)


def test_max_of_infinities_and_nan() -> None:
    assert max(tensor([-np.inf, 3.0])).item() == 3
    assert max(tensor([-np.inf, -np.inf])).item() == -math.inf
    assert math.isnan(max(tensor([np.nan, 3.0])).item())


def test_a_mean_of_ints_is_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^mean: x is int64 but floating or bool is expected$"):
        mean(tensor([1, 2]))  # type: ignore[tapegrad-dtype]  # the mistake under test


def test_a_product_of_bools_is_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^prod: x is bool but number is expected$"):
        REDUCTIONS["prod"](tensor([True, False]))


def test_sums_of_bools_count_and_means_are_fractions() -> None:
    x = tensor([[True, False, True], [False, False, True]])
    values: Any = x.numpy()  # NumPy's types ask for a literal `keepdims`

    for axis, keepdims in [(None, False), (0, False), (1, True), ((0, 1), False), (-1, False)]:
        counted, fractions = sum(x, axis, keepdims=keepdims), mean(x, axis, keepdims=keepdims)
        assert [counted.dtype, fractions.dtype] == ["int64", "float32"]
        np.testing.assert_array_equal(counted.numpy(), values.sum(axis, keepdims=keepdims))
        np.testing.assert_allclose(fractions.numpy(), values.mean(axis, keepdims=keepdims), rtol=1e-7)
    assert sum(tensor(np.ones(300, np.bool_))).item() == 300
    assert sum(tensor(np.ones((0, 3), np.bool_)), 0).tolist() == [0, 0, 0]
    assert math.isnan(mean(tensor(np.ones(0, np.bool_))).item())


def test_sums_and_extremes_of_ints_are_ints() -> None:
    assert sum(tensor([1, 2])).dtype == np.int64
    assert sum(tensor([1, 2], np.int8)).dtype == np.int8
    assert sum(tensor([1, 2], np.uint32), 0, keepdims=True).dtype == np.uint32
    assert max(tensor([1, 2], np.int8)).dtype == np.int8
    assert prod(tensor([2, 3])).dtype == np.int64
    assert min(tensor([2, 3])).item() == 2


def test_the_mean_of_large_numbers_keeps_the_dtype() -> None:
    x: Any = tensor([3e38, 1e38], np.float32)

    assert mean(x / 2).dtype == np.float32
    assert mean(x / 2).item() == pytest.approx(1e38)
