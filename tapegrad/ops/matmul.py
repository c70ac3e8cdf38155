"""Products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.backend import engine
from tapegrad.dims import Dims, at_least, broadcast, show, surely_differ
from tapegrad.errors import ShapeError
from tapegrad.op import op
from tapegrad.ops._broadcast import summed_to
from tapegrad.tensor import T1, T2, D, Tensor, handle, same_dtype, split

if TYPE_CHECKING:
    from tapegrad.tape import Gradients, Merge
    from tapegrad.tensor import Number


def matmul_shape(x: Dims, y: Dims) -> Dims:
    """Contracts the last axis of `x` with the last but one of `y`, or with the only one."""
    *rows, k = at_least(1, x=x)
    k_y, *columns = at_least(1, y=y)[-2:]
    if surely_differ(k, k_y):
        what_x, what_y = "columns" if rows else "elements", "rows" if columns else "elements"
        message = f"inner sizes differ: x {show(x)} has {k} {what_x} but y {show(y)} has {k_y} {what_y}"
        raise ShapeError(message)
    if not columns:
        return tuple(rows)
    return (*broadcast(2, x=x, y=y), *rows[-1:], *columns)


@op(matmul_shape, operator="__matmul__")
def matmul(x: Tensor[Any, T1, D] | Number, y: Tensor[Any, T2, D] | Number) -> Tensor[Any, Merge[T1, T2], D]:
    r"""Multiplies matrices, or stacks of them.

    $$z_{bnm} = \sum_k x_{bnk} \, y_{bkm}, \quad dx = dz \, y^T, \quad dy = x^T dz$$

    Args:
        x: `(..., N, K)`, or a row `(K,)`.
        y: `(..., K, M)`, or a column `(K,)`. The leading axes broadcast with those of `x`.

    Returns:
        `(..., N, M)`, without the axis that a row or a column lacks.

    Raises:
        ShapeError: The inner sizes differ, an operand has no axis, or the leading axes do not broadcast.
        DTypeError: The dtypes differ.
    """
    x, y, tape = split(x, y)
    same_dtype(x, y)
    out = handle(x.data @ y.data)

    def backward(grads: Gradients) -> None:
        dz = grads.take(out)
        rows, columns = _as_matrix(x.data, 0), _as_matrix(y.data, 1)
        dz = dz.reshape(_product_shape(dz, x, y))
        if grads.wants(x):
            grads.add(x, summed_to(dz @ engine(columns).swap_last_axes(columns), rows).reshape(x.shape))
        if grads.wants(y):
            grads.add(y, summed_to(engine(rows).swap_last_axes(rows) @ dz, columns).reshape(y.shape))

    return tape.record(out, (x, y), backward)


def _as_matrix(value: Any, axis: int) -> Any:
    """Gives a vector a second axis of size one: at 0 it becomes a row, at 1 a column."""
    if value.ndim > 1:
        return value
    return value.reshape((1, value.size) if axis == 0 else (value.size, 1))


def _product_shape(dz: Any, x: Any, y: Any) -> tuple[int, ...]:
    """Returns the shape `dz` has once rows and columns are matrices."""
    n = () if x.ndim > 1 else (1,)
    m = () if y.ndim > 1 else (1,)
    batch_and_n = dz.shape if y.ndim == 1 else dz.shape[:-1]
    last = () if y.ndim == 1 else dz.shape[-1:]
    return (*batch_and_n, *n, *last, *m)
