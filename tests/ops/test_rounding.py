"""Rounding, abs, sign, clamp, minimum and maximum: values, ties, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import (
    abs,
    ceil,
    clamp,
    floor,
    fmax,
    fmin,
    maximum,
    minimum,
    normal,
    round,
    sign,
    tensor,
    trunc,
    zeros,
)
from tapegrad.testing import check_gradients, check_shape_rule

STEPS: dict[str, Callable[..., Any]] = {"ceil": ceil, "floor": floor, "round": round, "sign": sign, "trunc": trunc}
UNARY: dict[str, Callable[..., Any]] = {**STEPS, "abs": abs, "clamp": clamp}
BINARY: dict[str, Callable[..., Any]] = {"fmax": fmax, "fmin": fmin, "maximum": maximum, "minimum": minimum}


EDGES = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


# One operand


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("abs", [1.5, 0.5, 0, 0.5, 2.5]),
        ("ceil", [-1, 0, 0, 1, 3]),
        ("floor", [-2, -1, 0, 0, 2]),
        ("round", [-2, 0, 0, 0, 2]),
        ("sign", [-1, -1, 0, 1, 1]),
        ("trunc", [-1, 0, 0, 0, 2]),
    ],
)
def test_one_operand_equals_plain_arithmetic(name: str, expected: list[float]) -> None:
    y = UNARY[name](tensor([-1.5, -0.5, 0.0, 0.5, 2.5]))

    assert y.tolist() == expected
    assert y.dtype == np.float32


@pytest.mark.parametrize("name", UNARY)
def test_ints_are_unchanged(name: str) -> None:
    y = UNARY[name](tensor([0, 1, 1], np.int8))

    assert y.tolist() == [0, 1, 1]
    assert y.dtype == np.int8


@pytest.mark.parametrize("name", [name for name in UNARY if name != "clamp"])
def test_one_operand_equals_numpy_in_edge_cases(name: str) -> None:
    np.testing.assert_array_equal(UNARY[name](tensor(EDGES)).numpy(), getattr(np, name)(EDGES))


def test_clamp_equals_numpy_in_edge_cases() -> None:
    np.testing.assert_array_equal(clamp(tensor(EDGES), min=-1, max=100).numpy(), np.clip(EDGES, -1, 100))


@pytest.mark.parametrize("name", UNARY)
def test_infinity_and_nan_pass(name: str) -> None:
    y = UNARY[name](tensor([np.inf, np.nan])).tolist()

    assert y[0] == (1 if name == "sign" else math.inf)
    assert math.isnan(y[1])


@pytest.mark.parametrize("name", UNARY)
def test_empty_tensors_give_empty_results(name: str) -> None:
    assert UNARY[name](zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("name", STEPS)
def test_piecewise_constant_ops_give_no_tape(name: str) -> None:
    assert not STEPS[name](real(2, 3).trace()).owns_tape


@pytest.mark.parametrize("name", UNARY)
def test_one_operand_matches_its_shape_rule(name: str) -> None:
    check_shape_rule(UNARY[name], ((),), ((5,),), ((2, 3, 7),), ((2, 0),))


@pytest.mark.parametrize("name", UNARY)
def test_a_bool_is_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is bool but number is expected$"):
        UNARY[name](tensor([True]))


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)], ids=str)
def test_gradients_of_abs_and_clamp(shape: tuple[int, ...]) -> None:
    check_gradients(abs, real(*shape))
    check_gradients(lambda x: abs(x) * x, real(*shape), order=2)
    check_gradients(lambda x: clamp(x, min=-0.5, max=0.5), real(*shape))
    check_gradients(lambda x: clamp(x, min=-0.5) * x + clamp(x * x, max=0.7), real(*shape), order=2)


def test_the_operator_is_the_op() -> None:
    assert (-tensor([1.5])).__abs__().tolist() == [1.5]


def test_the_derivative_of_abs_at_zero_is_zero() -> None:
    x: Any = tensor([0.0, -0.0, 2.0, -2.0])

    assert abs(x.trace()).sum().backward()[x].tolist() == [0, 0, 1, -1]


def test_clamp_limits_values() -> None:
    x = tensor([-2.0, 0.5, 3.0])

    assert clamp(x, min=-1, max=1).tolist() == [-1, 0.5, 1]
    assert clamp(x, min=0.0).tolist() == [0, 0.5, 3]
    assert clamp(x, max=0.0).tolist() == [-2, 0, 0]
    assert clamp(x, min=1, max=-1).tolist() == [-1, -1, -1]
    assert clamp(x, max=np.float64(1)).dtype == np.float32
    assert clamp(tensor([-2, 3]), max=1).tolist() == [-2, 1]


def test_the_gradient_of_clamp_passes_on_the_closed_interval() -> None:
    x: Any = tensor([-2.0, -1.0, 0.5, 1.0, 3.0])

    assert clamp(x.trace(), min=-1, max=1).sum().backward()[x].tolist() == [0, 1, 1, 1, 0]


def test_a_bound_that_the_dtype_cannot_represent_is_rejected() -> None:
    x = tensor([1, 2])
    end: Any = np.float32(1.5)

    with pytest.raises(DTypeError, match=r"^clamp: min is a float but x is int64$"):
        clamp(x, min=0.5)  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^clamp: max is a float but x is int64$"):
        clamp(x, min=0, max=1.5)  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^clamp: max is a float but x is int64$"):
        clamp(x, max=end)


def test_a_bound_that_is_a_tensor_is_rejected() -> None:
    end: Any = tensor(0.5).trace()

    with pytest.raises(DTypeError, match=r"^clamp: min is a Tensor, not a number$"):
        clamp(tensor([1.0, 2.0]), min=end)


# Two operands


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_equal_numpy(name: str) -> None:
    x: Any = tensor([[7.5, -7.5, 2.0], [np.nan, 1.0, -3.0]])
    y: Any = tensor([2.0, 2.0, -3.0])

    np.testing.assert_array_equal(BINARY[name](x, y).numpy(), getattr(np, name)(x.numpy(), y.numpy()))
    assert BINARY[name](tensor([7, -7]), 4).dtype == np.int64
    assert BINARY[name](x, 2).dtype == np.float32


@pytest.mark.parametrize("name", BINARY)
@np.errstate(all="ignore")
def test_two_operands_equal_numpy_in_edge_cases(name: str) -> None:
    x, y = EDGES[:, None], EDGES

    np.testing.assert_array_equal(BINARY[name](tensor(x), tensor(y)).numpy(), getattr(np, name)(x, y))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("x", "y"), [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1, 5), (3, 1)), ((2, 0), (1,))], ids=str
)
def test_gradients_of_two_operands_have_the_shapes_of_the_operands(
    name: str, x: tuple[int, ...], y: tuple[int, ...]
) -> None:
    check_gradients(BINARY[name], real(*x), real(*y, seed=1))
    check_gradients(lambda x, y: BINARY[name](x, y) * x * y, real(*x), real(*y, seed=1), order=2, rtol=1e-4)


@pytest.mark.parametrize("name", BINARY)
def test_gradients_with_a_number_as_an_operand(name: str) -> None:
    check_gradients(lambda x: BINARY[name](x, 0.3) * x, real(2, 3), order=2)
    check_gradients(lambda y: BINARY[name](0.3, y) * y, real(2, 3), order=2)
    check_gradients(lambda x: BINARY[name](x, 0.5 * x + 0.2) * x, real(2, 3), order=2)


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_match_their_shape_rules(name: str) -> None:
    check_shape_rule(BINARY[name], ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


@pytest.mark.parametrize("name", BINARY)
def test_shapes_that_do_not_broadcast_are_rejected(name: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        BINARY[name](real(2, 3), real(4))

    assert str(rejected.value) == f"{name}: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"


@pytest.mark.parametrize("name", BINARY)
def test_bools_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is bool but number is expected$"):
        BINARY[name](tensor([True]), tensor([False]))


@pytest.mark.parametrize("f", [maximum, minimum, fmax, fmin])
def test_the_gradient_of_a_tie_is_split_in_half(f: Callable[..., Any]) -> None:
    x, y = tensor([1.0, 2.0, 3.0]), tensor([2.0, 2.0, 2.0])

    grads = f(x.trace(), y.trace()).sum().backward()

    larger = [0, 0.5, 1]
    assert grads[x].tolist() == (larger if f in (maximum, fmax) else larger[::-1])
    assert grads[y].tolist() == (larger[::-1] if f in (maximum, fmax) else larger)


def test_a_tensor_as_both_operands_gets_the_whole_gradient() -> None:
    x: Any = tensor([1.0, -2.0])
    traced = x.trace()

    assert maximum(traced, traced).sum().backward()[x].tolist() == [1, 1]


@pytest.mark.parametrize("f", [fmax, fmin])
def test_fmax_and_fmin_ignore_nan_and_its_gradient(f: Callable[..., Any]) -> None:
    x, y = tensor([1.0, np.nan, np.nan]), tensor([np.nan, 2.0, np.nan])

    z = f(x.trace(), y.trace())

    np.testing.assert_array_equal(z.numpy(), [1, 2, np.nan])
    grads = z.sum().backward()
    assert grads[x].tolist() == [1, 0, 0]
    assert grads[y].tolist() == [0, 1, 0]
