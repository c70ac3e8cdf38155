"""Checkpointing: a strategy for a tape, explicit segments, and types that stay unchanged."""

from typing import Literal as L
from typing import assert_type

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import BalancedCheckpointing, NoCheckpointing, OwnedTape, Shape, Tensor, nn
from tapegrad.autograd.tape import Tape

N = TypeVar("N", bound=int)
T = TypeVar("T", bound=Tape)

x = tg.ones((3, 5))
w = tg.ones((5, 2))


def accept_a_strategy() -> None:
    a = x.trace(checkpoint=BalancedCheckpointing())
    assert_type(a, Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(tg.gelu(a @ w), Tensor[Shape[L[3], L[2]], OwnedTape])
    assert_type(x.trace(checkpoint=NoCheckpointing()), Tensor[Shape[L[3], L[5]], OwnedTape])


def accept_a_segment() -> None:
    def block(a: Tensor[Shape[N, L[5]], T]) -> Tensor[Shape[N, L[5]], T]:
        return tg.tanh(a) * 2.0

    assert_type(tg.checkpoint(block)(x.trace()), Tensor[Shape[L[3], L[5]], OwnedTape])


def accept_a_layer() -> None:
    layer = nn.Linear(5, 7)
    assert_type(tg.checkpoint(layer)(x.trace()), Tensor[Shape[L[3], L[7]], OwnedTape])


def accept_what_a_layer_has() -> None:
    layer = tg.checkpoint(nn.Linear(5, 7))
    assert_type(layer.weight, nn.Param[Shape[L[5], L[7]]])


def reject_an_input_that_the_layer_rejects() -> None:
    tg.checkpoint(nn.Linear(5, 7))(w.trace())  # E: Linear(5, 7): x is (5, 2) but (..., 5) is expected: axis -1 is 2, not 5 [tapegrad-shape]


def reject_a_strategy_for_a_taped_tensor() -> None:
    x.trace().trace(checkpoint=BalancedCheckpointing())  # E: trace: the tensor has a tape already [tapegrad-tape]
