"""all, any, argmax, argmin and count_nonzero: NumPy's values, edge cases, shapes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import ShapeError
from tapegrad.ops import all, any, argmax, argmin, count_nonzero, normal, tensor, zeros
from tapegrad.testing import check_shape_rule

REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "argmax": (argmax, np.argmax),
    "argmin": (argmin, np.argmin),
    "all": (all, np.all),
    "any": (any, np.any),
    "count_nonzero": (count_nonzero, np.count_nonzero),
}


ROWS = np.array(
    [[0, 0, 2], [3, 3, 3], [np.inf, -np.inf, 100], [-np.inf, -np.inf, 3e38], [1, np.nan, np.inf]], np.float32
)


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_reductions_equal_numpy_and_have_no_tape(name: str, axis: int | None, keepdims: bool) -> None:  # noqa: FBT001  # a parameter
    (f, numpys), x = REDUCTIONS[name], real(2, 3, 5)
    x = x * (x > 0).astype(np.float64)

    y = f(x.trace(), axis, keepdims=keepdims)

    np.testing.assert_array_equal(y.numpy(), numpys(x.numpy(), axis, keepdims=keepdims))
    assert y.dtype == (np.bool_ if name in ("all", "any") else np.int64)
    assert not y.owns_tape
    check_shape_rule(f, {"x": (2, 3, 7), "axis": axis, "keepdims": keepdims}, {"x": (0, 3), "axis": axis})


@pytest.mark.parametrize("name", REDUCTIONS)
def test_rows_with_zeros_ties_infinities_and_nan_equal_numpy(name: str) -> None:
    f, numpys = REDUCTIONS[name]

    np.testing.assert_array_equal(f(tensor(ROWS), 1).numpy(), numpys(ROWS, 1))
    assert f(tensor([[3.0]])).item() == numpys([[3.0]])


def test_argmax_and_argmin_give_the_first_of_ties() -> None:
    x = tensor([2.0, 7.0, 7.0, 2.0])

    assert argmax(x).item() == 1
    assert argmin(x).item() == 0
    assert argmax(tensor([1.0, np.nan])).item() == 1
    assert argmax(tensor(3.0)).item() == 0


def test_reductions_of_empty_tensors() -> None:
    nothing: Any = zeros((0, 3))

    assert all(nothing).item() is True
    assert any(nothing, (0, 1)).item() is False
    assert count_nonzero(nothing, 0).tolist() == [0, 0, 0]
    assert argmax(nothing, 1).shape == (0,)
    for f in (argmax, argmin):
        with pytest.raises(ShapeError, match=rf"^{f.__name__}: x \(0, 3\) has no element along axis 0$"):
            f(nothing, 0)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_missing_axes_are_rejected(name: str) -> None:
    with pytest.raises(ShapeError, match=rf"^{name}: axis 2 is out of range for x \(2, 3\)$"):
        REDUCTIONS[name][0](real(2, 3), 2)


def test_count_nonzero_counts_nan_but_not_minus_zero() -> None:
    assert count_nonzero(tensor([np.nan, -0.0, np.inf, 2.0])).item() == 3
    assert count_nonzero(tensor([True, False, True])).item() == 2
    assert count_nonzero(tensor(3e38)).item() == 1
