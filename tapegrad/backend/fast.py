"""NumPy whose primitives that memory bounds are compiled: what the extra `fast` adds, and how it is turned off.

Numba is imported when a large array first meets a kernel, and a kernel is compiled when it first runs; after that it is
on disk. Kernels run in one thread each and let go of Python's lock, so that Numba's own threads, which would stand in
the way of BLAS's, are never started.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.backend import numpy
from tapegrad.backend.engines import register
from tapegrad.backend.threads import shared_out
from tapegrad.traces import edge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.backend.generated import Kernel
    from tapegrad.backend.program import Program

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Axis: TypeAlias = "int | tuple[int, ...] | None"

_SETTING: Final = os.environ.get("TAPEGRAD_FAST", "1")  # 0 for no kernels, and `all` for small arrays too, in tests
_LARGE: Final = 1 if _SETTING == "all" else 1 << 15  # elements; below, NumPy is done before a kernel is found
_ROWS: Final = 64  # that are added up at a time
_MANY: Final = 1 << 18  # elements that are worth a second thread
_PROGRAMS: Final = 1 if _SETTING == "all" else 1 << 16  # elements that are worth writing a program down


def _compiler(program: Program, given: Sequence[Array]) -> Kernel | None:
    """Returns the kernel of a program, if it has one and the arrays are large."""
    if max(array.size for array in given) < _LARGE:
        return None
    found: Kernel | None = import_module("tapegrad.backend.generated").kernel(program, given)
    return found


class Fast(numpy.NumPy):
    """NumPy, and compiled kernels for what goes through whole rows of large arrays of floats."""

    compiler = staticmethod(_compiler)
    fused_from = _PROGRAMS

    @override
    def softmax(self, x: Array, axis: int) -> Array:
        if not _are_rows(axis, x):
            return super().softmax(x, axis)
        y = np.empty(x.shape, x.dtype)
        # NumPy finds the largest faster than a loop that has to mind NaN, which no order has.
        _run("softmax", x, np.maximum.reduce(x, axis=-1, keepdims=True), y)
        return y

    @override
    def softmax_back(self, y: Array, dy: Array, axis: int) -> Array:
        if not _are_rows(axis, y, dy):
            return super().softmax_back(y, dy, axis)
        dx = np.empty(y.shape, y.dtype)
        _run("softmax_back", y, dy, dx)
        return dx

    @override
    def standardize(self, x: Array, axis: Axis, eps: Any, *, centred: bool) -> tuple[Array, Array]:
        if not (isinstance(eps, float) and _are_rows(axis, x)):
            return super().standardize(x, axis, eps, centred=centred)
        y, factor = np.empty(x.shape, x.dtype), np.empty((*x.shape[:-1], 1), x.dtype)
        _run("standardize", x, y, factor, options=(x.dtype.type(eps), centred))
        return y, factor

    @override
    def standardize_back(self, y: Array, factor: Array, dy: Array, axis: Axis, *, centred: bool) -> Array:
        if not _are_rows(axis, y, dy):
            return super().standardize_back(y, factor, dy, axis, centred=centred)
        dx = np.empty(y.shape, y.dtype)
        _run("standardize_back", y, factor, dy, dx, options=(centred,))
        return dx

    @override
    def affine(self, x: Array, w: Array, b: Array) -> Array:
        if not _are_rows(-1, x) or not w.dtype == b.dtype == x.dtype:
            return x * w + b
        y = np.empty(x.shape, x.dtype)
        _run("affine", x, y, options=(w, b))
        return y

    @override
    def affine_back(self, x: Array, w: Array, dy: Array, wanted: Sequence[bool]) -> tuple[Any, Any, Any]:
        if not (all(wanted) and _are_rows(-1, x, dy) and w.dtype == x.dtype):
            return super().affine_back(x, w, dy, wanted)
        dx = np.empty(x.shape, x.dtype)
        matrices = [array.reshape(-1, x.shape[-1]) for array in (x, dy, dx)]
        # Some rows have sums of their own, whatever the threads: so each run gives the same bits.
        sums = np.zeros((-(-len(matrices[0]) // _ROWS), 2, x.shape[-1]), x.dtype)
        kernel = import_module("tapegrad.backend.kernels").affine_back

        def work(first: int, last: int) -> None:
            for block in range(first, last):
                rows = slice(block * _ROWS, (block + 1) * _ROWS)
                kernel(*(matrix[rows] for matrix in matrices), w, sums[block])

        shared_out(work, len(sums), is_worth_it=x.size >= _MANY)
        dw, db = np.add.reduce(sums, axis=0)
        return dx, dw, db


@edge
def use_fast(*, is_on: bool) -> None:
    """Turns the compiled kernels of the extra `fast` on or off, for the whole process.

    They are on where Numba is installed, unless the variable TAPEGRAD_FAST is 0 when the first tensor is made. Results
    differ in the last digits, and a kernel does not warn of overflow as NumPy does.

    Args:
        is_on: Whether large arrays are to meet kernels.

    Raises:
        ModuleNotFoundError: They are to be on, and Numba is not installed.
    """
    if is_on and not _has_numba():
        message = "use_fast: compiled kernels need Numba, which the extra `fast` brings"
        raise ModuleNotFoundError(message, name="numba")
    register(Fast() if is_on else numpy.NumPy(), np.ndarray, *np.sctypeDict.values())


def _has_numba() -> bool:
    return find_spec("numba") is not None


def _are_rows(axis: Axis, *arrays: Array) -> bool:
    """Says whether arrays are large, of one float dtype, and lie row behind row along the axis."""
    first = arrays[0]
    return (
        first.size >= _LARGE
        and first.dtype.char in "fd"
        and axis in (-1, first.ndim - 1, (-1,), (first.ndim - 1,))
        and all(
            array.dtype == first.dtype and array.shape == first.shape and array.flags.c_contiguous for array in arrays
        )
    )


def _run(name: str, *arrays: Array, options: tuple[Any, ...] = ()) -> None:
    """Runs a kernel over the rows of some arrays, on several threads."""
    kernel: Callable[..., None] = getattr(import_module("tapegrad.backend.kernels"), name)
    matrices = [array.reshape(-1, array.shape[-1]) for array in arrays]

    def work(first: int, last: int) -> None:
        kernel(*(matrix[first:last] for matrix in matrices), *options)

    shared_out(work, len(matrices[0]), is_worth_it=arrays[0].size >= _MANY)


use_fast(is_on=_SETTING != "0" and _has_numba())
