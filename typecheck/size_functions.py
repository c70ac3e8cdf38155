"""Size arithmetic with powers, shifts and functions of Python: `2 ** 3`, `max(n, 1)`, `math.prod(shape)`."""

import math
from typing import Literal as L
from typing import TypeVar, assert_type

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


def undecided(a: Tensor[Shape[N, M]]) -> Tensor[Shape[L[3], L[5]]]:
    n, m = a.shape
    made = tg.zeros((3, max(n, m))) @ tg.zeros((max(m, n), 2**n))
    return made @ tg.zeros((2**n, min(n, 7))) @ tg.zeros((min(7, n), 5))


def widened(a: Tensor[Shape[C]], times: N) -> Tensor[Shape[Mul[C, Pow[L[2], N]]]]:
    return tg.ones((a.shape[0] * 2**times,))


def narrowed(a: Tensor[Shape[Mul[C, Pow[L[2], N]]]], times: N) -> Tensor[Shape[C]]:
    (c,) = a.shape
    return a[: c // 2**times]


def accept_named_sizes() -> None:
    assert_type(squared(x), Tensor[Shape[L[4], L[6]], NoneTape])
    assert_type(doubled_twice(x[0]), Tensor[Shape[L[12]], NoneTape])
    assert_type(ordered(x), Tensor[Shape[L[5], L[2]], NoneTape])
    assert_type(undecided(x), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_powers_with_a_named_exponent() -> None:
    def of(times: int, named: M) -> None:
        assert_type(narrowed(widened(tg.ones(3), times), times), Tensor[Shape[L[3]], NoneTape])
        assert_type(narrowed(widened(tg.ones(3), named), named), Tensor[Shape[L[3]], NoneTape])

    assert_type(widened(tg.ones(3), 4), Tensor[Shape[L[48]], NoneTape])
    assert_type(narrowed(tg.ones(48), 4), Tensor[Shape[L[3]], NoneTape])
    of(2, 3)


def reject_a_power_that_does_not_fit() -> None:
    tg.ones((3, 2**3)) @ tg.ones((9, 2))  # E: matmul: inner sizes differ: x (3, 8) has 8 columns but y (9, 2) has 9 rows [tapegrad-shape]


def reject_the_largest_of_two() -> None:
    tg.ones((3, max(4, 5))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (3, 5) has 5 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_a_power_of_a_named_exponent() -> None:
    narrowed(tg.ones(50), 4)  # E(mypy): narrowed: a is (50,) but (2**N*C,) is expected: axis 0 is 50, not 2**N*C [tapegrad-shape]


def reject_a_number_that_no_power_is() -> None:
    def of(named: M) -> None:
        widened(tg.ones(3), named) + tg.ones(7)  # E(mypy): add: x (3*2**M,) and y (7,) do not broadcast: axis -1 is 3*2**M in x but 7 in y [tapegrad-shape]

    of(1)


def reject_another_power() -> None:
    def cubed(a: Tensor[Shape[N]]) -> Tensor[Shape[Pow[N, L[3]]]]:
        return tg.zeros((a.shape[0] ** 2,))  # E(mypy): cubed: the result is (N*N,) but (N*N*N,) is expected: axis 0 is N*N, not N*N*N [return-value]

    cubed(x[0])


def reject_a_product_of_another_shape() -> None:
    x.reshape((math.prod(x.shape) + 1,))  # E: reshape: x (2, 3) has 6 elements but shape (7,) has 7 [tapegrad-shape]
