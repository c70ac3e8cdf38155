"""Products with stacks of vectors: NumPy's values, gradients, shapes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn import Param
from tapegrad.ops import cross, kron, matvec, normal, tensor, vecdot, vecmat, zeros
from tapegrad.ops.vectors import cross_shape, kron_shape
from tapegrad.sizes import UNKNOWN, named, show
from tapegrad.testing import check_gradients, check_shape_rule

PRODUCTS: dict[str, Callable[..., Any]] = {"matvec": matvec, "vecdot": vecdot, "vecmat": vecmat}
SUBSCRIPTS = {"matvec": "...nk,...k->...n", "vecdot": "...n,...n->...", "vecmat": "...k,...km->...m"}
FITTING: dict[str, list[tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "matvec": [
        ((3, 5), (5,)),
        ((2, 3, 5), (2, 5)),
        ((4, 1, 3, 5), (2, 5)),
        ((3, 5), (2, 5)),
        ((0, 5), (5,)),
        ((1, 1), (1,)),
    ],
    "vecdot": [((5,), (5,)), ((2, 5), (2, 5)), ((4, 1, 5), (2, 5)), ((2, 5), (5,)), ((3, 0), (0,)), ((1,), (1,))],
    "vecmat": [
        ((5,), (5, 3)),
        ((2, 5), (2, 5, 3)),
        ((2, 5), (4, 1, 5, 3)),
        ((2, 5), (5, 3)),
        ((0,), (0, 3)),
        ((1,), (1, 1)),
    ],
}
CASES = [(name, x, y) for name, operands in FITTING.items() for x, y in operands]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def test_products_computed_by_hand() -> None:
    x, v, w = tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([5.0, 6.0]), tensor([[1.0, 0.0], [0.0, 1.0]])

    assert vecdot(x, v).tolist() == [17, 39]
    assert matvec(x, v).tolist() == [17, 39]
    assert vecmat(v, x).tolist() == [23, 34]
    assert matvec(x, w).tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(("name", "x", "y"), CASES, ids=str)
def test_values_are_sums_of_products_and_gradients_can_be_differentiated(
    name: str, x: tuple[int, ...], y: tuple[int, ...]
) -> None:
    f, a, b = PRODUCTS[name], real(*x), real(*y, seed=1)

    np.testing.assert_allclose(f(a, b).numpy(), np.einsum(SUBSCRIPTS[name], a.numpy(), b.numpy()), rtol=1e-12)
    check_gradients(f, a, b, order=2)


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf - inf
def test_zeros_ties_infinities_and_nan_equal_numpy(name: str) -> None:
    rows = np.array([[0, 0, 1], [np.inf, 1, 1], [np.nan, 2, 3], [3e38, 3e18, 100]], np.float32)
    v = np.array([1, 2, -np.inf], np.float32)
    x, y = (v, rows.T.copy()) if name == "vecmat" else (rows, v)

    np.testing.assert_array_equal(PRODUCTS[name](tensor(x), tensor(y)).numpy(), np.matmul(x, y))


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_ones_arrays_and_ints(name: str) -> None:
    f, (x, y) = PRODUCTS[name], FITTING[name][0]

    assert f(tensor([[2]]), tensor([[3]])).shape == ((1,) if name == "vecdot" else (1, 1))
    np.testing.assert_array_equal(f(real(*x), real(*y).numpy()).numpy(), f(real(*x), real(*y)).numpy())
    assert f(tensor([[2]], np.int8), tensor([[3]], np.int8)).dtype == np.int8


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_parameter_on_either_side_has_a_gradient(name: str) -> None:
    f, (x, y) = PRODUCTS[name], FITTING[name][0]
    left, right = Param(real(*x)), Param(real(*y, seed=1))

    assert np.any(f(left, real(*y, seed=1).trace()).sum().backward(wrt=[left])[left].numpy())
    assert np.any(f(real(*x).trace(), right).sum().backward(wrt=[right])[right].numpy())


@pytest.mark.parametrize("name", PRODUCTS)
def test_results_match_the_shape_rules(name: str) -> None:
    check_shape_rule(PRODUCTS[name], *FITTING[name], ((3, 5), (7, 2)))


@pytest.mark.parametrize(
    ("name", "x", "y", "message"),
    [
        ("vecdot", (2, 5), (3,), "inner sizes differ: x (2, 5) has 5 elements but y (3,) has 3 elements"),
        ("vecdot", (2, 5), (1,), "inner sizes differ: x (2, 5) has 5 elements but y (1,) has 1 elements"),
        ("vecdot", (2, 5), (3, 5), "x (2, 5) and y (3, 5) do not broadcast: axis -2 is 2 in x but 3 in y"),
        ("vecdot", (5,), (), "y () has rank 0 but needs at least 1"),
        ("matvec", (2, 5), (3,), "inner sizes differ: x (2, 5) has 5 columns but y (3,) has 3 elements"),
        ("matvec", (2, 3, 5), (4, 5), "x (2, 3, 5) has matrices (2,) but y (4, 5) has vectors (4,)"),
        ("matvec", (5,), (5,), "x (5,) has rank 1 but needs at least 2"),
        ("vecmat", (3,), (2, 5), "inner sizes differ: x (3,) has 3 elements but y (2, 5) has 2 rows"),
        ("vecmat", (4, 3), (2, 3, 5), "x (4, 3) has vectors (4,) but y (2, 3, 5) has matrices (2,)"),
        ("vecmat", (5,), (5,), "y (5,) has rank 1 but needs at least 2"),
    ],
    ids=str,
)
def test_mismatched_shapes_are_rejected(name: str, x: tuple[int, ...], y: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        PRODUCTS[name](real(*x), real(*y))

    assert str(rejected.value) == f"{name}: {message}"


@pytest.mark.parametrize("name", PRODUCTS)
def test_mixed_dtypes_are_rejected(name: str) -> None:
    x, y = FITTING[name][0]

    with pytest.raises(DTypeError, match=rf"^{name}: x is float32 but y is float64$"):
        PRODUCTS[name](real(*x).astype(np.float32), real(*y))


def test_bools_are_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^vecdot: x is bool but number is expected$"):
        vecdot(tensor([True]), tensor([True]))  # type: ignore[tapegrad-dtype]  # the mistake under test


CROSSED: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [
    ((3,), (3,), -1),
    ((2, 3), (3,), -1),
    ((3,), (5, 2, 3), 2),
    ((3, 1), (2, 3, 5), 1),
    ((3, 2), (3, 2), 0),
    ((0, 3), (1, 3), -1),
]
BLOCKS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 3), (5, 1)),
    ((3,), (2, 5)),
    ((2, 1, 3), (2,)),
    ((), (3,)),
    ((), ()),
    ((1,), (1, 1)),
    ((0, 2), (3, 1)),
]


@pytest.mark.parametrize(("x", "y", "axis"), CROSSED, ids=str)
def test_cross_products_equal_numpy_and_have_gradients(x: tuple[int, ...], y: tuple[int, ...], axis: int) -> None:
    a, b = real(*x), real(*y, seed=1)
    back = axis - max(len(x), len(y)) if axis >= 0 else axis
    moved = (np.moveaxis(one.numpy(), back, -1) for one in (a, b))

    np.testing.assert_allclose(cross(a, b, axis).numpy(), np.moveaxis(np.cross(*moved), -1, back), rtol=1e-12)
    check_gradients(lambda x, y: cross(x, y, axis), a, b, order=2)
    check_shape_rule(cross, (x, y, axis))


@pytest.mark.parametrize(("x", "y"), BLOCKS, ids=str)
def test_kronecker_products_equal_numpy_and_have_gradients(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    a, b = real(*x), real(*y, seed=1)

    np.testing.assert_allclose(kron(a, b).numpy(), np.kron(a.numpy(), b.numpy()), rtol=1e-12)
    check_gradients(kron, a, b, order=2)
    check_shape_rule(kron, (x, y))


@pytest.mark.filterwarnings("ignore:(invalid value|overflow):RuntimeWarning")  # inf - inf
def test_cross_and_kronecker_products_of_edges_equal_numpy() -> None:
    x = np.array([[0, 0, 1], [np.inf, 1, 1], [np.nan, 2, 3], [3e38, 3e18, 100]], np.float32)
    v = np.array([1, 2, -np.inf], np.float32)

    np.testing.assert_array_equal(cross(tensor(x), tensor(v)).numpy(), np.cross(x, v))
    np.testing.assert_array_equal(kron(tensor(x), tensor(v)).numpy(), np.kron(x, v))
    assert cross(tensor([1, 0, 0]), tensor([0, 1, 0])).tolist() == [0, 0, 1]
    assert kron(tensor([1, 2], np.int8), tensor([3], np.int8)).dtype == np.int8


def test_parameters_in_cross_and_kronecker_products_have_gradients() -> None:
    for function in (cross, kron):
        left, right = Param(real(3)), Param(real(3, seed=1))
        assert np.any(function(left, real(3, seed=1).trace()).sum().backward(wrt=[left])[left].numpy())
        assert np.any(function(real(3).trace(), right).sum().backward(wrt=[right])[right].numpy())


def test_cross_and_kronecker_products_of_what_does_not_fit_are_rejected() -> None:
    with pytest.raises(
        ShapeError, match=r"^cross: y \(2,\) has 2 elements along axis -1, but vectors of 3 are expected$"
    ):
        cross(real(3), real(2))
    with pytest.raises(
        ShapeError, match=r"^cross: x \(1,\) has 1 elements along axis -1, but vectors of 3 are expected$"
    ):
        cross(real(1), real(3))
    with pytest.raises(ShapeError, match=r"^cross: x \(3,\) has rank 1 but needs at least 2$"):
        cross(real(3), real(3, 2), 0)
    with pytest.raises(ShapeError, match=r"^cross: axis 1 is out of range for x \(3,\)$"):
        cross(real(3), real(3), 1)
    with pytest.raises(
        ShapeError, match=r"^cross: x \(2, 3\) and y \(5, 3\) do not broadcast: axis -2 is 2 in x but 5 in"
    ):
        cross(real(2, 3), real(5, 3))
    truth: Any = tensor([True, False, True])
    for function in (cross, kron):
        with pytest.raises(DTypeError, match=rf"^{function.__name__}: x is float64 but y is float32$"):
            function(real(3), zeros(3))
        with pytest.raises(DTypeError, match=rf"^{function.__name__}: x is bool but number is expected$"):
            function(truth, truth)


def test_sizes_of_cross_and_kronecker_products_have_names() -> None:
    n, m = named("N"), named("M")

    assert show(cross_shape((n, UNKNOWN), (3,))) == "(N, 3)"
    assert show(kron_shape((n, 2), (m, 3))) == "(M*N, 6)"
