"""Ops that create tensors: values, dtypes and errors."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.errors.kinds import described
from tapegrad.ops import empty, empty_like, eye, full, full_like, normal, ones, ones_like, tensor, zeros, zeros_like
from tapegrad.ops.create import filled_shape, tensor_shape
from tapegrad.testing import check_shape_rule

FILLED: dict[str, Callable[..., Any]] = {"empty": empty, "zeros": zeros, "ones": ones}


# tensor


@pytest.mark.parametrize(
    ("data", "shape", "dtype"),
    [
        (3, (), np.int64),
        (3.0, (), np.float32),
        (True, (), np.bool_),
        ([], (0,), np.float32),
        ([[], []], (2, 0), np.float32),
        ([1, 2.5], (2,), np.float32),
        ([1, True], (2,), np.int64),
        (((1, 2), [3, 4], (5, 6)), (3, 2), np.int64),
        ([[[1.0]], [[2.0]]], (2, 1, 1), np.float32),
        (np.float64(3), (), np.float64),
        (np.ones((2, 3), np.float16), (2, 3), np.float16),
        (np.ones((2, 0)), (2, 0), np.float64),
        ([np.ones(3), np.zeros(3)], (2, 3), np.float64),
        ([np.float64(1.0), 2.0], (2,), np.float32),
        ([np.float32(1.0), 2.0], (2,), np.float32),
        (np.float64(1.0), (), np.float64),
        ([np.uint8(3)], (1,), np.uint8),
        (range(3), (3,), np.int64),
        (array("i", [1, 2, 3]), (3,), np.int64),
        (bytearray([1, 2]), (2,), np.int64),
        (np.ma.masked_array([1.0, 2.0], mask=False), (2,), np.float64),
    ],
    ids=repr,
)
def test_tensor_takes_shape_and_dtype_from_the_data(data: Any, shape: tuple[int, ...], dtype: type[np.generic]) -> None:
    x = tensor(data)

    assert x.shape == shape
    assert x.dtype == dtype
    assert not x.owns_tape


def test_tensor_converts_to_the_given_dtype() -> None:
    assert tensor([1, 2], np.float64).dtype == np.float64
    assert tensor([[1.5]], np.float64).tolist() == [[1.5]]
    assert tensor([0, 2], np.bool_).tolist() == [False, True]
    array: Any = np.ones(3)
    assert tensor(array, np.float32).dtype == np.float32


@pytest.mark.parametrize(
    ("data", "dtype", "message"),
    [
        ([300], np.int8, "data has the value 300, which int8 cannot hold"),
        (np.array([3, 300]), np.int8, "data has the value 300, which int8 cannot hold"),
        (np.array([-1, 300]), np.uint16, "data has the value -1, which uint16 cannot hold"),
        ([1e10], np.int32, "data has the value 10000000000.0, which int32 cannot hold"),
        ([float("nan")], np.int64, "data has the value nan, which int64 cannot hold"),
        (np.array([2.0**63]), np.int64, "data has the value 9.223372036854776e+18, which int64 cannot hold"),
        ([2**70, 1], np.uint64, "data does not fit into uint64: Python int too large to convert to C long"),
        ([2**63, 1], None, "data has a whole number beyond int64: give floats, or dtype=np.uint64"),
        (2**63, None, "data has a whole number beyond int64: give floats, or dtype=np.uint64"),
        (
            np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, True]),
            None,
            "data has 2 masked values, which a tensor cannot hold: fill them first, data.filled(0)",
        ),
    ],
    ids=repr,
)
def test_values_that_a_dtype_cannot_represent_are_an_error(data: Any, dtype: Any, message: str) -> None:
    with pytest.raises(DTypeError, match=f"^tensor: {re.escape(message)}$"):
        tensor(data, dtype)


def test_a_whole_number_beyond_float64_keeps_its_value() -> None:
    assert tensor([2**63 - 1, 1]).tolist() == [2**63 - 1, 1]
    assert tensor([2**64 - 1, 1], np.uint64).tolist() == [2**64 - 1, 1]
    assert tensor([2**53 + 1, 1], np.int64).tolist() == [2**53 + 1, 1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([[1, 2], [3]], "data is ragged: item 1 has shape (1,) but item 0 has (2,)"),
        ([[1, 2], 3], "data is ragged: item 1 has shape () but item 0 has (2,)"),
        ([1, [2]], "data is ragged: item 1 has shape (1,) but item 0 has ()"),
        ([[[1], [2]], [[3], [4, 5]]], "data is ragged: item 1 has shape (2,) but item 0 has (1,)"),
        ([np.ones(2), np.ones(3)], "data is ragged: item 1 has shape (3,) but item 0 has (2,)"),
    ],
    ids=repr,
)
def test_ragged_lists_are_rejected(data: Any, message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        tensor(data)

    assert str(rejected.value) == f"tensor: {message}"


@pytest.mark.parametrize(
    ("data", "dtype"), [("abc", "<U3"), ([1, "a"], "<U21"), (None, "object"), ([1j], "complex128"), ([2**70], "object")]
)
def test_data_that_are_not_numbers_are_rejected(data: Any, dtype: str) -> None:
    with pytest.raises(DTypeError, match=f"^tensor: data is of dtype {dtype}, neither numbers nor bools$"):
        tensor(data)


def test_a_tensor_of_a_tensor_is_rejected() -> None:
    x: Any = ones((3,))

    with pytest.raises(DTypeError, match=r"^tensor: data is a tensor already; detach makes a new one of it$"):
        tensor(x)
    with pytest.raises(
        TapeError, match=r"^tensor: the tensor has a tape, which a NumPy array would lose; detach it first$"
    ):
        tensor([x.trace()])


def test_the_shape_rule_of_nested_lists() -> None:
    assert tensor_shape([[1, 2, 3], [4, 5, 6]]) == (2, 3)
    assert tensor_shape([]) == (0,)
    assert tensor_shape(7.5) == ()


# Filled


@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 3, 7)], ids=str)
def test_the_shape_is_the_requested_one(name: str, shape: tuple[int, ...]) -> None:
    x = FILLED[name](shape)

    assert x.shape == shape
    assert x.dtype == np.float32
    assert FILLED[name](shape, dtype=np.float64).dtype == np.float64


def test_zeros_ones_and_full() -> None:
    assert zeros((2, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert ones((3,), np.int64).tolist() == [1, 1, 1]
    assert full((2, 1), 7, np.int64).tolist() == [[7], [7]]


@pytest.mark.parametrize("name", FILLED)
def test_a_negative_size_is_rejected(name: str) -> None:
    shape: Any = (2, -3)

    with pytest.raises(ShapeError, match=rf"^{name}: shape \(2, -3\) has the negative size -3$"):
        FILLED[name](shape)


def test_a_negative_size_to_fill_is_rejected() -> None:
    shape: Any = (-1,)

    with pytest.raises(ShapeError, match=r"^full: shape \(-1,\) has the negative size -1$"):
        full(shape, 1)


def test_results_match_the_shape_rules() -> None:
    check_shape_rule(filled_shape, ((),), ((2, 3, 7),), ((0, 1),), ((-1,),))
    check_shape_rule(full, ((2, 0, 3), 1.0))


def test_tensors_like_another_have_its_shape_and_dtype_and_no_tape() -> None:
    x: Any = tensor([[1.0, 2.0, 3.0]], np.float64).trace()

    for y, number in ((zeros_like(x), 0), (ones_like(x), 1), (full_like(x, 7.0), 7)):
        assert y.tolist() == [[number] * 3]
        assert y.dtype == np.float64
        assert not y.owns_tape
    for f in (zeros_like, ones_like):
        assert f(zeros((0, 3))).shape == (0, 3)
        assert f(tensor([7])).tolist() == [f is ones_like]
    assert full_like(zeros((0, 3)), 5).shape == (0, 3)
    assert full_like(tensor([7]), 5).tolist() == [5]
    blank: Any = empty_like(x)
    assert (blank.shape, blank.dtype, blank.owns_tape) == ((1, 3), np.float64, False)
    check_shape_rule(zeros_like, ((2, 3),), ((),))
    check_shape_rule(empty_like, ((2, 3),), ((),))
    check_shape_rule(ones_like, ((2, 3),))
    check_shape_rule(full_like, ((2, 3), 1.0))


@pytest.mark.parametrize("shape", [(0, 3), (), (1,), (2, 3)], ids=str)
def test_empty_has_the_requested_shape(shape: tuple[int, ...]) -> None:
    assert empty(shape).numpy().shape == empty_like(zeros(shape)).numpy().shape == shape


# A shape that is one size, and dtypes in both forms


@pytest.mark.parametrize("name", FILLED)
def test_one_size_is_the_shape_of_a_vector_as_in_numpy(name: str) -> None:
    assert FILLED[name](5).shape == FILLED[name](np.int64(5)).shape == (5,)
    assert FILLED[name](0).shape == (0,)
    assert FILLED[name]((np.int64(2), 3)).shape == (2, 3)
    check_shape_rule(FILLED[name], (5,), ((5,),))


def test_full_accepts_one_size_and_a_numpy_scalar() -> None:
    assert full(3, 2.5).tolist() == [2.5, 2.5, 2.5]
    assert full((2,), np.float32(0.5)).tolist() == full_like(ones(2), np.float64(0.5)).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize("shape", [[2, 3], 2.0, True, "2", None, (2, 0.5), (2, True), np.array(2)], ids=repr)
def test_invalid_shapes_are_rejected(name: str, shape: Any) -> None:
    with pytest.raises(DTypeError) as rejected:
        FILLED[name](shape)

    assert str(rejected.value) == f"{name}: shape is {described(shape)} but an int or a tuple of ints is expected"
    with pytest.raises(DTypeError, match=r"^shape is .* but an int or a tuple of ints is expected$"):
        filled_shape(shape)


@pytest.mark.parametrize("dtype", [np.int8, np.float64, np.bool_])
def test_a_dtype_may_be_given_by_its_scalar_type(dtype: type[np.generic]) -> None:
    for f in FILLED.values():
        assert f((2,), np.dtype(dtype)).dtype == f((2,), dtype).dtype == dtype
    assert full((2,), 1, np.dtype(dtype)).dtype == dtype
    assert tensor([1, 0], np.dtype(dtype)).dtype == dtype
    assert ones((2,)).astype(np.dtype(dtype)).dtype == dtype
    assert eye(2, dtype=np.dtype(dtype)).dtype == dtype


@pytest.mark.parametrize(
    "dtype",
    [np.complex64, np.str_, np.bytes_, np.object_, np.datetime64, np.timedelta64, np.void, np.dtype(np.complex128)],
)
def test_unsupported_dtypes_are_rejected(dtype: Any) -> None:
    name = getattr(dtype, "type", dtype).__name__.rstrip("_")
    words = f"dtype is {name} but floating, integer or bool is expected"

    for call, f in FILLED.items():
        with pytest.raises(DTypeError, match=f"^{call}: {words}$"):
            f((2,), dtype)
    with pytest.raises(DTypeError, match=f"^tensor: {words}$"):
        tensor([1.0], dtype)
    with pytest.raises(DTypeError, match=f"^astype: {words}$"):
        ones((2,)).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "given"),
    [
        (np.floating, "the abstract class floating"),
        (float, "the class float"),
        (int, "the class int"),
        ("float32", "a str"),
        (3, "an int"),
    ],
)
def test_invalid_dtypes_are_rejected(dtype: Any, given: str) -> None:
    words = f"dtype is {given} but a dtype of NumPy, or its scalar type, is expected"

    fix = r": write the sizes as one tuple, \(2, 3\)" if given == "an int" else ""

    for name, f in FILLED.items():
        with pytest.raises(DTypeError, match=f"^{name}: {words}{fix}$"):
            f((2,), dtype)
    with pytest.raises(DTypeError, match=f"^full: {words}$"):
        full((2,), 1, dtype)
    with pytest.raises(DTypeError, match=f"^tensor: {words}$"):
        tensor([1.0], dtype)
    with pytest.raises(DTypeError, match=f"^astype: {words}$"):
        ones((2,)).astype(dtype)
    with pytest.raises(DTypeError, match=f"^normal: {words}$"):
        normal((2,), dtype=dtype)
    with pytest.raises(DTypeError, match=f"^eye: {words}$"):
        eye(2, dtype=dtype)
