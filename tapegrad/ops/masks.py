"""Ops on elements selected by a bool mask or by being nonzero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.ops.compare import where
from tapegrad.ops.move import broadcast_to
from tapegrad.ops.scatter import getitem
from tapegrad.sizes import UNKNOWN, Dims, broadcast, show, surely_differ
from tapegrad.tensors import T1, T2, D, T, Tensor, node
from tapegrad.tensors.operands import constant, same_dtype, tensor_only, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.tensors import Number


def masked_fill_shape(x: Dims, mask: Dims, value: Dims) -> Dims:
    """Return the shape of `x`, after checking that `mask` and `value` broadcast to it."""
    for name, dims in (("mask", mask), ("value", value)):
        broadcast_sizes = broadcast(x=x, **{name: dims})
        if len(broadcast_sizes) != len(x) or any(map(surely_differ, broadcast_sizes, x)):
            message = f"{name} {show(dims)} does not broadcast to x {show(x)}"
            raise ShapeError(message)
    broadcast(mask=mask, value=value)  # never fails where the sizes of x are numbers
    return x


def masked_select_shape(x: Dims, mask: Dims) -> Dims:
    """Return one axis of unknown length: the number of True elements is known only at run time."""
    broadcast(x=x, mask=mask)
    return (UNKNOWN,)


def nonzero_shape(x: Dims) -> tuple[Dims, ...]:
    """Return one axis of unknown length for each axis of `x`."""
    if len(x) == 0:
        message = "x () has no axis to count along"
        raise ShapeError(message)
    return ((UNKNOWN,),) * len(x)


@op(masked_fill_shape, memory_bound=True)
def masked_fill(
    x: Tensor[Any, T1, D], mask: Tensor[Any, Any, np.bool_], value: Tensor[Any, T2, D] | Number
) -> Tensor[Any, Merge[T1, T2], D]:
    """Replace elements by a value where a mask is True.

        y = m ? v : x
        dx = m ? 0 : dy
        dv = ∑ (m ? dy : 0)

    Args:
        x: Any shape.
        mask: A shape that broadcasts to that of `x`, bool.
        value: A shape that broadcasts to that of `x`, or a number.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: The mask or the value does not broadcast to `x`.
        DTypeError: The dtypes of `x` and `value` differ, or the mask is not bool.

    Examples:
        >>> scores = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> is_future = tg.tensor([[False, True], [False, False]])
        >>> tg.masked_fill(scores, is_future, -np.inf).tolist()
        [[1.0, -inf], [3.0, 4.0]]
    """
    tensor_only(x, "x")
    _mask_only(mask)
    if not isinstance(value, Tensor):
        value = constant(value, x, "value", "x")
    same_dtype(x, value, "value")
    masked_fill_shape(x.shape, mask.shape, value.shape)
    return where(mask, value, x)


@op(masked_select_shape)
def masked_select(x: Tensor[Any, T, D], mask: Tensor[Any, Any, np.bool_]) -> Tensor[Any, T, D]:
    """Select the elements where a mask is True, in row-major order.

        y = (x[i] : m[i])
        dx[i] = m[i] ? dy[j] : 0

    Args:
        x: Any shape.
        mask: A shape that broadcasts with `x`, bool.

    Returns:
        One axis, with one element for each True of the broadcast mask; its length is known only at run time.

    Raises:
        ShapeError: The shapes do not broadcast.
        DTypeError: The mask is not bool.

    Examples:
        >>> x = tg.tensor([[1.0, -2.0], [-3.0, 4.0]])
        >>> tg.masked_select(x, x > 0).tolist()
        [1.0, 4.0]
        >>> grads = tg.masked_select(x.trace(), x > 0).sum().backward()
        >>> grads[x].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    tensor_only(x, "x")
    _mask_only(mask)
    shape: Any = broadcast(x=x.shape, mask=mask.shape)
    chosen: Any = np.broadcast_to(mask.numpy(), shape)
    return getitem(broadcast_to(x, shape), chosen)


@op(nonzero_shape)
def nonzero(x: Tensor[Any, Any, Any]) -> tuple[Tensor[Any, NoneTape, np.int64], ...]:
    """Return the indices of the nonzero elements, in row-major order; not differentiable.

        {(k₁, k₂, ...) : x[k₁,k₂,...] ≠ 0}

    Args:
        x: Any shape with at least one axis; NaN and True count as nonzero.

    Returns:
        One tensor of indices for each axis, int64, without a tape; `x[nonzero(x)]` selects the nonzero elements.
        Their length is known only at run time.

    Raises:
        ShapeError: `x` is a scalar.

    Examples:
        >>> x = tg.tensor([[0, 3, 0], [5, 0, 7]])
        >>> rows, columns = tg.nonzero(x)
        >>> rows.tolist(), columns.tolist()
        ([0, 1, 1], [1, 0, 2])
        >>> x[rows, columns].tolist()
        [3, 5, 7]
    """
    x, _ = unwrap(x)
    nonzero_shape(x.shape)
    return tuple(node(indices) for indices in np.nonzero(x.numpy()))


def _mask_only(mask: Tensor[Any, Any, Any]) -> None:
    tensor_only(mask, "mask")
    if mask.dtype.kind != "b":
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "mask", str(mask.dtype), "bool"))
