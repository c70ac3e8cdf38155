"""Gradients on a pure tape: sparse, dense, and repeated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad import ops, tapem
from tapegrad.autograd.gradients import MissingGradientError
from tapegrad.errors import TapeError
from tapegrad.tapem import Err, Node, Tape

EMPTY = Tape.empty()


@tapem.do
def made() -> tapem.Do[dict[str, Node[Any, Any]]]:
    """Make a loss that needs `x` and `w`, and nodes that it does not need."""
    x = yield from tapem.leaf(ops.tensor([1.0, 2.0, 3.0]))
    w = yield from tapem.leaf(ops.tensor([4.0, 5.0, 6.0]))
    fixed = yield from tapem.leaf(ops.tensor([7.0, 8.0]), requires_grad=False)
    labels = yield from tapem.leaf(ops.tensor([1, 2]))
    unused = yield from tapem.exp(fixed)
    aside = yield from tapem.tanh(x)
    product = yield from tapem.mul(x, w)
    loss = yield from tapem.sum(product)
    return locals()


NODES, TAPE = made().run(EMPTY).unwrap()


def grads(*, dense: bool = False) -> tapem.NodeGradients:
    return tapem.backward(NODES["loss"], dense=dense).eval(TAPE).unwrap()


def test_gradients_computed_by_hand() -> None:
    assert grads().of(NODES["x"]).tolist() == [4, 5, 6]
    assert grads().of(NODES["w"]).tolist() == [1, 2, 3]
    assert grads().of(NODES["product"]).tolist() == [1, 1, 1]
    assert grads().of(NODES["loss"]).item() == 1


def test_gradients_are_sparse() -> None:
    found = grads()

    assert {name for name, node in NODES.items() if node in found} == {"x", "w", "product", "loss"}
    assert len(found) == 4
    for name in ("fixed", "unused", "aside", "labels"):
        with pytest.raises(MissingGradientError, match=rf"^no gradient for node {NODES[name]}"[:22]):
            found.of(NODES[name])


def test_dense_gradients_have_zeros_and_agree_with_the_sparse_ones() -> None:
    sparse, dense = grads(), grads(dense=True)

    for name, node in NODES.items():
        if node in sparse:
            np.testing.assert_array_equal(dense.of(node).numpy(), sparse.of(node).numpy())
        elif name != "labels":
            assert dense.of(node).tolist() == np.zeros(node.shape).tolist()
            assert dense.of(node).dtype == node.dtype
    assert NODES["labels"] not in dense


def test_backward_can_run_repeatedly() -> None:
    first, second = grads(), grads()

    assert first.of(NODES["x"]).tolist() == second.of(NODES["x"]).tolist() == [4, 5, 6]
    assert len(TAPE) == len(NODES)


def test_a_node_used_twice_gets_the_sum_of_its_gradients() -> None:
    x, tape = tapem.leaf(ops.tensor(3.0)).run(EMPTY).unwrap()
    y, longer = tapem.mul(x, x).bind(lambda square: tapem.add(square, x)).run(tape).unwrap()

    assert tapem.backward(y).eval(longer).unwrap().of(x).item() == 7


def test_the_loss_may_be_a_leaf() -> None:
    x, tape = tapem.leaf(ops.tensor(3.0)).run(EMPTY).unwrap()

    assert tapem.backward(x).eval(tape).unwrap().of(x).item() == 1


def test_a_loss_that_is_no_scalar_is_an_error() -> None:
    outcome = tapem.backward(NODES["product"]).eval(TAPE)

    assert outcome == Err("shape", "backward", "() is expected: rank 1, not 0", "loss is (3,)")


def test_a_loss_that_needs_no_gradient_is_an_error() -> None:
    constant, tape = tapem.leaf(ops.tensor(3.0), requires_grad=False).run(EMPTY).unwrap()

    assert str(tapem.backward(constant).eval(tape)) == (
        "backward: the loss depends on no leaf that requires a gradient"
    )


def test_a_loss_of_another_tape_is_an_error() -> None:
    assert str(tapem.backward(NODES["loss"]).eval(EMPTY)) == (
        "backward: node 7 is of another tape but one of this tape of 0 nodes is expected"
    )


def test_the_gradient_of_a_node_of_another_tape_is_rejected() -> None:
    stranger = tapem.leaf(ops.ones((3,))).eval(EMPTY).unwrap()
    later, _ = tapem.exp(NODES["x"]).run(TAPE).unwrap()

    assert stranger not in grads()
    for node in (stranger, later):
        with pytest.raises(TapeError, match=rf"^node {node.id} is of another tape but one of this tape of 8 nodes "):
            grads().of(node)


def test_helpers_read_a_loss_and_a_gradient() -> None:
    @tapem.do
    def read() -> tapem.Do[Any]:
        nodes = yield from made()
        found = yield from tapem.backward(nodes["loss"])
        dx = yield from tapem.gradient(found, nodes["x"])
        return (yield from tapem.item(nodes["loss"])), dx.tolist(), (yield from tapem.value(nodes["x"])).tolist()

    assert read().eval(EMPTY).unwrap() == (4 + 10 + 18, [4, 5, 6], [1, 2, 3])


def test_helpers_return_errors_as_values() -> None:
    product, aside = NODES["product"], NODES["aside"]

    assert str(tapem.item(product).eval(TAPE)) == "item: loss is (3,) but () is expected: rank 1, not 0"
    assert isinstance(tapem.item(NODES["loss"]).eval(EMPTY), Err)
    assert isinstance(tapem.value(product).eval(EMPTY), Err)
    missing = tapem.gradient(grads(), aside).eval(TAPE)
    assert isinstance(missing, Err)
    assert missing.code == "missing"
    assert str(missing) == (
        "gradient: no gradient for node 5: tanh (3,): the loss does not depend on it, or no gradient flows there"
    )


def test_gradients_are_shown_by_their_nodes() -> None:
    assert repr(grads()) == "NodeGradients(0: leaf (3,), 1: leaf (3,), 6: mul (3,), 7: sum ())"


def test_a_long_chain_has_its_gradient() -> None:
    @tapem.do
    def chain() -> tapem.Do[Any]:
        x = yield from tapem.leaf(ops.tensor(1.0))
        y = x
        for _ in range(5000):
            y = yield from tapem.neg(y)
        return (yield from tapem.backward(y)).of(x).item()

    assert chain().eval(EMPTY).unwrap() == 1
