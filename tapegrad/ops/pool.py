"""Pooling: reduce each window of a sequence or an image to one number, channel by channel."""

from __future__ import annotations

import operator
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tapegrad.autograd.op import op
from tapegrad.engines import engine
from tapegrad.errors.ranges import check_options
from tapegrad.ops._broadcast import accumulate_like
from tapegrad.ops._lowering import check_rank
from tapegrad.ops._windows import pool_shape, windows_over
from tapegrad.ops.elementwise import float_only
from tapegrad.ops.index import take
from tapegrad.ops.join import concat
from tapegrad.ops.ranges import countable
from tapegrad.ops.reduce import mean
from tapegrad.ops.scatter import getitem
from tapegrad.sizes.constraints import numbers
from tapegrad.tensors import Float, T, Tensor, node, values_of
from tapegrad.tensors.nodes import deferred_operand
from tapegrad.tensors.operands import tensor_only, unwrap

if TYPE_CHECKING:
    from tapegrad.autograd.gradients import Gradients
    from tapegrad.engines.windows import Windows
    from tapegrad.sizes import Dims


def pool1d_shape(
    x: Dims,
    kernel: int | tuple[int],
    *,
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    dilation: int | tuple[int] = 1,
    ceil_mode: bool = False,
) -> Dims:
    """Return the shape with the number of windows as the last size."""
    return pool_shape(1, x, kernel, stride, padding, dilation, ceil_mode=ceil_mode)


def pool2d_shape(
    x: Dims,
    kernel: int | tuple[int, int],
    *,
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    ceil_mode: bool = False,
) -> Dims:
    """Return the shape with the numbers of windows along height and width as the last sizes."""
    return pool_shape(2, x, kernel, stride, padding, dilation, ceil_mode=ceil_mode)


def avg_pool1d_shape(
    x: Dims,
    kernel: int | tuple[int],
    *,
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    ceil_mode: bool = False,
) -> Dims:
    """Return the shape with the number of windows as the last size."""
    return pool_shape(1, x, kernel, stride, padding, ceil_mode=ceil_mode)


def avg_pool2d_shape(
    x: Dims,
    kernel: int | tuple[int, int],
    *,
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    ceil_mode: bool = False,
) -> Dims:
    """Return the shape with the numbers of windows along height and width as the last sizes."""
    return pool_shape(2, x, kernel, stride, padding, ceil_mode=ceil_mode)


def adaptive_avg_pool1d_shape(x: Dims, size: int | tuple[int]) -> Dims:
    """Return the shape of `x` with its last size replaced by `size`."""
    return _adapted(1, x, size)


def adaptive_avg_pool2d_shape(x: Dims, size: int | tuple[int, int]) -> Dims:
    """Return the shape of `x` with its last two sizes replaced by `size`."""
    return _adapted(2, x, size)


@op(pool1d_shape)
def max_pool1d(
    x: Tensor[Any, T, Float],
    kernel: int | tuple[int],
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    *,
    dilation: int | tuple[int] = 1,
    ceil_mode: bool = False,
) -> Tensor[Any, T, Float]:
    """Compute 1D max pooling; of equal elements in a window the first gets the gradient.

        y[n,c,i] = max_k x[n, c, s i + d k - p]

    Args:
        x: Sequences, `(N, C, L)`, or one, `(C, L)`, a float dtype.
        kernel: The length of a window, at least 1.
        stride: The step between adjacent windows, at least 1; None for `kernel`, so that windows do not overlap.
        padding: Cells added to each side, at most half of a window; the result ignores them.
        dilation: Cells from one cell of a window to the next, at least 1.
        ceil_mode: Whether a last window may reach beyond the padding, so that none of the last cells is left out; it
            starts before the padding at the end.

    Returns:
        `(N, C, (L + 2 padding - dilation (kernel - 1) - 1) // stride + 1)`, without a batch if `x` has none.
        The result of a window with a NaN is NaN, and of one of padding alone, as a dilation allows, -inf.

    Raises:
        ShapeError: The rank is wrong, a window is longer than the padded input, or an argument is out of range.
        DTypeError: `x` is not a float.

    Source:
        PyTorch 2.13, `torch.nn.functional.max_pool1d`.

    Examples:
        >>> x = tg.tensor([[1.0, 3.0, 2.0, 5.0, 4.0, 0.0]])
        >>> tg.max_pool1d(x, 2).tolist()
        [[3.0, 5.0, 4.0]]
        >>> tg.max_pool1d(x, 3, stride=1).tolist()
        [[3.0, 5.0, 5.0, 5.0]]
    """
    return _extreme(1, x, kernel, stride, padding, dilation, ceil_mode, "maximum")


