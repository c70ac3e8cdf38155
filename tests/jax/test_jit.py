"""Steps under `jit`: what they compute, what they carry, how often they are traced, and what they reject."""

from __future__ import annotations

import copy
import gc
import io
import logging
import pickle
import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import jax

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.autograd.gradients import Gradients
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.tensors import Tensor

jit: Any = tg.jit  # most of the steps here are untyped; typecheck/jitted.py has typed ones

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda model: optim.SGD(model, lr=0.1),
    "momentum": lambda model: optim.SGD(model, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": lambda model: optim.Adam(model, lr=0.01),
    "AdamW": lambda model: optim.AdamW(model, lr=0.01, groups={"*.bias": optim.Group(lr=0.1, weight_decay=0)}),
    "RMSprop": lambda model: optim.RMSprop(model, momentum=0.5),
    "centered": lambda model: optim.RMSprop(model, momentum=0.5, centered=True),
    "Adadelta": optim.Adadelta,
}


class Dense(nn.Module):
    """A linear layer of any dtype."""

    def __init__(self, n: int, m: int, dtype: Any) -> None:
        self.weight = nn.Param(tg.normal((n, m), std=n**-0.5, dtype=dtype))
        self.bias = nn.Param(tg.normal((m,), std=0.1, dtype=dtype))

    def forward(self, x: Any) -> Any:
        return x @ self.weight + self.bias


def mlp(dtype: Any = np.float32) -> Any:
    with tg.random(0):
        return nn.Sequential(Dense(6, 5, dtype), nn.Tanh(), Dense(5, 3, dtype))


def batch(seed: int, dtype: Any = np.float32) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return tg.tensor(rng.normal(size=(4, 6)).astype(dtype)), tg.tensor(rng.integers(0, 3, 4))


def step(model: Any, opt: Any, x: Any, y: Any) -> Any:
    loss = tg.cross_entropy(model(x.trace()), y)
    opt.step(loss.backward(wrt=model))
    return loss.detach()


def step_gradients(model: Any, x: Any, y: Any) -> Gradients:
    return tg.cross_entropy(model(x.trace()), y).backward(wrt=model)


def counted(function: Callable[..., Any]) -> tuple[Callable[..., Any], list[int]]:
    """Return a function under jit, and what grows by one each time it is traced."""
    traces: list[int] = []

    def counting(*args: Any) -> Any:
        traces.append(1)
        return function(*args)

    return jit(counting), traces


def assert_same(model: Any, other: Any) -> None:
    for path, parameter in model.parameters().items():
        np.testing.assert_allclose(parameter.numpy(), other.parameters()[path].numpy(), rtol=2e-5, atol=1e-6)


# What a step computes


