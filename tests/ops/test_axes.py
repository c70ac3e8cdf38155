"""expand_dims, squeeze, flatten and other ops on axes: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import (
    expand_dims,
    flatten,
    matrix_transpose,
    moveaxis,
    normal,
    permute,
    squeeze,
    swapaxes,
    tensor,
    unflatten,
    zeros,
)
from tapegrad.ops.axes import expand_dims_shape, flatten_shape, unflatten_shape
from tapegrad.sizes import RankUnknownError, named, show
from tapegrad.testing import check_gradients, check_shape_rule


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


MOVES: list[tuple[Callable[..., Any], tuple[Any, ...], Callable[..., Any]]] = [
    (flatten, (), lambda x: x.reshape(-1)),
    (flatten, (1,), lambda x: x.reshape(2, -1)),
    (flatten, (0, -2), lambda x: x.reshape(6, 5)),
    (flatten, (1, 1), lambda x: x),
    (unflatten, (2, (5, 1)), lambda x: x.reshape(2, 3, 5, 1)),
    (unflatten, (-1, (1, -1)), lambda x: x.reshape(2, 3, 1, 5)),
    (unflatten, (0, (2,)), lambda x: x),
    (moveaxis, (0, -1), lambda x: np.moveaxis(x, 0, -1)),
    (moveaxis, ((0, 1), (1, 2)), lambda x: np.moveaxis(x, (0, 1), (1, 2))),
    (moveaxis, ((2, 0), (0, 1)), lambda x: np.moveaxis(x, (2, 0), (0, 1))),
    (matrix_transpose, (), np.matrix_transpose),
    (expand_dims, (0,), lambda x: np.expand_dims(x, 0)),
    (expand_dims, (-1,), lambda x: np.expand_dims(x, -1)),
    (expand_dims, ((1, -2),), lambda x: np.expand_dims(x, (1, -2))),
    (permute, ((2, 0, 1),), lambda x: np.transpose(x, (2, 0, 1))),
    (permute, ((-1, 1, 0),), lambda x: np.transpose(x, (-1, 1, 0))),
    (swapaxes, (0, -1), lambda x: np.swapaxes(x, 0, -1)),
    (swapaxes, (1, 1), lambda x: x),
]


@pytest.mark.parametrize(("f", "arguments", "numpys"), MOVES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_every_op_equals_numpy_and_has_its_gradients(
    f: Callable[..., Any], arguments: tuple[Any, ...], numpys: Callable[..., Any]
) -> None:
    x = real(2, 3, 5)

    np.testing.assert_array_equal(f(x, *arguments).numpy(), numpys(x.numpy()))
    check_gradients(lambda x: f(x, *arguments), x)
    small = real(2, 1, 5) if f is unflatten else real(2, 3, 1) if f is flatten else real(2, 1, 3)
    check_gradients(lambda x: f(x * x, *arguments), small, order=2)


@pytest.mark.parametrize(("f", "arguments", "_"), MOVES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_every_op_matches_its_shape_rule(f: Callable[..., Any], arguments: tuple[Any, ...], _: Any) -> None:
    check_shape_rule(f, ((2, 3, 7), *arguments), ((0, 1, 1), *arguments))


def test_flatten_gives_a_vector_for_a_scalar_and_for_an_empty_tensor() -> None:
    assert flatten(real()).shape == (1,)
    assert flatten(zeros((0, 3))).shape == (0,)
    check_gradients(flatten, real())
    check_shape_rule(flatten, ((),))


def test_flatten_rejects_the_second_axis_of_a_scalar() -> None:
    with pytest.raises(ShapeError, match=r"^flatten: axis 1 is out of range for x \(\)$"):
        flatten(real(), 1)


@pytest.mark.parametrize(
    ("f", "arguments", "of_nothing", "of_one"),
    [
        (expand_dims, (0,), (1, 0, 1), [[[7]]]),
        (matrix_transpose, (), (1, 0), [[7]]),
        (moveaxis, (0, 1), (1, 0), [[7]]),
        (permute, ((1, 0),), (1, 0), [[7]]),
        (swapaxes, (0, 1), (1, 0), [[7]]),
        (squeeze, (1,), (0,), [7]),
        (unflatten, (0, (1, -1)), (1, 0, 1), [[[7]]]),
    ],
)
def test_empty_tensors_and_single_elements(f: Callable[..., Any], arguments: Any, of_nothing: Any, of_one: Any) -> None:
    assert f(zeros((0, 1)), *arguments).shape == of_nothing
    assert f(tensor([[7]]), *arguments).tolist() == of_one


def test_flatten_multiplies_named_sizes() -> None:
    b, c, h = (named(label) for label in "BCH")

    assert show(flatten_shape((b, c, h), 1)) == "(B, C*H)"


def test_squeeze_drops_all_axes_of_one_or_those_named() -> None:
    x = real(1, 3, 1)

    assert squeeze(x).shape == (3,)
    assert squeeze(x, 0).shape == (3, 1)
    assert squeeze(x, (0, -1)).shape == (3,)
    assert squeeze(real()).shape == ()
    check_gradients(squeeze, x)
    check_gradients(lambda x: squeeze(x * x, -1), x, order=2)
    check_shape_rule(squeeze, ((1, 3, 1),), ((1, 3, 1), 0), ((1, 3, 1), (0, 2)), ((),), ((1, 2), 1))


@pytest.mark.parametrize(
    ("f", "arguments", "message"),
    [
        (flatten, (3,), "flatten: axis 3 is out of range for x (2, 3, 5)"),
        (flatten, (2, 1), "flatten: axis 2 of x (2, 3, 5) comes after axis 1"),
        (unflatten, (3, (1,)), "unflatten: axis 3 is out of range for x (2, 3, 5)"),
        (unflatten, (2, (2, 2)), "unflatten: axis 2 of x (2, 3, 5) is 5, which is not the product of sizes (2, 2)"),
        (unflatten, (2, (2, -1)), "unflatten: axis 2 of x (2, 3, 5) is 5, which is not the product of sizes (2, -1)"),
        (moveaxis, (3, 0), "moveaxis: axis 3 is out of range for x (2, 3, 5)"),
        (moveaxis, ((0, 0), (1, 2)), "moveaxis: axis (0, 0) names an axis of x (2, 3, 5) twice"),
        (moveaxis, ((0, 1), 2), "moveaxis: source (0, 1) names 2 axes but destination 2 names 1"),
        (expand_dims, (4,), "expand_dims: axis 4 is out of range for a result of rank 4, x (2, 3, 5) with 1 more"),
        (expand_dims, ((0, -5),), "expand_dims: axis (0, -5) names an axis of the result twice"),
        (squeeze, (1,), "squeeze: axis 1 of x (2, 3, 5) is 3, not 1"),
        (squeeze, (3,), "squeeze: axis 3 is out of range for x (2, 3, 5)"),
        (permute, ((0, 1),), "permute: x (2, 3, 5) has rank 3 but axes (0, 1) names 2"),
        (permute, ((0, 1, 1),), "permute: axis (0, 1, 1) names an axis of x (2, 3, 5) twice"),
        (swapaxes, (0, 3), "swapaxes: axis 3 is out of range for x (2, 3, 5)"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_invalid_arguments_are_rejected(f: Callable[..., Any], arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        f(real(2, 3, 5), *arguments)

    assert str(rejected.value) == message


def test_the_matrices_of_a_stack_are_transposed_by_an_attribute_too() -> None:
    x = real(2, 3, 5)

    np.testing.assert_array_equal(x.mT.numpy(), x.numpy().mT)
    assert x.trace().mT.owns_tape
    with pytest.raises(ShapeError, match=r"^matrix_transpose: x \(3,\) has rank 1 but needs at least 2$"):
        matrix_transpose(real(3))


def test_unflatten_divides_a_named_size() -> None:
    n = named("N")

    assert show(unflatten_shape((3, 4 * n), 1, (4, -1))) == "(3, 4, N)"
    assert show(unflatten_shape((3, 4 * n), 1, (n, 4))) == "(3, N, 4)"


def test_an_axis_of_unknown_value_leaves_the_rank_unknown() -> None:
    with pytest.raises(RankUnknownError):
        expand_dims_shape((3, 5), named("N"))  # type: ignore[arg-type]  # as the checker may have it


def test_non_int_sizes_are_rejected() -> None:
    sizes: Any = (2.0, 2)

    with pytest.raises(DTypeError, match=r"^unflatten: sizes is \(2\.0, 2\) but a tuple of ints is expected$"):
        unflatten(zeros((4,)), 0, sizes)
