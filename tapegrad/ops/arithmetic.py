"""Addition, subtraction, multiplication and division of two operands, with broadcasting.

The backward closures read `grads.wanted` directly: two calls of `wants` would take a thirtieth of such small ops' time.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.engines.thresholds import FUSE_MIN_ELEMENTS
from tapegrad.ops._broadcast import accumulate_broadcast, accumulate_like, adder
from tapegrad.ops._float32 import in_float32
from tapegrad.ops._large import elementwise
from tapegrad.ops.elementwise import broadcast_shape, float_only, number_only
from tapegrad.sizes import Dims, broadcast
from tapegrad.tensors import T1, T2, D, Float, Real, T, Tensor, node
from tapegrad.tensors.operands import constant, same_dtype, tensor_only, unwrap, unwrap_all

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge
    from tapegrad.tensors import Number


def lerp_shape(x: Dims, y: Dims, weight: Dims) -> Dims:
    """Return the shape that all three broadcast to."""
    return broadcast(x=x, y=y, weight=weight)


@op(broadcast_shape, operator="__add__", memory_bound=True)
def add(x: Tensor[Any, T1, D] | Number, y: Tensor[Any, T2, D] | Number) -> Tensor[Any, Merge[T1, T2], D]:
    """Add two tensors element by element.

        z = x + y

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ.

    Examples:
        >>> rows = tg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> bias = tg.tensor([0.5, -1.0])
        >>> tg.add(rows, bias).tolist()
        [[1.5, 1.0], [3.5, 3.0], [5.5, 5.0]]
        >>> grads = (rows + bias.trace()).sum().backward()
        >>> grads[bias].tolist()
        [3.0, 3.0]
    """
    x, y, tape = unwrap(x, y)
    out = node(x.data + y.data if x.data.size < FUSE_MIN_ELEMENTS else elementwise(operator.add, x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz, add = grads.pop_output(out), adder(x, y)
        if x in grads.wanted:
            add(grads, x, dz)
        if y in grads.wanted:
            add(grads, y, dz)

    return tape.record(out, (x, y), backward, saved=())


@op(broadcast_shape, operator="__sub__", memory_bound=True)
def sub(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    """Subtract two tensors element by element.

        z = x - y

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0], [3.0, 6.0]])
        >>> tg.sub(x, x.mean(axis=0)).tolist()
        [[-1.0, -2.0], [1.0, 2.0]]
        >>> (1 - x).tolist()
        [[0.0, -1.0], [-2.0, -5.0]]
    """
    given = x
    x, y, tape = unwrap(x, y)
    number_only(x, given)
    out = node(x.data - y.data if x.data.size < FUSE_MIN_ELEMENTS else elementwise(operator.sub, x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz, add = grads.pop_output(out), adder(x, y)
        if x in grads.wanted:
            add(grads, x, dz)
        if y in grads.wanted:
            add(grads, y, -dz)

    return tape.record(out, (x, y), backward, saved=())


@op(broadcast_shape, operator="__mul__", memory_bound=True)
def mul(x: Tensor[Any, T1, D] | Number, y: Tensor[Any, T2, D] | Number) -> Tensor[Any, Merge[T1, T2], D]:
    """Multiply two tensors element by element.

        z = x y

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ.

    Examples:
        >>> prices, amounts = tg.tensor([2.0, 0.5, 4.0]), tg.tensor([3.0, 10.0, 1.0])
        >>> tg.mul(prices, amounts).tolist()
        [6.0, 5.0, 4.0]
        >>> grads = (prices.trace() * amounts).sum().backward()
        >>> grads[prices].tolist()
        [3.0, 10.0, 1.0]
        >>> (prices * 2).tolist()
        [4.0, 1.0, 8.0]
    """
    is_scaled = not isinstance(y, Tensor)  # by a number, which gets no gradient
    x, y, tape = unwrap(x, y)
    out = node(x.data * y.data if x.data.size < FUSE_MIN_ELEMENTS else elementwise(operator.mul, x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz, wanted = grads.pop_output(out), grads.wanted
        if dz.size >= FUSE_MIN_ELEMENTS:
            _large_product_back(grads, ((x, y),) if is_scaled else ((x, y), (y, x)), dz)
            return
        # Does what `adder` does without the call, because this is the most frequent backward pass of two operands.
        add = accumulate_like if x.is_saved and y.is_saved and x.data.shape == y.data.shape else accumulate_broadcast
        if x in wanted:
            add(grads, x, dz * y.data)
        if y in wanted and not is_scaled:  # behind a step of `add_backward_op` all operands are wanted
            add(grads, y, dz * x.data)

    factors = (x, y)
    return tape.record(out, factors, backward, saved=() if is_scaled else factors)


@op(broadcast_shape, operator="__truediv__", memory_bound=True)
def div(x: Tensor[Any, T1, Float] | Number, y: Tensor[Any, T2, Float] | Number) -> Tensor[Any, Merge[T1, T2], Float]:
    """Divide two tensors element by element.

        z = x / y

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number. Division by zero follows IEEE 754.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.

    Examples:
        >>> counts = tg.tensor([[1.0, 3.0], [2.0, 6.0]])
        >>> tg.div(counts, counts.sum(axis=1, keepdims=True)).tolist()
        [[0.25, 0.75], [0.25, 0.75]]
        >>> (1 / tg.tensor([2.0, 4.0])).tolist()
        [0.5, 0.25]
    """
    given = x
    x, y, tape = unwrap(x, y)
    float_only(x, given)
    out = node(x.data / y.data if x.data.size < FUSE_MIN_ELEMENTS else elementwise(operator.truediv, x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz, add = grads.pop_output(out), adder(x, y)
        dx = dz / y.data if dz.size < FUSE_MIN_ELEMENTS else elementwise(operator.truediv, dz, y.data)
        if x in grads.wanted:
            add(grads, x, dx)
        if y in grads.wanted:
            add(grads, y, -dx * out.data if dx.size < FUSE_MIN_ELEMENTS else elementwise(_opposite, dx, out.data))

    return tape.record(out, (x, y), backward, saved=(y, out))


def _large_product_back(grads: Gradients, operands: tuple[tuple[Any, Any], ...], dz: Any) -> None:
    """Add the gradient of each of the operands, which come with the factor beside them."""
    x, y = operands[0]
    if x is y:  # a square: one product instead of the sum of two equal ones
        grads.add(x, elementwise(lambda dz, x: dz * x * 2, dz, x.data))
        return
    for operand, other in operands:
        if operand not in grads.wanted:
            continue
        if operand.shape == other.data.shape == dz.shape and not grads.needs_itself(operand):
            grads.add(operand, engine(dz).scale_in_place({0: other.data}, 0, dz))  # no copy where `dz` is 1
        else:
            accumulate_broadcast(grads, operand, elementwise(operator.mul, dz, other.data))


def _opposite(x: Any, y: Any) -> Any:
    return -x * y


@op(lerp_shape)
@in_float32
def lerp(
    x: Tensor[Any, T1, Float], y: Tensor[Any, T2, Float], weight: Tensor[Any, T, Float] | Number
) -> Tensor[Any, Merge[T, Merge[T1, T2]], Float]:
    """Interpolate linearly between two tensors.

        z = x + w (y - x)
        dx = (1 - w) dz
        dy = w dz
        dw = (y - x) dz

    Args:
        x: Any shape, a float dtype: the result for a weight of 0.
        y: A shape that broadcasts with the others: the result for a weight of 1, exactly.
        weight: A shape that broadcasts with the others, or a number; outside of 0 to 1 it extrapolates.

    Returns:
        The shape all three broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.

    Source:
        PyTorch 2.13, `torch.lerp`, for the formula from a weight of 1/2 on: `y - (1 - w) (y - x)`.

    Examples:
        >>> x, y = tg.tensor([0.0, 10.0]), tg.tensor([1.0, 20.0])
        >>> tg.lerp(x, y, 0.25).tolist()
        [0.25, 12.5]
        >>> tg.lerp(x, y, tg.tensor([0.0, 1.0])).tolist()
        [0.0, 20.0]
    """
    tensor_only(x, "x")
    tensor_only(y, "y")
    same_dtype(x, y)
    given: Any = weight if hasattr(weight, "tape") else constant(weight, x, "weight", "x")
    same_dtype(x, given, "weight")
    float_only(x)
    operands: Any = (x, y, given)
    (x, y, w), tape = unwrap_all(operands, "operands")
    lerp_shape(x.shape, y.shape, w.shape)
    difference, rest = y.data - x.data, 1 - w.data
    primitives = engine(difference, w.data)
    is_near_x = engine(w.data).greater(rest, w.data)
    out = node(primitives.where(is_near_x, x.data + difference * w.data, y.data - difference * rest))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(x):
            accumulate_broadcast(grads, x, dz * rest)
        if grads.wants(y):
            accumulate_broadcast(grads, y, dz * w.data)
        if grads.wants(w):
            accumulate_broadcast(grads, w, dz * (y.data - x.data))

    taped: Tensor[Any, Merge[T, Merge[T1, T2]], Float] = tape.record(out, (x, y, w), backward)
    return taped
