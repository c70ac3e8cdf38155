"""Linear: values, gradients, initial parameters and errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.generator import random
from tapegrad.nn import Linear
from tapegrad.ops import mul, ones, reshape, sum, tensor

X = [[1.0, -2.0, 3.0], [0.0, 0.5, -1.0]]


def layer() -> Any:
    linear: Any = Linear(3, 4, rng=0)
    linear.weight.assign(tensor((np.arange(12, dtype=np.float32) / 10).reshape(3, 4)))
    linear.bias.assign(tensor([0.5, -0.5, 0.0, 1.0]))
    return linear


def test_values_and_gradients_equal_torch() -> None:
    linear, x = layer(), tensor(X).trace()

    y = linear(x)
    grads = sum(mul(y, y)).backward(wrt=linear)

    # torch 2.13: nn.Linear(3, 4) with this weight transposed, (y * y).sum().backward()
    np.testing.assert_allclose(y.numpy(), [[2.1, 1.3, 2.0, 3.2], [-0.1, -1.15, -0.7, 0.25]], rtol=1e-5)
    np.testing.assert_allclose(
        grads[linear.weight].numpy(),
        [[4.2, 2.6, 4.0, 6.4], [-8.5, -6.35, -8.7, -12.55], [12.8, 10.1, 13.4, 18.7]],
        rtol=1e-5,
    )
    np.testing.assert_allclose(grads[linear.bias].numpy(), [4.0, 0.3, 2.6, 6.9], rtol=1e-5)


@pytest.mark.parametrize("batch", [(), (2,), (5, 0), (2, 1, 5)])
def test_any_number_of_leading_axes_is_a_batch(batch: tuple[int, ...]) -> None:
    linear, x = layer(), ones((*batch, 3))

    y = linear(x)

    assert y.shape == (*batch, 4)
    np.testing.assert_allclose(y.numpy(), np.broadcast_to([1.7, 1.0, 1.8, 3.1], y.shape), rtol=1e-5)


def test_the_tape_of_the_result_is_that_of_the_argument() -> None:
    assert not layer()(ones((2, 3))).owns_tape
    assert layer()(ones((2, 3)).trace()).owns_tape


def test_a_layer_without_bias_is_a_matrix_product() -> None:
    linear: Any = Linear(3, 2, bias=False, rng=0)

    y = linear(ones((1, 3)))

    assert linear.bias is None
    np.testing.assert_allclose(reshape(y, (2,)).numpy(), linear.weight.numpy().sum(0), rtol=1e-6)


def test_initial_weights_are_uniform_within_one_over_the_root_of_the_inputs() -> None:
    linear: Any = Linear(64, 50, rng=0)

    numbers = np.concatenate([linear.weight.numpy().ravel(), linear.bias.numpy()])

    # torch 2.13, nn.Linear.reset_parameters: bound = 1 / sqrt(64); a uniform distribution has the deviation bound / √3
    assert np.abs(numbers).max() <= 0.125
    assert abs(numbers.mean()) < 0.005
    assert abs(numbers.std() - 0.125 / np.sqrt(3)) < 0.002


def test_a_seed_fixes_the_initial_parameters() -> None:
    with random(7):
        first, second = Linear(3, 3), Linear(3, 3)
    again: Any = Linear(3, 3, rng=np.random.default_rng(7))

    assert first.weight.tolist() == again.weight.tolist()
    assert first.weight.tolist() != second.weight.tolist()
    assert again.weight.tolist()[0] != again.bias.tolist()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 4), "Linear: In is 0 in in_features but a named size is at least 1"),
        ((3, -1), "Linear: Out is -1 in out_features but a named size is at least 1"),
    ],
)
def test_sizes_below_one_are_rejected(sizes: tuple[int, int], message: str) -> None:
    with pytest.raises(ShapeError, match=f"^{message}$"):
        Linear(*sizes)


def test_a_wrong_width_is_rejected() -> None:
    with pytest.raises(ShapeError) as rejected:
        layer()(ones((2, 5)))

    assert str(rejected.value) == "Linear(3, 4): x is (2, 5) but (..., 3) is expected: axis -1 is 5, not 3"


def test_a_wrong_dtype_is_rejected() -> None:
    with pytest.raises(DTypeError, match=re.escape("Linear(3, 4): x is float64 but float32 is expected")):
        layer()(ones((2, 3), np.float64))


def test_a_layer_has_a_repr() -> None:
    assert repr(Linear(64, 128, rng=0)) == "Linear(64, 128)"
    assert repr(Linear(2, 3, bias=False, rng=0)) == "Linear(2, 3, bias=False)"
