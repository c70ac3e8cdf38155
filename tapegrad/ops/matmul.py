"""Products of matrices and vectors, and the linear layer."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.autograd.tape import NONE
from tapegrad.engines import engine
from tapegrad.errors import ShapeError
from tapegrad.ops._broadcast import accumulate_like, sum_to_shape
from tapegrad.sizes import Dims, at_least, broadcast, is_unknown, of_rank, show, surely_differ
from tapegrad.tensors import T1, T2, D, T, Tensor, node
from tapegrad.tensors.operands import of_one_dtype, unwrap, unwrap_all

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge
    from tapegrad.tensors import Number


def matmul_shape(x: Dims, y: Dims) -> Dims:
    """Return the shape of a matrix product; the last axis of `x` matches the second to last of `y`, or its only one."""
    *rows, k = at_least(1, x=x)
    k_y, *columns = at_least(1, y=y)[-2:]
    if surely_differ(k, k_y):
        what_x, what_y = "columns" if rows else "elements", "rows" if columns else "elements"
        message = f"inner sizes differ: x {show(x)} has {k} {what_x} but y {show(y)} has {k_y} {what_y}"
        raise ShapeError(message)
    if not columns:
        return tuple(rows)
    return (*broadcast(2, x=x, y=y), *rows[-1:], *columns)


def outer_shape(x: Dims, y: Dims) -> Dims:
    """Return the sizes of both vectors, that of `x` first."""
    return (*of_rank(1, x=x), *of_rank(1, y=y))


def dot_shape(x: Dims, y: Dims) -> Dims:
    """Return the shape of a scalar, after checking that the vectors have the same size."""
    return matmul_shape(of_rank(1, x=x), of_rank(1, y=y))


def bmm_shape(x: Dims, y: Dims) -> Dims:
    """Return the shape of a batched matrix product; both operands have the same number of matrices."""
    b, *_ = of_rank(3, x=x)
    b_y, *_ = of_rank(3, y=y)
    if surely_differ(b, b_y):
        message = f"x {show(x)} has {b} matrices but y {show(y)} has {b_y}"
        raise ShapeError(message)
    return (b_y if is_unknown(b) else b, *matmul_shape(x, y)[1:])


def linear_shape(x: Dims, weight: Dims, bias: Dims | None = None) -> Dims:
    """Return the shape of `x` with its last size, the rows of the weight, replaced by the columns."""
    *batch, n = at_least(1, x=x)
    n_w, m = of_rank(2, weight=weight)
    if surely_differ(n, n_w):
        message = f"axis -1 of x {show(x)} is {n} but weight {show(weight)} has {n_w} rows"
        raise ShapeError(message)
    if bias is None:
        return (*batch, m)
    (m_b,) = of_rank(1, bias=bias)
    if surely_differ(m, m_b):
        message = f"weight {show(weight)} has {m} columns but bias {show(bias)} has {m_b}"
        raise ShapeError(message)
    return (*batch, m_b if is_unknown(m) else m)


@op(matmul_shape, operator="__matmul__")
def matmul(x: Tensor[Any, T1, D] | Number, y: Tensor[Any, T2, D] | Number) -> Tensor[Any, Merge[T1, T2], D]:
    """Multiply matrices or stacks of matrices.

        z[b,n,m] = ∑_k x[b,n,k] y[b,k,m]
        dx = dz yᵀ
        dy = xᵀ dz

    Args:
        x: `(..., N, K)`, or a row `(K,)`.
        y: `(..., K, M)`, or a column `(K,)`. The leading axes broadcast with those of `x`.

    Returns:
        `(..., N, M)`, without N if `x` is a row and without M if `y` is a column.

    Raises:
        ShapeError: The inner sizes differ, an operand has no axis, or the leading axes do not broadcast.
        DTypeError: The dtypes differ.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = tg.tensor([[5.0, 6.0], [7.0, 8.0]])
        >>> tg.matmul(x, y).tolist()
        [[19.0, 22.0], [43.0, 50.0]]
        >>> (x @ tg.tensor([1.0, -1.0])).tolist()
        [-1.0, -1.0]
        >>> tg.matmul(tg.zeros((8, 2, 3)), tg.zeros((3, 5))).shape
        (8, 2, 5)
    """
    x, y, tape = unwrap(x, y)
    out = node(x.data @ y.data)

    def backward(grads: Gradients) -> None:
        dz, rows, columns = grads.pop_output(out), x.data, y.data
        if rows.ndim == columns.ndim == 2:  # the usual case in layers, which needs no reshape
            if grads.wants(x):
                grads.add(x, engine(dz, columns).dot(dz, columns.T))
            if grads.wants(y):
                grads.add(y, engine(dz, rows).dot(rows.T, dz))
            return
        rows, columns = _as_matrix(rows, 0), _as_matrix(columns, 1)
        dz = dz.reshape(_product_shape(dz, x, y))
        if columns.ndim == 2:  # a single product over all rows, instead of one for each matrix and a sum
            rows, dz = _stacked(rows), _stacked(dz)
        if grads.wants(x):
            grads.add(x, sum_to_shape(dz @ engine(columns).swap_last_axes(columns), rows).reshape(x.shape))
        if grads.wants(y):
            grads.add(y, sum_to_shape(engine(rows).swap_last_axes(rows) @ dz, columns).reshape(y.shape))

    return tape.record(out, (x, y), backward, saved=(x, y))


@op(outer_shape, eager=True, memory_bound=True)
def outer(x: Tensor[Any, T1, D] | Number, y: Tensor[Any, T2, D] | Number) -> Tensor[Any, Merge[T1, T2], D]:
    """Compute the outer product of two vectors.

        z[n,m] = x[n] y[m]
        dx = dz y
        dy = x dz

    Args:
        x: `(N,)`.
        y: `(M,)`.

    Returns:
        `(N, M)`.

    Raises:
        ShapeError: An operand is not a vector.
        DTypeError: The dtypes differ.

    Examples:
        >>> tg.outer(tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0, 5.0])).tolist()
        [[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]
    """
    x, y, tape = unwrap(x, y)
    out = node(_as_matrix(x.data, 1) * y.data)

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(x):
            grads.add(x, dz @ y.data)
        if grads.wants(y):
            grads.add(y, x.data @ dz)

    return tape.record(out, (x, y), backward)


@op(dot_shape, eager=True)
def dot(x: Tensor[Any, T1, D] | Number, y: Tensor[Any, T2, D] | Number) -> Tensor[Any, Merge[T1, T2], D]:
    """Compute the dot product of two vectors.

        z = ∑_n x[n] y[n]
        dx = dz y
        dy = dz x

    Args:
        x: `(N,)`.
        y: `(N,)`.

    Returns:
        A scalar.

    Raises:
        ShapeError: The sizes differ, or an operand is not a vector.
        DTypeError: The dtypes differ.

    Examples:
        >>> x, y = tg.tensor([1.0, 2.0, 3.0]), tg.tensor([4.0, 5.0, 6.0])
        >>> tg.dot(x, y).item()
        32.0
        >>> grads = tg.dot(x.trace(), y).backward()
        >>> grads[x].tolist()
        [4.0, 5.0, 6.0]
    """
    x, y, tape = unwrap(x, y)
    out = node(x.data @ y.data)

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(x):
            grads.add(x, y.data * dz)
        if grads.wants(y):
            grads.add(y, x.data * dz)

    return tape.record(out, (x, y), backward)


@op(bmm_shape, eager=True)
def bmm(x: Tensor[Any, T1, D] | Number, y: Tensor[Any, T2, D] | Number) -> Tensor[Any, Merge[T1, T2], D]:
    """Compute a batched matrix product, like `matmul` but without broadcasting.

        z[b,n,m] = ∑_k x[b,n,k] y[b,k,m]
        dx[b] = dz[b] y[b]ᵀ
        dy[b] = x[b]ᵀ dz[b]

    Args:
        x: `(B, N, K)`.
        y: `(B, K, M)`.

    Returns:
        `(B, N, M)`.

    Raises:
        ShapeError: The batches or the inner sizes differ, or an operand is not a stack of matrices.
        DTypeError: The dtypes differ.

    Examples:
        >>> x = tg.tensor([[[1.0, 2.0]], [[3.0, 4.0]]])
        >>> y = tg.tensor([[[1.0], [1.0]], [[2.0], [0.5]]])
        >>> tg.bmm(x, y).tolist()
        [[[3.0]], [[8.0]]]
        >>> tg.bmm(tg.zeros((8, 2, 3)), tg.zeros((8, 3, 5))).shape
        (8, 2, 5)
    """
    x, y, tape = unwrap(x, y)
    out = node(x.data @ y.data)

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(x):
            grads.add(x, dz @ engine(y.data).swap_last_axes(y.data))
        if grads.wants(y):
            grads.add(y, engine(x.data).swap_last_axes(x.data) @ dz)

    return tape.record(out, (x, y), backward)


@op(linear_shape)
def linear(
    x: Tensor[Any, T, D], weight: Tensor[Any, T1, D], bias: Tensor[Any, T2, D] | None = None
) -> Tensor[Any, Merge[T, Merge[T1, T2]], D]:
    """Apply a linear transformation to the last axis and add a bias, if there is one.

        y[b,m] = ∑_n x[b,n] w[n,m] + c[m]
        dx = dy wᵀ
        dw = xᵀ dy
        dc[m] = ∑_b dy[b,m]

    Args:
        x: `(..., N)`.
        weight: The weights w, `(N, M)`, the transpose of PyTorch's.
        bias: The bias c, `(M,)`; None for none.

    Returns:
        `(..., M)`.

    Raises:
        ShapeError: The rows or columns of `weight` do not match, or an operand has the wrong rank.
        DTypeError: The dtypes differ.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0]])
        >>> weight = tg.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]])
        >>> bias = tg.tensor([0.5, 0.5, 0.5])
        >>> tg.linear(x, weight, bias).tolist()
        [[1.5, 2.5, 8.5]]
        >>> grads = tg.linear(x, weight.trace(), bias).sum().backward()
        >>> grads[weight].tolist()
        [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    if bias is None:
        of_one_dtype(x=x, weight=weight)
        linear_shape(x.shape, weight.shape)
        product: Any = matmul(x, weight)
        unbiased: Tensor[Any, Merge[T, Merge[T1, T2]], D] = product
        return unbiased
    try:
        are_alike = x.data.dtype is weight.data.dtype is bias.data.dtype
    except AttributeError:  # an operand is not a tensor
        are_alike = False
    if not are_alike:
        of_one_dtype(x=x, weight=weight, bias=bias)
    if weight.data.ndim != 2 or bias.data.shape != weight.data.shape[1:]:  # NumPy might broadcast these silently
        linear_shape(x.shape, weight.shape, bias.shape)
    tape: Any = NONE
    if not (x.tape is weight.tape is bias.tape is NONE):  # for predictions (benchmarks/devices.py, "no tapes")
        (x, weight, bias), tape = unwrap_all((x, weight, bias), "operands")
    primitives = engine(x.data, weight.data, bias.data)
    product = primitives.dot(x.data, weight.data) if x.data.ndim == 2 else x.data @ weight.data
    out = node(primitives.add_to(product, bias.data))

    def backward(grads: Gradients) -> None:
        dy, rows = grads.pop_output(out), x.data
        if rows.ndim != 2:
            dy, rows = _stacked(_as_matrix(dy, 0)), _stacked(_as_matrix(rows, 0))
        primitives = engine(dy, rows, weight.data)
        if bias in grads.wanted:
            accumulate_like(grads, bias, primitives.sum(dy, 0, keepdims=False))
        if x in grads.wanted:
            dx = primitives.dot(dy, weight.data.T)
            accumulate_like(grads, x, dx if rows is x.data else dx.reshape(x.shape))
        if weight in grads.wanted:
            accumulate_like(grads, weight, primitives.dot(rows.T, dy))

    taped: Tensor[Any, Merge[T, Merge[T1, T2]], D] = tape.record(out, (x, weight, bias), backward, saved=(x, weight))
    return taped


def _as_matrix(value: Any, axis: int) -> Any:
    """Return a vector as a matrix: a row if `axis` is 0, a column if it is 1."""
    if value.ndim > 1:
        return value
    return value.reshape((1, value.size) if axis == 0 else (value.size, 1))


def _stacked(value: Any) -> Any:
    """Reshape a stack of matrices to one matrix with all their rows."""
    return value if value.ndim == 2 else value.reshape((prod(value.shape[:-1]), value.shape[-1]))


def _product_shape(dz: Any, x: Any, y: Any) -> tuple[int, ...]:
    """Return the shape of `dz` after rows and columns are reshaped to matrices."""
    n = () if x.ndim > 1 else (1,)
    m = () if y.ndim > 1 else (1,)
    batch_and_n = dz.shape if y.ndim == 1 else dz.shape[:-1]
    last = () if y.ndim == 1 else dz.shape[-1:]
    return (*batch_and_n, *n, *last, *m)
