"""Module: calls of `forward`, and the search for parameters."""

from __future__ import annotations

import copy
import pickle
import sys
from collections import ChainMap, UserList, deque
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType
from typing import Any, Optional

import numpy as np
import pytest

from tapegrad import io, optim, summary
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.io.torch_layout import entries
from tapegrad.nn import Buffer, Linear, Module, Param, ReLU, Sequential
from tapegrad.ops import matmul, ones, sum


class Scaled(Module):
    """One parameter of its own, and layers in every kind of place."""

    def __init__(self) -> None:
        self.scale = Param(ones((3,)))
        self.layers = [Linear(3, 2, rng=0), ReLU()]
        heads = {"left": Linear(2, 1, bias=False, rng=1), "right": (Param(ones((4,)), frozen=True),)}
        self.heads = heads
        self.name = "scaled"

    def forward(self, x: Any, *, times: int = 1) -> Any:
        return x * self.scale * times


class Tied(Module):
    """Uses one matrix twice."""

    def __init__(self) -> None:
        self.first = Linear(3, 3, bias=False, rng=0)
        self.second = Linear(3, 3, bias=False, rng=0)
        self.second.weight = self.first.weight

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x))


class Child(Module):
    """Knows its parent."""

    def __init__(self, parent: Module) -> None:
        self.parent = parent
        self.weight = Param(ones((2,)))


class Parent(Module):
    """Knows its child."""

    def __init__(self) -> None:
        self.child = Child(self)


@dataclass
class Pair(Module):
    """Has its layers as fields."""

    left: Linear[Any, Any]
    right: Linear[Any, Any]


def test_a_call_of_a_module_calls_forward() -> None:
    assert Scaled()(ones((3,)), times=5).tolist() == [5, 5, 5]


def test_a_module_without_forward_raises_an_error() -> None:
    with pytest.raises(NotImplementedError, match=r"^Parent has no forward$"):
        Parent()(ones((3,)))


def test_parameters_are_found_by_attribute_path() -> None:
    module = Scaled()

    parameters = module.parameters()

    assert {path: parameter.shape for path, parameter in parameters.items()} == {
        "scale": (3,),
        "layers.0.weight": (3, 2),
        "layers.0.bias": (2,),
        "heads.left.weight": (2, 1),
        "heads.right.0": (4,),
    }
    assert parameters["scale"] is module.scale


def test_fields_of_a_dataclass_are_attributes() -> None:
    pair = Pair(Linear(3, 2, bias=False, rng=0), Linear(2, 1, bias=False, rng=0))

    assert list(pair.parameters()) == ["left.weight", "right.weight"]


def test_modules_are_listed_once_by_path_each_before_those_in_it() -> None:
    inner, shared = Sequential(Linear(3, 2, rng=0), ReLU()), Linear(2, 2, rng=0)
    model = Sequential(inner, shared, shared)
    parent = Parent()

    modules = model.modules()

    assert list(modules) == ["", "layers.0", "layers.0.layers.0", "layers.0.layers.1", "layers.1"]
    assert (modules[""], modules["layers.0"], modules["layers.1"]) == (model, inner, shared)
    assert list(Scaled().modules()) == ["", "layers.0", "layers.1", "heads.left"]
    assert parent.modules() == {"": parent, "child": parent.child}  # the child refers to its parent
    assert list(Pair(shared, Linear(2, 1, rng=0)).modules()) == ["", "left", "right"]  # a dataclass has no hash


def test_apply_calls_a_function_with_each_module_once_after_those_in_it() -> None:
    inner, shared = Sequential(Linear(3, 2, rng=0), ReLU()), Linear(2, 2, rng=0)
    model, found, parent = Sequential(inner, shared, shared), list[Module](), Parent()

    assert model.apply(found.append) is model
    assert found == [inner.layers[0], inner.layers[1], inner, shared, model]

    found.clear()
    parent.apply(found.append)
    assert found == [parent.child, parent]


def test_a_function_that_apply_calls_may_replace_layers() -> None:
    model = Scaled()

    def widen(module: Module) -> None:
        if isinstance(module, Scaled):
            module.layers = [Linear(3, 7, rng=0)]

    assert list(model.apply(widen).modules()) == ["", "layers.0", "heads.left"]


