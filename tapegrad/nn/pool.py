"""Pooling layers, with window sizes in their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal

from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.errors.ranges import check_options
from tapegrad.errors.tracebacks import trim_on_exit
from tapegrad.guard import guarded
from tapegrad.nn.module import Module
from tapegrad.ops import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    avg_pool1d,
    avg_pool2d,
    max,
    max_pool1d,
    max_pool2d,
    mean,
    min_pool1d,
    min_pool2d,
    smooth_max_pool1d,
    smooth_max_pool2d,
)
from tapegrad.sizes.arithmetic import Given
from tapegrad.sizes.constraints import check_windows

if TYPE_CHECKING:
    from tapegrad.nn._windows import Pooled
    from tapegrad.tensors import Float, T, Tensor
    from tapegrad.tensors.aliases import Shape

Kernel = TypeVar("Kernel", bound=int, default=Any, covariant=True)
Stride = TypeVar("Stride", bound=int, default=Kernel, covariant=True)
Padding = TypeVar("Padding", bound=int, default=Literal[0], covariant=True)
Dilation = TypeVar("Dilation", bound=int, default=Literal[1], covariant=True)
CeilMode = TypeVar("CeilMode", bound=bool, default=Literal[False], covariant=True)
KernelW = TypeVar("KernelW", bound=int, default=Kernel, covariant=True)
StrideW = TypeVar("StrideW", bound=int, default=Stride, covariant=True)
PaddingW = TypeVar("PaddingW", bound=int, default=Padding, covariant=True)
DilationW = TypeVar("DilationW", bound=int, default=Dilation, covariant=True)
Size = TypeVar("Size", bound=int, default=Any, covariant=True)
SizeW = TypeVar("SizeW", bound=int, default=Size, covariant=True)
Batch = TypeVarTuple("Batch")
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)


_PLAIN = {"padding": 0, "dilation": 1, "ceil_mode": False, "count_include_pad": True, "divisor_override": None}


class _Windowed(Module):
    """Base class of pooling layers, with a `repr` of the options: `MaxPool2d(3, stride=2)`."""

    @override
    def __repr__(self) -> str:
        layer: Any = self  # Any: subclasses declare the sizes with different types
        options = [f"stride={layer.stride}"] if layer.stride != layer.kernel else []
        options += [
            f"{name}={vars(self)[name]}" for name, plain in _PLAIN.items() if vars(self).get(name, plain) != plain
        ]
        return f"{type(self).__name__}({', '.join([str(layer.kernel), *options])})"


class MaxPool1d(_Windowed, Generic[Kernel, Stride, Padding, Dilation, CeilMode]):
    """1D max pooling: the maximum of each window.

        y[n,c,i] = max_k x[n, c, s i + d k - p]

    Args:
        kernel: The size of a window, in cells.
        stride: The distance between neighbouring windows, in cells; None for the size of a window.
        padding: Cells added to each side, at most half of a window; see `tapegrad.max_pool1d`.
        dilation: The distance between neighbouring cells of a window.
        ceil_mode: Whether a last window may reach beyond the padding; see `tapegrad.max_pool1d`.

    Examples:
        >>> signal = tg.tensor([[1.0, 5.0, 2.0, 3.0]])
        >>> tg.nn.MaxPool1d(2)(signal).tolist()
        [[5.0, 3.0]]
        >>> tg.nn.MaxPool1d(2, stride=1)(signal).tolist()
        [[5.0, 5.0, 3.0]]
    """

    def __init__(
        self: MaxPool1d[Any, Any, Any, Any, Any],
        kernel: Given[Kernel],
        *,
        stride: Given[Stride] | None = None,
        padding: Given[Padding] = 0,
        dilation: Given[Dilation] = 1,
        ceil_mode: Given[CeilMode] = False,
    ) -> None:
        with trim_on_exit:
            check_windows("MaxPool1d", 1, kernel, stride, padding, dilation, ceil_mode=ceil_mode)
        self.kernel, self.stride, self.padding = kernel, kernel if stride is None else stride, padding
        self.dilation, self.ceil_mode = dilation, ceil_mode

    @override
    def forward(
        self, x: Tensor[Shape[*Batch, W], T, Float]
    ) -> Tensor[Shape[*Batch, Pooled[W, Kernel, Stride, Padding, Dilation, CeilMode]], T, Float]:
        """Compute `max_pool1d(x, kernel, …)` of `(N, C, W)` or `(C, W)`."""
        return max_pool1d(
            x, self.kernel, stride=self.stride, padding=self.padding, dilation=self.dilation, ceil_mode=self.ceil_mode
        )


class MaxPool2d(_Windowed, Generic[Kernel, Stride, Padding, KernelW, StrideW, PaddingW, Dilation, DilationW, CeilMode]):
    """2D max pooling: the maximum of each window.

        y[n,c,i,j] = max_(k,l) x[n, c, s i + d k - p, s j + d l - p]

    Args:
        kernel: The size of a window, in pixels; here and below, one number, or one for each axis.
        stride: The distance between neighbouring windows, in pixels; None for the size of a window.
        padding: Pixels added to each side, at most half of a window; see `tapegrad.max_pool2d`.
        dilation: The distance between neighbouring pixels of a window.
        ceil_mode: Whether a last window may reach beyond the padding; see `tapegrad.max_pool2d`.

    Examples:
        >>> image = tg.tensor([[[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]])
        >>> tg.nn.MaxPool2d(2)(image).tolist()
        [[[4.0, 8.0]]]
        >>> tg.nn.MaxPool2d(3, stride=2, padding=1)(tg.zeros((2, 3, 16, 16))).shape
        (2, 3, 8, 8)
    """

    def __init__(
        self: MaxPool2d[Any, Any, Any, Any, Any, Any, Any, Any, Any],
        kernel: Given[Kernel] | tuple[Given[Kernel], Given[KernelW]],
        *,
        stride: Given[Stride] | tuple[Given[Stride], Given[StrideW]] | None = None,
        padding: Given[Padding] | tuple[Given[Padding], Given[PaddingW]] = 0,  # type: ignore[assignment]  # matches the default of the type variable
        dilation: Given[Dilation] | tuple[Given[Dilation], Given[DilationW]] = 1,  # type: ignore[assignment]  # matches the default of the type variable
        ceil_mode: Given[CeilMode] = False,
    ) -> None:
        with trim_on_exit:
            check_windows("MaxPool2d", 2, kernel, stride, padding, dilation, ceil_mode=ceil_mode)
        self.kernel, self.stride, self.padding = kernel, kernel if stride is None else stride, padding
        self.dilation, self.ceil_mode = dilation, ceil_mode

    @override
    def forward(
        self, x: Tensor[Shape[*Batch, H, W], T, Float]
    ) -> Tensor[
        Shape[
            *Batch,
            Pooled[H, Kernel, Stride, Padding, Dilation, CeilMode],
            Pooled[W, KernelW, StrideW, PaddingW, DilationW, CeilMode],
        ],
        T,
        Float,
    ]:
        """Compute `max_pool2d(x, kernel, …)` of `(N, C, H, W)` or `(C, H, W)`."""
        return max_pool2d(
            x, self.kernel, stride=self.stride, padding=self.padding, dilation=self.dilation, ceil_mode=self.ceil_mode
        )


class MinPool1d(_Windowed, Generic[Kernel, Stride, Padding, Dilation, CeilMode]):
    """1D min pooling: the minimum of each window.

        y[n,c,i] = min_k x[n, c, s i + d k - p]

    Args:
        kernel: The size of a window, in cells.
        stride: The distance between neighbouring windows, in cells; None for the size of a window.
        padding: Cells added to each side, at most half of a window; see `tapegrad.min_pool1d`.
        dilation: The distance between neighbouring cells of a window.
        ceil_mode: Whether a last window may reach beyond the padding; see `tapegrad.min_pool1d`.

    Examples:
        >>> signal = tg.tensor([[1.0, 5.0, 2.0, 3.0]])
        >>> tg.nn.MinPool1d(2)(signal).tolist()
        [[1.0, 2.0]]
        >>> tg.nn.MinPool1d(2, stride=1)(signal).tolist()
        [[1.0, 2.0, 2.0]]
    """

    def __init__(
        self: MinPool1d[Any, Any, Any, Any, Any],
        kernel: Given[Kernel],
        *,
        stride: Given[Stride] | None = None,
        padding: Given[Padding] = 0,
        dilation: Given[Dilation] = 1,
        ceil_mode: Given[CeilMode] = False,
    ) -> None:
        with trim_on_exit:
            check_windows("MinPool1d", 1, kernel, stride, padding, dilation, ceil_mode=ceil_mode)
        self.kernel, self.stride, self.padding = kernel, kernel if stride is None else stride, padding
        self.dilation, self.ceil_mode = dilation, ceil_mode

    @override
    def forward(
        self, x: Tensor[Shape[*Batch, W], T, Float]
    ) -> Tensor[Shape[*Batch, Pooled[W, Kernel, Stride, Padding, Dilation, CeilMode]], T, Float]:
        """Compute `min_pool1d(x, kernel, …)` of `(N, C, W)` or `(C, W)`."""
        return min_pool1d(
            x, self.kernel, stride=self.stride, padding=self.padding, dilation=self.dilation, ceil_mode=self.ceil_mode
        )


class MinPool2d(_Windowed, Generic[Kernel, Stride, Padding, KernelW, StrideW, PaddingW, Dilation, DilationW, CeilMode]):
    """2D min pooling: the minimum of each window.

        y[n,c,i,j] = min_(k,l) x[n, c, s i + d k - p, s j + d l - p]

    Args:
        kernel: The size of a window, in pixels; here and below, one number, or one for each axis.
        stride: The distance between neighbouring windows, in pixels; None for the size of a window.
        padding: Pixels added to each side, at most half of a window; see `tapegrad.min_pool2d`.
        dilation: The distance between neighbouring pixels of a window.
        ceil_mode: Whether a last window may reach beyond the padding; see `tapegrad.min_pool2d`.

    Examples:
        >>> image = tg.tensor([[[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]])
        >>> tg.nn.MinPool2d(2)(image).tolist()
        [[[1.0, 5.0]]]
        >>> tg.nn.MinPool2d((1, 2))(image).tolist()
        [[[1.0, 5.0], [3.0, 7.0]]]
    """

    def __init__(
        self: MinPool2d[Any, Any, Any, Any, Any, Any, Any, Any, Any],
        kernel: Given[Kernel] | tuple[Given[Kernel], Given[KernelW]],
        *,
        stride: Given[Stride] | tuple[Given[Stride], Given[StrideW]] | None = None,
        padding: Given[Padding] | tuple[Given[Padding], Given[PaddingW]] = 0,  # type: ignore[assignment]  # matches the default of the type variable
        dilation: Given[Dilation] | tuple[Given[Dilation], Given[DilationW]] = 1,  # type: ignore[assignment]  # matches the default of the type variable
        ceil_mode: Given[CeilMode] = False,
    ) -> None:
        with trim_on_exit:
            check_windows("MinPool2d", 2, kernel, stride, padding, dilation, ceil_mode=ceil_mode)
        self.kernel, self.stride, self.padding = kernel, kernel if stride is None else stride, padding
        self.dilation, self.ceil_mode = dilation, ceil_mode

    @override
    def forward(
        self, x: Tensor[Shape[*Batch, H, W], T, Float]
    ) -> Tensor[
        Shape[
            *Batch,
            Pooled[H, Kernel, Stride, Padding, Dilation, CeilMode],
            Pooled[W, KernelW, StrideW, PaddingW, DilationW, CeilMode],
        ],
        T,
        Float,
    ]:
        """Compute `min_pool2d(x, kernel, …)` of `(N, C, H, W)` or `(C, H, W)`."""
        return min_pool2d(
            x, self.kernel, stride=self.stride, padding=self.padding, dilation=self.dilation, ceil_mode=self.ceil_mode
        )


class SmoothMaxPool1d(_Windowed, Generic[Kernel, Stride, Padding, Dilation, CeilMode]):
    """1D smooth max pooling: the log-sum-exp of each window.

        y[n,c,i] = (1/β) log ∑_k e^(β x[n, c, s i + d k - p])

    Args:
        kernel: The size of a window, in cells.
        stride: The distance between neighbouring windows, in cells; None for the size of a window.
        padding: Cells added to each side, at most half of a window; see `tapegrad.smooth_max_pool1d`.
        dilation: The distance between neighbouring cells of a window.
        ceil_mode: Whether a last window may reach beyond the padding; see `tapegrad.smooth_max_pool1d`.
        beta: The sharpness β, in inverse units of `x`, finite and not 0.

    Examples:
        >>> signal = tg.tensor([[1.0, 3.0, 2.0, 2.5]])
        >>> np.round(tg.nn.SmoothMaxPool1d(2)(signal).numpy().astype(float), 3).tolist()
        [[3.127, 2.974]]
        >>> np.round(tg.nn.SmoothMaxPool1d(2, beta=10.0)(signal).numpy().astype(float), 3).tolist()
        [[3.0, 2.501]]
    """

    def __init__(
        self: SmoothMaxPool1d[Any, Any, Any, Any, Any],
        kernel: Given[Kernel],
        *,
        stride: Given[Stride] | None = None,
        padding: Given[Padding] = 0,
        dilation: Given[Dilation] = 1,
        ceil_mode: Given[CeilMode] = False,
        beta: float = 1.0,
    ) -> None:
        with trim_on_exit:
            check_windows("SmoothMaxPool1d", 1, kernel, stride, padding, dilation, ceil_mode=ceil_mode)
        self.kernel, self.stride, self.padding = kernel, kernel if stride is None else stride, padding
        self.dilation, self.ceil_mode = dilation, ceil_mode
        with trim_on_exit:
            check_options("SmoothMaxPool1d", beta=beta)
        self.beta = beta

    @override
    def forward(
        self, x: Tensor[Shape[*Batch, W], T, Float]
    ) -> Tensor[Shape[*Batch, Pooled[W, Kernel, Stride, Padding, Dilation, CeilMode]], T, Float]:
        """Compute `smooth_max_pool1d(x, kernel, …)` of `(N, C, W)` or `(C, W)`."""
        return smooth_max_pool1d(
            x,
            self.kernel,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            ceil_mode=self.ceil_mode,
            beta=self.beta,
        )


class SmoothMaxPool2d(
    _Windowed, Generic[Kernel, Stride, Padding, KernelW, StrideW, PaddingW, Dilation, DilationW, CeilMode]
):
    """2D smooth max pooling: the log-sum-exp of each window.

        y[n,c,i,j] = (1/β) log
            ∑_(k,l) e^(β x[n, c, s i + d k - p, s j + d l - p])

    Args:
        kernel: The size of a window, in pixels; here and below, one number, or one for each axis.
        stride: The distance between neighbouring windows, in pixels; None for the size of a window.
        padding: Pixels added to each side, at most half of a window; see `tapegrad.smooth_max_pool2d`.
        dilation: The distance between neighbouring pixels of a window.
        ceil_mode: Whether a last window may reach beyond the padding; see `tapegrad.smooth_max_pool2d`.
        beta: The sharpness β, in inverse units of `x`, finite and not 0.

    Examples:
        >>> image = tg.tensor([[[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]])
        >>> np.round(tg.nn.SmoothMaxPool2d(2)(image).numpy().astype(float), 3).tolist()
        [[[4.44, 8.44]]]
        >>> np.round(tg.nn.SmoothMaxPool2d(2, beta=10.0)(image).numpy().astype(float), 3).tolist()
        [[[4.0, 8.0]]]
    """

    def __init__(
        self: SmoothMaxPool2d[Any, Any, Any, Any, Any, Any, Any, Any, Any],
        kernel: Given[Kernel] | tuple[Given[Kernel], Given[KernelW]],
        *,
        stride: Given[Stride] | tuple[Given[Stride], Given[StrideW]] | None = None,
        padding: Given[Padding] | tuple[Given[Padding], Given[PaddingW]] = 0,  # type: ignore[assignment]  # matches the default of the type variable
        dilation: Given[Dilation] | tuple[Given[Dilation], Given[DilationW]] = 1,  # type: ignore[assignment]  # matches the default of the type variable
        ceil_mode: Given[CeilMode] = False,
        beta: float = 1.0,
    ) -> None:
        with trim_on_exit:
            check_windows("SmoothMaxPool2d", 2, kernel, stride, padding, dilation, ceil_mode=ceil_mode)
        self.kernel, self.stride, self.padding = kernel, kernel if stride is None else stride, padding
        self.dilation, self.ceil_mode = dilation, ceil_mode
        with trim_on_exit:
            check_options("SmoothMaxPool2d", beta=beta)
        self.beta = beta

    @override
    def forward(
        self, x: Tensor[Shape[*Batch, H, W], T, Float]
    ) -> Tensor[
        Shape[
            *Batch,
            Pooled[H, Kernel, Stride, Padding, Dilation, CeilMode],
            Pooled[W, KernelW, StrideW, PaddingW, DilationW, CeilMode],
        ],
        T,
        Float,
    ]:
        """Compute `smooth_max_pool2d(x, kernel, …)` of `(N, C, H, W)` or `(C, H, W)`."""
        return smooth_max_pool2d(
            x,
            self.kernel,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            ceil_mode=self.ceil_mode,
            beta=self.beta,
        )


class AvgPool1d(_Windowed, Generic[Kernel, Stride, Padding, CeilMode]):
    """1D average pooling: the mean of each window.

        y[n,c,i] = (1/K) ∑_k x[n, c, s i + k - p]

    Args:
        kernel: The size of a window, in cells.
        stride: The distance between neighbouring windows, in cells; None for the size of a window.
        padding: Cells added to each side, at most half of a window; see `tapegrad.avg_pool1d`.
        ceil_mode: Whether a last window may reach beyond the padding; see `tapegrad.avg_pool1d`.
        count_include_pad: Whether the mean includes padded cells.
        divisor_override: What the sum of a window is divided by; None for the number of cells counted.

    Examples:
        >>> signal = tg.tensor([[1.0, 5.0, 2.0, 3.0]])
        >>> tg.nn.AvgPool1d(2)(signal).tolist()
        [[3.0, 2.5]]
        >>> tg.nn.AvgPool1d(2, padding=1, count_include_pad=False)(signal).tolist()
        [[1.0, 3.5, 3.0]]
    """

    def __init__(
        self: AvgPool1d[Any, Any, Any, Any],
        kernel: Given[Kernel],
        *,
        stride: Given[Stride] | None = None,
        padding: Given[Padding] = 0,
        ceil_mode: Given[CeilMode] = False,
        count_include_pad: bool = True,
        divisor_override: float | None = None,
    ) -> None:
        with trim_on_exit:
            check_windows(
                "AvgPool1d", 1, kernel, stride, padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad
            )
        self.kernel, self.stride, self.padding = kernel, kernel if stride is None else stride, padding
        self.ceil_mode = ceil_mode
        if divisor_override is not None:
            with trim_on_exit:
                check_options("AvgPool1d", divisor_override=divisor_override)
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    @override
    def forward(
        self, x: Tensor[Shape[*Batch, W], T, Float]
    ) -> Tensor[Shape[*Batch, Pooled[W, Kernel, Stride, Padding, Literal[1], CeilMode]], T, Float]:
        """Compute `avg_pool1d(x, kernel, …)` of `(N, C, W)` or `(C, W)`."""
        return avg_pool1d(
            x,
            self.kernel,
            stride=self.stride,
            padding=self.padding,
            ceil_mode=self.ceil_mode,
            count_include_pad=self.count_include_pad,
            divisor_override=self.divisor_override,
        )


class AvgPool2d(_Windowed, Generic[Kernel, Stride, Padding, KernelW, StrideW, PaddingW, CeilMode]):
    """2D average pooling: the mean of each window.

        y[n,c,i,j] = (1 / (K L)) ∑_(k,l) x[n, c, s i + k - p, s j + l - p]

    Args:
        kernel: The size of a window, in pixels; here and below, one number, or one for each axis.
        stride: The distance between neighbouring windows, in pixels; None for the size of a window.
        padding: Pixels added to each side, at most half of a window; see `tapegrad.avg_pool2d`.
        ceil_mode: Whether a last window may reach beyond the padding; see `tapegrad.avg_pool2d`.
        count_include_pad: Whether the mean includes padded pixels.
        divisor_override: What the sum of a window is divided by; None for the number of pixels counted.

    Examples:
        >>> image = tg.tensor([[[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]])
        >>> tg.nn.AvgPool2d(2)(image).tolist()
        [[[2.5, 6.5]]]
        >>> tg.nn.AvgPool2d((1, 2))(image).tolist()
        [[[1.5, 5.5], [3.5, 7.5]]]
    """

    def __init__(
        self: AvgPool2d[Any, Any, Any, Any, Any, Any, Any],
        kernel: Given[Kernel] | tuple[Given[Kernel], Given[KernelW]],
        *,
        stride: Given[Stride] | tuple[Given[Stride], Given[StrideW]] | None = None,
        padding: Given[Padding] | tuple[Given[Padding], Given[PaddingW]] = 0,  # type: ignore[assignment]  # matches the default of the type variable
        ceil_mode: Given[CeilMode] = False,
        count_include_pad: bool = True,
        divisor_override: float | None = None,
    ) -> None:
        with trim_on_exit:
            check_windows(
                "AvgPool2d", 2, kernel, stride, padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad
            )
        self.kernel, self.stride, self.padding = kernel, kernel if stride is None else stride, padding
        self.ceil_mode = ceil_mode
        if divisor_override is not None:
            with trim_on_exit:
                check_options("AvgPool2d", divisor_override=divisor_override)
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    @override
    def forward(
        self, x: Tensor[Shape[*Batch, H, W], T, Float]
    ) -> Tensor[
        Shape[
            *Batch,
            Pooled[H, Kernel, Stride, Padding, Literal[1], CeilMode],
            Pooled[W, KernelW, StrideW, PaddingW, Literal[1], CeilMode],
        ],
        T,
        Float,
    ]:
        """Compute `avg_pool2d(x, kernel, …)` of `(N, C, H, W)` or `(C, H, W)`."""
        return avg_pool2d(
            x,
            self.kernel,
            stride=self.stride,
            padding=self.padding,
            ceil_mode=self.ceil_mode,
            count_include_pad=self.count_include_pad,
            divisor_override=self.divisor_override,
        )


class AdaptiveAvgPool1d(Module, Generic[Size]):
    """1D adaptive average pooling, to a given size; see `tapegrad.adaptive_avg_pool1d`.

    Args:
        size: The size of the result.

    Examples:
        >>> pool = tg.nn.AdaptiveAvgPool1d(2)
        >>> pool(tg.tensor([[1.0, 3.0, 5.0, 7.0]])).tolist()
        [[2.0, 6.0]]
        >>> pool(tg.tensor([[1.0, 3.0, 5.0]])).tolist()
        [[2.0, 4.0]]
    """

    @guarded
    def __init__(self: AdaptiveAvgPool1d[Any], size: Given[Size]) -> None:
        self.size = size

    @override
    def forward(self, x: Tensor[Shape[*Batch, W], T, Float]) -> Tensor[Shape[*Batch, Size], T, Float]:
        """Compute `adaptive_avg_pool1d(x, size)` of `(N, C, W)` or `(C, W)`."""
        return adaptive_avg_pool1d(x, self.size)

    @override
    def __repr__(self) -> str:
        return f"AdaptiveAvgPool1d({self.size})"


class AdaptiveAvgPool2d(Module, Generic[Size, SizeW]):
    """2D adaptive average pooling, to a given size; see `tapegrad.adaptive_avg_pool2d`.

    Args:
        size: The size of the result; one number, or one for each axis.

    Examples:
        >>> pool = tg.nn.AdaptiveAvgPool2d(7)
        >>> pool(tg.zeros((2, 8, 28, 28))).shape
        (2, 8, 7, 7)
        >>> pool(tg.zeros((2, 8, 30, 41))).shape
        (2, 8, 7, 7)
    """

    @guarded
    def __init__(self: AdaptiveAvgPool2d[Any, Any], size: Given[Size] | tuple[Given[Size], Given[SizeW]]) -> None:
        self.size = size

    @override
    def forward(self, x: Tensor[Shape[*Batch, H, W], T, Float]) -> Tensor[Shape[*Batch, Size, SizeW], T, Float]:
        """Compute `adaptive_avg_pool2d(x, size)` of `(N, C, H, W)` or `(C, H, W)`."""
        return adaptive_avg_pool2d(x, self.size)

    @override
    def __repr__(self) -> str:
        return f"AdaptiveAvgPool2d({self.size})"


class GlobalAvgPool1d(Module):
    """1D global average pooling, the mean of each channel: `y[n,c] = (1/L) ∑_i x[n,c,i]`.

    Examples:
        >>> signal = tg.tensor([[1.0, 5.0, 2.0, 4.0], [0.0, 0.0, 0.0, 2.0]])
        >>> tg.nn.GlobalAvgPool1d()(signal).tolist()
        [3.0, 0.5]
    """

    @override
    def forward(self, x: Tensor[Shape[*Batch, W], T, Float]) -> Tensor[Shape[*Batch], T, Float]:
        """Compute `mean(x, -1)` of `(N, C, W)` or `(C, W)`; the result is `(N, C)` or `(C,)`."""
        return mean(x, -1)


class GlobalAvgPool2d(Module):
    """2D global average pooling, the mean of each channel: `y[n,c] = (1 / (H W)) ∑_(i,j) x[n,c,i,j]`.

    Examples:
        >>> image = tg.tensor([[[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 2.0]]])
        >>> tg.nn.GlobalAvgPool2d()(image).tolist()
        [2.5, 0.5]
    """

    @override
    def forward(self, x: Tensor[Shape[*Batch, H, W], T, Float]) -> Tensor[Shape[*Batch], T, Float]:
        """Compute `mean(x, (-2, -1))` of `(N, C, H, W)` or `(C, H, W)`; the result is `(N, C)` or `(C,)`."""
        return mean(x, (-2, -1))


class GlobalMaxPool1d(Module):
    """1D global max pooling, the maximum of each channel: `y[n,c] = max_i x[n,c,i]`.

    Examples:
        >>> signal = tg.tensor([[1.0, 5.0, 2.0, 4.0], [0.0, 0.0, 0.0, 2.0]])
        >>> tg.nn.GlobalMaxPool1d()(signal).tolist()
        [5.0, 2.0]
    """

    @override
    def forward(self, x: Tensor[Shape[*Batch, W], T, Float]) -> Tensor[Shape[*Batch], T, Float]:
        """Compute `max(x, -1)` of `(N, C, W)` or `(C, W)`; the result is `(N, C)` or `(C,)`."""
        return max(x, -1)


class GlobalMaxPool2d(Module):
    """2D global max pooling, the maximum of each channel: `y[n,c] = max_(i,j) x[n,c,i,j]`.

    Examples:
        >>> image = tg.tensor([[[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 2.0]]])
        >>> tg.nn.GlobalMaxPool2d()(image).tolist()
        [4.0, 2.0]
    """

    @override
    def forward(self, x: Tensor[Shape[*Batch, H, W], T, Float]) -> Tensor[Shape[*Batch], T, Float]:
        """Compute `max(x, (-2, -1))` of `(N, C, H, W)` or `(C, H, W)`; the result is `(N, C)` or `(C,)`."""
        return max(x, (-2, -1))
