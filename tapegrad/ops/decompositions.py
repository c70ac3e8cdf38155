"""Decompositions of matrices, or of stacks of them: cholesky, qr, eigh and svd; eigvalsh and svdvals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors import ShapeError, SingularError
from tapegrad.ops.linalg import exact_only, square_only
from tapegrad.sizes import Dims, at_least, show, smallest
from tapegrad.tensors import Float, S, T, Tensor, node
from tapegrad.tensors.operands import known, tensor_only, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients


def cholesky_shape(x: Dims) -> Dims:
    """Return the shape of `x`, which has square matrices."""
    return square_only(x)


def qr_shape(x: Dims) -> tuple[Dims, Dims]:
    """Return `(..., M, K)` and `(..., K, N)`, where K is the smaller of M and N."""
    m, n = at_least(2, x=x)[-2:]
    k = smallest([m, n])
    return (*x[:-2], m, k), (*x[:-2], k, n)


def eigh_shape(x: Dims) -> tuple[Dims, Dims]:
    """Return `(..., N)` and `(..., N, N)`."""
    square_only(x)
    return x[:-1], x


def svd_shape(x: Dims, *, full_matrices: bool = False) -> tuple[Dims, Dims, Dims]:
    """Return `(..., M, K)`, `(..., K)` and `(..., K, N)`, where K is the smaller of M and N."""
    if full_matrices is True:
        message = "full_matrices is True, but only the K columns and rows of full_matrices=False have a gradient"
        raise ShapeError(message)
    left, right = qr_shape(x)
    return left, right[:-1], right


def eigvalsh_shape(x: Dims) -> Dims:
    """Return `(..., N)`."""
    return square_only(x)[:-1]


def svdvals_shape(x: Dims) -> Dims:
    """Return `(..., K)`, where K is the smaller of M and N."""
    return svd_shape(x)[1]


@op(cholesky_shape)
def cholesky(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Decompose symmetric, positive definite matrices into a lower triangular matrix and its transpose (Cholesky).

        x = y yᵀ
        dx = (1/2) y⁻ᵀ (p + pᵀ) y⁻¹
        p = Φ(yᵀ dy)

    where `Φ` keeps the lower triangle, and half of the diagonal.

    Args:
        x: `(..., N, N)`, a float dtype. Only the lower triangle is read, and each matrix counts as symmetric: its
            gradient is symmetric, as in PyTorch.

    Returns:
        The lower triangular matrices, `(..., N, N)`.

    Raises:
        ShapeError: The matrices of `x` are not square.
        DTypeError: `x` is not a float, or is float16 or bfloat16.
        SingularError: A matrix is not positive definite.

    Source:
        Murray, [Differentiation of the Cholesky decomposition](https://arxiv.org/abs/1602.07527), eq. 9.

    Examples:
        >>> x = tg.tensor([[4.0, 2.0], [2.0, 10.0]])
        >>> y = tg.cholesky(x)
        >>> y.tolist()
        [[2.0, 0.0], [1.0, 3.0]]
        >>> (y @ y.mT).tolist()
        [[4.0, 2.0], [2.0, 10.0]]
    """
    tensor_only(x, "x")
    x, tape = unwrap(x)
    exact_only(x)
    square_only(x.shape)
    (data,) = engine(x.data).decompose("cholesky", x.data)
    out = node(data)

    def backward(grads: Gradients) -> None:
        transposed = _transposed(out.data)
        half = (transposed @ grads.pop_output(out)) * _lower(out.shape[-1], out.dtype, 0.5)
        left = engine(transposed, half).solve(transposed, half)
        across = _transposed(left)
        grads.add(x, _symmetric(engine(transposed, across).solve(transposed, across)))

    return tape.record(out, (x,), backward)


