"""Formulas over rows in NumPy: some rows at a time, so that intermediate results stay in cache."""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from math import nan, prod
from operator import index
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.engines.numpy.buffers import BUFFERS
from tapegrad.engines.numpy.program import aligned_buffer, tiles_of
from tapegrad.engines.numpy.row_program import scaled_exp, traced
from tapegrad.engines.numpy.threads import run_in_threads
from tapegrad.engines.rows import Rows
from tapegrad.engines.thresholds import KERNEL_PARALLEL_MIN_ELEMENTS, PARALLEL_MIN_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tapegrad.engines.interface import Axis
    from tapegrad.engines.numba.row_kernels import RowKernel
    from tapegrad.engines.numpy.row_program import RowProgram, Signature
    from tapegrad.engines.trace import Extent

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Compiler: TypeAlias = "Callable[..., RowKernel | None]"

# Of some rows of an array, at least and at most, which stay in cache with the buffers of a formula. In large arrays
# they are more, so that threads wait for each other more rarely.
_TILE_BYTES: Final = 1 << 19, 1 << 20
_TILE_COUNT: Final = 16  # tiles of an array, if they are between these sizes
_LONG_ROW: Final = 512  # numbers, from which on NumPy need not copy what it broadcasts


@contextmanager
def buffers_of_rows(columns: int) -> Iterator[None]:
    """Let NumPy broadcast a column or a row to a matrix of long rows without copying it.

    It copies what it broadcasts to a buffer, if that holds several rows (benchmarks/devices.py, "buffers of a row").
    """
    before = np.getbufsize()
    if not _LONG_ROW <= columns < before:
        yield
        return
    np.setbufsize(columns // 16 * 16)  # a multiple of 16
    try:
        yield
    finally:
        np.setbufsize(before)


def computed(
    formula: Callable[..., Any],
    values: Sequence[Any],
    axis: Axis,
    options: Mapping[str, Any],
    *,
    is_free: bool,
    compiler: Compiler | None = None,
) -> Any:
    """Compute a formula over rows, see `Backend.rowwise`; `compiler` returns a kernel for a program, or None."""
    layout = Layout.of(values[0].shape, axis, values[0].dtype)
    signature = layout.signature(values) if layout.has_last else None
    if signature is None:
        return formula(WholeRows(axis), *values, **options)
    return layout.run(traced(formula, signature, options), values, is_free=is_free, compiler=compiler)


class WholeRows(Rows):
    """The operations of a formula over all rows of an array at once."""

    def __init__(self, axis: Axis) -> None:
        self.axis = axis

    # Any: mypy compares the signature of a ufunc with that of the operation.
    exp: Any = staticmethod(np.exp)
    log: Any = staticmethod(np.log)
    sqrt: Any = staticmethod(np.sqrt)

    @override
    def sum(self, x: Any) -> Any:
        if x.flags.c_contiguous:
            return np.add.reduce(x, axis=self.axis, keepdims=True)
        # Along several axes that are not the last in memory, NumPy adds element by element, which loses digits.
        for one in sorted(_axes(self.axis, x.ndim), reverse=True):
            x = np.add.reduce(x, axis=one, keepdims=True)
        return x

    @override
    def mean(self, x: Any) -> Any:
        added = self.sum(x)
        return added * (added.size / x.size if x.size else nan)

    @override
    def max(self, x: Any) -> Any:
        return np.maximum.reduce(x, axis=self.axis, keepdims=True)

    @override
    def scaled_exp(self, x: Any) -> Any:
        if isinstance(self.axis, tuple) or self.axis is None:
            return super().scaled_exp(x)
        return scaled_exp(x, axis=self.axis)

    @override
    def total(self, x: Any) -> Any:
        reduced_axes = _axes(self.axis, x.ndim)
        return np.add.reduce(x, axis=tuple(one for one in range(x.ndim) if one not in reduced_axes))


def _axes(axis: Axis, rank: int) -> set[int]:
    """Return axes as numbers from zero."""
    axes = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return {index(one) % rank for one in axes}


class Layout:
    """How the rows of an array lie in memory, as those of a matrix or apart, and the tiles that they are cut into."""

    def __init__(self, shape: tuple[int, ...], axis: Axis, dtype: np.dtype[Any]) -> None:
        rank, reduced_axes = len(shape), _axes(axis, len(shape))
        other_axes = [one for one in range(rank) if one not in reduced_axes]
        self.shape = shape
        self.dtype = dtype
        self.has_last = rank - 1 in reduced_axes
        self.order = [*other_axes, *sorted(reduced_axes)]
        self.is_matrix = self.order == [*range(rank)]
        self.row_shape = tuple(n for one, n in enumerate(shape) if one in reduced_axes)
        self.reduced_shape = tuple(1 if one in reduced_axes else n for one, n in enumerate(shape))
        self.columns = prod(self.row_shape)
        self.share = dtype.type(1 / self.columns)
        self.lead = (prod(self.reduced_shape),) if self.is_matrix else tuple(shape[one] for one in other_axes)
        each, (least, most) = self.columns * dtype.itemsize, _TILE_BYTES
        tile = min(max(least, prod(shape) * dtype.itemsize // _TILE_COUNT), most)
        self.rows = min(max(1, tile // each), prod(self.lead))
        self.tiles = tiles_of(self.lead, self.rows)

    @staticmethod
    @lru_cache(256)
    def of(shape: tuple[int, ...], axis: Axis, dtype: np.dtype[Any]) -> Layout:
        """Return the layout of rows, which is made once."""
        return Layout(shape, axis, dtype)

    def signature(self, values: Sequence[Any]) -> Signature | None:
        """Return the extent and the dtype of each value, or None if one has another shape or dtype."""
        found: list[tuple[Extent, np.dtype[Any]]] = []
        for value in values:
            extent = self._extent(np.shape(value))
            if extent is None or getattr(value, "dtype", self.dtype) != self.dtype:
                return None
            found.append((extent, self.dtype))
        return tuple(found)

    def _extent(self, shape: tuple[int, ...]) -> Extent | None:
        if shape == self.shape:
            return "element"
        if shape == self.reduced_shape:
            return "row"
        if shape == self.row_shape and self.is_matrix:
            return "column"
        return None if shape else "number"

    def run(
        self, program: RowProgram, values: Sequence[Any], *, is_free: bool, compiler: Compiler | None = None
    ) -> Any:
        """Return the results of a program: some rows at a time, on several threads."""
        extents = [program.traced[ref].extent for ref in program.results]
        results = [self._empty(extent, values[0]) for extent in extents]
        is_free = is_free and self.is_matrix and values[-1].flags.c_contiguous
        if is_free and program.can_overwrite(len(values) - 1):
            results[0] = values[-1]
        views = [self._view(value, one.extent) for value, one in zip(values, program.traced, strict=False)]
        outs = [out if out is None else self._view(out, one)[0] for out, one in zip(results, extents, strict=True)]
        kernel = None
        if compiler and self.is_matrix and all(not width or view.flags.c_contiguous for view, width in views):
            kernel = compiler(program, values[0].size, is_free=results[0] is values[-1])
        sums: list[list[Array]] = [[] for _ in self.tiles]
        memory: list[list[Array]] = []  # at most one for each thread

        def work(first: int, end: int) -> None:
            buffers = memory.pop() if memory else [] if kernel else self._buffers(program)
            for number in range(first, end):
                tile = self.tiles[number]
                parts = [self._part(view, width, tile) for view, width in views]
                memories = [out if out is None else out[tile] for out in outs]
                if kernel:
                    sums[number] = kernel.run([*parts, self.share], memories)
                else:
                    sums[number] = self._run_tile(program, parts, memories, buffers)
            memory.append(buffers)

        least = KERNEL_PARALLEL_MIN_ELEMENTS if kernel else PARALLEL_MIN_ELEMENTS
        with buffers_of_rows(self.columns):
            run_in_threads(work, len(self.tiles), is_worth_it=values[0].size >= least)
        totals = (np.add.reduce(each) for each in zip(*sums, strict=True))
        found = tuple(next(totals) if out is None else out for out in results)
        return found if program.is_tuple else found[0]

    def _empty(self, extent: Extent, x: Array) -> Array | None:
        """Return memory for a result, or None for one that is added up."""
        if extent == "column":
            return None
        if extent == "row":
            return np.empty(self.reduced_shape, self.dtype)
        return BUFFERS.empty(self.shape, self.dtype) if self.is_matrix else BUFFERS.empty_like(x)

    def _view(self, value: Any, extent: Extent) -> tuple[Any, int]:
        """Return a value in the order that tiles are cut in, and how many numbers of it a row has; 0 for all of it."""
        if extent == "element":
            matrix = value.reshape(*self.lead, self.columns) if self.is_matrix else value.transpose(self.order)
            return matrix, self.columns
        if extent == "row":
            return value.reshape(*self.lead, 1), 1
        return (value.reshape(-1) if extent == "column" else self.dtype.type(value)), 0

    def _part(self, view: Any, width: int, tile: Any) -> Any:
        """Return the rows of a view that a tile covers, as a matrix."""
        if not width:
            return view
        return view[tile] if self.is_matrix else view[tile].reshape(-1, width)

    def _buffers(self, program: RowProgram) -> list[Array]:
        """Return memory for the buffers of a program, and for its results if they are not written as matrices."""
        count = program.buffers if self.is_matrix else program.buffers + len(program.results)
        return [aligned_buffer(self.rows * self.columns, self.dtype) for _ in range(count)]

    def _run_tile(
        self, program: RowProgram, parts: list[Any], outs: Sequence[Array | None], buffers: Sequence[Array]
    ) -> list[Array]:
        """Compute the results for some rows, and return those that are added up."""
        shape, size = parts[0].shape, parts[0].size
        matrices = [buffer[:size].reshape(shape) for buffer in buffers]
        sums = []
        memory = [*outs, *matrices] if self.is_matrix else matrices
        for out, found in zip(outs, program.run([*parts, self.share], memory), strict=True):
            if out is None:
                sums.append(found)
            elif found is not out:
                np.copyto(out, found.reshape(out.shape))
        return sums
