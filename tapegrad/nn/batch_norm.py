"""Batch normalization."""

from __future__ import annotations

from typing import Any, ClassVar, Generic

from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.autograd.tape import OwnedTape
from tapegrad.errors import ShapeError
from tapegrad.errors.ranges import RANGES, check_options
from tapegrad.guard import guarded
from tapegrad.nn.half import in_float32, is_half, rounded_like
from tapegrad.nn.module import Module
from tapegrad.nn.param import Buffer, DType, Param, replace_all
from tapegrad.ops import add, batch_norm, mul, ones, rsqrt, sub, zeros
from tapegrad.ops.norm import scaled_and_shifted
from tapegrad.sizes import show
from tapegrad.sizes.arithmetic import Given
from tapegrad.tensors import T, Tensor, node, values_of
from tapegrad.tensors.aliases import Shape

N = TypeVar("N", bound=int)
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)
Channels = TypeVar("Channels", bound=int, covariant=True, default=Any)
Length = TypeVarTuple("Length")


class BatchNorm(Module, Generic[Channels, DType]):
    """Base class of `BatchNorm1d` and `BatchNorm2d`."""

    float32_state: ClassVar[tuple[str, ...]] = ("running_mean", "running_var")

    weight: Param[Shape[Channels], DType]
    bias: Param[Shape[Channels], DType]
    running_mean: Buffer[Shape[Channels], DType]
    running_var: Buffer[Shape[Channels], DType]

    def __init__(self: BatchNorm[Any], channels: Given[Channels], *, eps: float, momentum: float) -> None:
        check_options(type(self).__name__, RANGES["BatchNorm1d"], eps=eps, momentum=momentum)
        self.weight = Param(ones((channels,)))
        self.bias = Param(zeros((channels,)))
        self.running_mean = Buffer(zeros((channels,)))
        self.running_var = Buffer(ones((channels,)))
        self.eps = eps
        self.momentum = momentum

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]})"

    def _normalized(
        self, x: Tensor[Shape[N, Channels, *Length], T, DType]
    ) -> Tensor[Shape[N, Channels, *Length], T, DType]:
        return self._trained(x) if x.is_training else self._predicted(x)

    def _trained(
        self, x: Tensor[Shape[N, Channels, *Length], T, DType]
    ) -> Tensor[Shape[N, Channels, *Length], T, DType]:
        """Normalize by the statistics of this batch, and update the running statistics."""
        numbers: Any = values_of(x)
        axes, count = (0, *range(2, x.ndim)), x.size // x.shape[1]
        if count < 2:
            message = (
                f"{type(self).__name__}: x {show(numbers.shape)} has {count} numbers a channel but a variance needs 2"
            )
            raise ShapeError(message)
        y = batch_norm(x, self.weight, self.bias, eps=self.eps)
        if is_half(x):
            numbers = values_of(in_float32(node(numbers)))
        self._move(numbers.mean(axes), numbers.var(axes, ddof=1))
        return y

    def _predicted(
        self, x: Tensor[Shape[N, Channels, *Length], T, DType]
    ) -> Tensor[Shape[N, Channels, *Length], T, DType]:
        """Normalize by the running statistics, as one scale and one shift per channel."""
        state = (self.weight, self.bias, self.running_mean, self.running_var)
        weight, bias, mean, var = map(in_float32, state) if is_half(x) else state
        factor = mul(weight, rsqrt(add(var, self.eps)))
        y = scaled_and_shifted(in_float32(x), factor, sub(bias, mul(mean, factor)))
        normalized: Tensor[Shape[N, Channels, *Length], T, DType] = rounded_like(y, x)
        return normalized

    def _move(self, *towards: Any) -> None:
        """Update the running mean and variance, atomically."""
        buffers = (self.running_mean, self.running_var)
        moved: list[Any] = []
        for running, value in zip(buffers, towards, strict=True):
            average = add(mul(in_float32(running), 1 - self.momentum), node(value * self.momentum))
            data = values_of(rounded_like(average, running))
            running.check(data, f"{type(self).__name__}.forward", "x")
            moved.append(data)
        replace_all(buffers, moved)


