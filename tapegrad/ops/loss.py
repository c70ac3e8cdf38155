"""Losses: how far predictions are from their targets, averaged over the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad import sentences
from tapegrad.backend import engine
from tapegrad.dims import Dims, at_least, show, surely_differ
from tapegrad.errors import DTypeError, ShapeError, TapeError
from tapegrad.op import op
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.softmax import log_normalized
from tapegrad.tensor import Float, T, Tensor, handle, same_dtype, split, tensor_only

if TYPE_CHECKING:
    from tapegrad.tape import Gradients, NoneTape


def mse_shape(x: Dims, target: Dims) -> Dims:
    """Gives a scalar; nothing is broadcast."""
    _same_sizes(x, target, show(x))
    return ()


def cross_entropy_shape(x: Dims, target: Dims) -> Dims:
    """Gives a scalar; the target has the shape of the scores, or one label where they have a row."""
    at_least(1, x=x)
    _same_sizes(x if len(target) == len(x) else x[:-1], target, show(x))
    return ()


@op(mse_shape, eager=True)
def mse(x: Tensor[Any, T, Float], target: Tensor[Any, NoneTape, Float]) -> Tensor[tuple[()], T, Float]:
    r"""Averages the squared errors over all elements.

    $$L = \frac{1}{n} \sum_i (x_i - t_i)^2, \quad dx = \frac{2}{n} (x - t) \, dL$$

    Args:
        x: Predictions, any shape, a float dtype.
        target: What they should have been, the same shape; it gets no gradient.

    Returns:
        A scalar, in squares of the units of `x`.

    Raises:
        ShapeError: The shapes differ; a loss broadcasts nothing.
        DTypeError: The dtypes differ, or are not float.
        TapeError: The target has a tape.
    """
    untaped_only(target)
    x, tape = split(x)
    same_dtype(x, target, "target")
    float_only(x)
    error = x.data - target.data
    scale = 1 / x.size if x.size else np.nan
    out = handle(engine(error).sum(error * error, None, keepdims=False) * scale)

    def backward(grads: Gradients) -> None:
        grads.add(x, (x.data - target.data) * (grads.take(out) * (2 * scale)))

    return tape.record(out, (x,), backward)


@op(cross_entropy_shape, eager=True)
def cross_entropy(
    x: Tensor[Any, T, Float], target: Tensor[Any, NoneTape, Float | np.integer[Any]]
) -> Tensor[tuple[()], T, Float]:
    r"""Averages over the batch how many nats the scores need to encode the targets.

    $$L = -\frac{1}{n} \sum_{ic} t_{ic} \ln \operatorname{softmax}(x_i)_c, \quad
    dx = \frac{1}{n} \left( \operatorname{softmax}(x) \sum_c t_{c} - t \right) dL$$

    Args:
        x: Scores in nats, `(..., C)`, a float dtype.
        target: Labels from 0 to C - 1, `(...)`; or probabilities, `(..., C)`, of the dtype of `x`. It gets no gradient.

    Returns:
        A scalar, in nats.

    Raises:
        ShapeError: The target has neither the shape of `x` nor that of its rows.
        DTypeError: `x` is not a float, or probabilities are of another dtype.
        TapeError: The target has a tape.
        IndexError: A label is negative or not below C.
    """
    untaped_only(target)
    x, tape = split(x)
    float_only(x)
    probabilities = _probabilities(x, target)
    rows = x.size // x.shape[-1] if x.size else 0
    scale = 1 / rows if rows else np.nan
    logs = log_normalized(x.data, -1)
    primitives = engine(logs)
    logs = primitives.where(engine(probabilities).equal(probabilities, 0), 0, logs)  # 0 * -inf is NaN
    out = handle(primitives.sum(logs * probabilities, None, keepdims=False) * -scale)

    def backward(grads: Gradients) -> None:
        dlogs = probabilities * (grads.take(out) * -scale)
        primitives = engine(dlogs)
        logs = log_normalized(x.data, -1)
        grads.add(x, dlogs - engine(logs).exp(logs) * primitives.sum(dlogs, -1, keepdims=True))

    return tape.record(out, (x,), backward)


def untaped_only(target: Tensor[Any, Any, Any]) -> None:
    """Refuses a traced target, for it gets no gradient."""
    tensor_only(target, "target")
    if target.owns_tape:
        raise TapeError(sentences.tape_unwanted(sentences.UNNAMED, "target"))


def _probabilities(x: Tensor[Any, Any, Any], target: Tensor[Any, Any, Any]) -> Any:
    are_labels = target.data.dtype.kind in "iu"
    if target.ndim == x.ndim or not are_labels:
        same_dtype(x, target, "target")
    if target.ndim == x.ndim:
        return target.data
    if not are_labels:
        raise DTypeError(sentences.wrong_dtype(sentences.UNNAMED, "target", str(target.dtype), "integer"))
    labels, classes = target.numpy(), x.shape[-1]
    outside = labels[(labels < 0) | (labels >= classes)]
    if outside.size:
        message = f"label {outside.flat[0]} is not one of the {classes} classes of x {show(x.shape)}"
        raise IndexError(message)
    return engine(target.data).one_hot(target.data, classes, x.dtype)


def _same_sizes(expected: Dims, target: Dims, scores: str) -> None:
    if len(expected) != len(target) or any(surely_differ(n, m) for n, m in zip(expected, target, strict=True)):
        message = f"target {show(target)} does not fit x {scores}: expected {show(expected)}"
        raise ShapeError(message)
