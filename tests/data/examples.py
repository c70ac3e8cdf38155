"""Datasets that worker processes read: the processes import this module, and not pytest with it."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np


class Numbers:
    """Examples 0, 1, 2, ...; some indices raise an error or end the process."""

    def __init__(self, count: int, *, bad: int = -1, error: str = "") -> None:
        self.count = count
        self.bad = bad
        self.error = error

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if index == self.bad:
            if self.error == "exit":
                os._exit(3)
            raise {"OSError": OSError(2, "no such file"), "Unusual": Unusual("a", "b"), "EOFError": EOFError()}[
                self.error
            ]
        return np.array([index, index * index], np.float32), index


class Unusual(Exception):  # noqa: N818  # an error that pickle writes but cannot read
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


class Sleeper:
    """An example takes longer than any test waits."""

    seconds = 60

    def __init__(self, *, is_stubborn: bool) -> None:
        self.is_stubborn = is_stubborn

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Any:
        if self.is_stubborn:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(self.seconds)
