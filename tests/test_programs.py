"""Random programs over the ops: gradients equal numeric differences, under every tape.

The calls of mypy's differential test are composed here: an operand is mostly the result of an earlier step, so that
gradients meet in many places. A new op is included automatically. NumPy and PyTorch run the same programs in
test_beside_numpy.py and oracle/test_programs.py; `make fuzz` runs more of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import signature
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st

import tapegrad as tg
from tapegrad.autograd.registry import OPS, Op
from tapegrad.checkpoint import BalancedCheckpointing
from tapegrad.errors import SingularError
from tapegrad.tensors import Tensor, node
from tests.mypy.test_differential import Drawn

LONGEST = 8  # steps
LARGEST = 50.0  # of a value that is built on: differences of larger ones are lost in their rounding
CROWDED = 120  # elements
ERRORS = (ValueError, TypeError, IndexError, RuntimeError)
DTYPES = {"": np.float64, ", np.float64": np.float64, ", np.int64": np.int64, ", np.bool_": np.bool_}
# Families that make or draw numbers of their own, and what leaves float64.
UNFIT = {"create", "draw"}
# nextafter moves by less than a difference can see and has no gradient, nor has unique; what is divided by a spacing,
# as in fmod(x, spacing(x)), jumps too often for differences. The others take a matrix as symmetric, so that a
# difference of one element is not their gradient.
ROUGH = {"nextafter", "spacing", "unique", "cholesky", "eigh", "eigvalsh"}
TWO = ["matmul", "mul", "add", "sub"]  # drawn more often: they make programs of steps


def family(op: Op) -> str:
    return op.function.__module__.rpartition(".")[2]


NAMES = sorted(
    name
    for name, op in OPS.items()
    if op.function.__module__.startswith("tapegrad.ops.")
    and op.operands
    and family(op) not in UNFIT
    and "rng" not in signature(op.function).parameters
    and name not in ROUGH
)


# Programs


@dataclass(frozen=True)
class Program:
    """Steps over leaves: each is a name and what it is made of, in Python."""

    leaves: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, str] = field(default_factory=dict)

    def run(self, words: Any, made: Callable[[Any], Any]) -> dict[str, Any]:
        """Return the value of each name, in the words of a library and from leaves that it made of arrays."""
        values = {name: made(array) for name, array in self.leaves.items()}
        for name, expression in self.steps.items():
            values[name] = eval(expression, {"tg": words, "np": np, **values})  # noqa: S307  # written below
        return values

    def __repr__(self) -> str:
        lines = [f"{name} = {array.dtype}{list(array.shape)} {array.tolist()}" for name, array in self.leaves.items()]
        return "\n".join(["", *lines, *(f"{name} = {text}" for name, text in self.steps.items())])


class Step(Drawn):
    """Draws one call whose operands are what a program has so far, or new leaves."""

    lengths = (1, 2, 3, 5, 0)
    largest_rank = 3

    def __init__(self, op: Op, dice: Random, values: dict[str, Any], number: int) -> None:
        super().__init__(op, dice)
        self.values, self.number, self.new = values, number, dict[str, Any]()

    def shape(self) -> tuple[int, ...]:
        if self.values and self.chance(0.85):
            shape: tuple[int, ...] = self.dice.choice([*self.values.values()][::-1]).shape
            return shape
        return super().shape()

    def operand(self, annotation: str, shape: tuple[int, ...]) -> str:
        dtype = DTYPES[self.dtype(annotation)]
        fixed = "NoneTape" in annotation  # such as the target of a loss
        fitting = [name for name, x in self.values.items() if x.shape == shape and x.dtype == dtype]
        if fitting and not fixed and self.chance(0.8):
            return self.dice.choice(fitting[::-1])
        name = f"{'fixed' if fixed else 'x'}{self.number}_{len(self.new)}"
        rng = np.random.default_rng([self.number, len(self.new)])
        numbers: Any = rng.normal(size=shape) if dtype == np.float64 else rng.integers(0, 3, shape)
        self.new[name] = np.asarray(numbers, dtype)
        return name

    def written(self) -> str:
        """Return the call as a function; what stands between brackets is an operator."""
        operands, options = self.arguments()
        if self.op.name == "getitem":
            return f"{operands[0]}[{options[0].removeprefix('index=')}]"
        return f"tg.{self.op.name}({', '.join([*operands, *options])})"


def composed(dice: Random, names: Sequence[str], tries: int = 40) -> Program:
    """Compose a program of these ops in this order, leaving out what chance does not make fit."""
    program = Program()
    known: dict[str, Any] = {}  # what names stand for
    values: dict[str, Any] = {}  # what may be built on, by how it is written
    for number, name in enumerate(names):
        for _ in range(tries):
            step = Step(OPS[name], dice, values, number)
            expression = step.written()
            new = {name: node(array) for name, array in step.new.items()}
            try:
                result = eval(expression, {"tg": tg, "np": np, **known, **new})  # noqa: S307  # written above
            except ERRORS:
                continue
            label, is_one = f"v{number}", not isinstance(result, tuple)
            several = {label: result} if is_one else {f"{label}[{n}]": one for n, one in enumerate(result)}
            if several and all(map(has_plain_state, several.values())):
                program.leaves.update(step.new)
                program.steps[label] = expression
                known |= {**new, label: result}
                values |= {**new, **several}
                break
    return program


@st.composite
def programs(draw: st.DrawFn, known: list[str] = NAMES) -> Program:
    """Draw programs whose every step can be run, of numbers neither large nor lost."""
    names = draw(st.lists(st.one_of(st.sampled_from(known), st.sampled_from(TWO)), min_size=1, max_size=LONGEST))
    with np.errstate(all="ignore"):
        program = composed(draw(st.randoms(use_true_random=False)), names)
    assume(program.steps)
    return program


def has_plain_state(x: Any) -> bool:
    if not isinstance(x, Tensor) or (x.is_float and x.dtype != np.float64) or x.size > CROWDED:
        return False
    return bool(np.isfinite(x.numpy()).all() and (x.size == 0 or np.abs(x.numpy().astype(float)).max() <= LARGEST))


# What programs are compared by


def flat(values: dict[str, Any], steps: dict[str, str]) -> list[Any]:
    return [
        one for name in steps for one in (values[name] if isinstance(values[name], tuple | list) else [values[name]])
    ]


def direction(shape: tuple[int, ...], place: int) -> Any:
    """Return a different number for each element and each result, so that no two gradients cancel."""
    rng = np.random.default_rng(place)
    return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape))


def total(results: list[Any]) -> Any:
    """Add up all floats that a program gives, weighed."""
    floats = [(place, y) for place, y in enumerate(results) if y.dtype == np.float64]
    return sum((y * direction(y.shape, place)).sum() for place, y in floats)


def plain(program: Program, leaves: dict[str, Any]) -> list[Any]:
    return flat(Program(leaves, program.steps).run(tg, node), program.steps)


def gradients(program: Program, checkpoint: Any = None) -> tuple[list[Any], dict[str, Any]]:
    """Return the results with a tape, and the gradient of each float leaf."""
    leaves = {name: node(array) for name, array in program.leaves.items()}
    inputs = iter([x if is_fixed(name) else x.trace(checkpoint=checkpoint) for name, x in leaves.items()])
    results = flat(program.run(tg, lambda _: next(inputs)), program.steps)
    floats = {name: x for name, x in leaves.items() if x.is_float and not is_fixed(name)}
    loss = total(results)
    if not isinstance(loss, Tensor):  # no step gave a float
        return results, {name: np.zeros(x.shape) for name, x in floats.items()}
    grads: Any = loss.backward(wrt=[*floats.values()]) if loss.owns_tape else {}
    zeros = {name: np.zeros(x.shape) for name, x in floats.items()}
    return results, {name: grads[x].numpy() if x in grads else zeros[name] for name, x in floats.items()}


def is_fixed(name: str) -> bool:
    return name.startswith("fixed")


def directional_derivative(program: Program, towards: dict[str, Any], step: float = 1e-4) -> tuple[float, float] | None:
    """Return the derivative of all results along a direction, by differences, and its error bound.

    None where there is a kink or a jump nearby, or the numbers are too rough.
    """

    def at(distance: float) -> float:
        moved = {name: x + distance * towards[name] if name in towards else x for name, x in program.leaves.items()}
        loss = total(plain(program, moved))
        return float(loss.item()) if isinstance(loss, Tensor) else 0.0

    try:
        here, (near, behind), (far, far_behind) = at(0), (at(step / 2), at(-step / 2)), (at(step), at(-step))
        finest = (at(step / 64) - at(-step / 64)) / (step / 32)  # which distinguishes steps from a derivative
    except ERRORS:
        return None
    fine, coarse = (near - behind) / step, (far - far_behind) / (2 * step)
    bend, error = max(abs(near + behind - 2 * here) / step, abs(fine - finest)), abs(fine - coarse)
    scale = max(1.0, abs(fine), abs(here))
    if not np.isfinite([near, behind, far, far_behind]).all() or error > 1e-4 * scale or not bend <= 1e-2 * scale:
        return None
    return (4 * fine - coarse) / 3, 10 * error + 1e-6 * scale


def check(program: Program) -> bool:
    """Hold a program to itself with and without a tape, to a tape that computes again, and to differences."""
    try:
        results, grads = gradients(program)
    except SingularError:  # there is no gradient
        return False
    again, same = gradients(program, BalancedCheckpointing())
    for one, *others in zip(results, plain(program, program.leaves), again, strict=True):
        for other in others:
            np.testing.assert_array_equal(one.numpy(), other.numpy())
    for name, gradient in grads.items():
        np.testing.assert_array_equal(gradient, same[name])
    towards = {name: direction(dx.shape, place) for place, (name, dx) in enumerate(grads.items())}
    found, expected = along(grads, towards), directional_derivative(program, towards)
    if expected is None or not np.isfinite(found):
        return False
    value, error = expected
    if abs(found - value) > error:
        error += min(10 * abs(found - along(gradients(rounded(program))[1], towards)), 1e-3 * max(1.0, abs(value)))
    assert abs(found - value) <= error, f"{found} by the tape but {value} by differences: {program}"
    return True


def along(grads: dict[str, Any], towards: dict[str, Any]) -> float:
    return sum(float((grads[name] * towards[name]).sum()) for name in grads)


def rounded(program: Program) -> Program:
    """Return a program whose leaves differ in the last digits, and whose gradients show how rounding grows in it."""
    leaves = {
        name: x * (1 + 1e-15 * direction(x.shape, 0)) if x.dtype == np.float64 else x
        for name, x in program.leaves.items()
    }
    return Program(leaves, program.steps)


# The tests

HALF = settings(max_examples=settings().max_examples // 2, suppress_health_check=[*HealthCheck])
FEW = settings(max_examples=settings().max_examples // 100, phases=[Phase.generate])  # of a whole sweep each


@given(programs())
@HALF
@pytest.mark.filterwarnings("ignore")  # NumPy warns of edges
def test_gradients_of_programs_equal_numeric_differences(program: Program) -> None:
    with np.errstate(all="ignore"):
        event("compared" if check(program) else "too rough to compare")


@given(st.integers(0, 2**32))
@FEW
@pytest.mark.filterwarnings("ignore")
def test_every_op_is_used(seed: int) -> None:
    dice, taken, compared = Random(seed), 0, 0  # noqa: S311  # draws programs, not secrets
    with np.errstate(all="ignore"):
        for name in NAMES:
            program = composed(dice, [*dice.choices(NAMES, k=dice.randint(0, 3)), name, *dice.choices(TWO)])
            taken += any(re.match(rf"tg\.{name}\b", text) for text in program.steps.values())
            compared += check(program)

    assert taken > 0.8 * len(NAMES)  # of the others chance hardly ever makes operands that fit
    assert compared > 0.9 * len(NAMES)
