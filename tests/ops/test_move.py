"""reshape, transpose and broadcast_to: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.errors.kinds import described
from tapegrad.ops import broadcast_to, normal, reshape, split, tensor, tile, transpose, unflatten, zeros
from tapegrad.ops.move import reshape_shape
from tapegrad.sizes import named, show
from tapegrad.tensors import Tensor
from tapegrad.testing import check_gradients, check_shape_rule


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


# reshape


def test_reshape_is_in_row_major_order() -> None:
    x: Any = tensor([[1, 2, 3], [4, 5, 6]])

    assert reshape(x, (3, 2)).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert reshape(x, (-1,)).tolist() == [1, 2, 3, 4, 5, 6]
    assert reshape(x, (1, 2, -1)).shape == (1, 2, 3)


def test_sizes_and_axes_may_be_a_tuple_or_separate_arguments() -> None:
    x = real(2, 3, 4)

    assert x.reshape(3, 8).shape == x.reshape((3, 8)).shape == (3, 8)
    assert x.reshape(-1).shape == x.reshape(np.int64(-1)).shape == (24,)
    assert x.reshape([6, 4]).shape == reshape(x, [-1, 4]).shape == x.reshape(np.array([6, 4])).shape == (6, 4)
    assert x.broadcast_to([5, 2, 3, 4]).shape == broadcast_to(x, [5, -1, -1, -1]).shape == (5, 2, 3, 4)
    assert x[0, 0, 0].reshape().shape == x[0, 0, 0].reshape(()).shape == ()
    assert x.transpose(2, 0, 1).shape == x.transpose((2, 0, 1)).shape == (4, 2, 3)
    assert x.transpose().shape == x.transpose(None).shape == (4, 3, 2)


@pytest.mark.parametrize(
    ("call", "given", "message"),
    [
        (Tensor.reshape, (2.0, 12), "reshape: shape is (2.0, 12) but a tuple of ints is expected"),
        (Tensor.reshape, ([2.0, 12],), "reshape: shape is [2.0, 12] but a tuple of ints is expected"),
        (Tensor.reshape, ((4, 6), 1), "reshape: shape is ((4, 6), 1) but a tuple of ints is expected"),
        (Tensor.reshape, (True,), "reshape: shape is True but a tuple of ints is expected"),
        (reshape, (-1,), "reshape: shape is -1 but a tuple of ints is expected"),
        (Tensor.transpose, (0.5, 1), "transpose: axes is (0.5, 1) but a tuple of ints is expected"),
        (broadcast_to, ((4.0, 6),), "broadcast_to: shape is (4.0, 6) but a tuple of ints is expected"),
        (unflatten, (0, (2.0, 2)), "unflatten: sizes is (2.0, 2) but a tuple of ints is expected"),
        (tile, (2.0,), "tile: reps is 2.0 but an int or a tuple of ints is expected"),
        (split, ([1.0, 3],), "split: sections is [1.0, 3] but an int or a tuple of ints is expected"),
        (split, ((1.0, 3),), "split: sections is (1.0, 3) but an int or a tuple of ints is expected"),
    ],
)
def test_non_int_sizes_are_rejected(call: Any, given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DTypeError) as rejected:
        call(real(4, 6), *given)

    assert str(rejected.value) == message


@pytest.mark.parametrize("shape", [(6, 5), (30,), (-1, 2), (5, 1, -1), (2, 3, 5)], ids=str)
def test_gradients_of_reshape(shape: tuple[int, ...]) -> None:
    check_gradients(lambda x: reshape(x, shape), real(2, 3, 5))
    check_gradients(lambda x: reshape(x * x, shape), real(2, 3, 5), order=2)


def test_reshape_of_a_scalar_and_of_an_empty_tensor() -> None:
    assert reshape(real(), (1, 1)).shape == (1, 1)
    assert reshape(real(1), ()).shape == ()
    assert reshape(zeros((0, 3)), (3, -1)).shape == (3, 0)
    assert reshape(zeros((0, 3)), (0, 7)).shape == (0, 7)
    check_gradients(lambda x: reshape(x, ()), real(1, 1))


def test_reshape_matches_its_shape_rule() -> None:
    check_shape_rule(
        reshape,
        ((2, 3, 7), (6, 7)),
        ((2, 3, 7), (-1, 7)),
        ((6, 7), (2, 3, -1)),
        ((2, 3), (3, 2)),
        ((), (1,)),
        ((5,), (-1,)),
        ((0, 3), (0, 7)),
        ((2, 3), (7,)),
        ((2, 3), (4, -1)),
    )


def test_reshape_keeps_named_sizes() -> None:
    b, c, h = (named(label) for label in "BCH")

    assert show(reshape_shape((b, c, h), (b, c * h))) == "(B, C*H)"
    assert show(reshape_shape((b, c, h), (b, -1))) == "(B, C*H)"
    assert show(reshape_shape((b, c * h), (-1, c))) == "(B*H, C)"


def test_reshape_asks_for_the_fact_that_a_named_size_is_divisible() -> None:
    n = named("N")

    message = (
        "x (N,) has N elements, and it is not known that shape (N // 2, 2) has as many: add tg.assert_divides(2, N)"
    )
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        reshape_shape((n,), (n // 2, 2))
    message = (
        "x (N,) has N elements, and it is not known that they divide into shape (-1, 2): add tg.assert_divides(2, N)"
    )
    with pytest.raises(ShapeError, match=f"^{re.escape(message)}$"):
        reshape_shape((n,), (-1, 2))


@pytest.mark.parametrize(
    ("x", "shape", "message"),
    [
        ((2, 3), (7,), "x (2, 3) has 6 elements but shape (7,) has 7"),
        ((2, 3), (4, -1), "x (2, 3) has 6 elements, which do not divide into shape (4, -1)"),
        ((2, 3), (-1, -1), "shape (-1, -1) leaves 2 sizes open, not one"),
        ((2, 3), (-2, 3), "shape (-2, 3) has the negative size -2"),
        ((2, 3), (2, -3), "shape (2, -3) has the negative size -3"),
        ((0, 3), (-1, 0), "shape (-1, 0) leaves a size open beside a size of 0"),
        ((2, 3), (), "x (2, 3) has 6 elements but shape () has 1"),
    ],
    ids=str,
)
def test_reshape_to_another_number_of_elements_is_rejected(
    x: tuple[int, ...], shape: tuple[int, ...], message: str
) -> None:
    # NumPy itself takes any one negative size for -1.
    with pytest.raises(ShapeError) as rejected:
        reshape(real(*x), shape)

    assert str(rejected.value) == f"reshape: {message}"


@pytest.mark.parametrize("shape", [(n for n in (2, 3)), {2, 3}, 6, "23", None], ids=lambda shape: type(shape).__name__)
def test_reshape_to_an_invalid_shape_is_rejected(shape: Any) -> None:
    with pytest.raises(DTypeError) as rejected:
        reshape(real(2, 3), shape)

    assert str(rejected.value) == f"reshape: shape is {described(shape)} but a tuple of ints is expected"


def test_an_array_of_sizes_is_a_shape() -> None:
    sizes: Any = np.array([3, 2])

    assert reshape(real(2, 3), sizes).shape == (3, 2)


# transpose


def test_transpose_reverses_or_orders_the_axes() -> None:
    x: Any = tensor([[1, 2, 3], [4, 5, 6]])

    assert transpose(x).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert transpose(zeros((2, 3, 5)), (1, 2, 0)).shape == (3, 5, 2)
    assert transpose(zeros((2, 3, 5)), (-1, 0, 1)).shape == (5, 2, 3)
    assert transpose(real()).shape == ()
    assert transpose(real(5)).shape == (5,)
    assert transpose(tensor([[7.0]])).tolist() == [[7]]
    assert transpose(zeros((0, 3))).shape == (3, 0)


@pytest.mark.parametrize("axes", [None, (-1, 0, 1), *permutations(range(3))], ids=str)
def test_gradients_of_every_permutation(axes: tuple[int, ...] | None) -> None:
    x = real(2, 3, 4)

    np.testing.assert_array_equal(transpose(x, axes).numpy(), np.transpose(x.numpy(), axes))
    check_gradients(lambda x: transpose(x, axes), x)
    check_gradients(lambda x: transpose(x * x, axes), x, order=2)


def test_transpose_matches_its_shape_rule() -> None:
    check_shape_rule(
        transpose, ((2, 3, 7),), ((2, 3, 7), (1, 2, 0)), ((2, 3, 7), (-1, 0, 1)), ((),), ((5,),), ((2, 3), (0,))
    )


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ((0,), "x (2, 3) has rank 2 but axes (0,) names 1"),
        ((0, 1, 2), "x (2, 3) has rank 2 but axes (0, 1, 2) names 3"),
        ((0, 0), "axis (0, 0) names an axis of x (2, 3) twice"),
        ((0, 2), "axis 2 is out of range for x (2, 3)"),
    ],
    ids=str,
)
def test_axes_that_do_not_name_every_axis_once_are_rejected(axes: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        transpose(real(2, 3), axes)

    assert str(rejected.value) == f"transpose: {message}"


# broadcast_to


def test_broadcast_to_repeats_along_new_axes_and_axes_of_one() -> None:
    x: Any = tensor([[1], [2]])

    assert broadcast_to(x, (2, 3)).tolist() == [[1, 1, 1], [2, 2, 2]]
    assert broadcast_to(x, (3, 2, 1)).shape == (3, 2, 1)
    assert broadcast_to(real(1), (0,)).shape == (0,)
    assert broadcast_to(zeros((0, 1)), (2, 0, 3)).shape == (2, 0, 3)


@pytest.mark.parametrize(
    ("x", "shape"),
    [((3,), (2, 3)), ((2, 1), (2, 3)), ((), (2, 3)), ((1, 3, 1), (5, 2, 3, 4)), ((2, 3), (2, 3))],
    ids=str,
)
def test_gradients_of_broadcast_to(x: tuple[int, ...], shape: tuple[int, ...]) -> None:
    check_gradients(lambda x: broadcast_to(x, shape), real(*x))
    check_gradients(lambda x: broadcast_to(x * x, shape), real(*x), order=2)


@pytest.mark.parametrize(
    ("x", "shape", "expected"),
    [
        ((3, 1), (-1, 4), (3, 4)),
        ((1, 5), (2, -1), (2, 5)),
        ((2, 3), (7, -1, -1), (7, 2, 3)),
        ((1,), (np.int64(-1),), (1,)),
    ],
)
def test_minus_one_keeps_a_size(x: tuple[int, ...], shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    values = real(*x)

    np.testing.assert_array_equal(broadcast_to(values, shape).numpy(), np.broadcast_to(values.numpy(), expected))
    check_gradients(lambda x: broadcast_to(x, shape), values)


def test_broadcast_to_matches_its_shape_rule() -> None:
    check_shape_rule(
        broadcast_to, ((3,), (2, 3)), ((2, 1), (2, 3)), ((), (2, 3)), ((1,), (0,)), ((5, 1), (7, 5, 3)), ((3,), (2,))
    )


@pytest.mark.parametrize(
    ("x", "shape", "message"),
    [
        ((3,), (2, 4), "x (3,) does not broadcast to (2, 4)"),
        ((2, 3), (3,), "x (2, 3) does not broadcast to (3,)"),
        ((3,), (1,), "x (3,) does not broadcast to (1,)"),
        ((1,), (-2,), "shape (-2,) has a negative size"),
        ((3,), (-1, 3), "shape (-1, 3) has -1 for an axis that x (3,) does not have"),
    ],
    ids=str,
)
def test_broadcast_to_an_incompatible_shape_is_rejected(
    x: tuple[int, ...], shape: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ShapeError) as rejected:
        broadcast_to(real(*x), shape)

    assert str(rejected.value) == f"broadcast_to: {message}"
