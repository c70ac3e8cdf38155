"""add, subtract, multiply and divide: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import add, div, exp, lerp, mul, normal, sub, tensor, zeros
from tapegrad.testing import check_gradients, check_shape_rule

BINARY: dict[str, Callable[..., Any]] = {"add": add, "sub": sub, "mul": mul, "div": div}
EDGES = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def positive(*shape: int, seed: int = 0) -> Any:
    return exp(real(*shape, seed=seed))


@pytest.mark.parametrize(("name", "expected"), [("add", 9.0), ("sub", 5.0), ("mul", 14.0), ("div", 3.5)])
def test_two_operands_equal_plain_arithmetic(name: str, expected: float) -> None:
    x: Any = tensor([7.0, 0.0])

    assert BINARY[name](x, 2.0).tolist()[0] == expected


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("x", "y"),
    [
        *(((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1, 5), (3, 1)), ((3, 1, 1), (2, 1))),
        *(((), (2, 3)), ((1, 1), ()), ((2, 0), (1,))),
    ],
    ids=str,
)
def test_gradients_of_two_operands_have_the_shapes_of_the_operands(
    name: str, x: tuple[int, ...], y: tuple[int, ...]
) -> None:
    check_gradients(BINARY[name], real(*x), positive(*y, seed=1), order=2)


@pytest.mark.parametrize("name", BINARY)
def test_gradients_of_large_operands_equal_those_of_their_parts(name: str) -> None:
    def gradients(x: Any, y: Any, dz: Any) -> list[Any]:
        grads = BINARY[name](x.trace(), y.trace()).backward(wrt=[x, y], seed=dz)
        square = BINARY[name](x.trace(), x).backward(wrt=x, seed=dz)
        return [grads[x], grads[y], square[x]]

    many = positive(2**16 + 3), positive(2**16 + 3, seed=1), real(2**16 + 3, seed=2)
    whole = gradients(*many)

    for place in (slice(9), slice(-9, None)):
        for found, part in zip(whole, gradients(*(one[place] for one in many)), strict=True):
            np.testing.assert_allclose(found[place].numpy(), part.numpy(), rtol=1e-12)


def test_gradients_of_a_sum_of_products_are_copies_of_the_factors() -> None:
    x, y = positive(2**16 + 3), positive(2**16 + 3, seed=1)

    grads = mul(exp(x.trace()), y).sum().backward()

    np.testing.assert_allclose(grads[x].numpy(), np.exp(x.numpy()) * y.numpy(), rtol=1e-12)
    assert not np.shares_memory(mul(x.trace(), y).sum().backward()[x].data, y.data)


def test_gradients_of_a_sum_of_products_have_the_shapes_of_broadcast_factors() -> None:
    row, many = positive(7), positive(2**14, 7, seed=1)

    grads = mul(exp(row.trace()), exp(many.trace())).sum().backward()

    np.testing.assert_allclose(grads[row].numpy(), np.exp(row.numpy()) * np.exp(many.numpy()).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(grads[many].numpy(), np.exp(many.numpy()) * np.exp(row.numpy()), rtol=1e-12)


def test_a_wanted_intermediate_result_has_a_gradient_of_its_own() -> None:
    x, y = positive(2**16 + 3), positive(2**16 + 3, seed=1)
    middle = exp(x.trace())

    grads = mul(middle, y).sum().backward(wrt=[x, middle])

    assert not np.shares_memory(grads[middle].data, y.data)
    np.testing.assert_array_equal(grads[middle].data, y.data)


@pytest.mark.parametrize("name", BINARY)
def test_gradients_pass_through_a_number_on_either_side(name: str) -> None:
    check_gradients(lambda x: BINARY[name](x, 3), positive(2, 3), order=2)
    check_gradients(lambda x: BINARY[name](3, x), positive(2, 3), order=2)
    check_gradients(lambda x: BINARY[name](x, x), positive(2, 3), order=2)


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_match_their_shape_rules(name: str) -> None:
    check_shape_rule(
        BINARY[name], ((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((), (2, 3)), ((7,), (7,)), ((2, 0), (1,)), ((2,), (3,))
    )


@pytest.mark.parametrize("name", BINARY)
def test_shapes_that_do_not_broadcast_are_rejected(name: str) -> None:
    x, y = real(2, 3), real(4, seed=1)

    with pytest.raises(ShapeError) as rejected:
        BINARY[name](x, y)

    assert str(rejected.value) == f"{name}: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y"


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_without_a_tensor_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: neither a float nor an int is a tensor$"):
        BINARY[name](1.0, 2)


def test_a_difference_of_bools_is_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^sub: x is bool but number is expected$"):
        sub(tensor([True]), tensor([False]))  # type: ignore[tapegrad-dtype]  # the mistake under test


def test_a_quotient_of_ints_is_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^div: x is int64 but floating is expected$"):
        div(tensor([4, 2]), tensor([2, 2]))  # type: ignore[tapegrad-dtype]  # the mistake under test


def test_ints_keep_their_dtype() -> None:
    x: Any = tensor([5, 7])

    for f in (operator.add, operator.sub, operator.mul):
        assert f(x, 2).dtype == np.int64


def test_division_by_zero_follows_ieee() -> None:
    x: Any = tensor([1.0, -1.0, 0.0])

    with np.errstate(divide="ignore", invalid="ignore"):
        y = x / 0

    assert y.tolist()[:2] == [math.inf, -math.inf]
    assert math.isnan(y.tolist()[2])


def test_division_by_zero_warns_as_numpy_does() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        tensor([1.0]) / 0


def test_empty_tensors_give_empty_results() -> None:
    x: Any = zeros((0, 3))

    for f in BINARY.values():
        assert f(x, zeros((3,)) + 1).shape == (0, 3)


@pytest.mark.parametrize(
    ("name", "of_numpy"), [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)]
)
@np.errstate(all="ignore")
def test_two_operands_equal_numpy_in_edge_cases(name: str, of_numpy: Callable[..., Any]) -> None:
    x, y = EDGES[:, None], EDGES

    np.testing.assert_array_equal(BINARY[name](tensor(x), tensor(y)).numpy(), of_numpy(x, y))


WEIGHTS = [
    ((2, 3), (2, 3), (2, 3)),
    ((3,), (2, 1), (2, 3)),
    ((2, 1, 5), (3, 1), ()),
    ((), (), (7,)),
    ((2, 0), (1,), ()),
]


@pytest.mark.parametrize(("x", "y", "weight"), WEIGHTS, ids=str)
def test_interpolation_equals_the_formula_and_has_its_gradients(x: Any, y: Any, weight: Any) -> None:
    operands = real(*x), real(*y, seed=1), real(*weight, seed=2)
    a, b, w = (one.numpy() for one in operands)

    np.testing.assert_allclose(lerp(*operands).numpy(), (1 - w) * a + w * b, rtol=1e-10, atol=1e-12)
    check_gradients(lerp, *operands, order=2)
    check_gradients(lambda x, y: lerp(x, y, 0.25), *operands[:2], order=2)


def test_interpolation_gives_both_ends_exactly() -> None:
    x, y = tensor(EDGES[:6]), tensor(EDGES[5::-1].copy())

    for weight in (0.0, tensor(0.0)):
        np.testing.assert_array_equal(lerp(x, y, weight).numpy(), x.numpy())
    for weight in (1.0, tensor(1.0)):
        np.testing.assert_array_equal(lerp(x, y, weight).numpy(), y.numpy())
    assert lerp(tensor(1.0), tensor(3.0), 2.0).item() == 5.0


def test_interpolation_of_infinities_and_nan_equals_the_formula() -> None:
    with np.errstate(invalid="ignore", over="ignore"):
        for weight in (np.float32(0.25), np.float32(0.75)):
            x, y = EDGES, EDGES[::-1].copy()
            expected = x + weight * (y - x) if weight < 0.5 else y - (1 - weight) * (y - x)
            np.testing.assert_array_equal(lerp(tensor(x), tensor(y), float(weight)).numpy(), expected)


def test_interpolation_matches_the_shape_rule() -> None:
    check_shape_rule(lerp, *WEIGHTS)


def test_interpolation_of_what_does_not_fit_is_rejected() -> None:
    with pytest.raises(
        ShapeError, match=r"^lerp: x \(2,\) and y \(3,\) do not broadcast: axis -1 is 2 in x but 3 in y$"
    ):
        lerp(real(2), real(3), 0.5)
    with pytest.raises(DTypeError, match=r"^lerp: x is float64 but weight is float32$"):
        lerp(real(2), real(2), zeros(2).trace())
    whole: Any = tensor([1])
    number: Any = 1.0
    with pytest.raises(DTypeError, match=r"^lerp: x is int64 but floating is expected$"):
        lerp(whole, whole, 1)
    with pytest.raises(DTypeError, match=r"^lerp: y is a float, not a tensor"):
        lerp(real(2), number, 0.5)
