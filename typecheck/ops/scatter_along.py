"""scatter and scatter_reduce keep the shape of the tensor that they change a copy of."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

table = tg.ones((2, 5))
block = tg.tensor([[1, 0, 2], [4, 1, 3]])
updates = tg.ones((2, 3))


def accept_known_sizes() -> None:
    assert_type(tg.scatter(table, block, updates, 1), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(tg.scatter(tg.ones((5, 3)), block, updates.trace()), Tensor[Shape[L[5], L[3]], OwnedTape])
    assert_type(tg.scatter_reduce(table.trace(), block, updates, 1, reduction="max"), Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(table.scatter_reduce(block, updates.trace(), -1, reduction="prod"), Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(tg.scatter(block, block[:, :1] % 3, block[:, :1], 1), Tensor[Shape[L[2], L[3]], NoneTape, np.int64])


def accept_named_and_unknown_sizes() -> None:
    def combined(
        x: Tensor[Shape[N, M]], i: Tensor[Shape[N, L[3]], NoneTape, np.int64], u: Tensor[Shape[Any, L[3]], OwnedTape]
    ) -> Tensor[Shape[N, M], OwnedTape]:
        assert_type(tg.scatter(x, i, u, 1), Tensor[Shape[N, M], OwnedTape])
        return tg.scatter_reduce(x, i, u, 1, reduction="mean", include_self=False)

    assert_type(combined(table, block, updates.trace()), Tensor[Shape[L[2], L[5]], OwnedTape])


def reject_updates_that_are_not_one_for_each_index() -> None:
    tg.scatter(table, block, tg.ones((2, 2)), 1)  # E: scatter: updates (2, 2) differ from indices (2, 3) [tapegrad-shape]


def reject_updates_of_another_rank() -> None:
    tg.scatter_reduce(table, block, tg.ones((3,)), 1, reduction="sum")  # E: scatter_reduce: updates (3,) differ from indices (2, 3) [tapegrad-shape]


def reject_indices_of_other_rows() -> None:
    tg.scatter_reduce(tg.ones((7, 5)), block, updates, 1, reduction="sum")  # E: scatter_reduce: indices (2, 3) has 2 along axis 0 but x (7, 5) has 7 [tapegrad-shape]


def reject_fractions_as_indices() -> None:
    tg.scatter(table, updates, updates, 1)  # E: scatter: indices is float32 but integer is expected [tapegrad-dtype]


def reject_updates_of_another_dtype() -> None:
    tg.scatter(table, block, block, 1)  # E: scatter: x is float32 but updates is int64 [tapegrad-dtype]


def reject_named_sizes_that_differ() -> None:
    def combined(x: Tensor[Shape[N, M]], u: Tensor[Shape[N, M]]) -> None:
        tg.scatter(x, x.argsort(1), u.mT, 1)  # E(mypy): scatter: updates (M, N) differ from indices (N, M) [tapegrad-shape]

    combined(tg.ones((3, 3)), tg.ones((3, 3)))
