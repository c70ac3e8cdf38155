"""Locks that threads share, and that a forked process finds open."""

from __future__ import annotations

import os
from typing import Protocol, TypeVar


class Lock(Protocol):
    """What `threading` makes to be held by one thread at a time."""

    def acquire(self) -> bool:
        """Wait until nobody else holds it."""

    def release(self) -> None:
        """Let others hold it."""


L = TypeVar("L", bound=Lock)


def open_in_children(lock: L) -> L:
    """Return a lock, held while the process forks: a child has no thread that would open it again."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_child=lock.release, after_in_parent=lock.release)
    return lock
