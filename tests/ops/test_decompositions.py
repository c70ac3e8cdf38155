"""cholesky, qr, eigh and svd: NumPy's values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError, SingularError
from tapegrad.ops import (
    at_set,
    cholesky,
    eigh,
    eigvalsh,
    eye,
    full,
    normal,
    ones,
    pinv,
    qr,
    stack,
    svd,
    svdvals,
    tensor,
    zeros,
)
from tapegrad.ops.decompositions import qr_shape
from tapegrad.sizes import UNKNOWN, named, show
from tapegrad.testing import check_gradients, check_shape_rule

SQUARES = [(3, 3), (1, 1), (2, 5, 5), (2, 1, 3, 3), (0, 0), (0, 2, 2)]
MATRICES = [(3, 3), (5, 3), (3, 5), (1, 1), (2, 5, 3), (2, 1, 3, 5), (0, 3), (3, 0), (0, 2, 3)]
ALL: dict[str, Callable[[Any], Any]] = {"cholesky": cholesky, "eigh": eigh, "qr": qr, "svd": svd}
VALUES: dict[str, Callable[[Any], Any]] = {"eigvalsh": eigvalsh, "svdvals": svdvals}


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def positive(x: Any) -> Any:
    """Symmetric and positive definite, for any `x`."""
    return x @ x.mT + np.eye(x.shape[-1])


def symmetric(x: Any) -> Any:
    return x + x.mT


# Values, by arithmetic and by NumPy


def test_decompositions_by_hand() -> None:
    assert cholesky(tensor([[4.0, 2.0], [2.0, 10.0]])).tolist() == [[2.0, 0.0], [1.0, 3.0]]
    q, r = qr(tensor([[3.0, 5.0], [4.0, 0.0]], np.float64))
    np.testing.assert_allclose(abs(r).numpy(), [[5, 3], [0, 4]], rtol=1e-14)
    np.testing.assert_allclose(abs(q).numpy(), [[0.6, 0.8], [0.8, 0.6]], rtol=1e-14)
    values, vectors = eigh(tensor([[2.0, 1.0], [1.0, 2.0]], np.float64))
    np.testing.assert_allclose(values.numpy(), [1, 3], rtol=1e-14)
    np.testing.assert_allclose(abs(vectors).numpy(), np.full((2, 2), math.sqrt(0.5)), rtol=1e-14)
    assert svd(tensor([[0.0, 3.0], [2.0, 0.0]]))[1].tolist() == [3.0, 2.0]


@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_the_factors_multiply_to_the_matrix(shape: tuple[int, ...]) -> None:
    x = real(*shape)
    q, r = qr(x)
    u, s, vt = svd(x)

    for orthonormal in (q, u, vt.mT):
        product = (orthonormal.mT @ orthonormal).numpy()
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(min(shape[-2:])), product.shape), atol=1e-12)
    np.testing.assert_allclose((q @ r).numpy(), x.numpy(), atol=1e-12)
    np.testing.assert_allclose((u * s.reshape((*s.shape[:-1], 1, s.shape[-1])) @ vt).numpy(), x.numpy(), atol=1e-12)
    np.testing.assert_array_equal(r.numpy(), np.triu(r.numpy()))
    assert (np.diff(s.numpy()) <= 0).all()


@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_the_factors_of_symmetric_matrices_multiply_to_them(shape: tuple[int, ...]) -> None:
    x = positive(real(*shape))
    y, (values, vectors) = cholesky(x), eigh(x)

    np.testing.assert_array_equal(y.numpy(), np.tril(y.numpy()))
    np.testing.assert_allclose((y @ y.mT).numpy(), x.numpy(), atol=1e-12)
    np.testing.assert_allclose((x @ vectors).numpy(), vectors.numpy() * values.numpy()[..., None, :], atol=1e-12)
    assert (np.diff(values.numpy()) >= 0).all()


def test_only_the_lower_triangle_is_read_as_by_numpy() -> None:
    x = tensor([[4.0, 99.0], [2.0, 10.0]])

    assert cholesky(x).tolist() == np.linalg.cholesky(x.numpy()).tolist()
    assert eigh(x)[0].tolist() == np.linalg.eigh(x.numpy()).eigenvalues.tolist()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_equal_numpy(name: str, dtype: Any) -> None:
    options = {"full_matrices": False} if name == "svd" else {}
    for corner in (0.0, 1.0, 1e-30, 1e8, 1e30, *([] if name == "svd" else [math.inf])):
        x = tensor([[1.0, 0.0], [0.0, corner]] if name != "cholesky" or corner else [[1.0, 0.0], [0.0, 4.0]], dtype)
        found, expected = ALL[name](x), getattr(np.linalg, name)(x.numpy(), **options)
        several = [(found, expected)] if name == "cholesky" else zip(found, expected, strict=True)
        for ours, theirs in several:
            assert ours.dtype == dtype
            np.testing.assert_array_equal(ours.numpy(), theirs)
    assert np.isnan(qr(full((2, 2), math.nan))[1].numpy()).any()
    assert np.isnan(eigh(full((2, 2), math.nan))[0].numpy()).any()
    assert np.isnan(cholesky(full((2, 2), math.nan)).numpy()).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_alone_are_those_of_the_decompositions(dtype: Any) -> None:
    for corner in (0.0, 1.0, 1e-30, 1e8, 1e30):
        x = tensor([[1.0, 0.0], [0.0, corner]], dtype)
        assert eigvalsh(x).tolist() == eigh(x)[0].tolist()
        assert svdvals(x).tolist() == svd(x)[1].tolist()
        assert svdvals(x).dtype == dtype
    assert np.isnan(eigvalsh(full((2, 2), math.nan)).numpy()).any()
    assert not np.isfinite(eigvalsh(tensor([[1.0, 0.0], [0.0, math.inf]])).numpy()).all()
    with pytest.raises(SingularError, match=r"^svdvals: x \(2, 2\) has 1 infinities or NaNs$"):
        svdvals(tensor([[1.0, 0.0], [0.0, math.inf]]))
    with pytest.raises(SingularError, match=r"^svdvals: x \(2, 2\) has 4 infinities or NaNs$"):
        svdvals(full((2, 2), math.nan))


# Gradients


@pytest.mark.parametrize("shape", SQUARES, ids=str)
def test_gradients_of_symmetric_matrices_can_be_differentiated(shape: tuple[int, ...]) -> None:
    check_gradients(lambda x: cholesky(positive(x)), real(*shape), order=2)
    check_gradients(lambda x: eigh(symmetric(x))[0], real(*shape), order=2)
    check_gradients(lambda x: eigvalsh(symmetric(x)), real(*shape), order=2)
    check_gradients(lambda x: abs(eigh(symmetric(x))[1]), real(*shape), order=2)
    check_gradients(lambda x: abs(eigh(symmetric(x))[1]) @ eigh(symmetric(x))[1].mT @ x, real(*shape), order=2)


@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_gradients_of_factors_can_be_differentiated(shape: tuple[int, ...]) -> None:
    for part in range(2):
        check_gradients(lambda x, part=part: qr(x)[part], real(*shape), order=2)
    for part in range(3):
        check_gradients(lambda x, part=part: abs(svd(x)[part]), real(*shape), order=2)
    check_gradients(svdvals, real(*shape), order=2)


def test_the_gradient_through_all_factors_is_that_of_the_matrix() -> None:
    """The factors multiply to `x`, so the gradient of a function of the product is that of the function."""
    x, dy = real(5, 3), real(5, 3, seed=1)

    def product(x: Any) -> Any:
        u, s, vt = svd(x)
        return (u * s) @ vt

    def of_qr(x: Any) -> Any:
        q, r = qr(x)
        return q @ r

    for function in (product, of_qr):
        grads = (function(x.trace()) * dy).sum().backward()
        np.testing.assert_allclose(grads[x].numpy(), dy.numpy(), atol=1e-10)


def test_the_gradient_of_symmetric_matrices_is_symmetric() -> None:
    x, dy = positive(real(3, 3)).detach(), real(3, 3, seed=1)

    for function in (cholesky, lambda x: eigh(x)[1]):
        gradient = (function(x.trace()) * dy).sum().backward()[x].numpy()
        np.testing.assert_allclose(gradient, gradient.T, atol=1e-13)


def test_singular_values_and_eigenvalues_that_are_equal_have_gradients() -> None:
    x = eye(3, dtype=np.float64)

    values = eigh(x.trace())[0].sum().backward()[x]
    singular = svd(x.trace())[1].sum().backward()[x]

    np.testing.assert_allclose(values.numpy(), np.eye(3), atol=1e-15)
    np.testing.assert_allclose(singular.numpy(), np.eye(3), atol=1e-15)
    for function in (eigvalsh, svdvals):
        np.testing.assert_allclose(function(x.trace()).sum().backward()[x].numpy(), np.eye(3), atol=1e-15)


def test_the_gradient_of_vectors_of_equal_values_is_rejected_with_the_value() -> None:
    twice = stack([tensor([[1.0, 0.0], [0.0, 3.0]]), tensor([[2.5, 0.0], [0.0, 2.5]])])
    message = r"^eigh: the gradient of eigenvectors needs different eigenvalues, but x \(2, 2, 2\) has 2.5 more than"

    with pytest.raises(SingularError, match=message + r" once at \(1,\)$"):
        eigh(twice.trace())[1].sum().backward()
    message = r"^svd: the gradient of U and V needs different singular values, but x \(3, 3\) has 1 more than once$"
    for part in (0, 2):
        with pytest.raises(SingularError, match=message):
            svd(eye(3).trace())[part].sum().backward()


def test_a_singular_value_of_zero_has_vectors_but_no_gradient_where_the_matrix_is_not_square() -> None:
    message = r"^svd: the gradient of U and V needs singular values above 0, but x \({}\) has a 0$"

    with pytest.raises(SingularError, match=message.format("3, 1")):
        svd(zeros((3, 1)).trace())[0].sum().backward()
    with pytest.raises(SingularError, match=message.format("1, 3")):
        svd(zeros((1, 3)).trace())[2].sum().backward()
    x = tensor([[3.0, 0.0], [0.0, 0.0]])
    assert np.isfinite(svd(x.trace())[0].sum().backward()[x].numpy()).all()


def test_dependent_columns_have_no_gradient_of_qr() -> None:
    message = r"^qr: the gradient needs an inverse of R, but R \(3, 3\) is singular$"

    for part in range(2):
        with pytest.raises(SingularError, match=message):
            qr(zeros((3, 4)).trace())[part].sum().backward()


# Shapes and errors


def test_results_match_the_shape_rules() -> None:
    check_shape_rule(eigh, *((shape,) for shape in SQUARES))
    check_shape_rule(qr, *((shape,) for shape in MATRICES))
    check_shape_rule(svd, *((shape,) for shape in MATRICES))
    check_shape_rule(cholesky, *((shape,) for shape in SQUARES))
    check_shape_rule(eigvalsh, *((shape,) for shape in SQUARES))
    check_shape_rule(svdvals, *((shape,) for shape in MATRICES))


def test_the_smaller_of_two_named_sizes_has_a_name() -> None:
    left, right = qr_shape((named("M"), named("N")))

    assert show(left) == "(M, min(M, N))"
    assert show(right) == "(min(M, N), N)"
    assert [show(part) for part in qr_shape((UNKNOWN, 3))] == ["(?, ?)", "(?, 3)"]


def test_a_matrix_that_is_not_positive_definite_is_rejected_with_its_smallest_eigenvalue() -> None:
    with pytest.raises(SingularError, match=r"^cholesky: x \(2, 2\) is not positive definite: its smallest eige.* -1$"):
        cholesky(tensor([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(SingularError, match=r"^cholesky: x \(2, 2, 2\) is not positive definite at \(1,\): its"):
        cholesky(stack([eye(2), -eye(2)]))


def test_a_matrix_with_infinities_or_nans_has_no_singular_values() -> None:
    # LAPACK does not return for some of these matrices.
    corners = [1.0, -1.0, 1e30, 1e-40, math.inf, -math.inf, math.nan]
    for seed in range(50):
        x = tensor(np.random.default_rng(seed).choice(corners, (3, 4)), np.float32)
        x = at_set(x, (seed % 3, seed % 4), [math.inf, math.nan][seed % 2])
        with pytest.raises(SingularError, match=r"^svd: x \(3, 4\) has \d+ infinities or NaNs$"):
            svd(x)
        with pytest.raises(SingularError, match=r"^pinv: x \(3, 4\) has \d+ infinities or NaNs$"):
            pinv(x)
    with pytest.raises(SingularError, match=r"^svd: x \(2, 2, 3\) has 1 infinities or NaNs at \(1,\)$"):
        svd(ones((2, 2, 3)).at_set((1, 0, 2), math.nan))


@pytest.mark.parametrize(
    ("op", "shape", "message"),
    [
        (cholesky, (2, 3), "cholesky: x (2, 3) has 2 rows and 3 columns, which is not square"),
        (eigh, (5, 2, 3), "eigh: x (5, 2, 3) has 2 rows and 3 columns, which is not square"),
        (qr, (3,), "qr: x (3,) has rank 1 but needs at least 2"),
        (svd, (), "svd: x () has rank 0 but needs at least 2"),
        (eigvalsh, (5, 2, 3), "eigvalsh: x (5, 2, 3) has 2 rows and 3 columns, which is not square"),
        (svdvals, (3,), "svdvals: x (3,) has rank 1 but needs at least 2"),
    ],
)
def test_mismatched_shapes_are_rejected(op: Any, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        op(real(*shape))

    assert str(rejected.value) == message


def test_full_matrices_are_rejected() -> None:
    message = r"^svd: full_matrices is True, but only the K columns and rows of full_matrices=False have a gradient$"

    with pytest.raises(ShapeError, match=message):
        svd(real(2, 3), full_matrices=any([1]))  # mypy would reject True


@pytest.mark.parametrize("name", [*ALL, *VALUES])
def test_ints_and_half_precision_are_rejected(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: x is int64 but floating is expected$"):
        (ALL | VALUES)[name](tensor([[1, 2], [3, 4]]))
    with pytest.raises(DTypeError, match=f"^{name}: x is float16 but float32 or float64 is expected$"):
        (ALL | VALUES)[name](ones((2, 2), np.float16))


def test_numpys_functions_are_the_ops() -> None:
    x: Any = positive(real(3, 3)).detach()

    parts: Any = np.linalg.svd(x.trace(), full_matrices=False)
    for part, expected in zip(parts, svd(x), strict=True):
        assert part.owns_tape
        assert part.tolist() == expected.tolist()
    with pytest.raises(DTypeError, match=r"^np.linalg.svd: a tensor needs full_matrices; np.asarray\(x\) is its array"):
        np.linalg.svd(x)
    with pytest.raises(DTypeError, match=r"^np.linalg.qr: a tensor has no mode; tapegrad.qr is the function that it"):
        np.linalg.qr(x, "complete")
