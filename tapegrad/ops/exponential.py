"""Exponentials, logarithms and the error function; `exp` and `log` are in `elementwise.py`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors.ranges import check_options
from tapegrad.ops._broadcast import accumulate_broadcast
from tapegrad.ops._mapped import apply, mapped
from tapegrad.ops.elementwise import broadcast_shape, elementwise_shape, float_only
from tapegrad.tensors import T1, T2, Float, S, T, Tensor, node
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge
    from tapegrad.engines import Elementwise
    from tapegrad.tensors import Number


@op(elementwise_shape, memory_bound=True)
def expm1(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute e to the power of each element, minus 1, accurately where x is near zero.

        y = e^x - 1
        dx = e^x dy

    Args:
        x: Any shape, a float dtype. Overflow gives infinity, as in NumPy.

    Returns:
        The shape of `x`, at least -1.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([0.0, 1.0, -1.0])
        >>> np.round(tg.expm1(x).numpy().astype(float), 3).tolist()
        [0.0, 1.718, -0.632]
        >>> small = tg.tensor([1e-8])
        >>> tg.expm1(small).item() > 0, (tg.exp(small) - 1.0).item()
        (True, 0.0)
    """
    return mapped(x, lambda x: apply("expm1", x), lambda x, _: engine(x).exp(x))


