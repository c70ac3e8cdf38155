"""Ops that change the shape: reshape, transpose and broadcast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import Int, engine
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops._broadcast import accumulate_broadcast
from tapegrad.sizes import (
    Dims,
    misfit,
    normal_axes,
    product,
    several_ints,
    show,
    surely_differ,
    surely_less,
    surely_same,
)
from tapegrad.tensors import D, T, Tensor, node
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.tensors import SizesOrList


def reshape_shape(x: Dims, shape: Dims) -> Dims:
    """Return the new shape, which has as many elements as `x`; one size may be -1 and is inferred."""
    shape = tuple(shape)
    open_axes = [axis for axis, n in enumerate(shape) if surely_same(n, -1)]
    if len(open_axes) > 1:
        message = f"shape {show(shape)} leaves {len(open_axes)} sizes open, not one"
        raise ShapeError(message)
    for n in shape:
        if surely_less(n, 0) and surely_differ(n, -1):
            message = f"shape {show(shape)} has the negative size {n}"
            raise ShapeError(message)
    total = product(x)
    if not open_axes:
        if surely_differ(total, product(shape)):
            message = f"x {show(x)} has {total} elements but shape {show(shape)} has {product(shape)}"
            doubt = f"x {show(x)} has {total} elements, and it is not known that shape {show(shape)} has as many"
            raise misfit(total, product(shape), message, doubt)
        return shape
    known = product(n for axis, n in enumerate(shape) if axis != open_axes[0])
    if surely_same(known, 0):
        message = f"shape {show(shape)} leaves a size open beside a size of 0"
        raise ShapeError(message)
    rest = total // known
    if surely_differ(rest * known, total):
        message = f"x {show(x)} has {total} elements, which do not divide into shape {show(shape)}"
        doubt = f"x {show(x)} has {total} elements, and it is not known that they divide into shape {show(shape)}"
        raise misfit(rest * known, total, message, doubt)
    return tuple(rest if axis == open_axes[0] else n for axis, n in enumerate(shape))


def transpose_shape(x: Dims, axes: tuple[Int, ...] | None = None) -> Dims:
    """Return the sizes in the order of `axes`, or reversed if `axes` is None."""
    if axes is None:
        return tuple(x[::-1])
    return ordered(x, axes)


def ordered(x: Dims, axes: tuple[Int, ...]) -> Dims:
    """Return the sizes in the order of `axes`, which contains each axis once."""
    if not isinstance(axes, tuple):
        message = f"axes is {axes!r} but a tuple of ints is expected"
        raise DTypeError(message)
    if len(axes) != len(x):
        message = f"x {show(x)} has rank {len(x)} but axes {axes} names {len(axes)}"
        raise ShapeError(message)
    return tuple(x[axis] for axis in normal_axes(axes, x))


def broadcast_to_shape(x: Dims, shape: Dims) -> Dims:
    """Return `shape` with the sizes of `x` for each -1, after checking that `x` broadcasts to it."""
    shape = _with_sizes_of(x, _as_tuple(shape))
    aligned = shape[max(len(shape) - len(x), 0) :]
    fits = len(shape) >= len(x) and not any(
        surely_differ(n, 1) and surely_differ(n, m) for n, m in zip(x, aligned, strict=True)
    )
    if any(surely_less(n, 0) for n in shape):
        message = f"shape {show(shape)} has a negative size"
        raise ShapeError(message)
    if not fits:
        message = f"x {show(x)} does not broadcast to {show(shape)}"
        raise ShapeError(message)
    return shape


def _with_sizes_of(x: Dims, shape: Dims) -> Dims:
    """Return a shape with the size of `x` along the same axis for each -1, aligned from the right."""
    new = len(shape) - len(x)
    if any(surely_same(n, -1) for n in shape[: max(new, 0)]):
        message = f"shape {show(shape)} has -1 for an axis that x {show(x)} does not have"
        raise ShapeError(message)
    return tuple(x[axis - new] if surely_same(n, -1) else n for axis, n in enumerate(shape))


def _as_tuple(shape: Any) -> Any:
    """Return a shape as a tuple: a list may be changed before the backward pass reads it."""
    return tuple(shape) if type(shape) is list else shape


@op(reshape_shape, memory_bound=True)
def reshape(x: Tensor[Any, T, D], shape: SizesOrList) -> Tensor[Any, T, D]:
    """Change the shape of a tensor, keeping the elements in row-major order.

        y.flat[i] = x.flat[i]
        dx.flat[i] = dy.flat[i]

    Args:
        x: Any shape.
        shape: The new sizes, a tuple or a list; one may be -1 and is inferred.

    Returns:
        `shape`.

    Raises:
        ShapeError: The numbers of elements differ, two sizes are -1, or a size is below -1.
        DTypeError: `shape` is neither a tuple nor a list, or a size is not an int.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.reshape(x, (3, 2)).tolist()
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
        >>> images = tg.zeros((8, 3, 32, 32))
        >>> tg.reshape(images, (8, -1)).shape
        (8, 3072)
    """
    x, tape = unwrap(x)
    shape = _as_tuple(shape)
    # `len`, because the truth value of an array is ambiguous; JAX rejects such sizes itself.
    if isinstance(x.data, np.ndarray) and len(shape) and min(shape) < -1:
        reshape_shape(x.shape, several_ints(shape, "shape"))  # rejects sizes below -1, some of which NumPy reads as -1
    out = node(x.data.reshape(shape))

    def backward(grads: Gradients) -> None:
        grads.add(x, grads.pop_output(out).reshape(x.shape))

    return tape.record(out, (x,), backward, saved=())


@op(transpose_shape, memory_bound=True)
def transpose(x: Tensor[Any, T, D], axes: tuple[Int, ...] | None = None) -> Tensor[Any, T, D]:
    """Permute the axes.

        y[i[a₀],i[a₁],...] = x[i₀,i₁,...]

    Args:
        x: Any shape.
        axes: The axis of `x` for each axis of the result; None reverses the axes.

    Returns:
        The sizes of `x` in the order of `axes`.

    Raises:
        ShapeError: `axes` does not contain every axis exactly once.
        DTypeError: `axes` is not a tuple of ints.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.transpose(x).tolist()
        [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
        >>> images = tg.zeros((8, 28, 32, 3))
        >>> tg.transpose(images, (0, 3, 1, 2)).shape
        (8, 3, 28, 32)
    """
    x, tape = unwrap(x)
    if type(axes) is not tuple and axes is not None:
        transpose_shape(x.shape, axes)  # rejects a list or an int, which NumPy accepts
    out = node(x.data.transpose(axes))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        back = None if axes is None else tuple(sorted(range(len(axes)), key=normal_axes(axes, x.shape).__getitem__))
        grads.add(x, dy.transpose(back))

    return tape.record(out, (x,), backward, saved=())


@op(broadcast_to_shape, memory_bound=True)
def broadcast_to(x: Tensor[Any, T, D], shape: SizesOrList) -> Tensor[Any, T, D]:
    """Broadcast a tensor to a shape, along new axes and axes of size one.

        y[j,i] = x[i]
        dx[i] = ∑_j dy[j,i]

    Args:
        x: Any shape.
        shape: A tuple or a list. From the right, each size of `x` is equal or 1; -1 keeps the size of `x`.

    Returns:
        `shape`, with the sizes of `x` for each -1.

    Raises:
        ShapeError: `x` does not broadcast to `shape`, a size is below -1, or -1 stands for an axis that `x` lacks.
        DTypeError: A size in `shape` is not an int.

    Examples:
        >>> x = tg.tensor([1.0, 2.0, 3.0])
        >>> tg.broadcast_to(x, (2, -1)).tolist()
        [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
        >>> grads = tg.broadcast_to(x.trace(), (2, 3)).sum().backward()
        >>> grads[x].tolist()
        [2.0, 2.0, 2.0]
    """
    x, tape = unwrap(x)
    shape = _as_tuple(shape)
    if -1 in shape:
        shape = broadcast_to_shape(x.shape, shape)
    out = node(engine(x.data).broadcast_to(x.data, shape))  # type: ignore[arg-type]  # NumPy ints are accepted too

    def backward(grads: Gradients) -> None:
        accumulate_broadcast(grads, x, grads.pop_output(out))

    return tape.record(out, (x,), backward, saved=())
