"""Axis arguments: every op accepts ints of Python and NumPy, and rejects all else with the library's message."""

from __future__ import annotations

import re
from inspect import signature
from typing import Any

import numpy as np
import pytest

from tapegrad import ops
from tapegrad.autograd.op import _with_explanation
from tapegrad.autograd.registry import OPS
from tapegrad.errors import DTypeError

X = ops.normal((2, 3), rng=0)
# What else an op needs beside a matrix and its axes.
CALLED: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "chunk": ((X, 1), {}),
    "concat": (([X, X],), {}),
    "gather": ((X, ops.zeros((2, 3), np.int64)), {}),
    "cross": ((ops.normal((3, 3), rng=0), ops.normal((3, 3), rng=1)), {}),
    "diagonal": ((X,), {"axis1": 1, "axis2": 1}),
    "moveaxis": ((X,), {"source": 0, "destination": 0}),
    "repeat": ((X, 2), {}),
    "roll": ((X, 1), {}),
    "scatter_add": ((X, ops.zeros((2,), np.int64), (2, 3)), {}),
    "scatter": ((X[:1], ops.zeros((1, 3), np.int64), X[:1]), {}),
    "scatter_reduce": ((X, ops.zeros((2, 3), np.int64), X), {"reduction": "sum"}),
    "select": ((X, 0), {}),
    "split": ((X, 1), {}),
    "squeeze": ((ops.ones((1, 3)),), {}),
    "ssm_scan": ((X, X, X), {}),
    "stack": (([X, X],), {}),
    "swapaxes": ((X,), {"axis1": 0, "axis2": 0}),
    "take": ((X, ops.zeros((2,), np.int64)), {}),
    "tensordot": ((X, X), {}),
    "topk": ((X, 1), {}),
    "unflatten": ((X,), {"sizes": (1, 2)}),
    "unfold": ((X,), {"size": 1}),
}
NAMES = {"axis", "axes", "axis1", "axis2", "start_axis", "end_axis", "source", "destination"}
PLACES = [
    (name, place)
    for name in sorted(vars(ops))
    if name in OPS
    for place in signature(OPS[name].function).parameters
    if place in NAMES
]
NO_AXES = [
    True,
    np.True_,
    "0",
    b"0",
    0.0,
    1 + 0j,
    [0],
    {0},
    np.array(0),
    np.array([0]),
    ops.tensor(0),
    (0, "a"),
    (True, False),
]


MESSAGE = re.compile(r"\w+: \w+ is .* but (an int|an int or a tuple of ints|a tuple of ints) is expected")


def called(name: str, place: str, axis: object) -> Any:
    args, options = CALLED.get(name, ((X,), {}))
    call = _with_explanation(OPS[name].function, OPS[name])  # without the rule in front, which is there in tests only
    return call(*args, **{**options, place: axis})


def test_axis_parameters_have_the_expected_names() -> None:
    others = {place for name in vars(ops) if name in OPS for place in signature(OPS[name].function).parameters}

    assert {place for place in others if "ax" in place} - {"max", "x_max"} <= NAMES


@pytest.mark.parametrize(("name", "place"), PLACES)
@pytest.mark.parametrize("axis", NO_AXES, ids=repr)
def test_invalid_axes_are_rejected_with_the_librarys_message(name: str, place: str, axis: object) -> None:
    with pytest.raises(DTypeError) as rejected:
        called(name, place, axis)

    assert MESSAGE.fullmatch(str(rejected.value)), str(rejected.value)
    assert str(rejected.value).startswith(f"{name}: ")


@pytest.mark.parametrize(("name", "place"), [pair for pair in PLACES if "axes" not in pair])
def test_a_numpy_int_is_an_axis(name: str, place: str) -> None:
    plain, of_numpy = called(name, place, 0), called(name, place, np.int64(0))

    for one, other in zip(
        *(result if isinstance(result, tuple) else (result,) for result in (plain, of_numpy)), strict=True
    ):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_mypy_accepts_a_numpy_int_as_an_axis(name: str, place: str) -> None:
    taken = set(re.findall(r"\w+", OPS[name].function.__annotations__[place]))

    assert taken & {"Axis", "Int", "Paired"}, f"{place} of {name} is {OPS[name].function.__annotations__[place]}"
