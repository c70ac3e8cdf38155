"""interpolate and upsample2d: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import interpolate, normal, ones, tensor, upsample2d, zeros
from tapegrad.ops.upsample import interpolate_shape
from tapegrad.testing import check_gradients, check_shape_rule

MODES: list[dict[str, Any]] = [
    {"mode": "nearest"},
    {"mode": "bilinear"},
    {"mode": "bilinear", "align_corners": True},
]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def test_values_computed_by_hand() -> None:
    x: Any = tensor([[[0.0, 4.0]]])

    assert upsample2d(x, (1, 2)).tolist() == [[[0, 0, 4, 4]]]
    assert upsample2d(x, (2, 1)).tolist() == [[[0, 4], [0, 4]]]
    assert upsample2d(x, (1, 2), mode="bilinear").tolist() == [[[0, 1, 3, 4]]]
    aligned = upsample2d(x, (1, 2), mode="bilinear", align_corners=True)
    np.testing.assert_allclose(aligned.numpy(), [[[0, 4 / 3, 8 / 3, 4]]], rtol=1e-6)
    assert upsample2d(real(2, 3, 4, 5), (2, 3)).shape == (2, 3, 8, 15)


@pytest.mark.parametrize("options", MODES, ids=str)
def test_a_constant_image_stays_constant(options: dict[str, Any]) -> None:
    np.testing.assert_allclose(upsample2d(ones((1, 3, 2)) * 7, 3, **options).numpy(), np.full((1, 9, 6), 7), rtol=1e-6)


@pytest.mark.parametrize("options", MODES, ids=str)
def test_gradients_can_be_differentiated(options: dict[str, Any]) -> None:
    check_gradients(lambda x: upsample2d(x * x, (2, 3), **options), real(2, 1, 2, 3), order=2)
    check_gradients(lambda x: upsample2d(x, (2, 1), **options), real(1, 1, 2), order=2)


@pytest.mark.parametrize("options", MODES, ids=str)
def test_empty_tensors_and_single_pixels(options: dict[str, Any]) -> None:
    assert upsample2d(tensor([[[3.0]]]), 2, **options).tolist() == [[[3, 3], [3, 3]]]
    assert upsample2d(zeros((0, 2, 3, 4)), 2, **options).shape == (0, 2, 6, 8)
    check_gradients(lambda x: upsample2d(x, 2, **options), zeros((0, 1, 2, 2), np.float64))


def test_infinities_and_nan_reach_only_neighbouring_pixels() -> None:
    x: Any = tensor([[[np.inf, 0.0, 0.0, 1e30, 1e30, np.nan]]])
    finite: Any = tensor([[[0.0, 0.0, 1e30, 1e30, np.nan]]])

    y, mixed = upsample2d(x, (1, 2)).numpy().ravel(), upsample2d(finite, (1, 2), mode="bilinear").numpy().ravel()

    np.testing.assert_array_equal(y, np.repeat(x.numpy().ravel(), 2))
    assert np.isnan(mixed).tolist() == [False] * 7 + [True] * 3
    np.testing.assert_allclose(mixed[:7], np.array([0, 0, 0, 0.25, 0.75, 1, 1]) * 1e30, rtol=1e-6)


def test_results_match_the_shape_rules() -> None:
    check_shape_rule(upsample2d, ((2, 3, 5, 7), 2), ((3, 5, 7), (3, 1)), ((3, 1, 1), 4))


WHOLE: Any = ones((1, 2, 3), np.int64)  # mypy rejects it before it runs
NUMBER: Any = 2.0
OTHER: Any = "cubic"


def test_invalid_arguments_are_rejected() -> None:
    image: Any = ones((3, 5, 7))
    none: Any = 0
    matrix: Any = ones((5, 7))
    empty: Any = zeros((3, 0, 7))

    with pytest.raises(ShapeError, match=r"^upsample2d: scale is 0, below 1$"):
        upsample2d(image, none)
    with pytest.raises(ShapeError, match=r"^upsample2d: the input is 0, below 1$"):
        upsample2d(empty, 2)
    with pytest.raises(ShapeError, match=r"^upsample2d: x \(5, 7\) has rank 2, not 4, or 3 without a batch$"):
        upsample2d(matrix, 2)
    with pytest.raises(DTypeError, match=r"^upsample2d: x is int64 but floating is expected$"):
        upsample2d(WHOLE, 2)
    with pytest.raises(DTypeError, match=r"^x is a float, not a tensor$"):
        inspect.unwrap(upsample2d)(NUMBER, 2)
    with pytest.raises(ValueError, match=r"^upsample2d: mode is 'cubic' but 'nearest' or 'bilinear' is expected$"):
        upsample2d(image, 2, mode=OTHER)
    with pytest.raises(ValueError, match=r"^upsample2d: align_corners is set, but 'nearest' does not interpolate$"):
        upsample2d(image, 2, align_corners=True)


# interpolate

RESAMPLINGS: list[dict[str, Any]] = [
    {"mode": "nearest"},
    *({"mode": mode, "align_corners": aligned} for mode in ("linear", "cubic") for aligned in (False, True)),
]


def test_resampled_values_computed_by_hand() -> None:
    x: Any = tensor([0.0, 4.0, 8.0])

    assert interpolate(x, 2).tolist() == [0, 4]
    assert interpolate(x, 6).tolist() == [0, 0, 4, 4, 8, 8]
    assert interpolate(x, 2, mode="linear").tolist() == [1, 7]
    assert interpolate(x, (5,), "linear", align_corners=True).tolist() == [0, 2, 4, 6, 8]
    # At a distance of 1/2 the weights are -3/32, 19/32, 19/32 and -3/32.
    halves = interpolate(x, 5, mode="cubic", align_corners=True).numpy()
    np.testing.assert_allclose(halves, [0, (4 * 19 - 8 * 3) / 32, 4, (12 * 19 - 8 * 3) / 32, 8], rtol=1e-6)


@pytest.mark.parametrize("options", RESAMPLINGS, ids=str)
def test_upsampling_by_a_factor_is_one_of_the_resamplings(options: dict[str, Any]) -> None:
    x = real(2, 3, 4, 5)

    same = interpolate(x, (4, 5), **options).numpy()
    np.testing.assert_allclose(same, x.numpy(), rtol=1e-13, atol=1e-15)
    if options["mode"] != "cubic":
        others = options | ({"mode": "bilinear"} if options["mode"] == "linear" else {})
        np.testing.assert_array_equal(
            interpolate(x, (8, 15), **options).numpy(), upsample2d(x, (2, 3), **others).numpy()
        )
    np.testing.assert_allclose(
        interpolate(ones((2, 3, 4)) * 7, (3, 2, 9), **options).numpy(), np.full((3, 2, 9), 7), 1e-6
    )


@pytest.mark.parametrize("options", RESAMPLINGS, ids=str)
def test_gradients_of_interpolate_can_be_differentiated(options: dict[str, Any]) -> None:
    for shape, size in (((2, 3, 4), (2, 5)), ((3,), 7), ((1, 1, 2), (1, 1, 3)), ((0, 2), 3), ((2, 3), ())):
        check_gradients(lambda x, size=size: interpolate(x * x, size, **options), real(*shape), order=2)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf - inf
def test_infinities_nan_and_large_numbers_are_resampled_beside_zeros() -> None:
    x: Any = tensor([np.inf, 0.0, 0.0, 0.0, 0.0, 1e30, 1e30, np.nan])

    for mode in ("linear", "cubic"):
        y = interpolate(x, 16, mode=mode).numpy()
        assert y[5] == y[6] == 0
        assert not np.isfinite(y[[0, 15]]).any()
    expected = np.array([np.inf, 0, 0, 1e30], np.float32)
    np.testing.assert_array_equal(interpolate(x, 4).numpy(), expected)
    assert interpolate(ones((1,)), 3, mode="cubic").tolist() == [1, 1, 1]


def test_interpolate_matches_its_shape_rule() -> None:
    check_shape_rule(
        interpolate,
        {"x": (2, 3, 4, 5), "size": (8, 3)},
        {"x": (4, 5), "size": (8, 3)},
        {"x": (4, 5), "size": 3},
        {"x": (4, 5), "size": ()},
        {"x": (0, 5), "size": (3,)},
        {"x": (0, 5), "size": (2, 3)},
        {"x": (5,), "size": (2, 3)},
        {"x": (5,), "size": 0},
    )


@pytest.mark.parametrize(
    ("x", "size", "message"),
    [
        ((4, 5), (3, 0), "size is 0, below 1"),
        ((5,), (3, 2), "x (5,) has rank 1 but needs at least 2"),
        ((0, 5), (3, 2), "the input is 0, below 1"),
    ],
)
def test_sizes_that_do_not_fit_are_rejected(x: Any, size: Any, message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        interpolate(zeros(x), size)

    assert str(rejected.value) == f"interpolate: {message}"


def test_wrong_options_of_interpolate_are_rejected() -> None:
    x: Any = ones((3, 4))

    with pytest.raises(DTypeError, match=r"^interpolate: x is int64 but floating is expected$"):
        interpolate(tensor([1, 2]), 3)  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^interpolate: size is 2\.5 but an int or a tuple of ints is expected$"):
        interpolate(x, 2.5)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^size is 2\.5 but an int or a tuple of ints is expected$"):
        interpolate_shape((3, 4), 2.5)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(
        ValueError, match=r"^interpolate: mode is 'area' but 'nearest', 'linear' or 'cubic' is expected$"
    ):
        interpolate(x, 2, mode="area")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(ValueError, match=r"^interpolate: align_corners is set, but 'nearest' does not interpolate$"):
        interpolate(x, 2, align_corners=True)
