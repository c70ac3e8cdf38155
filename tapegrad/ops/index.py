"""Indexing ops along one axis: take, select, gather and scatter-add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import Int, engine
from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.ops._index import OutOfRangeError, along, check_range
from tapegrad.ops.scatter import getitem
from tapegrad.sizes import Dims, Size, is_unknown, normal_axis, product, several_ints, show, surely_differ, surely_less
from tapegrad.tensors import T1, T2, D, T, Tensor, node
from tapegrad.tensors.operands import known, tensor_only, unwrap_mixed

if TYPE_CHECKING:
    import numpy as np

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge
    from tapegrad.tensors import Sizes


def take_shape(x: Dims, indices: Dims, axis: Int = 0) -> Dims:
    """Return the shape with the axis replaced by the sizes of the indices; an empty axis cannot be indexed."""
    axis = normal_axis(axis, x)
    _check_filled(x, indices, axis)
    return (*x[:axis], *indices, *x[axis + 1 :])


def select_shape(x: Dims, index: Size, axis: Int = 0) -> Dims:
    """Return the shape without the axis; the index must be in range."""
    axis = normal_axis(axis, x)
    check_range(index, axis, x)
    return (*x[:axis], *x[axis + 1 :])


def gather_shape(x: Dims, indices: Dims, axis: Int = 0) -> Dims:
    """Return the shape of the indices, which must be that of `x` except along the axis."""
    axis = normal_axis(axis, x)
    if len(indices) != len(x):
        message = f"indices {show(indices)} has rank {len(indices)} but x {show(x)} has rank {len(x)}"
        raise ShapeError(message)
    sizes: list[Size] = []
    for position, (n, m) in enumerate(zip(x, indices, strict=True)):
        if position != axis and surely_differ(n, m):
            message = f"indices {show(indices)} has {m} along axis {position} but x {show(x)} has {n}"
            raise ShapeError(message)
        sizes.append(m if position == axis or is_unknown(n) else n)
    _check_filled(x, indices, axis)
    return tuple(sizes)


def scatter_add_shape(updates: Dims, indices: Dims, shape: Dims, axis: Int = 0) -> Dims:
    """Return the given shape; `take` from it must have the shape of the updates."""
    taken = take_shape(shape, indices, axis)
    if len(taken) != len(updates) or any(surely_differ(n, m) for n, m in zip(taken, updates, strict=True)):
        message = f"updates {show(updates)} differ from what {show(indices)} takes of {show(shape)}: {show(taken)}"
        raise ShapeError(message)
    return shape


@op(take_shape)
def take(
    x: Tensor[Any, T1, D], indices: Tensor[Any, T2, np.integer[Any]], axis: Int = 0
) -> Tensor[Any, Merge[T1, T2], D]:
    """Take slices by index along an axis.

        y[i,j] = x[k[i],j]
        dx[k,j] = ∑_(i : k[i] = k) dy[i,j]

    Args:
        x: Any shape with at least one axis.
        indices: Ints of any shape; negative ones count from the end. They may repeat.
        axis: The axis to index.

    Returns:
        The shape of `x` with the shape of `indices` instead of the size of `axis`.

    Raises:
        ShapeError: The axis is out of range.
        DTypeError: `indices` are not ints.
        IndexError: An index is out of range; for an axis of size 0 also a `ShapeError`.

    Examples:
        >>> embeddings = tg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> tokens = tg.tensor([2, 0, 2])
        >>> tg.take(embeddings, tokens).tolist()
        [[5.0, 6.0], [1.0, 2.0], [5.0, 6.0]]
        >>> grads = tg.take(embeddings.trace(), tokens).sum().backward()
        >>> grads[embeddings].tolist()
        [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]
    """
    _not_a_number(indices)
    x, indices, tape = unwrap_mixed(x, indices)
    front = normal_axis(axis, x.shape)
    check_positions(indices, x.shape[front], axis)
    out = node(engine(x.data, indices.data).take(x.data, indices.data, front))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        if grads.wants(x):
            grads.add(x, engine(dy, indices.data).scatter_add(x.shape, indices.data, dy, front))

    return tape.record(out, (x, indices), backward)


@op(select_shape, memory_bound=True)
def select(x: Tensor[Any, T, D], index: int, axis: Int = 0) -> Tensor[Any, T, D]:
    """Select one slice along an axis.

        y[j] = x[k,j]
        dx[i,j] = [i = k] dy[j]

    Args:
        x: Any shape with at least one axis.
        index: The index k of the slice; a negative one counts from the end.
        axis: The axis to index, which the result does not have.

    Returns:
        The shape of `x` without the axis.

    Raises:
        ShapeError: The axis is out of range.
        IndexError: The index is out of range; also a `ShapeError`.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.select(x, 0).tolist()
        [1.0, 2.0, 3.0]
        >>> tg.select(x, -1, axis=1).tolist()
        [3.0, 6.0]
    """
    tensor_only(x, "x")
    select_shape(x.shape, index, axis)
    return getitem(x, (*(slice(None),) * normal_axis(axis, x.shape), index))


@op(gather_shape)
def gather(
    x: Tensor[Any, T1, D], indices: Tensor[Any, T2, np.integer[Any]], axis: Int = 0
) -> Tensor[Any, Merge[T1, T2], D]:
    """Gather elements along an axis, one for each index.

        y[i,j] = x[k[i,j],j]
        dx[k,j] = ∑_(i : k[i,j] = k) dy[i,j]

    Args:
        x: Any shape with at least one axis.
        indices: Ints of the shape of `x` except along `axis`; negative ones count from the end. They may repeat.
        axis: The axis to index.

    Returns:
        The shape of `indices`.

    Raises:
        ShapeError: The axis is out of range, or `x` and `indices` differ along another.
        DTypeError: `indices` are not ints.
        IndexError: An index is out of range; for an axis of size 0 also a `ShapeError`.

    Examples:
        >>> logits = tg.tensor([[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]])
        >>> labels = tg.tensor([[2], [1]])
        >>> tg.gather(logits, labels, axis=1).tolist()
        [[0.5], [3.0]]
    """
    _not_a_number(indices)
    tensor_only(x, "x")
    _, positions, _ = unwrap_mixed(x, indices)
    gather_shape(x.shape, positions.shape, axis)  # NumPy would broadcast them
    axis = normal_axis(axis, x.shape)
    check_positions(positions, x.shape[axis], axis)
    return getitem(x, along(indices, axis))


@op(scatter_add_shape, eager=True)
def scatter_add(
    updates: Tensor[Any, T1, D], indices: Tensor[Any, T2, np.integer[Any]], shape: Sizes, axis: Int = 0
) -> Tensor[Any, Merge[T1, T2], D]:
    """Add each update to the slice that its index selects (scatter-add): the backward pass of `take`.

        y[k,j] = ∑_(i : k[i] = k) x[i,j]
        dx[i,j] = dy[k[i],j]

    Args:
        updates: A tensor of the shape that `take` along `axis` returns for a tensor of `shape`.
        indices: Ints of any shape. Updates of repeated indices are summed.
        shape: The sizes of the result.
        axis: The axis of the result to index.

    Returns:
        `shape`, zero where no index points to.

    Raises:
        ShapeError: The updates do not have the shape that `take` would return.
        DTypeError: `indices` are not ints.
        IndexError: An index is out of range; for an axis of size 0 also a `ShapeError`.

    Examples:
        >>> updates = tg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> tg.scatter_add(updates, tg.tensor([2, 0, 2]), (4, 2)).tolist()
        [[3.0, 4.0], [0.0, 0.0], [6.0, 8.0], [0.0, 0.0]]
    """
    _not_a_number(indices)
    updates, indices, tape = unwrap_mixed(updates, indices)
    sizes: tuple[int, ...] = several_ints(shape, "shape")
    check_positions(indices, sizes[axis], axis)
    axis = normal_axis(axis, sizes)
    out = node(engine(updates.data, indices.data).scatter_add(sizes, indices.data, updates.data, axis))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        if grads.wants(updates):
            grads.add(updates, engine(dy, indices.data).take(dy, indices.data, axis))

    return tape.record(out, (updates, indices), backward)


def _not_a_number(indices: object) -> None:
    """Reject a Python number, which would be converted to the dtype of the other operand; an array is accepted."""
    if isinstance(indices, bool | int | float):
        tensor_only(indices, "indices")


def _check_filled(x: Dims, indices: Dims, axis: Int) -> None:
    """Raise if an axis of size 0 is indexed by at least one index."""
    if surely_less(x[axis], 1) and surely_less(0, product(indices)):
        message = f"x {show(x)} has no element along axis {axis}"
        raise OutOfRangeError(message)


def check_positions(indices: Tensor[Any, Any, Any], size: int, axis: Int) -> None:
    """Raise if indices are not ints, or if one is out of range for an axis of a size."""
    if indices.dtype.kind not in "iu":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "indices", str(indices.dtype), "integer"))
    numbers = known(indices)
    if numbers is None:
        return
    outside = numbers[(numbers < -size) | (numbers >= size)]
    if outside.size:
        message = f"index {outside.flat[0]} is out of range for axis {axis} of size {size}"
        raise IndexError(message)
