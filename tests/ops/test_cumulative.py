"""Cumulative sums, products and extremes: NumPy's values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.autograd.tape import NONE
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import (
    argcummax,
    argcummin,
    cummax,
    cummin,
    cumprod,
    cumsum,
    diff,
    gather,
    logcumsumexp,
    normal,
    tensor,
    zeros,
)
from tapegrad.ops.cumulative import diff_shape
from tapegrad.sizes import UNKNOWN, named, show
from tapegrad.testing import check_gradients, check_shape_rule

EDGES = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)
RUNS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "cummax": (cummax, np.maximum.accumulate),
    "cummin": (cummin, np.minimum.accumulate),
    "cumprod": (cumprod, np.cumprod),
    "cumsum": (cumsum, np.cumsum),
}
ROWS = np.array(
    [[0, 0, 2], [3, 3, 3], [np.inf, -np.inf, 100], [-np.inf, -np.inf, 3e38], [1, np.nan, np.inf]], np.float32
)


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_cumulative_ops_equal_numpy_and_have_gradients(name: str, axis: int | None) -> None:
    (f, numpys), x = RUNS[name], real(2, 5, 3)
    along = x.numpy().reshape(-1) if axis is None else x.numpy()

    np.testing.assert_allclose(f(x, axis).numpy(), numpys(along, axis or 0))
    check_gradients(lambda x: f(x, axis), x)
    check_gradients(lambda x: f(x * x, axis), real(2, 3), order=2)
    check_shape_rule(f, ((2, 3, 7), axis), ((0, 3), axis))


@pytest.mark.parametrize("name", RUNS)
@np.errstate(all="ignore")
def test_rows_with_zeros_ties_infinities_and_nan_equal_numpy(name: str) -> None:
    f, numpys = RUNS[name]

    np.testing.assert_array_equal(f(tensor(ROWS), 1).numpy(), numpys(ROWS, 1))


@pytest.mark.parametrize("name", RUNS)
def test_cumulative_ops_in_edge_cases(name: str) -> None:
    f = RUNS[name][0]

    assert f(zeros((0,))).shape == (0,)
    assert f(zeros((2, 0)), 0).shape == (2, 0)
    assert f(tensor(3)).tolist() == [3]
    assert f(tensor([100, 100], np.int8)).dtype == np.int8
    check_gradients(lambda x: f(x, 1), real(2, 1))
    check_gradients(f, real(2, 0))
    with pytest.raises(ShapeError, match=rf"^{name}: axis 1 is out of range for x \(2,\)$"):
        f(real(2), 1)
    with pytest.raises(ShapeError, match=rf"^{name}: axis 0 is out of range for x \(\)$"):
        f(real(), 0)


@pytest.mark.parametrize("name", ["cumprod", "cumsum"])
def test_sums_of_bools_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=rf"^{name}: x is bool but number is expected$"):
        RUNS[name][0](tensor([True]))


@pytest.mark.parametrize("x", [[2.0, 0.0, 3.0], [0.0, 2.0, 3.0, 0.0, 5.0], [0.0, 0.0], [2.0, 0.0, 0.0, 0.0, 7.0]])
def test_the_gradient_of_cumprod_is_right_with_zeros(x: list[float]) -> None:
    check_gradients(cumprod, tensor(x, np.float64), order=2)
    check_gradients(lambda x: cumprod(x, 0), tensor([x, x[::-1]], np.float64).T)


def test_the_gradient_of_cumprod_computed_by_hand() -> None:
    x: Any = tensor([2.0, 0.0, 3.0])

    grads = cumprod(x.trace()).sum().backward()

    # y = (a, ab, abc), so the sum has the derivatives 1 + b + bc, a + ac and ab.
    assert grads[x].tolist() == [1, 8, 0]


def test_ties_of_cumulative_extremes_give_the_gradient_to_the_latest() -> None:
    # The latest of the largest so far stands at 0, 1, 2, 2 and 4.
    x: Any = tensor([1.0, 3.0, 3.0, 2.0, 3.0])

    assert cummax(x.trace()).sum().backward()[x].tolist() == [1, 1, 2, 0, 1]
    assert cummin((-x).trace()).tolist() == [-1, -3, -3, -3, -3]
    y: Any = -x
    assert cummin(y.trace()).sum().backward()[y].tolist() == [1, 1, 2, 0, 1]


@pytest.mark.parametrize(("indices", "values"), [(argcummax, cummax), (argcummin, cummin)], ids=["max", "min"])
def test_indices_of_cumulative_extremes_are_where_they_were_last_met(indices: Any, values: Any) -> None:
    sign = 1 if values is cummax else -1
    x: Any = tensor([[1.0, 3.0, 3.0, 2.0], [np.inf, 200.0, 0.0, np.nan]]) * sign

    assert indices(x, 1).tolist() == [[0, 1, 2, 2], [0, 0, 0, 3]]
    assert indices(x, -2).tolist() == [[0, 0, 0, 0], [1, 1, 0, 1]]
    assert indices(x).tolist() == [0, 1, 2, 2, 4, 4, 4, 7]
    np.testing.assert_array_equal(gather(x, indices(x, 1), 1).numpy(), values(x, 1).numpy())
    assert indices(x.trace()).tape is NONE
    assert (indices(x).dtype, indices(zeros((0, 3)), 1).shape, indices(zeros((1,))).tolist()) == (np.int64, (0, 3), [0])
    assert indices(tensor([True, False, True])).tolist() == ([0, 0, 2] if sign > 0 else [0, 1, 1])
    check_shape_rule(indices, {"x": (2, 3), "axis": 1}, {"x": (2, 3)}, {"x": ()}, {"x": (0, 3), "axis": -1})
    with pytest.raises(ShapeError, match=rf"^{indices.__name__}: axis 2 is out of range for x \(2, 4\)$"):
        indices(x, 2)


def test_nan_stays_the_cumulative_extreme() -> None:
    x: Any = tensor([1.0, np.nan, 3.0])

    for f in (cummax, cummin):
        np.testing.assert_array_equal(f(x).numpy(), [1, np.nan, np.nan])
        assert f(x.trace()).sum().backward()[x].tolist() == [1, 2, 0]


def test_cumulative_extremes_of_bools_are_any_and_all() -> None:
    assert cummax(tensor([False, True, False])).tolist() == [False, True, True]
    assert cummin(tensor([True, False, True])).tolist() == [True, False, False]


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("length", [5, 7, 8, 9, 10, 11])
@np.errstate(all="ignore")
def test_cumulative_ops_over_special_values_equal_numpy(name: str, length: int) -> None:
    f, numpys = RUNS[name]

    np.testing.assert_array_equal(f(tensor(EDGES[:length])).numpy(), numpys(EDGES[:length]))
    np.testing.assert_array_equal(f(tensor(EDGES[::-1])).numpy(), numpys(EDGES[::-1]))


# logcumsumexp and diff


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_logarithms_of_cumulative_sums_equal_numpy_and_have_gradients(axis: int | None) -> None:
    x = real(2, 5, 3)
    along = x.numpy().reshape(-1) if axis is None else x.numpy()

    np.testing.assert_allclose(logcumsumexp(x, axis).numpy(), np.logaddexp.accumulate(along, axis or 0), rtol=1e-12)
    check_gradients(lambda x: logcumsumexp(x, axis), x)
    check_gradients(lambda x: logcumsumexp(x * x, axis), real(2, 3, 1)[:, :, 0] if axis == 1 else real(2, 3), order=2)
    check_shape_rule(logcumsumexp, ((2, 3, 7), axis), ((0, 3), axis))


@np.errstate(invalid="ignore")  # NumPy warns of a NaN
def test_logarithms_of_cumulative_sums_in_edge_cases() -> None:
    rows = np.concatenate([ROWS, np.array([[800] * 3, [-800] * 3], np.float32)])

    expected = np.logaddexp.accumulate(rows, 1)
    np.testing.assert_allclose(logcumsumexp(tensor(rows), 1).numpy(), expected, rtol=1e-6)
    assert logcumsumexp(zeros((0,))).shape == (0,)
    assert logcumsumexp(zeros((2, 0)), 1).shape == (2, 0)
    assert logcumsumexp(tensor([3.0])).tolist() == [3.0]
    x = tensor([-np.inf, -np.inf, 1.0, 1.0])
    grads = logcumsumexp(x.trace())[3].backward()
    np.testing.assert_allclose(grads[x].numpy(), [0, 0, 0.5, 0.5], rtol=1e-6)


def test_the_result_for_one_element_is_another_tensor() -> None:
    x = tensor([3.0]).trace()

    assert logcumsumexp(x) is not x


@pytest.mark.parametrize("n", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_differences_equal_numpy_and_have_gradients(n: int, axis: int) -> None:
    x = real(2, 5, 3)

    np.testing.assert_array_equal(diff(x, n, axis).numpy(), np.diff(x.numpy(), n, axis))
    check_gradients(lambda x: diff(x * x, n, axis), x, order=2)
    check_shape_rule(diff, ((2, 3, 7), n, axis), ((0, 3), n, axis), ((1, 2), n, axis))


@np.errstate(all="ignore")
def test_differences_in_edge_cases_equal_numpy() -> None:
    np.testing.assert_array_equal(diff(tensor(EDGES)).numpy(), np.diff(EDGES))
    assert diff(tensor([5, 2, 9], np.int8)).tolist() == [-3, 7]
    assert diff(tensor([5.0])).shape == (0,)
    assert diff(zeros((0, 3))).shape == (0, 2)
    assert diff(zeros((2, 0))).shape == (2, 0)


def test_the_size_of_differences_is_known_where_it_is_certain() -> None:
    n = named("N")

    assert show(diff_shape((n, 3), 1, 0)) == "(N - 1, 3)"
    assert show(diff_shape((n + 1, 3), 1, 0)) == "(N, 3)"
    assert show(diff_shape((UNKNOWN, 3), 1)) == "(?, 2)"


def test_differences_and_logarithms_that_do_not_exist_are_rejected() -> None:
    x: Any = zeros(3)
    with pytest.raises(ShapeError, match=r"^diff: n is -1 but at least 0 is expected$"):
        diff(x, -1)  # type: ignore[tapegrad-shape]  # the mistake under test
    with pytest.raises(ShapeError, match=r"^diff: axis -1 is out of range for x \(\)$"):
        diff(x[0])
    truth: Any = tensor([True, False])
    with pytest.raises(DTypeError, match=r"^diff: x is bool but number is expected$"):
        diff(truth)
    with pytest.raises(ShapeError, match=r"^logcumsumexp: axis 1 is out of range for x \(3,\)$"):
        logcumsumexp(x, 1)
    with pytest.raises(DTypeError, match=r"^logcumsumexp: x is bool but floating is expected$"):
        logcumsumexp(truth)


def test_a_bool_is_no_number_of_differences() -> None:
    with pytest.raises(DTypeError, match=r"^diff: n is True but an int is expected$"):
        diff(zeros((3,)), True)  # type: ignore[tapegrad-dtype]  # noqa: FBT003  # the mistake under test
    with pytest.raises(DTypeError, match=r"^n is True but an int is expected$"):
        diff_shape((3,), n=True)
