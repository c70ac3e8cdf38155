"""Ops that flip, roll or pad a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.autograd.registry import Typed
from tapegrad.engines import Axis, Int, engine
from tapegrad.errors import DTypeError, ShapeError, messages
from tapegrad.errors.options import check_scalar, check_word
from tapegrad.ops._counting import positions
from tapegrad.ops.elementwise import is_fraction
from tapegrad.ops.index import take
from tapegrad.sizes import Dims, normal_axes, several_ints, show, surely_less, surely_same
from tapegrad.sizes.constraints import numbers
from tapegrad.sizes.symbols import is_symbol
from tapegrad.tensors import D, S, T, Tensor, node
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.tensors import Scalar


_REPEATING = ("edge", "reflect", "wrap")
_CROP = "; to crop x, slice it"


def flip_shape(x: Dims, axis: Axis = None) -> Dims:
    """Return the shape of `x`, after checking the axes."""
    if axis is not None:
        normal_axes(axis, x)
    return x


def roll_shape(x: Dims, shift: Int | tuple[Int, ...], axis: Axis = None) -> Dims:
    """Return the shape of `x`, after checking the shifts and axes."""
    shifts = several_ints(shift, "shift")
    if axis is not None:
        axes = normal_axes(axis, x)
        if isinstance(shift, tuple) and len(shift) != len(axes):
            message = f"shift {show(shifts)} has {len(shifts)} numbers but axis {axis} names {len(axes)}"
            raise ShapeError(message)
    elif isinstance(shift, tuple):
        message = f"shift {show(shifts)} has {len(shifts)} numbers but axis is None"
        raise ShapeError(message)
    return x


def pad_shape(
    x: Dims, pad_width: int | tuple[int, int] | tuple[tuple[int, int], ...], *, mode: str = "constant"
) -> Dims:
    """Return the sizes plus the padding before and after; an empty axis has no elements to repeat."""
    widths = _widths(x, pad_width)
    for axis, (n, (before, after)) in enumerate(zip(x, widths, strict=True)):
        if mode in _REPEATING and surely_same(n, 0) and surely_less(0, before + after):
            message = f"axis {axis} of x {show(x)} is empty, so mode '{mode}' has no elements to repeat"
            raise ShapeError(message)
    return tuple(before + n + after for n, (before, after) in zip(x, widths, strict=True))


@op(flip_shape, memory_bound=True)
def flip(x: Tensor[Any, T, D], axis: Axis = None) -> Tensor[Any, T, D]:
    """Reverse the order of elements along axes.

        y[i] = x[n-1-i]
        dx[i] = dy[n-1-i]

    Args:
        x: Any shape.
        axis: The axis, or axes, to reverse; None for all.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: An axis is out of range or named twice.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.flip(x, axis=1).tolist()
        [[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]]
        >>> tg.flip(x).tolist()
        [[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]]
    """
    x, tape = unwrap(x)
    axes = normal_axes(axis, x.shape)
    flipped = tuple(slice(None, None, -1 if position in axes else 1) for position in range(x.ndim))
    out = node(engine(x.data).getitem(x.data, flipped))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        grads.add(x, engine(dy).getitem(dy, flipped))

    return tape.record(out, (x,), backward)


@op(roll_shape, memory_bound=True)
def roll(x: Tensor[S, T, D], shift: Int | tuple[Int, ...], axis: Axis = None) -> Tensor[S, T, D]:
    """Roll elements along axes; elements shifted past one end re-enter at the other.

        y[(i + s) mod n] = x[i]
        dx[i] = dy[(i + s) mod n]

    Args:
        x: Any shape.
        shift: The shift s in elements, one for all axes or one for each; negative towards the start.
        axis: The axis, or axes, to roll along; None for all elements in row-major order.

    Returns:
        The shape of `x`.

    Raises:
        ShapeError: An axis is out of range or named twice, or the numbers of shifts and axes differ.
        DTypeError: A shift is not an int.

    Examples:
        >>> x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> tg.roll(x, 1, axis=1).tolist()
        [[3.0, 1.0, 2.0], [6.0, 4.0, 5.0]]
        >>> tg.roll(x, -1).tolist()
        [[2.0, 3.0, 4.0], [5.0, 6.0, 1.0]]
    """
    x, tape = unwrap(x)
    roll_shape(x.shape, shift, axis)
    sizes = (x.size,) if axis is None else x.shape
    axes = normal_axes(axis, sizes)
    shifts = map(int, shift if isinstance(shift, tuple) else (shift,) * len(axes))
    moves = list(zip(axes, shifts, strict=True))
    out = node(_rolled(x.data.reshape(sizes), moves).reshape(x.shape))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out).reshape(sizes)
        grads.add(x, _rolled(dy, [(along, -by) for along, by in moves]).reshape(x.shape))

    return tape.record(out, (x,), backward)


def pad_dtypes(x: Typed, value: Scalar = 0) -> None:
    """Raise a DTypeError if `value` is a float and `x` is not."""
    if is_fraction(value) and not x.is_float:
        raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, "a float", "value", x.dtype, "x"))


@op(pad_shape, memory_bound=True, dtypes=pad_dtypes)
def pad(
    x: Tensor[Any, T, D],
    pad_width: int | tuple[int, int] | tuple[tuple[int, int], ...],
    *,
    mode: Literal["constant", "edge", "reflect", "wrap"] = "constant",
    value: Scalar = 0,
) -> Tensor[Any, T, D]:
    """Pad a tensor with a constant or with its own elements.

        y[i+b] = x[i]
        dx[i] = dy[i+b]

    An element that is repeated gets the sum of the gradients of its copies.

    Args:
        x: Any shape.
        pad_width: How many elements to add before and after, at least 0: a pair for each axis, or one pair or one
            number for all.
        mode: What is added: `constant` the value, `edge` the first and last element, `reflect` the elements in
            reverse order without the first and last one, or `wrap` those of the other end.
        value: The value of the added elements, for the mode `constant`.

    Returns:
        The sizes of `x` plus both pad widths.

    Raises:
        ShapeError: A width is negative, the numbers of pairs and axes differ, or an axis without elements is padded
            with its elements.
        DTypeError: A width is not an int, or `value` is a float and `x` is not.
        ValueError: `mode` is invalid, or `value` is given with another mode than `constant`.

    Source:
        NumPy 2.3, `numpy.pad`, for the modes; PyTorch calls them `replicate`, `reflect` and `circular`.

    Examples:
        >>> tg.pad(tg.tensor([1.0, 2.0, 3.0]), (2, 1), mode="reflect").tolist()
        [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]
        >>> image = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> tg.pad(image, ((0, 0), (1, 2))).tolist()
        [[0.0, 1.0, 2.0, 0.0, 0.0], [0.0, 3.0, 4.0, 0.0, 0.0]]
        >>> tg.pad(image, 1, value=-1.0)[0].tolist()
        [-1.0, -1.0, -1.0, -1.0]
        >>> tg.pad(tg.zeros((2, 3, 8, 8)), ((0, 0), (0, 0), (1, 1), (1, 1))).shape
        (2, 3, 10, 10)
    """
    if mode != "constant":
        return _repeated(x, pad_width, mode, value)
    x, tape = unwrap(x)
    check_scalar("pad", "value", value)
    pad_dtypes(Typed(x.ndim, str(x.dtype)), value)
    widths: Any = _widths(x.shape, pad_width)
    out = node(engine(x.data).pad(x.data, widths, x.data.dtype.type(value)))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        inside = tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True))
        grads.add(x, engine(dy).getitem(dy, inside))

    return tape.record(out, (x,), backward)


def _repeated(
    x: Tensor[Any, T, D], pad_width: Any, mode: Literal["edge", "reflect", "wrap"], value: Scalar
) -> Tensor[Any, T, D]:
    """Pad with elements of the tensor, axis by axis."""
    check_word("pad", "mode", mode, ("constant", "edge", "reflect", "wrap"))
    if value != 0:
        message = f"pad: value is {value} but mode {mode!r} adds elements of x"
        raise ValueError(message)
    pad_shape(x.shape, pad_width, mode=mode)
    widths: Any = _widths(x.shape, pad_width)
    for axis, (n, (before, after)) in enumerate(zip(x.shape, widths, strict=True)):
        if before or after:
            is_named = is_symbol(n)  # while a step is exported
            places = _places(n, before, after, mode) if is_named else np.pad(np.arange(n), (before, after), mode)
            x = take(x, node(places), axis)
    return x


def _places(n: Any, before: int, after: int, mode: Literal["edge", "reflect", "wrap"]) -> Any:
    """Return which elements a padded axis has, as `np.pad(np.arange(n), (before, after), mode)` does."""
    at, last = positions(n + (before + after)) - before, positions(n)[-1:]
    if mode == "edge":
        return np.minimum(np.maximum(at, 0), last)
    if mode == "wrap":
        return at % (last + 1)
    period = 2 * last
    at = at % np.maximum(period, 1)
    return np.minimum(at, period - at)


def _rolled(x: Any, moves: Iterable[tuple[int, int]]) -> Any:
    for axis, by in moves:
        n = x.shape[axis]
        start = -by % n if n else 0
        front = (slice(None),) * axis
        parts = [engine(x).getitem(x, (*front, part)) for part in (slice(start, None), slice(None, start))]
        x = engine(x).concat(parts, axis) if start else x
    return x


def _widths(x: Dims, pad_width: Any) -> list[Dims]:
    """Return the padding before and after as a pair for each axis."""
    if not isinstance(pad_width, tuple) or (len(pad_width) == 2 and not any(isinstance(n, tuple) for n in pad_width)):
        return [numbers(pad_width, 2, "pad_width", 0, _CROP)] * len(x)
    if len(pad_width) != len(x):
        count = len(pad_width)
        message = f"x {show(x)} has rank {len(x)} but pad_width has {count} pair{'s' if count != 1 else ''}"
        raise ShapeError(message)
    return [numbers(pair, 2, f"pad_width along axis {axis}", 0, _CROP) for axis, pair in enumerate(pad_width)]
