"""Powers and roots: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import (
    cbrt,
    float_power,
    hypot,
    normal,
    ones,
    pow,
    reciprocal,
    rsqrt,
    sqrt,
    square,
    tensor,
    uniform,
    zeros,
)
from tapegrad.testing import check_gradients, check_shape_rule

UNARY: dict[str, Callable[..., Any]] = {
    "cbrt": cbrt,
    "reciprocal": reciprocal,
    "rsqrt": rsqrt,
    "sqrt": sqrt,
    "square": square,
}
BINARY: dict[str, Callable[..., Any]] = {"hypot": hypot, "pow": pow}


EDGES = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def positive(*shape: int, seed: int = 0) -> Any:
    return uniform(shape, low=0.4, high=3, dtype=np.float64, rng=seed)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("cbrt", 27.0, 3.0),
        ("cbrt", -8.0, -2.0),
        ("reciprocal", 4.0, 0.25),
        ("rsqrt", 16.0, 0.25),
        ("sqrt", 2.25, 1.5),
        ("square", -1.5, 2.25),
    ],
)
def test_one_operand_equals_plain_arithmetic(name: str, x: float, expected: float) -> None:
    y = UNARY[name](tensor([x]))

    assert y.tolist() == [pytest.approx(expected)]
    assert y.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "of_numpy"),
    [
        ("cbrt", np.cbrt),
        ("reciprocal", np.reciprocal),
        ("rsqrt", lambda x: 1 / np.sqrt(x)),
        ("sqrt", np.sqrt),
        ("square", np.square),
    ],
)
@np.errstate(all="ignore")
def test_one_operand_equals_numpy_in_edge_cases(name: str, of_numpy: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(UNARY[name](tensor(EDGES)).numpy(), of_numpy(EDGES))


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", [(2, 3), (), (1,), (0, 3)], ids=str)
def test_gradients_can_be_differentiated(name: str, shape: tuple[int, ...]) -> None:
    check_gradients(UNARY[name], positive(*shape), order=2, rtol=1e-4)


@pytest.mark.parametrize("name", UNARY)
def test_one_operand_matches_its_shape_rule(name: str) -> None:
    check_shape_rule(UNARY[name], ((),), ((5,),), ((2, 3, 7),), ((2, 0),))


@pytest.mark.parametrize("name", [name for name in UNARY if name != "square"])
def test_ints_are_rejected_where_numpy_converts_them_to_floats(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        UNARY[name](tensor([1, 2]))


def test_the_square_of_an_int_is_an_int_and_of_a_bool_is_rejected() -> None:
    assert square(tensor([-3, 4], np.int8)).dtype == np.int8
    assert square(tensor([-3, 4])).tolist() == [9, 16]
    with pytest.raises(DTypeError, match=r"^square: x is bool but number is expected$"):
        square(tensor([True]))  # type: ignore[tapegrad-dtype]  # the mistake under test


def test_the_root_of_a_negative_number_is_nan_with_numpys_warning() -> None:
    for f in (sqrt, rsqrt):
        with pytest.warns(RuntimeWarning, match="invalid value"):
            assert math.isnan(f(tensor([-1.0])).item())


def test_the_derivative_of_sqrt_at_zero_is_infinite() -> None:
    x: Any = tensor([0.0, 4.0])
    y = sqrt(x.trace()).sum()

    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert y.backward()[x].tolist() == [math.inf, 0.25]


def test_the_derivative_of_a_safe_sqrt_at_zero_is_zero() -> None:
    x: Any = tensor([0.0, 4.0, -0.0])

    y = sqrt(x.trace(), safe=True)

    assert y.tolist() == [0, 2, 0]
    assert y.sum().backward()[x].tolist() == [0, 0.25, 0]
    check_gradients(lambda x: sqrt(x, safe=True), positive(2, 3), order=2)


def test_division_by_zero_follows_ieee() -> None:
    for f in (rsqrt, reciprocal):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert f(tensor([0.0])).tolist() == [math.inf]


def test_the_derivative_of_cbrt_at_zero_is_infinite() -> None:
    x: Any = tensor([0.0])
    y = cbrt(x.trace()).sum()

    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert y.backward()[x].tolist() == [math.inf]


# Two operands


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("x", "y"), [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1, 5), (3, 1)), ((2, 0), (1,))], ids=str
)
def test_gradients_of_two_operands_have_the_shapes_of_the_operands(
    name: str, x: tuple[int, ...], y: tuple[int, ...]
) -> None:
    check_gradients(BINARY[name], positive(*x), real(*y, seed=1), order=2, rtol=1e-4)


@pytest.mark.parametrize("name", BINARY)
def test_gradients_with_a_number_as_an_operand(name: str) -> None:
    check_gradients(lambda x: BINARY[name](x, 1.5), positive(2, 3), order=2)
    check_gradients(lambda y: BINARY[name](2, y), positive(2, 3), order=2)
    check_gradients(lambda x: BINARY[name](x, x), positive(2, 3), order=2, rtol=1e-4)


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_match_their_shape_rules(name: str) -> None:
    check_shape_rule(BINARY[name], ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


@pytest.mark.parametrize("name", BINARY)
def test_shapes_that_do_not_broadcast_are_rejected(name: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        BINARY[name](real(2, 3), real(4))

    assert str(rejected.value) == f"{name}: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"


@pytest.mark.parametrize("name", BINARY)
@np.errstate(all="ignore")
def test_two_operands_equal_numpy_in_edge_cases(name: str) -> None:
    x, y = EDGES[:, None], EDGES

    np.testing.assert_array_equal(BINARY[name](tensor(x), tensor(y)).numpy(), getattr(np, name)(x, y))


def test_powers_equal_numpy() -> None:
    # numpy 2.4: np.pow
    x, y = positive(2, 3), real(3, seed=1)

    np.testing.assert_array_equal(pow(x, y).numpy(), np.pow(x.numpy(), y.numpy()))
    assert (tensor([3.0, -2.0]) ** 2).tolist() == [9, 4]
    assert (2 ** tensor([3.0, -2.0])).tolist() == [8, 0.25]
    assert (tensor([2.0, 3.0]) ** tensor([3.0, 2.0])).tolist() == [8, 9]
    assert (np.array([2.0], np.float32) ** tensor([3.0])).tolist() == [8]


@pytest.mark.parametrize("exponent", [-2, -1, 0, 0.5, 1, 2, 3, 4])
def test_powers_of_a_number_equal_numpy_and_keep_the_dtype(exponent: float) -> None:
    x = positive(2, 3)

    np.testing.assert_allclose((x**exponent).numpy(), np.pow(x.numpy(), exponent), rtol=1e-15)
    assert (x.astype(np.float32) ** exponent).dtype == np.float32
    check_gradients(lambda x: x**exponent, x, order=2)


def test_negative_numbers_have_integer_powers() -> None:
    check_gradients(lambda x: x**3 + x**2, -positive(2, 3), order=2)
    check_gradients(lambda x: x ** tensor([3.0, 2.0, -1.0], np.float64), -positive(2, 3), order=2)


def test_powers_of_ints_are_ints() -> None:
    x: Any = tensor([2, -3])

    assert (x**3).tolist() == [8, -27]
    assert (x**2).dtype == np.int64
    with pytest.raises(ValueError, match=r"^pow: the power -1 of an int is a fraction: float_power computes it$"):
        x**-1
    with pytest.raises(ValueError, match=r"^pow: the power -3 of an int is a fraction"):
        2 ** tensor([1, -3])


def test_a_power_of_zero_has_gradients_without_nan() -> None:
    # x ** 0 is constant, and so is 0 ** y.
    x: Any = tensor([0.0, 0.0, 2.0])
    y: Any = tensor([0.0, 2.0, 0.0])

    z = x.trace() ** y.trace()
    grads = z.sum().backward()

    assert z.tolist() == [1, 0, 1]
    assert grads[x].tolist() == [0, 0, 0]
    assert grads[y].tolist() == [0, 0, pytest.approx(math.log(2))]


def test_derivatives_of_a_power_with_exponent_zero() -> None:
    # At y = 0 the derivative by both is 1 / x; it once was x.
    check_gradients(pow, tensor([0.7, 2.0], np.float64), tensor([0.0, 1.5], np.float64), order=2)


def test_gradients_of_powers_where_a_factor_is_infinite_or_nan() -> None:
    # The derivative of x ** 0 at NaN, and that of 0 ** y below zero, were NaN.
    # torch 2.13: (x**y).sum().backward() of these
    x: Any = tensor([0.0, 0.0, 0.0, 2.0, np.nan])
    y: Any = tensor([-1.0, 0.0, 2.0, 0.0, 0.0])

    with pytest.warns(RuntimeWarning, match="divide by zero"):
        grads = (x.trace() ** y.trace()).sum().backward()

    assert grads[x].tolist() == [-math.inf, 0, 0, 0, 0]
    np.testing.assert_allclose(grads[y].numpy(), [-math.inf, 0, 0, math.log(2), math.nan])


def test_the_exponent_of_a_negative_number_has_no_gradient() -> None:
    y: Any = tensor([2.0])
    z = ((-3) ** y.trace()).sum()

    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert math.isnan(z.backward()[y].item())


def test_powers_of_bools_are_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^pow: x is bool but number is expected$"):
        pow(tensor([True]), tensor([True]))  # type: ignore[tapegrad-dtype]  # the mistake under test


def test_hypot_computed_by_hand() -> None:
    assert hypot(tensor([3.0, 5.0]), tensor([4.0, -12.0])).tolist() == [5, 13]
    assert hypot(tensor([3e30]), 4e30).item() == pytest.approx(5e30)


def test_the_gradient_of_hypot_at_zero_is_nan() -> None:
    x: Any = zeros((1,))
    z = hypot(x.trace(), 0).sum()

    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert math.isnan(z.backward()[x].item())


def test_hypot_of_ints_is_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^hypot: x is int64 but floating is expected$"):
        hypot(tensor([3]), 4)  # type: ignore[tapegrad-dtype]  # the mistake under test


# float_power


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float16, np.float32, np.float64])
def test_float_power_of_any_dtype_equals_numpy(dtype: type[Any]) -> None:
    x, y = np.array([[1], [2], [100]], dtype), np.array([0, 2, 3], dtype)

    z = float_power(tensor(x), tensor(y))

    assert z.dtype == np.float64
    np.testing.assert_allclose(z.numpy(), np.float_power(x, y), rtol=1e-15)
    np.testing.assert_array_equal(float_power(tensor(x), y).numpy(), z.numpy())
    np.testing.assert_array_equal(float_power(tensor(x), y.astype(np.int16)).numpy(), z.numpy())


def test_float_power_of_ints_accepts_negative_and_fractional_exponents() -> None:
    assert float_power(tensor([2, 4]), -1).tolist() == [0.5, 0.25]
    assert float_power(tensor([2, 4]), 0.5).tolist() == [math.sqrt(2), 2]
    assert float_power(2, tensor([3, -1])).tolist() == [8, 0.5]
    assert float_power(zeros((0, 3)), 2).shape == (0, 3)


@np.errstate(all="ignore")
def test_float_power_equals_numpy_in_edge_cases() -> None:
    x, y = EDGES[:, None], EDGES

    np.testing.assert_allclose(float_power(tensor(x), tensor(y)).numpy(), np.float_power(x, y), rtol=1e-15)


@pytest.mark.parametrize(("x", "y"), [((2, 3), (3,)), ((), (2, 3)), ((2, 1, 5), (3, 1)), ((2, 0), (1,))], ids=str)
def test_gradients_of_float_power_have_the_dtypes_of_the_operands(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    check_gradients(float_power, positive(*x), positive(*y, seed=1), order=2)
    left, right = ones(x), ones(y)
    grads = float_power(left.trace(), right.trace()).sum().backward()
    assert [grads[left].dtype, grads[right].dtype] == [np.float32, np.float32]
    assert [grads[left].shape, grads[right].shape] == [x, y]


def test_of_an_int_and_a_float_only_the_float_has_a_gradient() -> None:
    x, y = tensor([2, 3]), tensor([2.0, 1.0])

    grads = float_power(x.trace(), y.trace()).sum().backward()

    np.testing.assert_allclose(grads[y].numpy(), [4 * math.log(2), 3 * math.log(3)], rtol=1e-6)


def test_float_power_matches_its_shape_rule_and_rejects_invalid_operands() -> None:
    check_shape_rule(float_power, ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))
    with pytest.raises(ShapeError, match=r"^float_power: x \(2, 3\) and y \(4,\) do not broadcast: axis -1 is 3 in x"):
        float_power(ones((2, 3)), ones((4,)))  # type: ignore[tapegrad-shape]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^float_power: x is bool but number is expected$"):
        float_power(tensor([True]), 2)  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^float_power: y is bool but number is expected$"):
        float_power(tensor([1]), np.array([True]))
    with pytest.raises(DTypeError, match=r"^float_power: neither an int nor an int is a tensor$"):
        float_power(2, 3)  # type: ignore[tapegrad-dtype]  # the mistake under test
