"""Convolution in NumPy: each algorithm gives the result of the formula, with channels last in memory."""

from __future__ import annotations

import tracemalloc
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tapegrad.engines import ConvWindow
from tapegrad.engines.numpy import convolution
from tapegrad.engines.numpy.convolution import convolve
from tapegrad.ops import avg_pool2d, conv2d, max_pool2d, relu, tensor

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["at once", "one by one", "image by image", "as columns", "rows at once", "row by row"])
def at_a_time(request: Any, monkeypatch: Any) -> Iterator[str]:
    """Gather all windows at once, as in small convolutions, or one at a time, as far as it goes in large ones.

    Also gather them as columns, as where images have few channels; or gather rows, as for long kernels.
    """
    if request.param in ("one by one", "row by row"):
        monkeypatch.setattr(convolution, "_GATHERED_BYTES", 1)
        monkeypatch.setattr(convolution, "_MULTIPLIED_BYTES", 1)
    if request.param == "image by image":
        monkeypatch.setattr(convolution, "_ALONE_MIN_POSITIONS", 0)
    monkeypatch.setattr(convolution, "_SHORT", 1000 if request.param == "as columns" else 0)
    if "row" in request.param:
        monkeypatch.setattr(convolution, "_LONG", 2)
        monkeypatch.setattr(convolution, "_WIDE", 0)
    convolution._plan_for.cache_clear()
    yield request.param
    convolution._plan_for.cache_clear()


def by_the_formula(x: Any, w: Any, window: ConvWindow) -> Any:
    """Add up x_j w_k wherever r j + b = s i + d k."""
    y = np.zeros((len(x), x.shape[1], w.shape[1], *window.sizes))
    for i in np.ndindex(*window.sizes):
        for k in np.ndindex(*w.shape[3:]):
            met = [divmod(s * m + d * e - b, r) for m, e, s, d, r, b in zip(i, k, *window[1:], strict=True)]
            j = [cell for cell, rest in met if rest == 0]
            if len(j) == len(met) and all(0 <= cell < size for cell, size in zip(j, x.shape[3:], strict=True)):
                y[..., *i] += np.einsum("ngc,goc->ngo", x[..., *j], w[..., *k])
    return y


def drawn(rng: Any, least: int = 1) -> tuple[Any, Any, ConvWindow]:
    """Draw cells, kernels and a window; some windows may lie outside."""
    rank, groups = int(rng.integers(least, 4)), int(rng.integers(1, 3))

    def numbers(low: int, high: int) -> tuple[int, ...]:
        return tuple(map(int, rng.integers(low, high, rank)))

    x = rng.normal(size=(2, groups, 3, *numbers(3, 8)))
    w = rng.normal(size=(groups, 4, 3, *numbers(1, 4)))
    return x, w, ConvWindow(numbers(1, 6), numbers(1, 4), numbers(1, 3), numbers(1, 4), numbers(-1, 3))


@pytest.mark.usefixtures("at_a_time")
@pytest.mark.parametrize("input_dilation", [1, 2])
def test_short_inputs_and_kernels_at_every_stride(input_dilation: int) -> None:
    rng = np.random.default_rng(0)
    for cells, kernel, positions, stride, before in np.ndindex(7, 3, 4, 4, 2):
        x, w = rng.normal(size=(2, 1, 3, cells + 1)), rng.normal(size=(1, 4, 3, kernel + 1))
        window = ConvWindow((positions + 1,), (stride + 1,), (1,), (input_dilation,), (before,))

        np.testing.assert_allclose(convolve(x, w, window), by_the_formula(x, w, window), atol=1e-12)


@pytest.mark.usefixtures("at_a_time")
@pytest.mark.parametrize("seed", range(60))
def test_values_equal_those_of_the_formula(seed: int) -> None:
    x, w, window = drawn(np.random.default_rng(seed))

    np.testing.assert_allclose(convolve(x, w, window), by_the_formula(x, w, window), atol=1e-12)


@pytest.mark.usefixtures("at_a_time")
@pytest.mark.parametrize("seed", range(40))
def test_both_algorithms_give_the_same_values(seed: int) -> None:
    x, w, window = drawn(np.random.default_rng(seed), least=2)

    expected = by_the_formula(x, w, window)
    np.testing.assert_allclose(convolution._by_positions(x, w, window), expected, atol=1e-12)
    np.testing.assert_allclose(convolution._by_elements(x, w, window), expected, atol=1e-12)


@pytest.mark.usefixtures("at_a_time")
@pytest.mark.parametrize("seed", range(40))
def test_sums_of_shifted_products_give_the_same_values(seed: int) -> None:
    x, w, window = drawn(np.random.default_rng(seed))
    ones = (1,) * len(window.sizes)
    x, w, window = x[:, :1], w[:1], window._replace(stride=ones, input_dilation=ones)

    np.testing.assert_allclose(convolution._by_cells(x, w, window), by_the_formula(x, w, window), atol=1e-12)


