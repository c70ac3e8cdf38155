"""Bodies that mypy reads where the tensors of a call are unknown, but the model, the environment or a number is not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from numpy.typing import NDArray

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

Floats = NDArray[np.float32]
ACTIONS = {"left": -1, "stay": 0, "right": 1}
rows = tg.tensor(json.loads("[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]")).astype(np.float32)


class Policy(nn.Module):
    def __init__(self, inputs: int, actions: int, hidden: int = 5) -> None:
        self.body = nn.Linear(inputs, hidden)
        self.head = nn.Linear(hidden, actions)

    def forward(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.head(tg.relu(self.body(x)))


class Corridor:
    def __init__(self, length: int) -> None:
        self.length = length
        self.place = 0

    def reset(self) -> Floats:
        self.place = 0
        return self.observe()

    def observe(self) -> Floats:
        seen = np.zeros((self.length,), np.float32)
        seen[self.place] = 1.0
        return seen

    def step(self, action: int) -> tuple[Floats, bool]:
        self.place += action
        return self.observe(), self.place == self.length - 1


@dataclass
class Rollout:
    seen: Tensor[Any, Any]
    scores: Tensor[Any, Any]


class Agent:
    def __init__(self, inputs: int) -> None:
        self.policy = Policy(inputs, len(ACTIONS))

    def scores(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        return self.policy(x)


def collected(policy: Policy, corridor: Corridor) -> tuple[Rollout, float]:
    seen = tg.tensor(corridor.reset()).expand_dims(0)
    return Rollout(seen, policy(seen)), 1.0


def accept_a_model() -> None:
    assert_type(Policy(4, len(ACTIONS))(rows), Tensor[Shape[*tuple[Any, ...], L[3]], NoneTape])


def accept_a_method_of_an_object_with_a_model() -> None:
    assert_type(Agent(4).scores(rows), Tensor[Shape[*tuple[Any, ...], L[3]], NoneTape])


def accept_an_array_that_each_turn_of_a_loop_replaces() -> None:
    corridor, seen = Corridor(4), []
    state, done = corridor.reset(), False
    while not done:
        seen.append(state)
        assert_type(tg.tensor(state), Tensor[Shape[L[4]], NoneTape])
        state, done = corridor.step(1)
    assert_type(tg.tensor(state), Tensor[Shape[L[4]], NoneTape])


def accept_a_record_in_a_loop() -> None:
    policy, corridor = Policy(4, 2), Corridor(4)
    for _ in range(2):
        rollout, _ = collected(policy, corridor)
        assert_type(rollout.scores, Tensor[Shape[L[1], L[2]], NoneTape])


def reject_the_result_of_a_model() -> None:
    Policy(4, len(ACTIONS))(rows) @ tg.ones((4, 2))  # E(mypy): matmul: inner sizes differ: x (..., 3) has 3 columns but y (4, 2) has 4 rows


def reject_the_result_of_a_method() -> None:
    Agent(4).scores(rows) @ tg.ones((4, 2))  # E(mypy): matmul: inner sizes differ: x (..., 3) has 3 columns but y (4, 2) has 4 rows


def reject_an_array_that_each_turn_of_a_loop_replaces() -> None:
    corridor = Corridor(4)
    state, done = corridor.reset(), False
    while not done:
        nn.Linear(3, 2)(tg.tensor(state))  # E: Linear(3, 2): x is (4,) but (..., 3) is expected: axis -1 is 4, not 3
        state, done = corridor.step(1)


def reject_a_record_in_a_loop() -> None:
    policy, corridor = Policy(4, 2), Corridor(4)
    for _ in range(2):
        rollout, _ = collected(policy, corridor)
        rollout.scores @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (1, 2) has 2 columns but y (3, 2) has 3 rows [tapegrad-shape]