@op(pool2d_shape)
def max_pool2d(
    x: Tensor[Any, T, Float],
    kernel: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    *,
    dilation: int | tuple[int, int] = 1,
    ceil_mode: bool = False,
) -> Tensor[Any, T, Float]:
    """Compute 2D max pooling; of equal elements in a window the first gets the gradient.

        y[n,c,i,j] = max_(k,l) x[n, c, s i + d k - p, s j + d l - p]

    Args:
        x: Images, `(N, C, H, W)`, or one, `(C, H, W)`, a float dtype.
        kernel: The size of a window in pixels, at least 1; one number, or one for height and one for width.
        stride: Pixels between adjacent windows, at least 1; None for `kernel`, so that windows do not overlap.
        padding: Pixels added to each side, at most half of a window; the result ignores them.
        dilation: Pixels from one pixel of a window to the next, at least 1.
        ceil_mode: Whether a last window may reach beyond the padding, so that none of the last pixels is left out; it
            starts before the padding at the end.

    Returns:
        `(N, C, (H + 2 padding - dilation (kernel - 1) - 1) // stride + 1, …)`, the width likewise, without a batch if
        `x` has none.
        The result of a window with a NaN is NaN, and of one of padding alone, as a dilation allows, -inf.

    Raises:
        ShapeError: The rank is wrong, a window is longer than the padded input, or an argument is out of range.
        DTypeError: `x` is not a float.

    Source:
        PyTorch 2.13, `torch.nn.functional.max_pool2d`.

    Examples:
        >>> image = tg.arange(16).astype(np.float32).reshape((1, 4, 4))
        >>> tg.max_pool2d(image, 2).tolist()
        [[[5.0, 7.0], [13.0, 15.0]]]
        >>> images = tg.uniform((8, 3, 32, 32), rng=0)
        >>> tg.max_pool2d(images, 3, stride=2, padding=1).shape
        (8, 3, 16, 16)
    """
    return _extreme(2, x, kernel, stride, padding, dilation, ceil_mode, "maximum")


@op(pool1d_shape)
def min_pool1d(
    x: Tensor[Any, T, Float],
    kernel: int | tuple[int],
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    *,
    dilation: int | tuple[int] = 1,
    ceil_mode: bool = False,
) -> Tensor[Any, T, Float]:
    """Compute 1D min pooling; of equal elements in a window the first gets the gradient.

        y[n,c,i] = min_k x[n, c, s i + d k - p]

    Args:
        x: Sequences, `(N, C, L)`, or one, `(C, L)`, a float dtype.
        kernel: The length of a window, at least 1.
        stride: The step between adjacent windows, at least 1; None for `kernel`, so that windows do not overlap.
        padding: Cells added to each side, at most half of a window; the result ignores them.
        dilation: Cells from one cell of a window to the next, at least 1.
        ceil_mode: Whether a last window may reach beyond the padding, so that none of the last cells is left out; it
            starts before the padding at the end.

    Returns:
        `(N, C, (L + 2 padding - dilation (kernel - 1) - 1) // stride + 1)`, without a batch if `x` has none.
        The result of a window with a NaN is NaN, and of one of padding alone, as a dilation allows, inf.

    Raises:
        ShapeError: The rank is wrong, a window is longer than the padded input, or an argument is out of range.
        DTypeError: `x` is not a float.

    Source:
        The negative of `max_pool1d` of the negated input.

    Examples:
        >>> x = tg.tensor([[1.0, 3.0, 2.0, 5.0, 4.0, 0.0]])
        >>> tg.min_pool1d(x, 2).tolist()
        [[1.0, 2.0, 0.0]]
        >>> tg.min_pool1d(x, 3, stride=1).tolist()
        [[1.0, 2.0, 2.0, 0.0]]
    """
    return _extreme(1, x, kernel, stride, padding, dilation, ceil_mode, "minimum")


