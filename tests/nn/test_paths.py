"""Path patterns of parameters, and freezing by pattern."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tapegrad.nn import Linear, Module, Param, Sequential, freeze, unfreeze
from tapegrad.nn.paths import fits
from tapegrad.ops import mse, ones, zeros
from tapegrad.optim import SGD


def model() -> Any:
    return Sequential(Linear(2, 3, rng=0), Linear(3, 4, rng=1))


def frozen(net: Module) -> list[str]:
    return [path for path, parameter in net.parameters().items() if parameter.frozen]


@pytest.mark.parametrize(
    ("path", "pattern", "whether"),
    [
        ("layers.0.weight", "layers.0.weight", True),
        ("layers.0.weight", "layers.0.*", True),
        ("layers.0.body.1.weight", "layers.0.*", True),
        ("layers.0.weight", "*.weight", True),
        ("layers.0.weight", "*", True),
        ("layers.10.weight", "layers.1.*", False),
        ("layers.1x.weight", "layers.1.*", False),
        ("layers.0.weight", "layers.0", False),
        ("layersx0", "layers.0", False),
        ("[0]", "[0]", True),
        ("0", "[0]", False),
    ],
)
def test_a_star_matches_anything_and_other_characters_match_themselves(
    path: str, pattern: str, *, whether: bool
) -> None:
    assert fits(path, pattern) is whether


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (("layers.0.*",), ["layers.0.weight", "layers.0.bias"]),
        (("*.bias", "layers.1.weight"), ["layers.0.bias", "layers.1.weight", "layers.1.bias"]),
        ((), ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]),
    ],
)
def test_matching_parameters_are_frozen_and_unfrozen(patterns: tuple[str, ...], expected: list[str]) -> None:
    net = model()

    freeze(net, *patterns)
    cold = frozen(net)
    unfreeze(net, *patterns)

    assert cold == expected
    assert frozen(net) == []


def test_frozen_layers_are_not_trained() -> None:
    net = model()
    before = net[0].weight.tolist()
    freeze(net, "layers.0.*")

    SGD(net, lr=0.5).step(mse(net(ones((5, 2)).trace()), zeros((5, 4))).backward(wrt=net))

    assert net[0].weight.tolist() == before
    assert [parameter.version for parameter in net.parameters().values()] == [0, 0, 1, 1]


def test_a_shared_parameter_is_frozen_by_either_path() -> None:
    net: Any = Module()
    net.first = net.second = Param(ones((2,)))

    freeze(net, "second")

    assert net.first.frozen


def test_a_pattern_without_a_path_is_rejected_and_nothing_is_frozen() -> None:
    net = model()

    message = (
        "freeze: no path fits 'layer.1.*'; there are layers.0.weight, layers.0.bias, layers.1.weight, layers.1.bias"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        freeze(net, "*.bias", "layer.1.*")

    assert frozen(net) == []
