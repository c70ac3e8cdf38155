"""Constants that count positions along axes, also axes whose size has a name and no number."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.engines import engine
from tapegrad.sizes.symbols import is_symbol


def positions(size: Any) -> Any:
    """Return the positions along an axis: 0, 1, and so on."""
    if not is_symbol(size):
        return np.arange(size)
    primitives = engine(size)
    return primitives.cumsum(primitives.ones((size,), np.int64), 0) - 1


def lower_triangle(rows: Any, columns: Any, diagonal: int = 0) -> Any:
    """Return a mask that is true on a diagonal and below it, as `numpy.tri` does."""
    if not is_symbol(rows) and not is_symbol(columns):
        return np.tri(rows, columns, diagonal, np.bool_)
    return (positions(rows) + diagonal).reshape((-1, 1)) >= positions(columns)


def indices(shape: tuple[Any, ...]) -> list[Any]:
    """Return the positions along each axis, which broadcast to the shape, as `numpy.indices` does if sparse."""
    if not any(map(is_symbol, shape)):
        return list(np.indices(shape, sparse=True))
    ranks = range(len(shape))
    return [positions(size).reshape([-1 if at == axis else 1 for at in ranks]) for axis, size in enumerate(shape)]
