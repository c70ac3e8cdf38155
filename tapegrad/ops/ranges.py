"""Ops that count: ranges of numbers, identity matrices, rows with a one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad import sentences
from tapegrad.backend import engine
from tapegrad.dims import UNKNOWN, Dims, Size, is_unknown, surely_differ, surely_less
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.op import op
from tapegrad.ops.create import filled_shape, float_dtype_only
from tapegrad.ops.elementwise import scalar_type
from tapegrad.tensor import D, Float, Tensor, handle, known, split

if TYPE_CHECKING:
    from tapegrad.tape import NoneTape


def eye_shape(n: Size, m: Size | None = None) -> Dims:
    """Gives a square, or rows and columns."""
    return filled_shape((n, n if m is None else m))


def linspace_shape(start: float, stop: float, num: Size = 50) -> Dims:  # noqa: ARG001  # the op's parameters
    """Gives as many numbers as asked for."""
    if surely_less(num, 0):
        message = f"num is {num}, below 0"
        raise ShapeError(message)
    return (num,)


def arange_shape(start: Size, stop: Size | None = None, step: Size = 1) -> Dims:
    """Counts the whole numbers from `start` on that come before `stop`."""
    first, last = (0, start) if stop is None else (start, stop)
    if not surely_differ(step, 0) and not is_unknown(step):
        message = "step is 0"
        raise ShapeError(message)
    if isinstance(first, int) and isinstance(last, int) and isinstance(step, int):
        return (max(0, -(-(last - first) // step)),)
    if surely_less(0, step) and surely_less(first, last + 1):
        return ((last - first + step - 1) // step,)
    return (UNKNOWN,)


def one_hot_shape(indices: Dims, size: Size) -> Dims:
    """Adds an axis of the size asked for."""
    if surely_less(size, 0):
        message = f"size is {size}, below 0"
        raise ShapeError(message)
    return (*indices, size)


@op(eye_shape)
def eye(n: int, m: int | None = None, *, dtype: type[D] | np.dtype[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    r"""Makes an identity matrix.

    $$y_{ij} = [i = j]$$

    Args:
        n: The rows, at least 0.
        m: The columns; None for as many as rows.
        dtype: A dtype of NumPy, or its scalar type.

    Returns:
        `(n, m)`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `dtype` is no dtype.
    """
    eye_shape(n, m)  # NumPy takes a negative size for none
    return handle(np.eye(n, m, dtype=scalar_type(dtype)))


@op(arange_shape)
def arange(start: int, stop: int | None = None, step: int = 1) -> Tensor[Any, NoneTape, np.int64]:
    r"""Counts in whole numbers; `linspace` divides an interval.

    $$y_i = a + i s$$

    Args:
        start: The first number; alone, the one to stop before, and 0 is the first.
        stop: The number that none reaches.
        step: From each number to the next, not 0.

    Returns:
        One axis, `ceil((stop - start) / step)` long, or 0 where that is negative, int64.

    Raises:
        ShapeError: The step is 0.
    """
    if step == 0:
        arange_shape(start, stop, step)
    return handle(np.arange(*((0, start) if stop is None else (start, stop)), step, dtype=np.int64))


@op(linspace_shape)
def linspace(
    start: float,
    stop: float,
    num: int = 50,
    *,
    dtype: type[Float] | np.dtype[Float] = np.float32,  # type: ignore[assignment]  # the default of Float
) -> Tensor[Any, NoneTape, Float]:
    r"""Divides an interval by evenly spaced numbers, both ends among them.

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
        DTypeError: `dtype` is not a float.
    """
    float_dtype_only(dtype)
    return handle(np.linspace(start, stop, num, dtype=scalar_type(dtype)))


@op(one_hot_shape)
def one_hot(
    indices: Tensor[Any, Any, np.integer[Any]],
    size: int,
    *,
    dtype: type[D] | np.dtype[D] = np.float32,  # type: ignore[assignment]  # the default of D
) -> Tensor[Any, NoneTape, D]:
    r"""Gives each index a row of zeros with a one at the index; not differentiable.

    $$y_{ij} = [k_i = j]$$

    Args:
        indices: Whole numbers of any shape, from 0 to `size - 1`.
        size: How long a row is.
        dtype: A dtype of NumPy, or its scalar type.

    Returns:
        The shape of `indices` with `size` behind it, without a tape.

    Raises:
        ShapeError: `size` is negative.
        DTypeError: `indices` are not whole numbers, or `dtype` is no dtype.
        IndexError: An index is out of range.
    """
    indices, _ = split(indices)
    if indices.dtype.kind not in "iu":
        raise DTypeError(sentences.wrong_dtype(sentences.UNNAMED, "indices", str(indices.dtype), "integer"))
    one_hot_shape(indices.shape, size)
    numbers = known(indices)
    outside = np.zeros(0) if numbers is None else numbers[(numbers < 0) | (numbers >= size)]
    if outside.size:
        message = f"index {outside.flat[0]} is out of range for rows of {size}"
        raise IndexError(message)
    return handle(engine(indices.data).one_hot(indices.data, size, scalar_type(dtype)))
