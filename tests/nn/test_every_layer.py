"""Properties of every layer: with and without a tape, in a summary and in a file; no layer is left out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import nn
from tapegrad.io import load, save
from tapegrad.ops import normal, tensor

ROWS, SEQUENCE = normal((4, 6), rng=0), normal((2, 7, 6), rng=0)
LINES, IMAGES, VOLUMES = normal((2, 3, 12), rng=0), normal((2, 3, 8, 9), rng=0), normal((2, 3, 5, 6, 7), rng=0)
TOKENS = tensor(np.array([[1, 2, 3]]))


def linear(outputs: int = 6) -> nn.Linear[Any, Any]:
    return nn.Linear(6, outputs)


LAYERS: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(5), (LINES,)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d(5), (IMAGES,)),
    "AddInto": (lambda: nn.AddInto(linear(3), linear(3)), ((ROWS, ROWS),)),
    "AvgPool1d": (lambda: nn.AvgPool1d(2), (LINES,)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2), (IMAGES,)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), (LINES,)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), (IMAGES,)),
    "CELU": (nn.CELU, (ROWS,)),
    "Conv1d": (lambda: nn.Conv1d(3, 4, 3), (LINES,)),
    "Conv2d": (lambda: nn.Conv2d(3, 4, (3, 2)), (IMAGES,)),
    "Conv3d": (lambda: nn.Conv3d(3, 4, 3), (VOLUMES,)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(3, 4, 3), (LINES,)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 4, 3, stride=(2, 1)), (IMAGES,)),
    "Dropout": (lambda: nn.Dropout(0.5), (ROWS,)),
    "ELU": (nn.ELU, (ROWS,)),
    "Embedding": (lambda: nn.Embedding(5, 3), (TOKENS,)),
    "FeedForward": (lambda: nn.FeedForward(6, 8), (SEQUENCE,)),
    "Flatten": (nn.Flatten, (IMAGES,)),
    "GELU": (nn.GELU, (ROWS,)),
    "GRU": (lambda: nn.GRU(6, 4), (SEQUENCE,)),
    "GeneralizedAdd": (lambda: nn.GeneralizedAdd(linear(3), linear(3)), (ROWS,)),
    "GeneralizedMul": (lambda: nn.GeneralizedMul(linear(3), linear(3)), (ROWS,)),
    "GlobalAvgPool1d": (nn.GlobalAvgPool1d, (LINES,)),
    "GlobalAvgPool2d": (nn.GlobalAvgPool2d, (IMAGES,)),
    "GlobalMaxPool1d": (nn.GlobalMaxPool1d, (LINES,)),
    "GlobalMaxPool2d": (nn.GlobalMaxPool2d, (IMAGES,)),
    "GroupNorm": (lambda: nn.GroupNorm(3, 3), (IMAGES,)),
    "Hardswish": (nn.Hardswish, (ROWS,)),
    "Hardtanh": (nn.Hardtanh, (ROWS,)),
    "InstanceNorm": (lambda: nn.InstanceNorm(3), (IMAGES,)),
    "LSTM": (lambda: nn.LSTM(6, 4), (SEQUENCE,)),
    "LayerNorm": (lambda: nn.LayerNorm(6), (ROWS,)),
    "LeakyReLU": (nn.LeakyReLU, (ROWS,)),
    "Linear": (linear, (ROWS,)),
    "LogSigmoid": (nn.LogSigmoid, (ROWS,)),
    "LogSoftmax": (nn.LogSoftmax, (ROWS,)),
    "MaxPool1d": (lambda: nn.MaxPool1d(2), (LINES,)),
    "MaxPool2d": (lambda: nn.MaxPool2d(2), (IMAGES,)),
    "MinPool1d": (lambda: nn.MinPool1d(2), (LINES,)),
    "MinPool2d": (lambda: nn.MinPool2d(2), (IMAGES,)),
    "Mish": (nn.Mish, (ROWS,)),
    "MixedPrecision": (
        lambda: nn.MixedPrecision(nn.Sequential(linear(3), nn.BatchNorm1d(3)), compute=np.float16),
        (ROWS,),
    ),
    "GroupedQueryAttention": (lambda: nn.GroupedQueryAttention(6, 3, 1), (SEQUENCE,)),
    "MultiHeadAttention": (lambda: nn.MultiHeadAttention(6, 2), (SEQUENCE, SEQUENCE)),
    "PReLU": (nn.PReLU, (ROWS,)),
    "RMSNorm": (lambda: nn.RMSNorm(6), (ROWS,)),
    "RNN": (lambda: nn.RNN(6, 4), (SEQUENCE,)),
    "ReLU": (nn.ReLU, (ROWS,)),
    "ReLU6": (nn.ReLU6, (ROWS,)),
    "Repeated": (lambda: nn.Repeated(linear, 2), (ROWS,)),
    "Reshape": (lambda: nn.Reshape((6, 4)), (ROWS,)),
    "Residual": (lambda: nn.Residual(linear()), (ROWS,)),
    "ResidualMul": (lambda: nn.ResidualMul(linear()), (ROWS,)),
    "SELU": (nn.SELU, (ROWS,)),
    "SSM": (lambda: nn.SSM(6, 4), (SEQUENCE,)),
    "Sequential": (lambda: nn.Sequential(linear(3), nn.ReLU()), (ROWS,)),
    "SiLU": (nn.SiLU, (ROWS,)),
    "Sigmoid": (nn.Sigmoid, (ROWS,)),
    "SmoothMaxPool1d": (lambda: nn.SmoothMaxPool1d(2), (LINES,)),
    "SmoothMaxPool2d": (lambda: nn.SmoothMaxPool2d(2), (IMAGES,)),
    "Softmax": (nn.Softmax, (ROWS,)),
    "Softplus": (nn.Softplus, (ROWS,)),
    "SplitInto": (lambda: nn.SplitInto(linear(3), nn.ReLU()), (ROWS,)),
    "StackedGRU": (lambda: nn.StackedGRU(6, 4, 2), (SEQUENCE,)),
    "StackedLSTM": (lambda: nn.StackedLSTM(6, 4, 2, directions=2), (SEQUENCE,)),
    "StackedRNN": (lambda: nn.StackedRNN(6, 4, 2, directions=2), (SEQUENCE,)),
    "Tanh": (nn.Tanh, (ROWS,)),
    "Transformer": (lambda: nn.Transformer(6, 2, 8, 1, 2), (SEQUENCE, SEQUENCE)),
    "TransformerDecoderBlock": (lambda: nn.TransformerDecoderBlock(6, 2, 8), (SEQUENCE, SEQUENCE)),
    "TransformerEncoderBlock": (lambda: nn.TransformerEncoderBlock(6, 2, 8), (SEQUENCE,)),
    "Unflatten": (lambda: nn.Unflatten((2, 3)), (ROWS,)),
    "Upsample": (lambda: nn.Upsample(2), (IMAGES,)),
}


def results(of: Any) -> list[Any]:
    return list(of) if isinstance(of, tuple) else [of]


def traced(x: Any) -> Any:
    return tuple(map(traced, x)) if isinstance(x, tuple) else x.trace()


def buffers(layer: Any) -> dict[str, list[Any]]:
    return {path: buffer.tolist() for path, buffer in layer.buffers().items()}


def test_every_layer_is_tested() -> None:
    of_another_kind = {"Module", "ModelEMA", "Valid"}
    public = {name for name, one in vars(nn).items() if inspect.isclass(one) and issubclass(one, nn.Module)}

    assert public - of_another_kind == set(LAYERS)


@pytest.mark.parametrize("name", LAYERS)
def test_without_a_tape_the_result_has_none_and_buffers_stay_unchanged(name: str) -> None:
    make, inputs = LAYERS[name]
    layer = make()
    before = buffers(layer)

    y = results(layer(*inputs))

    assert not any(one.owns_tape for one in y)
    assert buffers(layer) == before


@pytest.mark.parametrize("name", LAYERS)
def test_with_a_tape_every_parameter_has_a_gradient_and_buffers_change(name: str) -> None:
    make, inputs = LAYERS[name]
    layer = make()
    before, shapes = buffers(layer), [one.shape for one in results(layer(*inputs))]

    first, *others = results(layer(*map(traced, inputs)))
    loss = (first**2).sum()
    for other in others:
        loss = loss + (other**2).sum()
    grads = loss.backward(wrt=layer)

    assert [one.shape for one in (first, *others)] == shapes
    assert all(grads[one].shape == one.shape for one in layer.parameters().values())
    assert bool(before) == (buffers(layer) != before)


@pytest.mark.parametrize("name", LAYERS)
def test_a_summary_has_the_output_shape(name: str) -> None:
    make, inputs = LAYERS[name]
    layer = make()

    table = tg.summary(layer, *inputs)

    assert table.rows[0].output == ", ".join(str(one.shape) for one in results(layer(*inputs)))


@pytest.mark.parametrize("name", LAYERS)
def test_saving_and_loading_restores_every_layer(name: str, tmp_path: Path) -> None:
    make, inputs = LAYERS[name]
    layer, other = make(), make()

    save(layer, tmp_path / "layer.npz")
    load(other, tmp_path / "layer.npz")

    for one, same in zip(results(layer(*inputs)), results(other(*inputs)), strict=True):
        assert one.tolist() == same.tolist()
