"""Trigonometric and hyperbolic functions: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    deg2rad,
    normal,
    rad2deg,
    sin,
    sinh,
    tan,
    tensor,
    uniform,
    zeros,
)
from tapegrad.testing import check_gradients, check_shape_rule

# With where each is smooth.
UNARY: dict[str, tuple[Callable[..., Any], float, float]] = {
    "sin": (sin, -4, 4),
    "cos": (cos, -4, 4),
    "tan": (tan, -1.2, 1.2),
    "asin": (asin, -0.8, 0.8),
    "acos": (acos, -0.8, 0.8),
    "atan": (atan, -4, 4),
    "sinh": (sinh, -3, 3),
    "cosh": (cosh, -3, 3),
    "asinh": (asinh, -4, 4),
    "acosh": (acosh, 1.5, 4),
    "atanh": (atanh, -0.8, 0.8),
    "deg2rad": (deg2rad, -400, 400),
    "rad2deg": (rad2deg, -4, 4),
}
OTHER_NAMES = {"deg2rad": "radians", "rad2deg": "degrees"}


EDGES = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)


def inside(name: str, *shape: int) -> Any:
    _, low, high = UNARY[name]
    return uniform(shape, low=low, high=high, dtype=np.float64, rng=0)


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize("name", UNARY)
def test_values_equal_those_of_pythons_math(name: str) -> None:
    x = inside(name, 2, 3)

    y = UNARY[name][0](x)

    of_python = getattr(math, OTHER_NAMES.get(name, name))
    assert y.numpy().ravel().tolist() == pytest.approx([of_python(v) for v in x.numpy().ravel()], rel=1e-14)
    assert UNARY[name][0](x.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("name", [name for name in UNARY if name not in OTHER_NAMES])
@np.errstate(all="ignore")
def test_edge_cases_equal_numpy(name: str) -> None:
    np.testing.assert_array_equal(UNARY[name][0](tensor(EDGES)).numpy(), getattr(np, name)(EDGES))


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", [(2, 3), (), (1,), (0, 3)], ids=str)
def test_gradients_can_be_differentiated(name: str, shape: tuple[int, ...]) -> None:
    check_gradients(UNARY[name][0], inside(name, *shape), order=2, rtol=1e-4)


@pytest.mark.parametrize("name", UNARY)
def test_one_operand_matches_its_shape_rule(name: str) -> None:
    check_shape_rule(UNARY[name][0], ((),), ((5,),), ((2, 3, 7),), ((2, 0),))


@pytest.mark.parametrize("name", UNARY)
def test_ints_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        UNARY[name][0](tensor([1, 2]))


@pytest.mark.parametrize("f", [asin, acos, atanh])
def test_asin_and_acos_beyond_one_are_nan(f: Callable[..., Any]) -> None:
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert math.isnan(f(tensor([1.5])).item())


@pytest.mark.parametrize(("f", "derivative"), [(asin, math.inf), (acos, -math.inf), (acosh, math.inf)])
def test_the_gradient_at_one_is_infinite(f: Callable[..., Any], derivative: float) -> None:
    x: Any = tensor([1.0])
    y = f(x.trace()).sum()

    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert y.backward()[x].item() == derivative


def test_acosh_below_one_is_nan() -> None:
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert math.isnan(acosh(tensor([0.5])).item())


def test_the_hyperbolic_tangent_of_infinity_is_one() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert atanh(tensor([1.0, -1.0])).tolist() == [math.inf, -math.inf]


def test_hyperbolic_functions_overflow_to_infinity_with_numpys_warning() -> None:
    for f, expected in ((sinh, -math.inf), (cosh, math.inf)):
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert f(tensor([-100.0])).tolist() == [expected]


def test_large_numbers_have_a_gradient_although_their_squares_overflow() -> None:
    x: Any = tensor([1e30])

    assert asinh(x.trace()).sum().backward()[x].item() == pytest.approx(1e-30)


def test_atan_of_infinity_is_finite() -> None:
    assert atan(tensor([np.inf, -np.inf])).tolist() == pytest.approx([math.pi / 2, -math.pi / 2])
    assert asinh(tensor([np.inf])).tolist() == [math.inf]


# atan2


def test_atan2_computed_by_hand() -> None:
    ups, rights = [1.0, 1.0, -1.0, 0.0, 2.0], [1.0, -1.0, -1.0, -1.0, 0.0]

    z = atan2(tensor(ups, np.float64), tensor(rights, np.float64))

    assert z.tolist() == pytest.approx([math.atan2(up, right) for up, right in zip(ups, rights, strict=True)])
    assert atan2(1.0, tensor([1.0])).tolist() == pytest.approx([math.pi / 4])
    assert atan2(tensor([1.0]), 0).tolist() == pytest.approx([math.pi / 2])


@pytest.mark.parametrize(
    ("y", "x"), [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1, 5), (3, 1)), ((2, 0), (1,))], ids=str
)
def test_gradients_of_atan2_have_the_shapes_of_the_operands(y: tuple[int, ...], x: tuple[int, ...]) -> None:
    check_gradients(atan2, real(*y), real(*x, seed=1), order=2, rtol=1e-4)


def test_gradients_of_atan2_with_a_number() -> None:
    check_gradients(lambda y: atan2(y, 2), real(2, 3), order=2)
    check_gradients(lambda x: atan2(2.0, x), real(2, 3), order=2)
    check_gradients(lambda x: atan2(x, x + 2), real(2, 3), order=2, rtol=1e-4)


def test_atan2_equals_numpy_in_edge_cases() -> None:
    y, x = EDGES[:, None], EDGES

    np.testing.assert_array_equal(atan2(tensor(y), tensor(x)).numpy(), np.atan2(y, x))


def test_the_gradient_of_atan2_at_the_origin_is_nan() -> None:
    y: Any = zeros((1,))
    z = atan2(y.trace(), 0)

    assert z.tolist() == [0]
    with pytest.warns(RuntimeWarning, match="invalid value|divide by zero"):
        assert math.isnan(z.sum().backward()[y].item())


def test_atan2_matches_its_shape_rule() -> None:
    check_shape_rule(atan2, ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


def test_coordinates_that_do_not_broadcast_are_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^atan2: y \(2, 3\) and x \(4,\) do not broadcast: axis -1 is 3 in y but 4 "):
        atan2(zeros((2, 3)), zeros((4,)))  # type: ignore[tapegrad-shape]  # the mistake under test


def test_coordinates_of_mixed_dtypes_are_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^atan2: y is float32 but x is float64$"):
        atan2(zeros((3,)), zeros((3,), np.float64))  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^atan2: y is int64 but floating is expected$"):
        atan2(tensor([1]), 1)  # type: ignore[tapegrad-dtype]  # the mistake under test


@pytest.mark.parametrize(("f", "numpys"), [(deg2rad, np.deg2rad), (rad2deg, np.rad2deg)])
@np.errstate(over="ignore")
def test_degrees_and_radians_equal_numpy_in_edge_cases(f: Callable[..., Any], numpys: Callable[..., Any]) -> None:
    edges = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)

    np.testing.assert_allclose(f(tensor(edges)).numpy(), numpys(edges), rtol=1e-6)
