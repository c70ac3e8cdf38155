"""Activation layers whose functions consist of pieces: lines, parabolas and exponentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from tapegrad.errors.options import check_number
from tapegrad.errors.ranges import check_options
from tapegrad.errors.tracebacks import public_api
from tapegrad.nn.module import Module
from tapegrad.ops import celu, hardswish, hardtanh, relu6, selu

if TYPE_CHECKING:
    from tapegrad.tensors import Float, S, T, Tensor


class CELU(Module):
    """Continuously differentiable exponential linear unit: `y = max(x, 0) + α (e^(min(x, 0) / α) - 1)`.

    Args:
        alpha: The factor α, in the units of `x`, above 0; y approaches -α for negative x.

    Raises:
        DTypeError: `alpha` is not a number.
        ValueError: `alpha` is not above 0.

    Examples:
        >>> x = tg.tensor([-2.0, 3.0])
        >>> np.round(tg.nn.CELU(alpha=0.5)(x).numpy().astype(float), 3).tolist()
        [-0.491, 3.0]
    """

    @public_api
    def __init__(self, *, alpha: float = 1.0) -> None:
        check_options("CELU", alpha=alpha)
        self.alpha = alpha

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `celu(x, alpha=...)` for `x` of any shape."""
        return celu(x, alpha=self.alpha)


class SELU(Module):
    """Scaled exponential linear unit, which keeps zero mean and unit variance through layers, see `tapegrad.selu`.

    Examples:
        >>> x = tg.tensor([-2.0, 3.0])
        >>> np.round(tg.nn.SELU()(x).numpy().astype(float), 3).tolist()
        [-1.52, 3.152]
    """

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `selu(x)` for `x` of any shape."""
        return selu(x)


class ReLU6(Module):
    """Rectified linear unit with an upper bound: `y = min(max(x, 0), 6)`.

    Examples:
        >>> tg.nn.ReLU6()(tg.tensor([-2.0, 3.0, 8.0])).tolist()
        [0.0, 3.0, 6.0]
    """

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `relu6(x)` for `x` of any shape."""
        return relu6(x)


class Hardtanh(Module):
    """Bounds each element to an interval: `y = min(max(x, a), b)`.

    Args:
        min: The lower bound a, in the units of `x`.
        max: The upper bound b, not below `min`.

    Raises:
        DTypeError: A bound is not a number.
        ValueError: A bound is NaN, or `min` is above `max`.

    Examples:
        >>> tg.nn.Hardtanh()(tg.tensor([-2.0, 0.25, 3.0])).tolist()
        [-1.0, 0.25, 1.0]
    """

    @public_api
    def __init__(self, *, min: float = -1.0, max: float = 1.0) -> None:  # noqa: A002  # as in the op
        check_number("Hardtanh", "min", min)
        check_number("Hardtanh", "max", max)
        if min > max:
            message = f"Hardtanh: min is {min} but max is {max}, which is below"
            raise ValueError(message)
        self.min, self.max = min, max

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `hardtanh(x, min, max)` for `x` of any shape."""
        return hardtanh(x, self.min, self.max)


class Hardswish(Module):
    """Hard swish: `y = (x/6) min(max(x + 3, 0), 6)`, a piecewise quadratic approximation of `SiLU`.

    Examples:
        >>> tg.nn.Hardswish()(tg.tensor([-1.5, 1.5, 4.0])).tolist()
        [-0.375, 1.125, 4.0]
    """

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `hardswish(x)` for `x` of any shape."""
        return hardswish(x)
