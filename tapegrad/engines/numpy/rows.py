"""Normalisation in NumPy: some rows at a time, so that intermediate results stay in cache.

Each function computes its formula step by step and in place, because a large temporary costs more than its arithmetic.
"""

from __future__ import annotations

from functools import partial
from math import nan, prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from tapegrad.engines.numpy.buffers import BUFFERS
from tapegrad.engines.numpy.threads import shared_out
from tapegrad.engines.thresholds import PARALLEL_MIN_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.engines.interface import Axis

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_BYTES: Final = 1 << 21  # of an array at a time
_SMALL: Final = 1 << 12  # elements for which reshaping to a matrix does not pay
_SHORT: Final = 1 << 14  # elements; of longer rows NumPy's pairwise sum is more exact than BLAS's sequential one
_HIGH: Final = 16.0  # a score up to which the sum of exponentials does not overflow
_LOW: Final = 1e-7  # the smallest sum of exponentials whose large terms have kept all digits
_ROWS: Final = (1,)  # the axis of the rows of a matrix


def softmax(x: Array, axis: Axis) -> Array:
    """Compute the softmax of scores, see `Backend.softmax`."""
    return _filled(_softmax, axis, x)


def softmax_back(y: Array, dy: Array, axis: Axis, *, is_free: bool = False) -> Array:
    """Return the gradient of scores, see `Backend.softmax_back`."""
    return _filled(_softmax_back, axis, y, dy, is_free=is_free)


def log_softmax(x: Array, axis: Axis) -> Array:
    """Compute the log-softmax of scores, see `Backend.log_softmax`."""
    return _filled(_log_softmax, axis, x)


def log_softmax_back(y: Array, dy: Array, axis: Axis, *, is_free: bool = False) -> Array:
    """Return the gradient of scores, see `Backend.log_softmax_back`."""
    return _filled(_log_softmax_back, axis, y, dy, is_free=is_free)


def standardize(x: Array, axis: Axis, eps: Any, *, centred: bool) -> tuple[Array, Array]:
    """Divide by the root of the mean square, see `Backend.standardize`."""
    y = _result_buffer(x, axis)
    factor = np.empty(_left(x.shape, axis), x.dtype)
    work = partial(_standardize, eps=eps, centred=centred)
    if isinstance(eps, float):
        _in_parts(work, axis, x, y, factor)
    else:  # one for each row, which is rare
        work(axis, x, y, factor)
    return y, factor


def standardize_back(y: Array, factor: Array, dy: Array, axis: Axis, *, centred: bool) -> Array:
    """Return the gradient of the input of `standardize`, see `Backend.standardize_back`."""
    dx = _result_buffer(y, axis)
    _in_parts(partial(_standardize_back, centred=centred), axis, y, factor, dy, dx)
    return dx


def layer_norm(x: Array, w: Array, b: Array, eps: Any) -> tuple[Array, Array]:
    """Standardize rows, then scale and shift columns, see `Backend.layer_norm`."""
    y, factor = BUFFERS.empty(x.shape, x.dtype), np.empty((*x.shape[:-1], 1), x.dtype)
    work = partial(_layer_norm, w=w, b=b, eps=eps)
    if isinstance(eps, float):
        _in_parts(work, -1, x, y, factor)
    else:
        work(-1, x, y, factor)
    return y, factor


def layer_norm_back(x: Array, w: Array, dy: Array, eps: Any, wanted: Sequence[bool]) -> tuple[Any, Any, Any, Array]:
    """Return the gradients of rows, scales and shifts, see `Backend.layer_norm_back`."""
    dx, factor = BUFFERS.empty(x.shape, x.dtype), np.empty((*x.shape[:-1], 1), x.dtype)
    work = partial(_layer_norm_back, w=w, eps=eps, wanted=wanted)
    parts = _in_parts(work, -1, x, dy, dx, factor) if isinstance(eps, float) else [work(-1, x, dy, dx, factor)]
    dw, db = (None if sums[0] is None else np.add.reduce(sums) for sums in zip(*parts, strict=True))
    return dx if wanted[0] else None, dw, db, factor


def _filled(work: Callable[..., Any], axis: Axis, *arrays: Array, is_free: bool = False) -> Array:
    """Return the results that `work` writes into a buffer like the last array, or into that array if it is free."""
    last = arrays[-1]
    out = last if is_free and last.flags.c_contiguous else BUFFERS.empty(last.shape, last.dtype)
    _in_parts(work, axis, *arrays, out)
    return out


def _softmax(axis: Axis, x: Array, y: Array) -> None:
    if x.dtype.char in "fd" and x.size and np.maximum.reduce(x, axis=None) <= _HIGH:
        # Nothing overflows; unless all scores of a row are far below 0, it needs no shift.
        np.exp(x, out=y)
        total = _sum(y, axis)
        if np.minimum.reduce(total, axis=None) >= _LOW:
            np.divide(y, total, out=y)
            return
    # Shift by the max first: exp(89) overflows float32.
    np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True), out=y)
    np.exp(y, out=y)
    np.divide(y, _sum(y, axis), out=y)


def _softmax_back(axis: Axis, y: Array, dy: Array, dx: Array) -> None:
    np.subtract(dy, _dot(dy, y, axis), out=dx)
    np.multiply(dx, y, out=dx)


def _log_softmax(axis: Axis, x: Array, y: Array) -> None:
    np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True), out=y)
    powers = np.exp(y, out=BUFFERS.empty(y.shape, y.dtype))
    np.subtract(y, np.log(_sum(powers, axis)), out=y)


