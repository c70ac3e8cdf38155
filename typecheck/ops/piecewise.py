"""Piecewise activations: literal, named and unknown sizes."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)

x = tg.zeros((2, 3))
whole = tg.zeros((2, 3), np.int64)


def accept_relu6() -> None:
    assert_type(tg.relu6(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.relu6(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.relu6(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_relu6_of_ints() -> None:
    tg.relu6(whole)  # E: relu6: x is int64 but floating is expected [tapegrad-dtype]


def accept_hardtanh() -> None:
    assert_type(tg.hardtanh(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.hardtanh(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.hardtanh(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_hardtanh_of_ints() -> None:
    tg.hardtanh(whole)  # E: hardtanh: x is int64 but floating is expected [tapegrad-dtype]


def accept_hardswish() -> None:
    assert_type(tg.hardswish(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.hardswish(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.hardswish(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_hardswish_of_ints() -> None:
    tg.hardswish(whole)  # E: hardswish: x is int64 but floating is expected [tapegrad-dtype]


def accept_other_bounds_and_sizes() -> None:
    def bounded(a: Tensor[Shape[N, L[3]], OwnedTape], b: Tensor[Shape[Any, L[3]]]) -> Tensor[Shape[N, L[3]], OwnedTape]:
        assert_type(tg.relu6(b), Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(tg.hardtanh(b, -2.0, 2.0), Tensor[Shape[Any, L[3]], NoneTape])
        return tg.hardswish(a)

    assert_type(bounded(x.trace(), x), Tensor[Shape[L[2], L[3]], OwnedTape])
