"""Underflow is ignored unless the caller has set NumPy's error state."""

from __future__ import annotations

from contextlib import nullcontext
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest

from tapegrad.engines.underflow import ignore_underflow


@pytest.mark.parametrize("how", ["warn", "raise", "print", "call", "log"])
def test_underflow_is_silent_for_every_default_error_state(how: Any) -> None:
    tiny = np.full(3, 1e-30, np.float32)

    with np.errstate(under=how), ignore_underflow():
        product = tiny * tiny

    assert (product == 0).all()


def test_a_global_error_state_is_detected_and_restored() -> None:
    def program() -> None:
        np.seterr(under="raise")
        with ignore_underflow():
            np.float32(1e-30) * np.float32(1e-30)
        assert np.geterr()["under"] == "raise"
        np.seterr(under="ignore")
        assert isinstance(ignore_underflow(), nullcontext)

    copy_context().run(program)


def test_the_error_state_is_not_touched_at_its_default() -> None:
    assert isinstance(ignore_underflow(), nullcontext)


def test_other_parts_of_the_error_state_are_unchanged() -> None:
    with (
        np.errstate(over="raise", under="raise"),
        ignore_underflow(),
        pytest.raises(FloatingPointError, match="overflow"),
    ):
        np.full(3, 1e30, np.float32) * np.float32(1e30)
