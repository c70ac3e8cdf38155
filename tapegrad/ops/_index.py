"""What an index such as `x[1:, ..., None]` names: its parts, and the sizes that they give."""

from __future__ import annotations

import operator
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad import messages
from tapegrad.dims import UNKNOWN, Dim, Dims, Size, show, surely_differ, surely_less
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.operands import known, unwrap_all
from tapegrad.tensor import T2, Tensor

if TYPE_CHECKING:
    from tapegrad.tensor import Index


class OutOfRangeError(ShapeError, IndexError):
    """An index past the end: an `IndexError` to Python, a size that does not fit to the checker."""


def items_of(x: Dims, index: Any) -> list[tuple[str, Any]]:
    """Return an item for each axis, and for each new one, with slices after `...`, beside what it is called."""
    items = [_plain(item) for item in (index if isinstance(index, tuple) else [index])]
    for item in items:
        if not _is_index(item):
            kind = messages.with_article(type(item).__name__)
            message = f"{kind} is neither an int, a slice, ..., None nor a tensor of indices"
            raise ShapeError(message)
    ellipses = [position for position, item in enumerate(items) if item is ...]
    if len(ellipses) > 1:
        message = f"index has {len(ellipses)} ellipses, not one"
        raise ShapeError(message)
    axes = sum(axes_of(item) for item in items)
    if axes > len(x):
        message = f"index names {axes} axes but x {show(x)} has rank {len(x)}"
        raise ShapeError(message)
    called = [(f"index[{position}]", item) for position, item in enumerate(items)]
    place = ellipses[0] + 1 if ellipses else len(items)
    return [*called[:place], *[("...", slice(None))] * (len(x) - axes), *called[place:]]


def _plain(item: Any) -> Any:
    """Return a number of NumPy's as one of Python's, and anything else as it is."""
    return int(item) if isinstance(item, Integral) and not isinstance(item, int) else item


def _is_index(item: Any) -> bool:
    return (
        item is None
        or item is ...
        or (isinstance(item, int | slice | Dim) and not isinstance(item, bool))
        or (hasattr(item, "shape") and hasattr(item, "dtype"))
    )


def axes_of(item: Any) -> int:
    """Count the axes that an item stands for."""
    if item is None or item is ...:
        return 0
    return len(item.shape) if _is_mask(item) else 1


def _is_mask(item: Any) -> bool:
    return hasattr(item, "dtype") and item.dtype.kind == "b"


def check_range(item: Size, axis: int, x: Dims) -> None:
    """Reject a number past the end, to either side."""
    n = x[axis]
    if surely_less(n, item + 1) or surely_less(n, item * -1):
        message = f"index {item} is out of range for axis {axis} of x {show(x)}"
        raise OutOfRangeError(message)


def gathered_shape(item: Any, axis: int, x: Dims) -> Dims:
    """Return the shape that a tensor of indices stands for; of a mask, the number of its True's."""
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
    """Count what a slice picks of `n` elements; unknown unless it is certain."""
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
    return 0 if surely_less(stop, start + 1) else _kept(start, stop, step)


def _kept(start: Size, stop: Size, step: int) -> Size:
    """Count from the first to the end of an axis that is only known not to be shorter than nothing."""
    whole = isinstance(start, int) and start == 0
    return (stop + (step - 1)) // step if whole else UNKNOWN


def _bound(bound: Size | None, default: Size, n: Size) -> Size:
    """Return where a slice begins or ends once it is clamped to the axis."""
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
    """Return an index with arrays in the place of its tensors, and the tape these make together."""
    items = index if isinstance(index, tuple) else (index,)
    tensors: Any = [item for item in items if isinstance(item, Tensor)]
    _, tape = unwrap_all(tensors, "index")
    unwrapped = tuple(raw(item) for item in items)
    return (unwrapped if isinstance(index, tuple) else unwrapped[0]), tape


def raw(item: Any) -> Any:
    """Take a tensor for what it is made of in the end, and a number for what NumPy reads as an index.

    An array is the caller's, who may write into it before the way back, and so is copied.
    """
    if isinstance(item, np.ndarray):
        return item.copy()
    while isinstance(item, Tensor):
        item = item.data
    return item if item is None or item is ... or isinstance(item, slice | np.ndarray) else _whole(item)


def _whole(item: Any) -> Any:
    """Return a number as an array where NumPy would read a bool as a mask of rank 0, any other as an int."""
    if isinstance(item, np.generic):
        return np.asarray(item)
    if hasattr(item, "__array_function__"):
        return item
    try:
        return item if isinstance(item, bool) else operator.index(item)
    except TypeError:
        return item


def arrays_of(index: Any) -> list[Any]:
    """Return the arrays of an index, which may be of another engine than what they pick, and reject other kinds."""
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
    """Reject a place named twice, where which value stays would be a matter of chance, and its gradient wrong."""
    if not any(isinstance(item, np.ndarray) for item in (index if isinstance(index, tuple) else (index,))):
        return
    places = np.arange(int(np.prod(shape))).reshape(shape)[index].reshape(-1)
    if len(np.unique(places)) < len(places):
        message = "index names a place twice; at_add accumulates"
        raise IndexError(message)


def along(positions: Any, axis: int) -> tuple[Any, ...]:
    """Return the index that names for each position the element which is so far along the axis."""
    places: list[Any] = list(np.indices(positions.shape, sparse=True))
    return (*places[:axis], positions, *places[axis + 1 :])
