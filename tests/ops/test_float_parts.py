"""frexp, modf, nextafter and other parts of floats: NumPy's values, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import frexp, ldexp, modf, nextafter, normal, spacing, tensor, zeros
from tapegrad.testing import check_gradients, check_shape_rule

EDGES = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, 1e-45, np.inf, -np.inf, np.nan], np.float32)
APART: dict[str, Callable[..., Any]] = {"frexp": frexp, "modf": modf}
SHAPES: list[tuple[int, ...]] = [(), (1,), (2, 3), (2, 0)]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@np.errstate(over="ignore")
def test_the_parts_equal_numpy_with_their_signs(name: str, dtype: type[Any]) -> None:
    edges = EDGES.astype(dtype)

    for part, expected in zip(APART[name](tensor(edges)), getattr(np, name)(edges), strict=True):
        assert part.dtype == expected.dtype
        np.testing.assert_array_equal(part.numpy(), expected)
        np.testing.assert_array_equal(np.signbit(part.numpy()), np.signbit(expected))


def test_the_parts_can_be_recombined() -> None:
    x = tensor(EDGES)
    mantissa, exponent = frexp(x)
    rest, whole = modf(tensor([2.75, -2.75]))

    np.testing.assert_array_equal(ldexp(mantissa, exponent).numpy(), EDGES)
    assert (rest + whole).tolist() == [2.75, -2.75]


@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_first_part_has_the_gradient(name: str, shape: tuple[int, ...]) -> None:
    parts = APART[name](real(*shape).trace())

    assert [part.owns_tape for part in parts] == [True, False]
    check_gradients(lambda x: APART[name](x)[0], 8.0 * real(*shape))
    check_gradients(lambda x: APART[name](x)[0] * x, 8.0 * real(*shape), order=2)


def test_the_derivative_of_a_mantissa_is_a_power_of_two() -> None:
    x = tensor([8.0, -0.375, 0.0])

    mantissa, exponent = frexp(x.trace())

    assert exponent.tolist() == [4, -1, 0]
    assert mantissa.sum().backward()[x].tolist() == [1 / 16, 2, 1]


@pytest.mark.parametrize(
    ("x", "y"), [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1, 5), (3, 1)), ((2, 0), (1,))], ids=str
)
def test_a_power_of_two_is_a_factor_of_the_gradient(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    exponents = tensor(np.arange(math.prod(y)).reshape(y) - 2)

    check_gradients(lambda x: ldexp(x, exponents), real(*x))
    check_gradients(lambda x: ldexp(x, exponents) * x, real(*x), order=2)
    check_gradients(lambda x: ldexp(x, 3) * x, real(*x), order=2)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
@np.errstate(over="ignore")
def test_powers_of_two_equal_numpy_for_ints_of_any_dtype(dtype: type[Any]) -> None:
    y = np.array([[0], [3], [100]], dtype)

    np.testing.assert_array_equal(ldexp(tensor(EDGES), tensor(y)).numpy(), np.ldexp(EDGES, y.astype(np.int32)))
    np.testing.assert_array_equal(ldexp(tensor(EDGES), y).numpy(), ldexp(tensor(EDGES), tensor(y)).numpy())


@np.errstate(over="ignore")
def test_ldexp_overflows_to_infinity_or_underflows_to_zero() -> None:
    x = tensor([1.5, -1.5, 0.0])

    assert ldexp(x, 2**62).tolist() == [math.inf, -math.inf, 0]
    assert ldexp(x, -(2**62)).tolist() == [0, 0, 0]
    assert ldexp(tensor([1.0]), tensor([2**63], np.uint64)).tolist() == [math.inf]


def test_a_traced_exponent_carries_its_tape() -> None:
    assert ldexp(tensor([1.0]), tensor([2]).trace()).owns_tape


@np.errstate(all="ignore")
def test_nextafter_and_spacing_equal_numpy() -> None:
    x, y = EDGES[:, None], EDGES

    np.testing.assert_array_equal(nextafter(tensor(x), tensor(y)).numpy(), np.nextafter(x, y))
    np.testing.assert_array_equal(spacing(tensor(EDGES)).numpy(), np.spacing(EDGES))
    assert nextafter(tensor([1.0], np.float64), 2).item() == math.nextafter(1, 2)
    assert nextafter(1, tensor([0.0], np.float64)).item() == math.nextafter(1, 0)
    assert spacing(tensor([1.0], np.float64)).item() == math.ulp(1)
    assert not nextafter(real(2, 3).trace(), real(3).trace()).owns_tape
    assert not spacing(real(2, 3).trace()).owns_tape
    assert nextafter(zeros((0, 3)), zeros((3,))).shape == spacing(zeros((0, 3))).shape == (0, 3)


def test_results_match_the_shape_rules() -> None:
    for f in (frexp, modf, spacing):
        check_shape_rule(f, ((),), ((2, 3, 7),), ((2, 0),))
    for binary in (ldexp, nextafter):
        check_shape_rule(binary, ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((2, 0), (1,)), ((2,), (3,)))


@pytest.mark.parametrize("f", [frexp, modf, spacing], ids=["frexp", "modf", "spacing"])
def test_ints_are_rejected(f: Any, request: pytest.FixtureRequest) -> None:
    with pytest.raises(DTypeError, match=f"^{request.node.callspec.id}: x is int64 but floating is expected$"):
        f(tensor([1]))


def test_invalid_arguments_are_rejected() -> None:
    other = r"x \(2, 3\) and y \(4,\) do not broadcast: axis -1 is 3 in x but 4 in y$"

    with pytest.raises(ShapeError, match=rf"^nextafter: {other}"):
        nextafter(real(2, 3), real(4))
    with pytest.raises(DTypeError, match=r"^nextafter: y is int64 but floating is expected$"):
        nextafter(2, tensor([1]))  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(ShapeError, match=rf"^ldexp: {other}"):
        ldexp(real(2, 3), zeros((4,), np.int64))
    with pytest.raises(DTypeError, match=r"^ldexp: x is int64 but floating is expected$"):
        ldexp(tensor([1]), 2)  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^ldexp: y is float64 but integer is expected$"):
        ldexp(real(2), real(2))
    with pytest.raises(DTypeError, match=r"^ldexp: y is a float, neither an int nor a tensor of ints$"):
        ldexp(real(2), 0.5)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^ldexp: x is a float, not a tensor$"):
        ldexp(2.0, tensor([1]))  # type: ignore[arg-type]  # the mistake under test
