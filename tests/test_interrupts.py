"""Interrupts: wherever Ctrl-C arrives, an operation is complete or has changed nothing.

An interrupt may arrive at each bytecode instruction. A tracer raises it at one instruction after the other, and real
signals arrive at random times. With TAPEGRAD_FAULTS=1 there are ten times as many.
"""

from __future__ import annotations

import dis
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tapegrad
from tapegrad import data, io, nn, optim, progress
from tapegrad.errors import TapeError
from tapegrad.nn import Linear, Sequential
from tapegrad.ops import mse, normal, ones
from tapegrad.optim.optimizer import Optimizer

PACKAGE = str(Path(tapegrad.__file__).parent)
EXTENDED = bool(os.environ.get("TAPEGRAD_FAULTS"))
X, Y = normal((4, 3), rng=0), normal((4, 2), rng=1)


# After these instructions Python handles signals. After others an interrupt never comes: between the end of a `with`
# block and the call that releases a lock, it would leave the lock closed.
HANDLING = {code for name, code in dis.opmap.items() if name.startswith(("CALL", "JUMP_BACKWARD", "RESUME"))}


class Interrupter:
    """Counts the moments at which Python handles signals in tapegrad, and interrupts at one of them."""

    def __init__(self, moment: int | None = None) -> None:
        self.moment = moment
        self.passed = 0
        self.last: tuple[FrameType, int] | None = None  # an instruction and its frame

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            last, self.last = self.last, (frame, frame.f_code.co_code[frame.f_lasti])
            if last is not None and last[0] is frame and last[1] in HANDLING:
                self.passed += 1
                if self.passed == self.moment:
                    raise KeyboardInterrupt
        return self.trace

    def run(self, action: Callable[[], object]) -> bool:
        """Return whether the action was interrupted."""
        before = sys.gettrace()
        sys.settrace(self.trace)
        try:
            action()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
            self.last = None
        return False


