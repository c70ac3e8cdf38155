"""Triangular and diagonal matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import Int, engine
from tapegrad.errors import ShapeError
from tapegrad.ops._counting import lower_triangle
from tapegrad.ops.axes import moveaxis
from tapegrad.ops.create import zeros
from tapegrad.ops.elementwise import scalar_type
from tapegrad.ops.ranges import countable, eye_shape
from tapegrad.ops.scatter import at_set, getitem
from tapegrad.sizes import UNKNOWN, Dims, Size, at_least, normal_axis, one_int, show, surely_less
from tapegrad.tensors import D, S, T, Tensor, from_array, node
from tapegrad.tensors.operands import fixed, tensor_only, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import NoneTape


def tri_shape(n: Size | Int, m: Size | Int | None = None, *, k: int = 0) -> Dims:
    """Return `(n, m)`, or `(n, n)` if `m` is None."""
    sizes = eye_shape(n, m)
    one_int(k, "k")  # rejects a bool, which Python takes for an int
    return sizes


def triangle_shape(x: Dims, *, k: int = 0) -> Dims:
    """Return the shape of `x`, after checking that it has at least two axes."""
    at_least(2, x=x)
    one_int(k, "k")  # as above
    return x


def diag_shape(x: Dims, *, k: int = 0) -> Dims:
    """Return a square shape for a vector, and the length of the diagonal for a matrix."""
    one_int(k, "k")  # as above
    if len(x) == 1:
        return (x[0] + abs(k), x[0] + abs(k))
    if len(x) != 2:
        message = f"x {show(x)} has rank {len(x)} but a vector or a matrix is expected"
        raise ShapeError(message)
    rows, columns = x
    return (_at_least_none(_shorter(rows + min(k, 0), columns - max(k, 0))),)


def diagonal_shape(x: Dims, offset: int = 0, axis1: Int = 0, axis2: Int = 1) -> Dims:
    """Return the shape without the two axes, and the length of the diagonal last."""
    at_least(2, x=x)
    one_int(offset, "offset")  # as above
    first, second = normal_axis(axis1, x), normal_axis(axis2, x)
    if first == second:
        message = f"axis1 and axis2 are both axis {first} of x {show(x)}"
        raise ShapeError(message)
    rest = tuple(n for axis, n in enumerate(x) if axis not in (first, second))
    return (*rest, _at_least_none(_shorter(x[first] + min(offset, 0), x[second] - max(offset, 0))))


@op(tri_shape)
def tri(n: Int, m: Int | None = None, k: int = 0, dtype: type[D] = np.float32) -> Tensor[Any, NoneTape, D]:  # type: ignore[assignment]  # the default of D
    """Create a matrix with ones on and below a diagonal and zeros above.

        y[i,j] = [j ≤ i + k]

    Args:
        n: The number of rows, at least 0.
        m: The number of columns; None for `n`.
        k: The last diagonal of ones: 0 is the main diagonal, positive above, negative below.
        dtype: A NumPy scalar type.

    Returns:
        `(n, m)`.

    Raises:
        ShapeError: A size is negative.
        DTypeError: A size, or `k`, is not an int; or `dtype` is not a scalar type.

    Examples:
        >>> tg.tri(3).tolist()
        [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
        >>> tg.tri(2, 4, k=1, dtype=np.bool_).tolist()
        [[True, True, False, False], [True, True, True, False]]
    """
    sizes: Any = tri_shape(n, m, k=k)  # rejects a negative size, which NumPy reads as 0
    countable(max(sizes))
    rows, columns = sizes
    return from_array(np.tri(rows, columns, k, scalar_type(dtype)))


@op(triangle_shape, memory_bound=True)
def tril(x: Tensor[S, T, D], k: int = 0) -> Tensor[S, T, D]:
    """Return the lower triangle of each matrix, with zeros above a diagonal.

        y[i,j] = [j ≤ i + k] x[i,j]
        dx[i,j] = [j ≤ i + k] dy[i,j]

    Args:
        x: Matrices, `(..., n, m)`.
        k: The last diagonal to keep: 0 is the main diagonal, positive above, negative below.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: `x` has fewer than two axes.
        DTypeError: `k` is not an int.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
        >>> tg.tril(x).tolist()
        [[1.0, 0.0, 0.0], [4.0, 5.0, 0.0], [7.0, 8.0, 9.0]]
        >>> tg.tril(x, k=-1).tolist()
        [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [7.0, 8.0, 0.0]]
    """
    triangle_shape(x.shape, k=k)
    return _masked(x, lower_triangle(x.shape[-2], x.shape[-1], k))


@op(triangle_shape, memory_bound=True)
def triu(x: Tensor[S, T, D], k: int = 0) -> Tensor[S, T, D]:
    """Return the upper triangle of each matrix, with zeros below a diagonal.

        y[i,j] = [j ≥ i + k] x[i,j]
        dx[i,j] = [j ≥ i + k] dy[i,j]

    Args:
        x: Matrices, `(..., n, m)`.
        k: The first diagonal to keep: 0 is the main diagonal, positive above, negative below.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: `x` has fewer than two axes.
        DTypeError: `k` is not an int.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
        >>> tg.triu(x).tolist()
        [[1.0, 2.0, 3.0], [0.0, 5.0, 6.0], [0.0, 0.0, 9.0]]
        >>> tg.triu(x, k=1).tolist()
        [[0.0, 2.0, 3.0], [0.0, 0.0, 6.0], [0.0, 0.0, 0.0]]
    """
    triangle_shape(x.shape, k=k)
    return _masked(x, ~lower_triangle(x.shape[-2], x.shape[-1], k - 1))


@op(diag_shape)
def diag(x: Tensor[Any, T, D], k: int = 0) -> Tensor[Any, T, D]:
    """Extract a diagonal of a matrix, or create a diagonal matrix from a vector.

        y[i] = x[i,i+k]   or   y[i,j] = [j = i + k] x[i]

    Args:
        x: A matrix, or a vector.
        k: The diagonal: 0 is the main diagonal, positive above, negative below.

    Returns:
        For a matrix `(n, m)`, the elements of the diagonal; for a vector `(n,)`, a matrix `(n + |k|, n + |k|)`.

    Raises:
        ShapeError: The rank of `x` is neither 1 nor 2.
        DTypeError: `k` is not an int.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.diag(x).tolist()
        [1.0, 5.0]
        >>> tg.diag(x, k=1).tolist()
        [2.0, 6.0]
        >>> tg.diag(tg.tensor([7.0, 8.0])).tolist()
        [[7.0, 0.0], [0.0, 8.0]]
    """
    tensor_only(x, "x")
    sizes: Any = diag_shape(x.shape, k=k)
    steps = np.arange(x.shape[0] if x.ndim == 1 else sizes[0])
    index = (steps - min(k, 0), steps + max(k, 0))
    return getitem(x, index) if x.ndim == 2 else at_set(fixed(zeros(sizes, x.dtype.type).data), index, x)


@op(diagonal_shape)
def diagonal(x: Tensor[Any, T, D], offset: int = 0, axis1: Int = 0, axis2: Int = 1) -> Tensor[Any, T, D]:
    """Return a diagonal of each matrix, as the last axis.

        y[...,i] = x[..., i - min(k, 0), i + max(k, 0)]

    Args:
        x: Any shape with at least two axes.
        offset: The diagonal k: 0 is the main diagonal, positive above, negative below.
        axis1: The axis of the rows. As in NumPy the matrices are in the first two axes by default.
        axis2: The axis of the columns.

    Returns:
        The shape of `x` without the two axes, with the length of the diagonal last.

    Raises:
        ShapeError: `x` has fewer than two axes, an axis is out of range, or both are the same.
        DTypeError: `offset` is not an int.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.diagonal(x).tolist()
        [1.0, 5.0]
        >>> tg.diagonal(x, 1).tolist()
        [2.0, 6.0]
        >>> tg.diagonal(tg.stack([x, x]), axis1=1, axis2=2).tolist()
        [[1.0, 5.0], [1.0, 5.0]]
    """
    tensor_only(x, "x")
    sizes: Any = diagonal_shape(x.shape, offset, axis1, axis2)
    steps = np.arange(sizes[-1])
    matrices = moveaxis(x, (axis1, axis2), (-2, -1))
    below, above = (-min(offset, 0), max(offset, 0)) if steps.size else (0, 0)  # NumPy's ints hold no larger ones
    return getitem(matrices, (..., steps + below, steps + above))


def _masked(x: Tensor[S, T, D], mask: Any) -> Tensor[S, T, D]:
    x, tape = unwrap(x)
    out = node(engine(x.data).where(mask, x.data, x.dtype.type(0)))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        grads.add(x, engine(dy).where(mask, dy, x.dtype.type(0)))

    return tape.record(out, (x,), backward)


def _shorter(n: Size, m: Size) -> Size:
    """Return the smaller of two sizes, or UNKNOWN if the order is uncertain."""
    if surely_less(n, m + 1):
        return n
    return m if surely_less(m, n + 1) else UNKNOWN


def _at_least_none(n: Size) -> Size:
    if surely_less(n, 0):
        return 0
    return n if surely_less(-1, n) else UNKNOWN
