"""StackedRNN, StackedGRU and StackedLSTM: several layers, in one or both directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn import StackedGRU, StackedLSTM, StackedRNN
from tapegrad.ops import concat, flip, normal, ones, stack

KINDS = [StackedRNN, StackedGRU, StackedLSTM]
X = normal((2, 6, 4), rng=1)


@pytest.mark.parametrize("kind", KINDS)
def test_each_layer_reads_the_output_of_the_previous_one(kind: Any) -> None:
    model = kind(4, 5, 3, rng=0)

    y, *states = model(X)

    first, second, third = model.layers
    one, *a = first(X)
    two, *b = second(one)
    three, *c = third(two)
    assert y.tolist() == three.tolist()
    assert [state.tolist() for state in states] == [stack(parts).tolist() for parts in zip(a, b, c, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_direction_reads_in_reverse(kind: Any) -> None:
    model = kind(4, 5, 2, directions=2, rng=0)

    y, h, *_ = model(X)

    def both(x: Any, ahead: Any, back: Any) -> Any:
        return concat([ahead(x)[0], flip(back(flip(x, -2))[0], -2)], -1)

    assert y.tolist() == both(both(X, *model.layers[:2]), *model.layers[2:]).tolist()
    assert y.shape == (2, 6, 10)
    np.testing.assert_array_equal(h[2].numpy(), y[:, -1, :5].numpy())
    np.testing.assert_array_equal(h[3].numpy(), y[:, 0, 5:].numpy())


@pytest.mark.parametrize("kind", KINDS)
def test_two_halves_with_the_state_equal_the_whole_sequence(kind: Any) -> None:
    model = kind(4, 5, 2, rng=0)

    first, *states = model(X[:, :2])
    second, *left = model(X[:, 2:], *states)

    whole, *expected = model(X)
    np.testing.assert_allclose(concat([first, second], 1).numpy(), whole.numpy(), rtol=1e-5, atol=1e-7)
    for one, other in zip(left, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-7)


def test_state_and_cell_state_are_optional() -> None:
    model, h = StackedLSTM(4, 5, 2, rng=0), normal((2, 2, 5), rng=2)

    assert model(X, h)[0].tolist() == model(X, h, h * 0.0)[0].tolist()
    assert model(X, c=h)[0].tolist() == model(X, h * 0.0, h)[0].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_is_applied_between_layers_with_a_tape_only(kind: Any) -> None:
    deep, flat = kind(4, 5, 2, dropout=0.5, rng=0), kind(4, 5, 1, dropout=0.5, rng=0)

    assert deep(X)[0].tolist() == deep(X)[0].tolist()
    assert deep(X.trace())[0].tolist() != deep(X.trace())[0].tolist()
    assert flat(X.trace())[0].tolist() == flat(X)[0].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_has_a_gradient(kind: Any) -> None:
    model = kind(4, 5, 2, directions=2, rng=0)

    grads = (model(X.trace())[0] ** 2).sum().backward(wrt=model)

    assert len(model.parameters()) == 16
    assert all(np.abs(grads[one].numpy()).max() > 0 for one in model.parameters().values())
    assert list(kind(4, 5, 1, bias=False).parameters()) == ["layers.0.weight_x", "layers.0.weight_h"]


@pytest.mark.parametrize("kind", KINDS)
def test_they_have_a_summary_and_a_repr(kind: Any) -> None:
    model = kind(4, 5, 2, directions=2, bias=False, dropout=0.25, rng=0)

    assert repr(model) == f"{kind.__name__}(4, 5, 2, directions=2, bias=False, dropout=0.25)"
    assert tg.summary(model, ("N", 6, 4)).rows[0].output.startswith("(N, 6, 10), (4, N, 5)")


@pytest.mark.parametrize("kind", KINDS)
def test_invalid_arguments_are_rejected(kind: Any) -> None:
    name = kind.__name__

    with pytest.raises(
        ShapeError,
        match=rf"^{name}\(4, 5, 2\): x is \(2, 6, 3\) but \(\.\.\., Steps, 4\) is expected: axis -1 is 3, not 4$",
    ):
        kind(4, 5, 2)(ones((2, 6, 3)))
    with pytest.raises(ShapeError, match=rf"^{name}\(4, 5, 2\): h is \(3, 2, 5\) but \(.*\) is expected: axis 0 is 3"):
        kind(4, 5, 2)(X, ones((3, 2, 5)))
    with pytest.raises(ShapeError, match=rf"^{name}: directions is 3 but 1 or 2 is expected$"):
        kind(4, 5, 2, directions=3)
    with pytest.raises(ShapeError, match=rf"^{name}: Layers is 0 in layers but a named size is at least 1$"):
        kind(4, 5, 0)
    with pytest.raises(DTypeError, match=rf"^{name}\(4, 5, 2\): x is float64 but float32 is expected$"):
        kind(4, 5, 2)(ones((2, 6, 4), np.float64))
