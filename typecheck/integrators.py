"""Functions that take functions, such as solvers of differential equations, given functions, models and lambdas."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Literal as L
from typing import assert_type

import numpy as np
import numpy.typing as npt

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

Floats = npt.NDArray[np.float32]
Field = Callable[[Floats], Floats]


def spiral(y: Floats) -> Floats:
    """Return the velocity at points of a plane."""
    matrix = np.array([[-0.1, 2.0], [-2.0, -0.1]], np.float32)
    out: Floats = (y**3) @ matrix
    return out


def step(f: Field, y: Floats, dt: float) -> Floats:
    k1 = f(y)
    k2 = f(y + 0.5 * dt * k1)  # pyright: ignore[reportArgumentType]  # float64 by NumPy's stubs
    return y + dt * k2  # pyright: ignore[reportReturnType]  # likewise


def solved(f: Field, y: Floats, turns: int) -> Floats:
    ys = [y]
    for _ in range(turns - 1):
        ys.append(step(f, ys[-1], 0.1))
    return np.stack(ys)


def moved(f: Field, y: Floats) -> Floats:
    for _ in range(4):
        y = y + 0.1 * f(y)  # pyright: ignore[reportAssignmentType]  # likewise
    return y


def sampled(f: Callable[[Floats, float], Floats], y: Floats, times: Floats) -> Floats:
    ys = [y]
    for start, end in pairwise(times):
        y = y + (end - start) * f(y, float(start))
        ys.append(y)
    return np.stack(ys, axis=1)


def halved(y: Floats, times: Floats) -> Floats:
    ys = [y, y]
    for start, end, _ in zip(times, times, range(100), strict=False):
        ys.append(y * (end + start))
    return np.stack(ys, axis=-1)


def twice(f: Callable[[Tensor], Tensor], y: Tensor) -> Tensor:
    return f(f(y))


def scaled(f: Callable[[Tensor], Tensor], y: Tensor) -> Tensor:
    return twice(lambda v: f(v) * 2, y)


def ended(y: Floats) -> Floats:
    """Return another array for some input, by a second way to bind the parameter."""
    for y in [y, y[:, :1]]:  # noqa: B007, B020, PLR1704  # what is tested
        pass
    return y


def accept_arrays() -> None:
    points = np.ones((16, 2), np.float32)
    decay = 0.5
    assert_type(tg.tensor(step(spiral, points, 0.1)), Tensor[Shape[L[16], L[2]], NoneTape, np.float32])
    assert_type(tg.tensor(solved(spiral, points, 20)), Tensor[Shape[L[20], L[16], L[2]], NoneTape, np.float32])
    turned = solved(lambda y: y @ np.eye(2, dtype=np.float32), points, 20)
    assert_type(tg.tensor(turned), Tensor[Shape[L[20], L[16], L[2]], NoneTape, np.float32])
    assert_type(tg.tensor(moved(spiral, points)), Tensor[Shape[L[16], L[2]], NoneTape, np.float32])
    times = np.linspace(0, 1, 7, dtype=np.float32)
    assert_type(
        tg.tensor(sampled(lambda y, t: spiral(y) * decay, points, times)),
        Tensor[Shape[L[16], L[7], L[2]], NoneTape, np.float32],
    )
    assert_type(tg.tensor(halved(points, times)), Tensor[Shape[L[16], L[2], L[9]], NoneTape, np.float32])


def accept_tensors() -> None:
    x = tg.ones((3, 2))
    flat = nn.Linear(2, 2, rng=0)
    assert_type(twice(lambda v: flat(v) * 2, x), Tensor[Shape[L[3], L[2]]])
    assert_type(twice(lambda v: v.T, x), Tensor[Shape[L[3], L[2]]])
    assert_type(scaled(lambda v: flat(v) * 2, x), Tensor[Shape[L[3], L[2]]])
    assert_type(scaled(flat, x), Tensor[Shape[L[3], L[2]]])  # pyright: ignore[reportArgumentType]  # reads no layer as a function
    for columns in range(2, 3):
        weight = tg.ones((2, columns))
        twice(lambda v: v @ weight, x)  # noqa: B023  # what is tested


def accept_what_is_not_known() -> None:
    tg.tensor(ended(np.ones((16, 2), np.float32))) @ tg.ones((1, 3))


def reject_the_length_of_a_solution() -> None:
    states = tg.tensor(solved(spiral, np.ones((16, 2), np.float32), 20))
    tg.mse(states, tg.ones((21, 16, 2)))  # E: mse: target (21, 16, 2) does not fit x (20, 16, 2): expected (20, 16, 2) [tapegrad-shape]


def reject_an_array_of_a_lambda() -> None:
    turned = step(lambda y: y @ np.ones((2, 2), np.float32), np.ones((16, 2), np.float32), 0.1)
    tg.tensor(turned) @ tg.ones((3, 1))  # E: matmul: inner sizes differ: x (16, 2) has 2 columns but y (3, 1) has 3 rows [tapegrad-shape]


def reject_a_model_in_a_lambda() -> None:
    wide = nn.Linear(2, 5, rng=0)
    twice(lambda v: wide(v) * 2, tg.ones((3, 2)))  # E: wide Linear(2, 5): x is (3, 5) but (..., 2) is expected: axis -1 is 5, not 2 [tapegrad-shape]
