"""Updates in place: only of arrays without other references, and complete or not at all."""

from __future__ import annotations

from _thread import start_new_thread
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tapegrad.engines import engine
from tapegrad.engines.numba import engine as fast
from tapegrad.engines.numba.engine import use_fast
from tapegrad.engines.numpy import threads
from tapegrad.engines.numpy.buffers import BUFFERS, can_overwrite, check_references
from tapegrad.engines.numpy.program import program_of
from tapegrad.engines.numpy.threads import set_threads

changes: Any = pytest.importorskip("tapegrad.engines.numba.in_place").changes  # which needs numba
kernel: Any = pytest.importorskip("tapegrad.engines.numba.codegen").kernel


@pytest.fixture(autouse=True)
def _with_kernels() -> Iterator[None]:
    set_threads(2)
    use_fast(is_on=True)
    yield
    use_fast(is_on=True)
    set_threads(None)


OWN: dict[str, Any] = {"own": lambda: np.ones(3), "buffer": lambda: BUFFERS.empty((512, 513), np.float32)}


@pytest.mark.parametrize("made_of", OWN.values(), ids=OWN)
def test_an_array_with_only_its_expected_references_is_free(made_of: Any) -> None:
    array = made_of()
    assert can_overwrite(array)

    deque(check_references([array], [1]), 0)  # the name

    for references in (0, 2):
        with pytest.raises(KeyError):
            deque(check_references([array], [references]), 0)


def test_arrays_of_other_engines_are_not_changed() -> None:
    use_fast(is_on=False)

    assert engine(np.ones(3)).changes(lambda x: x + 1, [[np.ones(1 << 20)]], [0]) is None


def made(*calls: tuple[Any, ...]) -> None:
    for function, *arguments in calls:
        function(*arguments)


def test_each_set_of_arrays_is_overwritten_by_its_own_results() -> None:
    rows = [[np.full(shape, k, np.float32) for k in (1, 2, 3)] for shape in ((3, 5), (7,))]

    calls = changes(lambda x, y, z: (x * y, z + 0.5), rows, [0, 2])
    before = [[array.max() for array in row] for row in rows]
    made(*calls)

    assert before == [[1, 2, 3]] * 2
    for row in rows:
        assert [{*array.ravel().tolist()} for array in row] == [{2.0}, {2.0}, {3.5}]


def test_an_unchanged_array_is_not_overwritten() -> None:
    x, y = np.ones(5), np.full(5, 2.0)

    made(*changes(lambda x, y: (x, x + y), [[x, y]], [0, 1]))

    assert (x.tolist(), y.tolist()) == ([1.0] * 5, [3.0] * 5)


def test_a_broadcast_scalar_need_not_be_contiguous() -> None:
    x, number = np.arange(5.0), np.broadcast_to(np.float64(0.5), (5,))

    made(*changes(lambda x, y: x + y, [[x, number]], [0]))

    assert x.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]


REJECTED: dict[str, tuple[Any, Any, list[int]]] = {
    "columns before rows beside it": (lambda x, y: x + y, [np.ones((3, 5)), np.ones((5, 3)).T], [0]),
    "columns before rows": (lambda x, y: x + y, [np.ones((5, 3)).T, np.ones((3, 5))], [0]),
    "one result in two places": (lambda x, y: (x + y, x + y), [np.ones(5), np.ones(5)], [0, 1]),
    "arrays that change places": (lambda x, y: (y, x), [np.ones(5), np.ones(5)], [0, 1]),
    "what is not read": (lambda x, _: (x + 1, x + 2), [np.ones(5), np.ones(5)], [0, 1]),
    "another dtype": (lambda x, y: x > y, [np.ones(5), np.ones(5)], [0]),
    "what no kernel is written of": (lambda x, y: x + engine(y).map("floor", y), [np.ones(5), np.ones(5)], [0]),
}


@pytest.mark.parametrize(("function", "arrays", "where"), REJECTED.values(), ids=REJECTED)
def test_read_only_arrays_are_not_changed(function: Any, arrays: Any, where: list[int]) -> None:
    assert changes(function, [arrays], where) is None


def test_small_arrays_are_not_updated_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(10)
    assert engine(x).changes(lambda x: x + 1, [[x]], [0]) is None
    monkeypatch.setattr(fast, "_UPDATE_MIN_ELEMENTS", 1)

    calls = engine(x).changes(lambda x: x + 1, [[x]], [0])

    assert calls is not None
    made(*calls)
    assert x.tolist() == [2.0] * 10


def shared(*, has_begun: bool) -> tuple[list[Any], list[tuple[Any, ...]], Any]:
    """Return large arrays of ones, the call that doubles them, and its helper's kernel."""
    rows = [[np.ones(shape, np.float32)] for shape in ((517, 523), (3, 65537))]
    set_threads(1)
    calls = changes(lambda x: x + x, rows, [0])
    set_threads(2)
    calls[0][1][0] = has_begun
    program, _, _ = program_of(lambda x: x + x, rows[0])
    helper = kernel(program, rows[0], dict.fromkeys(program.values, 0), is_helper=True)
    return [row[0] for row in rows], calls, helper.function


def test_sets_of_arrays_are_overwritten_in_one_call_that_threads_share() -> None:
    rows = [[np.ones(shape, np.float32)] for shape in ((517, 523), (3, 65537))]

    calls = changes(lambda x: x + x, rows, [0])
    made(*calls)

    assert len(calls) == 1
    assert [{*array.ravel().tolist()} for (array,) in rows] == [{2.0}, {2.0}]
    (_, (has_begun, taken, done), _, ends, *_) = calls[0]
    assert has_begun
    assert done == ends[-1] == 9 + 7  # blocks of 32,768 elements
    assert taken > done  # each thread tries to take one more


def test_a_helper_takes_all_blocks_of_a_call_that_has_begun() -> None:
    arrays, ((_, *arguments),), helper = shared(has_begun=True)

    helper(*arguments)

    assert [{*array.ravel().tolist()} for array in arrays] == [{2.0}, {2.0}]


def test_a_helper_changes_nothing_if_the_call_does_not_begin() -> None:
    arrays, ((_, *arguments),), helper = shared(has_begun=False)

    helper(*arguments)

    assert [{*array.ravel().tolist()} for array in arrays] == [{1.0}, {1.0}]
    assert arguments[0].tolist() == [0, 0, 0]


def test_a_call_without_helpers_overwrites_all_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        message = "can't start new thread"
        raise RuntimeError(message)

    monkeypatch.setattr(threads, "start_new_thread", fail)
    row = [np.ones((517, 523), np.float32)]

    made(*changes(lambda x: x + x, [row], [0]))

    assert {*row[0].ravel().tolist()} == {2.0}


@pytest.mark.parametrize(
    ("count", "shape", "expected"),
    [(1, (517, 523), 0), (2, (517, 523), 1), (3, (517, 523), 2), (3, (17, 23), 0)],
)
def test_every_thread_but_the_caller_helps_with_large_arrays(
    monkeypatch: pytest.MonkeyPatch, count: int, shape: tuple[int, ...], expected: int
) -> None:
    started: list[Any] = []

    def start_noted(*arguments: Any) -> int:
        started.append(arguments)
        return start_new_thread(*arguments)

    monkeypatch.setattr(threads, "start_new_thread", start_noted)
    set_threads(count)
    row = [np.ones(shape, np.float32)]

    made(*changes(lambda x: x + x, [row], [0]))

    assert len(started) == expected
    assert {*row[0].ravel().tolist()} == {2.0}
