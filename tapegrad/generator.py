"""Where random numbers come from: a generator given by hand, else the innermost `random`, else fresh entropy."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    RNG: TypeAlias = np.random.Generator | int | None

_current: ContextVar[np.random.Generator | None] = ContextVar("_current", default=None)


def __getattr__(name: str) -> Any:
    """Makes `RNG` when it is first asked for: `numpy.random` takes 10 ms to import, and not every program draws."""
    if name != "RNG":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return np.random.Generator | int | None


@contextmanager
def random(seed: int) -> Iterator[np.random.Generator]:
    """Makes every random op inside the block draw from one generator.

    Args:
        seed: Any whole number from 0 on.

    Yields:
        The generator.
    """
    generator = np.random.default_rng(seed)
    token = _current.set(generator)
    try:
        yield generator
    finally:
        _current.reset(token)


def generator(rng: RNG = None) -> np.random.Generator:
    """Returns `rng` as a generator: itself, one seeded with it, or for None the one in force."""
    if isinstance(rng, np.random.Generator):
        return rng
    return np.random.default_rng(rng) if rng is not None else _current.get() or np.random.default_rng()
