"""Fallback computations for results that have overflowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.tensor import values_of

if TYPE_CHECKING:
    from collections.abc import Callable


def with_fallback(is_fine: Any, values: tuple[Any, ...], others: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return `values` if `is_fine` holds everywhere; otherwise compute and return `others()`.

    Under `jit` there is no fallback where gradients are differentiated again.
    """
    known = values_of(is_fine)
    if isinstance(known, np.ndarray):
        return values if known.all() else others()
    chosen: tuple[Any, ...] = values if hasattr(values[0], "tape") else known.all().either(values, others)
    return chosen
