"""Inverses, pseudoinverses, linear systems and determinants: square matrices and their stacks."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.eye(3)
y = tg.ones((3, 5))
stack = tg.eye(3) + tg.zeros((7, 3, 3))


def accept_square_matrices() -> None:
    assert_type(tg.inv(x), Tensor[Shape[L[3], L[3]], NoneTape])
    assert_type(tg.inv(stack.trace()), Tensor[Shape[L[7], L[3], L[3]], OwnedTape])
    assert_type(tg.det(x.trace()), Tensor[tuple[()], OwnedTape])
    assert_type(tg.det(stack), Tensor[Shape[L[7]], NoneTape])


def accept_a_determinant_by_sign_and_logarithm() -> None:
    sign, logarithm = tg.slogdet(stack.trace())
    assert_type(sign, Tensor[Shape[L[7]], NoneTape])
    assert_type(logarithm, Tensor[Shape[L[7]], OwnedTape])


def accept_pseudoinverses() -> None:
    assert_type(tg.pinv(y.trace()), Tensor[Shape[L[5], L[3]], OwnedTape])
    assert_type(tg.pinv(y, rtol=0.01) @ y, Tensor[Shape[L[5], L[5]], NoneTape])


def accept_systems() -> None:
    assert_type(tg.solve(x, y), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(tg.solve(stack, y.trace()), Tensor[Shape[L[7], L[3], L[5]], OwnedTape])
    assert_type(tg.solve(x, tg.ones((3,)).trace()), Tensor[Shape[L[3]], OwnedTape])
    assert_type(tg.solve(stack, tg.ones((3,))), Tensor[Shape[L[7], L[3]], NoneTape])


def accept_named_and_unknown_sizes() -> None:
    def solved(a: Tensor[Shape[N, N]], b: Tensor[Shape[N, M]], c: Tensor[Shape[Any, L[3]]]) -> None:
        assert_type(tg.solve(a, b), Tensor[Shape[N, M], NoneTape])
        assert_type(tg.solve(a, b.sum(1)), Tensor[Shape[N], NoneTape])
        assert_type(tg.det(a), Tensor[tuple[()], NoneTape])
        assert_type(tg.inv(c), Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(tg.slogdet(a)[1], Tensor[tuple[()], NoneTape])
        assert_type(tg.pinv(b), Tensor[Shape[M, N], NoneTape])
        assert_type(tg.pinv(c), Tensor[Shape[L[3], Any], NoneTape])

    solved(x, y, x)


def reject_a_matrix_that_is_not_square() -> None:
    tg.inv(y)  # E: inv: x (3, 5) has 3 rows and 5 columns, which is not square [tapegrad-shape]


def reject_the_determinant_of_a_vector() -> None:
    tg.det(tg.ones((3,)))  # E: det: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]


def accept_least_squares() -> None:
    tall = tg.ones((7, 3))
    assert_type(tg.lstsq(tall, tg.ones((7, 2)).trace()), Tensor[Shape[L[3], L[2]], OwnedTape])
    assert_type(tg.lstsq(tall, tg.ones((7,)), rtol=1e-3), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.lstsq(tg.ones((5, 7, 3)), tg.ones((7, 2))), Tensor[Shape[L[5], L[3], L[2]], NoneTape])

    def fitted(a: Tensor[Shape[N, M]], b: Tensor[Shape[N]]) -> Tensor[Shape[M]]:
        return tg.lstsq(a, b)

    assert_type(fitted(tall, tg.ones((7,))), Tensor[Shape[L[3]], NoneTape])


def reject_least_squares_of_other_rows() -> None:
    tg.lstsq(tg.ones((7, 3)), tg.ones((3, 2)))  # E: lstsq: x (7, 3) has 7 rows but y (3, 2) has 3 [tapegrad-shape]


def reject_a_right_side_of_other_rows() -> None:
    tg.solve(x, tg.ones((5, 3)))  # E: solve: x (3, 3) has 3 rows but y (5, 3) has 5 [tapegrad-shape]


def reject_a_vector_of_another_size() -> None:
    tg.solve(x, tg.ones((5,)))  # E: solve: x (3, 3) has 3 rows but y (5,) has 5 [tapegrad-shape]


def reject_names_that_are_two_sizes() -> None:
    def inverted(a: Tensor[Shape[N, M]]) -> None:
        tg.inv(a)  # E(mypy): inv: x (N, M) has N rows and M columns, which is not square [tapegrad-shape]

    inverted(x)


def reject_the_logarithm_of_a_determinant_that_does_not_exist() -> None:
    tg.slogdet(y)  # E: slogdet: x (3, 5) has 3 rows and 5 columns, which is not square [tapegrad-shape]


def reject_the_pseudoinverse_of_a_vector() -> None:
    tg.pinv(tg.ones((3,)))  # E: pinv: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]


def reject_a_product_with_a_pseudoinverse() -> None:
    tg.pinv(y) @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (5, 3) has 3 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_ints() -> None:
    tg.det(tg.ones((3, 3), np.int64))  # E: det: x is int64 but floating is expected [tapegrad-dtype]
