"""Ops that make tensors: of nested lists and arrays, of a constant, of random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from tapegrad import sentences
from tapegrad.backend import engine
from tapegrad.dims import UNKNOWN, Dims, Size, is_unknown, show, surely_differ, surely_less
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.generator import generator
from tapegrad.op import op
from tapegrad.tensor import D, Float, S, Tensor, handle, split

if TYPE_CHECKING:
    from tapegrad.generator import RNG
    from tapegrad.tape import NoneTape
    from tapegrad.tensor import Sizes

Empty: TypeAlias = "Sequence[Empty]"
Bools: TypeAlias = "bool | Sequence[Bools]"
Ints: TypeAlias = "int | Sequence[Ints]"
Floats: TypeAlias = "float | Sequence[Floats]"


def tensor_shape(data: Any) -> Dims:
    """Counts nested lists, which must be rectangular, or takes over the shape of an array."""
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        shape: Dims = getattr(data, "shape", ())
        return shape
    rows = [tensor_shape(row) for row in data]
    for position, row in enumerate(rows):
        if len(row) != len(rows[0]) or any(surely_differ(n, m) for n, m in zip(row, rows[0], strict=True)):
            message = f"data is ragged: item {position} has shape {show(row)} but item 0 has {show(rows[0])}"
            raise ShapeError(message)
    return (len(rows), *(rows[0] if rows else ()))


def filled_shape(shape: Dims) -> Dims:
    """Gives the shape asked for."""
    for n in shape:
        if surely_less(n, 0):
            message = f"shape {show(shape)} has the negative size {n}"
            raise ShapeError(message)
    return shape


def full_shape(shape: Dims, value: float) -> Dims:  # noqa: ARG001  # the op's parameter
    """Gives the shape asked for."""
    return filled_shape(shape)


def like_shape(x: Dims) -> Dims:
    """Gives the shape of another tensor."""
    return x


def full_like_shape(x: Dims, value: float) -> Dims:  # noqa: ARG001  # the op's parameter
    """Gives the shape of another tensor."""
    return x


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
        return (len(range(first, last, step)),)
    if surely_less(0, step) and surely_less(first, last + 1):
        return ((last - first + step - 1) // step,)
    return (UNKNOWN,)


def one_hot_shape(indices: Dims, size: Size) -> Dims:
    """Adds an axis of the size asked for."""
    if surely_less(size, 0):
        message = f"size is {size}, below 0"
        raise ShapeError(message)
    return (*indices, size)


@overload
def tensor(data: np.ndarray[S, np.dtype[D]]) -> Tensor[S, NoneTape, D]: ...
@overload
def tensor(data: np.ndarray[S, Any], dtype: type[D]) -> Tensor[S, NoneTape, D]: ...
@overload
def tensor(data: np.generic, dtype: Any = None) -> Tensor[tuple[()], NoneTape, Any]: ...
@overload
def tensor(data: Empty) -> Tensor[Any, NoneTape, np.float32]: ...  # type: ignore[overload-overlap]  # the first that fits: to Python a bool is an int, and an int a float
@overload
def tensor(data: Bools) -> Tensor[Any, NoneTape, np.bool_]: ...  # type: ignore[overload-overlap]  # as above
@overload
def tensor(data: Ints) -> Tensor[Any, NoneTape, np.int64]: ...  # type: ignore[overload-overlap]  # as above
@overload
def tensor(data: Floats) -> Tensor[Any, NoneTape, np.float32]: ...
@overload
def tensor(data: Floats, dtype: type[D]) -> Tensor[Any, NoneTape, D]: ...
@overload
def tensor(data: Sequence[np.ndarray[Any, Any]], dtype: Any = None) -> Tensor[Any, NoneTape, Any]: ...
@op(tensor_shape)
def tensor(data: Any, dtype: Any = None) -> Tensor[Any, NoneTape, Any]:
    r"""Copies nested lists of numbers, or a NumPy array, into a tensor.

    $$y_{ij} = \mathrm{data}_{ij}$$

    Args:
        data: Nested lists or tuples, all of one length at each depth; or an array, whose dtype is kept.
        dtype: A NumPy scalar type. Left out, floats become float32, whole numbers int64, and bools bool.

    Returns:
        The lengths of the lists from outside in; a number gives rank 0.

    Raises:
        ShapeError: The lists are ragged.
        DTypeError: The data are not numbers, or a tensor already.
        TapeError: There is a tensor with a tape among the data.
    """
    if isinstance(data, Tensor):
        message = "data is a tensor already; detach makes a new one of it"
        raise DTypeError(message)
    array = np.array(data, dtype=dtype)
    if array.dtype.kind not in "biuf":
        message = f"data is of dtype {array.dtype}, neither numbers nor bools"
        raise DTypeError(message)
    if dtype is None and array.dtype == np.float64 and not isinstance(data, np.ndarray | np.generic):
        array = array.astype(np.float32)
    return handle(array)


@op(filled_shape)
def zeros(shape: Sizes, dtype: type[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    r"""Makes a tensor of zeros.

    $$y_i = 0$$

    Args:
        shape: The sizes, each at least 0.
        dtype: A NumPy scalar type.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
    """
    return handle(np.zeros(shape, dtype))


@op(filled_shape)
def ones(shape: Sizes, dtype: type[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    r"""Makes a tensor of ones.

    $$y_i = 1$$

    Args:
        shape: The sizes, each at least 0.
        dtype: A NumPy scalar type.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
    """
    return handle(np.ones(shape, dtype))


@op(full_shape)
def full(shape: Sizes, value: float, dtype: type[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    r"""Makes a tensor of one number.

    $$y_i = v$$

    Args:
        shape: The sizes, each at least 0.
        value: The number.
        dtype: A NumPy scalar type.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
    """
    return handle(np.full(shape, value, dtype))


@op(like_shape)
def zeros_like(x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]:
    r"""Makes a tensor of zeros of another's shape and dtype.

    $$y_i = 0$$

    Args:
        x: Any shape. Its values and its tape do not matter.

    Returns:
        The shape of `x`, without a tape.
    """
    x, _ = split(x)
    return handle(np.zeros(x.shape, x.dtype))


@op(like_shape)
def ones_like(x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]:
    r"""Makes a tensor of ones of another's shape and dtype.

    $$y_i = 1$$

    Args:
        x: Any shape. Its values and its tape do not matter.

    Returns:
        The shape of `x`, without a tape.
    """
    x, _ = split(x)
    return handle(np.ones(x.shape, x.dtype))


@op(full_like_shape)
def full_like(x: Tensor[S, Any, D], value: float) -> Tensor[S, NoneTape, D]:
    r"""Makes a tensor of one number of another's shape and dtype.

    $$y_i = v$$

    Args:
        x: Any shape. Its values and its tape do not matter.
        value: The number.

    Returns:
        The shape of `x`, without a tape.
    """
    x, _ = split(x)
    return handle(np.full(x.shape, value, x.dtype))


@op(eye_shape)
def eye(n: int, m: int | None = None, *, dtype: type[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    r"""Makes an identity matrix.

    $$y_{ij} = [i = j]$$

    Args:
        n: The rows, at least 0.
        m: The columns; None for as many as rows.
        dtype: A NumPy scalar type.

    Returns:
        `(n, m)`.

    Raises:
        ShapeError: A size is negative.
    """
    eye_shape(n, m)  # NumPy takes a negative size for none
    return handle(np.eye(n, m, dtype=dtype))


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
    dtype: type[Float] = np.float32,  # type: ignore[assignment]  # the default of Float
) -> Tensor[Any, NoneTape, Float]:
    r"""Divides an interval by evenly spaced numbers, both ends among them.

    $$y_i = a + \frac{i}{n - 1} (b - a)$$

    Args:
        start: The first number.
        stop: The last.
        num: How many there are, at least 0.
        dtype: A NumPy float type.

    Returns:
        `(num,)`.

    Raises:
        ShapeError: `num` is negative.
        DTypeError: `dtype` is not a float.
    """
    _floating(dtype)
    return handle(np.linspace(start, stop, num, dtype=dtype))


@op(one_hot_shape)
def one_hot(
    indices: Tensor[Any, Any, np.integer[Any]],
    size: int,
    *,
    dtype: type[D] = np.float32,  # type: ignore[assignment]  # the default of D
) -> Tensor[Any, NoneTape, D]:
    r"""Gives each index a row of zeros with a one at the index; not differentiable.

    $$y_{ij} = [k_i = j]$$

    Args:
        indices: Whole numbers of any shape, from 0 to `size - 1`.
        size: How long a row is.
        dtype: A NumPy scalar type.

    Returns:
        The shape of `indices` with `size` behind it, without a tape.

    Raises:
        ShapeError: `size` is negative.
        DTypeError: `indices` are not whole numbers.
        IndexError: An index is out of range.
    """
    indices, _ = split(indices)
    if indices.dtype.kind not in "iu":
        raise DTypeError(sentences.wrong_dtype(sentences.UNNAMED, "indices", str(indices.dtype), "integer"))
    one_hot_shape(indices.shape, size)
    known = indices.numpy()
    outside = known[(known < 0) | (known >= size)]
    if outside.size:
        message = f"index {outside.flat[0]} is out of range for rows of {size}"
        raise IndexError(message)
    return handle(engine(indices.data).one_hot(indices.data, size, dtype))


@op(filled_shape)
def normal(
    shape: Sizes,
    *,
    mean: float = 0.0,
    std: float = 1.0,
    dtype: type[Float] = np.float32,  # type: ignore[assignment]  # the default of Float
    rng: RNG = None,
) -> Tensor[Any, NoneTape, Float]:
    r"""Draws a tensor of normally distributed numbers.

    $$y_i \sim \mathcal{N}(\mu, \sigma^2)$$

    Args:
        shape: The sizes, each at least 0.
        mean: The centre of the distribution.
        std: Its standard deviation, at least 0.
        dtype: A NumPy float type.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `dtype` is not a float.
        ValueError: `std` is negative.
    """
    _floating(dtype)
    return handle(np.asarray(generator(rng).normal(mean, std, shape), dtype))


@op(filled_shape)
def uniform(
    shape: Sizes,
    *,
    low: float = 0.0,
    high: float = 1.0,
    dtype: type[Float] = np.float32,  # type: ignore[assignment]  # the default of Float
    rng: RNG = None,
) -> Tensor[Any, NoneTape, Float]:
    r"""Draws a tensor of numbers from an interval, all equally likely.

    $$y_i \sim \mathcal{U}[l, h)$$

    Args:
        shape: The sizes, each at least 0.
        low: The least number.
        high: The number that all stay below.
        dtype: A NumPy float type.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Returns:
        `shape`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: `dtype` is not a float.
    """
    _floating(dtype)
    return handle(np.asarray(generator(rng).uniform(low, high, shape), dtype))


def _floating(dtype: Any) -> None:
    """Refuses a dtype that would cut off what makes random numbers random."""
    given = np.dtype(dtype)
    if given.kind != "f":
        raise DTypeError(sentences.wrong_dtype(sentences.UNNAMED, "dtype", given.name, "floating"))
