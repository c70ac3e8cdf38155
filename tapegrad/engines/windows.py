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
        padding_before: Padding cells before the value, and as many after it.
    """

    __slots__ = ("indices", "kernel", "padding_before", "shape", "sizes", "stride")

    def __init__(
        self,
        shape: tuple[int, ...],
        sizes: Sequence[int],
        kernel: Sequence[int],
        stride: Sequence[int],
        padding_before: Sequence[int],
    ) -> None:
        self.shape = shape
        self.sizes = sizes
        self.kernel = kernel
        self.stride = stride
        self.padding_before = padding_before
        self.indices = [
            (..., *(slice(i, i + s * (m - 1) + 1, s) for i, s, m in zip(first, stride, sizes, strict=True)))
            for first in product(*map(range, kernel))
        ]

    def of(self, x: Any, outside: float) -> list[Any]:
        """Return the cells of `x` at each position, as views."""
        if any(self.padding_before):
            widths = [*((0, 0),) * (x.ndim - len(self.padding_before)), *((p, p) for p in self.padding_before)]
            x = engine(x).pad(x, widths, outside)
        return [engine(x).getitem(x, index) for index in self.indices]

    def inside(self) -> list[Any]:
        """Return for each position whether its cells are those of `x` or of the padding."""
        return self.of(np.ones(self.shape[-len(self.padding_before) :], np.bool_), 0)

    def back(self, cells: list[Any]) -> Any:
        """Add up the gradients of the cells at each position: the backward pass of `of`."""
        rank = len(self.padding_before)
        padded = tuple(n + 2 * p for n, p in zip(self.shape[-rank:], self.padding_before, strict=True))
        dx = engine(*cells).scatter_sum((*self.shape[:-rank], *padded), self.indices, cells)
        inner = tuple(slice(p, n - p) for n, p in zip(padded, self.padding_before, strict=True))
        return engine(dx).getitem(dx, (..., *inner)) if any(self.padding_before) else dx
