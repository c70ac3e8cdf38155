"""Comparison ops, and `where`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, messages
from tapegrad.ops._broadcast import accumulate_broadcast
from tapegrad.ops.elementwise import broadcast_shape
from tapegrad.sizes import Dims, broadcast
from tapegrad.tensors import T1, T2, D, Tensor, node
from tapegrad.tensors.operands import as_float32, tensor_only, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.tensors import Number


def where_shape(condition: Dims, x: Dims, y: Dims) -> Dims:
    """Return the shape that all three broadcast to."""
    return broadcast(condition=condition, x=x, y=y)


@op(broadcast_shape, operator="__eq__")
def equal(x: Tensor[Any, Any, D] | Number, y: Tensor[Any, Any, D] | Number) -> Tensor[Any, NoneTape, np.bool_]:
    """Return whether `x` is equal to `y`, element by element; not differentiable.

        z = [x = y]

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to, bool, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ.

    Examples:
        >>> labels, predicted = tg.tensor([3, 1, 2, 1]), tg.tensor([3, 2, 2, 1])
        >>> tg.equal(labels, predicted).tolist()
        [True, False, True, True]
        >>> (labels == 1).tolist()
        [False, True, False, True]
    """
    return _compared(operator.eq, x, y)


@op(broadcast_shape, operator="__ne__")
def not_equal(x: Tensor[Any, Any, D] | Number, y: Tensor[Any, Any, D] | Number) -> Tensor[Any, NoneTape, np.bool_]:
    """Return whether `x` is not equal to `y`, element by element; not differentiable.

        z = [x ≠ y]

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to, bool, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ.

    Examples:
        >>> labels, predicted = tg.tensor([3, 1, 2, 1]), tg.tensor([3, 2, 2, 1])
        >>> tg.not_equal(labels, predicted).tolist()
        [False, True, False, False]
        >>> (labels != 1).tolist()
        [True, False, True, False]
    """
    return _compared(operator.ne, x, y)


@op(broadcast_shape, operator="__lt__")
def less(x: Tensor[Any, Any, D] | Number, y: Tensor[Any, Any, D] | Number) -> Tensor[Any, NoneTape, np.bool_]:
    """Return whether `x` is less than `y`, element by element; not differentiable.

        z = [x < y]

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to, bool, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ.

    Examples:
        >>> x = tg.tensor([1.0, 2.0, 3.0])
        >>> tg.less(x, tg.tensor([2.0, 2.0, 4.0])).tolist()
        [True, False, True]
        >>> (x < 2).tolist()
        [True, False, False]
    """
    return _compared(operator.lt, x, y)


@op(broadcast_shape, operator="__le__")
def less_equal(x: Tensor[Any, Any, D] | Number, y: Tensor[Any, Any, D] | Number) -> Tensor[Any, NoneTape, np.bool_]:
    """Return whether `x` is less than or equal to `y`, element by element; not differentiable.

        z = [x ≤ y]

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to, bool, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ.

    Examples:
        >>> x = tg.tensor([1.0, 2.0, 3.0])
        >>> tg.less_equal(x, 2).tolist()
        [True, True, False]
        >>> (x <= tg.tensor([[1.0], [2.5]])).tolist()
        [[True, False, False], [True, True, False]]
    """
    return _compared(operator.le, x, y)


@op(broadcast_shape, operator="__gt__")
def greater(x: Tensor[Any, Any, D] | Number, y: Tensor[Any, Any, D] | Number) -> Tensor[Any, NoneTape, np.bool_]:
    """Return whether `x` is greater than `y`, element by element; not differentiable.

        z = [x > y]

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to, bool, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ.

    Examples:
        >>> probabilities = tg.tensor([0.25, 0.5, 0.75])
        >>> tg.greater(probabilities, 0.5).tolist()
        [False, False, True]
        >>> (probabilities > tg.tensor([0.0, 0.5, 1.0])).tolist()
        [True, False, False]
    """
    return _compared(operator.gt, x, y)


@op(broadcast_shape, operator="__ge__")
def greater_equal(x: Tensor[Any, Any, D] | Number, y: Tensor[Any, Any, D] | Number) -> Tensor[Any, NoneTape, np.bool_]:
    """Return whether `x` is greater than or equal to `y`, element by element; not differentiable.

        z = [x ≥ y]

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to, bool, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ.

    Examples:
        >>> probabilities = tg.tensor([0.25, 0.5, 0.75])
        >>> tg.greater_equal(probabilities, 0.5).tolist()
        [False, True, True]
        >>> (probabilities >= tg.tensor([0.0, 0.5, 1.0])).tolist()
        [True, True, False]
    """
    return _compared(operator.ge, x, y)


@op(where_shape, memory_bound=True)
def where(
    condition: Tensor[Any, Any, np.bool_], x: Tensor[Any, T1, D] | Number, y: Tensor[Any, T2, D] | Number
) -> Tensor[Any, Merge[T1, T2], D]:
    """Return elements of `x` where `condition` is true, and of `y` elsewhere.

        z = c ? x : y
        dx = c ? dz : 0
        dy = c ? 0 : dz

    Args:
        condition: Any shape, bool.
        x: A shape that broadcasts with the others, or a number.
        y: A shape that broadcasts with the others, or a number.

    Returns:
        The shape all three broadcast to; float32 for two numbers, at least one of which is a float.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes of `x` and `y` differ, both are ints and no tensors, or `condition` is not bool.

    Examples:
        >>> x = tg.tensor([-2.0, 0.5, 3.0])
        >>> tg.where(x > 0, x, 0.0).tolist()
        [0.0, 0.5, 3.0]
        >>> tg.where(x > 0, 1.0, -1.0)
        Tensor([-1.,  1.,  1.], shape=(3,), float32, no tape)
        >>> grads = tg.where(x > 0, x.trace(), 0.0).sum().backward()
        >>> grads[x].tolist()
        [0.0, 1.0, 1.0]
    """
    tensor_only(condition, "condition")
    if condition.dtype.kind != "b":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "condition", str(condition.dtype), "bool"))
    if not isinstance(x, Tensor) and not isinstance(y, Tensor) and {float} <= {type(x), type(y)} <= {float, int}:
        x = as_float32(x)
    x, y, tape = unwrap(x, y)
    mask = condition.data
    out = node(engine(mask, x.data, y.data).where(mask, x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        primitives = engine(dz, mask)
        if grads.wants(x):
            accumulate_broadcast(grads, x, primitives.where(mask, dz, 0))
        if grads.wants(y):
            accumulate_broadcast(grads, y, primitives.where(mask, 0, dz))

    return tape.record(out, (x, y), backward)


def _compared(comparison: Callable[[Any, Any], Any], x: Any, y: Any) -> Tensor[Any, NoneTape, np.bool_]:
    x, y, _ = unwrap(x, y)
    return node(comparison(x.data, y.data))
