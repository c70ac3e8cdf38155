"""reshape, transpose and broadcast_to: new shapes and axis orders; sizes that are expressions survive."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, Mul, NoneTape, OwnedTape, Shape, Sub, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
S = TypeVar("S", bound=tuple[Any, ...])

x = tg.ones((2, 3))
stack = tg.ones((2, 3, 5))
whole = tg.tensor([[1, 2, 3], [4, 5, 6]])


# reshape


def accept_another_shape() -> None:
    assert_type(x.reshape((3, 2)), Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(tg.reshape(stack.trace(), (6, 5)), Tensor[Shape[L[6], L[5]], OwnedTape])
    assert_type(x.reshape((1, 6, 1)), Tensor[Shape[L[1], L[6], L[1]], NoneTape])
    assert_type(whole.reshape((6,)), Tensor[Shape[L[6]], NoneTape, np.int64])


def accept_a_size_left_open() -> None:
    assert_type(x.reshape((-1,)), Tensor[Shape[L[6]], NoneTape])
    assert_type(stack.reshape((2, -1)), Tensor[Shape[L[2], L[15]], NoneTape])
    assert_type(tg.reshape(stack, (-1, 3, 2)), Tensor[Shape[L[5], L[3], L[2]], NoneTape])
    assert_type(tg.ones((0, 3)).reshape((-1, 3)), Tensor[Shape[L[0], L[3]], NoneTape])


def accept_scalars() -> None:
    assert_type(tg.ones((1, 1)).reshape(()), Tensor[tuple[()], NoneTape])
    assert_type(tg.ones(()).reshape((1, -1)), Tensor[Shape[L[1], L[1]], NoneTape])


def accept_expressions_of_named_sizes() -> None:
    def flat(a: Tensor[Shape[N, L[3]]]) -> Tensor[Shape[Mul[N, L[3]]]]:
        assert_type(a.reshape((3, -1)), Tensor[Shape[L[3], N], NoneTape])
        assert_type(a.reshape((1, -1)), Tensor[Shape[L[1], Mul[L[3], N]], NoneTape])
        return a.reshape((-1,))

    assert_type(flat(x), Tensor[Shape[L[6]], NoneTape])


def accept_two_names() -> None:
    def flat(a: Tensor[Shape[N, M, L[2]], OwnedTape]) -> Tensor[Shape[N, Mul[M, L[2]]], OwnedTape]:
        n, m, _ = a.shape
        assert_type(a.reshape((m, n, 2)), Tensor[Shape[M, N, L[2]], OwnedTape])
        assert_type(a.reshape((-1,)), Tensor[Shape[Mul[Mul[N, M], L[2]]], OwnedTape])
        return a.reshape((n, -1))

    assert_type(flat(tg.ones((3, 5, 2)).trace()), Tensor[Shape[L[3], L[10]], OwnedTape])


def accept_expressions_that_meet_again() -> None:
    def back(a: Tensor[Shape[Add[N, L[1]], M]]) -> Tensor[Shape[Mul[M, Add[N, L[1]]]]]:
        assert_type(a.reshape((-1,)), Tensor[Shape[Add[Mul[M, N], M]], NoneTape])
        return a.reshape((-1,))

    back(x)


def accept_a_size_of_several_terms_that_divides() -> None:
    def reshaped(a: Tensor[Shape[Sub[Mul[L[2], N], L[1]], M], NoneTape]) -> None:
        n = a.shape[0]
        assert_type(a.reshape((1, n, -1)), Tensor[Shape[L[1], Sub[Mul[L[2], N], L[1]], M], NoneTape])
        assert_type(a.reshape((-1,)).reshape((n, -1)), Tensor[Shape[Sub[Mul[L[2], N], L[1]], M], NoneTape])

    reshaped(tg.ones((5, 2)))


def accept_unknown_sizes() -> None:
    def reshaped(a: Tensor[Shape[Any, L[3]]], b: Tensor[Any, OwnedTape], n: int, shape: tuple[int, ...]) -> None:
        n = abs(n)  # assigned again, so that it is unknown
        assert_type(a.reshape((-1,)), Tensor[Shape[Any], NoneTape])
        assert_type(a.reshape((3, 2)), Tensor[Shape[L[3], L[2]], NoneTape])
        assert_type(b.reshape((2, 3)), Tensor[Shape[L[2], L[3]], OwnedTape])
        assert_type(x.reshape((n, 3)), Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(x.reshape((-1, n)), Tensor[Shape[Any, Any], NoneTape])
        assert_type(x.reshape(shape), Tensor[Any, NoneTape])

    reshaped(x, x.trace(), 2, (3, 2))


# transpose


def accept_all_axes_in_reverse() -> None:
    assert_type(x.T, Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(stack.trace().T, Tensor[Shape[L[5], L[3], L[2]], OwnedTape])
    assert_type(x.transpose(), Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(tg.transpose(stack), Tensor[Shape[L[5], L[3], L[2]], NoneTape])
    assert_type(tg.ones((3,)).T, Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.ones(()).T, Tensor[tuple[()], NoneTape])
    assert_type(whole.T, Tensor[Shape[L[3], L[2]], NoneTape, np.int64])


def accept_an_order_of_axes() -> None:
    assert_type(stack.transpose((2, 0, 1)), Tensor[Shape[L[5], L[2], L[3]], NoneTape])
    assert_type(tg.transpose(stack.trace(), (0, -1, 1)), Tensor[Shape[L[2], L[5], L[3]], OwnedTape])
    assert_type(tg.transpose(stack, axes=(-1, -2, -3)), Tensor[Shape[L[5], L[3], L[2]], NoneTape])


def accept_sizes_and_axes_one_by_one() -> None:
    def flat(a: Tensor[Shape[N, L[4], L[6]]], n: int, known: Any) -> None:
        n = abs(n)  # assigned again, so that it is unknown
        rows, columns, _ = a.shape
        assert_type(a.reshape(rows * columns, -1), Tensor[Shape[Mul[L[4], N], L[6]], NoneTape])
        assert_type(a.reshape(*a.shape[:2], 2, 3), Tensor[Shape[N, L[4], L[2], L[3]], NoneTape])
        assert_type(a.reshape(n, -1), Tensor[Shape[Any, Any], NoneTape])
        assert_type(a.reshape(known), Tensor[Any, NoneTape])
        assert_type(a.reshape(*known), Tensor[Any, NoneTape])

    flat(tg.ones((5, 4, 6)), 4, (120,))
    assert_type(x.reshape(-1), Tensor[Shape[L[6]], NoneTape])
    assert_type(x.trace().reshape(np.int64(3), 2), Tensor[Shape[L[3], L[2]], OwnedTape])
    assert_type(stack.transpose(2, 0, 1), Tensor[Shape[L[5], L[2], L[3]], NoneTape])
    assert_type(stack.transpose(None), Tensor[Shape[L[5], L[3], L[2]], NoneTape])


def accept_named_sizes_in_another_order() -> None:
    def turned(a: Tensor[Shape[N, M]], b: Tensor[Shape[Any, L[5], M]]) -> Tensor[Shape[M, N]]:
        assert_type(a.transpose((1, 0)), Tensor[Shape[M, N], NoneTape])
        assert_type(b.T, Tensor[Shape[M, L[5], Any], NoneTape])
        return a.T

    assert_type(turned(x, tg.ones((2, 5, 3))), Tensor[Shape[L[3], L[2]], NoneTape])


def accept_an_order_that_only_the_run_time_knows() -> None:
    def turned(a: Tensor, b: Tensor[Any, OwnedTape], axes: tuple[int, ...]) -> None:
        assert_type(x.transpose(axes), Tensor[Any, NoneTape])
        assert_type(a.T, Tensor[Any, Any, Any])
        assert_type(b.T, Tensor[Any, OwnedTape])
        assert_type(b.transpose((1, 0)), Tensor[Any, OwnedTape])

    turned(x, x.trace(), (1, 0))


def accept_lists_of_sizes() -> None:
    def reshaped(a: Tensor[Shape[N, L[4]]], sizes: list[int]) -> None:
        assert_type(a.reshape([len(a), 2, 2]), Tensor[Shape[N, L[2], L[2]], NoneTape])
        assert_type(tg.reshape(a, [2, -1]), Tensor[Shape[L[2], Mul[L[2], N]], NoneTape])
        assert_type(a.reshape(sizes), Tensor[Any, NoneTape])

    shape = [6, -1]
    assert_type(tg.reshape(x, shape), Tensor[Shape[L[6], L[1]], NoneTape])
    assert_type(tg.broadcast_to(x, [5, 2, -1]), Tensor[Shape[L[5], L[2], L[3]], NoneTape])
    assert_type(x.broadcast_to([5, 2, 3]), Tensor[Shape[L[5], L[2], L[3]], NoneTape])
    reshaped(tg.ones((2, 4)), [8])


def reject_a_list_of_other_sizes() -> None:
    x.reshape([3, 3])  # E: reshape: x (2, 3) has 6 elements but shape (3, 3) has 9 [tapegrad-shape]


# broadcast_to


def accept_more_of_the_same() -> None:
    assert_type(tg.broadcast_to(x, (7, 2, 3)), Tensor[Shape[L[7], L[2], L[3]], NoneTape])
    assert_type(tg.broadcast_to(tg.ones((2, 1)).trace(), (2, 3)), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.broadcast_to(tg.ones(()), (3,)), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.broadcast_to(tg.ones((1,)), (0,)), Tensor[Shape[L[0]], NoneTape])


def accept_more_of_named_sizes() -> None:
    def repeated(a: Tensor[Shape[N]], b: Tensor[Shape[M, L[1]]], c: Tensor[Shape[Any]]) -> Tensor[Shape[M, N]]:
        (n,) = a.shape
        m, _ = b.shape
        assert_type(tg.broadcast_to(a, (5, n)), Tensor[Shape[L[5], N], NoneTape])
        assert_type(tg.broadcast_to(c, (m, 3)), Tensor[Shape[M, L[3]], NoneTape])
        return tg.broadcast_to(b, (m, n))

    assert_type(repeated(tg.ones((3,)), tg.ones((2, 1)), tg.ones((1,))), Tensor[Shape[L[2], L[3]], NoneTape])


# Rejected


def reject_another_number_of_elements() -> None:
    x.reshape((7,))  # E: reshape: x (2, 3) has 6 elements but shape (7,) has 7 [tapegrad-shape]


def reject_another_number_of_elements_one_by_one() -> None:
    x.reshape(4, 2)  # E: reshape: x (2, 3) has 6 elements but shape (4, 2) has 8 [tapegrad-shape]


def reject_axes_one_by_one() -> None:
    stack.transpose(1, 0)  # E: transpose: x (2, 3, 5) has rank 3 but axes (1, 0) names 2 [tapegrad-shape]


def reject_a_scalar_of_six() -> None:
    tg.reshape(x.trace(), ())  # E: reshape: x (2, 3) has 6 elements but shape () has 1 [tapegrad-shape]


def reject_a_size_that_does_not_come_out_even() -> None:
    x.reshape((4, -1))  # E: reshape: x (2, 3) has 6 elements, which do not divide into shape (4, -1) [tapegrad-shape]


def reject_two_open_sizes() -> None:
    x.reshape((-1, -1))  # E: reshape: shape (-1, -1) leaves 2 sizes open, not one [tapegrad-shape]


def reject_a_negative_size() -> None:
    x.reshape((-2, -3))  # E: reshape: shape (-2, -3) has the negative size -2 [tapegrad-shape]


def reject_an_open_size_beside_nothing() -> None:
    tg.ones((0, 3)).reshape((0, -1))  # E: reshape: shape (0, -1) leaves a size open beside a size of 0 [tapegrad-shape]


def reject_a_name_that_does_not_divide() -> None:
    def reshaped(a: Tensor[Shape[N, M]]) -> None:
        a.reshape((-1, 2))  # E(mypy): reshape: x (N, M) has M*N elements, and it is not known that they divide into shape (-1, 2): add tg.assert_divides(2, a.shape[0]*a.shape[1]) [tapegrad-shape]

    reshaped(x)


def reject_a_number_for_a_name() -> None:
    def reshaped(a: Tensor[Shape[N, L[3]]]) -> None:
        a.reshape((2, 3))  # E(mypy): reshape: x (N, 3) has 3*N elements but shape (2, 3) has 6 [tapegrad-shape]

    reshaped(x)


def reject_too_few_axes() -> None:
    stack.transpose((1, 0))  # E: transpose: x (2, 3, 5) has rank 3 but axes (1, 0) names 2 [tapegrad-shape]


def reject_an_axis_twice() -> None:
    tg.transpose(stack, (2, 0, -1))  # E: transpose: axis (2, 0, -1) names an axis of x (2, 3, 5) twice [tapegrad-shape]


def reject_an_axis_that_is_not_there() -> None:
    stack.trace().transpose((0, 1, 3))  # E: transpose: axis 3 is out of range for x (2, 3, 5) [tapegrad-shape]


def reject_an_order_of_named_sizes() -> None:
    def turned(a: Tensor[Shape[N, M]]) -> None:
        a.transpose((1,))  # E(mypy): transpose: x (N, M) has rank 2 but axes (1,) names 1 [tapegrad-shape]

    turned(x)


def reject_a_transpose_that_is_taken_for_the_matrix() -> None:
    x @ x.T.T  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 3) has 2 rows [tapegrad-shape]


def reject_another_size_to_broadcast_to() -> None:
    tg.broadcast_to(x, (2, 4))  # E: broadcast_to: x (2, 3) does not broadcast to (2, 4) [tapegrad-shape]


def reject_fewer_axes_to_broadcast_to() -> None:
    tg.broadcast_to(x.trace(), (3,))  # E: broadcast_to: x (2, 3) does not broadcast to (3,) [tapegrad-shape]


def accept_minus_one_for_the_size_of_an_axis() -> None:
    def rows(a: Tensor[Shape[N, L[1]]]) -> None:
        assert_type(tg.broadcast_to(a, (-1, 4)), Tensor[Shape[N, L[4]], NoneTape])
        assert_type(a.broadcast_to(2, -1, 4), Tensor[Shape[L[2], N, L[4]], NoneTape])

    rows(tg.ones((3, 1)))


def reject_minus_one_for_a_new_axis() -> None:
    tg.broadcast_to(tg.ones((3,)), (-1, 3))  # E: broadcast_to: shape (-1, 3) has -1 for an axis that x (3,) does not have [tapegrad-shape]


def reject_a_negative_size_to_broadcast_to() -> None:
    tg.broadcast_to(tg.ones((1, 3)), (-2, 3))  # E: broadcast_to: shape (-2, 3) has a negative size [tapegrad-shape]


def reject_a_number_for_a_name_to_broadcast_to() -> None:
    def repeated(a: Tensor[Shape[N]]) -> None:
        tg.broadcast_to(a, (2, 3))  # E(mypy): broadcast_to: x (N,) does not broadcast to (2, 3) [tapegrad-shape]

    repeated(tg.ones((3,)))


def reject_a_shape_that_is_no_tuple() -> None:
    tg.reshape(tg.ones((2, 3)), "6")  # E: reshape: shape is '6' but a tuple of ints is expected [arg-type]


def reject_a_bool_in_a_list_of_sizes() -> None:
    x.reshape([2, True])  # E: reshape: shape is [2, True] but a tuple of ints is expected [tapegrad-dtype]
