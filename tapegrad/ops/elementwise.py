"""Elementwise ops of one operand, and the shape rules and dtype checks of all elementwise ops."""

from __future__ import annotations

import operator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.autograd.tape import NONE
from tapegrad.engines import engine
from tapegrad.engines.thresholds import DEFER_MIN_ELEMENTS, FUSE_MIN_ELEMENTS
from tapegrad.errors import DTypeError, messages
from tapegrad.errors.options import check_number
from tapegrad.ops._broadcast import accumulate_like
from tapegrad.ops._large import elementwise
from tapegrad.sizes import Dims, broadcast
from tapegrad.tensors import Float, G, Real, S, T, Tensor, node
from tapegrad.tensors.nodes import defer_relu
from tapegrad.tensors.operands import is_concrete, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients


def elementwise_shape(x: Dims) -> Dims:
    """Return the shape of `x`."""
    return x


def broadcast_shape(x: Dims, y: Dims) -> Dims:
    """Return the shape that both operands broadcast to."""
    return broadcast(x=x, y=y)


@op(elementwise_shape, memory_bound=True)
def scale(x: Tensor[S, T, Float], *, factor: float) -> Tensor[S, T, Float]:
    """Multiply a tensor by a number.

        y = c x
        dx = c dy

    Args:
        x: Any shape, a float dtype.
        factor: The number c.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([1.0, -2.0, 3.0])
        >>> tg.scale(x, factor=0.5).tolist()
        [0.5, -1.0, 1.5]
        >>> grads = tg.scale(x.trace(), factor=0.5).sum().backward()
        >>> grads[x].tolist()
        [0.5, 0.5, 0.5]
    """
    x, tape = unwrap(x)
    float_only(x)
    check_number("scale", "factor", factor)
    out = node(x.data * factor)

    def backward(grads: Gradients) -> None:
        accumulate_like(grads, x, grads.pop_output(out) * factor)

    return tape.record(out, (x,), backward, saved=())


@op(elementwise_shape, operator="__neg__", memory_bound=True)
def neg(x: Tensor[S, T, Real]) -> Tensor[S, T, Real]:
    """Negate each element.

        y = -x

    Args:
        x: Any shape.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is bool.

    Examples:
        >>> x = tg.tensor([1.0, -2.0, 3.0])
        >>> tg.neg(x).tolist()
        [-1.0, 2.0, -3.0]
        >>> (-x).tolist()
        [-1.0, 2.0, -3.0]
    """
    x, tape = unwrap(x)
    number_only(x)
    out = node(-x.data)

    def backward(grads: Gradients) -> None:
        accumulate_like(grads, x, -grads.pop_output(out))

    return tape.record(out, (x,), backward, saved=())


@op(elementwise_shape, operator="__pos__", memory_bound=True)
def positive(x: Tensor[S, T, Real]) -> Tensor[S, T, Real]:
    """Return `+x`, which has the values of `x`.

        y = +x
        dx = dy

    Args:
        x: Any shape.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is bool.

    Examples:
        >>> x = tg.tensor([1.0, -2.0, 3.0])
        >>> tg.positive(x).tolist()
        [1.0, -2.0, 3.0]
        >>> (+x).tolist()
        [1.0, -2.0, 3.0]
    """
    x, tape = unwrap(x)
    number_only(x)
    out = node(x.data)

    def backward(grads: Gradients) -> None:
        accumulate_like(grads, x, grads.pop_output(out))

    return tape.record(out, (x,), backward)


