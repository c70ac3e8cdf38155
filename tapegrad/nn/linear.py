"""Fully connected (linear) layers."""

from __future__ import annotations

from math import sqrt
from typing import Any, Generic

from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.generator import RNG, generator
from tapegrad.guard import guarded
from tapegrad.nn.module import Module
from tapegrad.nn.param import DType, HasBias, Param
from tapegrad.ops import linear, matmul, uniform
from tapegrad.sizes.arithmetic import Given
from tapegrad.tensors import T, Tensor
from tapegrad.tensors.aliases import Shape

In = TypeVar("In", bound=int, default=Any, covariant=True)
Out = TypeVar("Out", bound=int, default=Any, covariant=True)
Batch = TypeVarTuple("Batch")


class Linear(Module, Generic[In, Out, HasBias, DType]):
    """Fully connected layer: a linear map of the last axis with an optional bias.

        y[b,j] = ∑_i x[b,i] w[i,j] + b[j]
        w[i,j], b[j] ~ U[-1/√n, 1/√n)

    Args:
        in_features: The size n of the last axis of the input.
        out_features: The size of the last axis of the result.
        bias: Whether there is a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the weight is drawn first.

    Attributes:
        weight: `(In, Out)`; PyTorch's is the transpose.
        bias: `(Out,)`, or None.

    Raises:
        ShapeError: A size is below 1.
        DTypeError: A size is not an int.

    Source:
        PyTorch 2.13, `torch.nn.Linear`: He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852),
        eq. 10, with a negative slope of √5.

    Examples:
        >>> layer = tg.nn.Linear(3, 2, rng=0)
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> layer(x).shape
        (2, 2)
        >>> grads = layer(x.trace()).sum().backward(wrt=layer)
        >>> grads[layer.weight].tolist(), grads[layer.bias].tolist()
        ([[5.0, 5.0], [7.0, 7.0], [9.0, 9.0]], [2.0, 2.0])
    """

    weight: Param[Shape[In, Out], DType]
    bias: Param[Shape[Out], DType] | None

    @guarded
    def __init__(
        self: Linear[Any, Any, Any],
        in_features: Given[In],
        out_features: Given[Out],
        *,
        bias: Given[HasBias] = True,
        rng: RNG = None,
    ) -> None:
        rng = generator(rng)
        bound = 1 / sqrt(in_features)
        self.weight = Param(uniform((in_features, out_features), low=-bound, high=bound, rng=rng))
        self.bias = Param(uniform((out_features,), low=-bound, high=bound, rng=rng)) if bias else None

    @override
    @guarded
    def forward(self, x: Tensor[Shape[*Batch, In], T, DType]) -> Tensor[Shape[*Batch, Out], T, DType]:
        """Compute `x @ weight + bias` of `x`, `(..., In)`; the result is `(..., Out)`."""
        return matmul(x, self.weight) if self.bias is None else linear(x, self.weight, self.bias)

    @override
    def __repr__(self) -> str:
        inner, outer = self.weight.shape
        return f"Linear({inner}, {outer})" if self.bias is not None else f"Linear({inner}, {outer}, bias=False)"
