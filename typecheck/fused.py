"""Fused functions keep their signature: body and calls are checked as those of any function."""

from typing import Any, TypeVar, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import Merge, NoneTape, OwnedTape, Shape, Tape, Tensor, fused, guarded

S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T", bound=Tape)
T1 = TypeVar("T1", bound=Tape)
T2 = TypeVar("T2", bound=Tape)
D = TypeVar("D", bound=np.floating[Any])
N = TypeVar("N", bound=int)
C = TypeVar("C", bound=int)


@guarded
@fused
def gate(x: Tensor[S, T, D], y: Tensor[S, T, D]) -> Tensor[S, T, D]:
    return tg.tanh(x) * tg.sigmoid(y) + x * y


@guarded
@fused
def shifted(x: Tensor[Shape[N, C], T1], bias: Tensor[Shape[C], T2], *, power: float = 2.0) -> Tensor[Shape[N, C], Merge[T1, T2]]:
    return tg.relu(x + bias) * power


def accept_equal_shapes() -> None:
    x, y = tg.ones((3, 5)), tg.zeros((3, 5))
    assert_type(gate(x, y), Tensor[tuple[L[3], L[5]], NoneTape])
    assert_type(gate(x.trace(), y), Tensor[tuple[L[3], L[5]], OwnedTape])


def accept_a_tape_on_either_side() -> None:
    x, bias = tg.ones((3, 5)), tg.zeros((5,))
    assert_type(shifted(x, bias), Tensor[tuple[L[3], L[5]], NoneTape])
    assert_type(shifted(x, bias.trace(), power=3.0), Tensor[tuple[L[3], L[5]], OwnedTape])
    assert_type(shifted(x.trace(), bias), Tensor[tuple[L[3], L[5]], OwnedTape])


def accept_named_sizes() -> None:
    def scores(x: Tensor[Shape[N, L[5]], NoneTape]) -> None:
        assert_type(gate(x, x), Tensor[tuple[N, L[5]], NoneTape])

    scores(tg.ones((3, 5)))


def accept_what_is_unknown() -> None:
    def anything(x: Tensor[Any, NoneTape]) -> None:
        assert_type(gate(x, x), Tensor[Any, NoneTape])

    anything(tg.ones((3, 5)))


def accept_another_dtype() -> None:
    x = tg.ones((3,), np.float64)
    assert_type(gate(x, x), Tensor[tuple[L[3]], NoneTape, np.float64])


def reject_other_sizes() -> None:
    gate(tg.ones((3, 5)), tg.ones((3, 4)))  # E: gate: S is (3, 5) in x but (3, 4) in y


def reject_a_bias_of_another_length() -> None:
    shifted(tg.ones((3, 5)), tg.zeros((4,)))  # E: shifted: C is 5 in x but 4 in bias


def reject_a_body_whose_operands_do_not_broadcast() -> None:
    @fused
    def product(x: Tensor[Shape[L[3], L[5]], T], y: Tensor[Shape[L[5], L[4]], T]) -> Tensor[Any, T]:
        return x * y  # E(mypy): mul: x (3, 5) and y (5, 4) do not broadcast: axis -1 is 5 in x but 4 in y
