"""Elementwise ops: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError
from tapegrad.ops import astype, exp, log, neg, normal, positive, relu, scale, tanh, tensor, zeros
from tapegrad.ops.elementwise import broadcast_shape
from tapegrad.testing import check_gradients, check_shape_rule

UNARY: dict[str, Callable[..., Any]] = {
    "neg": neg,
    "positive": positive,
    "exp": exp,
    "log": log,
    "tanh": tanh,
    "relu": relu,
}
SMOOTH = {name: f for name, f in UNARY.items() if name != "relu"}
OF_FLOATS = ["exp", "log", "tanh"]
EDGES = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def above_zero(*shape: int, seed: int = 0) -> Any:
    return exp(real(*shape, seed=seed))


# One operand


def test_empty_tensors_give_empty_results() -> None:
    for f in UNARY.values():
        assert f(zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("neg", 2.5, -2.5),
        ("positive", -2.5, -2.5),
        ("exp", 1.0, math.e),
        ("log", 10.0, math.log(10)),
        ("tanh", 0.5, math.tanh(0.5)),
        ("relu", 2.5, 2.5),
        ("relu", -2.5, 0.0),
    ],
)
def test_one_operand_equals_pythons_math(name: str, x: float, expected: float) -> None:
    assert UNARY[name](tensor([x], np.float64)).item() == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("name", "of_numpy"),
    [
        ("neg", np.negative),
        ("positive", np.positive),
        ("exp", np.exp),
        ("log", np.log),
        ("tanh", np.tanh),
        ("relu", lambda x: np.maximum(x, 0)),
    ],
)
@np.errstate(all="ignore")
def test_one_operand_equals_numpy_in_edge_cases(name: str, of_numpy: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(UNARY[name](tensor(EDGES)).numpy(), of_numpy(EDGES))


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("shape", [(2, 3), (), (1,), (0, 3)], ids=str)
def test_gradients_of_smooth_ops_can_be_differentiated(name: str, shape: tuple[int, ...]) -> None:
    check_gradients(SMOOTH[name], above_zero(*shape), order=2)


def test_third_derivatives() -> None:
    check_gradients(tanh, real(2, 3), order=3, rtol=1e-4)


@pytest.mark.parametrize("name", UNARY)
def test_one_operand_matches_its_shape_rule(name: str) -> None:
    check_shape_rule(UNARY[name], ((),), ((5,),), ((2, 3, 7),), ((2, 0),))


def test_relu_passes_the_gradient_of_positive_elements() -> None:
    check_gradients(relu, real(3, 5))
    check_gradients(lambda x: relu(x) * x, real(3, 5), order=2)


def test_the_derivative_of_relu_at_zero_is_zero() -> None:
    x: Any = tensor([0.0, -0.0, 1.0, -1.0])

    assert relu(x.trace()).sum().backward()[x].tolist() == [0, 0, 1, 0]


def test_relu_keeps_int_dtypes_nan_and_infinity() -> None:
    assert relu(tensor([-3, 4])).tolist() == [0, 4]
    assert relu(tensor([-3, 4], np.int8)).dtype == np.int8
    assert relu(tensor([np.inf, -np.inf])).tolist() == [math.inf, 0]
    assert math.isnan(relu(tensor(np.nan)).item())


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_relu_of_many_elements_equals_that_of_few(dtype: Any) -> None:
    few = np.array([-3, 4, 0, -1, 2], dtype)
    if few.dtype.kind == "f":
        few[:3] = np.nan, np.inf, -np.inf
    many = np.repeat(few[None], 700, axis=0)

    for x in (many, many.T):
        y = relu(tensor(x))
        assert y.dtype == dtype
        np.testing.assert_array_equal(y.numpy(), np.maximum(x, 0))
    np.testing.assert_array_equal(relu(tensor(many)).numpy()[:1], relu(tensor(few[None])).numpy())


def test_a_bool_has_no_sign_and_is_rejected() -> None:
    for name, f in (("neg", neg), ("positive", positive), ("relu", relu)):
        with pytest.raises(DTypeError, match=f"^{name}: x is bool but number is expected$"):
            f(tensor([True]))  # type: ignore[tapegrad-dtype]  # the mistake under test


@pytest.mark.parametrize("name", OF_FLOATS)
def test_ints_are_rejected_where_numpy_converts_them_to_floats(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        UNARY[name](tensor([1, 2]))


@pytest.mark.parametrize("name", UNARY)
def test_non_tensors_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=rf"^{name}: x is an ndarray, not a tensor; tg\.tensor\(x\) makes one$"):
        UNARY[name](np.ones(3))
    with pytest.raises(DTypeError, match=f"^{name}: x is a float, not a tensor$"):
        UNARY[name](1.0)


def test_exp_overflows_to_infinity_with_numpys_warning() -> None:
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert exp(tensor([89.0])).tolist() == [math.inf]
    assert exp(tensor([-1000.0])).tolist() == [0]
    assert exp(tensor([-np.inf])).tolist() == [0]


def test_log_of_zero_is_minus_infinity_and_of_less_nan_with_numpys_warnings() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert log(tensor([0.0])).tolist() == [-math.inf]
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert math.isnan(log(tensor([-1.0])).item())


def test_the_derivative_of_a_saturated_tanh_is_zero() -> None:
    x: Any = tensor([100.0, -np.inf])
    y = tanh(x.trace())

    assert y.tolist() == [1, -1]
    assert y.sum().backward()[x].tolist() == [0, 0]


# Dtypes


def test_astype_accepts_a_dtype_but_no_string() -> None:
    words = r"^astype: dtype is the class float but a dtype of NumPy, or its scalar type, is expected$"
    given: Any = float

    with pytest.raises(DTypeError, match=words):
        astype(zeros((2,)), given)


def test_astype_converts_values_and_converts_gradients_back() -> None:
    x: Any = tensor([1.5, -2.5])

    y = astype(x.trace(), np.float64)
    grads = (y * 3).sum().backward()

    assert y.dtype == np.float64
    assert grads[x].dtype == np.float32
    assert grads[x].tolist() == [3, 3]
    assert astype(x, np.int64).tolist() == [1, -2]
    assert astype(tensor([0, 2]), np.bool_).tolist() == [False, True]


def test_conversions_of_non_finite_and_too_large_values() -> None:
    np.testing.assert_array_equal(astype(tensor(EDGES), np.float64).numpy(), EDGES.astype(np.float64))
    assert astype(tensor([7.0]), np.int8).tolist() == [7]
    assert astype(zeros((0, 3)), np.int64).shape == (0, 3)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert astype(tensor([3e38]), np.float16).tolist() == [math.inf]


def test_no_gradient_passes_through_an_int() -> None:
    x: Any = tensor([1.5, -2.5])

    grads = (astype(astype(x.trace(), np.int64), np.float32) * x.trace()).sum().backward()

    assert grads[x].tolist() == [1, -2]


def test_gradients_of_conversions() -> None:
    # Steps and tolerances of float32, through which the values go.
    check_gradients(lambda x: astype(astype(x, np.float32), np.float64), real(2, 3), eps=1e-2, rtol=1e-4)
    check_gradients(lambda x: astype(x, np.float64) * x, real(2, 3), order=2)


def test_conversion_matches_its_shape_rule() -> None:
    check_shape_rule(astype, ((2, 3),), ((),))


# scale


def test_scale_is_a_product_with_a_number() -> None:
    x = real(2, 3)

    np.testing.assert_array_equal(scale(x, factor=-1.5).numpy(), x.numpy() * -1.5)
    assert scale(tensor([2.0]), factor=0.1).dtype == np.float32
    for shape in [(2, 3), (), (0, 3)]:
        check_gradients(lambda x: scale(x, factor=-1.5) * x, real(*shape), order=2)
    check_shape_rule(scale, ((),), ((2, 3, 7),), ((2, 0),))
    with pytest.raises(DTypeError, match=r"^scale: x is int64 but floating is expected$"):
        scale(tensor([1]), factor=2)  # type: ignore[tapegrad-dtype]  # the mistake under test


@np.errstate(over="ignore")
def test_scale_equals_numpy_in_edge_cases() -> None:
    edges = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)

    np.testing.assert_array_equal(scale(tensor(edges), factor=-1.5).numpy(), edges * np.float32(-1.5))


def test_two_operands_broadcast() -> None:
    assert broadcast_shape((3, 1), (5,)) == (3, 5)


@pytest.mark.parametrize("op", [exp, log, tanh], ids=lambda op: op.__name__)
def test_the_gradient_of_a_large_operand_equals_those_of_its_parts(op: Any) -> None:
    x, dy = (normal((2**16 + 3,), dtype=np.float64, rng=seed) for seed in (0, 1))
    x = exp(x * 0.5)

    whole = op(x.trace()).backward(wrt=x, seed=dy)[x]

    for place in (slice(9), slice(-9, None)):
        part = x[place]
        found = op(part.trace()).backward(wrt=part, seed=dy[place])[part]
        np.testing.assert_allclose(whole[place].numpy(), found.numpy(), rtol=1e-6)
