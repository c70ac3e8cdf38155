"""Norms of gradients, and the factor that makes a norm small enough; sums are in float64."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable


def norm(gradients: Iterable[Any]) -> float:
    """Return the 2-norm of all gradients taken as one vector."""
    return math.hypot(*map(length, gradients))


def length(gradient: Any) -> float:
    """Return the 2-norm of one gradient."""
    array = _wide(gradient)
    return math.sqrt(float((array * array).sum()))


def is_finite(gradient: Any) -> bool:
    """Return whether a gradient has no infinity and no NaN."""
    array = _wide(gradient)
    return math.isfinite(float(array.min(initial=0)) + float(array.max(initial=0)))


def scaling(gradients: Collection[Any], limit: float) -> Callable[[Any], Any]:
    """Return the function that scales each gradient so that their norm is at most a limit."""
    if any(hasattr(array_of(gradient), "like") for gradient in gradients):
        return _traced_scaling(gradients, limit)
    total = norm(gradients)
    if total <= limit:
        return lambda gradient: gradient
    factor = limit / total if math.isfinite(total) else math.nan
    return lambda gradient: gradient * factor


def array_of(gradient: Any) -> Any:
    """Return the array of a gradient, which is itself a tensor if it is differentiated again."""
    while hasattr(gradient, "tape"):
        gradient = gradient.data
    return gradient


def _traced_scaling(gradients: Iterable[Any], limit: float) -> Callable[[Any], Any]:
    """Return the same function while `jit` traces, when no values are available."""
    import numpy as np

    wide = [array_of(gradient).astype(np.float64) for gradient in gradients]
    total: Any = sum((array * array).sum() for array in wide) ** 0.5
    finite: Any = np.where(np.isfinite(total), limit / total, math.nan)
    factor: Any = np.where(total <= limit, 1.0, finite)
    return lambda gradient: gradient * factor.astype(array_of(gradient).dtype)


def _wide(gradient: Any) -> Any:
    """Return a gradient in float64, in which the square of a float32 does not overflow."""
    import numpy as np

    return np.asarray(array_of(gradient), np.float64)
