"""Pools of large images in NumPy: some images at a time, on several threads.

Intermediate results then stay in cache (benchmarks/devices.py, "tiles of images").
Here images are planes, `(P, *S)`, or have their channels last, `(N, *S, C)`, as they lie in memory. An index of
`Windows` without its first item selects the cells at a position in both.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from tapegrad.engines.numpy.buffers import BUFFERS, copy_runs
from tapegrad.engines.numpy.threads import run_in_threads, threads
from tapegrad.engines.thresholds import PARALLEL_MIN_ELEMENTS, TILED_POOL_MIN_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tapegrad.engines.interface import Pooling
    from tapegrad.engines.windows import Windows

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_POOLINGS: Final[dict[Pooling, tuple[np.ufunc, float]]] = {
    "add": (np.add, 0),
    "maximum": (np.maximum, -np.inf),
    "minimum": (np.minimum, np.inf),
}
_TILE_BYTES: Final = 1 << 20  # of images before pooling, which stay in cache beside all intermediate results


def is_tiled(x: Array, windows: Windows) -> bool:
    """Return whether images, before or after pooling, are pooled tile by tile."""
    is_large = prod(windows.shape) >= TILED_POOL_MIN_ELEMENTS
    return is_large and x.dtype.char in "fd" and _has_dense_images(x, len(windows.sizes))


def pooled(x: Array, windows: Windows, name: Pooling, *, by_axes: bool) -> Array:
    """Reduce windows to their sums or extremes, axis after axis if `by_axes`."""
    function, outside = _POOLINGS[name]
    steps = _steps(windows) if by_axes else [windows]
    rank, are_planes = len(steps[0].sizes), x.flags.c_contiguous
    y = _empty_like(x, steps[-1].sizes, are_planes=are_planes)
    images, results = (_images(one, rank, are_planes=are_planes) for one in (x, y))
    channels = images.shape[1 + rank :]

    def work(tiles: Sequence[slice], count: int) -> None:
        around = [_around(step, count, channels, x.dtype, outside) for step in steps]
        reduced = [BUFFERS.empty((count, *step.sizes, *channels), x.dtype) for step in steps[:-1]]
        for tile in tiles:
            cells, n = images[tile], len(images[tile])
            outs = [*(one[:n] for one in reduced), results[tile]]
            for step, padded, out in zip(steps, around, outs, strict=True):
                if padded is not None:
                    padded[:n][_inner(step)] = cells
                    cells = padded[:n]
                _reduce([cells[_of_layout(index)] for index in step.indices], function, out)
                cells = out

    _run_on_tiles(work, images)
    return y


def sums_back(dy: Array, windows: Windows, *, by_axes: bool) -> Array:
    """Add each gradient to all cells of its window, axis after axis if `by_axes`."""
    steps = _steps(windows) if by_axes else [windows]
    rank, are_planes = len(steps[0].sizes), dy.flags.c_contiguous
    dx = _empty_like(dy, steps[0].shape[-rank:], are_planes=are_planes)
    gradients, results = (_images(one, rank, are_planes=are_planes) for one in (dy, dx))
    channels = gradients.shape[1 + rank :]

    is_direct = not _is_padded(steps[0])  # the first step, which is the last here, writes the results themselves

    def work(tiles: Sequence[slice], count: int) -> None:
        memory = [
            BUFFERS.empty((count, *_padded_sizes(step), *channels), dy.dtype) for step in reversed(steps[is_direct:])
        ]
        for tile in tiles:
            found, n = gradients[tile], len(gradients[tile])
            outs = [*(one[:n] for one in memory), *([results[tile]] * is_direct)]
            for step, out in zip(reversed(steps), outs, strict=True):
                _scatter(step, [found] * len(step.indices), out)
                found = out[_inner(step)]
            if not is_direct:
                results[tile] = found

    _run_on_tiles(work, results)
    return dx


def extremes_back(x: Array, y: Array, dy: Array, windows: Windows, *, is_of_relu: bool = False) -> Array:
    """Add each gradient to the first cell of its window that equals the extreme `y`; NaN equals NaN.

    If `y` are the extremes of `relu(x)`, the gradient is that of `x`, and so 0 where `y` is not positive.
    """
    rank, bits, are_planes = len(windows.sizes), np.dtype(f"i{x.itemsize}"), x.flags.c_contiguous
    dx = _empty_like(x, x.shape[-rank:], are_planes=are_planes)
    images, extremes, gradients, results = (_images(one, rank, are_planes=are_planes) for one in (x, y, dy, dx))
    channels = images.shape[1 + rank :]
    insides = [inside.reshape(*inside.shape, *(1,) * len(channels)) for inside in windows.inside()]

    def work(tiles: Sequence[slice], count: int) -> None:
        dtypes = (bits, np.bool_, np.bool_, bits, x.dtype)
        memory = [BUFFERS.empty((count, *windows.sizes, *channels), dtype) for dtype in dtypes]
        padded = _around(windows, count, channels, x.dtype, np.nan)
        padded_results = None if padded is None else BUFFERS.empty(padded.shape, x.dtype)
        for tile in tiles:
            cells, found, n = images[tile], extremes[tile], len(images[tile])
            upstream, *buffers = (one[:n] for one in memory)
            if padded is not None:
                padded[:n][_inner(windows)] = cells
                cells = padded[:n]
            given = gradients[tile].view(bits)
            if is_of_relu:
                given = _masked(np.greater(found, 0, out=buffers[0]), given, upstream)
            shares = _shares([cells[_of_layout(index)] for index in windows.indices], insides, found, given, buffers)
            out = results[tile] if padded_results is None else padded_results[:n]
            _scatter(windows, shares, out)
            if padded_results is not None:
                results[tile] = out[_inner(windows)]

    _run_on_tiles(work, results)
    return dx


def are_disjoint(indices: Sequence[Any]) -> bool:
    """Return whether strided indices of the last axes surely have no element in common."""
    slices = [[one for one in index if isinstance(one, slice)] for index in indices]
    steps = {tuple(one.step for one in each) for each in slices}
    starts = {tuple(one.start % one.step for one in each) for each in slices}
    return len(steps) == 1 and len(starts) == len(indices)


def _steps(windows: Windows) -> list[Windows]:
    """Return windows along one axis each, without those of one cell that change nothing."""
    steps = windows.along_axes()
    return [one for one in steps if max(*one.kernel, *one.stride) > 1 or _is_padded(one)] or [windows]


def _reduce(values: Sequence[Array], function: np.ufunc, out: Array) -> None:
    """Combine values one after the other."""
    first, *others = values
    if not others:
        np.copyto(out, first)
    for one in others:
        function(first, one, out=out)
        first = out


def _shares(
    cells: Sequence[Array], insides: Sequence[Array], found: Array, given: Array, buffers: Sequence[Array]
) -> Iterator[Array]:
    """Yield for each position of the windows the gradients of its cells: of those that are the first to equal `found`.

    Args:
        cells: Of each position.
        insides: Which of them are not of the padding.
        found: The extremes.
        given: The bits of their gradients.
        buffers: Memory for two truths, the bits of a result, which is overwritten by the next, and for cells.
    """
    is_first, is_open, masks, gathered = buffers
    has_nan = np.isnan(found, out=is_first).any()
    is_open[...] = True
    for one, inside in zip(cells[:-1], insides, strict=False):
        cell = one
        if not one.flags.c_contiguous and one.strides[-1] == one.itemsize:
            copy_runs(one, gathered)
            cell = gathered
        np.equal(cell, found, out=is_first)
        if has_nan:
            np.logical_or(is_first, np.isnan(cell), out=is_first)
        if not inside.all():
            np.logical_and(is_first, inside, out=is_first)
        np.logical_and(is_first, is_open, out=is_first)
        np.logical_xor(is_open, is_first, out=is_open)
        yield _masked(is_first, given, masks).view(found.dtype)
    yield _masked(is_open, given, masks).view(found.dtype)  # where no cell before the last is equal, the last one is


def _scatter(windows: Windows, values: Iterable[Array], out: Array) -> None:
    """Add values to zeros, each at the cells of a position of the windows."""
    are_apart = are_disjoint(windows.indices)
    if not are_apart or len(windows.indices) * prod(windows.sizes) < prod(_padded_sizes(windows)):
        out.fill(0)
    has_channels = out.ndim > 1 + len(windows.sizes)
    for index, value in zip(windows.indices, values, strict=True):
        cells = out[_of_layout(index)]
        if not are_apart:
            np.add(cells, value, out=cells)
        elif has_channels:
            copy_runs(value, cells)
        else:
            np.copyto(cells, value)


def _masked(condition: Array, x: Array, out: Array) -> Array:
    """Return the bits of `x` where a condition is true, and 0 elsewhere; the condition is overwritten.

    See `benchmarks/devices.py`, "a mask".
    """
    np.negative(condition.view(np.int8), out=condition.view(np.int8))
    np.copyto(out, condition.view(np.int8))  # all bits are set where the condition is true
    return np.bitwise_and(out, x, out=out)


def _run_on_tiles(work: Callable[[Sequence[slice], int], None], images: Array) -> None:
    """Call a function with some tiles of images, and with how many images a tile has at most, on several threads."""
    is_worth_it = images.size >= PARALLEL_MIN_ELEMENTS
    share = -(-len(images) // (2 * threads())) if is_worth_it else len(images)  # no thread waits long for another
    count = max(1, min(share, _TILE_BYTES // images[0].nbytes))
    tiles = [slice(first, first + count) for first in range(0, len(images), count)]
    run_in_threads(lambda first, last: work(tiles[first:last], count), len(tiles), is_worth_it=is_worth_it)


def _has_dense_images(x: Array, rank: int) -> bool:
    return x.size > 0 and (x.flags.c_contiguous or np.moveaxis(x, -rank - 1, -1).flags.c_contiguous)


def _images(x: Array, rank: int, *, are_planes: bool) -> Array:
    """Return planes, or images with their channels last; a copy if they have another order in memory."""
    if are_planes:
        return x.reshape(-1, *x.shape[-rank:])
    last = np.moveaxis(x, -rank - 1, -1)
    return np.ascontiguousarray(last).reshape(-1, *last.shape[-rank - 1 :])


def _around(windows: Windows, count: int, channels: Sequence[int], dtype: Any, outside: float) -> Array | None:
    """Return images of the padding alone, into which cells are copied; None if there is no padding."""
    if not _is_padded(windows):
        return None
    images = BUFFERS.empty((count, *_padded_sizes(windows), *channels), dtype)
    images.fill(outside)
    return images


def _is_padded(windows: Windows) -> bool:
    return any(windows.padding_before) or any(windows.padding_after)


def _padded_sizes(windows: Windows) -> tuple[int, ...]:
    sizes = windows.shape[-len(windows.sizes) :]
    return tuple(b + n + a for b, n, a in zip(windows.padding_before, sizes, windows.padding_after, strict=True))


def _inner(windows: Windows) -> tuple[slice, ...]:
    """Return the index of the cells within the padding."""
    sizes = windows.shape[-len(windows.sizes) :]
    return (slice(None), *(slice(b, b + n) for b, n in zip(windows.padding_before, sizes, strict=True)))


def _of_layout(index: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return an index of `Windows` for planes and for images with channels last."""
    return (slice(None), *index[1:])


def _empty_like(x: Array, sizes: Sequence[int], *, are_planes: bool) -> Array:
    """Return uninitialized images of other sizes."""
    *batch, channels = x.shape[: -len(sizes)]
    if are_planes:
        return BUFFERS.empty((*batch, channels, *sizes), x.dtype)
    return np.moveaxis(BUFFERS.empty((*batch, *sizes, channels), x.dtype), -1, -len(sizes) - 1)
