"""Powers and roots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypeVar

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, messages
from tapegrad.ops._broadcast import accumulate_broadcast
from tapegrad.ops._mapped import apply, mapped
from tapegrad.ops.elementwise import broadcast_shape, elementwise_shape, float_only, number_only
from tapegrad.tensors import T1, T2, Float, Real, S, T, Tensor, node
from tapegrad.tensors.operands import known, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge
    from tapegrad.tensors import Number

OtherReal = TypeVar("OtherReal", bound=np.number[Any], default=np.float32)


@op(broadcast_shape, operator="__pow__", memory_bound=True)
def pow(x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, Real] | Number) -> Tensor[Any, Merge[T1, T2], Real]:
    """Raise `x` to the power `y` element by element.

        z = x^y
        dx = y x^(y - 1) dz
        dy = ln(x) z dz

    Args:
        x: Any shape, or a number. Where `x` is negative, the gradient of `y` is NaN; where `x` is 0, it is 0, or
            -inf if the power is infinite.
        y: A shape that broadcasts with `x`, or a number. Where it is 0, the result is 1 and the gradient of `x` 0.

    Returns:
        The shape both broadcast to.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are bool.
        ValueError: An int is raised to a negative power.

    Examples:
        >>> tg.pow(tg.tensor([1, 2, 3]), 2).tolist()
        [1, 4, 9]
        >>> x = tg.tensor([1.0, 4.0, 16.0])
        >>> np.round((x**0.5).numpy().astype(float), 3).tolist()
        [1.0, 2.0, 4.0]
        >>> grads = (x.trace() ** 0.5).sum().backward()
        >>> np.round(grads[x].numpy().astype(float), 3).tolist()
        [0.5, 0.25, 0.125]
    """
    given = x
    x, y, tape = unwrap(x, y)
    number_only(x, given)
    return _raised("pow", x, y, tape)


@op(broadcast_shape)
def float_power(
    x: Tensor[Any, T1, Real] | Number, y: Tensor[Any, T2, OtherReal] | Number
) -> Tensor[Any, Merge[T1, T2], np.float64]:
    """Raise `x` to the power `y` in float64: ints to negative powers, float32 without overflow.

        z = x^y
        dx = y x^(y - 1) dz
        dy = ln(x) z dz

    Args:
        x: Any shape, or a number. The gradients are those of `pow`, converted to the dtype of the operand.
        y: A shape that broadcasts with `x`, or a number; it may be of another dtype.

    Returns:
        The shape both broadcast to, float64.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: An operand is bool, or neither is a tensor.

    Examples:
        >>> y = tg.float_power(tg.tensor([1, 2, 4]), -1)
        >>> np.round(y.numpy(), 3).tolist()
        [1.0, 0.5, 0.25]
        >>> y.dtype
        dtype('float64')
    """
    wide_x, wide_y = _widened(x, "x"), _widened(y, "y")  # alive until recorded, because backward reads both
    x, y, tape = unwrap(wide_x, wide_y)
    return _raised("float_power", x, y, tape)


def _widened(operand: Any, name: str) -> Any:
    """Convert a tensor or an array to float64; a Python number stays, and takes the dtype of the other operand."""
    dtype = getattr(operand, "dtype", None)
    if dtype is None:
        return operand
    if dtype.kind not in "iufV":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, name, str(dtype), "number"))
    return operand.astype(np.float64)


def _raised(name: str, x: Any, y: Any, tape: Any) -> Tensor[Any, Any, Any]:
    _check_powers_of_ints(name, x.data, y.data)
    out = node(apply("pow", x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(x):
            accumulate_broadcast(grads, x, dz * y.data * apply("pow", x.data, _lower(x.data, y.data)))
        if grads.wants(y):
            accumulate_broadcast(grads, y, dz * out.data * _logarithm(x.data, y.data))

    backward.__qualname__ = name  # a diagram of the tape shows the op, not this helper
    recorded: Tensor[Any, Any, Any] = tape.record(out, (x, y), backward)
    return recorded


def _check_powers_of_ints(name: str, x: Any, y: Any) -> None:
    """Reject negative powers of ints, which are fractions."""
    powers = known(y) if x.dtype.kind in "iu" else None  # values are unknown under `jit`
    if powers is not None and (powers < 0).any():
        power = powers[powers < 0].flat[0]
        message = f"{name}: the power {power} of an int is a fraction: float_power computes it"
        raise ValueError(message)


def _lower(x: Any, y: Any) -> Any:
    """Return `y - 1`, and 0 where `x ** 0` has derivative 0 although `x ** -1` is infinite or NaN."""
    never_zero = isinstance(y, np.ndarray | np.generic) and y.all()
    if never_zero:
        return y - 1
    irregular = apply("logical_or", engine(x).equal(x, 0), apply("isnan", x))
    return engine(x, y).where(apply("logical_and", irregular, engine(y).equal(y, 0)), 0, y - 1)


def _logarithm(x: Any, y: Any) -> Any:
    """Return `log(x)`, and 0 where `0 ** y` has derivative 0 although `log(0)` is infinite."""
    exponents = engine(y)
    flat = apply("logical_or", exponents.greater(y, 0), exponents.equal(y, 0))
    bases = engine(x, y).where(apply("logical_and", engine(x).equal(x, 0), flat), 1, x)
    return engine(bases).log(bases)


@op(elementwise_shape, memory_bound=True)
def square(x: Tensor[S, T, Real]) -> Tensor[S, T, Real]:
    """Square each element.

        y = x²
        dx = 2 x dy

    Args:
        x: Any shape.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is bool.

    Examples:
        >>> x = tg.tensor([-1.0, 2.0, 3.0])
        >>> tg.square(x).tolist()
        [1.0, 4.0, 9.0]
        >>> grads = tg.square(x.trace()).sum().backward()
        >>> grads[x].tolist()
        [-2.0, 4.0, 6.0]
    """
    return mapped(x, lambda x: x * x, lambda x, _: 2 * x, number_only)


@op(elementwise_shape, memory_bound=True)
def sqrt(x: Tensor[S, T, Float], *, safe: bool = False) -> Tensor[S, T, Float]:
    """Compute the square root.

        y = √x
        dx = dy / (2 y)

    Args:
        x: Any shape, a float dtype. A negative number gives NaN, as in NumPy.
        safe: Whether the gradient at zero is zero instead of infinite.

    Returns:
        The shape of `x`, at least 0.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([0.0, 4.0, 16.0])
        >>> tg.sqrt(x).tolist()
        [0.0, 2.0, 4.0]
        >>> grads = tg.sqrt(x.trace(), safe=True).sum().backward()
        >>> grads[x].tolist()
        [0.0, 0.25, 0.125]
    """
    x, tape = unwrap(x)
    float_only(x)
    is_safe = safe
    out = node(apply("sqrt", x.data))

    def backward(grads: Gradients) -> None:
        dy, y = grads.pop_output(out), out.data
        if is_safe:
            primitives = engine(y)
            zero = primitives.equal(y, 0)
            dy, y = engine(dy, zero).where(zero, 0, dy), primitives.where(zero, 1, y)
        grads.add(x, dy / (2 * y))

    return tape.record(out, (x,), backward)


@op(elementwise_shape, memory_bound=True)
def rsqrt(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the reciprocal of the square root.

        y = 1/√x
        dx = -(y / (2 x)) dy

    Args:
        x: Any shape, a float dtype. Zero gives infinity and a negative number NaN.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> tg.rsqrt(tg.tensor([0.25, 4.0, 16.0])).tolist()
        [2.0, 0.5, 0.25]
    """
    return mapped(x, lambda x: 1 / apply("sqrt", x), lambda x, y: -y / (2 * x))


