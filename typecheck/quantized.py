"""Quantized tensors keep sizes and dtype, and have no tape."""

from typing import Literal as L
from typing import assert_type

import numpy as np

import tapegrad as tg
from tapegrad import Affine, BlockSymmetric, NoneTape, OwnedTape, Quantized, Shape, Symmetric, Tensor, nn

x = tg.ones((3, 5))
w = tg.ones((5, 2))


def accept_a_quantized_tensor_where_a_tensor_is_expected() -> None:
    q = tg.quantize(w, Symmetric())
    assert_type(q, Quantized[Shape[L[5], L[2]], np.float32])
    assert_type(x @ q, Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(x.trace() @ q, Tensor[Shape[L[3], L[2]], OwnedTape])


def accept_floats_again() -> None:
    q = tg.quantize(tg.ones((5, 2), np.float64), BlockSymmetric(4))
    assert_type(tg.dequantize(q), Tensor[Shape[L[5], L[2]], NoneTape, np.float64])


def accept_that_quantize_detaches() -> None:
    assert_type(tg.dequantize(tg.quantize(x.trace(), Affine())), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_a_quantized_model() -> None:
    model = nn.quantized(nn.Linear(5, 7))
    assert_type(model(x), Tensor[Shape[L[3], L[7]], NoneTape])


def reject_sizes_that_do_not_fit() -> None:
    tg.quantize(w, Symmetric()) @ x  # E: matmul: inner sizes differ: x (5, 2) has 2 columns but y (3, 5) has 3 rows [tapegrad-shape]


def reject_a_gradient_through_it() -> None:
    tg.quantize((x.trace() @ w).sum(), Symmetric()).backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]


def reject_whole_numbers() -> None:
    tg.quantize(tg.tensor([1, 2]), Symmetric())  # E: quantize: x is int64 but floating is expected [tapegrad-dtype]


def reject_what_is_not_quantized() -> None:
    tg.dequantize(x)  # E(mypy): Argument 1 to "dequantize" has incompatible type "Tensor[tuple[Literal[3], Literal[5]], NoneTape, floating[_32Bit]]"; expected "Quantized[Any, floating[_32Bit]]" [arg-type]
