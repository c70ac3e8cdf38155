"""Sorting: sort, argsort and topk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import Int, engine
from tapegrad.errors import ShapeError
from tapegrad.ops._index import along, raw
from tapegrad.ops.scatter import getitem
from tapegrad.sizes import Dims, Size, normal_axis, one_int, show, surely_less
from tapegrad.tensors import D, S, T, Tensor, node
from tapegrad.tensors.operands import tensor_only, unwrap

if TYPE_CHECKING:
    import numpy as np

    from tapegrad.autograd.tape import NoneTape


def sort_shape(x: Dims, axis: Int = -1) -> Dims:
    """Return the shape of `x`, after checking the axis."""
    normal_axis(axis, x)
    return x


def topk_shape(x: Dims, k: Size, axis: Int = -1) -> tuple[Dims, Dims]:
    """Return the shapes of values and indices: that of `x` with size `k` along the axis."""
    axis, k = normal_axis(axis, x), one_int(k, "k")
    if surely_less(k, 0):
        message = f"k is {k}, below 0"
        raise ShapeError(message)
    if surely_less(x[axis], k):
        message = f"k is {k} but axis {axis} of x {show(x)} has {x[axis]}"
        raise ShapeError(message)
    sizes = (*x[:axis], k, *x[axis + 1 :])
    return sizes, sizes


@op(sort_shape)
def sort(x: Tensor[S, T, D], axis: Int = -1, *, descending: bool = False) -> Tensor[S, T, D]:
    """Sort the elements along an axis.

        y[i] = x[k[i]]
        dx[k[i]] = dy[i]
        y₀ ≤ y₁ ≤ ...

    Args:
        x: Any shape with at least one axis. NaN counts as largest.
        axis: The axis to sort along.
        descending: Whether to sort in descending order.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: The axis is out of range.

    Examples:
        >>> x = tg.tensor([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])
        >>> tg.sort(x).tolist()
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
        >>> tg.sort(x, axis=0, descending=True).tolist()
        [[4.0, 6.0, 5.0], [3.0, 1.0, 2.0]]
    """
    tensor_only(x, "x")
    axis = normal_axis(axis, x.shape)
    order = raw(engine(x.data).argsort(x.data, axis, descending=descending))
    ordered: Tensor[S, T, D] = getitem(x, along(order, axis))
    return ordered


@op(sort_shape)
def argsort(x: Tensor[S, Any, Any], axis: Int = -1, *, descending: bool = False) -> Tensor[S, NoneTape, np.int64]:
    """Return the indices that sort the elements along an axis; not differentiable.

        x[k₀] ≤ x[k₁] ≤ ...

    Args:
        x: Any shape with at least one axis. NaN counts as largest; equal elements keep their order.
        axis: The axis to sort along.
        descending: Whether to sort in descending order.

    Returns:
        The shape of `x`, int64, without a tape.

    Raises:
        ShapeError: The axis is out of range.

    Examples:
        >>> x = tg.tensor([30.0, 10.0, 20.0])
        >>> order = tg.argsort(x)
        >>> order.tolist()
        [1, 2, 0]
        >>> x[order].tolist()
        [10.0, 20.0, 30.0]
        >>> tg.argsort(x, descending=True).tolist()
        [0, 2, 1]
    """
    x, _ = unwrap(x)
    return node(engine(x.data).argsort(x.data, normal_axis(axis, x.shape), descending=descending))


@op(topk_shape)
def topk(
    x: Tensor[Any, T, D], k: int, axis: Int = -1, *, largest: bool = True
) -> tuple[Tensor[Any, T, D], Tensor[Any, NoneTape, np.int64]]:
    """Return the k largest elements along an axis in descending order, and their indices.

        y[i] = x[k[i]]
        dx[k[i]] = dy[i]
        y₀ ≥ y₁ ≥ ...

    Args:
        x: Any shape with at least one axis. NaN counts as largest; of equal elements the first comes first.
        k: The number of elements, from 0 to the size along `axis`.
        axis: The axis to sort along.
        largest: Whether to return the largest elements, or else the smallest in ascending order.

    Returns:
        The elements, and their indices along `axis` as int64 without a tape, both in the shape of `x` with size `k`
        along `axis`.

    Raises:
        ShapeError: The axis or `k` is out of range.
        DTypeError: `k` is not an int.

    Examples:
        >>> logits = tg.tensor([[0.5, 3.0, 1.0, 2.0], [4.0, 1.0, 0.0, 4.0]])
        >>> values, classes = tg.topk(logits, 2)
        >>> values.tolist()
        [[3.0, 2.0], [4.0, 4.0]]
        >>> classes.tolist()
        [[1, 3], [0, 3]]
    """
    tensor_only(x, "x")
    topk_shape(x.shape, k, axis)  # a slice would silently clamp `k`
    axis = normal_axis(axis, x.shape)
    order = raw(engine(x.data).argsort(x.data, axis, descending=largest))
    first = engine(order).getitem(order, (*(slice(None),) * axis, slice(k)))
    return getitem(x, along(first, axis)), node(first)
