"""Quotients and remainders: `//` and `%` are ops, and a quotient has no tape."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
y = tg.ones((3,))
column = tg.ones((2, 1))
whole = tg.tensor([1, 2, 3])
truth = tg.tensor([True, False, True])


def accept_floor_divide() -> None:
    assert_type(tg.floor_divide(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.floor_divide(column, y.trace()), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.floor_divide(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.floor_divide(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_floor_divide_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.floor_divide(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.floor_divide(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_floor_divide_of_columns() -> None:
    tg.floor_divide(x, tg.ones((2, 4)))  # E: floor_divide: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_floor_divide_of_two_dtypes() -> None:
    tg.floor_divide(y, whole)  # E: floor_divide: x is float32 but y is int64 [tapegrad-dtype]


def accept_floor_divide_of_ints() -> None:
    assert_type(tg.floor_divide(whole, 2), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_floor_divide_of_bools() -> None:
    tg.floor_divide(truth, truth)  # E: floor_divide: x is bool but number is expected [tapegrad-dtype]


def accept_fmod() -> None:
    assert_type(tg.fmod(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.fmod(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.fmod(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.fmod(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_fmod_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.fmod(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.fmod(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_fmod_of_columns() -> None:
    tg.fmod(x, tg.ones((2, 4)))  # E: fmod: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_fmod_of_two_dtypes() -> None:
    tg.fmod(y, whole)  # E: fmod: x is float32 but y is int64 [tapegrad-dtype]


def accept_fmod_of_ints() -> None:
    assert_type(tg.fmod(whole, 2), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_fmod_of_bools() -> None:
    tg.fmod(truth, truth)  # E: fmod: x is bool but number is expected [tapegrad-dtype]


def accept_the_operators() -> None:
    assert_type(x // y.trace(), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(7 // whole, Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(x.trace() % 2, Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(2 % x, Tensor[Shape[L[2], L[3]], NoneTape])


def reject_the_operator_on_columns() -> None:
    x // tg.ones((2, 4))  # E: floor_divide: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_a_float_beside_ints() -> None:
    whole // 2.5  # E: floor_divide: y is a float but x is int64 [tapegrad-dtype]


def accept_remainder() -> None:
    assert_type(tg.remainder(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.remainder(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.remainder(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.remainder(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_remainder_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.remainder(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.remainder(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_remainder_of_columns() -> None:
    tg.remainder(x, tg.ones((2, 4)))  # E: remainder: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_remainder_of_two_dtypes() -> None:
    tg.remainder(y, whole)  # E: remainder: x is float32 but y is int64 [tapegrad-dtype]


def accept_remainder_of_ints() -> None:
    assert_type(tg.remainder(whole, 2), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_remainder_of_bools() -> None:
    tg.remainder(truth, truth)  # E: remainder: x is bool but number is expected [tapegrad-dtype]


def accept_the_operator_of_remainder() -> None:
    assert_type(x % 2, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(2.0 % x.trace(), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(x % y, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(column % y.trace(), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(whole % 2, Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_the_operator_of_remainder_on_columns() -> None:
    x % tg.ones((2, 4))  # E: remainder: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_the_operator_of_remainder_on_a_float_and_an_int() -> None:
    2.5 % whole  # E: remainder: x is a float but y is int64 [tapegrad-dtype]


def accept_divmod() -> None:
    quotient, rest = tg.divmod(x.trace(), y)
    assert_type(quotient, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(rest, Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.divmod(whole, 2)[0], Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(tg.divmod(2.5, x)[1], Tensor[Shape[L[2], L[3]], NoneTape])


def accept_divmod_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.divmod(c, y)[0], Tensor[Shape[Any, L[3]], NoneTape])
        return tg.divmod(a, b)[1]

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_pythons_divmod() -> None:
    quotient, rest = divmod(x, y.trace())
    assert_type(quotient, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(rest, Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(divmod(7, whole)[1], Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_divmod_of_columns() -> None:
    tg.divmod(x, tg.ones((2, 4)))  # E: divmod: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_divmod_of_two_dtypes() -> None:
    tg.divmod(y, whole)  # E: divmod: x is float32 but y is int64 [tapegrad-dtype]


def reject_divmod_of_bools() -> None:
    tg.divmod(truth, truth)  # E: divmod: x is bool but number is expected [tapegrad-dtype]


def accept_gcd() -> None:
    assert_type(tg.gcd(whole, tg.ones((2, 1), np.int64)), Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(tg.gcd(whole.trace(), 6), Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(tg.gcd(6, whole.astype(np.int8)), Tensor[Shape[L[3]], NoneTape, np.int8])


def accept_gcd_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M], Any, np.int64], b: Tensor[Shape[Any, M], Any, np.int64]) -> Tensor[Shape[N, M], NoneTape, np.int64]:
        assert_type(tg.gcd(b, 2), Tensor[Shape[Any, M], NoneTape, np.int64])
        return tg.gcd(a, a)

    computed(tg.ones((2, 3), np.int64), tg.ones((2, 3), np.int64))


def reject_gcd_of_columns() -> None:
    tg.gcd(whole, tg.ones((4,), np.int64))  # E: gcd: x (3,) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_gcd_of_floats() -> None:
    tg.gcd(x, x)  # E: gcd: x is float32 but integer is expected [tapegrad-dtype]


def reject_gcd_of_two_dtypes() -> None:
    tg.gcd(whole, truth)  # E: gcd: x is int64 but y is bool [tapegrad-dtype]


def accept_lcm() -> None:
    assert_type(tg.lcm(whole, tg.ones((2, 1), np.int64)), Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(tg.lcm(whole.trace(), 6), Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(tg.lcm(6, whole.astype(np.int8)), Tensor[Shape[L[3]], NoneTape, np.int8])


def accept_lcm_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M], Any, np.int64], b: Tensor[Shape[Any, M], Any, np.int64]) -> Tensor[Shape[N, M], NoneTape, np.int64]:
        assert_type(tg.lcm(b, 2), Tensor[Shape[Any, M], NoneTape, np.int64])
        return tg.lcm(a, a)

    computed(tg.ones((2, 3), np.int64), tg.ones((2, 3), np.int64))


def reject_lcm_of_columns() -> None:
    tg.lcm(whole, tg.ones((4,), np.int64))  # E: lcm: x (3,) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_lcm_of_floats() -> None:
    tg.lcm(x, x)  # E: lcm: x is float32 but integer is expected [tapegrad-dtype]


def reject_lcm_of_two_dtypes() -> None:
    tg.lcm(whole, truth)  # E: lcm: x is int64 but y is bool [tapegrad-dtype]