@op(elementwise_shape, memory_bound=True)
def reciprocal(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the reciprocal.

        y = 1/x
        dx = -y² dy

    Args:
        x: Any shape, a float dtype. Division by zero follows IEEE 754.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([0.5, 2.0, -4.0])
        >>> tg.reciprocal(x).tolist()
        [2.0, 0.5, -0.25]
        >>> grads = tg.reciprocal(x.trace()).sum().backward()
        >>> grads[x].tolist()
        [-4.0, -0.25, -0.0625]
    """
    return mapped(x, lambda x: 1 / x, lambda _, y: -y * y)


@op(elementwise_shape, memory_bound=True)
def cbrt(x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
    """Compute the cube root, which is negative for a negative number.

        y = ∛x
        dx = dy / (3 y²)

    Args:
        x: Any shape, a float dtype. At zero the gradient is infinite.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> y = tg.cbrt(tg.tensor([-8.0, 1.0, 27.0]))
        >>> np.round(y.numpy().astype(float), 3).tolist()
        [-2.0, 1.0, 3.0]
    """
    return mapped(x, lambda x: apply("cbrt", x), lambda _, y: 1 / (3 * y * y))


@op(broadcast_shape, memory_bound=True)
def hypot(x: Tensor[Any, T1, Float] | Number, y: Tensor[Any, T2, Float] | Number) -> Tensor[Any, Merge[T1, T2], Float]:
    """Compute the hypotenuse of a right triangle from its legs, without overflow.

        z = √(x² + y²)
        dx = (x/z) dz
        dy = (y/z) dz

    Args:
        x: Any shape, or a number. Where both are zero the gradient is NaN.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to, at least 0.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not float.

    Examples:
        >>> y = tg.hypot(tg.tensor([3.0, 6.0]), tg.tensor([4.0, 8.0]))
        >>> np.round(y.numpy().astype(float), 3).tolist()
        [5.0, 10.0]
    """
    given = x
    x, y, tape = unwrap(x, y)
    float_only(x, given)
    out = node(apply("hypot", x.data, y.data))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(x):
            accumulate_broadcast(grads, x, dz * (x.data / out.data))
        if grads.wants(y):
            accumulate_broadcast(grads, y, dz * (y.data / out.data))

    return tape.record(out, (x, y), backward)
