"""Threads for work on large arrays: NumPy and compiled kernels release the GIL while they compute."""

from __future__ import annotations

import os
from _thread import start_new_thread
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from tapegrad.errors.options import check_count
from tapegrad.errors.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PARTS: Final = 4  # for each thread
_PATIENCE: Final = 0.01  # seconds for which a thread waits for work

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


def start_helpers(function: Callable[..., None], *arguments: Any) -> None:
    """Start threads that call a function, all but one of `threads()`, and return when each is about to call it."""
    for _ in range(threads() - 1):
        is_started = Lock()
        is_started.acquire()
        try:
            start_new_thread(_help, (is_started, function, arguments))
        except RuntimeError:  # the system has no more threads, or the interpreter is shutting down
            break
        is_started.acquire()


def _help(is_started: Any, function: Callable[..., None], arguments: Sequence[Any]) -> None:
    is_started.release()
    function(*arguments)


class Helpers:
    """Threads that wait for work between calls, as new ones start later (benchmarks/devices.py, "waiting threads").

    A thread that gets nothing to do for some milliseconds ends. After a longer pause the system may wake up a thread on
    the core of its caller, so that one waits for the other, but it starts a new one on another core. All threads end
    before a fork, because a child process has only the one that forked.
    """

    def __init__(self) -> None:
        self._count = 0
        self._work: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._ended: SimpleQueue[None] = SimpleQueue()
        self._lock = Lock()
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(before=self._end, after_in_parent=self._lock.release, after_in_child=self._lock.release)

    def call(self, function: Callable[[], object], count: int) -> None:
        """Call a function on several threads, or on fewer if no more can start; returns at once.

        It runs in the caller's context, which holds NumPy's settings for overflow.
        """
        with self._lock:
            while self._count < count:
                try:
                    start_new_thread(self._run, ())
                except RuntimeError:  # the system has no more threads, or the interpreter is shutting down
                    break
                self._count += 1
            for _ in range(min(count, self._count)):
                self._work.put(partial(copy_context().run, function))

    def _run(self) -> None:
        """Do work until there is none for some time, or None in its place."""
        while True:
            try:
                work = self._work.get(timeout=_PATIENCE)
            except Empty:
                if self._has_ended():
                    return
                continue
            if work is None:
                self._ended.put(None)
                return
            work()
            del work  # it refers to arrays, whose references are counted

    def _has_ended(self) -> bool:
        """Return whether this thread is no longer counted, because there is no work; who forks decides for itself."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            is_idle = self._work.empty()
            self._count -= is_idle
            return is_idle
        finally:
            self._lock.release()

    def _end(self) -> None:
        """End all threads, and let none start until the process has forked."""
        self._lock.acquire()
        for _ in range(self._count):
            self._work.put(None)
        for _ in range(self._count):
            self._ended.get()
        self._count = 0


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
