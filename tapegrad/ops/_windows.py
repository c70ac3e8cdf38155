"""Windows of pooling ops: their number and positions."""

from __future__ import annotations

from typing import Any

from tapegrad.engines.windows import Windows
from tapegrad.errors import ShapeError
from tapegrad.ops._lowering import check_rank, numbers
from tapegrad.sizes import Dims, surely_less, windows


def pool_shape(rank: int, x: Dims, kernel: Any, stride: Any, padding: Any) -> Dims:
    """Return the shape after pooling the last `rank` axes; `stride` None is the size of the kernel."""
    check_rank(x, rank)
    kernels, paddings = numbers(kernel, rank, "kernel", 1), numbers(padding, rank, "padding", 0)
    strides = numbers(kernel if stride is None else stride, rank, "stride", 1)
    for k, p in zip(kernels, paddings, strict=True):
        if surely_less(k, p * 2):
            message = f"padding is {p}, more than half of a window of {k}"
            raise ShapeError(message)
    return (*x[:-rank], *windows(x, len(x) - rank, kernels, strides, paddings))


def windows_over(x: Any, rank: int, kernel: Any, stride: Any, padding: Any) -> Windows:
    """Return the windows over the last `rank` axes of a raw value."""
    padding_before: Any = numbers(padding, rank, "padding", 0)
    sizes: Any = pool_shape(rank, x.shape, kernel, stride, padding)[-rank:]
    kernels: Any = numbers(kernel, rank, "kernel", 1)
    strides: Any = numbers(kernel if stride is None else stride, rank, "stride", 1)
    return Windows(x.shape, sizes, kernels, strides, padding_before)
