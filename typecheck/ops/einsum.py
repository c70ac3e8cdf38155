"""einsum and tensordot: literal, named and unknown sizes; every pair of tapes."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
K = TypeVar("K", bound=int)

x = tg.ones((2, 3))
y = tg.ones((3, 5))
square = tg.ones((3, 3))
stack = tg.ones((7, 1, 2, 3))


# einsum


def accept_explicit_subscripts() -> None:
    assert_type(tg.einsum("ij,jk->ik", x, y), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(tg.einsum("ij->ji", x), Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(tg.einsum("ij->", x), Tensor[tuple[()], NoneTape])
    assert_type(tg.einsum("ij,jk,ik->k", x, y, tg.ones((2, 5))), Tensor[Shape[L[5]], NoneTape])


def accept_implicit_subscripts() -> None:
    assert_type(tg.einsum("ij,jk", x, y), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(tg.einsum("ba", x), Tensor[Shape[L[3], L[2]], NoneTape])


def accept_diagonals() -> None:
    assert_type(tg.einsum("ii", square), Tensor[tuple[()], NoneTape])
    assert_type(tg.einsum("ii->i", square), Tensor[Shape[L[3]], NoneTape])


def accept_dots() -> None:
    assert_type(tg.einsum("...ij,jk->...ik", stack, y), Tensor[Shape[L[7], L[1], L[2], L[5]], NoneTape])
    assert_type(tg.einsum("...ij,...jk", stack, tg.ones((4, 3, 5))), Tensor[Shape[L[7], L[4], L[2], L[5]], NoneTape])


def accept_named_sizes() -> None:
    def multiplied(a: Tensor[Shape[N, K]], b: Tensor[Shape[K, M]]) -> Tensor[Shape[M, N]]:
        assert_type(tg.einsum("nk,km->mn", a, b), Tensor[Shape[M, N], NoneTape])
        return tg.einsum("nk,km->mn", a, b)

    assert_type(multiplied(x, y), Tensor[Shape[L[5], L[2]], NoneTape])


def accept_unknown_sizes_and_ranks() -> None:
    def multiplied(a: Tensor[Shape[Any, L[3]]], b: Tensor[Any, NoneTape], words: str) -> None:
        assert_type(tg.einsum("ij,jk->ik", a, y), Tensor[Shape[Any, L[5]], NoneTape])
        assert_type(tg.einsum("ij,jk->ijk", b, y), Tensor[Shape[Any, L[3], L[5]], NoneTape])
        assert_type(tg.einsum(words, x, y), Tensor[Any, NoneTape])

    multiplied(x, x, "ij,jk->ik")


def accept_operands_behind_a_star() -> None:
    operands = (x, y)

    assert_type(tg.einsum("ij,jk->ik", *operands), Tensor[Shape[L[2], L[5]], NoneTape])


def accept_tapes_of_any_operand() -> None:
    assert_type(tg.einsum("ij,jk->ik", x.trace(), y), Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(tg.einsum("ij,jk->ik", x, y.trace()), Tensor[Shape[L[2], L[5]], OwnedTape])


def reject_a_letter_of_two_sizes() -> None:
    tg.einsum("ij,jk->ik", x, tg.ones((4, 5)))  # E: einsum: j is 3 in operands[0] (2, 3) but 4 in operands[1] (4, 5) [tapegrad-shape]


def reject_a_diagonal_that_is_none() -> None:
    tg.einsum("ii->i", x)  # E: einsum: i is both 2 and 3 in operands[0] (2, 3) [tapegrad-shape]


def reject_another_rank() -> None:
    tg.einsum("ijk->i", x)  # E: einsum: operands[0] (2, 3) has rank 2 but 'ijk' names 3 axes [tapegrad-shape]


def reject_another_number_of_operands() -> None:
    tg.einsum("ij,jk->ik", x)  # E: einsum: subscripts 'ij,jk->ik' are for 2 operands, not 1 [tapegrad-shape]


def reject_no_operands() -> None:
    tg.einsum("ij->i")  # E: einsum: subscripts 'ij->i' are for 1 operands, not 0 [tapegrad-shape]


def reject_a_result_from_nowhere() -> None:
    tg.einsum("ij->ik", x)  # E: einsum: the result 'ik' has k, which no operand has [tapegrad-shape]


def reject_letters_of_two_names() -> None:
    def multiplied(a: Tensor[Shape[N, K]], b: Tensor[Shape[M, N]]) -> None:
        tg.einsum("ij,jk", a, b)  # E(mypy): einsum: j is K in operands[0] (N, K) but M in operands[1] (M, N) [tapegrad-shape]

    multiplied(x, tg.ones((3, 2)))


def reject_operands_of_two_dtypes() -> None:
    tg.einsum("ij,jk", x, y.astype(np.float64))  # E: einsum: operands[0] is float32 but operands[1] is float64 [tapegrad-dtype]


# tensordot


def accept_axes_by_count() -> None:
    assert_type(tg.tensordot(x, y, 1), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(tg.tensordot(x, x), Tensor[tuple[()], NoneTape])
    assert_type(tg.tensordot(x, y, 0), Tensor[Shape[L[2], L[3], L[3], L[5]], NoneTape])


def accept_axes_by_number() -> None:
    assert_type(tg.tensordot(x.trace(), y, (1, 0)), Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(tg.tensordot(x, y.trace(), ((-1,), (0,))), Tensor[Shape[L[2], L[5]], OwnedTape])


def accept_axes_of_named_and_unknown_sizes() -> None:
    def multiplied(a: Tensor[Shape[N, K]], b: Tensor[Shape[K, Any]], axes: int) -> None:
        assert_type(tg.tensordot(a, b, 1), Tensor[Shape[N, Any], NoneTape])
        assert_type(tg.tensordot(a, b, axes), Tensor[Any, NoneTape])
        assert_type(tg.tensordot(a, b, (axes, 0)), Tensor[Any, NoneTape])

    multiplied(x, y, 1)


def reject_axes_of_two_sizes() -> None:
    tg.tensordot(x, x, 1)  # E: tensordot: axis 1 of x (2, 3) is 3 but axis 0 of y (2, 3) is 2 [tapegrad-shape]


def reject_more_axes_than_there_are() -> None:
    tg.tensordot(x, y, 3)  # E: tensordot: axes is 3 but x (2, 3) has rank 2 [tapegrad-shape]


def reject_factors_of_two_dtypes() -> None:
    tg.tensordot(x, y.astype(np.float64), 1)  # E: tensordot: x is float32 but y is float64 [tapegrad-dtype]
