"""Convolutions in one, two or three dimensions, with channels first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tapegrad.autograd.op import op
from tapegrad.engines import ConvWindow
from tapegrad.errors import ShapeError
from tapegrad.ops._lowering import at_least_one, check_rank, correlate
from tapegrad.ops.elementwise import float_only
from tapegrad.sizes import Dims, Size, show, surely_differ, surely_less, windows
from tapegrad.sizes.constraints import numbers
from tapegrad.tensors.operands import same_dtype, tensor_only

if TYPE_CHECKING:
    from tapegrad.autograd.tape import Merge
    from tapegrad.tensors import T1, T2, Float, Tensor


def conv1d_shape(
    x: Dims,
    w: Dims,
    *,
    stride: int | tuple[int] = 1,
    padding: int | tuple[int] | Literal["same", "valid"] = 0,
    dilation: int | tuple[int] = 1,
    groups: int = 1,
) -> Dims:
    """Return `(N, O, L_out)`, or without `N`: a channel per kernel, and the number of windows."""
    return _shape(1, x, w, stride, padding, dilation, groups)


def conv2d_shape(
    x: Dims,
    w: Dims,
    *,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | Literal["same", "valid"] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> Dims:
    """Return `(N, O, H_out, W_out)`, or without `N`: a channel per kernel, and the windows per axis."""
    return _shape(2, x, w, stride, padding, dilation, groups)


def conv3d_shape(
    x: Dims,
    w: Dims,
    *,
    stride: int | tuple[int, int, int] = 1,
    padding: int | tuple[int, int, int] | Literal["same", "valid"] = 0,
    dilation: int | tuple[int, int, int] = 1,
    groups: int = 1,
) -> Dims:
    """Return `(N, O, D_out, H_out, W_out)`, or without `N`: a channel per kernel, and the windows per axis."""
    return _shape(3, x, w, stride, padding, dilation, groups)


@op(conv1d_shape)
def conv1d(
    x: Tensor[Any, T1, Float],
    w: Tensor[Any, T2, Float],
    *,
    stride: int | tuple[int] = 1,
    padding: int | tuple[int] | Literal["same", "valid"] = 0,
    dilation: int | tuple[int] = 1,
    groups: int = 1,
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the 1D convolution (cross-correlation) of a batch of sequences with kernels.

        y[n,o,i] = ∑_(c,k) x[n, c, s i + d k - p] w[o,c,k]

    Args:
        x: Sequences, `(N, C, L)`, or one, `(C, L)`.
        w: Kernels, `(O, C // groups, K)`.
        stride: Elements from one window to the next, at least 1.
        padding: Number of zeros added to each side. `same` keeps the length: `stride` must be 1, and of an odd number
            the extra zero is at the end. `valid` adds none.
        dilation: Distance between neighbouring elements of a kernel, in elements of `x`, at least 1.
        groups: Number of groups of channels and kernels; each kernel reads only the channels of its group.

    Returns:
        `(N, O, (L + 2 padding - dilation (K - 1) - 1) // stride + 1)`, without a batch if `x` has none.

    Raises:
        ShapeError: A rank is wrong, channels do not match, a kernel is longer than the padded sequence, or a number is
            too small.
        DTypeError: The dtypes differ, or are not float.

    Source:
        Dumoulin & Visin, [A guide to convolution arithmetic](https://arxiv.org/abs/1603.07285), relationship 6 and
        §5.1; the arguments are those of PyTorch.

    Examples:
        >>> x = tg.tensor([[[1.0, 2.0, 4.0, 7.0]]])  # 1 sequence, 1 channel
        >>> difference = tg.tensor([[[-1.0, 1.0]]])
        >>> tg.conv1d(x, difference).tolist()
        [[[1.0, 2.0, 3.0]]]
        >>> tg.conv1d(x, difference, padding=1).tolist()
        [[[1.0, 1.0, 2.0, 3.0, -7.0]]]
        >>> tg.conv1d(x, difference, stride=2).tolist()
        [[[1.0, 3.0]]]
    """
    return _correlated(1, x, w, stride, padding, dilation, groups)


