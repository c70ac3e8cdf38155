"""`scan`: the state keeps its shape and dtype, a step gets one element of the sequence, and results are stacked."""

from typing import Any, TypeVar, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor, guarded, nn

N = TypeVar("N", bound=int)
Steps = TypeVar("Steps", bound=int)
T = TypeVar("T", bound=Tape)


@guarded
def cell(h: Tensor[Shape[N, L[3]], T], x: Tensor[Shape[N, L[3]], T]) -> tuple[Tensor[Shape[N, L[3]], T], Tensor[Shape[N], T]]:
    h = tg.tanh(h + x)
    return h, h.sum(axis=1)


def accept_known_sizes() -> None:
    h, sums = tg.scan(cell, tg.zeros((2, 3)), tg.ones((5, 2, 3)))
    assert_type(h, Tensor[tuple[L[2], L[3]], NoneTape])
    assert_type(sums, Tensor[tuple[L[5], L[2]], NoneTape])


def accept_a_tape_of_the_state_or_of_the_sequence() -> None:
    h, xs = tg.zeros((2, 3)), tg.ones((5, 2, 3))
    last, sums = tg.scan(cell, h, xs.trace())
    assert_type(last, Tensor[tuple[L[2], L[3]], OwnedTape])
    assert_type(sums, Tensor[tuple[L[5], L[2]], OwnedTape])
    assert_type(tg.scan(cell, h.trace(), xs)[1], Tensor[tuple[L[5], L[2]], OwnedTape])
    gradient = sums.sum().backward()[xs]
    assert_type(gradient, Tensor[tuple[L[5], L[2], L[3]], NoneTape])


def accept_a_tape_that_the_step_reads() -> None:
    scale = tg.ones((3,)).trace()

    def scaled(h: Tensor[Shape[N, L[3]], T], x: Tensor[Shape[N, L[3]], T]) -> tuple[Tensor[Shape[N, L[3]], OwnedTape], None]:
        return (h + x) * scale, None

    h, nothing = tg.scan(scaled, tg.zeros((2, 3)), tg.ones((5, 2, 3)))
    assert_type(h, Tensor[tuple[L[2], L[3]], OwnedTape])
    assert_type(nothing, None)


def accept_named_sizes() -> None:
    def sums(xs: Tensor[Shape[Steps, N, L[3]], T], h: Tensor[Shape[N, L[3]], T]) -> Tensor[Shape[Steps, N], T]:
        last, sums = tg.scan(cell, h, xs)
        assert_type(last, Tensor[tuple[N, L[3]], T])
        return sums

    assert_type(sums(tg.ones((5, 2, 3)), tg.zeros((2, 3))), Tensor[tuple[L[5], L[2]], NoneTape])


def accept_tuples() -> None:
    def counted(
        state: tuple[Tensor[Shape[L[3]], T], Tensor[Shape[()], NoneTape, np.int64]],
        row: tuple[Tensor[Shape[L[3]], T], Tensor[Shape[()], NoneTape, np.int64]],
    ) -> tuple[
        tuple[Tensor[Shape[L[3]], T], Tensor[Shape[()], NoneTape, np.int64]],
        tuple[Tensor[Shape[()], T], Tensor[Shape[()], NoneTape, np.int64]],
    ]:
        (h, count), (x, label) = state, row
        return (h + x, count + label), (h.sum(), label)

    start = tg.zeros((3,)), tg.tensor(0)
    (h, count), (sums, labels) = tg.scan(counted, start, (tg.ones((5, 3)).trace(), tg.arange(5)))
    assert_type(h, Tensor[tuple[L[3]], OwnedTape])
    assert_type(count, Tensor[tuple[()], NoneTape, np.int64])
    assert_type(sums, Tensor[tuple[L[5]], OwnedTape])
    assert_type(labels, Tensor[tuple[L[5]], NoneTape, np.int64])


def accept_layers() -> None:
    layer = nn.Linear(3, 3)

    def step(h: Tensor[Shape[N, L[3]], T], x: Tensor[Shape[N, L[3]], T]) -> tuple[Tensor[Shape[N, L[3]], T], Tensor[Shape[N, L[3]], T]]:
        h = tg.tanh(layer(h) + x)
        return h, h

    assert_type(tg.scan(step, tg.zeros((2, 3)), tg.ones((5, 2, 3)).trace())[1], Tensor[tuple[L[5], L[2], L[3]], OwnedTape])


