"""Modules, tensors and optimizers as pytrees of JAX."""

from __future__ import annotations

import copy
import pickle
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_type
from typing import Literal as L

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import jax
import jax.numpy as jnp

import tapegrad as tg
import tapegrad.jax  # registers them
from tapegrad import nn, optim
from tapegrad.errors import DTypeError, TapeError
from tapegrad.jax.objects import slots_of

jit: Any = tg.jit
tree: Any = jax.tree  # Any: mypy does not find the class of a tree definition
NO_NUMBERS = (
    "a transformation such as jax.jit or jax.grad traces a tensor, which has no numbers there; "
    "tapegrad.jit compiles functions of tensors"
)


def paths_of(tree: Any) -> list[str]:
    return [jax.tree_util.keystr(path, simple=True) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]


class Tied(nn.Module):
    """A module with a layer that it has twice, a method of it, a constant, and a number."""

    def __init__(self, width: int = 3, scale: float = 0.0) -> None:
        self.first = nn.Linear(width, width, rng=0)
        self.layers: list[Any] = [self.first, {"norm": nn.LayerNorm(width)}]
        self.call = self.first.forward
        self.mask = tg.ones((width,))
        self.scale = scale

    def forward(self, x: tg.Tensor) -> tg.Tensor:
        return self.call(x) * self.mask * self.scale


def test_the_leaves_of_a_module_are_its_parameters_buffers_and_tensors_by_path() -> None:
    model = nn.Sequential(nn.Linear(3, 4, rng=0), nn.Tanh(), nn.BatchNorm1d(4))

    assert paths_of(model) == [*model.parameters(), *model.buffers()]
    assert [leaf.shape for leaf in jax.tree.leaves(model)] == [(3, 4), (4,), (4,), (4,), (4,), (4,)]
    assert paths_of({"net": Tied()}) == [
        f"net{path}" for path in ("first.weight", "first.bias", "layers.1.norm.weight", "layers.1.norm.bias", "mask")
    ]


def test_a_mapped_module_has_its_class_and_types_and_shares_no_values() -> None:
    model = nn.Linear(2, 3, rng=0)
    nn.freeze(model, "bias")
    before = model.weight.tolist()

    doubled: nn.Linear[L[2], L[3]] = jax.tree.map(lambda leaf: leaf * 2, model)
    assert_type(doubled(tg.ones((5, 2))), tg.Tensor[tuple[L[5], L[3]], tg.NoneTape])
    doubled.weight.assign(tg.zeros((2, 3)))
    summed = jax.tree.map(jnp.add, model, doubled)

    assert model.weight.tolist() == before
    assert [one.frozen for one in doubled.parameters().values()] == [False, True]
    assert doubled.weight.version == 1
    assert summed.weight.tolist() == before
    assert summed(tg.ones((1, 2))).shape == (1, 3)


def test_what_is_shared_in_a_module_is_shared_in_a_mapped_one() -> None:
    model = Tied(scale=2.0)

    again = jax.tree.map(lambda leaf: leaf + 1, model)

    assert again.layers[0] is again.first
    assert again.call.__self__ is again.first
    assert again.first is not model.first
    assert again.mask.tolist() == [2.0, 2.0, 2.0]
    assert again.scale == 2.0


def test_modules_of_one_structure_have_equal_tree_definitions() -> None:
    structure = tree.structure(Tied())

    assert structure == tree.structure(Tied()) == tree.structure(copy.deepcopy(Tied()))
    assert hash(structure) == hash(tree.structure(Tied()))
    assert structure != tree.structure(Tied(scale=-0.0))
    assert structure != tree.structure(Tied(scale=1.0))
    assert tree.structure(nn.ReLU()) != tree.structure(nn.Tanh())
    assert "Structure of Tied" in str(structure)


def test_generators_are_shared_with_a_mapped_module() -> None:
    model = nn.Dropout(0.5, rng=0)

    assert jax.tree.map(lambda leaf: leaf, model).generators() == model.generators()
    assert tree.structure(model) == tree.structure(nn.Dropout(0.5, rng=1))