def _log_softmax_back(axis: Axis, y: Array, dy: Array, dx: Array) -> None:
    powers = np.exp(y, out=BUFFERS.empty(y.shape, y.dtype))
    np.subtract(dy, np.multiply(powers, _sum(dy, axis), out=powers), out=dx)


def _standardize(axis: Axis, x: Array, y: Array, factor: Array, *, eps: Any, centred: bool) -> None:
    np.multiply(_with_factor(axis, x, y, factor, eps=eps, centred=centred), factor, out=y)


def _with_factor(axis: Axis, x: Array, y: Array, factor: Array, *, eps: Any, centred: bool) -> Array:
    """Write the factor that makes the mean square 1, and return what it scales: `x`, or `x` minus its mean."""
    share = factor.size / x.size if x.size else nan
    if centred:
        x = np.subtract(x, _sum(x, axis) * share, out=y)
    np.divide(1, np.sqrt(_dot(x, x, axis) * share + eps), out=factor)
    return x


def _standardize_back(axis: Axis, y: Array, factor: Array, dy: Array, dx: Array, *, centred: bool) -> None:
    share = factor.size / y.size if y.size else nan
    np.multiply(y, _dot(dy, y, axis) * share, out=dx)
    np.subtract(dy, dx, out=dx)
    if centred:
        np.subtract(dx, _sum(dy, axis) * share, out=dx)
    np.multiply(dx, factor, out=dx)


def _layer_norm(axis: Axis, x: Array, y: Array, factor: Array, *, w: Array, b: Array, eps: Any) -> None:
    _standardize(axis, x, y, factor, eps=eps, centred=True)
    np.multiply(y, w, out=y)
    np.add(y, b, out=y)


def _layer_norm_back(
    axis: Axis, x: Array, dy: Array, dx: Array, factor: Array, *, w: Array, eps: Any, wanted: Sequence[bool]
) -> tuple[Any, Any]:
    share = factor.size / x.size if x.size else nan
    centred = _with_factor(axis, x, dx, factor, eps=eps, centred=True)
    derivative = np.multiply(dy, centred, out=BUFFERS.empty(x.shape, x.dtype))
    shape = factor.size, x.shape[-1]
    dw = np.einsum("ij,i->j", derivative.reshape(shape), factor.reshape(-1)) if wanted[1] else None
    db = np.add.reduce(dy.reshape(shape)) if wanted[2] else None
    if wanted[0]:
        np.multiply(centred, _dot(derivative, w, axis) * (share * factor * factor), out=dx)
        np.add(dx, _dot(dy, w, axis) * share, out=dx)
        np.subtract(np.multiply(dy, w, out=derivative), dx, out=dx)
        np.multiply(dx, factor, out=dx)
    return dw, db


def _sum(x: Array, axis: Axis) -> Array:
    """Add up along axes, which are kept with size one."""
    if _is_short(x, axis):
        return _dot(x, np.ones(x.shape[1], x.dtype), axis)
    return _added(x, axis)


def _dot(x: Array, y: Array, axis: Axis) -> Array:
    """Add up products along axes, which are kept with size one."""
    return np.vecdot(x, y)[:, None] if _is_short(x, axis) else _added(x * y, axis)


def _added(x: Array, axis: Axis) -> Array:
    """Add up along axes, which are kept with size one."""
    if x.flags.c_contiguous or axis == _ROWS:
        return np.add.reduce(x, axis=axis, keepdims=True)
    # Along several axes that are not the last in memory, NumPy adds element by element, which loses digits.
    for one in sorted(_spanned(x.shape, axis), reverse=True):
        x = np.add.reduce(x, axis=one, keepdims=True)
    return x


def _result_buffer(x: Array, axis: Axis) -> Array:
    """Return an uninitialized array of the shape of `x`: in its memory order, or contiguous if rows are split."""
    return BUFFERS.empty(x.shape, x.dtype) if _stand_last(_spanned(x.shape, axis), x.ndim) else BUFFERS.empty_like(x)


def _is_short(x: Array, axis: Axis) -> bool:
    """Return whether BLAS adds up these rows as exactly as NumPy (`benchmarks/devices.py`, "rows by BLAS")."""
    return axis == _ROWS and x.ndim == 2 and x.shape[1] <= _SHORT and x.dtype.char in "fd"


def _in_parts(work: Callable[..., Any], axis: Axis, *arrays: Array) -> list[Any]:
    """Run `work` on some rows of all arrays at a time, where rows span the axes, and return the list of results."""
    shape, size = arrays[0].shape, arrays[0].size
    if size <= _SMALL or not _stand_last(_spanned(shape, axis), len(shape)):
        return [work(axis, *arrays)]
    count = prod(_left(shape, axis))
    rows = [array.reshape(count, -1) for array in arrays]
    step = max(1, _BYTES * count // arrays[0].nbytes)
    found: list[Any] = [None] * -(-count // step)

    def part(first: int, last: int) -> None:
        for place in range(first, last):
            found[place] = work(_ROWS, *(array[place * step : (place + 1) * step] for array in rows))

    shared_out(part, len(found), is_worth_it=size >= PARALLEL_MIN_ELEMENTS)
    return found


def _left(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    """Return a shape whose axes are collapsed to size one."""
    spanned = _spanned(shape, axis)
    return tuple(1 if place in spanned else n for place, n in enumerate(shape))


def _spanned(shape: tuple[int, ...], axis: Axis) -> set[int]:
    rank = len(shape)
    axes = range(rank) if axis is None else (axis,) if isinstance(axis, int | np.integer) else axis
    return {int(one) % rank for one in axes}


def _stand_last(axes: set[int], rank: int) -> bool:
    return axes == set(range(rank - len(axes), rank))
