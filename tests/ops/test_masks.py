"""masked_fill, masked_select and nonzero: NumPy's values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import masked_fill, masked_select, nonzero, normal, ones, tensor, zeros
from tapegrad.ops.masks import masked_fill_shape, masked_select_shape
from tapegrad.sizes import UNKNOWN
from tapegrad.testing import check_gradients, check_shape_rule


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def mask(*shape: int) -> Any:
    return normal(shape, rng=7) > 0


# masked_fill


@pytest.mark.parametrize("shape", [(2, 3, 5), (3, 1), (5,), ()], ids=str)
def test_masked_fill_sets_the_value_where_the_mask_is_true(shape: tuple[int, ...]) -> None:
    x, chosen = real(2, 3, 5), mask(*shape)

    np.testing.assert_array_equal(masked_fill(x, chosen, 7).numpy(), np.where(chosen.numpy(), 7, x.numpy()))
    check_gradients(lambda x: masked_fill(x, chosen, 7.5), x)
    check_gradients(lambda x, v: masked_fill(x, chosen, v), x, real(3, 1, seed=1))
    check_gradients(lambda x, v: masked_fill(x * x, mask(3), v * v), real(2, 3), real(), order=2)


def test_masked_fill_rejects_mask_and_value_that_no_size_of_x_fits() -> None:
    with pytest.raises(ShapeError, match=re.escape("mask (2, 3) and value (4,) do not broadcast: axis -1 is 3")):
        masked_fill_shape((2, UNKNOWN), (2, 3), (4,))


def test_masked_fill_keeps_the_dtype_and_either_tape() -> None:
    x, chosen = tensor([1, 2, 3]), tensor([True, False, True])

    assert masked_fill(x, chosen, 7).tolist() == [7, 2, 7]
    assert masked_fill(x, chosen, 7).dtype == np.int64
    assert masked_fill(ones((3,)), chosen, -np.inf).tolist() == [-np.inf, 1, -np.inf]
    assert masked_fill(ones((3,)), chosen, ones(()).trace()).owns_tape
    assert masked_fill(zeros((0, 3)), chosen, 1).shape == (0, 3)


def test_masked_fill_matches_its_shape_rule() -> None:
    check_shape_rule(
        masked_fill, ((2, 3), (3,), ()), ((2, 3), (), (2, 1)), ((0, 3), (1, 3), (3,)), ((2, 3), (2, 3), (1,))
    )


@pytest.mark.parametrize(
    ("chosen", "value", "message"),
    [
        ((4,), (), "x (2, 3) and mask (4,) do not broadcast: axis -1 is 3 in x but 4 in mask"),
        ((5, 2, 3), (), "mask (5, 2, 3) does not broadcast to x (2, 3)"),
        ((), (4, 1), "x (2, 3) and value (4, 1) do not broadcast: axis -2 is 2 in x but 4 in value"),
        ((), (1, 1, 1), "value (1, 1, 1) does not broadcast to x (2, 3)"),
    ],
    ids=str,
)
def test_masks_and_values_that_do_not_broadcast_are_rejected(chosen: Any, value: Any, message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        masked_fill(real(2, 3), mask(*chosen), real(*value))

    assert str(rejected.value) == f"masked_fill: {message}"


def test_values_and_masks_of_a_wrong_dtype_are_rejected() -> None:
    whole, chosen, half = tensor([1, 2, 3]), tensor([True, False, True]), 0.5

    with pytest.raises(DTypeError, match=r"^masked_fill: value is a float but x is int64$"):
        masked_fill(whole, chosen, half)  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^masked_fill: x is int64 but value is float32$"):
        masked_fill(whole, chosen, ones(()))  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^masked_fill: mask is int64 but bool is expected$"):
        masked_fill(whole, whole, 1)  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(DTypeError, match=r"^masked_select: mask is int64 but bool is expected$"):
        masked_select(whole, whole)  # type: ignore[tapegrad-dtype]  # the mistake under test


# masked_select


@pytest.mark.parametrize(("x", "chosen"), [((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((), (4,)), ((2, 0), ())])
def test_masked_select_keeps_the_order(x: tuple[int, ...], chosen: tuple[int, ...]) -> None:
    a, m = real(*x), mask(*chosen)
    wide, holds = np.broadcast_arrays(a.numpy(), m.numpy())

    np.testing.assert_array_equal(masked_select(a, m).numpy(), wide[holds])
    check_gradients(lambda a: masked_select(a, m), a)
    check_gradients(lambda a: masked_select(a * a, m), a, order=2)
    check_shape_rule(masked_select, (x, chosen))


def test_a_mask_without_true_selects_nothing() -> None:
    x: Any = ones((2, 3))

    y = masked_select(x.trace(), x < 0)

    assert y.shape == (0,)
    assert y.sum().backward()[x].tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_mask_that_does_not_broadcast_is_rejected() -> None:
    with pytest.raises(ShapeError) as rejected:
        masked_select(real(2, 3), mask(4))

    assert str(rejected.value) == (
        "masked_select: x (2, 3) and mask (4,) do not broadcast: axis -1 is 3 in x but 4 in mask"
    )


# nonzero


@pytest.mark.parametrize("shape", [(7,), (2, 3), (2, 3, 5), (0, 3)], ids=str)
def test_nonzero_equals_numpy(shape: tuple[int, ...]) -> None:
    x = real(*shape) * mask(*shape).astype(np.float64)

    indices = nonzero(x.trace())

    for ours, theirs in zip(indices, np.nonzero(x.numpy()), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)
        assert ours.dtype == np.int64
        assert not ours.owns_tape
    np.testing.assert_array_equal(x[indices].numpy(), masked_select(x, x != 0).numpy())
    check_shape_rule(nonzero, (shape,))


def test_nonzero_counts_nan_but_not_minus_zero() -> None:
    (indices,) = nonzero(tensor([0.0, np.nan, -0.0, np.inf, 3e38, 3e38]))

    assert indices.tolist() == [1, 3, 4, 5]


def test_nonzero_of_a_scalar_is_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^nonzero: x \(\) has no axis to count along$"):
        nonzero(tensor(3.0))  # type: ignore[tapegrad-shape]  # the mistake under test


def test_a_mask_that_would_broadcast_the_tensor_is_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^mask \(4, 5\) does not broadcast to x \(1, 5\)$"):
        masked_fill_shape((1, 5), (4, 5), ())
    with pytest.raises(
        ShapeError, match=r"^x \(3,\) and mask \(2,\) do not broadcast: axis -1 is 3 in x but 2 in mask$"
    ):
        masked_select_shape((3,), (2,))