@op(elementwise_shape, memory_bound=True)
def exp(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the exponential of each element.

        y = e^x
        dx = y dy

    Args:
        x: Any shape, a float dtype. Overflow gives infinity, as in NumPy.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([-1.0, 0.0, 1.0])
        >>> np.round(tg.exp(x).numpy().astype(float), 3).tolist()
        [0.368, 1.0, 2.718]
        >>> grads = tg.exp(x.trace()).sum().backward()
        >>> np.round(grads[x].numpy().astype(float), 3).tolist()
        [0.368, 1.0, 2.718]
    """
    x, tape = unwrap(x)
    float_only(x)
    out = node(engine(x.data).exp(x.data))

    def backward(grads: Gradients) -> None:
        dy, y = grads.pop_output(out), out.data
        accumulate_like(grads, x, dy * y if y.size < FUSE_MIN_ELEMENTS else elementwise(operator.mul, dy, y))

    return tape.record(out, (x,), backward, saved=(out,))


@op(elementwise_shape, memory_bound=True)
def log(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the natural logarithm of each element.

        y = ln x
        dx = dy / x

    Args:
        x: Any shape, a float dtype. Zero gives minus infinity and a negative number NaN, as in NumPy.

    Returns:
        The shape of `x`, in nats.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([0.5, 1.0, 4.0])
        >>> np.round(tg.log(x).numpy().astype(float), 3).tolist()
        [-0.693, 0.0, 1.386]
        >>> grads = tg.log(x.trace()).sum().backward()
        >>> grads[x].tolist()
        [2.0, 1.0, 0.25]
    """
    x, tape = unwrap(x)
    float_only(x)
    out = node(engine(x.data).log(x.data))

    def backward(grads: Gradients) -> None:
        dy, value = grads.pop_output(out), x.data
        accumulate_like(
            grads, x, dy / value if dy.size < FUSE_MIN_ELEMENTS else elementwise(operator.truediv, dy, value)
        )

    return tape.record(out, (x,), backward, saved=(x,))


@op(elementwise_shape, memory_bound=True)
def tanh(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the hyperbolic tangent of each element.

        y = tanh x
        dx = (1 - y²) dy

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`, between -1 and 1.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([-2.0, 0.0, 0.5])
        >>> np.round(tg.tanh(x).numpy().astype(float), 3).tolist()
        [-0.964, 0.0, 0.462]
        >>> grads = tg.tanh(x.trace()).sum().backward()
        >>> np.round(grads[x].numpy().astype(float), 3).tolist()
        [0.071, 1.0, 0.786]
    """
    x, tape = unwrap(x)
    float_only(x)
    out = node(engine(x.data).tanh(x.data))

    def backward(grads: Gradients) -> None:
        dy, y = grads.pop_output(out), out.data
        # (1 - y²) * dy is slower, because NumPy converts the 1 to an array (benchmarks/devices.py, "tanh").
        accumulate_like(
            grads,
            x,
            dy - dy * y * y if y.size < FUSE_MIN_ELEMENTS else elementwise(lambda dy, y: dy - dy * y * y, dy, y),
        )

    return tape.record(out, (x,), backward, saved=(out,))


@op(elementwise_shape, memory_bound=True)
def relu(x: Tensor[S, T, Real]) -> Tensor[S, T, Real]:
    """Apply the rectified linear unit (ReLU): replace negative elements by zero.

        y = max(x, 0)
        dx = [x > 0] dy

    Args:
        x: Any shape. At zero the gradient is zero.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is bool.

    Examples:
        >>> x = tg.tensor([-1.0, 0.0, 2.0])
        >>> tg.relu(x).tolist()
        [0.0, 0.0, 2.0]
        >>> grads = tg.relu(x.trace()).sum().backward()
        >>> grads[x].tolist()
        [0.0, 0.0, 1.0]
    """
    x, tape = unwrap(x)
    number_only(x)
    is_deferred = x.data.size >= DEFER_MIN_ELEMENTS and _is_of_images(x, tape)
    out = node(x.data if is_deferred else engine(x.data).relu(x.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        accumulate_like(grads, x, engine(dy, x.data).relu_back(x.data, dy))

    y = tape.record(out, (x,), backward, saved=(x,))
    if is_deferred:
        defer_relu(y, out, x)
    return y


@op(elementwise_shape, memory_bound=True)
def astype(x: Tensor[S, T, Any], dtype: type[G] | np.dtype[G]) -> Tensor[S, T, G]:
    """Convert each element to another dtype; the gradient is converted back.

        y = x
        dx = dy

    Args:
        x: Any shape.
        dtype: A NumPy dtype, or its scalar type, such as `numpy.float64`. Only a conversion from float to float has a
            gradient.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `dtype` is neither a NumPy dtype nor a scalar type.

    Examples:
        >>> x = tg.tensor([1.75, -0.5, 3.0])
        >>> tg.astype(x, np.int64).tolist()
        [1, 0, 3]
        >>> y = x.astype(np.float64)
        >>> str(y.dtype), y.tolist()
        ('float64', [1.75, -0.5, 3.0])
    """
    x, tape = unwrap(x)
    out = node(engine(x.data).cast(x.data, scalar_type(dtype)))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        if x.is_float:
            accumulate_like(grads, x, engine(dy).cast(dy, x.dtype))

    return tape.record(out, (x,), backward, saved=())


def _is_of_images(x: Tensor[Any, Any, Any], tape: Any) -> bool:
    """Return whether an operand holds images or volumes that are data, and the tape saves values."""
    value: Any = x.data
    return (
        type(value) is np.ndarray
        and value.ndim >= 4
        and value.dtype.char in "fd"
        and not x.is_of_module
        and (tape is NONE or (tape.owns and tape.checkpoint is None))
    )


def is_fraction(number: object) -> bool:
    """Return whether a number is a float of Python or NumPy; None is not."""
    return isinstance(number, float) or getattr(getattr(number, "dtype", None), "kind", "") in ("f", "V")


def scalar_type(dtype: Any, *, follows_shape: bool = False) -> Any:
    """Return the NumPy scalar type of a dtype; reject `float` and the like, for which there is no static type.

    Args:
        dtype: What was given as a dtype.
        follows_shape: Whether the argument before it is a shape.

    Raises:
        DTypeError: `dtype` is neither a dtype nor a scalar type, or is not one of real numbers or bools.
    """
    scalar = dtype.type if isinstance(dtype, np.dtype) else dtype
    if not isinstance(scalar, type):
        given = messages.with_article(type(dtype).__name__)
    elif _is_known(scalar):
        return scalar
    elif not is_concrete(scalar):
        given = f"the abstract class {scalar.__name__}"
    elif issubclass(scalar, np.generic) and scalar.__module__ == "numpy":
        raise DTypeError(messages.no_real_dtype(messages.UNNAMED, "dtype", scalar.__name__.rstrip("_")))
    else:
        given = f"the class {scalar.__name__}"
    raise DTypeError(messages.no_dtype(messages.UNNAMED, "dtype", given, follows_shape=follows_shape))


@cache
def _is_known(scalar: type[Any]) -> bool:
    """Return whether ops support a scalar type: NumPy real numbers and bools, and bfloat16."""
    if not issubclass(scalar, np.generic) or not is_concrete(scalar):
        return False
    return np.dtype(scalar).kind in "biuf" if scalar.__module__ == "numpy" else scalar.__name__ == "bfloat16"


def float_only(x: Tensor[Any, Any, Any], given: object = None) -> None:
    """Reject ints and bools, which NumPy would convert to float64; `given` is the first of two operands as passed."""
    if x.data.dtype.kind not in "fV":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, operand_name(given), str(x.dtype), "floating"))


def number_only(x: Tensor[Any, Any, Any], given: object = None) -> None:
    """Reject bools, which have no sign; `given` is the first of two operands as the caller passed it."""
    if x.data.dtype.kind == "b":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, operand_name(given), str(x.dtype), "number"))


def operand_name(given: object) -> str:
    """Return the name of the operand that has the dtype: `y` if the first one is a Python number, which has none."""
    return "y" if isinstance(given, bool | int | float) else "x"
