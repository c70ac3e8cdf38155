"""Comparisons and `where`: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import equal, greater, greater_equal, less, less_equal, normal, not_equal, ones, tensor, where
from tapegrad.testing import check_gradients, check_shape_rule

COMPARISONS: dict[str, Callable[..., Any]] = {
    "equal": equal,
    "not_equal": not_equal,
    "less": less,
    "less_equal": less_equal,
    "greater": greater,
    "greater_equal": greater_equal,
}


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_equal_numpy(name: str) -> None:
    x: Any = tensor([[1.0, 2.0, 3e38], [np.nan, np.inf, -0.0]])
    y: Any = tensor([2.0, 2.0, 0.0])

    result = COMPARISONS[name](x.trace(), y)

    np.testing.assert_array_equal(result.numpy(), getattr(np, name)(x.numpy(), y.numpy()))
    assert result.dtype == np.bool_
    assert not result.owns_tape


@pytest.mark.parametrize("name", COMPARISONS)
def test_empty_tensors_and_single_elements_compare(name: str) -> None:
    assert COMPARISONS[name](ones((0, 3)), ones((3,))).shape == (0, 3)
    assert COMPARISONS[name](tensor([2.0]), 2).tolist() == [name.endswith("equal") and name != "not_equal"]


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_match_their_shape_rules(name: str) -> None:
    check_shape_rule(COMPARISONS[name], ((2, 3), (3,)), ((), (5,)), ((2, 1), (1, 3)), ((0,), (1,)), ((2,), (3,)))


@pytest.mark.parametrize("name", COMPARISONS)
def test_shapes_that_do_not_broadcast_are_rejected(name: str) -> None:
    x, y = real(2, 3), real(4)

    with pytest.raises(ShapeError) as rejected:
        COMPARISONS[name](x, y)

    assert str(rejected.value) == f"{name}: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"


@pytest.mark.parametrize("name", COMPARISONS)
def test_mixed_dtypes_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is float32 but y is int64$"):
        COMPARISONS[name](ones((3,)), tensor([1, 2, 3]))


# where


def test_where_selects_by_the_condition() -> None:
    condition: Any = tensor([True, False, True])

    assert where(condition, tensor([1.0, 2.0, 3.0]), tensor([4.0, 5.0, 6.0])).tolist() == [1, 5, 3]
    assert where(condition, tensor([[1.0], [2.0]]), 0).tolist() == [[1, 0, 1], [2, 0, 2]]
    assert where(condition, np.float32(7), tensor(0.0)).tolist() == [7, 0, 7]
    assert where(ones((), np.bool_), tensor([1.0]), tensor([2.0])).tolist() == [1]


def test_where_of_two_numbers_is_float32() -> None:
    condition = tensor([[True, False]])

    assert where(condition, 1.0, 0).tolist() == [[1.0, 0.0]]
    assert where(condition, 2, 0.5).dtype == np.float32
    for x, y, kinds in (
        (1, 0, "an int nor an int"),
        (1.0, True, "a float nor a bool"),
        (1.0, np.float64(2), "a float nor a float64"),
    ):
        with pytest.raises(DTypeError, match=f"^where: neither {kinds} is a tensor$"):
            where(condition, x, y)  # type: ignore[tapegrad-dtype]  # the mistakes under test


def test_unselected_values_do_not_affect_the_gradient() -> None:
    # 0 * inf would be NaN.
    condition: Any = tensor([True, False, False, True])
    x: Any = tensor([np.inf, np.nan, -np.inf, 3e38])

    y = where(condition, x.trace(), 0)

    assert y.tolist() == [math.inf, 0, 0, pytest.approx(3e38)]
    assert y.sum().backward()[x].tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("condition", "x", "y"),
    [((2, 3), (2, 3), (2, 3)), ((3,), (2, 1), ()), ((2, 1), (3,), (2, 3)), ((), (3,), (2, 1)), ((0, 3), (3,), (1, 1))],
    ids=str,
)
def test_gradients_of_where_have_the_shapes_of_the_operands(
    condition: tuple[int, ...], x: tuple[int, ...], y: tuple[int, ...]
) -> None:
    chosen = real(*condition, seed=2) > 0

    check_gradients(lambda x, y: where(chosen, x, y), real(*x), real(*y, seed=1))
    check_gradients(lambda x, y: where(chosen, x * x, y * x), real(*x), real(*y, seed=1), order=2)


def test_gradients_of_where_with_numbers_and_equal_operands() -> None:
    check_gradients(lambda x: where(x > 0.1, x, 0), real(3, 5))
    check_gradients(lambda x: where(x > 0.1, 1, x * x), real(3, 5), order=2)
    check_gradients(lambda x: where(x > 0.1, x, x * x), real(3, 5), order=2)


def test_where_matches_its_shape_rule() -> None:
    check_shape_rule(
        where, ((2, 3), (2, 3), (2, 3)), ((3,), (2, 1), ()), ((1,), (5,), (1,)), ((0,), (1,), ()), ((2,), (3,), (1,))
    )


def test_a_taped_condition_gets_no_gradient_and_gives_no_tape() -> None:
    condition = tensor([True, False]).trace()

    assert not where(condition, ones((2,)), 0).owns_tape


def test_a_condition_that_is_not_bool_is_rejected() -> None:
    x, ints = real(2), cast("Any", tensor([1, 0]))
    array: Any = np.array([True, False])

    with pytest.raises(DTypeError, match=r"^where: condition is int64 but bool is expected$"):
        where(ints, x, x)
    with pytest.raises(DTypeError, match=r"^where: condition is int64 but bool is expected$"):
        where(ints, x, cast("Any", tensor([True, False])))
    with pytest.raises(
        DTypeError, match=r"^where: condition is an ndarray, not a tensor; tg\.tensor\(condition\) makes one$"
    ):
        where(array, x, x)


def test_where_of_mixed_dtypes_is_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^where: x is float32 but y is float64$"):
        where(tensor([True]), ones((1,)), real(1))


def test_shapes_that_do_not_broadcast_are_rejected_by_where() -> None:
    condition, x, y = tensor([True]), real(3), real(4)

    with pytest.raises(ShapeError) as rejected:
        where(condition, x, y)

    assert str(rejected.value) == "where: x (3,) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"
