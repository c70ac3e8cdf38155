"""repeat, tile and sliding windows: literal, named and unknown sizes."""

from typing import Any, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, OwnedTape, Shape, Sub, Tensor

N = TypeVar("N", bound=int)

x = tg.ones((2, 3))


def accept_repeat() -> None:
    assert_type(tg.repeat(x, 2), Tensor[Shape[L[12]], NoneTape])
    assert_type(x.trace().repeat(2, 0), Tensor[Shape[L[4], L[3]], OwnedTape])


def accept_tile() -> None:
    assert_type(tg.tile(x, 2), Tensor[Shape[L[2], L[6]], NoneTape])
    assert_type(tg.tile(x.trace(), (5, 1, 2)), Tensor[Shape[L[5], L[2], L[6]], OwnedTape])


def accept_windows() -> None:
    assert_type(tg.unfold(tg.ones((2, 7)), 1, size=3, step=2), Tensor[Shape[L[2], L[3], L[3]], NoneTape])
    assert_type(tg.unfold(x.trace(), 0, size=2), Tensor[Shape[L[1], L[3], L[2]], OwnedTape])


def accept_named_and_unknown_sizes() -> None:
    def copied(a: Tensor[Shape[N, L[3]]], b: Tensor[Shape[Any, L[3]]], k: int) -> None:
        k = abs(k)  # assigned again, so that it is unknown
        assert_type(tg.repeat(a, 2, 0), Tensor[Shape[Mul[L[2], N], L[3]], NoneTape])
        assert_type(tg.repeat(a, k, 1), Tensor[Shape[N, Any], NoneTape])
        assert_type(tg.tile(b, 2), Tensor[Shape[Any, L[6]], NoneTape])
        assert_type(tg.unfold(a, 0, size=2), Tensor[Shape[Sub[N, L[1]], L[3], L[2]], NoneTape])
        assert_type(tg.unfold(a, 1, size=k), Tensor[Shape[N, Any, Any], NoneTape])

    copied(tg.ones((5, 3)), x, 1)


def reject_repeat() -> None:
    x.repeat(2, 2)  # E: repeat: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_fewer_than_none() -> None:
    tg.repeat(x, -1)  # E: repeat: repeats is -1, below 0 [tapegrad-shape]


def reject_tile() -> None:
    tg.tile(x, (2, -1))  # E: tile: reps has -1, below 0 [tapegrad-shape]


def reject_unfold() -> None:
    tg.unfold(x, 1, size=4)  # E: unfold: a window of 4 does not fit into 3 cells along axis 1 of x (2, 3) [tapegrad-shape]


def reject_windows_that_stand_still() -> None:
    tg.unfold(x, 1, size=2, step=0)  # E: unfold: step is 0 but at least 1 is expected [tapegrad-shape]
