"""The threads that help: each part of the work is done once, and nothing refers to it afterwards."""

import _thread
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from typing_extensions import override

from tapegrad.engines.numpy import threads
from tapegrad.engines.numpy.threads import Helpers, run_in_threads, set_threads


@pytest.fixture(autouse=True)
def any_number_of_threads() -> Iterator[None]:
    yield
    set_threads(None)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1_000])
@pytest.mark.parametrize("crew", [1, 2, 5])
def test_each_part_is_computed_once(crew: int, count: int) -> None:
    parts: list[tuple[int, int]] = []
    set_threads(crew)

    run_in_threads(lambda first, last: parts.append((first, last)), count, is_worth_it=True)

    assert sorted(number for first, last in parts for number in range(first, last)) == [*range(count)]


def test_a_slow_part_does_not_delay_the_others() -> None:
    held_up, others = threading.Event(), []
    set_threads(2)

    def work(first: int, _: int) -> None:
        if first == 0:
            assert held_up.wait(timeout=60)
        else:
            others.append(first)
            if len(others) == 7:
                held_up.set()

    run_in_threads(work, 1_000, is_worth_it=True)

    assert sorted(others) == [125, 250, 375, 500, 625, 750, 875]


def test_small_work_is_done_in_one_part() -> None:
    parts: list[tuple[int, int]] = []
    set_threads(2)

    run_in_threads(lambda first, last: parts.append((first, last)), 1_000, is_worth_it=False)

    assert parts == [(0, 1_000)]


def test_a_failure_ends_the_work_and_is_raised() -> None:
    done: list[int] = []
    set_threads(2)

    def work(first: int, _: int) -> None:
        done.append(first)
        raise ValueError(first)

    with pytest.raises(ValueError, match=r"^\d+$"):
        run_in_threads(work, 1_000, is_worth_it=True)

    assert len(done) <= 2


def test_one_thread_does_all_the_work_if_no_other_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(*_: Any) -> None:
        message = "can't start new thread"
        raise RuntimeError(message)

    monkeypatch.setattr(threads, "HELPERS", Helpers())
    monkeypatch.setattr(threads, "start_new_thread", reject)
    parts: list[tuple[int, int]] = []
    set_threads(3)

    run_in_threads(lambda first, last: parts.append((first, last)), 3, is_worth_it=True)

    assert parts == [(0, 1), (1, 2), (2, 3)]


class Late(Helpers):
    """Keeps what it should call, so that the test calls it."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    @override
    def call(self, function: Any, count: int) -> None:
        self.calls += [function] * count


def test_a_late_thread_does_nothing_and_holds_no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Late()
    monkeypatch.setattr(threads, "HELPERS", late)
    set_threads(2)
    held = threading.Event()
    reference = weakref.ref(held)

    def share(held: threading.Event) -> None:
        run_in_threads(lambda *_: held.set(), 1_000, is_worth_it=True)

    share(held)
    del held

    assert reference() is None
    (call,) = late.calls
    call()


def test_helpers_hold_no_reference_while_they_wait() -> None:
    helpers, done = Helpers(), threading.Event()
    held = [done]
    reference = weakref.ref(done)

    helpers.call(held.pop().set, 1)
    assert done.wait(timeout=60)
    del done

    limit = time.monotonic() + 60
    while reference() is not None:
        assert time.monotonic() < limit


def test_helpers_end_when_there_is_no_work_and_start_again(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def start(function: Any, arguments: tuple[Any, ...]) -> None:
        started.append(function)
        _thread.start_new_thread(function, arguments)

    monkeypatch.setattr(threads, "start_new_thread", start)
    helpers, done = Helpers(), threading.Semaphore(0)

    for count in (2, 4):
        helpers.call(done.release, 2)
        assert all(done.acquire(timeout=60) for _ in range(2))
        limit = time.monotonic() + 60
        while vars(helpers)["_count"]:
            assert time.monotonic() < limit
        assert len(started) == count


def test_helpers_run_in_the_context_of_the_caller() -> None:
    helpers, found, done = Helpers(), list[str](), threading.Semaphore(0)

    def work() -> None:
        found.append(np.geterr()["over"])
        done.release()

    for setting in ("raise", "ignore"):
        with np.errstate(over=setting):
            helpers.call(work, 1)
            assert done.acquire(timeout=60)

    assert found == ["raise", "ignore"]


FORK = """
import os
from threading import Barrier

from tapegrad.engines.numpy.threads import run_in_threads, set_threads


def work_on_two_threads():
    met = Barrier(2)
    run_in_threads(lambda first, last: met.wait(timeout=20), 2, is_worth_it=True)


set_threads(2)
work_on_two_threads()
child = os.fork()
work_on_two_threads()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_both_processes_share_work_after_a_fork() -> None:
    # In a process of its own: where JAX or pytest run threads, Python and JAX warn of the fork.
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=False, timeout=100)

    assert done.returncode == 0, done.stderr
