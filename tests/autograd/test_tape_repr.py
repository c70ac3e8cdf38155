"""The repr of a tape, and its graph of ops."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest

from tapegrad import nn, ops
from tapegrad.autograd import tape_repr
from tapegrad.autograd.gradients import Gradients
from tapegrad.autograd.registry import OPS
from tapegrad.autograd.tape import NONE, GradientTape
from tapegrad.errors import DTypeError, TapeError
from tapegrad.ops import exp, layer_norm, maximum, minimum, ones, sin, tanh, zeros
from tapegrad.tensors import node
from tapegrad.tensors.operands import unwrap


def doubled(x: Any) -> Any:
    """An op of one's own."""
    x, tape = unwrap(x)
    out = node(x.data * 2)

    def backward(grads: Gradients) -> None:
        grads.add(x, grads.pop_output(out) * 2)

    return tape.record(out, (x,), backward)


def test_a_tape_lists_its_ops_with_the_shapes_of_their_results() -> None:
    x = ones((2, 3)).trace()
    tanh(x).sum(axis=0)

    assert repr(NONE) == "NoneTape()"
    assert repr(x.tape) == "OwnedTape(GradientTape(2 ops: tanh (2, 3), sum (3,)))"
    assert repr(GradientTape()) == "GradientTape(0 ops)"


def test_the_repr_of_a_long_tape_lists_both_ends() -> None:
    y = ones((2,)).trace()
    for _ in range(1200):
        y = y * 1.0
    y = tanh(y)

    listed = "mul (2,), mul (2,), mul (2,), ..., mul (2,), mul (2,), tanh (2,)"
    assert repr(y.tape.tape) == f"GradientTape(1,201 ops: {listed})"


def test_the_repr_of_a_consumed_tape_has_its_number_of_ops_and_the_line() -> None:
    y = exp(ones((2,)).trace())
    once = exp(ones((2,)).trace())

    y.sum().backward()
    once.backward(seed=once.detach())

    assert re.fullmatch(r"GradientTape\(2 ops, consumed at test_tape_repr\.py:\d+\)", repr(y.tape.tape))
    assert re.fullmatch(r"GradientTape\(1 op, consumed at test_tape_repr\.py:\d+\)", repr(once.tape.tape))


def test_the_repr_of_gradients_lists_their_shapes() -> None:
    few, many = Gradients(), Gradients()
    for n in range(1, 7):
        few.add(ones((n,)), ones((n,)).data)
    for n in range(1, 9):
        many.add(ones((n,)), ones((n,)).data)

    assert repr(few) == "Gradients((1,), (2,), (3,), (4,), (5,), (6,))"
    assert repr(many) == "Gradients(8: (1,), (2,), (3,), ..., (6,), (7,), (8,))"


def test_an_op_is_shown_under_its_public_name() -> None:
    x = ones((2, 3)).trace()

    named: dict[str, Callable[[Any], Any]] = {
        "sin": sin,
        "tanh": tanh,
        "doubled": doubled,
        "maximum": lambda x: maximum(x, 0.5),
        "minimum": lambda x: minimum(0.5, x),
    }

    for name, op in named.items():
        y = op(x.detach().trace())

        assert repr(y.tape.tape) == f"GradientTape(1 op: {name} (2, 3))"
    normed = layer_norm(x, ones((3,)), zeros((3,)))
    assert repr(normed.tape.tape) == "GradientTape(1 op: layer_norm (2, 3))"


OF_ONE_OR_TWO = [name for name in sorted(vars(ops)) if name in OPS and OPS[name].operands <= {"x", "y"}]


@pytest.mark.parametrize("name", OF_ONE_OR_TWO)
def test_every_step_of_an_op_is_shown_under_a_readable_name(name: str) -> None:
    x: Any = ones((2, 2)).trace()

    with (
        np.errstate(all="ignore"),
        suppress(DTypeError, TypeError, ValueError),
    ):  # no floats, one argument more, singular
        OPS[name].function(*[x] * len(OPS[name].operands))

    steps = {tape_repr.step(entry).partition(" ")[0] for entry in x.tape.tape.entries}
    assert steps <= {*OPS, "contracted", "copied", "masked", "standardized"}


def test_a_step_of_the_user_is_shown_under_its_own_name() -> None:
    tape = GradientTape()

    def negate(_: Gradients) -> None:
        """Do nothing."""

    tape.add_backward_op(negate)
    tape.add_backward_op(lambda _: None)
    tape.add_backward_op(partial(negate))

    assert repr(tape) == "GradientTape(3 ops: negate, <lambda>, partial)"


def test_a_graph_has_leaves_and_ops_in_the_order_of_recording() -> None:
    x, w = ones((2, 3)), nn.Param(ones((3, 5)))

    y = x.trace() @ w
    loss = (y * y).sum()

    assert loss.tape.tape.graph().splitlines() == [
        "graph TD",
        '    n0["leaf (2, 3)"]',
        '    n1["parameter (3, 5)"]',
        '    n2["matmul (2, 5)"]',
        '    n3["mul (2, 5)"]',
        '    n4["sum ()"]',
        "    n0 --> n2",
        "    n1 --> n2",
        "    n2 --> n3",
        "    n2 --> n3",
        "    n3 --> n4",
    ]


def test_a_graph_of_merged_tapes_is_in_chronological_order() -> None:
    x, y = ones((2,)).trace(), ones((2,)).trace()
    a = exp(x)
    b = sin(y)
    c = tanh(a)

    graph = (b * c).tape.tape.graph()

    assert re.findall(r"exp|sin|tanh|mul", graph) == ["exp", "sin", "tanh", "mul"]
    assert graph.count("leaf") == 2


def test_a_notebook_shows_the_graph_or_the_line_that_consumed_the_tape() -> None:
    tape = (ones((2,)).trace() * 2.0).sum().tape.tape

    assert tape._repr_mimebundle_() == {"text/plain": repr(tape), "text/vnd.mermaid": tape.graph()}

    tape.execute()
    assert tape._repr_mimebundle_(include=None, exclude=None) == {"text/plain": repr(tape)}
    with pytest.raises(TapeError, match=r"^the tape was consumed by backward at test_tape_repr\.py:\d+"):
        tape.graph()


def test_a_number_as_an_operand_is_a_leaf() -> None:
    y = np.ones(3) * ones((3,), np.float64).trace()

    assert y.tape.tape.graph().count("leaf (3,)") == 2