@op(elementwise_shape, memory_bound=True)
def exp2(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute 2 to the power of each element.

        y = 2^x
        dx = ln(2) y dy

    Args:
        x: Any shape, a float dtype. Overflow gives infinity, as in NumPy.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([-1.0, 0.0, 0.5, 3.0])
        >>> np.round(tg.exp2(x).numpy().astype(float), 3).tolist()
        [0.5, 1.0, 1.414, 8.0]
    """
    return mapped(x, lambda x: apply("exp2", x), lambda _, y: y * math.log(2))


@op(elementwise_shape, memory_bound=True)
def log1p(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the natural logarithm of 1 plus each element, accurately where x is near zero.

        y = ln(1 + x)
        dx = dy / (1 + x)

    Args:
        x: Any shape, a float dtype. -1 gives minus infinity and lower values NaN, as in NumPy.

    Returns:
        The shape of `x`, in nats.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([0.0, 1.0, -0.5])
        >>> np.round(tg.log1p(x).numpy().astype(float), 3).tolist()
        [0.0, 0.693, -0.693]
        >>> small = tg.tensor([1e-8])
        >>> tg.log1p(small).item() > 0, tg.log(small + 1.0).item()
        (True, 0.0)
    """
    return mapped(x, lambda x: apply("log1p", x), lambda x, _: 1 / (1 + x))


@op(elementwise_shape, memory_bound=True)
def log2(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the logarithm to base 2 of each element.

        y = log₂ x
        dx = dy / (x ln 2)

    Args:
        x: Any shape, a float dtype. Zero gives minus infinity and a negative number NaN, as in NumPy.

    Returns:
        The shape of `x`, in bits.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([0.5, 1.0, 3.0, 8.0])
        >>> np.round(tg.log2(x).numpy().astype(float), 3).tolist()
        [-1.0, 0.0, 1.585, 3.0]
    """
    return mapped(x, lambda x: apply("log2", x), lambda x, _: 1 / (x * math.log(2)))


@op(elementwise_shape, memory_bound=True)
def log10(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the logarithm to base 10 of each element.

        y = log₁₀ x
        dx = dy / (x ln 10)

    Args:
        x: Any shape, a float dtype. Zero gives minus infinity and a negative number NaN, as in NumPy.

    Returns:
        The shape of `x`, in powers of ten.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([0.01, 1.0, 2.0, 1000.0])
        >>> np.round(tg.log10(x).numpy().astype(float), 3).tolist()
        [-2.0, 0.0, 0.301, 3.0]
    """
    return mapped(x, lambda x: apply("log10", x), lambda x, _: 1 / (x * math.log(10)))


@op(broadcast_shape, memory_bound=True)
def logaddexp(
    x: Tensor[Any, T1, Float] | Number, y: Tensor[Any, T2, Float] | Number
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the logarithm of the sum of exponentials of two tensors, without overflow.

        z = ln(e^x + e^y)
        dx = e^(x - z) dz
        dy = e^(y - z) dz

    Args:
        x: Any shape, or a number, in nats. Minus infinity stands for 0 and has a gradient of 0.
        y: A shape that broadcasts with `x`, or a number, in nats.

    Returns:
        The shape both broadcast to, in nats.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.

    Examples:
        >>> x, y = tg.tensor([0.0, 1000.0]), tg.tensor([1.0, 1000.0])
        >>> np.round(tg.logaddexp(x, y).numpy().astype(float), 3).tolist()
        [1.313, 1000.693]
        >>> p, q = tg.tensor([0.25]), tg.tensor([0.5])
        >>> round(tg.exp(tg.logaddexp(tg.log(p), tg.log(q))).item(), 3)
        0.75
    """
    return _summed_powers("logaddexp", "exp", x, y)


@op(broadcast_shape, memory_bound=True)
def logaddexp2(
    x: Tensor[Any, T1, Float] | Number, y: Tensor[Any, T2, Float] | Number
) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the base-2 logarithm of the sum of powers of 2 of two tensors, without overflow.

        z = log₂(2^x + 2^y)
        dx = 2^(x - z) dz
        dy = 2^(y - z) dz

    Args:
        x: Any shape, or a number, in bits. Minus infinity stands for 0 and has a gradient of 0.
        y: A shape that broadcasts with `x`, or a number, in bits.

    Returns:
        The shape both broadcast to, in bits.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.

    Examples:
        >>> x, y = tg.tensor([3.0, 0.0, 1000.0]), tg.tensor([3.0, 1.0, 1000.0])
        >>> np.round(tg.logaddexp2(x, y).numpy().astype(float), 3).tolist()
        [4.0, 1.585, 1001.0]
    """
    return _summed_powers("logaddexp2", "exp2", x, y)


def _summed_powers(name: Elementwise, power: Literal["exp", "exp2"], x: Any, y: Any) -> Tensor[Any, Any, Any]:
    given = x
    x, y, tape = unwrap(x, y)
    float_only(x, given)
    out = node(apply(name, x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        primitives = engine(out.data)
        total = primitives.where(primitives.equal(out.data, -math.inf), 0, out.data)  # -inf - -inf is NaN
        if grads.wants(x):
            accumulate_broadcast(grads, x, dz * _power(power, x.data - total))
        if grads.wants(y):
            accumulate_broadcast(grads, y, dz * _power(power, y.data - total))

    backward.__qualname__ = name  # a printed tape shows the op, not this helper
    recorded: Tensor[Any, Any, Any] = tape.record(out, (x, y), backward)
    return recorded


def _power(name: Literal["exp", "exp2"], x: Any) -> Any:
    return engine(x).exp(x) if name == "exp" else apply("exp2", x)


@op(elementwise_shape, memory_bound=True)
def safe_log(x: Tensor[S, T, Float], eps: float = 1e-6) -> Tensor[S, T, Float]:
    """Compute the logarithm of `softplus(x) + eps`, finite and with a finite derivative for finite `x`.

        y = ln(s + ε)
        s = ln(1 + e^x)
        dx = (σ(x) / (s + ε)) dy

    Args:
        x: Any shape, a float dtype.
        eps: The number ε added before the logarithm is taken, above 0.

    Returns:
        The shape of `x`, in nats, at least the logarithm of `eps`.

    Raises:
        DTypeError: `x` is not a float.
        ValueError: `eps` is not above 0.

    Examples:
        >>> x = tg.tensor([-100.0, 0.0, 10.0])
        >>> np.round(tg.safe_log(x).numpy().astype(float), 3).tolist()
        [-13.816, -0.367, 2.303]
        >>> round(tg.safe_log(x, eps=0.01)[0].item(), 3)
        -4.605
    """
    check_options("safe_log", eps=eps)

    def derivative(x: Any, _: Any) -> Any:
        return apply("sigmoid", x) / (apply("softplus", x) + eps)

    return mapped(x, lambda x: engine(x).log(apply("softplus", x) + eps), derivative)


@op(elementwise_shape, memory_bound=True)
def erf(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the error function of each element.

        y = (2/√π) ∫₀^x e^(-t²) dt
        dx = (2/√π) e^(-x²) dy

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`, between -1 and 1, the share of a normal distribution within x √2 deviations of its mean.

    Raises:
        DTypeError: `x` is not a float.

    Source:
        Moshier, [Cephes](https://www.netlib.org/cephes/) 2.8, `cprob/ndtr.c`.

    Examples:
        >>> x = tg.tensor([-1.0, 0.0, 0.25, 2.0])
        >>> np.round(tg.erf(x).numpy().astype(float), 3).tolist()
        [-0.843, 0.0, 0.276, 0.995]
        >>> grads = tg.erf(x.trace()).sum().backward()
        >>> np.round(grads[x].numpy().astype(float), 3).tolist()
        [0.415, 1.128, 1.06, 0.021]
    """
    return mapped(x, lambda x: apply("erf", x), lambda x, _: 2 / math.sqrt(math.pi) * engine(x).exp(-x * x))
