"""Convolution layers, with window sizes in their types."""

from __future__ import annotations

from typing import Any, Generic, Literal

from typing_extensions import override

from tapegrad.generator import RNG
from tapegrad.guard import guarded
from tapegrad.nn._windows import (
    Batch,
    Convolution,
    D,
    Dilation,
    DilationH,
    DilationW,
    H,
    In,
    Kernel,
    KernelH,
    KernelW,
    Out,
    Padding,
    PaddingH,
    PaddingW,
    Stride,
    StrideH,
    StrideW,
    W,
    Windows,
)
from tapegrad.nn.param import DType, HasBias, Param
from tapegrad.ops import conv1d, conv2d, conv3d
from tapegrad.ops._lowering import add_channel_bias
from tapegrad.sizes.arithmetic import Given
from tapegrad.sizes.constraints import numbers
from tapegrad.tensors import T, Tensor
from tapegrad.tensors.aliases import Shape


class Conv1d(Convolution, Generic[In, Out, Kernel, Stride, Padding, Dilation, HasBias, DType]):
    """1D convolution (cross-correlation) with learnable kernels and an optional bias.

        y[n,o,i] = b[o] + ∑_(c,k) x[n, c, s i + d k - p] w[o,c,k]
        w, b ~ U[-1/√n, 1/√n)

    where n is the number of elements of a kernel.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels, one for each kernel.
        kernel: The size of a kernel, in cells.
        stride: The distance between neighbouring windows, in cells.
        padding: Zeros added to each side, in cells; `same` keeps the size and requires a stride of 1. mypy infers fewer
            sizes with `same` than with a number.
        dilation: The distance between neighbouring elements of a kernel, in cells.
        groups: The number of groups of channels, which divides the numbers of input and output channels.
        bias: Whether there is a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the weight is drawn first.

    Attributes:
        weight: `(Out, In // groups, Kernel)`.
        bias: `(Out,)`, or None.

    Raises:
        ShapeError: A size is below 1, the padding is below 0, or is `same` with a stride above 1, or the groups do not
            divide the channels.
        DTypeError: A size is not an int.

    Source:
        PyTorch 2.13, `torch.nn.Conv1d`: He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852),
        eq. 10, with a negative slope of √5.

    Examples:
        >>> conv = tg.nn.Conv1d(3, 8, 5, rng=0)
        >>> signals = tg.normal((2, 3, 16), rng=0)
        >>> conv(signals).shape
        (2, 8, 12)
        >>> tg.nn.Conv1d(3, 8, 5, stride=2, padding=2, rng=0)(signals).shape
        (2, 8, 8)
        >>> conv.weight.shape, conv.bias.shape
        ((8, 3, 5), (8,))
    """

    weight: Param[Shape[Out, Any, Kernel], DType]
    bias: Param[Shape[Out], DType] | None

    @guarded
    def __init__(
        self: Conv1d[Any, Any, Any, Any, Any, Any, Any],
        in_channels: Given[In],
        out_channels: Given[Out],
        kernel: Given[Kernel],
        *,
        stride: Given[Stride] = 1,
        padding: Given[Padding] | Literal["same"] = 0,  # type: ignore[assignment]  # matches the default of the type variable
        dilation: Given[Dilation] = 1,
        groups: int = 1,
        bias: Given[HasBias] = True,
        rng: RNG = None,
    ) -> None:
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self._draw(
            (out_channels, in_channels), numbers(kernel, 1, "kernel", 1), groups, out_channels if bias else None, rng
        )

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, In, W], T, DType]
    ) -> Tensor[
        Shape[
            *Batch,
            Out,
            Windows[W, Kernel, Stride, Padding, Dilation],
        ],
        T,
        DType,
    ]:
        """Compute `conv1d(x, weight, …) + bias` of `x`, `(N, In, W)` or `(In, W)`."""
        y = conv1d(
            x,
            self.weight,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
        )
        return y if self.bias is None else add_channel_bias(y, self.bias, 1)


