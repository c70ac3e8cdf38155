"""The training loop of `tapem`: the loss falls, with the same numbers as in the library's own loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad import ops, optim, tapem
from tapegrad.nn import Param
from tapegrad.tapem import Err, Node


def real(*shape: int, seed: int = 0) -> Any:
    return ops.normal(shape, dtype=np.float64, rng=seed)


X, TARGET = real(7, 3), real(7, 2, seed=1)


@tapem.do
def loss(w: Node[Any, Any], b: Node[Any, Any]) -> tapem.Do[Node[tuple[()], Any]]:
    x = yield from tapem.leaf(X, requires_grad=False)
    target = yield from tapem.leaf(TARGET, requires_grad=False)
    y = yield from tapem.linear(x, w, b)
    active = yield from tapem.tanh(y)
    return (yield from tapem.mse_loss(active, target))


def test_the_loop_equals_training_with_typed_tapes() -> None:
    start = [real(3, 2, seed=2), real(2, seed=3)]

    trained = tapem.sgd(loss, start, lr=0.3, steps=5).unwrap()

    w, b = (Param(x) for x in start)
    optimizer, losses = optim.SGD([w, b], 0.3), []
    for _ in range(5):
        error = ops.mse(ops.tanh(X.trace() @ w + b), TARGET)
        losses.append(error.item())
        optimizer.step(error.backward(wrt=[w, b]))
    assert trained.losses == tuple(losses)
    for found, expected in zip(trained.parameters, (w, b), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert trained.losses[-1] < trained.losses[0]


def test_the_loop_does_not_change_its_arguments() -> None:
    w, b = real(3, 2), real(2)
    before = w.numpy(copy=True)

    tapem.sgd(loss, [w, b], lr=0.3, steps=2).unwrap()

    np.testing.assert_array_equal(w.numpy(), before)


def test_zero_steps_change_nothing() -> None:
    w, b = real(3, 2), real(2)

    trained = tapem.sgd(loss, [w, b], lr=0.3, steps=0).unwrap()

    np.testing.assert_array_equal(trained.parameters[0].numpy(), w.numpy())
    assert trained.losses == ()


def test_an_error_ends_the_loop() -> None:
    assert isinstance(tapem.sgd(loss, [real(4, 2), real(2)], lr=0.3, steps=2), Err)


def test_a_parameter_that_the_loss_does_not_need_is_an_error() -> None:
    def of_the_first(w: Node[Any, Any], b: Node[Any, Any]) -> tapem.TapeM[Node[tuple[()], Any]]:  # noqa: ARG001  # unused, by intent
        return tapem.sum(w)

    with pytest.raises(KeyError, match="no gradient for node 1"):
        tapem.sgd(of_the_first, [real(2), real(2)], lr=0.3, steps=1)
