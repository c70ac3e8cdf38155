"""Threads for work on large arrays: NumPy and compiled kernels release the GIL while they compute."""

from __future__ import annotations

import os
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final

from tapegrad.errors.options import check_count
from tapegrad.errors.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Callable

_PARTS: Final = 4  # for each thread

_limit: int | None = None


def threads() -> int:
    """Return how many threads tapegrad uses for large arrays: as many as there are cores, unless set.

    Examples:
        >>> tg.set_threads(2)
        >>> tg.threads()
        2
        >>> tg.set_threads(None)
    """
    if _limit is not None:
        return _limit
    has_affinity = hasattr(os, "sched_getaffinity")  # only on Linux
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


@public_api
def set_threads(count: int | None) -> None:
    """Set how many threads tapegrad uses for large arrays.

    Matrix products run in BLAS, which has threads of its own and reads its variables when the process starts.

    Args:
        count: At least 1, which runs everything in the calling thread; None for as many as there are cores.

    Raises:
        ValueError: `count` is less than 1.
        DTypeError: `count` is not an integer.

    Examples:
        >>> tg.set_threads(1)
        >>> tg.threads()
        1
        >>> tg.set_threads(None)
        >>> tg.threads() >= 1
        True
    """
    global _limit  # noqa: PLW0603  # the number of threads is global to the process
    if count is not None:
        check_count("set_threads", "count", count)
    _limit = count


def run_in_threads(work: Callable[[int, int], None], count: int, *, is_worth_it: bool) -> None:
    """Run `work` on the range below `count`, part by part on several threads, and raise its first error.

    Each thread takes the next part when it has finished one, so that a delayed thread does not hold up the others.

    Args:
        work: Takes the first index of a part, and the one after its last.
        count: The size of the range.
        is_worth_it: Whether it is enough for more than one thread.
    """
    thread_count = min(threads(), count) if is_worth_it else 1
    if thread_count <= 1:
        work(0, count)
        return
    parts = _Parts(work, count, min(count, thread_count * _PARTS))
    HELPERS.call(parts.work_on, thread_count - 1)
    parts.work_on()
    parts.wait()


def start_helpers(function: Callable[..., object], *arguments: Any) -> None:
    """Let other threads call a function, all but one of `threads()`, and return when each is about to call it."""
    about_to_call: SimpleQueue[None] = SimpleQueue()

    def help_out() -> None:
        about_to_call.put(None)
        function(*arguments)

    for _ in range(HELPERS.call(help_out, threads() - 1)):
        about_to_call.get()


class Helpers:
    """Threads that wait for work between calls, as new ones start later (benchmarks/devices.py, "waiting threads").

    They end before a fork, and start again when they are needed: a child process has only the thread that forked.
    """

    def __init__(self) -> None:
        self._threads: list[Thread] = []
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._lock = Lock()
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(before=self._end, after_in_parent=self._lock.release, after_in_child=self._lock.release)

    def call(self, function: Callable[[], object], count: int) -> int:
        """Let several threads call a function, or fewer if no more can start; returns at once how many.

        It runs in the caller's context, which holds NumPy's settings for overflow.
        """
        with self._lock:
            while len(self._threads) < count:
                try:
                    thread = Thread(target=self._run, name="tapegrad", daemon=True)
                    thread.start()
                except RuntimeError:  # the system has no more threads, or the interpreter is shutting down
                    break
                self._threads.append(thread)
            callers = min(count, len(self._threads))
            for _ in range(callers):
                self._work.put(partial(copy_context().run, function))
        return callers

    def _run(self) -> None:
        """Do work until there is None in its place."""
        while (work := self._work.get()) is not None:
            work()
            del work  # it refers to arrays, whose references are counted

    def _end(self) -> None:
        """End all threads, and let none start until the process has forked."""
        self._lock.acquire()
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()


class _Parts:
    """The remaining parts of some work, shared by all threads that run it."""

    def __init__(self, work: Callable[[int, int], None], count: int, parts: int) -> None:
        self._work = work
        self._remaining = [(count * part // parts, count * (part + 1) // parts) for part in reversed(range(parts))]
        self._unfinished = parts
        self._lock = Lock()
        self._all_done = Lock()
        self._all_done.acquire()
        self._failures: list[BaseException] = []

    def work_on(self) -> None:
        """Run one part after the other until none is left, or one has failed."""
        while (bounds := self._next()) is not None:
            try:
                self._work(*bounds)
            except BaseException as failure:  # noqa: BLE001  # raised again in the calling thread
                self._failures.append(failure)
            self._finish_part()

    def wait(self) -> None:
        """Wait until all parts are done, and raise the first error."""
        self._all_done.acquire()
        del self._work  # a thread that ends, or has not begun, must not add to the counted references to the arrays
        if self._failures:
            raise self._failures[0]

    def _next(self) -> tuple[int, int] | None:
        with self._lock:
            return self._remaining.pop() if self._remaining else None

    def _finish_part(self) -> None:
        """Count a part as done; after a failure the remaining parts are skipped."""
        with self._lock:
            self._unfinished -= 1
            if self._failures:
                self._unfinished -= len(self._remaining)
                self._remaining.clear()
            if not self._unfinished:
                self._all_done.release()


HELPERS: Final = Helpers()
