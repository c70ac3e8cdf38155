"""Variance, standard deviation, log-sum-exp and vector norms along axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import Axis, engine
from tapegrad.errors.ranges import check_options
from tapegrad.ops._float32 import in_float32
from tapegrad.ops._mapped import apply
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.reduce import broadcast_over, check_axis, extremum_shape, max, reduce_shape
from tapegrad.ops.rounding import abs
from tapegrad.tensors import Float, T, Tensor, node, values_of
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.sizes import Dims


def moment_shape(x: Dims, axis: Axis = None, *, keepdims: bool = False) -> Dims:
    """Return the shape without the reduced axes, or with size one for each if `keepdims`."""
    return reduce_shape(x, axis, keepdims=keepdims)


@op(moment_shape)
@in_float32
def var(
    x: Tensor[Any, T, Float], axis: Axis = None, *, correction: float = 0, keepdims: bool = False
) -> Tensor[Any, T, Float]:
    """Compute the variance along axes.

        y = (1 / (n - c)) ∑_i (x[i] - x̄)²
        dx[i] = (2 (x[i] - x̄) / (n - c)) dy

    Args:
        x: Any shape, a float dtype.
        axis: The axis, or axes, to reduce; None for all.
        correction: Subtracted from the number of elements: 0 for the population variance, 1 for an unbiased estimate
            from a sample. NumPy also calls it `ddof`.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes. The result is NaN if there are no more elements than `correction`.

    Raises:
        ShapeError: An axis is out of range or named twice.
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([[1.0, 3.0, 5.0, 7.0], [2.0, 2.0, 8.0, 8.0]])
        >>> tg.var(x, axis=1).tolist()
        [5.0, 9.0]
        >>> round(tg.var(x[0], correction=1).item(), 3)
        6.667
        >>> grads = tg.var(x.trace(), axis=1).sum().backward()
        >>> grads[x].tolist()
        [[-1.5, -0.5, 0.5, 1.5], [-1.5, -1.5, 1.5, 1.5]]
    """
    x, tape = unwrap(x)
    float_only(x)
    check_axis(x, axis)
    scale = _one_over(_count(x, axis) - correction, x.data)
    centred = _centred(x.data, axis)
    out = node(engine(centred).sum(centred * centred, axis, keepdims=keepdims) * scale)

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        grads.add(x, broadcast_over(dy, x.shape, axis) * (_centred(x.data, axis) * (2 * scale)))

    return tape.record(out, (x,), backward)


@op(moment_shape)
@in_float32
def std(
    x: Tensor[Any, T, Float], axis: Axis = None, *, correction: float = 0, keepdims: bool = False
) -> Tensor[Any, T, Float]:
    """Compute the standard deviation along axes: the square root of the variance.

        y = √((1 / (n - c)) ∑_i (x[i] - x̄)²)
        dx[i] = ((x[i] - x̄) / ((n - c) y)) dy

    Args:
        x: Any shape, a float dtype.
        axis: The axis, or axes, to reduce; None for all.
        correction: Subtracted from the number of elements, see `var`.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes, in the unit of `x`. Where all elements are equal the gradient is 0, as in
        PyTorch.

    Raises:
        ShapeError: An axis is out of range or named twice.
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([[1.0, 1.0, 5.0, 5.0], [2.0, 2.0, 8.0, 8.0]])
        >>> tg.std(x, axis=1).tolist()
        [2.0, 3.0]
        >>> ((x - x.mean(axis=1, keepdims=True)) / tg.std(x, axis=1, keepdims=True)).tolist()
        [[-1.0, -1.0, 1.0, 1.0], [-1.0, -1.0, 1.0, 1.0]]
    """
    x, tape = unwrap(x)
    float_only(x)
    check_axis(x, axis)
    scale = _one_over(_count(x, axis) - correction, x.data)
    centred = _centred(x.data, axis)
    out = node(engine(centred).map("sqrt", engine(centred).sum(centred * centred, axis, keepdims=keepdims) * scale))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        # The second time removes the rounding of the mean, by which equal numbers would have a gradient.
        centred = _centred(_centred(x.data, axis), axis)
        primitives = engine(centred)
        variance = primitives.sum(centred * centred, axis, keepdims=True) * scale
        is_flat = primitives.equal(variance, 0)
        derivative = dy.reshape(variance.shape) / primitives.map("sqrt", primitives.where(is_flat, 1, variance)) * scale
        derivative = engine(derivative, is_flat).where(is_flat, 0, derivative)  # the incoming gradient may be infinite
        grads.add(x, broadcast_over(derivative, x.shape, axis) * centred)

    return tape.record(out, (x,), backward)


@op(extremum_shape)
@in_float32
def logsumexp(x: Tensor[Any, T, Float], axis: Axis = None, *, keepdims: bool = False) -> Tensor[Any, T, Float]:
    """Compute the logarithm of the sum of exponentials along axes, a smooth maximum.

        y = log ∑_i e^(x[i])
        dx[i] = e^(x[i] - y) dy

    Args:
        x: Any shape, a float dtype, in nats.
        axis: The axis, or axes, to reduce; None for all.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes; finite if all of `x` is finite, and -inf if all of `x` is -inf.

    Raises:
        ShapeError: An axis is out of range, named twice, or empty.
        DTypeError: `x` is not a float.

    Examples:
        >>> logits = tg.tensor([[0.0, 0.0], [1000.0, 1000.0]])
        >>> np.round(tg.logsumexp(logits, axis=1).numpy().astype(float), 3).tolist()
        [0.693, 1000.693]
        >>> grads = tg.logsumexp(logits.trace(), axis=1).sum().backward()
        >>> grads[logits].tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    x, tape = unwrap(x)
    float_only(x)
    check_axis(x, axis)
    out = node(_logsumexp(x.data, axis, keepdims=keepdims))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        # Shifted exponentials, not exp(x - y): if y is large, float32 loses the digits of the difference.
        powers, _ = _powers(x.data, axis)
        total = not_zero(engine(powers).sum(powers, axis, keepdims=True))
        grads.add(x, broadcast_over(dy.reshape(total.shape) / total, x.shape, axis) * powers)

    return tape.record(out, (x,), backward)


