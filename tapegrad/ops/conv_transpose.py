"""Transposed convolutions, which compute the gradient of a convolution with respect to its input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import ConvWindow
from tapegrad.errors import ShapeError
from tapegrad.ops._lowering import at_least_one, check_rank, correlate
from tapegrad.ops.elementwise import float_only
from tapegrad.sizes import Dims, Size, at_least, covered, show, surely_differ
from tapegrad.sizes.constraints import numbers
from tapegrad.tensors.operands import same_dtype, tensor_only

if TYPE_CHECKING:
    from tapegrad.autograd.tape import Merge
    from tapegrad.tensors import T1, T2, Float, Tensor


def conv_transpose_shape(
    x: Dims,
    w: Dims,
    *,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Dims:
    """Return `(N, O, ...)`, or without `N`: the channels of all groups, and the sizes that the kernels cover."""
    return _shape(len(at_least(3, w=w)) - 2, x, w, stride, padding, output_padding, dilation, groups)


def conv_transpose1d_shape(
    x: Dims,
    w: Dims,
    *,
    stride: int | tuple[int] = 1,
    padding: int | tuple[int] = 0,
    output_padding: int | tuple[int] = 0,
    dilation: int | tuple[int] = 1,
    groups: int = 1,
) -> Dims:
    """Return `(N, O, L_out)`, or without `N`: the channels of all groups, and the length that the kernels cover."""
    return _shape(1, x, w, stride, padding, output_padding, dilation, groups)


def conv_transpose2d_shape(
    x: Dims,
    w: Dims,
    *,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    output_padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> Dims:
    """Return `(N, O, H_out, W_out)`, or without `N`: the channels of all groups, and the sizes covered."""
    return _shape(2, x, w, stride, padding, output_padding, dilation, groups)


def conv_transpose3d_shape(
    x: Dims,
    w: Dims,
    *,
    stride: int | tuple[int, int, int] = 1,
    padding: int | tuple[int, int, int] = 0,
    output_padding: int | tuple[int, int, int] = 0,
    dilation: int | tuple[int, int, int] = 1,
    groups: int = 1,
) -> Dims:
    """Return `(N, O, D_out, H_out, W_out)`, or without `N`: the channels of all groups, and the sizes covered."""
    return _shape(3, x, w, stride, padding, output_padding, dilation, groups)


@op(conv_transpose_shape)
def conv_transpose(
    x: Tensor[Any, T1, Float],
    w: Tensor[Any, T2, Float],
    *,
    stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    output_padding: int | tuple[int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the transposed convolution along any number of axes: the sum of a scaled kernel per element.

        y[n,o,i] = ∑_(c, k, j : s j + d k - p = i) x[n,c,j] w[c,o,k]

    The rank of `w` determines the number of axes; `conv_transpose1d`, `conv_transpose2d` and `conv_transpose3d` fix it.

    Args:
        x: A batch, `(N, C, ...)`, or one input, `(C, ...)`.
        w: Kernels, `(C, O // groups, ...)`, along at least one axis.
        stride: Elements from one kernel to the next, at least 1; one number, or one for each axis, here and below.
        padding: Elements removed from each side of the result.
        output_padding: Elements added at the end, fewer than `stride`; they are not zero where a kernel covers them.
        dilation: Distance between neighbouring elements of a kernel, in elements of the result, at least 1.
        groups: Number of groups of input and output channels; each group is computed separately.

    Returns:
        `(N, O, ...)`, each size as for `conv_transpose1d`, without a batch if `x` has none.

    Raises:
        ShapeError: A rank is wrong, channels do not match, the result is empty, or a number is too small or too large.
        DTypeError: The dtypes differ, or are not float.

    Source:
        Dumoulin & Visin, [A guide to convolution arithmetic](https://arxiv.org/abs/1603.07285), relationship 14.

    Examples:
        >>> x, w = tg.tensor([[[1.0, 2.0, 3.0]]]), tg.tensor([[[1.0, 10.0]]])
        >>> tg.conv_transpose(x, w, stride=2).tolist()
        [[[1.0, 10.0, 2.0, 20.0, 3.0, 30.0]]]
        >>> images, kernels = tg.uniform((2, 8, 5, 5), rng=0), tg.normal((8, 3, 4, 4), rng=1)
        >>> tg.conv_transpose(images, kernels, stride=2, padding=1).shape
        (2, 3, 10, 10)
    """
    tensor_only(w, "w")
    return _conv_transpose(len(at_least(3, w=w.shape)) - 2, x, w, stride, padding, output_padding, dilation, groups)


