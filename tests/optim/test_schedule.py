"""Learning rate schedules: numeric results, and their ends."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tapegrad.optim import Schedule, constant, cosine, exponential, one_cycle, step, warmup


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (constant(0.5), [0.5, 0.5, 0.5]),
        # torch 2.13: StepLR, ExponentialLR, CosineAnnealingLR and OneCycleLR over SGD(lr=0.5)
        (step(0.5, every=3, factor=0.5), [0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125]),
        (exponential(0.5, factor=0.9), [0.5, 0.45, 0.405, 0.3645, 0.32805]),
        (
            cosine(0.5, steps=8, end=0.1),
            [0.5, 0.484775907, 0.441421356, 0.376536686, 0.3, 0.223463314, 0.158578644, 0.115224093, 0.1],
        ),
        (
            one_cycle(0.5, steps=10),
            [
                *(0.02, 0.26, 0.5, 0.475242316, 0.405872827),
                *(0.305631011, 0.194370989, 0.094129173, 0.024759684, 2e-06),
            ],
        ),
        (
            one_cycle(0.5, steps=7, rise=0.5, start=0.1, end=0.001),
            [0.05, 0.205471176, 0.457028824, 0.475266975, 0.305824603, 0.094533422, 0.0005],
        ),
        # From 1/4 to 3/4 of 0.4, then 0.4 and on
        (warmup(exponential(0.4, factor=0.5), steps=3), [0.1, 0.2, 0.3, 0.4, 0.2, 0.1]),
    ],
    ids=["constant", "step", "exponential", "cosine", "one_cycle", "one_cycle, other options", "warmup"],
)
def test_the_learning_rate_at_each_step(schedule: Schedule, expected: list[float]) -> None:
    assert [schedule(t) for t in range(len(expected))] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("schedule", "last", "end"), [(cosine(0.5, steps=8, end=0.125), 8, 0.125), (one_cycle(0.5, steps=10), 9, 2e-6)]
)
def test_after_the_last_step_the_learning_rate_stays_constant(schedule: Schedule, last: int, end: float) -> None:
    assert [schedule(t) for t in (last, last + 1, last + 1000)] == pytest.approx([end] * 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: step(0.1, every=0), "step: every is 0 but must be at least 1"),  # type: ignore[arg-type]  # out of range
        (lambda: cosine(0.1, steps=0), "cosine: steps is 0 but must be at least 1"),  # type: ignore[arg-type]  # out of range
        (lambda: warmup(constant(0.1), steps=0), "warmup: steps is 0 but must be at least 1"),  # type: ignore[arg-type]  # out of range
        (lambda: one_cycle(0.1, steps=10, rise=0.1), "one_cycle: rise is 0.1 but must be above 1/10 and below 1"),
        (lambda: one_cycle(0.1, steps=10, rise=1.0), "one_cycle: rise is 1.0 but must be above 1/10 and below 1"),
    ],
)
def test_numbers_out_of_range_are_rejected(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()
