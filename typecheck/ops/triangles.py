"""Triangles and diagonals: literal, named and unknown sizes."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)

x = tg.ones((4, 3))


def accept_tri() -> None:
    assert_type(tg.tri(4, 3, k=-1), Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(tg.tri(4, dtype=np.bool_), Tensor[Shape[L[4], L[4]], NoneTape, np.bool_])


def accept_triangles() -> None:
    assert_type(tg.tril(x.trace()), Tensor[Shape[L[4], L[3]], OwnedTape])
    assert_type(tg.triu(x > 0, k=1), Tensor[Shape[L[4], L[3]], NoneTape, np.bool_])


def accept_diag() -> None:
    assert_type(tg.diag(x.trace()), Tensor[Shape[L[3]], OwnedTape])
    assert_type(tg.diag(x, k=-2), Tensor[Shape[L[2]], NoneTape])
    assert_type(tg.diag(x, k=5), Tensor[Shape[L[0]], NoneTape])
    assert_type(tg.diag(tg.ones((3,)), k=1), Tensor[Shape[L[4], L[4]], NoneTape])


def accept_diagonals_of_stacks() -> None:
    stack = tg.ones((4, 3, 5))
    assert_type(tg.diagonal(stack.trace()), Tensor[Shape[L[5], L[3]], OwnedTape])
    assert_type(stack.diagonal(1, 1, 2), Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(tg.diagonal(stack, offset=-3, axis2=-1), Tensor[Shape[L[3], L[1]], NoneTape])


def accept_named_and_unknown_sizes() -> None:
    def cut(a: Tensor[Shape[N, N]], b: Tensor[Shape[N]], c: Tensor[Shape[N, Any]], k: int) -> None:
        assert_type(tg.diag(a), Tensor[Shape[N], NoneTape])
        assert_type(tg.diag(b, k=1), Tensor[Shape[Add[N, L[1]], Add[N, L[1]]], NoneTape])
        assert_type(tg.diag(c), Tensor[Shape[Any], NoneTape])
        assert_type(tg.diagonal(a), Tensor[Shape[N], NoneTape])
        assert_type(tg.diagonal(c), Tensor[Shape[Any], NoneTape])
        assert_type(tg.tril(a, k=k), Tensor[Shape[N, N], NoneTape])

    cut(tg.ones((3, 3)), tg.ones((3,)), tg.ones((3, 4)), 1)


def reject_tri() -> None:
    tg.tri(4, -3)  # E: tri: shape (4, -3) has the negative size -3 [tapegrad-shape]


def reject_tril() -> None:
    tg.tril(tg.ones((3,)))  # E: tril: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]


def reject_triu() -> None:
    tg.triu(tg.ones(()))  # E: triu: x () has rank 0 but needs at least 2 [tapegrad-shape]


def reject_diag() -> None:
    tg.diag(tg.ones((2, 3, 4)))  # E: diag: x (2, 3, 4) has rank 3 but a vector or a matrix is expected [tapegrad-shape]


def reject_diagonal() -> None:
    tg.diagonal(tg.ones((3,)))  # E: diagonal: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]


def reject_a_diagonal_of_one_axis() -> None:
    tg.diagonal(x, 0, 1, -1)  # E: diagonal: axis1 and axis2 are both axis 1 of x (4, 3) [tapegrad-shape]


def reject_a_bool_as_a_diagonal() -> None:
    tg.triu(x, k=True)  # E: triu: k is True but an int is expected [tapegrad-dtype]


def reject_a_bool_as_an_offset() -> None:
    tg.diagonal(x, offset=True)  # E: diagonal: offset is True but an int is expected [tapegrad-dtype]


def reject_a_bool_as_the_diagonal_of_ones() -> None:
    tg.tri(3, k=False)  # E: tri: k is False but an int is expected [tapegrad-dtype]
