"""Normalization along axes: to zero mean and unit variance, or to unit mean square."""

from __future__ import annotations

from itertools import compress
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op, rematerializable
from tapegrad.engines import Axis, engine
from tapegrad.errors import ShapeError
from tapegrad.errors.ranges import check_options
from tapegrad.ops._fallback import count_of, is_traced, traced_unit_of, unit_of, with_fallback
from tapegrad.ops.arithmetic import add, mul
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.move import reshape
from tapegrad.ops.reduce import check_axis
from tapegrad.sizes import Dims, Size, at_least, misfit, normal_axes, show, surely_differ, surely_less
from tapegrad.tensors import T1, T2, Float, S, T, Tensor, node, values_of
from tapegrad.tensors.operands import limits, of_one_dtype, on_one_tape, unwrap, unwrap_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge
    from tapegrad.engines.rows import Rows


def normalize_shape(x: Dims, axis: Axis = -1) -> Dims:
    """Return the shape of `x`, after checking the axes."""
    normal_axes(axis, x)
    return x


def layer_norm_shape(x: Dims, weight: Dims, bias: Dims) -> Dims:
    """Return the shape of `x`, whose last sizes match the weight and the bias."""
    _as_last_axes(x, weight=weight, bias=bias)
    return x


def batch_norm_shape(x: Dims, weight: Dims, bias: Dims) -> Dims:
    """Return the shape of `x`, whose second size matches the weight and the bias."""
    _as_wide(at_least(2, x=x), 1, weight=weight, bias=bias)
    return x


