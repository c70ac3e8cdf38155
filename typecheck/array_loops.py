"""Arrays that loops compute from themselves, by functions of the program: each turn gives them the same sizes."""

from __future__ import annotations

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
import numpy.typing as npt

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn


def velocity(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return an array of two columns."""
    return np.stack([x[:, 1], -np.sin(x[:, 0])], axis=1)


def simulated(count: int, rng: np.random.Generator) -> Tensor[Any, NoneTape, np.float64]:
    """Return the states at several times."""
    x = rng.uniform(-1.0, 1.0, (count, 2))
    states = [x]
    for _ in range(4):
        for _ in range(3):
            middle = x + 0.5 * velocity(x)
            x = x + velocity(middle)
        states.append(x)
    return tg.tensor(np.stack(states, axis=1))


def accept_a_simulation() -> None:
    states = simulated(12, np.random.default_rng(0))
    assert_type(states[:, 0], Tensor[Shape[L[12], L[2]], NoneTape, np.float64])
    nn.Linear(2, 3)(states.astype(np.float32))


def accept_two_arrays_that_depend_on_each_other() -> None:
    x, y = np.ones((3, 2)), np.ones((2,))
    for _ in range(3):
        x = x * y
        y = x.mean(axis=0)
    assert_type(tg.tensor(y), Tensor[Shape[L[2]], NoneTape, np.float64])


def accept_arrays_that_change_in_a_loop() -> None:
    narrow = np.ones((3, 2))
    for _ in range(3):
        narrow = narrow[:, :1]
    tg.tensor(narrow) @ tg.ones((1, 4), np.float64)
    deep = np.ones((3, 2))
    for _ in range(3):
        deep = deep[None]
    tg.tensor(deep).sum(axis=4)
    long = np.ones((3, 2))
    for _ in range(2):
        long = np.concatenate([long, long])
    tg.tensor(long) + tg.ones((12, 1), np.float64)
    turned = np.ones((3, 2))
    for _ in range(3):
        turned = turned.T
    tg.tensor(turned) @ tg.ones((3, 1), np.float64)


def reject_a_state() -> None:
    states = simulated(12, np.random.default_rng(0))
    nn.Linear(3, 2)(states.astype(np.float32))  # E(mypy): Linear(3, 2): x is (12, 5, 2) but (..., 3) is expected: axis -1 is 2, not 3 [tapegrad-shape]


def reject_what_a_function_computes() -> None:
    x = np.ones((5, 2))
    for _ in range(2):
        x = x + velocity(x)
    tg.tensor(x) @ tg.ones((3, 1), np.float64)  # E: matmul: inner sizes differ: x (5, 2) has 2 columns but y (3, 1) has 3 rows [tapegrad-shape]