@op(moment_shape)
@in_float32
def norm(
    x: Tensor[Any, T, Float],
    axis: Axis = None,
    *,
    ord: float = 2,  # noqa: A002  # NumPy's name
    keepdims: bool = False,
) -> Tensor[Any, T, Float]:
    """Compute the p-norm of vectors along axes.

        y = (∑_i |x[i]|^p)^(1/p)
        dx[i] = sign(x[i]) (|x[i]| / y)^(p - 1) dy

    Args:
        x: Any shape, a float dtype. Where all elements are zero the gradient is zero.
        axis: The axis, or axes, to reduce; None for all, so that a matrix counts as one vector.
        ord: The power p, at least 1: 2 for the Euclidean norm, infinity for the largest absolute value. Ties of the
            largest share the gradient equally.
        keepdims: Whether to keep the reduced axes with size one.

    Returns:
        The shape of `x` without the axes, at least 0. The norm of no elements is 0.

    Raises:
        ShapeError: An axis is out of range or named twice, or empty while `ord` is infinity.
        DTypeError: `x` is not a float.
        ValueError: `ord` is below 1.

    Examples:
        >>> x = tg.tensor([[3.0, 4.0], [-6.0, 8.0]])
        >>> tg.norm(x, axis=1).tolist()
        [5.0, 10.0]
        >>> tg.norm(x, axis=1, ord=1).tolist()
        [7.0, 14.0]
        >>> tg.norm(x, ord=float("inf")).item()
        8.0
    """
    check_options("norm", ord=ord)
    given = x
    x, tape = unwrap(x)
    float_only(x)
    check_axis(x, axis)
    if ord == math.inf:
        extremum_shape(x.shape, axis)
        return max(abs(given), axis, keepdims=keepdims)
    out = node(_norm(x.data, axis, ord, keepdims=keepdims))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        y = broadcast_over(not_zero(out.data), x.shape, axis)
        ratio = x.data / y
        if ord != 2:
            moduli = apply("abs", ratio)
            ratio = apply("sign", x.data) * apply("pow", moduli, np.asarray(ord - 1, x.dtype))
        grads.add(x, broadcast_over(dy, x.shape, axis) * ratio)

    return tape.record(out, (x,), backward)


def _norm(x: Any, axis: Axis, p: float, *, keepdims: bool) -> Any:
    if p == 2:
        return apply("sqrt", engine(x).sum(x * x, axis, keepdims=keepdims))
    powers = apply("pow", apply("abs", x), np.asarray(p, x.dtype))
    return apply("pow", engine(powers).sum(powers, axis, keepdims=keepdims), np.asarray(1 / p, x.dtype))


def _logsumexp(x: Any, axis: Axis, *, keepdims: bool) -> Any:
    powers, peak = _powers(x, axis)
    total = engine(powers).sum(powers, axis, keepdims=keepdims)
    with np.errstate(divide="ignore"):  # log(0) = -inf is correct where all elements are -inf
        return engine(total).log(total) + peak.reshape(total.shape)


def _powers(x: Any, axis: Axis) -> tuple[Any, Any]:
    """Return the exponentials after the max is subtracted, and the max."""
    # Subtract first, because exp(89) overflows float32; 0 replaces an infinite max, because inf - inf is NaN. The
    # shift cancels, so it needs no gradient and no tape.
    values = values_of(x)
    peak = engine(values).max(values, axis, keepdims=True)
    peak = engine(values).where(np.isfinite(peak), peak, 0.0)
    return engine(x).exp(x - broadcast_over(peak, x.shape, axis)), peak


def not_zero(y: Any) -> Any:
    """Return `y` with 1 in place of 0, for a division whose numerator is 0 too."""
    primitives = engine(y)
    return primitives.where(primitives.equal(y, 0), 1, y)


def _centred(x: Any, axis: Axis) -> Any:
    return x - broadcast_over(engine(x).mean(x, axis), x.shape, axis)


def _count(x: Tensor[Any, Any, Any], axis: Axis) -> float:
    count = math.prod(reduce_shape(x.shape, axis))
    return x.size / count if count else 0


def _one_over(n: Any, x: Any) -> Any:
    """Return the scale of a sum of n squares of elements of x; n is an array if a size has a name and no number."""
    is_number = isinstance(n, float | int | np.generic)
    if not is_number:
        return engine(x).where(n > 0, 1 / n, math.nan)
    return 1 / n if n > 0 else math.nan
