"""Arrays of half precision, which compute in float32 and round once, and conversions to and from them.

NumPy's own loops over float16, and those that `ml_dtypes` adds for bfloat16, round at each step: in a column of a
matrix, 5000 ones add up to 2048 and to 256. And a matrix product does not use BLAS. So a tensor's array is a `Halves`,
which does all its arithmetic in float32, also in the user's own NumPy calls.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.engines.interface import HALF
from tapegrad.engines.numpy.large import converted, converted_by
from tapegrad.engines.thresholds import HALF_PARALLEL_MIN_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

# Their results depend on the dtype itself: in float32 they would differ.
DTYPE_DEPENDENT: Final = frozenset({np.nextafter, np.spacing})
# Read or move elements unchanged.
_MOVING_FUNCTIONS: Final[frozenset[Callable[..., Any]]] = frozenset(
    {
        np.broadcast_to,
        np.concatenate,
        np.copyto,
        np.empty_like,
        np.may_share_memory,
        np.ndim,
        np.shape,
        np.size,
        np.take,
        np.zeros_like,
    }
)
_SMALL: Final = 1 << 10  # elements; fewer are converted without checking for subnormal numbers
_BLOCK: Final = 1 << 15  # elements that stay in cache while they are checked and converted
_NORMAL: Final = 2.0**-14  # the smallest normal number of float16
_LEAST: Final = 2.0**-24  # the smallest positive number of float16


class Halves(np.ndarray[Any, np.dtype[Any]]):
    """An array of a 2-byte float dtype that computes in float32 and rounds the result."""

    @override
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if any(hasattr(one, "tape") for one in inputs):
            return NotImplemented  # a tensor calls its op
        if ufunc in DTYPE_DEPENDENT:
            return halves(getattr(ufunc, method)(*map(plain, inputs), **kwargs))
        if method == "at":
            wide = widened(inputs[0])
            ufunc.at(wide, *map(widened, inputs[1:]))
            np.copyto(plain(inputs[0]), wide, casting="unsafe")
            return None
        results = getattr(ufunc, method)(*map(widened, inputs), **widened(kwargs))
        if out is None:
            return halved(results, self.dtype)
        for buffer, result in zip(out, results if isinstance(results, tuple) else (results,), strict=True):
            np.copyto(plain(buffer), result, casting="unsafe")
        return out if len(out) > 1 else out[0]

    @override
    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        return halves(plain(self).astype(dtype, *args, **kwargs))  # of another dtype it is a plain NumPy array

    @override
    def __getitem__(self, index: Any) -> Any:
        # Scalars too: those of ml_dtypes would give float32 beside a Python number.
        return halves(super().__getitem__(index))

    @override
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any(hasattr(kind, "tape") for kind in types):
            return NotImplemented  # a tensor calls its op
        if func in _MOVING_FUNCTIONS:
            return halves(func(*plain(args), **plain(kwargs)))
        return halved(func(*widened(args), **widened(kwargs)), self.dtype)


def halves(array: Any) -> Any:
    """Return an array of half precision as a `Halves`; anything else unchanged."""
    if isinstance(array, np.ndarray | np.generic) and array.dtype.char in HALF:
        return np.asarray(array).view(Halves)
    return array


def widened(value: Any) -> Any:
    """Return half-precision arrays and dtypes, alone or in containers, in float32; anything else unchanged."""
    if isinstance(value, np.ndarray | np.generic):
        return converted(np.asarray(value), np.float32) if value.dtype.char in HALF else value
    if isinstance(value, np.dtype):
        return np.dtype(np.float32) if value.char in HALF else value
    return _each(widened, value)


def halved(value: Any, dtype: np.dtype[Any] | None) -> Any:
    """Return floats, alone or several, rounded to a dtype of half precision, if given; anything else unchanged."""
    if isinstance(value, np.ndarray | np.generic):
        return halves(rounded(value, dtype) if dtype is not None and value.dtype.kind == "f" else value)
    return _each(partial(halved, dtype=dtype), value)


def rounded(x: Any, dtype: np.dtype[Any]) -> Array:
    """Return values rounded to a dtype of half precision: `x.astype(dtype)`."""
    x = np.asarray(x)
    if dtype.char != "e" or x.dtype.kind != "f" or x.size < _SMALL or not x.flags.c_contiguous:
        return x.astype(dtype)
    return converted_by(x, dtype, _round_blocks, least=HALF_PARALLEL_MIN_ELEMENTS)


def _round_blocks(x: Array, out: Array) -> None:
    for start in range(0, x.size, _BLOCK):
        _round(x[start : start + _BLOCK], out[start : start + _BLOCK])


def _round(x: Array, out: Array) -> None:
    """Write floats as float16, and those below its normal numbers as a multiple of its smallest positive number.

    NumPy reports underflow for each of these (benchmarks/devices.py, "subnormal halves").
    """
    moduli = np.abs(x)
    is_low = moduli < _NORMAL
    if not is_low.any():
        np.copyto(out, x, casting="unsafe")
        return
    np.copyto(out, np.where(is_low, np.copysign(0, x), x), casting="unsafe")
    bits = out.view(np.uint16)
    bits |= np.rint(np.where(is_low, moduli, 0) * (1 / _LEAST)).astype(np.uint16)


def plain(value: Any) -> Any:
    """Return arrays of half precision, alone or in containers, as plain NumPy arrays."""
    return value.view(np.ndarray) if isinstance(value, Halves) else _each(plain, value)


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    if type(value) in (tuple, list):
        return type(value)(map(change, value))
    return {name: change(one) for name, one in value.items()} if type(value) is dict else value
