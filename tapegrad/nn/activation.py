"""Activations as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from typing_extensions import override

from tapegrad.nn.module import Module
from tapegrad.nn.param import Param
from tapegrad.ops import (
    elu,
    full,
    gelu,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    mish,
    prelu,
    relu,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
)
from tapegrad.options import check_number
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from tapegrad.tensor import Float, Real, S, T, Tensor


class ReLU(Module):
    r"""Cuts off what is negative: $y = \max(x, 0)$."""

    @override
    def forward(self, x: Tensor[S, T, Real]) -> Tensor[S, T, Real]:
        """Compute `relu(x)`, of any shape."""
        return relu(x)


class LeakyReLU(Module):
    r"""Scales down what is negative: $y = \max(x, 0) + s \min(x, 0)$.

    Args:
        negative_slope: The slope s of what is not positive.

    Raises:
        DTypeError: It is not a number.
        ValueError: It is NaN.
    """

    @public_api
    def __init__(self, *, negative_slope: float = 0.01) -> None:
        check_number("LeakyReLU", "negative_slope", negative_slope)
        self.negative_slope = negative_slope

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `leaky_relu(x, negative_slope=...)`, of any shape."""
        return leaky_relu(x, negative_slope=self.negative_slope)


class ELU(Module):
    r"""Bends what is negative towards a bound: $y = \max(x, 0) + \alpha (e^{\min(x, 0)} - 1)$.

    Args:
        alpha: The bound is minus this, in the units of what comes in.

    Raises:
        DTypeError: It is not a number.
        ValueError: It is NaN.
    """

    @public_api
    def __init__(self, *, alpha: float = 1.0) -> None:
        check_number("ELU", "alpha", alpha)
        self.alpha = alpha

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `elu(x, alpha=...)`, of any shape."""
        return elu(x, alpha=self.alpha)


class GELU(Module):
    r"""Multiplies by the probability that a standard normal number is less: $y = x \, \Phi(x)$.

    Args:
        approximate: `none` for the error function, or `tanh` for the faster form, see `tapegrad.gelu`.
    """

    def __init__(self, *, approximate: Literal["none", "tanh"] = "none") -> None:
        self.approximate: Literal["none", "tanh"] = approximate

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `gelu(x, approximate=...)`, of any shape."""
        return gelu(x, approximate=self.approximate)


class Mish(Module):
    r"""Multiplies by the tangent of its softplus: $y = x \tanh \ln(1 + e^x)$."""

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `mish(x)`, of any shape."""
        return mish(x)


class PReLU(Module):
    r"""Scales down what is negative by a slope that it learns: $y = \max(x, 0) + w \min(x, 0)$.

    Args:
        negative_slope: The first slope.

    Attributes:
        weight: The slope w, `()`.

    Raises:
        DTypeError: `negative_slope` is not a number.
        ValueError: It is NaN.

    Source:
        He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852), eq. 1, one slope for all channels.
    """

    @public_api
    def __init__(self, *, negative_slope: float = 0.25) -> None:
        check_number("PReLU", "negative_slope", negative_slope)
        self.weight = Param(full((), negative_slope))

    @override
    def forward(self, x: Tensor[S, T]) -> Tensor[S, T]:
        """Compute `prelu(x, weight)` of float32 `x`, of any shape."""
        return prelu(x, self.weight)


class SiLU(Module):
    r"""Multiplies by the sigmoid, also known as swish: $y = x \, \sigma(x)$."""

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `silu(x)`, of any shape."""
        return silu(x)


class Softplus(Module):
    r"""Rounds off the corner of `ReLU`: $y = \ln(1 + e^x)$."""

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `softplus(x)`, of any shape."""
        return softplus(x)


class Sigmoid(Module):
    r"""Squeezes between 0 and 1: $y = 1 / (1 + e^{-x})$."""

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `sigmoid(x)`, of any shape."""
        return sigmoid(x)


class LogSigmoid(Module):
    r"""Takes the logarithm of the sigmoid: $y = -\ln(1 + e^{-x})$."""

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `log_sigmoid(x)`, of any shape."""
        return log_sigmoid(x)


class Tanh(Module):
    r"""Takes the hyperbolic tangent: $y = \tanh x$."""

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `tanh(x)`, of any shape."""
        return tanh(x)


class Softmax(Module):
    r"""Turns scores into probabilities along an axis: $y_i = e^{x_i} / \sum_j e^{x_j}$.

    Args:
        axis: The axis along which the probabilities add up to one.
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `softmax(x, axis)`, of any shape."""
        return softmax(x, self.axis)

    @override
    def __repr__(self) -> str:
        return f"Softmax({'' if self.axis == -1 else self.axis})"


class LogSoftmax(Module):
    r"""Turns scores into logarithms of probabilities along an axis: $y_i = x_i - \ln \sum_j e^{x_j}$.

    Args:
        axis: The axis along which the probabilities add up to one.
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `log_softmax(x, axis)`, of any shape."""
        return log_softmax(x, self.axis)

    @override
    def __repr__(self) -> str:
        return f"LogSoftmax({'' if self.axis == -1 else self.axis})"
