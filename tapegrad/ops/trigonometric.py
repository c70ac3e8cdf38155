"""Trigonometric and hyperbolic functions and their inverses; all angles are in radians."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.errors import DTypeError, messages
from tapegrad.ops._broadcast import accumulate_broadcast
from tapegrad.ops._mapped import apply, mapped
from tapegrad.ops.elementwise import elementwise_shape, float_only
from tapegrad.sizes import Dims, broadcast
from tapegrad.tensors import T1, T2, Float, S, T, Tensor, node
from tapegrad.tensors.operands import unwrap_mixed

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge
    from tapegrad.tensors import Number


def atan2_shape(y: Dims, x: Dims) -> Dims:
    """Return the shape to which both operands broadcast."""
    return broadcast(y=y, x=x)


@op(elementwise_shape, memory_bound=True)
def sin(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the sine.

        y = sin x
        dx = cos(x) dy

    Args:
        x: Any shape, a float dtype, in radians.

    Returns:
        The shape of `x`, between -1 and 1.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([0.0, np.pi / 6, np.pi / 2])
        >>> np.round(tg.sin(x).numpy().astype(float), 3).tolist()
        [0.0, 0.5, 1.0]
        >>> x = tg.tensor([0.0, np.pi / 3])
        >>> grads = tg.sin(x.trace()).sum().backward()
        >>> np.round(grads[x].numpy().astype(float), 3).tolist()
        [1.0, 0.5]
    """
    return mapped(x, lambda x: apply("sin", x), lambda x, _: apply("cos", x))


