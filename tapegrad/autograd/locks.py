"""Locks that are released in a forked child process."""

from __future__ import annotations

import os
from typing import Protocol, TypeVar


class Lock(Protocol):
    """The interface of `threading.Lock` and `threading.RLock`."""

    def acquire(self) -> bool:
        """Wait until no other thread holds the lock, then acquire it."""

    def release(self) -> None:
        """Release the lock."""


L = TypeVar("L", bound=Lock)


def open_in_children(lock: L) -> L:
    """Return a lock after arranging that a fork holds it: no other thread is left in the child to release it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_child=lock.release, after_in_parent=lock.release)
    return lock
