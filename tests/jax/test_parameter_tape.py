"""Results computed from parameters under `jit`: recorded inside the step, rejected from outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.errors import TapeError

OUTSIDE = "compute it inside the step, or detach it$"


class Tied(nn.Module):
    """Uses its table by integers, by position, transposed, and in a penalty."""

    def __init__(self) -> None:
        self.word = nn.Embedding(7, 6, rng=0)
        self.place = nn.Param(tg.normal((5, 6), rng=1))
        self.norm = nn.BatchNorm1d(6)

    def forward(self, ids: Any) -> Any:
        return self.norm(self.word(ids) + self.place[: ids.shape[0]]) @ self.word.weight.T

    def loss(self, x: Any, ids: Any) -> Any:
        predicted = x @ tg.exp(self.word.weight.T) + self(ids)[: x.shape[0]]
        return tg.square(predicted).mean() + 0.1 * tg.square(self.place).sum()


def test_gradients_of_a_step_equal_eager_gradients() -> None:
    model, x, ids = Tied(), tg.normal((3, 6), rng=2), tg.tensor([1, 0, 1, 6, 4])

    def step(model: Any, x: Any, ids: Any) -> Any:
        return [*model.loss(x.trace(training=False), ids).backward(wrt=model).norms(model).items()]

    def gradients(model: Any, x: Any, ids: Any) -> Any:
        grads = model.loss(x.trace(training=False), ids).backward(wrt=model)
        return [grads[one] for one in model.parameters().values() if one in grads]

    assert len(step(model, x, ids)) == 4
    for ours, theirs in zip(tg.jit(gradients)(model, x, ids), gradients(model, x, ids), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-6)


def test_training_equals_eager_training() -> None:
    losses = []
    wrappers: list[Any] = [lambda step: step, tg.jit]
    for wrapped in wrappers:
        model, x, ids = Tied(), tg.normal((3, 6), rng=2), tg.tensor([1, 0, 1, 6, 4])
        opt = optim.SGD(model, lr=0.01)

        def step(model: Any, opt: Any, x: Any, ids: Any) -> Any:
            loss = model.loss(x.trace(training=False), ids)
            opt.step(loss.backward(wrt=model))
            return loss.detach()

        run: Any = wrapped(step)
        losses.append([run(model, opt, x, ids).item() for _ in range(4)])

    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert losses[0][-1] < losses[0][0]


def test_an_argument_computed_from_parameters_cannot_join_a_tape_in_the_step() -> None:
    w, x = nn.Param(tg.normal((3, 5), rng=0)), tg.ones((2, 3))
    v = w * 2.0

    @tg.jit
    def step(x: Any, v: Any) -> Any:
        return (x.trace() @ v).sum().backward()[x]

    words = r"^matmul: the ops that computed a tensor \(3, 5\) from parameters are lost: they ran outside the step "
    with pytest.raises(TapeError, match=words + "under jit; " + OUTSIDE):
        step(x, v)
    assert step(x, v.detach()).shape == (2, 3)


def test_an_argument_computed_from_parameters_can_be_used_and_traced() -> None:
    w, x = nn.Param(tg.normal((3, 5), rng=0)), tg.ones((2, 3))

    @tg.jit
    def summed(v: Any) -> Any:
        return (v * 3.0).sum()

    @tg.jit
    def traced(v: Any, x: Any) -> Any:
        return (x @ v.trace()).sum().backward()

    for factor in (2.0, 4.0):
        v = w * factor
        assert summed(v).item() == pytest.approx((v * 3.0).sum().item(), rel=1e-5)
        assert traced(v, x)[v].tolist() == [[2.0] * 5] * 3


def test_results_computed_from_parameters_cannot_be_captured() -> None:
    w, x = nn.Param(tg.normal((3, 5), rng=0)), tg.ones((2, 3))
    v = w.T

    @tg.jit
    def step(x: Any) -> Any:
        return x @ v.T

    with pytest.raises(TapeError, match=r"step: v was computed from parameters outside the step; " + OUTSIDE):
        step(x)


def test_results_computed_from_frozen_parameters_are_ordinary_arguments() -> None:
    frozen, x = nn.Param(tg.ones((3, 5)), frozen=True), tg.ones((2, 3))

    @tg.jit
    def step(x: Any, v: Any) -> Any:
        return (x.trace() @ v).sum().backward()[x]

    for factor in (2.0, 4.0):
        assert step(x, frozen * factor).tolist() == [[5 * factor] * 3] * 2
