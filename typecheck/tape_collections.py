"""Tapes in lists that an op reads as a whole, that a loop reads to its end, and that are copied."""

import itertools
import operator
from collections import deque
from dataclasses import dataclass, replace
from functools import reduce
from typing import Generic, TypeVar
from typing import Literal as L

import tapegrad as tg
from tapegrad import OwnedTape, Shape, Tensor, nn

Scalar = Tensor[tuple[()], OwnedTape]
Taped = Tensor[Shape[L[3], L[2]], OwnedTape]

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)


def new_loss() -> Scalar:
    return model(x.trace()).sum()


def reject_one_of_the_losses_that_were_added() -> None:
    losses = [new_loss() for _ in range(3)]
    sum(losses, tg.zeros(())).backward()
    losses[0].backward()  # E(mypy): losses[0].backward(): losses[0] shares the tape that sum(losses, tg.zeros(...)).backward() consumed on line {-1}; trace again [tapegrad-tape]


def accept_the_values_of_the_losses_that_were_added() -> None:
    losses = [new_loss() for _ in range(3)]
    sum(losses[1:], losses[0]).backward()
    assert max(loss.item() for loss in losses) < 1e9


def reject_one_of_the_losses_that_were_reduced() -> None:
    losses = [new_loss() for _ in range(3)]
    reduce(operator.add, losses).backward()
    max(losses, key=lambda one: one.item()).backward()  # E(mypy): max(losses, key=...).backward(): max(losses, key=...) shares the tape that reduce(operator.add, losses).backward() consumed on line {-1}; trace again [tapegrad-tape]


def accept_losses_of_two_lists() -> None:
    first = [new_loss() for _ in range(3)]
    second = [new_loss() for _ in range(3)]
    sum(first[1:], first[0]).backward()
    sum(second[1:], second[0]).backward()


def reject_pairs_of_neighbours() -> None:
    outputs = [model(x.trace()) for _ in range(3)]
    for before, after in itertools.pairwise(outputs):
        (before - after).sum().backward()  # E(mypy): before - after: before was consumed by (before - after).sum().backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_the_second_of_each_pair() -> None:
    outputs = [model(x.trace()) for _ in range(3)]
    for before, after in itertools.pairwise(outputs):
        (after - before.detach()).sum().backward()


class Accumulator:
    def __init__(self) -> None:
        self.losses: list[Scalar] = []

    def flush(self) -> None:
        total = self.losses[0]
        for loss in self.losses[1:]:
            total = total + loss
        total.backward()


def reject_a_list_that_is_never_cleared() -> None:
    accumulator = Accumulator()
    for number in range(6):
        accumulator.losses.append(new_loss())
        if number % 2:
            accumulator.flush()  # E(mypy): accumulator.flush(): loss shares the tape that total.backward() consumed on line {-8}; trace again [tapegrad-tape]


def accept_a_list_that_is_cleared() -> None:
    accumulator = Accumulator()
    for number in range(6):
        accumulator.losses.append(new_loss())
        if number % 2:
            accumulator.flush()
            accumulator.losses.clear()


@dataclass
class State:
    step: int
    loss: Scalar


def reject_a_copy_with_the_loss_of_the_last_step() -> None:
    state = State(0, new_loss())
    for _ in range(3):
        state.loss.backward()  # E(mypy): state.loss.backward(): state.loss was consumed by state.loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]
        state = replace(state, step=state.step + 1)


def accept_a_copy_with_a_new_loss() -> None:
    state = State(0, new_loss())
    for _ in range(3):
        state.loss.backward()
        state = replace(state, loss=new_loss())


T = TypeVar("T")


class Buffer(Generic[T]):
    def __init__(self) -> None:
        self.items: deque[T] = deque()

    def push(self, item: T) -> None:
        self.items.append(item)

    def sample(self, count: int) -> list[T]:
        return list(self.items)[:count]


def reject_a_sample_that_is_drawn_again() -> None:
    buffer: Buffer[Scalar] = Buffer()
    buffer.push(new_loss())
    buffer.push(new_loss())
    for _ in range(2):
        for loss in buffer.sample(2):
            loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_keys_that_are_read_once() -> None:
    keys: list[Taped] = []
    for _ in range(2):
        query = model(x.trace())
        total = query.sum()
        for key in keys:
            total = total + (query * key).sum()
        total.backward()
        keys.append(query.detach().trace())
