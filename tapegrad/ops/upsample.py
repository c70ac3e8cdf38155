"""Resampling of images and sequences: nearest-neighbour, linear and cubic interpolation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.errors.options import check_word
from tapegrad.ops._lowering import check_rank
from tapegrad.ops.arithmetic import add, mul
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.index import take
from tapegrad.sizes import Dims, Size, at_least, several_ints
from tapegrad.sizes.constraints import numbers
from tapegrad.sizes.symbols import is_symbol
from tapegrad.tensors import Float, T, Tensor, node
from tapegrad.tensors.operands import fixed, tensor_only

if TYPE_CHECKING:
    from tapegrad.engines import Int
    from tapegrad.tensors import Sizes


def upsample2d_shape(x: Dims, scale: int | tuple[int, int]) -> Dims:
    """Return the shape with height and width multiplied by `scale`."""
    height, width = numbers(scale, 2, "scale", 1)
    check_rank(x, 2)
    numbers(x[-2:], 2, "the input", 1)
    return (*x[:-2], x[-2] * height, x[-1] * width)


def interpolate_shape(x: Dims, size: Dims | Size) -> Dims:
    """Return the shape with the given sizes as the last ones."""
    sizes: Dims = numbers(several_ints(size, "size"), len(several_ints(size, "size")), "size", 1)
    rest = at_least(len(sizes), x=x)
    numbers(rest[len(rest) - len(sizes) :], len(sizes), "the input", 1)
    return (*rest[: len(rest) - len(sizes)], *sizes)


@op(interpolate_shape)
def interpolate(
    x: Tensor[Any, T, Float],
    size: Sizes | Int,
    mode: Literal["nearest", "linear", "cubic"] = "nearest",
    *,
    align_corners: bool = False,
) -> Tensor[Any, T, Float]:
    """Resample the last axes to given sizes, with nearest-neighbour, linear or cubic interpolation.

        y[i] = x[⌊i H / H'⌋]   (nearest)
        y[i] = ∑_k w(u[i] - k) x[k]   (linear, cubic)
        dx[k] = ∑_i w(u[i] - k) dy[i]

    along each axis in turn. Here u is `(i + 1/2) H / H' - 1/2`, or with `align_corners` `i (H - 1) / (H' - 1)`; beyond
    the ends the first and the last element are repeated. The weight w is `1 - |t|` up to a distance of 1, or the cubic
    one of Keys with `a = -3/4`, up to a distance of 2.

    Args:
        x: Any leading axes, then those to resample, each at least 1; a float dtype. Images are `(N, C, H, W)`.
        size: The new sizes of the last axes, at least 1, such as `(H', W')`; an int is that of the last axis alone.
        mode: `nearest` copies elements, `linear` weighs two along each axis, `cubic` four. With two axes these are
            bilinear and bicubic. None averages over what a smaller image leaves out: `adaptive_avg_pool2d` does.
        align_corners: Whether to align the centres of the outer elements instead of their outer edges; not for
            `nearest`.

    Returns:
        The shape of `x` with `size` as the last sizes. `linear` and `cubic` may give NaN next to an infinity, 0 * inf.

    Raises:
        ShapeError: `x` has fewer axes than `size`, an axis to resample is empty, or a size is below 1.
        DTypeError: `x` is not a float, or a size is not an int.
        ValueError: `mode` is unknown, or `align_corners` is set for `nearest`.

    Source:
        PyTorch 2.13, `torch.nn.functional.interpolate`. Keys,
        [Cubic convolution interpolation](https://doi.org/10.1109/TASSP.1981.1163711), eq. 15 before a is chosen.

    Examples:
        >>> tg.interpolate(tg.tensor([0.0, 4.0, 8.0]), 2).tolist()
        [0.0, 4.0]
        >>> image = tg.tensor([[0.0, 4.0], [8.0, 12.0]])
        >>> tg.interpolate(image, (3, 3), mode="linear", align_corners=True).tolist()
        [[0.0, 2.0, 4.0], [4.0, 6.0, 8.0], [8.0, 10.0, 12.0]]
        >>> tg.interpolate(tg.zeros((2, 3, 32, 48)), (20, 30), mode="cubic").shape
        (2, 3, 20, 30)
    """
    tensor_only(x, "x")
    float_only(x)
    _check_mode("interpolate", mode, ("nearest", "linear", "cubic"), align_corners=align_corners)
    sizes = several_ints(size, "size")
    shape: Any = interpolate_shape(x.shape, sizes)
    if not any(map(is_symbol, shape)):
        np.empty(shape, x.dtype)  # fails here if memory is too small, not after the first axis
    y: Any = x
    for axis in range(-len(sizes), 0):
        n, count = x.shape[axis], shape[axis]
        if mode == "nearest":
            y = take(y, node(np.arange(count) * n // count), axis)
        elif mode == "linear":
            y = _interpolated(y, axis, _source_positions(n, count, align_corners=align_corners))
        else:
            y = _cubic(y, axis, _unclipped_positions(n, count, align_corners=align_corners))
    result: Tensor[Any, T, Float] = y
    return result


@op(upsample2d_shape)
def upsample2d(
    x: Tensor[Any, T, Float],
    scale: int | tuple[int, int],
    mode: Literal["nearest", "bilinear"] = "nearest",
    *,
    align_corners: bool = False,
) -> Tensor[Any, T, Float]:
    """Upsample images by integer factors, with nearest-neighbour or bilinear interpolation.

        y[i] = x[⌊i / s⌋]   (nearest)
        y[i] = (1 - t) x[⌊u⌋] + t x[⌊u⌋ + 1]
        t = u - ⌊u⌋   (bilinear)

    along height and then width. Here u is `(i + 1/2) / s - 1/2`, clamped to the range of the pixels, or with
    `align_corners` `i (H - 1) / (s H - 1)`.

    Args:
        x: Images, `(N, C, H, W)`, or one, `(C, H, W)`, a float dtype, H and W at least 1.
        scale: The factor s, at least 1; one number, or one for height and one for width.
        mode: `nearest` copies pixels, `bilinear` interpolates between neighbours.
        align_corners: Whether to align the centres of the corner pixels instead of the corners of the image; for
            `bilinear` only.

    Returns:
        `(N, C, s H, s W)`, without a batch if `x` has none. `bilinear` may give NaN next to an infinity, 0 * inf.

    Raises:
        ShapeError: The rank is wrong, the image is empty, or `scale` is below 1.
        DTypeError: `x` is not a float.
        ValueError: `mode` is unknown, or `align_corners` is set for `nearest`.

    Source:
        PyTorch 2.13, `torch.nn.functional.interpolate`.

    Examples:
        >>> image = tg.tensor([[[1.0, 3.0]]])
        >>> tg.upsample2d(image, 2).tolist()
        [[[1.0, 1.0, 3.0, 3.0], [1.0, 1.0, 3.0, 3.0]]]
        >>> tg.upsample2d(image, (1, 2), mode="bilinear").tolist()
        [[[1.0, 1.5, 2.5, 3.0]]]
        >>> tg.upsample2d(tg.zeros((2, 3, 8, 8)), 2).shape
        (2, 3, 16, 16)
    """
    tensor_only(x, "x")
    float_only(x)
    _check_mode("upsample2d", mode, ("nearest", "bilinear"), align_corners=align_corners)
    shape: Any = upsample2d_shape(x.shape, scale)
    if not any(map(is_symbol, shape)):
        np.empty(shape, x.dtype)  # fails here if memory is too small, not after the first axis
    y: Any = x
    for axis, n, size in zip((-2, -1), x.shape[-2:], shape[-2:], strict=True):
        if mode == "nearest":
            y = take(y, node(np.arange(size) * n // size), axis)
        else:
            y = _interpolated(y, axis, _source_positions(n, size, align_corners=align_corners))
    result: Tensor[Any, T, Float] = y
    return result


def _source_positions(n: int, size: int, *, align_corners: bool) -> Any:
    """Return the input position, as a float, of each output pixel, clamped to the range of the input."""
    return np.clip(_unclipped_positions(n, size, align_corners=align_corners), 0, n - 1)


def _unclipped_positions(n: int, size: int, *, align_corners: bool) -> Any:
    if align_corners:
        return np.arange(size) * ((n - 1) / max(size - 1, 1))
    return (np.arange(size) + 0.5) * n / size - 0.5


def _interpolated(x: Any, axis: int, positions: Any) -> Any:
    lower = np.minimum(positions.astype(np.int64), x.shape[axis] - 1)
    upper = np.minimum(lower + 1, x.shape[axis] - 1)
    share = (positions - lower).astype(x.dtype).reshape((-1, *(1,) * (-axis - 1)))
    before, after = take(x, node(lower), axis), take(x, node(upper), axis)
    return add(mul(before, fixed(1 - share)), mul(after, fixed(share)))


def _cubic(x: Any, axis: int, positions: Any) -> Any:
    """Weigh four neighbours of each position by the cubic kernel; the ends of the axis are repeated."""
    first = np.floor(positions).astype(np.int64)
    shares = positions - first
    y: Any = None
    for step in range(-1, 3):
        places = np.clip(first + step, 0, x.shape[axis] - 1)
        weights = _cubic_weights(np.abs(shares - step)).astype(x.dtype).reshape((-1, *(1,) * (-axis - 1)))
        part = mul(take(x, node(places), axis), fixed(weights))
        y = part if y is None else add(y, part)
    return y


def _cubic_weights(distance: Any) -> Any:
    """Return the weights at distances from 0 to 2."""
    a = -0.75
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = a * (((distance - 5) * distance + 8) * distance - 4)
    return np.where(distance <= 1, near, far)


def _check_mode(call: str, mode: str, modes: tuple[str, ...], *, align_corners: bool) -> None:
    check_word(call, "mode", mode, modes)
    if align_corners and mode == "nearest":
        message = f"{call}: align_corners is set, but 'nearest' does not interpolate"
        raise ValueError(message)
