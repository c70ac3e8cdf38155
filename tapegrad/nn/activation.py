"""Activations as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from tapegrad.nn.module import Module
from tapegrad.ops import relu, tanh

if TYPE_CHECKING:
    from tapegrad.tensor import D, S, T, Tensor


class ReLU(Module):
    r"""Cuts off what is negative: $y = \max(x, 0)$."""

    @override
    def forward(self, x: Tensor[S, T, D]) -> Tensor[S, T, D]:
        """Computes `relu(x)`, of any shape."""
        return relu(x)


class Tanh(Module):
    r"""Takes the hyperbolic tangent: $y = \tanh x$."""

    @override
    def forward(self, x: Tensor[S, T, D]) -> Tensor[S, T, D]:
        """Computes `tanh(x)`, of any shape."""
        return tanh(x)
