"""Bitwise ops on integers and bools; a bool has one bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypeVar

from tapegrad.autograd.op import op
from tapegrad.errors import DTypeError, messages
from tapegrad.ops._mapped import apply
from tapegrad.ops.elementwise import broadcast_shape, elementwise_shape, operand_name
from tapegrad.tensors import S, Tensor, node
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.autograd.tape import NoneTape
    from tapegrad.engines import Elementwise
    from tapegrad.tensors import Number

Bits = TypeVar("Bits", bound=np.integer[Any] | np.bool_, default=np.int64)
Whole = TypeVar("Whole", bound=np.integer[Any], default=np.int64)


@op(broadcast_shape, operator="__and__")
def bitwise_and(x: Tensor[Any, Any, Bits] | Number, y: Tensor[Any, Any, Bits] | Number) -> Tensor[Any, NoneTape, Bits]:
    """Compute the bitwise AND of two tensors; of bools, the logical AND. Not differentiable.

        z[b] = x[b] ∧ y[b]

    Args:
        x: Any shape, ints or bools, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to, in their dtype, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are float.

    Examples:
        >>> tg.bitwise_and(tg.tensor([5, 6, 7]), 3).tolist()
        [1, 2, 3]
        >>> is_large, is_even = tg.tensor([False, True, True]), tg.tensor([True, False, True])
        >>> (is_large & is_even).tolist()
        [False, False, True]
    """
    return _joined("bitwise_and", x, y, bits_only)


@op(broadcast_shape, operator="__or__")
def bitwise_or(x: Tensor[Any, Any, Bits] | Number, y: Tensor[Any, Any, Bits] | Number) -> Tensor[Any, NoneTape, Bits]:
    """Compute the bitwise OR of two tensors; of bools, the logical OR. Not differentiable.

        z[b] = x[b] ∨ y[b]

    Args:
        x: Any shape, ints or bools, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to, in their dtype, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are float.

    Examples:
        >>> tg.bitwise_or(tg.tensor([4, 5, 6]), 3).tolist()
        [7, 7, 7]
        >>> is_large, is_even = tg.tensor([False, True, False]), tg.tensor([True, False, False])
        >>> (is_large | is_even).tolist()
        [True, True, False]
    """
    return _joined("bitwise_or", x, y, bits_only)


@op(broadcast_shape, operator="__xor__")
def bitwise_xor(x: Tensor[Any, Any, Bits] | Number, y: Tensor[Any, Any, Bits] | Number) -> Tensor[Any, NoneTape, Bits]:
    """Compute the bitwise XOR of two tensors; of bools, the logical XOR. Not differentiable.

        z[b] = x[b] ⊕ y[b]

    Args:
        x: Any shape, ints or bools, or a number.
        y: A shape that broadcasts with `x`, or a number.

    Returns:
        The shape both broadcast to, in their dtype, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are float.

    Examples:
        >>> tg.bitwise_xor(tg.tensor([5, 6, 7]), 3).tolist()
        [6, 5, 4]
        >>> (tg.tensor([True, True, False]) ^ tg.tensor([True, False, False])).tolist()
        [False, True, False]
    """
    return _joined("bitwise_xor", x, y, bits_only)


@op(elementwise_shape, operator="__invert__")
def bitwise_invert(x: Tensor[S, Any, Bits]) -> Tensor[S, NoneTape, Bits]:
    """Invert every bit (bitwise NOT); of bools, the logical NOT. Not differentiable.

        y[b] = ¬x[b]

    Args:
        x: Any shape, ints or bools. A signed int becomes -x - 1.

    Returns:
        The shape and dtype of `x`, without a tape.

    Raises:
        DTypeError: `x` is a float.

    Examples:
        >>> tg.bitwise_invert(tg.tensor([0, 5, -1])).tolist()
        [-1, -6, 0]
        >>> mask = tg.tensor([True, False, True])
        >>> (~mask).tolist()
        [False, True, False]
    """
    x, _ = unwrap(x)
    bits_only(x)
    return node(apply("bitwise_invert", x.data))


@op(elementwise_shape)
def bitwise_count(x: Tensor[S, Any, Whole]) -> Tensor[S, NoneTape, np.uint8]:
    """Count the set bits of the absolute value of each element; not differentiable.

        y = ∑_b |x|[b]

    Args:
        x: Any shape, ints.

    Returns:
        The shape of `x`, uint8, without a tape.

    Raises:
        DTypeError: `x` is not an int.

    Examples:
        >>> tg.bitwise_count(tg.tensor([0, 5, -5, 255])).tolist()
        [0, 2, 2, 8]
    """
    x, _ = unwrap(x)
    whole_only(x)
    return node(apply("bitwise_count", x.data))


@op(broadcast_shape, operator="__lshift__")
def bitwise_left_shift(
    x: Tensor[Any, Any, Whole] | Number, y: Tensor[Any, Any, Whole] | Number
) -> Tensor[Any, NoneTape, Whole]:
    """Shift the bits of `x` to the left; not differentiable.

        z = x 2^y

    Args:
        x: Any shape, ints, or a number. Bits shifted beyond the highest one are lost.
        y: A shape that broadcasts with `x`, or a number: the number of bits to shift by, at least 0.

    Returns:
        The shape both broadcast to, in their dtype, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not int.

    Examples:
        >>> tg.bitwise_left_shift(tg.tensor([1, 3, -2]), 2).tolist()
        [4, 12, -8]
        >>> (1 << tg.tensor([0, 1, 2, 3])).tolist()
        [1, 2, 4, 8]
    """
    return _joined("bitwise_left_shift", x, y, whole_only)


@op(broadcast_shape, operator="__rshift__")
def bitwise_right_shift(
    x: Tensor[Any, Any, Whole] | Number, y: Tensor[Any, Any, Whole] | Number
) -> Tensor[Any, NoneTape, Whole]:
    """Shift the bits of `x` to the right; not differentiable.

        z = ⌊x / 2^y⌋

    Args:
        x: Any shape, ints, or a number. The sign is kept.
        y: A shape that broadcasts with `x`, or a number: the number of bits to shift by, at least 0.

    Returns:
        The shape both broadcast to, in their dtype, without a tape.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The dtypes differ, or are not int.

    Examples:
        >>> tg.bitwise_right_shift(tg.tensor([12, 7, -7]), 1).tolist()
        [6, 3, -4]
        >>> (tg.tensor([0xFF00]) >> 8).tolist()
        [255]
    """
    return _joined("bitwise_right_shift", x, y, whole_only)


def whole_only(x: Tensor[Any, Any, Any], given: object = None) -> None:
    """Reject all dtypes but ints; `given` is the first of two operands as the caller passed it."""
    if x.data.dtype.kind not in "iu":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, operand_name(given), str(x.dtype), "integer"))


def bits_only(x: Tensor[Any, Any, Any], given: object = None) -> None:
    """Reject all dtypes but ints and bools; `given` is the first of two operands as the caller passed it."""
    if x.data.dtype.kind not in "iub":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, operand_name(given), str(x.dtype), "integer or bool"))


def _joined(name: Elementwise, x: Any, y: Any, reject: Callable[..., None]) -> Tensor[Any, NoneTape, Any]:
    given = x
    x, y, _ = unwrap(x, y)
    reject(x, given)
    return node(apply(name, x.data, y.data))
