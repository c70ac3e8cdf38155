"""Activation layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal

from typing_extensions import TypeVar, override

from tapegrad.errors.options import check_number, check_whole
from tapegrad.errors.tracebacks import public_api, trim_on_exit
from tapegrad.guard import guarded
from tapegrad.nn.module import Module
from tapegrad.nn.param import DType, Param
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

if TYPE_CHECKING:
    from tapegrad.sizes.arithmetic import Given
    from tapegrad.tensors import Float, Real, S, T, Tensor

Axis = TypeVar("Axis", bound=int, default=Any, covariant=True)


class ReLU(Module):
    """Rectified linear unit: `y = max(x, 0)`.

    Examples:
        >>> relu = tg.nn.ReLU()
        >>> relu(tg.tensor([-2.0, 0.5, 3.0])).tolist()
        [0.0, 0.5, 3.0]
    """

    @override
    def forward(self, x: Tensor[S, T, Real]) -> Tensor[S, T, Real]:
        """Compute `relu(x)` for `x` of any shape."""
        return relu(x)


class LeakyReLU(Module):
    """Leaky rectified linear unit: `y = max(x, 0) + s min(x, 0)`.

    Args:
        negative_slope: The negative slope s for negative elements.

    Raises:
        DTypeError: `negative_slope` is not a number.
        ValueError: `negative_slope` is NaN.

    Examples:
        >>> x = tg.tensor([-2.0, 3.0])
        >>> tg.nn.LeakyReLU(negative_slope=0.25)(x).tolist()
        [-0.5, 3.0]
    """

    @public_api
    def __init__(self, *, negative_slope: float = 0.01) -> None:
        check_number("LeakyReLU", "negative_slope", negative_slope)
        self.negative_slope = negative_slope

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `leaky_relu(x, negative_slope=...)` for `x` of any shape."""
        return leaky_relu(x, negative_slope=self.negative_slope)


class ELU(Module):
    """Exponential linear unit: `y = max(x, 0) + α (e^(min(x, 0)) - 1)`.

    Args:
        alpha: The factor α, in the units of `x`; y approaches -α for negative x.

    Raises:
        DTypeError: `alpha` is not a number.
        ValueError: `alpha` is NaN.

    Examples:
        >>> x = tg.tensor([-2.0, 3.0])
        >>> np.round(tg.nn.ELU()(x).numpy().astype(float), 3).tolist()
        [-0.865, 3.0]
    """

    @public_api
    def __init__(self, *, alpha: float = 1.0) -> None:
        check_number("ELU", "alpha", alpha)
        self.alpha = alpha

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `elu(x, alpha=...)` for `x` of any shape."""
        return elu(x, alpha=self.alpha)


class GELU(Module):
    """Gaussian error linear unit: `y = x Φ(x)`, with the standard normal distribution function Φ.

    Args:
        approximate: `none` for the error function, or `tanh` for the faster approximation, see `tapegrad.gelu`.

    Examples:
        >>> x = tg.tensor([-1.0, 1.0, 2.5])
        >>> np.round(tg.nn.GELU()(x).numpy().astype(float), 3).tolist()
        [-0.159, 0.841, 2.484]
        >>> np.round(tg.nn.GELU(approximate="tanh")(x).numpy().astype(float), 3).tolist()
        [-0.159, 0.841, 2.485]
    """

    @guarded
    def __init__(self, *, approximate: Literal["none", "tanh"] = "none") -> None:
        self.approximate: Literal["none", "tanh"] = approximate

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `gelu(x, approximate=...)` for `x` of any shape."""
        return gelu(x, approximate=self.approximate)


class Mish(Module):
    """Mish activation: `y = x tanh ln(1 + e^x)`.

    Examples:
        >>> x = tg.tensor([-1.0, 1.0, 3.0])
        >>> np.round(tg.nn.Mish()(x).numpy().astype(float), 3).tolist()
        [-0.303, 0.865, 2.987]
    """

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `mish(x)` for `x` of any shape."""
        return mish(x)


class PReLU(Module, Generic[DType]):
    """Parametric rectified linear unit, with a learnable negative slope: `y = max(x, 0) + w min(x, 0)`.

    Args:
        negative_slope: The initial negative slope.

    Attributes:
        weight: The negative slope w, `()`.

    Raises:
        DTypeError: `negative_slope` is not a number.
        ValueError: `negative_slope` is NaN.

    Source:
        He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852), eq. 1, one weight for all channels.

    Examples:
        >>> prelu = tg.nn.PReLU()
        >>> x = tg.tensor([-2.0, -4.0, 3.0])
        >>> prelu(x).tolist()
        [-0.5, -1.0, 3.0]
        >>> grads = prelu(x.trace()).sum().backward(wrt=prelu)
        >>> grads[prelu.weight].item()
        -6.0
    """

    weight: Param[tuple[()], DType]

    @public_api
    def __init__(self: PReLU, *, negative_slope: float = 0.25) -> None:
        check_number("PReLU", "negative_slope", negative_slope)
        self.weight = Param(full((), negative_slope))

    @override
    def forward(self, x: Tensor[S, T, DType]) -> Tensor[S, T, DType]:
        """Compute `prelu(x, weight)` for `x` of any shape."""
        return prelu(x, self.weight)


class SiLU(Module):
    """Sigmoid linear unit, also known as swish: `y = x σ(x)`.

    Examples:
        >>> x = tg.tensor([-1.0, 1.0, 3.0])
        >>> np.round(tg.nn.SiLU()(x).numpy().astype(float), 3).tolist()
        [-0.269, 0.731, 2.858]
    """

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `silu(x)` for `x` of any shape."""
        return silu(x)


