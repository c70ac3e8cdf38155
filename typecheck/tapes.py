"""Tapes: traced, merged and consumed; gradients are typed by their key."""

import argparse
import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any, NoReturn, assert_type, overload
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Gradients, NoneTape, OwnedTape, Shape, Tape, Tensor, nn

N = TypeVar("N", bound=int)
T = TypeVar("T", bound=Tape)

row = tg.ones((3,))
x = tg.ones((3, 5))
w = tg.ones((5, 2))
tokens = tg.tensor([[0, 2], [1, 1]])


class Halved(nn.Module):
    """A layer of a user's that is another under a tape: its sizes say so."""

    @overload
    def forward(self, x: Tensor[Shape[N, L[4]], NoneTape]) -> Tensor[Shape[N, L[4]], NoneTape]: ...
    @overload
    def forward(self, x: Tensor[Shape[N, L[4]], OwnedTape]) -> Tensor[Shape[N, L[2]], OwnedTape]: ...
    def forward(self, x: Any) -> Any:
        return x[:, :2] if x.owns_tape else x


def accept_a_typed_gradient() -> None:
    a = x.trace()
    grads = (a @ w).sum().backward()
    assert_type(grads, Gradients)
    assert_type(grads[a], Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(grads[x], Tensor[Shape[L[3], L[5]], NoneTape])


def accept_wrt_names_others() -> None:
    a = x.trace()
    h = tg.tanh(a)
    grads = h.sum().backward(wrt=[h])
    assert_type(grads[h], Tensor[Shape[L[3], L[5]], NoneTape])


def accept_a_seed_for_any_shape() -> None:
    a = x.trace()
    grads = (a * 2.0).backward(seed=x)
    assert_type(grads[a], Tensor[Shape[L[3], L[5]], NoneTape])


def accept_two_tapes() -> None:
    a, b = x.trace(), w.trace()
    product = a @ b
    assert_type(product, Tensor[Shape[L[3], L[2]], OwnedTape])
    grads = product.sum().backward()
    assert_type(grads[b], Tensor[Shape[L[5], L[2]], NoneTape])


def accept_the_gradients_of_a_prediction() -> None:
    predict = nn.Linear(5, 4).valid()
    y = predict(x.trace(training=False))
    assert_type(y, Tensor[Shape[L[3], L[4]], OwnedTape])
    assert_type(y.is_training, bool)
    assert_type(y.sum().backward()[x], Tensor[Shape[L[3], L[5]], NoneTape])


def accept_parameters_that_join_the_tape_they_meet() -> None:
    table, position = nn.Embedding(7, 5), nn.Param(tg.ones((4, 5)))
    h = x.trace() + position[:3]
    assert_type(h, Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(position[:3], Tensor[Shape[L[3], L[5]], NoneTape])
    scores = h @ table.weight.T + table(tg.arange(3)).sum()
    assert_type(scores, Tensor[Shape[L[3], L[7]], OwnedTape])
    loss = scores.sum() + 0.5 * (position * position).sum()
    grads = loss.backward()
    assert_type(grads[position], Tensor[Shape[L[4], L[5]], NoneTape])
    assert_type(grads[table.weight], Tensor[Shape[L[7], L[5]], NoneTape])


def reject_backward_of_parameters_alone() -> None:
    position = nn.Param(tg.ones((4, 5)))
    (position * position).sum().backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]


def accept_a_second_backward_on_a_retained_tape() -> None:
    h = tg.tanh(x.trace())
    loss = h.sum()
    for keep in (True, True):
        grads = loss.backward(retain_tape=keep)
    loss.backward(seed=tg.tensor(2.0), retain_tape=True)
    assert_type(loss * 2.0, Tensor[Shape[()], OwnedTape])
    assert_type(grads[x], Tensor[Shape[L[3], L[5]], NoneTape])
    assert len(h.tape.tape.execute(retain_tape=True)) == 0
    loss.backward()


def accept_two_losses_that_were_only_compared() -> None:
    left, right = tg.tanh(x.trace()).mean(), tg.exp(w.trace()).mean()
    if left < right and left.argmax() == 0:
        assert left != right
    left.backward()
    grads = right.backward()
    assert_type(grads[w], Tensor[Shape[L[5], L[2]], NoneTape])


def accept_two_losses_after_an_op_that_was_rejected() -> None:
    left, right = tg.tanh(x.trace()), tg.exp(w.trace())
    try:
        left + right  # type: ignore[tapegrad-shape]  # under test: the tapes are to stay two
    except tg.ShapeError:
        left.sum().backward()
        right.sum().backward()


def accept_a_tape_on_whole_numbers() -> None:
    traced = tokens.trace()
    assert_type(traced, Tensor[Shape[L[2], L[2]], OwnedTape, np.int64])
    looked_up = nn.Embedding(3, 7)(traced)
    assert_type(looked_up, Tensor[Shape[L[2], L[2], L[7]], OwnedTape])
    looked_up.sum().backward()


def accept_detached() -> None:
    assert_type(x.trace().detach(), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_wrt_from_the_start() -> None:
    a = x.trace(wrt=[w])
    assert_type(a, Tensor[Shape[L[3], L[5]], OwnedTape])
    grads = (a @ w).sum().backward()
    assert_type(grads[w], Tensor[Shape[L[5], L[2]], NoneTape])
    grads = (x.trace([x, w], grads=grads) @ w).sum().backward()
    assert_type(grads[x], Tensor[Shape[L[3], L[5]], NoneTape])


def accept_a_tensor_consumed_by_traced() -> None:
    given = tg.ones((3, 5))
    a = given.traced()
    assert_type(a, Tensor[Shape[L[3], L[5]], OwnedTape])
    grads = a.sum().backward()
    assert_type(grads[a], Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(grads[given], Tensor[Shape[L[3], L[5]], NoneTape])


def accept_a_tape_taken_off_and_put_on() -> None:
    plain, tape = x.trace().split_tape()
    assert_type(plain, Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(tape, OwnedTape)
    assert_type(plain.put_tape(tape), Tensor[Shape[L[3], L[5]], OwnedTape])
    untaped, none = x.split_tape()
    assert_type(none, NoneTape)
    assert_type(untaped.put_tape(none), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_empty_tapes() -> None:
    assert_type(x.with_empty_tape(), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(x.trace().with_empty_tape(), Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(x.retaped(OwnedTape), Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(x.trace().retaped(NoneTape), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_an_open_tape_taken_off_and_put_on() -> None:
    def branched(a: Tensor[Shape[N], T]) -> Tensor[Shape[N], T]:
        plain, tape = a.split_tape()
        assert_type(plain, Tensor[Shape[N], NoneTape])
        assert_type(a.with_empty_tape(), Tensor[Shape[N], T])
        return plain.put_tape(tape)

    assert_type(branched(tg.ones((4,))), Tensor[Shape[L[4]], NoneTape])
    assert_type(branched(tg.ones((4,)).trace()), Tensor[Shape[L[4]], OwnedTape])


def accept_the_gradient_of_the_result_itself() -> None:
    loss = x.trace().sum()
    grads = loss.backward(wrt=[loss])
    assert_type(grads[loss], Tensor[tuple[()], NoneTape])


def accept_a_layer_for_each_tape() -> None:
    rows = tg.ones((3, 4))
    assert_type(Halved()(rows), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(Halved()(rows.trace()), Tensor[Shape[L[3], L[2]], OwnedTape])
    model = nn.Sequential(nn.ReLU(), Halved())
    assert_type(model(rows), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(model(rows.trace()), Tensor[Shape[L[3], L[2]], OwnedTape])


def accept_gradients_that_are_changed() -> None:
    grads = x.trace().sum().backward()
    assert_type(grads.get(w), Tensor[Shape[L[5], L[2]], NoneTape] | None)
    assert_type(grads.remove(x), Tensor[Shape[L[3], L[5]], NoneTape] | None)
    grads.replace(x, x * 2.0)
    dx = grads.mut(x)
    dx += x.data
    dw, dx_read = grads.mut_and_ref(w, x)
    dw -= w.data
    assert grads[x].tolist() == [[3.0] * 5] * 3
    assert grads[w].tolist() == [[-1.0] * 2] * 5
    grads.add(x, dx_read)



def accept_a_new_tape_after_the_old() -> None:
    loss = x.trace().sum()
    loss.backward()
    loss = x.trace().sum()
    loss.backward()


def accept_an_open_tape() -> None:
    def activated(a: Tensor[Shape[N], T]) -> Tensor[Shape[N], T]:
        return tg.relu(a) * 2.0 + 1.0

    assert_type(activated(tg.ones((4,))), Tensor[Shape[L[4]], NoneTape])
    assert_type(activated(tg.ones((4,)).trace()), Tensor[Shape[L[4]], OwnedTape])


def reject_use_after_backward() -> None:
    loss = x.trace().sum()
    loss.backward()
    loss * 2.0  # E(mypy): loss * 2.0: loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_use_after_backward_of_a_difference() -> None:
    a = x.trace()
    ((a - x) * 2 - (x - a)).sum().backward()
    a.sum()  # E(mypy): a.sum(): a was consumed by ((a - x) * 2 - (x - a)).sum().backward() on line {-1}; trace again [tapegrad-tape]


def reject_backward_after_the_one_that_retained_no_tape() -> None:
    loss = x.trace().sum()
    loss.backward(retain_tape=True)
    loss.backward(retain_tape=False)
    loss.backward(retain_tape=True)  # E(mypy): loss.backward(retain_tape=True): loss was consumed by loss.backward(retain_tape=False) on line {-1}; trace again [tapegrad-tape]


def reject_backward_twice_on_an_attribute() -> None:
    class Step:
        def __init__(self) -> None:
            self.loss = x.trace().sum()

        def run(self) -> None:
            self.loss.backward()
            self.loss.backward()  # E(mypy): self.loss.backward(): self.loss was consumed by self.loss.backward() on line {-1}; trace again [tapegrad-tape]

    Step()


def reject_backward_of_what_was_detached() -> None:
    x.trace().sum().detach().backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]


def reject_backward_on_an_open_tape() -> None:
    def differentiated(a: Tensor[tuple[()], T]) -> None:
        a.backward()  # E(mypy): backward: the tensor has no tape; trace an input first [tapegrad-tape]

    differentiated(x.trace().sum())


def reject_backward_of_a_result_with_no_tape_in_any_case() -> None:
    def mean_or_zero(a: Tensor[Shape[N], T], *, empty: bool) -> Tensor[Shape[()], NoneTape | T]:
        return tg.zeros(()) if empty else a.mean()

    mean_or_zero(row, empty=False).backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]


def reject_a_seed_of_another_shape() -> None:
    (x.trace() * 2.0).backward(seed=w)  # E: backward: seed is (5, 2) but (3, 5) is expected: axis 0 is 5, not 3 [tapegrad-shape]


def reject_a_second_backward_behind_a_branch() -> None:
    def differentiated(a: Tensor[Shape[N], NoneTape], *, early: bool) -> None:
        loss = a.trace().sum()
        if early:
            loss.backward()
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]

    differentiated(row, early=False)


def accept_a_comprehension_of_one_backward_each() -> None:
    losses = [row.trace().sum() for _ in range(2)]
    assert len([loss.backward() for loss in losses]) == 2
    loss = row.trace().sum()
    assert len(next(loss.backward() for _ in range(2))) == 1


def reject_backward_in_a_comprehension_around_one_forward() -> None:
    loss = row.trace().sum()
    _ = [loss.backward() for _ in range(2)]  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_backward_in_the_condition_of_a_comprehension() -> None:
    loss = row.trace().sum()
    _ = {k: k for k in range(2) if len(loss.backward())}  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def reject_backward_in_a_loop_around_one_forward() -> None:
    loss = row.trace().sum()
    for _ in range(2):
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}, in an earlier iteration; trace again [tapegrad-tape]


def accept_a_forward_for_each_turn() -> None:
    total = 0.0
    for _ in range(2):
        loss = row.trace().sum()
        total += float(loss.detach())
        loss.backward()
    assert total == 6


def accept_a_call_with_overloads_whose_arguments_mypy_reads_twice() -> None:
    loss = x.trace().sum()
    given = x + 0.0
    assert max((loss * 2.0).item(), len(loss.backward())) == 30.0
    assert max(given.traced().sum().item(), 0.0) == 15.0


def reject_what_such_a_call_consumed() -> None:
    loss = x.trace().sum()
    assert max(len(loss.backward()), 0) == 1
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def reject_two_in_one_call() -> None:
    loss = x.trace().sum()
    max(len(loss.backward()), len(loss.backward()))  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-0}; trace again [tapegrad-tape]


def accept_a_branch_that_leaves() -> None:
    def differentiated(a: Tensor[Shape[N], NoneTape], *, early: bool) -> Gradients:
        loss = a.trace().sum()
        if early:
            return loss.backward()
        while True:
            loss = loss * 2.0
            if bool(a.sum() > 0):
                break
            loss = a.trace().sum()
        return loss.backward()

    differentiated(row, early=True)
    differentiated(row, early=False)


def reject_use_behind_a_loop_that_may_have_consumed() -> None:
    loss = row.trace().sum()
    while bool(row.sum() > 3):
        loss.backward()
        break
    tg.exp(loss)  # E(mypy): tg.exp(loss): loss was consumed by loss.backward() on line {-2}; trace again [tapegrad-tape]


def reject_use_behind_a_handler() -> None:
    loss = row.trace().sum()
    try:
        float(row.sum() / 2)
    except ValueError:
        loss.backward()
    finally:
        loss + 1.0  # E(mypy): loss + 1.0: loss was consumed by loss.backward() on line {-2}; trace again [tapegrad-tape]


def accept_a_handler_that_starts_again() -> None:
    loss = row.trace().sum()
    try:
        loss.backward()
    except ValueError:
        loss = row.trace().sum()
    else:
        loss = row.trace().sum()
    loss * 2.0


def reject_use_behind_a_match() -> None:
    def differentiated(a: Tensor[Shape[N], NoneTape], way: int) -> None:
        loss = a.trace().sum()
        match way:
            case 1:
                loss.backward()
            case 2:
                return
        -loss  # E(mypy): -loss: loss was consumed by loss.backward() on line {-3}; trace again [tapegrad-tape]

    differentiated(row, 3)


def accept_a_function_of_another_file_that_is_returned() -> None:
    def chosen() -> Callable[[float], float]:
        return abs

    y = x.trace().sum()
    chosen()(1.0)
    y.backward()


def accept_an_attribute_that_a_method_rebinds() -> None:
    class Step:
        def __init__(self) -> None:
            self.loss = row.trace().sum()

        def forward(self) -> None:
            self.loss = row.trace().sum()

        def run(self) -> None:
            self.loss.backward()
            self.forward()
            self.loss.backward()

    Step().run()


def reject_an_attribute_behind_a_branch() -> None:
    class Step:
        def __init__(self) -> None:
            self.loss = row.trace().sum()

        def run(self, *, early: bool) -> None:
            if early:
                self.loss.backward()
            self.loss * 2.0  # E(mypy): self.loss * 2.0: self.loss was consumed by self.loss.backward() on line {-1}; trace again [tapegrad-tape]

    Step().run(early=False)


def accept_what_traced_consumed_where_no_path_leads_on() -> None:
    def summed(given: Tensor[Shape[N], NoneTape], *, early: bool) -> Tensor[tuple[()], Any]:
        if early:
            return given.traced().sum()
        for _ in range(2):
            given.traced()
            given = tg.ones((3,))
        return given.sum()

    summed(row, early=False)


def accept_an_empty_tape_where_one_was_consumed() -> None:
    loss = row.trace().sum()
    loss.backward()
    again = loss.with_empty_tape()
    assert_type(again, Tensor[tuple[()], OwnedTape])
    assert len(again.backward()) == 0


def accept_a_variable_that_a_function_inside_binds() -> None:
    loss = row.trace().sum()

    def again() -> None:
        nonlocal loss
        loss = row.trace().sum()

    for _ in range(2):
        loss.backward()
        again()


def reject_what_traced_consumed() -> None:
    given = tg.ones((3, 5))
    given.traced()
    given * 2.0  # E(mypy): given * 2.0: given was consumed by given.traced() on line {-1}; use the tensor that it returned [tapegrad-tape]


def reject_tracing_what_traced_consumed() -> None:
    given = tg.ones((3, 5))
    given.traced()
    given.trace()  # E(mypy): given.trace(): given was consumed by given.traced() on line {-1}; use the tensor that it returned [tapegrad-tape]


def reject_what_traced_consumed_on_one_path() -> None:
    def traced(given: Tensor[Shape[N], NoneTape], *, early: bool) -> None:
        if early:
            given.traced()
        given * 2.0  # E(mypy): given * 2.0: given was consumed by given.traced() on line {-1}; use the tensor that it returned [tapegrad-tape]

    traced(row, early=True)


def reject_traced_in_a_loop() -> None:
    given = tg.ones((3, 5))
    for _ in range(2):
        given.traced()  # E(mypy): given.traced(): given was consumed by given.traced() on line {-0}; use the tensor that it returned [tapegrad-tape]


def reject_an_attribute_that_traced_consumed() -> None:
    class Batch:
        def __init__(self) -> None:
            self.x = tg.ones((3, 5))

        def both(self) -> None:
            self.x.traced()
            self.x.trace()  # E(mypy): self.x.trace(): self.x was consumed by self.x.traced() on line {-1}; use the tensor that it returned [tapegrad-tape]

    Batch().both()


def reject_an_empty_tape_on_what_traced_consumed() -> None:
    given = tg.ones((3, 5))
    given.traced()
    given.with_empty_tape()  # E(mypy): given.with_empty_tape(): given was consumed by given.traced() on line {-1}; use the tensor that it returned [tapegrad-tape]


def reject_tracing_twice() -> None:
    x.trace().traced()  # E: trace: the tensor has a tape already [tapegrad-tape]


def reject_a_second_tape() -> None:
    x.trace().put_tape(w.trace().tape)  # E: put_tape: x has a tape but must have none [tapegrad-tape]


def reject_a_replacement_of_another_shape() -> None:
    x.trace().sum().backward().replace(x, w)  # E: Gradients.replace: S is (3, 5) in x but (5, 2) in gradient [tapegrad-shape]


def reject_a_replacement_of_another_dtype() -> None:
    x.trace().sum().backward().replace(x, x.astype(np.float64))  # E: Gradients.replace: x is float32 but gradient is float64 [tapegrad-dtype]


def reject_a_replacement_with_a_tape() -> None:
    x.trace().sum().backward().replace(x, x.trace())  # E: Gradients.replace: gradient has a tape but must have none [tapegrad-tape]


def reject_adding_another_shape() -> None:
    Gradients().add(x, w.data)  # E: Gradients.add: S is (3, 5) in x but (5, 2) in gradient [tapegrad-shape]


def reject_adding_another_shape_in_place() -> None:
    dx = Gradients().mut(x)
    dx += w.data  # E: Accumulator.__iadd__: y is (5, 2) but (3, 5) is expected: axis 0 is 5, not 3 [tapegrad-shape]


def reject_taking_another_shape_away_in_place() -> None:
    dx = Gradients().mut(x)
    dx -= w.data  # E: Accumulator.__isub__: y is (5, 2) but (3, 5) is expected: axis 0 is 5, not 3 [tapegrad-shape]


def accept_wrt_of_every_kind() -> None:
    layer = nn.Linear(5, 2)
    layer(x.trace()).sum().backward(wrt=layer)
    layer(x.trace()).sum().backward(wrt=[layer.weight, x, {"input": x}])
    layer(x).sum().item()


def reject_wrt_of_no_tensor() -> None:
    x.trace().sum().backward(wrt=3)  # E(mypy): Argument "wrt" to "backward" of "Tensor" has incompatible type "int"; expected "Tensor[Any, Any, Any] | HasParameters | Mapping[str, Wrt] | Iterable[Wrt] | None" [arg-type]


def reject_a_gradient_of_whole_numbers() -> None:
    grads = x.trace().sum().backward()
    grads[tokens]  # E: a tensor of dtype int64 has no gradient [tapegrad-dtype]


def reject_one_number_of_many() -> None:
    x.item()  # E: item: a tensor of shape (3, 5) has 15 elements, not one [tapegrad-shape]


def accept_a_branch_that_never_returns() -> None:
    class Run:
        def stop(self) -> NoReturn:
            raise SystemExit

        def step(self, way: int) -> None:
            loss = row.trace().sum()
            if way == 1:
                loss.backward()
                self.stop()
            loss.backward()

    def leave() -> NoReturn:
        raise SystemExit

    def differentiated(way: int, parser: argparse.ArgumentParser) -> None:
        loss = row.trace().sum()
        if way == 1:
            loss.backward()
            sys.exit()
        elif way == 2:
            loss.backward()
            leave()
        elif way == 3:
            loss.backward()
            assert False, "there is no third way"  # noqa: B011, PT015  # as it is written
        elif way == 4:
            loss.backward()
            parser.error("there is no fourth way")
        elif way == 5:
            loss.backward()
            while True:
                pass
        loss.backward()

    differentiated(0, argparse.ArgumentParser())
    Run().step(0)


def reject_a_branch_that_may_go_on() -> None:
    def differentiated(*, early: bool) -> None:
        loss = row.trace().sum()
        if early:
            loss.backward()
            early or sys.exit()
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-2}; trace again [tapegrad-tape]

    differentiated(early=False)


def accept_a_property_that_computes_its_tensor() -> None:
    class Step:
        @property
        def loss(self) -> Tensor[tuple[()], OwnedTape]:
            return row.trace().sum()

        def run(self) -> None:
            self.loss.backward()
            self.loss.backward()

    class Trainer:
        def __init__(self) -> None:
            self.step = Step()

    Step().run()
    trainer = Trainer()
    trainer.step.loss.backward()
    trainer.step.loss.backward()


def reject_a_property_that_is_stored() -> None:
    class Step:
        @cached_property
        def loss(self) -> Tensor[tuple[()], OwnedTape]:
            return row.trace().sum()

    step = Step()
    step.loss.backward()
    step.loss.backward()  # E(mypy): step.loss.backward(): step.loss was consumed by step.loss.backward() on line {-1}; trace again [tapegrad-tape]


def accept_a_name_that_another_function_binds() -> None:
    loss = row.trace().sum()

    def renew() -> None:
        nonlocal loss
        loss = row.trace().sum()

    def step() -> None:
        loss.backward()
        renew()
        loss.backward()
        renew()

    loss.backward()
    renew()
    loss.backward()
    renew()
    step()


def reject_a_name_that_only_this_function_binds() -> None:
    loss = row.trace().sum()

    def step() -> None:
        nonlocal loss
        loss = row.trace().sum()
        loss.backward()
        loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]

    step()


def accept_a_consumed_tensor_that_is_only_read() -> None:
    x = row.trace()
    loss = x.sum()
    print(len(loss.backward()))  # noqa: T201  # mypy reads the arguments of print more than once
    print(len(x), x.shape, x.ndim, loss.item(), f"{loss.item():.2f}")  # noqa: T201  # the same
    print(len(x.numpy()), max(len(x), loss.size))  # noqa: T201  # the same


def accept_backward_where_a_tensor_owns_its_tape() -> None:
    def gradients(loss: Tensor[tuple[()], T]) -> int:
        double = loss * 2.0
        if not loss.owns_tape:
            return 0
        return len(double.backward())  # pyright: ignore[reportAttributeAccessIssue]  # reads no owns_tape

    def asserted(loss: Tensor[tuple[()], T]) -> bool:
        assert loss.owns_tape
        return bool(len(loss.backward()))  # pyright: ignore[reportAttributeAccessIssue]  # reads no owns_tape

    def either(loss: Tensor[tuple[()], T], *, wanted: bool) -> None:
        if wanted and loss.owns_tape:
            loss.backward()  # pyright: ignore[reportAttributeAccessIssue]  # reads no owns_tape
        elif loss.owns_tape:
            _ = loss.backward() if loss.owns_tape else None  # pyright: ignore[reportAttributeAccessIssue]  # reads no owns_tape

    assert gradients(row.sum()) == 0
    assert gradients(row.trace().sum()) == 1
    assert asserted(row.trace().sum())
    either(row.sum(), wanted=True)
    either(row.trace().sum(), wanted=False)


def reject_backward_where_a_tensor_may_own_no_tape() -> None:
    def gradients(loss: Tensor[tuple[()], T]) -> None:
        if loss.owns_tape:
            loss.item()
        loss.backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]

    gradients(row.sum())


def reject_the_gradient_of_whole_numbers() -> None:
    tg.ones((3,)).trace().sum().backward(wrt=tg.arange(3))  # E: wrt names a tensor of dtype int64, which has no gradient [tapegrad-dtype]


def reject_an_array_as_the_target_of_gradients() -> None:
    tg.ones((3,)).trace().sum().backward(wrt=np.ones(3))  # E: wrt names an ndarray, which is neither a tensor nor a module [tapegrad-dtype]


def reject_an_array_beside_a_model_as_the_target_of_gradients(x: np.ndarray = np.ones(3)) -> None:  # noqa: B008 - only read
    tg.ones((3,)).trace().sum().backward(wrt=(nn.Linear(2, 3), x))  # E: wrt names an ndarray, which is neither a tensor nor a module [tapegrad-dtype]


def reject_a_name_as_the_target_of_gradients() -> None:
    tg.ones((3,)).trace().sum().backward(wrt="weight")  # E: wrt names a str, which is neither a tensor nor a module [tapegrad-dtype]
