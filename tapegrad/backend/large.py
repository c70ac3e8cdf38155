"""Functions of large arrays, which are shared out among threads; what they give stands in rooms."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from tapegrad.backend.buffers import ROOMS, may_become
from tapegrad.backend.threads import shared_out
from tapegrad.backend.thresholds import PARALLEL_MIN_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_BLOCK: Final = 1 << 18  # elements that are added up at a time, however many threads there are


def applied(function: np.ufunc, *operands: Array, out: Array | None = None) -> Array:
    """Return what a ufunc of one result gives: `function(*operands, out=out)`.

    Args:
        function: The ufunc.
        operands: Arrays that broadcast, some of them large.
        out: Where the result is to stand, which may be one of the operands.
    """
    shape = np.broadcast(*operands).shape
    given = [one_number(one) if is_one(one) else one for one in operands]
    whole = [one for one in given if one.shape == shape]
    written = whole if out is None else [*whole, out]
    if not whole or not all(one.flags.c_contiguous for one in written):
        return np.asarray(function(*operands, out=out))  # in an order in memory that NumPy finds
    if out is None:
        out = ROOMS.empty(shape, _result(function, *(one.dtype for one in operands)))
    if all(one.ndim == 0 or one.shape == shape for one in given):
        _fill(function, [one.reshape(-1) if one.ndim else one for one in given], out.reshape(-1))
    else:
        _fill(function, [np.broadcast_to(one, shape) if one.ndim else one for one in given], out)
    return out


def converted(x: Array, dtype: Any) -> Array:
    """Return an array of another dtype: `x.astype(dtype)`."""
    if x.size < PARALLEL_MIN_ELEMENTS or not x.flags.c_contiguous:
        return x.astype(dtype)
    return written(x, dtype, _convert, least=PARALLEL_MIN_ELEMENTS)


def written(x: Array, dtype: Any, write: Callable[[Array, Array], None], *, least: int) -> Array:
    """Return an array of another dtype, into which a function writes what it makes of parts of a contiguous one.

    Args:
        x: What is read.
        dtype: Of the result.
        write: Takes a part of `x` and the room for it, both of rank 1.
        least: How many elements are worth a second thread.
    """
    out = ROOMS.empty(x.shape, dtype)
    flat, result = x.reshape(-1), out.reshape(-1)

    def work(first: int, last: int) -> None:
        write(flat[first:last], result[first:last])

    shared_out(work, x.size, is_worth_it=x.size >= least)
    return out


def _convert(x: Array, out: Array) -> None:
    np.copyto(out, x, casting="unsafe")


def added(x: Array) -> Array:
    """Add up all elements of an array, block by block: whatever the threads, the sum is the same."""
    flat = x.reshape(-1)
    sums = np.empty(-(-x.size // _BLOCK), x.dtype)

    def work(first: int, last: int) -> None:
        for block in range(first, last):
            np.add.reduce(flat[block * _BLOCK : (block + 1) * _BLOCK], out=sums[block : block + 1].reshape(()))

    shared_out(work, sums.size, is_worth_it=True)
    return np.asarray(np.add.reduce(sums))


def scale_in_place(values: dict[Any, Any], key: Any, x: Any) -> Any:
    """Return the product of `values[key]` and `x`, in the place of the first where nobody else sees it."""
    if isinstance(x, np.ndarray) and is_one(x) and one_number(x) == 1 and x.dtype == values[key].dtype:
        return values[key]  # the gradient of a sum is 1
    out = values[key] if may_become(values, key, x) else None
    return (
        np.multiply(values[key], x, out=out)
        if x.size < PARALLEL_MIN_ELEMENTS
        else applied(np.multiply, values[key], x, out=out)
    )


def is_one(x: Array) -> bool:
    """Return whether an array is one number everywhere, as the gradient of a sum is."""
    return x.size == 1 or not (x.size == 0 or any(x.strides))


def one_number(x: Array) -> Array:
    """Return the number that an array is everywhere, with rank 0."""
    return x[(slice(1),) * x.ndim].reshape(())


def _fill(function: np.ufunc, operands: Sequence[Array], out: Array) -> None:
    """Write what a ufunc gives, a part of the first axis on each thread."""

    def work(first: int, last: int) -> None:
        function(*(one[first:last] if one.ndim else one for one in operands), out=out[first:last])

    shared_out(work, len(out), is_worth_it=out.size >= PARALLEL_MIN_ELEMENTS)


@lru_cache(maxsize=1024)
def _result(function: np.ufunc, *dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of what a ufunc gives for some dtypes."""
    return function.resolve_dtypes((*dtypes, None))[-1]
