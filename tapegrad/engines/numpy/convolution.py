"""Convolution in NumPy: channels are last in memory, and windows that do not overlap are the rows of a matrix.

With the channels last, the part of a window along the last axis is contiguous. Neighbouring windows overlap, but
windows that are one window length apart do not, and form the rows of a matrix without a copy. So there are as many
matrices, called phases, as a window has positions. Along the other axes the windows are gathered, some rows at a time.

A result always has its channels last in memory. Later ops keep that order, so that a stack of convolutions converts
its images once.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import gcd, prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from tapegrad.engines.interface import ConvWindow
from tapegrad.engines.numpy.buffers import BUFFERS

if TYPE_CHECKING:
    from collections.abc import Iterator

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Index: TypeAlias = "tuple[Any, ...]"
Move: TypeAlias = "tuple[Index | None, Index | None, Index]"

_GATHERED_BYTES: Final = 1 << 21  # of gathered cells at a time
_ROW_MAX_BYTES: Final = 1 << 26  # of a row with all its windows gathered, as for a long row and a long kernel
_GAP: Final = 8  # windows at least this many window lengths apart are gathered without the cells between them
_MIN_POSITIONS: Final = 512  # minimum positions at a time, because all kernels are read each time
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
    return _by_elements(x, w, window) if is_to_kernels else _by_positions(x, w, window)


def _by_positions(x: Array, w: Array, window: ConvWindow) -> Array:
    """Multiply the windows at all positions by the kernels."""
    (n, g, *_), (_, o, _, *kernel) = x.shape, w.shape
    plan = _plan_for(x.shape, x.itemsize, tuple(kernel), *window, o)
    filters = w.transpose(0, 1, *(3 + axis for axis in plan.order), 2).reshape(g, o, -1).swapaxes(1, 2)
    if w.nbytes < _GATHERED_BYTES:  # for BLAS (benchmarks/devices.py, "contiguous columns")
        filters = np.ascontiguousarray(filters)
    y = BUFFERS.empty((n, *window.sizes[:-1], plan.pitch, g, o), x.dtype)
    with np.errstate(invalid="ignore"):  # from infinity times an unused zero, also inside BLAS
        for images, rows, phases in _gathered(x, plan):
            out = y[images, rows].reshape(-1, g, o).swapaxes(0, 1)
            for phase, windows in enumerate(phases):
                np.matmul(windows, filters, out=out[:, phase :: len(phases)])
    return y[..., : window.sizes[-1], :, :].transpose(0, -2, -1, *range(1, 1 + len(kernel)))


def _by_elements(x: Array, w: Array, window: ConvWindow, *, is_exact: bool = False) -> Array:
    """Multiply the cells that the elements of all kernels meet by the kernels."""
    (g, o, _, *kernel), sizes, rank = w.shape, window.sizes, len(window.sizes)
    x = x.swapaxes(0, 2)
    geometry = (tuple(kernel), window.dilation, window.stride)
    plan = _plan_for(x.shape, x.itemsize, sizes, *geometry, *window[3:], o, is_exact=is_exact)
    kernels = w.transpose(0, 2, *range(3, 3 + rank), 1)
    total: Any = 0
    with np.errstate(invalid="ignore"):
        for images, rows, phases in _gathered(x, plan):
            met = _padded_rows(kernels[:, images, rows], plan.pitch).reshape(g, -1, o)
            for phase, cells in enumerate(phases):
                total = total + met[:, phase :: len(phases)].swapaxes(1, 2) @ cells
    # A zero after a row met an infinity: gather the rows again, without the windows that reach past their row.
    if plan.pitch > kernel[-1] and not np.isfinite(total).all():
        return _by_elements(x.swapaxes(0, 2), w, window, is_exact=True)
    y: Array = total.reshape(g, o, *(sizes[axis] for axis in plan.order), x.shape[2])
    return y.transpose(rank + 2, 0, 1, *(2 + plan.order.index(axis) for axis in range(rank)))


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
    x = _channels_last(x).transpose(1, 0, -1, *range(2, 2 + rank))
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


class _Axis(NamedTuple):
    """The geometry of windows along one axis: position i meets cell j at element k where r j + b = s i + d k."""

    cells: int
    positions: int
    step: int  # s
    reach: int  # d
    input_dilation: int  # r
    padding_before: int  # b

    def met(self, element: int, positions: slice) -> tuple[slice, slice] | None:
        """Return which of some positions meet a cell at an element, counted from the first of them, and which cells."""
        dilation = self.input_dilation
        offset = self.step * positions.start + self.reach * element - self.padding_before
        apart = dilation // gcd(dilation, self.step)
        position = next((i for i in range(apart) if (self.step * i + offset) % dilation == 0), None)
        if position is None:
            return None
        cell, hop = (self.step * position + offset) // dilation, self.step * apart // dilation
        late = max(0, -(cell // hop))  # positions until the first cell is met
        position, cell = position + late * apart, cell + late * hop
        count = min(-((position - positions.stop + positions.start) // apart), -((cell - self.cells) // hop))
        if count <= 0:
            return None
        last = count - 1
        return slice(position, position + last * apart + 1, apart), slice(cell, cell + last * hop + 1, hop)


class _Plan(NamedTuple):
    """How windows are gathered, row by row; windows that reach into the next row are computed but not used."""

    order: tuple[int, ...]  # of the axes of a window
    window: int  # elements
    hop: int  # elements from a window to the next
    phases: int
    pitch: int  # windows in a row
    gathered: tuple[int, ...]  # sizes after the rows of the first axis, (*S', width, *K, C)
    images: int  # at a time
    chunks: tuple[tuple[slice, tuple[Move, ...]], ...]  # rows of the first axis at a time, and their copies
    is_plain: bool  # nothing is gathered: the cells are the windows


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
) -> _Plan:
    """Plan for windows of `few` elements, `reach` apart, at `many` positions, `step` apart, and `columns` columns."""
    n, g, c, *cells = shape
    *others, run = few
    overhang = -(-(run - 1) // step[-1])  # windows of a row that reach into the next
    is_large = prod((*many[1:], *few, c)) * itemsize > _ROW_MAX_BYTES
    is_near = step[-1] <= _GAP * run
    is_run = (
        reach[-1] == 1
        and is_near
        and not is_exact
        and (is_large or _wastes_little(overhang / many[-1], run, c, columns))
    )
    pitch, hop = (many[-1] + overhang, step[-1]) if is_run else (many[-1], 1)
    if is_run:
        many, step, few = (*many[:-1], pitch * hop), (*step[:-1], 1), (*others, 1)
    else:
        run = 1
    axes = [_Axis(*one) for one in zip(cells, many, step, reach, input_dilation, padding_before, strict=True)]
    gathered = (*many[1:], *few, c)

    row_count = max(1, _GATHERED_BYTES // (g * prod(gathered) * itemsize), _MIN_POSITIONS // prod(many[1:]))
    parts = [slice(first, min(first + row_count, many[0])) for first in range(0, many[0], row_count)]
    rank = len(few)
    return _Plan(
        order=(rank - 1, *range(rank - 1)) if is_run else tuple(range(rank)),
        window=run * prod(few) * c,
        hop=hop * prod(few) * c,
        phases=-(-run // hop),
        pitch=pitch,
        gathered=gathered,
        images=max(1, min(n, row_count // many[0])),
        chunks=tuple((rows, _moves(axes, rows, few, is_all=len(parts) == 1)) for rows in parts),
        is_plain=run * prod(few) * hop == 1
        and all(axis == _Axis(axis.cells, axis.cells, 1, axis.reach, 1, 0) for axis in axes),
    )


def _wastes_little(overhang: float, run: int, c: int, columns: int) -> bool:
    """Return whether products with unused windows take less time than gathering along the last axis."""
    return overhang * columns * c <= (1 - 1 / run) * (6 * c + 40)  # estimated costs of a product and of a copy


def _moves(axes: list[_Axis], rows: slice, few: tuple[int, ...], *, is_all: bool) -> tuple[Move, ...]:
    """Return for each element of a window the area to clear, the destination and the source, for these rows."""
    found: list[Move] = []
    for element in product(*map(range, few)):
        parts = (rows, *(slice(0, axis.positions) for axis in axes[1:]))
        met = [axis.met(k, part) for axis, k, part in zip(axes, element, parts, strict=True)]
        pairs = [pair for pair in met if pair is not None]
        targets, sources = zip(*pairs, strict=True) if len(pairs) == len(axes) else ((), ())
        is_covered = is_all or targets[:1] == (slice(0, rows.stop - rows.start, 1),)
        cleared = None if is_covered else (..., *element, slice(None))
        target, source = (_WHOLE_AXIS, _WHOLE_AXIS, *targets, *element), (_WHOLE_AXIS, _WHOLE_AXIS, *sources)
        if targets or cleared:
            found.append((cleared, target if targets else None, source))
    return tuple(found)


def _gathered(x: Array, plan: _Plan) -> Iterator[tuple[slice, slice, list[Array]]]:
    """Yield images, rows, and of the windows in them a stack of matrices, `(G, positions, window)`, for each phase."""
    cells = _channels_last(x)
    if plan.is_plain:
        yield _WHOLE_AXIS, _WHOLE_AXIS, [cells.reshape(len(cells), -1, plan.window)]
        return
    g, n = cells.shape[:2]
    buffer = BUFFERS.empty((g, plan.images * plan.chunks[0][0].stop * prod(plan.gathered) + plan.window), x.dtype)
    buffer.fill(0)
    for first in range(0, n, plan.images):
        images = slice(first, min(first + plan.images, n))
        selected = cells[:, images]
        for rows, moves in plan.chunks:
            shape = (images.stop - first, rows.stop - rows.start, *plan.gathered)
            part = buffer[:, : prod(shape)].reshape(g, *shape)
            for cleared, target, source in moves:
                if cleared is not None:
                    part[cleared] = 0
                if target is not None:
                    part[target] = selected[source]
            yield images, rows, [_phase(buffer, phase, prod(shape) // plan.hop, plan) for phase in range(plan.phases)]


def _phase(buffer: Array, first: int, count: int, plan: _Plan) -> Array:
    """Return every n-th window, which do not overlap, as the rows of a matrix."""
    shape = (len(buffer), -((first - count) // plan.phases), plan.window)
    strides = (buffer.strides[0], plan.phases * plan.hop * buffer.itemsize, buffer.itemsize)
    return np.ndarray(shape, buffer.dtype, buffer, first * plan.hop * buffer.itemsize, strides)


def _padded_rows(values: Array, pitch: int) -> Array:
    """Pad each row, `(G, N, *S, O)`, with zeros at its end to the length of the pitch."""
    if values.shape[-2] == pitch:
        return values
    out = BUFFERS.empty((*values.shape[:-2], pitch, values.shape[-1]), values.dtype)
    out[..., : values.shape[-2], :] = values
    out[..., values.shape[-2] :, :] = 0
    return out


def _channels_last(x: Array) -> Array:
    """Return cells `(N, G, C, *S)` as `(G, N, *S, C)`, a view if they are stored in that order."""
    if x.shape[2] > 1 and x.strides[2] != x.itemsize:
        x = np.ascontiguousarray(x.transpose(0, *range(3, x.ndim), 1, 2)).transpose(
            0, x.ndim - 2, x.ndim - 1, *range(1, x.ndim - 2)
        )
    return x.transpose(1, 0, *range(3, x.ndim), 2)
