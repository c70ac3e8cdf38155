"""Softmax and log-softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import Int, engine
from tapegrad.ops.elementwise import float_only
from tapegrad.sizes import Dims, normal_axis
from tapegrad.tensors import Float, S, T, Tensor, node
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.engines.rows import Rows


def softmax_shape(x: Dims, axis: Int = -1) -> Dims:
    """Return the shape of `x`, after checking the axis."""
    normal_axis(axis, x)
    return x


@op(softmax_shape)
def softmax(x: Tensor[S, T, Float], axis: Int = -1) -> Tensor[S, T, Float]:
    """Compute the softmax along an axis.

        y[i] = e^(x[i]) / ∑_j e^(x[j])
        dx = y (dy - ∑_j y[j] dy[j])

    Args:
        x: Logits in nats, any shape, a float dtype; finite logits give finite probabilities.
        axis: The axis along which the probabilities sum to one.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: The axis is out of range.
        DTypeError: `x` is not a float, or `axis` is not an int.

    Examples:
        >>> logits = tg.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 1000.0]])
        >>> p = tg.softmax(logits)
        >>> np.round(p.numpy().astype(float), 3).tolist()
        [[0.09, 0.245, 0.665], [0.0, 0.0, 1.0]]
        >>> x = tg.tensor([1.0, 2.0, 3.0])
        >>> grads = tg.softmax(x.trace())[2].backward()
        >>> np.round(grads[x].numpy().astype(float), 3).tolist()
        [-0.06, -0.163, 0.223]
    """
    x, tape = unwrap(x)
    float_only(x)
    _check_axis(x, axis)
    out = node(engine(x.data).rowwise(softmax_of, x.data, axis=axis) if x.size else x.data)

    def backward(grads: Gradients) -> None:
        dy, is_free = grads.pop_reusable(out)
        y = out.data
        grads.add(x, engine(dy, y).rowwise(softmax_gradient, y, dy, axis=axis, is_free=is_free))

    return tape.record(out, (x,), backward, saved=(out,))


@op(softmax_shape)
def log_softmax(x: Tensor[S, T, Float], axis: Int = -1) -> Tensor[S, T, Float]:
    """Compute the logarithm of the softmax along an axis.

        y[i] = x[i] - ln ∑_j e^(x[j])
        dx = dy - e^y ∑_j dy[j]

    Args:
        x: Logits in nats, any shape, a float dtype; finite logits give finite results.
        axis: The axis along which the probabilities sum to one.

    Returns:
        The shape of `x`, in nats.

    Raises:
        ShapeError: The axis is out of range.
        DTypeError: `x` is not a float, or `axis` is not an int.

    Examples:
        >>> logits = tg.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 1000.0]])
        >>> np.round(tg.log_softmax(logits).numpy().astype(float), 3).tolist()
        [[-2.408, -1.408, -0.408], [-1000.0, -1000.0, 0.0]]
    """
    x, tape = unwrap(x)
    float_only(x)
    _check_axis(x, axis)
    out = node(log_normalized(x.data, axis))

    def backward(grads: Gradients) -> None:
        dy, is_free = grads.pop_reusable(out)
        y = out.data
        grads.add(x, engine(dy, y).rowwise(log_softmax_gradient, y, dy, axis=axis, is_free=is_free))

    return tape.record(out, (x,), backward, saved=(out,))


def _check_axis(x: Tensor[Any, Any, Any], axis: Int) -> None:
    """Reject axes that NumPy takes, such as None for all of them, and those that it does not check."""
    if type(axis) is not int or not x.size or not x.shape:
        normal_axis(axis, x.shape)


def log_normalized(x: Any, axis: Int) -> Any:
    """Compute the log-softmax of a raw value; return an empty value as it is, because log(0) is not finite."""
    return engine(x).rowwise(log_softmax_of, x, axis=axis) if x.size else x


def softmax_of(rows: Rows, x: Any) -> Any:
    """Compute the softmax of rows."""
    powers = rows.scaled_exp(x)
    return powers / rows.sum(powers)


def softmax_gradient(rows: Rows, y: Any, dy: Any) -> Any:
    """Compute the gradient of logits from that of their softmax `y`."""
    return y * (dy - rows.sum(y * dy))


def log_softmax_of(rows: Rows, x: Any) -> Any:
    """Compute the log-softmax of rows."""
    shifted = x - rows.max(x)  # e ** 89 overflows in float32
    return shifted - rows.log(rows.sum(rows.exp(shifted)))


def log_softmax_gradient(rows: Rows, y: Any, dy: Any) -> Any:
    """Compute the gradient of logits from that of their log-softmax `y`."""
    return dy - rows.exp(y) * rows.sum(dy)