def group_norm_shape(x: Dims, weight: Dims, bias: Dims, *, groups: Size) -> Dims:
    """Return the shape of `x`, whose second size matches weight and bias and is a multiple of `groups`."""
    _as_wide(at_least(2, x=x), 1, weight=weight, bias=bias)
    if surely_less(groups, 1):
        message = f"groups is {groups} but at least 1 is expected"
        raise ShapeError(message)
    if surely_differ(x[1] // groups * groups, x[1]):
        message = f"axis 1 of x {show(x)} is {x[1]}, which does not divide into {groups} groups"
        doubt = f"axis 1 of x {show(x)} is {x[1]}, and it is not known that this divides into {groups} groups"
        raise misfit(x[1] // groups * groups, x[1], message, doubt)
    return x


def instance_norm_shape(x: Dims, weight: Dims, bias: Dims) -> Dims:
    """Return the shape of `x`, whose second size matches the weight and the bias."""
    _as_wide(at_least(3, x=x), 1, weight=weight, bias=bias)
    return x


def rms_norm_shape(x: Dims, weight: Dims) -> Dims:
    """Return the shape of `x`, whose last sizes match the weight."""
    _as_last_axes(x, weight=weight)
    return x


@op(normalize_shape)
def normalize(x: Tensor[S, T, Float], axis: Axis = -1, *, eps: float = 1e-5) -> Tensor[S, T, Float]:
    """Normalize to zero mean and unit variance along axes.

        y[i] = (x[i] - x̄) / s
        s = √((1/n) ∑_j (x[j] - x̄)² + ε)
        dx[i] = (1/s) (dy[i] - (1/n) ∑_j dy[j] - (y[i] / n) ∑_j y[j] dy[j])

    Args:
        x: Any shape, a float dtype; finite numbers give finite results.
        axis: The axis, or axes, over which mean and variance are computed; None for all.
        eps: Added to the variance, in squares of the units of `x`, above 0.

    Returns:
        The shape of `x`, dimensionless. The result is zero where all elements are equal.

    Raises:
        ShapeError: An axis is out of range or named twice.
        DTypeError: `x` is not a float.
        ValueError: `eps` is not above 0.

    Examples:
        >>> x = tg.tensor([[1.0, 3.0], [10.0, 30.0]])
        >>> y = tg.normalize(x)
        >>> np.round(y.numpy().astype(float), 3).tolist()
        [[-1.0, 1.0], [-1.0, 1.0]]
    """
    _check_eps("normalize", eps)
    return _standardized(x, axis, eps, centred=True)


@op(layer_norm_shape, memory_bound=True)
def layer_norm(
    x: Tensor[S, T, Float], weight: Tensor[Any, T1, Float], bias: Tensor[Any, T2, Float], *, eps: float = 1e-5
) -> Tensor[S, Merge[T, Merge[T1, T2]], Float]:
    """Apply layer normalization: normalize each row, then scale and shift each column.

    A row is the last axis of `x`, or as many last axes as the weight has.

        y[b,i] = w[i] z[b,i] + c[i]
        z[b,i] = (x[b,i] - x̄[b]) / s[b]
        s[b] = √((1/n) ∑_j (x[b,j] - x̄[b])² + ε)

        dx[b,i] = (1 / s[b]) (w[i] dy[b,i] - (1/n) ∑_j w[j] dy[b,j]
                              - (z[b,i] / n) ∑_j w[j] z[b,j] dy[b,j])
        dw[i] = ∑_b z[b,i] dy[b,i]
        dc[i] = ∑_b dy[b,i]

    Args:
        x: `(..., N)`, a float dtype; or `(..., N, M)` and so on, where the weight has several axes.
        weight: The scale factors w, `(N,)`; or `(N, M)` and so on.
        bias: The bias c, the shape of the weight.
        eps: Added to the variance, in squares of the units of `x`, above 0.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: `weight` or `bias` does not match the last axes of `x`, or the weight has no axis.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `eps` is not above 0.

    Source:
        Ba et al., [Layer normalization](https://arxiv.org/abs/1607.06450), eq. 4, with ε under the root as in PyTorch.

    Examples:
        >>> x = tg.tensor([[1.0, 3.0], [10.0, 30.0]])
        >>> y = tg.layer_norm(x, weight=tg.tensor([1.0, 2.0]), bias=tg.tensor([0.0, 1.0]))
        >>> np.round(y.numpy().astype(float), 3).tolist()
        [[-1.0, 3.0], [-1.0, 3.0]]
        >>> z = tg.layer_norm(x, weight=tg.ones((2, 2)), bias=tg.zeros((2, 2)))  # all four numbers are one row
        >>> np.round(z.numpy().astype(float), 3).tolist()
        [[-0.872, -0.698], [-0.087, 1.657]]
    """
    _check_operands(x, weight=weight, bias=bias)
    _check_eps("layer_norm", eps)
    layer_norm_shape(x.shape, weight.shape, bias.shape)
    if weight.ndim > 1:
        rows = reshape(x, (*x.shape[: -weight.ndim], weight.size))
        flat = layer_norm(rows, reshape(weight, (-1,)), reshape(bias, (-1,)), eps=eps)
        whole: Tensor[S, Merge[T, Merge[T1, T2]], Float] = reshape(flat, tuple(x.shape))
        return whole
    operands, tape = unwrap_all([x, weight, bias], "operands")
    (x, weight, bias), primitives = operands, engine(*(operand.data for operand in operands))

    def scaled(x: Any, eps: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = primitives.rowwise(layer_norm_of, x, weight.data, bias.data, eps, axis=-1)
        return found

    y, mean, factor = _in_range(x.data, -1, eps, scaled, (0, 1, -1))
    out = node(y)

    def backward(grads: Gradients) -> None:
        dy, is_free = grads.pop_reusable(out)
        wanted = tuple(grads.wants(operand) for operand in operands)
        values = x.data, weight.data, mean, factor, dy
        found = engine(*values).rowwise(layer_norm_gradients, *values, axis=-1, is_free=is_free, wanted=wanted)
        for operand, gradient in zip(compress(operands, wanted), found, strict=True):
            grads.add(operand, gradient)

    normed: Tensor[S, Merge[T, Merge[T1, T2]], Float] = tape.record(out, (x, weight, bias), backward, saved=(x, weight))
    return normed


@op(rms_norm_shape)
def rms_norm(
    x: Tensor[S, T1, Float], weight: Tensor[Any, T2, Float], *, eps: float = 1e-5
) -> Tensor[S, Merge[T1, T2], Float]:
    """Apply RMS normalization: `layer_norm` without subtracting the mean and without a bias.

        y[b,i] = w[i] x[b,i] / s[b]
        s[b] = √((1/n) ∑_j x[b,j]² + ε)
        dx[b,i] = (1 / s[b]) (w[i] dy[b,i]
                              - (x[b,i] / (n s[b]²)) ∑_j w[j] x[b,j] dy[b,j])

    Args:
        x: `(..., N)`, a float dtype; or `(..., N, M)` and so on, where the weight has several axes.
        weight: The scale factors w, `(N,)`; or `(N, M)` and so on, for rows of several axes.
        eps: Added to the mean square, in squares of the units of `x`, above 0.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: `weight` does not match the last axes of `x`, or has no axis.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `eps` is not above 0.

    Source:
        Zhang & Sennrich, [Root mean square layer normalization](https://arxiv.org/abs/1910.07467), eq. 4, with ε under
        the root as in PyTorch.

    Examples:
        >>> x = tg.tensor([[1.0, 7.0], [10.0, 70.0]])
        >>> y = tg.rms_norm(x, weight=tg.tensor([1.0, 2.0]))
        >>> np.round(y.numpy().astype(float), 3).tolist()
        [[0.2, 2.8], [0.2, 2.8]]
    """
    _check_operands(x, weight=weight)
    _check_eps("rms_norm", eps)
    rms_norm_shape(x.shape, weight.shape)
    return mul(_standardized(x, tuple(range(-weight.ndim, 0)), eps, centred=False), weight)


@op(batch_norm_shape)
def batch_norm(
    x: Tensor[S, T, Float], weight: Tensor[Any, T1, Float], bias: Tensor[Any, T2, Float], *, eps: float = 1e-5
) -> Tensor[S, Merge[T, Merge[T1, T2]], Float]:
    """Apply batch normalization: normalize each channel over the batch, then scale and shift it.

        y[n,c,l] = w[c] (x[n,c,l] - x̄[c]) / s[c] + b[c]
        s[c] = √((1 / (N L)) ∑_(n,l) (x[n,c,l] - x̄[c])² + ε)

    The layer `tapegrad.nn.BatchNorm2d` adds running statistics.

    Args:
        x: `(N, C, ...)`, a float dtype.
        weight: The scale factors w, `(C,)`.
        bias: The bias b, `(C,)`.
        eps: Added to the biased variance, in squares of the units of `x`, above 0.

    Returns:
        `(N, C, ...)`.

    Raises:
        ShapeError: `weight` or `bias` does not match axis 1 of `x`, or `x` has fewer than two axes.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `eps` is not above 0.

    Source:
        Ioffe & Szegedy, [Batch normalization](https://arxiv.org/abs/1502.03167), algorithm 1.

    Examples:
        >>> x = tg.tensor([[1.0, 10.0], [3.0, 30.0]])
        >>> y = tg.batch_norm(x, weight=tg.tensor([1.0, 2.0]), bias=tg.tensor([0.0, 5.0]))
        >>> np.round(y.numpy().astype(float), 3).tolist()
        [[-1.0, 3.0], [1.0, 7.0]]
        >>> images = tg.uniform((8, 3, 32, 32), rng=0)
        >>> tg.batch_norm(images, weight=tg.ones((3,)), bias=tg.zeros((3,))).shape
        (8, 3, 32, 32)
    """
    _check_operands(x, weight=weight, bias=bias)
    _check_eps("batch_norm", eps)
    batch_norm_shape(x.shape, weight.shape, bias.shape)
    y = _standardized(x, (0, *range(2, x.ndim)), eps, centred=True)
    return scaled_and_shifted(y, weight, bias)


@op(group_norm_shape)
def group_norm(
    x: Tensor[S, T, Float],
    weight: Tensor[Any, T1, Float],
    bias: Tensor[Any, T2, Float],
    *,
    groups: int,
    eps: float = 1e-5,
) -> Tensor[S, Merge[T, Merge[T1, T2]], Float]:
    """Apply group normalization: normalize each group of channels, then scale and shift each channel.

        y[n,c,l] = w[c] (x[n,c,l] - x̄[n,g]) / s[n,g] + b[c]
        g = ⌊c G / C⌋
        s[n,g] = √((G / (C L)) ∑_(c ∈ g, l) (x[n,c,l] - x̄[n,g])² + ε)

    Args:
        x: `(N, C, ...)`, a float dtype.
        weight: The scale factors w, `(C,)`.
        bias: The bias b, `(C,)`.
        groups: The number G of groups of adjacent channels. A single group is normalized like `layer_norm` over
            all axes but the first.
        eps: Added to the variance, in squares of the units of `x`, above 0.

    Returns:
        `(N, C, ...)`.

    Raises:
        ShapeError: `weight` or `bias` does not match axis 1 of `x`, that axis is not divisible by `groups`, or `x`
            has fewer than two axes.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `eps` is not above 0.

    Source:
        Wu & He, [Group normalization](https://arxiv.org/abs/1803.08494), eqs. 1, 2 and 7.

    Examples:
        >>> x = tg.tensor([[1.0, 3.0, 10.0, 30.0]])
        >>> y = tg.group_norm(x, weight=tg.ones((4,)), bias=tg.zeros((4,)), groups=2)
        >>> np.round(y.numpy().astype(float), 3).tolist()
        [[-1.0, 1.0, -1.0, 1.0]]
        >>> images = tg.uniform((8, 6, 32, 32), rng=0)
        >>> tg.group_norm(images, weight=tg.ones((6,)), bias=tg.zeros((6,)), groups=3).shape
        (8, 6, 32, 32)
    """
    _check_operands(x, weight=weight, bias=bias)
    _check_eps("group_norm", eps)
    group_norm_shape(x.shape, weight.shape, bias.shape, groups=groups)
    n, c, *rest = x.shape
    grouped = reshape(x, (n, groups, c // groups, *rest))
    y: Tensor[S, T, Float] = reshape(
        _standardized(grouped, tuple(range(2, grouped.ndim)), eps, centred=True), tuple(x.shape)
    )
    return scaled_and_shifted(y, weight, bias)


@op(instance_norm_shape)
def instance_norm(
    x: Tensor[S, T, Float], weight: Tensor[Any, T1, Float], bias: Tensor[Any, T2, Float], *, eps: float = 1e-5
) -> Tensor[S, Merge[T, Merge[T1, T2]], Float]:
    """Apply instance normalization: normalize each channel of each image, then scale and shift each channel.

        y[n,c,l] = w[c] (x[n,c,l] - x̄[n,c]) / s[n,c] + b[c]
        s[n,c] = √((1/L) ∑_l (x[n,c,l] - x̄[n,c])² + ε)

    Args:
        x: `(N, C, L, ...)`, a float dtype.
        weight: The scale factors w, `(C,)`.
        bias: The bias b, `(C,)`.
        eps: Added to the variance, in squares of the units of `x`, above 0.

    Returns:
        `(N, C, L, ...)`.

    Raises:
        ShapeError: `weight` or `bias` does not match axis 1 of `x`, or `x` has fewer than three axes.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `eps` is not above 0.

    Source:
        Ulyanov et al., [Instance normalization](https://arxiv.org/abs/1607.08022), eq. 4; weight and bias of PyTorch.

    Examples:
        >>> x = tg.tensor([[[1.0, 3.0], [10.0, 30.0]]])
        >>> y = tg.instance_norm(x, weight=tg.tensor([1.0, 2.0]), bias=tg.tensor([0.0, 5.0]))
        >>> np.round(y.numpy().astype(float), 3).tolist()
        [[[-1.0, 1.0], [3.0, 7.0]]]
    """
    _check_operands(x, weight=weight, bias=bias)
    _check_eps("instance_norm", eps)
    instance_norm_shape(x.shape, weight.shape, bias.shape)
    y = _standardized(x, tuple(range(2, x.ndim)), eps, centred=True)
    return scaled_and_shifted(y, weight, bias)


def scaled_and_shifted(
    x: Tensor[S, T, Float], weight: Tensor[Any, T1, Float], bias: Tensor[Any, T2, Float]
) -> Tensor[S, Merge[T, Merge[T1, T2]], Float]:
    """Multiply each channel (axis 1) by its weight and add its bias."""
    y, w, b = on_one_tape(x, weight, bias)
    channels = (-1, *(1,) * (x.ndim - 2))
    scaled: Tensor[S, Merge[T, Merge[T1, T2]], Float] = add(mul(y, reshape(w, channels)), reshape(b, channels))
    return scaled


def standardized(rows: Rows, x: Any, eps: Any, *, centred: bool) -> tuple[Any, Any]:
    """Return `x / s` and `1 / s`, where `s = sqrt(mean(x * x) + eps)`; `centred` subtracts the mean of `x` first."""
    if centred:
        x = x - rows.mean(x)
    factor = 1 / rows.sqrt(rows.mean(x * x) + eps)
    return x * factor, factor


def standardized_gradient(rows: Rows, y: Any, factor: Any, dy: Any, *, centred: bool) -> Any:
    """Compute the gradient of the `x` of `standardized` from its results and the gradient of the first."""
    dx = dy - y * rows.mean(y * dy)
    return (dx - rows.mean(dy) if centred else dx) * factor


def layer_norm_of(rows: Rows, x: Any, weight: Any, bias: Any, eps: Any) -> tuple[Any, Any, Any]:
    """Return the result of `layer_norm`, and the mean and one over the standard deviation of each row."""
    mean = rows.mean(x)
    z, factor = standardized(rows, x - mean, eps, centred=False)
    return z * weight + bias, mean, factor


def layer_norm_gradients(
    rows: Rows, x: Any, weight: Any, mean: Any, factor: Any, dy: Any, *, wanted: tuple[bool, bool, bool]
) -> tuple[Any, ...]:
    """Return the wanted gradients of `x`, `weight` and `bias`, from what `layer_norm_of` returns of each row."""
    z = (x * 0.5 - mean * 0.5) * (factor * 2.0)  # halves, because the difference may exceed what the dtype holds
    gradients: list[Any] = []
    if wanted[1]:
        gradients.append(rows.total(z * dy))
    if wanted[2]:
        gradients.append(rows.total(dy))
    if wanted[0]:  # last, because this gradient may overwrite `dy`
        gradients.insert(0, standardized_gradient(rows, z, factor, dy * weight, centred=True))
    return tuple(gradients)


@rematerializable()
def _standardized(x: Tensor[S, T, Float], axis: Axis, eps: float, *, centred: bool) -> Tensor[S, T, Float]:
    """Divide by the root mean square along `axis`, after subtracting the mean if `centred`."""
    x, tape = unwrap(x)
    float_only(x)
    check_axis(x, axis)

    def normed(x: Any, eps: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = engine(x).rowwise(standardized, x, eps, axis=axis, centred=centred)
        return found

    y, one_over_s = _in_range(x.data, axis, eps, normed, (0, -1))
    out, factor = node(y), node(one_over_s)

    def backward(grads: Gradients) -> None:
        dy, is_free = grads.pop_reusable(out)
        values = out.data, factor.data, dy
        dx = engine(*values).rowwise(standardized_gradient, *values, axis=axis, is_free=is_free, centred=centred)
        grads.add(x, dx)

    return tape.record(out, (x,), backward, saved=(out,))


def _in_range(
    x: Any, axis: Axis, eps: float, normed: Callable[[Any, Any], tuple[Any, ...]], units: tuple[int, ...]
) -> tuple[Any, ...]:
    """Return `normed(x, eps)`; if a square overflows, compute it from rescaled rows.

    The last value is one over the root. Values with 1 in `units` have the unit of `x`, those with -1 that of `1 / x`,
    and those with 0 have none.
    """
    if not x.size:
        return normed(x, eps)

    def in_units(unit: Any) -> tuple[Any, ...]:
        # The result does not depend on the unit, and the gradient of the divisor cancels, so it needs no tape.
        others = normed(x / unit, eps / unit / unit)
        powers = {1: lambda one: one * unit, -1: lambda one: one / unit, 0: lambda one: one}
        return tuple(powers[power](one) for one, power in zip(others, units, strict=True))

    if is_traced(x):
        return normed(x, eps) if isinstance(x, Tensor) else in_units(traced_unit_of(x, axis, _largest(x, axis)))
    with np.errstate(over="ignore", invalid="ignore"):
        found = normed(x, eps)
        # A square such as that of 1e20 overflows in float32, so each row is divided by its largest absolute value.
        return with_fallback(values_of(found[-1]) > 0, found, lambda: in_units(unit_of(x, axis)))


def _largest(x: Any, axis: Axis) -> float:
    """Return a number for whose rows of `x` the squares of all differences from the mean have a finite sum."""
    sizes = x.shape if axis is None else [x.shape[one] for one in (axis if isinstance(axis, tuple) else (axis,))]
    return sqrt(float(limits(x.dtype).max) / (4 * count_of(sizes)))


def _as_wide(x: Dims, axis: int, **others: Dims) -> None:
    for name, other in others.items():
        if len(other) != 1:
            message = f"{name} {show(other)} has rank {len(other)}, not 1"
            raise ShapeError(message)
        if surely_differ(other[0], x[axis]):
            message = f"axis {axis} of x {show(x)} is {x[axis]} but {name} {show(other)} has {other[0]}"
            raise ShapeError(message)


def _as_last_axes(x: Dims, weight: Dims, **others: Dims) -> None:
    """Reject a weight that does not match the last axes of `x`, and others that do not have its rank."""
    rank = len(at_least(1, weight=weight))
    at_least(rank, x=x)
    for name, other in {"weight": weight, **others}.items():
        if len(other) != rank:
            message = f"{name} {show(other)} has rank {len(other)}, not {rank}"
            raise ShapeError(message)
        for axis in range(-1, -rank - 1, -1):
            if surely_differ(other[axis], x[axis]):
                message = f"axis {axis} of x {show(x)} is {x[axis]} but {name} {show(other)} has {other[axis]}"
                raise ShapeError(message)


def _check_operands(x: Tensor[Any, Any, Any], **others: Tensor[Any, Any, Any]) -> None:
    of_one_dtype(x=x, **others)
    float_only(x)


def _check_eps(call: str, eps: float) -> None:
    if eps is True or not eps > 0:
        check_options(call, eps=eps)  # which says so
