"""NumPy with compiled kernels for memory-bound primitives: the extra `fast`, and `use_fast`, which turns it off.

Numba is imported when a large array first reaches a kernel, and a kernel is compiled when it first runs; after that it
is cached on disk. Kernels run single-threaded and release the GIL, so that Numba's own threads, which would compete
with BLAS's, are never started.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.engines.numpy import engine as numpy
from tapegrad.engines.numpy.buffers import BUFFERS
from tapegrad.engines.numpy.threads import run_in_threads, threads
from tapegrad.engines.registry import register
from tapegrad.engines.thresholds import KERNEL_PARALLEL_MIN_ELEMENTS
from tapegrad.errors.options import check_flag
from tapegrad.errors.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.engines.interface import Pooling
    from tapegrad.engines.numba.codegen import Kernel
    from tapegrad.engines.numba.row_kernels import RowKernel
    from tapegrad.engines.numpy.program import Program
    from tapegrad.engines.numpy.row_program import RowProgram
    from tapegrad.engines.windows import Windows

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_SETTING: Final = os.environ.get("TAPEGRAD_FAST", "1")  # 0 for no kernels, `all` for small arrays too, in tests
_KERNEL_MIN_ELEMENTS: Final = 1 if _SETTING == "all" else 1 << 15  # elements from which on a kernel runs
_PLANE_MAX_ELEMENTS: Final = 1 << 31  # of a plane, because the indices of its elements have 32 bits
_UPDATE_MIN_ELEMENTS: Final = 1 if _SETTING == "all" else 1 << 18  # elements from which on an update is traced
_IN_PLACE_MAX_THREADS: Final = 4  # with more threads, these write new arrays, instead of one in place
_PROGRAM_MIN_ELEMENTS: Final = 1 if _SETTING == "all" else 1 << 16  # elements from which on a function is traced


def _compiler(program: Program, given: Sequence[Array]) -> Kernel | None:
    """Return the kernel of a program, or None if it has none or the arrays are small."""
    if max(array.size for array in given) < _KERNEL_MIN_ELEMENTS:
        return None
    from tapegrad.engines.numba.codegen import kernel

    return kernel(program, given)


def _row_compiler(program: RowProgram, size: int, *, is_free: bool) -> RowKernel | None:
    """Return the kernel of a formula over rows, or None if it has none or the arrays are small."""
    if size < _KERNEL_MIN_ELEMENTS:
        return None
    from tapegrad.engines.numba.row_kernels import row_kernel

    return row_kernel(program, is_free=is_free)


class Fast(numpy.NumPy):
    """NumPy, with compiled kernels for operations on whole rows of large float arrays."""

    compiler = staticmethod(_compiler)
    row_compiler = staticmethod(_row_compiler)
    fused_from = _PROGRAM_MIN_ELEMENTS
    rows_from = min(_KERNEL_MIN_ELEMENTS, numpy.NumPy.rows_from)

    @override
    def update(self, function: Callable[..., Any], rows: Sequence[Sequence[Array]]) -> list[Any]:
        if not _can_run_in_one_pass(rows):
            return super().update(function, rows)
        from tapegrad.engines.numpy.program import computed

        return computed(function, rows, self.compiler)

    @override
    def changes(
        self, function: Callable[..., Any], rows: Sequence[Sequence[Array]], positions: Sequence[int]
    ) -> list[tuple[Any, ...]] | None:
        if threads() > _IN_PLACE_MAX_THREADS or not _can_run_in_one_pass(rows):
            return None
        from tapegrad.engines.numba.in_place import changes

        return changes(function, rows, positions)

    @override
    def relu_back(self, x: Array, dy: Array) -> Array:
        order = _dense_order(x) if x.size >= _KERNEL_MIN_ELEMENTS and _are_alike(x, dy) else None
        if order is None:
            plain: Array = super().relu_back(x, dy)
            return plain
        from tapegrad.engines.numba import kernels  # imported on demand: it imports Numba

        dx = BUFFERS.empty_like(x)
        flat = [array.transpose(order).reshape(-1) for array in (x, dy, dx)]

        def work(first: int, last: int) -> None:
            kernels.relu_back(*(array[first:last] for array in flat))

        run_in_threads(work, x.size, is_worth_it=x.size >= KERNEL_PARALLEL_MIN_ELEMENTS)
        return dx

    @override
    def pool(self, x: Array, windows: Windows, name: Pooling) -> Array:
        order = _memory_order(x, windows)
        if order is None:
            plain: Array = super().pool(x, windows, name)
            return plain
        y = _image(x, windows.sizes, order)
        mode = {"add": 0, "maximum": 1, "minimum": -1}[name]
        if order == "planes":
            kernel = "squares_planes" if _are_separate_squares(windows) else "pool_planes"
            _run_on_images(kernel, windows, x, y, options=(mode,))
        elif name == "add":
            _run_on_images("sum_channels", windows, x, y)
        else:
            _run_on_images("extreme_channels", windows, x, y, options=(mode,))
        return y

    @override
    def pool_sum_back(self, dy: Array, windows: Windows) -> Array:
        order = _memory_order(dy, windows)
        if order is None:
            plain: Array = super().pool_sum_back(dy, windows)
            return plain
        dx = _image(dy, windows.shape[-len(windows.sizes) :], order)
        _run_on_images(f"sum_back_{order}", windows, dy, dx)
        return dx

    @override
    def pool_extreme_back(self, x: Array, y: Array, dy: Array, windows: Windows) -> Array:
        order = _memory_order(x, windows)
        if order is None or not x.dtype == y.dtype == dy.dtype:
            plain: Array = super().pool_extreme_back(x, y, dy, windows)
            return plain
        dx = _image(x, x.shape[-len(windows.sizes) :], order)
        if _are_separate_squares(windows):
            _run_on_images(f"squares_back_{order}", windows, x, y, dy, dx, options=(False,))
        else:
            _run_on_images(f"extreme_back_{order}", windows, x, y, dy, dx)
        return dx

    @override
    def pool_relu(self, x: Array, windows: Windows) -> Array:
        if not _are_separate_squares(windows) or _memory_order(x, windows) != "channels":
            plain: Array = super().pool_relu(x, windows)
            return plain
        y = _image(x, windows.sizes, "channels")
        _run_on_images("relu_squares_channels", windows, x, y)
        return y

    @override
    def pool_relu_back(self, x: Array, y: Array, dy: Array, windows: Windows) -> Array:
        are_alike = x.dtype == y.dtype == dy.dtype
        if not are_alike or not _are_separate_squares(windows) or _memory_order(x, windows) != "channels":
            plain: Array = super().pool_relu_back(x, y, dy, windows)
            return plain
        dx = _image(x, x.shape[-len(windows.sizes) :], "channels")
        _run_on_images("squares_back_channels", windows, x, y, dy, dx, options=(True,))
        return dx


@public_api
def use_fast(*, is_on: bool) -> None:
    """Turn the compiled kernels of the extra `fast` on or off, for the whole process.

    They are on if Numba is installed, unless the variable TAPEGRAD_FAST is 0 when the first tensor is created. Results
    differ in the last digits, and a kernel does not warn of overflow as NumPy does.

    Args:
        is_on: Whether large arrays use compiled kernels.

    Raises:
        DTypeError: `is_on` is not a bool.
        ModuleNotFoundError: `is_on` is true and Numba is not installed.

    Examples:
        >>> from importlib.util import find_spec
        >>> has_numba = find_spec("numba") is not None
        >>> tg.use_fast(is_on=False)
        >>> x = tg.zeros((256, 256))
        >>> tg.exp(x).sum().item()
        65536.0
        >>> tg.use_fast(is_on=has_numba)
    """
    check_flag("use_fast", "is_on", is_on)
    if is_on and not _has_numba():
        message = "use_fast: compiled kernels need Numba, which the extra `fast` brings"
        raise ModuleNotFoundError(message, name="numba")
    register(Fast() if is_on else numpy.NumPy(), np.ndarray, *np.sctypeDict.values())


def _has_numba() -> bool:
    try:
        return find_spec("numba") is not None
    except ModuleNotFoundError:  # from a finder that hides the package
        return False


def _can_run_in_one_pass(rows: Sequence[Sequence[Array]]) -> bool:
    """Return whether sets of arrays are large enough to be processed in one pass."""
    is_whole = all(one.shape == first.shape for first, *others in rows for one in others)
    return is_whole and sum(first.size for first, *_ in rows) >= _UPDATE_MIN_ELEMENTS


def _dense_order(x: Array) -> list[int] | None:
    """Return the axes in the order of memory, or None if there are gaps or other dtypes than float32 and float64."""
    order = sorted(range(x.ndim), key=lambda axis: -x.strides[axis])
    return order if x.dtype.char in "fd" and x.transpose(order).flags.c_contiguous else None


def _are_alike(x: Array, y: Array) -> bool:
    return (x.dtype, x.shape, x.strides) == (y.dtype, y.shape, y.strides)


def _memory_order(x: Array, windows: Windows) -> str | None:
    """Return how a large array of floats is stored: with channels first or with channels last.

    None if no kernel pools it, such as if the cells of a window are not adjacent.
    """
    if (
        prod(windows.shape) < _KERNEL_MIN_ELEMENTS
        or max(windows.dilation) > 1
        or x.dtype.char not in "fd"
        or prod(windows.shape[-2:]) >= _PLANE_MAX_ELEMENTS
    ):
        return None
    if x.flags.c_contiguous:
        return "planes"
    return "channels" if _channels_last(x, len(windows.sizes)).flags.c_contiguous else None


def _are_separate_squares(windows: Windows) -> bool:
    """Return whether windows have 2×2 cells, do not overlap and have no padding."""
    is_padded = any(windows.padding_before) or any(windows.padding_after)
    return tuple(windows.kernel) == tuple(windows.stride) == (2, 2) and not is_padded


def _channels_last(x: Array, rank: int) -> Array:
    return np.moveaxis(x, -rank - 1, -1)


def _image(x: Array, sizes: Sequence[int], order: str) -> Array:
    """Return an uninitialized array with other sizes along its last axes, in the memory order of `x`."""
    *batch, channels = x.shape[: x.ndim - len(sizes)]
    if order == "planes":
        return BUFFERS.empty((*batch, channels, *sizes), x.dtype)
    return np.moveaxis(BUFFERS.empty((*batch, *sizes, channels), x.dtype), -1, -len(sizes) - 1)


def _run_on_images(name: str, windows: Windows, *arrays: Array, options: tuple[Any, ...] = ()) -> None:
    """Run a kernel over images, in the memory order of the last of them, on several threads."""
    order, rank = name.rpartition("_")[2], len(windows.sizes)
    # A line is an image of one row.
    geometry = tuple((1,) * (2 - rank) + tuple(one) for one in (windows.kernel, windows.stride))
    geometry += ((0,) * (2 - rank) + tuple(windows.padding_before),)
    images = []
    for array in arrays:
        sizes, channels = (1,) * (2 - rank) + array.shape[-rank:], array.shape[-rank - 1]
        flat = array if order == "planes" else _channels_last(array, rank)
        shape = (-1, *sizes) if order == "planes" else (-1, *sizes, channels)
        images.append(np.ascontiguousarray(flat).reshape(shape))
    from tapegrad.engines.numba import pools  # imported on demand: it imports Numba

    kernel: Callable[..., None] = getattr(pools, name)

    def work(first: int, last: int) -> None:
        kernel(*(image[first:last] for image in images), *geometry, *options)

    run_in_threads(work, len(images[0]), is_worth_it=prod(windows.shape) >= KERNEL_PARALLEL_MIN_ELEMENTS)


use_fast(is_on=_SETTING != "0" and _has_numba())
