"""The dtype of layers and models: conversion by `nn.cast`, and mixed precision."""

from typing import Any, Generic, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn

N = TypeVar("N", bound=int)
T = TypeVar("T", bound=tg.Tape)
D = TypeVar("D", bound=np.floating[Any], default=np.float32)

x = tg.ones((4, 3))
half = x.astype(tg.bfloat16)
images = tg.ones((2, 3, 8, 8)).astype(np.float16)


def accept_float32_by_default() -> None:
    layer = nn.Linear(3, 2, rng=0)
    assert_type(layer, nn.Linear[L[3], L[2], L[True]])
    assert_type(layer, nn.Linear[L[3], L[2], L[True], np.float32])
    assert_type(layer.weight, nn.Param[Shape[L[3], L[2]]])
    assert_type(layer(x), Tensor[Shape[L[4], L[2]], NoneTape])


def accept_a_layer_of_another_dtype() -> None:
    layer = nn.cast(nn.Linear(3, 2, rng=0), tg.bfloat16)
    assert_type(layer, nn.Linear[L[3], L[2], L[True], tg.bfloat16])
    assert_type(layer.weight, nn.Param[Shape[L[3], L[2]], tg.bfloat16])
    assert_type(layer.bias, nn.Param[Shape[L[2]], tg.bfloat16])
    assert_type(layer(half), Tensor[Shape[L[4], L[2]], NoneTape, tg.bfloat16])
    assert_type(layer(half.trace()), Tensor[Shape[L[4], L[2]], OwnedTape, tg.bfloat16])
    assert_type(nn.cast(layer, np.float32), nn.Linear[L[3], L[2], L[True]])
    assert_type(nn.cast(layer, np.float64)(x.astype(np.float64)), Tensor[Shape[L[4], L[2]], NoneTape, np.float64])


def reject_float32_in_a_layer_of_another_dtype() -> None:
    layer = nn.cast(nn.Linear(3, 2, rng=0), tg.bfloat16)
    layer(x)  # E: layer Linear(3, 2): x is float32 but bfloat16 is expected; x.astype(tapegrad.bfloat16) converts it [tapegrad-dtype]


def reject_bfloat16_in_a_layer_of_float32() -> None:
    layer = nn.Linear(3, 2, rng=0)
    layer(half)  # E: layer Linear(3, 2): x is bfloat16 but float32 is expected [tapegrad-dtype]


def reject_a_layer_of_float32_where_one_of_bfloat16_is_declared() -> None:
    def first(layer: nn.Linear[L[3], N, Any, tg.bfloat16]) -> None: ...

    first(nn.cast(nn.Linear(3, 2, rng=0), tg.bfloat16))
    first(nn.Linear(3, 2, rng=0))  # E(mypy): Argument 1 to "first" has incompatible type "Linear[Literal[3], Literal[2], Literal[True], floating[_32Bit]]"; expected "Linear[Any, Any, Any, bfloat16]" [arg-type]


def accept_each_layer() -> None:
    steps = tg.ones((2, 5, 3)).astype(np.float16)
    assert_type(nn.cast(nn.Conv2d(3, 5, 3), np.float16)(images), Tensor[Shape[L[2], L[5], L[6], L[6]], NoneTape, np.float16])
    assert_type(
        nn.cast(nn.ConvTranspose2d(3, 5, 2), np.float16)(images),
        Tensor[Shape[L[2], L[5], L[9], L[9]], NoneTape, np.float16],
    )
    assert_type(nn.cast(nn.BatchNorm2d(3), np.float16)(images), Tensor[Shape[L[2], L[3], L[8], L[8]], NoneTape, np.float16])
    assert_type(nn.cast(nn.GroupNorm(1, 3), np.float16)(images), Tensor[Shape[L[2], L[3], L[8], L[8]], NoneTape, np.float16])
    assert_type(nn.cast(nn.LayerNorm(3), np.float16)(steps), Tensor[Shape[L[2], L[5], L[3]], NoneTape, np.float16])
    assert_type(nn.cast(nn.PReLU(), np.float16)(steps), Tensor[Shape[L[2], L[5], L[3]], NoneTape, np.float16])
    assert_type(nn.cast(nn.SSM(3, 2), np.float16)(steps), Tensor[Shape[L[2], L[5], L[3]], NoneTape, np.float16])
    y, h = nn.cast(nn.GRU(3, 7), np.float16)(steps)
    assert_type(y, Tensor[Shape[L[2], L[5], L[7]], NoneTape, np.float16])
    assert_type(h, Tensor[Shape[L[2], L[7]], NoneTape, np.float16])
    tokens = tg.tensor([1, 2])
    assert_type(nn.cast(nn.Embedding(5, 3), np.float16)(tokens), Tensor[Shape[L[2], L[3]], NoneTape, np.float16])
    attention = nn.cast(nn.MultiHeadAttention(3, 1), np.float16)
    assert_type(attention(steps, steps), Tensor[Shape[L[2], L[5], L[3]], NoneTape, np.float16])
    assert_type(attention.query, nn.Linear[L[3], L[3], L[True], np.float16])
    block = nn.cast(nn.TransformerEncoderBlock(3, 1, 4), np.float16)
    assert_type(block(steps), Tensor[Shape[L[2], L[5], L[3]], NoneTape, np.float16])