def test_no_stale_host_values_remain_after_a_step_on_a_device() -> None:
    model = mlp()
    opt, jitted = optim.Adam(model), jit(step)
    jitted(model, opt, *batch(0))
    step(model, opt, *batch(1))
    gone = [weakref.ref(parameter.data) for parameter in model.parameters().values()]

    jitted(model, opt, *batch(2))  # which is traced no more
    gc.collect()

    assert [reference() for reference in gone] == [None] * 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_model_is_trained_as_by_numpy_and_traced_once(name: str, dtype: Any) -> None:
    jitted, traces = counted(step)
    model, other = mlp(dtype), mlp(dtype)
    opt, opt_of_other = OPTIMIZERS[name](model), OPTIMIZERS[name](other)

    for turn in range(6):
        opt.lr = opt_of_other.lr = 0.05 / (turn + 1)
        under, without = jitted(model, opt, *batch(turn, dtype)), step(other, opt_of_other, *batch(turn, dtype))
        np.testing.assert_allclose(under.item(), without.item(), rtol=1e-5)

    assert len(traces) == 1
    assert_same(model, other)
    assert {parameter.dtype for parameter in model.parameters().values()} == {np.dtype(dtype)}
    ours, theirs = opt.arrays(), opt_of_other.arrays()
    assert ours.keys() == theirs.keys()
    for path, array in ours.items():
        assert array.dtype == theirs[path].dtype
        np.testing.assert_allclose(array, theirs[path], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_run_can_switch_between_jit_and_eager_steps(name: str) -> None:
    jitted, traces = counted(step)
    model, other = mlp(), mlp()
    opt, opt_of_other = OPTIMIZERS[name](model), OPTIMIZERS[name](other)

    for turn in range(6):
        (jitted if turn // 2 % 2 == 0 else step)(model, opt, *batch(turn))
        step(other, opt_of_other, *batch(turn))

    assert len(traces) == 1
    assert_same(model, other)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_saved_run_continues_with_another_model(name: str, tmp_path: Any) -> None:
    jitted = jit(step)
    model, other = mlp(), mlp()
    opt, opt_of_other = OPTIMIZERS[name](model), OPTIMIZERS[name](other)
    jitted(model, opt, *batch(0))

    tg.io.save({"model": model, "opt": opt}, tmp_path / "run.npz")
    step(other, opt_of_other, *batch(0))
    tg.io.load({"model": other, "opt": opt_of_other}, tmp_path / "run.npz")
    for turn in (1, 2):
        jitted(model, opt, *batch(turn))
        jitted(other, opt_of_other, *batch(turn))

    assert_same(model, other)


def test_other_shapes_and_dtypes_are_traced_once_each() -> None:
    jitted, traces = counted(lambda x: (x * x).sum())

    for _ in range(2):
        for shape in [(2, 3), (5,), ()]:
            for dtype in (np.float32, np.float64):
                assert jitted(tg.ones(shape, dtype)).item() == np.prod(shape)

    assert len(traces) == 6


def test_two_models_of_one_structure_share_a_program() -> None:
    jitted, traces = counted(step)
    models = [mlp(), mlp(), mlp()]
    opts = [optim.SGD(model, lr=0.1) for model in models]

    for turn in range(3):
        for model, opt in zip(models[:2], opts[:2], strict=True):
            jitted(model, opt, *batch(turn))
        step(models[2], opts[2], *batch(turn))

    assert len(traces) == 1
    assert_same(models[0], models[2])
    assert_same(models[1], models[2])


def test_a_returned_module_is_that_of_the_call() -> None:
    jitted, traces = counted(lambda model, x: (model, model(x)))
    models = [mlp(), mlp()]

    assert [jitted(model, batch(0)[0])[0] is model for model in models] == [True, True]
    assert len(traces) == 1


def test_batch_norm_updates_its_buffers() -> None:
    def trained(model: Any, opt: Any, x: Any) -> Any:
        loss = (model(x.trace()) ** 3).mean()
        opt.step(loss.backward(wrt=model))
        return loss

    model, other = nn.BatchNorm1d(5), nn.BatchNorm1d(5)
    opts = [optim.SGD(model, lr=0.1), optim.SGD(other, lr=0.1)]
    jitted = jit(trained)
    for turn in range(3):
        x = tg.normal((7, 5), rng=turn)
        jitted(model, opts[0], x)
        trained(other, opts[1], x)

    assert_same(model, other)
    np.testing.assert_allclose(model.running_mean.numpy(), other.running_mean.numpy(), rtol=1e-5)
    np.testing.assert_allclose(model.running_var.numpy(), other.running_var.numpy(), rtol=1e-5)


def test_gradients_are_clipped_as_in_eager_steps() -> None:
    def norm_clipped(x: Any) -> Any:
        grads = (x.trace() * 3.0).sum().backward()
        return grads.clip_norm(1.0)[x], grads.clip_norm(100.0)[x], grads.clip_value(0.5)[x]

    x = tg.ones((4, 4))

    for ours, theirs in zip(jit(norm_clipped)(x), norm_clipped(x), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
    with jax.enable_x64(True):  # noqa: FBT003  # its one parameter
        assert {one.dtype for one in jit(norm_clipped)(x)} == {np.dtype(np.float32)}


@pytest.mark.parametrize("op", [tg.layer_norm, tg.rms_norm], ids=["layer_norm", "rms_norm"])
def test_overflow_has_the_fallback_of_eager_steps(op: Any) -> None:
    x = tg.tensor([[1e20, 2e20, -1e20], [1.0, 2.0, 4.0]])
    weights = (tg.ones((3,)), tg.zeros((3,)))[: 2 if op is tg.layer_norm else 1]

    def gradient(x: Any, *weights: Any) -> Any:
        y = op(x.trace(), *weights)
        return y.detach(), (y**3).sum().backward(wrt=x)[x]

    for ours, theirs in zip(jit(gradient)(x, *weights), gradient(x, *weights), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("row", [[1e30, -1e30], [1e20, 3.0], [2.0, 1.0]], ids=["q and k", "q", "neither"])
def test_attention_whose_products_overflow_is_that_of_eager_steps(row: list[float]) -> None:
    q: Any = tg.tensor([row, [0.5, 1.5], [0.0, 0.0]])
    k: Any = tg.tensor([[row[0], 1.0], [1.0, -2.0], [0.0, 3.0], [1.0, 0.5]])
    v = tg.tensor([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0], [13.0, 17.0]])
    masked = tg.tensor([[True, True, False, True], [False] * 4, [False, True, True, False]])
    biased = tg.tensor([[0.5, -np.inf, 2.0, 0.0], [-np.inf] * 4, [0.0, 1.0, 2.0, 3.0]])

    def attended(q: Any, k: Any, v: Any, options: Any) -> Any:
        y = tg.scaled_dot_product_attention(q.trace(), k, v, scale=-1.5, **options)
        return y.detach(), y.sum().backward(wrt=q)[q]

    for options in ({"mask": masked}, {"bias": biased}, {"causal": True}, {}):
        for ours, theirs in zip(jit(attended)(q, k, v, options), attended(q, k, v, options), strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-5)


def test_norms_and_attention_of_usual_numbers_have_no_branch() -> None:
    # Two computations and a branch took the compiler longer than all else in a transformer block.
    block = tg.nn.TransformerEncoderBlock(8, 2, 12, causal=True, rng=0)

    def gradients(block: Any, x: Any) -> Any:
        loss = (tg.rms_norm(block(x.trace()), tg.ones((8,))) ** 2).mean()
        grads = loss.backward(wrt=block)
        return tuple(grads[one] for one in block.parameters().values())

    program = tg.jax.export(jit(gradients), block, tg.ones((2, 3, 8))).mlir_module()

    assert "stablehlo.exponential" in program
    assert "stablehlo.case" not in program
    assert "stablehlo.if" not in program


def test_gradients_are_differentiated_again() -> None:
    def derivative(x: Any) -> Any:
        return tg.hvp(lambda x: (x * x * x).sum(), x, x)

    x = tg.tensor([2.0, 3.0])

    assert jit(derivative)(x).tolist() == [24.0, 54.0]  # 6 x · x


# What a result is


def test_a_result_stays_on_the_device_until_it_is_read() -> None:
    y = jit(lambda x: x + 1.0)(tg.zeros((2, 3)))

    assert (y.shape, y.dtype, y.ndim, y.size, y.is_float) == ((2, 3), np.float32, 2, 6, True)
    assert isinstance(y.node, jax.Array)
    assert y.detach().node is y.node
    assert (y * 2.0).tolist() == [[2.0] * 3] * 2
    for twin in (copy.deepcopy(y), pickle.loads(pickle.dumps(y))):  # noqa: S301  # its own bytes
        assert type(twin) is Tensor
        assert twin.tolist() == y.tolist()


def test_a_result_may_be_a_namespace() -> None:
    made = jit(lambda x: SimpleNamespace(twice=x * 2.0, parts=[x + 1.0], name="x"))

    first, second = made(tg.ones((2,))), made(tg.zeros((2,)))

    assert (first.twice.tolist(), first.parts[0].tolist(), first.name) == ([2.0, 2.0], [2.0, 2.0], "x")
    assert (second.twice.tolist(), second.parts[0].tolist(), second.name) == ([0.0, 0.0], [1.0, 1.0], "x")


def test_a_result_is_made_of_tuples_dictionaries_dataclasses_gradients_and_the_arguments_themselves() -> None:
    @dataclass(frozen=True)
    class Pair:
        x: Any
        name: str

    def made(model: Any, x: Any) -> Any:
        loss = (model(x.trace()) ** 2).sum()
        grads = loss.backward(wrt=[x, model])
        return {"loss": loss, "grads": grads, "both": (x, [Pair(x * 2.0, "double"), None])}, model

    model, x = mlp(), batch(0)[0]
    found, same = jit(made)(model, x)

    assert same is model
    assert found["both"][0] is x
    assert (found["both"][1][0].name, found["both"][1][1]) == ("double", None)
    np.testing.assert_array_equal(found["both"][1][0].x.numpy(), x.numpy() * 2)
    assert isinstance(found["grads"], Gradients)
    assert set(map(id, found["grads"])) == {id(x), *map(id, model.parameters().values())}
    assert found["grads"][x].shape == x.shape
    assert found["loss"].owns_tape
    with pytest.raises(TapeError, match=r"^the tape was consumed by backward at test_jit\.py:\d+; trace again"):
        found["loss"].backward()


def test_a_returned_argument_or_constant_is_the_same_object() -> None:
    constant = tg.tensor([1.0, 2.0])
    x, y = tg.ones((2,)), tg.zeros((2,))

    swapped = jit(lambda x, y: (y, x, constant, 3))(x, y)

    assert [one is other for one, other in zip(swapped, (y, x, constant), strict=False)] == [True] * 3
    assert swapped[3] == 3


def test_a_tensor_that_is_given_twice_is_one_tensor() -> None:
    jitted = jit(lambda x, y: (x.trace() * y).sum().backward(wrt=[x, y])[x])
    x, y = tg.tensor([2.0]), tg.tensor([5.0])

    assert [jitted(*pair).item() for pair in [(x, y), (x, x), (y, x), (y, y)]] == [5.0, 4.0, 2.0, 10.0]


def test_values_read_before_a_step_stay_unchanged() -> None:
    jitted, model = jit(step), mlp()
    opt = optim.Adam(model)
    jitted(model, opt, *batch(0))
    weight = model.layers[0].weight
    view, tensor = weight.numpy(), weight.detach()
    before = view.copy()

    for turn in range(3):
        jitted(model, opt, *batch(turn))

    np.testing.assert_array_equal(view, before)
    np.testing.assert_array_equal(tensor.numpy(), before)
    assert (weight.numpy() != before).any()


def test_a_tape_from_before_a_step_is_rejected() -> None:
    jitted, model = jit(step), mlp()
    opt = optim.SGD(model, lr=0.1)
    x, y = batch(0)
    loss = tg.cross_entropy(model(x.trace()), y)

    jitted(model, opt, x, y)

    with pytest.raises(TapeError, match=r"was assigned after the forward pass used it: version 0 was recorded"):
        loss.backward()


def test_a_model_on_the_device_is_copied_pickled_and_assigned() -> None:
    jitted, model = jit(step), mlp()
    opt = optim.Adam(model)
    jitted(model, opt, *batch(0))

    copied, pickled = copy.deepcopy((model, opt)), pickle.loads(pickle.dumps((model, opt)))  # noqa: S301  # its own bytes
    for one, one_opt in (copied, pickled):
        jitted(one, one_opt, *batch(1))
    jitted(model, opt, *batch(1))

    assert_same(copied[0], model)
    assert_same(pickled[0], model)
    model.layers[0].bias.assign(tg.ones((5,)))
    assert jit(lambda model: model.layers[0].bias + 0.0)(model).tolist() == [1.0] * 5


# What is constant, and what is traced again


def test_a_changed_attribute_is_detected() -> None:
    jitted, traces = counted(lambda model, x: model(x.trace()).detach())
    model = nn.Sequential(nn.LayerNorm(3), nn.ReLU())
    x = tg.tensor([[1.0, 2.0, 6.0]])
    first = jitted(model, x)

    model.layers[0].eps = 10.0
    second, third = jitted(model, x), jitted(model, x)

    assert len(traces) == 2
    assert first.tolist() != second.tolist() == third.tolist() == model(x).tolist()


class Settings:
    """Is no more than its attributes."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


@dataclass
class Written:
    """A dataclass of the attributes that the others have."""

    scale: Any
    shift: Any
    deep: Any


class Held(nn.Module):
    """A module with attributes that are neither parameters nor buffers."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


HOLDERS = pytest.mark.parametrize("kind", [Settings, SimpleNamespace, Written, Held])


def held(kind: Any) -> Any:
    return kind(scale=2.0, shift=tg.tensor([1.0, 2.0, 3.0]), deep=[(tg.tensor([0.5]), "name")])


@HOLDERS
def test_a_changed_attribute_of_an_object_is_detected(kind: Any) -> None:
    jitted, traces = counted(lambda given, x: x * given.scale + given.shift * given.deep[0][0])
    given, x = held(kind), tg.tensor([1.0, 2.0, 6.0])
    results = [jitted(given, x).tolist(), jitted(given, x).tolist()]

    given.shift = tg.tensor([5.0, 6.0, 7.0])
    results.append(jitted(given, x).tolist())
    given.deep[0] = (tg.tensor([2.0]), "name")
    results.append(jitted(given, x).tolist())
    given.scale = 3.0
    results.append(jitted(given, x).tolist())

    first = [2.5, 5.0, 13.5]  # x * 2 + shift / 2
    assert results == [first, first, [4.5, 7.0, 15.5], [12.0, 16.0, 26.0], [13.0, 18.0, 32.0]]
    assert len(traces) == 2  # tensors are inputs; the number is a part of the program


@HOLDERS
def test_two_objects_that_hold_the_same_share_a_program(kind: Any) -> None:
    jitted, traces = counted(lambda given, x: (x * given.scale + given.shift, given))
    one, other = held(kind), held(kind)
    other.shift = tg.zeros((3,))
    x = tg.ones((3,))

    results = [jitted(given, x) for given in (one, other, one)]

    assert [y.tolist() for y, _ in results] == [[3.0, 4.0, 5.0], [2.0, 2.0, 2.0], [3.0, 4.0, 5.0]]
    assert [given.shift for _, given in results] == [one.shift, other.shift, one.shift]
    assert len(traces) == 1


@HOLDERS
def test_attributes_that_a_step_sets_in_an_object_are_rejected_and_restored(kind: Any) -> None:
    given, x = held(kind), tg.ones((3,))
    before, deep = dict(vars(given)), list(given.deep)

    def counting(given: Any, x: Any) -> Any:
        given.scale += 1.0
        return x * given.shift

    def keeping(given: Any, x: Any) -> Any:
        given.shift = given.shift + x
        return x

    def emptying(given: Any, x: Any) -> Any:
        return x * given.deep.pop()[0]

    rejected = {
        counting: "jit: the step sets given.scale from 2.0 to 3.0, which happens but once; a Buffer is carried",
        keeping: "jit: the step sets given.shift, a tensor, which happens but once; a Buffer is carried",
        emptying: "jit: the step changes what an object or a container holds, which happens but once",
    }
    for step, words in rejected.items():
        with pytest.raises(TapeError, match=f"^{re.escape(words)}$"):
            jit(step)(given, x)
        assert vars(given) == before
        assert given.deep == deep


def test_an_object_may_have_the_step_as_its_method() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.model = mlp()
            self.opt = optim.SGD(self.model, lr=0.1)

        def step(self, x: Any, y: Any) -> Any:
            return step(self.model, self.opt, x, y)

        compiled = jit(step)

    one, other, eager = Trainer(), Trainer(), Trainer()

    for seed in range(3):
        one.compiled(*batch(seed))
        jit(other.step)(*batch(seed))
        eager.step(*batch(seed))

    assert_same(one.model, eager.model)
    assert_same(other.model, eager.model)


def test_an_object_with_slots_and_a_logger_are_compared_by_identity() -> None:
    class Slotted:
        __slots__ = ("scale",)
        scale: float

    jitted, traces = counted(lambda given, log, x: x * given.scale if log.name else x)
    given, log, x = Slotted(), logging.getLogger("tapegrad.tests"), tg.ones((2,))
    given.scale = 2.0
    first = jitted(given, log, x)

    log.setLevel(logging.ERROR)
    second = jitted(given, log, x)
    other = Slotted()
    other.scale = 3.0
    third = jitted(other, log, x)

    assert [first.tolist(), second.tolist(), third.tolist()] == [[2.0, 2.0], [2.0, 2.0], [3.0, 3.0]]
    assert len(traces) == 2


def test_a_frozen_dataclass_with_slots_is_an_argument_and_stays_unchanged() -> None:
    @dataclass(slots=True, frozen=True)
    class Given:
        scale: tg.Tensor[Any, Any]

    scale = tg.tensor([2.0, 3.0])
    given = Given(scale)

    assert jit(lambda given, x: x * given.scale)(given, tg.ones((2,))).tolist() == [2.0, 3.0]
    assert given.scale is scale


def test_attributes_that_a_step_sets_in_a_dataclass_with_slots_are_rejected() -> None:
    @dataclass(slots=True)
    class Total:
        sum: tg.Tensor[Any, Any]

    def step(total: Total, x: tg.Tensor[Any, Any]) -> None:
        total.sum = total.sum + x.sum()

    total = Total(tg.tensor(1.0))
    with pytest.raises(TapeError, match=r"^jit: the step sets total\.sum, a tensor, which happens but once; a Buffer"):
        jit(step)(total, tg.ones((2,)))

    assert total.sum.item() == 1.0


def test_list_and_dictionary_arguments_stay_unchanged() -> None:
    words = r"^jit: the step changes what an object or a container holds, which happens but once$"
    x, several, named = tg.ones((2,)), [tg.ones((2,))], {"x": tg.ones((2,))}

    with pytest.raises(TapeError, match=words):
        jit(lambda several, x: several.append(x))(several, x)
    with pytest.raises(TapeError, match=words):
        jit(lambda named, x: named.update(y=x))(named=named, x=x)

    assert len(several) == len(named) == 1
    assert jit(lambda several, named: several[0] + named["x"])(several, named=named).tolist() == [2.0, 2.0]


def test_a_frozen_parameter_stays_unchanged() -> None:
    jitted, traces = counted(step)
    model = mlp()
    opt = optim.SGD(model, lr=0.1)
    jitted(model, opt, *batch(0))
    nn.freeze(model, "layers.0.*")
    before = model.layers[0].weight.numpy(copy=True)

    jitted(model, opt, *batch(1))

    np.testing.assert_array_equal(model.layers[0].weight.numpy(), before)
    assert len(traces) == 2


def test_a_longer_list_is_detected() -> None:
    class Deep(nn.Module):
        def __init__(self) -> None:
            self.layers: list[Any] = [nn.ReLU()]

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return x

    model, x = Deep(), tg.tensor([-1.0, 1.0])
    jitted = jit(lambda model, x: model(x))
    assert jitted(model, x).tolist() == [0.0, 1.0]

    model.layers.append(nn.Sigmoid())

    assert jitted(model, x).tolist() == model(x).tolist()


def test_a_number_is_an_input_of_the_program() -> None:
    jitted, traces = counted(lambda x, factor, shift=0.0: x * factor + shift)

    assert [jitted(tg.ones(()), n).item() for n in (2.0, 3.0, 2.0, 3.0)] == [2.0, 3.0, 2.0, 3.0]
    assert len(traces) == 1


def test_arguments_may_be_keywords_and_methods_have_their_object() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            self.factor = nn.Param(tg.tensor([3.0]))

        @tg.jit
        def forward(self, x: Any, *, shift: Any) -> Any:
            return x * self.factor + shift

    model = Scaled()

    assert model(tg.tensor([2.0]), shift=tg.tensor([1.0])).item() == 7.0
    model.factor.assign(tg.tensor([4.0]))
    assert model(tg.tensor([2.0]), shift=tg.tensor([1.0])).item() == 9.0
    bound = jit(mlp().forward)
    assert bound(batch(0)[0]).shape == (4, 3)


def test_a_nested_step_is_part_of_the_outer_one() -> None:
    inner, traces = counted(step)

    def twice(model: Any, opt: Any, x: Any, y: Any) -> Any:
        inner(model, opt, x, y)
        return inner(model, opt, x, y)

    model, other = mlp(), mlp()
    opts = [optim.SGD(model, lr=0.1), optim.SGD(other, lr=0.1)]
    inner(model, opts[0], *batch(0))
    jit(twice)(model, opts[0], *batch(1))
    for turn in (0, 1, 1):
        step(other, opts[1], *batch(turn))

    assert_same(model, other)
    assert len(traces) == 3


def test_an_unused_model_is_freed() -> None:
    model = mlp()
    jit(step)(model, optim.SGD(model, lr=0.1), *batch(0))
    model.layers[0].weight.numpy()
    gone = weakref.ref(model.layers[0].weight)

    del model
    gc.collect()

    assert gone() is None


# Random numbers


def test_dropout_is_new_at_each_step_and_the_same_in_the_next_run(tmp_path: Any) -> None:
    def made() -> Any:
        return nn.Dropout(0.5, rng=0)

    noise = jit(lambda model, x: model(x.trace()).detach())
    x, model = tg.ones((50,)), made()
    first, second = noise(model, x).tolist(), noise(model, x).tolist()
    tg.io.save(model, tmp_path / "noise.npz")
    third = noise(model, x).tolist()

    again = made()
    assert [noise(again, x).tolist() for _ in range(2)] == [first, second]
    tg.io.load(again, tmp_path / "noise.npz")
    assert noise(again, x).tolist() == third
    noise(model, tg.ones((20,)))
    noise(again, tg.ones((20,)))  # of another shape, and one seed is drawn all the same
    assert noise(model, x).tolist() == noise(again, x).tolist()
    assert first != second
    assert set(first) == {0.0, 2.0}


def test_the_innermost_random_block_is_used_and_its_seed_stays_the_same() -> None:
    drawn = jit(lambda x: (tg.normal((3,)) + x, tg.normal((3,), rng=5) + x))
    x = tg.zeros((3,))

    with tg.random(7):
        runs = [drawn(x) for _ in range(2)]
    with tg.random(7):
        again = drawn(x)

    assert runs[0][0].tolist() == again[0].tolist() != runs[1][0].tolist()
    assert runs[0][1].tolist() == runs[1][1].tolist() == tg.normal((3,), rng=5).tolist()
    assert drawn(x)[0].tolist() != drawn(x)[0].tolist()  # fresh entropy


def test_random_inside_a_step_draws_the_same_at_each_call() -> None:
    def drawn(x: Any) -> Any:
        with tg.random(3):
            return x + tg.normal((3,))

    x = tg.zeros((3,))

    assert jit(drawn)(x).tolist() == drawn(x).tolist()


# Labels and indices


@pytest.mark.parametrize("dtype", [np.float32, np.float16, tg.bfloat16])
def test_bce_is_bounded_and_nan_for_invalid_probabilities(dtype: Any) -> None:
    def step(x: Any, target: Any) -> Any:
        taped = x.trace()
        loss = tg.bce(tg.sigmoid(taped), target, reduction="none")
        return loss.detach(), loss.sum().backward()[taped]

    x = tg.tensor(np.array([-1000.0, 1000.0, 1000.0, 0.0]), dtype)
    target = tg.tensor(np.array([1.0, 0.0, 1.0, 1.0]), dtype)
    for found, expected in zip(jit(step)(x, target), step(x, target), strict=True):
        np.testing.assert_allclose(found.astype(np.float64).numpy(), expected.astype(np.float64).numpy(), rtol=1e-3)
    for outside in (2.0, -0.5):
        assert np.isnan(jit(tg.bce)(tg.tensor(np.array([outside]), dtype), target[:1]).item())


def test_an_invalid_label_makes_the_loss_nan() -> None:
    x = tg.ones((2, 3))

    for function in (tg.cross_entropy, tg.nll):
        assert np.isnan(jit(function)(x, tg.tensor([0, 3])).item())
        ignoring = jit(lambda x, y, f=function: f(x, y, ignore_index=-1))
        np.testing.assert_allclose(
            ignoring(x, tg.tensor([0, -1])).item(), function(x, tg.tensor([0, -1]), ignore_index=-1).item(), rtol=1e-6
        )


@pytest.mark.parametrize("options", [{}, {"ignore_index": 1}, {"smoothing": 0.25}], ids=str)
def test_losses_of_weighted_classes_under_jit_equal_eager_results(options: dict[str, Any]) -> None:
    x, labels, weight = tg.normal((5, 3), rng=0), tg.tensor([0, 1, 2, 2, 1]), tg.tensor([0.5, 4.0, 1.0])

    def step(x: Any, labels: Any, weight: Any) -> Any:
        loss = tg.cross_entropy(x.trace(), labels, weight=weight, **options)
        return loss.detach(), loss.backward()[x]

    for found, expected in zip(jit(step)(x, labels, weight), step(x, labels, weight), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)
    loss = jit(lambda x, labels, weight: tg.nll(x, labels, weight=weight))(x, labels, weight)
    np.testing.assert_allclose(loss.item(), tg.nll(x, labels, weight=weight).item(), rtol=1e-6)


def test_an_index_known_while_tracing_is_checked() -> None:
    jitted = jit(lambda x: tg.take(x, tg.tensor([3])))

    with pytest.raises(IndexError, match=r"^take: index 3 is out of range for axis 0 of size 3$"):
        jitted(tg.ones((3,)))


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8])
def test_an_index_below_zero_gives_a_row_of_nan_in_an_embedding(dtype: Any) -> None:
    table = tg.nn.Embedding(300, 2, rng=0)
    indices = tg.tensor(np.array([3, -1 if dtype is not np.uint8 else 250]), dtype)

    rows = jit(lambda table, indices: table(indices))(table, indices).numpy()

    np.testing.assert_array_equal(rows[0], table.weight.numpy()[3])
    assert np.isnan(rows[1]).all() == (dtype is not np.uint8)


def test_an_index_out_of_range_gives_nan() -> None:
    assert np.isnan(jit(tg.take)(tg.ones((3,)), tg.tensor([3])).item())


# What is rejected, and that nothing is half done


NEEDED = "the numbers of a tensor are needed, which a step under jit has only when it runs"


@pytest.mark.parametrize(
    ("asks", "call"),
    [
        (lambda x: float(x.sum()), "jit"),
        (lambda x: x if x.sum() > 0 else -x, "jit"),
        (lambda x: x.numpy(), "jit"),
        (lambda x: x.tolist(), "jit"),
        (lambda x: x[x > 0], "getitem"),
        (tg.nonzero, "nonzero"),
        (lambda x: tg.masked_select(x, x > 0), "masked_select"),
    ],
    ids=["float", "if", "numpy", "tolist", "mask", "nonzero", "masked_select"],
)
def test_a_step_that_reads_values_is_rejected(asks: Any, call: str) -> None:
    with pytest.raises(TapeError, match=rf"^{call}: {NEEDED}$"):
        jit(asks)(tg.ones((3,)))


def test_mismatched_shapes_raise_the_message_of_the_op() -> None:
    with pytest.raises(ShapeError, match=r"^matmul: inner sizes differ: x \(2, 3\) has 3 columns but y \(4, 5\)"):
        jit(tg.matmul)(tg.ones((2, 3)), tg.ones((4, 5)))


def test_a_captured_model_is_rejected_and_unchanged() -> None:
    model = mlp()
    opt, before = optim.SGD(model, lr=0.1), mlp()

    def captured(x: Any, y: Any) -> Any:
        return step(model, opt, x, y)

    with pytest.raises(
        TapeError, match=r"^captured: the parameter model\.layers\.0\.weight is read but is no argument"
    ):
        jit(captured)(*batch(0))
    assert_same(model, before)
    opt.step(step_gradients(model, *batch(0)))  # and can be trained as before


def test_a_captured_parameter_cannot_be_assigned() -> None:
    weight = nn.Param(tg.ones((2,)))

    words = r"^Param\.assign: value would change what is no argument of the step under jit$"
    with pytest.raises(TapeError, match=words):
        jit(lambda x: weight.assign(x * 2.0))(tg.ones((2,)))
    assert weight.tolist() == [1.0, 1.0]


def test_a_generator_that_is_captured_is_rejected() -> None:
    rng = np.random.default_rng(0)

    words = (
        r"^normal: a generator is used that is no argument of the step under jit, so it would draw only once: "
        r"pass it as an argument$"
    )
    with pytest.raises(TapeError, match=words):
        jit(lambda x: x + tg.normal((3,), rng=rng))(tg.ones((3,)))


@pytest.mark.parametrize("create", [lambda: nn.Dropout(0.5), lambda: nn.Linear(3, 2)], ids=["dropout", "linear"])
def test_a_layer_that_is_created_in_the_step_is_rejected(create: Any) -> None:
    with pytest.raises(TapeError, match=r"layers and batches are created outside the step and passed as arguments$"):
        jit(lambda x: create()(x.trace()).detach())(tg.ones((3,)))


def test_an_attribute_that_a_step_sets_is_rejected_and_restored() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            self.count = 0

        def forward(self, x: Any) -> Any:
            self.count += 1
            return x

    model = Counting()

    words = "jit: the step sets model.count from 0 to 1, which happens but once; a Buffer is carried"
    with pytest.raises(TapeError, match=f"^{re.escape(words)}$"):
        jit(lambda model, x: model(x))(model, tg.ones(()))
    assert model.count == 0


def test_a_learning_rate_set_inside_a_step_is_rejected() -> None:
    def scheduled(model: Any, opt: Any, x: Any, y: Any) -> None:
        opt.lr = 0.5
        step(model, opt, x, y)

    model = mlp()
    opt = optim.SGD(model, lr=0.1)

    with pytest.raises(TapeError, match=r"^jit: the step sets lr, which happens but once; set it between the steps$"):
        jit(scheduled)(model, opt, *batch(0))
    assert opt.lr == 0.1


def test_tapes_cannot_enter_or_leave_a_step() -> None:
    x = tg.ones((3,))

    def doubled(x: Any) -> Any:
        return x * 2.0

    with pytest.raises(TapeError, match=r"^doubled: x has a tape but must have none$"):
        jit(doubled)(x.trace())
    with pytest.raises(TapeError, match=r"^jit: the result has a tape but must have none: detach it$"):
        jit(lambda x: x.trace() * 2.0)(x)


def test_an_array_as_an_argument_and_a_module_as_a_step_are_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^jit: x is an ndarray; tapegrad.tensor makes a tensor of it$"):
        jit(lambda x: x)(np.ones(3))
    with pytest.raises(DTypeError, match=r"^jit: step is Sequential, a module; compile a function that calls it$"):
        jit(mlp())


def test_leaked_values_of_a_step_cannot_be_used() -> None:
    left: list[Any] = []
    jit(lambda x: left.append(x * 2.0))(tg.ones((3,)))

    with pytest.raises(TapeError, match=r"a tensor is used that a step left behind when it was traced"):
        left[0] + 1.0
    assert repr(left[0]) == "Tensor(Traced((3,), float32), shape=(3,), float32, no tape)"


def test_after_an_error_the_model_is_as_it_was() -> None:
    model, before = mlp(), mlp()
    opt = optim.Adam(model)

    def failing(model: Any, opt: Any, x: Any, y: Any) -> None:
        step(model, opt, x, y)
        raise KeyError("late")  # any error

    with pytest.raises(KeyError, match="late"):
        jit(failing)(model, opt, *batch(0))

    assert_same(model, before)
    step(model, opt, *batch(0))
    step(before, optim.Adam(before), *batch(0))
    assert_same(model, before)


def test_without_jax_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name == "jax" or name.startswith("tapegrad.jax")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jax", None)

    with pytest.raises(
        ModuleNotFoundError,
        match=r'^tapegrad\.jit and tapegrad\.jax need the package jax: pip install "tapegrad\[jax\]"$',
    ):
        __import__("tapegrad.jax")


def test_a_parameter_on_the_device_prints_its_numbers() -> None:
    model = mlp()
    opt = optim.Adam(model)
    jit(step)(model, opt, *batch(0))
    out = io.StringIO()

    print(model.layers[2].bias, opt.state[model.layers[2].bias], file=out)

    assert re.match(r"\[ ?-?0\.\d+, +-?0\.\d+, +-?0\.\d+\] Moments\(steps=1, first=array\(\[", out.getvalue())


def test_a_scaled_loss_has_its_scale_as_an_argument() -> None:
    def gradients(model: Any, x: Any, scale: float) -> Any:
        return tg.scale((model(x.trace()) ** 2).mean(), factor=scale).backward(wrt=model)

    def trained(gradients: Any) -> Any:
        model, x = nn.Linear(3, 2, rng=0), tg.uniform((5, 3), rng=1)
        opt, scaler = optim.SGD(model, lr=0.1), optim.LossScaler(2.0**10, interval=2)
        for _ in range(5):
            scaler.step(opt, gradients(model, x, scaler.scale))
        return scaler.scale, model.weight.numpy()

    (scale, weight), (plain_scale, plain) = trained(jit(gradients)), trained(gradients)

    assert scale == plain_scale == 2.0**12
    np.testing.assert_allclose(weight, plain, rtol=1e-5)


def test_a_scaler_is_rejected_inside_a_step() -> None:
    model, x, scaler = nn.Linear(3, 2, rng=0), tg.uniform((5, 3), rng=1), optim.LossScaler()
    opt = optim.SGD(model, lr=0.1)

    def scaled(model: Any, x: Any) -> Any:
        return scaler.scaled(model(x.trace()).mean()).backward(wrt=model)

    def stepped(model: Any, opt: Any, x: Any) -> None:
        scaler.step(opt, model(x.trace()).mean().backward(wrt=model))

    with pytest.raises(
        TapeError, match=r"^LossScaler\.scaled: a step under jit would keep the scale; give it scaler\."
    ):
        jit(scaled)(model, x)
    with pytest.raises(TapeError, match=r"^LossScaler\.step: whether gradients are finite is not known under jit; "):
        jit(stepped)(model, opt, x)
    assert scaler.taken == 0


def test_a_step_accepts_a_model_nested_deeper_than_the_recursion_limit() -> None:
    held: Any = nn.Linear(3, 2, rng=0)
    for _ in range(1200):
        held = [held]
    layer = held
    while isinstance(layer, list):
        layer = layer[0]

    def applied(held: Any, x: Any) -> Any:
        while isinstance(held, list):
            held = held[0]
        return held(x)

    x = tg.ones((4, 3))
    np.testing.assert_allclose(jit(applied)(held, x).numpy(), layer(x).numpy(), rtol=1e-6)
