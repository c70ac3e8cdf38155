"""Rounding, abs, sign, clamp, minimum and maximum: piecewise constant ops give no tape."""

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


def accept_ceil() -> None:
    assert_type(tg.ceil(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.ceil(x.trace()), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.ceil(whole), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_ceil_of_bools() -> None:
    tg.ceil(truth)  # E: ceil: x is bool but number is expected [tapegrad-dtype]


def accept_floor() -> None:
    assert_type(tg.floor(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.floor(x.trace()), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.floor(whole), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_floor_of_bools() -> None:
    tg.floor(truth)  # E: floor: x is bool but number is expected [tapegrad-dtype]


def accept_round() -> None:
    assert_type(tg.round(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.round(x.trace()), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.round(whole), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_round_of_bools() -> None:
    tg.round(truth)  # E: round: x is bool but number is expected [tapegrad-dtype]


def accept_sign() -> None:
    assert_type(tg.sign(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.sign(x.trace()), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.sign(whole), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_sign_of_bools() -> None:
    tg.sign(truth)  # E: sign: x is bool but number is expected [tapegrad-dtype]


def accept_trunc() -> None:
    assert_type(tg.trunc(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.trunc(x.trace()), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.trunc(whole), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_trunc_of_bools() -> None:
    tg.trunc(truth)  # E: trunc: x is bool but number is expected [tapegrad-dtype]


def reject_the_gradient_of_a_step() -> None:
    tg.floor(x.trace()).sum().backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]


def accept_abs() -> None:
    assert_type(tg.abs(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.abs(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.abs(whole), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_abs_of_bools() -> None:
    tg.abs(truth)  # E: abs: x is bool but number is expected [tapegrad-dtype]


def accept_clamp() -> None:
    assert_type(tg.clamp(x, min=-1, max=1.5), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.clamp(x.trace(), min=-1, max=1.5), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.clamp(whole, min=-1, max=1), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_clamp_of_bools() -> None:
    tg.clamp(truth, min=-1, max=1.5)  # E: clamp: x is bool but number is expected [tapegrad-dtype]


def accept_the_operator_of_abs() -> None:
    assert_type(abs(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(abs(-x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M], OwnedTape], b: Tensor[Shape[Any, N]], c: Tensor) -> Tensor[Shape[N, M], OwnedTape]:
        assert_type(tg.clamp(b), Tensor[Shape[Any, N], NoneTape])
        assert_type(tg.floor(b), Tensor[Shape[Any, N], NoneTape])
        assert_type(tg.abs(c), Tensor[Any, Any, Any])
        return tg.abs(a)

    assert_type(computed(x.trace(), x.T, x), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_maximum() -> None:
    assert_type(tg.maximum(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.maximum(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.maximum(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.maximum(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_maximum_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.maximum(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.maximum(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_maximum_of_columns() -> None:
    tg.maximum(x, tg.ones((2, 4)))  # E: maximum: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_maximum_of_two_dtypes() -> None:
    tg.maximum(y, whole)  # E: maximum: x is float32 but y is int64 [tapegrad-dtype]


def accept_maximum_of_ints() -> None:
    assert_type(tg.maximum(whole, 2), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_maximum_of_bools() -> None:
    tg.maximum(truth, truth)  # E: maximum: x is bool but number is expected [tapegrad-dtype]


def accept_minimum() -> None:
    assert_type(tg.minimum(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.minimum(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.minimum(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.minimum(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_minimum_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.minimum(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.minimum(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_minimum_of_columns() -> None:
    tg.minimum(x, tg.ones((2, 4)))  # E: minimum: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_minimum_of_two_dtypes() -> None:
    tg.minimum(y, whole)  # E: minimum: x is float32 but y is int64 [tapegrad-dtype]


def accept_minimum_of_ints() -> None:
    assert_type(tg.minimum(whole, 2), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_minimum_of_bools() -> None:
    tg.minimum(truth, truth)  # E: minimum: x is bool but number is expected [tapegrad-dtype]


def accept_fmax() -> None:
    assert_type(tg.fmax(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.fmax(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.fmax(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.fmax(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_fmax_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.fmax(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.fmax(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_fmax_of_columns() -> None:
    tg.fmax(x, tg.ones((2, 4)))  # E: fmax: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_fmax_of_two_dtypes() -> None:
    tg.fmax(y, whole)  # E: fmax: x is float32 but y is int64 [tapegrad-dtype]


def accept_fmax_of_ints() -> None:
    assert_type(tg.fmax(whole, 2), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_fmax_of_bools() -> None:
    tg.fmax(truth, truth)  # E: fmax: x is bool but number is expected [tapegrad-dtype]


def accept_fmin() -> None:
    assert_type(tg.fmin(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.fmin(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.fmin(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.fmin(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_fmin_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.fmin(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.fmin(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_fmin_of_columns() -> None:
    tg.fmin(x, tg.ones((2, 4)))  # E: fmin: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_fmin_of_two_dtypes() -> None:
    tg.fmin(y, whole)  # E: fmin: x is float32 but y is int64 [tapegrad-dtype]


def accept_fmin_of_ints() -> None:
    assert_type(tg.fmin(whole, 2), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_fmin_of_bools() -> None:
    tg.fmin(truth, truth)  # E: fmin: x is bool but number is expected [tapegrad-dtype]


def reject_a_float_in_clamp_of_ints() -> None:
    tg.clamp(tg.tensor([1, 2]), min=0.5)  # E: clamp: min is a float but x is int64 [tapegrad-dtype]


def accept_ends_of_numpys_types() -> None:
    assert_type(tg.clamp(x, min=np.float32(0.5), max=np.float64(2)), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.clamp(whole, min=np.int64(2)), Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_a_float_of_numpy_in_clamp_of_ints() -> None:
    tg.clamp(tg.tensor([1, 2]), min=np.float32(0.5))  # E: clamp: min is a float but x is int64 [tapegrad-dtype]
