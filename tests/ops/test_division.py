"""Quotients and remainders: NumPy's values, gradients, shapes and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import floor_divide, fmod, normal, remainder, tensor, zeros
from tapegrad.testing import check_gradients, check_shape_rule

EDGES = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)
LEFT_OVER: dict[str, Callable[..., Any]] = {"fmod": fmod, "remainder": remainder}
DIVISIONS: dict[str, Callable[..., Any]] = {**LEFT_OVER, "floor_divide": floor_divide}


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize("name", DIVISIONS)
def test_two_operands_give_what_numpy_gives(name: str) -> None:
    x: Any = tensor([[7.5, -7.5, 2.0], [np.nan, 1.0, -3.0]])
    y: Any = tensor([2.0, 2.0, -3.0])

    np.testing.assert_array_equal(DIVISIONS[name](x, y).numpy(), getattr(np, name)(x.numpy(), y.numpy()))
    assert DIVISIONS[name](tensor([7, -7]), 4).tolist() == getattr(np, name)([7, -7], 4).tolist()
    assert DIVISIONS[name](tensor([7, -7], np.int8), 4).dtype == np.int8
    assert DIVISIONS[name](x, 2).dtype == np.float32
    assert DIVISIONS[name](zeros((0, 3)), y).shape == (0, 3)


def test_the_operators_are_pythons() -> None:
    numbers = [7.5, -7.5, 0.0]

    assert (tensor(numbers) % 2).tolist() == [n % 2 for n in numbers]
    assert (tensor(numbers) % -2).tolist() == [n % -2 for n in numbers]
    assert (7 % tensor([2.0, -3.0])).tolist() == [1, -2]
    assert (tensor(numbers) // 2).tolist() == [n // 2 for n in numbers]
    assert (7 // tensor([2, -3])).tolist() == [3, -3]


def test_the_sign_is_the_divisors_or_that_of_what_is_divided() -> None:
    x, y = tensor([7.5, -7.5, 7.5, -7.5]), tensor([2.0, 2.0, -2.0, -2.0])

    assert remainder(x, y).tolist() == [1.5, 0.5, -0.5, -1.5]
    assert fmod(x, y).tolist() == [math.fmod(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


@pytest.mark.parametrize("name", LEFT_OVER)
@pytest.mark.parametrize(
    ("x", "y"), [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1, 5), (3, 1)), ((2, 0), (1,))], ids=str
)
def test_gradients_have_the_shapes_of_the_operands(name: str, x: tuple[int, ...], y: tuple[int, ...]) -> None:
    check_gradients(LEFT_OVER[name], real(*x), real(*y, seed=1))
    check_gradients(lambda x, y: LEFT_OVER[name](x, y) * x * y, real(*x), real(*y, seed=1), order=2, rtol=1e-4)


@pytest.mark.parametrize("name", LEFT_OVER)
def test_gradients_beside_a_number(name: str) -> None:
    check_gradients(lambda x: LEFT_OVER[name](x, 0.3) * x, real(2, 3), order=2)
    check_gradients(lambda y: LEFT_OVER[name](0.3, y) * y, real(2, 3), order=2)


def test_a_quotient_has_no_tape() -> None:
    assert not floor_divide(real(2, 3).trace(), real(3).trace()).owns_tape


@pytest.mark.parametrize("name", DIVISIONS)
def test_two_operands_keep_the_law_of_rules(name: str) -> None:
    check_shape_rule(DIVISIONS[name], ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


@pytest.mark.parametrize("name", DIVISIONS)
def test_what_cannot_be_divided_is_refused(name: str) -> None:
    with pytest.raises(ShapeError) as refused:
        DIVISIONS[name](real(2, 3), real(4))
    assert str(refused.value) == f"{name}: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"
    with pytest.raises(DTypeError, match=f"^{name}: x is bool but number is expected$"):
        DIVISIONS[name](tensor([True]), tensor([False]))
    with pytest.raises(DTypeError, match=f"^{name}: x is float64 but y is int64$"):
        DIVISIONS[name](real(2), tensor([1, 2]))


def test_division_by_zero_is_numpys_with_its_warning() -> None:
    for f in (remainder, fmod):
        with pytest.warns(RuntimeWarning, match="invalid value"):
            assert math.isnan(f(tensor([1.0]), 0).item())
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert (tensor([1]) % 0).item() == 0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert (tensor([1.0, -1.0]) // 0).tolist() == [math.inf, -math.inf]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert (tensor([1]) // 0).item() == 0


@pytest.mark.parametrize("name", DIVISIONS)
@np.errstate(all="ignore")
def test_two_operands_at_their_edges_are_numpys(name: str) -> None:
    x, y = EDGES[:, None], EDGES

    np.testing.assert_array_equal(DIVISIONS[name](tensor(x), tensor(y)).numpy(), getattr(np, name)(x, y))
