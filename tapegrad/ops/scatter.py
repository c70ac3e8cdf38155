"""Indexing: select, replace and add to the elements of an index such as `x[1:, ..., None]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors import ShapeError
from tapegrad.ops._broadcast import accumulate_at, accumulate_broadcast
from tapegrad.ops._index import (
    arrays_of,
    axes_of,
    check_once,
    check_range,
    gathered_shape,
    items_of,
    sliced_size,
    untaped,
)
from tapegrad.sizes import Dim, Dims, Size, broadcast, show, surely_differ
from tapegrad.tensors import T1, T2, D, T, Tensor, node
from tapegrad.tensors.operands import constant, joined, same_dtype, tensor_only, unwrap, unwrap_mixed

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.tensors import Index, Number


def getitem_shape(x: Dims, index: Index) -> Dims:
    """Return the shape of `x[index]`: slices keep an axis, ints drop one, and index tensors broadcast together."""
    items = items_of(x, index)
    gathered: dict[str, Dims] = {}
    sizes: list[Size] = []
    where: list[int] = []  # positions of the ints and index tensors among the items
    front, axis = 0, 0
    for position, (name, item) in enumerate(items):
        if item is ...:
            continue  # adds no axis itself, but separates index tensors
        if item is None:
            sizes.append(1)
        elif isinstance(item, slice):
            sizes.append(sliced_size(x[axis], item))
            axis += 1
        else:
            if not where:
                front = len(sizes)
            where.append(position)
            if isinstance(item, int | Dim):
                check_range(item, axis, x)
            else:
                gathered[name] = gathered_shape(item, axis, x)
            axis += axes_of(item)
    broadcast_sizes = broadcast(**gathered)
    if where and where[-1] - where[0] >= len(where):
        front = 0  # NumPy puts the axes of separated index tensors first
    return (*sizes[:front], *broadcast_sizes, *sizes[front:])


def at_shape(x: Dims, index: Index, value: Dims) -> Dims:
    """Return the shape of `x`, after checking that `value` broadcasts to `x[index]`."""
    target = getitem_shape(x, index)
    aligned = target[max(len(target) - len(value), 0) :]
    if len(aligned) != len(value) or any(
        surely_differ(n, 1) and surely_differ(n, m) for n, m in zip(value, aligned, strict=True)
    ):
        message = f"value {show(value)} does not broadcast to the {show(target)} that index names in x {show(x)}"
        raise ShapeError(message)
    return x


def names_no_elements(x: object, index: Index[Any]) -> bool:  # noqa: ARG001  # called with the arguments of `getitem`
    """Return whether an index has only ints, slices, `...` and None, so that the result is a view."""
    items = index if isinstance(index, tuple) else (index,)
    return all(item is None or item is ... or isinstance(item, int | slice) for item in items)


@op(getitem_shape, operator="__getitem__", memory_bound=names_no_elements)
def getitem(x: Tensor[Any, T1, D], index: Index[T2]) -> Tensor[Any, Merge[T1, T2], D]:
    """Select elements by an index: `x[index]`.

        y[j] = x[k[j]]
        dx[i] = ∑_(j : k[j] = i) dy[j]

    Args:
        x: Any shape.
        index: For each axis from the first an int, a slice, or a list, a tuple or a tensor of ints. `...` fills in
            the axes between, None adds an axis, and a bool tensor is a mask over as many axes as it has.

    Returns:
        The shape that NumPy gives. An int drops its axis, a slice is clamped and keeps it. Index tensors broadcast
        together; their axes replace that of the first one, or come first if other items separate the tensors.

    Raises:
        ShapeError: The index has too many axes for `x`, an int is out of range, or a mask does not match the sizes.
        IndexError: An element of an index tensor is out of range.
        DTypeError: An index tensor has a float dtype.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> x[1, ::2].tolist()
        [4.0, 6.0]
        >>> x[:, [-1, 0]].tolist()
        [[3.0, 1.0], [6.0, 4.0]]
        >>> x[:, tg.tensor([0, 0, 2])].tolist()
        [[1.0, 1.0, 3.0], [4.0, 4.0, 6.0]]
        >>> x[x > 2.0].tolist()
        [3.0, 4.0, 5.0, 6.0]
    """
    index, tape_of_index = untaped(index)
    x, tape = _with_tape(x, tape_of_index)
    arrays = arrays_of(index)
    out = node(engine(x.data, *arrays).getitem(x.data, index))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        accumulate_at(grads, x, index, dy, engine(dy, *arrays))

    return tape.record(out, (x,), backward, saved=())


@op(at_shape)
def at_set(
    x: Tensor[Any, T, D], index: Index[T1], value: Tensor[Any, T2, D] | Number
) -> Tensor[Any, Merge[T, Merge[T1, T2]], D]:
    """Return a copy of `x` with the elements at an index replaced.

        y[i] = v[j] where i = k[j], else x[i]

    Args:
        x: Any shape.
        index: As in `x[index]`; it must not select an element twice.
        value: A shape that broadcasts to that of `x[index]`, or a number.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: The index does not match `x`, or `value` does not broadcast to `x[index]`.
        DTypeError: The dtypes differ.
        IndexError: An element of an index tensor is out of range, or an element is selected twice.

    Examples:
        >>> x = tg.zeros((2, 3))
        >>> tg.at_set(x, 0, tg.tensor([1.0, 2.0, 3.0])).tolist()
        [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
        >>> x.at_set((slice(None), -1), 9.0).tolist()
        [[0.0, 0.0, 9.0], [0.0, 0.0, 9.0]]
    """
    index, tape_of_index = untaped(index)
    x, value, tape = _with_value(x, value, tape_of_index)
    if value.shape[:1] == (1,):
        at_shape(x.shape, index, value.shape)  # NumPy drops leading axes of size one on assignment
    arrays = arrays_of(index)
    check_once(x.shape, index)
    out = node(engine(x.data, value.data, *arrays).at_set(x.data, index, value.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        primitives = engine(dy, *arrays)
        if grads.wants(value):
            accumulate_broadcast(grads, value, primitives.getitem(dy, index))
        if grads.wants(x):
            grads.add(x, primitives.at_set(dy, index, x.dtype.type(0)))

    return tape.record(out, (x, value), backward)


@op(at_shape)
def at_add(
    x: Tensor[Any, T, D], index: Index[T1], value: Tensor[Any, T2, D] | Number
) -> Tensor[Any, Merge[T, Merge[T1, T2]], D]:
    """Return a copy of `x` with values added to the elements at an index.

        y[i] = x[i] + ∑_(j : k[j] = i) v[j]
        dv[j] = dy[k[j]]

    Args:
        x: Any shape.
        index: As in `x[index]`. Values at an element selected twice accumulate.
        value: A shape that broadcasts to that of `x[index]`, or a number.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: The index does not match `x`, or `value` does not broadcast to `x[index]`.
        DTypeError: The dtypes differ.
        IndexError: An element of an index tensor is out of range.

    Examples:
        >>> counts = tg.zeros((4,), np.int64)
        >>> labels = tg.tensor([2, 0, 2])
        >>> tg.at_add(counts, labels, 1).tolist()
        [1, 0, 2, 0]
    """
    index, tape_of_index = untaped(index)
    x, value, tape = _with_value(x, value, tape_of_index)
    if value.shape[:1] == (1,):
        at_shape(x.shape, index, value.shape)  # NumPy drops leading axes of size one on assignment
    arrays = arrays_of(index)
    out = node(engine(x.data, value.data, *arrays).at_add(x.data, index, value.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        if grads.wants(value):
            accumulate_broadcast(grads, value, engine(dy, *arrays).getitem(dy, index))
        grads.add(x, dy)

    return tape.record(out, (x, value), backward)


def _with_tape(x: Tensor[Any, T1, D], tape_of_index: T2) -> tuple[Tensor[Any, NoneTape, D], Merge[T1, T2]]:
    x, tape = unwrap(x)
    return x, joined(tape, tape_of_index)


def _with_value(
    x: Tensor[Any, T, D], value: Tensor[Any, T2, D] | Number, tape_of_index: T1
) -> tuple[Tensor[Any, NoneTape, D], Tensor[Any, NoneTape, D], Merge[T, Merge[T1, T2]]]:
    tensor_only(x, "x")
    x, value, tape = unwrap_mixed(x, value if isinstance(value, Tensor) else constant(value, x, "value", "x"))
    same_dtype(x, value, "value")
    return x, value, joined(tape, tape_of_index)
