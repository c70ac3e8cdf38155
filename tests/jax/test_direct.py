"""Calls of compiled steps whose inputs are tensors alone, which take no lock and compare only what may differ."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra `jax` brings it")

import tapegrad as tg
from tapegrad.jax.binding import Binding

jit: Any = tg.jit


def test_results_are_arguments_of_the_next_call() -> None:
    step = jit(lambda x: x * 2.0)
    x = step(tg.tensor([1.0, -3.0]))
    bindings = Binding.latest

    for _ in range(3):
        x = step(x)

    assert x.tolist() == [16.0, -48.0]
    assert Binding.latest == bindings


def test_results_of_another_shape_or_dtype_run_another_program() -> None:
    step = jit(lambda x: x + x)
    half = jit(lambda x: x.astype(np.float16))
    long, short = step(tg.ones((3,))), step(tg.ones((2,)))

    assert [step(x).tolist() for x in (long, short, long)] == [[4.0] * 3, [4.0] * 2, [4.0] * 3]
    assert step(half(short)).dtype == np.float16
    assert tg.jax.programs(step).compiled == 3


def test_a_tensor_given_twice_is_not_taken_for_two() -> None:
    step = jit(lambda x, y: (x is y, x - y))
    two, three = jit(lambda x: x + 1.0)(tg.ones((2,))), tg.ones((2,)) * 3.0

    answers = [step(x, y)[0] for x, y in ((two, three), (two, two), (three, three), (two, three), (three, two))]

    assert answers == [False, True, True, False, False]


def test_a_result_that_is_an_argument_is_the_one_of_this_call() -> None:
    step = jit(lambda x: (x, x + 1.0))
    x = step(tg.ones((2,)))[1]

    for _ in range(2):
        given, y = step(x)
        assert given is x
        x = y


def test_another_number_of_arguments_is_another_call() -> None:
    step = jit(lambda *xs: sum(xs[1:], xs[0]))
    x, y = tg.tensor([1.0]), tg.tensor([10.0])

    assert [step(*xs).item() for xs in ((x,), (x, y), (y,), (y, x), (x,))] == [1.0, 11.0, 10.0, 11.0, 1.0]
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        jit(lambda x: x + 1.0)()


def test_what_a_step_reads_is_compared_before_each_call() -> None:
    factor = 2.0
    step = jit(lambda x: x * factor)
    x = tg.tensor([1.0, 2.0])
    assert step(step(x)).tolist() == [4.0, 8.0]

    factor = 3.0

    assert step(step(x)).tolist() == [9.0, 18.0]


def test_a_tensor_with_a_tape_is_rejected_after_a_call_without() -> None:
    step = jit(lambda x: x + 1.0)
    x = step(tg.ones((2,)))

    with pytest.raises(tg.TapeError, match="x has a tape"):
        step(x.trace())


def test_threads_get_the_results_of_their_own_tensors() -> None:
    step = jit(lambda x: x * 2.0)
    wrong: list[Any] = []

    def work(number: float) -> None:
        x = tg.tensor([number])
        for _ in range(200):
            y = step(x)
            if (y.item(), step(y).item()) != (2.0 * number, 4.0 * number):
                wrong.append((number, y))

    threads = [threading.Thread(target=work, args=(float(number),)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong


def test_a_step_that_is_gone_holds_no_tensors() -> None:
    step, x = jit(lambda x: x * 2.0), tg.tensor([1.0])
    step(step(tg.tensor([3.0])))
    step(x)
    gone = weakref.ref(x)
    gc.disable()
    try:
        del step, x
        assert gone() is None
    finally:
        gc.enable()


def test_a_relu_that_is_not_computed_yet_runs_the_program_that_is_bound() -> None:
    @tg.jit
    def step(x: Any) -> Any:
        return x.sum()

    images = [tg.full((1, 4, 128, 128), number) for number in (2.0, -1.0, 3.0)]
    step(images[0])
    bindings = Binding.latest

    sums = [step(tg.relu(x)).item() for x in images]

    assert sums == [2.0 * 4 * 128**2, 0.0, 3.0 * 4 * 128**2]
    assert Binding.latest == bindings
