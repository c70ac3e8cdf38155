"""Aliases of a tensor, which share its tape."""

from typing import Any

import tapegrad as tg
from tapegrad import OwnedTape, Tensor, nn

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)


def reject_an_alias_of_a_loss() -> None:
    loss = model(x.trace()).sum()
    same = loss
    loss.backward()
    same.backward()  # E(mypy): same.backward(): same shares the tape that loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_loss_after_its_alias() -> None:
    loss = model(x.trace()).sum()
    same = loss
    same.backward()
    loss * 2.0  # E(mypy): loss * 2.0: loss shares the tape that same.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_an_alias_of_an_alias() -> None:
    a = x.trace()
    b = a
    c = b
    c.sum().backward()
    a.sum()  # E(mypy): a.sum(): a shares the tape that c.sum().backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_chained_assignment() -> None:
    first = second = x.trace().sum()
    first.backward()
    second.backward()  # E(mypy): second.backward(): second shares the tape that first.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_walrus() -> None:
    if (loss := x.trace().sum()).item() > 0:
        loss.backward()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_swapped_pair() -> None:
    first, second = x.trace().sum(), x.trace().mean()
    first, second = second, first
    first.backward()
    first.backward()  # E(mypy): first.backward(): first was consumed by first.backward() on line {-1}; trace again [tapegrad-tape]
    second.backward()


def reject_an_alias_chosen_by_a_condition(*, left: bool = True) -> None:
    first, second = x.trace().sum(), x.trace().mean()
    chosen = first if left else second
    chosen.backward()
    first.backward()  # E(mypy): first.backward(): first shares the tape that chosen.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_an_alias_of_one_branch(*, left: bool = True) -> None:
    loss = x.trace().sum()
    other = loss if left else x.trace().mean()
    loss.backward()
    other.backward()  # E(mypy): other.backward(): other shares the tape that loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_default_by_or() -> None:
    kept: Tensor[tuple[()], OwnedTape] | None = None
    loss = x.trace().sum()
    used = kept if kept is not None else loss
    used.backward()
    loss.backward()  # E(mypy): loss.backward(): loss shares the tape that used.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_tape_that_was_taken_off() -> None:
    plain, tape = x.trace().split_tape()
    a = plain.put_tape(tape)
    a.sum().backward()
    plain.put_tape(tape).sum()  # E(mypy): plain.put_tape(tape): tape shares the tape that a.sum().backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_two_tensors_of_one_tape() -> None:
    plain, tape = x.trace().split_tape()
    first, second = plain.put_tape(tape), (plain * 2.0).put_tape(tape)
    first.sum().backward()
    second.sum().backward()  # E(mypy): second.sum(): second shares the tape that first.sum().backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_bound_method() -> None:
    loss = x.trace().sum()
    run = loss.backward
    run()
    run()  # E(mypy): run(): loss was consumed by run() on line {-1}; trace again [tapegrad-tape]


def reject_a_loss_after_its_bound_method() -> None:
    loss = x.trace().sum()
    run = loss.backward
    run()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by run() on line {-1}; trace again [tapegrad-tape]


def reject_an_alias_behind_any() -> None:
    loss = x.trace().sum()
    held: Any = loss
    loss.backward()
    held.backward()  # E(mypy): held.backward(): held shares the tape that loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_declared_alias() -> None:
    loss: Tensor[tuple[()], OwnedTape] = x.trace().sum()
    other: Tensor[tuple[()], OwnedTape] = loss
    loss.backward()
    other.backward()  # E(mypy): other.backward(): other shares the tape that loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def accept_a_name_that_is_bound_again() -> None:
    loss = x.trace().sum()
    loss.backward()
    loss = x.trace().sum()
    loss.backward()


def accept_an_alias_that_is_bound_again() -> None:
    loss = x.trace().sum()
    other = loss
    other = x.trace().mean()
    loss.backward()
    other.backward()


def accept_a_swap() -> None:
    first, second = x.trace().sum(), x.trace().mean()
    first, second = second, first
    first.backward()
    second.backward()


def accept_a_deleted_name() -> None:
    loss = x.trace().sum()
    other = loss
    del other
    loss.backward()


def accept_an_empty_tape() -> None:
    loss = x.trace().sum()
    other = loss.with_empty_tape()
    loss.backward()
    other.backward()


def accept_a_branch_of_its_own(*, left: bool = True) -> None:
    loss = x.trace().sum()
    if left:
        loss.backward()
    else:
        (loss * 2.0).backward()
