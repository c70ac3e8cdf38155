"""Layers in parallel branches, layers that change shapes, and state space models."""

from typing import Literal as L
from typing import assert_type

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor, nn

B = TypeVar("B", bound=int)
N = TypeVar("N", bound=int)
W = TypeVar("W", bound=int)
T = TypeVar("T", bound=Tape)

batch = tg.ones((2, 4))


def accept_a_shortcut_that_changes_the_size() -> None:
    block = nn.GeneralizedAdd(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 5)), nn.Linear(4, 5))
    assert_type(block(batch), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(nn.Sequential(block, nn.Linear(5, 3))(batch.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_a_gate() -> None:
    gate = nn.GeneralizedMul(nn.Linear(4, 5), nn.Sequential(nn.Linear(4, 5), nn.Sigmoid()))

    def gated(x: Tensor[Shape[N, L[4]], T]) -> Tensor[Shape[N, L[5]], T]:
        return gate(x)

    assert_type(gated(batch), Tensor[Shape[L[2], L[5]], NoneTape])


def accept_shapes_and_probabilities() -> None:
    assert_type(nn.Reshape((4, 2))(batch), Tensor[Shape[L[4], L[2]], NoneTape])
    assert_type(nn.Softmax()(batch), Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(nn.LogSoftmax(0)(batch.trace()), Tensor[Shape[L[2], L[4]], OwnedTape])


def accept_state_spaces() -> None:
    def read(x: Tensor[Shape[B, N, W], T], width: W) -> Tensor[Shape[B, N, W], T]:
        return nn.SSM(width, 8)(x)

    assert_type(nn.SSM(4, 8), nn.SSM[L[4], L[8]])
    assert_type(nn.SSM(4, 8)(batch), Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(read(tg.ones((2, 7, 4)), 4), Tensor[Shape[L[2], L[7], L[4]], NoneTape])


def reject_two_that_differ() -> None:
    block = nn.GeneralizedAdd(nn.Linear(4, 5), nn.Linear(4, 3))  # E(mypy): GeneralizedAdd.second Linear(4, 3): the result is (..., 3) but (..., 5) is expected: axis -1 is 3, not 5 [tapegrad-shape]
    block(batch)


def reject_an_input_of_the_second() -> None:
    gate = nn.GeneralizedMul(nn.Tanh(), nn.Linear(3, 4))
    gate(batch)  # E: gate.second Linear(3, 4): x is (2, 4) but (..., 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]


def reject_a_sequence_of_another_width() -> None:
    nn.SSM(3, 8)(batch)  # E: SSM(3, 8): x is (2, 4) but (..., Steps, 3) is expected: axis -1 is 4, not 3 [tapegrad-shape]
