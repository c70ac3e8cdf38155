"""Arrays that loops compute from themselves, by functions of the program: each turn gives them the same sizes."""

from __future__ import annotations

from typing import Any, TypeAlias, assert_type
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


Pair: TypeAlias = "tuple[Tensor[Any, NoneTape, np.int64], Tensor[Any, NoneTape, np.int64]]"


def windows(ids: npt.NDArray[np.int64], length: int, count: int, rng: np.random.Generator) -> Pair:
    """Return windows at drawn positions, and those that begin one later."""
    starts = rng.integers(0, len(ids) - length - 1, count)
    x = np.stack([ids[i : i + length] for i in starts])
    y = np.stack([ids[i + 1 : i + 1 + length] for i in starts])
    return tg.tensor(x), tg.tensor(y)


def accept_windows_at_drawn_positions() -> None:
    rng, text = np.random.default_rng(0), "the owl sees the cat"
    ids = np.array([ord(letter) for letter in text], np.int64)
    x, y = windows(ids, 8, 4, rng)
    assert_type(x, Tensor[Shape[L[4], L[8]], NoneTape, np.int64])
    assert_type(y, Tensor[Shape[L[4], L[8]], NoneTape, np.int64])
    first = int(rng.integers(len(ids) - 5))
    assert_type(tg.tensor(ids[first : first + 5]), Tensor[Shape[L[5]], NoneTape, np.int64])
    known = np.zeros(100, np.float32)
    last = rng.integers(0, 91)
    assert_type(tg.tensor(known[last : last + 10]), Tensor[Shape[L[10]], NoneTape])


def accept_windows_that_are_cut() -> None:
    rng, ids = np.random.default_rng(0), np.zeros(100, np.float32)
    late = rng.integers(91, 92)
    tg.tensor(ids[late : late + 10]) + tg.ones((9,))
    negative = rng.integers(-5, -4)
    tg.tensor(ids[negative : negative + 10]) + tg.ones((0,))
    last = rng.integers(91, 91, endpoint=True)
    tg.tensor(ids[last : last + 10]) + tg.ones((9,))
