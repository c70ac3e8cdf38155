"""Ranges of numbers, identity matrices and one-hot vectors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import Int, engine
from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.ops._counting import positions
from tapegrad.ops.create import filled_shape, float_dtype_only
from tapegrad.ops.elementwise import scalar_type
from tapegrad.sizes import UNKNOWN, Dims, Size, one_int, surely_less, surely_same
from tapegrad.sizes.symbols import is_symbol
from tapegrad.tensors import D, Float, Tensor, from_array, node
from tapegrad.tensors.operands import known, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.tape import NoneTape
    from tapegrad.tensors import Scalar


def eye_shape(n: Size | Int, m: Size | Int | None = None) -> Dims:
    """Return `(n, m)`, or `(n, n)` if `m` is None."""
    rows = one_int(n, "n")
    return filled_shape((rows, rows if m is None else one_int(m, "m")))


def linspace_shape(start: Scalar, stop: Scalar, num: Size | Int = 50) -> Dims:  # noqa: ARG001  # the parameters of the op
    """Return `(num,)`."""
    count = one_int(num, "num")
    if surely_less(count, 0):
        message = f"num is {count}, below 0"
        raise ShapeError(message)
    return (count,)


def arange_shape(start: Size | Int, stop: Size | Int | None = None, step: Size | Int = 1) -> Dims:
    """Return one axis: the number of steps from `start` to `stop`, exclusive."""
    first, last = (0, one_int(start, "start")) if stop is None else (one_int(start, "start"), one_int(stop, "stop"))
    step = one_int(step, "step")
    if surely_same(step, 0):
        message = "step is 0"
        raise ShapeError(message)
    if isinstance(first, int) and isinstance(last, int) and isinstance(step, int):
        return (max(0, -(-(last - first) // step)),)
    if surely_less(0, step) and surely_less(first, last + 1):
        return ((last - first + step - 1) // step,)
    return (UNKNOWN,)


def one_hot_shape(indices: Dims, size: Size | Int) -> Dims:
    """Append an axis of the given size."""
    length = one_int(size, "size")
    if surely_less(length, 0):
        message = f"size is {length}, below 0"
        raise ShapeError(message)
    return (*indices, length)


def countable(size: int) -> None:
    """Reject a size so large that NumPy may silently use another one."""
    if size > sys.maxsize // 16:
        message = f"a size is {size}"
        raise OverflowError(message)  # `@op` raises an error with the shape instead


@op(eye_shape)
def eye(n: Int, m: Int | None = None, *, dtype: type[D] | np.dtype[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    """Create an identity matrix.

        y[i,j] = [i = j]

    Args:
        n: The number of rows, at least 0.
        m: The number of columns; None for `n`.
        dtype: A NumPy dtype or scalar type.

    Returns:
        `(n, m)`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: A size is not an int, or `dtype` is not a dtype.

    Examples:
        >>> tg.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        >>> tg.eye(2, 3, dtype=np.int64).tolist()
        [[1, 0, 0], [0, 1, 0]]
    """
    sizes: Any = eye_shape(n, m)  # gives the error for a negative size
    return from_array(np.eye(*sizes, dtype=scalar_type(dtype)))


@op(arange_shape)
def arange(start: Int, stop: Int | None = None, step: Int = 1) -> Tensor[Any, NoneTape, np.int64]:
    """Return evenly spaced integers in a half-open interval; `linspace` is for floats.

        y[i] = a + i s

    Args:
        start: The first number. If `stop` is None, `start` is the end and the first number is 0.
        stop: The end of the interval, which is excluded.
        step: The difference of adjacent numbers, not 0.

    Returns:
        One axis, int64; its length is `ceil((stop - start) / step)`, or 0 if that is negative.

    Raises:
        ShapeError: The step is 0.
        DTypeError: An argument is not an int, or a number is too large for int64.

    Examples:
        >>> tg.arange(5).tolist()
        [0, 1, 2, 3, 4]
        >>> tg.arange(2, 10, 3).tolist()
        [2, 5, 8]
    """
    if is_symbol(start) and stop is None and step == 1:
        return node(positions(start))
    arange_shape(start, stop, step)  # rejects fractions, which NumPy accepts
    begin, end = (0, start) if stop is None else (start, stop)
    numbers = range(int(begin), int(end), int(step))
    countable(len(numbers))
    if not numbers:
        return node(np.empty(0, np.int64))
    first, last = numbers[0], numbers[-1]
    if not -(2**63) <= last < 2**63:
        message = f"the last is {last}"
        raise OverflowError(message)
    if max(abs(first), abs(last), abs(numbers.step)) < 2**52:
        return node(np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64))
    # NumPy computes the length in floats, which cannot represent all larger ints.
    return node(np.arange(len(numbers)) * (numbers.step if len(numbers) > 1 else 1) + first)


@op(linspace_shape)
def linspace(
    start: Scalar,
    stop: Scalar,
    num: Int = 50,
    *,
    dtype: type[Float] | np.dtype[Float] = np.float32,  # type: ignore[assignment]  # the default of Float
) -> Tensor[Any, NoneTape, Float]:
    """Return evenly spaced numbers over a closed interval.

        y[i] = a + (i / (n - 1)) (b - a)

    Args:
        start: The first number.
        stop: The last number.
        num: How many numbers to return, at least 0.
        dtype: A NumPy float dtype or scalar type.

    Returns:
        `(num,)`.

    Raises:
        ShapeError: `num` is negative.
        DTypeError: `start` or `stop` is not a number, `num` is not an int, or `dtype` is not a float dtype.

    Examples:
        >>> tg.linspace(0.0, 1.0, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    float_dtype_only(dtype)
    shape: Any = linspace_shape(start, stop, num)  # rejects a bool, which NumPy accepts as a count
    countable(*shape)
    for name, end in (("start", start), ("stop", stop)):
        if not isinstance(end, int | float | np.floating | np.integer):
            message = f"{name} is {end!r} but a number is expected"
            raise DTypeError(message)
    return from_array(np.linspace(start, stop, *shape, dtype=scalar_type(dtype)))


@op(one_hot_shape)
def one_hot(
    indices: Tensor[Any, Any, np.integer[Any]],
    size: Int,
    *,
    dtype: type[D] | np.dtype[D] = np.float32,  # type: ignore[assignment]  # the default of D
) -> Tensor[Any, NoneTape, D]:
    """Encode indices as one-hot vectors; not differentiable.

        y[i,j] = [k[i] = j]

    Args:
        indices: Integers from 0 to `size - 1`, any shape.
        size: The length of a one-hot vector.
        dtype: A NumPy dtype or scalar type.

    Returns:
        The shape of `indices` followed by `size`, without a tape.

    Raises:
        ShapeError: `size` is negative.
        DTypeError: `indices` are not integers, `size` is not an int, or `dtype` is not a dtype.
        IndexError: An index is out of range.

    Examples:
        >>> labels = tg.tensor([2, 0])
        >>> tg.one_hot(labels, 3).tolist()
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
        >>> tg.one_hot(labels, 3, dtype=np.bool_).tolist()
        [[False, False, True], [True, False, False]]
    """
    indices, _ = unwrap(indices)
    if indices.dtype.kind not in "iu":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "indices", str(indices.dtype), "integer"))
    length: Any = one_hot_shape(indices.shape, size)[-1]
    countable(length)
    numbers = known(indices)
    outside = np.zeros(0) if numbers is None else numbers[(numbers < 0) | (numbers >= length)]
    if outside.size:
        message = f"index {outside.flat[0]} is out of range for rows of {length}"
        raise IndexError(message)
    return from_array(engine(indices.data).one_hot(indices.data, length, scalar_type(dtype)))
