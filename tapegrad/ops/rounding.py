r"""Steps, signs and bounds: ops whose slope is constant between their corners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tapegrad import messages
from tapegrad.backend import engine
from tapegrad.errors import DTypeError
from tapegrad.op import Typed, op
from tapegrad.operands import unwrap
from tapegrad.ops._broadcast import accumulate_broadcast
from tapegrad.ops._mapped import apply, mapped
from tapegrad.ops.elementwise import broadcast_shape, elementwise_shape, is_fraction, number_only
from tapegrad.tensor import T1, T2, Real, S, T, Tensor, node

if TYPE_CHECKING:
    from tapegrad.backend import Elementwise
    from tapegrad.gradients import Gradients
    from tapegrad.tape import Merge, NoneTape
    from tapegrad.tensor import Number, Scalar


@op(elementwise_shape)
def floor(x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    r"""Round down; not differentiable, being flat between its steps.

    $$y = \lfloor x \rfloor$$

    Args:
        x: Any shape.

    Returns:
        The shape and dtype of `x`, without a tape.

    Raises:
        DTypeError: `x` is bool.
    """
    return _stepped("floor", x)


@op(elementwise_shape)
def ceil(x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    r"""Round up; not differentiable, being flat between its steps.

    $$y = \lceil x \rceil$$

    Args:
        x: Any shape.

    Returns:
        The shape and dtype of `x`, without a tape.

    Raises:
        DTypeError: `x` is bool.
    """
    return _stepped("ceil", x)


@op(elementwise_shape)
def round(x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    r"""Round to the nearest whole number, halves to the even one; not differentiable, being flat between its steps.

    $$y = \lfloor x \rceil$$

    Args:
        x: Any shape.

    Returns:
        The shape and dtype of `x`, without a tape.

    Raises:
        DTypeError: `x` is bool.
    """
    return _stepped("round", x)


@op(elementwise_shape)
def trunc(x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    r"""Round towards zero; not differentiable, being flat between its steps.

    $$y = \operatorname{sign}(x) \, \lfloor |x| \rfloor$$

    Args:
        x: Any shape.

    Returns:
        The shape and dtype of `x`, without a tape.

    Raises:
        DTypeError: `x` is bool.
    """
    return _stepped("trunc", x)


@op(elementwise_shape)
def sign(x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    r"""Say on which side of zero each element is; not differentiable, being flat between its steps.

    $$y = [x > 0] - [x < 0]$$

    Args:
        x: Any shape.

    Returns:
        The shape and dtype of `x`, without a tape; -1, 0 or 1, and NaN of NaN.

    Raises:
        DTypeError: `x` is bool.
    """
    return _stepped("sign", x)


@op(elementwise_shape, operator="__abs__", memory_bound=True)
def abs(x: Tensor[S, T, Real]) -> Tensor[S, T, Real]:
    r"""Drop the sign.

    $$y = |x|, \quad dx = \operatorname{sign}(x) \, dy$$

    Args:
        x: Any shape. At zero the gradient is zero.

    Returns:
        The shape of `x`, at least 0.

    Raises:
        DTypeError: `x` is bool.
    """
    return mapped(x, lambda x: apply("abs", x), lambda x, _: apply("sign", x), number_only)


def clamp_dtypes(x: Typed, min: Scalar | None = None, max: Scalar | None = None) -> None:  # noqa: A002  # as the op's
    """Take a float as an end of floats only."""
    for name, bound in (("min", min), ("max", max)):
        if is_fraction(bound) and not x.is_float:
            raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, "a float", name, x.dtype, "x"))


@op(elementwise_shape, memory_bound=True, dtypes=clamp_dtypes)
def clamp(
    x: Tensor[S, T, Real],
    *,
    min: Scalar | None = None,  # noqa: A002  # the array API's name
    max: Scalar | None = None,  # noqa: A002  # the array API's name
) -> Tensor[S, T, Real]:
    r"""Move what lies outside an interval to its nearer end.

    $$y = \min(\max(x, a), b), \quad dx = [a \le x \le b] \, dy$$

    Args:
        x: Any shape. The gradient passes on the closed interval, the ends included.
        min: The lower end a, or None for no such end.
        max: The upper end b, or None for no such end; where it is below `min`, it wins.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is bool, or an end is no number, or a float while `x` is an int.
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
    r"""Pick the larger of two, element by element; NaN wins.

    $$z = \max(x, y), \quad dx = \left([x > y] + \tfrac{1}{2} [x = y]\right) dz$$

    Args:
        x: Any shape, or a number. A tie is split in half.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.
    """
    return _chosen("maximum", x, y)


@op(broadcast_shape, memory_bound=True)
def minimum(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    r"""Pick the smaller of two, element by element; NaN wins.

    $$z = \min(x, y), \quad dx = \left([x < y] + \tfrac{1}{2} [x = y]\right) dz$$

    Args:
        x: Any shape, or a number. A tie is split in half.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.
    """
    return _chosen("minimum", x, y)


@op(broadcast_shape, memory_bound=True)
def fmax(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    r"""Pick the larger of two, element by element; a number wins over NaN.

    $$z = \max(x, y), \quad dx = \left([x > y] + \tfrac{1}{2} [x = y]\right) dz$$

    Args:
        x: Any shape, or a number. A tie is split in half; where both are NaN there is no gradient.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.
    """
    return _chosen("fmax", x, y)


@op(broadcast_shape, memory_bound=True)
def fmin(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    r"""Pick the smaller of two, element by element; a number wins over NaN.

    $$z = \min(x, y), \quad dx = \left([x < y] + \tfrac{1}{2} [x = y]\right) dz$$

    Args:
        x: Any shape, or a number. A tie is split in half; where both are NaN there is no gradient.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.
    """
    return _chosen("fmin", x, y)


def _stepped(name: Elementwise, x: Tensor[S, Any, Real]) -> Tensor[S, NoneTape, Real]:
    x, _ = unwrap(x)
    number_only(x)
    return node(apply(name, x.data))


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

    backward.__qualname__ = name  # a picture of the tape shows the op, not this helper
    recorded: Tensor[Any, Any, Any] = tape.record(out, (x, y), backward)
    return recorded


def _end(bound: object, name: str, x: Tensor[Any, Any, Any]) -> Any:
    """Return one end of an interval the dtype of what it bounds."""
    if not isinstance(bound, int | float | np.number | None):
        message = f"{name} is {messages.with_article(type(bound).__name__)}, not a number"
        raise DTypeError(message)
    return None if bound is None else x.dtype.type(bound)
