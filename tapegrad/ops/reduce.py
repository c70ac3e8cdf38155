"""Reductions along axes: sum, mean, max, min and prod."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypeVar

from tapegrad.autograd.op import op
from tapegrad.engines import Axis, engine
from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.ops._float32 import in_float32
from tapegrad.ops.elementwise import number_only
from tapegrad.sizes import Dims, normal_axes, show, surely_same
from tapegrad.tensors import D, Real, T, Tensor, node
from tapegrad.tensors.merging import averaging, summing
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients


Summed = TypeVar("Summed", bound=np.number[Any] | np.bool_, default=np.float32)
Averaged = TypeVar("Averaged", bound=np.floating[Any] | np.bool_, default=np.float32)


def reduce_shape(x: Dims, axis: Axis = None, *, keepdims: bool = False) -> Dims:
    """Return the shape without the reduced axes, or with size one for each if `keepdims`."""
    if axis is None and not keepdims:
        return ()
    axes = normal_axes(axis, x)
    if keepdims:
        return tuple(1 if position in axes else n for position, n in enumerate(x))
    return tuple(n for position, n in enumerate(x) if position not in axes)


def extremum_shape(x: Dims, axis: Axis = None, *, keepdims: bool = False) -> Dims:
    """Return the reduced shape, after checking that no reduced axis is empty."""
    for position in normal_axes(axis, x):
        if surely_same(x[position], 0):
            message = f"x {show(x)} has no element along axis {position}"
            raise ShapeError(message)
    return reduce_shape(x, axis, keepdims=keepdims)


@summing
@op(reduce_shape, of_bools="int64")
def sum(
    x: Tensor[Any, T, Summed], axis: Axis = None, *, keepdims: bool = False
) -> Tensor[Any, T, Summed]:  # NumPy's name
    """Compute the sum along axes.

        y = ∑_i x[i]
        dx[i] = dy

    Args:
        x: Any shape.
        axis: The axis, or axes, to reduce; None for all.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes, in the dtype of `x`, or int64 for bools. An empty sum is zero.

    Raises:
        ShapeError: An axis is out of range or named twice.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.sum(x).item()
        21.0
        >>> tg.sum(x, axis=1).tolist()
        [6.0, 15.0]
        >>> tg.sum(x, axis=1, keepdims=True).shape
        (2, 1)
        >>> tg.sum(x > 2, axis=1).tolist()
        [1, 3]
    """
    x, tape = unwrap(x)
    check_axis(x, axis)
    value = engine(x.data).cast(x.data, np.int64) if x.data.dtype.kind == "b" else x.data
    out = node(engine(value).sum(value, axis, keepdims=keepdims))

    def backward(grads: Gradients) -> None:
        grads.add(x, broadcast_over(grads.pop_output(out), x.shape, axis))

    return tape.record(out, (x,), backward, saved=())


@averaging
@op(reduce_shape, of_bools="float32")
@in_float32
def mean(x: Tensor[Any, T, Averaged], axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T, Averaged]:
    """Compute the mean along axes.

        y = (1/n) ∑_i x[i]
        dx[i] = dy / n

    Args:
        x: Any shape, of floats or bools.
        axis: The axis, or axes, to reduce; None for all.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes, in the dtype of `x`; of bools the fraction that is true, in float32. An empty
        mean is NaN.

    Raises:
        ShapeError: An axis is out of range or named twice.
        DTypeError: `x` is an integer tensor.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> tg.mean(x).item()
        2.5
        >>> tg.mean(x, axis=0).tolist()
        [2.0, 3.0]
        >>> grads = tg.mean(x.trace()).backward()
        >>> grads[x].tolist()
        [[0.25, 0.25], [0.25, 0.25]]
        >>> tg.mean(x > 1).item()
        0.75
    """
    x, tape = unwrap(x)
    value = x.data
    if value.dtype.kind not in "fV":
        if value.dtype.kind != "b":
            raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "x", str(x.dtype), "floating or bool"))
        value = engine(value).cast(value, np.float32)
    check_axis(x, axis)
    total = engine(value).sum(value, axis, keepdims=keepdims)
    scale = 1 / (x.size / total.size) if total.size and x.size else math.nan
    out = node(total * scale)

    def backward(grads: Gradients) -> None:
        grads.add(x, broadcast_over(grads.pop_output(out) * scale, x.shape, axis))

    return tape.record(out, (x,), backward, saved=())


@op(extremum_shape)
def max(x: Tensor[Any, T, D], axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T, D]:  # NumPy's name
    """Return the largest element along axes.

        y = max_i x[i]
        dx[i] = [x[i] = y] dy / #{j : x[j] = y}

    Args:
        x: Any shape. NaN counts as largest.
        axis: The axis, or axes, to reduce; None for all.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes.

    Raises:
        ShapeError: An axis is out of range, named twice, or empty.

    Examples:
        >>> x = tg.tensor([[1.0, 3.0, 3.0], [6.0, 5.0, 4.0]])
        >>> tg.max(x, axis=1).tolist()
        [3.0, 6.0]
        >>> grads = tg.max(x.trace(), axis=1).sum().backward()
        >>> grads[x].tolist()
        [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
    """
    x, tape = unwrap(x)
    check_axis(x, axis)
    out = node(engine(x.data).max(x.data, axis, keepdims=keepdims))

    def backward(grads: Gradients) -> None:
        _to_the_extremes(grads, x, out, axis)

    return tape.record(out, (x,), backward)


@op(extremum_shape)
def min(x: Tensor[Any, T, D], axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T, D]:  # NumPy's name
    """Return the smallest element along axes.

        y = min_i x[i]
        dx[i] = [x[i] = y] dy / #{j : x[j] = y}

    Args:
        x: Any shape. NaN counts as smallest.
        axis: The axis, or axes, to reduce; None for all.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes.

    Raises:
        ShapeError: An axis is out of range, named twice, or empty.

    Examples:
        >>> x = tg.tensor([[1.0, 3.0, 1.0], [6.0, 5.0, 4.0]])
        >>> tg.min(x, axis=1).tolist()
        [1.0, 4.0]
        >>> grads = tg.min(x.trace(), axis=1).sum().backward()
        >>> grads[x].tolist()
        [[0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]
    """
    x, tape = unwrap(x)
    check_axis(x, axis)
    out = node(engine(x.data).min(x.data, axis, keepdims=keepdims))

    def backward(grads: Gradients) -> None:
        _to_the_extremes(grads, x, out, axis)

    return tape.record(out, (x,), backward)


@op(reduce_shape)
def prod(x: Tensor[Any, T, Real], axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T, Real]:
    """Compute the product along axes.

        y = ∏_i x[i]
        dx[i] = dy ∏_(j ≠ i) x[j]

    Args:
        x: Any shape; the gradient is correct for zeros too.
        axis: The axis, or axes, to reduce; None for all.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes, in the dtype of `x`. An empty product is one.

    Raises:
        ShapeError: An axis is out of range or named twice.
        DTypeError: `x` is bool.

    Examples:
        >>> x = tg.tensor([[2.0, 3.0, 4.0], [5.0, 0.0, 2.0]])
        >>> tg.prod(x, axis=1).tolist()
        [24.0, 0.0]
        >>> grads = tg.prod(x.trace(), axis=1).sum().backward()
        >>> grads[x].tolist()
        [[12.0, 8.0, 6.0], [0.0, 10.0, 0.0]]
    """
    x, tape = unwrap(x)
    number_only(x)
    check_axis(x, axis)
    out = node(engine(x.data).prod(x.data, axis, keepdims=keepdims))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        axes = normal_axes(axis, x.shape)
        order = (*(one for one in range(x.ndim) if one not in axes), *axes)
        back = tuple(sorted(range(x.ndim), key=order.__getitem__))
        sizes = tuple(x.shape[one] for one in order)
        rows, columns = dy.size, math.prod(x.shape[one] for one in axes)
        others = _products_of_others(x.data.transpose(order).reshape((rows, columns)))
        grads.add(x, broadcast_over(dy, x.shape, axis) * others.reshape(sizes).transpose(back))

    return tape.record(out, (x,), backward)


def check_axis(x: Tensor[Any, Any, Any], axis: Axis) -> None:
    """Reject an axis of a scalar, and a bool as an axis, both of which NumPy accepts."""
    if not x.data.shape or (axis is not None and type(axis) is not int):
        normal_axes(axis, x.data.shape)


def _to_the_extremes(grads: Gradients, x: Tensor[Any, Any, Any], out: Tensor[Any, Any, Any], axis: Axis) -> None:
    """Accumulate the gradient of a maximum or minimum into the elements equal to it."""
    dy = grads.pop_output(out)
    primitives = engine(dy, x.data)
    # Ties share the gradient equally, so that it does not depend on their order.
    peaks = primitives.cast(primitives.equal(x.data, broadcast_over(out.data, x.shape, axis)), x.dtype)
    share = peaks / engine(peaks).sum(peaks, axis, keepdims=True)
    grads.add(x, broadcast_over(dy, x.shape, axis) * share)


def _products_of_others(x: Any) -> Any:
    """Return for each element the product of the others in its row; halving avoids a division by zero."""
    _, columns = x.shape  # (r, n)
    primitives = engine(x)
    if columns <= 1:
        return primitives.ones(x.shape, x.dtype)
    half = columns // 2
    parts = [primitives.getitem(x, (slice(None), part)) for part in (slice(half), slice(half, None))]
    whole = [primitives.prod(part, 1, keepdims=True) for part in parts]
    return primitives.concat(
        [_products_of_others(part) * other for part, other in zip(parts, reversed(whole), strict=True)], 1
    )


def broadcast_over(value: Any, shape: tuple[int, ...], axis: Axis) -> Any:
    """Broadcast a reduced value back to `shape` along the reduced axes."""
    return engine(value).broadcast_to(value.reshape(reduce_shape(shape, axis, keepdims=True)), shape)
