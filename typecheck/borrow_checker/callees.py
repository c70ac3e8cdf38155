"""Functions that consume the tape of an argument."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

import tapegrad as tg
from tapegrad import Consumed, Gradients, OwnedTape, Shape, Tape, Tensor, nn, optim

Scalar = Tensor[tuple[()], OwnedTape]
S = TypeVar("S", bound=tuple[Any, ...])
T = TypeVar("T", bound=Tape)
D = TypeVar("D", bound=np.generic)

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)
opt = optim.SGD(model, lr=0.1)


def step(loss: Scalar) -> Gradients:
    return loss.backward()


def outer(loss: Scalar) -> Gradients:
    return step(loss)


def step_of_double(loss: Scalar) -> float:
    doubled = loss * 2.0
    doubled.backward()
    return doubled.item()


def maybe_step(loss: Scalar, *, run: bool) -> None:
    if run:
        loss.backward()


def double(loss: Tensor[S, T]) -> Tensor[S, T]:
    return loss * 2.0


def pair(loss: Scalar) -> tuple[Scalar, Scalar]:
    return loss * 2.0, loss * 3.0


def step_on_keyword(*, loss: Scalar, scale: float = 1.0) -> None:
    (loss * scale).backward()


def step_all(*losses: Scalar) -> None:
    for loss in losses:
        loss.backward()


def declared(loss: Consumed[Scalar]) -> None:
    loss.backward()


def apply(function: Callable[[Scalar], Gradients], loss: Scalar) -> Gradients:
    return function(loss)


def value(loss: Tensor) -> float:
    return float(loss.detach().item())


def make() -> Scalar:
    return model(x.trace()).sum()


def renewed(loss: Scalar) -> Scalar:
    loss.backward()
    return make()


def recursive(loss: Scalar, depth: int) -> None:
    if depth:
        recursive(loss, depth - 1)
    else:
        loss.backward()


def reject_a_loss_after_a_function_consumed_it() -> None:
    loss = make()
    step(loss)
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-66}; trace again [tapegrad-tape]


def reject_a_function_called_twice() -> None:
    loss = make()
    step(loss)
    step(loss)  # E(mypy): step(loss): loss was consumed by loss.backward() on line {-72}; trace again [tapegrad-tape]


def reject_a_function_after_backward() -> None:
    loss = make()
    loss.backward()
    step(loss)  # E(mypy): step(loss): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_function_of_a_function() -> None:
    loss = make()
    outer(loss)
    outer(loss)  # E(mypy): outer(loss): loss was consumed by loss.backward() on line {-84}; trace again [tapegrad-tape]


def reject_a_function_that_consumes_the_double() -> None:
    loss = make()
    step_of_double(loss)
    loss.backward()  # E(mypy): loss.backward(): loss shares the tape that doubled.backward() consumed on line {-81}; trace again [tapegrad-tape]


def reject_a_function_that_may_consume() -> None:
    loss = make()
    maybe_step(loss, run=True)
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-81}; trace again [tapegrad-tape]


def reject_what_a_function_shares() -> None:
    loss = make()
    doubled = double(loss)
    doubled.backward()
    loss.backward()  # E(mypy): loss.backward(): loss shares the tape that doubled.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_one_of_a_pair() -> None:
    first, second = pair(make())
    first.backward()
    second.backward()  # E(mypy): second.backward(): second shares the tape that first.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_keyword_argument() -> None:
    loss = make()
    step_on_keyword(loss=loss, scale=2.0)
    step_on_keyword(loss=loss)  # E(mypy): step_on_keyword(loss=loss): loss was consumed by (loss * scale).backward() on line {-88}; trace again [tapegrad-tape]


def reject_two_arguments_of_one_tape() -> None:
    loss = make()
    step_all(loss, loss * 2.0)  # E(mypy): step_all(loss, loss * 2.0): loss was consumed by loss.backward() on line {-88}; trace again [tapegrad-tape]


def reject_a_declared_parameter() -> None:
    loss = make()
    declared(loss)
    loss * 2.0  # E(mypy): loss * 2.0: loss was consumed by loss.backward() on line {-90}; trace again [tapegrad-tape]


def reject_a_function_passed_on() -> None:
    loss = make()
    apply(step, loss)
    apply(step, loss)  # E(mypy): apply(step, loss): loss was consumed by loss.backward() on line {-132}; trace again [tapegrad-tape]


def reject_a_recursive_function() -> None:
    loss = make()
    recursive(loss, 1)
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-78}; trace again [tapegrad-tape]


def reject_the_old_loss_after_a_new_one() -> None:
    loss = make()
    fresh = renewed(loss)
    fresh.backward()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-93}; trace again [tapegrad-tape]


def reject_a_sibling_after_a_function() -> None:
    h = model(x.trace())
    first, second = h.sum(), h.mean()
    step(first)
    step(second)  # E(mypy): step(second): second shares the tape that loss.backward() consumed on line {-152}; trace again [tapegrad-tape]


def reject_an_expression_as_an_argument() -> None:
    h = model(x.trace())
    step(h.sum())
    step(h.mean())  # E(mypy): h.mean(): h shares the tape that loss.backward() consumed on line {-158}; trace again [tapegrad-tape]


def reject_an_argument_that_is_consumed_in_the_call() -> None:
    loss = make()
    both = (step(loss), step(loss))  # E(mypy): step(loss): loss was consumed by loss.backward() on line {-163}; trace again [tapegrad-tape]
    assert both


def reject_starred_arguments() -> None:
    losses = (make(), make())
    step_all(*losses)
    step_all(*losses)  # E(mypy): step_all(losses): loss was consumed by loss.backward() on line {-138}; trace again [tapegrad-tape]


def accept_a_loss_for_each_call() -> None:
    step(make())
    step(make())


def accept_a_function_that_reads() -> None:
    loss = make()
    loss.backward()
    assert value(loss) == value(loss)


def accept_what_a_function_returns() -> None:
    loss = make()
    loss = renewed(loss)
    loss = renewed(loss)
    loss.backward()


def accept_losses_of_their_own() -> None:
    step_all(make(), make())


def accept_a_function_passed_on() -> None:
    apply(step, make())
    apply(outer, make())


def accept_a_pair_that_is_added() -> None:
    first, second = pair(make())
    (first + second).backward()


def accept_a_generic_function_without_a_tape() -> None:
    plain = double(x)
    (double(x.trace()) * plain).sum().backward()
    (double(x.trace()) * plain).sum().backward()


def accept_a_shape() -> None:
    rows: Tensor[Shape[Any, Any], OwnedTape] = model(x.trace())
    rows.sum().backward()
    assert len(rows) == 3