def test_modules_are_found_below_the_recursion_limit() -> None:
    model: Module = ReLU()
    for _ in range(sys.getrecursionlimit() + 10):
        model = Sequential(model)
    found: list[Module] = []

    model.apply(found.append)

    assert len(model.modules()) == len(found) == sys.getrecursionlimit() + 11
    assert isinstance(found[0], ReLU)


def test_a_shared_parameter_is_one_parameter_with_two_paths() -> None:
    module = Tied()

    assert list(module.parameters()) == ["first.weight"]
    assert module.paths() == [("first.weight", module.first.weight), ("second.weight", module.first.weight)]


def test_a_shared_parameter_gets_the_sum_of_its_gradients() -> None:
    module, x = Tied(), ones((2, 3))
    weight = np.asarray(module.first.weight)

    grads = sum(module(x.trace())).backward(wrt=module)

    # d/dW sum(x W W) = xᵀ (1 Wᵀ) + (x W)ᵀ 1, with 1 of shape (2, 3)
    one = np.ones((2, 3), np.float32)
    expected = one.T @ (one @ weight.T) + (one @ weight).T @ one
    np.testing.assert_allclose(np.asarray(grads[module.first.weight]), expected, rtol=1e-5)
    assert len(grads) == 1


def test_a_child_with_a_reference_to_its_parent_is_found_once() -> None:
    assert [path for path, _ in Parent().paths()] == ["child.weight"]
    assert repr(Parent()) == "Parent(\n  child: Child(\n    parent: ...\n    weight: Param(2,)\n  )\n)"


def test_a_list_or_dict_that_contains_itself_is_searched_once() -> None:
    class Knotted(Module):
        def __init__(self) -> None:
            self.layers: list[Any] = [Param(ones((2,)))]
            self.layers.append(self.layers)
            self.heads: dict[str, Any] = {"left": ReLU(), "layers": self.layers}
            self.heads["heads"] = self.heads

    knotted = Knotted()

    assert [*knotted.parameters()] == ["layers.0"]
    assert [path for path, _ in knotted.paths()] == ["layers.0", "heads.layers.0"]
    assert repr(knotted) == "Knotted(\n  layers.0: Param(2,)\n  heads.left: ReLU()\n  heads.layers.0: Param(2,)\n)"


@pytest.mark.parametrize("slots", [("scale", "shift"), "scale"])
def test_slots_in_which_no_parameter_would_be_found_are_rejected(slots: Any) -> None:
    names = "scale, shift" if slots != "scale" else slots

    with pytest.raises(DTypeError, match=rf"^Slotted: __slots__ holds {names}, where no parameter is found$"):
        type("Slotted", (Module,), {"__slots__": slots})
    with pytest.raises(DTypeError, match=r"^Pair: __slots__ holds left, right, where no parameter is found$"):
        dataclass(slots=True)(Pair)


def test_slots_without_names_hide_nothing() -> None:
    class Plain(Module):
        __slots__ = ()

        def __init__(self) -> None:
            self.scale = Param(ones((3,)))

    assert [*Plain().parameters()] == ["scale"]


@pytest.mark.parametrize("numbers", [ones((2,)), np.ones(2, np.float32)], ids=["tensor", "array"])
def test_a_number_cannot_replace_a_parameter(numbers: Any) -> None:
    layer: Any = Linear(3, 2)
    layer.mean = Buffer(ones((2,)))

    with pytest.raises(DTypeError, match=r"^Linear: bias is a Param, which would be lost; bias\.assign changes it$"):
        layer.bias = numbers
    with pytest.raises(DTypeError, match=r"^Linear: mean is a Buffer, which would be lost; mean\.assign changes it$"):
        layer.mean = numbers

    assert [*layer.parameters()] == ["weight", "bias"]
    layer.bias, layer.scale = Param(ones((2,))), numbers
    assert [*layer.parameters()] == ["weight", "bias"]


@pytest.mark.parametrize("value", [3, 0.5, np.float32(2), True, "ones", abs])
def test_an_object_without_values_cannot_replace_a_parameter(value: Any) -> None:
    # The next call once said `weight () has rank 0`.
    layer: Any = Linear(3, 2)

    with pytest.raises(
        DTypeError, match=r"^Linear: weight is a Param, which would be lost; weight\.assign changes it$"
    ):
        layer.weight = value

    assert layer(ones((3,))).shape == (2,)


