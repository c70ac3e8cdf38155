"""Ops that join and split tensors."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from tapegrad.autograd.op import op
from tapegrad.engines import Int, engine
from tapegrad.errors import ShapeError
from tapegrad.ops.scatter import getitem
from tapegrad.sizes import (
    UNKNOWN,
    Dims,
    RankUnknownError,
    Size,
    UnknownDims,
    is_unknown,
    misfit,
    normal_axis,
    one_int,
    several_ints,
    show,
    surely_differ,
    surely_divides,
    surely_less,
)
from tapegrad.tensors import D, T, Tensor, node
from tapegrad.tensors.operands import same_dtypes, unwrap_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.autograd.gradients import Gradients

_MOST_PARTS: Final = 2**20  # tensors returned by one call: even empty ones take half a GiB


def concat_shape(tensors: tuple[Dims, ...], axis: Int = 0) -> Dims:
    """Return the shape with the sizes along the axis summed; all others must be the same."""
    tensors, ranked = _of_one_rank(tensors)
    axis = normal_axis(axis, tensors[ranked], f"tensors[{ranked}]")
    sizes = _common(tensors, axis, ranked)
    total: Size = 0
    for dims in tensors:
        total = total + dims[axis]
    return (*sizes[:axis], total, *sizes[axis + 1 :])


def stack_shape(tensors: tuple[Dims, ...], axis: Int = 0) -> Dims:
    """Return the common shape with the number of tensors inserted at the axis."""
    tensors, ranked = _of_one_rank(tensors)
    first = tensors[ranked]
    if not -len(first) - 1 <= one_int(axis) <= len(first):
        message = f"axis {axis} is out of range for a stack of {show(first)}"
        raise ShapeError(message)
    sizes = _common(tensors, None, ranked)
    axis %= len(first) + 1
    return (*sizes[:axis], len(tensors), *sizes[axis:])


def split_shape(x: Dims, sections: int | tuple[int, ...] | list[int], axis: Int = 0) -> tuple[Dims, ...]:
    """Return the shapes of the parts: equal ones, or of the given sizes."""
    axis = normal_axis(axis, x)
    given = several_ints(tuple(sections) if isinstance(sections, list) else sections, "sections")
    sizes = given if isinstance(sections, tuple | list) else _equal_parts(x, given[0], axis)
    total: Size = 0
    for size in sizes:
        if surely_less(size, 0):
            message = f"sections {show(sizes)} has the negative size {size}"
            raise ShapeError(message)
        total = total + size
    if surely_differ(total, x[axis]):
        message = f"sections {show(sizes)} add up to {total} but axis {axis} of x {show(x)} is {x[axis]}"
        raise ShapeError(message)
    return tuple((*x[:axis], size, *x[axis + 1 :]) for size in sizes)


def chunk_shape(x: Dims, chunks: int, axis: Int = 0) -> tuple[Dims, ...]:
    """Return the shapes of at most `chunks` parts, of which the last may be smaller."""
    axis = normal_axis(axis, x)
    if chunks < 1:
        message = f"chunks is {chunks} but at least 1 is expected"
        raise ShapeError(message)
    n = x[axis]
    if surely_divides(chunks, n):
        _check_count(x, chunks)
        return split_shape(x, chunks, axis)
    if not isinstance(n, int):
        raise RankUnknownError  # the number of parts depends on the size
    part = -(-n // chunks)
    _check_count(x, -(-n // part))
    return split_shape(x, (*(part,) * (n // part), *((n % part,) if n % part else ())), axis)


def unstack_shape(x: Dims, axis: Int = 0) -> tuple[Dims, ...]:
    """Return the shape without the axis, once for each element of the axis."""
    axis = normal_axis(axis, x)
    n = x[axis]
    if not isinstance(n, int):
        raise RankUnknownError
    _check_count(x, n)
    return ((*x[:axis], *x[axis + 1 :]),) * n


def concat_vectors_shape(tensors: tuple[Dims, ...]) -> Dims:
    """Return the sum of the lengths of vectors."""
    for position, dims in enumerate(tensors):
        if len(dims) != 1:
            message = f"tensors[{position}] {show(dims)} has rank {len(dims)} but a vector is expected"
            raise ShapeError(message)
    return concat_shape(tensors)


@op(concat_shape)
def concat(tensors: Sequence[Tensor[Any, T, D]], axis: Int = 0) -> Tensor[Any, T, D]:
    """Concatenate tensors along an axis.

        y = [x₁, x₂, ...]
        [dx₁, dx₂, ...] = dy

    Args:
        tensors: At least one, all of one dtype and of the same sizes except along `axis`.
        axis: The axis to concatenate along.

    Returns:
        The common shape, with the sum of the sizes along `axis`.

    Raises:
        ShapeError: `tensors` is empty, their shapes differ on another axis, or the axis is out of range.
        DTypeError: The dtypes differ.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> y = tg.tensor([[5.0], [6.0]])
        >>> tg.concat([x, y], axis=1).tolist()
        [[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]]
        >>> grads = (tg.concat([x.trace(), y], axis=1) ** 2).sum().backward()
        >>> grads[x].tolist()
        [[2.0, 4.0], [6.0, 8.0]]
    """
    parts, tape = unwrap_all(tensors, "tensors")
    axis = normal_axis(axis, _first(tuple(x.shape for x in parts)), "tensors[0]")
    same_dtypes(parts, "tensors")
    values = [x.data for x in parts]
    out = node(engine(*values).concat(values, axis))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        ends = accumulate(x.shape[axis] for x in parts)
        for x, end in zip(parts, ends, strict=True):
            if grads.wants(x):
                place = (*(slice(None),) * axis, slice(end - x.shape[axis], end))
                grads.add(x, engine(dy).getitem(dy, place))

    return tape.record(out, tuple(parts), backward)


@op(stack_shape)
def stack(tensors: Sequence[Tensor[Any, T, D]], axis: Int = 0) -> Tensor[Any, T, D]:
    """Stack tensors of one shape along a new axis.

        y[k] = x[k]
        dx[k] = dy[k]

    Args:
        tensors: At least one, all of one shape and dtype.
        axis: The position of the new axis in the result.

    Returns:
        The common shape, with the number of tensors at `axis`.

    Raises:
        ShapeError: `tensors` is empty, their shapes differ, or the axis is out of range.
        DTypeError: The dtypes differ.

    Examples:
        >>> x, y = tg.tensor([1.0, 2.0, 3.0]), tg.tensor([4.0, 5.0, 6.0])
        >>> tg.stack([x, y]).tolist()
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
        >>> tg.stack([x, y], axis=1).tolist()
        [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    """
    parts, tape = unwrap_all(tensors, "tensors")
    stack_shape(tuple(x.shape for x in parts), axis)  # concat would accept parts of different lengths
    same_dtypes(parts, "tensors")
    axis %= parts[0].ndim + 1
    values = [x.data.reshape((*x.shape[:axis], 1, *x.shape[axis:])) for x in parts]
    out = node(engine(*values).concat(values, axis))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        for position, x in enumerate(parts):
            if grads.wants(x):
                grads.add(x, engine(dy).getitem(dy, (*(slice(None),) * axis, position)))

    return tape.record(out, tuple(parts), backward)


@op(split_shape)
def split(
    x: Tensor[Any, T, D], sections: int | tuple[int, ...] | list[int], axis: Int = 0
) -> tuple[Tensor[Any, T, D], ...]:
    """Split a tensor into parts along an axis: the inverse of `concat`.

        [y₁, y₂, ...] = x
        dx = [dy₁, dy₂, ...]

    Args:
        x: Any shape with at least one axis.
        sections: The number of equal parts, at least 1; or the size of each. (NumPy expects the indices to split at.)
        axis: The axis to split.

    Returns:
        A tuple of tensors, each the shape of `x` with its own size along `axis`.

    Raises:
        ShapeError: The parts do not add up to the size along `axis` or are more than 2²⁰, or the axis is out of range.
        DTypeError: `sections` is neither an int nor made of ints.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
        >>> [part.tolist() for part in tg.split(x, 2, axis=1)]
        [[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]
        >>> [part.shape for part in tg.split(x, (1, 3), axis=1)]
        [(2, 1), (2, 3)]
    """
    parts = split_shape(x.shape, sections, axis)
    axis = normal_axis(axis, x.shape)
    sizes: list[Any] = [part[axis] for part in parts]
    front = (slice(None),) * axis
    return tuple(
        getitem(x, (*front, slice(end - size, end))) for size, end in zip(sizes, accumulate(sizes), strict=True)
    )


@op(chunk_shape)
def chunk(x: Tensor[Any, T, D], chunks: int, axis: Int = 0) -> tuple[Tensor[Any, T, D], ...]:
    """Split a tensor along an axis into at most `chunks` parts of equal size, of which the last may be smaller.

        [y₁, y₂, ...] = x
        dx = [dy₁, dy₂, ...]

    Args:
        x: Any shape with at least one axis.
        chunks: The number of parts, at least 1; there are fewer if parts of the rounded-up size already cover the axis.
        axis: The axis to split.

    Returns:
        A tuple of tensors, each of size `ceil(n / chunks)` along `axis`, the last of the remaining size.

    Raises:
        ShapeError: `chunks` is below 1 or gives more than 2²⁰ parts, or the axis is out of range.

    Examples:
        >>> x = tg.arange(7)
        >>> [part.tolist() for part in tg.chunk(x, 3)]
        [[0, 1, 2], [3, 4, 5], [6]]
    """
    axis = normal_axis(axis, x.shape)
    sizes: Any = [part[axis] for part in chunk_shape(x.shape, chunks, axis)]
    return split(x, tuple(sizes), axis)


@op(unstack_shape)
def unstack(x: Tensor[Any, T, D], axis: Int = 0) -> tuple[Tensor[Any, T, D], ...]:
    """Unstack a tensor along an axis: the inverse of `stack`.

        y[k] = x[k]
        dx[k] = dy[k]

    Args:
        x: Any shape with at least one axis.
        axis: The axis to remove.

    Returns:
        A tuple of as many tensors as the axis has elements, each the shape of `x` without it.

    Raises:
        ShapeError: The axis is out of range, or has more than 2²⁰ elements.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> first, second = tg.unstack(x)
        >>> first.tolist(), second.tolist()
        ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
        >>> [column.tolist() for column in tg.unstack(x, axis=1)]
        [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    """
    axis = normal_axis(axis, x.shape)
    _check_count(x.shape, x.shape[axis])
    return tuple(getitem(x, (*(slice(None),) * axis, position)) for position in range(x.shape[axis]))


@op(concat_vectors_shape)
def concat_vectors(tensors: Sequence[Tensor[Any, T, D]]) -> Tensor[Any, T, D]:
    """Concatenate vectors.

        y = [x₁, x₂, ...]
        [dx₁, dx₂, ...] = dy

    Args:
        tensors: At least one vector, all of one dtype.

    Returns:
        One vector, as long as all of them together.

    Raises:
        ShapeError: `tensors` is empty, or one is not a vector.
        DTypeError: The dtypes differ.

    Examples:
        >>> tg.concat_vectors([tg.tensor([1.0, 2.0]), tg.tensor([3.0])]).tolist()
        [1.0, 2.0, 3.0]
    """
    parts, _ = unwrap_all(tensors, "tensors")
    concat_vectors_shape(tuple(x.shape for x in parts))
    same_dtypes(parts, "tensors")
    return concat(tensors)


def _first(tensors: tuple[Dims, ...]) -> Dims:
    if not tensors:
        message = "there is no tensor to join"
        raise ShapeError(message)
    return tensors[0]


def _of_one_rank(tensors: tuple[Dims, ...]) -> tuple[tuple[Dims, ...], int]:
    """Return the sizes with those of unknown rank as many as those of the first tensor of known rank, and its position.

    Where no rank is known, the sizes are what they are.
    """
    _first(tensors)
    known = [position for position, dims in enumerate(tensors) if not isinstance(dims, UnknownDims)]
    if not known or len(known) == len(tensors):
        return tensors, 0
    sizes = (UNKNOWN,) * len(tensors[known[0]])
    return tuple(sizes if isinstance(dims, UnknownDims) else dims for dims in tensors), known[0]


def _common(tensors: tuple[Dims, ...], axis: int | None, ranked: int) -> list[Size]:
    """Return the common sizes, except along the axis; a size unknown in one tensor is read from another."""
    sizes, known_from = list(tensors[ranked]), [ranked] * len(tensors[ranked])
    for position, dims in enumerate(tensors):
        place = f"tensors[{position}] {show(dims)}"
        if len(dims) != len(sizes):
            first = f"tensors[{ranked}] {show(tensors[ranked])}"
            message = f"{place} has rank {len(dims)} but {first} has rank {len(sizes)}"
            raise ShapeError(message)
        for along, (n, m) in enumerate(zip(sizes, dims, strict=True)):
            if along != axis and surely_differ(n, m):
                other = known_from[along]
                message = f"{place} has {m} along axis {along} but tensors[{other}] {show(tensors[other])} has {n}"
                raise ShapeError(message)
            if is_unknown(n):
                sizes[along], known_from[along] = m, position
    return sizes


def _equal_parts(x: Dims, sections: int, axis: int) -> tuple[Size, ...]:
    if sections < 1:
        message = f"sections is {sections} but at least 1 is expected"
        raise ShapeError(message)
    part = x[axis] // sections
    if surely_differ(part * sections, x[axis]):
        axis_of_x = f"axis {axis} of x {show(x)} is {x[axis]}"
        message = (
            f"{axis_of_x}, which does not divide into {sections} equal parts{_sizes_hint(x[axis], sections, axis)}"
        )
        doubt = f"{axis_of_x}, and it is not known that this divides into {sections} equal parts"
        raise misfit(part * sections, x[axis], message, doubt)
    _check_count(x, sections)
    return (part,) * sections


def _sizes_hint(size: Size, part: int, axis: int) -> str:
    """Return how to write parts of a size, which PyTorch's `split` takes; empty for many parts."""
    if not isinstance(size, int) or not part < size <= 4 * part:
        return ""
    sizes = [part] * (size // part) + ([size % part] if size % part else [])
    along = f", axis={axis}" if axis else ""
    return f"; parts of {part} are split(x, {show(sizes)}{along})"


def _check_count(x: Dims, count: int) -> None:
    """Raise if there would be too many parts, before the first one is created."""
    if count > _MOST_PARTS:
        message = f"x {show(x)} would be cut into {count} parts but one call gives at most {_MOST_PARTS}"
        raise ShapeError(message)
