"""Normalisation by parts: what NumPy's short way gives is what the formulas of every engine give."""

from typing import Any

import numpy as np
import pytest

from tapegrad.engines import Backend
from tapegrad.engines.numpy import rows as by_parts
from tapegrad.engines.numpy.engine import NumPy
from tapegrad.engines.numpy.threads import set_threads

ENGINE: Any = NumPy()
LARGE = (37, 3, 5, 1031)  # 2.2 MiB, and not a whole number of parts


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(1, 2, shape).astype(dtype)


@pytest.mark.parametrize(
    ("axis", "dtype"),
    [
        *((axis, np.float32) for axis in (-1, (3,), (1,), (2, 3), (-1, 1, 2), (0, 3), None)),
        ((2, 3), np.float64),
        (1, np.float16),  # of longer rows the sum overflows
    ],
)
def test_parts_give_what_the_formulas_give(axis: Any, dtype: Any) -> None:
    x, dy = numbers(LARGE, dtype), numbers(LARGE, dtype, seed=1)
    within: Any = {"rtol": 1e-2, "atol": 1e-2} if dtype is np.float16 else {"rtol": 1e-4, "atol": 1e-5}

    for centred in (True, False):
        y, factor = ENGINE.standardize(x, axis, 1e-5, centred=centred)
        y_, factor_ = Backend.standardize(ENGINE, x, axis, 1e-5, centred=centred)
        dx = ENGINE.standardize_back(y, factor, dy, axis, centred=centred)

        assert {array.dtype for array in (y, factor, dx)} == {np.dtype(dtype)}
        assert factor.shape == factor_.shape
        np.testing.assert_allclose(y, y_, **within)
        np.testing.assert_allclose(factor, factor_, **within)
        np.testing.assert_allclose(dx, Backend.standardize_back(ENGINE, y, factor, dy, axis, centred=centred), **within)


@pytest.mark.parametrize("axis", [-1, 0, 2])
def test_the_gradient_of_scores_is_that_of_the_formula(axis: int) -> None:
    y, dy = ENGINE.softmax(numbers(LARGE, np.float32), axis), numbers(LARGE, np.float32, seed=1)

    np.testing.assert_allclose(y.sum(axis), 1, rtol=1e-5)
    np.testing.assert_allclose(
        ENGINE.softmax_back(y, dy, axis), Backend.softmax_back(ENGINE, y, dy, axis), rtol=1e-4, atol=1e-6
    )


def test_probabilities_are_exact_wherever_scores_lie() -> None:
    x = numbers((9, 7), np.float32)
    for row, shift in enumerate((0, 16, 17, 90, 1e4, -16, -17, -90, -1e4)):
        x[row] += shift
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)

    for rows in ([0], [0, 1], [0, 2], [0, 3], [5], [0, 6], [7], [0, 8], [*range(9)]):
        np.testing.assert_allclose(ENGINE.softmax(x[rows], -1), expected[rows], rtol=2e-6, atol=1e-30)


def test_scores_that_are_left_out_have_no_probability() -> None:
    x = np.array([[1, -np.inf, 1], [-np.inf, -np.inf, -200]], np.float32)

    np.testing.assert_array_equal(ENGINE.softmax(x, -1), [[0.5, 0, 0.5], [0, 0, 1]])


