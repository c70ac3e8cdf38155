"""Tests of keys of objects that are compared by identity."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.autograd.identity import Same


class Equal:
    """An object that equals every other one of its class."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)

    def __hash__(self) -> int:
        return 0


def test_a_key_equals_only_a_key_of_the_same_object() -> None:
    first, second = Equal(), Equal()

    assert Same(first) == Same(first)
    assert Same(first) != Same(second)
    assert {Same(first): 1, Same(second): 2}[Same(first)] == 1


def test_no_later_object_has_the_key_of_an_object_that_is_gone() -> None:
    keys = {Same(Equal()) for _ in range(100)}
    ids = {id(Equal()) for _ in range(100)}

    assert len(keys) == 100
    assert len(ids) < 100  # Python uses the memory again


def test_a_key_holds_its_object() -> None:
    value = Equal()
    alive, key = weakref.ref(value), Same(value)

    del value

    assert alive() is key.value


def test_a_tree_that_outlives_its_model_and_optimizer_is_rebuilt_from_its_own_parts() -> None:
    jax = pytest.importorskip("jax", reason="the extra `jax` brings it")

    def made(seed: int) -> tuple[nn.Sequential, optim.Adam]:
        model: nn.Sequential = nn.Sequential(nn.Linear(3, 5, rng=seed), nn.Linear(5, 2, rng=seed + 1))
        groups = {"*bias": optim.Group(lr=0.25), "layers.1.*": optim.Group(weight_decay=0.5)}
        return model, optim.Adam(model, groups=groups)

    trees, expected = [], []
    for seed in range(0, 40, 2):  # each model is gone before the next one is made, in the same memory
        model, opt = made(seed)
        expected.append([x.numpy(copy=True) for x in model.parameters().values()])
        trees.append([jax.tree.flatten(one) for one in (model, opt)])
        del model, opt

    for (of_model, of_opt), arrays in zip(trees, expected, strict=True):
        model, opt = (jax.tree.unflatten(structure, leaves) for leaves, structure in (of_model, of_opt))
        for x, array in zip(model.parameters().values(), arrays, strict=True):
            np.testing.assert_array_equal(x.numpy(), array)
        assert [one.lr for one in opt.groups.values()] == [0.25, None]
        assert [len(opt._groups_of[x]) for x in opt.parameters.values()] == [0, 1, 1, 2]


def test_groups_of_equal_options_are_updated_apart() -> None:
    w, v = (nn.Param(tg.tensor([1.0, 2.0])) for _ in range(2))
    groups = {"w": optim.Group(lr=0.5), "v": optim.Group(lr=0.5)}  # equal, and not the same
    opt = optim.SGD({"w": w, "v": v}, lr=1.0, groups=groups)

    for lr in (0.5, 0.25):
        opt.groups["v"].lr = lr
        opt.step((w.trace() * v).sum().backward(wrt=[w, v]))

    assert (w.tolist(), v.tolist()) == ([0.25, 0.5], [0.375, 0.75])
