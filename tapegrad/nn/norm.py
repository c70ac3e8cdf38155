"""Layer, RMS, group and instance normalization."""

from __future__ import annotations

from typing import Any, Generic

from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.errors import ShapeError, messages
from tapegrad.errors.ranges import check_options
from tapegrad.guard import guarded
from tapegrad.guard.assertions import assert_divides
from tapegrad.nn.module import Module
from tapegrad.nn.param import DType, Param
from tapegrad.ops import group_norm, instance_norm, layer_norm, ones, rms_norm, zeros
from tapegrad.sizes import show, surely_less
from tapegrad.sizes.arithmetic import Given, GivenShape
from tapegrad.sizes.constraints import check_groups
from tapegrad.tensors import T, Tensor
from tapegrad.tensors.aliases import Shape

N = TypeVar("N", bound=int)
Channels = TypeVar("Channels", bound=int, covariant=True, default=Any)
Groups = TypeVar("Groups", bound=int, covariant=True, default=Any)
Rest = TypeVarTuple("Rest")
Width = TypeVar("Width", bound=int, covariant=True, default=Any)
Axes = TypeVar("Axes", bound=tuple[Any, ...], covariant=True, default=Shape[Width])  # ends in the width
Batch = TypeVarTuple("Batch")


class LayerNorm(Module, Generic[Width, DType, Axes]):
    """Layer normalization: normalizes the mean and variance of each row, then scales and shifts each column.

        y[b,i] = w[i] (x[b,i] - x̄[b]) / s[b] + c[i]
        w[i] = 1, c[i] = 0   at first

    Args:
        width: The size of the last axis; or a tuple of the sizes of several last axes, which are one row.
        eps: The ε added to the variance, in squared units of `x`, above 0.

    Attributes:
        weight: The scale w, `(Width,)`, or the tuple.
        bias: The shift c, `(Width,)`, or the tuple.
        eps: The ε added to the variance.

    Raises:
        ShapeError: A size is below 1, or the tuple is empty.
        DTypeError: The width is neither an int nor a tuple of ints.

    Source:
        Ba et al., [Layer normalization](https://arxiv.org/abs/1607.06450), eq. 4; see `tapegrad.layer_norm`.

    Examples:
        >>> norm = tg.nn.LayerNorm(4)
        >>> x = tg.tensor([[1.0, 2.0, 4.0, 5.0], [10.0, 10.0, 30.0, 30.0]])
        >>> np.round(norm(x).numpy().astype(float), 3).tolist()
        [[-1.265, -0.632, 0.632, 1.265], [-1.0, -1.0, 1.0, 1.0]]
    """

    weight: Param[Axes, DType]
    bias: Param[Axes, DType]

    @guarded
    def __init__(self: LayerNorm[Any, Any, Any], width: Given[Width] | GivenShape[Axes], *, eps: float = 1e-5) -> None:
        shape = _axes("LayerNorm", width)
        check_options("LayerNorm", eps=eps)
        self.weight = Param(ones(shape))
        self.bias = Param(zeros(shape))
        self.eps = eps

    @override
    @guarded
    def forward(self, x: Tensor[Shape[*Batch, Width], T, DType]) -> Tensor[Shape[*Batch, Width], T, DType]:
        """Compute `layer_norm(x, weight, bias, eps=...)` of `x`, `(..., Width)`; keeps the shape."""
        # The signature has compared the last axis only; the op compares all of them.
        weight: Param[Any, DType] = self.weight
        bias: Param[Any, DType] = self.bias
        return layer_norm(x, weight, bias, eps=self.eps)

    @override
    def __repr__(self) -> str:
        return f"LayerNorm({_shown(self.weight)})"


class RMSNorm(Module, Generic[Width, DType, Axes]):
    """Root mean square normalization: normalizes the mean square of each row, then scales each column.

        y[b,i] = w[i] x[b,i] / s[b]
        w[i] = 1   at first

    Args:
        width: The size of the last axis; or a tuple of the sizes of several last axes, which are one row.
        eps: The ε added to the mean square, in squared units of `x`, above 0.

    Attributes:
        weight: The scale w, `(Width,)`, or the tuple.
        eps: The ε added to the mean square.

    Raises:
        ShapeError: A size is below 1, or the tuple is empty.
        DTypeError: The width is neither an int nor a tuple of ints.

    Source:
        Zhang & Sennrich, [Root mean square layer normalization](https://arxiv.org/abs/1910.07467), eq. 4; see
        `tapegrad.rms_norm`.

    Examples:
        >>> norm = tg.nn.RMSNorm(4)
        >>> x = tg.tensor([[1.0, 1.0, 5.0, 3.0], [-2.0, 2.0, 2.0, -2.0]])
        >>> np.round(norm(x).numpy().astype(float), 3).tolist()
        [[0.333, 0.333, 1.667, 1.0], [-1.0, 1.0, 1.0, -1.0]]
    """

    weight: Param[Axes, DType]

    @guarded
    def __init__(self: RMSNorm[Any, Any, Any], width: Given[Width] | GivenShape[Axes], *, eps: float = 1e-5) -> None:
        shape = _axes("RMSNorm", width)
        check_options("RMSNorm", eps=eps)
        self.weight = Param(ones(shape))
        self.eps = eps

    @override
    @guarded
    def forward(self, x: Tensor[Shape[*Batch, Width], T, DType]) -> Tensor[Shape[*Batch, Width], T, DType]:
        """Compute `rms_norm(x, weight, eps=...)` of `x`, `(..., Width)`; keeps the shape."""
        # The signature has compared the last axis only; the op compares all of them.
        weight: Param[Any, DType] = self.weight
        return rms_norm(x, weight, eps=self.eps)

    @override
    def __repr__(self) -> str:
        return f"RMSNorm({_shown(self.weight)})"


