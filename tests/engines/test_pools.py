"""Pools in NumPy: axis after axis and tile by tile, they give the results of all positions of a window at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tapegrad.engines.interface import Backend, Pooling
from tapegrad.engines.numpy import engine, pooling
from tapegrad.engines.numpy.engine import NumPy
from tapegrad.engines.numpy.threads import set_threads
from tapegrad.engines.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGINE = NumPy()
# A shape, and for each of its last axes the windows, kernel, stride, padding before, dilation and padding after.
GEOMETRIES: dict[str, Any] = {
    "rows": ((2, 3, 17), (8,), (3,), (2,), (0,), (1,), (0,)),
    "images": ((2, 3, 9, 8), (4, 4), (2, 2), (2, 2), (0, 0), (1, 1), (0, 0)),
    "overlap and padding": ((2, 3, 9, 8), (5, 8), (3, 3), (2, 1), (1, 1), (1, 1), (1, 1)),
    "dilation": ((2, 3, 9, 8), (5, 6), (3, 2), (1, 1), (0, 0), (2, 2), (0, 0)),
    "padding at the end": ((2, 3, 9, 8), (5, 4), (2, 3), (2, 2), (0, 0), (1, 1), (1, 1)),
    "one axis": ((2, 3, 9, 8), (9, 3), (1, 3), (1, 2), (0, 0), (1, 1), (0, 0)),
    "volumes": ((2, 3, 6, 7, 5), (4, 3, 3), (3, 3, 3), (1, 2, 1), (0, 0, 0), (1, 1, 1), (0, 0, 0)),
    "no images": ((0, 3, 9, 8), (4, 4), (2, 2), (2, 2), (0, 0), (1, 1), (0, 0)),
}


@pytest.fixture(autouse=True, params=["axis after axis", "tile by tile"])
def _way(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    monkeypatch.setattr(engine, "PARALLEL_MIN_ELEMENTS", 0)
    if request.param == "tile by tile":
        monkeypatch.setattr(pooling, "TILED_POOL_MIN_ELEMENTS", 1)
        monkeypatch.setattr(pooling, "PARALLEL_MIN_ELEMENTS", 1)
        monkeypatch.setattr(pooling, "_TILE_BYTES", 1)
    set_threads(2)
    yield
    set_threads(None)


def drawn(shape: tuple[int, ...], *, are_channels_last: bool, dtype: Any = np.float64) -> Any:
    """Draw whole numbers, whose sums are exact in any order."""
    x = np.random.default_rng(0).integers(-50, 50, shape).astype(dtype)
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1) if are_channels_last else x


@pytest.mark.parametrize("are_channels_last", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["add", "maximum", "minimum"])
@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
def test_pools_equal_those_of_all_positions(geometry: Any, name: Pooling, dtype: Any, are_channels_last: bool) -> None:  # noqa: FBT001  # a parameter of pytest
    windows, x = Windows(*geometry), drawn(geometry[0], are_channels_last=are_channels_last, dtype=dtype)
    before = x.copy()

    y = ENGINE.pool(x, windows, name)

    assert y.dtype == dtype
    np.testing.assert_array_equal(y, Backend.pool(ENGINE, x, windows, name))
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("are_channels_last", [False, True])
@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
def test_gradients_of_sums_equal_those_of_all_positions(geometry: Any, are_channels_last: bool) -> None:  # noqa: FBT001  # a parameter of pytest
    windows = Windows(*geometry)
    dy = drawn((*geometry[0][:2], *windows.sizes), are_channels_last=are_channels_last)
    before = dy.copy()

    dx = ENGINE.pool_sum_back(dy, windows)

    assert dx.shape == geometry[0]
    np.testing.assert_array_equal(dx, Backend.pool_sum_back(ENGINE, dy, windows))
    np.testing.assert_array_equal(dy, before)


@pytest.mark.parametrize("are_channels_last", [False, True])
@pytest.mark.parametrize("has_nan", [False, True])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=GEOMETRIES)
def test_gradients_of_extremes_equal_those_of_all_positions(
    geometry: Any,
    name: Pooling,
    has_nan: bool,  # noqa: FBT001  # parameters of pytest
    are_channels_last: bool,  # noqa: FBT001
) -> None:
    windows, x = Windows(*geometry), drawn(geometry[0], are_channels_last=are_channels_last) // 20  # equal elements
    if has_nan:
        x[1:, 1, 2:4] = np.nan
    y = Backend.pool(ENGINE, x, windows, name)
    dy = drawn(y.shape, are_channels_last=are_channels_last)
    before = x.copy(), y.copy(), dy.copy()

    dx, of_relu = ENGINE.pool_extreme_back(x, y, dy, windows), ENGINE.pool_relu_back(x, y, dy, windows)

    np.testing.assert_array_equal(dx, Backend.pool_extreme_back(ENGINE, x, y, dy, windows))
    np.testing.assert_array_equal(of_relu, Backend.pool_extreme_back(ENGINE, x, y, np.where(y > 0, dy, 0), windows))
    for array, one in zip((x, y, dy), before, strict=True):
        np.testing.assert_array_equal(array, one)


def test_a_gradient_in_another_order_of_memory_belongs_to_the_same_cells() -> None:
    windows, x = Windows(*GEOMETRIES["images"]), drawn((2, 3, 9, 8), are_channels_last=True)
    y = ENGINE.pool(x, windows, "maximum")
    dy = drawn(y.shape, are_channels_last=False)

    expected = Backend.pool_extreme_back(ENGINE, x, y, dy, windows)

    np.testing.assert_array_equal(ENGINE.pool_extreme_back(x, y, dy, windows), expected)
    planes = np.ascontiguousarray(x)
    np.testing.assert_array_equal(ENGINE.pool_extreme_back(planes, y, dy, windows), expected)


@pytest.mark.parametrize("name", ["add", "maximum", "minimum"])
def test_padding_may_give_windows_to_an_axis_of_one_cell(name: Pooling) -> None:
    windows = Windows((2, 3, 1, 4), (3, 4), (1, 1), (1, 1), (1, 0), (1, 1), (1, 0))
    x = drawn((2, 3, 1, 4), are_channels_last=True)

    y = ENGINE.pool(x, windows, name)

    np.testing.assert_array_equal(y, Backend.pool(ENGINE, x, windows, name))
    np.testing.assert_array_equal(ENGINE.pool_sum_back(y, windows), Backend.pool_sum_back(ENGINE, y, windows))


@pytest.mark.parametrize("name", ["add", "maximum", "minimum"])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_numbers_reach_only_the_windows_that_contain_them(name: Pooling, special: float) -> None:
    windows, x = Windows(*GEOMETRIES["overlap and padding"]), drawn((2, 3, 9, 8), are_channels_last=False)
    x[1, 2, 4, 3] = special

    np.testing.assert_array_equal(ENGINE.pool(x, windows, name), Backend.pool(ENGINE, x, windows, name))
