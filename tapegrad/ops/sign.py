r"""Ops that read a sign or write one; `sign` and `abs` stand in `rounding.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.backend import engine
from tapegrad.op import op
from tapegrad.operands import unwrap
from tapegrad.ops._broadcast import accumulate_broadcast
from tapegrad.ops._mapped import apply
from tapegrad.ops.elementwise import broadcast_shape, elementwise_shape, float_only
from tapegrad.tensor import T1, T2, Float, S, Tensor, node

if TYPE_CHECKING:
    import numpy as np

    from tapegrad.gradients import Gradients
    from tapegrad.tape import Merge, NoneTape
    from tapegrad.tensor import Number


@op(elementwise_shape)
def signbit(x: Tensor[S, Any, Float]) -> Tensor[S, NoneTape, np.bool_]:
    r"""Say where the sign is negative, that of minus zero and of NaN included; not differentiable.

    $$y = [\operatorname{bit}(x) = 1]$$

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`, bool, without a tape.

    Raises:
        DTypeError: `x` is not a float.
    """
    x, _ = unwrap(x)
    float_only(x)
    return node(apply("signbit", x.data))


@op(broadcast_shape, memory_bound=True)
def copysign(
    x: Tensor[Any, T1, Float] | Number, y: Tensor[Any, T2, Float] | Number
) -> Tensor[Any, Merge[T1, T2], Float]:
    r"""Return one number the sign of another.

    $$z = |x| \, s(y), \quad dx = \operatorname{sign}(x) \, s(y) \, dz, \quad dy = 0$$

    Args:
        x: Any shape, or a number. At zero its gradient is zero.
        y: A shape that broadcasts with `x`, or a number. Its sign s is that of `signbit`, 1 or -1.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.
    """
    given = x
    x, y, tape = unwrap(x, y)
    float_only(x, given)
    out = node(apply("copysign", x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(x):
            turned = apply("sign", x.data) * apply("sign", out.data)
            accumulate_broadcast(grads, x, dz * turned)
        if grads.wants(y):
            grads.add(y, engine(y.data).zeros(y.shape, y.dtype))

    return tape.record(out, (x, y), backward)


@op(broadcast_shape, memory_bound=True)
def heaviside(
    x: Tensor[Any, T1, Float] | Number, y: Tensor[Any, T2, Float] | Number
) -> Tensor[Any, Merge[T1, T2], Float]:
    r"""Step from 0 to 1 where `x` passes zero.

    $$z = \begin{cases} 0 & x < 0 \\ y & x = 0 \\ 1 & x > 0 \end{cases}, \quad dx = 0, \quad dy = [x = 0] \, dz$$

    Args:
        x: Any shape, or a number. NaN stays NaN.
        y: A shape that broadcasts with `x`, or a number: what the step is worth at zero.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.
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
