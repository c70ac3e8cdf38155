"""Memory for large results in NumPy: rooms that are used again once nobody can see into them any more.

The system maps the pages of a fresh array as they are first written, which takes longer than most arithmetic on them,
and the allocator gives them back as soon as the array is gone. So what large primitives give stands in rooms that stay.
"""

from __future__ import annotations

import sys
from math import prod
from operator import sub
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from tapegrad.backend.thresholds import POOL_MIN_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_ALL: Final = 1 << 28  # bytes of all rooms; what is larger or more comes from the allocator
_LOOKS: Final = 32  # rooms to look into at either end of a row, however many there are
_COUNTS: Final = getattr(sys, "_is_gil_enabled", lambda: True)()  # whether a count of references is exact


class _Room(np.ndarray[tuple[int], np.dtype[np.uint8]]):
    """Bytes for one array at a time; a class of its own tells it from the memory of anybody else."""


class Rooms:
    """Rows of rooms of one size each.

    A room is used again only when no array is left in it: each array, each view of one, and whatever else looks into
    its memory holds a reference to the room, and Python counts them.
    """

    def __init__(self) -> None:
        self._rows: dict[int, list[_Room]] = {}  # by bytes, the last used last, and so in each row
        self._lock = Lock()
        self.nbytes = 0

    def empty(self, shape: Sequence[int], dtype: Any) -> Array:
        """Return an array of any values, as `np.empty` does."""
        size = prod(shape) * np.dtype(dtype).itemsize
        if not POOL_MIN_BYTES <= size <= _ALL or not _COUNTS:
            return np.empty(shape, dtype)
        with self._lock:
            room = self._unseen(size)
            return np.empty(shape, dtype) if room is None else np.ndarray(shape, dtype, room)

    def empty_like(self, x: Array, dtype: Any = None, shape: Sequence[int] | None = None) -> Array:
        """Return an array of any values whose axes stand in memory as those of `x` do, as `np.empty_like` does."""
        dtype, shape = x.dtype if dtype is None else dtype, x.shape if shape is None else shape
        if x.flags.c_contiguous:
            return self.empty(shape, dtype)
        order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
        back = sorted(range(x.ndim), key=order.__getitem__)
        return self.empty([shape[axis] for axis in order], dtype).transpose(back)

    def clear(self) -> None:
        """Return all rooms up; arrays that stand in one keep it."""
        with self._lock:
            self._rows.clear()
            self.nbytes = 0

    def _unseen(self, size: int) -> _Room | None:
        """Return a room of so many bytes, or up to an eighth more, into which nobody sees."""
        step = 1 << max(0, size.bit_length() - 4)
        size = -(-size // step) * step
        row = self._rows.pop(size, [])
        self._rows[size] = row
        room = _taken(row)
        if room is None and self._has_space(size):
            room = _Room(size, np.uint8)
            self.nbytes += size
        if room is not None:
            row.append(room)
        return room

    def _has_space(self, size: int) -> bool:
        """Return whether there may be another room, for which the row that was not used for longest makes space."""
        other = next(iter(self._rows))
        while self.nbytes + size > _ALL and _taken(self._rows[other]) is not None:
            self.nbytes -= other
        return self.nbytes + size <= _ALL


def accumulate(values: dict[Any, Any], key: Any, x: Any) -> Any:
    """Return the sum of `values[key]` and `x`, in the place of the first where it is large and nobody else sees it.

    The sum needs no memory of its own then.
    """
    return np.add(values[key], x, out=values[key]) if may_become(values, key, x) else values[key] + x


def may_become(values: dict[Any, Any], key: Any, x: Any) -> bool:
    """Return whether `values[key]` is like `x`, and nobody else sees it."""
    return (
        type(x) is np.ndarray and (values[key].shape, values[key].dtype) == (x.shape, x.dtype) and is_free(values, key)
    )


def is_free(values: dict[Any, Any], key: Any) -> bool:
    """Return whether nobody else sees `values[key]`, so that what becomes of it may stand in its place.

    Whoever holds an array, or a view of it, holds a reference to it or to what it stands in, and Python counts them.
    """
    value = values[key]
    return (
        type(value) is np.ndarray
        and _COUNTS
        and value.flags.writeable
        and sys.getrefcount(value) == _ALONE
        and _is_owned(value)
    )


def is_of_its_own(array: Array) -> bool:
    """Return whether an array may be changed where it stands, row behind row, once `unseen` says that nobody looks."""
    return (
        type(array) is np.ndarray
        and _COUNTS
        and array.flags.carray
        and (array.base is None or (type(array.base) is _Room and _is_owned(array)))
    )


def unseen(values: Iterable[Any], references: Iterable[int]) -> Iterator[None]:
    """Raise a KeyError, while it is gone through, at a value that has not so many references as its holders know of.

    Nothing here is written in Python, so that no other thread runs meanwhile.

    Args:
        values: What is looked at.
        references: How many each has besides those that `values` holds.
    """
    return map(_NONE.__getitem__, map(sub, map(sys.getrefcount, values), map(_LISTED.__add__, references)))


def _is_owned(array: Array) -> bool:
    """Return whether no other array stands in the memory of this one, which is its own or a room."""
    memory: Any = array.base
    if memory is None:
        return True
    # It is held by the array, as a value is by its dictionary, and by the name that it has here; a room by its row too.
    is_room = type(memory) is _Room
    return (
        (is_room or type(memory) is np.ndarray) and memory.base is None and sys.getrefcount(memory) == _ALONE + is_room
    )


def _taken(row: list[_Room]) -> _Room | None:
    """Take a room out of a row into which nobody sees, the last used if it can be, which may still be in cache."""
    last = len(row) - 1
    for place in (*range(last, max(last - _LOOKS, -1), -1), *range(min(_LOOKS, max(0, last - _LOOKS + 1)))):
        if _references(row, place) == _UNSEEN:
            return row.pop(place)
    return None


def _references(row: list[Any], place: int) -> int:
    room = row[place]
    return sys.getrefcount(room)


def _held(values: dict[Any, Any], key: Any, _: Any) -> int:
    value = values[key]
    return sys.getrefcount(value)


# References to a value that only its dictionary holds, while it is looked at.
_ALONE: Final = _held({0: np.empty(0)}, 0, None)
_UNSEEN: Final = _references([np.empty(0)], 0)  # to a room that only its row holds
_LISTED: Final = next(map(sys.getrefcount, [np.empty(0)]))  # to what only a list holds that is gone through
_NONE: Final[dict[int, None]] = {0: None}
ROOMS: Final = Rooms()
