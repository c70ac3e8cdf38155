"""Ops that create tensors: from nested lists and arrays, from a constant, or like another tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.errors.options import check_scalar
from tapegrad.ops._conversion import array_from
from tapegrad.ops.elementwise import scalar_type
from tapegrad.sizes import Dims, Size, several_ints, show, surely_differ, surely_less
from tapegrad.sizes.symbols import is_symbol
from tapegrad.tensors import D, S, Tensor, from_array, node
from tapegrad.tensors.operands import of_same_kind, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.tape import NoneTape
    from tapegrad.engines import Int
    from tapegrad.tensors import Scalar, Sizes

Empty: TypeAlias = "Sequence[Empty]"
Bools: TypeAlias = "bool | Sequence[Bools]"
Ints: TypeAlias = "int | Sequence[Ints]"
Floats: TypeAlias = "float | Sequence[Floats]"


class Column(Protocol):
    """A column or a table of another library, such as a series of polars."""

    def __array__(self) -> np.ndarray[Any, Any]:
        """Return the values as an array."""


def tensor_shape(data: Any) -> Dims:
    """Return the shape of nested lists, which must be rectangular, or of an array."""
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        shape: Dims = getattr(data, "shape", ())
        return shape
    rows = [tensor_shape(row) for row in data]
    for position, row in enumerate(rows):
        if len(row) != len(rows[0]) or any(surely_differ(n, m) for n, m in zip(row, rows[0], strict=True)):
            message = f"data is ragged: item {position} has shape {show(row)} but item 0 has {show(rows[0])}"
            raise ShapeError(message)
    return (len(rows), *(rows[0] if rows else ()))


def filled_shape(shape: Dims | Size) -> Dims:
    """Return the given shape as a tuple; an int is the size of a vector."""
    dims: Dims = several_ints(shape, "shape")
    for n in dims:
        if surely_less(n, 0):
            message = f"shape {show(dims)} has the negative size {n}"
            raise ShapeError(message)
    return dims


def full_shape(shape: Dims | Size, value: Scalar) -> Dims:  # noqa: ARG001  # the op's parameter
    """Return the given shape as a tuple."""
    return filled_shape(shape)


def like_shape(x: Dims) -> Dims:
    """Return the shape of `x`."""
    return x


def full_like_shape(x: Dims, value: Scalar) -> Dims:  # noqa: ARG001  # the op's parameter
    """Return the shape of `x`."""
    return x


@overload
def tensor(data: np.ndarray[S, np.dtype[D]]) -> Tensor[S, NoneTape, D]: ...
@overload
def tensor(data: np.ndarray[S, Any], dtype: type[D] | np.dtype[D]) -> Tensor[S, NoneTape, D]: ...
@overload
def tensor(data: np.generic, dtype: Any = None) -> Tensor[tuple[()], NoneTape, Any]: ...
@overload
def tensor(data: Empty) -> Tensor[Any, NoneTape, np.float32]: ...  # type: ignore[overload-overlap]  # the first match counts: to mypy a bool is an int, and an int a float
@overload
def tensor(data: Bools) -> Tensor[Any, NoneTape, np.bool_]: ...  # type: ignore[overload-overlap]  # as above
@overload
def tensor(data: Ints) -> Tensor[Any, NoneTape, np.int64]: ...  # type: ignore[overload-overlap]  # as above
@overload
def tensor(data: Floats) -> Tensor[Any, NoneTape, np.float32]: ...
@overload
def tensor(data: Floats, dtype: type[D] | np.dtype[D]) -> Tensor[Any, NoneTape, D]: ...
@overload
def tensor(data: Sequence[np.ndarray[Any, Any]], dtype: Any = None) -> Tensor[Any, NoneTape, Any]: ...
@overload
def tensor(data: Column, dtype: Any = None) -> Tensor[Any, NoneTape, Any]: ...
@op(tensor_shape)
def tensor(data: Any, dtype: Any = None) -> Tensor[Any, NoneTape, Any]:
    """Create a tensor from a copy of nested lists of numbers or of an array.

        y[i,j] = data[i,j]

    The dtype of a NumPy array, a pandas or polars column, or a PyTorch tensor is kept. Python floats become float32,
    ints int64, and bools bool. No value changes silently: a value that is masked, missing or too large for the dtype is
    an error.

    Args:
        data: Nested lists or tuples, all of one length at each depth; or an array, or an object that NumPy can read.
        dtype: A NumPy dtype, or its scalar type; None for the dtype of the data.

    Returns:
        The lengths of the lists, outermost first; a number gives rank 0.

    Raises:
        ShapeError: The lists are ragged.
        DTypeError: The data are not numbers, or are already a tensor; values are masked or missing, or the dtype cannot
            hold them; or `dtype` is not a dtype.
        TapeError: The data contain a tensor with a tape.

    Examples:
        >>> tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).shape
        (2, 3)
        >>> str(tg.tensor([1.0, 2.0]).dtype), str(tg.tensor([1, 2]).dtype), str(tg.tensor([True]).dtype)
        ('float32', 'int64', 'bool')
        >>> tg.tensor([1, 2], np.float32).tolist()
        [1.0, 2.0]
        >>> tg.tensor(np.arange(6).reshape(2, 3)).tolist()
        [[0, 1, 2], [3, 4, 5]]
    """
    if isinstance(data, Tensor):
        message = "data is a tensor already; detach makes a new one of it"
        raise DTypeError(message)
    return from_array(array_from(data, None if dtype is None else scalar_type(dtype)))


@op(filled_shape)
def empty(shape: Sizes | Int, dtype: type[D] | np.dtype[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    """Create an uninitialized tensor, to be overwritten.

        y[i] = any

    Args:
        shape: The sizes, each at least 0; an int is the size of a vector.
        dtype: A NumPy dtype, or its scalar type.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `shape` is not made of ints, or `dtype` is not a dtype.

    Examples:
        >>> buffer = tg.empty((2, 3))
        >>> buffer.shape, str(buffer.dtype)
        ((2, 3), 'float32')
    """
    return from_array(np.empty(several_ints(shape, "shape"), scalar_type(dtype, follows_shape=True)))


@op(filled_shape)
def zeros(shape: Sizes | Int, dtype: type[D] | np.dtype[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    """Create a tensor of zeros.

        y[i] = 0

    Args:
        shape: The sizes, each at least 0; an int is the size of a vector.
        dtype: A NumPy dtype, or its scalar type.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `shape` is not made of ints, or `dtype` is not a dtype.

    Examples:
        >>> tg.zeros((2, 3)).tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        >>> tg.zeros(4, np.int64).tolist()
        [0, 0, 0, 0]
    """
    sizes = several_ints(shape, "shape")
    return _owned(_library(sizes).zeros(sizes, scalar_type(dtype, follows_shape=True)))


@op(filled_shape)
def ones(shape: Sizes | Int, dtype: type[D] | np.dtype[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    """Create a tensor of ones.

        y[i] = 1

    Args:
        shape: The sizes, each at least 0; an int is the size of a vector.
        dtype: A NumPy dtype, or its scalar type.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `shape` is not made of ints, or `dtype` is not a dtype.

    Examples:
        >>> tg.ones((2, 3)).tolist()
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
        >>> tg.ones(4, np.bool_).tolist()
        [True, True, True, True]
    """
    sizes = several_ints(shape, "shape")
    return _owned(_library(sizes).ones(sizes, scalar_type(dtype, follows_shape=True)))


@op(full_shape)
def full(shape: Sizes | Int, value: Scalar, dtype: type[D] | np.dtype[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    """Create a tensor filled with one number.

        y[i] = v

    Args:
        shape: The sizes, each at least 0; an int is the size of a vector.
        value: The number that fills the tensor.
        dtype: A NumPy dtype, or its scalar type.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `shape` is not made of ints, or `dtype` is not a dtype.

    Examples:
        >>> tg.full((2, 3), 0.5).tolist()
        [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
        >>> tg.full(3, -1, np.int64).tolist()
        [-1, -1, -1]
    """
    return _filled("full", several_ints(shape, "shape"), value, scalar_type(dtype))


@op(like_shape)
def empty_like(x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]:
    """Create an uninitialized tensor with the shape and dtype of `x`.

        y[i] = any

    Args:
        x: Any shape. Its values and its tape are not used.

    Returns:
        The shape of `x`, without a tape.

    Examples:
        >>> x = tg.tensor([[1, 2, 3], [4, 5, 6]])
        >>> buffer = tg.empty_like(x)
        >>> buffer.shape, str(buffer.dtype)
        ((2, 3), 'int64')
    """
    plain, _ = unwrap(x)
    return of_same_kind(from_array(np.empty(plain.shape, plain.dtype)), x)


@op(like_shape)
def zeros_like(x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]:
    """Create a tensor of zeros with the shape and dtype of `x`.

        y[i] = 0

    Args:
        x: Any shape. Its values and its tape are not used.

    Returns:
        The shape of `x`, without a tape.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.zeros_like(x).tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        >>> tg.zeros_like(tg.tensor([1, 2])).tolist()
        [0, 0]
    """
    plain, _ = unwrap(x)
    return of_same_kind(_owned(_library(plain.shape).zeros(plain.shape, plain.dtype)), x)


@op(like_shape)
def ones_like(x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]:
    """Create a tensor of ones with the shape and dtype of `x`.

        y[i] = 1

    Args:
        x: Any shape. Its values and its tape are not used.

    Returns:
        The shape of `x`, without a tape.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.ones_like(x).tolist()
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
        >>> tg.ones_like(tg.tensor([1, 2])).tolist()
        [1, 1]
    """
    plain, _ = unwrap(x)
    return of_same_kind(_owned(_library(plain.shape).ones(plain.shape, plain.dtype)), x)


@op(full_like_shape)
def full_like(x: Tensor[S, Any, D], value: Scalar) -> Tensor[S, NoneTape, D]:
    """Create a tensor filled with one number, with the shape and dtype of `x`.

        y[i] = v

    Args:
        x: Any shape. Its values and its tape are not used.
        value: The number that fills the tensor.

    Returns:
        The shape of `x`, without a tape.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.full_like(x, 0.5).tolist()
        [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    """
    plain, _ = unwrap(x)
    return of_same_kind(_filled("full_like", plain.shape, value, plain.dtype), x)


def float_dtype_only(dtype: Any) -> None:
    """Reject a dtype that is not a float, because it would truncate random numbers."""
    given = np.dtype(scalar_type(dtype))
    if given.kind != "f" and given.name != "bfloat16":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "dtype", given.name, "floating"))


def _library(shape: Sequence[Any]) -> Any:
    """Return what creates an array of a shape: NumPy, or the engine that a size without a number belongs to."""
    symbol = next(filter(is_symbol, shape), None)
    return np if symbol is None else engine(symbol)


def _owned(values: Any) -> Tensor[Any, NoneTape, Any]:
    return from_array(values) if isinstance(values, np.ndarray) else node(values)


def _filled(call: str, shape: Any, value: Any, dtype: Any) -> Tensor[Any, NoneTape, Any]:
    check_scalar(call, "value", value)
    library = _library(shape)
    if library is np:
        return from_array(np.full(shape, value, dtype))
    return node(library.zeros(shape, dtype) + np.asarray(value, dtype))
