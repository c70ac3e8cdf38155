"""Ops that add, remove, merge and reorder axes, and do not change elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.errors import ShapeError
from tapegrad.ops.move import ordered, reshape_shape, transpose
from tapegrad.sizes import (
    Dim,
    Dims,
    RankUnknownError,
    UndecidedError,
    at_least,
    normal_axes,
    normal_axis,
    product,
    several_ints,
    show,
    surely_differ,
)
from tapegrad.tensors import D, T, Tensor, node
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.engines import Axis, Int
    from tapegrad.tensors import Sizes


def flatten_shape(x: Dims, start_axis: Int = 0, end_axis: Int = -1) -> Dims:
    """Return the shape with neighbouring axes merged into one; a scalar gives `(1,)`."""
    if len(x) == 0 and {start_axis, end_axis} <= {0, -1}:
        return (1,)
    start, end = normal_axis(start_axis, x), normal_axis(end_axis, x)
    if end < start:
        message = f"axis {start_axis} of x {show(x)} comes after axis {end_axis}"
        raise ShapeError(message)
    return (*x[:start], product(x[start : end + 1]), *x[end + 1 :])


def unflatten_shape(x: Dims, axis: Int, sizes: Dims) -> Dims:
    """Return the shape with one axis split into `sizes`, one of which may be -1 to be inferred."""
    axis = normal_axis(axis, x)
    try:
        parts = reshape_shape((x[axis],), sizes)
    except UndecidedError as error:
        doubt = f"axis {axis} of x {show(x)} is {x[axis]}, and it is not known that sizes {show(sizes)} multiply to it"
        raise UndecidedError(doubt, error.assertions) from None
    except ShapeError:
        message = f"axis {axis} of x {show(x)} is {x[axis]}, which is not the product of sizes {show(sizes)}"
        raise ShapeError(message) from None
    return (*x[:axis], *parts, *x[axis + 1 :])


def expand_dims_shape(x: Dims, axis: Int | tuple[Int, ...]) -> Dims:
    """Return the shape with sizes of one inserted at `axis`."""
    axes = several_ints(axis)
    rank = len(x) + len(axes)
    for one in axes:
        if isinstance(one, Dim):
            raise RankUnknownError
        if not -rank <= one < rank:
            message = f"axis {one} is out of range for a result of rank {rank}, x {show(x)} with {len(axes)} more"
            raise ShapeError(message)
    positions = {one % rank for one in axes}
    if len(positions) < len(axes):
        message = f"axis {axis} names an axis of the result twice"
        raise ShapeError(message)
    sizes = iter(x)
    return tuple(1 if position in positions else next(sizes) for position in range(rank))


def squeeze_shape(x: Dims, axis: Axis = None) -> Dims:
    """Return the shape without axes of size one: those given, or all."""
    if axis is None:
        if any(not isinstance(n, int) for n in x):
            raise RankUnknownError  # a symbolic size may be 1
        return tuple(n for n in x if surely_differ(n, 1))
    axes = normal_axes(axis, x)
    for position in axes:
        if surely_differ(x[position], 1):
            message = f"axis {position} of x {show(x)} is {x[position]}, not 1"
            raise ShapeError(message)
    return tuple(n for position, n in enumerate(x) if position not in axes)


def permute_shape(x: Dims, axes: tuple[Int, ...]) -> Dims:
    """Return the sizes in the order of `axes`."""
    return ordered(x, axes)


def moveaxis_shape(x: Dims, source: Int | tuple[Int, ...], destination: Int | tuple[Int, ...]) -> Dims:
    """Return the shape with axes moved; the others keep their order."""
    return tuple(x[axis] for axis in _order(x, source, destination))


def matrix_transpose_shape(x: Dims) -> Dims:
    """Return the shape with the last two sizes swapped."""
    *front, n, m = at_least(2, x=x)
    return (*front, m, n)


def swapaxes_shape(x: Dims, axis1: Int, axis2: Int) -> Dims:
    """Return the shape with two sizes swapped."""
    first, second = normal_axis(axis1, x), normal_axis(axis2, x)
    return tuple(x[{first: second, second: first}.get(position, position)] for position in range(len(x)))


@op(flatten_shape, memory_bound=True)
def flatten(x: Tensor[Any, T, D], start_axis: Int = 0, end_axis: Int = -1) -> Tensor[Any, T, D]:
    """Flatten neighbouring axes into one, in row-major order.

        y[i · m + j] = x[i,j]
        dx[i,j] = dy[i · m + j]

    Args:
        x: Any shape; a scalar becomes a vector of one element.
        start_axis: The first axis to flatten.
        end_axis: The last axis to flatten.

    Returns:
        The shape of `x` with the flattened sizes replaced by their product.

    Raises:
        ShapeError: An axis is out of range, or the first comes after the last.

    Examples:
        >>> images = tg.uniform((2, 3, 4, 5), rng=0)
        >>> tg.flatten(images).shape
        (120,)
        >>> tg.flatten(images, 1).shape
        (2, 60)
        >>> tg.flatten(tg.tensor([[1, 2], [3, 4]])).tolist()
        [1, 2, 3, 4]
    """
    x, tape = unwrap(x)
    out = node(x.data.reshape(flatten_shape(x.shape, start_axis, end_axis)))

    def backward(grads: Gradients) -> None:
        grads.add(x, grads.pop_output(out).reshape(x.shape))

    return tape.record(out, (x,), backward, saved=())


@op(unflatten_shape, memory_bound=True)
def unflatten(x: Tensor[Any, T, D], axis: Int, sizes: Sizes) -> Tensor[Any, T, D]:
    """Split one axis into several, in row-major order: the inverse of `flatten`.

        y[i,j] = x[i · m + j]
        dx[i · m + j] = dy[i,j]

    Args:
        x: Any shape with at least one axis.
        axis: The axis to split.
        sizes: The sizes of the new axes; one may be -1 to be inferred.

    Returns:
        The shape of `x` with `sizes` instead of the size of `axis`.

    Raises:
        ShapeError: The axis is out of range, or its size is not the product of `sizes`.
        DTypeError: `sizes` is not made of ints.

    Examples:
        >>> rows = tg.uniform((2, 64), rng=0)
        >>> tg.unflatten(rows, 1, (8, 8)).shape
        (2, 8, 8)
        >>> tg.unflatten(rows, 1, (4, -1)).shape
        (2, 4, 16)
        >>> tg.unflatten(tg.tensor([1, 2, 3, 4, 5, 6]), 0, (2, 3)).tolist()
        [[1, 2, 3], [4, 5, 6]]
    """
    x, tape = unwrap(x)
    out = node(x.data.reshape(unflatten_shape(x.shape, axis, sizes)))  # type: ignore[arg-type]  # NumPy integers are accepted too

    def backward(grads: Gradients) -> None:
        grads.add(x, grads.pop_output(out).reshape(x.shape))

    return tape.record(out, (x,), backward, saved=())


@op(expand_dims_shape, memory_bound=True)
def expand_dims(x: Tensor[Any, T, D], axis: Int | tuple[Int, ...]) -> Tensor[Any, T, D]:
    """Insert axes of size one.

        y[i,1,j] = x[i,j]
        dx[i,j] = dy[i,1,j]

    Args:
        x: Any shape.
        axis: The position, or positions, of the new axes in the result.

    Returns:
        The shape of `x` with ones at `axis`.

    Raises:
        ShapeError: An axis is out of range for the result, or named twice.

    Examples:
        >>> x = tg.tensor([1.0, 2.0, 3.0])
        >>> tg.expand_dims(x, 0).shape
        (1, 3)
        >>> tg.expand_dims(x, -1).tolist()
        [[1.0], [2.0], [3.0]]
        >>> tg.expand_dims(x, (0, 2)).shape
        (1, 3, 1)
    """
    x, tape = unwrap(x)
    out = node(x.data.reshape(expand_dims_shape(x.shape, axis)))

    def backward(grads: Gradients) -> None:
        grads.add(x, grads.pop_output(out).reshape(x.shape))

    return tape.record(out, (x,), backward, saved=())


@op(squeeze_shape, memory_bound=True)
def squeeze(x: Tensor[Any, T, D], axis: Axis = None) -> Tensor[Any, T, D]:
    """Remove axes of size one.

        y[i,j] = x[i,1,j]
        dx[i,1,j] = dy[i,j]

    Args:
        x: Any shape.
        axis: The axis, or axes, to remove; None for all of size one. With None, mypy does not know the rank of the
            result if a size is symbolic.

    Returns:
        The shape of `x` without the axes.

    Raises:
        ShapeError: An axis is out of range, named twice, or not of size one.

    Examples:
        >>> x = tg.zeros((1, 3, 1))
        >>> tg.squeeze(x).shape
        (3,)
        >>> tg.squeeze(x, -1).shape
        (1, 3)
    """
    x, tape = unwrap(x)
    out = node(x.data.reshape(squeeze_shape(x.shape, axis)))

    def backward(grads: Gradients) -> None:
        grads.add(x, grads.pop_output(out).reshape(x.shape))

    return tape.record(out, (x,), backward, saved=())


@op(permute_shape, memory_bound=True)
def permute(x: Tensor[Any, T, D], axes: tuple[Int, ...]) -> Tensor[Any, T, D]:
    """Permute the axes: `transpose` with a required order.

        y[i[a₀],i[a₁],...] = x[i₀,i₁,...]

    Args:
        x: Any shape.
        axes: For each axis of the result, the axis of `x` it comes from.

    Returns:
        The sizes of `x` in the order of `axes`.

    Raises:
        ShapeError: `axes` does not name every axis once.

    Examples:
        >>> images = tg.uniform((2, 8, 6, 3), rng=0)  # channels last
        >>> tg.permute(images, (0, 3, 1, 2)).shape
        (2, 3, 8, 6)
    """
    x, tape = unwrap(x)
    if type(axes) is not tuple:
        permute_shape(x.shape, axes)  # NumPy also accepts a list, an int or None
    out = node(x.data.transpose(axes))

    def backward(grads: Gradients) -> None:
        back = tuple(sorted(range(len(axes)), key=normal_axes(axes, x.shape).__getitem__))
        grads.add(x, grads.pop_output(out).transpose(back))

    return tape.record(out, (x,), backward, saved=())


@op(moveaxis_shape, memory_bound=True)
def moveaxis(
    x: Tensor[Any, T, D], source: Int | tuple[Int, ...], destination: Int | tuple[Int, ...]
) -> Tensor[Any, T, D]:
    """Move axes to other positions; the others keep their order.

        y[j,k,i] = x[i,j,k]
        dx[i,j,k] = dy[j,k,i]

    Args:
        x: Any shape.
        source: The axis, or axes, to move.
        destination: The position of each of them in the result.

    Returns:
        The sizes of `x` in the new order.

    Raises:
        ShapeError: An axis is out of range or named twice, or `source` and `destination` differ in number.

    Examples:
        >>> images = tg.uniform((2, 8, 6, 3), rng=0)  # channels last
        >>> tg.moveaxis(images, -1, 1).shape
        (2, 3, 8, 6)
        >>> tg.moveaxis(images, (0, 1), (-2, -1)).shape
        (6, 3, 2, 8)
    """
    return transpose(x, tuple(_order(x.shape, source, destination)))


@op(matrix_transpose_shape, memory_bound=True)
def matrix_transpose(x: Tensor[Any, T, D]) -> Tensor[Any, T, D]:
    """Transpose each matrix of a stack: `x.mT`.

        y[...,j,i] = x[...,i,j]
        dx[...,i,j] = dy[...,j,i]

    Args:
        x: Matrices, `(..., n, m)`.

    Returns:
        `(..., m, n)`.

    Raises:
        ShapeError: `x` has fewer than two axes.

    Examples:
        >>> tg.matrix_transpose(tg.tensor([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])).tolist()
        [[[1, 3], [2, 4]], [[5, 7], [6, 8]]]
        >>> tg.zeros((7, 2, 3)).mT.shape
        (7, 3, 2)
    """
    at_least(2, x=x.shape)
    return swapaxes(x, -1, -2)


@op(swapaxes_shape, memory_bound=True)
def swapaxes(x: Tensor[Any, T, D], axis1: Int, axis2: Int) -> Tensor[Any, T, D]:
    """Swap two axes.

        y[i,k,j] = x[i,j,k]
        dx[i,j,k] = dy[i,k,j]

    Args:
        x: Any shape.
        axis1: One axis.
        axis2: The other axis; if it is the same, `x` is unchanged.

    Returns:
        The shape of `x` with the two sizes swapped.

    Raises:
        ShapeError: An axis is out of range.

    Examples:
        >>> heads = tg.uniform((2, 5, 4, 8), rng=0)
        >>> tg.swapaxes(heads, 1, 2).shape
        (2, 4, 5, 8)
        >>> tg.swapaxes(tg.tensor([[1, 2, 3], [4, 5, 6]]), 0, 1).tolist()
        [[1, 4], [2, 5], [3, 6]]
    """
    x, tape = unwrap(x)
    axes = swapaxes_shape(tuple(range(x.ndim)), axis1, axis2)
    out = node(x.data.transpose(axes))

    def backward(grads: Gradients) -> None:
        grads.add(x, grads.pop_output(out).transpose(axes))  # a swap is its own inverse

    return tape.record(out, (x,), backward, saved=())


def _order(x: Dims, source: Int | tuple[Int, ...], destination: Int | tuple[Int, ...]) -> list[int]:
    """Return for each axis of the result the axis of `x` it comes from."""
    origins, positions = normal_axes(source, x), normal_axes(destination, x)
    if len(origins) != len(positions):
        message = f"source {source} names {len(origins)} axes but destination {destination} names {len(positions)}"
        raise ShapeError(message)
    order = [axis for axis in range(len(x)) if axis not in origins]
    for position, origin in sorted(zip(positions, origins, strict=True)):
        order.insert(position, origin)
    return order
