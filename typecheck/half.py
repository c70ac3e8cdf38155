"""bfloat16 as a dtype: creation, conversion, annotations, and errors for mixed dtypes."""

from typing import Literal as L
from typing import assert_type

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn

N = TypeVar("N", bound=int)

x = tg.ones((3, 5))
half = x.astype(tg.bfloat16)


def accept_conversion_both_ways() -> None:
    assert_type(half, Tensor[Shape[L[3], L[5]], NoneTape, tg.bfloat16])
    assert_type(half.astype(np.float32), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(x.trace().astype(tg.bfloat16), Tensor[Shape[L[3], L[5]], OwnedTape, tg.bfloat16])
    assert_type(tg.arange(7).astype(tg.bfloat16), Tensor[Shape[L[7]], NoneTape, tg.bfloat16])
    assert_type(half.astype(np.int64), Tensor[Shape[L[3], L[5]], NoneTape, np.int64])


def accept_making() -> None:
    assert_type(tg.zeros((2, 3), dtype=tg.bfloat16), Tensor[Shape[L[2], L[3]], NoneTape, tg.bfloat16])
    assert_type(tg.full((2,), 1.5, tg.bfloat16), Tensor[Shape[L[2]], NoneTape, tg.bfloat16])
    assert_type(tg.normal((2, 3), dtype=tg.bfloat16, rng=0), Tensor[Shape[L[2], L[3]], NoneTape, tg.bfloat16])
    assert_type(tg.tensor([1.0, 2.0], tg.bfloat16), Tensor[Shape[L[2]], NoneTape, tg.bfloat16])
    assert_type(tg.eye(3, dtype=tg.bfloat16), Tensor[Shape[L[3], L[3]], NoneTape, tg.bfloat16])
    assert_type(tg.zeros_like(half), Tensor[Shape[L[3], L[5]], NoneTape, tg.bfloat16])


def accept_ops() -> None:
    assert_type(half + 1.0, Tensor[Shape[L[3], L[5]], NoneTape, tg.bfloat16])
    assert_type(tg.softmax(half), Tensor[Shape[L[3], L[5]], NoneTape, tg.bfloat16])
    assert_type(half.trace() @ half.T, Tensor[Shape[L[3], L[3]], OwnedTape, tg.bfloat16])
    assert_type(half.mean(axis=0), Tensor[Shape[L[5]], NoneTape, tg.bfloat16])
    assert_type(half > 0.0, Tensor[Shape[L[3], L[5]], NoneTape, np.bool_])
    assert_type(half.argmax(axis=1), Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(tg.float_power(half, 2), Tensor[Shape[L[3], L[5]], NoneTape, np.float64])


def accept_a_gradient() -> None:
    y = x.trace()
    grads = tg.tanh(y.astype(tg.bfloat16)).astype(np.float32).sum().backward()
    assert_type(grads[x], Tensor[Shape[L[3], L[5]], NoneTape])
    z = half.trace()
    assert_type((z * z).sum().backward()[half], Tensor[Shape[L[3], L[5]], NoneTape, tg.bfloat16])


def accept_named_sizes() -> None:
    def squared(x: Tensor[Shape[N, L[5]], NoneTape, tg.bfloat16]) -> Tensor[Shape[N, L[5]], NoneTape, tg.bfloat16]:
        return x * x

    assert_type(squared(half), Tensor[Shape[L[3], L[5]], NoneTape, tg.bfloat16])


def reject_float32_beside_it() -> None:
    half + x  # E: add: x is bfloat16 but y is float32 [tapegrad-dtype]


def reject_float16_beside_it() -> None:
    tg.maximum(x.astype(np.float16), half)  # E: maximum: x is float16 but y is bfloat16 [tapegrad-dtype]


def reject_a_layer_of_float32() -> None:
    nn.Linear(5, 2, rng=0)(half)  # E: Linear(5, 2): x is bfloat16 but float32 is expected [tapegrad-dtype]


def reject_floats_where_ints_are_expected() -> None:
    tg.bitwise_and(half, half)  # E: bitwise_and: x is bfloat16 but integer or bool is expected [tapegrad-dtype]
