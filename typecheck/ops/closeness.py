"""isclose gives the shape both broadcast to, allclose one bool; neither has a tape."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
y = tg.ones((3,))


def accept_tolerances() -> None:
    assert_type(tg.isclose(x.trace(), y), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.isclose(x, 1.0, rtol=0.1, equal_nan=True), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(x.isclose(y, atol=0.5), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.allclose(x, y.trace()), Tensor[tuple[()], NoneTape, np.bool_])


def accept_named_and_unknown_sizes() -> None:
    def compared(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> None:
        assert_type(tg.isclose(a, b), Tensor[Shape[N, M], NoneTape, np.bool_])
        assert_type(tg.isclose(c, y), Tensor[Shape[Any, L[3]], NoneTape, np.bool_])
        assert_type(tg.allclose(c, y), Tensor[tuple[()], NoneTape, np.bool_])

    compared(x, y, x)


def reject_isclose() -> None:
    tg.isclose(x, tg.ones(2))  # E: isclose: x (2, 3) and y (2,) do not broadcast: axis -1 is 3 in x but 2 in y [tapegrad-shape]


def reject_allclose() -> None:
    tg.allclose(x, tg.ones(2))  # E: allclose: x (2, 3) and y (2,) do not broadcast: axis -1 is 3 in x but 2 in y [tapegrad-shape]


def reject_another_dtype() -> None:
    tg.allclose(x, tg.ones(3, np.float64))  # E: allclose: x is float32 but y is float64 [tapegrad-dtype]


def reject_bools() -> None:
    tg.isclose(x > 0, x > 1)  # E: isclose: x is bool but number is expected [tapegrad-dtype]
