"""Inverses, pseudoinverses, linear systems and determinants of matrices, or of stacks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, ShapeError, SingularError, messages
from tapegrad.errors.ranges import check_options
from tapegrad.ops._broadcast import sum_to_shape
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.matmul import matmul
from tapegrad.sizes import Dims, at_least, broadcast, show, surely_differ
from tapegrad.tensors import T1, T2, Float, S, T, Tensor, node
from tapegrad.tensors.operands import known, same_dtype, tensor_only, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge, NoneTape


def inv_shape(x: Dims) -> Dims:
    """Return the shape of `x`, which has square matrices."""
    return square_only(x)


def solve_shape(x: Dims, y: Dims) -> Dims:
    """Return `(..., N, M)`: the columns of `y`, and a row for each unknown; `(..., N)` for one vector `y`."""
    n = square_only(x)[-1]
    n_y = at_least(1, y=y)[-2:][0]
    rows = x[-2] if surely_differ(x[-2], n_y) else n  # a size of a square matrix may be known only once
    if surely_differ(rows, n_y):
        message = f"x {show(x)} has {rows} rows but y {show(y)} has {n_y}"
        raise ShapeError(message)
    return (*x[:-2], n) if len(y) == 1 else (*broadcast(2, x=x, y=y), n, y[-1])


def det_shape(x: Dims) -> Dims:
    """Return the shape without the last two axes, of square matrices."""
    return square_only(x)[:-2]


def slogdet_shape(x: Dims) -> tuple[Dims, Dims]:
    """Return the shape without the last two axes, of square matrices, twice: of signs and of logarithms."""
    return det_shape(x), det_shape(x)


def pinv_shape(x: Dims, *, rtol: float | None = None) -> Dims:  # noqa: ARG001  # the parameters of the op
    """Return the shape with the last two axes swapped."""
    m, n = at_least(2, x=x)[-2:]
    return (*x[:-2], n, m)


def lstsq_shape(x: Dims, y: Dims, *, rtol: float | None = None) -> Dims:  # noqa: ARG001  # the parameters of the op
    """Return `(..., N, K)`: the columns of `y`, and a row for each column of `x`; `(..., N)` for one vector `y`."""
    m, n = at_least(2, x=x)[-2:]
    m_y = at_least(1, y=y)[-2:][0]
    if surely_differ(m, m_y):
        message = f"x {show(x)} has {m} rows but y {show(y)} has {m_y}"
        raise ShapeError(message)
    return (*x[:-2], n) if len(y) == 1 else (*broadcast(2, x=x, y=y), n, y[-1])


@op(inv_shape)
def inv(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the inverse of each matrix.

        y = x⁻¹
        dx = -yᵀ dy yᵀ

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
    exact_only(x)
    square_only(x.shape)
    out = node(engine(x.data).inv(x.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        transposed = engine(out.data).swap_last_axes(out.data)
        grads.add(x, -(transposed @ dy @ transposed))

    return tape.record(out, (x,), backward)


@op(solve_shape)
def solve(x: Tensor[Any, T1, Float], y: Tensor[Any, T2, Float]) -> Tensor[Any, Merge[T1, T2], Float]:
    """Solve systems of linear equations.

        z = x⁻¹ y
        dy = x⁻ᵀ dz
        dx = -dy zᵀ

    Args:
        x: The coefficients, one equation per row, `(..., N, N)`, a float dtype, not singular.
        y: The right-hand sides, `(..., N, M)`, one system per column. The leading axes broadcast with those of `x`.
            `(N,)` is one right-hand side for each matrix of `x`; a stack of vectors is `(..., N, 1)`, as in NumPy.

    Returns:
        The solutions, `(..., N, M)`, or `(..., N)` if `y` is a vector.

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
        >>> np.round(tg.solve(x, tg.tensor([3.0, 5.0])).numpy().astype(float), 3).tolist()
        [0.8, 1.4]
    """
    tensor_only(x, "x")
    tensor_only(y, "y")
    x, y, tape = unwrap(x, y)
    exact_only(x)
    shape = solve_shape(x.shape, y.shape)
    # NumPy would take a vector for a matrix if `x` is a stack.
    given = y.data.reshape((*y.shape, 1)) if y.ndim == 1 else y.data
    solutions = engine(x.data, given).solve(x.data, given)
    out = node(solutions.reshape(shape) if y.ndim == 1 else solutions)

    def backward(grads: Gradients) -> None:
        z: Any = out.data.reshape((*shape, 1)) if y.ndim == 1 else out.data
        dz = grads.pop_output(out).reshape(z.shape)
        transposed = engine(x.data).swap_last_axes(x.data)
        dy = engine(transposed, dz).solve(transposed, dz)
        if grads.wants(x):
            grads.add(x, sum_to_shape(-(dy @ engine(z).swap_last_axes(z)), x.data))
        if grads.wants(y):
            dy = sum_to_shape(dy, y.data.reshape((*y.shape, 1)) if y.ndim == 1 else y.data)
            grads.add(y, dy.reshape(y.shape))

    return tape.record(out, (x, y), backward)


@op(det_shape)
def det(x: Tensor[Any, T, Float]) -> Tensor[Any, T, Float]:
    """Compute the determinant of each matrix.

        y = det x
        dx = y x⁻ᵀ dy

    Args:
        x: `(..., N, N)`, a float dtype. A singular matrix has a determinant of 0, but the formula for the
            gradient needs its inverse: the backward pass raises `SingularError`. A determinant that is too large for
            the dtype is infinite, and NumPy warns of it: `slogdet` computes its logarithm.

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
    exact_only(x)
    square_only(x.shape)
    out = node(engine(x.data).det(x.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out) * out.data
        inverse = _inverse("det", x.data)
        grads.add(x, engine(inverse).swap_last_axes(inverse) * dy.reshape((*x.shape[:-2], 1, 1)))

    return tape.record(out, (x,), backward)


@op(slogdet_shape)
def slogdet(x: Tensor[Any, T, Float]) -> tuple[Tensor[Any, NoneTape, Float], Tensor[Any, T, Float]]:
    """Compute the sign of the determinant of each matrix, and the logarithm of its absolute value.

        y = log |det x|
        dx = x⁻ᵀ dy

    Args:
        x: `(..., N, N)`, a float dtype. The logarithm neither overflows nor underflows where `det` does. A singular
            matrix has the sign 0 and the logarithm -inf, and no gradient: the backward pass raises `SingularError`.

    Returns:
        The sign, -1, 0 or 1, which has no tape because it is piecewise constant, and the logarithm; both `(...)`.

    Raises:
        ShapeError: The matrices of `x` are not square.
        DTypeError: `x` is not a float, or is float16 or bfloat16.

    Examples:
        >>> x = tg.tensor([[0.0, 2.0], [4.0, 6.0]])
        >>> sign, logarithm = tg.slogdet(x)
        >>> sign.item(), round(logarithm.exp().item(), 4)
        (-1.0, 8.0)
        >>> grads = tg.slogdet(x.trace())[1].backward()
        >>> grads[x].tolist()
        [[-0.75, 0.5], [0.25, 0.0]]
    """
    tensor_only(x, "x")
    x, tape = unwrap(x)
    exact_only(x)
    square_only(x.shape)
    sign, out = map(node, engine(x.data).decompose("slogdet", x.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        inverse = _inverse("slogdet", x.data)
        grads.add(x, engine(inverse).swap_last_axes(inverse) * dy.reshape((*x.shape[:-2], 1, 1)))

    return sign, tape.record(out, (x,), backward)


@op(pinv_shape)
def pinv(x: Tensor[Any, T, Float], *, rtol: float | None = None) -> Tensor[Any, T, Float]:
    """Compute the pseudoinverse of each matrix, of any shape and rank (Moore-Penrose).

        y = x⁺
        dx = -yᵀ dy yᵀ + (1 - x y) dyᵀ y yᵀ + yᵀ y dyᵀ (1 - y x)

    Args:
        x: `(..., M, N)`, a float dtype.
        rtol: Singular values up to `rtol` times the largest count as zero; None for `max(M, N)` times the machine
            epsilon of the dtype, as in PyTorch and the array API. NumPy's own default is 1e-15 for every dtype.

    Returns:
        `(..., N, M)`. The gradient is right where the rank does not change nearby. Its formula needs the singular
        values that count as zero to be zero up to rounding, because `rtol` is no regularization.

    Raises:
        ShapeError: `x` has rank below 2.
        DTypeError: `x` is not a float, or is float16 or bfloat16; or `rtol` is not a number.
        ValueError: `rtol` is below 0.
        SingularError: A matrix has an infinity or a NaN. In the backward pass: a singular value that counts as zero is
            larger than the square root of the machine epsilon times the smallest of the others; under `jit`, where
            values are unknown, this is not detected.

    Source:
        Golub and Pereyra, [The differentiation of pseudo-inverses](https://doi.org/10.1137/0710036), eq. 4.12.

    Examples:
        >>> x = tg.tensor([[2.0, 0.0], [0.0, 0.0], [0.0, 4.0]])
        >>> tg.pinv(x).tolist()
        [[0.5, 0.0, 0.0], [0.0, 0.0, 0.25]]
        >>> (tg.pinv(x) @ x).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    tensor_only(x, "x")
    exact_only(x)
    pinv_shape(x.shape)
    return _pinv("pinv", x, rtol)


def _pinv(op_name: str, x: Tensor[Any, T, Float], rtol: float | None) -> Tensor[Any, T, Float]:
    """Return the pseudoinverse for `op_name`, which messages name."""
    x, tape = unwrap(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)
        drops = False  # only what is zero up to rounding
    else:
        check_options(op_name, rtol=rtol)
        drops = True
    out = node(engine(x.data).pinv(x.data, rtol))

    def backward(grads: Gradients) -> None:
        dy, y, matrix = grads.pop_output(out), out.data, x.data
        if drops:
            _reject_dropped(op_name, matrix, rtol)
        transposed, across = engine(y).swap_last_axes(y), engine(dy).swap_last_axes(dy)
        columns = (across - matrix @ (y @ across)) @ y @ transposed
        rows = transposed @ y @ (across - (across @ y) @ matrix)
        # At full rank one of them is zero, but rounding would make it as large as the square of the condition number.
        of = engine(y)
        rank = of.sum(matrix * transposed, (-2, -1), keepdims=True)  # that of a projection is its trace
        dx = -transposed @ dy @ transposed
        for part, full_rank in (columns, x.shape[-2]), (rows, x.shape[-1]):
            dx = dx + engine(part).where(of.greater(full_rank - rank, 0.5), part, 0)
        grads.add(x, dx)

    return tape.record(out, (x,), backward)


@op(lstsq_shape)
def lstsq(
    x: Tensor[Any, T1, Float], y: Tensor[Any, T2, Float], *, rtol: float | None = None
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Solve systems of linear equations by least squares: the shortest of the solutions with the smallest residual.

        z = x⁺ y = argmin_z ‖x z - y‖₂

    Args:
        x: The coefficients, one equation per row, `(..., M, N)`, of any rank, a float dtype.
        y: The right-hand sides, `(..., M, K)`, one system per column. The leading axes broadcast with those of `x`.
            `(M,)` is one right-hand side for each matrix of `x`; a stack of vectors is `(..., M, 1)`.
        rtol: Singular values up to `rtol` times the largest count as zero; None as in `pinv`, for `max(M, N)` times
            the machine epsilon of the dtype, which is also NumPy's default.

    Returns:
        The solutions alone, `(..., N, K)`, or `(..., N)` if `y` is a vector. The residuals are `x @ z - y`, and
        `svdvals(x)` has the singular values. The gradient is that of `pinv(x) @ y`.

    Raises:
        ShapeError: `x` has rank below 2, `y` has other rows, or the leading axes do not broadcast.
        DTypeError: The dtypes differ, are not float, or are float16 or bfloat16; or `rtol` is not a number.
        ValueError: `rtol` is below 0.
        SingularError: As of `pinv`.

    Source:
        NumPy, `numpy.linalg.lstsq`; the gradient as of `pinv`.

    Examples:
        >>> x = tg.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])  # a line through three points
        >>> y = tg.tensor([1.0, 2.0, 4.0])
        >>> np.round(tg.lstsq(x, y).numpy().astype(float), 3).tolist()
        [0.833, 1.5]
    """
    tensor_only(x, "x")
    tensor_only(y, "y")
    exact_only(x)
    same_dtype(x, y, "y")
    lstsq_shape(x.shape, y.shape)
    return matmul(_pinv("lstsq", x, rtol), y)


def _reject_dropped(op_name: str, x: Any, rtol: float) -> None:
    """Reject a singular value that `rtol` drops although it is not zero, for which the gradient of `pinv` is wrong."""
    values = known(x)
    if values is None or not values.size:
        return  # values are unknown under `jit`
    singular = np.linalg.svd(values, compute_uv=False)
    counts = singular > rtol * singular[..., :1]
    dropped = np.where(counts, 0, singular).max(-1)
    smallest = np.where(counts, singular, np.inf).min(-1)
    # The gradient is wrong by about the quotient of both.
    is_wrong = np.asarray(dropped > np.sqrt(np.finfo(values.dtype).eps) * smallest)
    if is_wrong.any():
        first = tuple(int(axis[0]) for axis in np.argwhere(is_wrong).T)
        found = (
            f"{float(np.asarray(dropped)[first]):.4g}, and the smallest other one is {np.asarray(smallest)[first]:.4g}"
        )
        message = (
            f"{op_name}: the gradient needs singular values that count as zero to be zero, but rtol={rtol:g} drops "
            f"{found}: use a smaller rtol, or solve of x.mT @ x + c * eye(n) for regularization"
        )
        raise SingularError(message)


def exact_only(x: Tensor[Any, Any, Any]) -> None:
    """Reject ints, bools and half precision, for which LAPACK has no routines."""
    float_only(x)
    if x.dtype.itemsize == 2:
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "x", str(x.dtype), "float32 or float64"))


def square_only(x: Dims) -> Dims:
    """Return the shape of square matrices, and reject any other."""
    n, m = at_least(2, x=x)[-2:]
    if surely_differ(n, m):
        message = f"x {show(x)} has {n} rows and {m} columns, which is not square"
        raise ShapeError(message)
    return x


def _inverse(call: str, x: Any) -> Any:
    try:
        return engine(x).inv(x)
    except SingularError as error:
        message = f"{call}: the gradient needs an inverse, but {error}"
        raise SingularError(message) from None
