"""The cyclic garbage collector in tests: what is freed without it holds no reference to itself."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collector() -> Iterator[None]:
    """Collect what is garbage now, and nothing until the end."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