def test_a_tensor_is_a_tree_of_one_array() -> None:
    x = tg.tensor([1.0, 2.0])

    y = jax.tree.map(jnp.sin, x)

    assert paths_of([x]) == ["0data"]
    assert y.numpy() == pytest.approx(np.sin([1.0, 2.0]))
    assert jax.tree.map(lambda a: a, jit(lambda x: x * 2.0)(x)).tolist() == [2.0, 4.0]
    assert jax.tree.map(lambda a: a.shape, x).data == (2,)
    half = tg.tensor([1.5], np.float16)
    assert jax.tree.map(lambda a: a * 2, half).tolist() == [3.0]
    assert jax.tree.map(lambda a: a, tg.ones((1,), np.float64)).dtype == np.float64
    with jax.enable_x64(True):  # noqa: FBT003  # JAX's signature
        wide = jax.tree.map(jnp.asarray, nn.Param(tg.tensor([0.1], np.float64)))
    assert jax.tree.map(lambda a: a, wide).tolist() == [0.1]


def test_a_tensor_with_a_tape_is_no_tree() -> None:
    with pytest.raises(TapeError, match=r"^jax\.tree: a tensor has a tape but must have none$"):
        jax.tree.leaves(tg.ones((2,)).trace())


def test_quantized_parameters_have_two_leaves() -> None:
    model = nn.quantized(nn.Linear(4, 2, rng=0), tg.Symmetric())
    x = tg.ones((1, 4))

    doubled = jax.tree.map(lambda leaf: leaf if leaf.dtype == np.int8 else jnp.asarray(leaf * 2), model)

    assert paths_of(model) == ["weight.values", "weight.scale", "bias"]
    assert doubled(x).numpy() == pytest.approx(2 * model(x).numpy())


def test_steps_do_not_change_what_was_mapped_before() -> None:
    model = nn.Linear(2, 3, rng=0)
    opt = optim.Adam(model, lr=0.5)

    def train(model: Any, opt: Any, x: Any) -> None:
        opt.step((model(x.trace()) ** 2).sum().backward(wrt=model))

    step = jit(train)
    step(model, opt, tg.ones((4, 2)))
    average = jax.tree.map(lambda leaf: leaf, model)
    moments = jax.tree.map(lambda leaf: leaf, opt)
    before, first = model.weight.tolist(), opt.state[model.weight].first.here().tolist()
    step(model, opt, tg.ones((4, 2)))

    assert average.weight.tolist() == before != model.weight.tolist()
    assert moments.state[model.weight].first.here().tolist() == first
    step(average, optim.Adam(average, lr=0.5), tg.ones((4, 2)))
    assert average.weight.tolist() != before


def test_a_parameter_that_was_read_since_a_step_is_mapped_without_its_old_values() -> None:
    jit(lambda model, x: model(x))(nn.Linear(2, 3, rng=0), tg.ones((4, 2)))  # tracing changes the class of parameters
    slots_of.cache_clear()
    model = nn.Linear(2, 3, rng=0)

    assert jax.tree.map(jnp.zeros_like, model).weight.tolist() == [[0.0] * 3] * 2


def test_optimizers_are_trees_of_their_state_and_learning_rates() -> None:
    model = nn.Linear(2, 3, rng=0)
    opt = optim.Adam(model, lr=0.5, groups={"bias": optim.Group(lr=0.25), "weight": optim.Group(weight_decay=0.1)})

    other = jax.tree.map(lambda leaf: leaf + 1, opt)

    names = ("steps", "first", "second")
    assert paths_of(opt) == [
        "lr",
        "groups.bias.lr",
        *(f"{path}.{name}" for path in model.parameters() for name in names),
    ]
    assert (other.lr, other.groups["bias"].lr, opt.lr) == (1.5, 1.25, 0.5)
    assert other.state[model.weight].steps == 1
    assert other.state[model.weight].first.tolist() == [[1.0] * 3] * 2
    assert not opt.state
    assert tree.structure(opt) == tree.structure(copy.deepcopy(opt))
    assert tree.structure(opt) != tree.structure(optim.Adam(model, lr=0.5))
    before = model.bias.tolist()
    other.step((model(tg.ones((1, 2)).trace()) ** 2).sum().backward(wrt=model))
    assert model.bias.tolist() != before
    assert paths_of(optim.SGD(model, lr=0.5)) == ["lr"]


