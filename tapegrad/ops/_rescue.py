"""The other way to compute what has overflowed, for where the first one has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.tensor import values_of

if TYPE_CHECKING:
    from collections.abc import Callable


def rescued(is_fine: Any, values: tuple[Any, ...], others: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return values as they are if something is true of them everywhere, else others, computed only then.

    Where gradients of a step under `jit` are differentiated again, nothing is rescued.
    """
    known = values_of(is_fine)
    if isinstance(known, np.ndarray):
        return values if known.all() else others()
    chosen: tuple[Any, ...] = values if hasattr(values[0], "tape") else known.all().either(values, others)
    return chosen
