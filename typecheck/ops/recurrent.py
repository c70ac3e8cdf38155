"""Recurrent networks: batch and steps come from `x`, the width from the state."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, OwnedTape, Shape, Tensor

B = TypeVar("B", bound=int)
N = TypeVar("N", bound=int)
I = TypeVar("I", bound=int)
H = TypeVar("H", bound=int)

x, step, h = tg.ones((2, 7, 3)), tg.ones((2, 3)), tg.ones((2, 5))
w, u, b = tg.ones((3, 5)), tg.ones((5, 5)), tg.ones((5,))
w3, u3, b3 = tg.ones((3, 15)), tg.ones((5, 15)), tg.ones((15,))
w4, u4, b4 = tg.ones((3, 20)), tg.ones((5, 20)), tg.ones((20,))


def accept_sequences() -> None:
    assert_type(tg.rnn(x, h, w, u, b, b), tuple[Tensor[Shape[L[2], L[7], L[5]], NoneTape], Tensor[Shape[L[2], L[5]], NoneTape]])
    y, last = tg.gru(x.trace(), h, w3, u3, b3, b3)
    assert_type(y, Tensor[Shape[L[2], L[7], L[5]], OwnedTape])
    assert_type(last, Tensor[Shape[L[2], L[5]], OwnedTape])
    z, short, memory = tg.lstm(x, h, h.trace(), w4, u4, b4, b4)
    assert_type(z, Tensor[Shape[L[2], L[7], L[5]], OwnedTape])
    assert_type(short, Tensor[Shape[L[2], L[5]], OwnedTape])
    assert_type(memory, Tensor[Shape[L[2], L[5]], OwnedTape])


def accept_cells() -> None:
    assert_type(tg.rnn_cell(step, h, w, u, b, b), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(tg.gru_cell(step, h.trace(), w3, u3, b3, b3), Tensor[Shape[L[2], L[5]], OwnedTape])
    short, memory = tg.lstm_cell(step, h, h, w4, u4, b4, b4)
    assert_type(short, Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(memory, Tensor[Shape[L[2], L[5]], NoneTape])


def accept_one_sequence_without_a_batch() -> None:
    y, last = tg.rnn(x[0], h[0], w, u, b, b)
    assert_type(y, Tensor[Shape[L[7], L[5]], NoneTape])
    assert_type(last, Tensor[Shape[L[5]], NoneTape])


def accept_the_tape_of_a_weight() -> None:
    assert_type(tg.rnn_cell(step, h, w.trace(), u, b, b), Tensor[Shape[L[2], L[5]], OwnedTape])


def accept_named_sizes() -> None:
    def read(
        a: Tensor[Shape[B, N, I], NoneTape],
        s: Tensor[Shape[B, H], OwnedTape],
        w: Tensor[Shape[I, Mul[L[3], H]], NoneTape],
        u: Tensor[Shape[H, Mul[L[3], H]], NoneTape],
        b: Tensor[Shape[Mul[L[3], H]], NoneTape],
    ) -> None:
        y, last = tg.gru(a, s, w, u, b, b)
        assert_type(last, Tensor[Shape[B, H], OwnedTape])
        assert_type(y, Tensor[Shape[B, N, H], OwnedTape])

    read(x, h.trace(), w3, u3, b3)


def accept_unknown_sizes() -> None:
    def read(a: Tensor[Shape[L[2], Any, L[3]]], c: Tensor[Any, OwnedTape], s: Tensor[Shape[L[2], Any]]) -> None:
        y, _ = tg.rnn(a, h, w, u, b, b)
        assert_type(y, Tensor[Shape[L[2], Any, L[5]], NoneTape])
        tg.gru(c, h, w3, u3, b3, b3)
        tg.lstm_cell(step, s, h, w4, u4, b4, b4)

    read(x, x.trace(), h)


def accept_dtypes() -> None:
    wide = b.astype(np.float64)
    y = tg.rnn_cell(step.astype(np.float64), h.astype(np.float64), w.astype(np.float64), u.astype(np.float64), wide, wide)
    assert_type(y, Tensor[Shape[L[2], L[5]], NoneTape, np.float64])


def reject_a_state_of_another_batch() -> None:
    tg.rnn(x, tg.ones((1, 5)), w, u, b, b)  # E: rnn: h is (1, 5) but (2, 5) is expected for x (2, 7, 3) [tapegrad-shape]


def reject_a_memory_of_another_width() -> None:
    tg.lstm_cell(step, h, step, w4, u4, b4, b4)  # E: lstm_cell: c is (2, 3) but (2, 5) is expected for x (2, 3) and h (2, 5) [tapegrad-shape]


def reject_the_weights_of_other_gates() -> None:
    tg.lstm(x, h, h, w3, u3, b3, b3)  # E: lstm: weight_x is (3, 15) but (3, 20) is expected for x (2, 7, 3) and h (2, 5) [tapegrad-shape]


def reject_a_weight_of_another_state() -> None:
    tg.gru(x, h, w3, w3, b3, b3)  # E: gru: weight_h is (3, 15) but (5, 15) is expected for x (2, 7, 3) and h (2, 5) [tapegrad-shape]


def reject_a_bias_that_would_broadcast() -> None:
    tg.gru_cell(step, h, w3, u3, b3, tg.ones((1,)))  # E: gru_cell: bias_h is (1,) but (15,) is expected for x (2, 3) and h (2, 5) [tapegrad-shape]


def reject_a_width_by_another_name() -> None:
    def read(a: Tensor[Shape[N, I]], s: Tensor[Shape[N, H]], w: Tensor[Shape[H, H]], b: Tensor[Shape[H]]) -> None:
        tg.rnn_cell(a, s, w, w, b, b)  # E(mypy): rnn_cell: weight_x is (H, H) but (I, H) is expected for x (N, I) and h (N, H) [tapegrad-shape]

    read(tg.ones((2, 5)), h, u, b)


def reject_no_steps() -> None:
    tg.rnn(x[:, :0], h, w, u, b, b)  # E: rnn: x (2, 0, 3) has no steps [tapegrad-shape]


def reject_a_step_without_a_sequence() -> None:
    tg.rnn(step[0], h[0], w, u, b, b)  # E: rnn: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]


def reject_a_state_of_another_dtype() -> None:
    tg.rnn(x, h.astype(np.float64), w, u, b, b)  # E: rnn: x is float32 but h is float64 [tapegrad-dtype]


def reject_ints() -> None:
    vector, matrix = tg.ones((1,), np.int64), tg.ones((1, 1), np.int64)
    tg.rnn_cell(matrix, matrix, matrix, matrix, vector, vector)  # E: rnn_cell: x is int64 but floating is expected [tapegrad-dtype]
