"""Threads for work on large arrays: NumPy and compiled kernels let go of Python's lock while they compute."""

from __future__ import annotations

import os
from contextvars import copy_context
from itertools import pairwise
from threading import Thread
from typing import TYPE_CHECKING

from tapegrad.traces import edge

if TYPE_CHECKING:
    from collections.abc import Callable

_limit: int | None = None


def threads() -> int:
    """Returns how many threads tapegrad's own work on large arrays takes: as many as there are cores, unless set."""
    if _limit is not None:
        return _limit
    has_affinity = hasattr(os, "sched_getaffinity")  # Linux alone
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


@edge
def set_threads(count: int | None) -> None:
    """Sets how many threads tapegrad's own work on large arrays takes.

    The products of matrices are BLAS's, which has threads of its own and reads its variables when the process starts.

    Args:
        count: At least 1, which leaves all of it to the calling thread; None for as many as there are cores.

    Raises:
        ValueError: `count` is less than 1.
    """
    global _limit  # noqa: PLW0603  # threads belong to the process, and so does their number
    if count is not None and count < 1:
        message = f"set_threads: count is {count} but at least 1 is expected"
        raise ValueError(message)
    _limit = count


def shared_out(work: Callable[[int, int], None], count: int, *, is_worth_it: bool) -> None:
    """Works on the numbers below `count`, in one part for each thread, and raises what the first failure raised.

    Threads are made anew, in a twentieth of a millisecond: a pool that waits would not survive a fork.

    Args:
        work: Takes the first number of a part, and the one behind its last.
        count: How much there is to do.
        is_worth_it: Whether it is enough for more than one thread.
    """
    parts = min(threads(), count) if is_worth_it else 1
    if parts <= 1:
        work(0, count)
        return
    failures: list[BaseException] = []
    bounds = [count * part // parts for part in range(parts + 1)]

    def run(first: int, last: int) -> None:
        try:
            work(first, last)
        except BaseException as failure:  # noqa: BLE001  # it is raised where the work was asked for
            failures.append(failure)

    # Each in the caller's context, which says what NumPy is to do about overflow.
    helpers = [
        Thread(target=copy_context().run, args=(run, first, last), daemon=True) for first, last in pairwise(bounds[1:])
    ]
    for helper in helpers:
        helper.start()
    run(0, bounds[1])
    for helper in helpers:
        helper.join()
    if failures:
        raise failures[0]