@op(pool2d_shape)
def min_pool2d(
    x: Tensor[Any, T, Float],
    kernel: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    *,
    dilation: int | tuple[int, int] = 1,
    ceil_mode: bool = False,
) -> Tensor[Any, T, Float]:
    """Compute 2D min pooling; of equal elements in a window the first gets the gradient.

        y[n,c,i,j] = min_(k,l) x[n, c, s i + d k - p, s j + d l - p]

    Args:
        x: Images, `(N, C, H, W)`, or one, `(C, H, W)`, a float dtype.
        kernel: The size of a window in pixels, at least 1; one number, or one for height and one for width.
        stride: Pixels between adjacent windows, at least 1; None for `kernel`, so that windows do not overlap.
        padding: Pixels added to each side, at most half of a window; the result ignores them.
        dilation: Pixels from one pixel of a window to the next, at least 1.
        ceil_mode: Whether a last window may reach beyond the padding, so that none of the last pixels is left out; it
            starts before the padding at the end.

    Returns:
        `(N, C, (H + 2 padding - dilation (kernel - 1) - 1) // stride + 1, …)`, the width likewise, without a batch if
        `x` has none.
        The result of a window with a NaN is NaN, and of one of padding alone, as a dilation allows, inf.

    Raises:
        ShapeError: The rank is wrong, a window is longer than the padded input, or an argument is out of range.
        DTypeError: `x` is not a float.

    Source:
        The negative of `max_pool2d` of the negated input.

    Examples:
        >>> image = tg.arange(16).astype(np.float32).reshape((1, 4, 4))
        >>> tg.min_pool2d(image, 2).tolist()
        [[[0.0, 2.0], [8.0, 10.0]]]
        >>> tg.min_pool2d(image, (4, 1)).tolist()
        [[[0.0, 1.0, 2.0, 3.0]]]
    """
    return _extreme(2, x, kernel, stride, padding, dilation, ceil_mode, "minimum")


@op(pool1d_shape)
def smooth_max_pool1d(
    x: Tensor[Any, T, Float],
    kernel: int | tuple[int],
    *,
    beta: float = 1.0,
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    dilation: int | tuple[int] = 1,
    ceil_mode: bool = False,
) -> Tensor[Any, T, Float]:
    """Compute 1D smooth max pooling (log-sum-exp); every element of a window gets a gradient.

        y[n,c,i] = (1/β) log ∑_k e^(β x[n, c, s i + d k - p])

    Args:
        x: Sequences, `(N, C, L)`, or one, `(C, L)`, a float dtype.
        kernel: The length of a window, at least 1.
        beta: The sharpness, in one over the units of `x`, finite and not 0: the result approaches the maximum for
            large positive values, the minimum for large negative ones.
        stride: The step between adjacent windows, at least 1; None for `kernel`, so that windows do not overlap.
        padding: Cells added to each side, at most half of a window; the result ignores them.
        dilation: Cells from one cell of a window to the next, at least 1.
        ceil_mode: Whether a last window may reach beyond the padding, so that none of the last cells is left out; it
            starts before the padding at the end.

    Returns:
        `(N, C, (L + 2 padding - dilation (kernel - 1) - 1) // stride + 1)`, without a batch if `x` has none.
        It is finite if all of `x` is.

    Raises:
        ShapeError: The rank is wrong, a window is longer than the padded input, or an argument is out of range.
        DTypeError: `x` is not a float.
        ValueError: `beta` is 0 or not finite.

    Source:
        Boyd & Vandenberghe, [Convex optimization](https://web.stanford.edu/~boyd/cvxbook/), §3.1.5: at least the
        maximum, and at most log(K) / β more.

    Examples:
        >>> x = tg.tensor([[0.0, 0.0, 2.0, 1.0]])
        >>> y = tg.smooth_max_pool1d(x, 2)
        >>> np.round(y.numpy().astype(float), 3).tolist()
        [[0.693, 2.313]]
        >>> y = tg.smooth_max_pool1d(x, 2, beta=10.0)
        >>> np.round(y.numpy().astype(float), 3).tolist()
        [[0.069, 2.0]]
    """
    return _smooth(1, x, kernel, stride, padding, dilation, ceil_mode, beta)


