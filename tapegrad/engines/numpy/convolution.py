"""Convolution in NumPy: windows are gathered block by block as the rows of a matrix, which a product multiplies.

A block fits into a cache beside the kernels, and one strided copy gathers it. With the channels last, the part of a
window along the last axis is contiguous. Where that part is short, as in images of one channel, the windows are
gathered as columns instead: then the positions along the last axis are contiguous.

Windows that are long along the last axis are not gathered along it: neighbouring windows overlap, but windows that are
one window length apart do not, and are the rows of a matrix without a copy. So there are as many matrices, called
phases, as a window is longer than the stride.

A result always has its channels last in memory. Later ops keep that order, so that a stack of convolutions converts
its images once.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from itertools import product
from math import gcd, prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tapegrad.engines.interface import ConvWindow
from tapegrad.engines.numpy.buffers import BUFFERS, copy_runs
from tapegrad.engines.thresholds import BY_CELLS_MIN_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Index: TypeAlias = "tuple[Any, ...]"

_GATHERED_BYTES: Final = 1 << 22  # of gathered cells at a time, or up to 4 times as many for large kernels
_MULTIPLIED_BYTES: Final = 1 << 21  # of cells whose products are added at a time
_ALONE_MIN_POSITIONS: Final = 1 << 11  # of an image with its channels first, from which on it is multiplied alone
_SHORT: Final = 16  # contiguous elements of a window, below which windows are gathered as columns
_LONG: Final = 5  # cells of a window along the last axis, from which on they are not gathered along it
_WIDE: Final = 64  # elements of these cells, below which they are gathered
_FEW_KERNELS: Final = 16  # with more of them the product takes most of the time
_WHOLE_AXIS: Final = slice(None)


def convolve(x: Array, w: Array, window: ConvWindow) -> Array:
    """Correlate cells with kernels, see `Backend.convolve`.

        y[n,g,o,i] = ∑_(c,k) x[n, g, c, (s i + d k - b) / r] w[g,o,c,k]

    The positions i and the elements k have symmetric roles: whichever are more numerous give the rows of a matrix,
    which has a column for each of the others.
    """
    kernel, sizes = w.shape[3:], window.sizes
    shape = (*x.shape[:2], w.shape[1], *sizes)
    if not x.size * w.size * prod(sizes):
        return np.zeros(shape, x.dtype)
    np.empty(shape, x.dtype)  # raises MemoryError here if it does not fit, before a plan of that size is made
    if len(sizes) == 1:
        flat = ConvWindow(*((one, *numbers) for one, numbers in zip((1, 1, 1, 1, 0), window, strict=True)))
        return convolve(x[..., None, :], w[..., None, :], flat)[..., 0, :]
    is_to_kernels = prod(kernel) > prod(sizes)
    if any(r > 1 for r in window.input_dilation):  # most of what would be gathered is zeros
        if is_to_kernels and all(d == 1 for d in window.dilation):
            return _with_exchanged_roles(x, w, window)
        if all(s == 1 for s in window.stride):
            return _interleaved(x, w, window)
    if is_to_kernels:
        return _by_elements(x, w, window)
    return _by_cells(x, w, window) if _has_few_kernels(x, w, window) else _by_positions(x, w, window)


def _has_few_kernels(x: Array, w: Array, window: ConvWindow) -> bool:
    """Return whether adding a number per kernel takes less time than gathering all channels, see `_by_cells`."""
    (n, g, c, *cells), o = x.shape, w.shape[1]
    gathered, added = prod(window.sizes) * c, prod(cells) * o
    is_possible = g == 1 and max(*window.stride, *window.input_dilation) == 1
    return is_possible and o <= _FEW_KERNELS and n * gathered >= BY_CELLS_MIN_ELEMENTS and 5 * added <= 2 * gathered


def _by_positions(x: Array, w: Array, window: ConvWindow) -> Array:
    """Multiply the windows at all positions by the kernels."""
    (n, g, *_), (_, o, _, *kernel) = x.shape, w.shape
    plan = _plan_for(x.shape, x.itemsize, tuple(kernel), *window, o)
    filters = w.transpose(0, 1, *(3 + axis for axis in plan.order), 2).reshape(g, o, -1).swapaxes(1, 2)
    y = BUFFERS.empty((n, *window.sizes[:-1], plan.pitch, g, o), x.dtype)
    with np.errstate(invalid="ignore"):  # from infinity times an unused zero, also inside BLAS
        for index, phases in _gathered(x, plan):
            out = y[index].reshape(-1, g, o).swapaxes(0, 1)
            for phase, windows in enumerate(phases):
                np.matmul(windows, filters, out=_every(out, phase, plan))
    return y[..., : window.sizes[-1], :, :].transpose(0, -2, -1, *range(1, 1 + len(kernel)))


def _by_cells(x: Array, w: Array, window: ConvWindow) -> Array:
    """Multiply all cells by one element of the kernels at a time, and add the products to the positions that they meet.

    This is for one group and a stride of 1. Where there are few kernels, as in the gradient of images with few
    channels, the products are smaller than the windows that would be gathered.
    """
    (n, _, c, *cells), (_, o, _, *kernel), rank = x.shape, w.shape, len(window.sizes)
    images = x[:, 0].transpose(0, *range(2, 2 + rank), 1)
    elements = np.ascontiguousarray(w[0].transpose(*range(2, 2 + rank), 1, 0))  # BLAS takes no others
    y = BUFFERS.empty((n, *window.sizes, o), x.dtype)
    y.fill(0)
    count = max(1, _MULTIPLIED_BYTES // (c * x.itemsize))
    if _is_each_alone(x.strides[2], x.itemsize, cells):
        count = min(count, prod(cells))
    with np.errstate(invalid="ignore"):
        for index in _blocks((n, *cells), count, are_rows=False):
            block = images[index]
            rows = block.reshape(-1, c)
            products = BUFFERS.empty((len(rows), o), x.dtype)
            added = products.reshape(*block.shape[:-1], o)
            starts = [part.start or 0 for part in index[1:]]
            for element in product(*map(range, kernel)):
                shifts = [b - d * k for b, d, k in zip(window.padding_before, window.dilation, element, strict=True)]
                along = zip(starts, block.shape[1:-1], window.sizes, shifts, strict=True)
                met, positions = zip(*(_shifted(*axis) for axis in along), strict=True)
                np.matmul(rows, elements[element], out=products)
                sums = y[index[0], *positions]
                np.add(sums, added[:, *met], out=sums)
    return y.transpose(0, 1 + rank, *range(1, 1 + rank))[:, None]


def _is_each_alone(stride: int, itemsize: int, sizes: Sequence[int]) -> bool:
    """Return whether images are multiplied one by one.

    With the channels first, one image is a matrix without a copy, and several are not.

    Args:
        stride: Bytes from a channel to the next.
        itemsize: Bytes of an element.
        sizes: The sizes of an image.
    """
    return stride != itemsize and prod(sizes) >= _ALONE_MIN_POSITIONS


def _shifted(start: int, length: int, m: int, shift: int) -> tuple[slice, slice]:
    """Return which of the cells from `start` on meet one of m positions, and these positions, for one axis."""
    first = max(0, -start - shift)
    end = max(first, min(length, m - start - shift))
    return slice(first, end), slice(first + start + shift, end + start + shift)


def _by_elements(x: Array, w: Array, window: ConvWindow, *, is_exact: bool = False) -> Array:
    """Multiply the cells that the elements of all kernels meet by the kernels."""
    (g, o, _, *kernel), sizes, rank = w.shape, window.sizes, len(window.sizes)
    x = x.swapaxes(0, 2)
    geometry = (tuple(kernel), window.dilation, window.stride)
    options = {"is_exact": is_exact, "is_each_alone": _is_each_alone(w.strides[1], w.itemsize, kernel)}
    plan = _plan_for(x.shape, x.itemsize, sizes, *geometry, *window[3:], o, **options)
    kernels = w.transpose(2, *range(3, 3 + rank), 0, 1)
    total: Any = None
    with np.errstate(invalid="ignore"):
        for index, phases in _gathered(x, plan):
            met = kernels[index] if plan.run == 1 else _padded_rows(kernels[index], plan.pitch)
            met = met.reshape(-1, g, o).swapaxes(0, 1)
            for phase, cells in enumerate(phases):
                part = cells.swapaxes(1, 2) @ _every(met, phase, plan)
                total = part if total is None else np.add(total, part, total)
    # A zero after a row met an infinity: gather the rows again, without the windows that reach past their row.
    if plan.pitch > kernel[-1] and not np.isfinite(total).all():
        return _by_elements(x.swapaxes(0, 2), w, window, is_exact=True)
    y: Array = total.reshape(g, *(sizes[axis] for axis in plan.order), x.shape[2], o)
    return y.transpose(rank + 1, 0, rank + 2, *(1 + plan.order.index(axis) for axis in range(rank)))


def _with_exchanged_roles(x: Array, w: Array, window: ConvWindow) -> Array:
    """Exchange the roles of kernels and cells; the positions then run in the opposite direction."""
    padding_before = tuple(
        (m - 1) * s - b for m, s, b in zip(window.sizes, window.stride, window.padding_before, strict=True)
    )
    back = ConvWindow(window.sizes, window.stride, window.input_dilation, window.dilation, padding_before)
    y = convolve(w.swapaxes(0, 1), x.swapaxes(0, 1), back)
    backwards: Index = (..., *(slice(None, None, -1),) * len(padding_before))
    return y.swapaxes(0, 2)[backwards]


def _interleaved(x: Array, w: Array, window: ConvWindow) -> Array:
    """Compute the positions that meet the same elements separately, so that their cells need no dilation."""
    sizes, rank = window.sizes, len(window.sizes)
    y = np.zeros((len(x), *sizes, x.shape[1], w.shape[1]), x.dtype).transpose(0, -2, -1, *range(1, 1 + rank))
    x = _channels_last(x)
    for first in product(*map(range, window.input_dilation)):
        along = zip(first, w.shape[3:], sizes, *window[2:], strict=True)
        parts = [part for one in along if (part := _phase_of(*one)) is not None]
        if len(parts) == rank:
            positions, elements, *numbers = zip(*parts, strict=True)
            y[..., *positions] = convolve(x, w[..., *elements], ConvWindow(*numbers))
    return y


def _phase_of(i: int, k: int, m: int, d: int, r: int, b: int) -> tuple[Any, ...] | None:
    """Return the positions i, i + r, ... of m, the elements of k that they meet if any, and their geometry."""
    apart = r // gcd(d, r)
    first = next((element for element in range(min(apart, k)) if (i + d * element - b) % r == 0), None)
    if first is None or i >= m:
        return None
    return (
        slice(i, None, r),
        slice(first, None, apart),
        -(-(m - i) // r),
        1,
        d * apart // r,
        1,
        (b - i - d * first) // r,
    )


class _Plan(NamedTuple):
    """How windows are gathered: the cells that they meet, and blocks of positions.

    Where rows of cells are gathered and not windows, `run` is the length of a window in them, and windows that reach
    into the next row are computed but not used.
    """

    few: tuple[int, ...]  # gathered for each position: a window, or its elements before the last axis
    many: tuple[int, ...]  # positions, or cells in a row
    step: tuple[int, ...]  # from a position to the next
    reach: tuple[int, ...]  # from an element of a window to the next
    order: tuple[int, ...]  # of the axes of a window
    run: int
    hop: int  # cells from a window to the next in a row
    pitch: int  # windows in a row, with those that are not used
    spans: tuple[int, ...]  # of the cells from the first that a window may meet to the last, with padding and dilation
    target: Index  # the place of the cells in the spans
    source: Index  # the cells that some window may meet
    is_padded: bool  # the spans contain zeros beside the cells
    are_columns: bool  # windows are gathered as columns, not as rows
    images: int  # at a time
    blocks: tuple[Index, ...]  # positions at a time, the largest first
    are_windows: bool  # the cells are what would be gathered
    size: int  # of a gathered window

    @property
    def overhang(self) -> int:
        """The number of windows of a row that reach into the next."""
        return -(-(self.run - 1) // self.hop)

    @property
    def phases(self) -> int:
        """The number of matrices of a block."""
        return -(-self.run // self.hop)


@lru_cache(maxsize=1024)
def _plan_for(
    shape: tuple[int, ...],
    itemsize: int,
    few: tuple[int, ...],
    many: tuple[int, ...],
    step: tuple[int, ...],
    reach: tuple[int, ...],
    input_dilation: tuple[int, ...],
    padding_before: tuple[int, ...],
    columns: int,
    *,
    is_exact: bool = False,
    is_each_alone: bool = False,
) -> _Plan:
    """Plan for windows of `few` elements, `reach` apart, at `many` positions, `step` apart, and `columns` columns.

    If `is_exact`, no window reaches into the next row; if `is_each_alone`, a block has positions of one image only.
    """
    n, g, c, *cells = shape
    rank, run, hop, pitch = len(few), few[-1], step[-1], many[-1]
    overhang = -(-(run - 1) // hop)  # windows of a row that reach into the next
    is_run = (
        not is_exact
        and reach[-1] == 1
        and run >= max(_LONG, hop)
        and run * c >= _WIDE
        and _wastes_little(overhang / pitch, columns)
    )
    if is_run:
        pitch += overhang
        few, many, step = (*few[:-1], 1), (*many[:-1], pitch * hop), (*step[:-1], 1)
    else:
        run = hop = 1
    axes = zip(cells, few, many, step, reach, input_dilation, padding_before, strict=True)
    spans, targets, sources = zip(*(_met(*axis) for axis in axes), strict=True)
    count, most = (nbytes // (g * prod(few) * c * itemsize) for nbytes in (_GATHERED_BYTES, 4 * _GATHERED_BYTES))
    count = max(1, count, min(2 * columns, most))  # all kernels are read each time
    are_windows = prod(few) == max(step) == 1
    if are_windows:
        count = n * prod(many)  # nothing is gathered
    length = few[-1] * c if reach[-1] == 1 else c
    return _Plan(
        few=few,
        many=many,
        step=step,
        reach=reach,
        order=(rank - 1, *range(rank - 1)) if is_run else tuple(range(rank)),
        run=run,
        hop=hop,
        pitch=pitch,
        spans=spans,
        target=targets,
        source=sources,
        is_padded=any(target != slice(0, span, 1) for target, span in zip(targets, spans, strict=True)),
        are_columns=not is_run and length < min(_SHORT, many[-1]),
        images=1 if is_each_alone else max(1, min(n, count // prod(many))),
        blocks=tuple(_blocks(many, count, are_rows=is_run)),
        are_windows=are_windows,
        size=prod(few) * c,
    )


def _wastes_little(overhang: float, columns: int) -> bool:
    """Return whether products with unused windows take less time than gathering along the last axis."""
    return overhang * columns <= 8  # estimated: an element is copied in the time of 16 operations of a product


def _met(size: int, k: int, m: int, s: int, d: int, r: int, b: int) -> tuple[int, slice, slice]:
    """Return along an axis the span of windows, the place in it of the cells that they may meet, and these cells.

    Position i meets cell j at element k where r j + b = s i + d k.
    """
    span = s * (m - 1) + d * (k - 1) + 1
    first, end = max(0, -(b // r)), min(size, (span - 1 - b) // r + 1)
    if first >= end:
        return span, slice(0, 0), slice(0, 0)
    return span, slice(r * first + b, r * (end - 1) + b + 1, r), slice(first, end)


def _blocks(many: tuple[int, ...], count: int, *, are_rows: bool) -> Iterator[Index]:
    """Yield positions, at most `count` at a time: parts of one axis, and all of the axes after it.

    If they are rows, the last axis is not divided.
    """
    last = len(many) - 1 - are_rows
    axis = next(axis for axis in range(len(many)) if axis == last or prod(many[axis + 1 :]) <= count)
    length = max(1, count // prod(many[axis + 1 :]))
    for before in product(*map(range, many[:axis])):
        for first in range(0, many[axis], length):
            part = slice(first, min(first + length, many[axis]))
            yield (*(slice(i, i + 1) for i in before), part, *(_WHOLE_AXIS,) * (len(many) - 1 - axis))


def _gathered(x: Array, plan: _Plan) -> Iterator[tuple[Index, list[Array]]]:
    """Yield an index of images and positions, and the windows there as matrices, `(G, positions, window)`, by phase."""
    (n, g, c), spatial = x.shape[:3], range(3, x.ndim)
    if plan.are_windows and not plan.is_padded and not plan.are_columns and plan.run == 1:
        cells = x[:, :, :, *plan.source].transpose((1, 0, *spatial, 2))
        yield (_WHOLE_AXIS,) * (x.ndim - 2), [cells.reshape(g, -1, c)]
        return
    cells = x[:, :, :, *plan.source].transpose((1, 2, 0, *spatial) if plan.are_columns else (1, 0, *spatial, 2))
    before: Index = (_WHOLE_AXIS,) * (1 + plan.are_columns)  # the axes before that of the images
    staged: Any = None
    if plan.is_padded or (cells.shape[-1] > 1 and cells.strides[-1] != x.itemsize):
        shape = (g, c, plan.images, *plan.spans) if plan.are_columns else (g, plan.images, *plan.spans, c)
        if prod(shape) * x.itemsize > sys.maxsize:  # which NumPy calls a wrong value
            message = f"the padded images {shape} do not fit into memory"
            raise MemoryError(message)
        staged = BUFFERS.empty(shape, x.dtype)
        if plan.is_padded:
            staged.fill(0)  # once, because the cells do not overwrite the padding
    buffer: Any = None
    for first in range(0, n, plan.images):
        images = slice(first, min(first + plan.images, n))
        selected = cells[*before, images]
        if staged is not None:
            staged[*before, : images.stop - first, *plan.target] = selected
            selected = staged[*before, : images.stop - first]
        windows = _windows(selected, plan)
        for block in plan.blocks:
            part = windows[..., *block] if plan.are_columns else windows[:, :, *block]
            if not plan.are_windows:
                buffer = BUFFERS.empty((part.size,), x.dtype) if buffer is None else buffer
                copied = buffer[: part.size].reshape(part.shape)
                if part.strides[-1] == part.itemsize:
                    copy_runs(part, copied)
                else:
                    copied[...] = part
                part = copied
            yield (images, *block), _phases(part, plan)


def _windows(cells: Array, plan: _Plan) -> Array:
    """Return the windows as a view, `(G, *few, C, N, *many)` of `(G, C, N, *S)`, or `(G, N, *many, *few, C)`.

    If the last axis of `few` and the channels are one run in memory, they are one axis.
    """
    if plan.are_columns:
        g, c, n, *strides = cells.strides
        shape = (len(cells), *plan.few, *cells.shape[1:3], *plan.many)
    else:
        g, n, *strides, c = cells.strides
        shape = (*cells.shape[:2], *plan.many, *plan.few, cells.shape[-1])
    elements = tuple(stride * d for stride, d in zip(strides, plan.reach, strict=True))
    positions = tuple(stride * s for stride, s in zip(strides, plan.step, strict=True))
    if not plan.are_columns and elements[-1] == cells.shape[-1] * c:
        return as_strided(cells, (*shape[:-2], shape[-2] * shape[-1]), (g, n, *positions, *elements[:-1], c))
    return as_strided(
        cells, shape, (g, *elements, c, n, *positions) if plan.are_columns else (g, n, *positions, *elements, c)
    )


def _phases(part: Array, plan: _Plan) -> list[Array]:
    """Return gathered windows as a stack of matrices; or of rows the windows of each phase."""
    size = plan.size
    if plan.are_columns:
        return [part.reshape(len(part), size, -1).swapaxes(1, 2)]
    rows = part.reshape(len(part), -1, size)
    if plan.run == 1:
        return [rows]
    g, count, item = len(rows), rows.shape[1] // plan.hop - plan.overhang, rows.itemsize
    shape = (plan.phases, g, -(-count // plan.phases), plan.run * size)  # reaches beyond the end in the last phases
    strides = (plan.hop * size * item, rows.strides[0], plan.phases * plan.hop * size * item, item)
    windows = as_strided(rows, shape, strides)
    return [windows[phase, :, : -((phase - count) // plan.phases)] for phase in range(plan.phases)]


def _every(values: Array, phase: int, plan: _Plan) -> Array:
    """Return those values of all positions, `(G, positions, O)`, that belong to a phase."""
    return values[:, phase : values.shape[1] - plan.overhang : plan.phases] if plan.run > 1 else values


def _padded_rows(values: Array, pitch: int) -> Array:
    """Pad each row, `(N, *S, G, O)`, with zeros at its end to the length of the pitch."""
    out = BUFFERS.empty((*values.shape[:-3], pitch, *values.shape[-2:]), values.dtype)
    out[..., : values.shape[-3], :, :] = values
    out[..., values.shape[-3] :, :, :] = 0
    return out


def _channels_last(x: Array) -> Array:
    """Return cells `(N, G, C, *S)` in the same order, but with their channels last in memory."""
    if x.shape[2] == 1 or x.strides[2] == x.itemsize:
        return x
    last = np.ascontiguousarray(x.transpose(0, *range(3, x.ndim), 1, 2))
    return last.transpose(0, x.ndim - 2, x.ndim - 1, *range(1, x.ndim - 2))