@op(qr_shape)
def qr(x: Tensor[Any, T, Float]) -> tuple[Tensor[Any, T, Float], Tensor[Any, T, Float]]:
    """Decompose matrices into one with orthonormal columns and an upper triangular one; the reduced form.

        x = q r
        dx = (dq + q sym(r drᵀ - dqᵀ q)) r⁻ᵀ

    where `sym` mirrors the lower triangle. Where M is below N, this holds for the first M columns.

    Args:
        x: `(..., M, N)`, a float dtype. The gradient needs the first K columns to be linearly independent, and the
            backward pass raises `SingularError` where they are not.

    Returns:
        Q, `(..., M, K)`, and R, `(..., K, N)`, where K is the smaller of M and N. As in NumPy, elements of the diagonal
        of R may be negative.

    Raises:
        ShapeError: `x` has rank below 2.
        DTypeError: `x` is not a float, or is float16 or bfloat16.

    Source:
        Roberts and Roberts, [QR and LQ decomposition matrix backpropagation
        algorithms](https://arxiv.org/abs/2009.10071), eq. 3 and algorithm 2.

    Examples:
        >>> x = tg.tensor([[0.0, 2.0], [4.0, 1.0], [0.0, 0.0]])
        >>> q, r = tg.qr(x)
        >>> q.shape, r.shape
        ((3, 2), (2, 2))
        >>> np.round((q @ r).numpy(), 3).tolist()
        [[0.0, 2.0], [4.0, 1.0], [0.0, 0.0]]
    """
    tensor_only(x, "x")
    x, tape = unwrap(x)
    exact_only(x)
    qr_shape(x.shape)
    q, r = engine(x.data).decompose("qr", x.data)
    orthonormal, triangular = node(q), node(r)
    m, n = x.shape[-2:]
    first, rest = (..., slice(m)), (..., slice(m, None))

    def moved_back(dq: Any, inner: Any) -> Any:
        """Return the gradient of the first K columns, of which `inner` is mirrored from its lower triangle."""
        lower = inner * _lower(q.shape[-1], q.dtype, 1.0)
        strict = inner * _lower(q.shape[-1], q.dtype, 0.0)
        transposed = _transposed(dq + q @ (lower + _transposed(strict)))
        square = r if m >= n else engine(r).getitem(r, first)
        try:
            return _transposed(engine(square, transposed).solve(square, transposed))
        except SingularError as error:
            message = f"qr: the gradient needs an inverse of R, but {str(error).replace('x ', 'R ', 1)}"
            raise SingularError(message) from None

    def backward_orthonormal(grads: Gradients) -> None:
        dq = grads.pop_output(orthonormal)
        dx = moved_back(dq, -(_transposed(dq) @ q))
        if m < n:
            dx = engine(dx).pad(dx, [(0, 0)] * (x.ndim - 1) + [(0, n - m)], 0)
        grads.add(x, dx)

    def backward_triangular(grads: Gradients) -> None:
        dr = grads.pop_output(triangular)
        if m >= n:
            grads.add(x, moved_back(q * 0, r @ _transposed(dr)))
            return
        square, dsquare = engine(r).getitem(r, first), engine(dr).getitem(dr, first)
        beyond, dbeyond = engine(x.data).getitem(x.data, rest), engine(dr).getitem(dr, rest)
        dq = beyond @ _transposed(dbeyond)
        before = moved_back(dq, square @ _transposed(dsquare) - _transposed(dq) @ q)
        after = q @ dbeyond
        grads.add(x, engine(before, after).concat([before, after], x.ndim - 1))

    return tape.record(orthonormal, (x,), backward_orthonormal), tape.record(triangular, (x,), backward_triangular)


