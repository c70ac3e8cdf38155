"""Positions in sorted values, membership and distinct elements: searchsorted, isin and unique."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.errors.options import check_word
from tapegrad.ops.compare import equal, less, less_equal, where
from tapegrad.ops.create import zeros
from tapegrad.ops.index import take
from tapegrad.ops.logical import isnan, logical_and, logical_not, logical_or
from tapegrad.ops.move import reshape
from tapegrad.ops.rounding import minimum
from tapegrad.ops.sort import sort
from tapegrad.sizes import UNKNOWN, Dims, of_rank
from tapegrad.tensors import D, S, Tensor, from_array, node
from tapegrad.tensors.operands import known, same_dtype, tensor_only, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.tape import NoneTape


def searchsorted_shape(x: Dims, values: Dims) -> Dims:
    """Return the shape of the values, after checking that `x` is a vector."""
    of_rank(1, x=x)
    return values


def isin_shape(x: Dims, values: Dims) -> Dims:  # noqa: ARG001  # the parameters of the op
    """Return the shape of `x`."""
    return x


def unique_shape(x: Dims) -> Dims:  # noqa: ARG001  # the parameter of the op
    """Return one axis of unknown length: the number of distinct elements is known only at run time."""
    return (UNKNOWN,)


@op(searchsorted_shape)
def searchsorted(
    x: Tensor[Any, Any, D], values: Tensor[S, Any, D], *, side: Literal["left", "right"] = "left"
) -> Tensor[S, NoneTape, np.int64]:
    """Return where values would have to be inserted into a sorted vector; not differentiable.

        y = |{i : x[i] < v}|,   or   |{i : x[i] ≤ v}| for the right side

    Args:
        x: A vector in ascending order, `(N,)`. NaN counts as largest.
        values: Any shape.
        side: Whether a value is inserted before equal elements of `x`, `"left"`, or after them, `"right"`.

    Returns:
        The shape of the values, int64 from 0 to N, without a tape.

    Raises:
        ShapeError: `x` is not a vector.
        DTypeError: The dtypes differ.
        ValueError: `side` is neither `"left"` nor `"right"`.

    Examples:
        >>> limits = tg.tensor([1.0, 2.0, 5.0])
        >>> tg.searchsorted(limits, tg.tensor([[0.5, 2.0], [3.0, 9.0]])).tolist()
        [[0, 1], [2, 3]]
        >>> tg.searchsorted(limits, tg.tensor(2.0), side="right").item()
        2
    """
    tensor_only(x, "x")
    tensor_only(values, "values")
    check_word("searchsorted", "side", side, ("left", "right"))
    of_rank(1, x=x.shape)
    same_dtype(x, values, "values")
    (x, _), (values, _) = unwrap(x), unwrap(values)
    ordered, wanted = known(x), known(values)
    if ordered is not None and wanted is not None:
        return node(np.asarray(np.searchsorted(ordered, wanted, side), np.int64))
    found: Tensor[S, NoneTape, np.int64] = _searched(x, values, side)
    return found


@op(isin_shape)
def isin(x: Tensor[S, Any, D], values: Tensor[Any, Any, D], *, invert: bool = False) -> Tensor[S, NoneTape, np.bool_]:
    """Return whether each element is among some values; not differentiable.

        y = [∃ j : x = v[j]]

    Args:
        x: Any shape.
        values: Any shape. A NaN equals nothing.
        invert: Whether to return the opposite.

    Returns:
        The shape of `x`, bool, without a tape.

    Raises:
        DTypeError: The dtypes differ.

    Examples:
        >>> labels = tg.tensor([[3, 1, 2], [7, 3, 0]])
        >>> tg.isin(labels, tg.tensor([3, 7])).tolist()
        [[True, False, False], [True, True, False]]
        >>> tg.isin(labels, tg.tensor([3, 7]), invert=True).count_nonzero().item()
        3
    """
    tensor_only(x, "x")
    tensor_only(values, "values")
    same_dtype(x, values, "values")
    (x, _), (values, _) = unwrap(x), unwrap(values)
    if not values.size:
        found: Any = zeros(x.shape, np.bool_)
    else:
        ordered = sort(reshape(values, (values.size,)))
        position = searchsorted(ordered, x)
        found = equal(take(ordered, minimum(position, values.size - 1)), x)
    return logical_not(found) if invert else found


@op(unique_shape)
def unique(x: Tensor[Any, Any, D]) -> Tensor[Any, NoneTape, D]:
    """Return the distinct elements in ascending order; not differentiable.

        y₁ < y₂ < ...
        {y[j]} = {x[i]}

    Args:
        x: Any shape. All NaNs count as one element, the largest.

    Returns:
        One axis, without a tape; its length is known only at run time.

    Examples:
        >>> labels = tg.tensor([[3, 1, 2], [1, 3, 3]])
        >>> tg.unique(labels).tolist()
        [1, 2, 3]
        >>> (labels.reshape((-1, 1)) == tg.unique(labels)).sum(0).tolist()  # how often each occurs
        [2, 1, 3]
    """
    x, _ = unwrap(x)
    return from_array(np.unique(x.numpy()))


def _searched(x: Any, values: Any, side: str) -> Any:
    """Find all positions at once by halving, in as many steps as the length of `x` has bits."""
    n = x.shape[0]
    position: Any = zeros(values.shape, np.int64)
    for bit in reversed(range(n.bit_length())):
        further = position + (1 << bit)
        element = take(x, minimum(further, n) - 1)
        before = less(element, values) if side == "left" else less_equal(element, values)
        if x.is_float:
            is_largest = isnan(values) if side == "right" else logical_and(isnan(values), logical_not(isnan(element)))
            before = logical_or(before, is_largest)
        position = where(logical_and(less_equal(further, n), before), further, position)
    return position
