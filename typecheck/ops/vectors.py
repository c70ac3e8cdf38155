"""Products with stacks of vectors: literal, named and unknown sizes."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
K = TypeVar("K", bound=int)

x = tg.ones((2, 3))
v = tg.ones((3,))
stack = tg.ones((7, 1, 2, 3))
vectors = tg.ones((4, 3))
whole = tg.tensor([1, 2, 3])


def accept_vecdot() -> None:
    assert_type(tg.vecdot(x, v), Tensor[Shape[L[2]], NoneTape])
    assert_type(tg.vecdot(v, v.trace()), Tensor[tuple[()], OwnedTape])


def accept_matvec() -> None:
    assert_type(tg.matvec(x.trace(), v), Tensor[Shape[L[2]], OwnedTape])
    assert_type(tg.matvec(stack, vectors), Tensor[Shape[L[7], L[4], L[2]], NoneTape])


def accept_vecmat() -> None:
    assert_type(tg.vecmat(tg.ones((2,)), x.trace()), Tensor[Shape[L[3]], OwnedTape])
    assert_type(tg.vecmat(tg.ones((4, 2)), stack), Tensor[Shape[L[7], L[4], L[3]], NoneTape])


def accept_named_and_unknown_sizes() -> None:
    def multiplied(a: Tensor[Shape[N, M, K]], b: Tensor[Shape[N, K]], c: Tensor[Shape[Any, M]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.vecdot(b, b), Tensor[Shape[N], NoneTape])
        assert_type(tg.vecdot(c, c), Tensor[Shape[Any], NoneTape])
        assert_type(tg.vecmat(tg.matvec(a, b), a), Tensor[Shape[N, K], NoneTape])
        return tg.matvec(a, b)

    multiplied(tg.ones((2, 5, 7)), tg.ones((2, 7)), tg.ones((2, 5)))


def reject_vecdot_of_two_lengths() -> None:
    tg.vecdot(x, tg.ones((1,)))  # E: vecdot: inner sizes differ: x (2, 3) has 3 elements but y (1,) has 1 elements [tapegrad-shape]


def reject_vecdot_of_stacks() -> None:
    tg.vecdot(x, vectors)  # E: vecdot: x (2, 3) and y (4, 3) do not broadcast: axis -2 is 2 in x but 4 in y [tapegrad-shape]


def reject_vecdot_of_two_dtypes() -> None:
    tg.vecdot(v, whole)  # E: vecdot: x is float32 but y is int64 [tapegrad-dtype]


def reject_matvec_of_a_vector() -> None:
    tg.matvec(v, v)  # E: matvec: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]


def reject_matvec_of_stacks() -> None:
    tg.matvec(tg.ones((5, 2, 3)), vectors)  # E: matvec: x (5, 2, 3) has matrices (5,) but y (4, 3) has vectors (4,) [tapegrad-shape]


def reject_vecmat_of_columns() -> None:
    tg.vecmat(v, x)  # E: vecmat: inner sizes differ: x (3,) has 3 elements but y (2, 3) has 2 rows [tapegrad-shape]


def reject_vecmat_of_stacks() -> None:
    tg.vecmat(tg.ones((4, 2)), tg.ones((5, 2, 3)))  # E: vecmat: x (4, 2) has vectors (4,) but y (5, 2, 3) has matrices (5,) [tapegrad-shape]


def accept_cross_products() -> None:
    assert_type(tg.cross(x, v.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.cross(tg.ones((3, 1)), tg.ones((2, 3, 5)), 1), Tensor[Shape[L[2], L[3], L[5]], NoneTape])
    assert_type(whole.cross(whole), Tensor[Shape[L[3]], NoneTape, np.int64])


def accept_kronecker_products() -> None:
    assert_type(tg.kron(x, tg.ones((5, 1)).trace()), Tensor[Shape[L[10], L[3]], OwnedTape])
    assert_type(tg.kron(v, x), Tensor[Shape[L[2], L[9]], NoneTape])


def accept_cross_and_kronecker_products_of_named_and_unknown_sizes() -> None:
    def multiplied(a: Tensor[Shape[N, L[3]]], b: Tensor[Shape[Any, M]], c: Tensor[Shape[Any, L[3]]]) -> None:
        assert_type(tg.cross(a, a), Tensor[Shape[N, L[3]], NoneTape])
        assert_type(tg.cross(c, c), Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(tg.kron(a, a)[0], Tensor[Shape[L[9]], NoneTape])
        assert_type(tg.kron(b, a)[0], Tensor[Shape[Mul[M, L[3]]], NoneTape])

    multiplied(x, tg.ones((5, 7)), x)


def reject_cross_products_in_the_plane() -> None:
    tg.cross(x, tg.ones((2,)))  # E: cross: y (2,) has 2 elements along axis -1, but vectors of 3 are expected [tapegrad-shape]


def reject_cross_products_of_stacks() -> None:
    tg.cross(x, vectors)  # E: cross: x (2, 3) and y (4, 3) do not broadcast: axis -2 is 2 in x but 4 in y [tapegrad-shape]


def reject_kronecker_products_of_two_dtypes() -> None:
    tg.kron(v, whole)  # E: kron: x is float32 but y is int64 [tapegrad-dtype]
