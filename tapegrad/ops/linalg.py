"""Inverses, linear systems and determinants of square matrices, or stacks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, ShapeError, SingularError, messages
from tapegrad.ops._broadcast import sum_to_shape
from tapegrad.ops.elementwise import float_only
from tapegrad.sizes import Dims, at_least, broadcast, show, surely_differ
from tapegrad.tensor import T1, T2, Float, S, T, Tensor, node
from tapegrad.tensor.operands import tensor_only, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge


def inv_shape(x: Dims) -> Dims:
    """Return the shape of `x`, which has square matrices."""
    return _square(x)


def solve_shape(x: Dims, y: Dims) -> Dims:
    """Return `(..., N, M)`: the columns of `y`, and a row for each unknown."""
    n = _square(x)[-1]
    n_y, m = at_least(2, y=y)[-2:]
    if surely_differ(n, n_y):
        message = f"x {show(x)} has {n} rows but y {show(y)} has {n_y}"
        raise ShapeError(message)
    return (*broadcast(2, x=x, y=y), n, m)


def det_shape(x: Dims) -> Dims:
    """Return the shape without the last two axes, of square matrices."""
    return _square(x)[:-2]


@op(inv_shape)
def inv(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    r"""Compute the inverse of each matrix.

    $$y = x^{-1}, \quad dx = -y^T \, dy \, y^T$$

    Args:
        x: `(..., N, N)`, a float dtype, not singular. To apply an inverse, `solve` is faster and more accurate.

    Returns:
        `(..., N, N)`.

    Raises:
        ShapeError: The matrices of `x` are not square.
        DTypeError: `x` is not a float, or is float16 or bfloat16.
        SingularError: A matrix is singular.

    Examples:
        >>> x = tg.tensor([[2.0, 1.0], [0.0, 4.0]])
        >>> tg.inv(x).tolist()
        [[0.5, -0.125], [0.0, 0.25]]
        >>> (x @ tg.inv(x)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    tensor_only(x, "x")
    x, tape = unwrap(x)
    _exact_only(x)
    _square(x.shape)
    out = node(engine(x.data).inv(x.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        transposed = engine(out.data).swap_last_axes(out.data)
        grads.add(x, -(transposed @ dy @ transposed))

    return tape.record(out, (x,), backward)


@op(solve_shape)
def solve(x: Tensor[Any, T1, Float], y: Tensor[Any, T2, Float]) -> Tensor[Any, Merge[T1, T2], Float]:
    r"""Solve systems of linear equations.

    $$z = x^{-1} y, \quad dy = x^{-T} dz, \quad dx = -dy \, z^T$$

    Args:
        x: The coefficients, one equation per row, `(..., N, N)`, a float dtype, not singular.
        y: The right-hand sides, `(..., N, M)`, one system per column. The leading axes broadcast with those of `x`.

    Returns:
        The solutions, `(..., N, M)`.

    Raises:
        ShapeError: The matrices of `x` are not square, `y` has other rows, or the leading axes do not broadcast.
        DTypeError: The dtypes differ, are not float, or are float16 or bfloat16.
        SingularError: A matrix is singular.

    Examples:
        >>> x = tg.tensor([[2.0, 1.0], [1.0, 3.0]])
        >>> y = tg.tensor([[3.0], [5.0]])
        >>> z = tg.solve(x, y)
        >>> np.round(z.numpy().astype(float), 3).tolist()
        [[0.8], [1.4]]
        >>> np.round((x @ z).numpy().astype(float), 3).tolist()
        [[3.0], [5.0]]
    """
    tensor_only(x, "x")
    tensor_only(y, "y")
    x, y, tape = unwrap(x, y)
    _exact_only(x)
    solve_shape(x.shape, y.shape)
    out = node(engine(x.data, y.data).solve(x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        transposed = engine(x.data).swap_last_axes(x.data)
        dy = engine(transposed, dz).solve(transposed, dz)
        if grads.wants(x):
            grads.add(x, sum_to_shape(-(dy @ engine(out.data).swap_last_axes(out.data)), x.data))
        if grads.wants(y):
            grads.add(y, sum_to_shape(dy, y.data))

    return tape.record(out, (x, y), backward)


@op(det_shape)
def det(x: Tensor[Any, T, Float]) -> Tensor[Any, T, Float]:
    r"""Compute the determinant of each matrix.

    $$y = \det x, \quad dx = y \, x^{-T} dy$$

    Args:
        x: `(..., N, N)`, a float dtype. A singular matrix has a determinant of 0, but the formula for the
            gradient needs its inverse: the backward pass raises `SingularError`.

    Returns:
        `(...)`; 1 for matrices of size zero.

    Raises:
        ShapeError: The matrices of `x` are not square.
        DTypeError: `x` is not a float, or is float16 or bfloat16.

    Examples:
        >>> x = tg.tensor([[2.0, 1.0], [4.0, 6.0]])
        >>> tg.det(x).item()
        8.0
        >>> grads = tg.det(x.trace()).backward()
        >>> grads[x].tolist()
        [[6.0, -4.0], [-1.0, 2.0]]
    """
    tensor_only(x, "x")
    x, tape = unwrap(x)
    _exact_only(x)
    _square(x.shape)
    out = node(engine(x.data).det(x.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out) * out.data
        try:
            inverse = engine(x.data).inv(x.data)
        except SingularError as error:
            message = f"det: the gradient needs an inverse, but {error}"
            raise SingularError(message) from None
        grads.add(x, engine(inverse).swap_last_axes(inverse) * dy.reshape((*x.shape[:-2], 1, 1)))

    return tape.record(out, (x,), backward)


def _exact_only(x: Tensor[Any, Any, Any]) -> None:
    """Reject ints, bools and half precision, for which LAPACK has no routines."""
    float_only(x)
    if x.dtype.itemsize == 2:
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "x", str(x.dtype), "float32 or float64"))


def _square(x: Dims) -> Dims:
    n, m = at_least(2, x=x)[-2:]
    if surely_differ(n, m):
        message = f"x {show(x)} has {n} rows and {m} columns, which is not square"
        raise ShapeError(message)
    return x
