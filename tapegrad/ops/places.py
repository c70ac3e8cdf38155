"""Ops on the elements that an index such as `x[1:, ..., None]` names."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad import sentences
from tapegrad.backend import engine
from tapegrad.dims import UNKNOWN, Dim, Dims, Size, broadcast, is_unknown, show, surely_differ, surely_less
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.op import op
from tapegrad.ops._broadcast import summed_to
from tapegrad.tensor import T1, T2, D, T, Tensor, handle, split, split_all, tensor_only

if TYPE_CHECKING:
    from tapegrad.tape import Gradients, Merge, NoneTape
    from tapegrad.tensor import Index, Number


class OutOfRangeError(ShapeError, IndexError):
    """An index past the end: an `IndexError` to Python, a size that does not fit to the checker."""


def getitem_shape(x: Dims, index: Index) -> Dims:
    """Gives each slice what it picks, drops an axis for each number, and broadcasts tensors of indices in place."""
    items = _items(x, index)
    gathered: dict[str, Dims] = {}
    sizes: list[Size] = []
    where: list[int] = []  # the places among the items that count as indices once there are tensors of them
    front, axis = 0, 0
    for position, (name, item) in enumerate(items):
        if item is ...:
            continue  # even an empty one stands between
        if item is None:
            sizes.append(1)
        elif isinstance(item, slice):
            sizes.append(_sliced(x[axis], item))
            axis += 1
        else:
            if not where:
                front = len(sizes)
            where.append(position)
            if isinstance(item, int | Dim):
                _check_range(item, axis, x)
            else:
                gathered[name] = _gathered(item, axis, x)
            axis += _axes_of(item)
    together = broadcast(**gathered) if gathered else ()
    if where and where[-1] - where[0] >= len(where):
        front = 0  # NumPy moves the axes of indices that stand apart to the front
    return (*sizes[:front], *together, *sizes[front:])


def at_shape(x: Dims, index: Index, value: Dims) -> Dims:
    """Keeps the sizes; the value broadcasts to what the index names."""
    places = getitem_shape(x, index)
    aligned = places[len(places) - len(value) :] if len(value) <= len(places) else ()
    if len(aligned) != len(value) or any(
        surely_differ(n, 1) and surely_differ(n, m) for n, m in zip(value, aligned, strict=True)
    ):
        message = f"value {show(value)} does not broadcast to the {show(places)} that index names in x {show(x)}"
        raise ShapeError(message)
    return x


@op(getitem_shape, operator="__getitem__")
def getitem(x: Tensor[Any, T1, D], index: Index[T2]) -> Tensor[Any, Merge[T1, T2], D]:
    r"""Picks the elements that an index names: `x[index]`.

    $$y_j = x_{k_j}, \quad dx_i = \sum_{j : k_j = i} dy_j$$

    Args:
        x: Any shape.
        index: For each axis from the first a whole number, a slice, or a tensor of whole numbers; `...` stands for the
            axes between, None adds one, a bool tensor picks along as many axes as it has.

    Returns:
        As NumPy has it: numbers drop their axis, slices clamp and keep it, tensors of indices broadcast with one
        another and stand where the first of them stood, or in front where others stand between.

    Raises:
        ShapeError: The index has more places than `x` has axes, a number is out of range, or a mask has other sizes.
        IndexError: An element of a tensor of indices is out of range.
        DTypeError: A tensor of indices is a float.
    """
    index, tape_of_index = _untaped(index)
    x, tape = _with_tape(x, tape_of_index)
    _check_kinds(index)
    out = handle(engine(x.data).getitem(x.data, index))

    def backward(grads: Gradients) -> None:
        dy = grads.take(out)
        primitives = engine(dy)
        grads.add(x, primitives.at_add(primitives.zeros(x.shape, x.dtype), index, dy))

    return tape.record(out, (x,), backward)


@op(at_shape)
def at_set(
    x: Tensor[Any, T, D], index: Index[T1], value: Tensor[Any, T2, D] | Number
) -> Tensor[Any, Merge[T, Merge[T1, T2]], D]:
    r"""Puts other values at the places that an index names; `x` itself stays as it is.

    $$y_i = v_j \text{ where } i = k_j, \text{ else } x_i$$

    Args:
        x: Any shape.
        index: As in `x[index]`; no place may be named twice.
        value: A shape that broadcasts to that of `x[index]`, or a number.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: The index does not fit `x`, or the value does not broadcast to what it names.
        DTypeError: The dtypes differ.
        IndexError: An element of a tensor of indices is out of range, or a place is named twice.
    """
    index, tape_of_index = _untaped(index)
    x, value, tape = _with_value(x, value, tape_of_index)
    if value.shape[:1] == (1,):
        at_shape(x.shape, index, value.shape)  # NumPy drops such axes where it assigns, and would be silent
    _check_kinds(index)
    _check_once(x.shape, index)
    out = handle(engine(x.data, value.data).at_set(x.data, index, value.data))

    def backward(grads: Gradients) -> None:
        dy = grads.take(out)
        primitives = engine(dy)
        if grads.wants(value):
            grads.add(value, summed_to(primitives.getitem(dy, index), value.data))
        if grads.wants(x):
            grads.add(x, primitives.at_set(dy, index, x.dtype.type(0)))

    return tape.record(out, (x, value), backward)


@op(at_shape)
def at_add(
    x: Tensor[Any, T, D], index: Index[T1], value: Tensor[Any, T2, D] | Number
) -> Tensor[Any, Merge[T, Merge[T1, T2]], D]:
    r"""Adds values to the places that an index names; `x` itself stays as it is.

    $$y_i = x_i + \sum_{j : k_j = i} v_j, \quad dv_j = dy_{k_j}$$

    Args:
        x: Any shape.
        index: As in `x[index]`. Places named twice accumulate.
        value: A shape that broadcasts to that of `x[index]`, or a number.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: The index does not fit `x`, or the value does not broadcast to what it names.
        DTypeError: The dtypes differ.
        IndexError: An element of a tensor of indices is out of range.
    """
    index, tape_of_index = _untaped(index)
    x, value, tape = _with_value(x, value, tape_of_index)
    if value.shape[:1] == (1,):
        at_shape(x.shape, index, value.shape)  # NumPy drops such axes where it assigns, and would be silent
    _check_kinds(index)
    out = handle(engine(x.data, value.data).at_add(x.data, index, value.data))

    def backward(grads: Gradients) -> None:
        dy = grads.take(out)
        if grads.wants(value):
            grads.add(value, summed_to(engine(dy).getitem(dy, index), value.data))
        grads.add(x, dy)

    return tape.record(out, (x, value), backward)


def _items(x: Dims, index: Any) -> list[tuple[str, Any]]:
    """Returns an item for each axis, and for each new one, with slices after `...`, beside what it is called."""
    items = list(index) if isinstance(index, tuple) else [index]
    for item in items:
        if not _is_index(item):
            kind = sentences.with_article(type(item).__name__)
            message = f"{kind} is neither an int, a slice, ..., None nor a tensor of indices"
            raise ShapeError(message)
    ellipses = [position for position, item in enumerate(items) if item is ...]
    if len(ellipses) > 1:
        message = f"index has {len(ellipses)} ellipses, not one"
        raise ShapeError(message)
    axes = sum(_axes_of(item) for item in items)
    if axes > len(x):
        message = f"index names {axes} axes but x {show(x)} has rank {len(x)}"
        raise ShapeError(message)
    called = [(f"index[{position}]", item) for position, item in enumerate(items)]
    place = ellipses[0] + 1 if ellipses else len(items)
    return [*called[:place], *[("...", slice(None))] * (len(x) - axes), *called[place:]]


def _is_index(item: Any) -> bool:
    return (
        item is None
        or item is ...
        or (isinstance(item, int | slice | Dim) and not isinstance(item, bool))
        or (hasattr(item, "shape") and hasattr(item, "dtype"))
    )


def _axes_of(item: Any) -> int:
    if item is None or item is ...:
        return 0
    return len(item.shape) if _is_mask(item) else 1


def _is_mask(item: Any) -> bool:
    return hasattr(item, "dtype") and item.dtype.kind == "b"


def _check_range(item: Size, axis: int, x: Dims) -> None:
    n = x[axis]
    if surely_less(n, item + 1) or surely_less(n, item * -1):
        message = f"index {item} is out of range for axis {axis} of x {show(x)}"
        raise OutOfRangeError(message)


def _gathered(item: Any, axis: int, x: Dims) -> Dims:
    """Returns the shape that a tensor of indices stands for; of a mask, the number of its True's."""
    if not _is_mask(item):
        shape: Dims = item.shape
        return shape
    for along, n in enumerate(item.shape):
        if surely_differ(n, x[axis + along]):
            message = (
                f"the mask {show(item.shape)} has {n} where axis {axis + along} of x {show(x)} is {x[axis + along]}"
            )
            raise ShapeError(message)
    return (int(np.count_nonzero(_raw(item))) if hasattr(item, "data") else UNKNOWN,)


