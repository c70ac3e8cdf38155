"""Loops, branches, handlers and context managers."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import tapegrad as tg
from tapegrad import OwnedTape, Tensor, nn, optim

Scalar = Tensor[tuple[()], OwnedTape]

x = tg.ones((3, 5))
y = tg.ones((3, 2))
model = nn.Linear(5, 2, rng=0)
opt = optim.SGD(model, lr=0.1)


class Block:
    """A context manager that does nothing."""

    def __enter__(self) -> "Block":
        return self

    def __exit__(self, *_: object) -> None:
        return None


def leave() -> NoReturn:
    raise SystemExit


@contextmanager
def named(name: str) -> Iterator[str]:
    yield name


def reject_an_input_traced_before_the_loop() -> None:
    a = x.trace()
    for _ in range(2):
        opt.step(model(a).sum().backward(wrt=model))  # E(mypy): model(a): a was consumed by model(a).sum().backward(wrt=model) on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_loss_computed_before_the_loop() -> None:
    loss = model(x.trace()).sum()
    for _ in range(2):
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_an_input_traced_before_a_while_loop() -> None:
    a, count = x.trace(), 0
    while count < 2:
        model(a).sum().backward()  # E(mypy): model(a): a was consumed by model(a).sum().backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]
        count += 1


def reject_a_trunk_outside_the_inner_loop() -> None:
    for _ in range(2):
        h = model(x.trace())
        for row in range(3):
            h[row].sum().backward()  # E(mypy): h[row]: h was consumed by h[row].sum().backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_loss_after_the_loop() -> None:
    loss = model(x.trace()).sum()
    for row in range(3):
        if row == 1:
            loss.backward()
            break
    loss * 2.0  # E(mypy): loss * 2.0: loss was consumed by loss.backward() on line {-2}; trace again [tapegrad-tape]


def reject_a_loss_that_is_traced_again_sometimes() -> None:
    loss = model(x.trace()).sum()
    for number in range(3):
        if number == 2:
            loss = model(x.trace()).sum()
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_running_total() -> None:
    total = x.trace().sum()
    for _ in range(2):
        total = total + model(x.trace()).sum()  # E(mypy): total + model(x.trace()).sum(): total was consumed by total.backward() on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        total.backward()


def reject_a_state_that_is_carried_over() -> None:
    h = x.trace()
    for _ in range(2):
        h = tg.tanh(h)  # E(mypy): tg.tanh(h): h was consumed by h.sum().backward() on line {+1}, in an earlier iteration; trace again [tapegrad-tape]
        h.sum().backward()


def reject_a_second_loss_after_continue() -> None:
    a = x.trace()
    for number in range(3):
        if number == 0:
            continue
        a.sum().backward()  # E(mypy): a.sum(): a was consumed by a.sum().backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_loss_in_a_comprehension() -> None:
    a = x.trace()
    _ = [len((a * float(k)).sum().backward()) for k in range(2)]  # E(mypy): a * float(k): a was consumed by (a * float(k)).sum().backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_loss_after_a_handler() -> None:
    loss = x.trace().sum()
    try:
        loss.backward()
    except ValueError:
        return
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-3}; trace again [tapegrad-tape]


def reject_a_second_try() -> None:
    loss = x.trace().sum()
    try:
        loss.backward()
        _ = [1][loss.size]
    except IndexError:
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-3}; trace again [tapegrad-tape]


def reject_a_loss_after_a_context_manager() -> None:
    loss = x.trace().sum()
    with Block():
        loss.backward()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_loss_after_suppressed_errors() -> None:
    loss = x.trace().sum()
    with suppress(ValueError):
        loss.backward()
    loss * 2.0  # E(mypy): loss * 2.0: loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_loss_after_a_match(way: int = 1) -> None:
    loss = x.trace().sum()
    match way:
        case 1:
            loss.backward()
        case _:
            pass
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-3}; trace again [tapegrad-tape]


def reject_a_capture_of_a_match() -> None:
    a = x.trace()
    match (a.sum(), a.mean()):
        case (first, second):
            first.backward()
            second.backward()  # E(mypy): second.backward(): second shares the tape that first.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_loss_after_a_branch_that_may_return(*, early: bool = False) -> None:
    loss = x.trace().sum()
    if not early:
        loss.backward()
    if early:
        return
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-3}; trace again [tapegrad-tape]


def reject_a_conditional_expression(*, early: bool = True) -> None:
    loss = x.trace().sum()
    _ = len(loss.backward()) if early else 0
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_short_circuit(*, early: bool = True) -> None:
    loss = x.trace().sum()
    _ = early and loss.backward()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_finally_block() -> None:
    loss = x.trace().sum()
    try:
        loss.backward()
    finally:
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-2}; trace again [tapegrad-tape]


def accept_a_trace_in_each_iteration() -> None:
    for _ in range(2):
        opt.step(model(x.trace()).sum().backward(wrt=model))


def accept_the_previous_loss() -> None:
    previous: Scalar | None = None
    for _ in range(3):
        current = model(x.trace()).sum()
        if previous is not None:
            previous.backward()
        previous = current


def accept_a_break_after_backward() -> None:
    loss = model(x.trace()).sum()
    for _ in range(3):
        loss.backward()
        break


def accept_a_branch_that_never_returns(way: int = 0) -> None:
    loss = x.trace().sum()
    if way == 1:
        loss.backward()
        leave()
    loss.backward()


def accept_a_state_that_is_detached() -> None:
    h = x
    for _ in range(3):
        out = tg.tanh(h.trace())
        out.sum().backward()
        h = out.detach()


def accept_a_loss_renewed_at_the_end() -> None:
    loss = model(x.trace()).sum()
    for _ in range(3):
        loss.backward()
        loss = model(x.trace()).sum()


def accept_either_branch(way: int = 1) -> None:
    loss = x.trace().sum()
    match way:
        case 1:
            loss.backward()
        case _:
            (loss * 2.0).backward()


def accept_a_handler_that_traces_again() -> None:
    loss = x.trace().sum()
    try:
        loss.backward()
    except ValueError:
        loss = x.trace().sum()
        loss.backward()


def accept_a_context_manager_with_a_name() -> None:
    for _ in range(2):
        with named("step") as name:
            loss = model(x.trace()).sum()
            loss.backward()
            assert name


def accept_nested_loops() -> None:
    for row in range(2):
        for column in range(2):
            (model(x.trace())[row, column] * 1.0).backward()
