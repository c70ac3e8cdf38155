"""Matrix products: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad import ops
from tapegrad.autodiff import Autodiff
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import bmm, dot, linear, matmul, normal, ones, outer, tensor
from tapegrad.ops.matmul import bmm_shape, linear_shape
from tapegrad.sizes import UNKNOWN, show
from tapegrad.testing import check_gradients, check_shape_rule

OPERANDS = [
    ((3, 5), (5, 7)),
    ((5,), (5, 7)),
    ((3, 5), (5,)),
    ((5,), (5,)),
    ((2, 3, 5), (5, 7)),
    ((3, 5), (2, 5, 7)),
    ((4, 1, 3, 5), (2, 5, 7)),
    ((2, 3, 5), (5,)),
    ((5,), (2, 5, 7)),
    ((4, 2, 3, 5), (1, 2, 5, 7)),
]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def test_a_product_of_matrices() -> None:
    x: Any = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y: Any = tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])

    assert (x @ y).tolist() == [[4, 5], [10, 11]]


@pytest.mark.parametrize(("x", "y"), OPERANDS, ids=str)
def test_the_result_equals_numpy(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    a, b = real(*x), real(*y, seed=1)

    np.testing.assert_array_equal(matmul(a, b).numpy(), np.matmul(a.numpy(), b.numpy()))


@pytest.mark.parametrize(("x", "y"), OPERANDS, ids=str)
def test_gradients_of_rows_columns_and_stacks_can_be_differentiated(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    check_gradients(matmul, real(*x), real(*y, seed=1), order=2)


def test_the_gradient_of_a_matrix_times_itself() -> None:
    check_gradients(lambda x: x @ x, real(3, 3), order=2)
    check_gradients(lambda x: x @ x.T, real(3, 5), order=2)


def test_results_match_the_shape_rules() -> None:
    check_shape_rule(matmul, *OPERANDS, ((0, 5), (5, 7)), ((3, 0), (0, 7)), ((1, 1), (1, 1)), ((3, 5), (7, 5)))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf - inf
def test_zeros_ties_infinities_and_nan_equal_numpy() -> None:
    x = np.array([[0, 0, 1], [np.inf, 1, 1], [np.nan, 2, 3], [3e38, 3e18, 100]], np.float32)
    y = np.array([[1, -np.inf], [2, 2], [3, 1e-30]], np.float32)

    np.testing.assert_array_equal(matmul(tensor(x), tensor(y)).numpy(), x @ y)


def test_an_empty_inner_axis_sums_to_zero() -> None:
    x, y = real(2, 0), real(0, 3)

    assert (x @ y).tolist() == [[0, 0, 0], [0, 0, 0]]
    check_gradients(matmul, x, y)
    check_gradients(matmul, real(0, 5), real(5, 3))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ((2, 5), (2, 5), "inner sizes differ: x (2, 5) has 5 columns but y (2, 5) has 2 rows"),
        ((5,), (3, 7), "inner sizes differ: x (5,) has 5 elements but y (3, 7) has 3 rows"),
        ((2, 5), (3,), "inner sizes differ: x (2, 5) has 5 columns but y (3,) has 3 elements"),
        ((), (5, 3), "x () has rank 0 but needs at least 1"),
        ((5,), (), "y () has rank 0 but needs at least 1"),
        ((2, 4, 5), (3, 5, 7), "x (2, 4, 5) and y (3, 5, 7) do not broadcast: axis -3 is 2 in x but 3 in y"),
    ],
    ids=str,
)
def test_mismatched_shapes_are_rejected(x: tuple[int, ...], y: tuple[int, ...], message: str) -> None:
    a, b = real(*x), real(*y)

    with pytest.raises(ShapeError) as rejected:
        a @ b

    assert str(rejected.value) == f"matmul: {message}"


def test_a_number_is_rejected() -> None:
    x: Any = ones((2, 3))

    with pytest.raises(ShapeError, match=r"^matmul: y \(\) has rank 0 but needs at least 1$"):
        x @ 2.0


def test_mixed_dtypes_are_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^matmul: x is float32 but y is float64$"):
        real(2, 3).astype(np.float32) @ real(3, 5)


def test_ints_multiply() -> None:
    x: Any = tensor([[1, 2], [3, 4]])

    assert (x @ x).tolist() == [[7, 10], [15, 22]]
    assert (x @ x).dtype == np.int64


# outer, dot, bmm, linear

PRODUCTS: dict[str, Any] = {"outer": outer, "dot": dot, "bmm": bmm}
FITTING: dict[str, list[tuple[tuple[int, ...], ...]]] = {
    "outer": [((3,), (5,)), ((1,), (1,)), ((0,), (3,))],
    "dot": [((5,), (5,)), ((1,), (1,)), ((0,), (0,))],
    "bmm": [((2, 3, 5), (2, 5, 7)), ((1, 1, 1), (1, 1, 1)), ((2, 0, 5), (2, 5, 3))],
}
LINEAR = [((2, 3), (3, 5), (5,)), ((3,), (3, 5), (5,)), ((4, 2, 3), (3, 1), (1,)), ((0, 3), (3, 5), (5,))]


def test_outer_dot_bmm_and_linear_equal_matmul() -> None:
    v, w, x = tensor([1.0, 2.0]), tensor([3.0, 4.0]), tensor([[1.0, 2.0], [3.0, 4.0]])

    assert outer(v, w).tolist() == [[3, 4], [6, 8]]
    assert dot(v, w).item() == 11
    assert bmm(ops.stack([x, x]), ops.stack([x, 2.0 * x])).tolist() == [[[7, 10], [15, 22]], [[14, 20], [30, 44]]]
    assert linear(v, x, w).tolist() == [10, 14]
    assert linear(v, x).tolist() == linear(v, x, None).tolist() == [7, 10]


@pytest.mark.parametrize("name", PRODUCTS)
def test_gradients_of_products_can_be_differentiated(name: str) -> None:
    for x, y in FITTING[name]:
        check_gradients(PRODUCTS[name], real(*x), real(*y, seed=1), order=2)


@pytest.mark.parametrize("place", range(3))
def test_linear_adds_its_bias_on_the_level_of_any_operand(place: int) -> None:
    operands: list[Any] = [real(2, 3), real(3, 5, seed=1), real(5, seed=2)]
    expected = linear(*operands).tolist()
    level = Autodiff()

    operands[place] = level.from_inner(operands[place])

    assert level.inner(linear(*operands)).tolist() == expected


@pytest.mark.parametrize(("x", "weight", "bias"), LINEAR, ids=str)
def test_gradients_of_linear_can_be_differentiated(x: Any, weight: Any, bias: Any) -> None:
    check_gradients(linear, real(*x), real(*weight, seed=1), real(*bias, seed=2), order=2)
    check_gradients(linear, real(*x), real(*weight, seed=1), order=2)


def test_products_match_their_shape_rules() -> None:
    for name, cases in FITTING.items():
        check_shape_rule(PRODUCTS[name], *cases)
    check_shape_rule(linear, *LINEAR, *((x, weight) for x, weight, _ in LINEAR))


@pytest.mark.filterwarnings("ignore:(invalid value|overflow):RuntimeWarning")
def test_products_pass_zeros_infinities_and_nan() -> None:
    x = np.array([0, 0, 1, np.inf, np.nan, 3e38], np.float32)
    whole = x.reshape(1, 2, 3)

    np.testing.assert_array_equal(outer(tensor(x), tensor(x)).numpy(), np.outer(x, x))
    np.testing.assert_array_equal(dot(tensor(x), tensor(x)).numpy(), np.nan)
    np.testing.assert_array_equal(bmm(tensor(whole), tensor(whole.mT.copy())).numpy(), whole @ whole.mT)
    np.testing.assert_array_equal(
        linear(tensor(x), tensor(np.eye(6)).astype(np.float32), tensor(x)).numpy(), x @ np.eye(6, dtype=np.float32) + x
    )


@pytest.mark.parametrize(
    ("name", "shapes", "message"),
    [
        ("outer", ((2, 3), (5,)), "x (2, 3) has rank 2, not 1"),
        ("outer", ((3,), ()), "y () has rank 0, not 1"),
        ("dot", ((3,), (5,)), "inner sizes differ: x (3,) has 3 elements but y (5,) has 5 elements"),
        ("dot", ((3,), (3, 5)), "y (3, 5) has rank 2, not 1"),
        ("bmm", ((2, 3, 5), (1, 5, 7)), "x (2, 3, 5) has 2 matrices but y (1, 5, 7) has 1"),
        ("bmm", ((2, 3, 5), (5, 7)), "y (5, 7) has rank 2, not 3"),
        ("bmm", ((2, 3, 5), (2, 3, 5)), "inner sizes differ: x (2, 3, 5) has 5 columns but y (2, 3, 5) has 3 rows"),
        ("linear", ((2, 3), (5, 3), (5,)), "axis -1 of x (2, 3) is 3 but weight (5, 3) has 5 rows"),
        ("linear", ((2, 3), (3, 5), (3,)), "weight (3, 5) has 5 columns but bias (3,) has 3"),
        ("linear", ((2, 3), (3,), (3,)), "weight (3,) has rank 1, not 2"),
        ("linear", ((), (3, 5), (5,)), "x () has rank 0 but needs at least 1"),
        ("linear", ((2, 3), (3, 5), ()), "bias () has rank 0, not 1"),
        ("linear", ((2, 3), (5, 3)), "axis -1 of x (2, 3) is 3 but weight (5, 3) has 5 rows"),
        ("linear", ((2, 3), (3,)), "weight (3,) has rank 1, not 2"),
        ("linear", ((4, 2, 3), (4, 3, 5)), "weight (4, 3, 5) has rank 3, not 2"),
    ],
)
def test_products_of_mismatched_shapes_are_rejected(name: str, shapes: Any, message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        (PRODUCTS | {"linear": linear})[name](*(real(*shape) for shape in shapes))

    assert str(rejected.value) == f"{name}: {message}"


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_mixed_dtypes_are_rejected(name: str) -> None:
    x, y = FITTING[name][0]

    with pytest.raises(DTypeError, match=f"^{name}: x is float32 but y is float64$"):
        PRODUCTS[name](ones(x), real(*y))


def test_linear_of_mixed_dtypes_is_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^linear: x is float32 but bias is float64$"):
        linear(ones((2, 3)), ones((3, 5)), real(5))
    with pytest.raises(DTypeError, match=r"^linear: x is float32 but weight is float64$"):
        linear(ones((2, 3)), real(3, 5))


def test_a_size_known_from_one_operand_is_known() -> None:
    assert show(bmm_shape((UNKNOWN, 2, 3), (4, 3, 5))) == "(4, 2, 5)"
    assert show(bmm_shape((4, 2, 3), (UNKNOWN, 3, 5))) == "(4, 2, 5)"
    assert show(linear_shape((2, 3), (3, UNKNOWN), (5,))) == "(2, 5)"
    assert show(linear_shape((2, 3), (3, 5), (UNKNOWN,))) == "(2, 5)"