@op(pool2d_shape)
def smooth_max_pool2d(
    x: Tensor[Any, T, Float],
    kernel: int | tuple[int, int],
    *,
    beta: float = 1.0,
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    ceil_mode: bool = False,
) -> Tensor[Any, T, Float]:
    """Compute 2D smooth max pooling (log-sum-exp); every element of a window gets a gradient.

        y[n,c,i,j] = (1/β) log
            ∑_(k,l) e^(β x[n, c, s i + d k - p, s j + d l - p])

    Args:
        x: Images, `(N, C, H, W)`, or one, `(C, H, W)`, a float dtype.
        kernel: The size of a window in pixels, at least 1; one number, or one for height and one for width.
        beta: The sharpness, in one over the units of `x`, finite and not 0: the result approaches the maximum for
            large positive values, the minimum for large negative ones.
        stride: Pixels between adjacent windows, at least 1; None for `kernel`, so that windows do not overlap.
        padding: Pixels added to each side, at most half of a window; the result ignores them.
        dilation: Pixels from one pixel of a window to the next, at least 1.
        ceil_mode: Whether a last window may reach beyond the padding, so that none of the last pixels is left out; it
            starts before the padding at the end.

    Returns:
        `(N, C, (H + 2 padding - dilation (kernel - 1) - 1) // stride + 1, …)`, the width likewise, without a batch if
        `x` has none.
        It is finite if all of `x` is.

    Raises:
        ShapeError: The rank is wrong, a window is longer than the padded input, or an argument is out of range.
        DTypeError: `x` is not a float.
        ValueError: `beta` is 0 or not finite.

    Source:
        Boyd & Vandenberghe, [Convex optimization](https://web.stanford.edu/~boyd/cvxbook/), §3.1.5: at least the
        maximum, and at most log(K) / β more.

    Examples:
        >>> image = tg.tensor([[[0.0, 1.0], [2.0, 3.0]]])
        >>> y = tg.smooth_max_pool2d(image, 2)
        >>> np.round(y.numpy().astype(float), 3).tolist()
        [[[3.44]]]
        >>> grads = tg.smooth_max_pool2d(image.trace(), 2).sum().backward()
        >>> np.round(grads[image].numpy().astype(float), 3).tolist()
        [[[0.032, 0.087], [0.237, 0.644]]]
    """
    return _smooth(2, x, kernel, stride, padding, dilation, ceil_mode, beta)


