"""Ops on what lies on one side of a diagonal, or on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.backend import Int, engine
from tapegrad.dims import UNKNOWN, Dims, Size, at_least, show, surely_less
from tapegrad.errors import ShapeError
from tapegrad.op import op
from tapegrad.operands import tensor_only, unwrap
from tapegrad.ops.create import zeros
from tapegrad.ops.ranges import countable, eye_shape
from tapegrad.ops.scatter import at_set, getitem
from tapegrad.tensor import D, S, T, Tensor, from_array, node

if TYPE_CHECKING:
    from tapegrad.gradients import Gradients
    from tapegrad.tape import NoneTape


def tri_shape(n: Size | Int, m: Size | Int | None = None) -> Dims:
    """Return a square, or rows and columns."""
    return eye_shape(n, m)


def triangle_shape(x: Dims) -> Dims:
    """Keep the shape, which is that of matrices."""
    return at_least(2, x=x)


def diag_shape(x: Dims, *, k: int = 0) -> Dims:
    """Make a square of a vector, and of a matrix a vector."""
    if len(x) == 1:
        return (x[0] + abs(k), x[0] + abs(k))
    if len(x) != 2:
        message = f"x {show(x)} has rank {len(x)} but a vector or a matrix is expected"
        raise ShapeError(message)
    rows, columns = x
    return (_at_least_none(_shorter(rows + min(k, 0), columns - max(k, 0))),)


@op(tri_shape)
def tri(n: Int, m: Int | None = None, *, k: int = 0, dtype: type[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    r"""Make a matrix of ones on and below a diagonal, and zeros above.

    $$y_{ij} = [j \le i + k]$$

    Args:
        n: The rows, at least 0.
        m: The columns; None for as many as rows.
        k: How far above the main diagonal that of the last ones is; negative for below.
        dtype: A NumPy scalar type.

    Returns:
        `(n, m)`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: A size is no int.
    """
    sizes: Any = tri_shape(n, m)  # NumPy takes a negative size for none
    countable(max(sizes))
    rows, columns = sizes
    return from_array(np.tri(rows, columns, k, dtype))


@op(triangle_shape, memory_bound=True)
def tril(x: Tensor[S, T, D], *, k: int = 0) -> Tensor[S, T, D]:
    r"""Keep what is on and below a diagonal of each matrix, with zeros above.

    $$y_{ij} = [j \le i + k] \, x_{ij}, \quad dx_{ij} = [j \le i + k] \, dy_{ij}$$

    Args:
        x: Matrices, `(..., n, m)`.
        k: How far above the main diagonal that of the last kept elements is; negative for below.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: `x` has fewer than two axes.
    """
    at_least(2, x=x.shape)
    return _kept(x, np.tri(x.shape[-2], x.shape[-1], k, np.bool_))


@op(triangle_shape, memory_bound=True)
def triu(x: Tensor[S, T, D], *, k: int = 0) -> Tensor[S, T, D]:
    r"""Keep what is on and above a diagonal of each matrix, with zeros below.

    $$y_{ij} = [j \ge i + k] \, x_{ij}, \quad dx_{ij} = [j \ge i + k] \, dy_{ij}$$

    Args:
        x: Matrices, `(..., n, m)`.
        k: How far above the main diagonal that of the first kept elements is; negative for below.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: `x` has fewer than two axes.
    """
    at_least(2, x=x.shape)
    return _kept(x, ~np.tri(x.shape[-2], x.shape[-1], k - 1, np.bool_))


@op(diag_shape)
def diag(x: Tensor[Any, T, D], *, k: int = 0) -> Tensor[Any, T, D]:
    r"""Take the diagonal of a matrix, or make a matrix of one.

    $$y_i = x_{i, i + k} \quad \text{or} \quad y_{ij} = [j = i + k] \, x_i$$

    Args:
        x: A matrix, or a vector.
        k: How far above the main diagonal; negative for below.

    Returns:
        Of a matrix `(n, m)` as many elements as there are; of a vector `(n,)` the matrix `(n + |k|, n + |k|)`.

    Raises:
        ShapeError: `x` has another rank.
    """
    tensor_only(x, "x")
    sizes: Any = diag_shape(x.shape, k=k)
    steps = np.arange(x.shape[0] if x.ndim == 1 else sizes[0])
    place = (steps - min(k, 0), steps + max(k, 0))
    return getitem(x, place) if x.ndim == 2 else at_set(zeros(sizes, x.dtype.type), place, x)


def _kept(x: Tensor[S, T, D], mask: Any) -> Tensor[S, T, D]:
    x, tape = unwrap(x)
    out = node(engine(x.data).where(mask, x.data, x.dtype.type(0)))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        grads.add(x, engine(dy).where(mask, dy, x.dtype.type(0)))

    return tape.record(out, (x,), backward)


def _shorter(n: Size, m: Size) -> Size:
    """Return the smaller of two sizes, where it is certain."""
    if surely_less(n, m + 1):
        return n
    return m if surely_less(m, n + 1) else UNKNOWN


def _at_least_none(n: Size) -> Size:
    if surely_less(n, 0):
        return 0
    return n if surely_less(-1, n) else UNKNOWN
