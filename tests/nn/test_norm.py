"""Normalisation layers without running statistics: initial parameters, results and errors."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn import GroupNorm, InstanceNorm, LayerNorm, Linear, RMSNorm, Sequential
from tapegrad.ops import group_norm, instance_norm, normal, ones, tensor
from tapegrad.optim import SGD


def test_a_new_layer_only_normalizes() -> None:
    x: Any = tensor([[1.0, 3.0, 8.0]])

    # The mean is 4, of the squares about it 26 / 3, and of the squares themselves 74 / 3.
    np.testing.assert_allclose(LayerNorm(3)(x).numpy() * math.sqrt(26 / 3), [[-3, -1, 4]], rtol=1e-5)
    np.testing.assert_allclose(RMSNorm(3)(x).numpy() * math.sqrt(74 / 3), [[1, 3, 8]], rtol=1e-5)


def test_weight_and_bias_apply_to_columns() -> None:
    x, layer = normal((2, 5, 3), rng=0), LayerNorm(3)
    plain = layer(x).numpy()

    layer.weight.assign(tensor([2.0, 3.0, 5.0]))
    layer.bias.assign(tensor([7.0, 11.0, 13.0]))

    np.testing.assert_allclose(layer(x).numpy(), plain * [2, 3, 5] + [7, 11, 13], rtol=1e-6)


def test_eps_is_passed_to_the_op() -> None:
    x: Any = tensor([[1.0, -1.0]])

    np.testing.assert_allclose(LayerNorm(2, eps=3)(x).numpy(), [[0.5, -0.5]])  # 1 / √(1 + 3)
    np.testing.assert_allclose(RMSNorm(2, eps=3)(x).numpy(), [[0.5, -0.5]])


@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_parameters_have_gradients(kind: Any) -> None:
    model, x = Sequential(Linear(3, 4, rng=0), kind(4)), normal((5, 3), rng=1)
    opt, losses = SGD(model, lr=0.1), []

    for _ in range(30):
        loss = ((model(x.trace()) - 2.0) ** 2).mean()
        opt.step(loss.backward(wrt=model))
        losses.append(loss.item())

    assert losses[-1] < losses[0] / 3
    assert model[1].weight.tolist() != [1, 1, 1, 1]


def test_parameters_have_their_names() -> None:
    assert {path: one.tolist() for path, one in LayerNorm(2).parameters().items()} == {"weight": [1, 1], "bias": [0, 0]}
    assert {path: one.tolist() for path, one in RMSNorm(2).parameters().items()} == {"weight": [1, 1]}


@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_a_wrong_width_is_rejected(kind: Any) -> None:
    name = kind.__name__

    with pytest.raises(
        ShapeError, match=rf"^{name}\(3\): x is \(2, 4\) but \(\.\.\., 3\) is expected: axis -1 is 4, not 3$"
    ):
        kind(3)(ones((2, 4)))
    with pytest.raises(ShapeError, match=rf"^{name}: Width is 0 in width but a named size is at least 1$"):
        kind(0)


def test_layers_have_a_repr() -> None:
    assert repr(Sequential(LayerNorm(3), RMSNorm(3))) == (
        "Sequential(\n  layers.0: LayerNorm(3)\n  layers.1: RMSNorm(3)\n)"
    )


def test_norms_of_channels_equal_their_ops() -> None:
    x = normal((2, 6, 5, 7), rng=0)
    groups, each = GroupNorm(3, 6, eps=0.5), InstanceNorm(6, eps=0.5)
    for layer in (groups, each):
        layer.weight.assign(normal((6,), rng=1))
        layer.bias.assign(normal((6,), rng=2))

    one = group_norm(x, groups.weight, groups.bias, groups=3, eps=0.5)
    other = instance_norm(x, each.weight, each.bias, eps=0.5)

    assert groups(x).tolist() == one.tolist()
    assert each(x).tolist() == other.tolist()
    assert sorted(groups.parameters()) == sorted(each.parameters()) == ["bias", "weight"]


def test_groups_that_do_not_divide_the_channels_are_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^GroupNorm: 4 groups do not divide 6 channels$"):
        GroupNorm(4, 6)  # type: ignore[tapegrad-shape]  # under test
    with pytest.raises(ShapeError, match=r"^GroupNorm\(3, 6\): x is \(2, 5\) but \(N, 6, \.\.\.\) is expected"):
        GroupNorm(3, 6)(ones((2, 5)))  # type: ignore[tapegrad-shape]  # under test
    assert repr(Sequential(GroupNorm(3, 6), InstanceNorm(6))) == (
        "Sequential(\n  layers.0: GroupNorm(3, 6)\n  layers.1: InstanceNorm(6)\n)"
    )


@pytest.mark.parametrize("layer", [LayerNorm, RMSNorm])
def test_several_last_axes_are_one_row(layer: Any) -> None:
    x = normal((2, 3, 5), rng=0)

    y = layer((3, 5))(x)

    np.testing.assert_allclose(y.numpy(), layer(15)(x.reshape((2, 15))).numpy().reshape(2, 3, 5), rtol=1e-5)
    assert [one.shape for one in layer((3, 5)).parameters().values()] == [(3, 5)] * (1 + (layer is LayerNorm))
    assert repr(layer((3, 5))) == f"{layer.__name__}((3, 5))"
    assert repr(layer((5,))) == f"{layer.__name__}(5)"


def test_the_gradients_of_a_norm_over_several_axes_have_the_shape_of_its_weight() -> None:
    layer, x = LayerNorm((3, 5)), normal((2, 3, 5), rng=0)

    grads = (layer(x.trace()) * normal((2, 3, 5), rng=1)).sum().backward(wrt=[x, layer.weight, layer.bias])

    assert (grads[x].shape, grads[layer.weight].shape, grads[layer.bias].shape) == ((2, 3, 5), (3, 5), (3, 5))
    np.testing.assert_allclose(grads[layer.bias].numpy(), normal((2, 3, 5), rng=1).numpy().sum(0), rtol=1e-5)


@pytest.mark.parametrize(
    ("width", "error", "message"),
    [
        ((), ShapeError, "LayerNorm: width is () but at least one size is expected"),
        ((0, 5), ShapeError, "LayerNorm: axis 0 of width (0, 5) is 0, below 1"),
        ((3, 0), ShapeError, "LayerNorm: Width is 0 in width but a named size is at least 1"),
        ((3, 5.0), DTypeError, "LayerNorm: width is a tuple of 2 but an int or a tuple of ints is expected"),
        ("3", DTypeError, "LayerNorm: width is a str but an int or a tuple of ints is expected"),
    ],
)
def test_a_width_is_an_int_or_a_tuple_of_ints(width: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        LayerNorm(width)
