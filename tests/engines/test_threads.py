"""The thread pool: each part of the work is done once, and nothing refers to it afterwards."""

import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from tapegrad.engines.numpy import threads
from tapegrad.engines.numpy.threads import run_in_threads, set_threads


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

    monkeypatch.setattr(threads, "start_new_thread", reject)
    parts: list[tuple[int, int]] = []
    set_threads(3)

    run_in_threads(lambda first, last: parts.append((first, last)), 3, is_worth_it=True)

    assert parts == [(0, 1), (1, 2), (2, 3)]


def test_a_late_thread_does_nothing_and_holds_no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[Any] = []
    monkeypatch.setattr(threads, "start_new_thread", lambda run, args: late.append((run, args)))
    set_threads(2)
    held = threading.Event()
    reference = weakref.ref(held)

    def share(held: threading.Event) -> None:
        run_in_threads(lambda *_: held.set(), 1_000, is_worth_it=True)

    share(held)
    del held

    assert reference() is None
    ((run, args),) = late
    run(*args)
