"""The dtype in which a model computes that is written for float32: `MixedPrecision` sets it during a call."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

_COMPUTING: Final[ContextVar[np.dtype[Any] | None]] = ContextVar("computing", default=None)


@contextmanager
def computing_in(dtype: np.dtype[Any]) -> Iterator[None]:
    """Accept tensors of this dtype where annotations expect float32."""
    token = _COMPUTING.set(dtype)
    try:
        yield
    finally:
        _COMPUTING.reset(token)


def stands_for_float32(dtype: np.dtype[Any]) -> bool:
    """Return whether a tensor of this dtype is accepted where an annotation expects float32."""
    computing = _COMPUTING.get()
    return computing is not None and dtype == computing  # NumPy finds float64 equal to None
