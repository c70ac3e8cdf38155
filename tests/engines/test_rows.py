"""Formulas over rows in NumPy: computing tile by tile gives the result of the whole formula."""

from typing import Any

import numpy as np
import pytest

from tapegrad.engines.numpy import rows as row_programs
from tapegrad.engines.numpy.engine import NumPy
from tapegrad.engines.numpy.rows import buffers_of_rows
from tapegrad.engines.numpy.threads import set_threads
from tapegrad.ops.norm import layer_norm_gradients, layer_norm_of, standardized
from tapegrad.ops.softmax import softmax_gradient, softmax_of
from tests.engines.row_formulas import FORMULAS, call, expected, listed, numbers

ENGINE: Any = NumPy()
SHAPE = (37, 3, 5, 1031)  # 2.2 MiB, and not a whole number of tiles


@pytest.mark.parametrize(
    ("name", "axis"),
    [
        (name, axis)
        for name, (_, letters, _) in FORMULAS.items()
        for axis in ((-1, (3,)) if "w" in letters else (-1, (3,), 1, (2, 3), (-1, 1, 2), (0, 3), None))
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiles_equal_the_whole_formula(name: str, axis: Any, dtype: Any) -> None:
    check(name, SHAPE, axis, dtype)


@pytest.mark.parametrize("name", FORMULAS)
def test_half_precision_is_computed_in_float32(name: str) -> None:
    check(name, (37, 3, 60, 7), -1, np.float16)  # of longer rows the sum overflows


@pytest.mark.parametrize("name", ["layer_norm", "layer_norm gradients", "standardized"])
@pytest.mark.parametrize("shape", [(3, 5), (2, 0), (1 << 11, 1 << 10), (5000, 1), (9000,)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_tiles_of_any_shape_equal_the_whole_formula(shape: tuple[int, ...], name: str, dtype: Any) -> None:
    check(name, shape, -1, dtype)


def check(name: str, shape: tuple[int, ...], axis: Any, dtype: Any) -> None:
    within: Any = {"rtol": 1e-2, "atol": 2e-2} if dtype is np.float16 else {"rtol": 1e-4, "atol": 1e-5}
    formula, values, options = call(name, shape, axis, dtype)

    found = listed(ENGINE.rowwise(formula, *values, axis=axis, **options))

    for ours, theirs in zip(found, expected(formula, values, axis, options), strict=True):
        assert (ours.dtype, ours.shape) == (np.dtype(dtype), theirs.shape)
        scale = max(1.0, float(np.abs(theirs).max(initial=0)))
        np.testing.assert_allclose(ours / scale, theirs / scale, **within)


def test_probabilities_are_accurate_for_scores_of_any_size() -> None:
    x = numbers((9, 7), np.float32)
    for row, shift in enumerate((0, 16, 17, 90, 1e4, -16, -17, -90, -1e4)):
        x[row] += shift
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)

    for rows in ([0], [0, 1], [0, 2], [0, 3], [5], [0, 6], [7], [0, 8], [*range(9)]):
        np.testing.assert_allclose(ENGINE.rowwise(softmax_of, x[rows], axis=-1), expected[rows], rtol=2e-6, atol=1e-30)


def test_masked_scores_have_probability_zero() -> None:
    x = np.array([[1, -np.inf, 1], [-np.inf, -np.inf, -200]], np.float32)

    np.testing.assert_array_equal(ENGINE.rowwise(softmax_of, x, axis=-1), [[0.5, 0, 0.5], [0, 0, 1]])


@pytest.mark.parametrize("shape", [(3, 5), (300, 50)])
def test_layer_norm_gives_only_the_gradients_that_are_wanted(shape: tuple[int, ...]) -> None:
    x, w = numbers(shape, np.float32), numbers(shape[-1:], np.float32)
    _, mean, factor = ENGINE.rowwise(layer_norm_of, x, w, w, 1e-5, axis=-1)
    values = x, w, mean, factor, x
    every = ENGINE.rowwise(layer_norm_gradients, *values, axis=-1, wanted=(True, True, True))

    for wanted in ((True, False, False), (False, True, False), (False, False, True)):
        (found,) = ENGINE.rowwise(layer_norm_gradients, *values, axis=-1, wanted=wanted)

        np.testing.assert_array_equal(found, every[wanted.index(True)])


def test_tiles_on_several_threads_are_bit_identical() -> None:
    x, w = numbers((1 << 11, 1 << 10), np.float32), numbers((1 << 10,), np.float32)
    found = []

    for count in (1, 3):
        set_threads(count)
        y, *of_rows = ENGINE.rowwise(layer_norm_of, x, w, w, 1e-5, axis=-1)
        back = ENGINE.rowwise(layer_norm_gradients, x, w, *of_rows, y, axis=-1, wanted=(True, True, True))
        found.append([ENGINE.rowwise(softmax_of, x, axis=-1), y, *back])
    set_threads(None)

    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_settings_of_numpy_stay_as_they_are() -> None:
    before = np.getbufsize()

    ENGINE.rowwise(softmax_of, numbers((1000, 1024), np.float32), axis=-1)
    with pytest.raises(ZeroDivisionError), buffers_of_rows(1024):
        raise ZeroDivisionError

    assert np.getbufsize() == before
    with buffers_of_rows(1000):
        assert np.getbufsize() == 992
    with buffers_of_rows(100):
        assert np.getbufsize() == before


def test_an_array_in_another_memory_order_is_read_without_a_copy() -> None:
    x = numbers((1031, 555), np.float32)

    transposed = np.asfortranarray(x)

    for formula, *values in ((softmax_of, x), (softmax_gradient, x, x)):
        found = ENGINE.rowwise(formula, *values[1:], transposed, axis=-1)
        np.testing.assert_allclose(found, ENGINE.rowwise(formula, *values, axis=-1), rtol=1e-5)
    (y, _), (y_, _) = (ENGINE.rowwise(standardized, one, 1e-5, axis=-1, centred=True) for one in (transposed, x))
    np.testing.assert_allclose(y, y_, rtol=1e-4, atol=1e-6)


def test_each_row_may_have_an_eps_of_its_own() -> None:
    x, each = numbers((3, 5000), np.float32), (0.5, 1.0, 2.0)

    y, _ = ENGINE.rowwise(standardized, x, np.array(each, np.float32)[:, None], axis=-1, centred=True)

    for row, eps in enumerate(each):
        (alone, _) = ENGINE.rowwise(standardized, x[row], eps, axis=-1, centred=True)
        np.testing.assert_allclose(y[row], alone, rtol=1e-6, atol=1e-6)


def test_long_rows_are_summed_pairwise() -> None:
    x = np.full((2, 1 << 22), 0.1, np.float32)

    _, factor = ENGINE.rowwise(standardized, x, 1e-5, axis=-1, centred=False)

    np.testing.assert_allclose(factor, 1 / np.sqrt(np.float64(np.float32(0.1)) ** 2 + 1e-5), rtol=1e-6)


def test_nan_and_infinity_stay_in_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_programs, "_TILE_BYTES", (64, 64))
    monkeypatch.setattr(ENGINE, "rows_from", 1)
    x = numbers((6, 7), np.float32)
    x[1, 2], x[4, 0] = np.nan, np.inf

    with np.errstate(invalid="ignore"):
        y = ENGINE.rowwise(softmax_of, x, axis=-1)
        z, _ = ENGINE.rowwise(standardized, x, 1e-5, axis=-1, centred=True)

    for result in (y, z):
        assert np.isnan(result).all(axis=1).tolist() == [False, True, False, False, True, False]
        assert np.isfinite(result[[0, 2, 3, 5]]).all()


def test_a_result_overwrites_only_a_value_that_no_later_instruction_reads() -> None:
    x, y = numbers((300, 50), np.float32), numbers((300, 50), np.float32, 1)

    for formula in (read_later, read_at_once):
        values = x.copy(), y.copy()
        first, second = ENGINE.rowwise(formula, *values, axis=-1, is_free=True)

        assert (first is values[1]) == (formula is read_at_once)
        np.testing.assert_array_equal(first, x + y)
        np.testing.assert_array_equal(second, x * y if formula is read_later else x + y + x)
        np.testing.assert_array_equal(values[0], x)


def read_later(_: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Read `y` after the first result is computed."""
    return x + y, x * y


def read_at_once(_: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Read `y` once."""
    return x + y, x + y + x
