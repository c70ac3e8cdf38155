"""Products with stacks of vectors, which `matmul` would treat as matrices; cross and Kronecker products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.errors import ShapeError
from tapegrad.ops.arithmetic import mul, sub
from tapegrad.ops.axes import expand_dims, squeeze
from tapegrad.ops.elementwise import number_only
from tapegrad.ops.matmul import matmul
from tapegrad.ops.move import reshape
from tapegrad.ops.reduce import sum
from tapegrad.ops.shift import roll
from tapegrad.sizes import Dims, at_least, broadcast, normal_axis, show, surely_differ
from tapegrad.tensors import Tensor
from tapegrad.tensors.operands import both_on_one_tape, same_dtype, tensor_only, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.autograd.tape import Merge
    from tapegrad.engines import Int
    from tapegrad.tensors import T1, T2, D, Number, Real


def cross_shape(x: Dims, y: Dims, axis: Int = -1) -> Dims:
    """Return the broadcast shape, after checking that the axis has three elements."""
    whole = max(x, y, key=len)
    back = normal_axis(axis, whole) - len(whole)
    for name, dims in (("x", x), ("y", y)):
        n = at_least(-back, **{name: dims})[back]
        if surely_differ(n, 3):
            message = f"{name} {show(dims)} has {n} elements along axis {axis}, but vectors of 3 are expected"
            raise ShapeError(message)
    sizes = broadcast(x=x, y=y)
    return (*sizes[:back], 3, *sizes[len(sizes) + back + 1 :])


def kron_shape(x: Dims, y: Dims) -> Dims:
    """Return the products of the sizes, aligned from the right."""
    left, right = _of_one_rank(x, y)
    return tuple(n * m for n, m in zip(left, right, strict=True))


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
    """Compute the dot products of two stacks of vectors.

        z[b] = ∑_n x[b,n] y[b,n]
        dx[b,n] = dz[b] y[b,n]
        dy[b,n] = dz[b] x[b,n]

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
    """Compute the products of stacked matrices and vectors.

        z[b,n] = ∑_k x[b,n,k] y[b,k]
        dx[b,n,k] = dz[b,n] y[b,k]
        dy[b,k] = ∑_n x[b,n,k] dz[b,n]

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
    """Compute the products of stacked vectors and matrices.

        z[b,m] = ∑_k x[b,k] y[b,k,m]
        dx[b,k] = ∑_m dz[b,m] y[b,k,m]
        dy[b,k,m] = x[b,k] dz[b,m]

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


@op(cross_shape)
def cross(x: Tensor[Any, T1, Real], y: Tensor[Any, T2, Real], axis: Int = -1) -> Tensor[Any, Merge[T1, T2], Real]:
    """Compute the cross product of vectors in three dimensions.

        z[i] = x[i+1] y[i+2] - x[i+2] y[i+1]   (indices modulo 3)
        dx = y × dz
        dy = dz × x

    Args:
        x: Any shape with 3 elements along the axis.
        y: A shape that broadcasts with `x`, also with 3 elements along the axis.
        axis: The axis of the vectors, counted in the shape that both broadcast to.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: An operand does not have 3 elements along the axis, the axis is out of range, or the shapes do not
            broadcast. Vectors of 2 elements, of which NumPy returns the third component, are rejected.
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> x, y = tg.tensor([1.0, 0.0, 0.0]), tg.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
        >>> tg.cross(x, y).tolist()
        [[0.0, 0.0, 1.0], [0.0, -2.0, 0.0]]
    """
    tensor_only(x, "x")
    tensor_only(y, "y")
    same_dtype(x, y)
    number_only(x)
    cross_shape(x.shape, y.shape, axis)
    rank = max(x.ndim, y.ndim)
    back = normal_axis(axis, max(x.shape, y.shape, key=len)) - rank
    left, right = both_on_one_tape(x, y)
    positive = mul(roll(left, -1, back), roll(right, 1, back))
    return sub(positive, mul(roll(left, 1, back), roll(right, -1, back)))


@op(kron_shape)
def kron(x: Tensor[Any, T1, D], y: Tensor[Any, T2, D]) -> Tensor[Any, Merge[T1, T2], D]:
    """Compute the Kronecker product: `y` times each element of `x`, block by block.

        z[n p + q] = x[n] y[q]
        dx[n] = ∑_q y[q] dz[n p + q]
        dy[q] = ∑_n x[n] dz[n p + q] along each axis of size p of y

    Args:
        x: Any shape.
        y: Any shape. The operand of the lower rank gets axes of size 1 in front.

    Returns:
        The sizes of `x` times those of `y`.

    Raises:
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0], [0.0, -1.0]])
        >>> tg.kron(x, tg.ones((1, 2))).tolist()
        [[1.0, 1.0, 2.0, 2.0], [0.0, 0.0, -1.0, -1.0]]
    """
    tensor_only(x, "x")
    tensor_only(y, "y")
    same_dtype(x, y)
    number_only(x)
    left, right = both_on_one_tape(x, y)
    outer, inner = _of_one_rank(x.shape, y.shape)
    blocks = reshape(left, tuple(size for n in outer for size in (n, 1)))
    elements = reshape(right, tuple(size for m in inner for size in (1, m)))
    shape: Any = kron_shape(x.shape, y.shape)
    return reshape(mul(blocks, elements), shape)


def _of_one_rank(x: Dims, y: Dims) -> tuple[Any, Any]:
    """Return both shapes with sizes of 1 in front of the shorter one."""
    rank = max(len(x), len(y))
    return (1,) * (rank - len(x)) + tuple(x), (1,) * (rank - len(y)) + tuple(y)


def _fitting(rule: Callable[[Dims, Dims], Dims], x: Any, y: Any) -> tuple[Tensor[Any, Any, Any], Tensor[Any, Any, Any]]:
    """Check the operands with `rule` and put them on one tape; errors of the inner ops would name other shapes."""
    *parts, _ = unwrap(x, y)
    rule(*(part.shape for part in parts))
    x, y = (given if isinstance(given, Tensor) else part for given, part in zip((x, y), parts, strict=True))
    return both_on_one_tape(x, y)
