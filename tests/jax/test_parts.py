"""Steps under `jit` whose updates run in a program of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import jax

import tapegrad as tg
from tapegrad import nn, optim

jit: Any = tg.jit
X = tg.tensor(np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3))
EQUAL = 40  # layers, each with a weight and a bias


def trained(model: Any, opt: Any, x: Any) -> Any:
    loss = tg.square(model(x.trace())).mean()
    opt.step(loss.backward(wrt=model))
    return loss.detach()


def layers(count: int) -> Any:
    return nn.Sequential(*(nn.Linear(3, 3, rng=seed) for seed in range(count)))


def repeated(count: int) -> Any:
    return nn.Repeated(lambda: nn.Sequential(nn.Linear(3, 4, rng=0), nn.Linear(4, 3, rng=1)), count)


def binding_of(step: Any) -> Any:
    cells = dict(zip(step.__code__.co_freevars, step.__closure__, strict=True))
    return cells["latest"].cell_contents


def program_of(step: Any) -> Any:
    return binding_of(step).program


def values(opt: Any) -> list[np.ndarray[Any, Any]]:
    return [*map(np.asarray, opt.arrays().values()), *(one.numpy(copy=True) for one in opt.parameters.values())]


@pytest.mark.parametrize(
    ("make", "build"), [(optim.Adam, layers), (optim.SGD, layers), (optim.Adadelta, layers), (optim.AdamW, repeated)]
)
def test_equal_layers_are_trained_in_parts_as_in_eager_steps(make: Any, build: Any) -> None:
    step, opts = jit(trained), []
    for train in (trained, step):
        model = build(EQUAL)
        opts.append(make(model, lr=0.01))
        for _ in range(3):
            train(model, opts[-1], X)
    assert program_of(step).run is not None
    for one, other in zip(*map(values, opts), strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("count", [2, 20])
def test_few_updates_stay_in_one_program(count: int) -> None:
    step, model = jit(trained), layers(count)
    step(model, optim.Adam(model), X)
    assert program_of(step).run is None


def test_updates_of_different_shapes_stay_in_one_program() -> None:
    model = nn.Sequential(*(nn.Linear(3 + at, 4 + at, rng=at) for at in range(EQUAL)))
    step = jit(trained)
    step(model, optim.Adam(model), X)
    assert program_of(step).run is None


def test_a_step_may_return_a_parameter_as_it_was_before_the_update() -> None:
    def trained_and_before(model: Any, opt: Any, x: Any) -> Any:
        before = model.layers[3].weight.detach()
        trained(model, opt, x)
        return before

    step, model = jit(trained_and_before), layers(EQUAL)
    opt = optim.Adam(model, lr=0.1)
    for _ in range(3):
        expected = model.layers[3].weight.numpy(copy=True)
        np.testing.assert_array_equal(step(model, opt, X).numpy(), expected)
        assert not np.array_equal(model.layers[3].weight.numpy(), expected)
    assert program_of(step).run is not None


def test_the_memory_of_parameters_and_of_their_state_is_reused() -> None:
    step, model = jit(trained), layers(EQUAL)
    opt = optim.Adam(model)
    step(model, opt, X)
    before: list[Any] = [one.on_device for one in opt.parameters.values()]
    states: list[Any] = [*opt.state.values()]
    before += [part.array for state in states for part in (state.steps, state.first, state.second)]
    step(model, opt, X)
    assert all(array.is_deleted() for array in before)


def test_a_parameter_that_is_returned_after_its_update_has_the_new_values() -> None:
    def trained_and_read(model: Any, opt: Any, x: Any) -> Any:
        trained(model, opt, x)
        return model.layers[0].weight.detach()

    step = jit(trained_and_read)
    model = layers(EQUAL)
    opt = optim.SGD(model, lr=0.5)
    for _ in range(2):
        found = step(model, opt, X)
    np.testing.assert_array_equal(found.numpy(), model.layers[0].weight.numpy())


def test_an_update_that_the_step_reads_stays_in_the_first_program() -> None:
    def trained_and_read(model: Any, opt: Any, x: Any) -> Any:
        trained(model, opt, x)
        return model.layers[0](x)

    step = jit(trained_and_read)
    model = layers(EQUAL)
    opt = optim.SGD(model, lr=0.5)
    for _ in range(2):
        found = step(model, opt, X)
    np.testing.assert_allclose(found.numpy(), model.layers[0](X).numpy(), rtol=1e-6)


def test_a_call_with_a_missing_array_changes_nothing() -> None:
    step, model = jit(trained), layers(EQUAL)
    opt = optim.Adam(model)
    step(model, opt, X)
    before = values(opt)
    run: Any = program_of(step).run
    binding = binding_of(step)
    given, _ = binding._inputs()
    for at in range(len(given)):
        with pytest.raises((TypeError, ValueError)):
            list(run([*given[:at], None, *given[at + 1 :]], []))
    for one, other in zip(before, values(opt), strict=True):
        np.testing.assert_array_equal(one, other)
    step(model, opt, X)


def test_a_model_that_is_placed_between_steps_is_trained_on() -> None:
    step, opts = jit(trained), []
    for is_placed in (False, True):
        model = layers(EQUAL)
        opts.append(optim.Adam(model, lr=0.01))
        step(model, opts[-1], X)
        if is_placed:
            tg.jax.place(model, jax.devices()[0])
        step(model, opts[-1], X)
    for one, other in zip(*map(values, opts), strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-5, atol=2e-6)
