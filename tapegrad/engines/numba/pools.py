"""Pooling kernels, see `kernels`: over planes, `(P, H, W)`, or over cells with channels last.

For a line of windows each position in the window is processed for all windows at once, in a loop that is vectorized
if the stride is known to be 1 or 2.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tapegrad.engines.numba.kernels import compiled

# Indices are unsigned: a signed index is checked for each element, which prevents vectorization.
unsigned = np.uintp
_LANES: Final = unsigned(16)  # channels of a loop of a fixed length


@compiled
def _combined(found: Any, x: Any, mode: Any) -> Any:
    """Combine a cell with the result so far: add it (`mode` 0), or keep the larger (1) or smaller (-1); NaN stays."""
    if mode == 0:
        return found + x
    if mode > 0:
        return x if (x > found) | (x != x) else found  # noqa: PLR0124  # NaN is not itself
    return x if (x < found) | (x != x) else found  # noqa: PLR0124  # NaN is not itself


@compiled
def _initial(like: Any, mode: Any) -> Any:
    """Return the initial result, which any cell replaces."""
    return like.dtype.type(0) if mode == 0 else like.dtype.type(-np.inf) if mode > 0 else like.dtype.type(np.inf)


@compiled
def _inside_range(start: Any, kernel: Any, size: Any) -> Any:
    """Return the range of positions of a window, given its start, that are inside."""
    return max(0, -start), min(kernel, size - start)


@compiled
def _window_range(position: Any, stride: Any, padding_before: Any, size: Any, windows: Any) -> Any:
    """Return the range of windows that have a cell of the line at a position."""
    return max(0, -((position - padding_before) // stride)), min(
        windows, (size - 1 - position + padding_before) // stride + 1
    )


@compiled
def _combine_position(line: Any, y: Any, position: Any, stride: Any, padding_before: Any, mode: Any) -> None:
    """Combine each window of a line with its cell at a position."""
    first, last = _window_range(position, stride, padding_before, line.shape[0], y.shape[0])
    shift = position - padding_before
    if stride == 1:
        for j in range(first, last):
            y[unsigned(j)] = _combined(y[unsigned(j)], line[unsigned(j + shift)], mode)
    elif stride == 2:
        for j in range(first, last):
            y[unsigned(j)] = _combined(y[unsigned(j)], line[unsigned(2 * j + shift)], mode)
    else:
        for j in range(first, last):
            y[unsigned(j)] = _combined(y[unsigned(j)], line[unsigned(stride * j + shift)], mode)


@compiled
def _position_if_equal(x: Any, y: Any, position: Any, found: Any) -> Any:
    """Return the position of a cell if it equals the extreme (NaN equals NaN); else `found`."""
    return position if (x == y) | (x != x) else found  # noqa: PLR0124  # NaN is not itself


@compiled
def _store_index(line: Any, y: Any, found: Any, base: Any, position: Any, stride: Any, padding_before: Any) -> None:
    """Store for each window of a line the index of its cell at a position, if that equals `y`."""
    first, last = _window_range(position, stride, padding_before, line.shape[0], y.shape[0])
    shift = position - padding_before
    if stride == 1:
        for j in range(first, last):
            found[unsigned(j)] = _position_if_equal(
                line[unsigned(j + shift)], y[unsigned(j)], base + np.int32(j + shift), found[unsigned(j)]
            )
    elif stride == 2:
        for j in range(first, last):
            found[unsigned(j)] = _position_if_equal(
                line[unsigned(2 * j + shift)], y[unsigned(j)], base + np.int32(2 * j + shift), found[unsigned(j)]
            )
    else:
        for j in range(first, last):
            found[unsigned(j)] = _position_if_equal(
                line[unsigned(stride * j + shift)],
                y[unsigned(j)],
                base + np.int32(stride * j + shift),
                found[unsigned(j)],
            )


@compiled
def pool_planes(x: Any, y: Any, kernel: Any, stride: Any, padding_before: Any, mode: Any) -> None:
    """Pool planes `x`, `(P, H, W)`, to `y`, `(P, I, J)`."""
    line, initial = np.empty(x.shape[2], x.dtype), _initial(x, mode)
    for p in range(x.shape[0]):
        for i in range(y.shape[1]):
            start = i * stride[0] - padding_before[0]
            first, last = _inside_range(start, kernel[0], x.shape[1])
            line[:] = x[p, start + first]
            for h in range(start + first + 1, start + last):
                for w in range(x.shape[2]):
                    line[w] = _combined(line[w], x[p, h, w], mode)
            y[p, i] = initial
            for position in range(kernel[1]):
                _combine_position(line, y[p, i], position, stride[1], padding_before[1], mode)


@compiled
def squares_planes(
    x: Any,
    y: Any,
    kernel: Any,  # noqa: ARG001  # all pooling kernels have these parameters
    stride: Any,  # noqa: ARG001
    padding_before: Any,  # noqa: ARG001
    mode: Any,
) -> None:
    """Compute `pool_planes` for windows of 2×2 cells that do not overlap and have no padding."""
    for p in range(x.shape[0]):
        for i in range(y.shape[1]):
            row, below, results = x[p, 2 * i], x[p, 2 * i + 1], y[p, i]
            for j in range(y.shape[2]):
                one = unsigned(j)
                left = one + one
                right = left + unsigned(1)
                found = _combined(row[left], row[right], mode)
                results[one] = _combined(_combined(found, below[left], mode), below[right], mode)


@compiled
def extreme_channels(x: Any, y: Any, kernel: Any, stride: Any, padding_before: Any, mode: Any) -> None:
    """Reduce windows of images `x`, `(N, H, W, C)`, to their extremes `y`, `(N, I, J, C)`: first the rows of a window.

    The first two rows or cells are combined at once. The compiler vectorizes a loop that combines two arrays to
    another one, but not a loop that compares an array with its own elements (benchmarks/devices.py, "pooling kernel").
    """
    channels = unsigned(x.shape[3])
    line = np.empty(x.shape[2] * x.shape[3], x.dtype)
    for n in range(x.shape[0]):
        for i in range(y.shape[1]):
            h = i * stride[0] - padding_before[0]
            first, last = _inside_range(h, kernel[0], x.shape[1])
            row, second = x[n, h + first].reshape(-1), x[n, h + min(first + 1, last - 1)].reshape(-1)
            for cell in range(line.shape[0]):
                line[cell] = _combined(row[cell], second[cell], mode)
            for k in range(first + 2, last):
                row = x[n, h + k].reshape(-1)
                for cell in range(line.shape[0]):
                    line[cell] = _combined(line[cell], row[cell], mode)
            results = y[n, i].reshape(-1)
            for j in range(y.shape[2]):
                w = j * stride[1] - padding_before[1]
                left, right = _inside_range(w, kernel[1], x.shape[2])
                result, start = unsigned(j) * channels, unsigned(w + left) * channels
                after = unsigned(w + min(left + 1, right - 1)) * channels
                for c in range(channels):
                    results[result + c] = _combined(line[start + c], line[after + c], mode)
                for m in range(left + 2, right):
                    after = unsigned(w + m) * channels
                    for c in range(channels):
                        results[result + c] = _combined(results[result + c], line[after + c], mode)


@compiled
def sum_channels(x: Any, y: Any, kernel: Any, stride: Any, padding_before: Any) -> None:
    """Reduce windows of images `x`, `(N, H, W, C)`, to their sums `y`, `(N, I, J, C)`."""
    for n in range(x.shape[0]):
        for i in range(y.shape[1]):
            h = i * stride[0] - padding_before[0]
            first, last = _inside_range(h, kernel[0], x.shape[1])
            for j in range(y.shape[2]):
                w = j * stride[1] - padding_before[1]
                left, right = _inside_range(w, kernel[1], x.shape[2])
                y[n, i, j] = 0
                for k in range(first, last):
                    for m in range(left, right):
                        for c in range(x.shape[3]):
                            y[n, i, j, c] += x[n, h + k, w + m, c]


@compiled
def extreme_back_planes(x: Any, y: Any, dy: Any, dx: Any, kernel: Any, stride: Any, padding_before: Any) -> None:
    """Add each gradient of a plane to the first cell of its window that equals the extreme."""
    found = np.empty(y.shape[2], np.int32)
    for p in range(x.shape[0]):
        dx[p] = 0
        flat = dx[p].reshape(-1)
        for i in range(y.shape[1]):
            start = i * stride[0] - padding_before[0]
            first, last = _inside_range(start, kernel[0], x.shape[1])
            found[:] = -1
            # From the last position to the first, so that the first is kept.
            for k in range(last - 1, first - 1, -1):
                for position in range(kernel[1] - 1, -1, -1):
                    base = np.int32((start + k) * x.shape[2])
                    _store_index(x[p, start + k], y[p, i], found, base, position, stride[1], padding_before[1])
            for j in range(y.shape[2]):
                if found[j] >= 0:
                    flat[found[j]] += dy[p, i, j]


@compiled
def extreme_back_channels(x: Any, y: Any, dy: Any, dx: Any, kernel: Any, stride: Any, padding_before: Any) -> None:
    """Add each gradient of images to the first cell of its window that equals the extreme."""
    channels, rest = unsigned(x.shape[3]), np.empty(x.shape[3], x.dtype)
    zero = x.dtype.type(0)
    for n in range(x.shape[0]):
        cells, gradients = x[n].reshape(-1), dx[n].reshape(-1)
        gradients[:] = zero
        for i in range(y.shape[1]):
            h = i * stride[0] - padding_before[0]
            first, last = _inside_range(h, kernel[0], x.shape[1])
            extremes, upstream = y[n, i].reshape(-1), dy[n, i].reshape(-1)
            for j in range(y.shape[2]):
                w = j * stride[1] - padding_before[1]
                begin, end = _inside_range(w, kernel[1], x.shape[2])
                result = unsigned(j) * channels
                for c in range(channels):
                    rest[c] = upstream[result + c]
                for k in range(first, last):
                    for m in range(begin, end):
                        start = unsigned((h + k) * x.shape[2] + w + m) * channels
                        for c in range(channels):
                            one, left = cells[start + c], rest[c]
                            is_equal = (one == extremes[result + c]) | (one != one)  # noqa: PLR0124  # NaN is not itself
                            gradients[start + c] += left if is_equal else zero
                            rest[c] = zero if is_equal else left


@compiled
def _given(cell: Any, extreme: Any, rest: Any, zero: Any) -> Any:
    """Return the gradient of a cell of a window, and what remains for the cells after it."""
    is_equal = (cell == extreme) | (cell != cell)  # noqa: PLR0124  # NaN is not itself
    return (rest if is_equal else zero), (zero if is_equal else rest)


@compiled
def _square_back(
    cells: Any, gradients: Any, row: Any, start: Any, channels: Any, extreme: Any, upstream: Any, is_of_relu: Any
) -> None:
    """Compute the gradients of a channel of a window of 2×2 cells, given the distances of rows and cells in memory."""
    zero = cells.dtype.type(0)
    rest = upstream if not is_of_relu or extreme > zero else zero
    gradients[start], rest = _given(cells[start], extreme, rest, zero)
    gradients[start + channels], rest = _given(cells[start + channels], extreme, rest, zero)
    gradients[start + row], rest = _given(cells[start + row], extreme, rest, zero)
    gradients[start + row + channels] = rest  # the last cell equals the extreme if no other does


@compiled
def squares_back_channels(
    x: Any,
    y: Any,
    dy: Any,
    dx: Any,
    kernel: Any,  # noqa: ARG001  # as above
    stride: Any,  # noqa: ARG001
    padding_before: Any,  # noqa: ARG001
    is_of_relu: Any,
) -> None:
    """Compute `extreme_back_channels` for windows of 2×2 cells that do not overlap and have no padding.

    If `y` are the extremes of `relu(x)`, the gradient is that of `x`, and so 0 where `y` is not positive. A loop of a
    fixed length over channels is vectorized with all cells of a window at once (benchmarks/devices.py, "pooling
    gradient").
    """
    channels, width = unsigned(x.shape[3]), unsigned(x.shape[2])
    row, whole = width * channels, channels // _LANES * _LANES
    for n in range(x.shape[0]):
        cells, gradients = x[n].reshape(-1), dx[n].reshape(-1)
        if 2 * y.shape[1] < x.shape[1] or 2 * y.shape[2] < x.shape[2]:
            gradients[:] = 0  # the last row or the last column belongs to no window
        for i in range(y.shape[1]):
            extremes, upstream = y[n, i].reshape(-1), dy[n, i].reshape(-1)
            for j in range(y.shape[2]):
                start, result = (unsigned(2 * i) * width + unsigned(2 * j)) * channels, unsigned(j) * channels
                for c in range(0, whole, _LANES):
                    for lane in range(_LANES):
                        one = unsigned(c) + unsigned(lane)
                        to, extreme, dy_one = start + one, extremes[result + one], upstream[result + one]
                        _square_back(cells, gradients, row, to, channels, extreme, dy_one, is_of_relu)
                for c in range(whole, channels):
                    one = unsigned(c)
                    to, extreme, dy_one = start + one, extremes[result + one], upstream[result + one]
                    _square_back(cells, gradients, row, to, channels, extreme, dy_one, is_of_relu)


@compiled
def squares_back_planes(
    x: Any,
    y: Any,
    dy: Any,
    dx: Any,
    kernel: Any,  # noqa: ARG001  # as above
    stride: Any,  # noqa: ARG001
    padding_before: Any,  # noqa: ARG001
    is_of_relu: Any,
) -> None:
    """Compute `extreme_back_planes` for windows as in `squares_back_channels`: the cells of a row are adjacent."""
    width, adjacent = unsigned(x.shape[2]), unsigned(1)
    for p in range(x.shape[0]):
        cells, gradients = x[p].reshape(-1), dx[p].reshape(-1)
        if 2 * y.shape[1] < x.shape[1] or 2 * y.shape[2] < x.shape[2]:
            gradients[:] = 0  # the last row or the last column belongs to no window
        for i in range(y.shape[1]):
            extremes, upstream, start = y[p, i], dy[p, i], unsigned(2 * i) * width
            for j in range(y.shape[2]):
                one = unsigned(j)
                to = start + one + one
                _square_back(cells, gradients, width, to, adjacent, extremes[one], upstream[one], is_of_relu)


@compiled
def _square_relu(cells: Any, row: Any, start: Any, channels: Any) -> Any:
    """Return the largest of 2×2 cells and 0; NaN stays."""
    zero = cells.dtype.type(0)
    found = _combined(cells[start], cells[start + channels], 1)
    found = _combined(found, cells[start + row], 1)
    found = _combined(found, cells[start + row + channels], 1)
    return zero if found < zero else found  # noqa: FURB136  # NaN stays one


@compiled
def relu_squares_channels(
    x: Any,
    y: Any,
    kernel: Any,  # noqa: ARG001  # as above
    stride: Any,  # noqa: ARG001
    padding_before: Any,  # noqa: ARG001
) -> None:
    """Compute the maxima of `relu(x)` for windows as in `squares_back_channels`."""
    channels, width = unsigned(x.shape[3]), unsigned(x.shape[2])
    row, whole = width * channels, channels // _LANES * _LANES
    for n in range(x.shape[0]):
        cells = x[n].reshape(-1)
        for i in range(y.shape[1]):
            results = y[n, i].reshape(-1)
            for j in range(y.shape[2]):
                start, result = (unsigned(2 * i) * width + unsigned(2 * j)) * channels, unsigned(j) * channels
                for c in range(0, whole, _LANES):
                    for lane in range(_LANES):
                        one = unsigned(c) + unsigned(lane)
                        results[result + one] = _square_relu(cells, row, start + one, channels)
                for c in range(whole, channels):
                    one = unsigned(c)
                    results[result + one] = _square_relu(cells, row, start + one, channels)


@compiled
def sum_back_planes(dy: Any, dx: Any, kernel: Any, stride: Any, padding_before: Any) -> None:
    """Add each gradient of a plane to all cells of its window."""
    line, windows = np.empty(dy.shape[2], dy.dtype), np.int64(dy.shape[1])
    for p in range(dx.shape[0]):
        for h in range(dx.shape[1]):
            # The windows that have a cell in this row, at any position.
            first = max(0, (h + padding_before[0] - kernel[0]) // stride[0] + 1)
            last = min(windows, (h + padding_before[0]) // stride[0] + 1)
            row = dx[p, h]
            row[:] = 0
            if first >= last:
                continue
            line[:] = dy[p, first]
            for i in range(first + 1, last):
                for j in range(dy.shape[2]):
                    line[j] += dy[p, i, j]
            for position in range(kernel[1]):
                left, right = _window_range(position, stride[1], padding_before[1], dx.shape[2], dy.shape[2])
                shift = position - padding_before[1]
                if stride[1] == 1:
                    for j in range(left, right):
                        row[unsigned(j + shift)] += line[unsigned(j)]
                else:
                    for j in range(left, right):
                        row[unsigned(stride[1] * j + shift)] += line[unsigned(j)]


@compiled
def sum_back_channels(dy: Any, dx: Any, kernel: Any, stride: Any, padding_before: Any) -> None:
    """Add each gradient of images to all cells of its window."""
    for n in range(dx.shape[0]):
        dx[n] = 0
        for i in range(dy.shape[1]):
            h = i * stride[0] - padding_before[0]
            first, last = _inside_range(h, kernel[0], dx.shape[1])
            for j in range(dy.shape[2]):
                w = j * stride[1] - padding_before[1]
                left, right = _inside_range(w, kernel[1], dx.shape[2])
                for k in range(first, last):
                    for m in range(left, right):
                        for c in range(dx.shape[3]):
                            dx[n, h + k, w + m, c] += dy[n, i, j, c]