class Softplus(Module):
    """Softplus, a smooth approximation of `ReLU`: `y = ln(1 + e^x)`.

    Examples:
        >>> x = tg.tensor([-1.0, 1.0, 3.0])
        >>> np.round(tg.nn.Softplus()(x).numpy().astype(float), 3).tolist()
        [0.313, 1.313, 3.049]
    """

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `softplus(x)` for `x` of any shape."""
        return softplus(x)


class Sigmoid(Module):
    """Logistic sigmoid: `y = 1 / (1 + e^(-x))`.

    Examples:
        >>> logits = tg.tensor([-1.0, 0.0, 3.0])
        >>> np.round(tg.nn.Sigmoid()(logits).numpy().astype(float), 3).tolist()
        [0.269, 0.5, 0.953]
    """

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `sigmoid(x)` for `x` of any shape."""
        return sigmoid(x)


class LogSigmoid(Module):
    """Logarithm of the sigmoid: `y = -ln(1 + e^(-x))`.

    Examples:
        >>> logits = tg.tensor([-1.0, 0.0, 3.0])
        >>> np.round(tg.nn.LogSigmoid()(logits).numpy().astype(float), 3).tolist()
        [-1.313, -0.693, -0.049]
    """

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `log_sigmoid(x)` for `x` of any shape."""
        return log_sigmoid(x)


class Tanh(Module):
    """Hyperbolic tangent: `y = tanh x`.

    Examples:
        >>> x = tg.tensor([-1.0, 0.5, 3.0])
        >>> np.round(tg.nn.Tanh()(x).numpy().astype(float), 3).tolist()
        [-0.762, 0.462, 0.995]
    """

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `tanh(x)` for `x` of any shape."""
        return tanh(x)


class Softmax(Module, Generic[Axis]):
    """Softmax along an axis: `y[i] = e^(x[i]) / ∑_j e^(x[j])`.

    Args:
        axis: The axis along which the probabilities sum to 1.

    Examples:
        >>> logits = tg.tensor([[2.0, 1.0, -1.0], [2.0, 1.0, -1.0]])
        >>> np.round(tg.nn.Softmax()(logits).numpy().astype(float), 3).tolist()
        [[0.705, 0.259, 0.035], [0.705, 0.259, 0.035]]
        >>> tg.nn.Softmax(axis=0)(logits).tolist()
        [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    """

    axis: Axis

    def __init__(self: Softmax[Any], axis: Given[Axis] = -1) -> None:
        with trim_on_exit:
            check_whole("Softmax", "axis", axis)
        self.axis = axis

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `softmax(x, axis)` for `x` of any shape."""
        return softmax(x, self.axis)

    @override
    def __repr__(self) -> str:
        return f"Softmax({'' if self.axis == -1 else self.axis})"


class LogSoftmax(Module, Generic[Axis]):
    """Logarithm of the softmax along an axis: `y[i] = x[i] - ln ∑_j e^(x[j])`.

    Args:
        axis: The axis along which the probabilities sum to 1.

    Examples:
        >>> logits = tg.tensor([[2.0, 1.0, -1.0]])
        >>> np.round(tg.nn.LogSoftmax()(logits).numpy().astype(float), 3).tolist()
        [[-0.349, -1.349, -3.349]]
    """

    axis: Axis

    def __init__(self: LogSoftmax[Any], axis: Given[Axis] = -1) -> None:
        with trim_on_exit:
            check_whole("LogSoftmax", "axis", axis)
        self.axis = axis

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `log_softmax(x, axis)` for `x` of any shape."""
        return log_softmax(x, self.axis)

    @override
    def __repr__(self) -> str:
        return f"LogSoftmax({'' if self.axis == -1 else self.axis})"