def accept_a_model() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Residual(nn.Linear(5, 5)), nn.LayerNorm(5))
    assert_type(nn.cast(model, np.float16)(x.astype(np.float16)), Tensor[Shape[L[4], L[5]], NoneTape, np.float16])
    layers = nn.cast(nn.Repeated(lambda: nn.Linear(3, 3), 2), tg.bfloat16)
    assert_type(layers(half), Tensor[Shape[L[4], L[3]], NoneTape, tg.bfloat16])


def reject_a_model_of_another_dtype() -> None:
    model = nn.cast(nn.Sequential(nn.Linear(3, 5), nn.ReLU()), tg.bfloat16)
    model(x)  # E: model[0] Linear(3, 5): x is float32 but bfloat16 is expected; x.astype(tapegrad.bfloat16) converts it [tapegrad-dtype]


class Net(nn.Module, Generic[D]):
    """A model that is generic in the dtype of its layers."""

    first: nn.Linear[L[3], L[5], Any, D]
    last: nn.Linear[L[5], L[2], Any, D]

    @tg.guarded
    def __init__(self: "Net") -> None:
        self.first, self.last = nn.Linear(3, 5), nn.Linear(5, 2)

    @tg.guarded
    def forward(self, x: Tensor[Shape[N, L[3]], T, D]) -> Tensor[Shape[N, L[2]], T, D]:
        return self.last(tg.relu(self.first(x)))


class Fixed(nn.Module):
    """A model of float32."""

    def __init__(self) -> None:
        self.layer = nn.Linear(3, 2)

    @tg.guarded
    def forward(self, x: Tensor[Shape[N, L[3]], T]) -> Tensor[Shape[N, L[2]], T]:
        return self.layer(x)


def accept_a_model_of_your_own() -> None:
    net = nn.cast(Net(), tg.bfloat16)
    assert_type(net, Net[tg.bfloat16])
    assert_type(net(half), Tensor[Shape[L[4], L[2]], NoneTape, tg.bfloat16])
    assert_type(net.first, nn.Linear[L[3], L[5], Any, tg.bfloat16])


def reject_float32_in_a_model_of_your_own() -> None:
    net = nn.cast(Net(), tg.bfloat16)
    net(x)  # E: net Net: x is float32 but bfloat16 is expected; x.astype(tapegrad.bfloat16) converts it [tapegrad-dtype]


def reject_a_quantized_model() -> None:
    model = nn.Sequential(nn.Linear(3, 5, rng=0), nn.ReLU())
    nn.cast(nn.quantized(model), np.float16)  # E(Python): cast: layers.0.weight is quantized; convert the model first and quantize the result


def reject_a_dtype_that_is_no_float() -> None:
    nn.cast(nn.Linear(3, 5), np.int64)  # E(mypy): Argument 2 to "cast" has incompatible type "type[signedinteger[_64Bit]]"; expected "type[floating[Any]] | dtype[Any]" [arg-type]


def accept_what_no_type_says() -> None:
    net = nn.cast(Fixed(), np.float64)  # its class says nothing of a dtype
    assert_type(net, Any)
