"""Tapes in branches: conditions that a block tests twice, and objects of several classes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal as L

import tapegrad as tg
from tapegrad import OwnedTape, Shape, Tensor, nn

Scalar = Tensor[tuple[()], OwnedTape]
Taped = Tensor[Shape[L[3], L[2]], OwnedTape]

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)


def new_loss() -> Scalar:
    return model(x.trace()).sum()


def accept_two_conditions_that_exclude_each_other() -> None:
    def train(*, is_late: bool) -> float:
        loss = new_loss()
        if is_late:
            loss.backward()
        value = loss.item()
        if not is_late:
            (loss * 0.5).backward()
        return value

    assert train(is_late=True) == train(is_late=False)


def reject_a_condition_that_holds_twice() -> None:
    def train(*, is_late: bool) -> float:
        loss = new_loss()
        if is_late:
            loss.backward()
        value = loss.item()
        if is_late:
            (loss * 0.5).backward()  # E(mypy): loss * 0.5: loss was consumed by loss.backward() on line {-3}; trace again [tapegrad-tape]
        return value

    assert train(is_late=False) < 1e9


def reject_a_condition_that_changes() -> None:
    def train(*, is_late: bool) -> None:
        loss = new_loss()
        if is_late:
            loss.backward()
        is_late = not is_late
        if not is_late:
            (loss * 0.5).backward()  # E(mypy): loss * 0.5: loss was consumed by loss.backward() on line {-3}; trace again [tapegrad-tape]

    train(is_late=False)


def accept_a_scale_that_may_be_missing() -> None:
    def train(scale: float | None) -> None:
        loss = new_loss()
        if scale is None:
            loss.backward()
        assert loss.item() < 1e9
        if scale is not None:
            (loss * scale).backward()

    train(None)
    train(0.5)


def accept_modes_by_their_names() -> None:
    def train(mode: str) -> None:
        loss = new_loss()
        if mode == "plain":
            loss.backward()
        elif mode == "clipped":
            loss.backward().clip_norm(1.0)
        assert loss.item() < 1e9
        if mode not in ("plain", "clipped"):
            (loss * 0.5).backward()

    train("plain")
    train("scaled")


def accept_losses_that_are_added_until_a_step() -> None:
    total: Scalar | None = None
    for number in range(5):
        total = new_loss() if total is None else total + new_loss()
        is_full = number % 2 == 1
        if is_full:
            total.backward()
        assert total.item() < 1e9
        if is_full:
            total = None


class Trainer:
    def __init__(self, *, is_scaled: bool) -> None:
        self.is_scaled = is_scaled

    def finish(self, loss: Scalar) -> None:
        if not self.is_scaled:
            loss.backward()

    def step(self) -> float:
        loss = new_loss()
        if self.is_scaled:
            (loss * 8.0).backward()
        self.finish(loss)
        return loss.item() if self.is_scaled else 0.0


def accept_a_method_that_tests_the_same_attribute() -> None:
    assert Trainer(is_scaled=True).step() != Trainer(is_scaled=False).step()


@dataclass
class Fine:
    loss: Scalar


@dataclass
class Bad:
    reason: str


def compute(limit: float) -> Fine | Bad:
    loss = new_loss()
    return Fine(loss) if loss.item() < limit else Bad("too large")


def accept_objects_of_two_classes_by_pattern() -> None:
    for limit in (1e9, -1e9, 1e8):
        match compute(limit):
            case Fine(loss):
                loss.backward()
            case Bad(reason):
                assert reason == "too large"


def accept_objects_of_two_classes_by_isinstance() -> None:
    for limit in (1e9, -1e9, 1e8):
        result = compute(limit)
        if isinstance(result, Fine):
            result.loss.backward()


def reject_the_loss_of_a_pattern_twice() -> None:
    for limit in (1e9, -1e9):
        match compute(limit):
            case Fine(loss):
                loss.backward()
                (loss * 0.5).backward()  # E(mypy): loss * 0.5: loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]
            case Bad(reason):
                assert reason == "too large"


class Events:
    def __init__(self) -> None:
        self.handlers: dict[str, list[Callable[[Scalar], None]]] = {}

    def add(self, event: str, handler: Callable[[Scalar], None]) -> None:
        self.handlers.setdefault(event, []).append(handler)

    def emit(self, event: str, loss: Scalar) -> None:
        for handler in self.handlers.get(event, []):
            handler(loss)


def show(loss: Scalar) -> None:
    assert (loss * 2.0).item() < 1e9


def step(loss: Scalar) -> None:
    loss.backward()


def accept_handlers_of_two_events() -> None:
    events = Events()
    events.add("forward", show)
    events.add("step", step)
    for _ in range(3):
        loss = new_loss()
        events.emit("forward", loss)
        events.emit("step", loss)


def reject_two_handlers_of_one_event() -> None:
    events = Events()
    events.add("step", step)
    events.add("step", show)
    for _ in range(3):
        events.emit("step", new_loss())  # E(mypy): events.emit('step', new_loss()): loss was consumed by loss.backward() on line {-18}; trace again [tapegrad-tape]
