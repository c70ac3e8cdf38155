"""Old public names work for one release, and say what they are called now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

RENAMED: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    r"tapegrad\.handle is called tapegrad\.node now": (lambda: tg.handle(np.ones(3)), lambda: tg.node(np.ones(3))),
}


@pytest.mark.parametrize("warning", RENAMED)
def test_an_old_name_works_and_says_the_new_one(warning: str) -> None:
    old, new = RENAMED[warning]

    with pytest.warns(DeprecationWarning, match=warning):
        result = old()

    np.testing.assert_array_equal(np.asarray(result), np.asarray(new()))
