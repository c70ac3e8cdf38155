"""RNN, GRU and LSTM: initial parameters, results, states and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad import ops
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn import GRU, LSTM, RNN, Linear, Sequential
from tapegrad.ops import concat, cross_entropy, normal, one_hot, ones, zeros
from tapegrad.optim import Adam

KINDS = [RNN, GRU, LSTM]


@pytest.mark.parametrize("kind", KINDS)
def test_initial_parameters_are_within_the_bound(kind: Any) -> None:
    layer = kind(7, 25, rng=0)
    gates = {RNN: 1, GRU: 3, LSTM: 4}[kind]

    shapes = {path: one.shape for path, one in layer.parameters().items()}

    width = 25 * gates
    assert shapes == {"weight_x": (7, width), "weight_h": (25, width), "bias_x": (width,), "bias_h": (width,)}
    for one in layer.parameters().values():
        assert 0.1 < np.abs(one.numpy()).max() <= 0.2  # 1 / √25
    np.testing.assert_array_equal(kind(7, 25, rng=0).weight_h.numpy(), layer.weight_h.numpy())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
def test_layers_equal_their_ops(kind: Any, batch: tuple[int, ...]) -> None:
    layer, x, h = kind(4, 5, rng=0), normal((*batch, 6, 4), rng=1), normal((*batch, 5), rng=2)
    states = (h, h + 1.0) if kind is LSTM else (h,)

    results = layer(x, *states)

    expected = getattr(ops, kind.__name__.lower())(x, *states, *layer.parameters().values())
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_state_is_zero(kind: Any) -> None:
    layer, x, nothing = kind(4, 5, rng=0), normal((2, 6, 4), rng=1), zeros((2, 5))

    states = (nothing, nothing) if kind is LSTM else (nothing,)
    np.testing.assert_array_equal(layer(x)[0].numpy(), layer(x, *states)[0].numpy())


@pytest.mark.parametrize("kind", KINDS)
def test_two_halves_with_the_state_equal_the_whole_sequence(kind: Any) -> None:
    layer, x = kind(4, 5, rng=0), normal((2, 6, 4), rng=1)

    first, *states = layer(x[:, :2])
    second, *_ = layer(x[:, 2:], *states)

    np.testing.assert_allclose(concat([first, second], axis=1).numpy(), layer(x)[0].numpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_they_learn_to_output_the_first_element_of_a_sequence(kind: Any) -> None:
    classes = np.random.default_rng(0).integers(3, size=(16, 4))
    x, first = one_hot(ops.tensor(classes), 3), ops.tensor(classes[:, 0])
    layer, head = kind(3, 8, rng=1), Linear(8, 3, rng=2)
    model = Sequential(layer, head)
    opt, losses = Adam(model, lr=0.03), []

    for _ in range(60):
        loss = cross_entropy(head(layer(x.trace())[1]), first)
        opt.step(loss.backward(wrt=model))
        losses.append(loss.item())

    assert losses[-1] < losses[0] / 5


@pytest.mark.parametrize("kind", KINDS)
def test_all_parameters_have_gradients_if_only_the_state_is_traced(kind: Any) -> None:
    layer, x, h = kind(4, 5, rng=0), normal((2, 6, 4), rng=1), normal((2, 5), rng=2)

    grads = (layer(x, h.trace())[0] ** 2).sum().backward(wrt=[*layer.parameters().values(), x])

    assert all(np.abs(grads[one].numpy()).max() > 0 for one in [*layer.parameters().values(), x])


@pytest.mark.parametrize("kind", KINDS)
def test_without_bias_the_biases_are_zero(kind: Any) -> None:
    layer, x = kind(4, 5, bias=False, rng=0), normal((2, 6, 4), rng=1)
    whole = kind(4, 5, rng=0)
    whole.weight_x, whole.weight_h = layer.weight_x, layer.weight_h
    for bias in (whole.bias_x, whole.bias_h):
        bias.assign(zeros(bias.shape))

    y, *_ = layer(x.trace())

    assert list(layer.parameters()) == ["weight_x", "weight_h"]
    np.testing.assert_array_equal(y.numpy(), whole(x)[0].numpy())
    assert set(y.sum().backward(wrt=layer)) == set(layer.parameters().values())
    assert repr(layer) == f"{kind.__name__}(4, 5, bias=False)"


@pytest.mark.parametrize("kind", KINDS)
def test_invalid_arguments_are_rejected(kind: Any) -> None:
    name = kind.__name__

    with pytest.raises(
        ShapeError,
        match=rf"^{name}\(3, 5\): x is \(2, 7, 4\) but \(\.\.\., Steps, 3\) is expected: axis -1 is 4, not 3$",
    ):
        kind(3, 5)(ones((2, 7, 4)))
    with pytest.raises(
        ShapeError, match=rf"^{name}\(3, 5\): h is \(2, 6\) but \(\.\.\., 5\) is expected: axis -1 is 6, not 5$"
    ):
        kind(3, 5)(ones((2, 7, 3)), ones((2, 6)))
    with pytest.raises(DTypeError, match=rf"^{name}\(3, 5\): x is float64 but float32 is expected$"):
        kind(3, 5)(ones((2, 7, 3), np.float64))
    with pytest.raises(ShapeError, match=rf"^{name}: Hidden is 0 in hidden_features but a named size is at least 1$"):
        kind(3, 0)


def test_layers_have_a_repr() -> None:
    assert [repr(kind(3, 5)) for kind in KINDS] == ["RNN(3, 5)", "GRU(3, 5)", "LSTM(3, 5)"]
