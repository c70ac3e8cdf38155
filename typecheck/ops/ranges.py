"""arange, linspace and other ranges."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor

x = tg.ones((2, 3))


def accept_counted() -> None:
    assert_type(tg.arange(5), Tensor[Shape[L[5]], NoneTape, np.int64])
    assert_type(tg.arange(7, 1, -2), Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(tg.linspace(0.0, 1.0, 7), Tensor[Shape[L[7]], NoneTape])
    assert_type(tg.eye(2, 3), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.eye(4, dtype=np.float64), Tensor[Shape[L[4], L[4]], NoneTape, np.float64])


def accept_counts_that_only_the_run_time_knows() -> None:
    def counted(n: int) -> None:
        n = abs(n)  # assigned again, so that it is unknown
        assert_type(tg.arange(n), Tensor[Shape[Any], NoneTape, np.int64])
        assert_type(tg.one_hot(tg.arange(3), n), Tensor[Shape[L[3], Any], NoneTape])

    counted(3)


def accept_numbers_of_numpy() -> None:
    assert_type(tg.arange(np.int64(5)), Tensor[Shape[L[5]], NoneTape, np.int64])
    assert_type(tg.eye(np.int64(2), np.int8(3)), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.linspace(np.float32(0.0), np.float64(1.0), np.int64(7)), Tensor[Shape[L[7]], NoneTape])


def accept_rows_with_a_one() -> None:
    assert_type(tg.one_hot(tg.tensor([0, 4]), 5), Tensor[Shape[L[2], L[5]], NoneTape])


def reject_arange() -> None:
    tg.arange(0, 5, 0)  # E: arange: step is 0 [tapegrad-shape]


def reject_a_truth_value_for_a_count() -> None:
    tg.arange(0, 5, step=True)  # E: arange: step is True but an int is expected [tapegrad-dtype]


def reject_a_truth_value_for_a_size() -> None:
    tg.eye(2, m=True)  # E: eye: m is True but an int is expected [tapegrad-dtype]


def reject_linspace() -> None:
    tg.linspace(0.0, 1.0, -1)  # E: linspace: num is -1, below 0 [tapegrad-shape]


def reject_eye() -> None:
    tg.eye(2, -3)  # E: eye: shape (2, -3) has the negative size -3 [tapegrad-shape]


def reject_one_hot() -> None:
    tg.one_hot(tg.arange(3), -1)  # E: one_hot: size is -1, below 0 [tapegrad-shape]


def reject_one_hot_of_floats() -> None:
    tg.one_hot(x, 3)  # E: one_hot: indices is float32 but integer is expected [tapegrad-dtype]
