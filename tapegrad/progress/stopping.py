"""Early stopping: when a run is over because it gets no better."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tapegrad.options import check_at_least_zero, check_count
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Mapping


@public_api
class EarlyStopping:
    """Ends a run when a number that its epochs note has not become better for some epochs.

    Args:
        name: What the number is noted as, `test_loss`.
        patience: After how many epochs in a row that are no better than the best, at least 1.
        mode: Whether lower ones are better, "min", or higher ones, "max". NaN never is.
        least: By how much at least an epoch has to be better, in the units of the number, at least 0.

    Attributes:
        best: The best number so far; an infinity before the first epoch.
        waited: How many epochs in a row were no better.

    Raises:
        DTypeError: `patience` is not a whole number, or `least` not a number.
        ValueError: `patience` or `least` is out of its range, or `mode` is neither of the two.

    Source:
        Prechelt, [Early stopping, but when?](https://doi.org/10.1007/978-3-642-35289-8_5), §2.2: his third criterion,
        with strips of one epoch.
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
        """Take the number of one more epoch, and say whether it was the last."""
        gain = self.best - number if self.mode == "min" else number - self.best
        if gain > self.least:
            self.best, self.waited = number, 0
        else:
            self.waited += 1
        return self.waited >= self.patience

    def arrays(self) -> dict[str, Any]:
        """Return what `tapegrad.io.save` asks for."""
        return {"best": np.asarray(self.best), "waited": np.asarray(self.waited)}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Take over what `arrays` gave."""
        self.best, self.waited = float(arrays["best"]), int(arrays["waited"])
