"""The plugin's cache of calls is used only for an equal call, in every respect that matters."""

from typing import Literal as L
from typing import assert_type

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, Tensor1D, nn

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

w = tg.ones((3, 5))
linear = nn.Linear(3, 5, rng=0)

def accept_a_name_of_each_function_its_own() -> None:
    def first(x: Tensor[Shape[N, L[3]], NoneTape]) -> None:
        assert_type(x @ w, Tensor[Shape[N, L[5]], NoneTape])
        assert_type(linear(x), Tensor[Shape[N, L[5]], NoneTape])

    def second(y: Tensor[Shape[N, L[3]], NoneTape], n: N) -> Tensor[Shape[N, L[5]], NoneTape]:
        assert_type(tg.concat((y, y), axis=1), Tensor[Shape[N, L[6]], NoneTape])
        linear(y) + y @ w + tg.ones((n, 1))
        return y @ w

    first(tg.ones((2, 3)))
    assert_type(second(tg.ones((2, 3)), 2), Tensor[Shape[L[2], L[5]], NoneTape])

def accept_two_names_in_the_other_order() -> None:
    def wide(x: Tensor[Shape[N, M], NoneTape], y: Tensor[Shape[M, N], NoneTape]) -> None:
        assert_type(x @ y, Tensor[Shape[N, N], NoneTape])
        assert_type(y @ x, Tensor[Shape[M, M], NoneTape])

    def tall(x: Tensor[Shape[M, N], NoneTape], y: Tensor[Shape[N, M], NoneTape]) -> None:
        assert_type(x @ y, Tensor[Shape[M, M], NoneTape])
        assert_type(y @ x, Tensor[Shape[N, N], NoneTape])

    wide(tg.ones((2, 3)), tg.ones((3, 2)))
    tall(tg.ones((2, 3)), tg.ones((3, 2)))

def accept_numbers_that_only_look_alike() -> None:
    i = tg.ones((2, 3), np.int64)
    assert_type(w[1:], Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(w[2:], Tensor[Shape[L[1], L[5]], NoneTape])
    assert_type(w[::2], Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(w[1], Tensor[Shape[L[5]], NoneTape])
    assert_type(w.sum(axis=1, keepdims=True), Tensor[Shape[L[3], L[1]], NoneTape])
    assert_type(w.sum(axis=1, keepdims=False), Tensor[Shape[L[3]], NoneTape])
    assert_type(w.sum(axis=(0, 1)), Tensor[Shape[()], NoneTape])
    assert_type(i + 1, Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(w + 1, Tensor[Shape[L[3], L[5]], NoneTape])

def reject_what_only_a_claim_allowed() -> None:
    def claimed(x: Tensor1D[N, NoneTape], y: Tensor1D[M, NoneTape], n: N, m: M) -> None:
        tg.assert_same(n, m)
        x + y

    def unclaimed(x: Tensor1D[N, NoneTape], y: Tensor1D[M, NoneTape]) -> None:
        x + y  # E(mypy): add: x (N,) and y (M,) do not broadcast: axis -1 is N in x but M in y [tapegrad-shape]

    claimed(tg.ones((3,)), tg.ones((3,)), 3, 3)
    unclaimed(tg.ones((3,)), tg.ones((2,)))

def reject_what_was_right_before_the_tape_was_consumed() -> None:
    loss = tg.ones(()).trace() * 2.0
    loss * 3.0
    loss.backward()
    loss * 3.0  # E(mypy): loss * 3.0: loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]

def reject_a_mistake_as_often_as_it_is_made() -> None:
    w @ w  # E: matmul: inner sizes differ: x (3, 5) has 5 columns but y (3, 5) has 3 rows

def reject_a_mistake_that_was_made_before() -> None:
    w @ w  # E: matmul: inner sizes differ: x (3, 5) has 5 columns but y (3, 5) has 3 rows

def reject_an_input_that_a_layer_rejected_before() -> None:
    linear(w)  # E: linear Linear(3, 5): x is (3, 5) but (..., 3) is expected: axis -1 is 5, not 3

def reject_an_input_that_a_layer_rejects_again() -> None:
    linear(w)  # E: linear Linear(3, 5): x is (3, 5) but (..., 3) is expected: axis -1 is 5, not 3
