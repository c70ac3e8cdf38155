"""Multithreaded elementwise operations on large arrays; results come from the buffer pool."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from tapegrad.engines.numpy.buffers import BUFFERS, is_free
from tapegrad.engines.numpy.threads import run_in_threads
from tapegrad.engines.thresholds import PARALLEL_MIN_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_RUN: Final = 1 << 10  # elements that BLAS adds up at a time, independent of the number of threads


def applied(function: np.ufunc, *operands: Array, out: Array | None = None) -> Array:
    """Return the result of a ufunc with one output: `function(*operands, out=out)`.

    Args:
        function: The ufunc.
        operands: Arrays that broadcast, some of them large.
        out: The array for the result, which may be one of the operands.
    """
    shape = np.broadcast(*operands).shape
    given = [one_number(one) if is_one(one) else one for one in operands]
    whole = [one for one in given if one.shape == shape]
    arrays = whole if out is None else [*whole, out]
    if not whole or not all(one.flags.c_contiguous for one in arrays):
        return np.asarray(function(*operands, out=out))  # in the memory order that NumPy chooses
    if out is None:
        out = BUFFERS.empty(shape, _result(function, *(one.dtype for one in operands)))
    if all(one.ndim == 0 or one.shape == shape for one in given):
        _fill(function, [one.reshape(-1) if one.ndim else one for one in given], out.reshape(-1))
    else:
        _fill(function, [np.broadcast_to(one, shape) if one.ndim else one for one in given], out)
    return out


def converted(x: Array, dtype: Any) -> Array:
    """Return an array converted to another dtype: `x.astype(dtype)`."""
    if x.size < PARALLEL_MIN_ELEMENTS or not x.flags.c_contiguous:
        return x.astype(dtype)
    return converted_by(x, dtype, _convert, least=PARALLEL_MIN_ELEMENTS)


def converted_by(x: Array, dtype: Any, write: Callable[[Array, Array], None], *, least: int) -> Array:
    """Return an array of another dtype, filled by a function that converts parts of a contiguous array.

    Args:
        x: The source.
        dtype: Of the result.
        write: Takes a part of `x` and the same part of the result, both of rank 1.
        least: The number of elements for which a second thread pays.
    """
    out = BUFFERS.empty(x.shape, dtype)
    flat, result = x.reshape(-1), out.reshape(-1)

    def work(first: int, last: int) -> None:
        write(flat[first:last], result[first:last])

    run_in_threads(work, x.size, is_worth_it=x.size >= least)
    return out


def _convert(x: Array, out: Array) -> None:
    np.copyto(out, x, casting="unsafe")


def added(x: Array) -> Array:
    """Add up all elements of an array, run by run: the sum does not depend on the number of threads."""
    flat = x.reshape(-1)
    count = flat.size // _RUN
    runs = flat[: count * _RUN].reshape(count, _RUN)
    sums = np.empty(count + 1, x.dtype)

    def work(first: int, last: int) -> None:  # BLAS (benchmarks/devices.py, "a large sum")
        np.vecdot(runs[first:last], ones(_RUN, x.dtype), out=sums[first:last])

    run_in_threads(work, count, is_worth_it=True)
    np.add.reduce(flat[count * _RUN :], out=sums[count:].reshape(()))
    return np.asarray(np.add.reduce(sums))


@lru_cache(maxsize=256)
def ones(count: int, dtype: np.dtype[Any]) -> Array:
    """Return ones, by whose products BLAS adds up rows or columns."""
    found = np.ones(count, dtype)
    found.flags.writeable = False
    return found


def scale_in_place(values: dict[Any, Any], key: Any, x: Any) -> Any:
    """Return the product of `values[key]` and `x`, in place if `values[key]` has no other reference."""
    if is_one(x) and one_number(x) == 1 and x.dtype == values[key].dtype:
        return values[key]  # the gradient of a sum is 1
    is_alike = x.dtype == values[key].dtype and np.broadcast_shapes(x.shape, values[key].shape) == values[key].shape
    out = values[key] if is_alike and is_free(values, key) else None
    return (
        np.multiply(values[key], x, out=out)
        if x.size < PARALLEL_MIN_ELEMENTS
        else applied(np.multiply, values[key], x, out=out)
    )


def is_one(x: Array) -> bool:
    """Return whether all elements are the same scalar by layout (size 1, or all strides 0)."""
    return x.size == 1 or not (x.size == 0 or any(x.strides))


def one_number(x: Array) -> Array:
    """Return that scalar as an array of rank 0."""
    return x[(slice(1),) * x.ndim].reshape(())


def _fill(function: np.ufunc, operands: Sequence[Array], out: Array) -> None:
    """Write the results of a ufunc, a part of the first axis on each thread."""

    def work(first: int, last: int) -> None:
        function(*(one[first:last] if one.ndim else one for one in operands), out=out[first:last])

    run_in_threads(work, len(out), is_worth_it=out.size >= PARALLEL_MIN_ELEMENTS)


@lru_cache(maxsize=1024)
def _result(function: np.ufunc, *dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the result of a ufunc for some dtypes."""
    return function.resolve_dtypes((*dtypes, None))[-1]
