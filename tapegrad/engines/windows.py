"""The windows of a pool, as the cells at each position of the window."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.engines.registry import engine

if TYPE_CHECKING:
    from collections.abc import Sequence


class Windows:
    """The windows over the last axes of a raw value: for each position of a window, the cells at that position.

    Args:
        shape: Of the value.
        sizes: How many windows there are along each of the last axes.
        kernel: Cells along a window.
        stride: Cells between the starts of neighbouring windows.
        padding_before: Padding cells before the value.
        dilation: Cells from one cell of a window to the next.
        padding_after: Padding cells after the value; at least as many as windows reach beyond it.
    """

    __slots__ = ("dilation", "indices", "kernel", "padding_after", "padding_before", "shape", "sizes", "stride")

    def __init__(
        self,
        shape: tuple[int, ...],
        sizes: Sequence[int],
        kernel: Sequence[int],
        stride: Sequence[int],
        padding_before: Sequence[int],
        dilation: Sequence[int],
        padding_after: Sequence[int],
    ) -> None:
        self.shape = shape
        self.sizes = sizes
        self.kernel = kernel
        self.stride = stride
        self.padding_before = padding_before
        self.dilation = dilation
        self.padding_after = padding_after
        self.indices = [
            (..., *(slice(i, i + s * (m - 1) + 1, s) for i, s, m in zip(first, stride, sizes, strict=True)))
            for first in product(*(range(0, k * d, d) for k, d in zip(kernel, dilation, strict=True)))
        ]

    def of(self, x: Any, outside: float) -> list[Any]:
        """Return the cells of `x` at each position, as views."""
        if self._is_padded:
            around = zip(self.padding_before, self.padding_after, strict=True)
            widths = [*((0, 0),) * (x.ndim - len(self.padding_before)), *around]
            x = engine(x).pad(x, widths, outside)
        return [engine(x).getitem(x, index) for index in self.indices]

    def along_axes(self) -> list[Windows]:
        """Return windows along one axis each, which one after another reduce the same cells in fewer passes."""
        rank, shape, found = len(self.sizes), self.shape, []
        for axis in range(rank):
            sizes = (*shape[-rank:][:axis], self.sizes[axis], *shape[-rank:][axis + 1 :])
            kernel, stride, dilation = (
                (1,) * axis + (numbers[axis],) + (1,) * (rank - 1 - axis)
                for numbers in (self.kernel, self.stride, self.dilation)
            )
            before, after = (
                (0,) * axis + (numbers[axis],) + (0,) * (rank - 1 - axis)
                for numbers in (self.padding_before, self.padding_after)
            )
            found.append(Windows(shape, sizes, kernel, stride, before, dilation, after))
            shape = (*shape[:-rank], *sizes)
        return found

    def inside(self) -> list[Any]:
        """Return for each position whether its cells are those of `x` or of the padding."""
        return self.of(np.ones(self.shape[-len(self.padding_before) :], np.bool_), 0)

    def back(self, cells: list[Any]) -> Any:
        """Add up the gradients of the cells at each position: the backward pass of `of`."""
        rank = len(self.padding_before)
        axes = list(zip(self.shape[-rank:], self.padding_before, self.padding_after, strict=True))
        padded = tuple(before + n + after for n, before, after in axes)
        dx = engine(*cells).scatter_sum((*self.shape[:-rank], *padded), self.indices, cells)
        inner = tuple(slice(before, before + n) for n, before, _ in axes)
        return engine(dx).getitem(dx, (..., *inner)) if self._is_padded else dx

    @property
    def _is_padded(self) -> bool:
        return any(self.padding_before) or any(self.padding_after)
