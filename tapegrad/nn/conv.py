"""Convolutions as layers: kernels of one length along each axis, which stands in the layer's type."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any, Generic, Literal

from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.dims import Add, FloorDiv, Mul, Sub
from tapegrad.errors import ShapeError
from tapegrad.generator import RNG, generator
from tapegrad.guard import guarded
from tapegrad.nn.module import Module
from tapegrad.nn.param import Param
from tapegrad.ops import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, uniform
from tapegrad.ops._lowering import biased
from tapegrad.shapes import Shape
from tapegrad.tensor import T, Tensor

In = TypeVar("In", bound=int, default=Any, covariant=True)
Out = TypeVar("Out", bound=int, default=Any, covariant=True)
Kernel = TypeVar("Kernel", bound=int, default=Any, covariant=True)
Stride = TypeVar("Stride", bound=int, default=Literal[1], covariant=True)
Padding = TypeVar("Padding", bound=int, default=Literal[0], covariant=True)
OutputPadding = TypeVar("OutputPadding", bound=int, default=Literal[0], covariant=True)
Batch = TypeVarTuple("Batch")
D = TypeVar("D", bound=int)
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)


class Conv1d(Module, Generic[In, Out, Kernel, Stride, Padding]):
    r"""Cross-correlates lines with kernels that are learnt, and adds a bias to each channel.

    $$y_{noi} = b_o + \sum_{ck} x_{n,c,\,si+k-p} \, w_{ock}, \quad
    w, b \sim \mathcal{U}[-1/\sqrt{n}, 1/\sqrt{n})$$

    where n is how many numbers a kernel has.

    Args:
        in_channels: The channels of what comes in.
        out_channels: The channels of what goes out, one for each kernel.
        kernel: How long a kernel is along each axis, in cells.
        stride: Cells between neighbouring windows.
        padding: Zeros added to each side, in cells.
        groups: Into how many groups the channels fall, on either side; it divides both.
        bias: Whether there is a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the weight is drawn first.

    Attributes:
        weight: `(Out, In // groups, Kernel)`.
        bias: `(Out,)`, or None.

    Raises:
        ShapeError: A size is below 1, the padding is below 0, or the groups do not divide the channels.
        DTypeError: A size is no int.

    Source:
        PyTorch 2.13, `torch.nn.Conv1d`: He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852),
        eq. 10, with the slope √5 in the place of a rectifier's.
    """

    weight: Param[Shape[Out, Any, Kernel]]
    bias: Param[Shape[Out]] | None

    @guarded
    def __init__(
        self: Conv1d[Any, Any, Any, Any, Any],
        in_channels: In,
        out_channels: Out,
        kernel: Kernel,
        *,
        stride: Stride = 1,  # type: ignore[assignment]  # the default of the size itself
        padding: Padding = 0,  # type: ignore[assignment]  # the default of the size itself
        groups: int = 1,
        bias: bool = True,
        rng: RNG = None,
    ) -> None:
        _check_groups("Conv1d", in_channels, out_channels, groups)
        shape = (out_channels, in_channels // groups, kernel)
        self.weight, self.bias = _drawn(shape, out_channels if bias else None, rng)
        self.stride, self.padding, self.groups = stride, padding, groups

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, In, W], T]
    ) -> Tensor[
        Shape[
            *Batch,
            Out,
            Add[FloorDiv[Sub[Add[W, Mul[Literal[2], Padding]], Kernel], Stride], Literal[1]],
        ],
        T,
    ]:
        """Computes `conv1d(x, weight, …) + bias` of float32 `x`, `(N, In, W)` or `(In, W)`."""
        y = conv1d(x, self.weight, stride=self.stride, padding=self.padding, groups=self.groups)
        return y if self.bias is None else biased(y, self.bias, 1)

    @override
    def __repr__(self) -> str:
        return _written(self, self.weight.shape[1] * self.groups, self.weight.shape[0])


class Conv2d(Module, Generic[In, Out, Kernel, Stride, Padding]):
    r"""Cross-correlates images with kernels that are learnt, and adds a bias to each channel.

    $$y_{noij} = b_o + \sum_{ckl} x_{n,c,\,si+k-p,\,sj+l-p} \, w_{ockl}, \quad
    w, b \sim \mathcal{U}[-1/\sqrt{n}, 1/\sqrt{n})$$

    where n is how many numbers a kernel has.

    Args:
        in_channels: The channels of what comes in.
        out_channels: The channels of what goes out, one for each kernel.
        kernel: How long a kernel is along each axis, in pixels.
        stride: Pixels between neighbouring windows.
        padding: Zeros added to each side, in pixels.
        groups: Into how many groups the channels fall, on either side; it divides both.
        bias: Whether there is a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the weight is drawn first.

    Attributes:
        weight: `(Out, In // groups, Kernel, Kernel)`.
        bias: `(Out,)`, or None.

    Raises:
        ShapeError: A size is below 1, the padding is below 0, or the groups do not divide the channels.
        DTypeError: A size is no int.

    Source:
        PyTorch 2.13, `torch.nn.Conv2d`: He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852),
        eq. 10, with the slope √5 in the place of a rectifier's.
    """

    weight: Param[Shape[Out, Any, Kernel, Kernel]]
    bias: Param[Shape[Out]] | None

    @guarded
    def __init__(
        self: Conv2d[Any, Any, Any, Any, Any],
        in_channels: In,
        out_channels: Out,
        kernel: Kernel,
        *,
        stride: Stride = 1,  # type: ignore[assignment]  # the default of the size itself
        padding: Padding = 0,  # type: ignore[assignment]  # the default of the size itself
        groups: int = 1,
        bias: bool = True,
        rng: RNG = None,
    ) -> None:
        _check_groups("Conv2d", in_channels, out_channels, groups)
        shape = (out_channels, in_channels // groups, kernel, kernel)
        self.weight, self.bias = _drawn(shape, out_channels if bias else None, rng)
        self.stride, self.padding, self.groups = stride, padding, groups

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, In, H, W], T]
    ) -> Tensor[
        Shape[
            *Batch,
            Out,
            Add[FloorDiv[Sub[Add[H, Mul[Literal[2], Padding]], Kernel], Stride], Literal[1]],
            Add[FloorDiv[Sub[Add[W, Mul[Literal[2], Padding]], Kernel], Stride], Literal[1]],
        ],
        T,
    ]:
        """Computes `conv2d(x, weight, …) + bias` of float32 `x`, `(N, In, H, W)` or `(In, H, W)`."""
        y = conv2d(x, self.weight, stride=self.stride, padding=self.padding, groups=self.groups)
        return y if self.bias is None else biased(y, self.bias, 2)

    @override
    def __repr__(self) -> str:
        return _written(self, self.weight.shape[1] * self.groups, self.weight.shape[0])


class Conv3d(Module, Generic[In, Out, Kernel, Stride, Padding]):
    r"""Cross-correlates volumes with kernels that are learnt, and adds a bias to each channel.

    $$y_{nohij} = b_o + \sum_{cmkl} x_{n,c,\,sh+m-p,\,si+k-p,\,sj+l-p} \, w_{ocmkl}, \quad
    w, b \sim \mathcal{U}[-1/\sqrt{n}, 1/\sqrt{n})$$

    where n is how many numbers a kernel has.

    Args:
        in_channels: The channels of what comes in.
        out_channels: The channels of what goes out, one for each kernel.
        kernel: How long a kernel is along each axis, in voxels.
        stride: Voxels between neighbouring windows.
        padding: Zeros added to each side, in voxels.
        groups: Into how many groups the channels fall, on either side; it divides both.
        bias: Whether there is a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the weight is drawn first.

    Attributes:
        weight: `(Out, In // groups, Kernel, Kernel, Kernel)`.
        bias: `(Out,)`, or None.

    Raises:
        ShapeError: A size is below 1, the padding is below 0, or the groups do not divide the channels.
        DTypeError: A size is no int.

    Source:
        PyTorch 2.13, `torch.nn.Conv3d`: He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852),
        eq. 10, with the slope √5 in the place of a rectifier's.
    """

    weight: Param[Shape[Out, Any, Kernel, Kernel, Kernel]]
    bias: Param[Shape[Out]] | None

    @guarded
    def __init__(
        self: Conv3d[Any, Any, Any, Any, Any],
        in_channels: In,
        out_channels: Out,
        kernel: Kernel,
        *,
        stride: Stride = 1,  # type: ignore[assignment]  # the default of the size itself
        padding: Padding = 0,  # type: ignore[assignment]  # the default of the size itself
        groups: int = 1,
        bias: bool = True,
        rng: RNG = None,
    ) -> None:
        _check_groups("Conv3d", in_channels, out_channels, groups)
        shape = (out_channels, in_channels // groups, kernel, kernel, kernel)
        self.weight, self.bias = _drawn(shape, out_channels if bias else None, rng)
        self.stride, self.padding, self.groups = stride, padding, groups

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, In, D, H, W], T]
    ) -> Tensor[
        Shape[
            *Batch,
            Out,
            Add[FloorDiv[Sub[Add[D, Mul[Literal[2], Padding]], Kernel], Stride], Literal[1]],
            Add[FloorDiv[Sub[Add[H, Mul[Literal[2], Padding]], Kernel], Stride], Literal[1]],
            Add[FloorDiv[Sub[Add[W, Mul[Literal[2], Padding]], Kernel], Stride], Literal[1]],
        ],
        T,
    ]:
        """Computes `conv3d(x, weight, …) + bias` of float32 `x`, `(N, In, D, H, W)` or `(In, D, H, W)`."""
        y = conv3d(x, self.weight, stride=self.stride, padding=self.padding, groups=self.groups)
        return y if self.bias is None else biased(y, self.bias, 3)

    @override
    def __repr__(self) -> str:
        return _written(self, self.weight.shape[1] * self.groups, self.weight.shape[0])


class ConvTranspose1d(Module, Generic[In, Out, Kernel, Stride, Padding, OutputPadding]):
    r"""Lays kernels that are learnt down for each of the cells of lines, and adds a bias to each channel.

    $$y_{noi} = b_o + \sum_{ck, \, j : sj+k-p=i} x_{ncj} \, w_{cok}, \quad
    w, b \sim \mathcal{U}[-1/\sqrt{n}, 1/\sqrt{n})$$

    where n is how many numbers of the weight a channel of what comes in has.

    Args:
        in_channels: The channels of what comes in.
        out_channels: The channels of what goes out.
        kernel: How long a kernel is along each axis, in cells.
        stride: Cells between neighbouring kernels.
        padding: Cells cut off each side.
        output_padding: Cells more behind, below `stride`.
        groups: Into how many groups the channels fall, on either side; it divides both.
        bias: Whether there is a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the weight is drawn first.

    Attributes:
        weight: `(In, Out // groups, Kernel)`.
        bias: `(Out,)`, or None.

    Raises:
        ShapeError: A size is below 1, a padding is below 0, or the groups do not divide the channels.
        DTypeError: A size is no int.

    Source:
        PyTorch 2.13, `torch.nn.ConvTranspose1d`: He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852),
        eq. 10, with the slope √5 in the place of a rectifier's.
    """

    weight: Param[Shape[In, Any, Kernel]]
    bias: Param[Shape[Out]] | None

    @guarded
    def __init__(
        self: ConvTranspose1d[Any, Any, Any, Any, Any, Any],
        in_channels: In,
        out_channels: Out,
        kernel: Kernel,
        *,
        stride: Stride = 1,  # type: ignore[assignment]  # the default of the size itself
        padding: Padding = 0,  # type: ignore[assignment]  # the default of the size itself
        output_padding: OutputPadding = 0,  # type: ignore[assignment]  # the default of the size itself
        groups: int = 1,
        bias: bool = True,
        rng: RNG = None,
    ) -> None:
        _check_groups("ConvTranspose1d", in_channels, out_channels, groups)
        shape = (in_channels, out_channels // groups, kernel)
        self.weight, self.bias = _drawn(shape, out_channels if bias else None, rng)
        self.stride, self.padding, self.output_padding, self.groups = stride, padding, output_padding, groups

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, In, W], T]
    ) -> Tensor[
        Shape[
            *Batch,
            Out,
            Add[Sub[Add[Mul[Sub[W, Literal[1]], Stride], Kernel], Mul[Literal[2], Padding]], OutputPadding],
        ],
        T,
    ]:
        """Computes `conv_transpose1d(x, weight, …) + bias` of float32 `x`, `(N, In, W)` or `(In, W)`."""
        y = conv_transpose1d(
            x,
            self.weight,
            stride=self.stride,
            padding=self.padding,
            output_padding=self.output_padding,
            groups=self.groups,
        )
        return y if self.bias is None else biased(y, self.bias, 1)

    @override
    def __repr__(self) -> str:
        return _written(self, self.weight.shape[0], self.weight.shape[1] * self.groups)


class ConvTranspose2d(Module, Generic[In, Out, Kernel, Stride, Padding, OutputPadding]):
    r"""Lays kernels that are learnt down for each of the pixels of images, and adds a bias to each channel.

    $$y_{noij} = b_o + \sum_{ckl, \, h : sh+k-p=i, \, v : sv+l-p=j} x_{nchv} \, w_{cokl}, \quad
    w, b \sim \mathcal{U}[-1/\sqrt{n}, 1/\sqrt{n})$$

    where n is how many numbers of the weight a channel of what comes in has.

    Args:
        in_channels: The channels of what comes in.
        out_channels: The channels of what goes out.
        kernel: How long a kernel is along each axis, in pixels.
        stride: Pixels between neighbouring kernels.
        padding: Pixels cut off each side.
        output_padding: Pixels more behind, below `stride`.
        groups: Into how many groups the channels fall, on either side; it divides both.
        bias: Whether there is a bias.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; the weight is drawn first.

    Attributes:
        weight: `(In, Out // groups, Kernel, Kernel)`.
        bias: `(Out,)`, or None.

    Raises:
        ShapeError: A size is below 1, a padding is below 0, or the groups do not divide the channels.
        DTypeError: A size is no int.

    Source:
        PyTorch 2.13, `torch.nn.ConvTranspose2d`: He et al., [Delving deep into rectifiers](https://arxiv.org/abs/1502.01852),
        eq. 10, with the slope √5 in the place of a rectifier's.
    """

    weight: Param[Shape[In, Any, Kernel, Kernel]]
    bias: Param[Shape[Out]] | None

    @guarded
    def __init__(
        self: ConvTranspose2d[Any, Any, Any, Any, Any, Any],
        in_channels: In,
        out_channels: Out,
        kernel: Kernel,
        *,
        stride: Stride = 1,  # type: ignore[assignment]  # the default of the size itself
        padding: Padding = 0,  # type: ignore[assignment]  # the default of the size itself
        output_padding: OutputPadding = 0,  # type: ignore[assignment]  # the default of the size itself
        groups: int = 1,
        bias: bool = True,
        rng: RNG = None,
    ) -> None:
        _check_groups("ConvTranspose2d", in_channels, out_channels, groups)
        shape = (in_channels, out_channels // groups, kernel, kernel)
        self.weight, self.bias = _drawn(shape, out_channels if bias else None, rng)
        self.stride, self.padding, self.output_padding, self.groups = stride, padding, output_padding, groups

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, In, H, W], T]
    ) -> Tensor[
        Shape[
            *Batch,
            Out,
            Add[Sub[Add[Mul[Sub[H, Literal[1]], Stride], Kernel], Mul[Literal[2], Padding]], OutputPadding],
            Add[Sub[Add[Mul[Sub[W, Literal[1]], Stride], Kernel], Mul[Literal[2], Padding]], OutputPadding],
        ],
        T,
    ]:
        """Computes `conv_transpose2d(x, weight, …) + bias` of float32 `x`, `(N, In, H, W)` or `(In, H, W)`."""
        y = conv_transpose2d(
            x,
            self.weight,
            stride=self.stride,
            padding=self.padding,
            output_padding=self.output_padding,
            groups=self.groups,
        )
        return y if self.bias is None else biased(y, self.bias, 2)

    @override
    def __repr__(self) -> str:
        return _written(self, self.weight.shape[0], self.weight.shape[1] * self.groups)


def _check_groups(name: str, in_channels: int, out_channels: int, groups: int) -> None:
    for channels in (in_channels, out_channels):
        if groups < 1 or channels % groups:
            message = f"{name}: {groups} groups do not divide {channels} channels"
            raise ShapeError(message)


def _drawn(shape: tuple[int, ...], out_channels: int | None, rng: RNG) -> tuple[Param[Any], Param[Any] | None]:
    """Draws kernels, whose first axis counts them, and a bias for each channel where these are given."""
    rng, bound = generator(rng), 1 / sqrt(prod(shape[1:]))
    weight = Param(uniform(shape, low=-bound, high=bound, rng=rng))
    return weight, None if out_channels is None else Param(uniform((out_channels,), low=-bound, high=bound, rng=rng))


def _written(layer: Any, inner: int, outer: int) -> str:
    options = {
        name: getattr(layer, name) for name in ("stride", "padding", "output_padding", "groups") if hasattr(layer, name)
    }
    plain = {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1}
    words = [f"{name}={value}" for name, value in options.items() if value != plain[name]]
    words += ["bias=False"] if layer.bias is None else []
    return f"{type(layer).__name__}({', '.join([str(inner), str(outer), str(layer.weight.shape[-1]), *words])})"
