"""Optimizer state: a resumed run gives bit-identical results to an uninterrupted one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tapegrad.io import FileError, load, save
from tapegrad.nn import Linear, Param, Sequential, Tanh, freeze
from tapegrad.ops import mse, ones, tensor, zeros
from tapegrad.optim import SGD, Adadelta, Adam, AdamW, Group, RMSprop, cosine, warmup

OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda model: SGD(model, lr=0.5),
    "momentum": lambda model: SGD(model, lr=0.5, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": Adam,
    "RMSprop": lambda model: RMSprop(model, momentum=0.5),
    "centered": lambda model: RMSprop(model, centered=True),
    "centered with momentum": lambda model: RMSprop(model, momentum=0.5, centered=True),
    "Adadelta": Adadelta,
    "AdamW": lambda model: AdamW(model, lr=0.5, groups={"*.bias": Group(lr=0.25), "layers.0.*": Group()}),
}
any_optimizer = pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
any_format = pytest.mark.parametrize("suffix", ["npz", "safetensors"])


def model(seed: int) -> Any:
    return Sequential(Linear(3, 4, rng=seed), Tanh(), Linear(4, 2, rng=seed + 1))


def train(net: Any, optimizer: Any, steps: range) -> None:
    x, schedule = tensor([[1.0, -2.0, 3.0]]), warmup(cosine(0.1, steps=9), steps=2)
    for step in steps:
        optimizer.lr = schedule(step)
        target = tensor([[float(step), 1.0]])
        optimizer.step(mse(net(x.trace()), target).backward(wrt=net))


def state(optimizer: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in optimizer.arrays().items()}


@any_optimizer
@any_format
def test_five_steps_and_five_after_loading_equal_ten(tmp_path: Path, make: Any, suffix: str) -> None:
    whole, first, second = model(0), model(0), model(5)
    optimizers = [make(net) for net in (whole, first, second)]
    path = tmp_path / f"run.{suffix}"
    train(whole, optimizers[0], range(10))

    train(first, optimizers[1], range(5))
    save({"model": first, "optimizer": optimizers[1]}, path)
    load({"model": second, "optimizer": optimizers[2]}, path)
    train(second, optimizers[2], range(5, 10))

    for name, parameter in whole.parameters().items():
        assert second.parameters()[name].numpy().tobytes() == parameter.numpy().tobytes()
    assert state(optimizers[2]) == state(optimizers[0])


@any_optimizer
def test_an_optimizer_before_its_first_step_can_be_saved(tmp_path: Path, make: Any) -> None:
    whole, resumed = model(0), model(0)
    untouched, optimizer = make(whole), make(resumed)

    save(make(model(1)), tmp_path / "optimizer.npz")
    load(optimizer, tmp_path / "optimizer.npz")
    train(whole, untouched, range(3))
    train(resumed, optimizer, range(3))

    assert state(optimizer) == state(untouched)


def test_learning_rates_set_by_the_user_are_restored(tmp_path: Path) -> None:
    optimizer, fresh = OPTIMIZERS["AdamW"](model(0)), OPTIMIZERS["AdamW"](model(0))
    optimizer.lr, optimizer.groups["*.bias"].lr = 1 / 3, 1 / 7

    save(optimizer, tmp_path / "optimizer.npz")
    load(fresh, tmp_path / "optimizer.npz")

    assert (fresh.lr, fresh.groups["*.bias"].lr, fresh.groups["layers.0.*"].lr) == (1 / 3, 1 / 7, None)


def test_names_are_paths_with_the_name_of_the_state() -> None:
    x: Any = Param(ones((3,)))

    arrays = Adam({"x": x}, lr=0.5).arrays()

    assert {name: (array.shape, str(array.dtype)) for name, array in arrays.items()} == {
        "lr": ((), "float64"),
        "x.steps": ((), "int64"),
        "x.first": ((3,), "float32"),
        "x.second": ((3,), "float32"),
    }


def test_the_state_of_a_scalar_is_restored(tmp_path: Path) -> None:
    start: Any = tensor(1.0)
    x, y = Param(start), Param(start)
    one, other = Adam([x]), Adam([y])
    one.step(mse(x.trace(), zeros(())).backward(wrt=x))

    save(one, tmp_path / "optimizer.npz")
    load(other, tmp_path / "optimizer.npz")

    assert state(other) == state(one)
    assert other.state[y].steps == 1


def test_the_state_of_a_frozen_parameter_is_saved_too(tmp_path: Path) -> None:
    net, other = model(0), model(0)
    optimizer, fresh = Adam(net), Adam(other)
    train(net, optimizer, range(2))
    freeze(net, "layers.0.*")

    save(optimizer, tmp_path / "optimizer.npz")
    load(fresh, tmp_path / "optimizer.npz")

    assert fresh.state[other[0].weight].steps == 2


def test_the_state_of_another_optimizer_changes_neither_model_nor_optimizer(tmp_path: Path) -> None:
    net, here = Linear(2, 1, bias=False, rng=0), Linear(2, 1, bias=False, rng=1)
    optimizer = Adam(here)
    before = (state(optimizer), here.weight.tolist(), here.weight.version)

    save({"model": net, "optimizer": SGD(net, lr=0.5, momentum=0.5)}, tmp_path / "run.npz")
    message = (
        "load: run.npz does not fit the mapping, which stays as it is:\n"
        "  optimizer.weight.steps () is not in the file\n"
        "  optimizer.weight.first (2, 1) is not in the file\n"
        "  optimizer.weight.second (2, 1) is not in the file\n"
        "  optimizer.weight.velocity (2, 1) is in the file only"
    )
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        load({"model": here, "optimizer": optimizer}, tmp_path / "run.npz")

    assert (state(optimizer), here.weight.tolist(), here.weight.version) == before
