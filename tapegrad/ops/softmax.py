"""Ops that normalise along one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.backend import Int, engine
from tapegrad.dims import Dims, normal_axis
from tapegrad.op import op
from tapegrad.operands import unwrap
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.reduce import check_axis
from tapegrad.tensor import Float, S, T, Tensor, node

if TYPE_CHECKING:
    from tapegrad.gradients import Gradients


def softmax_shape(x: Dims, axis: Int = -1) -> Dims:
    """Keep the shape; the axis must be there."""
    normal_axis(axis, x)
    return x


@op(softmax_shape)
def softmax(x: Tensor[S, T, Float], axis: Int = -1) -> Tensor[S, T, Float]:
    r"""Turn scores into probabilities along an axis.

    $$y_i = e^{x_i} / \sum_j e^{x_j}, \quad dx = y \, (dy - \sum_j y_j \, dy_j)$$

    Args:
        x: Scores in nats, any shape, a float dtype; finite scores give finite probabilities.
        axis: The axis along which the probabilities add up to one.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: The axis is out of range.
        DTypeError: `x` is not a float.
    """
    x, tape = unwrap(x)
    float_only(x)
    check_axis(x, axis)
    if not x.size:
        normal_axis(axis, x.shape)  # an empty axis has no max, so NumPy is not asked
    out = node(engine(x.data).softmax(x.data, axis) if x.size else x.data)

    def backward(grads: Gradients) -> None:
        dy, is_free = grads.pop_reusable(out)
        grads.add(x, engine(dy, out.data).softmax_back(out.data, dy, axis, is_free=is_free))

    return tape.record(out, (x,), backward, saved=(out,))


@op(softmax_shape)
def log_softmax(x: Tensor[S, T, Float], axis: Int = -1) -> Tensor[S, T, Float]:
    r"""Turn scores into logarithms of probabilities along an axis.

    $$y_i = x_i - \ln \sum_j e^{x_j}, \quad dx = dy - e^y \sum_j dy_j$$

    Args:
        x: Scores in nats, any shape, a float dtype; finite scores give finite logarithms.
        axis: The axis along which the probabilities add up to one.

    Returns:
        The shape of `x`, in nats.

    Raises:
        ShapeError: The axis is out of range.
        DTypeError: `x` is not a float.
    """
    x, tape = unwrap(x)
    float_only(x)
    check_axis(x, axis)
    if not x.size:
        normal_axis(axis, x.shape)
    out = node(log_normalized(x.data, axis))

    def backward(grads: Gradients) -> None:
        dy, is_free = grads.pop_reusable(out)
        grads.add(x, engine(dy, out.data).log_softmax_back(out.data, dy, axis, is_free=is_free))

    return tape.record(out, (x,), backward, saved=(out,))


def log_normalized(x: Any, axis: Int) -> Any:
    """Compute the logarithm of the softmax of a raw value; an empty axis adds up to 0, which has no log."""
    return engine(x).log_softmax(x, axis) if x.size else x
