"""Reductions that say where or whether, which have no gradient, and the running sum, which has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.backend import engine
from tapegrad.dims import Dims, normal_axis, product
from tapegrad.op import op
from tapegrad.ops.elementwise import number_only
from tapegrad.ops.reduce import check_axis, extremum_shape, reduce_shape
from tapegrad.tensor import Axis, Real, T, Tensor, handle, split

if TYPE_CHECKING:
    import numpy as np

    from tapegrad.tape import Gradients, NoneTape


def position_shape(x: Dims, axis: int | None = None, *, keepdims: bool = False) -> Dims:
    """Drops the axis, which may not be empty."""
    return extremum_shape(x, axis, keepdims=keepdims)


def cumsum_shape(x: Dims, axis: int | None = None) -> Dims:
    """Keeps the sizes, or makes one axis of all."""
    if axis is None:
        return (product(x),)
    normal_axis(axis, x)
    return x


@op(position_shape)
def argmax(
    x: Tensor[Any, Any, Any], axis: int | None = None, *, keepdims: bool = False
) -> Tensor[Any, NoneTape, np.int64]:
    r"""Finds the index of the largest element along an axis; not differentiable.

    $$y = \min \{ i : x_i = \max_j x_j \}$$

    Args:
        x: Any shape. NaN counts as largest; of several the first is taken.
        axis: The axis to collapse; None for all, counted in row-major order.
        keepdims: Leaves collapsed axes with size one.

    Returns:
        The shape of `x` without the axis, int64, without a tape.

    Raises:
        ShapeError: The axis is out of range, or empty.
    """
    x, _ = split(x)
    check_axis(x, axis)
    return handle(engine(x.data).argmax(x.data, axis, keepdims=keepdims))


@op(position_shape)
def argmin(
    x: Tensor[Any, Any, Any], axis: int | None = None, *, keepdims: bool = False
) -> Tensor[Any, NoneTape, np.int64]:
    r"""Finds the index of the smallest element along an axis; not differentiable.

    $$y = \min \{ i : x_i = \min_j x_j \}$$

    Args:
        x: Any shape. NaN counts as smallest; of several the first is taken.
        axis: The axis to collapse; None for all, counted in row-major order.
        keepdims: Leaves collapsed axes with size one.

    Returns:
        The shape of `x` without the axis, int64, without a tape.

    Raises:
        ShapeError: The axis is out of range, or empty.
    """
    x, _ = split(x)
    check_axis(x, axis)
    return handle(engine(x.data).argmin(x.data, axis, keepdims=keepdims))


@op(reduce_shape)
def all(
    x: Tensor[Any, Any, Any], axis: Axis = None, *, keepdims: bool = False
) -> Tensor[Any, NoneTape, np.bool_]:  # NumPy's name
    r"""Says whether every element along axes is true; not differentiable.

    $$y = \bigwedge_i [x_i \ne 0]$$

    Args:
        x: Any shape; a number is true unless it is zero.
        axis: The axis, or axes, to collapse; None for all.
        keepdims: Leaves collapsed axes with size one.

    Returns:
        The shape of `x` without the axes, bool, without a tape. Of nothing it is true.

    Raises:
        ShapeError: An axis is out of range or named twice.
    """
    x, _ = split(x)
    check_axis(x, axis)
    return handle(engine(x.data).all(x.data, axis, keepdims=keepdims))


@op(reduce_shape)
def any(
    x: Tensor[Any, Any, Any], axis: Axis = None, *, keepdims: bool = False
) -> Tensor[Any, NoneTape, np.bool_]:  # NumPy's name
    r"""Says whether some element along axes is true; not differentiable.

    $$y = \bigvee_i [x_i \ne 0]$$

    Args:
        x: Any shape; a number is true unless it is zero.
        axis: The axis, or axes, to collapse; None for all.
        keepdims: Leaves collapsed axes with size one.

    Returns:
        The shape of `x` without the axes, bool, without a tape. Of nothing it is false.

    Raises:
        ShapeError: An axis is out of range or named twice.
    """
    x, _ = split(x)
    check_axis(x, axis)
    return handle(engine(x.data).any(x.data, axis, keepdims=keepdims))


@op(cumsum_shape)
def cumsum(x: Tensor[Any, T, Real], axis: int | None = None) -> Tensor[Any, T, Real]:
    r"""Adds up all elements to each one along an axis.

    $$y_i = \sum_{j \le i} x_j, \quad dx_i = \sum_{j \ge i} dy_j$$

    Args:
        x: Any shape.
        axis: The axis to run along; None for all elements in row-major order.

    Returns:
        The shape of `x`, or one axis with all its elements, in the dtype of `x`.

    Raises:
        ShapeError: The axis is out of range.
        DTypeError: `x` is bool.
    """
    x, tape = split(x)
    number_only(x)
    check_axis(x, axis)
    along = 0 if axis is None else normal_axis(axis, x.shape)
    value: Any = x.data.reshape((x.size,)) if axis is None else x.data
    out = handle(engine(value).cumsum(value, along))

    def backward(grads: Gradients) -> None:
        dy = grads.take(out)
        primitives = engine(dy)
        turned = (*(slice(None),) * along, slice(None, None, -1))
        back = primitives.getitem(primitives.cumsum(primitives.getitem(dy, turned), along), turned)
        grads.add(x, back.reshape(x.shape))

    return tape.record(out, (x,), backward)