class Conv2d(
    Convolution,
    Generic[In, Out, Kernel, Stride, Padding, Dilation, KernelW, StrideW, PaddingW, DilationW, HasBias, DType],
):
    """2D convolution (cross-correlation) with learnable kernels and an optional bias.

        y[n,o,i,j] = b[o]
            + ∑_(c,k,l) w[o,c,k,l] x[n, c, s i + d k - p, s j + d l - p]
        w, b ~ U[-1/√n, 1/√n)

    where n is the number of elements of a kernel.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels, one for each kernel.
        kernel: The size of a kernel, in pixels; here and below, one number, or one for each axis.
        stride: The distance between neighbouring windows, in pixels.
        padding: Zeros added to each side, in pixels; `same` keeps the sizes and requires a stride of 1. mypy infers
            fewer sizes with `same` than with a number.
        dilation: The distance between neighbouring elements of a kernel, in pixels.
        groups: The number of groups of channels, which divides the numbers of input and output channels.
        bias: Whether there is a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the weight is drawn first.

    Attributes:
        weight: `(Out, In // groups, Kernel, KernelW)`.
        bias: `(Out,)`, or None.

    Raises:
        ShapeError: A size is below 1, the padding is below 0, or is `same` with a stride above 1, or the groups do not
            divide the channels.
        DTypeError: A size is not an int.

    Source:
        PyTorch 2.13, `torch.nn.Conv2d`: He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852),
        eq. 10, with a negative slope of √5.

    Examples:
        >>> conv = tg.nn.Conv2d(3, 8, 3, rng=0)
        >>> images = tg.uniform((2, 3, 16, 16), rng=0)
        >>> conv(images).shape
        (2, 8, 14, 14)
        >>> tg.nn.Conv2d(3, 8, 3, stride=2, padding=1, rng=0)(images).shape
        (2, 8, 8, 8)
        >>> conv.weight.shape, conv.bias.shape
        ((8, 3, 3, 3), (8,))
    """

    weight: Param[Shape[Out, Any, Kernel, KernelW], DType]
    bias: Param[Shape[Out], DType] | None

    @guarded
    def __init__(
        self: Conv2d[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any],
        in_channels: Given[In],
        out_channels: Given[Out],
        kernel: Given[Kernel] | tuple[Given[Kernel], Given[KernelW]],
        *,
        stride: Given[Stride] | tuple[Given[Stride], Given[StrideW]] = 1,  # type: ignore[assignment]  # matches the default of the type variable
        padding: Given[Padding] | tuple[Given[Padding], Given[PaddingW]] | Literal["same"] = 0,  # type: ignore[assignment]  # matches the default of the type variable
        dilation: Given[Dilation] | tuple[Given[Dilation], Given[DilationW]] = 1,  # type: ignore[assignment]  # matches the default of the type variable
        groups: int = 1,
        bias: Given[HasBias] = True,
        rng: RNG = None,
    ) -> None:
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self._draw(
            (out_channels, in_channels), numbers(kernel, 2, "kernel", 1), groups, out_channels if bias else None, rng
        )

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, In, H, W], T, DType]
    ) -> Tensor[
        Shape[
            *Batch,
            Out,
            Windows[H, Kernel, Stride, Padding, Dilation],
            Windows[W, KernelW, StrideW, PaddingW, DilationW],
        ],
        T,
        DType,
    ]:
        """Compute `conv2d(x, weight, …) + bias` of `x`, `(N, In, H, W)` or `(In, H, W)`."""
        y = conv2d(
            x,
            self.weight,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
        )
        return y if self.bias is None else add_channel_bias(y, self.bias, 2)


class Conv3d(
    Convolution,
    Generic[
        In,
        Out,
        Kernel,
        Stride,
        Padding,
        Dilation,
        KernelH,
        StrideH,
        PaddingH,
        DilationH,
        KernelW,
        StrideW,
        PaddingW,
        DilationW,
        HasBias,
        DType,
    ],
):
    """3D convolution (cross-correlation) with learnable kernels and an optional bias.

        y[n,o,h,i,j] = b[o] + ∑_(c,m,k,l) w[o,c,m,k,l]
            x[n, c, s h + d m - p, s i + d k - p, s j + d l - p]
        w, b ~ U[-1/√n, 1/√n)

    where n is the number of elements of a kernel.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels, one for each kernel.
        kernel: The size of a kernel, in voxels; here and below, one number, or one for each axis.
        stride: The distance between neighbouring windows, in voxels.
        padding: Zeros added to each side, in voxels; `same` keeps the sizes and requires a stride of 1. mypy infers
            fewer sizes with `same` than with a number.
        dilation: The distance between neighbouring elements of a kernel, in voxels.
        groups: The number of groups of channels, which divides the numbers of input and output channels.
        bias: Whether there is a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the weight is drawn first.

    Attributes:
        weight: `(Out, In // groups, Kernel, KernelH, KernelW)`.
        bias: `(Out,)`, or None.

    Raises:
        ShapeError: A size is below 1, the padding is below 0, or is `same` with a stride above 1, or the groups do not
            divide the channels.
        DTypeError: A size is not an int.

    Source:
        PyTorch 2.13, `torch.nn.Conv3d`: He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852),
        eq. 10, with a negative slope of √5.

    Examples:
        >>> conv = tg.nn.Conv3d(1, 4, 3, padding="same", rng=0)
        >>> scans = tg.uniform((2, 1, 6, 8, 8), rng=0)
        >>> conv(scans).shape
        (2, 4, 6, 8, 8)
        >>> tg.nn.Conv3d(1, 4, (1, 3, 3), rng=0)(scans).shape
        (2, 4, 6, 6, 6)
    """

    weight: Param[Shape[Out, Any, Kernel, KernelH, KernelW], DType]
    bias: Param[Shape[Out], DType] | None

    @guarded
    def __init__(
        self: Conv3d[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any],
        in_channels: Given[In],
        out_channels: Given[Out],
        kernel: Given[Kernel] | tuple[Given[Kernel], Given[KernelH], Given[KernelW]],
        *,
        stride: Given[Stride] | tuple[Given[Stride], Given[StrideH], Given[StrideW]] = 1,  # type: ignore[assignment]  # matches the default of the type variable
        padding: Given[Padding] | tuple[Given[Padding], Given[PaddingH], Given[PaddingW]] | Literal["same"] = 0,  # type: ignore[assignment]  # matches the default of the type variable
        dilation: Given[Dilation] | tuple[Given[Dilation], Given[DilationH], Given[DilationW]] = 1,  # type: ignore[assignment]  # matches the default of the type variable
        groups: int = 1,
        bias: Given[HasBias] = True,
        rng: RNG = None,
    ) -> None:
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self._draw(
            (out_channels, in_channels), numbers(kernel, 3, "kernel", 1), groups, out_channels if bias else None, rng
        )

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, In, D, H, W], T, DType]
    ) -> Tensor[
        Shape[
            *Batch,
            Out,
            Windows[D, Kernel, Stride, Padding, Dilation],
            Windows[H, KernelH, StrideH, PaddingH, DilationH],
            Windows[W, KernelW, StrideW, PaddingW, DilationW],
        ],
        T,
        DType,
    ]:
        """Compute `conv3d(x, weight, …) + bias` of `x`, `(N, In, D, H, W)` or `(In, D, H, W)`."""
        y = conv3d(
            x,
            self.weight,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
        )
        return y if self.bias is None else add_channel_bias(y, self.bias, 3)
