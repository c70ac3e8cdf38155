"""Ops that make tensors: of nested lists and arrays, of a constant, of random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import numpy as np

from tapegrad.dims import Dims, show, surely_differ, surely_less
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.generator import generator
from tapegrad.op import op
from tapegrad.tensor import D, S, Tensor, handle

if TYPE_CHECKING:
    from tapegrad.generator import RNG
    from tapegrad.tape import NoneTape
    from tapegrad.tensor import Sizes

P = TypeVar("P", bool, int, float)

Nested: TypeAlias = "P | Sequence[Nested[P]]"


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


@overload
def tensor(data: np.ndarray[S, np.dtype[D]]) -> Tensor[S, NoneTape, D]: ...
@overload
def tensor(data: Nested[bool]) -> Tensor[Any, NoneTape, np.bool_]: ...  # type: ignore[overload-overlap]  # the first that fits: to Python a bool is an int, and an int a float
@overload
def tensor(data: Nested[int]) -> Tensor[Any, NoneTape, np.int64]: ...  # type: ignore[overload-overlap]  # as above
@overload
def tensor(data: Nested[float]) -> Tensor[Any, NoneTape, np.float32]: ...
@overload
def tensor(data: Nested[float], dtype: type[D]) -> Tensor[Any, NoneTape, D]: ...
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
        DTypeError: The data are not numbers.
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


@op(filled_shape)
def normal(
    shape: Sizes,
    *,
    mean: float = 0.0,
    std: float = 1.0,
    dtype: type[D] = np.float32,  # type: ignore[assignment]  # the default of D
    rng: RNG = None,
) -> Tensor[Any, NoneTape, D]:
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
        ValueError: `std` is negative.
    """
    return handle(np.asarray(generator(rng).normal(mean, std, shape), dtype))


@op(filled_shape)
def uniform(
    shape: Sizes,
    *,
    low: float = 0.0,
    high: float = 1.0,
    dtype: type[D] = np.float32,  # type: ignore[assignment]  # the default of D
    rng: RNG = None,
) -> Tensor[Any, NoneTape, D]:
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
    """
    return handle(np.asarray(generator(rng).uniform(low, high, shape), dtype))
