"""Tapes in lists that an op reads as a whole, that a loop reads to its end, and that are copied."""

import itertools
import operator
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from queue import SimpleQueue
from typing import Generic, NamedTuple, TypeVar
from typing import Literal as L

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor, nn

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


def reject_losses_that_reduce_adds_as_an_argument() -> None:
    losses: list[Scalar] = []
    for _ in range(3):
        losses.append(new_loss())
        step(reduce(operator.add, losses))  # E(mypy): reduce(operator.add, losses): losses shares the tape that loss.backward() consumed on line {+4}; trace again [tapegrad-tape]


def step(loss: Scalar) -> None:
    loss.backward()


def reject_losses_that_a_lambda_adds() -> None:
    losses: list[Scalar] = []
    for _ in range(3):
        losses.append(new_loss())
        step(reduce(lambda total, loss: total + loss, losses))  # E(mypy): reduce(..., losses): losses shares the tape that loss.backward() consumed on line {-7}; trace again [tapegrad-tape]


def accept_new_losses_that_a_lambda_adds() -> None:
    for _ in range(3):
        losses = [new_loss() for _ in range(2)]
        step(reduce(lambda total, loss: total + loss, losses))


class Pending:
    """Losses that wait for a step."""

    def __init__(self) -> None:
        self.losses: list[Scalar] = []
        self.total: Scalar | None = None

    def add(self, loss: Scalar) -> None:
        self.losses.append(loss)
        self.total = loss

    def step(self) -> None:
        step(reduce(operator.add, self.losses))

    def replace(self) -> None:
        self.losses = []

    def empty(self) -> None:
        del self.losses[:]

    def forget(self) -> None:
        setattr(self, "losses", [])  # noqa: B010  # this is how the attribute is bound here

    def forget_all(self) -> None:
        self.__dict__.update(losses=[], total=None)


def reject_losses_that_stay() -> None:
    pending = Pending()
    for _ in range(3):
        pending.add(new_loss())
        pending.step()  # E(mypy): pending.step(): self.losses shares the tape that loss.backward() consumed on line {-47}; trace again [tapegrad-tape]


def accept_a_list_that_a_method_replaces() -> None:
    pending = Pending()
    for _ in range(3):
        pending.add(new_loss())
        pending.step()
        pending.replace()


def accept_a_list_that_a_method_empties() -> None:
    pending = Pending()
    for _ in range(3):
        pending.add(new_loss())
        pending.step()
        pending.empty()


def accept_a_list_that_setattr_replaces() -> None:
    pending = Pending()
    for _ in range(3):
        pending.add(new_loss())
        pending.step()
        pending.forget()


def accept_a_list_that_is_replaced_in_the_dictionary_of_the_object() -> None:
    pending = Pending()
    for _ in range(3):
        pending.add(new_loss())
        pending.step()
        pending.forget_all()


def accept_the_only_loss_of_a_dictionary_by_its_key() -> None:
    losses = {"main": new_loss()}
    for name in sorted(losses):
        losses[name].backward()
    others = {"main": new_loss()}
    names = others.keys()
    for name in names:
        others[name].backward()
    pending = {"first": {"main": new_loss()}}
    for name in pending["first"]:
        pending["first"][name].backward()


def reject_the_only_loss_of_a_dictionary_by_its_key_twice() -> None:
    losses = {"main": new_loss()}
    for name in sorted(losses):
        losses[name].backward()
    losses["main"].backward()  # E(mypy): losses['main'].backward(): losses['main'] shares the tape that losses[name].backward() consumed on line {-1}; trace again [tapegrad-tape]


class Losses(dict[str, Scalar]):
    """Losses by name; a new one is computed for a name that is not there."""

    def __missing__(self, name: str) -> Scalar:
        self[name] = new_loss()
        return self[name]

    def record(self, **losses: Scalar) -> None:
        self.update(losses)

    def step(self) -> None:
        for name in self:
            self[name].backward()


def reject_a_step_of_a_derived_dictionary_twice() -> None:
    losses = Losses()
    losses.record(main=new_loss())
    losses.step()
    losses["main"].backward()  # E(mypy): losses['main'].backward(): losses['main'] shares the tape that self[name].backward() consumed on line {-7}; trace again [tapegrad-tape]


def reject_a_missing_loss_twice() -> None:
    losses = Losses()
    losses["main"].backward()
    losses["main"].backward()  # E(mypy): losses['main'].backward(): losses['main'] was consumed by losses['main'].backward() on line {-1}; trace again [tapegrad-tape]


def accept_two_losses_of_a_derived_dictionary() -> None:
    losses = Losses()
    for _ in range(2):
        losses.record(main=new_loss(), other=new_loss())
        losses.step()
    more = Losses()
    more["main"].backward()
    more["other"].backward()


class History(list[Scalar]):
    """Losses of which the last one is used."""

    def step_last(self) -> None:
        self[-1].backward()


