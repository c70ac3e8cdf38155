r"""Products with stacks of vectors, which `matmul` would treat as matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.errors import ShapeError
from tapegrad.ops.arithmetic import mul
from tapegrad.ops.axes import expand_dims, squeeze
from tapegrad.ops.elementwise import number_only
from tapegrad.ops.matmul import matmul
from tapegrad.ops.reduce import sum
from tapegrad.sizes import Dims, at_least, broadcast, show, surely_differ
from tapegrad.tensor import Tensor
from tapegrad.tensor.operands import both_on_one_tape, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.autograd.tape import Merge
    from tapegrad.tensor import T1, T2, D, Number, Real


def vecdot_shape(x: Dims, y: Dims) -> Dims:
    """Return the broadcast leading axes, after checking that the last sizes match."""
    *_, n = at_least(1, x=x)
    *_, n_y = at_least(1, y=y)
    if surely_differ(n, n_y):
        message = f"inner sizes differ: x {show(x)} has {n} elements but y {show(y)} has {n_y} elements"
        raise ShapeError(message)
    return broadcast(1, x=x, y=y)


def matvec_shape(x: Dims, y: Dims) -> Dims:
    """Return the shape of matrix-vector products: the broadcast leading axes and the rows."""
    *matrices, n, k = at_least(2, x=x)
    *vectors, k_y = at_least(1, y=y)
    if surely_differ(k, k_y):
        message = f"inner sizes differ: x {show(x)} has {k} columns but y {show(y)} has {k_y} elements"
        raise ShapeError(message)
    try:
        return (*broadcast(x=tuple(matrices), y=tuple(vectors)), n)
    except ShapeError:
        message = f"x {show(x)} has matrices {show(matrices)} but y {show(y)} has vectors {show(vectors)}"
        raise ShapeError(message) from None


def vecmat_shape(x: Dims, y: Dims) -> Dims:
    """Return the shape of vector-matrix products: the broadcast leading axes and the columns."""
    *vectors, k = at_least(1, x=x)
    *matrices, k_y, m = at_least(2, y=y)
    if surely_differ(k, k_y):
        message = f"inner sizes differ: x {show(x)} has {k} elements but y {show(y)} has {k_y} rows"
        raise ShapeError(message)
    try:
        return (*broadcast(x=tuple(vectors), y=tuple(matrices)), m)
    except ShapeError:
        message = f"x {show(x)} has vectors {show(vectors)} but y {show(y)} has matrices {show(matrices)}"
        raise ShapeError(message) from None


@op(vecdot_shape)
def vecdot(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    r"""Compute the dot products of two stacks of vectors.

    $$z_b = \sum_n x_{bn} \, y_{bn}, \quad dx_{bn} = dz_b \, y_{bn}, \quad dy_{bn} = dz_b \, x_{bn}$$

    Args:
        x: `(..., N)`.
        y: `(..., N)`. The leading axes broadcast with those of `x`.

    Returns:
        `(...)`.

    Raises:
        ShapeError: The vectors differ in length, an operand has no axis, or the leading axes do not broadcast.
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = tg.tensor([[5.0, 6.0], [7.0, 8.0]])
        >>> tg.vecdot(x, y).tolist()
        [17.0, 53.0]
        >>> tg.vecdot(x, tg.tensor([1.0, -1.0])).tolist()
        [-1.0, -1.0]
    """
    given = x
    x, y = _fitting(vecdot_shape, x, y)
    number_only(x, given)
    return sum(mul(x, y), -1)


@op(matvec_shape)
def matvec(x: Tensor[Any, T1, D] | Number, y: Tensor[Any, T2, D] | Number) -> Tensor[Any, Merge[T1, T2], D]:
    r"""Compute the products of stacked matrices and vectors.

    $$z_{bn} = \sum_k x_{bnk} \, y_{bk}, \quad dx_{bnk} = dz_{bn} \, y_{bk}, \quad dy_{bk} = \sum_n x_{bnk} \, dz_{bn}$$

    Args:
        x: `(..., N, K)`.
        y: `(..., K)`. The leading axes broadcast with those of `x`.

    Returns:
        `(..., N)`.

    Raises:
        ShapeError: The inner sizes differ, an operand has too few axes, or the leading axes do not broadcast.
        DTypeError: The dtypes differ.

    Examples:
        >>> w = tg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> x = tg.tensor([[1.0, 0.0], [1.0, -1.0]])
        >>> tg.matvec(w, x).tolist()
        [[1.0, 3.0, 5.0], [-1.0, -1.0, -1.0]]
    """
    x, y = _fitting(matvec_shape, x, y)
    return squeeze(matmul(x, expand_dims(y, -1)), -1)


@op(vecmat_shape)
def vecmat(x: Tensor[Any, T1, D] | Number, y: Tensor[Any, T2, D] | Number) -> Tensor[Any, Merge[T1, T2], D]:
    r"""Compute the products of stacked vectors and matrices.

    $$z_{bm} = \sum_k x_{bk} \, y_{bkm}, \quad dx_{bk} = \sum_m dz_{bm} \, y_{bkm}, \quad dy_{bkm} = x_{bk} \, dz_{bm}$$

    Args:
        x: `(..., K)`.
        y: `(..., K, M)`. The leading axes broadcast with those of `x`.

    Returns:
        `(..., M)`.

    Raises:
        ShapeError: The inner sizes differ, an operand has too few axes, or the leading axes do not broadcast.
        DTypeError: The dtypes differ.

    Examples:
        >>> x = tg.tensor([[1.0, 0.0], [1.0, -1.0]])
        >>> w = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.vecmat(x, w).tolist()
        [[1.0, 2.0, 3.0], [-3.0, -3.0, -3.0]]
    """
    x, y = _fitting(vecmat_shape, x, y)
    return squeeze(matmul(expand_dims(x, -2), y), -2)


def _fitting(rule: Callable[[Dims, Dims], Dims], x: Any, y: Any) -> tuple[Tensor[Any, Any, Any], Tensor[Any, Any, Any]]:
    """Check the operands with `rule` and put them on one tape; errors of the inner ops would name other shapes."""
    *parts, _ = unwrap(x, y)
    rule(*(part.shape for part in parts))
    x, y = (given if isinstance(given, Tensor) else part for given, part in zip((x, y), parts, strict=True))
    return both_on_one_tape(x, y)
