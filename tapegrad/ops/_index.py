"""Parsing of indices such as `x[1:, ..., None]`, and the sizes that their items give."""

from __future__ import annotations

import operator
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.ops._counting import indices
from tapegrad.sizes import (
    UNKNOWN,
    Dim,
    Dims,
    Size,
    largest,
    names_in,
    show,
    sliced,
    smallest,
    surely_differ,
    surely_less,
    surely_same,
)
from tapegrad.tensors import T2, Tensor
from tapegrad.tensors.operands import known, unwrap_all

if TYPE_CHECKING:
    from tapegrad.tensors import Index


class OutOfRangeError(ShapeError, IndexError):
    """Index out of range: an `IndexError` at run time, a `ShapeError` to the mypy plugin."""


def items_of(x: Dims, index: Any) -> list[tuple[str, Any]]:
    """Return (name, item) pairs, with a full slice, after `...` or at the end, for each axis that has no item."""
    items = [_plain(item) for item in (index if isinstance(index, tuple) else [index])]
    for item in items:
        if not _is_index(item):
            raise ShapeError(messages.no_index(messages.UNNAMED, messages.with_article(type(item).__name__)))
    ellipses = [position for position, item in enumerate(items) if item is ...]
    if len(ellipses) > 1:
        message = f"index has {len(ellipses)} ellipses, not one"
        raise ShapeError(message)
    axes = sum(axes_of(item) for item in items)
    if axes > len(x):
        message = f"index names {axes} axes but x {show(x)} has rank {len(x)}"
        raise ShapeError(message)
    called = [(f"index[{position}]", item) for position, item in enumerate(items)]
    position = ellipses[0] + 1 if ellipses else len(items)
    return [*called[:position], *[("...", slice(None))] * (len(x) - axes), *called[position:]]


def _plain(item: Any) -> Any:
    """Return a NumPy integer as a Python int, and any other item unchanged."""
    return int(item) if isinstance(item, Integral) and not isinstance(item, int) else item


def _is_index(item: Any) -> bool:
    return (
        item is None
        or item is ...
        or (isinstance(item, int | slice | Dim) and not isinstance(item, bool))
        or (hasattr(item, "shape") and hasattr(item, "dtype"))
        or _is_list_of_ints(item)
    )


def _is_list_of_ints(item: Any) -> bool:
    numbers = item if isinstance(item, list | tuple) else [False]
    return all(isinstance(number, Integral | Dim) and not isinstance(number, bool) for number in numbers)


def axes_of(item: Any) -> int:
    """Return how many axes of the tensor an item indexes."""
    if item is None or item is ...:
        return 0
    return len(item.shape) if _is_mask(item) else 1


def _is_mask(item: Any) -> bool:
    return hasattr(item, "dtype") and item.dtype.kind == "b"


def check_range(item: Size, axis: int, x: Dims) -> None:
    """Raise if an integer index is out of range, counted from the front or the back."""
    n = x[axis]
    if surely_less(n, item + 1) or surely_less(n, item * -1):
        message = f"index {item} is out of range for axis {axis} of x {show(x)}"
        raise OutOfRangeError(message)


def gathered_shape(item: Any, axis: int, x: Dims) -> Dims:
    """Return the shape that a list or a tensor of indices gives; for a mask, the number of its True elements."""
    if isinstance(item, list | tuple):
        for number in item:
            check_range(number, axis, x)
        return (len(item),)
    if not _is_mask(item):
        shape: Dims = item.shape
        return shape
    for along, n in enumerate(item.shape):
        if surely_differ(n, x[axis + along]):
            message = (
                f"the mask {show(item.shape)} has {n} where axis {axis + along} of x {show(x)} is {x[axis + along]}"
            )
            raise ShapeError(message)
    numbers = known(item) if hasattr(item, "data") else None
    return (UNKNOWN if numbers is None else int(np.count_nonzero(numbers)),)


def sliced_size(n: Size, item: slice) -> Size:
    """Return how many of `n` elements a slice picks, or UNKNOWN if that is not certain."""
    for bound in (item.start, item.stop, item.step):
        if bound is not None and not hasattr(bound, "__index__"):
            message = f"a bound of a slice is {messages.with_article(type(bound).__name__)} but an int is expected"
            raise DTypeError(message)
    step = 1 if item.step is None else item.step
    if not isinstance(step, int):
        return UNKNOWN
    if step == 0:
        message = "the step of a slice is 0"
        raise ShapeError(message)
    if step == 1 and item.start is None and item.stop is None:
        return n
    if isinstance(n, int) and not isinstance(item.start, Dim) and not isinstance(item.stop, Dim):
        return len(range(*item.indices(n)))
    if step < 0:
        whole = item.start is None and item.stop is None
        return (n + (-step - 1)) // -step if whole else UNKNOWN
    start, stop = _bound(item.start, 0, n), _bound(item.stop, n, n)
    if surely_less(start, stop + 1):
        return (stop - start + (step - 1)) // step
    return 0 if surely_less(stop, start + 1) else (_slice_size(item, n) + (step - 1)) // step


