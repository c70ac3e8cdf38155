"""Underflow: what is too small for its dtype is the 0 that is meant, however a program has set NumPy's errors."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache
from typing import Any, Final

import numpy as np

_AS_IT_IS: Final[AbstractContextManager[object]] = nullcontext()


def vanishing() -> AbstractContextManager[object]:
    """Let numbers vanish without a word, as they do unless somebody has asked NumPy for more.

    Asked first, for a setting of its own costs each ufunc under it a tenth.
    """
    return _AS_IT_IS if _vanish() else np.errstate(under="ignore")


def _vanish() -> bool:
    """Return whether underflow is ignored; `np.geterr` takes twenty times as long as to see that nobody has set it."""
    variable = _setting()
    return (variable is not None and variable.get(None) is None) or np.geterr()["under"] == "ignore"


@cache  # asked when the first tape runs back: a rule that mypy reads does without NumPy
def _setting() -> ContextVar[Any] | None:
    """Return the context variable in which NumPy keeps how errors are treated: the one that a setting changes."""

    def changed() -> ContextVar[Any] | None:
        before = copy_context()
        with np.errstate(under="ignore"):
            after = copy_context()
        return next((one for one in after if before.get(one) is not after[one]), None)

    return copy_context().run(changed)
