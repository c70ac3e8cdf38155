"""The compiled programs of a step: their number, their signatures, eviction, and the warning."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import tapegrad as tg
from tapegrad import nn
from tapegrad.errors import DTypeError
from tapegrad.jax import compiled

jit: Any = tg.jit
scale = 1.0


def programs(step: Any) -> Any:
    return tg.jax.programs(step)


def test_each_program_lists_its_argument_shapes() -> None:
    step = jit(lambda layer, x, k, times, is_scaled: layer(x) * (k * times if is_scaled else 1.0), static=("times",))
    layer = nn.Linear(3, 2)

    step(layer, tg.ones((4, 3)), 0.5, 2, True)  # noqa: FBT003  # the steps of a user
    step(layer, tg.ones((4, 3)), 1.5, 2, True)  # noqa: FBT003
    step(layer, tg.ones((5, 3)), 1.5, 3, False)  # noqa: FBT003

    weights = {"layer.weight": "float32 (3, 2)", "layer.bias": "float32 (2,)"}
    first = {**weights, "x": "float32 (4, 3)", "times": "2", "is_scaled": "True", "k": "any float"}
    second = {**weights, "x": "float32 (5, 3)", "times": "3", "is_scaled": "False", "k": "any float"}
    assert [*programs(step)] == [first, second]
    assert programs(step) is step.programs
    assert repr(step.programs).startswith("Programs of <lambda>: 2 kept, 2 compiled\n  layer.weight: float32 (3, 2), ")


def test_numbers_whose_values_are_read_are_listed() -> None:
    step = jit(lambda x, k, n: x * float(k) if n > 2 else x)

    step(tg.ones((2,)), 0.25, 3)

    assert [*programs(step)] == [{"x": "float32 (2,)", "k": "0.25", "n": "any int", "computed from numbers": "True"}]


def test_captured_numbers_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    step = jit(lambda x: x * scale)

    step(tg.ones((2,)))
    monkeypatch.setitem(globals(), "scale", 2.5)
    step(tg.ones((2,)))

    assert [one["scale"] for one in programs(step)] == ["1.0", "2.5"]


def test_many_compilations_give_one_warning() -> None:
    step = jit(lambda x: x * 2.0)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(1, 12):
            step(tg.ones((n,)))

    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message) == (
        "<lambda> has been compiled 8 times; this time x is float32 (8,) and was float32 (7,); "
        "see tapegrad.jax.programs"
    )


@pytest.mark.filterwarnings("ignore:.*has been compiled")
def test_the_least_recently_used_program_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "MOST", 3)
    traced: list[int] = []

    @jit  # type: ignore[untyped-decorator]  # `jit` is Any here
    def step(x: Any) -> Any:
        traced.append(1)
        return x + 1.0

    for n in (1, 2, 3, 1, 4):  # drops 2
        step(tg.ones((n,)))
    assert [one["x"] for one in programs(step)] == ["float32 (3,)", "float32 (1,)", "float32 (4,)"]
    assert (len(programs(step)), programs(step).compiled, len(traced)) == (3, 4, 4)


def test_a_program_that_cannot_be_cached_is_counted() -> None:
    counts = {"calls": 0}

    def step(x: Any) -> Any:
        counts["calls"] = counts["calls"] * 2 + 1
        return x * float(counts["calls"])

    changing = jit(step)
    for _ in range(3):
        changing(tg.ones((2,)))

    assert (programs(changing).compiled, len(programs(changing))) == (3, 0)


def test_programs_can_be_read_while_their_thread_changes_them() -> None:
    step = jit(lambda x: x * 2)
    step(tg.ones((3,)))
    read: list[Any] = []

    def used() -> Iterator[Any]:  # runs where the lock is held, as a signal handler may
        read.append([*step.programs])
        yield from ()

    thread = Thread(target=step.programs.use, args=(used(),), daemon=True)
    thread.start()
    thread.join(10)  # for ever with a lock that its own thread waits for

    assert read == [[{"x": "float32 (3,)"}]]


def test_only_compiled_steps_have_programs() -> None:
    with pytest.raises(DTypeError, match=r"^programs: step is a function that jit has not compiled$"):
        programs(programs)


def test_without_jit_a_step_runs_eagerly() -> None:
    inner = jit(lambda x: x.numpy().sum())
    step = jit(lambda x: inner(x) if x.sum() > 0 else None)

    with tg.disable_jit():
        assert step(tg.ones((3,))) == 3
        with pytest.raises(ZeroDivisionError), tg.disable_jit():
            raise ZeroDivisionError
        assert step(-tg.ones((3,))) is None
    assert len(programs(step)) == 0
    with pytest.raises(tg.TapeError, match="the numbers of a tensor are needed"):
        step(tg.ones((3,)))


def test_alternating_shapes_need_no_search() -> None:
    step = jit(lambda x: x * 2.0)
    shapes = [(n, 3) for n in range(1, 7)]

    results = [step(tg.ones(shape)).shape for _ in range(3) for shape in shapes]

    assert results == shapes * 3
    assert programs(step).compiled == len(shapes)
    np.testing.assert_array_equal(step(tg.ones((2, 3))).numpy(), np.full((2, 3), 2.0))
