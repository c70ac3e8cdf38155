"""Rounding, signs and bounds: ops whose derivative is piecewise constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.autograd.registry import Typed
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, messages
from tapegrad.ops._broadcast import accumulate_broadcast
from tapegrad.ops._mapped import apply, mapped
from tapegrad.ops.elementwise import broadcast_shape, elementwise_shape, is_fraction, number_only
from tapegrad.tensors import T1, T2, Real, S, T, Tensor, node
from tapegrad.tensors.operands import of_same_kind, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.engines import Elementwise
    from tapegrad.tensors import Number, Scalar


@op(elementwise_shape)
def floor(x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    """Round down to an integer; not differentiable, because the derivative is zero almost everywhere.

        y = ⌊x⌋

    Args:
        x: Any shape.

    Returns:
        The shape and dtype of `x`, without a tape.

    Raises:
        DTypeError: `x` is bool.

    Examples:
        >>> tg.floor(tg.tensor([-1.5, 0.25, 2.0])).tolist()
        [-2.0, 0.0, 2.0]
    """
    return _stepped("floor", x)


@op(elementwise_shape)
def ceil(x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    """Round up to an integer; not differentiable, because the derivative is zero almost everywhere.

        y = ⌈x⌉

    Args:
        x: Any shape.

    Returns:
        The shape and dtype of `x`, without a tape.

    Raises:
        DTypeError: `x` is bool.

    Examples:
        >>> tg.ceil(tg.tensor([-1.25, 0.25, 2.0])).tolist()
        [-1.0, 1.0, 2.0]
    """
    return _stepped("ceil", x)


@op(elementwise_shape)
def round(x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    """Round to the nearest integer, halves to the even one; not differentiable (derivative zero almost everywhere).

        y = ⌊x⌉

    Args:
        x: Any shape.

    Returns:
        The shape and dtype of `x`, without a tape.

    Raises:
        DTypeError: `x` is bool.

    Examples:
        >>> tg.round(tg.tensor([0.5, 1.5, 2.25, -1.75])).tolist()
        [0.0, 2.0, 2.0, -2.0]
    """
    return _stepped("round", x)


@op(elementwise_shape)
def trunc(x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    """Round towards zero; not differentiable, because the derivative is zero almost everywhere.

        y = sign(x) ⌊|x|⌋

    Args:
        x: Any shape.

    Returns:
        The shape and dtype of `x`, without a tape.

    Raises:
        DTypeError: `x` is bool.

    Examples:
        >>> tg.trunc(tg.tensor([-1.5, 1.75, 2.0])).tolist()
        [-1.0, 1.0, 2.0]
    """
    return _stepped("trunc", x)


@op(elementwise_shape)
def sign(x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    """Return the sign of each element; not differentiable, because the derivative is zero almost everywhere.

        y = [x > 0] - [x < 0]

    Args:
        x: Any shape.

    Returns:
        The shape and dtype of `x`, without a tape; -1, 0 or 1, and NaN for NaN.

    Raises:
        DTypeError: `x` is bool.

    Examples:
        >>> tg.sign(tg.tensor([-2.5, 0.0, 3.0])).tolist()
        [-1.0, 0.0, 1.0]
    """
    return _stepped("sign", x)


@op(elementwise_shape, operator="__abs__", memory_bound=True)
def abs(x: Tensor[S, T, Real]) -> Tensor[S, T, Real]:
    """Compute the absolute value.

        y = |x|
        dx = sign(x) dy

    Args:
        x: Any shape. At zero the gradient is zero.

    Returns:
        The shape of `x`, at least 0.

    Raises:
        DTypeError: `x` is bool.

    Examples:
        >>> x = tg.tensor([-2.5, 0.0, 3.0])
        >>> tg.abs(x).tolist()
        [2.5, 0.0, 3.0]
        >>> grads = abs(x.trace()).sum().backward()
        >>> grads[x].tolist()
        [-1.0, 0.0, 1.0]
    """
    return mapped(x, lambda x: apply("abs", x), lambda x, _: apply("sign", x), number_only)


def clamp_dtypes(x: Typed, min: Scalar | None = None, max: Scalar | None = None) -> None:  # noqa: A002  # as in the op
    """Raise a DTypeError if a bound is a float and `x` is not."""
    for name, bound in (("min", min), ("max", max)):
        if is_fraction(bound) and not x.is_float:
            raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, "a float", name, x.dtype, "x"))


@op(elementwise_shape, memory_bound=True, dtypes=clamp_dtypes)
def clamp(
    x: Tensor[S, T, Real],
    min: Scalar | None = None,  # noqa: A002  # the array API's name
    max: Scalar | None = None,  # noqa: A002  # the array API's name
) -> Tensor[S, T, Real]:
    """Clamp each element to an interval.

        y = min(max(x, a), b)
        dx = [a ≤ x ≤ b] dy

    Args:
        x: Any shape. The gradient is `dy` on the interval, including its ends, and 0 outside.
        min: The lower bound a, or None for none.
        max: The upper bound b, or None for none; if it is below `min`, the result is `max`.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is bool, a bound is not a number, or a bound is a float and `x` is an int.

    Examples:
        >>> x = tg.tensor([-3.0, 0.5, 7.0])
        >>> tg.clamp(x, min=-1.0, max=6.0).tolist()
        [-1.0, 0.5, 6.0]
        >>> tg.clamp(x, min=0.0).tolist()
        [0.0, 0.5, 7.0]
        >>> grads = tg.clamp(x.trace(), min=-1.0, max=6.0).sum().backward()
        >>> grads[x].tolist()
        [0.0, 1.0, 0.0]
    """
    x, tape = unwrap(x)
    number_only(x)
    clamp_dtypes(Typed(x.ndim, str(x.dtype)), min, max)
    primitives = engine(x.data)
    low, high = (_end(bound, name, x) for bound, name in ((min, "min"), (max, "max")))
    y = x.data
    if low is not None:
        y = primitives.where(primitives.greater(low, y), low, y)
    if high is not None:
        y = primitives.where(primitives.greater(y, high), high, y)
    out = node(y)

    def backward(grads: Gradients) -> None:
        dx = grads.pop_output(out)
        primitives = engine(dx, x.data)
        compare = engine(x.data).greater
        if low is not None:
            dx = primitives.where(compare(low, x.data), 0, dx)
        if high is not None:
            dx = primitives.where(compare(x.data, high), 0, dx)
        grads.add(x, dx)

    return tape.record(out, (x,), backward)


@op(broadcast_shape, memory_bound=True)
def maximum(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    """Return the element-wise maximum; NaN if either element is NaN.

        z = max(x, y)
        dx = ([x > y] + (1/2) [x = y]) dz

    Args:
        x: Any shape, or a number. Equal elements get half of the gradient each.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> x = tg.tensor([1.0, 4.0, np.nan])
        >>> y = tg.tensor([3.0, 2.0, 5.0])
        >>> tg.maximum(x, y).tolist()
        [3.0, 4.0, nan]
        >>> tg.maximum(y, 2.5).tolist()
        [3.0, 2.5, 5.0]
    """
    return _chosen("maximum", x, y)


@op(broadcast_shape, memory_bound=True)
def minimum(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    """Return the element-wise minimum; NaN if either element is NaN.

        z = min(x, y)
        dx = ([x < y] + (1/2) [x = y]) dz

    Args:
        x: Any shape, or a number. Equal elements get half of the gradient each.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> x = tg.tensor([1.0, 4.0, np.nan])
        >>> y = tg.tensor([3.0, 2.0, 5.0])
        >>> tg.minimum(x, y).tolist()
        [1.0, 2.0, nan]
        >>> tg.minimum(y, 2.5).tolist()
        [2.5, 2.0, 2.5]
    """
    return _chosen("minimum", x, y)


@op(broadcast_shape, memory_bound=True)
def fmax(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    """Return the element-wise maximum, ignoring NaN if the other element is a number.

        z = max(x, y)
        dx = ([x > y] + (1/2) [x = y]) dz

    Args:
        x: Any shape, or a number. Equal elements get half of the gradient each. Where both are NaN, the gradient is 0.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> x = tg.tensor([1.0, np.nan, np.nan])
        >>> y = tg.tensor([3.0, 2.0, np.nan])
        >>> tg.fmax(x, y).tolist()
        [3.0, 2.0, nan]
    """
    return _chosen("fmax", x, y)


@op(broadcast_shape, memory_bound=True)
def fmin(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    """Return the element-wise minimum, ignoring NaN if the other element is a number.

        z = min(x, y)
        dx = ([x < y] + (1/2) [x = y]) dz

    Args:
        x: Any shape, or a number. Equal elements get half of the gradient each. Where both are NaN, the gradient is 0.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> x = tg.tensor([1.0, np.nan, np.nan])
        >>> y = tg.tensor([3.0, 2.0, np.nan])
        >>> tg.fmin(x, y).tolist()
        [1.0, 2.0, nan]
    """
    return _chosen("fmin", x, y)


def _stepped(name: Elementwise, x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    plain, _ = unwrap(x)
    number_only(plain)
    return of_same_kind(node(apply(name, plain.data)), x)


def _chosen(name: Literal["fmax", "fmin", "maximum", "minimum"], x: Any, y: Any) -> Tensor[Any, Any, Any]:
    given = x
    x, y, tape = unwrap(x, y)
    number_only(x, given)
    out = node(apply(name, x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        equal = engine(x.data, y.data).equal
        tie = equal(x.data, y.data)
        primitives = engine(dz, tie)
        share = primitives.where(tie, dz / 2, dz)
        if grads.wants(x):
            accumulate_broadcast(grads, x, primitives.where(equal(x.data, out.data), share, 0))
        if grads.wants(y):
            accumulate_broadcast(grads, y, primitives.where(equal(y.data, out.data), share, 0))

    backward.__qualname__ = name  # a diagram of the tape shows the op, not this helper
    recorded: Tensor[Any, Any, Any] = tape.record(out, (x, y), backward)
    return recorded


def _end(bound: object, name: str, x: Tensor[Any, Any, Any]) -> Any:
    """Convert a bound of `clamp` to the dtype of `x`; return None for None."""
    if not isinstance(bound, int | float | np.number | None):
        message = f"{name} is {messages.with_article(type(bound).__name__)}, not a number"
        raise DTypeError(message)
    return None if bound is None else x.dtype.type(bound)
