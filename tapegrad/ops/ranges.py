"""Ops that count: ranges of numbers, identity matrices, rows with a one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad import messages
from tapegrad.backend import Int, engine
from tapegrad.dims import UNKNOWN, Dims, Size, one_int, surely_less, surely_same
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.op import op
from tapegrad.operands import known, unwrap
from tapegrad.ops.create import filled_shape, float_dtype_only
from tapegrad.ops.elementwise import scalar_type
from tapegrad.tensor import D, Float, Tensor, from_array, node

if TYPE_CHECKING:
    from tapegrad.tape import NoneTape
    from tapegrad.tensor import Scalar


def eye_shape(n: Size | Int, m: Size | Int | None = None) -> Dims:
    """Return a square, or rows and columns."""
    rows = one_int(n, "n")
    return filled_shape((rows, rows if m is None else one_int(m, "m")))


def linspace_shape(start: Scalar, stop: Scalar, num: Size | Int = 50) -> Dims:  # noqa: ARG001  # the op's parameters
    """Return as many numbers as asked for."""
    count = one_int(num, "num")
    if surely_less(count, 0):
        message = f"num is {count}, below 0"
        raise ShapeError(message)
    return (count,)


def arange_shape(start: Size | Int, stop: Size | Int | None = None, step: Size | Int = 1) -> Dims:
    """Count the whole numbers from `start` on that come before `stop`."""
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
    """Add an axis of the size asked for."""
    length = one_int(size, "size")
    if surely_less(length, 0):
        message = f"size is {length}, below 0"
        raise ShapeError(message)
    return (*indices, length)


def countable(size: int) -> None:
    """Reject a size where NumPy's own count of it is another, about which it says nothing."""
    if size > sys.maxsize // 16:
        message = f"a size is {size}"
        raise OverflowError(message)  # which `@op` says in the words of the shape


@op(eye_shape)
def eye(n: Int, m: Int | None = None, *, dtype: type[D] | np.dtype[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    r"""Make an identity matrix.

    $$y_{ij} = [i = j]$$

    Args:
        n: The rows, at least 0.
        m: The columns; None for as many as rows.
        dtype: A dtype of NumPy, or its scalar type.

    Returns:
        `(n, m)`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: A size is no int, or `dtype` is no dtype.
    """
    sizes: Any = eye_shape(n, m)  # NumPy takes a negative size for none
    return from_array(np.eye(*sizes, dtype=scalar_type(dtype)))


@op(arange_shape)
def arange(start: Int, stop: Int | None = None, step: Int = 1) -> Tensor[Any, NoneTape, np.int64]:
    r"""Count in whole numbers; `linspace` divides an interval.

    $$y_i = a + i s$$

    Args:
        start: The first number; alone, the one to stop before, and 0 is the first.
        stop: The number that none reaches.
        step: From each number to the next, not 0.

    Returns:
        One axis, `ceil((stop - start) / step)` long, or 0 where that is negative, int64.

    Raises:
        ShapeError: The step is 0.
        DTypeError: A number is no int, or too large for int64.
    """
    arange_shape(start, stop, step)  # NumPy would count from and to fractions
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
    # NumPy counts in floats, which do not tell larger numbers from their neighbours.
    return node(np.arange(len(numbers)) * (numbers.step if len(numbers) > 1 else 1) + first)


@op(linspace_shape)
def linspace(
    start: Scalar,
    stop: Scalar,
    num: Int = 50,
    *,
    dtype: type[Float] | np.dtype[Float] = np.float32,  # type: ignore[assignment]  # the default of Float
) -> Tensor[Any, NoneTape, Float]:
    r"""Divide an interval by evenly spaced numbers, both ends among them.

    $$y_i = a + \frac{i}{n - 1} (b - a)$$

    Args:
        start: The first number.
        stop: The last.
        num: How many there are, at least 0.
        dtype: A float dtype of NumPy, or its scalar type.

    Returns:
        `(num,)`.

    Raises:
        ShapeError: `num` is negative.
        DTypeError: `start` or `stop` is no number, `num` no int, or `dtype` not a float.
    """
    float_dtype_only(dtype)
    shape: Any = linspace_shape(start, stop, num)  # NumPy takes a truth value for a count
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
    r"""Return each index a row of zeros with a one at the index; not differentiable.

    $$y_{ij} = [k_i = j]$$

    Args:
        indices: Whole numbers of any shape, from 0 to `size - 1`.
        size: How long a row is.
        dtype: A dtype of NumPy, or its scalar type.

    Returns:
        The shape of `indices` with `size` behind it, without a tape.

    Raises:
        ShapeError: `size` is negative.
        DTypeError: `indices` are not whole numbers, `size` is no int, or `dtype` is no dtype.
        IndexError: An index is out of range.
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
