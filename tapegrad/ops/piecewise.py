"""Activation functions composed of straight lines and parabolas: `relu6`, `hardtanh` and `hardswish`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors.options import check_number
from tapegrad.ops._mapped import apply, mapped
from tapegrad.ops.elementwise import elementwise_shape

if TYPE_CHECKING:
    from tapegrad.tensors import Float, S, T, Tensor


@op(elementwise_shape, memory_bound=True)
def relu6(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Apply the rectified linear unit with an upper bound of 6.

        y = min(max(x, 0), 6)
        dx = [0 < x < 6] dy

    Args:
        x: Any shape, a float dtype. At 0 and at 6 the gradient is zero.

    Returns:
        The shape of `x`, from 0 to 6.

    Raises:
        DTypeError: `x` is not a float.

    Source:
        Krizhevsky, [Convolutional deep belief networks on CIFAR-10](
            https://www.cs.toronto.edu/~kriz/conv-cifar10-aug2010.pdf), §2.

    Examples:
        >>> x = tg.tensor([-1.0, 3.0, 8.0])
        >>> tg.relu6(x).tolist()
        [0.0, 3.0, 6.0]
        >>> grads = tg.relu6(x.trace()).sum().backward()
        >>> grads[x].tolist()
        [0.0, 1.0, 0.0]
    """
    return _linear_between("relu6", x, 0.0, 6.0)


@op(elementwise_shape, memory_bound=True)
def hardtanh(
    x: Tensor[S, T, Float],
    min: float = -1.0,  # noqa: A002  # as in `clamp`
    max: float = 1.0,  # noqa: A002
) -> Tensor[S, T, Float]:
    """Bound each element to an interval, a piecewise linear approximation of `tanh`.

        y = min(max(x, a), b)
        dx = [a < x < b] dy

    `clamp` has the same values and passes the gradient at the bounds too.

    Args:
        x: Any shape, a float dtype. At both bounds the gradient is zero.
        min: The lower bound a, in the units of `x`.
        max: The upper bound b, not below `min`.

    Returns:
        The shape of `x`, from `min` to `max`.

    Raises:
        DTypeError: `x` is not a float.
        ValueError: `min` is above `max`.

    Source:
        Collobert, [Large scale machine learning](https://ronan.collobert.com/pub/matos/2004_phdthesis_lip6.pdf), §3.3.

    Examples:
        >>> x = tg.tensor([-3.0, 0.25, 2.0])
        >>> tg.hardtanh(x).tolist()
        [-1.0, 0.25, 1.0]
        >>> tg.hardtanh(x, -2.0, 0.0).tolist()
        [-2.0, 0.0, 0.0]
    """
    if type(min) is not float or type(max) is not float:
        check_number("hardtanh", "min", min)
        check_number("hardtanh", "max", max)
    if not min <= max:
        message = f"hardtanh: min is {min} but max is {max}, which is below"
        raise ValueError(message)

    return _linear_between("hardtanh", x, min, max)


@op(elementwise_shape, memory_bound=True)
def hardswish(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute hard swish, a piecewise quadratic approximation of `silu`.

        y = (x/6) min(max(x + 3, 0), 6)
        dx = 0                    if x ≤ -3,
             ((2 x + 3) / 6) dy   if -3 < x < 3,
             dy                   if x ≥ 3

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Source:
        Howard et al., [Searching for MobileNetV3](https://arxiv.org/abs/1905.02244), §5.2.

    Examples:
        >>> x = tg.tensor([-1.5, 0.0, 1.5, 4.0])
        >>> tg.hardswish(x).tolist()
        [-0.375, 0.0, 1.125, 4.0]
        >>> grads = tg.hardswish(x.trace()).sum().backward()
        >>> grads[x].tolist()
        [0.0, 0.5, 1.0, 1.0]
    """

    def formula(x: Any) -> Any:
        # Beyond 3 no product is computed, which would overflow or lose digits.
        inside = _bounded(x, -3.0, 3.0)
        primitives = engine(x)
        return primitives.where(primitives.greater(x, 3), x, inside * (inside + 3) / 6)

    def derivative(x: Any, _: Any) -> Any:
        primitives = engine(x)
        inside = primitives.where(_at_least(-x, 3), 0, (2 * x + 3) / 6)
        return primitives.where(_at_least(x, 3), 1, inside)

    return mapped(x, formula, derivative)


def _linear_between(name: str, x: Tensor[S, T, Float], low: float, high: float) -> Tensor[S, T, Float]:
    def formula(x: Any) -> Any:
        return _bounded(x, low, high)

    def derivative(x: Any, _: Any) -> Any:
        primitives = engine(x)
        is_inside = apply("logical_and", primitives.greater(x, low), primitives.greater(-x, -high))
        return primitives.cast(is_inside, x.dtype)

    formula.__qualname__ = name  # a printed tape shows the op, not this helper
    return mapped(x, formula, derivative)


def _at_least(x: Any, bound: float) -> Any:
    return apply("logical_or", engine(x).greater(x, bound), engine(x).equal(x, bound))


def _bounded(x: Any, low: float, high: float) -> Any:
    primitives = engine(x)
    return primitives.map("minimum", primitives.map("maximum", x, low), high)
