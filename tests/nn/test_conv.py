"""Convolution layers: initial parameters, results, training and errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, Flatten, Linear, ReLU, Sequential
from tapegrad.ops import conv2d, normal, ones
from tapegrad.optim import SGD

KINDS: dict[Any, int] = {Conv1d: 1, Conv2d: 2, Conv3d: 3, ConvTranspose1d: 1, ConvTranspose2d: 2}


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_equals_its_op_plus_a_bias(kind: Any) -> None:
    rank, x = KINDS[kind], normal((2, 4, *(7, 6, 5)[: KINDS[kind]]), rng=0)
    layer = kind(4, 6, 3, stride=2, padding=1, groups=2, rng=1)
    back = "_transpose" if kind.__name__.startswith("ConvT") else ""

    y = layer(x)

    plain = getattr(tg, f"conv{back}{rank}d")(x, layer.weight, stride=2, padding=1, groups=2).numpy()
    np.testing.assert_array_equal(y.numpy(), plain + layer.bias.numpy().reshape((-1, *(1,) * rank)))
    np.testing.assert_allclose(layer(x[0]).numpy(), y.numpy()[0], rtol=1e-5, atol=1e-6)


def test_without_bias_there_is_no_parameter() -> None:
    layer, x = Conv2d(3, 4, 3, bias=False, rng=0), normal((3, 5, 6), rng=1)

    assert layer.bias is None
    assert list(layer.parameters()) == ["weight"]
    np.testing.assert_array_equal(layer(x).numpy(), conv2d(x, layer.weight).numpy())


def test_output_padding_is_passed_to_the_op() -> None:
    assert ConvTranspose1d(3, 4, 3, stride=2, output_padding=1)(ones((3, 5))).shape == (4, 12)
    assert ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)(ones((3, 5, 6))).shape == (4, 10, 12)


@pytest.mark.parametrize(("kind", "bound"), [(Conv2d, 1 / 6), (ConvTranspose2d, 1 / 12)])
def test_initial_weights_are_uniform_within_one_over_the_root_of_the_inputs(kind: Any, bound: float) -> None:
    layer = kind(8, 32, 3, groups=2, rng=0)

    numbers = np.concatenate([layer.weight.numpy().ravel(), layer.bias.numpy()])

    # torch 2.13, _ConvNd.reset_parameters: bound = 1 / sqrt(weight.size(1) · 3 · 3), where weight.size(1) is 4 or 16; a
    # uniform distribution has the deviation bound / √3
    assert bound * 0.99 < np.abs(numbers).max() <= bound
    assert abs(numbers.mean()) < bound / 20
    assert abs(numbers.std() - bound / np.sqrt(3)) < bound / 50


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_fixes_the_initial_parameters(kind: Any) -> None:
    with tg.random(7):
        first, second = kind(3, 3, 2), kind(3, 3, 2)
    again = kind(3, 3, 2, rng=np.random.default_rng(7))

    assert first.weight.tolist() == again.weight.tolist()
    assert first.bias.tolist() == again.bias.tolist()
    assert first.weight.tolist() != second.weight.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_training_reduces_the_loss(kind: Any) -> None:
    model: Any = kind(2, 3, 2, rng=0)
    x, opt, losses = normal((4, 2, *(5, 4, 3)[: KINDS[kind]]), rng=1), SGD(model, lr=0.1), []

    for _ in range(40):
        loss = ((model(x.trace()) - 1.0) ** 2).mean()
        opt.step(loss.backward(wrt=model))
        losses.append(loss.item())

    assert losses[-1] < losses[0] / 4


def test_a_summary_has_the_sizes() -> None:
    model = Sequential(Conv2d(1, 6, 5, padding=2), ReLU(), Conv2d(6, 4, 3, stride=2), Flatten(), Linear(312, 10))

    rows = tg.summary(model, ("N", 1, 28, 14)).rows

    assert [row.output for row in rows] == [
        "(N, 10)", "(N, 6, 28, 14)", "(N, 6, 28, 14)", "(N, 4, 13, 6)", "(N, 312)", "(N, 10)",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ((0, 4, 3), {}, "In is 0 in in_channels but a named size is at least 1"),
        ((4, 0, 3), {}, "Out is 0 in out_channels but a named size is at least 1"),
        ((4, 4, 0), {}, "Kernel is 0 in kernel but a named size is at least 1"),
        ((4, 4, 3), {"stride": 0}, "Stride is 0 in stride but a named size is at least 1"),
        ((4, 4, 3), {"padding": -1}, "Padding is -1 in padding but a size of this name is at least 0"),
        ((4, 4, 3), {"groups": 3}, "3 groups do not divide 4 channels"),
        ((4, 4, 3), {"groups": 0}, "0 groups do not divide 4 channels"),
        ((4, 6, 3), {"groups": 4}, "4 groups do not divide 6 channels"),
    ],
)
def test_invalid_sizes_are_rejected(kind: Any, sizes: Any, options: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=f"^{kind.__name__}: {message}$"):
        kind(*sizes, **options)


def test_invalid_arguments_are_rejected() -> None:
    layer: Any = Conv2d(3, 4, 5)

    with pytest.raises(ShapeError) as rejected:
        layer(ones((2, 1, 7, 8)))
    assert str(rejected.value) == (
        "layer Conv2d(3, 4, 5): x is (2, 1, 7, 8) but (..., 3, H, W) is expected: axis -3 is 1, not 3"
    ) or str(rejected.value).startswith("Conv2d(3, 4, 5, 1, 0)")
    with pytest.raises(ShapeError, match=r"Conv2d\(3, 4, 5\): a window of 5 does not fit into 4 cells along axis 1 of"):
        layer(ones((3, 4, 8)))
    with pytest.raises(ShapeError, match=re.escape("x (1, 2, 3, 7, 8) has rank 5, not 4, or 3 without a batch")):
        layer(ones((1, 2, 3, 7, 8)))
    with pytest.raises(DTypeError, match=re.escape("Conv2d(3, 4, 5): x is float64 but float32 is expected")):
        layer(ones((3, 7, 8), np.float64))


def test_a_layer_has_a_repr() -> None:
    assert repr(Conv2d(1, 16, 3)) == "Conv2d(1, 16, 3)"
    assert repr(Conv1d(4, 6, 3, stride=2, padding=1, groups=2, bias=False)) == (
        "Conv1d(4, 6, 3, stride=2, padding=1, groups=2, bias=False)"
    )
    assert repr(ConvTranspose2d(4, 6, 3, stride=2, output_padding=1, groups=2)) == (
        "ConvTranspose2d(4, 6, 3, stride=2, output_padding=1, groups=2)"
    )


@pytest.mark.parametrize(
    ("kind", "kernel", "options"),
    [
        (Conv1d, 3, {"dilation": 2}),
        (Conv2d, (3, 2), {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}),
        (Conv2d, (3, 4), {"padding": "same", "dilation": 2, "groups": 2}),
        (Conv3d, (1, 2, 3), {"stride": 2, "padding": (0, 1, 2)}),
        (ConvTranspose1d, 3, {"stride": 2, "dilation": 3, "output_padding": 1}),
        (ConvTranspose2d, (3, 2), {"stride": (3, 2), "padding": (1, 0), "output_padding": (2, 0), "dilation": (1, 2)}),
    ],
    ids=str,
)
def test_a_number_per_axis_is_passed_to_the_op(kind: Any, kernel: Any, options: dict[str, Any]) -> None:
    rank, back = KINDS[kind], "_transpose" if kind.__name__.startswith("ConvT") else ""
    layer, x = kind(4, 6, kernel, **options, bias=False, rng=0), normal((2, 4, *(7, 6, 5)[:rank]), rng=1)

    y = layer(x)

    assert layer.weight.shape[2:] == ((kernel,) * rank if isinstance(kernel, int) else kernel)
    np.testing.assert_array_equal(y.numpy(), getattr(tg, f"conv{back}{rank}d")(x, layer.weight, **options).numpy())


def test_same_keeps_the_sizes_with_an_odd_padding_at_the_end() -> None:
    assert Conv2d(3, 4, 4, padding="same", dilation=3)(ones((2, 3, 7, 8))).shape == (2, 4, 7, 8)
    assert Conv1d(3, 4, 2, padding="same")(ones((3, 7))).shape == (4, 7)


def test_same_with_a_stride_and_other_strings_are_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^Conv2d: padding 'same' needs a stride of 1, not 2$"):
        Conv2d(3, 4, 3, stride=2, padding="same")  # type: ignore[tapegrad-shape]  # the mistake under test
    with pytest.raises(ShapeError, match=r"^Conv3d: padding 'same' needs a stride of 1, not \(1, 2, 1\)$"):
        Conv3d(3, 4, 3, stride=(1, 2, 1), padding="same")  # type: ignore[tapegrad-shape]  # as above
    with pytest.raises(
        ValueError, match=r"^Conv2d: padding is 'full' but an int or a tuple of ints or 'same' is expected$"
    ):
        Conv2d(3, 4, 3, padding="full")  # type: ignore[arg-type]  # the mistake under test


def test_a_wrong_number_of_options_per_axis_is_rejected() -> None:
    with pytest.raises(
        ShapeError, match=r"^Conv2d: kernel is \(1, 2, 3\) but \(Kernel, KernelW\) is expected: rank 3, not 2$"
    ):
        Conv2d(3, 4, (1, 2, 3))  # type: ignore[tapegrad-shape]  # under test
    with pytest.raises(ShapeError, match=r"^Conv2d: Stride is 0 in stride but a named size is at least 1$"):
        Conv2d(3, 4, 3, stride=(0, 1))  # type: ignore[tapegrad-shape]  # under test


def test_the_repr_of_a_layer_is_its_constructor_call() -> None:
    assert repr(Conv2d(4, 8, (3, 5), stride=(2, 1), dilation=2)) == "Conv2d(4, 8, (3, 5), stride=(2, 1), dilation=2)"
    assert repr(Conv1d(4, 8, 3, padding="same", groups=4)) == "Conv1d(4, 8, 3, padding='same', groups=4)"
    assert repr(ConvTranspose2d(4, 8, 3, stride=2, output_padding=1, groups=2)) == (
        "ConvTranspose2d(4, 8, 3, stride=2, output_padding=1, groups=2)"
    )
