"""Early stopping: what counts as an improvement, and the saved state."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from tapegrad.progress import EarlyStopping


@pytest.mark.parametrize(
    ("options", "numbers", "epochs"),
    [
        ({"patience": 1}, [3, 2, 2], 3),
        ({"patience": 2}, [3, 4, 2, 2, 1, 1, 5], 7),
        ({"patience": 2, "mode": "max"}, [0.5, 0.7, 0.6, 0.7], 4),
        ({"patience": 2, "least": 0.5}, [3, 2.6, 2.5], 3),
        ({"patience": 2}, [math.nan, math.nan], 2),
        ({"patience": 2}, [3, math.nan, 2, math.inf, math.nan], 5),
    ],
)
def test_it_stops_after_patience_epochs_without_improvement(options: Any, numbers: list[float], epochs: int) -> None:
    until = EarlyStopping("loss", **options)

    said = [until.is_over(number) for number in numbers]

    assert said == [False] * (epochs - 1) + [True]


def test_a_restored_counter_continues() -> None:
    until, again = EarlyStopping("loss", patience=2), EarlyStopping("loss", patience=2)
    until.is_over(3.0)
    until.is_over(4.0)

    again.restore(until.arrays())

    assert (again.best, again.waited) == (3.0, 1)
    assert again.is_over(3.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patience": 0}, "EarlyStopping: patience is 0 but must be at least 1"),
        ({"patience": 1, "mode": "most"}, "EarlyStopping: mode is 'most' but 'min' or 'max' is expected"),
        ({"patience": 1, "least": -0.5}, "EarlyStopping: least is -0.5 but must be at least 0"),
    ],
)
def test_invalid_arguments_are_rejected(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        EarlyStopping("loss", **options)
