"""A context manager that runs a test without the cyclic garbage collector."""

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
