"""Normalisation in NumPy: some rows at a time, so that what is made on the way stays in cache.

Each function follows its formula step by step and in place, for a large temporary costs more than its arithmetic.
"""

from __future__ import annotations

from functools import partial
from math import nan, prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from tapegrad.backend.rooms import ROOMS

if TYPE_CHECKING:
    from collections.abc import Callable

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Axis: TypeAlias = "int | tuple[int, ...] | None"

_BYTES: Final = 1 << 20  # of an array at a time
_SHORT: Final = 1 << 14  # elements; of longer rows NumPy adds up halves of halves, and BLAS one element to the other
_ROWS: Final = (1,)  # the axis that is left where the arrays have been made matrices


def softmax(x: Array, axis: Axis) -> Array:
    """Turns scores into probabilities, see `Backend.softmax`."""
    out = ROOMS.empty(x.shape, x.dtype)
    _in_parts(_softmax, axis, x, out)
    return out


def softmax_back(y: Array, dy: Array, axis: Axis) -> Array:
    """Returns the gradient of scores, see `Backend.softmax_back`."""
    dx = ROOMS.empty(dy.shape, dy.dtype)
    _in_parts(_softmax_back, axis, y, dy, dx)
    return dx


def standardize(x: Array, axis: Axis, eps: Any, *, centred: bool) -> tuple[Array, Array]:
    """Divides by the root of the mean square, see `Backend.standardize`."""
    y = _room(x, axis)
    factor = np.empty(_left(x.shape, axis), x.dtype)
    work = partial(_standardize, eps=eps, centred=centred)
    if isinstance(eps, float):
        _in_parts(work, axis, x, y, factor)
    else:  # one for each row, which is rare
        work(axis, x, y, factor)
    return y, factor


def standardize_back(y: Array, factor: Array, dy: Array, axis: Axis, *, centred: bool) -> Array:
    """Returns the gradient of what was standardized, see `Backend.standardize_back`."""
    dx = _room(y, axis)
    _in_parts(partial(_standardize_back, centred=centred), axis, y, factor, dy, dx)
    return dx


def _softmax(axis: Axis, x: Array, y: Array) -> None:
    # Shift by the max first: exp(89) overflows float32.
    np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True), out=y)
    np.exp(y, out=y)
    np.divide(y, _sum(y, axis), out=y)


def _softmax_back(axis: Axis, y: Array, dy: Array, dx: Array) -> None:
    np.subtract(dy, _dot(dy, y, axis), out=dx)
    np.multiply(dx, y, out=dx)


def _standardize(axis: Axis, x: Array, y: Array, factor: Array, *, eps: Any, centred: bool) -> None:
    share = factor.size / x.size if x.size else nan
    if centred:
        x = np.subtract(x, _sum(x, axis) * share, out=y)
    np.divide(1, np.sqrt(_dot(x, x, axis) * share + eps), out=factor)
    np.multiply(x, factor, out=y)


def _standardize_back(axis: Axis, y: Array, factor: Array, dy: Array, dx: Array, *, centred: bool) -> None:
    share = factor.size / y.size if y.size else nan
    np.multiply(y, _dot(dy, y, axis) * share, out=dx)
    np.subtract(dy, dx, out=dx)
    if centred:
        np.subtract(dx, _sum(dy, axis) * share, out=dx)
    np.multiply(dx, factor, out=dx)


def _sum(x: Array, axis: Axis) -> Array:
    """Adds up along axes, which stay with size one."""
    if _is_short(x, axis):
        return _dot(x, np.ones(x.shape[1], x.dtype), axis)
    return _added(x, axis)


def _dot(x: Array, y: Array, axis: Axis) -> Array:
    """Adds up products along axes, which stay with size one."""
    return np.vecdot(x, y)[:, None] if _is_short(x, axis) else _added(x * y, axis)


def _added(x: Array, axis: Axis) -> Array:
    """Adds up along axes, which stay with size one."""
    if x.flags.c_contiguous or axis == _ROWS:
        return np.add.reduce(x, axis=axis, keepdims=True)
    # Along several axes that are not the last in memory NumPy adds each element to one sum, which loses digits.
    for one in sorted(_spanned(x.shape, axis), reverse=True):
        x = np.add.reduce(x, axis=one, keepdims=True)
    return x


def _room(x: Array, axis: Axis) -> Array:
    """Returns an array of any values for as many as `x` has: in its order in memory unless rows are to be parted."""
    return ROOMS.empty(x.shape, x.dtype) if _stand_last(_spanned(x.shape, axis), x.ndim) else ROOMS.empty_like(x)


def _is_short(x: Array, axis: Axis) -> bool:
    """Says whether these are rows that BLAS adds up as exactly as NumPy, which takes five times as long."""
    return axis == _ROWS and x.ndim == 2 and x.shape[1] <= _SHORT and x.dtype.char in "fd"


def _in_parts(work: Callable[..., None], axis: Axis, *arrays: Array) -> None:
    """Works on some rows of all arrays at a time, where rows are what the axes span."""
    shape, nbytes = arrays[0].shape, arrays[0].nbytes
    if nbytes <= _BYTES or not _stand_last(_spanned(shape, axis), len(shape)):
        work(axis, *arrays)
        return
    count = prod(_left(shape, axis))
    rows = [array.reshape(count, -1) for array in arrays]
    step = max(1, _BYTES * count // nbytes)
    for first in range(0, count, step):
        work(_ROWS, *(array[first : first + step] for array in rows))


def _left(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    """Returns a shape whose axes are collapsed to size one."""
    spanned = _spanned(shape, axis)
    return tuple(1 if place in spanned else n for place, n in enumerate(shape))


def _spanned(shape: tuple[int, ...], axis: Axis) -> set[int]:
    rank = len(shape)
    axes = range(rank) if axis is None else (axis,) if isinstance(axis, int | np.integer) else axis
    return {one % rank for one in axes}


def _stand_last(axes: set[int], rank: int) -> bool:
    return axes == set(range(rank - len(axes), rank))