@pytest.mark.parametrize(("kernels", "stride"), [(5, 1), (5, 2), (17, 1)])
def test_large_images_with_many_channels_give_the_same_values_for_any_number_of_kernels(
    kernels: int, stride: int
) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(3, 1, 48, 31, 29)), rng.normal(size=(1, kernels, 48, 3, 2))
    window = ConvWindow((28 // stride, 30 // stride), (stride, stride), (1, 1), (1, 1), (0, 1))

    y = convolve(x, w, window)

    expected = np.zeros_like(y)
    padded = np.pad(x, [(0, 0)] * 4 + [(1, 1)])
    for k, j in np.ndindex(3, 2):
        rows, columns = (
            slice(first, first + size * stride, stride) for first, size in zip((k, j), window.sizes, strict=True)
        )
        expected += np.einsum("ngcij,goc->ngoij", padded[..., rows, columns], w[..., k, j])
    np.testing.assert_allclose(y, expected, atol=1e-10)


@pytest.mark.usefixtures("at_a_time")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_result_has_the_dtype_of_its_operands(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 2, 3, 7, 6)).astype(dtype), rng.normal(size=(2, 4, 3, 3, 2)).astype(dtype)
    window = ConvWindow((5, 6), (1, 1), (1, 1), (1, 1), (0, 1))

    y = convolve(x, w, window)

    assert y.dtype == dtype
    np.testing.assert_allclose(y, by_the_formula(x, w, window), rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("at_a_time")
def test_images_of_any_memory_order_give_the_same_values() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(5, 1, 3, 7, 6)), rng.normal(size=(1, 4, 3, 3, 2))
    window = ConvWindow((5, 5), (1, 1), (1, 1), (1, 1), (0, 0))
    expected = by_the_formula(x, w, window)

    for order in permutations(range(5)):
        back = tuple(order.index(axis) for axis in range(5))
        stored = np.ascontiguousarray(x.transpose(order)).transpose(back)
        np.testing.assert_allclose(convolve(stored, w, window), expected, atol=1e-12)
        np.testing.assert_allclose(convolve(stored[:, :, ::-1], w[:, :, ::-1], window), expected, atol=1e-12)


@pytest.mark.usefixtures("at_a_time")
@pytest.mark.parametrize("place", [(0, 0), (0, 5), (3, 0), (6, 5)])
def test_an_infinity_reaches_only_the_windows_that_contain_it(place: Any) -> None:
    # Windows at the end of a row are computed as if they reached into the next: 0 times infinity would be NaN.
    x: Any = np.random.default_rng(0).normal(size=(2, 3, 7, 6)).astype(np.float32)
    x[1, 2][place] = np.inf
    w = np.ones((4, 3, 3, 2), np.float32)

    y = conv2d(tensor(x), (kernels := tensor(w)).trace())
    dw = y.backward(seed=tensor(np.ones(y.shape, np.float32)))[kernels]

    rows, columns = place
    sees = np.zeros((5, 5), np.bool_)
    sees[max(0, rows - 2) : rows + 1, max(0, columns - 1) : columns + 1] = True
    np.testing.assert_array_equal(np.isinf(y.numpy()[1]), np.broadcast_to(sees, (4, 5, 5)))
    assert np.isfinite(y.numpy()[0]).all()
    reached = np.zeros((3, 3, 2), np.bool_)
    reached[2] = [[0 <= rows - k < 5 and 0 <= columns - j < 5 for j in range(2)] for k in range(3)]
    np.testing.assert_array_equal(np.isinf(dw.numpy()), np.broadcast_to(reached, (4, 3, 3, 2)))
    assert not np.isnan(dw.numpy()).any()


def test_a_long_input_with_a_long_kernel_does_not_copy_every_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolution, "_GATHERED_BYTES", 1 << 15)
    convolution._plan_for.cache_clear()
    x, w = np.ones((1, 1, 16, 600)), np.ones((1, 64, 16, 101))  # 6 MiB of windows

    tracemalloc.start()
    y = convolve(x, w, ConvWindow((500,), (1,), (1,), (1,), (0,)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    convolution._plan_for.cache_clear()

    np.testing.assert_allclose(y, 16 * 101)
    assert peak < 2 << 20


def channels_stand_last(x: Any) -> bool:
    strides = x.data.strides
    return bool(strides[1] == x.data.itemsize and strides[0] > strides[2] > strides[3] > strides[1])


def test_a_stack_of_convolutions_keeps_channels_last_in_memory() -> None:
    rng = np.random.default_rng(0)
    x = tensor(rng.normal(size=(2, 3, 16, 15)))
    first, bias = tensor(rng.normal(size=(4, 3, 3, 3))), tensor(rng.normal(size=(4, 1, 1)))
    second = tensor(rng.normal(size=(6, 4, 3, 2)))

    h = conv2d(x, first, padding=1) + bias
    pooled = max_pool2d(relu(h), 2, padding=1)
    y = avg_pool2d(conv2d(pooled, second), 2)

    assert all(map(channels_stand_last, (h, relu(h), pooled, y)))


def test_gradients_of_a_stack_keep_channels_last_in_memory() -> None:
    rng = np.random.default_rng(0)
    x, first = tensor(rng.normal(size=(2, 3, 16, 15))), tensor(rng.normal(size=(4, 3, 3, 3)))
    h = conv2d(x, first, padding=1)

    pooled = max_pool2d(relu(h.trace()), 3, stride=2, padding=1)
    dh = pooled.backward(seed=tensor(rng.normal(size=pooled.shape)))[h]

    assert channels_stand_last(dh)
