"""frexp and modf: each part has its own tape and dtype."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)

x = tg.ones((2, 3))
y = tg.ones((3,))
whole = tg.tensor([1, 2, 3])


def accept_modf() -> None:
    rest, integral = tg.modf(x.trace())
    assert_type(rest, Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(integral, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.modf(x.astype(np.float64))[1], Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def accept_frexp() -> None:
    mantissa, exponent = tg.frexp(x.trace())
    assert_type(mantissa, Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(exponent, Tensor[Shape[L[2], L[3]], NoneTape, np.int32])


def accept_ldexp() -> None:
    assert_type(tg.ldexp(x.trace(), 3), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.ldexp(x, whole), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.ldexp(x.astype(np.float64), whole.astype(np.int8)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])
    assert_type(tg.ldexp(tg.frexp(y)[0], tg.frexp(y)[1]), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.ldexp(y, np.array([1, 2, 3])), Tensor[Shape[L[3]], NoneTape])


def accept_nextafter() -> None:
    assert_type(tg.nextafter(x.trace(), y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.nextafter(x, 2.0), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_spacing() -> None:
    assert_type(tg.spacing(x.trace()), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_named_and_unknown_sizes() -> None:
    def apart(a: Tensor[Shape[N, Any], OwnedTape], b: Tensor[Shape[N]]) -> Tensor[Shape[N]]:
        assert_type(tg.frexp(a)[1], Tensor[Shape[N, Any], NoneTape, np.int32])
        assert_type(tg.spacing(a), Tensor[Shape[N, Any], NoneTape])
        assert_type(tg.nextafter(b, b), Tensor[Shape[N], NoneTape])
        mantissa, exponent = tg.frexp(b)
        return tg.ldexp(mantissa, exponent)

    apart(x.trace(), tg.ones((2,)))


def reject_modf_of_ints() -> None:
    tg.modf(whole)  # E: modf: x is int64 but floating is expected [tapegrad-dtype]


def reject_frexp_of_ints() -> None:
    tg.frexp(whole)  # E: frexp: x is int64 but floating is expected [tapegrad-dtype]


def reject_spacing_of_ints() -> None:
    tg.spacing(whole)  # E: spacing: x is int64 but floating is expected [tapegrad-dtype]


def reject_nextafter_of_columns() -> None:
    tg.nextafter(x, tg.ones((2, 4)))  # E: nextafter: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_nextafter_of_two_dtypes() -> None:
    tg.nextafter(y, whole)  # E: nextafter: x is float32 but y is int64 [tapegrad-dtype]


def reject_ldexp_of_columns() -> None:
    tg.ldexp(x, tg.ones((2, 4), np.int64))  # E: ldexp: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_ldexp_by_floats() -> None:
    tg.ldexp(x, y)  # E: ldexp: y is float32 but integer is expected [tapegrad-dtype]


def reject_ldexp_of_ints() -> None:
    tg.ldexp(whole, whole)  # E: ldexp: x is int64 but floating is expected [tapegrad-dtype]
