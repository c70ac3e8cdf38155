"""`GradientTape`, `split_tape`, `traced` and second derivatives."""

from typing import Any

import tapegrad as tg
from tapegrad import Gradients, GradientTape, NoneTape, OwnedTape, Shape, Tensor, nn

x = tg.ones((3, 5))
model = nn.Linear(5, 2, rng=0)


def closure(grads: Gradients) -> None:
    assert len(grads) >= 0


def reject_execute_twice() -> None:
    tape = GradientTape()
    tape.add_backward_op(closure)
    tape.execute()
    tape.execute()  # E(mypy): tape.execute(): tape was consumed by tape.execute() on line {-1}; trace again [tapegrad-tape]


def reject_an_op_after_execute() -> None:
    tape = GradientTape()
    tape.execute()
    tape.add_backward_op(closure)  # E(mypy): tape.add_backward_op(closure): tape was consumed by tape.execute() on line {-1}; trace again [tapegrad-tape]


def reject_an_append_of_an_executed_tape() -> None:
    first, second = GradientTape(), GradientTape()
    second.execute()
    first.append(second)  # E(mypy): first.append(second): second was consumed by second.execute() on line {-1}; trace again [tapegrad-tape]


def reject_an_append_to_an_executed_tape() -> None:
    first, second = GradientTape(), GradientTape()
    first.execute()
    first.append(second)  # E(mypy): first.append(second): first was consumed by first.execute() on line {-1}; trace again [tapegrad-tape]


def reject_backward_after_execute() -> None:
    loss = x.trace().sum()
    loss.tape.tape.execute()
    loss.backward()  # E(mypy): loss.backward(): loss shares the tape that loss.tape.tape.execute() consumed on line {-1}; trace again [tapegrad-tape]


def reject_execute_after_backward() -> None:
    loss = x.trace().sum()
    tape = loss.tape.tape
    loss.backward()
    tape.execute()  # E(mypy): tape.execute(): tape shares the tape that loss.backward() consumed on line {-1}; trace again [tapegrad-tape]


def reject_a_tape_put_on_after_backward() -> None:
    plain, tape = x.trace().split_tape()
    plain.put_tape(tape).sum().backward()
    (plain.put_tape(tape) * 2.0).sum()  # E(mypy): plain.put_tape(tape): tape was consumed by plain.put_tape(tape).sum().backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_record_on_a_consumed_tape() -> None:
    plain, tape = x.trace().split_tape()
    plain.put_tape(tape).sum().backward()
    tape.record(tg.node(plain.data), (plain,), closure)  # E(mypy): tape.record(...): tape was consumed by plain.put_tape(tape).sum().backward() on line {-1}; trace again [tapegrad-tape]


def reject_a_loop_over_execute() -> None:
    tape = GradientTape()
    for _ in range(2):
        tape.execute()  # E(mypy): tape.execute(): tape was consumed by tape.execute() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_a_tape_stored_by_a_function() -> None:
    def run(tape: GradientTape) -> Gradients:
        return tape.execute()

    tape = GradientTape()
    run(tape)
    run(tape)  # E(mypy): run(tape): tape was consumed by tape.execute() on line {-4}; trace again [tapegrad-tape]


def accept_a_tape_for_each_run() -> None:
    for _ in range(2):
        tape = GradientTape()
        tape.add_backward_op(closure)
        tape.execute()


def accept_tapes_that_are_appended() -> None:
    first, second = GradientTape(), GradientTape()
    second.add_backward_op(closure)
    first.append(second)
    first.execute()


def accept_a_tape_that_is_read() -> None:
    tape = GradientTape()
    tape.execute()
    assert len(tape) == 0
    assert not tape.is_open


def accept_execute_that_retains() -> None:
    tape = GradientTape()
    tape.execute(retain_tape=True)
    tape.execute()


def accept_an_op_of_the_users() -> None:
    def negate(a: Tensor[Shape[Any, Any], OwnedTape]) -> Tensor[Shape[Any, Any], OwnedTape]:
        operand, tape = tg.split_tape(a)
        out = tg.node(-operand.data)

        def backward(grads: Gradients) -> None:
            grads.add(operand, -grads.pop_output(out))

        return tape.record(out, (operand,), backward)

    negate(x.trace()).sum().backward()
    negate(x.trace()).sum().backward()


def accept_traced_input_of_a_function() -> None:
    def run(given: Tensor[Shape[Any, Any], NoneTape]) -> None:
        given.traced().sum().backward()

    run(x + 0.0)
    run(x + 0.0)