def moments(action: Callable[[], object], count: int) -> list[int]:
    """Return the moments of an action, or so many of them, and the last ones, for it is there that things change."""
    counter = Interrupter()
    counter.run(action)
    count *= 10 if EXTENDED else 1
    if counter.passed <= count:
        return list(range(1, counter.passed + 1))
    chosen = np.random.default_rng(0).choice(counter.passed, count // 2, replace=False)
    return sorted({*(chosen + 1).tolist(), *range(counter.passed - count // 2, counter.passed + 1)})


def model(seed: int = 0) -> Any:
    return Sequential(Linear(3, 5, rng=seed), nn.BatchNorm1d(5), nn.Tanh(), Linear(5, 2, rng=seed + 1))


def bits(*things: Any) -> dict[str, bytes]:
    """Return all that training changes."""
    found: dict[str, Any] = {}
    for number, thing in enumerate(things):
        if isinstance(thing, nn.Module):
            states = thing.parameters() | thing.buffers()
            found |= {f"{number}.{path}": (state.version, state.numpy()) for path, state in states.items()}
        else:
            found |= {f"{number}.{name}": (0, array) for name, array in thing.arrays().items()}
    return {name: np.int64(version).tobytes() + np.asarray(array).tobytes() for name, (version, array) in found.items()}


def gradients(net: Any) -> Any:
    return mse(net(X.trace()), Y).backward(wrt=net)


def sgd(net: Any) -> Optimizer[Any]:
    return optim.SGD(net, lr=0.1, momentum=0.9)


STEPS: dict[str, tuple[Any, Any, int]] = {
    "SGD": (sgd, model, 300),
    "Adam": (optim.Adam, model, 300),
    "RMSprop": (optim.RMSprop, model, 300),
    "Adadelta": (optim.Adadelta, model, 300),
    "Adam where arrays stand": (optim.Adam, lambda: Sequential(Linear(3, 90_000, rng=0), Linear(90_000, 2, rng=1)), 60),
}


@pytest.mark.parametrize(("make", "model", "count"), STEPS.values(), ids=STEPS)
def test_an_interrupted_step_is_complete_or_changes_nothing(
    make: Callable[[Any], Optimizer[Any]], model: Callable[[], Any], count: int
) -> None:
    net = model()
    opt = make(net)
    opt.step(gradients(net))
    other = model()
    twin = make(other)
    twin.step(gradients(other))
    grads = gradients(net)
    before = bits(net, opt)
    whole = 0
    twin.step(gradients(other))
    after = bits(other, twin)

    def stepped() -> None:
        opt.step(grads)

    net2 = model()
    opt2 = make(net2)
    opt2.step(gradients(net2))
    grads2 = gradients(net2)
    for moment in moments(lambda: opt2.step(grads2), count):
        if bits(net, opt) != before:
            break
        assert Interrupter(moment).run(stepped)
        found = bits(net, opt)
        assert found in (before, after), moment
        whole += found == after

    if not whole:
        stepped()
    assert bits(net, opt) == after


def test_an_interrupted_scaled_step_does_not_change_the_gradients() -> None:
    net, scaler = model(), optim.LossScaler(2.0)
    opt = optim.Adam(net)
    grads = scaler.scaled(mse(net(X.trace()), Y)).backward(wrt=net)
    values = [grads[parameter].tolist() for parameter in net.parameters().values()]
    frozen = optim.Adam({"extra": nn.Param(ones((2,)))})

    with pytest.raises(TapeError):
        scaler.step(frozen, grads)
    wrong = optim.Adam([*net.parameters().values(), nn.Param(ones((2,)))])
    with pytest.raises(TapeError):
        scaler.step(wrong, grads)

    assert [grads[parameter].tolist() for parameter in net.parameters().values()] == values
    assert scaler.step(opt, grads)
    assert [grads[parameter].tolist() for parameter in net.parameters().values()] != values


def test_an_interrupted_backward_changes_no_model_and_no_gradients() -> None:
    net = model()
    total = gradients(net)
    before, kept = bits(net), {node: value.tobytes() for node, value in total.values_by_node.items()}

    def forward() -> Any:
        return mse(net[0](X.trace(grads=total)).sum(axis=1), Y.sum(axis=1))

    for moment in moments(forward().backward, 200):
        loss = forward()
        values = {node: value.tobytes() for node, value in total.values_by_node.items()}
        if not Interrupter(moment).run(loss.backward):
            break
        found = {node: value.tobytes() for node, value in total.values_by_node.items()}
        assert found == values or found.keys() - values.keys() <= {*loss.tape.tape.leaves}, moment
        assert bits(net) == before

    assert kept.keys() <= total.values_by_node.keys()
    assert np.isfinite(gradients(net).norm())


def test_an_interrupted_batch_updates_both_statistics_or_none() -> None:
    norm: Any = nn.BatchNorm1d(3)
    batch = normal((8, 3), mean=5.0, std=2.0, rng=0)

    for moment in moments(lambda: nn.BatchNorm1d(3)(batch.trace()), 300):
        mean, variance = norm.running_mean.version, norm.running_var.version
        Interrupter(moment).run(lambda: norm(batch.trace()))

        assert (norm.running_mean.version - mean, norm.running_var.version - variance) in ((0, 0), (1, 1)), moment


def test_an_interrupted_average_is_complete_or_unchanged() -> None:
    net = model()
    average = nn.ModelEMA(model(), decay=0.5)
    net[0].weight.assign(ones((3, 5)))

    for moment in moments(lambda: nn.ModelEMA(model()).update(net), 300):
        before = [state.version for state in (average.parameters() | average.buffers()).values()]
        Interrupter(moment).run(lambda: average.update(net))
        after = [state.version for state in (average.parameters() | average.buffers()).values()]

        assert {b - a for a, b in zip(before, after, strict=True)} in ({0}, {1}), moment


def test_an_interrupted_load_changes_nothing(tmp_path: Path) -> None:
    def training(seed: int) -> dict[str, Any]:
        net = model(seed)
        batches = data.batches(X, size=2, rng=seed)
        return {"net": net, "opt": optim.Adam(net, lr=0.1 + seed), "batches": batches}

    def values(kept: dict[str, Any]) -> dict[str, bytes]:
        return {name: content[8:] for name, content in bits(*kept.values()).items()}

    io.save(training(7), tmp_path / "run.npz")
    old, new = values(training(0)), values(training(7))
    kept = training(0)
    seen = set()
    for moment in moments(lambda: io.load(training(0), tmp_path / "run.npz"), 150):
        if not Interrupter(moment).run(partial(io.load, kept, tmp_path / "run.npz")):
            break
        found = values(kept)
        assert found in (old, new), moment
        seen.add(found == new)
        if found == new:
            kept = training(0)

    assert False in seen


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupted_save_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    old, new, path = model(0), model(7), tmp_path / "model.npz"
    io.save(new, path)
    content = path.read_bytes()
    io.save(old, path)
    before = path.read_bytes()

    for moment in moments(lambda: io.save(new, tmp_path / "other.npz"), 150):
        assert Interrupter(moment).run(lambda: io.save(new, path))

        assert len(path.read_bytes()) == len(content)
        io.load(model(), path)
        if values_in(path) != values_of_model(old):
            assert values_in(path) == values_of_model(new)
            io.save(old, path)
    assert len(before) == len(content)


def values_in(path: Path) -> dict[str, bytes]:
    with np.load(path) as file:
        return {name: array.tobytes() for name, array in file.items()}


def values_of_model(net: Any) -> dict[str, bytes]:
    return {name: state.numpy().tobytes() for name, state in (net.parameters() | net.buffers()).items()}


def test_batches_continue_after_an_interrupt() -> None:
    batches = data.batches(normal((6, 3), rng=0), size=2, shuffle=False, rng=0)
    whole = [batch.tolist() for batch in batches]

    for moment in moments(lambda: list(data.batches(ones((6, 3)), size=2, shuffle=False)), 200):
        Interrupter(moment).run(lambda: list(batches))

        assert [batch.tolist() for batch in batches] == whole, moment


# Real signals


def struck(action: Callable[[], object], after: float) -> bool:
    """Send this process a SIGINT some seconds into an action; returns whether it was interrupted."""
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        action()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return False


class Run:
    """Training that counts its steps, with a checkpoint after each."""

    def __init__(self, folder: Path) -> None:
        self.model = model()
        self.opt = optim.AdamW(self.model)
        self.scaler = optim.LossScaler(4.0, interval=5)
        self.rng = np.random.default_rng(5)
        self.batches = data.batches(normal((12, 3), rng=2), normal((12, 2), rng=3), size=4, rng=4)
        saved = {"model": self.model, "opt": self.opt, "scaler": self.scaler, "rng": self.rng}
        self.options: Any = {"checkpoint": folder / "run.npz", "saved": saved, "every": 0, "show": False}
        self.steps = 0

    def train(self) -> None:
        for epoch in progress.track(self.batches, epochs=6, **self.options):
            for x, y in epoch:
                noisy = x + 0.1 * normal((4, 3), rng=self.rng)
                grads = self.scaler.scaled(mse(self.model(noisy.trace()), y)).backward(wrt=self.model)
                self.scaler.step(self.opt, grads)
                self.steps += 1


@pytest.mark.skipif(os.name != "posix", reason="interrupts with a signal")
def test_signals_at_random_times_leave_steps_complete() -> None:
    dice = np.random.default_rng(0)
    net = model()
    opt = optim.Adam(net)
    opt.step(gradients(net))
    came = 0
    for _ in range(2000 if EXTENDED else 150):
        struck_at = {parameter.version for parameter in net.parameters().values()}
        assert len(struck_at) == 1
        assert {int(moments.steps) for moments in opt.state.values()} == struck_at
        came += struck(lambda: opt.step(gradients(net)), float(dice.uniform(1e-5, 2e-3)))

    assert came > 10
    assert all(np.isfinite(parameter.numpy()).all() for parameter in net.parameters().values())


@pytest.mark.skipif(os.name != "posix", reason="interrupts with a signal")
# An interrupt between opening a file and holding it leaves the closing to Python's collector, which says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_run_that_is_interrupted_repeatedly_ends_bit_identically(tmp_path: Path) -> None:
    dice = np.random.default_rng(1)
    (tmp_path / "whole").mkdir()
    (tmp_path / "broken").mkdir()
    whole = Run(tmp_path / "whole")
    began = time.perf_counter()
    whole.train()
    longest = (time.perf_counter() - began) / 4

    interrupts, run = 0, Run(tmp_path / "broken")
    while struck(run.train, float(dice.uniform(1e-4, longest))):
        interrupts, run = interrupts + 1, Run(tmp_path / "broken")

    found, expected = (
        {name: content[8:] for name, content in bits(one.model, one.opt, one.scaler).items()} for one in (run, whole)
    )
    assert interrupts >= 3
    assert found == expected
    assert run.rng.bit_generator.state == whole.rng.bit_generator.state
    assert [path.name for path in (tmp_path / "broken").iterdir()] == ["run.npz"]


@pytest.fixture(autouse=True)
def _python_interrupts() -> Iterator[None]:
    """Install Python's own handler, also if another was installed."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
