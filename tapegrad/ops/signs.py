"""Ops on signs; `sign` and `abs` are in `rounding.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.ops._broadcast import accumulate_broadcast
from tapegrad.ops._mapped import apply
from tapegrad.ops.elementwise import broadcast_shape, elementwise_shape, float_only
from tapegrad.tensors import T1, T2, Float, S, Tensor, node
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    import numpy as np

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.tensors import Number


@op(elementwise_shape)
def signbit(x: Tensor[S, Any, Float]) -> Tensor[S, NoneTape, np.bool_]:
    """Return where the sign bit is set, including that of -0.0 and NaN; not differentiable.

        y = [bit(x) = 1]

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`, bool, without a tape.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> tg.signbit(tg.tensor([-2.0, -0.0, 0.0, 3.0])).tolist()
        [True, True, False, False]
    """
    x, _ = unwrap(x)
    float_only(x)
    return node(apply("signbit", x.data))


@op(broadcast_shape, memory_bound=True)
def copysign(
    x: Tensor[Any, T1, Float] | Number, y: Tensor[Any, T2, Float] | Number
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Return `x` with the sign of `y`, element by element.

        z = |x| s(y)
        dx = sign(x) s(y) dz
        dy = 0

    Args:
        x: Any shape, or a number. Where it is zero, its gradient is zero.
        y: A shape that broadcasts with `x`, or a number. Its sign s is -1 where `signbit` is True, else 1.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.

    Examples:
        >>> x = tg.tensor([1.0, -2.0, 3.0])
        >>> tg.copysign(x, tg.tensor([-1.0, 1.0, -0.0])).tolist()
        [-1.0, 2.0, -3.0]
        >>> grads = tg.copysign(x.trace(), -1.0).sum().backward()
        >>> grads[x].tolist()
        [-1.0, 1.0, -1.0]
    """
    given = x
    x, y, tape = unwrap(x, y)
    float_only(x, given)
    out = node(apply("copysign", x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(x):
            signs = apply("sign", x.data) * apply("sign", out.data)
            accumulate_broadcast(grads, x, dz * signs)
        if grads.wants(y):
            grads.add(y, engine(y.data).zeros(y.shape, y.dtype))

    return tape.record(out, (x, y), backward)


@op(broadcast_shape, memory_bound=True)
def heaviside(
    x: Tensor[Any, T1, Float] | Number, y: Tensor[Any, T2, Float] | Number
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the Heaviside step function of `x`.

        z = 0   if x < 0,
            y   if x = 0,
            1   if x > 0
        dx = 0
        dy = [x = 0] dz

    Args:
        x: Any shape, or a number. NaN stays NaN.
        y: A shape that broadcasts with `x`, or a number: the result where `x` is zero.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.

    Examples:
        >>> x = tg.tensor([-1.5, 0.0, 2.0])
        >>> tg.heaviside(x, 0.5).tolist()
        [0.0, 0.5, 1.0]
    """
    given = x
    x, y, tape = unwrap(x, y)
    float_only(x, given)
    out = node(apply("heaviside", x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(x):
            grads.add(x, engine(x.data).zeros(x.shape, x.dtype))
        if grads.wants(y):
            at_zero = engine(x.data).equal(x.data, 0)
            accumulate_broadcast(grads, y, engine(dz, at_zero).where(at_zero, dz, 0))

    return tape.record(out, (x, y), backward)
