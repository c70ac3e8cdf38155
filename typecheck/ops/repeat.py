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
    x.repeat(2, 2)  # E: repeat: axis 2 is out of range for x (2, 3); tile repeats a whole tensor [tapegrad-shape]


def reject_fewer_than_none() -> None:
    tg.repeat(x, -1)  # E: repeat: repeats is -1, below 0 [tapegrad-shape]


def reject_tile() -> None:
    tg.tile(x, (2, -1))  # E: tile: reps has -1, below 0 [tapegrad-shape]


def reject_unfold() -> None:
    tg.unfold(x, 1, size=4)  # E: unfold: a window of 4 does not fit into 3 cells along axis 1 of x (2, 3) [tapegrad-shape]


def reject_windows_that_stand_still() -> None:
    tg.unfold(x, 1, size=2, step=0)  # E: unfold: step is 0 but at least 1 is expected [tapegrad-shape]


def accept_grids() -> None:
    columns, rows = tg.meshgrid(tg.ones(3), tg.ones(2))
    assert_type(columns, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(rows, Tensor[Shape[L[2], L[3]], NoneTape])
    a, b, c = tg.meshgrid(tg.ones(3).trace(), tg.ones(2), tg.ones(5), indexing="ij")
    assert_type(a, Tensor[Shape[L[3], L[2], L[5]], OwnedTape])
    assert_type(c, Tensor[Shape[L[3], L[2], L[5]], OwnedTape])
    assert b.shape == a.shape


def accept_grids_of_named_sizes() -> None:
    def grid(a: Tensor[Shape[N]], b: Tensor[Shape[L[2]]]) -> Tensor[Shape[L[2], N]]:
        assert_type(tg.meshgrid(a, b, indexing="ij")[0], Tensor[Shape[N, L[2]], NoneTape])
        return tg.meshgrid(a, b)[1]

    grid(tg.ones(3), tg.ones(2))


def reject_a_grid_of_a_matrix() -> None:
    tg.meshgrid(tg.ones(2), x)  # E: meshgrid: tensors[1] (2, 3) has rank 2, not 1 [tapegrad-shape]


def reject_a_grid_of_two_dtypes() -> None:
    tg.meshgrid(tg.ones(2), tg.arange(3))  # E: meshgrid: tensors[0] is float32 but tensors[1] is int64 [tapegrad-dtype]


def reject_a_bool_as_a_number_of_repetitions() -> None:
    tg.repeat(x, repeats=True)  # E: repeat: repeats is True but an int is expected [tapegrad-dtype]
