"""Convolution in NumPy: windows laid out as columns, some images at a time, and one matrix product for them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

if TYPE_CHECKING:
    from tapegrad.backend.value import Slide

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_BYTES: Final = 1 << 21  # of columns at a time: they stay in cache, and fresh pages are paid for once


def convolve(x: Array, w: Array, slide: Slide) -> Array:
    r"""Slides kernels over cells, see `Backend.convolve`.

    $$y_{ngo,i} = \\sum_{ck} x_{ngc,\\,(si + dk - b) / r} \\, w_{gock}$$
    """
    (n, g, _, *_), (_, o, c, *kernel) = x.shape, w.shape
    inner, outer = c * prod(kernel), prod(slide.sizes)
    if not inner * outer:
        return np.zeros((n, g, o, *slide.sizes), x.dtype)

    windows = _windows(x, kernel, slide)  # (G, C, *K, N, *S')
    rank = len(kernel)
    axes = tuple(range(windows.ndim))
    # The longer of the last axes comes last, so that whole runs are copied.
    is_turned = kernel[-1] > slide.sizes[-1]
    if is_turned:
        windows = windows.transpose(0, *axes[2 + rank :], *axes[1 : 2 + rank])  # (G, N, *S', C, *K)
    filters = w.reshape(g, o, inner)
    y = np.empty((g, o, n * outer), x.dtype)
    count = max(1, _BYTES // (g * inner * outer * x.itemsize))  # of images at a time
    room = np.empty(min(count, n) * g * inner * outer, x.dtype)
    for first in range(0, n, count):
        images = slice(first, min(first + count, n))
        part = windows[:, images] if is_turned else windows[(slice(None),) * (2 + rank) + (images,)]
        columns = room[: part.size].reshape(part.shape)
        np.copyto(columns, part)
        flat = columns.reshape(g, -1, inner).swapaxes(1, 2) if is_turned else columns.reshape(g, inner, -1)
        np.matmul(filters, flat, out=y[:, :, images.start * outer : images.stop * outer])
    # An image's channels lie apart, as the next convolution and the gradient of the kernels read them.
    return y.reshape(g, o, n, *slide.sizes).transpose(2, 0, 1, *range(3, 3 + rank))


def _windows(x: Array, kernel: list[int], slide: Slide) -> Array:
    """Returns a view of every window, `(G, C, *K, N, *S')`."""
    x = _padded(x, kernel, slide)
    n, g, c, *cells = x.strides
    apart = [step * d for step, d in zip(cells, slide.dilation, strict=True)]
    strides = [step * s for step, s in zip(cells, slide.stride, strict=True)]
    shape = (x.shape[1], x.shape[2], *kernel, x.shape[0], *slide.sizes)
    return as_strided(x, shape, (g, c, *apart, n, *strides), writeable=False)


def _padded(x: Array, kernel: list[int], slide: Slide) -> Array:
    """Spreads the cells and surrounds them with as many zeros as the windows see; what none sees is cut off."""
    cells = x.shape[3:]
    seen = [(m - 1) * s + (k - 1) * d + 1 for m, k, s, d in zip(slide.sizes, kernel, *slide[1:3], strict=True)]
    if not any(slide.before) and all(
        r == 1 and size <= n for r, size, n in zip(slide.spread, seen, cells, strict=True)
    ):
        return x
    source: list[Any] = [...]
    target: list[Any] = [...]
    for n, size, r, b in zip(cells, seen, slide.spread, slide.before, strict=True):
        first, last = max(0, -(b // r)), min(n - 1, (size - 1 - b) // r)
        source.append(slice(first, max(first, last + 1)))
        target.append(slice(b + first * r, max(b + first * r, b + last * r + 1), r))
    out = np.zeros((*x.shape[:3], *seen), x.dtype)
    out[tuple(target)] = x[tuple(source)]
    return out
