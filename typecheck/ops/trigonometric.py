"""Trigonometric functions: one operand keeps its shape, two coordinates broadcast."""

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


def accept_sin() -> None:
    assert_type(tg.sin(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.sin(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.sin(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_sin_of_ints() -> None:
    tg.sin(whole)  # E: sin: x is int64 but floating is expected [tapegrad-dtype]


def accept_cos() -> None:
    assert_type(tg.cos(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.cos(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.cos(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_cos_of_ints() -> None:
    tg.cos(whole)  # E: cos: x is int64 but floating is expected [tapegrad-dtype]


def accept_tan() -> None:
    assert_type(tg.tan(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.tan(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.tan(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_tan_of_ints() -> None:
    tg.tan(whole)  # E: tan: x is int64 but floating is expected [tapegrad-dtype]


def accept_asin() -> None:
    assert_type(tg.asin(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.asin(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.asin(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_asin_of_ints() -> None:
    tg.asin(whole)  # E: asin: x is int64 but floating is expected [tapegrad-dtype]


def accept_acos() -> None:
    assert_type(tg.acos(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.acos(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.acos(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_acos_of_ints() -> None:
    tg.acos(whole)  # E: acos: x is int64 but floating is expected [tapegrad-dtype]


def accept_atan() -> None:
    assert_type(tg.atan(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.atan(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.atan(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_atan_of_ints() -> None:
    tg.atan(whole)  # E: atan: x is int64 but floating is expected [tapegrad-dtype]


def accept_sinh() -> None:
    assert_type(tg.sinh(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.sinh(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.sinh(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_sinh_of_ints() -> None:
    tg.sinh(whole)  # E: sinh: x is int64 but floating is expected [tapegrad-dtype]


def accept_cosh() -> None:
    assert_type(tg.cosh(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.cosh(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.cosh(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_cosh_of_ints() -> None:
    tg.cosh(whole)  # E: cosh: x is int64 but floating is expected [tapegrad-dtype]


def accept_asinh() -> None:
    assert_type(tg.asinh(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.asinh(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.asinh(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_asinh_of_ints() -> None:
    tg.asinh(whole)  # E: asinh: x is int64 but floating is expected [tapegrad-dtype]


def accept_acosh() -> None:
    assert_type(tg.acosh(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.acosh(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.acosh(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_acosh_of_ints() -> None:
    tg.acosh(whole)  # E: acosh: x is int64 but floating is expected [tapegrad-dtype]


def accept_atanh() -> None:
    assert_type(tg.atanh(0.5 * x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.atanh(0.5 * x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.atanh(0.5 * x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_atanh_of_ints() -> None:
    tg.atanh(whole)  # E: atanh: x is int64 but floating is expected [tapegrad-dtype]


def accept_deg2rad() -> None:
    assert_type(tg.deg2rad(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.deg2rad(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.deg2rad(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_deg2rad_of_ints() -> None:
    tg.deg2rad(whole)  # E: deg2rad: x is int64 but floating is expected [tapegrad-dtype]


def accept_rad2deg() -> None:
    assert_type(tg.rad2deg(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.rad2deg(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.rad2deg(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_rad2deg_of_ints() -> None:
    tg.rad2deg(whole)  # E: rad2deg: x is int64 but floating is expected [tapegrad-dtype]


def accept_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M], OwnedTape], b: Tensor[Shape[Any, N]], c: Tensor) -> Tensor[Shape[N, M], OwnedTape]:
        assert_type(tg.sin(c), Tensor[Any, Any, Any])
        return tg.sin(a)

    assert_type(computed(x.trace(), x.T, x), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_atan2() -> None:
    assert_type(tg.atan2(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.atan2(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.atan2(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.atan2(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_atan2_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.atan2(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.atan2(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_atan2_of_columns() -> None:
    tg.atan2(x, tg.ones((2, 4)))  # E: atan2: y (2, 3) and x (2, 4) do not broadcast: axis -1 is 3 in y but 4 in x [tapegrad-shape]


def reject_atan2_of_two_dtypes() -> None:
    tg.atan2(y, whole)  # E: atan2: y is float32 but x is int64 [tapegrad-dtype]


def reject_atan2_of_ints() -> None:
    tg.atan2(whole, 2)  # E: atan2: y is int64 but floating is expected [tapegrad-dtype]
