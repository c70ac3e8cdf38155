"""A user-defined op, written as in the guide, on every engine and every tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad import nn, op, summary, tapem
from tapegrad.autodiff import Autodiff
from tapegrad.autograd.gradients import Gradients
from tapegrad.checkpoint import BalancedCheckpointing, checkpoint
from tapegrad.curvature import hessian, hvp
from tapegrad.engines import engine
from tapegrad.ops import normal, tensor
from tapegrad.sizes import Dims
from tapegrad.tensors import S, T, Tensor, node
from tapegrad.tensors.operands import split_tape
from tapegrad.testing import check_gradients

X: Any = tensor([-3.0, 0.0, 0.5], np.float64)


def squareplus(x: Tensor[S, T, Any]) -> Tensor[S, T, Any]:
    """A smooth relu: the mean of x and the root of x² + 4."""
    operand, tape = split_tape(x)

    def root() -> Any:
        square = operand.data * operand.data + 4.0
        return engine(square).map("sqrt", square)

    out = node((operand.data + root()) * 0.5)

    def backward(grads: Gradients) -> None:
        derivative = (operand.data / root() + 1.0) * 0.5
        grads.add(operand, grads.pop_output(out) * derivative)

    return tape.record(out, (operand,), backward)


def gated(x: Any, y: Any) -> Any:
    """Two operands in one step: x times the sigmoid of y."""
    a, b, tape = split_tape(x, y)

    def gate() -> Any:
        return engine(b.data).map("sigmoid", b.data)

    out = node(a.data * gate())

    def backward(grads: Gradients) -> None:
        dz, open_by = grads.pop_output(out), gate()
        if grads.wants(a):
            grads.add(a, dz * open_by)
        if grads.wants(b):
            grads.add(b, dz * a.data * open_by * (1.0 - open_by))

    return tape.record(out, (a, b), backward)


def same_shape(x: Dims) -> Dims:
    return x


ruled = op(same_shape, memory_bound=True)(squareplus)


def first(x: Any) -> Any:
    return (x / np.sqrt(x * x + 4) + 1) / 2


def second(x: Any) -> Any:
    return 2 / (x * x + 4) ** 1.5


def by_tape(x: Any) -> Any:
    return squareplus(x.trace()).sum().backward()[x].numpy()


def by_level(x: Any) -> Any:
    level = Autodiff()
    leaf = level.from_inner(x)
    return level.inner(squareplus(leaf.trace()).sum().backward()[leaf]).numpy()


def by_program(x: Any) -> Any:
    @tapem.do
    def program() -> tapem.Do[Any]:
        node = yield from tapem.leaf(x)
        y = yield from tapem.lift(squareplus)(node)
        loss = yield from tapem.sum(y)
        return (yield from tapem.backward(loss)).of(node).numpy()

    return program().eval(tapem.Tape.empty()).unwrap()


def by_strategy(x: Any) -> Any:
    return ruled(x.trace(checkpoint=BalancedCheckpointing())).sum().backward()[x].numpy()


def by_segment(x: Any) -> Any:
    return checkpoint(ruled)(x.trace()).sum().backward()[x].numpy()


@pytest.mark.parametrize("derivative", [by_tape, by_level, by_program, by_strategy, by_segment])
def test_its_derivative_is_the_same_on_every_tape(derivative: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(derivative(X), first(X.numpy()), rtol=1e-14)


def twice_by_levels(x: Any) -> Any:
    level = Autodiff()
    leaf = level.from_inner(x.trace())
    derivative: Any = level.inner(squareplus(leaf.trace()).sum().backward()[leaf])
    return derivative.sum().backward()[x].numpy()


def twice_by_hessian(x: Any) -> Any:
    return np.diag(hessian(lambda x: squareplus(x).sum(), x).numpy())


def twice_by_product(x: Any) -> Any:
    return hvp(lambda x: squareplus(x).sum(), x, tensor(np.ones(3))).numpy()


@pytest.mark.parametrize("curvature", [twice_by_levels, twice_by_hessian, twice_by_product])
def test_its_second_derivative_is_the_same_on_every_tape(curvature: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(curvature(X), second(X.numpy()), rtol=1e-14)


@pytest.mark.parametrize("f", [squareplus, ruled], ids=["a function", "with a rule"])
def test_it_can_be_differentiated_at_every_order(f: Any) -> None:
    check_gradients(f, normal((2, 3), dtype=np.float64, rng=0), order=3, rtol=1e-4)


def test_one_or_both_of_two_operands_are_differentiated() -> None:
    x, y = normal((2, 3), dtype=np.float64, rng=0), normal((2, 3), dtype=np.float64, rng=1)

    check_gradients(gated, x, y, order=2)
    check_gradients(lambda x: gated(x, y), x, order=2)
    check_gradients(lambda y: gated(x, y), y, order=2)


def test_a_model_that_uses_it_has_a_summary_with_named_sizes() -> None:
    class Smooth(nn.Module):
        def __init__(self) -> None:
            self.first = nn.Linear(5, 7, rng=0)

        def forward(self, x: Any) -> Any:
            return ruled(self.first(x))

    lines = str(summary(Smooth(), ("N", 5))).splitlines()

    assert lines[1].split()[:3] == ["Smooth", "(N,", "7)"]


def test_an_op_that_exec_defines_runs() -> None:
    program = """
from tapegrad import op

def twice_shape(x):
    return x

@op(twice_shape)
def twice(x):
    return x + x
"""
    names: dict[str, Any] = {}
    exec(program, names)  # noqa: S102  # the program is the one above

    assert names["twice"](tensor([1.5])).numpy().tolist() == [3.0]
