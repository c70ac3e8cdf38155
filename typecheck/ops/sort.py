"""Sorting: `topk` gives values and their indices, each with its own tape and dtype."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
whole = tg.tensor([3, 1, 2])


def accept_sort() -> None:
    assert_type(tg.sort(x.trace(), 0), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.sort(whole, descending=True), Tensor[Shape[L[3]], NoneTape, np.int64])


def accept_argsort() -> None:
    assert_type(tg.argsort(x.trace(), 0), Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(x.argsort(descending=True), Tensor[Shape[L[2], L[3]], NoneTape, np.int64])


def accept_topk() -> None:
    values, indices = tg.topk(x.trace(), 2)
    assert_type(values, Tensor[Shape[L[2], L[2]], OwnedTape])
    assert_type(indices, Tensor[Shape[L[2], L[2]], NoneTape, np.int64])
    assert_type(tg.topk(whole, 1)[0], Tensor[Shape[L[1]], NoneTape, np.int64])
    assert_type(tg.topk(x, 1, 0, largest=False)[1], Tensor[Shape[L[1], L[3]], NoneTape, np.int64])


def accept_named_and_unknown_sizes() -> None:
    def ordered(a: Tensor[Shape[N, M], OwnedTape], b: Tensor[Any], k: int) -> Tensor[Shape[N, M], OwnedTape]:
        k = abs(k)  # assigned again, so that it is unknown
        assert_type(tg.topk(a, 1)[0], Tensor[Shape[N, L[1]], OwnedTape])
        assert_type(tg.topk(a, k)[1], Tensor[Shape[N, Any], NoneTape, np.int64])
        assert_type(tg.topk(b, k)[0], Tensor[Any, NoneTape])
        return tg.sort(a, 0)

    assert_type(ordered(x.trace(), x, 2), Tensor[Shape[L[2], L[3]], OwnedTape])


def reject_sort() -> None:
    tg.sort(x, 2)  # E: sort: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_argsort() -> None:
    x.argsort(-3)  # E: argsort: axis -3 is out of range for x (2, 3) [tapegrad-shape]


def reject_argsort_of_a_scalar() -> None:
    tg.argsort(tg.ones(()))  # E: argsort: axis -1 is out of range for x () [tapegrad-shape]


def reject_topk() -> None:
    tg.topk(x, 4)  # E: topk: k is 4 but axis 1 of x (2, 3) has 3 [tapegrad-shape]


def reject_fewer_than_none() -> None:
    tg.topk(x, -1)  # E: topk: k is -1, below 0 [tapegrad-shape]


def reject_a_number_of_elements_that_is_no_int() -> None:
    tg.topk(tg.ones((2, 3)), "2")  # E: topk: k is '2' but an int is expected [arg-type]


def reject_a_number_of_elements_in_a_variable_that_is_no_int() -> None:
    count = [2]
    tg.topk(tg.ones((2, 3)), count)  # E(mypy): topk: k is a list but an int is expected [arg-type]