def test_a_plain_transformation_of_jax_says_that_it_does_not_run_ops() -> None:
    model = nn.Linear(2, 3, rng=0)
    x = tg.ones((4, 2))

    same = jax.jit(lambda model, x: (model, x))(model, x)
    norm = jax.jit(lambda model: sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(model)))(model)

    assert same[0].weight.tolist() == model.weight.tolist()
    assert norm == pytest.approx(sum(float((p.numpy() ** 2).sum()) for p in model.parameters().values()))
    with pytest.raises(TapeError) as error:
        jax.jit(lambda model, x: model(x))(model, x)
    assert str(error.value) == f"model Linear(2, 3): {NO_NUMBERS}"
    with pytest.raises(TapeError) as error:
        jax.jit(lambda x: x * 2.0)(x)
    assert str(error.value) == f"mul: {NO_NUMBERS}"
    with pytest.raises(TapeError) as error:
        jax.jit(lambda x: np.asarray(jax.tree.map(lambda leaf: leaf, x)))(x)
    assert str(error.value) == NO_NUMBERS


def test_classes_that_are_defined_later_are_trees_too() -> None:
    class Later(nn.Linear[Any, Any]):
        pass

    @dataclass
    class Count:
        count: int

    class Counting(optim.Optimizer[Count]):
        def start(self, _: Any) -> Count:
            return Count(0)

        def update(self, x: Any, dx: Any, state: Count, lr: float) -> Any:
            return x - dx * lr, Count(state.count + 1)

    class Named(nn.Param[Any]):
        pass

    model = Later(2, 3, rng=0)
    model.weight = Named(model.weight)
    model.weight.name = "w"  # type: ignore[attr-defined]  # a subclass without slots has any attribute

    again: Any = jax.tree.map(lambda leaf: leaf, model)

    assert (type(again), type(again.weight), again.weight.name) == (Later, Named, "w")
    assert paths_of(Counting(model, lr=1.0)) == ["lr", "weight.count", "bias.count"]


def test_an_attribute_that_cannot_be_copied_is_named() -> None:
    model: Any = nn.Linear(2, 3)
    model.lock = threading.Lock()

    with pytest.raises(DTypeError, match=r"^jax\.tree: Linear has an attribute that cannot be copied: cannot pickle"):
        jax.tree.leaves(model)


def test_mapped_modules_are_pickled() -> None:
    model = jax.tree.map(jnp.asarray, nn.Linear(2, 3, rng=0))

    assert pickle.loads(pickle.dumps(model)).weight.tolist() == model.weight.tolist()  # noqa: S301  # written here


def test_orbax_saves_and_restores_a_module_and_its_optimizer(tmp_path: Path) -> None:
    orbax = pytest.importorskip("orbax.checkpoint", reason="the extra `orbax` brings it")
    model, other = nn.Linear(2, 3, rng=0), nn.Linear(2, 3, rng=1)
    opt: Any = optim.SGD(model, lr=0.5, momentum=0.9)
    opt.step((model(tg.ones((1, 2)).trace()) ** 2).sum().backward(wrt=model))

    with orbax.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "step", {"model": model, "opt": opt})
        checkpointer.wait_until_finished()
        found = checkpointer.restore(tmp_path / "step", {"model": other, "opt": optim.SGD(other, lr=0.1, momentum=0.9)})

    assert found["model"].weight.tolist() == model.weight.tolist()
    assert found["opt"].lr == 0.5
    assert found["opt"].state[other.weight].velocity.tolist() == opt.state[model.weight].velocity.tolist()
