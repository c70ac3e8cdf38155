"""Exponentials, logarithms and the error function: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import (
    erf,
    exp2,
    expm1,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    normal,
    safe_log,
    tensor,
    uniform,
    zeros,
)
from tapegrad.testing import check_gradients, check_shape_rule

UNARY: dict[str, Callable[..., Any]] = {
    "erf": erf,
    "exp2": exp2,
    "expm1": expm1,
    "log10": log10,
    "log1p": log1p,
    "log2": log2,
}

EDGES = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)
SUMS = [(logaddexp, np.logaddexp, math.log(2)), (logaddexp2, np.logaddexp2, 1)]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def positive(*shape: int) -> Any:
    return uniform(shape, low=0.3, high=3, dtype=np.float64, rng=0)


@pytest.mark.parametrize("name", UNARY)
def test_values_equal_those_of_pythons_math(name: str) -> None:
    x = positive(2, 3)

    y = UNARY[name](x)

    of_python = getattr(math, name)
    assert y.numpy().ravel().tolist() == pytest.approx([of_python(v) for v in x.numpy().ravel()], rel=1e-14)
    assert UNARY[name](x.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("name", [name for name in UNARY if name != "erf"])
@np.errstate(all="ignore")
def test_edge_cases_equal_numpy(name: str) -> None:
    np.testing.assert_array_equal(UNARY[name](tensor(EDGES)).numpy(), getattr(np, name)(EDGES))


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", [(2, 3), (), (1,), (0, 3)], ids=str)
def test_gradients_can_be_differentiated(name: str, shape: tuple[int, ...]) -> None:
    check_gradients(UNARY[name], positive(*shape), order=2, rtol=1e-4)


@pytest.mark.parametrize("name", UNARY)
def test_one_operand_matches_its_shape_rule(name: str) -> None:
    check_shape_rule(UNARY[name], ((),), ((5,),), ((2, 3, 7),), ((2, 0),))


@pytest.mark.parametrize("name", UNARY)
def test_ints_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        UNARY[name](tensor([1, 2]))


def test_small_numbers_keep_all_their_digits() -> None:
    x = tensor([1e-20, -1e-20])

    assert expm1(x).tolist() == log1p(x).tolist() == x.tolist()


def test_the_derivative_of_expm1_is_accurate_far_below_zero() -> None:
    # 1 + (e^x - 1) was 0 from -17 on.
    x: Any = tensor([-9.0, -20.0])
    derivatives = [math.exp(-9), math.exp(-20)]

    assert expm1(x.trace()).sum().backward()[x].tolist() == pytest.approx(derivatives, rel=1e-6, abs=0)


@pytest.mark.parametrize(("f", "x"), [(log2, 0.0), (log10, 0.0), (log1p, -1.0)])
def test_the_logarithm_of_zero_is_minus_infinity_with_numpys_warning(f: Callable[..., Any], x: float) -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert f(tensor([x])).tolist() == [-math.inf]
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert math.isnan(f(tensor([x - 1])).item())


@pytest.mark.parametrize("f", [expm1, exp2])
def test_an_exponential_overflows_to_infinity_with_numpys_warning(f: Callable[..., Any]) -> None:
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert f(tensor([1000.0])).tolist() == [math.inf]


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 5e-16), (np.float32, 2e-7), (np.float16, 1e-3)])
def test_the_error_function_is_exact_on_its_whole_range(dtype: Any, error: float) -> None:
    x = np.linspace(-7, 7, 2001).astype(dtype)

    y = erf(tensor(x, dtype)).numpy()

    np.testing.assert_allclose(y, [math.erf(v) for v in x], rtol=error, atol=error)


def test_the_error_function_keeps_signs_infinities_and_nan() -> None:
    y = erf(tensor([0.0, -0.0, np.inf, -np.inf, np.nan, 3e38])).numpy()

    np.testing.assert_array_equal(y, [0, 0, 1, -1, np.nan, 1])
    assert np.signbit(y[1])


# safe_log


@pytest.mark.parametrize("eps", [1e-6, 0.5])
def test_a_safe_logarithm_equals_the_formula(eps: float) -> None:
    x = [-3.0, -0.5, 0.0, 2.0, 30.0]

    y = safe_log(tensor(x, np.float64), eps=eps)

    assert y.tolist() == pytest.approx([math.log(math.log1p(math.exp(v)) + eps) for v in x], rel=1e-13)
    for shape in [(2, 3), (), (1,), (0, 3)]:
        check_gradients(lambda x: safe_log(x, eps=eps), real(*shape), order=2)


def test_a_safe_logarithm_and_its_derivative_are_finite() -> None:
    x: Any = tensor([-1e30, -1000.0, 0.0, 1e30])

    y = safe_log(x.trace())

    assert y.tolist()[:2] == pytest.approx([math.log(1e-6)] * 2)
    assert np.isfinite(y.numpy()).all()
    assert np.isfinite(y.sum().backward()[x].numpy()).all()


@pytest.mark.parametrize("eps", [0.0, -1.0, math.nan])
def test_a_safe_logarithm_needs_a_positive_eps(eps: float) -> None:
    with pytest.raises(ValueError, match=rf"^safe_log: eps is {eps} but must be above 0$"):
        safe_log(real(3), eps=eps)


def test_a_safe_logarithm_matches_its_shape_rule_and_rejects_ints() -> None:
    check_shape_rule(safe_log, ((),), ((5,),), ((2, 3, 7),), ((2, 0),))
    with pytest.raises(DTypeError, match=r"^safe_log: x is int64 but floating is expected$"):
        safe_log(tensor([1]))  # type: ignore[tapegrad-dtype]  # the mistake under test


# logaddexp, logaddexp2


@pytest.mark.parametrize(("f", "numpys", "one"), SUMS)
def test_logaddexp_equals_the_formula(f: Callable[..., Any], numpys: Callable[..., Any], one: float) -> None:
    x, y = tensor([[1.0, 2.0, 3.0]], np.float64), tensor([[0.5], [-2.0]], np.float64)

    np.testing.assert_array_equal(f(x, y).numpy(), numpys(x.numpy(), y.numpy()))
    assert f(tensor([0.0], np.float64), 0).item() == pytest.approx(one, rel=1e-15)
    assert f(tensor([1000.0]), 1000).item() == pytest.approx(1000 + one)


@pytest.mark.parametrize("f", [logaddexp, logaddexp2])
@pytest.mark.parametrize(
    ("x", "y"), [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1, 5), (3, 1)), ((2, 0), (1,))], ids=str
)
def test_gradients_of_logaddexp_have_the_shapes_of_the_operands(
    f: Callable[..., Any], x: tuple[int, ...], y: tuple[int, ...]
) -> None:
    check_gradients(f, real(*x), real(*y, seed=1), order=2)


@pytest.mark.parametrize("f", [logaddexp, logaddexp2])
def test_gradients_of_logaddexp_with_a_number(f: Callable[..., Any]) -> None:
    check_gradients(lambda x: f(x, 0), real(2, 3), order=2)
    check_gradients(lambda y: f(1.0, y), real(2, 3), order=2)
    check_gradients(lambda x: f(x, x), real(2, 3), order=2)


@pytest.mark.parametrize("f", [logaddexp, logaddexp2])
def test_minus_infinity_is_the_identity_of_logaddexp(f: Callable[..., Any]) -> None:
    x: Any = tensor([-np.inf, 2.0, -np.inf])
    y: Any = tensor([3.0, -np.inf, -np.inf])

    z = f(x.trace(), y.trace())
    grads = z.sum().backward()

    assert z.tolist() == [3, 2, -math.inf]
    assert grads[x].tolist() == [0, 1, 0]
    assert grads[y].tolist() == [1, 0, 0]


@pytest.mark.parametrize("f", [logaddexp, logaddexp2])
@np.errstate(all="ignore")
def test_logaddexp_equals_numpy_in_edge_cases(f: Callable[..., Any]) -> None:
    x, y = EDGES[:, None], EDGES

    np.testing.assert_allclose(f(tensor(x), tensor(y)).numpy(), getattr(np, f.__name__)(x, y), rtol=1e-6)


@pytest.mark.parametrize("f", [logaddexp, logaddexp2])
def test_logaddexp_matches_its_shape_rule(f: Callable[..., Any]) -> None:
    check_shape_rule(f, ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


@pytest.mark.parametrize("f", [logaddexp, logaddexp2])
def test_logaddexp_rejects_invalid_operands(f: Callable[..., Any]) -> None:
    name = f.__name__

    with pytest.raises(ShapeError) as rejected:
        f(zeros((2, 3)), zeros((4,)))
    assert str(rejected.value) == f"{name}: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        f(tensor([1]), 2)
    with pytest.raises(DTypeError, match=f"^{name}: y is int64 but floating is expected$"):
        f(2, tensor([1]))


def test_a_safe_logarithm_in_edge_cases() -> None:
    # ln(ln 2 + eps) at zero; x itself where it is large, the logarithm of eps where it is far below
    y = safe_log(tensor([0.0, 0.0, np.inf, -np.inf, np.nan, 3e38]), eps=0.5).numpy()

    expected = [math.log(math.log(2) + 0.5)] * 2 + [math.inf, math.log(0.5), math.nan, math.log(3e38)]
    np.testing.assert_allclose(y, expected, rtol=1e-6)
