"""Sizes computed by powers, shifts and the functions of Python: `2 ** 3`, `max(n, 1)`, `math.prod(shape)`."""

import math
from typing import Any, TypeVar, assert_type
from typing import Literal as L

import tapegrad as tg
from tapegrad import Add, Mul, NoneTape, Pow, Shape, Tensor, nn

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
C = TypeVar("C", bound=int)

x = tg.ones((2, 3))


def accept_powers_and_shifts() -> None:
    assert_type(tg.zeros((2**3, 1 << 4, 64 >> 2)), Tensor[Shape[L[8], L[16], L[16]], NoneTape])
    width = 2**5
    assert_type(nn.Linear(width, width // 2**2)(tg.ones((3, 32))), Tensor[Shape[L[3], L[8]], NoneTape])
    assert_type(x.reshape((1 << 1, -1)), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_functions_of_numbers() -> None:
    assert_type(tg.zeros((max(3, 5), min(7, 4, 9), abs(2 - 5))), Tensor[Shape[L[5], L[4], L[3]], NoneTape])
    assert_type(tg.zeros((sum((2, 3)), math.prod([2, 3, 4]))), Tensor[Shape[L[5], L[24]], NoneTape])
    assert_type(tg.zeros((len([8, 16, 4]), max([2, 6]))), Tensor[Shape[L[3], L[6]], NoneTape])
    assert_type(x.reshape((math.prod(x.shape),)), Tensor[Shape[L[6]], NoneTape])
    assert_type(tg.zeros((sum(x.shape),)), Tensor[Shape[L[5]], NoneTape])


def squared(a: Tensor[Shape[N, M]]) -> Tensor[Shape[Pow[N, L[2]], Mul[N, M]]]:
    n, m = a.shape
    return tg.zeros((n**2, math.prod((n, m))))


def doubled_twice(a: Tensor[Shape[C]]) -> Tensor[Shape[Mul[C, Pow[L[2], L[2]]]]]:
    (c,) = a.shape
    return tg.zeros((c << 2,))


def ordered(a: Tensor[Shape[N, M]]) -> Tensor[Shape[Add[N, M], N]]:
    n, m = a.shape
    return tg.zeros((max(n, n + m), min(n, n * m)))


def undecided(a: Tensor[Shape[N, M]]) -> Tensor[Shape[Any, Any]]:
    n, m = a.shape
    made = tg.zeros((max(n, m), 2**n))
    assert_type(made, Tensor[Shape[Any, Any], NoneTape])
    return made


def accept_named_sizes() -> None:
    assert_type(squared(x), Tensor[Shape[L[4], L[6]], NoneTape])
    assert_type(doubled_twice(x[0]), Tensor[Shape[L[12]], NoneTape])
    assert_type(ordered(x), Tensor[Shape[L[5], L[2]], NoneTape])
    undecided(x)


def reject_a_power_that_does_not_fit() -> None:
    tg.ones((3, 2**3)) @ tg.ones((9, 2))  # E: matmul: inner sizes differ: x (3, 8) has 8 columns but y (9, 2) has 9 rows [tapegrad-shape]


def reject_the_largest_of_two() -> None:
    tg.ones((3, max(4, 5))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (3, 5) has 5 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_another_power() -> None:
    def cubed(a: Tensor[Shape[N]]) -> Tensor[Shape[Pow[N, L[3]]]]:
        return tg.zeros((a.shape[0] ** 2,))  # E(mypy): cubed: the result is (N*N,) but (N*N*N,) is expected: axis 0 is N*N, not N*N*N [return-value]

    cubed(x[0])


def reject_a_product_of_another_shape() -> None:
    x.reshape((math.prod(x.shape) + 1,))  # E: reshape: x (2, 3) has 6 elements but shape (7,) has 7 [tapegrad-shape]
