"""A pool of buffers for large NumPy results; a buffer is reused once no array refers to it.

The system maps the pages of a fresh array as they are first written, and the allocator returns them as soon as the
array is freed. So large primitives write their results into this pool.
"""

from __future__ import annotations

import sys
from math import prod
from operator import sub
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from tapegrad.engines.thresholds import POOL_MIN_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_MAX_POOL_BYTES: Final = 1 << 28  # bytes of all buffers; more than that, or larger arrays, come from the allocator
_MAX_CHECKED: Final = 32  # buffers that are checked at either end of a list
_HAS_EXACT_COUNTS: Final = getattr(sys, "_is_gil_enabled", lambda: True)()  # whether reference counts are exact


class _Buffer(np.ndarray[tuple[int], np.dtype[np.uint8]]):
    """Bytes for one array at a time; a class of its own distinguishes a buffer from other memory."""


class BufferPool:
    """Lists of buffers by size.

    A buffer is reused only when no array uses it: each array, each view and any other object that exports its memory
    holds a reference to the buffer, and Python counts them.
    """

    def __init__(self) -> None:
        self._lists: dict[int, list[_Buffer]] = {}  # by bytes, the most recently used last, and so in each list
        self._lock = Lock()
        self.nbytes = 0

    def empty(self, shape: Sequence[int], dtype: Any) -> Array:
        """Return an uninitialized array, as `np.empty` does."""
        size = prod(shape) * np.dtype(dtype).itemsize
        if not POOL_MIN_BYTES <= size <= _MAX_POOL_BYTES or not _HAS_EXACT_COUNTS:
            return np.empty(shape, dtype)
        with self._lock:
            buffer = self._unused(size)
            return np.empty(shape, dtype) if buffer is None else np.ndarray(shape, dtype, buffer)

    def empty_like(self, x: Array, dtype: Any = None, shape: Sequence[int] | None = None) -> Array:
        """Return an uninitialized array with the memory order of `x`, as `np.empty_like` does."""
        dtype, shape = x.dtype if dtype is None else dtype, x.shape if shape is None else shape
        if x.flags.c_contiguous:
            return self.empty(shape, dtype)
        order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
        back = sorted(range(x.ndim), key=order.__getitem__)
        return self.empty([shape[axis] for axis in order], dtype).transpose(back)

    def clear(self) -> None:
        """Release all buffers; arrays that use one keep it alive."""
        with self._lock:
            self._lists.clear()
            self.nbytes = 0

    def _unused(self, size: int) -> _Buffer | None:
        """Return an unreferenced buffer of so many bytes, or up to an eighth more."""
        step = 1 << max(0, size.bit_length() - 4)
        size = -(-size // step) * step
        buffers = self._lists.pop(size, [])
        self._lists[size] = buffers
        buffer = _pop_unused(buffers)
        if buffer is None and self._has_space(size):
            buffer = _Buffer(size, np.uint8)
            self.nbytes += size
        if buffer is not None:
            buffers.append(buffer)
        return buffer

    def _has_space(self, size: int) -> bool:
        """Return whether another buffer fits, after releasing the least recently used list if needed."""
        other = next(iter(self._lists))
        while self.nbytes + size > _MAX_POOL_BYTES and _pop_unused(self._lists[other]) is not None:
            self.nbytes -= other
        return self.nbytes + size <= _MAX_POOL_BYTES


def copy_runs(x: Array, out: Array) -> None:
    """Copy an array whose last axis is contiguous, as that of `out` is, each run along this axis as one element.

    NumPy copies many short runs one by one (`benchmarks/devices.py`, "runs").
    """
    run = np.dtype((np.void, x.shape[-1] * x.itemsize))
    np.copyto(out.view(run), x.view(run))


def accumulate(values: dict[Any, Any], key: Any, x: Any) -> Any:
    """Return the sum of `values[key]` and `x`, in place if the first is large and has no other reference.

    The sum then needs no new memory.
    """
    return np.add(values[key], x, out=values[key]) if can_accumulate(values, key, x) else values[key] + x


def can_accumulate(values: dict[Any, Any], key: Any, x: Any) -> bool:
    """Return whether `values[key]` has the layout and dtype of `x`, and no other reference."""
    return (
        type(x) is np.ndarray and (values[key].shape, values[key].dtype) == (x.shape, x.dtype) and is_free(values, key)
    )


def is_free(values: dict[Any, Any], key: Any) -> bool:
    """Return whether `values[key]` has no other reference, so that its memory may be overwritten.

    Each holder of an array, or of a view of it, has a reference to it or to its memory, and Python counts them.
    """
    value = values[key]
    return (
        type(value) is np.ndarray
        and _HAS_EXACT_COUNTS
        and value.flags.writeable
        and sys.getrefcount(value) == _REFERENCES_IN_DICT
        and _is_owned(value)
    )


def can_overwrite(array: Array) -> bool:
    """Return whether an array is contiguous and may be changed in place once `check_references` has passed."""
    return (
        type(array) is np.ndarray
        and _HAS_EXACT_COUNTS
        and array.flags.carray
        and (array.base is None or (type(array.base) is _Buffer and _is_owned(array)))
    )


def check_references(values: Iterable[Any], references: Iterable[int]) -> Iterator[None]:
    """Return an iterator that raises a KeyError at the first value whose reference count differs from the expected one.

    Nothing here is written in Python, so that no other thread runs meanwhile.

    Args:
        values: The values to check.
        references: The number of references to each besides those that `values` holds.
    """
    return map(
        _ZERO_TO_NONE.__getitem__,
        map(sub, map(sys.getrefcount, values), map(_REFERENCES_IN_ITERATION.__add__, references)),
    )


def _is_owned(array: Array) -> bool:
    """Return whether no other array uses the memory of this one, which is its own or a buffer."""
    memory: Any = array.base
    if memory is None:
        return True
    # The memory has a reference from the array or dictionary, and from the local name; a buffer also from its list.
    is_result_buffer = type(memory) is _Buffer
    return (
        (is_result_buffer or type(memory) is np.ndarray)
        and memory.base is None
        and sys.getrefcount(memory) == _REFERENCES_IN_DICT + is_result_buffer
    )


def _pop_unused(buffers: list[_Buffer]) -> _Buffer | None:
    """Return an unreferenced buffer of a list, the last used if possible, because it may still be in cache."""
    last = len(buffers) - 1
    for position in (
        *range(last, max(last - _MAX_CHECKED, -1), -1),
        *range(min(_MAX_CHECKED, max(0, last - _MAX_CHECKED + 1))),
    ):
        if _references(buffers, position) == _REFERENCES_IN_LIST:
            return buffers.pop(position)
    return None


def _references(buffers: list[Any], position: int) -> int:
    buffer = buffers[position]
    return sys.getrefcount(buffer)


def _references_in_dict(values: dict[Any, Any], key: Any, _: Any) -> int:
    value = values[key]
    return sys.getrefcount(value)


# References to a value that only its dictionary holds, during the check.
_REFERENCES_IN_DICT: Final = _references_in_dict({0: np.empty(0)}, 0, None)
_REFERENCES_IN_LIST: Final = _references([np.empty(0)], 0)  # to a buffer that only its list holds
# To a value that only a list holds, during iteration.
_REFERENCES_IN_ITERATION: Final = next(map(sys.getrefcount, [np.empty(0)]))
_ZERO_TO_NONE: Final[dict[int, None]] = {0: None}
BUFFERS: Final = BufferPool()
