"""Properties of all tape systems: chains longer than the stack, no garbage cycles, thread safety."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from traceback import walk_stack
from typing import Any

import numpy as np
import pytest

from tapegrad import ops, tapem
from tapegrad.autodiff import Autodiff
from tapegrad.autograd.registry import OPS
from tapegrad.autograd.tape import GradientTape
from tapegrad.slot_tape import SlotTape
from tapegrad.tensors import node

LONG = 30_000
times = OPS["mul"].function  # without the comparison with the rule, for speed
lifted = tapem.lift(times)


def typed(x: Any, length: int) -> Any:
    """Multiply `x` by 1 the given number of times; a call of the result runs the backward pass."""
    y = x.trace()
    for _ in range(length):
        y = times(y, 1.0)

    def back() -> Any:
        return ops.sum(times(y, y)).backward()[x].numpy()

    return back


def nested(x: Any, length: int) -> Any:
    level = Autodiff()
    leaf: Any = level.from_inner(x.trace())
    y = leaf.trace()
    for _ in range(length):
        y = times(y, 1.0)

    def back() -> Any:
        derivative: Any = level.inner(ops.sum(times(y, y)).backward()[leaf])
        return ops.sum(times(derivative, x)).backward()[x].numpy()

    return back


def by_hand(x: Any, length: int) -> Any:
    tape, steps = GradientTape([x]), [x]
    for _ in range(length):
        steps.append(node(steps[-1].data * 1.0))
        operand, result = steps[-2:]

        def backward(grads: Any, operand: Any = operand, result: Any = result) -> None:
            grads.add(operand, grads.pop_output(result) * 1.0)

        tape.add_backward_op(backward)
    tape.add_backward_op(lambda grads: grads.add(steps[-1], x.data * 2.0))

    def back() -> Any:
        return tape.execute()[x].numpy()

    return back


def by_slot(x: Any, length: int) -> Any:
    tape, one, data = SlotTape(), np.ones_like(x.numpy()), x.numpy()
    first, factor = tape.leaf(data), tape.leaf(one)
    y = first
    for _ in range(length):
        y = tape.record_mul(y, data, factor, one)
    tape.record_mul(y, data, y, data)

    def back() -> Any:
        buffers = [np.zeros_like(data) for _ in range(tape.num_tensors)]
        tape.backward(one, buffers)
        return buffers[first]

    return back


def threaded(x: Any, length: int) -> Any:
    @tapem.do
    def program() -> tapem.Do[Any]:
        first = yield from tapem.leaf(x)
        y = first
        for _ in range(length):
            y = yield from lifted(y, 1.0)
        square = yield from lifted(y, y)
        return first, (yield from tapem.sum(square))

    (first, loss), tape = program().run(tapem.Tape.empty()).unwrap()
    return lambda: tapem.backward(loss).eval(tape).unwrap().of(first).numpy()


SYSTEMS: dict[str, Callable[[Any, int], Any]] = {
    "typed tapes": typed,
    "Autodiff, nested": nested,
    "GradientTape by hand": by_hand,
    "SlotTape": by_slot,
    "TapeM": threaded,
}
every_system = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)


@contextmanager
def shallow() -> Iterator[None]:
    """Leave little of the stack: who recursed would not get far."""
    depth = sum(1 for _ in walk_stack(None))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 60)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@every_system
def test_a_chain_of_thirty_thousand_ops_runs_backward_and_is_freed(system: Any) -> None:
    x: Any = node(np.array([1.0, 2.0]))

    with shallow():
        back = system(x, LONG)
        gradient = back()
        del back

    assert gradient.tolist() == ([4, 8] if system is nested else [2, 4])


@every_system
@pytest.mark.parametrize("runs_back", [False, True], ids=["dropped", "run back"])
def test_it_is_freed_without_the_collector(system: Any, runs_back: bool) -> None:  # noqa: FBT001  # a case
    x: Any = node(np.array([1.0, 2.0]))
    system(x, 10)()  # what is made at a first call only
    gc.collect()
    gc.disable()
    try:
        back = system(x, 10)
        if runs_back:
            back()
        del back

        assert gc.collect() == 0
    finally:
        gc.enable()


@every_system
def test_threads_get_the_gradients_of_sequential_runs(system: Any) -> None:
    shared: Any = node(np.array([1.0, 2.0]))

    def gradient(seed: int) -> Any:
        own: Any = node(np.array([seed, -1.0]))
        return [system(x, 30 + seed)().tolist() for x in (shared, own)]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(gradient, range(24)))

    assert together == [gradient(seed) for seed in range(24)]
