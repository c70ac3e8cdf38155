"""Reductions to indices, bools and counts; they are not differentiable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import Axis, Int, engine
from tapegrad.ops.reduce import check_axis, extremum_shape, reduce_shape
from tapegrad.tensors import Tensor, node
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.tape import NoneTape
    from tapegrad.sizes import Dims


def position_shape(x: Dims, axis: Int | None = None, *, keepdims: bool = False) -> Dims:
    """Return the shape without the axis, which must not be empty."""
    return extremum_shape(x, axis, keepdims=keepdims)


@op(position_shape)
def argmax(
    x: Tensor[Any, Any, Any], axis: Int | None = None, *, keepdims: bool = False
) -> Tensor[Any, NoneTape, np.int64]:
    """Return the index of the largest element along an axis; not differentiable.

        y = min {i : x[i] = max_j x[j]}

    Args:
        x: Any shape. NaN counts as largest; of equal elements the first is returned.
        axis: The axis to reduce; None for all elements in row-major order.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axis, int64, without a tape.

    Raises:
        ShapeError: The axis is out of range, or empty.

    Examples:
        >>> logits = tg.tensor([[0.5, 2.0, -1.0], [3.0, 0.0, 1.0]])
        >>> tg.argmax(logits, axis=1).tolist()
        [1, 0]
        >>> tg.argmax(logits).item()
        3
    """
    x, _ = unwrap(x)
    check_axis(x, axis)
    return node(engine(x.data).argmax(x.data, axis, keepdims=keepdims))


@op(position_shape)
def argmin(
    x: Tensor[Any, Any, Any], axis: Int | None = None, *, keepdims: bool = False
) -> Tensor[Any, NoneTape, np.int64]:
    """Return the index of the smallest element along an axis; not differentiable.

        y = min {i : x[i] = min_j x[j]}

    Args:
        x: Any shape. NaN counts as smallest; of equal elements the first is returned.
        axis: The axis to reduce; None for all elements in row-major order.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axis, int64, without a tape.

    Raises:
        ShapeError: The axis is out of range, or empty.

    Examples:
        >>> distances = tg.tensor([[0.5, 2.0, 1.0], [3.0, 4.0, 0.25]])
        >>> tg.argmin(distances, axis=1).tolist()
        [0, 2]
        >>> tg.argmin(distances).item()
        5
    """
    x, _ = unwrap(x)
    check_axis(x, axis)
    return node(engine(x.data).argmin(x.data, axis, keepdims=keepdims))


@op(reduce_shape)
def all(
    x: Tensor[Any, Any, Any], axis: Axis = None, *, keepdims: bool = False
) -> Tensor[Any, NoneTape, np.bool_]:  # NumPy's name
    """Return whether all elements along axes are true; not differentiable.

        y = ⋀_i [x[i] ≠ 0]

    Args:
        x: Any shape; nonzero numbers, including NaN, are true.
        axis: The axis, or axes, to reduce; None for all.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes, bool, without a tape. The result for no elements is True.

    Raises:
        ShapeError: An axis is out of range or named twice.

    Examples:
        >>> x = tg.tensor([[0.5, 1.0], [-2.0, 3.0]])
        >>> tg.all(x > 0).item()
        False
        >>> tg.all(x > 0, axis=1).tolist()
        [True, False]
    """
    x, _ = unwrap(x)
    check_axis(x, axis)
    return node(engine(x.data).all(x.data, axis, keepdims=keepdims))


@op(reduce_shape)
def any(
    x: Tensor[Any, Any, Any], axis: Axis = None, *, keepdims: bool = False
) -> Tensor[Any, NoneTape, np.bool_]:  # NumPy's name
    """Return whether any element along axes is true; not differentiable.

        y = ⋁_i [x[i] ≠ 0]

    Args:
        x: Any shape; nonzero numbers, including NaN, are true.
        axis: The axis, or axes, to reduce; None for all.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes, bool, without a tape. The result for no elements is False.

    Raises:
        ShapeError: An axis is out of range or named twice.

    Examples:
        >>> x = tg.tensor([[0.5, 1.0], [-2.0, 3.0]])
        >>> tg.any(x < 0).item()
        True
        >>> tg.any(x < 0, axis=1).tolist()
        [False, True]
    """
    x, _ = unwrap(x)
    check_axis(x, axis)
    return node(engine(x.data).any(x.data, axis, keepdims=keepdims))


@op(reduce_shape)
def count_nonzero(
    x: Tensor[Any, Any, Any], axis: Axis = None, *, keepdims: bool = False
) -> Tensor[Any, NoneTape, np.int64]:
    """Count the nonzero elements along axes; not differentiable.

        y = ∑_i [x[i] ≠ 0]

    Args:
        x: Any shape; NaN and True count as nonzero.
        axis: The axis, or axes, to reduce; None for all.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes, int64, without a tape.

    Raises:
        ShapeError: An axis is out of range or named twice.

    Examples:
        >>> x = tg.tensor([[0.0, 1.5, 0.0], [2.0, 0.0, -3.0]])
        >>> tg.count_nonzero(x).item()
        3
        >>> tg.count_nonzero(x, axis=1).tolist()
        [1, 2]
    """
    x, _ = unwrap(x)
    check_axis(x, axis)
    primitives = engine(x.data)
    ones = primitives.cast(primitives.cast(x.data, np.bool_), np.int64)
    return node(primitives.sum(ones, axis, keepdims=keepdims))
