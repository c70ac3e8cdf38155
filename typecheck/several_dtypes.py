"""Lists and dictionaries of tensors of several dtypes: an item has the shape that all have, and an unknown dtype."""

from __future__ import annotations

from typing import Any, TypeVar, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor, nn

S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T", bound=Tape)
D = TypeVar("D", bound=np.generic)

batch = {"mask": tg.ones((3, 4)), "ids": tg.zeros((3,), np.int64)}
parts = [tg.ones((2, 3)), tg.zeros((2, 3), np.int64), tg.ones((2, 3), np.float64)]
floats = [tg.ones((2, 3)), tg.ones((2, 3), np.float64)]


def same(x: Tensor[S, T, D]) -> Tensor[S, T, D]:
    """Take a tensor of any dtype."""
    return x


def ints(x: Tensor[Shape[L[2], L[3]], NoneTape, np.int64]) -> None:
    """Take a tensor of ints."""


def accept_a_dictionary() -> None:
    assert_type(batch["mask"].trace(), Tensor[Shape[L[3], L[4]], OwnedTape])
    assert_type(batch["ids"], Tensor[Shape[L[3]], NoneTape, np.int64])


def accept_items_of_a_list() -> None:
    for part in parts:
        assert_type(same(part), Tensor[Shape[L[2], L[3]], NoneTape, Any])
        assert_type(part.numpy(), np.ndarray[tuple[L[2], L[3]], np.dtype[Any]])
        assert_type(part.dtype, np.dtype[Any])
        assert_type(part.T, Tensor[Shape[L[3], L[2]], NoneTape, Any])
    for one, other in zip(floats, parts[:2], strict=True):
        assert_type(one.astype(np.float32) * other.astype(np.float32), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_another_dtype() -> None:
    more = [tg.ones((2, 3)), tg.zeros((2, 3), np.int64)]
    more.append(tg.ones((2, 3), np.int32))
    taken: list[Tensor[Any, Any, Any]] = [*more]
    del taken


def accept_in_a_call() -> None:
    ints(parts[1])
    assert_type(nn.Linear(3, 4)(floats[0]), Tensor[Shape[L[2], L[4]], NoneTape])


def accept_as_one_dtype() -> None:
    mask: Tensor[Shape[L[2], L[3]], NoneTape] = parts[0]
    ids: Tensor[Shape[L[2], L[3]], NoneTape, np.int64] = parts[1]
    assert_type(mask * ids.astype(np.float32), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_a_wrong_shape() -> None:
    tg.matmul(parts[0], parts[1])  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (2, 3) has 2 rows


def reject_a_wrong_key() -> None:
    batch["mask"] @ batch["mask"]  # E: matmul: inner sizes differ: x (3, 4) has 4 columns but y (3, 4) has 3 rows
