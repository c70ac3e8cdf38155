"""signbit, copysign and heaviside: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import copysign, heaviside, normal, signbit, tensor, zeros
from tapegrad.testing import check_gradients, check_shape_rule

EDGES = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)
BINARY: dict[str, Callable[..., Any]] = {"copysign": copysign, "heaviside": heaviside}


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def test_signbit_is_set_for_minus_zero() -> None:
    y = signbit(tensor([1.5, 0.0, -0.0, -1.5, -np.inf, math.copysign(math.nan, -1)]).trace())

    assert y.tolist() == [False, False, True, True, True, True]
    assert not y.owns_tape
    assert signbit(zeros((0, 3))).shape == (0, 3)
    check_shape_rule(signbit, ((),), ((2, 3, 7),), ((2, 0),))
    with pytest.raises(DTypeError, match=r"^signbit: x is int64 but floating is expected$"):
        signbit(tensor([1]))  # type: ignore[tapegrad-dtype]  # the mistake under test


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_equal_numpy(name: str) -> None:
    x: Any = tensor([[7.5, -7.5, 0.0], [np.nan, -0.0, np.inf]])
    y: Any = tensor([-2.0, 2.0, -0.0])

    np.testing.assert_array_equal(BINARY[name](x, y).numpy(), getattr(np, name)(x.numpy(), y.numpy()))
    assert BINARY[name](x, 2).dtype == np.float32


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("x", "y"), [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1, 5), (3, 1)), ((2, 0), (1,))], ids=str
)
def test_gradients_have_the_shapes_of_the_operands(name: str, x: tuple[int, ...], y: tuple[int, ...]) -> None:
    check_gradients(BINARY[name], real(*x), real(*y, seed=1))
    check_gradients(lambda x, y: BINARY[name](x, y) * x * y, real(*x), real(*y, seed=1), order=2, rtol=1e-4)
    check_gradients(lambda x: BINARY[name](x, 0.3) * x + BINARY[name](0.3, x) * x, real(*x), order=2)


def test_heaviside_at_zero_is_its_second_operand_with_its_gradient() -> None:
    x, y = tensor([-1.0, 0.0, 1.0]), tensor(0.5)

    z = heaviside(x.trace(), y.trace())

    assert z.tolist() == [0, 0.5, 1]
    grads = (z * tensor([3.0, 5.0, 7.0])).sum().backward()
    assert grads[y].item() == 5
    assert grads[x].tolist() == [0, 0, 0]


def test_the_derivative_of_copysign_at_zero_is_zero() -> None:
    x, y = tensor([0.0, 2.0, -2.0]), tensor([-1.0, -0.0, -1.0])

    z = copysign(x.trace(), y.trace())

    assert z.tolist() == [0, -2, -2]
    grads = z.sum().backward()
    assert grads[x].tolist() == [0, -1, 1]
    assert grads[y].tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_match_their_shape_rules(name: str) -> None:
    check_shape_rule(BINARY[name], ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


@pytest.mark.parametrize("name", BINARY)
def test_invalid_arguments_are_rejected(name: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        BINARY[name](real(2, 3), real(4))
    assert str(rejected.value) == f"{name}: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        BINARY[name](tensor([1]), 2)
    with pytest.raises(DTypeError, match=f"^{name}: y is int64 but floating is expected$"):
        BINARY[name](2, tensor([1]))


@pytest.mark.parametrize("name", BINARY)
@np.errstate(all="ignore")
def test_two_operands_equal_numpy_in_edge_cases(name: str) -> None:
    x, y = EDGES[:, None], EDGES

    np.testing.assert_array_equal(BINARY[name](tensor(x), tensor(y)).numpy(), getattr(np, name)(x, y))


def test_signs_equal_numpy_in_edge_cases() -> None:
    np.testing.assert_array_equal(signbit(tensor(EDGES)).numpy(), np.signbit(EDGES))
