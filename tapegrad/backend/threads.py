"""Threads for work on large arrays: NumPy and compiled kernels let go of Python's lock while they compute."""

from __future__ import annotations

import os
from _thread import start_new_thread
from contextvars import copy_context
from threading import Lock
from typing import TYPE_CHECKING, Final

from tapegrad.options import check_count
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Callable

_PARTS: Final = 4  # for each thread

_limit: int | None = None


def threads() -> int:
    """Return how many threads tapegrad's own work on large arrays takes: as many as there are cores, unless set."""
    if _limit is not None:
        return _limit
    has_affinity = hasattr(os, "sched_getaffinity")  # Linux alone
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


@public_api
def set_threads(count: int | None) -> None:
    """Set how many threads tapegrad's own work on large arrays takes.

    The products of matrices are BLAS's, which has threads of its own and reads its variables when the process starts.

    Args:
        count: At least 1, which leaves all of it to the calling thread; None for as many as there are cores.

    Raises:
        ValueError: `count` is less than 1.
        DTypeError: It is no whole number.
    """
    global _limit  # noqa: PLW0603  # threads belong to the process, and so does their number
    if count is not None:
        check_count("set_threads", "count", count)
    _limit = count


def shared_out(work: Callable[[int, int], None], count: int, *, is_worth_it: bool) -> None:
    """Work on the numbers below `count`, part by part on several threads, and raise what the first failure raised.

    Each thread takes the next part when it is done with one, so that none waits long for another that is held up.
    Threads are made anew, in a fiftieth of a millisecond: a pool that waits would not survive a fork.

    Args:
        work: Takes the first number of a part, and the one behind its last.
        count: How much there is to do.
        is_worth_it: Whether it is enough for more than one thread.
    """
    crew = min(threads(), count) if is_worth_it else 1
    if crew <= 1:
        work(0, count)
        return
    parts = _Parts(work, count, min(count, crew * _PARTS))
    for _ in range(crew - 1):
        # In the caller's context, which says what NumPy is to do about overflow. One of `threading` would be waited for
        # until it runs, for longer than many a work takes.
        try:
            start_new_thread(copy_context().run, (parts.work_on,))
        except RuntimeError:  # the system has no more, or the interpreter is about to end
            break
    parts.work_on()
    parts.wait()


class _Parts:
    """What is left of some work, for all threads that take part in it."""

    def __init__(self, work: Callable[[int, int], None], count: int, parts: int) -> None:
        self._work = work
        self._left = [(count * part // parts, count * (part + 1) // parts) for part in reversed(range(parts))]
        self._undone = parts
        self._lock = Lock()
        self._all_done = Lock()
        self._all_done.acquire()
        self._failures: list[BaseException] = []

    def work_on(self) -> None:
        """Work on one part after the other until none is left, or one has failed."""
        while (bounds := self._next()) is not None:
            try:
                self._work(*bounds)
            except BaseException as failure:  # noqa: BLE001  # it is raised where the work was asked for
                self._failures.append(failure)
            self._note()

    def wait(self) -> None:
        """Return when all parts are done, or raise what the first that failed has raised."""
        self._all_done.acquire()
        del self._work  # a thread that ends, or has not begun, is not to hold the arrays: who counts would see it
        if self._failures:
            raise self._failures[0]

    def _next(self) -> tuple[int, int] | None:
        with self._lock:
            return self._left.pop() if self._left else None

    def _note(self) -> None:
        """Note that a part is done; after a failure there is no sense in those that are left."""
        with self._lock:
            self._undone -= 1
            if self._failures:
                self._undone -= len(self._left)
                self._left.clear()
            if not self._undone:
                self._all_done.release()
