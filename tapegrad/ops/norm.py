"""Ops that bring what stands along axes to one size: to a mean square of one, and perhaps to a mean of zero first."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.backend import engine
from tapegrad.dims import Dims, at_least, normal_axes, show, surely_differ
from tapegrad.errors import ShapeError
from tapegrad.op import op
from tapegrad.ops.arithmetic import add, mul
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.reduce import check_axis
from tapegrad.ops.spread import averaged
from tapegrad.tensor import T1, T2, Axis, Float, S, T, Tensor, handle, same_dtype, split, tensor_only

if TYPE_CHECKING:
    from tapegrad.tape import Gradients, Merge


def normalize_shape(x: Dims, axis: Axis = -1) -> Dims:
    """Keeps the shape; the axes must be there."""
    normal_axes(axis, x)
    return x


def layer_norm_shape(x: Dims, weight: Dims, bias: Dims) -> Dims:
    """Keeps the shape, whose last size is that of the weight and of the bias."""
    _as_wide(x, weight, "weight")
    _as_wide(x, bias, "bias")
    return x


def rms_norm_shape(x: Dims, weight: Dims) -> Dims:
    """Keeps the shape, whose last size is that of the weight."""
    _as_wide(x, weight, "weight")
    return x


@op(normalize_shape)
def normalize(x: Tensor[S, T, Float], axis: Axis = -1, *, eps: float = 1e-5) -> Tensor[S, T, Float]:
    r"""Gives what stands along axes a mean of zero and a variance of one.

    $$y_i = \frac{x_i - \bar x}{s}, \quad s = \sqrt{\frac{1}{n} \sum_j (x_j - \bar x)^2 + \epsilon}, \quad
    dx_i = \frac{1}{s} \Big( dy_i - \frac{1}{n} \sum_j dy_j - \frac{y_i}{n} \sum_j y_j \, dy_j \Big)$$

    Args:
        x: Any shape, a float dtype; finite numbers give finite results.
        axis: The axis, or axes, along which mean and variance are taken; None for all.
        eps: What is added to the variance, in squares of the units of `x`, above 0.

    Returns:
        The shape of `x`, without a unit. Where all elements are equal it is zero.

    Raises:
        ShapeError: An axis is out of range or named twice.
        DTypeError: `x` is not a float.
        ValueError: `eps` is not above 0.
    """
    _check_eps("normalize", eps)
    return _standardized(x, axis, eps, centred=True)


@op(layer_norm_shape)
def layer_norm(
    x: Tensor[S, T, Float], weight: Tensor[Any, T1, Float], bias: Tensor[Any, T2, Float], *, eps: float = 1e-5
) -> Tensor[S, Merge[T, Merge[T1, T2]], Float]:
    r"""Gives each row a mean of zero and a variance of one, then scales and shifts each column.

    $$y_{bi} = w_i \frac{x_{bi} - \bar x_b}{s_b} + c_i, \quad
    s_b = \sqrt{\frac{1}{n} \sum_j (x_{bj} - \bar x_b)^2 + \epsilon}$$

    Args:
        x: `(..., N)`, a float dtype.
        weight: The factors w, `(N,)`.
        bias: What is added, c, `(N,)`.
        eps: What is added to the variance, in squares of the units of `x`, above 0.

    Returns:
        `(..., N)`.

    Raises:
        ShapeError: `weight` or `bias` is not as long as the last axis of `x`, or there is none.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `eps` is not above 0.

    Source:
        Ba et al., [Layer normalization](https://arxiv.org/abs/1607.06450), eq. 4, with ε under the root as PyTorch.
    """
    _check_operands(x, weight=weight, bias=bias)
    _check_eps("layer_norm", eps)
    layer_norm_shape(x.shape, weight.shape, bias.shape)
    return add(mul(_standardized(x, -1, eps, centred=True), weight), bias)


@op(rms_norm_shape)
def rms_norm(
    x: Tensor[S, T1, Float], weight: Tensor[Any, T2, Float], *, eps: float = 1e-5
) -> Tensor[S, Merge[T1, T2], Float]:
    r"""Gives each row a mean square of one, then scales each column: `layer_norm` without a mean and a bias.

    $$y_{bi} = w_i \frac{x_{bi}}{s_b}, \quad s_b = \sqrt{\frac{1}{n} \sum_j x_{bj}^2 + \epsilon}, \quad
    dx_{bi} = \frac{1}{s_b} \Big( w_i \, dy_{bi} - \frac{x_{bi}}{n s_b^2} \sum_j w_j \, x_{bj} \, dy_{bj} \Big)$$

    Args:
        x: `(..., N)`, a float dtype.
        weight: The factors w, `(N,)`.
        eps: What is added to the mean square, in squares of the units of `x`, above 0.

    Returns:
        `(..., N)`.

    Raises:
        ShapeError: `weight` is not as long as the last axis of `x`, or there is none.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `eps` is not above 0.

    Source:
        Zhang & Sennrich, [Root mean square layer normalization](https://arxiv.org/abs/1910.07467), eq. 4, with ε under
        the root as PyTorch.
    """
    _check_operands(x, weight=weight)
    _check_eps("rms_norm", eps)
    rms_norm_shape(x.shape, weight.shape)
    return mul(_standardized(x, -1, eps, centred=False), weight)


def _standardized(x: Tensor[S, T, Float], axis: Axis, eps: float, *, centred: bool) -> Tensor[S, T, Float]:
    """Divides by the root of the mean square, of which `centred` has taken the mean away before."""
    x, tape = split(x)
    float_only(x)
    check_axis(x, axis)
    y, one_over_s = _divided(x.data, axis, eps, centred=centred)
    out, factor = handle(y), handle(one_over_s)

    def backward(grads: Gradients) -> None:
        dy = grads.take(out)
        dx = dy - out.data * averaged(dy * out.data, axis)
        grads.add(x, (dx - averaged(dy, axis) if centred else dx) * factor.data)

    return tape.record(out, (x,), backward)


def _divided(x: Any, axis: Axis, eps: float, *, centred: bool) -> tuple[Any, Any]:
    """Returns the result and what it was multiplied by, one over the root."""
    with np.errstate(over="ignore", invalid="ignore"):
        y, factor = _divided_as_it_is(x, axis, eps, centred=centred)
        if not x.size or (handle(factor).numpy() > 0).all():
            return y, factor
        # A square overflowed: that of 1e20 does in float32. The result is the same in any unit, so measure each row by
        # its largest element, whose own gradient cancels: it may be read off the numbers.
        unit = np.maximum(np.abs(handle(x).numpy()).max(axis, keepdims=True), 1)
        y, factor = _divided_as_it_is(x / unit, axis, (sqrt(eps) / unit) ** 2, centred=centred)
        return y, factor / unit


def _divided_as_it_is(x: Any, axis: Axis, eps: Any, *, centred: bool) -> tuple[Any, Any]:
    if centred:
        x = x - averaged(x, axis)
    square = averaged(x * x, axis) + eps
    factor = 1 / engine(square).map("sqrt", square)
    return x * factor, factor


def _as_wide(x: Dims, weight: Dims, name: str) -> None:
    *_, n = at_least(1, x=x)
    if len(weight) != 1:
        message = f"{name} {show(weight)} has rank {len(weight)}, not 1"
        raise ShapeError(message)
    if surely_differ(weight[0], n):
        message = f"axis -1 of x {show(x)} is {n} but {name} {show(weight)} has {weight[0]}"
        raise ShapeError(message)


def _check_operands(x: Tensor[Any, Any, Any], **others: Tensor[Any, Any, Any]) -> None:
    tensor_only(x, "x")
    for name, other in others.items():
        tensor_only(other, name)
        same_dtype(x, other, name)
    float_only(x)


def _check_eps(call: str, eps: float) -> None:
    if not eps > 0:
        message = f"{call}: eps is {eps} but must be above 0"
        raise ValueError(message)
