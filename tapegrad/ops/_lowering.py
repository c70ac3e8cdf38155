"""Shared code of convolutions and pools: arguments per axis, and the functions recorded on a tape.

The backward pass of a convolution uses the same correlation as the forward pass, at every order of gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.autograd.op import rematerializable
from tapegrad.engines import ConvWindow, engine
from tapegrad.errors import ShapeError
from tapegrad.ops._broadcast import sum_to_shape
from tapegrad.sizes import Dims, Size, show
from tapegrad.sizes.constraints import numbers
from tapegrad.tensors import T1, T2, D, T, Tensor, node
from tapegrad.tensors.operands import unwrap, unwrap_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge


def check_rank(x: Dims, rank: int, name: str = "x") -> Dims:
    """Return the sizes of `x`, checked: an optional batch axis, channels, and `rank` spatial axes."""
    if len(x) not in (rank + 1, rank + 2):
        message = f"{name} {show(x)} has rank {len(x)}, not {rank + 2}, or {rank + 1} without a batch"
        raise ShapeError(message)
    return x


def at_least_one(number: Size, name: str) -> Size:
    """Return a number, checked to be at least 1."""
    return numbers(number, 1, name, 1)[0]


@rematerializable()
def correlate(
    x: Tensor[Any, T1, D],
    w: Tensor[Any, T2, D],
    window: ConvWindow,
    cells: tuple[int, ...],
    kernels: tuple[int, ...],
    shape: tuple[int, ...],
    *,
    flipped: bool = False,
) -> Tensor[Any, Merge[T1, T2], D]:
    """Correlate `x`, viewed as `(N, G, C, *S)`, with kernels `w`, viewed as `(G, O, C, *K)`, and reshape the result.

    Element j of x meets element k of w in element i of the result where r j + b = s i + d k. Input, kernel and result
    have the same role in this relation, so both gradients are correlations too; that of x uses the flipped kernel:

        y[i] = ∑_(k : r j + b = s i + d k) x[j] w[k]
        dx[j] = ∑_k dy[i] w[k]
        dw[k] = ∑_i x[j] dy[i]

    Where `flipped`, w is viewed as `(G, C, O, *K)` and flipped. The reshapes are part of this one op, because an op on
    operands without a tape is not recorded.
    """
    x, w, tape = unwrap(x, w)

    def kernel_view() -> Any:
        return _flipped(w.data.reshape(kernels)) if flipped else w.data.reshape(kernels)

    y = engine(x.data, w.data).convolve(x.data.reshape(cells), kernel_view(), window)
    out, result_shape = node(y.reshape(shape)), y.shape

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out).reshape(result_shape)
        if grads.wants(x):
            dx = engine(dy, w.data).convolve(dy, _flipped(kernel_view()), _to_cells(window, cells[3:], kernels[3:]))
            grads.add(x, dx.reshape(x.shape))
        if grads.wants(w):
            images, bank = _swapped(x.data.reshape(cells), 0, 2), _swapped(_swapped(dy, 0, 1), 1, 2)
            dw = engine(images, bank).convolve(images, bank, _to_kernels(window, kernels[3:]))  # (C, G, O, *K)
            dw = _swapped(_swapped(dw, 0, 1), 1, 2)
            grads.add(w, (_flipped(dw) if flipped else dw).reshape(w.shape))

    return tape.record(out, (x, w), backward, saved=(x, w))


@rematerializable(memory_bound=True)
def add_channel_bias(y: Tensor[Any, T1, D], bias: Tensor[Any, T2, D], rank: int) -> Tensor[Any, Merge[T1, T2], D]:
    """Add a bias to each channel.

        z[n,o,i] = y[n,o,i] + b[o]
        dy = dz
        db[o] = ∑_(n,i) dz[n,o,i]

    The channel axis comes before the last `rank` axes.
    """
    y, bias, tape = unwrap(y, bias)
    channels = (*bias.shape, *(1,) * rank)
    out = node(engine(y.data, bias.data).add_channels(y.data, bias.data, rank))

    def backward(grads: Gradients) -> None:
        dz = grads.pop_output(out)
        if grads.wants(bias):
            grads.add(bias, sum_to_shape(dz, bias.data.reshape(channels)).reshape(bias.shape))
        grads.add(y, dz)

    return tape.record(out, (y, bias), backward, saved=(bias,))


@rematerializable()
def scatter_sum(
    values: Sequence[Tensor[Any, T, D]], shape: tuple[int, ...], indices: Sequence[Any]
) -> Tensor[Any, T, D]:
    """Add values to a zero tensor, each at the elements that its index selects.

        y[i] = ∑_(t, j : p[t,j] = i) v[t,j]
        dv[t,j] = dy[p[t,j]]

    This is the backward pass of indexing.
    """
    parts, tape = unwrap_all(values, "values")
    data: list[Any] = [part.data for part in parts]
    out = node(engine(*data).scatter_sum(shape, indices, data))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        for part, index in zip(parts, indices, strict=True):
            if grads.wants(part):
                grads.add(part, engine(dy).getitem(dy, index))

    return tape.record(out, tuple(parts), backward)


def _to_cells(window: ConvWindow, cells: tuple[int, ...], kernel: tuple[int, ...]) -> ConvWindow:
    padding_before = tuple(
        (k - 1) * d - b for k, d, b in zip(kernel, window.dilation, window.padding_before, strict=True)
    )
    return ConvWindow(cells, window.input_dilation, window.dilation, window.stride, padding_before)


def _to_kernels(window: ConvWindow, kernel: tuple[int, ...]) -> ConvWindow:
    return ConvWindow(kernel, window.dilation, window.stride, window.input_dilation, window.padding_before)


def _flipped(w: Any) -> Any:
    """Return kernels as `(G, C, O, *K)`: channel axes swapped, spatial axes flipped."""
    swapped = _swapped(w, 1, 2)
    return engine(swapped).getitem(swapped, (..., *(slice(None, None, -1),) * (swapped.ndim - 3)))


def _swapped(x: Any, first: int, second: int) -> Any:
    axes = list(range(x.ndim))
    axes[first], axes[second] = second, first
    return x.transpose(tuple(axes))
