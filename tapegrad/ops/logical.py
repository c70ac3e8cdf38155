"""Logical ops, tests for NaN and infinity, and `nan_to_num`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypeVar

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, messages
from tapegrad.errors.options import check_scalar
from tapegrad.ops._mapped import apply
from tapegrad.ops.elementwise import broadcast_shape, elementwise_shape, float_only
from tapegrad.tensors import Float, S, T, Tensor, node
from tapegrad.tensors.operands import limits, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import NoneTape
    from tapegrad.engines import Elementwise
    from tapegrad.tensors import Number

Truth = TypeVar("Truth", bound=np.bool_, default=np.bool_)


@op(broadcast_shape)
def logical_and(
    x: Tensor[Any, Any, Truth] | Number, y: Tensor[Any, Any, Truth] | Number
) -> Tensor[Any, NoneTape, np.bool_]:
    """Compute the logical AND of two tensors; not differentiable.

        z = x ∧ y

    Args:
        x: Any shape, or a Python bool; of dtype bool.
        y: A shape that broadcasts with `x`, or a Python bool; of dtype bool.

    Returns:
        The shape both broadcast to, bool, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: An operand is not bool.

    Examples:
        >>> x = tg.tensor([0.5, 2.0, 7.0])
        >>> tg.logical_and(x > 1, x < 5).tolist()
        [False, True, False]
    """
    return _joined("logical_and", x, y)


@op(broadcast_shape)
def logical_or(
    x: Tensor[Any, Any, Truth] | Number, y: Tensor[Any, Any, Truth] | Number
) -> Tensor[Any, NoneTape, np.bool_]:
    """Compute the logical OR of two tensors; not differentiable.

        z = x ∨ y

    Args:
        x: Any shape, or a Python bool; of dtype bool.
        y: A shape that broadcasts with `x`, or a Python bool; of dtype bool.

    Returns:
        The shape both broadcast to, bool, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: An operand is not bool.

    Examples:
        >>> x = tg.tensor([0.5, 2.0, 7.0])
        >>> tg.logical_or(x < 1, x > 5).tolist()
        [True, False, True]
    """
    return _joined("logical_or", x, y)


@op(broadcast_shape)
def logical_xor(
    x: Tensor[Any, Any, Truth] | Number, y: Tensor[Any, Any, Truth] | Number
) -> Tensor[Any, NoneTape, np.bool_]:
    """Compute the logical XOR of two tensors; not differentiable.

        z = x ⊕ y

    Args:
        x: Any shape, or a Python bool; of dtype bool.
        y: A shape that broadcasts with `x`, or a Python bool; of dtype bool.

    Returns:
        The shape both broadcast to, bool, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: An operand is not bool.

    Examples:
        >>> x = tg.tensor([False, False, True, True])
        >>> y = tg.tensor([False, True, False, True])
        >>> tg.logical_xor(x, y).tolist()
        [False, True, True, False]
    """
    return _joined("logical_xor", x, y)


@op(elementwise_shape)
def logical_not(x: Tensor[S, Any, Truth]) -> Tensor[S, NoneTape, np.bool_]:
    """Compute the logical NOT of each element; not differentiable.

        y = ¬x

    Args:
        x: Any shape, bool.

    Returns:
        The shape of `x`, bool, without a tape.

    Raises:
        DTypeError: `x` is not bool.

    Examples:
        >>> is_padding = tg.tensor([[False, False, True], [False, True, True]])
        >>> tg.logical_not(is_padding).tolist()
        [[True, True, False], [True, False, False]]
    """
    x, _ = unwrap(x)
    _bool_only(x)
    return node(apply("logical_not", x.data))


@op(elementwise_shape)
def isfinite(x: Tensor[S, Any, Float]) -> Tensor[S, NoneTape, np.bool_]:
    """Return whether each element is finite: neither infinite nor NaN; not differentiable.

        y = [|x| < ∞]

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`, bool, without a tape.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> tg.isfinite(tg.tensor([1.0, np.inf, -np.inf, np.nan])).tolist()
        [True, False, False, False]
    """
    x, _ = unwrap(x)
    float_only(x)
    return node(apply("isfinite", x.data))


@op(elementwise_shape)
def isinf(x: Tensor[S, Any, Float]) -> Tensor[S, NoneTape, np.bool_]:
    """Return whether each element is infinite, of either sign; not differentiable.

        y = [|x| = ∞]

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`, bool, without a tape.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> tg.isinf(tg.tensor([1.0, np.inf, -np.inf, np.nan])).tolist()
        [False, True, True, False]
    """
    x, _ = unwrap(x)
    float_only(x)
    return node(apply("isinf", x.data))


@op(elementwise_shape)
def isnan(x: Tensor[S, Any, Float]) -> Tensor[S, NoneTape, np.bool_]:
    """Return whether each element is NaN; not differentiable.

        y = [x ≠ x]

    Args:
        x: Any shape, a float dtype.

    Returns:
        The shape of `x`, bool, without a tape.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> losses = tg.tensor([0.25, np.nan, np.inf])
        >>> tg.isnan(losses).tolist()
        [False, True, False]
        >>> tg.isnan(losses).any().item()
        True
    """
    x, _ = unwrap(x)
    float_only(x)
    return node(apply("isnan", x.data))


@op(elementwise_shape, memory_bound=True)
def nan_to_num(
    x: Tensor[S, T, Float], nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor[S, T, Float]:
    """Replace NaN and infinities by numbers.

        y = x   if |x| < ∞,
            c   else
        dx = [|x| < ∞] dy

    Args:
        x: Any shape, a float dtype.
        nan: The replacement for NaN.
        posinf: The replacement for infinity; None for the largest number of the dtype.
        neginf: The replacement for minus infinity; None for the lowest number of the dtype.

    Returns:
        The shape of `x`.

    Raises:
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([1.5, np.nan, np.inf, -np.inf])
        >>> tg.nan_to_num(x, posinf=100.0, neginf=-100.0).tolist()
        [1.5, 0.0, 100.0, -100.0]
        >>> grads = tg.nan_to_num(x.trace()).sum().backward()
        >>> grads[x].tolist()
        [1.0, 0.0, 0.0, 0.0]
    """
    x, tape = unwrap(x)
    float_only(x)
    for name, number in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        if number is not None or name == "nan":
            check_scalar("nan_to_num", name, number)
    primitives = engine(x.data)
    of_dtype = limits(x.dtype)
    y = primitives.where(apply("isnan", x.data), x.dtype.type(nan), x.data)
    for infinity, other, limit in ((math.inf, posinf, of_dtype.max), (-math.inf, neginf, of_dtype.min)):
        y = primitives.where(primitives.equal(x.data, infinity), x.dtype.type(limit if other is None else other), y)
    out = node(y)

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        finite = apply("isfinite", x.data)
        grads.add(x, engine(dy, finite).where(finite, dy, 0))

    return tape.record(out, (x,), backward)


def _joined(name: Elementwise, x: Any, y: Any) -> Tensor[Any, NoneTape, np.bool_]:
    x, y, _ = unwrap(x, y)
    _bool_only(x)
    return node(apply(name, x.data, y.data))


def _bool_only(x: Tensor[Any, Any, Any]) -> None:
    """Reject numbers, which NumPy would compare with zero."""
    if x.data.dtype.kind != "b":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "x", str(x.dtype), "bool"))