def _slice_size(item: slice, n: Size) -> Size:
    """Return the size of a slice of step 1 that the axis may end before; it is at least 0.

    The largest and smallest of several sizes are written so that slices of the same size have the same form.
    """
    start, stop = 0 if item.start is None else item.start, item.stop
    bounds = (start, n if stop is None else stop)
    if any(name.is_opaque for bound in bounds for name in names_in(bound) - names_in(n)):
        return sliced(n, *bounds)  # they may be negative
    if surely_less(start, 0):
        if stop is None:
            return smallest([start * -1, n])
        return largest([smallest([start * -1, n]) + stop, 0]) if surely_less(stop, 0) else UNKNOWN
    if not surely_less(-1, start):
        return UNKNOWN
    left = n if surely_same(start, 0) else largest([n - start, 0])
    if stop is None:
        return left
    if surely_less(stop, 0):
        return largest([n - start + stop, 0])
    return smallest([largest([stop - start, 0]), left]) if surely_less(-1, stop) else UNKNOWN


def _bound(bound: Size | None, default: Size, n: Size) -> Size:
    """Return a bound of a slice, clamped to the axis, or UNKNOWN if that is not certain."""
    if bound is None:
        return default
    if surely_less(-1, bound):
        if surely_less(bound, n + 1):
            return bound
        return n if surely_less(n, bound + 1) else UNKNOWN
    if surely_less(bound, 0):
        if surely_less(bound * -1, n + 1):
            return n + bound
        return 0 if surely_less(n, bound * -1 + 1) else UNKNOWN
    return UNKNOWN


def untaped(index: Index[T2]) -> tuple[Any, T2]:
    """Return an index with raw values instead of tensors, and the merged tape of those tensors."""
    items = index if isinstance(index, tuple) else (index,)
    tensors: Any = [item for item in items if isinstance(item, Tensor)]
    _, tape = unwrap_all(tensors, "index")
    unwrapped = tuple(raw(item) for item in items)
    return (unwrapped if isinstance(index, tuple) else unwrapped[0]), tape


def raw(item: Any) -> Any:
    """Return the raw value of a tensor, or a number as NumPy accepts it in an index.

    An array is copied, because the caller may write into it before the backward pass.
    """
    if isinstance(item, np.ndarray):
        return item.copy()
    if _is_list_of_ints(item):
        return np.asarray(item, np.int64)
    while isinstance(item, Tensor):
        item = item.data
    return item if item is None or item is ... or isinstance(item, slice | np.ndarray) else _whole(item)


def _whole(item: Any) -> Any:
    """Return a NumPy scalar as an array of rank 0 (a bool is a mask), and any other integer as an int."""
    if isinstance(item, np.generic):
        return np.asarray(item)
    if hasattr(item, "__array_function__"):
        return item
    try:
        return item if isinstance(item, bool) else operator.index(item)
    except TypeError:
        return item


def arrays_of(index: Any) -> list[Any]:
    """Return the arrays of an index, whose engine may differ from that of the indexed value; reject invalid items."""
    arrays = []
    for item in index if isinstance(index, tuple) else (index,):
        if hasattr(item, "__array_function__"):
            if item.dtype.kind not in "iub":
                raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "index", item.dtype.name, "integer or bool"))
            arrays.append(item)
        elif not _is_index(item):
            items_of((), item)
    return arrays


def check_once(shape: tuple[int, ...], index: Any) -> None:
    """Raise if an element is indexed twice: the stored value would be undefined, and its gradient wrong."""
    if not any(isinstance(item, np.ndarray) for item in (index if isinstance(index, tuple) else (index,))):
        return
    positions = np.arange(int(np.prod(shape))).reshape(shape)[index].reshape(-1)
    if len(np.unique(positions)) < len(positions):
        message = "index names a position twice; at_add accumulates"
        raise IndexError(message)


def along(positions: Any, axis: int) -> tuple[Any, ...]:
    """Return the index that picks along the axis by `positions`, as `numpy.take_along_axis` does."""
    grid = indices(positions.shape)
    return (*grid[:axis], positions, *grid[axis + 1 :])
