"""Losses of predicted probabilities: cross-entropy, negative log-likelihood, KL divergence, binary cross-entropy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.autograd.registry import Typed
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, ShapeError, TapeError, messages
from tapegrad.errors.options import check_whole
from tapegrad.errors.ranges import check_options
from tapegrad.ops._float32 import in_float32
from tapegrad.ops._labels import Labels
from tapegrad.ops._mapped import apply
from tapegrad.ops._reduction import (
    Reduction,
    compared,
    of_rows,
    reduced,
    reduced_shape,
    same_sizes,
    untaped_only,
    unwrap_with_target,
    weight_of,
)
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.loss import elementwise_loss_shape, row_loss_shape
from tapegrad.ops.softmax import log_normalized, log_softmax_gradient
from tapegrad.ops.statistics import not_zero
from tapegrad.sizes import Dims, UnknownDims, at_least, show, surely_differ, surely_same
from tapegrad.tensors import T2, Float, T, Tensor, node
from tapegrad.tensors.merging import merging_loss, merging_loss_of_labels
from tapegrad.tensors.operands import known, same_dtype, tensor_only, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.engines.rows import Rows

    Untaped: TypeAlias = Tensor[Any, NoneTape, Any]
    Backward: TypeAlias = Callable[[Gradients], None]


def cross_entropy_shape(x: Dims, target: Dims, *, weight: Dims = (), reduction: str = "mean") -> Dims:
    """Return a scalar, or one loss per row; the target has the shape of the logits, or one label per row."""
    _check_class_weights(x, weight)

    def losses() -> Dims:
        rows = at_least(1, x=x)[:-1]
        # A last size of 1 is read as labels, unless there is only one class.
        is_label = len(target) != len(x) or (surely_same(target[-1], 1) and surely_differ(x[-1], 1))
        return same_sizes(rows if is_label else x, target, x)[: len(rows)]

    return reduced_shape(losses, reduction)


def nll_shape(x: Dims, target: Dims, *, weight: Dims = (), reduction: str = "mean") -> Dims:
    """Return a scalar, or one loss per row; the target has one label per row."""
    _check_class_weights(x, weight)
    return reduced_shape(lambda: same_sizes(at_least(1, x=x)[:-1], target, x), reduction)


def bce_with_logits_shape(x: Dims, target: Dims, *, pos_weight: Dims = (), reduction: str = "mean") -> Dims:
    """Return a scalar, or one loss per element; the target has the shape of the logits, and the weights broadcast."""
    if not isinstance(x, UnknownDims) and not _broadcasts_to(pos_weight, x):
        message = f"pos_weight {show(pos_weight)} does not broadcast to x {show(x)}"
        raise ShapeError(message)
    return elementwise_loss_shape(x, target, reduction=reduction)


def cross_entropy_dtypes(x: Typed, target: Typed) -> None:
    """Check the dtype of the target: ints for one label per row; for probabilities, the dtype of the logits."""
    is_label = target.rank != x.rank
    if target.dtype != x.dtype and not (is_label and target.is_integer):
        raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, x.dtype, "x", target.dtype, "target"))
    if is_label and not target.is_integer:
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "target", target.dtype, "integer"))


@merging_loss_of_labels
@op(cross_entropy_shape, dtypes=cross_entropy_dtypes)
@in_float32
def cross_entropy(
    x: Tensor[Any, T, Float],
    target: Tensor[Any, T2, Float | np.integer[Any]],
    *,
    weight: Tensor[Any, NoneTape, Float] | None = None,
    smoothing: float = 0.0,
    ignore_index: int | None = None,
    reduction: Reduction = "mean",
) -> Tensor[Any, Merge[T, T2], Float]:
    """Compute the cross-entropy loss between logits and class indices or probabilities.

        L = -(1/n) ∑_(i,c) p[i,c] ln softmax(x[i])[c]
        p = (1 - s) t + s / C
        dx = (1/n) (softmax(x) ∑_c p[c] - p) dL
        dt = -((1 - s) / n) ln softmax(x) dL

    With weights w, the probability `p[i,c]` counts `w[c]` times. The mean of labels is then divided by the sum of the
    weights of all labels; that of probabilities by the number of rows.

    Args:
        x: Logits in nats, `(..., C)`, a float dtype.
        target: Labels from 0 to C - 1, `(...)`; or probabilities, `(..., C)`, of the dtype of `x`.
        weight: The weight w of each class, `(C,)`, of the dtype of `x`, for example larger for a rare class. It gets no
            gradient. None for 1.
        smoothing: The fraction s of each target that is spread over all classes, from 0 to 1.
        ignore_index: A label to ignore: its rows have a loss of 0 and are not counted in the mean.
        reduction: `mean` over the rows that are not ignored, `sum`, or `none` for the loss of each row.

    Returns:
        A scalar, or `(...)` where nothing is reduced, in nats. The mean over no rows is NaN.

    Raises:
        ShapeError: The target has neither the shape of `x` nor that of its rows, or the weights are not `(C,)`.
        DTypeError: `x` is not a float, labels are not ints, or probabilities or weights are of another dtype.
        TapeError: The weights have a tape.
        IndexError: A label is negative or not below C.
        ValueError: `smoothing` is out of range, `ignore_index` is given with probabilities, or `reduction` is invalid.

    Source:
        Szegedy et al., [Rethinking the inception architecture](https://arxiv.org/abs/1512.00567), §7, for smoothing.
        PyTorch 2.13, `torch.nn.functional.cross_entropy`, for the weights.

    Examples:
        >>> logits = tg.tensor([[2.0, 0.5, -1.0], [0.0, 1.0, 3.0]])
        >>> labels = tg.tensor([0, 1])
        >>> round(tg.cross_entropy(logits, labels).item(), 3)
        1.206
        >>> grads = tg.cross_entropy(logits.trace(), labels).backward()
        >>> np.round(grads[logits].numpy().astype(float), 3).tolist()
        [[-0.107, 0.088, 0.02], [0.021, -0.443, 0.422]]
        >>> round(tg.cross_entropy(logits, labels, weight=tg.tensor([1.0, 3.0, 1.0])).item(), 3)
        1.688
    """
    check_options("cross_entropy", smoothing=smoothing)
    x, target, tape = unwrap_with_target(x, target)
    float_only(x)
    _check_target(x, target)
    classes = None if weight is None else _class_weights(x, weight)
    if target.ndim == x.ndim:
        if ignore_index is not None:
            message = f"cross_entropy: ignore_index is {ignore_index} but target holds probabilities, not labels"
            raise ValueError(message)
        share = weight_of("cross_entropy", reduction, math.prod(x.shape[:-1]))
        out, backward = _of_probabilities(x, target, smoothing, classes, share, reduction)
    else:
        if ignore_index is not None:
            check_whole("cross_entropy", "ignore_index", ignore_index)
        labels = Labels.of(x, target, ignore_index)
        if classes is None or not x.size:
            share = weight_of("cross_entropy", reduction, labels.count)
            merged: Any = tape  # Any: mypy does not know which tape a merged one is
            # A checkpointing tape computes the gradient from the logits again.
            saves_gradient = merged.owns and merged.checkpoint is None and isinstance(x.data, np.ndarray)
            out, backward = _of_labels(x, labels, smoothing, share, reduction, saves_gradient=saves_gradient)
        else:
            out, backward = _of_weighted_labels(x, labels, smoothing, classes, reduction)
    return tape.record(out, (x, target), backward)


def _of_labels(
    x: Untaped, labels: Labels, smoothing: float, weight: Any, reduction: Reduction, *, saves_gradient: bool
) -> tuple[Untaped, Backward]:
    """Compute the cross-entropy of labels and its closure, in one pass over `x` each, or one for both."""
    if not x.size:  # the maximum of no elements does not exist
        zeros = engine(x.data).zeros
        out = node(reduced(zeros(x.shape[:-1], x.dtype), reduction, weight))
        return out, lambda grads: grads.add(x, zeros(x.shape, grads.pop_output(out).dtype))
    share, scale = smoothing / x.shape[-1], labels.weighted(weight)
    scales = (scale, scale * share) if smoothing else (scale,)
    top, total, *others = engine(x.data).rowwise(
        exponential_sums, x.data, *(scales if saves_gradient else ()), axis=-1, with_sum=bool(smoothing)
    )

    def less_labels(dx: Any) -> Any:
        return labels.subtract(dx, scale * (1 - smoothing))

    saved = [less_labels(others.pop())] if saves_gradient else []  # for an upstream gradient of 1
    log_total = engine(total).log(total)
    logs = labels.pick(x.data) - top - log_total
    if smoothing:
        logs = logs * (1 - smoothing) + (others[0] - log_total * x.shape[-1]) * share
    out = node(reduced(labels.weighted(-logs).reshape(x.shape[:-1]), reduction, weight))

    def backward(grads: Gradients) -> None:
        dy = of_rows(grads.pop_output(out), x.shape, reduction)
        if reduction == "none":
            dy = labels.weighted(dy)
        values = (x.data, top, scale / total, *scales[1:])
        # A saved gradient may be overwritten: if the closure runs again, it computes it.
        found = {
            x: saved.pop() if saved else less_labels(engine(x.data).rowwise(scaled_exponentials, *values, axis=-1))
        }
        grads.add(x, engine(dy, found[x]).scale_in_place(found, x, dy))

    return out, backward


def _of_weighted_labels(
    x: Untaped, labels: Labels, smoothing: float, classes: Any, reduction: Reduction
) -> tuple[Untaped, Backward]:
    """Compute the cross-entropy of labels, whose classes have weights, and its closure."""
    each = labels.pick(engine(classes).broadcast_to(classes, x.shape))  # the weight of each row
    share = smoothing / max(x.shape[-1], 1)
    logs = log_normalized(x.data, -1)
    losses = each * -labels.pick(logs) * (1 - smoothing)
    if smoothing:
        losses = losses + _encoded(logs, classes).reshape(losses.shape) * share
    weight = _weight_of_labels("cross_entropy", labels, each, reduction)
    out = node(reduced(labels.weighted(losses).reshape(x.shape[:-1]), reduction, weight))

    def backward(grads: Gradients) -> None:
        dy = labels.weighted(of_rows(grads.pop_output(out) * weight, x.shape, reduction))
        logs = log_normalized(x.data, -1)
        dx = engine(logs).exp(logs) * (dy * (each * (1 - smoothing) + classes.sum() * share))
        if smoothing:
            dx = dx - classes * (dy * share)
        grads.add(x, labels.subtract(dx, dy * each * (1 - smoothing)))

    return out, backward


def _of_probabilities(
    x: Untaped, target: Untaped, smoothing: float, classes: Any, weight: Any, reduction: Reduction
) -> tuple[Untaped, Backward]:
    """Compute the cross-entropy of probabilities and its closure; `classes` are the weights of the classes, or None."""
    probabilities = target.data
    if smoothing:
        probabilities = probabilities * (1 - smoothing) + smoothing / max(x.shape[-1], 1)
    if classes is not None:
        probabilities = probabilities * classes
    out = node(reduced(_encoded(log_normalized(x.data, -1), probabilities), reduction, weight))

    def backward(grads: Gradients) -> None:
        dy = of_rows(grads.pop_output(out) * -weight, x.shape, reduction)
        logs = log_normalized(x.data, -1)
        if grads.wants(target):
            dt = logs * (dy * (1 - smoothing))
            grads.add(target, dt if classes is None else dt * classes)
        if not grads.wants(x):
            return
        dlogs = probabilities * dy
        grads.add(x, engine(dlogs, logs).rowwise(log_softmax_gradient, logs, dlogs, axis=-1, is_free=True))

    return out, backward


def exponential_sums(rows: Rows, x: Any, *scales: Any, with_sum: bool) -> tuple[Any, ...]:
    """Return of each row the maximum, and the sum of `e ** (x - maximum)`; and what is wanted besides.

    That is the sum of `x - maximum`, and, if there are scales for `scaled_exponentials`, its result with the first
    divided by the sum of the powers.
    """
    top = rows.max(x)
    shifted = x - top
    powers = rows.exp(shifted)
    total = rows.sum(powers)
    found = (top, total, rows.sum(shifted)) if with_sum else (top, total)
    return (*found, _scaled(powers, scales[0] / total, *scales[1:])) if scales else found


def scaled_exponentials(rows: Rows, x: Any, top: Any, scale: Any, share: Any = None) -> Any:
    """Return `e ** (x - top) * scale - share`: the gradient of the logarithm of the sum, less an equal share."""
    return _scaled(rows.exp(x - top), scale, share)


def _scaled(powers: Any, scale: Any, share: Any = None) -> Any:
    return powers * scale if share is None else powers * scale - share


@op(nll_shape, eager=True)
@in_float32
def nll(
    x: Tensor[Any, T, Float],
    target: Tensor[Any, NoneTape, np.integer[Any]],
    *,
    weight: Tensor[Any, NoneTape, Float] | None = None,
    ignore_index: int | None = None,
    reduction: Reduction = "mean",
) -> Tensor[Any, T, Float]:
    """Compute the negative log-likelihood loss of log-probabilities: `cross_entropy` without the softmax.

        L = -(1/n) ∑_i w[t[i]] x[i,t[i]]
        dx[i,c] = -(1/n) [c = t[i]] w[c] dL
        n = ∑_i w[t[i]]

    Args:
        x: Log-probabilities in nats, such as those of `log_softmax`, `(..., C)`, a float dtype.
        target: Labels from 0 to C - 1, `(...)`. It gets no gradient.
        weight: The weight w of each class, `(C,)`, of the dtype of `x`. It gets no gradient. None for 1.
        ignore_index: A label to ignore: its rows have a loss of 0 and are not counted in the mean.
        reduction: `mean` over the rows that are not ignored, `sum`, or `none` for the loss of each row.

    Returns:
        A scalar, or `(...)` where nothing is reduced, in nats. The mean over no rows is NaN.

    Raises:
        ShapeError: The target does not have one label per row of `x`, or the weights are not `(C,)`.
        DTypeError: `x` is not a float, labels are not ints, or weights are of another dtype.
        TapeError: The target has a tape, or the weights.
        IndexError: A label is negative or not below C.
        ValueError: `reduction` is invalid.

    Examples:
        >>> logits = tg.tensor([[2.0, 0.5, -1.0], [0.0, 1.0, 3.0]])
        >>> labels = tg.tensor([0, -1])
        >>> log_probabilities = tg.log_softmax(logits)
        >>> round(tg.nll(log_probabilities, labels, ignore_index=-1).item(), 3)
        0.241
    """
    untaped_only(target)
    x, tape = unwrap(x)
    float_only(x)
    if target.data.dtype.kind not in "iu":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "target", str(target.dtype), "integer"))
    classes = None if weight is None else _class_weights(x, weight)
    if ignore_index is not None:
        check_whole("nll", "ignore_index", ignore_index)
    labels = Labels.of(x, target, ignore_index)
    each = 1 if classes is None else labels.pick(engine(classes).broadcast_to(classes, x.shape))
    share = _weight_of_labels("nll", labels, each, reduction)
    out = node(reduced(labels.weighted(labels.pick(x.data) * -each).reshape(x.shape[:-1]), reduction, share))

    def backward(grads: Gradients) -> None:
        dy = of_rows(grads.pop_output(out) * -share, x.shape, reduction)
        grads.add(x, labels.place(labels.weighted(dy * each)))

    return tape.record(out, (x,), backward)


@merging_loss
@op(row_loss_shape, eager=True)
@in_float32
def kl_div(
    x: Tensor[Any, T, Float], target: Tensor[Any, T2, Float], *, reduction: Reduction = "mean"
) -> Tensor[Any, Merge[T, T2], Float]:
    """Compute the Kullback-Leibler divergence between target probabilities and predicted log-probabilities.

        L = (1/n) ∑_(i,c) t[i,c] (ln t[i,c] - x[i,c])
        dx = -(1/n) t dL
        dt = (1/n) (ln t + 1 - x) dL

    Args:
        x: Log-probabilities in nats, such as those of `log_softmax`, `(..., C)`, a float dtype.
        target: Probabilities, the same shape and dtype; one of 0 adds no loss, and its gradient is 0.
        reduction: `mean` over the rows, `sum`, or `none` for the divergence of each row.

    Returns:
        A scalar, or `(...)` where nothing is reduced, in nats.

    Raises:
        ShapeError: The shapes differ, or `x` is a scalar.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `reduction` is invalid.

    Source:
        Kullback & Leibler, [On information and sufficiency](https://doi.org/10.1214/aoms/1177729694), eq. 2.4. The mean
        is over rows: `batchmean` in PyTorch.

    Examples:
        >>> x = tg.log_softmax(tg.tensor([[0.0, 0.0], [1.0, 0.0]]))
        >>> target = tg.tensor([[0.75, 0.25], [0.25, 0.75]])
        >>> round(tg.kl_div(x, target).item(), 3)
        0.316
        >>> np.round(tg.kl_div(x, target, reduction="none").numpy().astype(float), 3).tolist()
        [0.131, 0.501]
    """
    x, target, tape = unwrap_with_target(x, target)
    same_dtype(x, target, "target")
    float_only(x)
    weight = weight_of("kl_div", reduction, math.prod(x.shape[:-1]))
    own = _encoded(_log(not_zero(target.data)), target.data)
    out = node(reduced(_encoded(x.data, target.data) - own, reduction, weight))

    def backward(grads: Gradients) -> None:
        dy = of_rows(grads.pop_output(out) * -weight, x.shape, reduction)
        if grads.wants(x):
            grads.add(x, target.data * dy)
        if grads.wants(target):
            t = target.data
            dt = x.data - (_log(not_zero(t)) + 1)
            grads.add(target, engine(dt).where(engine(t).equal(t, 0), 0, dt) * dy)

    return tape.record(out, (x, target), backward)


@merging_loss
@op(elementwise_loss_shape)
def bce(
    x: Tensor[Any, T, Float], target: Tensor[Any, T2, Float], *, reduction: Reduction = "mean"
) -> Tensor[Any, Merge[T, T2], Float]:
    """Compute the binary cross-entropy loss between probabilities and targets.

        L = -(1/n) ∑_i (t[i] max(ln x[i], -100)
                       + (1 - t[i]) max(ln(1 - x[i]), -100))
        dx = (1/n) ((x - t) / max(x (1 - x), 10⁻¹²)) dL
        dt = (1/n) (max(ln(1 - x), -100) - max(ln x, -100)) dL

    Args:
        x: Probabilities from 0 to 1, any shape, a float dtype; `bce_with_logits` is more precise near 0 and 1. A
            NaN makes the loss NaN.
        target: The true probabilities, from 0 to 1, the same shape and dtype.
        reduction: `mean`, `sum`, or `none` for the loss of each element.

    Returns:
        A scalar, or the shape of `x` where nothing is reduced, in nats. The loss of a probability of 0 or 1
        is 0 if it is right and 100 if it is wrong.

    Raises:
        ShapeError: The shapes differ; losses do not broadcast.
        DTypeError: The dtypes differ, or are not float.
        ValueError: `x` or `target` is not from 0 to 1, or `reduction` is invalid. Under `jit`, where values
            are unknown, such an `x` makes the loss NaN and such a target is not detected.

    Source:
        PyTorch 2.13, `torch.nn.functional.binary_cross_entropy`, for both bounds.

    Examples:
        >>> probabilities = tg.tensor([0.9, 0.2, 0.5])
        >>> target = tg.tensor([1.0, 0.0, 1.0])
        >>> round(tg.bce(probabilities, target).item(), 3)
        0.341
        >>> np.round(tg.bce(probabilities, target, reduction="none").numpy().astype(float), 3).tolist()
        [0.105, 0.223, 0.693]
    """
    return _bounded_bce(x, target, reduction=reduction, is_float16=getattr(x, "dtype", None) == np.float16)


@merging_loss
@op(bce_with_logits_shape)
@in_float32
def bce_with_logits(
    x: Tensor[Any, T, Float],
    target: Tensor[Any, T2, Float],
    *,
    pos_weight: Tensor[Any, NoneTape, Float] | None = None,
    reduction: Reduction = "mean",
) -> Tensor[Any, Merge[T, T2], Float]:
    """Compute the binary cross-entropy loss between logits and targets: `bce` of their `sigmoid`.

        L = (1/n) ∑_i (ln(1 + e^(x[i])) - t[i] x[i])
        dx = (1/n) (σ(x) - t) dL
        dt = -(1/n) x dL

    With weights p, the losses of what is true count p times:

        L = (1/n) ∑_i (p[i] t[i] ln(1 + e^(-x[i]))
                       + (1 - t[i]) ln(1 + e^(x[i])))

    Args:
        x: Logits in nats, any shape, a float dtype; finite ones have a finite loss.
        target: The true probabilities, from 0 to 1, the same shape and dtype.
        pos_weight: The weights p of positive examples, for example the number of negative ones divided by that of
            positive ones, for each class; broadcasts to `x` and has its dtype. It gets no gradient. None for 1.
        reduction: `mean`, `sum`, or `none` for the loss of each element.

    Returns:
        A scalar, or the shape of `x` where nothing is reduced, in nats.

    Raises:
        ShapeError: The shapes differ, because losses do not broadcast, or the weights do not broadcast to `x`.
        DTypeError: The dtypes differ, or are not float.
        TapeError: The weights have a tape.
        ValueError: `reduction` is invalid.

    Source:
        PyTorch 2.13, `torch.nn.functional.binary_cross_entropy_with_logits`, for the weights.

    Examples:
        >>> logits = tg.tensor([2.0, -1.0, 0.0])
        >>> target = tg.tensor([1.0, 0.0, 1.0])
        >>> round(tg.bce_with_logits(logits, target).item(), 3)
        0.378
        >>> grads = tg.bce_with_logits(logits.trace(), target).backward()
        >>> np.round(grads[logits].numpy().astype(float), 3).tolist()
        [-0.04, 0.09, -0.167]
        >>> round(tg.bce_with_logits(logits, target, pos_weight=tg.tensor(3.0)).item(), 3)
        0.924
    """
    # The two terms are computed separately, because softplus(x) - t * x would cancel for large x.
    if pos_weight is not None:
        p = _weights_of_positives(x, target, pos_weight)
        return compared(
            "bce_with_logits",
            x,
            target,
            reduction,
            lambda x, t: apply("softplus", -x) * t * p + apply("softplus", x) * (1 - t),
            lambda x, t: apply("sigmoid", x) * (1 - t) - apply("sigmoid", -x) * t * p,
            lambda x, _: apply("softplus", -x) * p - apply("softplus", x),
        )
    return compared(
        "bce_with_logits",
        x,
        target,
        reduction,
        lambda x, t: apply("softplus", -x) * t + apply("softplus", x) * (1 - t),
        lambda x, t: apply("sigmoid", x) - t,
        lambda x, _: -x,
    )


def _weights_of_positives(x: Any, target: Any, weight: Any) -> Any:
    """Return the value of the weights of `bce_with_logits`, after checking them."""
    for name, operand in {"x": x, "target": target, "pos_weight": weight}.items():
        tensor_only(operand, name)
    if weight.tape.owns:
        raise TapeError(messages.tape_unwanted(messages.UNNAMED, "pos_weight"))
    bce_with_logits_shape(x.shape, target.shape, pos_weight=weight.shape)
    same_dtype(x, weight, "pos_weight")
    return weight.data


def _class_weights(x: Any, weight: Any) -> Any:
    """Return the value of the weights of the classes, after checking them."""
    tensor_only(weight, "weight")
    if weight.tape.owns:
        raise TapeError(messages.tape_unwanted(messages.UNNAMED, "weight"))
    _check_class_weights(x.shape, weight.shape)
    same_dtype(x, weight, "weight")
    return engine(weight.data).broadcast_to(weight.data, x.shape[-1:])


def _check_class_weights(x: Dims, weight: Dims) -> None:
    """Reject weights that are not one for each class; one for all has no effect on a mean."""
    if not isinstance(x, UnknownDims) and len(x) and not _broadcasts_to(weight, x[-1:]):
        message = f"weight {show(weight)} does not fit x {show(x)}: expected {show(x[-1:])}"
        raise ShapeError(message)


def _weight_of_labels(call: str, labels: Labels, each: Any, reduction: Reduction) -> Any:
    """Return the weight of each loss in the result, where rows have the weights `each`, or 1 for all."""
    if isinstance(each, int) or reduction != "mean":
        return weight_of(call, reduction, labels.count)
    counted = labels.weighted(each)
    total = engine(counted).sum(counted, None, keepdims=False)
    return weight_of(call, reduction, float(total) if isinstance(total, np.ndarray | np.generic) else total)


def _broadcasts_to(x: Dims, shape: Dims) -> bool:
    """Return whether a shape may broadcast to another; an unknown rank may be any."""
    if isinstance(x, UnknownDims):
        return True
    aligned = shape[len(shape) - len(x) :] if len(x) <= len(shape) else None
    return aligned is not None and not any(
        surely_differ(n, 1) and surely_differ(n, m) for n, m in zip(x, aligned, strict=True)
    )


@in_float32
def _bounded_bce(
    x: Tensor[Any, T, Float], target: Tensor[Any, T2, Float], *, reduction: Reduction, is_float16: bool
) -> Tensor[Any, Merge[T, T2], Float]:
    def log_of(x: Any) -> Any:
        return _bounded_log(_log, x, 0)

    def log_of_rest(x: Any) -> Any:
        return _bounded_log(lambda x: apply("log1p", -x), x, 1)

    def loss(x: Any, t: Any) -> Any:
        _check_range(x, "x", "; bce_with_logits takes scores")
        _check_range(t, "target")
        return -(t * log_of(x) + (1 - t) * log_of_rest(x))

    def derivative(x: Any, t: Any) -> Any:
        variance = x * (1 - x)
        primitives = engine(variance)
        dx = (x - t) / primitives.map("maximum", variance, 1e-12)
        if not is_float16:
            return dx
        # An infinite gradient would become NaN when multiplied by the derivative of a saturated sigmoid, which is 0.
        largest = float(np.finfo(np.float16).max)
        return primitives.map("maximum", primitives.map("minimum", dx, largest), -largest)

    return compared("bce", x, target, reduction, loss, derivative, lambda x, _: log_of_rest(x) - log_of(x))


def _bounded_log(log: Callable[[Any], Any], x: Any, pole: int) -> Any:
    """Compute a logarithm clamped to at least -100; at the pole its derivative is 0 instead of NaN."""
    primitives = engine(x)
    is_pole = primitives.equal(x, pole)
    logs = primitives.where(is_pole, -100, log(primitives.where(is_pole, 1 - pole, x)))
    return primitives.map("maximum", logs, -100)


def _check_range(x: Any, name: str, hint: str = "") -> None:
    """Reject values that are not between 0 and 1."""
    values = known(x)
    if values is None:
        return  # values are unknown under `jit`
    outside = np.asarray((values < 0) | (values > 1))
    if outside.any():
        index = tuple(int(axis[0]) for axis in np.argwhere(outside).T)
        at = f" at index {show(index)}" if index else ""
        message = f"bce: {name} is {values[index]}{at} but must be from 0 to 1{hint}"
        raise ValueError(message)


def _log(x: Any) -> Any:
    """Compute the logarithm of a raw value with its engine."""
    return engine(x).log(x)


def _check_target(x: Tensor[Any, Any, Any], target: Tensor[Any, Any, Any]) -> None:
    """Reject a target that is neither one label per row nor one probability per logit; the rules raise the error."""
    scores, targets = x.data, target.data
    if not scores.ndim or targets.shape not in (scores.shape, scores.shape[:-1]):
        cross_entropy_shape(x.shape, target.shape)
    if targets.dtype != scores.dtype if targets.ndim == scores.ndim else targets.dtype.kind not in "iu":
        cross_entropy_dtypes(Typed(x.ndim, str(x.dtype)), Typed(target.ndim, str(target.dtype)))


def _encoded(logs: Any, probabilities: Any) -> Any:
    """Return the cross-entropy of each row; a probability of 0 adds nothing, although 0 * -inf is NaN."""
    primitives = engine(logs, probabilities)
    logs = primitives.where(engine(probabilities).equal(probabilities, 0), 0, logs)
    return -primitives.sum(logs * probabilities, -1, keepdims=False)
