"""Bitwise ops: `&`, `|`, `^`, `~`, `<<` and `>>` on ints, the first four on bools too; no result has a tape."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
mask = x > 0
row = tg.tensor([True, False, True])
column = tg.ones((2, 1), np.bool_)
whole = tg.tensor([1, 2, 3])
block = tg.ones((2, 3), np.int64)


def accept_bitwise_and() -> None:
    assert_type(tg.bitwise_and(mask, row), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(mask & row.trace(), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(column & row, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(row & True, Tensor[Shape[L[3]], NoneTape, np.bool_])
    assert_type(True & row, Tensor[Shape[L[3]], NoneTape, np.bool_])
    assert_type(block & whole, Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(6 & whole.astype(np.uint8), Tensor[Shape[L[3]], NoneTape, np.uint8])


def accept_bitwise_and_of_named_and_unknown_sizes() -> None:
    def joined(a: Tensor[Shape[N, M], Any, np.bool_], b: Tensor[Shape[Any, M], Any, np.bool_]) -> Tensor[Shape[N, M], NoneTape, np.bool_]:
        assert_type(b & b, Tensor[Shape[Any, M], NoneTape, np.bool_])
        return a & a

    assert_type(joined(mask, mask), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def reject_bitwise_and_of_columns() -> None:
    mask & tg.ones((2, 4), np.bool_)  # E: bitwise_and: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_bitwise_and_of_floats() -> None:
    x & x  # E: bitwise_and: x is float32 but integer or bool is expected [tapegrad-dtype]


def reject_bitwise_and_of_two_dtypes() -> None:
    whole & row  # E: bitwise_and: x is int64 but y is bool [tapegrad-dtype]


def reject_bitwise_and_beside_an_int() -> None:
    row & 1  # E: bitwise_and: y is an int but x is bool [tapegrad-dtype]


def accept_bitwise_or() -> None:
    assert_type(tg.bitwise_or(mask, row), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(mask | row.trace(), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(column | row, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(row | True, Tensor[Shape[L[3]], NoneTape, np.bool_])
    assert_type(True | row, Tensor[Shape[L[3]], NoneTape, np.bool_])
    assert_type(block | whole, Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(6 | whole.astype(np.uint8), Tensor[Shape[L[3]], NoneTape, np.uint8])


def accept_bitwise_or_of_named_and_unknown_sizes() -> None:
    def joined(a: Tensor[Shape[N, M], Any, np.bool_], b: Tensor[Shape[Any, M], Any, np.bool_]) -> Tensor[Shape[N, M], NoneTape, np.bool_]:
        assert_type(b | b, Tensor[Shape[Any, M], NoneTape, np.bool_])
        return a | a

    assert_type(joined(mask, mask), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def reject_bitwise_or_of_columns() -> None:
    mask | tg.ones((2, 4), np.bool_)  # E: bitwise_or: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_bitwise_or_of_floats() -> None:
    x | x  # E: bitwise_or: x is float32 but integer or bool is expected [tapegrad-dtype]


def reject_bitwise_or_of_two_dtypes() -> None:
    whole | row  # E: bitwise_or: x is int64 but y is bool [tapegrad-dtype]


def reject_bitwise_or_beside_an_int() -> None:
    row | 1  # E: bitwise_or: y is an int but x is bool [tapegrad-dtype]


def accept_bitwise_xor() -> None:
    assert_type(tg.bitwise_xor(mask, row), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(mask ^ row.trace(), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(column ^ row, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(row ^ True, Tensor[Shape[L[3]], NoneTape, np.bool_])
    assert_type(True ^ row, Tensor[Shape[L[3]], NoneTape, np.bool_])
    assert_type(block ^ whole, Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(6 ^ whole.astype(np.uint8), Tensor[Shape[L[3]], NoneTape, np.uint8])


def accept_bitwise_xor_of_named_and_unknown_sizes() -> None:
    def joined(a: Tensor[Shape[N, M], Any, np.bool_], b: Tensor[Shape[Any, M], Any, np.bool_]) -> Tensor[Shape[N, M], NoneTape, np.bool_]:
        assert_type(b ^ b, Tensor[Shape[Any, M], NoneTape, np.bool_])
        return a ^ a

    assert_type(joined(mask, mask), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def reject_bitwise_xor_of_columns() -> None:
    mask ^ tg.ones((2, 4), np.bool_)  # E: bitwise_xor: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_bitwise_xor_of_floats() -> None:
    x ^ x  # E: bitwise_xor: x is float32 but integer or bool is expected [tapegrad-dtype]


def reject_bitwise_xor_of_two_dtypes() -> None:
    whole ^ row  # E: bitwise_xor: x is int64 but y is bool [tapegrad-dtype]


def reject_bitwise_xor_beside_an_int() -> None:
    row ^ 1  # E: bitwise_xor: y is an int but x is bool [tapegrad-dtype]


def accept_bitwise_invert() -> None:
    assert_type(~mask, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(~whole.trace(), Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(tg.bitwise_invert(column), Tensor[Shape[L[2], L[1]], NoneTape, np.bool_])


def reject_bitwise_invert_of_floats() -> None:
    ~x  # E: bitwise_invert: x is float32 but integer or bool is expected [tapegrad-dtype]


def accept_bitwise_count() -> None:
    assert_type(tg.bitwise_count(block.trace()), Tensor[Shape[L[2], L[3]], NoneTape, np.uint8])

    def counted(a: Tensor[Shape[N, Any], Any, np.int64]) -> None:
        assert_type(tg.bitwise_count(a), Tensor[Shape[N, Any], NoneTape, np.uint8])

    counted(block)


def reject_bitwise_count_of_bools() -> None:
    tg.bitwise_count(row)  # E: bitwise_count: x is bool but integer is expected [tapegrad-dtype]


def accept_bitwise_left_shift() -> None:
    assert_type(tg.bitwise_left_shift(block, whole), Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(whole.trace() << 2, Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(6 << whole, Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_bitwise_left_shift_of_columns() -> None:
    block << tg.ones((2, 4), np.int64)  # E: bitwise_left_shift: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_bitwise_left_shift_of_bools() -> None:
    row << row  # E: bitwise_left_shift: x is bool but integer is expected [tapegrad-dtype]


def reject_bitwise_left_shift_beside_a_float() -> None:
    whole << 1.0  # E: bitwise_left_shift: y is a float but x is int64 [tapegrad-dtype]


def accept_bitwise_right_shift() -> None:
    assert_type(tg.bitwise_right_shift(block, whole), Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(whole.trace() >> 2, Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(6 >> whole, Tensor[Shape[L[3]], NoneTape, np.int64])


def reject_bitwise_right_shift_of_columns() -> None:
    block >> tg.ones((2, 4), np.int64)  # E: bitwise_right_shift: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_bitwise_right_shift_of_bools() -> None:
    row >> row  # E: bitwise_right_shift: x is bool but integer is expected [tapegrad-dtype]


def reject_bitwise_right_shift_beside_a_float() -> None:
    whole >> 1.0  # E: bitwise_right_shift: y is a float but x is int64 [tapegrad-dtype]
