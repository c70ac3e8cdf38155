"""Early stopping: end a run when a metric no longer improves."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tapegrad.errors.options import check_at_least_zero, check_count
from tapegrad.errors.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Mapping


@public_api
class EarlyStopping:
    """Early stopping criterion: ends a run when a metric has not improved for some epochs.

    Args:
        name: The name under which the metric is noted, such as `test_loss`.
        patience: The number of consecutive epochs without improvement after which the run ends, at least 1.
        mode: Whether lower values are better, "min", or higher ones, "max". NaN is never an improvement.
        least: The improvement that an epoch must exceed, in the units of the metric, at least 0.

    Attributes:
        best: The best value so far; an infinity before the first epoch.
        waited: The number of consecutive epochs without improvement.

    Raises:
        DTypeError: `patience` is not an int, or `least` is not a number.
        ValueError: `patience` or `least` is out of range, or `mode` is neither "min" nor "max".

    Source:
        Prechelt, [Early stopping, but when?](https://doi.org/10.1007/978-3-642-35289-8_5), §2.2: the third criterion,
        with strips of one epoch.

    Examples:
        >>> until = tg.progress.EarlyStopping("test_loss", patience=2)
        >>> for epoch in tg.progress.track(range(3), epochs=9, until=until, show=False):
        ...     epoch.note(test_loss=[0.5, 0.25, 0.375, 0.3125, 0.5][epoch.number - 1])
        >>> epoch.number, until.best, until.waited
        (4, 0.25, 2)
    """

    def __init__(self, name: str, *, patience: int, mode: Literal["min", "max"] = "min", least: float = 0.0) -> None:
        check_count("EarlyStopping", "patience", patience)
        check_at_least_zero("EarlyStopping", "least", least)
        if mode not in ("min", "max"):
            message = f"EarlyStopping: mode is {mode!r} but 'min' or 'max' is expected"
            raise ValueError(message)
        self.name = name
        self.patience = patience
        self.mode = mode
        self.least = least
        self.best = inf if mode == "min" else -inf
        self.waited = 0

    def is_over(self, number: float) -> bool:
        """Record the metric of one more epoch, and return whether the run is over."""
        gain = self.best - number if self.mode == "min" else number - self.best
        if gain > self.least:
            self.best, self.waited = number, 0
        else:
            self.waited += 1
        return self.waited >= self.patience

    def arrays(self) -> dict[str, Any]:
        """Return the state as arrays, for `tapegrad.io.save`."""
        return {"best": np.asarray(self.best), "waited": np.asarray(self.waited)}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Restore the result of `arrays`."""
        self.best, self.waited = float(arrays["best"]), int(arrays["waited"])
