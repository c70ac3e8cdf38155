"""Variance, standard deviation, logsumexp and norms: NumPy's values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import logsumexp, norm, normal, sqrt, std, tensor, var, zeros
from tapegrad.testing import check_gradients, check_shape_rule

REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "var": (var, np.var),
    "std": (std, np.std),
    "logsumexp": (logsumexp, lambda x, axis, keepdims: np.log(np.sum(np.exp(x), axis, keepdims=keepdims))),
    "norm": (norm, np.linalg.vector_norm),
}
ROWS = np.array([[0, 0, 2], [3, 3, 3], [np.inf, -np.inf, 100], [-np.inf, -np.inf, 1], [1, np.nan, np.inf]])


AXES = [None, 1, -1, (0, 2)]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("axis", "keepdims"), list(product(AXES, [False, True])), ids=str)
def test_every_choice_of_axes_equals_numpy_and_has_its_gradient(name: str, axis: Any, keepdims: bool) -> None:  # noqa: FBT001  # a parameter
    (f, numpys), x = REDUCTIONS[name], real(2, 3, 4)

    np.testing.assert_allclose(
        f(x, axis, keepdims=keepdims).numpy(), numpys(x.numpy(), axis=axis, keepdims=keepdims), rtol=1e-12
    )
    check_gradients(lambda x: f(x, axis, keepdims=keepdims), x)
    check_gradients(lambda x: f(x * x, axis, keepdims=keepdims), real(2, 3, 1), order=2)


@pytest.mark.parametrize("name", REDUCTIONS)
@np.errstate(all="ignore")
def test_rows_with_zeros_ties_infinities_and_nan_equal_numpy(name: str) -> None:
    f, numpys = REDUCTIONS[name]

    np.testing.assert_allclose(f(tensor(ROWS), 1).numpy(), numpys(ROWS, axis=1, keepdims=False))


@pytest.mark.parametrize("name", ["var", "std", "logsumexp"])
@np.errstate(all="ignore")
def test_with_a_nan_all_gradients_are_nan(name: str) -> None:
    # That of std and of logsumexp once was.
    x: Any = tensor([np.nan, 1.0, 2.0])

    assert np.isnan(REDUCTIONS[name][0](x.trace()).backward()[x].numpy()).all()


@np.errstate(all="ignore")
def test_with_an_infinity_the_gradient_of_std_is_nan() -> None:
    # torch 2.13: torch.std(torch.tensor([inf, 1., 2.])).backward() gives NaN three times; it once was -inf here.
    x: Any = tensor([np.inf, 1.0, 2.0])

    assert np.isnan(std(x.trace()).backward()[x].numpy()).all()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_results_match_the_shape_rules(name: str) -> None:
    check_shape_rule(
        REDUCTIONS[name][0],
        *({"x": (2, 3, 7), "axis": axis, "keepdims": keep} for axis, keep in product(AXES, [False, True])),
        {"x": ()},
        {"x": (0, 3), "axis": 1},
    )


@pytest.mark.parametrize("name", REDUCTIONS)
def test_missing_axes_are_rejected(name: str) -> None:
    with pytest.raises(ShapeError, match=rf"^{name}: axis 2 is out of range for x \(2, 3\)$"):
        REDUCTIONS[name][0](real(2, 3), 2)
    with pytest.raises(ShapeError, match=rf"^{name}: axis 0 is out of range for x \(\)$"):
        REDUCTIONS[name][0](real(), 0)


def test_logsumexp_of_an_empty_axis_is_rejected() -> None:
    x: Any = zeros((0, 3))

    with pytest.raises(ShapeError, match=r"^logsumexp: x \(0, 3\) has no element along axis 0$"):
        logsumexp(x, 0)


def test_an_empty_variance_is_nan() -> None:
    assert math.isnan(var(zeros((0,))).item())
    assert math.isnan(std(zeros((0,))).item())
    assert math.isnan(std(tensor([3.0]), correction=1).item())


def test_correction_is_subtracted_from_the_count() -> None:
    x = real(3, 5)

    np.testing.assert_allclose(var(x, 1, correction=1).numpy(), np.var(x.numpy(), 1, ddof=1))
    np.testing.assert_allclose(std(x, correction=1).numpy(), np.std(x.numpy(), ddof=1))
    check_gradients(lambda x: var(x, 0, correction=1) * std(x, 0, correction=2), x)


def test_equal_elements_have_variance_and_gradient_zero() -> None:
    x: Any = tensor([3.0, 3.0])

    assert std(x).item() == 0
    assert std(x.trace()).backward()[x].tolist() == [0, 0]  # torch 2.9: torch.std([3, 3]) gives 0 as well
    with np.errstate(divide="ignore"):  # the derivative of the root is infinite there
        assert sqrt(std(x.trace())).backward()[x].tolist() == [0, 0]  # torch 2.13: the same


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_elements_have_no_gradient_by_rounding_of_their_mean(dtype: Any) -> None:
    for value, count in product((0.1257302210933933, -0.1321048632913019, 0.6404226504432821, 1e6 / 7), (3, 5, 7, 100)):
        x = tensor(np.full((2, count), value, dtype))

        dx = std(x.trace(), axis=-1).sum().backward()[x]

        np.testing.assert_array_equal(dx.numpy(), 0.0)


def test_logsumexp_neither_overflows_nor_loses_infinities() -> None:
    x: Any = tensor([1000.0, 1000.0])

    assert logsumexp(x).item() == pytest.approx(1000 + math.log(2))
    assert logsumexp(x.trace()).backward()[x].tolist() == [0.5, 0.5]
    assert logsumexp(tensor([-np.inf, -np.inf])).item() == -math.inf
    assert logsumexp(tensor([-np.inf, 0.0])).item() == 0
    nothing: Any = tensor([-np.inf, -np.inf])
    assert logsumexp(nothing.trace()).backward()[nothing].tolist() == [0, 0]
    apart: Any = tensor([[1000.0, 1000.0], [-1000.0, -1000.0]])
    assert logsumexp(apart.trace(), axis=1).sum().backward()[apart].tolist() == [[0.5, 0.5]] * 2


def test_other_dtypes_are_rejected() -> None:
    for name in ("var", "std", "logsumexp"):
        with pytest.raises(DTypeError, match=rf"^{name}: x is int64 but floating is expected$"):
            REDUCTIONS[name][0](tensor([1, 2]))


@pytest.mark.parametrize("power", [1, 1.5, 2, 3, math.inf])
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_a_norm_of_any_order_equals_numpy_and_has_its_gradient(power: float, axis: Any) -> None:
    x = real(2, 3, 4)

    np.testing.assert_allclose(
        norm(x, axis, ord=power).numpy(), np.linalg.vector_norm(x.numpy(), axis=axis, ord=power), rtol=1e-12
    )
    check_gradients(lambda x: norm(x, axis, ord=power, keepdims=True), x)
    check_gradients(lambda x: norm(x, axis and 1, ord=power), real(2, 3), order=2, rtol=1e-4)
    assert norm(tensor([3.0, -4.0]), ord=power).dtype == np.float32


def test_the_gradient_of_a_norm_at_zero_is_zero() -> None:
    for power in (1, 1.5, 2, 3, math.inf):
        x: Any = zeros((3,))
        assert norm(x.trace(), ord=power).backward()[x].tolist() == [0, 0, 0]


def test_the_gradient_of_a_norm_is_right_with_zeros() -> None:
    check_gradients(norm, tensor([3.0, 0.0, -4.0], np.float64), order=2)


def test_ties_of_the_largest_absolute_value_share_the_gradient() -> None:
    x: Any = tensor([1.0, -2.0, 2.0])

    assert norm(x.trace(), ord=math.inf).backward()[x].tolist() == [0, -0.5, 0.5]


def test_norms_in_edge_cases() -> None:
    assert norm(zeros((0, 3)), 0).tolist() == [0, 0, 0]
    with pytest.raises(ShapeError, match=r"^norm: x \(0, 3\) has no element along axis 0$"):
        norm(zeros((0, 3)), 0, ord=math.inf)
    with pytest.raises(DTypeError, match=r"^norm: x is int64 but floating is expected$"):
        norm(tensor([1, 2]))  # type: ignore[tapegrad-dtype]  # the mistake under test
    for power in (0.5, math.nan):
        with pytest.raises(ValueError, match=rf"^norm: ord is {power} but must be at least 1$"):
            norm(real(3), ord=power)


@pytest.mark.parametrize("power", [1, 1.5, 2, 3, math.inf])
def test_norms_of_large_infinite_and_nan_values(power: float) -> None:
    for x in ([100.0, 100.0, 0.0], [1.0, -np.inf], [np.nan, 1.0]):
        array = np.array(x, np.float32)
        np.testing.assert_allclose(
            norm(tensor(x), ord=power).numpy(), np.linalg.vector_norm(array, ord=power), rtol=1e-6
        )
