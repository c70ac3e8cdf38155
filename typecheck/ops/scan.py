"""ssm_scan: three operands of one shape, which the states have too."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((3, 2))


def accept_one_shape() -> None:
    assert_type(tg.ssm_scan(x, x, x), Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(tg.ssm_scan(x, x.trace(), x, axis=1), Tensor[Shape[L[3], L[2]], OwnedTape])


def accept_named_sizes() -> None:
    def scanned(a: Tensor[Shape[N, M]], x: Tensor[Shape[N, M], OwnedTape]) -> Tensor[Shape[N, M], OwnedTape]:
        return tg.ssm_scan(a, a, x)

    assert_type(scanned(x, x.trace()), Tensor[Shape[L[3], L[2]], OwnedTape])


def accept_unknown_sizes() -> None:
    def scanned(a: Tensor[Any, NoneTape], axis: int) -> None:
        assert_type(tg.ssm_scan(a, a, x), Tensor[Shape[Any, Any], NoneTape])
        assert_type(tg.ssm_scan(x, x, x, axis), Tensor[Any, NoneTape])

    scanned(x, 0)


def accept_dtypes() -> None:
    a = x.astype(np.float64)
    assert_type(tg.ssm_scan(a, a, a), Tensor[Shape[L[3], L[2]], NoneTape, np.float64])


def reject_another_shape() -> None:
    tg.ssm_scan(x, x, tg.ones((2, 3)))  # E: ssm_scan: a is (3, 2) but x is (2, 3) [tapegrad-shape]


def reject_another_rank() -> None:
    tg.ssm_scan(x, tg.ones((2,)), x)  # E: ssm_scan: a is (3, 2) but b is (2,) [tapegrad-shape]


def reject_no_axis() -> None:
    tg.ssm_scan(x, x, x, axis=2)  # E: ssm_scan: axis 2 is out of range for a (3, 2) [tapegrad-shape]


def reject_named_sizes_that_differ() -> None:
    def scanned(a: Tensor[Shape[N, M]], b: Tensor[Shape[M, N]]) -> None:
        tg.ssm_scan(a, a, b)  # E(mypy): ssm_scan: a is (N, M) but x is (M, N) [tapegrad-shape]

    scanned(x, tg.ones((2, 3)))


def reject_two_dtypes() -> None:
    tg.ssm_scan(x, x, x.astype(np.float64))  # E: ssm_scan: a is float32 but x is float64 [tapegrad-dtype]


def reject_ints() -> None:
    whole = tg.tensor([1, 2, 3])
    tg.ssm_scan(whole, whole, whole)  # E: ssm_scan: a is int64 but floating is expected [tapegrad-dtype]