@op(eigh_shape)
def eigh(x: Tensor[Any, T, Float]) -> tuple[Tensor[Any, T, Float], Tensor[Any, T, Float]]:
    """Compute the eigenvalues and eigenvectors of symmetric matrices.

        x = v diag(w) vᵀ
        dx = sym(v (diag(dw) + f ⊙ vᵀ dv) vᵀ)
        f[i,j] = 1 / (w[j] - w[i])
        f[i,i] = 0

    where `sym` is the mean of a matrix and its transpose.

    Args:
        x: `(..., N, N)`, a float dtype. Only the lower triangle is read, and each matrix counts as symmetric: its
            gradient is symmetric.

    Returns:
        The eigenvalues in ascending order, `(..., N)`, and the eigenvectors, the columns of `(..., N, N)`. The sign of
        an eigenvector is arbitrary. Where two eigenvalues are equal, the gradient of the eigenvectors does not exist,
        and the backward pass through them raises `SingularError`; where they are close, it is large.

    Raises:
        ShapeError: The matrices of `x` are not square.
        DTypeError: `x` is not a float, or is float16 or bfloat16.

    Source:
        Giles, [Collected matrix derivative results](https://doi.org/10.1007/978-3-540-68942-3_4), §3.1.

    Examples:
        >>> x = tg.tensor([[2.0, 1.0], [1.0, 2.0]], np.float64)
        >>> values, vectors = tg.eigh(x)
        >>> np.round(values.numpy(), 3).tolist()
        [1.0, 3.0]
        >>> np.round(np.abs(vectors.numpy()), 3).tolist()
        [[0.707, 0.707], [0.707, 0.707]]
        >>> grads = tg.eigh(x.trace())[0][1].backward()
        >>> np.round(grads[x].numpy(), 3).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    tensor_only(x, "x")
    x, tape = unwrap(x)
    exact_only(x)
    square_only(x.shape)
    w, v = engine(x.data).decompose("eigh", x.data)
    values, vectors = node(w), node(v)

    def backward_values(grads: Gradients) -> None:
        grads.add(x, (v * _as_row(grads.pop_output(values))) @ _transposed(v))

    def backward_vectors(grads: Gradients) -> None:
        transposed = _transposed(v)
        _reject_equal("eigh", "eigenvectors", "eigenvalue", w, x.shape)
        inner = (transposed @ grads.pop_output(vectors)) * _over_differences(_as_row(w) - _as_column(w))
        grads.add(x, _symmetric(v @ inner @ transposed))

    return tape.record(values, (x,), backward_values), tape.record(vectors, (x,), backward_vectors)


@op(svd_shape)
def svd(
    x: Tensor[Any, T, Float], *, full_matrices: bool = False
) -> tuple[Tensor[Any, T, Float], Tensor[Any, T, Float], Tensor[Any, T, Float]]:
    """Compute the singular value decomposition of matrices, in its reduced form.

        x = u diag(s) vᵀ
        dx = u (diag(ds) + (a + aᵀ) diag(s) + diag(s) (b + bᵀ)) vᵀ
             + (1 - u uᵀ) du diag(s)⁻¹ vᵀ
             + u diag(s)⁻¹ dvᵀ (1 - v vᵀ)

        a = f ⊙ uᵀ du
        b = f ⊙ vᵀ dv
        f[i,j] = 1 / (s[j]² - s[i]²)
        f[i,i] = 0

    Args:
        x: `(..., M, N)`, a float dtype.
        full_matrices: Only False, which is not NumPy's default: the other columns and rows have no gradient.

    Returns:
        U, `(..., M, K)`, the singular values in descending order, `(..., K)`, and the transpose of V, `(..., K, N)`,
        where K is the smaller of M and N. The sign of a column of U and V is arbitrary. Where two singular values are
        equal, or one is 0 and M and N differ, the gradient of U and V does not exist, and the backward pass through
        them raises `SingularError`; that of the singular values always exists.

    Raises:
        ShapeError: `x` has rank below 2, or `full_matrices` is True.
        DTypeError: `x` is not a float, or is float16 or bfloat16.
        SingularError: A matrix has an infinity or a NaN.

    Source:
        Townsend, [Differentiating the singular value
        decomposition](https://j-towns.github.io/papers/svd-derivative.pdf), eq. 32.

    Examples:
        >>> x = tg.tensor([[0.0, 3.0], [2.0, 0.0], [0.0, 0.0]])
        >>> u, s, vt = tg.svd(x)
        >>> u.shape, s.tolist(), vt.shape
        ((3, 2), [3.0, 2.0], (2, 2))
        >>> ((u * s) @ vt).tolist()
        [[0.0, 3.0], [2.0, 0.0], [0.0, 0.0]]
        >>> grads = tg.svd(x.trace())[1].sum().backward()  # of the nuclear norm
        >>> grads[x].tolist()
        [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    """
    tensor_only(x, "x")
    x, tape = unwrap(x)
    exact_only(x)
    svd_shape(x.shape, full_matrices=full_matrices)
    u, s, vt = engine(x.data).decompose("svd", x.data)
    left, singular, right = node(u), node(s), node(vt)
    m, n = x.shape[-2:]

    def inner(transposed: Any, dvectors: Any) -> Any:
        """Return `a + a^T`, or `b + b^T`."""
        _reject_equal("svd", "U and V", "singular value", s, x.shape)
        row, column = _as_row(s), _as_column(s)
        half = (transposed @ dvectors) * _over_differences((row - column) * (row + column))
        return half + _transposed(half)

    def backward_left(grads: Gradients) -> None:
        du, row = grads.pop_output(left), _as_row(s)
        transposed = _transposed(u)
        dx = u @ (inner(transposed, du) * row)
        if m > n:
            _reject_zero(s, x.shape)
            dx = dx + (du - u @ (transposed @ du)) / row
        grads.add(x, dx @ vt)

    def backward_singular(grads: Gradients) -> None:
        grads.add(x, (u * _as_row(grads.pop_output(singular))) @ vt)

    def backward_right(grads: Gradients) -> None:
        dvt, column = grads.pop_output(right), _as_column(s)
        dx = (inner(vt, _transposed(dvt)) * column) @ vt
        if m < n:
            _reject_zero(s, x.shape)
            dx = dx + (dvt - (dvt @ _transposed(vt)) @ vt) / column
        grads.add(x, u @ dx)

    return (
        tape.record(left, (x,), backward_left),
        tape.record(singular, (x,), backward_singular),
        tape.record(right, (x,), backward_right),
    )


@op(eigvalsh_shape)
def eigvalsh(x: Tensor[Any, T, Float]) -> Tensor[Any, T, Float]:
    """Compute the eigenvalues of symmetric matrices.

        x = v diag(y) vᵀ
        dx = v diag(dy) vᵀ

    Args:
        x: `(..., N, N)`, a float dtype. Only the lower triangle is read, and each matrix counts as symmetric: its
            gradient is symmetric, and exists for equal eigenvalues too.

    Returns:
        The eigenvalues in ascending order, `(..., N)`; `eigh` returns the eigenvectors as well.

    Raises:
        ShapeError: The matrices of `x` are not square.
        DTypeError: `x` is not a float, or is float16 or bfloat16.

    Source:
        Giles, [Collected matrix derivative results](https://doi.org/10.1007/978-3-540-68942-3_4), §3.1.

    Examples:
        >>> x = tg.tensor([[2.0, 1.0], [1.0, 2.0]], np.float64)
        >>> np.round(tg.eigvalsh(x).numpy(), 3).tolist()
        [1.0, 3.0]
    """
    tensor_only(x, "x")
    x, tape = unwrap(x)
    exact_only(x)
    square_only(x.shape)
    w, v = engine(x.data).decompose("eigh", x.data)
    out = node(w)

    def backward(grads: Gradients) -> None:
        grads.add(x, (v * _as_row(grads.pop_output(out))) @ _transposed(v))

    return tape.record(out, (x,), backward)


@op(svdvals_shape)
def svdvals(x: Tensor[Any, T, Float]) -> Tensor[Any, T, Float]:
    """Compute the singular values of matrices.

        x = u diag(y) vᵀ
        dx = u diag(dy) vᵀ

    Args:
        x: `(..., M, N)`, a float dtype.

    Returns:
        The singular values in descending order, `(..., K)`, where K is the smaller of M and N; `svd` returns the
        singular vectors as well.

    Raises:
        ShapeError: `x` has rank below 2.
        DTypeError: `x` is not a float, or is float16 or bfloat16.
        SingularError: A matrix has an infinity or a NaN.

    Source:
        Townsend, [Differentiating the singular value
        decomposition](https://j-towns.github.io/papers/svd-derivative.pdf), eq. 32.

    Examples:
        >>> x = tg.tensor([[0.0, 3.0], [2.0, 0.0], [0.0, 0.0]])
        >>> tg.svdvals(x).tolist()
        [3.0, 2.0]
    """
    tensor_only(x, "x")
    x, tape = unwrap(x)
    exact_only(x)
    qr_shape(x.shape)
    u, s, vt = engine(x.data).decompose("svd", x.data)
    out = node(s)

    def backward(grads: Gradients) -> None:
        grads.add(x, (u * _as_row(grads.pop_output(out))) @ vt)

    return tape.record(out, (x,), backward)


def _transposed(x: Any) -> Any:
    return engine(x).swap_last_axes(x)


def _symmetric(x: Any) -> Any:
    return (x + _transposed(x)) * 0.5


def _as_row(x: Any) -> Any:
    return x.reshape((*x.shape[:-1], 1, x.shape[-1]))


def _as_column(x: Any) -> Any:
    return x.reshape((*x.shape, 1))


def _lower(n: int, dtype: Any, diagonal: float) -> Any:
    """Return the factors that keep the elements below the diagonal, and `diagonal` of those on it."""
    return np.tril(np.ones((n, n), dtype), -1) + np.eye(n, dtype=dtype) * dtype.type(diagonal)


def _over_differences(differences: Any) -> Any:
    """Return the reciprocals, and 0 on the diagonal."""
    same = np.eye(differences.shape[-1], dtype=differences.dtype)
    return 1 / (differences + same) * (1 - same)


def _reject_equal(call: str, vectors: str, kind: str, values: Any, shape: Dims) -> None:
    """Reject equal values next to each other, where they are known: not under `jit`, which gives infinities."""
    found = known(values)
    if found is None or found.shape[-1] < 2:
        return
    equal = np.argwhere(found[..., 1:] == found[..., :-1])
    if equal.size:
        position = tuple(map(int, equal[0]))
        place = f" at {position[:-1]}" if position[:-1] else ""
        message = (
            f"{call}: the gradient of {vectors} needs different {kind}s, "
            f"but x {show(shape)} has {found[position]:.6g} more than once{place}"
        )
        raise SingularError(message)


def _reject_zero(values: Any, shape: Dims) -> None:
    found = known(values)
    if found is not None and (found == 0).any():
        message = f"svd: the gradient of U and V needs singular values above 0, but x {show(shape)} has a 0"
        raise SingularError(message)
