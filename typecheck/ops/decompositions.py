"""cholesky, qr, eigh and svd: several results with shapes of their own."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

M = TypeVar("M", bound=int)
N = TypeVar("N", bound=int)

x = tg.eye(3)
tall = tg.normal((5, 3), rng=0)
wide = tg.normal((7, 3, 5), rng=0)


def accept_decompositions_of_square_matrices() -> None:
    assert_type(tg.cholesky(x), Tensor[Shape[L[3], L[3]], NoneTape])
    values, vectors = tg.eigh(x.trace())
    assert_type(values, Tensor[Shape[L[3]], OwnedTape])
    assert_type(vectors, Tensor[Shape[L[3], L[3]], OwnedTape])


def accept_reduced_factors() -> None:
    q, r = tg.qr(tall.trace())
    assert_type(q, Tensor[Shape[L[5], L[3]], OwnedTape])
    assert_type(r, Tensor[Shape[L[3], L[3]], OwnedTape])
    u, s, vt = tg.svd(wide)
    assert_type(u, Tensor[Shape[L[7], L[3], L[3]], NoneTape])
    assert_type(s, Tensor[Shape[L[7], L[3]], NoneTape])
    assert_type(vt, Tensor[Shape[L[7], L[3], L[5]], NoneTape])


def accept_values_alone() -> None:
    assert_type(tg.eigvalsh(x.trace()), Tensor[Shape[L[3]], OwnedTape])
    assert_type(tg.svdvals(wide), Tensor[Shape[L[7], L[3]], NoneTape])

    def condition(a: Tensor[Shape[N, N]]) -> None:
        assert_type(tg.svdvals(a).max() / tg.svdvals(a).min(), Tensor[tuple[()], NoneTape])
        assert_type(tg.eigvalsh(a), Tensor[Shape[N], NoneTape])

    condition(x)


def reject_eigenvalues_of_a_matrix_that_is_not_square() -> None:
    tg.eigvalsh(tall)  # E: eigvalsh: x (5, 3) has 5 rows and 3 columns, which is not square [tapegrad-shape]


def reject_singular_values_of_a_vector() -> None:
    tg.svdvals(tg.ones((3,)))  # E: svdvals: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]


def accept_methods() -> None:
    assert_type(x.cholesky(), Tensor[Shape[L[3], L[3]], NoneTape])
    q, _ = tall.qr()
    assert_type(q, Tensor[Shape[L[5], L[3]], NoneTape])


def accept_float64() -> None:
    wide64 = tg.normal((3, 5), dtype=np.float64, rng=0)
    assert_type(wide64.svd()[1], Tensor[Shape[L[3]], NoneTape, np.float64])


def accept_the_product_of_factors_of_named_sizes() -> None:
    def rebuilt(a: Tensor[Shape[M, N]], b: Tensor[Shape[N, N]]) -> None:
        q, r = tg.qr(a)
        assert_type(q @ r, Tensor[Shape[M, N], NoneTape])
        values, _ = tg.eigh(b)
        assert_type(values, Tensor[Shape[N], NoneTape])
        assert_type(tg.cholesky(b), Tensor[Shape[N, N], NoneTape])

    rebuilt(tall, x)


def accept_unknown_sizes() -> None:
    def rebuilt(a: Tensor[Shape[Any, L[3]]]) -> None:
        q, r = tg.qr(a)
        assert_type(r @ tg.ones((3, 2)) if q.size else None, Tensor[Shape[Any, L[2]], NoneTape] | None)

    rebuilt(tall)


def reject_a_matrix_that_is_not_square() -> None:
    tg.eigh(tall)  # E: eigh: x (5, 3) has 5 rows and 3 columns, which is not square [tapegrad-shape]


def reject_cholesky_of_a_matrix_that_is_not_square() -> None:
    tg.cholesky(tall)  # E: cholesky: x (5, 3) has 5 rows and 3 columns, which is not square [tapegrad-shape]


def reject_a_vector() -> None:
    tg.qr(tg.ones((3,)))  # E: qr: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]


def reject_the_other_columns() -> None:
    tg.svd(tall, full_matrices=True)  # E: svd: full_matrices is True, but only the K columns and rows of full_matrices=False have a gradient [tapegrad-shape]


def reject_factors_in_the_wrong_order() -> None:
    q, r = tg.qr(tall)
    r @ q  # E: matmul: inner sizes differ: x (3, 3) has 3 columns but y (5, 3) has 5 rows [tapegrad-shape]


def reject_ints() -> None:
    tg.svd(tg.ones((3, 3), np.int64))  # E: svd: x is int64 but floating is expected [tapegrad-dtype]


def reject_a_matrix_that_is_not_positive_definite() -> None:
    tg.cholesky(-x)  # E(Python): cholesky: x (3, 3) is not positive definite: its smallest eigenvalue is -1