def test_none_replaces_a_parameter_only_where_the_class_declares_it() -> None:
    class Gated(Linear[Any, Any]):
        gate: Optional[Param[Any]]  # noqa: UP045  # the older way to write it

        def __init__(self) -> None:
            super().__init__(3, 2)
            self.gate = self.scale = Param(ones((2,)))

    layer: Any = Gated()
    layer.bias = layer.gate = None

    assert [*layer.parameters()] == ["weight", "scale"]
    for name in ("weight", "scale"):
        words = rf"^Gated: {name} is a Param, which would be lost; declare `{name}: Param \| None` if it may be None$"
        with pytest.raises(DTypeError, match=words):
            setattr(layer, name, None)
    layer.weight = [Param(ones((3, 1))), Param(ones((3, 1)))]
    assert [*layer.parameters()] == ["weight.0", "weight.1", "scale"]


def hidden(layer: Any) -> dict[str, Any]:
    """Return containers in which no module finds a layer, by the name of their type."""
    by_name = {"fall": layer}
    return {
        "set": {layer},
        "frozenset": frozenset([(1, (layer,))]),
        "deque": deque([layer.weight]),
        "dict_values": by_name.values(),
        "dict_items": by_name.items(),
        "mappingproxy": MappingProxyType(by_name),
        "ChainMap": ChainMap(by_name),
        "UserList": UserList([layer]),
        "generator": (one for one in [layer]),
        "map": map(Linear, [3], [2]),
        "zip": zip([layer], strict=True),
        "filter": filter(None, [layer]),
        "chain": chain([layer]),
        "list_iterator": iter([layer]),
    }


@pytest.mark.parametrize("kind", hidden(Linear(3, 2)))
def test_containers_that_would_hide_parameters_are_rejected(kind: str) -> None:
    # `parameters()` was once empty, and nothing was trained.
    module, value = Outer(None), hidden(Linear(3, 2))[kind]
    words = rf"is an? {kind}, where no parameter is found; a list, a tuple or a dict is searched$"

    with pytest.raises(DTypeError, match=rf"^Outer: held {words}"):
        module.held = value
    assert module.held is None

    nested: Any = Outer([0.5, ones((2,))])
    nested.held[0] = {"heads": (value,)}  # which no attribute notices
    for look in (nested.parameters, nested.paths, nested.buffers, nested._unfrozen):
        with pytest.raises(DTypeError, match=rf"^Outer: held\.0\.heads\.0 {words}"):
            look()
    assert repr(nested) == "Outer()"


def test_a_container_without_layers_is_an_ordinary_attribute() -> None:
    module: Any = Outer(Linear(3, 2))

    module.names, module.recent, module.steps = {"left"}, deque([ones((2,))]), count()
    module.tensors = [{1.0, 2.0}, MappingProxyType({"mean": ones((2,))})]
    module.trained = {module.held, module.held.bias}  # which are found as `held`

    assert [*module.parameters()] == ["held.weight", "held.bias"]
    assert len(module._unfrozen()) == 2
    module.held = ReLU()
    with pytest.raises(DTypeError, match=r"^Outer: trained is a set, where no parameter is found; "):
        module.parameters()


def test_a_module_is_shown_as_a_tree_of_paths() -> None:
    assert repr(Scaled()) == (
        "Scaled(\n"
        "  scale: Param(3,)\n"
        "  layers.0: Linear(3, 2)\n"
        "  layers.1: ReLU()\n"
        "  heads.left: Linear(2, 1, bias=False)\n"
        "  heads.right.0: Param(4,), frozen\n"
        ")"
    )
    assert repr(Sequential(Sequential(ReLU()))) == (
        "Sequential(\n  layers.0: Sequential(\n    layers.0: ReLU()\n  )\n)"
    )


