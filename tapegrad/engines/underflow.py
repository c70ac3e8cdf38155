"""Underflow: values too small for their dtype become 0 as intended, regardless of the user's NumPy error settings."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache
from typing import Any, Final

import numpy as np

_NO_CHANGE: Final[AbstractContextManager[object]] = nullcontext()


def ignore_underflow() -> AbstractContextManager[object]:
    """Return a context that ignores underflow, as NumPy does by default.

    If it is ignored already, the context is empty, because `np.errstate` slows down ufuncs inside it
    (benchmarks/devices.py, "no errstate").
    """
    return _NO_CHANGE if _is_ignored() else np.errstate(under="ignore")


def _is_ignored() -> bool:
    """Return whether underflow is ignored, without `np.geterr` if possible (benchmarks/devices.py, "errors")."""
    variable = _setting()
    return (variable is not None and variable.get(None) is None) or np.geterr()["under"] == "ignore"


@cache  # on the first backward pass: shape rules that mypy runs do not import NumPy
def _setting() -> ContextVar[Any] | None:
    """Return the context variable in which NumPy stores how errors are handled: the one that `np.errstate` changes."""

    def changed() -> ContextVar[Any] | None:
        before = copy_context()
        with np.errstate(under="ignore"):
            after = copy_context()
        return next((one for one in after if before.get(one) is not after[one]), None)

    return copy_context().run(changed)