@op(conv_transpose1d_shape)
def conv_transpose1d(
    x: Tensor[Any, T1, Float],
    w: Tensor[Any, T2, Float],
    *,
    stride: int | tuple[int] = 1,
    padding: int | tuple[int] = 0,
    output_padding: int | tuple[int] = 0,
    dilation: int | tuple[int] = 1,
    groups: int = 1,
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the 1D transposed convolution: the sum of a scaled kernel per element of a batch of sequences.

        y[n,o,i] = ∑_(c, k, j : s j + d k - p = i) x[n,c,j] w[c,o,k]

    It is the gradient of `conv1d` with respect to its input. With the same options it returns the length of that input;
    where several lengths are possible, `output_padding` selects one.

    Args:
        x: Sequences, `(N, C, L)`, or one, `(C, L)`.
        w: Kernels, `(C, O // groups, K)`.
        stride: Elements from one kernel to the next, at least 1.
        padding: Elements removed from each side of the result.
        output_padding: Elements added at the end, fewer than `stride`; they are not zero where a kernel covers them.
        dilation: Distance between neighbouring elements of a kernel, in elements of the result, at least 1.
        groups: Number of groups of input and output channels; each group is computed separately.

    Returns:
        `(N, O, (L - 1) stride - 2 padding + dilation (K - 1) + 1 + output_padding)`, without a batch if `x` has none.

    Raises:
        ShapeError: A rank is wrong, channels do not match, the result is empty, or a number is too small or too large.
        DTypeError: The dtypes differ, or are not float.

    Source:
        Dumoulin & Visin, [A guide to convolution arithmetic](https://arxiv.org/abs/1603.07285), relationship 14; the
        arguments are those of PyTorch.

    Examples:
        >>> x, w = tg.tensor([[[1.0, 2.0, 3.0]]]), tg.tensor([[[1.0, 10.0]]])  # 1 sequence, 1 channel
        >>> tg.conv_transpose1d(x, w).tolist()
        [[[1.0, 12.0, 23.0, 30.0]]]
        >>> tg.conv_transpose1d(x, w, stride=2).tolist()
        [[[1.0, 10.0, 2.0, 20.0, 3.0, 30.0]]]
        >>> tg.conv_transpose1d(x, w, stride=2, output_padding=1).shape
        (1, 1, 7)
    """
    return _conv_transpose(1, x, w, stride, padding, output_padding, dilation, groups)


@op(conv_transpose2d_shape)
def conv_transpose2d(
    x: Tensor[Any, T1, Float],
    w: Tensor[Any, T2, Float],
    *,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    output_padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the 2D transposed convolution: the sum of a scaled kernel per pixel of a batch of images.

        y[n,o,i,j] = ∑_(c, k, l, h, v) x[n,c,h,v] w[c,o,k,l]
            for the h and v with s h + d k - p = i and s v + d l - p = j

    It is the gradient of `conv2d` with respect to its input. With the same options it returns the sizes of that input;
    where several sizes are possible, `output_padding` selects one.

    Args:
        x: Images, `(N, C, H, W)`, or one, `(C, H, W)`.
        w: Kernels, `(C, O // groups, K, L)`.
        stride: Pixels from one kernel to the next, at least 1; one number, or one for each axis, here and below.
        padding: Pixels removed from each side of the result.
        output_padding: Pixels added at the end, fewer than `stride`; they are not zero where a kernel covers them.
        dilation: Distance between neighbouring elements of a kernel, in pixels, at least 1.
        groups: Number of groups of input and output channels; each group is computed separately.

    Returns:
        `(N, O, (H - 1) stride - 2 padding + dilation (K - 1) + 1 + output_padding, …)`, the width likewise, without a
        batch if `x` has none.

    Raises:
        ShapeError: A rank is wrong, channels do not match, the result is empty, or a number is too small or too large.
        DTypeError: The dtypes differ, or are not float.

    Source:
        Dumoulin & Visin, [A guide to convolution arithmetic](https://arxiv.org/abs/1603.07285), relationship 14; the
        arguments are those of PyTorch.

    Examples:
        >>> images, kernels = tg.uniform((2, 8, 5, 5), rng=0), tg.normal((8, 3, 4, 4), rng=1)
        >>> tg.conv_transpose2d(images, kernels, stride=2, padding=1).shape
        (2, 3, 10, 10)
        >>> pixels, kernel = tg.tensor([[[1.0, 2.0]]]), tg.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> tg.conv_transpose2d(pixels, kernel, stride=2).tolist()
        [[[1.0, 2.0, 2.0, 4.0], [3.0, 4.0, 6.0, 8.0]]]
    """
    return _conv_transpose(2, x, w, stride, padding, output_padding, dilation, groups)


@op(conv_transpose3d_shape)
def conv_transpose3d(
    x: Tensor[Any, T1, Float],
    w: Tensor[Any, T2, Float],
    *,
    stride: int | tuple[int, int, int] = 1,
    padding: int | tuple[int, int, int] = 0,
    output_padding: int | tuple[int, int, int] = 0,
    dilation: int | tuple[int, int, int] = 1,
    groups: int = 1,
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the 3D transposed convolution: the sum of a scaled kernel per voxel of a batch of volumes.

        y[n,o,h,i,j] = ∑_(c, m, k, l, q, u, v) x[n,c,q,u,v] w[c,o,m,k,l]
            for the q, u and v with s q + d m - p = h, s u + d k - p = i
            and s v + d l - p = j

    It is the gradient of `conv3d` with respect to its input. With the same options it returns the sizes of that input;
    where several sizes are possible, `output_padding` selects one.

    Args:
        x: Volumes, `(N, C, D, H, W)`, or one, `(C, D, H, W)`.
        w: Kernels, `(C, O // groups, M, K, L)`.
        stride: Voxels from one kernel to the next, at least 1; one number, or one for each axis, here and below.
        padding: Voxels removed from each side of the result.
        output_padding: Voxels added at the end, fewer than `stride`; they are not zero where a kernel covers them.
        dilation: Distance between neighbouring elements of a kernel, in voxels, at least 1.
        groups: Number of groups of input and output channels; each group is computed separately.

    Returns:
        `(N, O, (D - 1) stride - 2 padding + dilation (M - 1) + 1 + output_padding, …)`, height and width likewise,
        without a batch if `x` has none.

    Raises:
        ShapeError: A rank is wrong, channels do not match, the result is empty, or a number is too small or too large.
        DTypeError: The dtypes differ, or are not float.

    Source:
        Dumoulin & Visin, [A guide to convolution arithmetic](https://arxiv.org/abs/1603.07285), relationship 14; the
        arguments are those of PyTorch.

    Examples:
        >>> volumes, kernels = tg.uniform((2, 4, 3, 5, 5), rng=0), tg.normal((4, 1, 2, 2, 2), rng=1)
        >>> tg.conv_transpose3d(volumes, kernels, stride=2).shape
        (2, 1, 6, 10, 10)
        >>> tg.conv_transpose3d(volumes, kernels, stride=(1, 2, 2), output_padding=(0, 1, 1)).shape
        (2, 1, 4, 11, 11)
    """
    return _conv_transpose(3, x, w, stride, padding, output_padding, dilation, groups)


def _shape(
    rank: int, x: Dims, w: Dims, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: Size
) -> Dims:
    *batch, c = check_rank(x, rank)[:-rank]
    if len(w) != rank + 2:
        message = f"w {show(w)} has rank {len(w)}, not {rank + 2}"
        raise ShapeError(message)
    c_w, o, *kernel = w
    groups = at_least_one(groups, "groups")
    if surely_differ(c, c_w):
        message = f"axis {len(batch)} of x {show(x)} has {c} channels but w {show(w)} expects {c_w}"
        raise ShapeError(message)
    if isinstance(c, int) and isinstance(groups, int) and c % groups:
        message = f"axis {len(batch)} of x {show(x)} has {c} channels, which do not divide into {groups} groups"
        raise ShapeError(message)
    strides, dilations = numbers(stride, rank, "stride", 1), numbers(dilation, rank, "dilation", 1)
    paddings, beyond = numbers(padding, rank, "padding", 0), numbers(output_padding, rank, "output_padding", 0)
    numbers(tuple(kernel), rank, "the kernel", 1)
    numbers(x[-rank:], rank, "the input", 1)
    for more, s in zip(beyond, strides, strict=True):
        if isinstance(more, int) and isinstance(s, int) and more >= s:
            message = f"output_padding is {more}, not below the stride, {s}"
            raise ShapeError(message)
    along = zip(x[-rank:], kernel, strides, paddings, dilations, beyond, strict=True)
    sizes = (covered(n, k, stride=s, padding=p, dilation=d, beyond=more) for n, k, s, p, d, more in along)
    return (*batch, o * groups, *sizes)


def _conv_transpose(
    rank: int,
    x: Tensor[Any, T1, Float],
    w: Tensor[Any, T2, Float],
    stride: Any,
    padding: Any,
    output_padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor[Any, Merge[T1, T2], Float]:
    tensor_only(x, "x")
    tensor_only(w, "w")
    same_dtype(x, w, "w")
    float_only(x)
    shape: Any = _shape(rank, x.shape, w.shape, stride, padding, output_padding, dilation, groups)
    *_, c = x.shape[:-rank]
    n = x.shape[0] if x.ndim == rank + 2 else 1

    strides: Any = numbers(stride, rank, "stride", 1)
    dilations: Any = numbers(dilation, rank, "dilation", 1)
    paddings: Any = numbers(padding, rank, "padding", 0)
    padding_before = tuple(d * (k - 1) - p for d, k, p in zip(dilations, w.shape[2:], paddings, strict=True))
    window = ConvWindow(shape[-rank:], (1,) * rank, dilations, strides, padding_before)
    cells, kernels = (n, groups, c // groups, *x.shape[-rank:]), (groups, c // groups, *w.shape[1:])
    return correlate(x, w, window, cells, kernels, shape, flipped=True)
