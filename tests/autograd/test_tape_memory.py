"""Memory that tapes free, long tapes, and tapes of several threads."""

from __future__ import annotations

import linecache
import operator
import subprocess
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

from tapegrad.autograd.gradients import Gradients
from tapegrad.autograd.tape import GradientTape
from tapegrad.checkpoint import BalancedCheckpointing
from tapegrad.errors import ShapeError, TapeError
from tapegrad.ops import exp, mul, normal, relu, take, tanh, tensor, zeros
from tapegrad.tensors import node
from tapegrad.tensors.operands import split_tape, unwrap
from tests.collector import no_collector


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def test_an_unused_forward_pass_is_freed_without_the_collector() -> None:
    x = real(2, 3)
    every_op: tuple[Callable[[Any], Any], ...] = (
        lambda t: tanh(t) * t + exp(t) / 2 - t,
        lambda t: (relu(t) @ t.T).sum() + t.max() + t.mean(axis=0).sum(),
        lambda t: t.reshape((3, 2)).astype(np.float32),
        lambda t: take(t, tensor([1, 0, 1])),
        lambda t: mul(t, t.trace() if not t.owns_tape else t),
    )

    for f in every_op:
        with no_collector():
            taped = x.trace()
            y = f(taped)
            result, on_the_tape = weakref.ref(y), weakref.ref(y.node)

            del taped, y

            assert result() is None
            assert on_the_tape() is None


def test_backward_frees_the_tape() -> None:
    x = real(2, 3)

    with no_collector():
        taped = x.trace()
        h = tanh(taped)
        inner = weakref.ref(h.node)
        loss = (h * h).sum()
        del h

        loss.backward()

        assert inner() is None


def test_a_rejected_op_is_freed_without_the_collector() -> None:
    with no_collector():
        x = real(2, 3)
        kept = weakref.ref(x)
        with pytest.raises(ShapeError):
            x + zeros((4,), np.float64)

        del x
        gone = kept() is None

    assert gone


def test_backward_frees_entries_while_it_runs() -> None:
    # Which tensors are on a way from a target was once kept to the end, and so were their values.
    x = real(2, 3)
    alive: list[bool] = []

    def watched(x: Any) -> Any:
        x, tape = unwrap(x)
        out = node(x.data * 1)

        def backward(grads: Gradients) -> None:
            alive.append(newest() is not None)
            grads.add(x, grads.pop_output(out))

        return tape.record(out, (x,), backward)

    with no_collector():
        h = watched(x.trace())
        for _ in range(30):
            h = tanh(h)
        newest = weakref.ref(h.node)
        loss = h.sum()
        del h

        loss.backward()

    assert alive == [False]


def test_a_checkpointing_tape_frees_each_step_before_the_next() -> None:
    held: list[weakref.ref[Any]] = []
    alive: list[int] = []
    tape = GradientTape(checkpoint=BalancedCheckpointing())

    def count(_: Gradients) -> None:
        alive.append(sum(one() is not None for one in held))

    with no_collector():
        for _ in range(4):
            step = partial(count)
            held.append(weakref.ref(step))
            tape.add_backward_op(step)
        del step
        tape.execute()

    assert alive == [4, 3, 2, 1]


def test_a_consumed_tape_frees_the_gradients_given_to_trace() -> None:
    x = real(3)
    y = x.trace(grads=x.trace().sum().backward()) * 3.0

    with no_collector():
        grads = y.sum().backward()
        total = weakref.ref(grads[x].data)
        assert total() is not None
        del grads

        assert total() is None
    assert "consumed" in repr(y.tape)


def test_an_error_in_the_backward_pass_frees_the_tape() -> None:
    with no_collector():
        h = tanh(real(2, 3).trace())
        inner = weakref.ref(h.node)
        loss = (h * h).sum()
        h.tape.tape.add_backward_op(lambda grads: grads.add(zeros((3,)), zeros((4,)).data))
        del h

        with pytest.raises(ShapeError, match=r"^backward of <lambda>: Gradients.add: S is"):
            loss.backward()

        assert inner() is None


# Length


def test_a_thousand_tapes_merge() -> None:
    x: Any = tensor([1.0, 2.0])
    y = x.trace()

    for _ in range(1000):
        y = x.trace() + y
    grads = y.sum().backward()

    assert grads[x].tolist() == [1001, 1001]


