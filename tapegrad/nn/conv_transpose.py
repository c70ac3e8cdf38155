"""Transposed convolution layers, with kernel sizes in their types."""

from __future__ import annotations

from typing import Any, Generic

from typing_extensions import override

from tapegrad.generator import RNG
from tapegrad.guard import guarded
from tapegrad.nn._windows import (
    Batch,
    Convolution,
    Covered,
    Dilation,
    DilationW,
    H,
    In,
    Kernel,
    KernelW,
    Out,
    OutputPadding,
    OutputPaddingW,
    Padding,
    PaddingW,
    Stride,
    StrideW,
    W,
)
from tapegrad.nn.param import DType, HasBias, Param
from tapegrad.ops import conv_transpose1d, conv_transpose2d
from tapegrad.ops._lowering import add_channel_bias
from tapegrad.sizes.arithmetic import Given
from tapegrad.sizes.constraints import numbers
from tapegrad.tensors import T, Tensor
from tapegrad.tensors.aliases import Shape


class ConvTranspose1d(Convolution, Generic[In, Out, Kernel, Stride, Padding, OutputPadding, Dilation, HasBias, DType]):
    """1D transposed convolution with learnable kernels and an optional bias.

        y[n,o,i] = b[o] + ∑_(c, k, j : s j + d k - p = i) x[n,c,j] w[c,o,k]
        w, b ~ U[-1/√n, 1/√n)

    where n is the number of weights per input channel.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels.
        kernel: The size of a kernel, in cells.
        stride: The distance between neighbouring kernels, in cells.
        padding: Cells removed from each side of the result.
        output_padding: Cells added at the end of the result, below `stride`.
        dilation: The distance between neighbouring elements of a kernel, in cells.
        groups: The number of groups of channels, which divides the numbers of input and output channels.
        bias: Whether there is a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the weight is drawn first.

    Attributes:
        weight: `(In, Out // groups, Kernel)`.
        bias: `(Out,)`, or None.

    Raises:
        ShapeError: A size is below 1, a padding is below 0, or the groups do not divide the channels.
        DTypeError: A size is not an int.

    Source:
        PyTorch 2.13, `torch.nn.ConvTranspose1d`: He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852),
        eq. 10, with a negative slope of √5.

    Examples:
        >>> conv = tg.nn.ConvTranspose1d(8, 3, 4, stride=2, padding=1, rng=0)
        >>> signals = tg.normal((2, 8, 16), rng=0)
        >>> conv(signals).shape
        (2, 3, 32)
        >>> conv.weight.shape, conv.bias.shape
        ((8, 3, 4), (3,))
    """

    weight: Param[Shape[In, Any, Kernel], DType]
    bias: Param[Shape[Out], DType] | None

    @guarded
    def __init__(
        self: ConvTranspose1d[Any, Any, Any, Any, Any, Any, Any, Any],
        in_channels: Given[In],
        out_channels: Given[Out],
        kernel: Given[Kernel],
        *,
        stride: Given[Stride] = 1,
        padding: Given[Padding] = 0,
        output_padding: Given[OutputPadding] = 0,
        dilation: Given[Dilation] = 1,
        groups: int = 1,
        bias: Given[HasBias] = True,
        rng: RNG = None,
    ) -> None:
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.output_padding = output_padding
        self._draw(
            (in_channels, out_channels), numbers(kernel, 1, "kernel", 1), groups, out_channels if bias else None, rng
        )

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, In, W], T, DType]
    ) -> Tensor[
        Shape[
            *Batch,
            Out,
            Covered[W, Kernel, Stride, Padding, OutputPadding, Dilation],
        ],
        T,
        DType,
    ]:
        """Compute `conv_transpose1d(x, weight, …) + bias` of `x`, `(N, In, W)` or `(In, W)`."""
        y = conv_transpose1d(
            x,
            self.weight,
            stride=self.stride,
            padding=self.padding,
            output_padding=self.output_padding,
            dilation=self.dilation,
            groups=self.groups,
        )
        return y if self.bias is None else add_channel_bias(y, self.bias, 1)