def accept_a_lambda() -> None:
    h, ys = tg.scan(lambda h, x: (h + x, x.sum()), tg.zeros((3,)), tg.ones((5, 3)).trace())
    assert_type(h, Tensor[tuple[L[3]], OwnedTape])
    assert_type(ys, Tensor[tuple[L[5]], OwnedTape])


def accept_unknown_operands() -> None:
    h: Any = tg.zeros((2, 3))
    xs: Any = tg.ones((5, 2, 3))
    last, sums = tg.scan(cell, h, xs)
    assert sums.shape == (5, 2)
    assert tg.scan(cell, tg.zeros((2, 3)), xs)[0].shape == last.shape


def accept_a_checkpointed_and_a_compiled_step() -> None:
    h, sums = tg.scan(tg.checkpoint(cell), tg.zeros((2, 3)), tg.ones((5, 2, 3)).trace())
    assert_type(h, Tensor[tuple[L[2], L[3]], OwnedTape])
    assert_type(sums, Tensor[tuple[L[5], L[2]], OwnedTape])


def reject_elements_that_do_not_fit() -> None:
    tg.scan(cell, tg.zeros((2, 3)), tg.ones((5, 2, 4)))  # E: cell: x is (2, 4) but (N, 3) is expected: axis 1 is 4, not 3 [tapegrad-shape]


def reject_a_state_that_does_not_fit() -> None:
    tg.scan(cell, tg.zeros((4, 3)), tg.ones((5, 2, 3)))  # E: cell: N is 4 in h but 2 in x [tapegrad-shape]


def reject_a_state_that_shrinks() -> None:
    def shrunk(h: Tensor[Shape[Any], T], x: Tensor[Shape[L[3]], T]) -> tuple[Tensor[Shape[L[3]], T], None]:
        return x, None

    tg.scan(shrunk, tg.zeros((4,)), tg.ones((5, 3)))  # E: scan: the new state is (3,) but (4,) is expected: axis 0 is 3, not 4 [tapegrad-shape]


def reject_a_part_of_the_state_of_another_dtype() -> None:
    def count(
        state: tuple[Tensor[Shape[L[3]], T], Tensor[Shape[()], NoneTape, np.int64]], x: Tensor[Shape[L[3]], T]
    ) -> tuple[tuple[Tensor[Shape[L[3]], T], Tensor[Shape[()], NoneTape]], None]:
        return (x, tg.tensor(1.0)), None

    start = tg.zeros((3,)), tg.tensor(0)
    tg.scan(count, start, tg.ones((5, 3)))  # E: scan: the new state[1] is float32 but int64 is expected [tapegrad-dtype]


def reject_a_state_of_another_structure() -> None:
    def doubled(h: Tensor[Shape[L[3]], T], x: Tensor[Shape[L[3]], T]) -> tuple[tuple[Tensor[Shape[L[3]], T], Tensor[Shape[L[3]], T]], None]:
        return (h, x), None

    tg.scan(doubled, tg.zeros((3,)), tg.ones((5, 3)))  # E: scan: the new state is (a tensor, a tensor) but a tensor is expected [tapegrad-dtype]


def reject_a_step_without_a_result() -> None:
    def added(h: Tensor[Shape[L[3]], T], x: Tensor[Shape[L[3]], T]) -> Tensor[Shape[L[3]], T]:
        return tg.add(h, x)

    tg.scan(added, tg.zeros((3,)), tg.ones((5, 3)))  # E: scan: step returns float32 but a state and a result are expected [tapegrad-dtype]


def reject_a_step_of_three_results() -> None:
    def added(h: Tensor[Shape[L[3]], T], x: Tensor[Shape[L[3]], T]) -> tuple[Tensor[Shape[L[3]], T], None, None]:
        return tg.add(h, x), None, None

    tg.scan(added, tg.zeros((3,)), tg.ones((5, 3)))  # E: scan: step returns a tuple of 3 but a state and a result are expected [tapegrad-dtype]


def reject_sequences_of_two_lengths() -> None:
    tg.scan(lambda h, x: (h, None), tg.zeros((3,)), (tg.ones((5, 3)), tg.ones((4, 3))))  # E: scan: xs[1] has 4 steps but xs[0] has 5 [tapegrad-shape]


def reject_no_steps() -> None:
    tg.scan(cell, tg.zeros((2, 3)), tg.ones((0, 2, 3)))  # E: scan: xs (0, 2, 3) has no steps [tapegrad-shape]


def reject_a_number_for_a_sequence() -> None:
    tg.scan(lambda h, x: (h, None), tg.zeros((3,)), tg.tensor(1.0))  # E: scan: xs has shape () but needs an axis of steps [tapegrad-shape]