def _sliced(n: Size, item: slice) -> Size:
    """Counts what a slice picks of `n` elements; unknown unless it is certain."""
    step = 1 if item.step is None else item.step
    if not isinstance(step, int):
        return UNKNOWN
    if step == 0:
        message = "the step of a slice is 0"
        raise ShapeError(message)
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
    """Counts from the first to the end of an axis that is only known not to be shorter than nothing."""
    whole = isinstance(start, int) and start == 0
    return (stop + (step - 1)) // step if whole and not is_unknown(stop) else UNKNOWN


def _bound(bound: Size | None, default: Size, n: Size) -> Size:
    """Returns where a slice begins or ends once it is clamped to the axis."""
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


def _untaped(index: Index[T2]) -> tuple[Any, T2]:
    """Returns an index with arrays in the place of its tensors, and the tape these make together."""
    items = index if isinstance(index, tuple) else (index,)
    tensors: Any = [item for item in items if isinstance(item, Tensor)]
    _, tape = split_all(tensors, "index")
    raw = tuple(_raw(item) for item in items)
    return (raw if isinstance(index, tuple) else raw[0]), tape


def _raw(item: Any) -> Any:
    while isinstance(item, Tensor):
        item = item.data
    return item if item is None or item is ... or isinstance(item, slice | np.ndarray) else _whole(item)