class ConvTranspose2d(
    Convolution,
    Generic[
        In,
        Out,
        Kernel,
        Stride,
        Padding,
        OutputPadding,
        Dilation,
        KernelW,
        StrideW,
        PaddingW,
        OutputPaddingW,
        DilationW,
        HasBias,
        DType,
    ],
):
    """2D transposed convolution with learnable kernels and an optional bias.

        y[n,o,i,j] = b[o] + ∑_(c, k, l, h, v) x[n,c,h,v] w[c,o,k,l]
            for the h and v with s h + d k - p = i and s v + d l - p = j
        w, b ~ U[-1/√n, 1/√n)

    where n is the number of weights per input channel.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels.
        kernel: The size of a kernel, in pixels; here and below, one number, or one for each axis.
        stride: The distance between neighbouring kernels, in pixels.
        padding: Pixels removed from each side of the result.
        output_padding: Pixels added at the end of each axis of the result, below `stride`.
        dilation: The distance between neighbouring elements of a kernel, in pixels.
        groups: The number of groups of channels, which divides the numbers of input and output channels.
        bias: Whether there is a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the weight is drawn first.

    Attributes:
        weight: `(In, Out // groups, Kernel, KernelW)`.
        bias: `(Out,)`, or None.

    Raises:
        ShapeError: A size is below 1, a padding is below 0, or the groups do not divide the channels.
        DTypeError: A size is not an int.

    Source:
        PyTorch 2.13, `torch.nn.ConvTranspose2d`: He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852),
        eq. 10, with a negative slope of √5.

    Examples:
        >>> conv = tg.nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1, rng=0)
        >>> images = tg.uniform((2, 8, 16, 16), rng=0)
        >>> conv(images).shape
        (2, 3, 32, 32)
        >>> conv.weight.shape, conv.bias.shape
        ((8, 3, 4, 4), (3,))
    """

    weight: Param[Shape[In, Any, Kernel, KernelW], DType]
    bias: Param[Shape[Out], DType] | None

    @guarded
    def __init__(
        self: ConvTranspose2d[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any],
        in_channels: Given[In],
        out_channels: Given[Out],
        kernel: Given[Kernel] | tuple[Given[Kernel], Given[KernelW]],
        *,
        stride: Given[Stride] | tuple[Given[Stride], Given[StrideW]] = 1,  # type: ignore[assignment]  # matches the default of the type variable
        padding: Given[Padding] | tuple[Given[Padding], Given[PaddingW]] = 0,  # type: ignore[assignment]  # matches the default of the type variable
        output_padding: Given[OutputPadding] | tuple[Given[OutputPadding], Given[OutputPaddingW]] = 0,  # type: ignore[assignment]  # matches the default of the type variable
        dilation: Given[Dilation] | tuple[Given[Dilation], Given[DilationW]] = 1,  # type: ignore[assignment]  # matches the default of the type variable
        groups: int = 1,
        bias: Given[HasBias] = True,
        rng: RNG = None,
    ) -> None:
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.output_padding = output_padding
        self._draw(
            (in_channels, out_channels), numbers(kernel, 2, "kernel", 1), groups, out_channels if bias else None, rng
        )

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, In, H, W], T, DType]
    ) -> Tensor[
        Shape[
            *Batch,
            Out,
            Covered[H, Kernel, Stride, Padding, OutputPadding, Dilation],
            Covered[W, KernelW, StrideW, PaddingW, OutputPaddingW, DilationW],
        ],
        T,
        DType,
    ]:
        """Compute `conv_transpose2d(x, weight, …) + bias` of `x`, `(N, In, H, W)` or `(In, H, W)`."""
        y = conv_transpose2d(
            x,
            self.weight,
            stride=self.stride,
            padding=self.padding,
            output_padding=self.output_padding,
            dilation=self.dilation,
            groups=self.groups,
        )
        return y if self.bias is None else add_channel_bias(y, self.bias, 2)
