"""Cumulative ops: each element of the result depends on all elements up to it along an axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import op
from tapegrad.engines import Int, engine
from tapegrad.errors import ShapeError
from tapegrad.ops._index import along, raw
from tapegrad.ops.arithmetic import sub
from tapegrad.ops.elementwise import float_only, number_only
from tapegrad.ops.exponential import logaddexp
from tapegrad.ops.move import reshape
from tapegrad.ops.reduce import check_axis
from tapegrad.ops.scatter import getitem
from tapegrad.ops.shift import pad
from tapegrad.sizes import Dims, largest, normal_axis, one_int, product
from tapegrad.tensors import D, Float, Real, T, Tensor, node
from tapegrad.tensors.operands import tensor_only, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import NoneTape


def cumsum_shape(x: Dims, axis: Int | None = None) -> Dims:
    """Return the shape of `x`, or one axis of all elements if `axis` is None."""
    if axis is None:
        return (product(x),)
    normal_axis(axis, x)
    return x


def diff_shape(x: Dims, n: int = 1, axis: Int = -1) -> Dims:
    """Return the shape with size along the axis reduced by `n`, at least to 0."""
    axis = normal_axis(axis, x)
    one_int(n, "n")  # rejects a bool, which Python takes for an int
    if n < 0:
        message = f"n is {n} but at least 0 is expected"
        raise ShapeError(message)
    return (*x[:axis], largest([0, x[axis] - n]), *x[axis + 1 :])


@op(cumsum_shape)
def cumsum(x: Tensor[Any, T, Real], axis: Int | None = None) -> Tensor[Any, T, Real]:
    """Compute the cumulative sum along an axis.

        y[i] = ∑_(j ≤ i) x[j]
        dx[i] = ∑_(j ≥ i) dy[j]

    Args:
        x: Any shape.
        axis: The axis to accumulate along; None for all elements in row-major order.

    Returns:
        The shape of `x`, or one axis with all its elements, in the dtype of `x`.

    Raises:
        ShapeError: The axis is out of range.
        DTypeError: `x` is bool.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.cumsum(x, axis=1).tolist()
        [[1.0, 3.0, 6.0], [4.0, 9.0, 15.0]]
        >>> tg.cumsum(x).tolist()
        [1.0, 3.0, 6.0, 10.0, 15.0, 21.0]
        >>> grads = tg.cumsum(x.trace(), axis=1).sum().backward()
        >>> grads[x].tolist()
        [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]
    """
    x, tape = unwrap(x)
    number_only(x)
    check_axis(x, axis)
    along = 0 if axis is None else normal_axis(axis, x.shape)
    value: Any = x.data.reshape((x.size,)) if axis is None else x.data
    out = node(engine(value).cumsum(value, along))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        primitives = engine(dy)
        flipped = (*(slice(None),) * along, slice(None, None, -1))
        back = primitives.getitem(primitives.cumsum(primitives.getitem(dy, flipped), along), flipped)
        grads.add(x, back.reshape(x.shape))

    return tape.record(out, (x,), backward)


@op(cumsum_shape)
def cumprod(x: Tensor[Any, T, Real], axis: Int | None = None) -> Tensor[Any, T, Real]:
    """Compute the cumulative product along an axis.

        y[i] = ∏_(j ≤ i) x[j]
        dx[i] = (∏_(j < i) x[j]) s[i]
        s[i] = dy[i] + x[i+1] s[i+1]

    Args:
        x: Any shape; the gradient is correct for zeros too.
        axis: The axis to accumulate along; None for all elements in row-major order.

    Returns:
        The shape of `x`, or one axis with all its elements, in the dtype of `x`.

    Raises:
        ShapeError: The axis is out of range.
        DTypeError: `x` is bool.

    Examples:
        >>> tg.cumprod(tg.tensor([[1, 2, 3], [4, 5, 6]]), axis=1).tolist()
        [[1, 2, 6], [4, 20, 120]]
        >>> x = tg.tensor([2.0, 0.0, 3.0])
        >>> grads = tg.cumprod(x.trace()).sum().backward()
        >>> grads[x].tolist()
        [1.0, 8.0, 0.0]
    """
    x, tape = unwrap(x)
    number_only(x)
    check_axis(x, axis)
    run = 0 if axis is None else normal_axis(axis, x.shape)
    shape = (x.size,) if axis is None else x.shape
    value: Any = x.data.reshape(shape)
    out = node(engine(value).cumprod(value, run))

    def backward(grads: Gradients) -> None:
        before = _moved(out.data, run, 1, 1)
        after = _recurred(grads.pop_output(out), _moved(x.data.reshape(shape), run, -1, 0), run)
        grads.add(x, (before * after).reshape(x.shape))

    return tape.record(out, (x,), backward)


@op(cumsum_shape)
def cummax(x: Tensor[Any, T, D], axis: Int | None = None) -> Tensor[Any, T, D]:
    """Compute the cumulative maximum along an axis.

        y[i] = max_(j ≤ i) x[j]
        dx[i] = ∑_(j : k[j] = i) dy[j]
        k[j] = max {i ≤ j : x[i] = y[j]}

    Args:
        x: Any shape. NaN counts as largest; of equal elements the last gets the gradient, as in PyTorch.
        axis: The axis to accumulate along; None for all elements in row-major order.

    Returns:
        The shape of `x`, or one axis with all its elements.

    Raises:
        ShapeError: The axis is out of range.

    Examples:
        >>> heights = tg.tensor([3.0, 1.0, 4.0, 2.0])
        >>> tg.cummax(heights).tolist()
        [3.0, 3.0, 4.0, 4.0]
        >>> grads = tg.cummax(heights.trace()).sum().backward()
        >>> grads[heights].tolist()
        [2.0, 0.0, 2.0, 0.0]
    """
    return _picked(x, axis, lambda x, axis: engine(x).argcummax(x, axis))


@op(cumsum_shape)
def cummin(x: Tensor[Any, T, D], axis: Int | None = None) -> Tensor[Any, T, D]:
    """Compute the cumulative minimum along an axis.

        y[i] = min_(j ≤ i) x[j]
        dx[i] = ∑_(j : k[j] = i) dy[j]
        k[j] = max {i ≤ j : x[i] = y[j]}

    Args:
        x: Any shape. NaN counts as smallest; of equal elements the last gets the gradient, as in PyTorch.
        axis: The axis to accumulate along; None for all elements in row-major order.

    Returns:
        The shape of `x`, or one axis with all its elements.

    Raises:
        ShapeError: The axis is out of range.

    Examples:
        >>> losses = tg.tensor([3.0, 1.0, 4.0, 0.5])
        >>> tg.cummin(losses).tolist()
        [3.0, 1.0, 1.0, 0.5]
        >>> grads = tg.cummin(losses.trace()).sum().backward()
        >>> grads[losses].tolist()
        [1.0, 2.0, 0.0, 1.0]
    """
    return _picked(x, axis, lambda x, axis: engine(x).argcummin(x, axis))


@op(cumsum_shape)
def argcummax(x: Tensor[Any, Any, Any], axis: Int | None = None) -> Tensor[Any, NoneTape, np.int64]:
    """Return the indices of the cumulative maximum along an axis; not differentiable.

        y[j] = max {i ≤ j : x[i] = max_(k ≤ j) x[k]}

    Args:
        x: Any shape. NaN counts as largest; of equal elements the last counts, as in PyTorch.
        axis: The axis to accumulate along; None for all elements in row-major order.

    Returns:
        Indices along the axis, in the shape of `x` or one axis with all its elements, int64, without a tape.

    Raises:
        ShapeError: The axis is out of range.

    Examples:
        >>> heights = tg.tensor([3.0, 1.0, 4.0, 2.0])
        >>> tg.argcummax(heights).tolist()
        [0, 0, 2, 2]
    """
    return _indices(x, axis, lambda x, axis: engine(x).argcummax(x, axis))


@op(cumsum_shape)
def argcummin(x: Tensor[Any, Any, Any], axis: Int | None = None) -> Tensor[Any, NoneTape, np.int64]:
    """Return the indices of the cumulative minimum along an axis; not differentiable.

        y[j] = max {i ≤ j : x[i] = min_(k ≤ j) x[k]}

    Args:
        x: Any shape. NaN counts as smallest; of equal elements the last counts, as in PyTorch.
        axis: The axis to accumulate along; None for all elements in row-major order.

    Returns:
        Indices along the axis, in the shape of `x` or one axis with all its elements, int64, without a tape.

    Raises:
        ShapeError: The axis is out of range.

    Examples:
        >>> losses = tg.tensor([3.0, 1.0, 4.0, 0.5])
        >>> tg.argcummin(losses).tolist()
        [0, 1, 1, 3]
    """
    return _indices(x, axis, lambda x, axis: engine(x).argcummin(x, axis))


@op(cumsum_shape)
def logcumsumexp(x: Tensor[Any, T, Float], axis: Int | None = None) -> Tensor[Any, T, Float]:
    """Compute the logarithm of the cumulative sum of exponentials along an axis, without overflow.

        y[i] = ln ∑_(j ≤ i) e^(x[j])
        dx[j] = ∑_(i ≥ j) e^(x[j] - y[i]) dy[i]

    Args:
        x: Any shape, a float dtype. Minus infinity stands for 0 and has a gradient of 0.
        axis: The axis to accumulate along; None for all elements in row-major order.

    Returns:
        The shape of `x`, or one axis with all its elements.

    Raises:
        ShapeError: The axis is out of range.
        DTypeError: `x` is not a float.

    Examples:
        >>> x = tg.tensor([0.0, 1000.0, 1000.0], np.float64)
        >>> np.round(tg.logcumsumexp(x).numpy(), 3).tolist()
        [0.0, 1000.0, 1000.693]
        >>> grads = tg.logcumsumexp(x.trace())[2].backward()
        >>> np.round(grads[x].numpy(), 3).tolist()
        [0.0, 0.5, 0.5]
    """
    tensor_only(x, "x")
    float_only(x)
    check_axis(x, axis)
    y: Any = reshape(x, (x.size,)) if axis is None else x
    along = 0 if axis is None else normal_axis(axis, x.shape)
    front, widths = (slice(None),) * along, [(0, 0)] * y.ndim
    step = 1
    while step < y.shape[along]:  # each pass doubles how many elements are summed, as in `_recurred`
        widths[along] = (step, 0)
        y = logaddexp(y, pad(getitem(y, (*front, slice(None, -step))), tuple(widths), value=-math.inf))
        step *= 2
    logarithms: Tensor[Any, T, Float] = y + 0.0 if step == 1 else y  # not the memory of `x`
    return logarithms


@op(diff_shape)
def diff(x: Tensor[Any, T, Real], n: int = 1, axis: Int = -1) -> Tensor[Any, T, Real]:
    """Compute the differences of neighbouring elements along an axis, `n` times.

        y[i] = x[i+1] - x[i]

    Args:
        x: Any shape with at least one axis, of numbers.
        n: How often the differences are taken, at least 0.
        axis: The axis along which elements are neighbours.

    Returns:
        The shape of `x` with `n` elements less along the axis, or 0 if it has fewer than `n`.

    Raises:
        ShapeError: The axis is out of range, or `n` is below 0.
        DTypeError: `x` is bool.

    Examples:
        >>> x = tg.tensor([1.0, 4.0, 9.0, 16.0])
        >>> tg.diff(x).tolist()
        [3.0, 5.0, 7.0]
        >>> tg.diff(x, 2).tolist()
        [2.0, 2.0]
    """
    tensor_only(x, "x")
    number_only(x)
    diff_shape(x.shape, n, axis)
    front = (slice(None),) * normal_axis(axis, x.shape)
    y: Any = x
    for _ in range(min(n, x.shape[axis])):
        y = sub(getitem(y, (*front, slice(1, None))), getitem(y, (*front, slice(None, -1))))
    differences: Tensor[Any, T, Real] = y
    return differences


def _indices(
    x: Tensor[Any, Any, Any], axis: Int | None, find: Callable[[Any, int], Any]
) -> Tensor[Any, NoneTape, np.int64]:
    """Return the indices along an axis that `find` returns."""
    tensor_only(x, "x")
    check_axis(x, axis)
    x, _ = unwrap(x)
    run: Any = x.data.reshape((x.size,)) if axis is None else x.data
    return node(find(run, 0 if axis is None else normal_axis(axis, x.shape)))


def _picked(x: Tensor[Any, T, D], axis: Int | None, find: Callable[[Any, int], Any]) -> Tensor[Any, T, D]:
    """Select along an axis the elements at the indices that `find` returns."""
    tensor_only(x, "x")
    check_axis(x, axis)
    run = reshape(x, (x.size,)) if axis is None else x
    axis = 0 if axis is None else normal_axis(axis, x.shape)
    return getitem(run, along(raw(find(run.data, axis)), axis))


def _recurred(terms: Any, factors: Any, axis: Int) -> Any:
    """Solve `s[i] = terms[i] + factors[i] * s[i + 1]` along an axis, doubling the distance with each pass.

    Zeros are safe because there is no division, and there is no Python loop over the elements.
    """
    step = 1
    while step < terms.shape[axis]:
        terms = terms + factors * _moved(terms, axis, -step, 0)
        factors = factors * _moved(factors, axis, -step, 0)
        step *= 2
    return terms


def _moved(x: Any, axis: Int, by: int, fill: int) -> Any:
    """Shift elements by `by` positions along an axis, towards the start if negative; fill the gap with `fill`."""
    if not x.size:
        return x
    remaining, width = (slice(None, -by), (by, 0)) if by > 0 else (slice(-by, None), (0, -by))
    widths = [(0, 0)] * x.ndim
    widths[axis] = width
    part = engine(x).getitem(x, (*(slice(None),) * axis, remaining))
    return engine(part).pad(part, widths, fill)
