"""Parameter groups: options by path."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tapegrad.autograd.gradients import Gradients
from tapegrad.nn import Linear, Module, Param, Sequential
from tapegrad.ops import ones
from tapegrad.optim import SGD, AdamW, Group


def model() -> Any:
    net: Any = Sequential(Linear(2, 3, rng=0), Linear(3, 1, rng=1))
    for parameter in net.parameters().values():
        parameter.assign(ones(parameter.shape))
    return net


def stepped(net: Module, optimizer: Any) -> dict[str, float]:
    """Step with gradients of one, and return the values by path."""
    grads = Gradients()
    for parameter in net.parameters().values():
        grads.add(parameter, ones(parameter.shape).data)
    optimizer.step(grads)
    return {path: parameter.numpy().flat[0] for path, parameter in net.parameters().items()}


def test_a_group_has_its_own_learning_rate() -> None:
    net = model()

    after = stepped(net, SGD(net, lr=0.5, groups={"layers.0.*": Group(lr=0.125)}))

    assert after == {"layers.0.weight": 0.875, "layers.0.bias": 0.875, "layers.1.weight": 0.5, "layers.1.bias": 0.5}


def test_the_first_matching_pattern_sets_an_option() -> None:
    net = model()
    groups = {"*.bias": Group(weight_decay=0.0), "layers.0.*": Group(lr=0.25, weight_decay=2.0)}

    after = stepped(net, SGD(net, lr=0.5, weight_decay=1.0, groups=groups))

    # 1 - lr (1 + weight_decay)
    assert after == {"layers.0.weight": 0.25, "layers.0.bias": 0.75, "layers.1.weight": 0.0, "layers.1.bias": 0.5}


def test_a_group_may_be_changed_between_steps() -> None:
    net = model()
    optimizer = SGD(net, lr=0.5, groups={"layers.0.*": Group(lr=0.0)})
    stepped(net, optimizer)

    optimizer.groups["layers.0.*"].lr = 0.25
    optimizer.lr = 0.0

    assert stepped(net, optimizer) == {
        "layers.0.weight": 0.75,
        "layers.0.bias": 0.75,
        "layers.1.weight": 0.5,
        "layers.1.bias": 0.5,
    }


def test_weight_decay_of_a_group_is_decoupled_if_the_optimizers_is() -> None:
    net = model()

    after = stepped(net, AdamW(net, lr=0.25, weight_decay=0.0, eps=0.0, groups={"*.bias": Group(weight_decay=2.0)}))

    # The first step of Adam is lr; a bias is halved before.
    assert after == pytest.approx(
        {"layers.0.weight": 0.75, "layers.0.bias": 0.25, "layers.1.weight": 0.75, "layers.1.bias": 0.25}
    )


def test_a_shared_parameter_is_in_the_groups_of_both_its_paths() -> None:
    class Tied(Module):
        def __init__(self) -> None:
            self.first = Param(ones((2,)))
            self.second = self.first

    net = Tied()

    assert stepped(net, SGD(net, lr=0.5, groups={"second": Group(lr=0.25)})) == {"first": 0.75}


def test_parameters_in_a_list_are_named_by_position() -> None:
    net = model()

    after = stepped(net, SGD(net.parameters().values(), lr=0.5, groups={"[0]": Group(lr=0.25)}))

    assert list(after.values()) == [0.75, 0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (
            {"layer.0.*": Group()},
            "SGD: no path fits 'layer.0.*'; there are layers.0.weight, layers.0.bias, layers.1.weight, layers.1.bias",
        ),
        ({"*.bias": Group(lr=-0.5)}, "SGD: *.bias: lr is -0.5 but must be at least 0"),
        ({"*.bias": Group(weight_decay=-0.5)}, "SGD: *.bias: weight_decay is -0.5 but must be at least 0"),
    ],
)
def test_a_group_without_parameters_or_out_of_range_is_rejected(groups: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SGD(model(), lr=0.5, groups=groups)
