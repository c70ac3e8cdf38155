"""Windows of pooling ops: their number and positions."""

from __future__ import annotations

from typing import Any

from tapegrad.engines.windows import Windows
from tapegrad.errors.options import as_flag
from tapegrad.ops._lowering import check_rank
from tapegrad.sizes import Dims, windows
from tapegrad.sizes.constraints import numbers, windows_of


def pool_shape(
    rank: int, x: Dims, kernel: Any, stride: Any, padding: Any, dilation: Any = 1, *, ceil_mode: bool = False
) -> Dims:
    """Return the shape after pooling the last `rank` axes; `stride` None is the size of the kernel."""
    check_rank(x, rank)
    kernels, strides, paddings, dilations = windows_of(rank, kernel, stride, padding, dilation)
    counts = windows(x, len(x) - rank, kernels, strides, paddings, dilations, ceil_mode=as_flag(ceil_mode, "ceil_mode"))
    return (*x[:-rank], *counts)


def windows_over(
    x: Any, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any = 1, *, ceil_mode: bool = False
) -> Windows:
    """Return the windows over the last `rank` axes of a raw value."""
    before: Any = numbers(padding, rank, "padding", 0)
    sizes: Any = pool_shape(rank, x.shape, kernel, stride, padding, dilation, ceil_mode=ceil_mode)[-rank:]
    kernels: Any = numbers(kernel, rank, "kernel", 1)
    strides: Any = numbers(kernel if stride is None else stride, rank, "stride", 1)
    dilations: Any = numbers(dilation, rank, "dilation", 1)
    after = before
    if ceil_mode:
        axes = zip(x.shape[-rank:], sizes, kernels, strides, before, dilations, strict=True)
        after = tuple(max((m - 1) * s + (k - 1) * d + 1 - n - p, p) for n, m, k, s, p, d in axes)
    return Windows(x.shape, sizes, kernels, strides, before, dilations, after)
