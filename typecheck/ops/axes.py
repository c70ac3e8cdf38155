"""Ops on axes: literal, named and unknown sizes, as functions and methods."""

from typing import Any, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)

x = tg.ones((2, 3, 5))


def accept_flatten() -> None:
    assert_type(tg.flatten(x, 1), Tensor[Shape[L[2], L[15]], NoneTape])
    assert_type(x.trace().flatten(), Tensor[Shape[L[30]], OwnedTape])


def accept_flatten_of_a_named_batch() -> None:
    def flat(a: Tensor[Shape[N, L[3], L[5]]]) -> None:
        assert_type(a.flatten(1), Tensor[Shape[N, L[15]], NoneTape])
        assert_type(a.flatten(), Tensor[Shape[Mul[L[15], N]], NoneTape])

    flat(x)


def accept_unknown_axes() -> None:
    def widened(axis: int) -> None:
        assert_type(tg.expand_dims(x, (0, axis)), Tensor[Any, NoneTape])
        assert_type(tg.expand_dims(x, axis), Tensor[Any, NoneTape])

    widened(-1)


def accept_unflatten() -> None:
    assert_type(tg.unflatten(tg.ones((2, 12)), 1, (3, -1)), Tensor[Shape[L[2], L[3], L[4]], NoneTape])
    assert_type(tg.unflatten(x.trace(), 0, (1, 2)), Tensor[Shape[L[1], L[2], L[3], L[5]], OwnedTape])


def accept_unflatten_of_a_named_axis() -> None:
    def heads(a: Tensor[Shape[N, L[12]]]) -> None:
        assert_type(tg.unflatten(a, 1, (3, 4)), Tensor[Shape[N, L[3], L[4]], NoneTape])
        assert_type(tg.unflatten(a, 0, (1, -1)), Tensor[Shape[L[1], N, L[12]], NoneTape])

    heads(tg.ones((2, 12)))


def accept_moved_axes() -> None:
    assert_type(tg.moveaxis(x, 0, -1), Tensor[Shape[L[3], L[5], L[2]], NoneTape])
    assert_type(tg.moveaxis(x.trace(), (2, 0), (0, 1)), Tensor[Shape[L[5], L[2], L[3]], OwnedTape])


def accept_matrices_transposed() -> None:
    def transposed(a: Tensor[Shape[L[2], N, L[3]]]) -> None:
        assert_type(a.mT, Tensor[Shape[L[2], L[3], N], NoneTape])

    assert_type(x.trace().mT, Tensor[Shape[L[2], L[5], L[3]], OwnedTape])
    assert_type(tg.matrix_transpose(x), Tensor[Shape[L[2], L[5], L[3]], NoneTape])
    transposed(tg.ones((2, 5, 3)))


def accept_axes_of_one() -> None:
    assert_type(tg.expand_dims(x, (0, -1)), Tensor[Shape[L[1], L[2], L[3], L[5], L[1]], NoneTape])
    assert_type(tg.ones((1, 3, 1)).squeeze(), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.squeeze(tg.ones((1, 3, 1)), 0), Tensor[Shape[L[3], L[1]], NoneTape])


def accept_other_orders() -> None:
    assert_type(tg.permute(x, (2, 0, 1)), Tensor[Shape[L[5], L[2], L[3]], NoneTape])
    assert_type(x.swapaxes(0, -1), Tensor[Shape[L[5], L[3], L[2]], NoneTape])


def reject_flatten() -> None:
    x.flatten(3)  # E: flatten: axis 3 is out of range for x (2, 3, 5) [tapegrad-shape]


def reject_expand_dims() -> None:
    tg.expand_dims(x, 4)  # E: expand_dims: axis 4 is out of range for a result of rank 4, x (2, 3, 5) with 1 more [tapegrad-shape]


def reject_squeeze() -> None:
    x.squeeze(1)  # E: squeeze: axis 1 of x (2, 3, 5) is 3, not 1 [tapegrad-shape]


def reject_permute() -> None:
    tg.permute(x, (0, 1))  # E: permute: x (2, 3, 5) has rank 3 but axes (0, 1) names 2 [tapegrad-shape]


def reject_swapaxes() -> None:
    x.swapaxes(0, 3)  # E: swapaxes: axis 3 is out of range for x (2, 3, 5) [tapegrad-shape]


def reject_unflatten() -> None:
    tg.unflatten(x, 2, (2, 2))  # E: unflatten: axis 2 of x (2, 3, 5) is 5, which is not the product of sizes (2, 2) [tapegrad-shape]


def reject_moveaxis() -> None:
    tg.moveaxis(x, (0, 1), 2)  # E: moveaxis: source (0, 1) names 2 axes but destination 2 names 1 [tapegrad-shape]


def reject_matrix_transpose() -> None:
    tg.matrix_transpose(tg.ones((3,)))  # E: matrix_transpose: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]


def reject_matrices_where_there_are_none() -> None:
    tg.ones((3,)).mT  # E: matrix_transpose: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]
