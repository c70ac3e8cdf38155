"""Exponentials and logarithms: one operand keeps its shape, two broadcast."""

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


def accept_erf() -> None:
    assert_type(tg.erf(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.erf(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.erf(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_erf_of_ints() -> None:
    tg.erf(whole)  # E: erf: x is int64 but floating is expected [tapegrad-dtype]


def accept_exp2() -> None:
    assert_type(tg.exp2(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.exp2(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.exp2(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_exp2_of_ints() -> None:
    tg.exp2(whole)  # E: exp2: x is int64 but floating is expected [tapegrad-dtype]


def accept_expm1() -> None:
    assert_type(tg.expm1(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.expm1(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.expm1(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_expm1_of_ints() -> None:
    tg.expm1(whole)  # E: expm1: x is int64 but floating is expected [tapegrad-dtype]


def accept_log10() -> None:
    assert_type(tg.log10(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.log10(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.log10(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_log10_of_ints() -> None:
    tg.log10(whole)  # E: log10: x is int64 but floating is expected [tapegrad-dtype]


def accept_log1p() -> None:
    assert_type(tg.log1p(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.log1p(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.log1p(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_log1p_of_ints() -> None:
    tg.log1p(whole)  # E: log1p: x is int64 but floating is expected [tapegrad-dtype]


def accept_log2() -> None:
    assert_type(tg.log2(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.log2(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.log2(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_log2_of_ints() -> None:
    tg.log2(whole)  # E: log2: x is int64 but floating is expected [tapegrad-dtype]


def accept_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M], OwnedTape], b: Tensor[Shape[Any, N]], c: Tensor) -> Tensor[Shape[N, M], OwnedTape]:
        assert_type(tg.expm1(c), Tensor[Any, Any, Any])
        return tg.expm1(a)

    assert_type(computed(x.trace(), x.T, x), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_logaddexp() -> None:
    assert_type(tg.logaddexp(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.logaddexp(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.logaddexp(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.logaddexp(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_logaddexp_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.logaddexp(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.logaddexp(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_logaddexp_of_columns() -> None:
    tg.logaddexp(x, tg.ones((2, 4)))  # E: logaddexp: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_logaddexp_of_two_dtypes() -> None:
    tg.logaddexp(y, whole)  # E: logaddexp: x is float32 but y is int64 [tapegrad-dtype]


def reject_logaddexp_of_ints() -> None:
    tg.logaddexp(whole, 2)  # E: logaddexp: x is int64 but floating is expected [tapegrad-dtype]


def accept_logaddexp2() -> None:
    assert_type(tg.logaddexp2(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.logaddexp2(column, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.logaddexp2(x.trace(), 2.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.logaddexp2(2, x), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_logaddexp2_of_named_and_unknown_sizes() -> None:
    def computed(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, M]]:
        assert_type(tg.logaddexp2(c, y), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.logaddexp2(a, b)

    assert_type(computed(x, y, x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_logaddexp2_of_columns() -> None:
    tg.logaddexp2(x, tg.ones((2, 4)))  # E: logaddexp2: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_logaddexp2_of_two_dtypes() -> None:
    tg.logaddexp2(y, whole)  # E: logaddexp2: x is float32 but y is int64 [tapegrad-dtype]


def reject_logaddexp2_of_ints() -> None:
    tg.logaddexp2(whole, 2)  # E: logaddexp2: x is int64 but floating is expected [tapegrad-dtype]


def accept_safe_log() -> None:
    assert_type(tg.safe_log(x, eps=0.1), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.safe_log(x.trace(), eps=0.1), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.safe_log(x.astype(np.float64), eps=0.1), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_safe_log_of_ints() -> None:
    tg.safe_log(whole, eps=0.1)  # E: safe_log: x is int64 but floating is expected [tapegrad-dtype]
