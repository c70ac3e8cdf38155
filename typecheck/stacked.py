"""Stacked recurrent layers: widths, directions and states."""

from typing import Any, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, OwnedTape, Shape, Tensor, nn

B = TypeVar("B", bound=int)
N = TypeVar("N", bound=int)
H = TypeVar("H", bound=int)

sequence = tg.ones((2, 7, 3))


def accept_a_stack() -> None:
    model = nn.StackedGRU(3, 5, 4)
    assert_type(model, nn.StackedGRU[L[3], L[5], L[4], L[1]])
    y, h = model(sequence)
    assert_type(y, Tensor[Shape[L[2], L[7], L[5]], NoneTape])
    assert_type(h, Tensor[Shape[L[4], L[2], L[5]], NoneTape])
    assert_type(model(sequence[0].trace(), tg.ones((4, 5)))[0], Tensor[Shape[L[7], L[5]], OwnedTape])


def accept_two_directions() -> None:
    y, h, c = nn.StackedLSTM(3, 5, 2, directions=2, dropout=0.1)(sequence, c=tg.ones((4, 2, 5)).trace())
    assert_type(y, Tensor[Shape[L[2], L[7], L[10]], OwnedTape])
    assert_type(h, Tensor[Shape[L[4], L[2], L[5]], OwnedTape])
    assert_type(c, Tensor[Shape[L[4], L[2], L[5]], OwnedTape])


def accept_named_and_unknown_sizes() -> None:
    def read(x: Tensor[Shape[B, N, L[3]], NoneTape], hidden: H, layers: int) -> Tensor[Shape[B, N, Mul[L[2], H]], NoneTape]:
        layers = abs(layers)  # assigned again, so that it is unknown
        assert_type(nn.StackedRNN(3, 5, layers)(x)[1], Tensor[Shape[Any, B, L[5]], NoneTape])
        return nn.StackedRNN(3, hidden, 2, directions=2)(x)[0]

    assert_type(read(sequence, 5, 1), Tensor[Shape[L[2], L[7], L[10]], NoneTape])


def reject_a_sequence_of_another_width() -> None:
    nn.StackedGRU(4, 5, 2)(sequence)  # E: StackedGRU(4, 5, 2): x is (2, 7, 3) but (..., Steps, 4) is expected: axis -1 is 3, not 4 [tapegrad-shape]


def reject_states_of_other_layers() -> None:
    nn.StackedRNN(3, 5, 2, directions=2)(sequence, tg.ones((2, 2, 5)))  # E: StackedRNN(3, 5, 2, 2): h is (2, 2, 5) but (4, ..., 5) is expected: axis 0 is 2, not 4 [tapegrad-shape]