@op(avg_pool1d_shape)
def avg_pool1d(
    x: Tensor[Any, T, Float],
    kernel: int | tuple[int],
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: float | None = None,
) -> Tensor[Any, T, Float]:
    """Compute 1D average pooling.

        y[n,c,i] = (1/K) ∑_k x[n, c, s i + k - p]

    Args:
        x: Sequences, `(N, C, L)`, or one, `(C, L)`, a float dtype.
        kernel: The length of a window, at least 1.
        stride: The step between adjacent windows, at least 1; None for `kernel`, so that windows do not overlap.
        padding: Cells of zero added to each side, at most half of a window.
        ceil_mode: Whether a last window may reach beyond the padding, so that none of the last cells is left out; it
            starts before the padding at the end.
        count_include_pad: Whether the average includes the padded cells; otherwise only the others.
        divisor_override: What the sum of each window is divided by, not 0; None for the number of cells counted.

    Returns:
        `(N, C, (L + 2 padding - kernel) // stride + 1)`, without a batch if `x` has none.

    Raises:
        ShapeError: The rank is wrong, a window is longer than the padded input, or an argument is out of range.
        DTypeError: `x` is not a float, or a flag is not a bool.
        ValueError: `divisor_override` is 0 or not finite.

    Source:
        PyTorch 2.13, `torch.nn.functional.avg_pool1d`.

    Examples:
        >>> x = tg.tensor([[1.0, 3.0, 2.0, 6.0]])
        >>> tg.avg_pool1d(x, 2).tolist()
        [[2.0, 4.0]]
        >>> tg.avg_pool1d(x, 2, padding=1).tolist()
        [[0.5, 2.5, 3.0]]
        >>> tg.avg_pool1d(x, 2, padding=1, count_include_pad=False).tolist()
        [[1.0, 2.5, 6.0]]
    """
    return _average(1, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


@op(avg_pool2d_shape)
def avg_pool2d(
    x: Tensor[Any, T, Float],
    kernel: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: float | None = None,
) -> Tensor[Any, T, Float]:
    """Compute 2D average pooling.

        y[n,c,i,j] = (1 / (K L)) ∑_(k,l) x[n, c, s i + k - p, s j + l - p]

    Args:
        x: Images, `(N, C, H, W)`, or one, `(C, H, W)`, a float dtype.
        kernel: The size of a window in pixels, at least 1; one number, or one for height and one for width.
        stride: Pixels between adjacent windows, at least 1; None for `kernel`, so that windows do not overlap.
        padding: Pixels of zero added to each side, at most half of a window.
        ceil_mode: Whether a last window may reach beyond the padding, so that none of the last pixels is left out; it
            starts before the padding at the end.
        count_include_pad: Whether the average includes the padded pixels; otherwise only the others.
        divisor_override: What the sum of each window is divided by, not 0; None for the number of pixels counted.

    Returns:
        `(N, C, (H + 2 padding - kernel) // stride + 1, …)`, the width likewise, without a batch if `x` has none.

    Raises:
        ShapeError: The rank is wrong, a window is longer than the padded input, or an argument is out of range.
        DTypeError: `x` is not a float, or a flag is not a bool.
        ValueError: `divisor_override` is 0 or not finite.

    Source:
        PyTorch 2.13, `torch.nn.functional.avg_pool2d`.

    Examples:
        >>> image = tg.arange(16).astype(np.float32).reshape((1, 4, 4))
        >>> tg.avg_pool2d(image, 2).tolist()
        [[[2.5, 4.5], [10.5, 12.5]]]
        >>> images = tg.uniform((8, 3, 32, 32), rng=0)
        >>> tg.avg_pool2d(images, 3, stride=2, padding=1).shape
        (8, 3, 16, 16)
    """
    return _average(2, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


@op(adaptive_avg_pool1d_shape)
def adaptive_avg_pool1d(x: Tensor[Any, T, Float], size: int | tuple[int]) -> Tensor[Any, T, Float]:
    """Compute 1D adaptive average pooling: choose the windows from the output size.

        y[n,c,i] = (1 / (b[i] - a[i])) ∑_(m = a[i] to b[i] - 1) x[n,c,m]
        a[i] = ⌊i L / I⌋
        b[i] = ⌈(i + 1) L / I⌉

    Args:
        x: Sequences, `(N, C, L)`, or one, `(C, L)`, a float dtype, L at least 1.
        size: The number of windows I, at least 1. Windows overlap if I does not divide L.

    Returns:
        `(N, C, I)`, without a batch if `x` has none.

    Raises:
        ShapeError: The rank is wrong, or a size of `x` or `size` is below 1.
        DTypeError: `x` is not a float.

    Source:
        PyTorch 2.13, `torch.nn.functional.adaptive_avg_pool1d`.

    Examples:
        >>> x = tg.tensor([[1.0, 3.0, 2.0, 6.0]])
        >>> tg.adaptive_avg_pool1d(x, 2).tolist()
        [[2.0, 4.0]]
        >>> tg.adaptive_avg_pool1d(x, 3).tolist()
        [[2.0, 2.5, 4.0]]
    """
    return _adaptive(1, x, size)


@op(adaptive_avg_pool2d_shape)
def adaptive_avg_pool2d(x: Tensor[Any, T, Float], size: int | tuple[int, int]) -> Tensor[Any, T, Float]:
    """Compute 2D adaptive average pooling: choose the windows from the output size.

        y[n,c,i,j] = (1 / ((b[i] - a[i]) (d[j] - c[j])))
            ∑_(m = a[i] to b[i] - 1) ∑_(v = c[j] to d[j] - 1) x[n,c,m,v]
        a[i] = ⌊i H / I⌋
        b[i] = ⌈(i + 1) H / I⌉

    and `c[j]` and `d[j]` likewise for the width.

    Args:
        x: Images, `(N, C, H, W)`, or one, `(C, H, W)`, a float dtype, H and W at least 1.
        size: The number of windows, at least 1; one number, or one for height and one for width. Windows overlap
            if it does not divide the size of the image.

    Returns:
        `(N, C, I, J)`, without a batch if `x` has none.

    Raises:
        ShapeError: The rank is wrong, or a size of `x` or `size` is below 1.
        DTypeError: `x` is not a float.

    Source:
        PyTorch 2.13, `torch.nn.functional.adaptive_avg_pool2d`.

    Examples:
        >>> image = tg.arange(16).astype(np.float32).reshape((1, 4, 4))
        >>> tg.adaptive_avg_pool2d(image, 2).tolist()
        [[[2.5, 4.5], [10.5, 12.5]]]
        >>> images = tg.uniform((8, 64, 7, 9), rng=0)
        >>> tg.adaptive_avg_pool2d(images, 1).shape
        (8, 64, 1, 1)
    """
    return _adaptive(2, x, size)


def _adapted(rank: int, x: Dims, size: Any) -> Dims:
    check_rank(x, rank)
    numbers(x[-rank:], rank, "the input", 1)
    return (*x[:-rank], *numbers(size, rank, "size", 1))


def _extreme(
    rank: int,
    x: Tensor[Any, T, Float],
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: Any,
    name: Literal["maximum", "minimum"],
) -> Tensor[Any, T, Float]:
    tensor_only(x, "x")
    operand = deferred_operand(x) if name == "maximum" else None
    x, tape = unwrap(x)
    value: Any = x.data if operand is None else operand.data  # the same shape and dtype
    float_only(x if operand is None else operand)
    windows = windows_over(value, rank, kernel, stride, padding, dilation, ceil_mode=ceil_mode)
    if operand is not None and max(windows.dilation) == 1:  # otherwise a window may have no cell of `x`
        y: Tensor[Any, T, Float] = _of_relu(x, operand, tape, windows)
        return y
    out = node(engine(x.data).pool(x.data, windows, name))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        grads.add(x, engine(x.data, dy).pool_extreme_back(x.data, out.data, dy, windows))

    return tape.record(out, (x,), backward)


def _of_relu(x: Any, operand: Any, tape: Any, windows: Windows) -> Any:
    """Return the max pool of `x`, the deferred `relu` of an operand, without computing `x`.

    The largest cell is the same before and after `relu`, and `relu` has the gradient of zero where it is not positive.
    """
    out = node(engine(operand.data).pool_relu(operand.data, windows))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        if grads.needs_itself(x):
            grads.add(x, engine(x.data, dy).pool_extreme_back(x.data, out.data, dy, windows))
        else:
            primitives = engine(operand.data, dy)
            accumulate_like(grads, operand, primitives.pool_relu_back(operand.data, out.data, dy, windows))

    backward.__qualname__ = _extreme.__qualname__ + ".<locals>.backward"
    return tape.record(out, (x,), backward)


def _smooth(
    rank: int,
    x: Tensor[Any, T, Float],
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: Any,
    beta: float,
) -> Tensor[Any, T, Float]:
    check_options(f"smooth_max_pool{rank}d", beta=beta)
    tensor_only(x, "x")
    x, tape = unwrap(x)
    float_only(x)
    windows = windows_over(x.data, rank, kernel, stride, padding, dilation, ceil_mode=ceil_mode)
    outside = -np.inf if beta > 0 else np.inf
    powers, peak = _powers(windows.of(x.data, outside), beta)
    total = reduce(operator.add, powers)
    with np.errstate(divide="ignore"):  # log(0) is correct where all of a window is -inf, or inf if beta < 0
        out = node(engine(total).log(total) * (1 / beta) + peak)

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        # Shifted exponentials, not exp(x - y): if y is large, float32 loses the digits of the difference.
        powers, _ = _powers(windows.of(x.data, outside), beta)
        total = reduce(operator.add, powers)
        primitives = engine(total)
        share = dy / primitives.where(primitives.equal(total, 0), 1, total)  # if it is 0, so is each power
        grads.add(x, windows.back([share * power for power in powers]))

    return tape.record(out, (x,), backward)


def _powers(cells: list[Any], beta: float) -> tuple[list[Any], Any]:
    """Return the exponentials after the extreme of each window is subtracted, and the extremes."""
    # Subtract first, because exp(89) overflows float32; 0 replaces an infinite extreme, because inf - inf is NaN. The
    # shift cancels, so it needs no gradient and no tape.
    values: Any = [values_of(one) for one in cells]
    peak: Any = reduce(np.maximum if beta > 0 else np.minimum, values)
    peak = np.where(np.isfinite(peak), peak, peak.dtype.type(0))
    with np.errstate(over="ignore"):  # overflows only beside an infinity or a NaN, which decides the sum
        return [engine(one).exp((one - peak) * beta) for one in cells], peak


def _average(
    rank: int,
    x: Tensor[Any, T, Float],
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: Any,
    count_include_pad: Any,
    divisor_override: Any,
) -> Tensor[Any, T, Float]:
    tensor_only(x, "x")
    x, tape = unwrap(x)
    float_only(x)
    windows = windows_over(x.data, rank, kernel, stride, padding, ceil_mode=ceil_mode)
    share: Any = _share(windows, x.dtype, count_include_pad=count_include_pad)
    if divisor_override is not None:
        check_options(f"avg_pool{rank}d", divisor_override=divisor_override)
        share = np.asarray(1 / divisor_override).astype(x.dtype)
    out = node(engine(x.data).pool(x.data, windows, "add") * share)

    def backward(grads: Gradients) -> None:
        part = grads.pop_output(out) * share
        grads.add(x, engine(part).pool_sum_back(part, windows))

    return tape.record(out, (x,), backward)


def _share(windows: Windows, dtype: Any, *, count_include_pad: bool) -> Any:
    """Return for each window one over the number of its cells inside `x`, or inside its padding too."""
    counts: Any = 1
    each = zip(windows.shape[-len(windows.sizes) :], windows.sizes, windows.kernel, strict=True)
    for (n, m, k), s, p in zip(each, windows.stride, windows.padding_before, strict=True):
        starts = np.arange(m) * s - p
        first, end = (-p, n + p) if count_include_pad else (0, n)
        inside = np.minimum(starts + k, end) - np.maximum(starts, first)
        counts = np.multiply.outer(counts, inside)
    return (1 / counts).astype(dtype)


def _adaptive(rank: int, x: Tensor[Any, T, Float], size: Any) -> Tensor[Any, T, Float]:
    tensor_only(x, "x")
    float_only(x)
    sizes: Any = _adapted(rank, x.shape, size)[-rank:]
    y: Any = x
    for axis, count in zip(range(-rank, 0), sizes, strict=True):
        countable(count)
        n, after, positions = y.shape[axis], (slice(None),) * (-axis - 1), np.arange(count)
        spans = np.stack([positions * n // count, -(-(positions + 1) * n // count)], axis=1)
        windows, which = np.unique(spans, axis=0, return_inverse=True)  # windows repeat if count > n
        cells = [getitem(y, (..., slice(*window), *after)) for window in windows.tolist()]
        y = concat([mean(one, axis, keepdims=True) for one in cells], axis)
        if len(windows) < count:
            y = take(y, node(which.reshape(-1)), axis)
    result: Tensor[Any, T, Float] = y
    return result
