"""Interrupts of a step under `jit`: JAX donates the buffers of the old values, and no value is lost."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from itertools import starmap
from types import FrameType
from typing import Any

import numpy as np
import pytest
from typing_extensions import override

pytest.importorskip("jax", reason="the extra `jax` brings it")

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.generator import state_of
from tapegrad.transactions import commit_delaying_interrupts
from tests.test_interrupts import EXTENDED, Interrupter, bits, moments, struck

jit: Any = tg.jit
X, Y = tg.normal((4, 3), rng=0), tg.normal((4, 2), rng=1)


class Trained:
    """All that a step changes: parameters, statistics, optimizer state, a generator."""

    def __init__(self) -> None:
        self.model: Any = nn.Sequential(
            nn.Linear(3, 5, rng=0), nn.BatchNorm1d(5), nn.Dropout(0.5, rng=1), nn.Linear(5, 2, rng=2)
        )
        self.opt = optim.Adam(self.model)

    def bits(self) -> dict[str, bytes]:
        generators = self.model.generators()
        return bits(self.model, self.opt) | {path: state_of(one).tobytes() for path, one in generators.items()}


def trained(model: Any, opt: Any, x: Any, y: Any) -> Any:
    loss = tg.mse(model(x.trace()), y)
    opt.step(loss.backward(wrt=model))
    return loss.detach()


step = jit(trained)


def test_an_interrupted_step_is_complete_or_changes_nothing() -> None:
    mine, twin = Trained(), Trained()
    for one in (mine, twin):
        step(one.model, one.opt, X, Y)
        step(one.model, one.opt, X, Y)
    assert mine.bits() == twin.bits()

    came = {False: 0, True: 0}
    for moment in moments(lambda: step(mine.model, mine.opt, X, Y), 300):
        before = mine.bits()
        while twin.bits() != before:
            step(twin.model, twin.opt, X, Y)
        step(twin.model, twin.opt, X, Y)
        if not Interrupter(moment).run(lambda: step(mine.model, mine.opt, X, Y)):
            continue
        found = mine.bits()
        assert found in (before, twin.bits()), moment
        came[found != before] += 1
        if found == before:
            step(mine.model, mine.opt, X, Y)

    assert all(came.values())


def test_an_interrupted_first_step_leaves_a_model_that_can_be_trained() -> None:
    whole = Trained()
    whole.opt.state.update({one: whole.opt.start(one.data) for one in whole.opt.parameters.values()})
    before = whole.bits()
    counted = Trained()
    chosen = moments(lambda: jit(trained)(counted.model, counted.opt, X, Y), 6)
    step(whole.model, whole.opt, X, Y)

    for moment in chosen:
        mine, first = Trained(), jit(trained)
        mine.opt.state.update({one: mine.opt.start(one.data) for one in mine.opt.parameters.values()})
        if not Interrupter(moment).run(lambda: first(mine.model, mine.opt, X, Y)):  # noqa: B023  # it runs here
            continue
        found = mine.bits()
        assert found in (before, whole.bits()), moment
        if found == before:
            first(mine.model, mine.opt, X, Y)
        assert mine.bits() == whole.bits()


class AtUpload(Interrupter):
    """Interrupts where the state of an optimizer is about to be copied to the device."""

    @override
    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "call" and frame.f_code.co_name == "_with_parameters":
            raise KeyboardInterrupt
        return super().trace(frame, event, _)


def test_an_interrupted_upload_leaves_the_state_of_an_optimizer_in_host_memory() -> None:
    mine = Trained()
    mine.opt.state.update({one: mine.opt.start(one.data) for one in mine.opt.parameters.values()})
    before = mine.bits()

    assert AtUpload().run(lambda: jit(trained)(mine.model, mine.opt, X, Y))

    assert mine.bits() == before


def test_an_interrupt_mixes_up_no_tensors_and_no_learning_rates() -> None:
    one, two = tg.full((3,), 1.0), tg.full((3,), 2.0)
    double = jit(lambda x: x * 2)
    double(one), double(two)
    for moment in moments(lambda: double(one), 1000):
        double(two)
        Interrupter(moment).run(lambda: double(one))

        assert double(two).tolist() == [4, 4, 4], moment

    weight, rates = nn.Param(tg.zeros((1,))), (0.5, 0.25)
    opt = optim.SGD([weight], lr=rates[0])
    ones = tg.ones((1,))

    @tg.jit
    def descend(weight: Any, opt: Any, x: Any) -> None:
        opt.step((x.trace() * weight).sum().backward(wrt=weight))

    descend(weight, opt, ones)
    for moment in moments(lambda: descend(weight, opt, ones), 1000):
        opt.lr = rates[1]
        Interrupter(moment).run(lambda: descend(weight, opt, ones))
        opt.lr = rates[0]
        weight.assign(tg.zeros((1,)))
        descend(weight, opt, ones)

        assert weight.tolist() == [-rates[0]], moment


def test_values_read_during_an_interrupt_are_not_stale() -> None:
    mine = Trained()
    step(mine.model, mine.opt, X, Y)
    weight = mine.model[0].weight
    for moment in moments(weight.numpy, 200):
        step(mine.model, mine.opt, X, Y)
        Interrupter(moment).run(weight.numpy)
        step(mine.model, mine.opt, X, Y)

        assert weight.tolist() == np.asarray(weight.on_device).tolist(), moment


def test_ctrl_c_waits_for_the_running_computation() -> None:
    done: list[str] = []
    before = signal.getsignal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        commit_delaying_interrupts(starmap(signal.raise_signal, [(signal.SIGINT,)]), map(done.append, ["taken over"]))

    assert done == ["taken over"]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_is_raised_even_with_an_error() -> None:
    before = signal.getsignal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        commit_delaying_interrupts(starmap(signal.raise_signal, [(signal.SIGINT,)]), starmap(int, [("no number",)]))

    assert isinstance(caught.value.__context__, ValueError)
    assert signal.getsignal(signal.SIGINT) is before


# A signal that comes within a callback of the collector, as JAX has one, can only be reported.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(sys.platform == "win32", reason="interrupts with a signal")
def test_signals_at_random_times_leave_steps_complete() -> None:
    dice = np.random.default_rng(0)
    mine, twin = Trained(), Trained()
    for one in (mine, twin):
        step(one.model, one.opt, X, Y)
    before, came = mine.bits(), 0

    def go_on() -> None:
        for _ in range(20):
            step(mine.model, mine.opt, X, Y)

    for _ in range(1000 if EXTENDED else 100):
        came += struck(go_on, float(dice.uniform(1e-5, 2e-3)))
        found = mine.bits()
        for _ in range(21):
            if before == found:
                break
            step(twin.model, twin.opt, X, Y)
            before = twin.bits()
        assert before == found

    assert came > 10


def test_threads_that_call_one_step_get_their_own_results() -> None:
    double = jit(lambda x: x * 2)
    double(tg.ones((3,)))
    wrong: list[Any] = []

    def called(number: float) -> None:
        x = tg.full((3,), number)
        wrong.extend(found for _ in range(500) if (found := double(x).tolist()) != [2 * number] * 3)

    threads = [threading.Thread(target=called, args=(float(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong


@pytest.fixture(autouse=True)
def _python_interrupts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let Python's own handler answer, threads take turns often, and each test have locks of its own."""
    # A tracer interrupts even between the end of a block and its `__exit__`, where no signal comes in.
    for module, lock in (("jit", "tracing"), ("binding", "_running")):
        monkeypatch.setattr(sys.modules[f"tapegrad.jax.{module}"], lock, threading.RLock())
    before, interval = signal.signal(signal.SIGINT, signal.default_int_handler), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    signal.signal(signal.SIGINT, before)
    sys.setswitchinterval(interval)
