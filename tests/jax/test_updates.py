"""Updates of many parameters under `jit`: step counts that they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import jax

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.optim.optimizer import OnDevice

jit: Any = tg.jit
X = tg.tensor(np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3))


def equal_layers(count: int) -> Any:
    return nn.Sequential(*(nn.Linear(3, 3, rng=seed) for seed in range(count)))


def trained(model: Any, opt: Any, x: Any) -> Any:
    loss = tg.square(model(x.trace())).mean()
    opt.step(loss.backward(wrt=model), allow_unused=True)
    return loss.detach()


def two_steps(step: Any, model: Any, opt: Any) -> None:
    step(model, opt, X)
    step(model, opt, X)


def values(opt: Any) -> list[np.ndarray[Any, Any]]:
    """Return the learning rate, the state and the values of each parameter."""
    return [*map(np.asarray, opt.arrays().values()), *(one.numpy() for one in opt.parameters.values())]


def check_like_eager(train: Callable[..., Any], run: Callable[[Any, Any, Any], None], make: Any = optim.Adam) -> Any:
    """Check that some steps under `jit` compute what they compute one op at a time; return the optimizer."""
    opts = []
    for step in (trained, train):
        model = equal_layers(9)
        opts.append(make(model, lr=0.01))
        run(step, model, opts[-1])
    for one, other in zip(*map(values, opts), strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-5, atol=2e-6)
    return opts[-1]


def counts_of(opt: Any) -> int:
    """Return how many step counts an optimizer has on the device."""
    counts = [state.steps for state in opt.state.values()]
    assert all(isinstance(one, OnDevice) for one in counts)
    return len({id(one) for one in counts})


@pytest.mark.parametrize("make", [optim.Adam, optim.AdamW, optim.SGD, optim.RMSprop, optim.Adadelta])
def test_equal_layers_are_updated_as_in_eager_steps(make: Any) -> None:
    check_like_eager(jit(trained), two_steps, make)


def test_parameters_share_one_step_count() -> None:
    opt = check_like_eager(jit(trained), two_steps)
    assert counts_of(opt) == 1
    assert [state.steps.here() for state in opt.state.values()] == [2] * 18


def test_a_parameter_that_is_frozen_later_gets_a_count_of_its_own() -> None:
    def run(step: Any, model: Any, opt: Any) -> None:
        step(model, opt, X)
        bias = opt.parameters["layers.0.bias"]
        bias.frozen = True
        step(model, opt, X)
        step(model, opt, X)
        bias.frozen = False
        step(model, opt, X)

    train = jit(trained)
    opt = check_like_eager(train, run)
    assert counts_of(opt) == 2
    assert [int(opt.state[one].steps.here()) for one in opt.parameters.values()] == [4, 2] + [4] * 16
    assert train.programs.compiled == 3  # the last step has two counts, the first had one


def test_a_model_with_the_same_frozen_parameters_needs_no_other_program() -> None:
    train = jit(trained)
    for _ in range(2):
        model = equal_layers(2)
        opt = optim.Adam(model)
        train(model, opt, X)
        opt.parameters["layers.0.bias"].frozen = True
        train(model, opt, X)
    assert train.programs.compiled == 2


def test_groups_with_learning_rates_of_their_own_count_separately() -> None:
    def make(model: Any, lr: float) -> Any:
        return optim.Adam(model, lr=lr, groups={"*.bias": optim.Group(lr=0.5)})

    train = jit(trained)
    opt = check_like_eager(train, two_steps, make)
    assert counts_of(opt) == 2
    assert train.programs.compiled == 1


def test_an_update_of_ones_own_that_is_not_elementwise_counts_each_parameter() -> None:
    class Own(optim.Adam):
        def update(self, x: Any, dx: Any, state: Any, lr: Any) -> Any:
            return super().update(x, dx / (1 + tg.engines.engine(dx).sum(dx * dx, None, keepdims=False)), state, lr)

    opt = check_like_eager(jit(trained), two_steps, Own)
    assert counts_of(opt) == 18


def test_a_pytree_of_an_optimizer_can_be_donated() -> None:
    model = equal_layers(2)
    opt = optim.Adam(model)
    jit(trained)(model, opt, X)
    same = jax.jit(lambda opt: opt, donate_argnums=0)(opt)
    assert [int(state.steps.here()) for state in same.state.values()] == [1] * 4
