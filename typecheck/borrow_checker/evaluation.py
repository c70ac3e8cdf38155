"""The order in which arguments are evaluated, descriptors, caches that are cleared, and pairs of unequal lists."""

import functools
import itertools
from typing import NamedTuple

import tapegrad as tg
from tapegrad import OwnedTape, Tensor, nn

Scalar = Tensor[tuple[()], OwnedTape]

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)


def new_loss() -> Scalar:
    return model(x.trace()).sum()


def norm(loss: Scalar) -> float:
    return loss.backward(wrt=model).norm()


class State(NamedTuple):
    loss: Scalar
    norm: float = 0.0


def reject_a_state_made_of_a_loss_and_its_gradient() -> None:
    state = State(new_loss())
    for _ in range(2):
        state = State(state.loss, norm(state.loss))  # E(mypy): norm(state.loss): state.loss shares the tape that loss.backward(wrt=model) consumed on line {-11}; trace again [tapegrad-tape]


def accept_a_state_made_of_a_new_loss() -> None:
    state = State(new_loss())
    for _ in range(2):
        state = State(new_loss(), norm(state.loss))


def reject_a_tuple_of_a_loss_and_its_gradient() -> None:
    loss = new_loss()
    kept, _ = loss, norm(loss)
    norm(kept)  # E(mypy): norm(kept): kept shares the tape that loss.backward(wrt=model) consumed on line {-23}; trace again [tapegrad-tape]


def accept_a_tuple_of_a_value_and_a_gradient() -> None:
    loss = new_loss()
    kept, _ = loss.item(), norm(loss)
    assert kept < 1e9


def reject_a_product_with_its_own_gradient() -> None:
    loss = new_loss()
    assert (loss * norm(loss)).item() < 1e9  # E(mypy): loss * norm(loss): loss was consumed by loss.backward(wrt=model) on line {-34}; trace again [tapegrad-tape]


def accept_a_product_with_the_gradient_of_another_loss() -> None:
    assert (new_loss() * norm(new_loss())).item() < 1e9


class Kept:
    def __get__(self, head: "Head", owner: type | None = None) -> Scalar:
        if head.loss is None:
            head.loss = new_loss()
        return head.loss


class Computed:
    def __get__(self, head: "Head", owner: type | None = None) -> Scalar:
        return new_loss()


class Head:
    kept = Kept()
    computed = Computed()

    def __init__(self) -> None:
        self.loss: Scalar | None = None


def reject_a_descriptor_that_keeps_its_loss() -> None:
    head = Head()
    norm(head.kept)
    norm(head.kept)  # E(mypy): head.kept: head.loss shares the tape that loss.backward(wrt=model) consumed on line {-64}; trace again [tapegrad-tape]


def accept_a_descriptor_that_computes_its_loss() -> None:
    head = Head()
    norm(head.computed)
    norm(head.computed)


@functools.cache
def shared_loss() -> Scalar:
    return new_loss()


def reject_a_cache_that_is_not_cleared() -> None:
    for _ in range(2):
        norm(shared_loss() * 0.5)  # E(mypy): shared_loss() * 0.5: shared_loss() shares the tape that loss.backward(wrt=model) consumed on line {-80}; trace again [tapegrad-tape]


def accept_a_cache_that_is_cleared() -> None:
    for _ in range(2):
        shared_loss.cache_clear()
        norm(shared_loss() * 0.5)


def reject_pairs_of_unequal_lists() -> None:
    loss = new_loss()
    for a, b in itertools.zip_longest([loss, new_loss()], [loss]):
        norm(a)
        if b is not None:
            norm(b)  # E(mypy): norm(b): b shares the tape that loss.backward(wrt=model) consumed on line {-94}; trace again [tapegrad-tape]


def accept_pairs_of_unequal_lists() -> None:
    for a, b in itertools.zip_longest([new_loss(), new_loss()], [new_loss()]):
        norm(a if b is None else a + b)
