"""Sizes as plain numbers, `Shape[3, N]`, or as lengths: the plugin and the guard accept them, other checkers do not."""

from typing import Literal as L
from typing import assert_type

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, NoneTape, Rank2, Shape, Tensor, guarded

N = TypeVar("N", bound=int)


@guarded
def turned(x: Tensor[Shape[3, N], NoneTape]) -> Tensor[Shape[N, 3]]:
    return x.T


@guarded
def shorter(x: Tensor[Rank2[Add[N, 1], 3]]) -> Tensor[Shape[N, 3]]:
    return x[1:]


def accept_numbers_for_sizes() -> None:
    assert_type(turned(tg.ones((3, 5))), Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(shorter(tg.ones((4, 3))), Tensor[Shape[L[3], L[3]], NoneTape])


def reject_another_number() -> None:
    turned(tg.ones((4, 5)))  # E: turned: x is (4, 5) but (3, N) is expected: axis 0 is 4, not 3 [tapegrad-shape]


def reject_another_number_beside_a_sum() -> None:
    shorter(tg.ones((4, 4)))  # E: shorter: x is (4, 4) but (N + 1, 3) is expected: axis 1 is 4, not 3 [tapegrad-shape]


def accept_a_length_for_a_size() -> None:
    def rows(x: Tensor[Shape[N, L[3]]]) -> N:
        return len(x)

    def more(x: Tensor[Shape[N, L[3]]]) -> Add[N, L[1]]:
        n = len(x) + 1
        assert n > 1
        return n

    assert_type(rows(tg.ones((5, 3))), L[5])
    assert_type(more(tg.ones((5, 3))), L[6])


def reject_the_length_of_another_axis() -> None:
    def columns(x: Tensor[Shape[L[3], N]]) -> N:
        return len(x)  # E(mypy): Incompatible return value type (got "Literal[3]", expected "N") [return-value]

    columns(tg.ones((3, 5)))