@op(conv2d_shape)
def conv2d(
    x: Tensor[Any, T1, Float],
    w: Tensor[Any, T2, Float],
    *,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | Literal["same", "valid"] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the 2D convolution (cross-correlation) of a batch of images with kernels.

        y[n,o,i,j] = ∑_(c,k,l) w[o,c,k,l] x[n, c, s i + d k - p, s j + d l - p]

    Args:
        x: Images, `(N, C, H, W)`, or one, `(C, H, W)`.
        w: Kernels, `(O, C // groups, K, L)`.
        stride: Pixels from one window to the next, at least 1; one number, or one for height and one for width, here
            and below.
        padding: Number of zeros added to each side. `same` keeps height and width: `stride` must be 1, and of an odd
            number the extra zero is at the end. `valid` adds none.
        dilation: Distance between neighbouring elements of a kernel, in pixels, at least 1.
        groups: Number of groups of channels and kernels; each kernel reads only the channels of its group.

    Returns:
        `(N, O, (H + 2 padding - dilation (K - 1) - 1) // stride + 1, …)`, the width likewise, without a batch if `x`
        has none.

    Raises:
        ShapeError: A rank is wrong, channels do not match, a kernel is larger than the padded image, or a number is
            too small.
        DTypeError: The dtypes differ, or are not float.

    Source:
        Dumoulin & Visin, [A guide to convolution arithmetic](https://arxiv.org/abs/1603.07285), relationship 6 and
        §5.1; the arguments are those of PyTorch.

    Examples:
        >>> images, kernels = tg.uniform((2, 3, 8, 8), rng=0), tg.normal((16, 3, 3, 3), rng=1)
        >>> tg.conv2d(images, kernels).shape
        (2, 16, 6, 6)
        >>> tg.conv2d(images, kernels, stride=2, padding=1).shape
        (2, 16, 4, 4)
        >>> image, box = tg.tensor([[[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]]), tg.full((1, 1, 2, 2), 0.25)
        >>> tg.conv2d(image, box).tolist()
        [[[3.5, 4.5]]]
    """
    return _correlated(2, x, w, stride, padding, dilation, groups)


@op(conv3d_shape)
def conv3d(
    x: Tensor[Any, T1, Float],
    w: Tensor[Any, T2, Float],
    *,
    stride: int | tuple[int, int, int] = 1,
    padding: int | tuple[int, int, int] | Literal["same", "valid"] = 0,
    dilation: int | tuple[int, int, int] = 1,
    groups: int = 1,
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the 3D convolution (cross-correlation) of a batch of volumes with kernels.

        y[n,o,h,i,j] = ∑_(c,m,k,l) w[o,c,m,k,l]
            x[n, c, s h + d m - p, s i + d k - p, s j + d l - p]

    Args:
        x: Volumes, `(N, C, D, H, W)`, or one, `(C, D, H, W)`.
        w: Kernels, `(O, C // groups, M, K, L)`.
        stride: Voxels from one window to the next, at least 1; one number, or one for each axis, here and below.
        padding: Number of zeros added to each side. `same` keeps the sizes: `stride` must be 1, and of an odd number
            the extra zero is at the end. `valid` adds none.
        dilation: Distance between neighbouring elements of a kernel, in voxels, at least 1.
        groups: Number of groups of channels and kernels; each kernel reads only the channels of its group.

    Returns:
        `(N, O, (D + 2 padding - dilation (M - 1) - 1) // stride + 1, …)`, height and width likewise, without a batch if
        `x` has none.

    Raises:
        ShapeError: A rank is wrong, channels do not match, a kernel is larger than the padded volume, or a number is
            too small.
        DTypeError: The dtypes differ, or are not float.

    Source:
        Dumoulin & Visin, [A guide to convolution arithmetic](https://arxiv.org/abs/1603.07285), relationship 6 and
        §5.1; the arguments are those of PyTorch.

    Examples:
        >>> volumes, kernels = tg.uniform((2, 1, 6, 8, 8), rng=0), tg.normal((4, 1, 3, 3, 3), rng=1)
        >>> tg.conv3d(volumes, kernels).shape
        (2, 4, 4, 6, 6)
        >>> tg.conv3d(volumes, kernels, padding="same").shape
        (2, 4, 6, 8, 8)
        >>> tg.conv3d(volumes, kernels, stride=(1, 2, 2), padding=1).shape
        (2, 4, 6, 4, 4)
    """
    return _correlated(3, x, w, stride, padding, dilation, groups)


def _shape(rank: int, x: Dims, w: Dims, stride: Any, padding: Any, dilation: Any, groups: Size) -> Dims:
    *batch, c = check_rank(x, rank)[:-rank]
    if len(w) != rank + 2:
        message = f"w {show(w)} has rank {len(w)}, not {rank + 2}"
        raise ShapeError(message)
    o, c_w, *kernel = w
    groups = at_least_one(groups, "groups")
    if surely_differ(c, c_w * groups):
        within = f" in {groups} groups" if surely_differ(groups, 1) else ""
        message = f"axis {len(batch)} of x {show(x)} has {c} channels but w {show(w)} expects {c_w * groups}{within}"
        raise ShapeError(message)
    if isinstance(o, int) and isinstance(groups, int) and o % groups:
        message = f"w has {o} kernels, which do not divide into {groups} groups"
        raise ShapeError(message)
    strides, dilations = numbers(stride, rank, "stride", 1), numbers(dilation, rank, "dilation", 1)
    numbers(tuple(kernel), rank, "the kernel", 1)
    if _is(padding, "same"):
        if any(surely_less(1, s) for s in strides):
            message = f"padding 'same' needs a stride of 1, not {stride}"
            raise ShapeError(message)
        return (*batch, o, *x[-rank:])
    paddings = numbers(0 if _is(padding, "valid") else padding, rank, "padding", 0)
    return (*batch, o, *windows(x, len(x) - rank, tuple(kernel), strides, paddings, dilations))


def _is(padding: Any, word: str) -> bool:
    return isinstance(padding, str) and padding == word  # a symbolic size does not support `==`


def _correlated(
    rank: int,
    x: Tensor[Any, T1, Float],
    w: Tensor[Any, T2, Float],
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor[Any, Merge[T1, T2], Float]:
    tensor_only(x, "x")
    tensor_only(w, "w")
    same_dtype(x, w, "w")
    float_only(x)
    shape: Any = _shape(rank, x.shape, w.shape, stride, padding, dilation, groups)
    *_, c = x.shape[:-rank]
    o, c_w, *kernel = w.shape
    n = x.shape[0] if x.ndim == rank + 2 else 1

    strides: Any = numbers(stride, rank, "stride", 1)
    dilations: Any = numbers(dilation, rank, "dilation", 1)
    padding_before: Any = (
        tuple(d * (k - 1) // 2 for d, k in zip(dilations, kernel, strict=True))
        if padding == "same"
        else numbers(0 if padding == "valid" else padding, rank, "padding", 0)
    )
    window = ConvWindow(shape[-rank:], strides, dilations, (1,) * rank, padding_before)
    cells, kernels = (n, groups, c // groups, *x.shape[-rank:]), (groups, o // groups, c_w, *kernel)
    return correlate(x, w, window, cells, kernels, shape)