class Detached(dict[str, Tensor[tuple[()], NoneTape] | Scalar]):
    """Losses without their tapes."""

    def __setitem__(self, name: str, loss: Tensor[tuple[()], NoneTape] | Scalar) -> None:
        super().__setitem__(name, loss.detach())


def reject_the_last_loss_of_a_derived_list_twice() -> None:
    history = History()
    history.append(new_loss())
    history.step_last()
    history.step_last()  # E(mypy): history.step_last(): self[-1] was consumed by self[-1].backward() on line {-14}; trace again [tapegrad-tape]


def accept_the_last_loss_of_a_derived_list() -> None:
    history = History()
    for _ in range(2):
        history.append(new_loss())
        history.step_last()


def accept_a_derived_dictionary_that_detaches() -> None:
    losses = Detached()
    for _ in range(2):
        loss = new_loss()
        losses["main"] = loss
        loss.backward()
        assert (losses["main"] * 2.0).item() < 1e9


def reject_two_heads_in_a_queue_with_an_end() -> None:
    inbox: SimpleQueue[Scalar | None] = SimpleQueue()
    output = model(x.trace())
    inbox.put(output.sum())
    inbox.put(output.mean())
    inbox.put(None)
    while (loss := inbox.get()) is not None:
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_two_losses_in_a_queue_with_an_end() -> None:
    inbox: SimpleQueue[Scalar | None] = SimpleQueue()
    inbox.put(new_loss())
    inbox.put(new_loss())
    inbox.put(None)
    while (loss := inbox.get()) is not None:
        loss.backward()


def heads(output: Taped) -> Iterator[Scalar]:
    yield output.sum()
    yield output.mean()


def all_heads() -> Iterator[Scalar]:
    for _ in range(3):
        yield from heads(model(x.trace()))


def all_losses() -> Iterator[Scalar]:
    for _ in range(3):
        yield from (new_loss() for _ in range(2))


def reject_delegated_heads_of_one_output() -> None:
    for loss in all_heads():
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_delegated_losses() -> None:
    for loss in all_losses():
        loss.backward()
    reduce(operator.add, list(all_heads())).backward()


class Transition(NamedTuple):
    policy: Scalar
    value: Scalar


def new_transition() -> Transition:
    return Transition(new_loss(), new_loss())


def reject_one_of_the_losses_that_were_scaled_and_added() -> None:
    losses = [new_loss() for _ in range(3)]
    sum((0.5 * loss for loss in losses), tg.zeros(())).backward()
    losses[0].backward()  # E(mypy): losses[0].backward(): losses[0] shares the tape that sum(..., tg.zeros(...)).backward() consumed on line {-1}; trace again [tapegrad-tape]


def accept_one_of_the_losses_that_were_scaled() -> None:
    losses = [new_loss() for _ in range(3)]
    scaled = [0.5 * loss for loss in losses]
    scaled[0].backward()
    losses[1].backward()


def reject_one_of_the_losses_that_were_weighed() -> None:
    losses = [new_loss() for _ in range(3)]
    sum((weight * loss for weight, loss in zip((1.0, 2.0, 3.0), losses, strict=True)), tg.zeros(())).backward()
    losses[0].backward()  # E(mypy): losses[0].backward(): losses[0] shares the tape that sum(..., tg.zeros(...)).backward() consumed on line {-1}; trace again [tapegrad-tape]


def accept_the_losses_that_no_condition_chose() -> None:
    losses = [new_loss() for _ in range(3)]
    tg.stack([loss for loss in losses if loss is not losses[0]]).sum().backward()
    losses[0].backward()


def reject_transitions_that_are_never_cleared() -> None:
    transitions: list[Transition] = []
    for _ in range(2):
        transitions += [new_transition() for _ in range(3)]
        sum((one.policy * 0.5 for one in transitions), tg.zeros(())).backward()  # E(mypy): one.policy * 0.5: one.policy was consumed by sum(..., tg.zeros(...)).backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_transitions_that_are_cleared() -> None:
    transitions: list[Transition] = []
    for _ in range(2):
        for _ in range(3):
            transitions.append(new_transition())  # noqa: PERF401  # programs are written so
        tg.stack([one.policy * 0.5 for one in transitions]).sum().backward()
        tg.stack([one.value * 0.5 for one in transitions]).sum().backward()
        transitions.clear()


def measure(loss: Scalar) -> float:
    return loss.backward().norm()


def reject_a_loss_that_a_pool_has_measured() -> None:
    losses = [new_loss() for _ in range(3)]
    with ThreadPoolExecutor(2) as pool:
        assert len(list(pool.map(measure, losses))) == 3
    losses[0].backward()  # E(mypy): losses[0].backward(): losses[0] shares the tape that loss.backward() consumed on line {-7}; trace again [tapegrad-tape]
