"""Computations that cannot overflow: NumPy makes them where a result has overflowed, a program under `jit` always.

A program would have to contain both computations and a branch. Each branch takes the compiler of XLA longer than the
rest of a norm or of attention, and each step has to copy its results.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.tensors import Tensor, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tapegrad.engines import Axis


def with_fallback(is_fine: Any, values: tuple[Any, ...], others: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return `values` if `is_fine`, an array, holds everywhere; otherwise compute and return `others()`."""
    return values if values_of(is_fine).all() else others()


def is_traced(x: Any) -> bool:
    """Return whether a value has no numbers yet, because a step under `jit` is being traced."""
    while isinstance(x, Tensor):
        x = x.data
    return hasattr(x, "__array_function__") and not isinstance(x, np.ndarray)


def count_of(sizes: Iterable[Any]) -> int:
    """Return the product of sizes, each of which is large if it has no number, as in `jax.export`."""
    return prod(size if isinstance(size, int) else 2**20 for size in sizes)


def unit_of(x: Any, axis: Axis) -> Any:
    """Return the largest absolute value along an axis where it is above 1, and 1 elsewhere."""
    largest = np.abs(values_of(x)).max(axis, keepdims=True)
    return np.maximum(largest, 1).astype(largest.dtype)


def traced_unit_of(x: Any, axis: Axis, most: float) -> Any:
    """Return a divisor that leaves no absolute value along an axis above a number; 1 where none is."""
    return np.maximum(np.abs(values_of(x)).max(axis, keepdims=True) * (1 / most), 1)