def _whole(item: Any) -> Any:
    """Returns a number as an array where NumPy would read a bool as a mask of rank 0, any other as an int."""
    if isinstance(item, np.generic):
        return np.asarray(item)
    try:
        return item if isinstance(item, bool) else operator.index(item)
    except TypeError:
        return item


def _with_tape(x: Tensor[Any, T1, D], tape_of_index: T2) -> tuple[Tensor[Any, NoneTape, D], Merge[T1, T2]]:
    x, tape = split(x)
    return x, _merged(tape, tape_of_index)


def _with_value(
    x: Tensor[Any, T, D], value: Tensor[Any, T2, D] | Number, tape_of_index: T1
) -> tuple[Tensor[Any, NoneTape, D], Tensor[Any, NoneTape, D], Merge[T, Merge[T1, T2]]]:
    tensor_only(x, "x")
    x, value, tape = split(x, value)
    if x.dtype != value.dtype:
        raise DTypeError(sentences.mixed_dtypes(sentences.UNNAMED, str(x.dtype), "x", str(value.dtype), "value"))
    return x, value, _merged(tape, tape_of_index)


def _merged(tape: Any, other: Any) -> Any:
    if not other.owns:
        return tape
    return tape.merge(other) if tape.owns else other


def _check_kinds(index: Any) -> None:
    for item in index if isinstance(index, tuple) else (index,):
        if isinstance(item, np.ndarray) and item.dtype.kind not in "iub":
            raise DTypeError(sentences.wrong_dtype(sentences.UNNAMED, "index", item.dtype.name, "integer or bool"))
        if not _is_index(item):
            _items((), item)


def _check_once(shape: tuple[int, ...], index: Any) -> None:
    """Refuses a place named twice, where which value stays would be a matter of chance, and its gradient wrong."""
    if not any(isinstance(item, np.ndarray) for item in (index if isinstance(index, tuple) else (index,))):
        return
    places = np.arange(int(np.prod(shape))).reshape(shape)[index].reshape(-1)
    if len(np.unique(places)) < len(places):
        message = "index names a place twice; at_add accumulates"
        raise IndexError(message)
