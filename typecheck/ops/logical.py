"""Logical ops and tests of floats such as isnan: no result has a tape."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
mask = x > 0
row = tg.tensor([True, False, True])
column = tg.ones((2, 1), np.bool_)
whole = tg.tensor([1, 2, 3])


def accept_logical_and() -> None:
    assert_type(tg.logical_and(mask, row), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.logical_and(mask, row.trace()), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.logical_and(column, row), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def accept_logical_and_of_named_and_unknown_sizes() -> None:
    def joined(a: Tensor[Shape[N, M], Any, np.bool_], b: Tensor[Shape[Any, M], Any, np.bool_]) -> Tensor[Shape[N, M], NoneTape, np.bool_]:
        assert_type(tg.logical_and(b, b), Tensor[Shape[Any, M], NoneTape, np.bool_])
        return tg.logical_and(a, a)

    assert_type(joined(mask, mask), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def reject_logical_and_of_columns() -> None:
    tg.logical_and(mask, tg.ones((2, 4), np.bool_))  # E: logical_and: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_logical_and_of_ints() -> None:
    tg.logical_and(whole, whole)  # E: logical_and: x is int64 but bool is expected [tapegrad-dtype]


def reject_logical_and_beside_an_int() -> None:
    tg.logical_and(row, 1)  # E: logical_and: y is an int but x is bool [tapegrad-dtype]


def accept_logical_or() -> None:
    assert_type(tg.logical_or(mask, row), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.logical_or(mask, row.trace()), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.logical_or(column, row), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def accept_logical_or_of_named_and_unknown_sizes() -> None:
    def joined(a: Tensor[Shape[N, M], Any, np.bool_], b: Tensor[Shape[Any, M], Any, np.bool_]) -> Tensor[Shape[N, M], NoneTape, np.bool_]:
        assert_type(tg.logical_or(b, b), Tensor[Shape[Any, M], NoneTape, np.bool_])
        return tg.logical_or(a, a)

    assert_type(joined(mask, mask), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def reject_logical_or_of_columns() -> None:
    tg.logical_or(mask, tg.ones((2, 4), np.bool_))  # E: logical_or: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_logical_or_of_ints() -> None:
    tg.logical_or(whole, whole)  # E: logical_or: x is int64 but bool is expected [tapegrad-dtype]


def reject_logical_or_beside_an_int() -> None:
    tg.logical_or(row, 1)  # E: logical_or: y is an int but x is bool [tapegrad-dtype]


def accept_logical_xor() -> None:
    assert_type(tg.logical_xor(mask, row), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.logical_xor(mask, row.trace()), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.logical_xor(column, row), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def accept_logical_xor_of_named_and_unknown_sizes() -> None:
    def joined(a: Tensor[Shape[N, M], Any, np.bool_], b: Tensor[Shape[Any, M], Any, np.bool_]) -> Tensor[Shape[N, M], NoneTape, np.bool_]:
        assert_type(tg.logical_xor(b, b), Tensor[Shape[Any, M], NoneTape, np.bool_])
        return tg.logical_xor(a, a)

    assert_type(joined(mask, mask), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def reject_logical_xor_of_columns() -> None:
    tg.logical_xor(mask, tg.ones((2, 4), np.bool_))  # E: logical_xor: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_logical_xor_of_ints() -> None:
    tg.logical_xor(whole, whole)  # E: logical_xor: x is int64 but bool is expected [tapegrad-dtype]


def reject_logical_xor_beside_an_int() -> None:
    tg.logical_xor(row, 1)  # E: logical_xor: y is an int but x is bool [tapegrad-dtype]


def accept_logical_not() -> None:
    assert_type(tg.logical_not(mask), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.logical_not(column), Tensor[Shape[L[2], L[1]], NoneTape, np.bool_])


def reject_logical_not_of_ints() -> None:
    tg.logical_not(whole)  # E: logical_not: x is int64 but bool is expected [tapegrad-dtype]


def accept_isfinite() -> None:
    assert_type(tg.isfinite(x), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.isfinite(x.trace()), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def reject_isfinite_of_ints() -> None:
    tg.isfinite(whole)  # E: isfinite: x is int64 but floating is expected [tapegrad-dtype]


def accept_isinf() -> None:
    assert_type(tg.isinf(x), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.isinf(x.trace()), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def reject_isinf_of_ints() -> None:
    tg.isinf(whole)  # E: isinf: x is int64 but floating is expected [tapegrad-dtype]


def accept_isnan() -> None:
    assert_type(tg.isnan(x), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.isnan(x.trace()), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def reject_isnan_of_ints() -> None:
    tg.isnan(whole)  # E: isnan: x is int64 but floating is expected [tapegrad-dtype]


def accept_nan_to_num() -> None:
    assert_type(tg.nan_to_num(x, nan=1.0), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.nan_to_num(x.trace(), nan=1.0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.nan_to_num(x.astype(np.float64), nan=1.0), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_nan_to_num_of_ints() -> None:
    tg.nan_to_num(whole, nan=1.0)  # E: nan_to_num: x is int64 but floating is expected [tapegrad-dtype]
