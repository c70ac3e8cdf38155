"""Workers: threads and processes make the batches that the loop would make, also after errors and Ctrl-C."""

from __future__ import annotations

import copy
import os
import signal
import threading
import time
from collections.abc import Iterator
from itertools import islice
from multiprocessing import active_children
from typing import Any

import numpy as np
import pytest

from tapegrad import io
from tapegrad.data import batches
from tapegrad.errors import DTypeError
from tapegrad.ops import tensor, zeros
from tests.data.examples import Numbers, Sleeper

KINDS = [pytest.param(False, id="threads"), pytest.param(True, id="processes")]


def labels(passed: Any) -> list[list[int]]:
    return [y.tolist() for _, y in passed]


def threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name.startswith("tapegrad.data")]


@pytest.fixture(autouse=True)
def _python_interrupts() -> Iterator[None]:
    """Install Python's own handler, which a job in the background does not have."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _no_worker_is_left() -> Iterator[None]:
    yield
    assert not threads()
    ended_by = time.monotonic() + 20
    while active_children() and time.monotonic() < ended_by:  # a process whose connection is closed ends by itself
        time.sleep(0.05)
    assert not active_children()


@pytest.mark.parametrize(("workers", "processes"), [(1, False), (5, False), (3, True)])
def test_workers_change_neither_the_order_nor_the_values(workers: int, processes: bool) -> None:  # noqa: FBT001  # pytest's
    alone = batches(Numbers(11), size=3, drop_last=False, rng=4)
    helped = batches(Numbers(11), size=3, drop_last=False, rng=4, workers=workers, processes=processes)

    for _ in range(3):
        expected, found = list(alone), list(helped)
        assert labels(found) == labels(expected)
        assert [x.tolist() for x, _ in found] == [x.tolist() for x, _ in expected]
        assert [x.dtype for x, _ in found] == [np.float32] * 4


def test_as_many_batches_as_workers_are_made_ahead() -> None:
    read: list[int] = []
    both = threading.Barrier(2, timeout=60)

    class Slow:
        def __len__(self) -> int:
            return 6

        def __getitem__(self, index: int) -> Any:
            read.append(index)
            if index in (0, 1):
                both.wait()  # passes only if the two examples are read at the same time
            return tensor(index)

    passed = iter(batches(Slow(), size=1, shuffle=False, workers=2))
    assert next(passed).tolist() == [0]
    passed.close()  # type: ignore[attr-defined]  # an iterator made by a generator

    assert set(read) <= {0, 1, 2}


def test_processes_serve_the_next_pass_too() -> None:
    passed = batches(Numbers(6), size=2, shuffle=False, workers=2, processes=True)

    seen = []
    for _ in range(2):
        assert labels(passed) == [[0, 1], [2, 3], [4, 5]]
        seen.append({one.pid for one in active_children()})

    assert len(seen[0]) == 2
    assert seen[0] == seen[1]


@pytest.mark.parametrize("processes", KINDS)
def test_two_passes_at_the_same_time_do_not_mix(processes: bool) -> None:  # noqa: FBT001  # pytest's
    passed = batches(Numbers(6), size=2, shuffle=False, workers=2, processes=processes)

    pairs = list(zip(passed, passed, strict=True))

    assert labels(one for one, _ in pairs) == labels(other for _, other in pairs) == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("processes", KINDS)
def test_a_saved_pass_continues_with_workers(tmp_path: Any, processes: bool) -> None:  # noqa: FBT001  # pytest's
    options: Any = {"size": 2, "workers": 2, "processes": processes}
    first, again = (batches(Numbers(10), rng=seed, **options) for seed in (3, 99))
    iterator = iter(first)
    given = labels(islice(iterator, 2))

    io.save({"batches": first}, tmp_path / "state.npz")
    io.load({"batches": again}, tmp_path / "state.npz")

    assert given + labels(again) == labels(batches(Numbers(10), size=2, rng=3))
    assert len(labels(iterator)) == 3


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_has_the_index_of_its_example(workers: int) -> None:
    passed = batches(Numbers(9, bad=5, error="OSError"), size=2, shuffle=False, workers=workers)

    seen = []
    with pytest.raises(OSError, match="no such file") as raised:
        seen += [y.tolist() for _, y in passed]

    assert raised.value.__notes__ == ["batches: example 5 of the dataset raised this"]
    with pytest.raises(OSError, match="no such file"):  # the next pass begins at the start
        labels(passed)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        ("OSError", OSError, "no such file"),
        ("EOFError", EOFError, "batches: example 5"),
        ("Unusual", RuntimeError, "Unusual: a and b"),
    ],
)
def test_an_error_of_a_process_has_its_index_and_its_traceback(error: str, kind: Any, message: str) -> None:
    passed = iter(batches(Numbers(9, bad=5, error=error), size=2, shuffle=False, workers=2, processes=True))

    seen = labels(islice(passed, 2))
    with pytest.raises(kind, match=message) as raised:
        next(passed)

    assert seen == [[0, 1], [2, 3]]
    index, trace = raised.value.__notes__
    assert index == "batches: example 5 of the dataset raised this"
    assert trace.startswith("In the worker process:\nTraceback")
    assert "in __getitem__" in trace


def test_a_process_that_ends_is_reported() -> None:
    passed = batches(Numbers(9, bad=5, error="exit"), size=2, shuffle=False, workers=2, processes=True)

    message = r"^batches: worker 1 of 2 ended with exit code 3 before it sent a batch; .* if __name__ == |__main__"
    with pytest.raises(RuntimeError, match=message):
        labels(passed)


def test_a_dataset_that_cannot_be_pickled_is_rejected() -> None:
    class Local(Numbers):
        pass

    passed = batches(Local(4), size=2, workers=1, processes=True)

    message = r"^batches: the dataset cannot be sent to a process: .*Local.*; define its class at the top of a "
    with pytest.raises(DTypeError, match=message):
        labels(passed)


@pytest.mark.parametrize("processes", KINDS)
def test_ctrl_c_stops_the_workers_and_the_next_pass_is_whole(processes: bool) -> None:  # noqa: FBT001  # pytest's
    passed = batches(Numbers(40), size=1, shuffle=False, workers=2, processes=processes)

    iterator = iter(passed)
    next(iterator)
    with pytest.raises(KeyboardInterrupt):
        interrupt_in_a_loop(iterator)
    del iterator
    assert not threads()

    assert labels(passed) == [[n] for n in range(40)]


def interrupt_in_a_loop(passed: Any) -> None:
    for _ in passed:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("is_stubborn", [False, True])
def test_ctrl_c_while_a_process_reads_ends_it(is_stubborn: bool) -> None:  # noqa: FBT001  # pytest's
    passed = batches(Sleeper(is_stubborn=is_stubborn), size=1, workers=1, processes=True)
    timer = threading.Timer(3.0, lambda: os.kill(os.getpid(), signal.SIGINT))

    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(passed)
    timer.join()

    assert time.monotonic() - began < Sleeper.seconds


def test_a_copy_has_processes_of_its_own() -> None:
    passed = batches(Numbers(4), size=2, shuffle=False, workers=1, processes=True)
    assert labels(passed) == [[0, 1], [2, 3]]

    other = copy.deepcopy(passed)

    assert labels(other) == labels(passed) == [[0, 1], [2, 3]]


def test_invalid_options_are_rejected() -> None:
    tensors: Any = zeros((4, 2))
    with pytest.raises(
        ValueError, match=r"^batches: workers is 2, but only a dataset is read by workers, and the data "
    ):
        batches(tensors, size=2, workers=2)
    with pytest.raises(ValueError, match=r"^batches: processes is True but workers is 0: how many processes should "):
        batches(Numbers(4), size=2, processes=True)
    half: Any = 1.5
    below = int("-1")  # mypy rejects a number that is written
    with pytest.raises(ValueError, match=r"^batches: workers is -1 but must be at least 0$"):
        batches(Numbers(4), size=2, workers=below)
    with pytest.raises(DTypeError, match=r"^batches: workers is 1\.5 but an int is expected$"):
        batches(Numbers(4), size=2, workers=half)