def test_a_long_tape_is_freed_without_recursion() -> None:
    # In a process of its own, for a stack that overflows ends it.
    program = """
import gc, sys
from tapegrad import ones
from tapegrad.autodiff import Autodiff
from tapegrad.autograd.tape import GradientTape, OwnedTape

gc.disable()
sys.setrecursionlimit(100)

dropped = ones((2,)).trace()
for _ in range(100_000):
    dropped = dropped + 1.0
del dropped

inner = Autodiff().from_inner(ones((2,)).trace())
nested = inner.trace()
for _ in range(10_000):
    nested = nested + 1.0
del nested, inner

merged = OwnedTape()
for _ in range(100_000):
    merged = OwnedTape().merge(merged)
assert len(merged.tape) == 0
del merged
"""

    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


# Threads


def test_tapes_in_several_threads_give_the_same_gradients_as_in_sequence() -> None:
    shared = real(5, 7)

    def gradient(seed: int) -> Any:
        x, y = real(3, 5, seed=seed), real(5, 7, seed=seed + 100)
        left, right = x.trace(), y.trace()
        for _ in range(20):
            left, right = tanh(left) + x, tanh(right) + y
        grads = (left @ right @ shared.trace().T).sum().backward()
        return [grads[leaf].numpy() for leaf in (x, y, shared)]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(gradient, range(32)))

    for seed, found in enumerate(together):
        for one, other in zip(found, gradient(seed), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_tape_that_two_threads_record_on_keeps_every_op() -> None:
    x: Any = tensor([1.0, 2.0])
    taped = x.trace()

    def chain(_: int) -> Any:
        y = taped
        for _ in range(200):
            y = y * 1.0
        return y

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(chain, range(8))
    for one in others:
        first = first + one
    tape = first.tape.tape
    times = [entry[0] for entry in tape.entries]

    assert len(tape) == 8 * 200 + 7
    assert len(set(times)) == len(times)
    assert first.sum().backward()[x].tolist() == [8, 8]


def test_a_value_that_no_closure_reads_is_freed_with_its_tensor() -> None:
    x, w = real(20, 30).trace(), real(30, 40, seed=1)
    product = x @ w
    held = weakref.ref(product.data)
    y = tanh(product + 1.0)

    with no_collector():
        del product

        assert held() is None
    assert y.node.data is y.data
    assert y.sum().backward()[x].shape == (20, 30)


def test_a_value_on_two_tapes_that_no_closure_reads_is_freed_with_its_tensor() -> None:
    def added(x: Any, y: Any) -> Any:
        left, right, tape = split_tape(x, y)
        out = node(left.data + right.data)

        def backward(grads: Gradients) -> None:
            dy = grads.pop_output(out)
            grads.add(left, dy)
            grads.add(right, dy)

        with pytest.warns(DeprecationWarning, match=r"^record: reads is called saved since 0\.2\.0") as warned:
            result = tape.record(out, (left, right), backward, reads=())
        lines = [linecache.getline(one.filename, one.lineno) for one in warned]
        assert lines == ["            result = tape.record(out, (left, right), backward, reads=())\n"]
        return result

    x, y = real(20, 30), real(20, 30, seed=1)
    for add in (operator.add, added):
        total = add(x.trace(), y.trace())
        held = weakref.ref(total.data)
        z = tanh(total + 1.0)

        with no_collector():
            del total

            assert held() is None
        assert set(z.sum().backward()) == {x, y}


def test_a_value_that_a_later_closure_reads_is_saved() -> None:
    x = real(20, 30)
    h = x.trace() + 1.0
    y = h * h  # reads what the sum did not

    del h

    np.testing.assert_allclose(y.sum().backward()[x].numpy(), 2 * (x.numpy() + 1))


def test_a_node_that_is_used_later_keeps_its_value() -> None:
    x = real(20, 30)

    for take_out in (lambda h: h.split_tape(), split_tape):
        h = x.trace() + 1.0
        plain, tape = take_out(h)

        del h

        np.testing.assert_array_equal(plain.numpy(), x.numpy() + 1)
        assert plain.put_tape(tape).sum().backward(wrt=plain)[plain].tolist() == np.ones((20, 30)).tolist()


def test_reading_a_released_value_is_an_error_that_says_so() -> None:
    def doubled(x: Any) -> Any:
        x, tape = unwrap(x)
        out = node(x.data * 2)
        return tape.record(out, (x,), lambda grads: grads.add(x, grads.pop_output(out) * out.data), saved=())

    y = doubled(real(20, 30).trace()).sum()

    reason = r"the value of a tensor of shape \(20, 30\) was released: `saved` did not name it"
    with pytest.raises(TapeError, match=rf"^backward of doubled: {reason}$"):
        y.backward()


def test_a_checkpointing_tape_releases_nothing_by_itself() -> None:
    x = real(20, 30)
    h = x.trace(checkpoint=BalancedCheckpointing()) @ x.T
    value = weakref.ref(h.data)

    y = tanh(h)
    del h

    assert value() is not None
    assert y.sum().backward()[x].shape == (20, 30)