class GroupNorm(Module, Generic[Groups, Channels, DType]):
    """Group normalization: normalizes each group of channels of each example, then scales and shifts each channel.

        y[n,c,l] = w[c] (x[n,c,l] - x̄[n,g]) / s[n,g] + b[c]
        w[c] = 1, b[c] = 0   at first

    Args:
        groups: The number of groups of adjacent channels.
        channels: The size of axis 1.
        eps: The ε added to the variance, in squared units of `x`, above 0.

    Attributes:
        groups: The number of groups.
        weight: The scale w, `(Channels,)`.
        bias: The shift b, `(Channels,)`.
        eps: The ε added to the variance.

    Raises:
        ShapeError: A size is below 1, or the groups do not divide the channels.
        DTypeError: A size is not an int.

    Source:
        Wu & He, [Group normalization](https://arxiv.org/abs/1803.08494), §3.1; see `tapegrad.group_norm`.

    Examples:
        >>> norm = tg.nn.GroupNorm(2, 4)
        >>> x = tg.tensor([[1.0, 3.0, 10.0, 30.0]])
        >>> np.round(norm(x).numpy().astype(float), 3).tolist()
        [[-1.0, 1.0, -1.0, 1.0]]
    """

    groups: Groups
    weight: Param[Shape[Channels], DType]
    bias: Param[Shape[Channels], DType]

    @guarded
    def __init__(
        self: GroupNorm[Any, Any], groups: Given[Groups], channels: Given[Channels], *, eps: float = 1e-5
    ) -> None:
        check_groups("GroupNorm", groups, channels)
        check_options("GroupNorm", eps=eps)
        self.groups = groups
        self.weight = Param(ones((channels,)))
        self.bias = Param(zeros((channels,)))
        self.eps = eps

    @override
    @guarded
    def forward(self, x: Tensor[Shape[N, Channels, *Rest], T, DType]) -> Tensor[Shape[N, Channels, *Rest], T, DType]:
        """Compute `group_norm(x, weight, bias, groups=..., eps=...)` of `x`, `(N, Channels, ...)`."""
        assert_divides(self.groups, self.weight.shape[0])
        return group_norm(x, self.weight, self.bias, groups=self.groups, eps=self.eps)

    @override
    def __repr__(self) -> str:
        return f"GroupNorm({self.groups}, {self.weight.shape[0]})"


class InstanceNorm(Module, Generic[Channels, DType]):
    """Instance normalization: normalizes each channel of each example, then scales and shifts each channel.

        y[n,c,l] = w[c] (x[n,c,l] - x̄[n,c]) / s[n,c] + b[c]
        w[c] = 1, b[c] = 0   at first

    Args:
        channels: The size of axis 1.
        eps: The ε added to the variance, in squared units of `x`, above 0.

    Attributes:
        weight: The scale w, `(Channels,)`.
        bias: The shift b, `(Channels,)`.
        eps: The ε added to the variance.

    Raises:
        ShapeError: The number of channels is below 1.
        DTypeError: The number of channels is not an int.

    Source:
        Ulyanov et al., [Instance normalization](https://arxiv.org/abs/1607.08022), eq. 4; see `tapegrad.instance_norm`.

    Examples:
        >>> norm = tg.nn.InstanceNorm(2)
        >>> x = tg.tensor([[[1.0, 2.0, 4.0, 5.0], [10.0, 10.0, 30.0, 30.0]]])
        >>> np.round(norm(x).numpy().astype(float), 3).tolist()
        [[[-1.265, -0.632, 0.632, 1.265], [-1.0, -1.0, 1.0, 1.0]]]
    """

    weight: Param[Shape[Channels], DType]
    bias: Param[Shape[Channels], DType]

    @guarded
    def __init__(self: InstanceNorm[Any], channels: Given[Channels], *, eps: float = 1e-5) -> None:
        check_options("InstanceNorm", eps=eps)
        self.weight = Param(ones((channels,)))
        self.bias = Param(zeros((channels,)))
        self.eps = eps

    @override
    @guarded
    def forward(self, x: Tensor[Shape[N, Channels, *Rest], T, DType]) -> Tensor[Shape[N, Channels, *Rest], T, DType]:
        """Compute `instance_norm(x, weight, bias, eps=...)` of `x`, `(N, Channels, L, ...)`; keeps the shape."""
        return instance_norm(x, self.weight, self.bias, eps=self.eps)

    @override
    def __repr__(self) -> str:
        return f"InstanceNorm({self.weight.shape[0]})"


def _axes(layer: str, width: Any) -> tuple[int, ...]:
    """Return the shape of the weight for a width, or for the sizes of several axes."""
    if not isinstance(width, tuple):
        return (width,)
    if not width:
        message = f"{layer}: width is () but at least one size is expected"
        raise ShapeError(message)
    if surely_less(width[-1], 1):
        raise ShapeError(messages.too_small(layer, "Width", width[-1], "width"))
    for axis, size in enumerate(width):
        if surely_less(size, 1):
            raise ShapeError(f"{layer}: axis {axis} of width {show(width)} is {size}, below 1")
    return width


def _shown(weight: Param[Any, Any]) -> str:
    return str(weight.shape[0]) if len(weight.shape) == 1 else show(weight.shape)
