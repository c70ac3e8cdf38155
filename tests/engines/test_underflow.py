"""Underflow is ignored unless the caller has set NumPy's error state."""

from __future__ import annotations

from contextlib import nullcontext
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest

from tapegrad.engines.underflow import ignore_underflow


@pytest.mark.parametrize("how", ["warn", "raise", "print", "call", "log"])
def test_what_vanishes_vanishes_without_a_word_whatever_was_set(how: Any) -> None:
    tiny = np.full(3, 1e-30, np.float32)

    with np.errstate(under=how), ignore_underflow():
        product = tiny * tiny

    assert (product == 0).all()


def test_a_setting_for_good_is_seen_and_put_back() -> None:
    def program() -> None:
        np.seterr(under="raise")
        with ignore_underflow():
            np.float32(1e-30) * np.float32(1e-30)
        assert np.geterr()["under"] == "raise"
        np.seterr(under="ignore")
        assert isinstance(ignore_underflow(), nullcontext)

    copy_context().run(program)


def test_nothing_is_set_where_nobody_has_asked_for_anything() -> None:
    assert isinstance(ignore_underflow(), nullcontext)


def test_other_settings_are_left_as_they_are() -> None:
    with (
        np.errstate(over="raise", under="raise"),
        ignore_underflow(),
        pytest.raises(FloatingPointError, match="overflow"),
    ):
        np.full(3, 1e30, np.float32) * np.float32(1e30)
