"""Lists, deques and samples of dataclasses and named tuples: their fields have the shapes that `append` gives them."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor


@dataclass
class Step:
    """A state and its reward."""

    x: Tensor[Any]
    reward: float


class Transition(NamedTuple):
    """A state of NumPy, and the one after it."""

    state: np.ndarray[Any, np.dtype[np.float32]]
    following: Tensor[Any]


def collected(count: int) -> list[Step]:
    """Collect steps in a loop."""
    steps: list[Step] = []
    while len(steps) < count:
        steps.append(Step(x=tg.ones((4, 3)), reward=0.5))
    for step in steps:
        assert_type(step.x, Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(tg.stack([step.x for step in steps]), Tensor[Shape[Any, L[4], L[3]], NoneTape])
    assert_type(steps[-1].x, Tensor[Shape[L[4], L[3]], NoneTape])
    return steps


def reject_a_field_of_a_step() -> None:
    steps: list[Step] = []
    while len(steps) < 2:
        steps.append(Step(x=tg.ones((4, 3)), reward=0.5))
    for step in steps:
        step.x @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (4, 3) has 3 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_what_several_steps_have_in_common() -> None:
    for step in [Step(tg.ones((4, 3)), 0.5), Step(tg.ones((5, 3)), 0.5)]:
        step.x.sum(axis=0) + tg.ones((5,))  # E: add: x (3,) and y (5,) do not broadcast: axis -1 is 3 in x but 5 in y [tapegrad-shape]


def mean_reward(steps: list[Step]) -> float:
    """Only read a list."""
    return sum(step.reward for step in steps) / len(steps)


def reject_a_field_of_a_sorted_list_that_a_function_reads() -> None:
    steps = [Step(tg.ones((2, 3)), 0.5)]
    steps.append(Step(tg.ones((2, 3)), mean_reward(steps)))
    for step in sorted(steps, key=lambda one: one.reward):
        step.x @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (5, 2) has 5 rows [tapegrad-shape]


def filled() -> deque[Transition]:
    """Keep the last transitions, and sample some."""
    memory: deque[Transition] = deque(maxlen=10)
    for _ in range(8):
        memory.append(Transition(np.zeros(4, np.float32), tg.ones((4,))))
    batch = random.sample(list(memory), 2)
    states, following = zip(*batch, strict=True)
    assert_type(tg.stack(list(following)), Tensor[Shape[Any, L[4]], NoneTape])
    assert_type(tg.tensor(np.stack(states)), Tensor[Shape[Any, L[4]], NoneTape, Any])
    assert_type(tg.tensor(np.stack([one.state for one in batch])), Tensor[Shape[Any, L[4]], NoneTape])
    memory.popleft()
    return memory


def reject_the_state_of_a_sample() -> None:
    memory: deque[Transition] = deque(maxlen=10)
    for _ in range(8):
        memory.append(Transition(np.zeros(4, np.float32), tg.ones((4,))))
    states, _ = zip(*random.sample(list(memory), 2), strict=True)
    tg.tensor(np.stack(states)).sum(axis=0) + tg.ones((5,))  # E: add: x (4,) and y (5,) do not broadcast: axis -1 is 4 in x but 5 in y [tapegrad-shape]


def reject_a_transition_by_chance() -> None:
    memory: deque[Transition] = deque(maxlen=10)
    memory.append(Transition(np.zeros(4, np.float32), tg.ones((4,))))
    last = random.choice(memory)  # noqa: S311  # no secret
    last.following @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (4,) has 4 elements but y (5, 2) has 5 rows [tapegrad-shape]


def reject_a_column_of_pairs() -> None:
    pairs: list[tuple[np.ndarray[Any, np.dtype[np.float32]], int]] = []
    while len(pairs) < 8:
        pairs.append((np.zeros(4, np.float32), len(pairs)))
    states, _ = zip(*pairs, strict=True)
    tg.tensor(np.stack(states)).sum(axis=0) + tg.ones((5,))  # E: add: x (4,) and y (5,) do not broadcast: axis -1 is 4 in x but 5 in y [tapegrad-shape]


def accept_steps_of_other_shapes() -> None:
    steps = collected(2)
    steps.append(Step(tg.ones((2, 5)), 0.5))
    steps[-1].x @ tg.ones((5, 2))
    filled().append(Transition(np.zeros(5, np.float32), tg.ones((5,))))
