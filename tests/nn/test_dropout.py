"""Dropout: when it applies, the share that it drops, and its random generator."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tapegrad import random
from tapegrad.io import FileError, load, save
from tapegrad.nn import Dropout, Linear, Module, Sequential
from tapegrad.ops import mse, ones, sum, zeros
from tapegrad.optim import SGD


def test_without_a_tape_nothing_changes() -> None:
    x: Any = ones((3, 5))

    assert Dropout(0.9, rng=0)(x) is x


def test_with_a_tape_a_fraction_is_dropped_and_the_mean_stays() -> None:
    x: Any = ones((300, 400))

    y = Dropout(0.25, rng=0)(x.trace())

    assert y.owns_tape
    assert y.dtype == np.float32
    np.testing.assert_allclose(np.unique(y.numpy()), [0, 4 / 3], rtol=1e-6)
    # 120,000 draws: the deviation of the fraction is 0.00125
    assert abs((y.numpy() == 0).mean() - 0.25) < 0.005


def test_the_gradient_passes_where_the_value_did() -> None:
    x: Any = ones((3, 5))

    y = Dropout(0.5, rng=0)(x.trace())
    values = y.detach().tolist()

    assert sum(y).backward()[x].tolist() == values


def test_every_call_draws_again_and_a_seed_repeats_the_sequence() -> None:
    x: Any = ones((3, 5))
    one, again = Dropout(0.5, rng=7), Dropout(0.5, rng=7)

    first, second = one(x.trace()).detach().tolist(), one(x.trace()).detach().tolist()

    assert first != second
    assert [again(x.trace()).detach().tolist() for _ in range(2)] == [first, second]


def test_two_layers_with_one_generator_draw_different_numbers() -> None:
    x: Any = ones((3, 5))
    with random(7):
        one, other = Dropout(0.5), Dropout(0.5)

    assert one.rng is not other.rng
    assert one(x.trace()).detach().tolist() != other(x.trace()).detach().tolist()


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_any_shape_is_accepted(shape: tuple[int, ...]) -> None:
    x: Any = ones(shape)

    assert Dropout(0.5, rng=0)(x.trace()).shape == shape


def test_a_rate_of_zero_drops_nothing() -> None:
    x: Any = ones((3, 5)).trace()

    assert Dropout(0.0, rng=0)(x) is x


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan")])
def test_a_rate_out_of_range_is_rejected(p: float) -> None:
    with pytest.raises(ValueError, match=f"^Dropout: p is {re.escape(str(p))} but must be from 0 to 1$"):
        Dropout(p)


def model(seed: int) -> Any:
    return Sequential(Linear(3, 8, rng=seed), Dropout(0.5, rng=seed), Linear(8, 2, rng=seed))


def train(net: Any, steps: int) -> None:
    optimizer = SGD(net, lr=0.1)
    for _ in range(steps):
        optimizer.step(mse(net(ones((5, 3)).trace()), zeros((5, 2))).backward(wrt=net))


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_a_resumed_model_continues_the_random_sequence(tmp_path: Path, suffix: str) -> None:
    whole, first, second = model(0), model(0), model(1)
    whole[1].rng.integers(2, dtype=np.uint32)  # leaves half a draw behind
    first[1].rng.integers(2, dtype=np.uint32)
    train(whole, 6)

    train(first, 3)
    save(first, tmp_path / f"model.{suffix}")
    load(second, tmp_path / f"model.{suffix}")
    train(second, 3)

    assert second[2].weight.tolist() == whole[2].weight.tolist()
    assert second[1].rng.bit_generator.state == whole[1].rng.bit_generator.state


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])  # noqa: S301
def test_a_copy_has_its_own_generator_with_the_same_state(again: Any) -> None:
    x: Any = ones((3, 5))
    one = Dropout(0.5, rng=0)

    twin = again(one)

    assert one(x.trace()).detach().tolist() == twin(x.trace()).detach().tolist()


def test_an_unsupported_generator_cannot_be_saved(tmp_path: Path) -> None:
    module = Module()
    module.rng = np.random.Generator(np.random.MT19937(0))  # type: ignore[attr-defined]  # an attribute set from outside

    message = "save: rng is a Generator(MT19937), but only a Generator(PCG64) can be saved"
    with pytest.raises(FileError, match=f"^{re.escape(message)}$"):
        save(module, tmp_path / "model.npz")


def test_generators_are_found_by_path_and_shown() -> None:
    net = model(0)
    module = Module()
    module.one = module.other = net[1].rng  # type: ignore[attr-defined]  # attributes set from outside

    assert list(net.generators()) == ["layers.1.rng"]
    assert list(module.generators()) == ["one"]
    assert module.paths() == []
    assert repr(net[1]) == "Dropout(0.5)"
    assert repr(module) == "Module(\n  one: Generator(PCG64)\n  other: Generator(PCG64)\n)"
