"""Large arrays: results in pooled buffers, computed on threads, equal those of NumPy."""

import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.engines.numpy.engine import NumPy
from tapegrad.engines.numpy.threads import set_threads

ENGINE: Any = NumPy()
OPERATORS = (operator.add, operator.mul, operator.sub, operator.truediv)


def numbers(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(1, 2, shape).astype(dtype)


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    set_threads(2)
    yield
    set_threads(None)


@pytest.mark.parametrize("shape", [(1_031, 1_019), (70_001,), (1, 1_100_003), (2, 3, 7, 2_003), (0, 3)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("function", OPERATORS)
def test_operators_are_bit_identical_to_numpy(function: Callable[..., Any], dtype: Any, shape: tuple[int, ...]) -> None:
    x, y, number = numbers(shape, dtype), numbers(shape, dtype, seed=1), np.asarray(3, dtype)
    x_before = x.copy()
    pairs = [
        (x, y),
        (x, x),
        (x, number),
        (number, y),
        (x, np.broadcast_to(number, shape)),
        (x[..., :1], y),
        (x, y[:1]),
        (x.T, y.T),
        (x[..., ::2], y[..., ::2]),
    ]

    for left, right in pairs:
        with np.errstate(all="ignore"):
            z, expected = ENGINE.fuse(function, left, right), function(left, right)

        assert (z.dtype, z.shape, z.strides) == (expected.dtype, expected.shape, expected.strides)
        np.testing.assert_array_equal(z, expected)
        assert not any(np.shares_memory(z, one) for one in (left, right))
    np.testing.assert_array_equal(x, x_before)


@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_functions_are_bit_identical_to_numpy(name: str) -> None:
    x = numbers((1_031, 1_019))
    x[0, :4] = [np.inf, -np.inf, np.nan, 0]

    with np.errstate(all="ignore"):
        for one in (x, x.T, x[:, ::3], x[:5]):
            np.testing.assert_array_equal(getattr(ENGINE, name)(one), getattr(np, name)(one))


@pytest.mark.parametrize("shape", [(1_031, 1_019), (1, 1_019), (1_019,), (1_031, 1), ()])
def test_a_sum_is_accumulated_in_its_own_memory(shape: tuple[int, ...]) -> None:
    for layout in (lambda x: x, np.asfortranarray, lambda x: x[:, ::-1]):
        total, x = layout(numbers((1_031, 1_019))), np.asarray(numbers(shape, seed=1))
        expected = total + x

        assert ENGINE.add_to(total, x) is total
        np.testing.assert_array_equal(total, expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.bool_])
def test_results_of_mixed_dtypes_have_the_dtype_of_numpy(dtype: Any) -> None:
    x = numbers((1_031, 1_019))

    for one in (x, x.T, x[:, ::3], np.broadcast_to(x[:1], x.shape)):
        y = ENGINE.cast(one, dtype)

        assert y.dtype == dtype
        assert not np.shares_memory(y, x)
        np.testing.assert_array_equal(y, one.astype(dtype))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_sum_is_the_same_for_any_number_of_threads(count: int) -> None:
    x = numbers((1_031, 1_019))
    expected = ENGINE.sum(x, None, keepdims=False)

    set_threads(count)

    assert ENGINE.sum(x, None, keepdims=False) == expected
    np.testing.assert_allclose(expected, x.sum(dtype=np.float64), rtol=1e-6)


def test_a_product_overwrites_an_operand_without_other_references() -> None:
    x, y = numbers((1_031, 1_019)), numbers((1_031, 1_019), seed=1)
    number = np.broadcast_to(np.float32(3), x.shape)

    for factor in (y, number, np.float32(3), y[:, :1]):
        alone, seen = {0: x.copy()}, {0: x}
        place = id(alone[0])

        assert id(ENGINE.scale_in_place(alone, 0, factor)) == place
        np.testing.assert_array_equal(alone[0], x * factor)
        np.testing.assert_array_equal(ENGINE.scale_in_place(seen, 0, factor), x * factor)
        np.testing.assert_array_equal(x, numbers((1_031, 1_019)))


def test_a_product_with_one_is_the_operand_itself() -> None:
    x = numbers((3, 5))
    one: Any = np.broadcast_to(np.float32(1), (3, 5))

    assert ENGINE.scale_in_place({0: x}, 0, one) is x
    assert ENGINE.scale_in_place({0: x}, 0, np.float32(1)) is x
    assert ENGINE.scale_in_place({0: x}, 0, one.astype(np.float64)).dtype == np.float64


def test_every_thread_uses_the_callers_error_state_for_overflow() -> None:
    x = tg.full((1_100_003,), 100.0)

    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match=r"^overflow encountered in exp$"):
        tg.exp(x)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        tg.exp(x)
        with np.errstate(over="ignore"):
            tg.exp(x)

    assert {str(one.message) for one in seen} == {"overflow encountered in exp"}


def test_shapes_that_do_not_broadcast_are_rejected() -> None:
    y: Any = tg.ones((3, 40_000))

    with pytest.raises(tg.ShapeError, match=r"^mul: x \(2, 40000\) and y \(3, 40000\) do not broadcast"):
        tg.ones((2, 40_000)) * y


def test_gradients_of_large_tensors_equal_the_formulas() -> None:
    x, y, w = numbers((3, 40_009)), np.abs(numbers((3, 40_009), seed=1)) + 1, numbers((1, 40_009), seed=2)
    a, b, c = (tg.tensor(one).trace() for one in (x, y, w))

    grads = (tg.tanh(a * c) / b + tg.exp(-b) - tg.log(b) * a).sum().backward()

    bent = np.tanh(x * w)
    derivative = (1 - bent * bent) / y
    np.testing.assert_allclose(grads[a].numpy(), derivative * w - np.log(y), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(grads[b].numpy(), -bent / y**2 - np.exp(-y) - x / y, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(grads[c].numpy(), (derivative * x).sum(0, keepdims=True), rtol=1e-4, atol=1e-4)


def test_the_gradient_of_a_large_square_is_twice_its_root() -> None:
    x, dz = tg.tensor(numbers((3, 40_009))), tg.tensor(numbers((3, 40_009), seed=1))
    root = x.trace()

    dx = (root * root).backward(seed=dz)[x]

    np.testing.assert_array_equal(dx.numpy(), dz.numpy() * x.numpy() + dz.numpy() * x.numpy())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 7, 1_024, 1_025, 5_000])
def test_the_sum_of_rows_keeps_the_digits_of_any_number_of_them(rows: int, dtype: Any) -> None:
    x: Any = abs(numbers((rows, 5), dtype))

    y = ENGINE.sum(x, 0, keepdims=False)

    assert y.dtype == dtype
    np.testing.assert_allclose(y, x.astype(np.longdouble).sum(0), rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("axis", [0, -1, (0, 1), (1, 2), (0, 2, 3), (0, -2, 1), (0, 1, 2, 3)])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (3, 2, 1, 0)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_over_axes_are_those_of_numpy_in_any_memory_order(
    axis: int | tuple[int, ...], order: tuple[int, ...], *, keepdims: bool
) -> None:
    x: Any = abs(numbers((3, 17, 11, 29))).transpose(order).copy().transpose(np.argsort(order))

    y = ENGINE.sum(x, axis, keepdims=keepdims)

    expected = x.astype(np.float64).sum(axis, keepdims=keepdims)
    assert y.shape == expected.shape
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    part = x[:, ::2]
    expected = part.sum(axis, keepdims=keepdims)
    np.testing.assert_allclose(ENGINE.sum(part, axis, keepdims=keepdims), expected, rtol=1e-5)


def test_the_sum_of_images_is_exact_where_channels_are_last_in_memory() -> None:
    x: Any = abs(numbers((64, 31, 37, 3))).transpose(0, 3, 1, 2)

    y = ENGINE.sum(x, (0, 2, 3), keepdims=False)

    np.testing.assert_allclose(y, x.astype(np.float64).sum((0, 2, 3)), rtol=1e-6)
