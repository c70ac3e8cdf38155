"""Underflow: what is too small for its dtype is the 0 that is meant, however a program has set NumPy's errors."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Final

import numpy as np

_AS_IT_IS: Final[AbstractContextManager[object]] = nullcontext()


def vanishing() -> AbstractContextManager[object]:
    """Lets numbers vanish without a word, as they do unless somebody has asked NumPy for more.

    Asked first, for a setting of its own costs each ufunc under it a tenth.
    """
    return _AS_IT_IS if np.geterr()["under"] == "ignore" else np.errstate(under="ignore")