@op(elementwise_shape, memory_bound=True)
def cos(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the cosine.

        y = cos x
        dx = -sin(x) dy

    Args:
        x: Any shape, a float dtype, in radians.

    Returns:
        The shape of `x`, between -1 and 1.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([0.0, np.pi / 3, np.pi])
        >>> np.round(tg.cos(x).numpy().astype(float), 3).tolist()
        [1.0, 0.5, -1.0]
    """
    return mapped(x, lambda x: apply("cos", x), lambda x, _: -apply("sin", x))


@op(elementwise_shape, memory_bound=True)
def tan(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the tangent.

        y = tan x
        dx = (1 + y²) dy

    Args:
        x: Any shape, a float dtype, in radians.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([0.0, np.pi / 4, 1.0])
        >>> np.round(tg.tan(x).numpy().astype(float), 3).tolist()
        [0.0, 1.0, 1.557]
    """
    return mapped(x, lambda x: apply("tan", x), lambda _, y: 1 + y * y)


@op(elementwise_shape, memory_bound=True)
def asin(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the inverse sine.

        y = arcsin x
        dx = dy / √(1 - x²)

    Args:
        x: Any shape, a float dtype. Outside [-1, 1] the result is NaN; at -1 and 1 the gradient is infinite.

    Returns:
        The shape of `x`, in radians between -π/2 and π/2.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([-1.0, 0.0, 0.5])
        >>> np.round(tg.asin(x).numpy().astype(float), 3).tolist()
        [-1.571, 0.0, 0.524]
    """
    return mapped(x, lambda x: apply("asin", x), lambda x, _: 1 / apply("sqrt", (1 - x) * (1 + x)))


@op(elementwise_shape, memory_bound=True)
def acos(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the inverse cosine.

        y = arccos x
        dx = -dy / √(1 - x²)

    Args:
        x: Any shape, a float dtype. Outside [-1, 1] the result is NaN; at -1 and 1 the gradient is infinite.

    Returns:
        The shape of `x`, in radians between 0 and π.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([-1.0, 0.0, 0.5])
        >>> np.round(tg.acos(x).numpy().astype(float), 3).tolist()
        [3.142, 1.571, 1.047]
    """
    return mapped(x, lambda x: apply("acos", x), lambda x, _: -1 / apply("sqrt", (1 - x) * (1 + x)))


@op(elementwise_shape, memory_bound=True)
def atan(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the inverse tangent.

        y = arctan x
        dx = dy / (1 + x²)

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`, in radians between -π/2 and π/2.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([-1.0, 0.0, 100.0])
        >>> np.round(tg.atan(x).numpy().astype(float), 3).tolist()
        [-0.785, 0.0, 1.561]
        >>> grads = tg.atan(x.trace()).sum().backward()
        >>> np.round(grads[x].numpy().astype(float), 3).tolist()
        [0.5, 1.0, 0.0]
    """
    return mapped(x, lambda x: apply("atan", x), lambda x, _: 1 / (1 + x * x))


@op(atan2_shape, memory_bound=True)
def atan2(y: Tensor[Any, T2, Float] | Number, x: Tensor[Any, T1, Float] | Number) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the angle from the x-axis to the point (x, y).

        z = atan2(y, x)
        dy = x dz / (x² + y²)
        dx = -y dz / (x² + y²)

    Args:
        y: The ordinate, any shape, or a number. It comes first, as in NumPy.
        x: The abscissa, a shape that broadcasts with `y`, or a number. At the origin the gradient is NaN.

    Returns:
        The shape both broadcast to, in radians between -π and π.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.

    Examples:
        >>> y = tg.tensor([1.0, 1.0, -1.0])
        >>> x = tg.tensor([1.0, -1.0, -1.0])
        >>> np.round(tg.rad2deg(tg.atan2(y, x)).numpy().astype(float), 2).tolist()
        [45.0, 135.0, -135.0]
    """
    given = x
    x, y, tape = unwrap_mixed(x, y)
    if y.dtype != x.dtype:
        raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, str(y.dtype), "y", str(x.dtype), "x"))
    float_only(x, given)
    out = node(apply("atan2", y.data, x.data))

    def backward(grads: Gradients) -> None:
        distance = apply("hypot", y.data, x.data)
        dz = grads.pop_output(out) / distance
        if grads.wants(y):
            accumulate_broadcast(grads, y, dz * (x.data / distance))
        if grads.wants(x):
            accumulate_broadcast(grads, x, -dz * (y.data / distance))

    return tape.record(out, (y, x), backward)


@op(elementwise_shape, memory_bound=True)
def sinh(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the hyperbolic sine.

        y = sinh x
        dx = cosh(x) dy

    Args:
        x: Any shape, a float dtype. Overflow gives infinity, as in NumPy.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([-1.0, 0.0, 1.0])
        >>> np.round(tg.sinh(x).numpy().astype(float), 3).tolist()
        [-1.175, 0.0, 1.175]
    """
    return mapped(x, lambda x: apply("sinh", x), lambda x, _: apply("cosh", x))


@op(elementwise_shape, memory_bound=True)
def cosh(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the hyperbolic cosine.

        y = cosh x
        dx = sinh(x) dy

    Args:
        x: Any shape, a float dtype. Overflow gives infinity, as in NumPy.

    Returns:
        The shape of `x`, at least 1.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([-1.0, 0.0, 1.0])
        >>> np.round(tg.cosh(x).numpy().astype(float), 3).tolist()
        [1.543, 1.0, 1.543]
    """
    return mapped(x, lambda x: apply("cosh", x), lambda x, _: apply("sinh", x))


@op(elementwise_shape, memory_bound=True)
def asinh(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the inverse hyperbolic sine.

        y = arsinh x
        dx = dy / √(x² + 1)

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([-1.0, 0.0, 100.0])
        >>> np.round(tg.asinh(x).numpy().astype(float), 3).tolist()
        [-0.881, 0.0, 5.298]
    """
    return mapped(x, lambda x: apply("asinh", x), lambda x, _: 1 / apply("hypot", x, x.dtype.type(1)))


@op(elementwise_shape, memory_bound=True)
def acosh(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the inverse hyperbolic cosine.

        y = arcosh x
        dx = dy / √(x² - 1)

    Args:
        x: Any shape, a float dtype. Below 1 the result is NaN; at 1 the gradient is infinite.

    Returns:
        The shape of `x`, at least 0.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([1.0, 2.0, 100.0])
        >>> np.round(tg.acosh(x).numpy().astype(float), 3).tolist()
        [0.0, 1.317, 5.298]
    """
    return mapped(x, lambda x: apply("acosh", x), lambda x, _: 1 / (apply("sqrt", x - 1) * apply("sqrt", x + 1)))


@op(elementwise_shape, memory_bound=True)
def atanh(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the inverse hyperbolic tangent.

        y = artanh x
        dx = dy / (1 - x²)

    Args:
        x: Any shape, a float dtype. At -1 and 1 the result is infinite, outside [-1, 1] NaN.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([-0.5, 0.0, 0.9])
        >>> np.round(tg.atanh(x).numpy().astype(float), 3).tolist()
        [-0.549, 0.0, 1.472]
    """
    return mapped(x, lambda x: apply("atanh", x), lambda x, _: 1 / ((1 - x) * (1 + x)))


@op(elementwise_shape, memory_bound=True)
def deg2rad(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Convert degrees to radians.

        y = (π / 180) x
        dx = (π / 180) dy

    Args:
        x: Any shape, a float dtype, in degrees.

    Returns:
        The shape of `x`, in radians.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> angles = tg.tensor([-90.0, 0.0, 180.0])
        >>> np.round(tg.deg2rad(angles).numpy().astype(float), 3).tolist()
        [-1.571, 0.0, 3.142]
    """
    return mapped(x, lambda x: x * (math.pi / 180), lambda *_: math.pi / 180)


@op(elementwise_shape, memory_bound=True)
def rad2deg(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Convert radians to degrees.

        y = (180/π) x
        dx = (180/π) dy

    Args:
        x: Any shape, a float dtype, in radians.

    Returns:
        The shape of `x`, in degrees.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> angles = tg.tensor([-np.pi / 2, 0.0, np.pi])
        >>> np.round(tg.rad2deg(angles).numpy().astype(float), 2).tolist()
        [-90.0, 0.0, 180.0]
    """
    return mapped(x, lambda x: x * (180 / math.pi), lambda *_: 180 / math.pi)
