"""Floor division, remainders, and the greatest common divisor and least common multiple."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.ops._broadcast import accumulate_broadcast
from tapegrad.ops._mapped import apply
from tapegrad.ops.bitwise import Whole, whole_only
from tapegrad.ops.elementwise import broadcast_shape, number_only
from tapegrad.tensors import T1, T2, Real, Tensor, node
from tapegrad.tensors.operands import of_same_kind, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.sizes import Dims
    from tapegrad.tensors import Number


def divmod_shape(x: Dims, y: Dims) -> tuple[Dims, Dims]:
    """Return the broadcast shape twice, for the quotient and for the remainder."""
    dims = broadcast_shape(x, y)
    return dims, dims


@op(broadcast_shape, operator="__floordiv__")
def floor_divide(x: Tensor[Any, Any, Real] | Number, y: Tensor[Any, Any, Real] | Number) -> Tensor[Any, NoneTape, Real]:
    """Divide and round down, like Python's `//`; not differentiable, because it is piecewise constant.

        z = ⌊x / y⌋

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number. A zero gives an infinity or NaN, or 0 for ints, as in NumPy.

    Returns:
        The shape both broadcast to, in their dtype, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> x = tg.tensor([7.0, -7.0, 6.0])
        >>> tg.floor_divide(x, 2.0).tolist()
        [3.0, -4.0, 3.0]
        >>> (x // 2.0).tolist()
        [3.0, -4.0, 3.0]
    """
    left, right, _ = unwrap(x, y)
    number_only(left, x)
    return of_same_kind(node(apply("floor_divide", left.data, right.data)), x, y)


@op(broadcast_shape, operator="__mod__", memory_bound=True)
def remainder(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    """Compute the remainder of floor division, with the sign of the divisor, like Python's `%`.

        z = x - ⌊x / y⌋ y
        dx = dz
        dy = -⌊x / y⌋ dz

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number. A zero gives NaN, or 0 for ints, as in NumPy.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> x = tg.tensor([7.0, -7.0, 6.0])
        >>> tg.remainder(x, 4.0).tolist()
        [3.0, 1.0, 2.0]
        >>> (x % -4.0).tolist()
        [-1.0, -3.0, -2.0]
    """
    return _left_over("remainder", x, y)


@op(broadcast_shape, memory_bound=True)
def fmod(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    """Compute the remainder of truncated division, with the sign of the dividend, like C's `fmod`.

        z = x - trunc(x / y) y
        dx = dz
        dy = -trunc(x / y) dz

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number. A zero gives NaN, or 0 for ints, as in NumPy.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> x = tg.tensor([7.0, -7.0, 6.0])
        >>> tg.fmod(x, 4.0).tolist()
        [3.0, -3.0, 2.0]
        >>> tg.remainder(x, 4.0).tolist()
        [3.0, 1.0, 2.0]
    """
    return _left_over("fmod", x, y)


@op(divmod_shape, operator="__divmod__")
def divmod(
    x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number
) -> tuple[Tensor[Any, NoneTape, Real], Tensor[Any, Merge[T1, T2], Real]]:
    """Compute floor division and remainder together, like Python's `divmod`, at little more than the cost of one.

        q = ⌊x / y⌋
        r = x - q y
        dx = dr
        dy = -q dr

    Args:
        x: Any shape, or a number.
        y: A shape that broadcasts with `x`, or a number. A zero gives the results of `floor_divide` and `remainder`.

    Returns:
        The quotient, which has no tape, and the remainder; both have the shape that the operands broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.

    Examples:
        >>> seconds = tg.tensor([59, 60, 135])
        >>> minutes, rest = tg.divmod(seconds, 60)
        >>> minutes.tolist()
        [0, 1, 2]
        >>> rest.tolist()
        [59, 0, 15]
    """
    given = x
    x, y, tape = unwrap(x, y)
    number_only(x, given)
    quotient, rest = map(node, engine(x.data, y.data).pair("divmod", x.data, y.data))

    def backward(grads: Gradients) -> None:
        dr = grads.pop_output(rest)
        if grads.wants(x):
            accumulate_broadcast(grads, x, dr)
        if grads.wants(y):
            accumulate_broadcast(grads, y, -dr * quotient.data)

    return quotient, tape.record(rest, (x, y), backward)


@op(broadcast_shape)
def gcd(x: Tensor[Any, Any, Whole] | Number, y: Tensor[Any, Any, Whole] | Number) -> Tensor[Any, NoneTape, Whole]:
    """Compute the greatest common divisor; not differentiable.

        z = max {n : n | x, n | y}

    Args:
        x: Any shape, ints, or a number. The sign does not matter.
        y: A shape that broadcasts with `x`, or a number. If one is zero, the result is the absolute value of the other.

    Returns:
        The shape both broadcast to, in their dtype, at least 0, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not int.

    Examples:
        >>> x = tg.tensor([12, 18, -8])
        >>> tg.gcd(x, tg.tensor([8, 27, 0])).tolist()
        [4, 9, 8]
        >>> tg.gcd(x, 6).tolist()
        [6, 6, 2]
    """
    return _divisible("gcd", x, y)


@op(broadcast_shape)
def lcm(x: Tensor[Any, Any, Whole] | Number, y: Tensor[Any, Any, Whole] | Number) -> Tensor[Any, NoneTape, Whole]:
    """Compute the least common multiple; not differentiable.

        z = |x y| / gcd(x, y)

    Args:
        x: Any shape, ints, or a number. The sign does not matter.
        y: A shape that broadcasts with `x`, or a number. If one is zero, the result is zero.

    Returns:
        The shape both broadcast to, in their dtype, at least 0 unless it overflows, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not int.

    Examples:
        >>> x = tg.tensor([4, 6, -8])
        >>> tg.lcm(x, tg.tensor([6, 9, 2])).tolist()
        [12, 18, 8]
        >>> tg.lcm(x, 3).tolist()
        [12, 6, 24]
    """
    return _divisible("lcm", x, y)


def _divisible(name: Literal["gcd", "lcm"], x: Any, y: Any) -> Tensor[Any, NoneTape, Any]:
    given = x
    x, y, _ = unwrap(x, y)
    whole_only(x, given)
    return node(apply(name, x.data, y.data))


def _left_over(name: Literal["remainder", "fmod"], x: Any, y: Any) -> Tensor[Any, Any, Any]:
    given = x
    x, y, tape = unwrap(x, y)
    number_only(x, given)
    out = node(apply(name, x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(x):
            accumulate_broadcast(grads, x, dz)
        if grads.wants(y):
            times = apply("round", (x.data - out.data) / y.data)  # an integer, up to rounding errors
            accumulate_broadcast(grads, y, -dz * times)

    backward.__qualname__ = name  # a printed tape shows the op, not this helper
    recorded: Tensor[Any, Any, Any] = tape.record(out, (x, y), backward)
    return recorded
