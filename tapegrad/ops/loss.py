"""Regression, hinge and cosine losses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors.ranges import check_options
from tapegrad.ops._float32 import in_float32
from tapegrad.ops._mapped import apply
from tapegrad.ops._reduction import (
    Reduction,
    compared,
    of_rows,
    reduced,
    reduced_shape,
    same_sizes,
    unwrap_with_target,
    weight_of,
)
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.statistics import not_zero
from tapegrad.sizes import Dims, at_least
from tapegrad.tensors import T2, Float, T, Tensor, node
from tapegrad.tensors.merging import merging_loss
from tapegrad.tensors.operands import same_dtype

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge


def elementwise_loss_shape(x: Dims, target: Dims, *, reduction: str = "mean") -> Dims:
    """Return a scalar, or one loss per element; the shapes must be equal."""
    return reduced_shape(lambda: same_sizes(x, target, x), reduction)


def row_loss_shape(x: Dims, target: Dims, *, reduction: str = "mean") -> Dims:
    """Return a scalar, or one loss per row; the shapes must be equal."""
    return reduced_shape(lambda: same_sizes(at_least(1, x=x), target, x)[:-1], reduction)


@merging_loss
@op(elementwise_loss_shape)
@in_float32
def mse(
    x: Tensor[Any, T, Float], target: Tensor[Any, T2, Float], *, reduction: Reduction = "mean"
) -> Tensor[Any, Merge[T, T2], Float]:
    """Compute the mean squared error (MSE) loss.

        L = (1/n) ∑_i (x[i] - t[i])²
        dx = -dt = (2/n) (x - t) dL

    Args:
        x: Predictions, any shape, a float dtype.
        target: The expected values, the same shape and dtype.
        reduction: `mean`, `sum`, or `none` for the squared error of each element.

    Returns:
        A scalar, or the shape of `x` where nothing is reduced, in the squared units of `x`.

    Raises:
        ShapeError: The shapes differ; losses do not broadcast.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `reduction` is invalid.

    Examples:
        >>> predictions = tg.tensor([2.5, 0.0, 2.0, 8.0])
        >>> target = tg.tensor([3.0, -0.5, 2.0, 7.0])
        >>> tg.mse(predictions, target).item()
        0.375
        >>> grads = tg.mse(predictions.trace(), target).backward()
        >>> grads[predictions].tolist()
        [-0.25, 0.25, 0.0, 0.5]
    """

    def loss(x: Any, t: Any) -> Any:
        return (error := x - t) * error

    def derivative(x: Any, t: Any) -> Any:
        return (error := x - t) + error  # NumPy would convert a factor of 2 to an array

    return compared("mse", x, target, reduction, loss, derivative)


@merging_loss
@op(elementwise_loss_shape, eager=True)
@in_float32
def rmse(
    x: Tensor[Any, T, Float], target: Tensor[Any, T2, Float], *, reduction: Reduction = "mean"
) -> Tensor[Any, Merge[T, T2], Float]:
    """Compute the root mean squared error (RMSE) loss.

        L = √((1/n) ∑_i (x[i] - t[i])²)
        dx = -dt = ((x - t) / (n L)) dL

    Args:
        x: Predictions, any shape, a float dtype.
        target: The expected values, the same shape and dtype.
        reduction: The reduction under the root: `mean`, `sum`, or `none` for the absolute error of each element.

    Returns:
        A scalar, or the shape of `x` where nothing is reduced, in the units of `x`. Where it is 0, the gradient is 0.

    Raises:
        ShapeError: The shapes differ; losses do not broadcast.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `reduction` is invalid.

    Examples:
        >>> predictions = tg.tensor([11.0, 27.0])
        >>> target = tg.tensor([10.0, 20.0])
        >>> round(tg.rmse(predictions, target).item(), 4)
        5.0
    """
    x, target, tape = unwrap_with_target(x, target)
    same_dtype(x, target, "target")
    float_only(x)
    weight = weight_of("rmse", reduction, x.size)
    out = node(_root_of_squares(x.data - target.data, reduction, weight))

    def backward(grads: Gradients) -> None:
        error = x.data - target.data
        root = not_zero(_root_of_squares(error, reduction, weight))
        dx = error * (grads.pop_output(out) * weight / root)
        if grads.wants(target):
            grads.add(target, -dx)
        if grads.wants(x):
            grads.add(x, dx)

    return tape.record(out, (x, target), backward)


@merging_loss
@op(elementwise_loss_shape)
@in_float32
def mae(
    x: Tensor[Any, T, Float], target: Tensor[Any, T2, Float], *, reduction: Reduction = "mean"
) -> Tensor[Any, Merge[T, T2], Float]:
    """Compute the mean absolute error (MAE, L1) loss.

        L = (1/n) ∑_i |x[i] - t[i]|
        dx = -dt = (1/n) sign(x - t) dL

    Args:
        x: Predictions, any shape, a float dtype. Where a prediction equals its target, the gradient is 0.
        target: The expected values, the same shape and dtype.
        reduction: `mean`, `sum`, or `none` for the absolute error of each element.

    Returns:
        A scalar, or the shape of `x` where nothing is reduced, in the units of `x`.

    Raises:
        ShapeError: The shapes differ; losses do not broadcast.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `reduction` is invalid.

    Examples:
        >>> predictions = tg.tensor([2.5, 0.0, 2.0, 8.0])
        >>> target = tg.tensor([3.0, -0.5, 2.0, 7.0])
        >>> tg.mae(predictions, target).item()
        0.5
        >>> grads = tg.mae(predictions.trace(), target).backward()
        >>> grads[predictions].tolist()
        [-0.25, 0.25, 0.0, 0.25]
    """
    return compared("mae", x, target, reduction, _distance, lambda x, t: apply("sign", x - t))


@merging_loss
@op(elementwise_loss_shape)
@in_float32
def huber(
    x: Tensor[Any, T, Float],
    target: Tensor[Any, T2, Float],
    *,
    delta: float = 1.0,
    reduction: Reduction = "mean",
) -> Tensor[Any, Merge[T, T2], Float]:
    """Compute the Huber loss: quadratic for small errors, linear for large ones.

        L = (1/n) ∑_i c[i] (|e[i]| - (1/2) c[i])
        c[i] = min(|e[i]|, δ)
        e = x - t
        dx = -dt = (1/n) min(max(e, -δ), δ) dL

    Args:
        x: Predictions, any shape, a float dtype.
        target: The expected values, the same shape and dtype.
        delta: The absolute error δ up to which the loss is quadratic, in the units of `x`, above 0.
        reduction: `mean`, `sum`, or `none` for the loss of each element.

    Returns:
        A scalar, or the shape of `x` where nothing is reduced, in the squared units of `x`.

    Raises:
        ShapeError: The shapes differ; losses do not broadcast.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `delta` is not above 0, or `reduction` is invalid.

    Source:
        Huber, [Robust estimation of a location parameter](https://doi.org/10.1214/aoms/1177703732), §4.

    Examples:
        >>> predictions, target = tg.tensor([1.5, 5.0]), tg.tensor([1.0, 2.0])
        >>> tg.huber(predictions, target).item()
        1.3125
        >>> tg.huber(predictions, target, reduction="none").tolist()
        [0.125, 2.5]
        >>> tg.huber(predictions, target, delta=2.0, reduction="none").tolist()
        [0.125, 4.0]
    """
    check_options("huber", delta=delta)
    return compared(
        "huber", x, target, reduction, lambda x, t: _rounded_off(x - t, delta), lambda x, t: _limited(x - t, delta)
    )


@merging_loss
@op(elementwise_loss_shape)
@in_float32
def smooth_l1(
    x: Tensor[Any, T, Float],
    target: Tensor[Any, T2, Float],
    *,
    beta: float = 1.0,
    reduction: Reduction = "mean",
) -> Tensor[Any, Merge[T, T2], Float]:
    """Compute the smooth L1 loss: `huber` with δ = β, divided by β.

        L = (1 / (n β)) ∑_i c[i] (|e[i]| - (1/2) c[i])
        c[i] = min(|e[i]|, β)
        e = x - t
        dx = -dt = (1 / (n β)) min(max(e, -β), β) dL

    Args:
        x: Predictions, any shape, a float dtype.
        target: The expected values, the same shape and dtype.
        beta: The absolute error β up to which the loss is quadratic, in the units of `x`, at least 0; 0 gives `mae`.
        reduction: `mean`, `sum`, or `none` for the loss of each element.

    Returns:
        A scalar, or the shape of `x` where nothing is reduced, in the units of `x`.

    Raises:
        ShapeError: The shapes differ; losses do not broadcast.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `beta` is below 0, or `reduction` is invalid.

    Source:
        Girshick, [Fast R-CNN](https://arxiv.org/abs/1504.08083), eq. 3, where β is 1.

    Examples:
        >>> predictions, target = tg.tensor([1.5, 5.0]), tg.tensor([1.0, 2.0])
        >>> tg.smooth_l1(predictions, target).item()
        1.3125
        >>> tg.smooth_l1(predictions, target, beta=2.0, reduction="none").tolist()
        [0.0625, 2.0]
    """
    check_options("smooth_l1", beta=beta)
    if beta == 0:
        return compared("smooth_l1", x, target, reduction, _distance, lambda x, t: apply("sign", x - t))
    return compared(
        "smooth_l1",
        x,
        target,
        reduction,
        lambda x, t: _rounded_off(x - t, beta) / beta,
        lambda x, t: _limited(x - t, beta) / beta,
    )


@merging_loss
@op(elementwise_loss_shape)
@in_float32
def hinge(
    x: Tensor[Any, T, Float], target: Tensor[Any, T2, Float], *, reduction: Reduction = "mean"
) -> Tensor[Any, Merge[T, T2], Float]:
    """Compute the hinge loss between scores and targets of -1 or 1.

        L = (1/n) ∑_i max(0, 1 - t[i] x[i])
        dx = -(1/n) t [t x < 1] dL
        dt = -(1/n) x [t x < 1] dL

    Args:
        x: Scores, any shape, a float dtype. Where the product with the target is 1, the gradient is 0.
        target: The class of each element, -1 or 1, the same shape and dtype.
        reduction: `mean`, `sum`, or `none` for the loss of each element.

    Returns:
        A scalar, or the shape of `x` where nothing is reduced.

    Raises:
        ShapeError: The shapes differ; losses do not broadcast.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `reduction` is invalid.

    Examples:
        >>> scores = tg.tensor([2.0, 0.5, -1.0, -0.5])
        >>> target = tg.tensor([1.0, 1.0, 1.0, -1.0])
        >>> tg.hinge(scores, target).item()
        0.75
        >>> tg.hinge(scores, target, reduction="none").tolist()
        [0.0, 0.5, 2.0, 0.5]
    """

    def loss(x: Any, t: Any) -> Any:
        lack = 1 - x * t
        return engine(lack).relu(lack)

    def derivative(x: Any, t: Any) -> Any:
        lack = 1 - x * t
        primitives = engine(lack)
        return primitives.where(primitives.greater(lack, 0), -t, 0)

    return compared("hinge", x, target, reduction, loss, derivative, lambda x, t: derivative(t, x))


@merging_loss
@op(row_loss_shape, eager=True)
@in_float32
def cosine(
    x: Tensor[Any, T, Float],
    target: Tensor[Any, T2, Float],
    *,
    eps: float = 1e-8,
    reduction: Reduction = "mean",
) -> Tensor[Any, Merge[T, T2], Float]:
    """Compute the cosine loss: 1 minus the cosine similarity of each row and its target.

        L = (1/n) ∑_i (1 - cos[i])
        cos[i] = (x[i] · t[i]) / (|x[i]| |t[i]|)
        dx[i] = (1/n) (x[i] cos[i] / |x[i]|² - t[i] / (|x[i]| |t[i]|)) dL

    Args:
        x: Vectors, `(..., C)`, a float dtype.
        target: The expected vectors, the same shape and dtype.
        eps: The lower bound of the lengths that are divided by, in the units of `x`, above 0.
        reduction: `mean`, `sum`, or `none` for the loss of each row.

    Returns:
        A scalar, or `(...)` where nothing is reduced; 0 for the same direction, 1 for a right angle, 2 for
        opposite directions. The gradient of the target is that of `x` with both exchanged.

    Raises:
        ShapeError: The shapes differ, or `x` is a scalar.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `eps` is not above 0, or `reduction` is invalid.

    Examples:
        >>> x = tg.tensor([[1.0, 0.0], [1.0, 0.0], [3.0, 4.0]])
        >>> target = tg.tensor([[2.0, 0.0], [0.0, 5.0], [-3.0, -4.0]])
        >>> losses = tg.cosine(x, target, reduction="none")
        >>> np.round(losses.numpy().astype(float), 3).tolist()
        [0.0, 1.0, 2.0]
        >>> round(tg.cosine(x, target).item(), 4)
        1.0
    """
    check_options("cosine", eps=eps)
    x, target, tape = unwrap_with_target(x, target)
    same_dtype(x, target, "target")
    float_only(x)
    rows = x.shape[:-1]
    weight = weight_of("cosine", reduction, math.prod(x.shape[:-1]))
    away = 1 - _cosines(x.data, target.data, eps)
    out = node(reduced(away.reshape(rows), reduction, weight))

    def backward(grads: Gradients) -> None:
        dy = of_rows(grads.pop_output(out) * -weight, x.shape, reduction)
        for one, other in ((x, target), (target, x)):
            if grads.wants(one):
                grads.add(one, _cosine_derivative(one.data, other.data, eps) * dy)

    return tape.record(out, (x, target), backward)


def _distance(x: Any, t: Any) -> Any:
    return apply("abs", x - t)


def _root_of_squares(error: Any, reduction: str, weight: float) -> Any:
    return apply("sqrt", reduced(error * error, reduction, weight))


def _rounded_off(error: Any, limit: float) -> Any:
    distance = apply("abs", error)
    near = engine(distance).map("minimum", distance, limit)
    return near * (distance - near / 2)


def _limited(error: Any, limit: float) -> Any:
    primitives = engine(error)
    return primitives.map("maximum", primitives.map("minimum", error, limit), -limit)


def _cosines(x: Any, t: Any, eps: float) -> Any:
    dots = x * t
    return engine(dots).sum(dots, -1, keepdims=True) / (_length(x, eps) * _length(t, eps))


def _cosine_derivative(x: Any, t: Any, eps: float) -> Any:
    """Return the derivative of the cosine similarity of rows by `x`."""
    length = _length(x, eps)
    dx = x * (_cosines(x, t, eps) / (length * length))
    dx = engine(dx).where(engine(length).greater(length, eps), dx, 0)  # a length replaced by eps is constant
    return t / (length * _length(t, eps)) - dx


def _length(x: Any, eps: float) -> Any:
    square = engine(x).sum(x * x, -1, keepdims=True)
    length = apply("sqrt", square)
    return engine(length).map("maximum", length, eps)
