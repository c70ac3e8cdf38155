"""Layers that bring each row to one size."""

from __future__ import annotations

from typing import Any, Generic

from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.guard import guarded
from tapegrad.nn.module import Module
from tapegrad.nn.param import Param
from tapegrad.ops import layer_norm, ones, rms_norm, zeros
from tapegrad.shapes import Shape
from tapegrad.tensor import T, Tensor

Width = TypeVar("Width", bound=int, covariant=True, default=Any)
Batch = TypeVarTuple("Batch")


class LayerNorm(Module, Generic[Width]):
    r"""Gives each row a mean of zero and a variance of one, then scales and shifts each column.

    $$y_{bi} = w_i \frac{x_{bi} - \bar x_b}{s_b} + c_i, \quad w_i = 1, \; c_i = 0 \text{ at first}$$

    Args:
        width: The size of the last axis.
        eps: What is added to the variance, in squares of the units of what comes in, above 0.

    Attributes:
        weight: The factors w, `(Width,)`.
        bias: What is added, c, `(Width,)`.
        eps: What is added to the variance.

    Raises:
        ShapeError: The width is below 1.
        DTypeError: The width is no int.

    Source:
        Ba et al., [Layer normalization](https://arxiv.org/abs/1607.06450), eq. 4; see `tapegrad.layer_norm`.
    """

    weight: Param[Shape[Width]]
    bias: Param[Shape[Width]]

    @guarded
    def __init__(self: LayerNorm[Any], width: Width, *, eps: float = 1e-5) -> None:
        self.weight = Param(ones((width,)))
        self.bias = Param(zeros((width,)))
        self.eps = eps

    @override
    @guarded
    def forward(self, x: Tensor[Shape[*Batch, Width], T]) -> Tensor[Shape[*Batch, Width], T]:
        """Computes `layer_norm(x, weight, bias, eps=...)` of float32 `x`, `(..., Width)`; gives the same shape."""
        return layer_norm(x, self.weight, self.bias, eps=self.eps)

    @override
    def __repr__(self) -> str:
        return f"LayerNorm({self.weight.shape[0]})"


class RMSNorm(Module, Generic[Width]):
    r"""Gives each row a mean square of one, then scales each column.

    $$y_{bi} = w_i \frac{x_{bi}}{s_b}, \quad w_i = 1 \text{ at first}$$

    Args:
        width: The size of the last axis.
        eps: What is added to the mean square, in squares of the units of what comes in, above 0.

    Attributes:
        weight: The factors w, `(Width,)`.
        eps: What is added to the mean square.

    Raises:
        ShapeError: The width is below 1.
        DTypeError: The width is no int.

    Source:
        Zhang & Sennrich, [Root mean square layer normalization](https://arxiv.org/abs/1910.07467), eq. 4; see
        `tapegrad.rms_norm`.
    """

    weight: Param[Shape[Width]]

    @guarded
    def __init__(self: RMSNorm[Any], width: Width, *, eps: float = 1e-5) -> None:
        self.weight = Param(ones((width,)))
        self.eps = eps

    @override
    @guarded
    def forward(self, x: Tensor[Shape[*Batch, Width], T]) -> Tensor[Shape[*Batch, Width], T]:
        """Computes `rms_norm(x, weight, eps=...)` of float32 `x`, `(..., Width)`; gives the same shape."""
        return rms_norm(x, self.weight, eps=self.eps)

    @override
    def __repr__(self) -> str:
        return f"RMSNorm({self.weight.shape[0]})"
