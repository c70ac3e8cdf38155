"""Masks: the number of elements that masked_select and nonzero give is unknown to mypy."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)

x = tg.ones((2, 3))
row = tg.tensor([True, False, True])
whole = tg.tensor([1, 2, 3])


def accept_masked_fill() -> None:
    assert_type(tg.masked_fill(x, row, 0.0), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.masked_fill(x, x > 0, tg.ones((2, 1)).trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.masked_fill(whole, row, 7), Tensor[Shape[L[3]], NoneTape, np.int64])


def accept_masks_of_named_and_unknown_sizes() -> None:
    def hidden(a: Tensor[Shape[N, N], OwnedTape], b: Tensor[Shape[N, Any], NoneTape, np.bool_]) -> Tensor[Shape[N, N], OwnedTape]:
        assert_type(tg.masked_select(a, b), Tensor[Shape[Any], OwnedTape])
        return tg.masked_fill(a, b, -1e9)

    square = tg.ones((3, 3))
    assert_type(hidden(square.trace(), square > 0), Tensor[Shape[L[3], L[3]], OwnedTape])


def accept_masked_select() -> None:
    assert_type(tg.masked_select(x.trace(), row), Tensor[Shape[Any], OwnedTape])
    assert_type(tg.masked_select(whole, row), Tensor[Shape[Any], NoneTape, np.int64])


def accept_nonzero() -> None:
    rows, columns = tg.nonzero(x.trace())
    assert_type(rows, Tensor[Shape[Any], NoneTape, np.int64])
    assert_type(columns, Tensor[Shape[Any], NoneTape, np.int64])
    assert_type(row.nonzero()[0], Tensor[Shape[Any], NoneTape, np.int64])
    assert_type(x[rows, columns], Tensor[Shape[Any], NoneTape])


def reject_a_mask_of_other_columns() -> None:
    tg.masked_fill(x, tg.ones((4,), np.bool_), 0.0)  # E: masked_fill: x (2, 3) and mask (4,) do not broadcast: axis -1 is 3 in x but 4 in mask [tapegrad-shape]


def reject_a_mask_that_is_larger() -> None:
    tg.masked_fill(x, tg.ones((5, 2, 3), np.bool_), 0.0)  # E: masked_fill: mask (5, 2, 3) does not broadcast to x (2, 3) [tapegrad-shape]


def reject_a_float_among_ints() -> None:
    tg.masked_fill(whole, row, 0.5)  # E: masked_fill: value is a float but x is int64 [tapegrad-dtype]


def reject_values_of_another_dtype() -> None:
    tg.masked_fill(x, row, whole)  # E: masked_fill: x is float32 but value is int64 [tapegrad-dtype]


def reject_a_mask_of_ints() -> None:
    tg.masked_fill(whole, whole, 7)  # E: masked_fill: mask is int64 but bool is expected [tapegrad-dtype]


def reject_masked_select() -> None:
    tg.masked_select(x, tg.ones((4,), np.bool_))  # E: masked_select: x (2, 3) and mask (4,) do not broadcast: axis -1 is 3 in x but 4 in mask [tapegrad-shape]


def reject_masked_select_by_ints() -> None:
    tg.masked_select(whole, whole)  # E: masked_select: mask is int64 but bool is expected [tapegrad-dtype]


def reject_nonzero_of_a_scalar() -> None:
    tg.nonzero(tg.ones(()))  # E: nonzero: x () has no axis to count along [tapegrad-shape]
