"""Upsampling of images with nearest-neighbour or bilinear interpolation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.ops._lowering import check_rank, numbers
from tapegrad.ops.arithmetic import add, mul
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.index import take
from tapegrad.sizes.symbols import is_symbol
from tapegrad.tensor import Float, T, Tensor, node
from tapegrad.tensor.operands import fixed, tensor_only

if TYPE_CHECKING:
    from tapegrad.sizes import Dims


def upsample2d_shape(x: Dims, scale: int | tuple[int, int]) -> Dims:
    """Return the shape with height and width multiplied by `scale`."""
    height, width = numbers(scale, 2, "scale", 1)
    check_rank(x, 2)
    numbers(x[-2:], 2, "the input", 1)
    return (*x[:-2], x[-2] * height, x[-1] * width)


@op(upsample2d_shape)
def upsample2d(
    x: Tensor[Any, T, Float],
    scale: int | tuple[int, int],
    mode: Literal["nearest", "bilinear"] = "nearest",
    *,
    align_corners: bool = False,
) -> Tensor[Any, T, Float]:
    r"""Upsample images by integer factors, with nearest-neighbour or bilinear interpolation.

    $$y_{i} = x_{\lfloor i / s \rfloor} \text{ (nearest)}, \quad
    y_{i} = (1 - t) \, x_{\lfloor u \rfloor} + t \, x_{\lfloor u \rfloor + 1}, \quad t = u - \lfloor u \rfloor
    \text{ (bilinear)}$$

    along height and then width. Here u is $(i + 1/2) / s - 1/2$, clamped to the range of the pixels, or with
    `align_corners` $i (H - 1) / (s H - 1)$.

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
    _check_mode(mode, align_corners=align_corners)
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
    """Return the input position, as a float, of each output pixel."""
    if align_corners:
        return np.arange(size) * ((n - 1) / max(size - 1, 1))
    return np.clip((np.arange(size) + 0.5) * n / size - 0.5, 0, n - 1)


def _interpolated(x: Any, axis: int, positions: Any) -> Any:
    lower = np.minimum(positions.astype(np.int64), x.shape[axis] - 1)
    upper = np.minimum(lower + 1, x.shape[axis] - 1)
    share = (positions - lower).astype(x.dtype).reshape((-1, *(1,) * (-axis - 1)))
    before, after = take(x, node(lower), axis), take(x, node(upper), axis)
    return add(mul(before, fixed(1 - share)), mul(after, fixed(share)))


def _check_mode(mode: str, *, align_corners: bool) -> None:
    if mode not in ("nearest", "bilinear"):
        message = f"upsample2d: mode {mode!r} is neither 'nearest' nor 'bilinear'"
        raise ValueError(message)
    if align_corners and mode == "nearest":
        message = "upsample2d: align_corners is set, but 'nearest' does not interpolate"
        raise ValueError(message)