@pytest.mark.parametrize("shape", [(3, 5), (2, 0), LARGE, (1 << 11, 1 << 10)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_layer_norm_by_parts_is_that_of_the_formulas(shape: tuple[int, ...], dtype: Any) -> None:
    x, dy = numbers(shape, dtype), numbers(shape, dtype, seed=1)
    w, b = numbers(shape[-1:], dtype, seed=2), numbers(shape[-1:], dtype, seed=3)
    within: Any = {"rtol": 1e-2, "atol": 2e-2} if dtype is np.float16 else {"rtol": 1e-4, "atol": 1e-5}

    found = ENGINE.layer_norm(x, w, b, 1e-5)
    expected = Backend.layer_norm(ENGINE, x, w, b, 1e-5)
    back = ENGINE.layer_norm_back(x, w, dy, 1e-5, [True] * 3)
    expected_back = Backend.layer_norm_back(ENGINE, x, w, dy, 1e-5, [True] * 3)

    for ours, theirs in zip((*found, *back), (*expected, *expected_back), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        scale = max(1.0, float(np.abs(theirs).max(initial=0)))
        np.testing.assert_allclose(ours / scale, theirs / scale, **within)


@pytest.mark.parametrize("axis", [-1, 0, 2])
def test_logarithms_of_probabilities_are_those_of_the_formula(axis: int) -> None:
    x, dy = numbers(LARGE, np.float32), numbers(LARGE, np.float32, seed=1)

    y = ENGINE.log_softmax(x, axis)

    np.testing.assert_allclose(y, Backend.log_softmax(ENGINE, x, axis), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        ENGINE.log_softmax_back(y, dy, axis), Backend.log_softmax_back(ENGINE, y, dy, axis), rtol=1e-4, atol=1e-4
    )


def test_layer_norm_gives_only_the_gradients_that_are_wanted() -> None:
    x, w = numbers((3, 5), np.float32), numbers((5,), np.float32)
    every = ENGINE.layer_norm_back(x, w, x, 1e-5, [True] * 3)

    for wanted in ([True, False, False], [False, True, False], [False, False, True]):
        found = ENGINE.layer_norm_back(x, w, x, 1e-5, wanted)

        assert [one is not None for one in found] == [*wanted, True]
        for ours, theirs in zip(found, every, strict=True):
            assert ours is None or np.array_equal(ours, theirs)


def test_parts_on_several_threads_give_the_same_bits() -> None:
    x, w = numbers((1 << 11, 1 << 10), np.float32), numbers((1 << 10,), np.float32)
    found = []

    for count in (1, 3):
        set_threads(count)
        y, _ = ENGINE.layer_norm(x, w, w, 1e-5)
        found.append([ENGINE.softmax(x, -1), y, *ENGINE.layer_norm_back(x, w, y, 1e-5, [True] * 3)])
    set_threads(None)

    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_an_array_that_lies_in_another_order_is_read_as_it_stands() -> None:
    x = numbers((1031, 555), np.float32)

    transposed = np.asfortranarray(x)

    np.testing.assert_allclose(ENGINE.softmax(transposed, -1), ENGINE.softmax(x, -1), rtol=1e-5)
    np.testing.assert_allclose(ENGINE.softmax_back(x, transposed, -1), ENGINE.softmax_back(x, x, -1), rtol=1e-5)
    (y, _), (y_, _) = (ENGINE.standardize(one, -1, 1e-5, centred=True) for one in (transposed, x))
    np.testing.assert_allclose(y, y_, rtol=1e-4, atol=1e-6)


def test_each_row_may_have_an_eps_of_its_own() -> None:
    x = numbers((3, 5), np.float32)

    y, _ = ENGINE.standardize(x, -1, np.array([[0.5], [1.0], [2.0]], np.float32), centred=True)

    for row, eps in enumerate((0.5, 1.0, 2.0)):
        np.testing.assert_allclose(y[row], ENGINE.standardize(x[row], -1, eps, centred=True)[0], rtol=1e-6)


def test_long_rows_are_added_up_by_halves() -> None:
    x = np.full((2, 1 << 22), 0.1, np.float32)

    _, factor = ENGINE.standardize(x, -1, 1e-5, centred=False)

    np.testing.assert_allclose(factor, 1 / np.sqrt(np.float64(np.float32(0.1)) ** 2 + 1e-5), rtol=1e-6)


def test_not_a_number_and_infinity_stay_in_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_parts, "_BYTES", 64)
    x = numbers((6, 7), np.float32)
    x[1, 2], x[4, 0] = np.nan, np.inf

    with np.errstate(invalid="ignore"):
        y = ENGINE.softmax(x, -1)
        z, _ = ENGINE.standardize(x, -1, 1e-5, centred=True)

    for result in (y, z):
        assert np.isnan(result).all(axis=1).tolist() == [False, True, False, False, True, False]
        assert np.isfinite(result[[0, 2, 3, 5]]).all()
