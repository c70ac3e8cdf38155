"""Ops on the parts of floats (`modf`, `frexp`, `ldexp`), and on neighbouring floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, messages
from tapegrad.ops._broadcast import accumulate_broadcast
from tapegrad.ops._mapped import apply
from tapegrad.ops.elementwise import broadcast_shape, elementwise_shape, float_only
from tapegrad.tensors import T1, T2, Float, S, T, Tensor, node
from tapegrad.tensors.operands import tensor_only, unwrap, unwrap_mixed

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.ops.bitwise import Whole
    from tapegrad.sizes import Dims
    from tapegrad.tensors import Number


def parts_shape(x: Dims) -> tuple[Dims, Dims]:
    """Return the shape of `x` twice, for both parts."""
    return x, x


@op(parts_shape)
def modf(x: Tensor[S, T, Float]) -> tuple[Tensor[S, T, Float], Tensor[S, NoneTape, Float]]:
    """Split each element into its fractional and integral part.

        n = trunc(x)
        r = x - n
        dx = dr

    Args:
        x: Any shape, a float dtype. The fractional part of an infinity is 0.

    Returns:
        The fractional part, and the integral part, which has no tape because it is piecewise constant; both have the
        shape and the sign of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([3.25, -1.5, 2.0])
        >>> fraction, whole = tg.modf(x)
        >>> fraction.tolist()
        [0.25, -0.5, 0.0]
        >>> whole.tolist()
        [3.0, -1.0, 2.0]
    """
    x, tape = unwrap(x)
    float_only(x)
    rest, whole = map(node, engine(x.data).pair("modf", x.data))

    def backward(grads: Gradients) -> None:
        grads.add(x, grads.pop_output(rest))

    return tape.record(rest, (x,), backward), whole


@op(parts_shape)
def frexp(x: Tensor[S, T, Float]) -> tuple[Tensor[S, T, Float], Tensor[S, NoneTape, np.int32]]:
    """Split each element into a mantissa and an exponent of two.

        x = m 2^n
        1/2 ≤ |m| < 1
        dx = 2^(-n) dm

    Args:
        x: Any shape, a float dtype. The mantissa of zero, of an infinity and of NaN is the number itself.

    Returns:
        The mantissa m, and the exponent n, int32, which has no tape; both have the shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([8.0, -3.0, 0.375])
        >>> mantissa, exponent = tg.frexp(x)
        >>> mantissa.tolist(), exponent.tolist()
        ([0.5, -0.75, 0.75], [4, 2, -1])
        >>> tg.ldexp(mantissa, exponent).tolist()
        [8.0, -3.0, 0.375]
    """
    x, tape = unwrap(x)
    float_only(x)
    mantissa, exponent = map(node, engine(x.data).pair("frexp", x.data))

    def backward(grads: Gradients) -> None:
        grads.add(x, apply("ldexp", grads.pop_output(mantissa), -exponent.data))

    return tape.record(mantissa, (x,), backward), exponent


@op(broadcast_shape, memory_bound=True)
def ldexp(
    x: Tensor[Any, T1, Float],
    y: Tensor[Any, T2, Whole] | int | np.integer[Any] | np.ndarray[Any, np.dtype[np.integer[Any]]],
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Multiply by a power of two, exactly: the inverse of `frexp`.

        z = x 2^y
        dx = 2^y dz

    Args:
        x: Any shape, a float dtype.
        y: A shape that broadcasts with `x`, ints of any dtype, or an int. It has no gradient.

    Returns:
        The shape both broadcast to, in the dtype of `x`.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: `x` is not a float, or `y` is not an int.

    Examples:
        >>> x = tg.tensor([0.5, -0.75, 3.0])
        >>> tg.ldexp(x, tg.tensor([4, 2, -1])).tolist()
        [8.0, -3.0, 1.5]
        >>> tg.ldexp(x, 3).tolist()
        [4.0, -6.0, 24.0]
    """
    tensor_only(x, "x")
    exponent: Any = y if isinstance(y, Tensor) else node(_counted(y))  # without a tape, so T2 is NoneTape
    x, y, tape = unwrap_mixed(x, exponent)
    float_only(x)
    if y.data.dtype.kind not in "iu":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "y", str(y.dtype), "integer"))
    out = node(apply("ldexp", x.data, y.data))

    def backward(grads: Gradients) -> None:
        accumulate_broadcast(grads, x, apply("ldexp", grads.pop_output(out), y.data))

    recorded: Tensor[Any, Merge[T1, T2], Float] = tape.record(out, (x, y), backward)
    return recorded


@op(broadcast_shape)
def nextafter(x: Tensor[Any, Any, Float] | Number, y: Tensor[Any, Any, Float] | Number) -> Tensor[Any, NoneTape, Float]:
    """Return the next float after `x` towards `y`; not differentiable, because it concerns rounding.

        z = min {f : f > x} where x < y

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number: the direction. Where it equals `x`, the result is `y`.

    Returns:
        The shape both broadcast to, in their dtype, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.

    Examples:
        >>> x = tg.tensor([1.0, 2.0], np.float64)
        >>> y = tg.nextafter(x, np.inf)
        >>> (y - x).tolist()
        [2.220446049250313e-16, 4.440892098500626e-16]
    """
    given = x
    x, y, _ = unwrap(x, y)
    float_only(x, given)
    return node(apply("nextafter", x.data, y.data))


@op(elementwise_shape)
def spacing(x: Tensor[S, Any, Float]) -> Tensor[S, NoneTape, Float]:
    """Return the distance to the next float away from zero; not differentiable, because it concerns rounding.

        y = nextafter(x, ±∞) - x

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape and dtype of `x`, with the sign of `x`, without a tape; NaN for an infinity.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([1.0, -1.0, 1024.0], np.float64)
        >>> tg.spacing(x).tolist()
        [2.220446049250313e-16, -2.220446049250313e-16, 2.2737367544323206e-13]
    """
    x, _ = unwrap(x)
    float_only(x)
    return node(apply("spacing", x.data))


def _counted(y: object) -> np.ndarray[Any, np.dtype[np.integer[Any]]]:
    """Convert an int to an array, or copy an array, because the caller may write into it."""
    if isinstance(y, bool) or not isinstance(y, int | np.ndarray | np.generic):
        message = f"y is {messages.with_article(type(y).__name__)}, neither an int nor a tensor of ints"
        raise DTypeError(message)
    return np.array(y)
