"""The windows of a pool: how many there are, and the cells at each place in them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tapegrad.backend import engine
from tapegrad.dims import Dims, surely_less, window
from tapegrad.errors import ShapeError
from tapegrad.ops._lowering import check_rank, numbers


def pool_shape(rank: int, x: Dims, kernel: Any, stride: Any, padding: Any) -> Dims:
    """Counts the windows along the last `rank` axes; where `stride` is None none overlap."""
    check_rank(x, rank)
    kernels, paddings = numbers(kernel, rank, "kernel", 1), numbers(padding, rank, "padding", 0)
    strides = numbers(kernel if stride is None else stride, rank, "stride", 1)
    for k, p in zip(kernels, paddings, strict=True):
        if surely_less(k, p * 2):
            message = f"padding is {p}, more than half of a window of {k}"
            raise ShapeError(message)
    along = zip(x[-rank:], kernels, strides, paddings, strict=True)
    return (*x[:-rank], *(window(n, k, stride=s, padding=p) for n, k, s, p in along))


class Windows:
    """The windows of a raw value: for each place in a window, the cells that stand there."""

    def __init__(self, x: Any, rank: int, kernel: Any, stride: Any, padding: Any) -> None:
        self.shape: Any = x.shape
        self.before: Any = numbers(padding, rank, "padding", 0)
        sizes: Any = pool_shape(rank, x.shape, kernel, stride, padding)[-rank:]
        kernels: Any = numbers(kernel, rank, "kernel", 1)
        strides: Any = numbers(kernel if stride is None else stride, rank, "stride", 1)
        self.places = [
            (..., *(slice(i, i + s * (m - 1) + 1, s) for i, s, m in zip(first, strides, sizes, strict=True)))
            for first in product(*map(range, kernels))
        ]

    def of(self, x: Any, outside: float) -> list[Any]:
        """Returns the cells of `x` at each place, as views."""
        if any(self.before):
            widths = [*((0, 0),) * (x.ndim - len(self.before)), *((p, p) for p in self.before)]
            x = engine(x).pad(x, widths, outside)
        return [engine(x).getitem(x, place) for place in self.places]

    def inside(self) -> list[Any]:
        """Says of each place where its cells are those of `x`, not of the padding."""
        return self.of(np.ones(self.shape[-len(self.before) :], np.bool_), 0)

    def back(self, cells: list[Any]) -> Any:
        """Adds up what has come to the cells at each place: the way back of `of`."""
        rank = len(self.before)
        padded = tuple(n + 2 * p for n, p in zip(self.shape[-rank:], self.before, strict=True))
        dx = engine(*cells).superpose((*self.shape[:-rank], *padded), self.places, cells)
        inner = tuple(slice(p, n - p) for n, p in zip(padded, self.before, strict=True))
        return engine(dx).getitem(dx, (..., *inner)) if any(self.before) else dx
