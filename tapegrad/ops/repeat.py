"""Ops that use elements more than once: repeat, tile, sliding windows and coordinates of grids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import Int, engine
from tapegrad.errors import ShapeError
from tapegrad.errors.options import check_word
from tapegrad.ops.axes import moveaxis
from tapegrad.ops.move import broadcast_to, reshape
from tapegrad.ops.scatter import getitem
from tapegrad.sizes import Dims, Size, normal_axis, of_rank, one_int, product, several_ints, surely_less, windows
from tapegrad.tensors import D, T, Tensor, node
from tapegrad.tensors.operands import on_one_tape, same_dtypes, tensor_only, unwrap, unwrap_all

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients


def repeat_shape(x: Dims, repeats: Size, axis: Int | None = None) -> Dims:
    """Return the shape with one size multiplied, or one axis of all elements if `axis` is None."""
    if surely_less(one_int(repeats, "repeats"), 0):
        message = f"repeats is {repeats}, below 0"
        raise ShapeError(message)
    if axis is None:
        return (product(x) * repeats,)
    try:
        axis = normal_axis(axis, x)
    except ShapeError as error:  # often a number of repeats for another axis, as PyTorch's method takes it
        message = f"{error}; tile repeats a whole tensor"
        raise ShapeError(message) from None
    return (*x[:axis], x[axis] * repeats, *x[axis + 1 :])


def tile_shape(x: Dims, reps: int | tuple[int, ...]) -> Dims:
    """Return the sizes times `reps`, aligned from the right."""
    sizes, times = _aligned(x, reps)
    return tuple(n * many for n, many in zip(sizes, times, strict=True))


def unfold_shape(x: Dims, axis: Int, *, size: Size, step: Size = 1) -> Dims:
    """Return the shape with the number of windows along the axis and their size as a new last axis."""
    axis = normal_axis(axis, x)
    for name, number in (("size", size), ("step", step)):
        if surely_less(one_int(number, name), 1):
            message = f"{name} is {number} but at least 1 is expected"
            raise ShapeError(message)
    return (*x[:axis], *windows(x, axis, (size,), (step,)), *x[axis + 1 :], size)


def meshgrid_shape(indexing: str = "xy", tensors: tuple[Dims, ...] = ()) -> tuple[Dims, ...]:
    """Return the lengths of all vectors, once for each of them."""
    sizes = [of_rank(1, **{f"tensors[{position}]": dims})[0] for position, dims in enumerate(tensors)]
    if indexing == "xy":
        sizes[:2] = sizes[:2][::-1]
    return (tuple(sizes),) * len(tensors)


@op(repeat_shape)
def repeat(x: Tensor[Any, T, D], repeats: int, axis: Int | None = None) -> Tensor[Any, T, D]:
    """Repeat each element along an axis.

        y[r i + j] = x[i]
        dx[i] = ∑_(j < r) dy[r i + j]

    Args:
        x: Any shape.
        repeats: The number of repetitions r, at least 0.
        axis: The axis to repeat along; None for all elements in row-major order.

    Returns:
        The shape of `x` with the size along `axis` times `repeats`, or one axis.

    Raises:
        ShapeError: The axis is out of range, or `repeats` is negative.
        DTypeError: `repeats` is not an int.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> tg.repeat(x, 2, axis=1).tolist()
        [[1.0, 1.0, 2.0, 2.0], [3.0, 3.0, 4.0, 4.0]]
        >>> tg.repeat(x, 2).shape
        (8,)
        >>> grads = tg.repeat(x.trace(), 3).sum().backward()
        >>> grads[x].tolist()
        [[3.0, 3.0], [3.0, 3.0]]
    """
    shape: Any = repeat_shape(x.shape, repeats, axis)  # rejects a negative number
    front, after = (x.shape, ()) if axis is None else _cut(x.shape, normal_axis(axis, x.shape))
    return _copied(x, (*front, 1, *after), (*front, repeats, *after), shape)


@op(tile_shape)
def tile(x: Tensor[Any, T, D], reps: int | tuple[int, ...]) -> Tensor[Any, T, D]:
    """Tile a tensor: repeat it as a whole along each axis.

        y[n j + i] = x[i]
        dx[i] = ∑_(j < r) dy[n j + i]

    Args:
        x: Any shape.
        reps: The number of repetitions r along each axis, at least 0. The shorter of `reps` and the shape of `x` is
            extended by ones in front.

    Returns:
        The sizes of `x` times `reps`.

    Raises:
        ShapeError: A number in `reps` is negative.
        DTypeError: `reps` is neither an int nor a tuple of ints.

    Examples:
        >>> x = tg.tensor([1.0, 2.0, 3.0])
        >>> tg.tile(x, 2).tolist()
        [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
        >>> tg.tile(x, (2, 1)).tolist()
        [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    """
    shape: Any = tile_shape(x.shape, reps)
    sizes, times = _aligned(x.shape, reps)
    narrow = tuple(one for n in sizes for one in (1, n))
    often = times if all(x.shape) else (1,) * len(times)  # NumPy rejects large repetitions even if empty
    wide = tuple(one for n, many in zip(sizes, often, strict=True) for one in (many, n))
    return _copied(x, narrow, wide, shape)


@op(unfold_shape)
def unfold(x: Tensor[Any, T, D], axis: Int, size: int, step: int = 1) -> Tensor[Any, T, D]:
    """Extract sliding windows along an axis.

        y[i,j] = x[s i + j]
        dx[k] = ∑_(s i + j = k) dy[i,j]

    Args:
        x: Any shape with at least one axis.
        axis: The axis to slide along.
        size: How many elements a window has, at least 1.
        step: The step s from one window to the next, at least 1; leftover elements at the end are in no window.

    Returns:
        The shape of `x` with the number of windows, `(n - size) // step + 1`, along `axis`, and `size` as a new last
        axis.

    Raises:
        ShapeError: The axis is out of range, `size` or `step` is below 1, or a window is longer than the axis.
        DTypeError: `size` or `step` is not an int.

    Examples:
        >>> x = tg.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
        >>> tg.unfold(x, 0, size=3).tolist()
        [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [3.0, 4.0, 5.0]]
        >>> tg.unfold(x, 0, size=2, step=2).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
        >>> grads = tg.unfold(x.trace(), 0, size=3).sum().backward()
        >>> grads[x].tolist()
        [1.0, 2.0, 3.0, 2.0, 1.0]
    """
    tensor_only(x, "x")
    sizes: Any = unfold_shape(x.shape, axis, size=size, step=step)
    axis = normal_axis(axis, x.shape)
    positions = np.arange(sizes[axis])[:, None] * step + np.arange(size)
    return moveaxis(getitem(x, (*(slice(None),) * axis, positions)), axis + 1, -1)


def _copied(x: Tensor[Any, T, D], narrow: Any, wide: Any, shape: tuple[int, ...]) -> Tensor[Any, T, D]:
    """Reshape `x` to `narrow`, broadcast it to `wide` and reshape the result to `shape`."""
    x, tape = unwrap(x)
    stretched = engine(x.data).broadcast_to(x.data.reshape(narrow), wide)
    out = node(stretched.reshape(shape))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out).reshape(wide)
        axes = tuple(axis for axis, (n, m) in enumerate(zip(narrow, wide, strict=True)) if n != m)
        total = engine(dy).sum(dy, axes, keepdims=True) if axes else dy
        grads.add(x, total.reshape(x.shape))

    return tape.record(out, (x,), backward)


def _cut(shape: tuple[int, ...], axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return shape[: axis + 1], shape[axis + 1 :]


@op(meshgrid_shape)
def meshgrid(*tensors: Tensor[Any, T, D], indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor[Any, T, D], ...]:
    """Return the coordinates of all points of a grid, one tensor for each axis.

        y⁽ᵏ⁾[i₁,i₂,...] = x⁽ᵏ⁾[i[k]]   (ij)
        y⁽¹⁾[i,j] = x⁽¹⁾[j], y⁽²⁾[i,j] = x⁽²⁾[i]   (xy)

    Args:
        tensors: Vectors of coordinates, of one dtype.
        indexing: `"ij"` for one axis per vector in their order, or NumPy's default `"xy"`, which swaps the first two
            axes, as rows and columns of an image: the first vector varies along columns. PyTorch's default is `"ij"`.

    Returns:
        As many tensors as vectors, all with the lengths of the vectors as their sizes.

    Raises:
        ShapeError: A tensor is not a vector.
        DTypeError: The dtypes differ.
        ValueError: `indexing` is neither `"xy"` nor `"ij"`.

    Examples:
        >>> x, y = tg.meshgrid(tg.tensor([1.0, 2.0, 3.0]), tg.tensor([10.0, 20.0]))
        >>> x.tolist(), y.tolist()
        ([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], [[10.0, 10.0, 10.0], [20.0, 20.0, 20.0]])
        >>> tg.meshgrid(tg.arange(3), tg.arange(2), indexing="ij")[1].tolist()
        [[0, 1], [0, 1], [0, 1]]
    """
    check_word("meshgrid", "indexing", indexing, ("xy", "ij"))
    parts, _ = unwrap_all(tensors, "tensors")
    same_dtypes(parts, "tensors")
    shapes: Any = meshgrid_shape(indexing, tuple(x.shape for x in parts))
    found = []
    for position, x in enumerate(on_one_tape(*tensors)):
        axis = 1 - position if indexing == "xy" and len(parts) > 1 and position < 2 else position
        row = reshape(x, tuple(x.size if along == axis else 1 for along in range(len(parts))))
        found.append(broadcast_to(row, shapes[position]))
    return tuple(found)


def _aligned(x: Dims, reps: int | tuple[int, ...]) -> tuple[Dims, Dims]:
    """Return sizes and repetitions, both extended by ones in front to the same length."""
    times: Dims = several_ints(reps, "reps")
    for many in times:
        if surely_less(many, 0):
            message = f"reps has {many}, below 0"
            raise ShapeError(message)
    rank = max(len(x), len(times))
    return (*(1,) * (rank - len(x)), *x), (*(1,) * (rank - len(times)), *times)
