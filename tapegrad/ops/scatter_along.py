"""Scatter along one axis: replace the elements that indices select, or combine them with updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tapegrad.autograd.op import op, rematerializable
from tapegrad.engines import Int, engine
from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.errors.options import check_word
from tapegrad.ops._index import along, arrays_of, check_once, untaped
from tapegrad.ops.arithmetic import add, div
from tapegrad.ops.compare import equal, where
from tapegrad.ops.create import ones, zeros
from tapegrad.ops.index import check_positions, gather_shape
from tapegrad.ops.rounding import maximum
from tapegrad.ops.scatter import at_add
from tapegrad.sizes import Dims, normal_axis, show, surely_differ
from tapegrad.tensors import T1, T2, D, T, Tensor, node
from tapegrad.tensors.operands import joined, known, same_dtype, tensor_only, unwrap_mixed

_FUNCTIONS: Final[dict[str, Combining]] = {"prod": "multiply", "max": "maximum", "min": "minimum"}
_REDUCTIONS: Final = ("sum", "mean", *_FUNCTIONS)

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge
    from tapegrad.engines.interface import Combining


def scatter_shape(x: Dims, indices: Dims, updates: Dims, axis: Int = 0) -> Dims:
    """Return the shape of `x`; the indices have it except along the axis, and the updates have that of the indices."""
    gather_shape(x, indices, axis)
    if len(updates) != len(indices) or any(surely_differ(n, m) for n, m in zip(updates, indices, strict=True)):
        message = f"updates {show(updates)} differ from indices {show(indices)}"
        raise ShapeError(message)
    return x


@op(scatter_shape)
def scatter(
    x: Tensor[Any, T, D],
    indices: Tensor[Any, T1, np.integer[Any]],
    updates: Tensor[Any, T2, D],
    axis: Int = 0,
) -> Tensor[Any, Merge[T, Merge[T1, T2]], D]:
    """Return a copy of `x` with elements along an axis replaced, one for each index.

        y[k,j] = u[i,j] where k = k[i,j], else x[k,j]

    Args:
        x: Any shape with at least one axis.
        indices: Ints of the shape of `x` except along `axis`; negative ones count from the end. None may repeat along
            the axis, which is not detected under `jit`: `scatter_reduce` combines several updates of one element.
        updates: The shape of `indices`.
        axis: The axis to index.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: The axis is out of range, `x` and `indices` differ along another, or `updates` and `indices` differ.
        DTypeError: `indices` are not ints, or the dtypes of `x` and `updates` differ.
        IndexError: An index is out of range, or repeats; for an axis of size 0 also a `ShapeError`.

    Examples:
        >>> x = tg.zeros((2, 3))
        >>> y = tg.scatter(x, tg.tensor([[2], [0]]), tg.tensor([[7.0], [8.0]]), axis=1)
        >>> y.tolist()
        [[0.0, 0.0, 7.0], [8.0, 0.0, 0.0]]
    """
    index, tape_of_index = untaped(_checked(x, indices, updates, axis))
    if known(indices) is not None:
        _check_once(x.shape, index)
    x, updates, tape_of_values = unwrap_mixed(x, updates)
    arrays = arrays_of(index)
    out = node(engine(x.data, updates.data, *arrays).at_set(x.data, index, updates.data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        primitives = engine(dy, *arrays)
        if grads.wants(updates):
            grads.add(updates, primitives.getitem(dy, index))
        if grads.wants(x):
            grads.add(x, primitives.at_set(dy, index, x.dtype.type(0)))

    tape: Any = joined(tape_of_values, tape_of_index)
    result: Tensor[Any, Merge[T, Merge[T1, T2]], D] = tape.record(out, (x, updates), backward, saved=())
    return result


@op(scatter_shape)
def scatter_reduce(
    x: Tensor[Any, T, D],
    indices: Tensor[Any, T1, np.integer[Any]],
    updates: Tensor[Any, T2, D],
    axis: Int = 0,
    *,
    reduction: Literal["sum", "mean", "prod", "max", "min"] = "sum",
    include_self: bool = True,
) -> Tensor[Any, Merge[T, Merge[T1, T2]], D]:
    """Return a copy of `x` whose elements along an axis are combined with the updates of their indices.

        y[k,j] = x[k,j] ⊕ ⨁_(i : k[i,j] = k) u[i,j]

    Args:
        x: Any shape with at least one axis.
        indices: Ints of the shape of `x` except along `axis`; negative ones count from the end. They may repeat.
        updates: The shape of `indices`.
        axis: The axis to index.
        reduction: How elements are combined: their sum, mean, product, largest or smallest.
        include_self: Whether the element of `x` is combined too; otherwise it stays only where no index points.

    Returns:
        The shape of `x`. Equal largest or smallest elements share the gradient. The gradient of a product is right
        where elements are zero; its second derivative is not defined there, and leaves out what two of them share.

    Raises:
        ShapeError: The axis is out of range, `x` and `indices` differ along another, or `updates` and `indices` differ.
        DTypeError: `indices` are not ints, the dtypes of `x` and `updates` differ, or are not float for a mean, or
            `include_self` is not a bool.
        IndexError: An index is out of range; for an axis of size 0 also a `ShapeError`.
        ValueError: `reduction` is none of the five.

    Examples:
        >>> x, updates = tg.tensor([10.0, 20.0, 30.0]), tg.tensor([1.0, 2.0, 40.0])
        >>> indices = tg.tensor([0, 0, 2])
        >>> tg.scatter_reduce(x, indices, updates, reduction="sum").tolist()
        [13.0, 20.0, 70.0]
        >>> tg.scatter_reduce(x, indices, updates, reduction="max", include_self=False).tolist()
        [2.0, 20.0, 40.0]
    """
    index = _checked(x, indices, updates, axis)
    check_word("scatter_reduce", "reduction", reduction, _REDUCTIONS)
    if x.dtype.kind == "b" or (reduction == "mean" and not x.is_float):
        expected = "floating" if reduction == "mean" else "floating or integer"
        raise DTypeError(messages.wrong_dtype(messages.UNNAMED, "x", str(x.dtype), expected))
    includes = include_self
    base: Any = x
    counts: Any = None
    if not includes or reduction == "mean":
        counts = at_add(zeros(x.shape, x.dtype.type), index, ones(updates.shape, x.dtype.type))
        if not includes:
            base = where(equal(counts, 0), x, _neutral(reduction, x.dtype))
    if reduction in _FUNCTIONS:
        combined: Any = reduce_at(base, index, updates, _FUNCTIONS[reduction])
    else:
        combined = at_add(base, index, updates)
        if reduction == "mean":
            combined = div(combined, add(counts, 1) if includes else maximum(counts, 1))
    result: Tensor[Any, Merge[T, Merge[T1, T2]], D] = combined
    return result


@rematerializable()
def reduce_at(
    x: Tensor[Any, T, D], index: Any, value: Tensor[Any, T2, D], name: Combining
) -> Tensor[Any, Merge[T, T2], D]:
    """Combine the elements of `x` at an index with values, in an order that does not matter.

    The largest or smallest elements share the gradient. The derivative of a product by a factor is the product of the
    others: the quotient of the product and the factor, unless a factor is 0.
    """
    index, tape_of_index = untaped(index)
    x, value, tape_of_values = unwrap_mixed(x, value)
    tape: Any = joined(tape_of_values, tape_of_index)
    arrays = arrays_of(index)
    out = node(engine(x.data, value.data, *arrays).reduce_at(x.data, index, value.data, name))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        of_x, of_value = _shares(x.data, value.data, out.data, index, name)
        if grads.wants(x):
            grads.add(x, dy * of_x)
        if grads.wants(value):
            grads.add(value, engine(dy, *arrays).getitem(dy, index) * of_value)

    result: Tensor[Any, Merge[T, T2], D] = tape.record(out, (x, value), backward)
    return result


def _check_once(shape: tuple[int, ...], index: Any) -> None:
    try:
        check_once(shape, index)
    except IndexError:  # the indices are in range
        message = "indices name an element twice; scatter_reduce combines updates"
        raise IndexError(message) from None


def _shares(x: Any, value: Any, y: Any, index: Any, name: Combining) -> tuple[Any, Any]:
    """Return the derivatives of `reduce_at` by the elements of `x`, and by the values."""
    primitives = engine(x, value, y, *arrays_of(index))
    zero, one = np.zeros((), x.dtype), np.ones((), x.dtype)
    if name != "multiply":
        found = [_equal(primitives, x, y), _equal(primitives, value, primitives.getitem(y, index))]
        ones_x, ones_value = (primitives.where(each, one, zero) for each in found)
        shares = 1 / primitives.at_add(ones_x, index, ones_value)
        return ones_x * shares, ones_value * primitives.getitem(shares, index)
    no_x, no_value = primitives.equal(x, 0), primitives.equal(value, 0)
    full_x, full_value = primitives.where(no_x, one, x), primitives.where(no_value, one, value)
    product = primitives.reduce_at(full_x, index, full_value, name)  # of the factors that are not 0
    count = primitives.at_add(primitives.where(no_x, one, zero), index, primitives.where(no_value, one, zero))

    def others(is_zero: Any, factor: Any, product: Any, count: Any) -> Any:
        alone = primitives.where(primitives.equal(count, 1), product, zero)
        return primitives.where(is_zero, alone, primitives.where(primitives.equal(count, 0), product / factor, zero))

    values = others(no_value, full_value, primitives.getitem(product, index), primitives.getitem(count, index))
    return others(no_x, full_x, product, count), values


def _equal(primitives: Any, x: Any, y: Any) -> Any:
    """Return where two values are equal; a NaN is the result of its element."""
    return primitives.map("logical_or", primitives.equal(x, y), primitives.map("isnan", x))


def _neutral(reduction: str, dtype: Any) -> Any:
    """Return the number that combined with another gives the other."""
    if reduction not in ("max", "min"):
        return 1 if reduction == "prod" else 0
    if dtype.kind == "f" or dtype.itemsize == 2:
        return -np.inf if reduction == "max" else np.inf
    limits = np.iinfo(dtype)
    return int(limits.min if reduction == "max" else limits.max)


def _checked(
    x: Tensor[Any, Any, D], indices: Tensor[Any, Any, Any], updates: Tensor[Any, Any, D], axis: Int
) -> tuple[Any, ...]:
    """Return the index of the elements that the updates are for."""
    for name, given in (("x", x), ("indices", indices), ("updates", updates)):
        tensor_only(given, name)
    same_dtype(x, updates, "updates")
    scatter_shape(x.shape, indices.shape, updates.shape, axis)  # NumPy would broadcast them
    front = normal_axis(axis, x.shape)
    check_positions(indices, x.shape[front], front)
    return along(indices, front)