@pytest.mark.parametrize("again", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])  # noqa: S301
def test_a_copied_module_is_independent(again: Any) -> None:
    module, x = Tied(), ones((2, 3))

    twin = again(module)
    twin.first.weight.assign(ones((3, 3)))

    assert twin.second.weight is twin.first.weight
    assert twin(x.trace()).tolist() == [[9, 9, 9], [9, 9, 9]]
    np.testing.assert_array_equal(
        np.asarray(module(x)), np.asarray(matmul(matmul(x, module.first.weight), module.first.weight))
    )


class Outer(Module):
    """Holds one thing, and calls nothing."""

    def __init__(self, held: object) -> None:
        self.held = held

    def forward(self, x: Any) -> Any:
        return x


DEEP = 1200  # more than calls may be nested in Python
NESTS: dict[str, Any] = {"modules": Outer, "lists": lambda held: [held], "dicts": lambda held: {"held": held}}


def nested(nest: Any) -> Outer:
    """Return a module with a layer that stands deeper in it than Python nests calls."""
    held: Any = Linear(3, 2, rng=0)
    for _ in range(DEEP):
        held = nest(held)
    return Outer(held)


@pytest.mark.parametrize("nest", NESTS)
def test_parameters_are_found_however_deep_they_are_nested(nest: str, tmp_path: Path) -> None:
    deep, twin = nested(NESTS[nest]), nested(NESTS[nest])
    for parameter in twin.parameters().values():
        parameter.assign(parameter * 2)

    io.save(twin, tmp_path / "deep.npz")
    io.load(deep, tmp_path / "deep.npz")

    weight, bias = deep.parameters().values()
    assert weight.tolist() == next(iter(twin.parameters().values())).tolist()
    assert (weight.shape, bias.shape) == ((3, 2), (2,))
    assert len(deep.paths()) == len(optim.SGD(deep, lr=0.1).parameters) == 2
    assert summary(deep, (2, 3)).parameters == 8
    assert {place.name for place in entries(deep)} == {*deep.parameters()}


@pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="of calls with stars 3.12 lets no setting nest 1,200")
def test_a_model_nested_deeper_than_the_recursion_limit_runs_where_python_allows_it() -> None:
    deep: Any = Linear(3, 3, rng=0)
    for _ in range(DEEP):
        deep = Sequential(deep)

    with pytest.raises(RecursionError):
        deep(ones((2, 3)))
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * DEEP)
    try:
        grads = sum(deep(ones((2, 3)).trace())).backward(wrt=deep)
    finally:
        sys.setrecursionlimit(before)

    assert [grads[parameter].shape for parameter in deep.parameters().values()] == [(3, 3), (3,)]


@pytest.mark.parametrize("nest", [None, *NESTS])
def test_wrt_of_a_module_is_each_parameter_that_is_not_frozen(nest: Any) -> None:
    module = Outer([Scaled(), Tied(), Parent(), nested(NESTS[nest]) if nest else None])
    parameters = [*module.parameters().values()]

    unfrozen = [parameter for parameter in parameters if not parameter.frozen]

    assert len(module._unfrozen()) == len(unfrozen)
    assert {*module._unfrozen()} == {*unfrozen}
    parameters[0].frozen = True
    assert {*module._unfrozen()} == {*unfrozen[1:]}


def test_wrt_of_a_module_uses_the_parameters_method_of_a_subclass() -> None:
    class Headed(Module):
        def __init__(self) -> None:
            self.body = Linear(3, 2, rng=0)
            self.head = Linear(2, 1, rng=1)

        def forward(self, x: Any) -> Any:
            return self.head(self.body(x))

        def parameters(self) -> dict[str, Any]:
            return self.head.parameters()

    module = Headed()

    grads = sum(module(ones((4, 3)).trace())).backward(wrt=module)

    assert {*grads} == {module.head.weight, module.head.bias}


def test_a_module_defined_by_exec_reports_the_error_of_its_op() -> None:
    program = """
from tapegrad import nn, ones

class Net(nn.Module):
    def forward(self, x):
        return x @ ones((4, 5))

net = Net()
"""
    names: dict[str, Any] = {}
    exec(program, names)  # noqa: S102  # the program is the one above

    with pytest.raises(ShapeError, match=r"^matmul: inner sizes differ: x \(2, 3\) has 3 columns but y \(4, 5\) has 4"):
        names["net"](ones((2, 3)))
