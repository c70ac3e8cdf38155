"""Powers and roots: one operand keeps its shape, two broadcast, and `**` is an op."""

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


def accept_cbrt() -> None:
    assert_type(tg.cbrt(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.cbrt(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.cbrt(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_cbrt_of_ints() -> None:
    tg.cbrt(whole)  # E: cbrt: x is int64 but floating is expected [tapegrad-dtype]


def accept_reciprocal() -> None:
    assert_type(tg.reciprocal(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.reciprocal(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.reciprocal(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_reciprocal_of_ints() -> None:
    tg.reciprocal(whole)  # E: reciprocal: x is int64 but floating is expected [tapegrad-dtype]


def accept_rsqrt() -> None:
    assert_type(tg.rsqrt(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.rsqrt(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.rsqrt(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_rsqrt_of_ints() -> None:
    tg.rsqrt(whole)  # E: rsqrt: x is int64 but floating is expected [tapegrad-dtype]


def accept_sqrt() -> None:
    assert_type(tg.sqrt(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.sqrt(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.sqrt(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_sqrt_of_ints() -> None:
    tg.sqrt(whole)  # E: sqrt: x is int64 but floating is expected [tapegrad-dtype]


def accept_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M], OwnedTape], b: Tensor[Shape[Any, N]], c: Tensor) -> Tensor[Shape[N, M], OwnedTape]:
        assert_type(tg.square(b), Tensor[Shape[Any, N], NoneTape])
        assert_type(tg.sqrt(c), Tensor[Any, Any, Any])
        return tg.sqrt(a)

    assert_type(computed(x.trace(), x.T, x), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_a_safe_root() -> None:
    assert_type(tg.sqrt(x, safe=True), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_square() -> None:
    assert_type(tg.square(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.square(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.square(whole), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_square_of_bools() -> None:
    tg.square(truth)  # E: square: x is bool but number is expected [tapegrad-dtype]


def accept_pow() -> None:
    assert_type(tg.pow(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.pow(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.pow(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.pow(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_pow_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.pow(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.pow(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_pow_of_columns() -> None:
    tg.pow(x, tg.ones((2, 4)))  # E: pow: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_pow_of_two_dtypes() -> None:
    tg.pow(y, whole)  # E: pow: x is float32 but y is int64 [tapegrad-dtype]


def accept_pow_of_ints() -> None:
    assert_type(tg.pow(whole, 2), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_pow_of_bools() -> None:
    tg.pow(truth, truth)  # E: pow: x is bool but number is expected [tapegrad-dtype]


def accept_the_operator_of_pow() -> None:
    assert_type(x ** 2, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(2.0 ** x.trace(), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(x ** y, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(column ** y.trace(), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(whole ** 2, Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_the_operator_of_pow_on_columns() -> None:
    x ** tg.ones((2, 4))  # E: pow: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_the_operator_of_pow_on_a_float_and_an_int() -> None:
    2.5 ** whole  # E: pow: x is a float but y is int64 [tapegrad-dtype]


def accept_hypot() -> None:
    assert_type(tg.hypot(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.hypot(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.hypot(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.hypot(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_hypot_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.hypot(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.hypot(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_hypot_of_columns() -> None:
    tg.hypot(x, tg.ones((2, 4)))  # E: hypot: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_hypot_of_two_dtypes() -> None:
    tg.hypot(y, whole)  # E: hypot: x is float32 but y is int64 [tapegrad-dtype]


def reject_hypot_of_ints() -> None:
    tg.hypot(whole, 2)  # E: hypot: x is int64 but floating is expected [tapegrad-dtype]


def accept_float_power() -> None:
    assert_type(tg.float_power(x, y), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])
    assert_type(tg.float_power(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape, np.float64])
    assert_type(tg.float_power(whole, -0.5), Tensor[Shape[L[3]], NoneTape, np.float64])
    assert_type(tg.float_power(0.5, whole), Tensor[Shape[L[3]], NoneTape, np.float64])
    assert_type(tg.float_power(x, whole), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def accept_float_power_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M], NoneTape, np.float64]:
        assert_type(tg.float_power(b, y), Tensor[Shape[Any, L[3]], NoneTape, np.float64])
        return tg.float_power(a, a)

    computed(x, x)


def reject_float_power_of_columns() -> None:
    tg.float_power(x, tg.ones((2, 4)))  # E: float_power: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_float_power_of_bools() -> None:
    tg.float_power(x, truth)  # E: float_power: y is bool but number is expected [tapegrad-dtype]