class BatchNorm1d(BatchNorm[Channels, DType], Generic[Channels, DType]):
    """Batch normalization of `(N, Channels)` or `(N, Channels, L)`: normalizes, scales and shifts each channel.

        y[n,c,l] = w[c] (x[n,c,l] - μ[c]) / √(v[c] + ε) + b[c]
        w[c] = 1, b[c] = 0   at first

    If `x` has a tape, the layer normalizes by the mean and variance of the batch, and updates the running mean and the
    running variance, the latter with the unbiased variance. Otherwise, and after `trace(training=False)`, it normalizes
    by the running statistics, and updates nothing.

    Args:
        channels: The size of axis 1.
        eps: The ε added to the variance, in squared units of `x`, above 0.
        momentum: The weight of the batch in each update of the running statistics, from 0 to 1.

    Attributes:
        weight: The scale w, `(Channels,)`.
        bias: The shift b, `(Channels,)`.
        running_mean: A buffer, `(Channels,)`, initially 0; saved and loaded with the model.
        running_var: A buffer, `(Channels,)`, initially 1.
        eps: The ε added to the variance.
        momentum: The weight of the batch in each update of the running statistics.

    Raises:
        ShapeError: The number of channels is below 1; or a training batch has fewer than 2 numbers per channel.
        DTypeError: The number of channels is not an int.
        ValueError: `momentum` is not between 0 and 1.

    Source:
        Ioffe & Szegedy, [Batch normalization](https://arxiv.org/abs/1502.03167), algorithms 1 and 2; the running
        statistics as in PyTorch 2.13.

    Examples:
        >>> norm = tg.nn.BatchNorm1d(2)
        >>> x = tg.tensor([[1.0, 10.0], [3.0, 20.0]])
        >>> np.round(norm(x.trace()).numpy().astype(float), 3).tolist()
        [[-1.0, -1.0], [1.0, 1.0]]
        >>> np.round(norm.running_mean.numpy().astype(float), 3).tolist()
        [0.2, 1.5]
        >>> np.round(norm(x).numpy().astype(float), 3).tolist()  # uses the running statistics
        [[0.763, 3.499], [2.67, 7.616]]
    """

    @guarded
    def __init__(
        self: BatchNorm1d[Any], channels: Given[Channels], *, eps: float = 1e-5, momentum: float = 0.1
    ) -> None:
        super().__init__(channels, eps=eps, momentum=momentum)

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[N, Channels, *Length], T, DType]
    ) -> Tensor[Shape[N, Channels, *Length], T, DType]:
        """Normalize `x`, `(N, Channels)` or `(N, Channels, L)`, in training mode if `x` trains."""
        return self._normalized(x)

    @guarded
    def train(
        self, x: Tensor[Shape[N, Channels, *Length], OwnedTape, DType]
    ) -> Tensor[Shape[N, Channels, *Length], OwnedTape, DType]:
        """Normalize by the statistics of the batch, as a call does; `x` must have a tape."""
        return self._trained(x)


class BatchNorm2d(BatchNorm[Channels, DType], Generic[Channels, DType]):
    """Batch normalization of images `(N, Channels, H, W)`: normalizes, scales and shifts each channel.

        y[n,c,h,w] = w[c] (x[n,c,h,w] - μ[c]) / √(v[c] + ε) + b[c]
        w[c] = 1, b[c] = 0   at first

    Statistics are over the pixels of all images. As for `BatchNorm1d`, a tape means training, unless
    `trace(training=False)` started it.

    Args:
        channels: The size of axis 1.
        eps: The ε added to the variance, in squared units of `x`, above 0.
        momentum: The weight of the batch in each update of the running statistics, from 0 to 1.

    Attributes:
        weight: The scale w, `(Channels,)`.
        bias: The shift b, `(Channels,)`.
        running_mean: A buffer, `(Channels,)`, initially 0; saved and loaded with the model.
        running_var: A buffer, `(Channels,)`, initially 1.
        eps: The ε added to the variance.
        momentum: The weight of the batch in each update of the running statistics.

    Raises:
        ShapeError: The number of channels is below 1; or a training batch has fewer than 2 numbers per channel.
        DTypeError: The number of channels is not an int.
        ValueError: `momentum` is not between 0 and 1.

    Source:
        Ioffe & Szegedy, [Batch normalization](https://arxiv.org/abs/1502.03167), algorithms 1 and 2, §3.2.

    Examples:
        >>> norm = tg.nn.BatchNorm2d(3)
        >>> images = tg.uniform((2, 3, 4, 4), rng=0)
        >>> norm(images.trace()).shape
        (2, 3, 4, 4)
        >>> [*norm.parameters()], [*norm.buffers()]
        (['weight', 'bias'], ['running_mean', 'running_var'])
    """

    @guarded
    def __init__(
        self: BatchNorm2d[Any], channels: Given[Channels], *, eps: float = 1e-5, momentum: float = 0.1
    ) -> None:
        super().__init__(channels, eps=eps, momentum=momentum)

    @override
    @guarded
    def forward(self, x: Tensor[Shape[N, Channels, H, W], T, DType]) -> Tensor[Shape[N, Channels, H, W], T, DType]:
        """Normalize `x`, `(N, Channels, H, W)`, in training mode if `x` trains."""
        return self._normalized(x)

    @guarded
    def train(
        self, x: Tensor[Shape[N, Channels, H, W], OwnedTape, DType]
    ) -> Tensor[Shape[N, Channels, H, W], OwnedTape, DType]:
        """Normalize by the statistics of the batch, as a call does; `x` must have a tape."""
        return self._trained(x)
