"""searchsorted has the shape of the values, isin that of `x`."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor

N = TypeVar("N", bound=int)

limits = tg.tensor([1.0, 2.0, 5.0])
x = tg.ones((2, 5))
labels = tg.tensor([[3, 1, 2], [7, 3, 0]])


def accept_positions() -> None:
    assert_type(tg.searchsorted(limits, x.trace()), Tensor[Shape[L[2], L[5]], NoneTape, np.int64])
    assert_type(tg.searchsorted(limits, tg.tensor(0.5), side="right"), Tensor[tuple[()], NoneTape, np.int64])


def accept_membership() -> None:
    assert_type(tg.isin(labels, tg.tensor([3, 7])), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.isin(x.trace(), limits, invert=True), Tensor[Shape[L[2], L[5]], NoneTape, np.bool_])


def accept_named_and_unknown_sizes() -> None:
    def found(a: Tensor[Shape[N]], b: Tensor[Shape[Any, L[3]]]) -> None:
        assert_type(tg.searchsorted(a, b), Tensor[Shape[Any, L[3]], NoneTape, np.int64])
        assert_type(tg.isin(a, b), Tensor[Shape[N], NoneTape, np.bool_])

    found(limits, tg.ones((2, 3)))


def reject_a_matrix() -> None:
    tg.searchsorted(x, limits)  # E: searchsorted: x (2, 5) has rank 2, not 1 [tapegrad-shape]


def reject_another_dtype() -> None:
    tg.isin(labels, limits)  # E: isin: x is int64 but values is float32 [tapegrad-dtype]


def reject_a_side_that_does_not_exist() -> None:
    tg.searchsorted(limits, x, side="up")  # type: ignore[arg-type]  # E(Python): searchsorted: side is 'up' but 'left' or 'right' is expected


def accept_distinct_elements() -> None:
    assert_type(tg.unique(labels), Tensor[Shape[Any], NoneTape, np.int64])
    assert_type(x.trace().unique(), Tensor[Shape[Any], NoneTape])
