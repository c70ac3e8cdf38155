"""Computed sizes in a parameter: one unknown is solved from the argument, by mypy and by the guard."""

from typing import Literal as L
from typing import assert_type

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, FloorDiv, Mul, NoneTape, Shape, Sub, Tape, Tensor, guarded

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
K = TypeVar("K", bound=int)
T = TypeVar("T", bound=Tape)


@guarded
def differences(x: Tensor[Shape[Add[N, L[1]]], T]) -> Tensor[Shape[N], T]:
    return x[1:] - x[:-1]


@guarded
def halves(x: Tensor[Shape[Mul[N, L[2]]], T]) -> Tensor[Shape[N], T]:
    n = x.shape[0] // 2
    return x[:n] + x[n:]


@guarded
def padded(x: Tensor[Shape[Sub[N, L[2]]], NoneTape]) -> Tensor[Shape[N], NoneTape]:
    return tg.concat((x[:1], x, x[-1:]))


@guarded
def nested(x: Tensor[Shape[M, Sub[Mul[L[3], Add[N, M]], L[1]]], NoneTape]) -> Tensor[Shape[M, N], NoneTape]:
    m, total = x.shape
    return x[:, : (total + 1) // 3 - m]


@guarded
def rows(x: Tensor[Shape[Mul[N, K]], NoneTape], k: K) -> Tensor[Shape[N, K], NoneTape]:
    return x.reshape((x.shape[0] // k, k))


@guarded
def chained(x: Tensor[Shape[Add[N, M]], NoneTape], y: Tensor[Shape[Add[M, L[1]]], NoneTape]) -> Tensor[Shape[N], NoneTape]:
    return x[: x.shape[0] - y.shape[0] + 1]


@guarded
def beside(x: Tensor[Shape[N], NoneTape], y: Tensor[Shape[Add[N, L[1]]], NoneTape]) -> Tensor[Shape[N], NoneTape]:
    return x + y[1:]


@guarded
def counted(n: Add[N, L[1]], x: Tensor[Shape[N, M], NoneTape]) -> Tensor[Shape[M], NoneTape]:
    return x.sum(axis=0)


@guarded
def framed(x: Tensor[Shape[FloorDiv[M, L[2]]], NoneTape], y: Tensor[Shape[FloorDiv[M, L[2]]], NoneTape]) -> Tensor[Shape[Add[FloorDiv[M, L[2]], L[2]]], NoneTape]:
    return tg.concat((x[:1], x + y, y[-1:]))


@guarded
def paired(x: Tensor[Shape[FloorDiv[N, L[2]]], NoneTape]) -> Tensor[Shape[FloorDiv[N, L[2]]], NoneTape]:
    return x


seven = tg.ones((7,))
eight = tg.ones((8,))


def accept_a_sum() -> None:
    assert_type(differences(seven), Tensor[Shape[L[6]], NoneTape])
    assert_type(differences(differences(seven.trace())), Tensor[Shape[L[5]], tg.OwnedTape])


def accept_a_product() -> None:
    assert_type(halves(eight), Tensor[Shape[L[4]], NoneTape])
    assert_type(halves(halves(eight)), Tensor[Shape[L[2]], NoneTape])


def accept_a_difference() -> None:
    assert_type(padded(seven), Tensor[Shape[L[9]], NoneTape])


def accept_arithmetic_in_arithmetic() -> None:
    assert_type(nested(tg.ones((2, 20))), Tensor[Shape[L[2], L[5]], NoneTape])


def accept_a_number_that_is_bound_later() -> None:
    assert_type(rows(eight, 4), Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(counted(4, tg.ones((3, 5))), Tensor[Shape[L[5]], NoneTape])


def accept_one_name_that_opens_the_next() -> None:
    assert_type(chained(seven, tg.ones((3,))), Tensor[Shape[L[5]], NoneTape])


def accept_names() -> None:
    def fewer(x: Tensor[Shape[M], NoneTape]) -> Tensor[Shape[Sub[M, L[1]]], NoneTape]:
        assert_type(differences(x), Tensor[Shape[Sub[M, L[1]]], NoneTape])
        return differences(x)

    def same(x: Tensor[Shape[Mul[L[6], M]], NoneTape]) -> Tensor[Shape[Mul[L[3], M]], NoneTape]:
        assert_type(halves(x), Tensor[Shape[Mul[M, L[3]]], NoneTape])
        return halves(x)

    def by_name(x: Tensor[Shape[Add[Mul[K, M], Mul[L[2], K]]], NoneTape], k: K) -> Tensor[Shape[Add[M, L[2]], K], NoneTape]:
        return rows(x, k)

    def again(x: Tensor[Shape[Add[N, L[1]]], NoneTape]) -> Tensor[Shape[N], NoneTape]:
        assert_type(differences(differences(x)), Tensor[Shape[Sub[N, L[1]]], NoneTape])
        return differences(x)

    assert_type(fewer(seven), Tensor[Shape[L[6]], NoneTape])
    assert_type(same(tg.ones((12,))), Tensor[Shape[L[6]], NoneTape])
    assert_type(by_name(tg.ones((12,)), 3), Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(again(seven), Tensor[Shape[L[6]], NoneTape])


def accept_a_function_that_calls_itself() -> None:
    def summed(x: Tensor[Shape[Add[N, L[1]]], NoneTape]) -> Tensor[Shape[N], NoneTape]:
        if x.shape[0] > 2:
            assert_type(summed(x), Tensor[Shape[N], NoneTape])
        return differences(x)

    assert_type(summed(tg.ones((2,))), Tensor[Shape[L[1]], NoneTape])


def accept_undecidable_sizes() -> None:
    def halved(x: Tensor[Shape[M], NoneTape]) -> Tensor[Shape[FloorDiv[M, L[2]]], NoneTape]:
        return halves(x)

    halved(eight)


def accept_a_floor_whose_name_stays_open() -> None:
    assert_type(paired(seven), Tensor[Shape[L[7]], NoneTape])
    assert_type(framed(seven, seven), Tensor[Shape[L[9]], NoneTape])


def reject_two_sizes_of_one_floor() -> None:
    framed(seven, eight)  # E(mypy): framed: y is (8,) but (M // 2,) is expected: axis 0 is 8, not M // 2 = 7 [tapegrad-shape]


def reject_a_rest() -> None:
    halves(seven)  # E: halves: x is (7,) but (2*N,) is expected: axis 0 is 7, not 2*N [tapegrad-shape]


def reject_a_rest_in_arithmetic() -> None:
    nested(tg.ones((2, 21)))  # E: nested: x is (2, 21) but (M, 3*M + 3*N - 1) is expected: axis 1 is 21, not 3*M + 3*N - 1 [tapegrad-shape]


def reject_a_rest_of_names() -> None:
    def odd(x: Tensor[Shape[Add[Mul[L[2], M], L[1]]], NoneTape]) -> None:
        halves(x)  # E(mypy): halves: x is (2*M + 1,) but (2*N,) is expected: axis 0 is 2*M + 1, not 2*N [tapegrad-shape]

    odd(seven)


def reject_a_size_below_one() -> None:
    differences(tg.ones((1,)))  # E: differences: N is 0 in x but a named size is at least 1 [tapegrad-shape]


def reject_another_size_where_the_name_is_bound() -> None:
    beside(seven, tg.ones((7,)))  # E: beside: y is (7,) but (N + 1,) is expected: axis 0 is 7, not N + 1 = 8 [tapegrad-shape]


def reject_another_number_than_was_solved() -> None:
    counted(4, tg.ones((4, 5)))  # E: counted: n is 4 but N + 1 = 5 is expected [tapegrad-shape]


def reject_what_the_solution_does_not_fit() -> None:
    same = tg.ones((7,))
    same + differences(same)  # E: add: x (7,) and y (6,) do not broadcast: axis -1 is 7 in x but 6 in y [tapegrad-shape]
