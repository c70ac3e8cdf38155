"""Tapes over time: traced, merged, consumed; gradients typed by their key."""

from typing import Literal as L
from typing import assert_type

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


def accept_a_tape_on_whole_numbers() -> None:
    traced = tokens.trace()
    assert_type(traced, Tensor[Shape[L[2], L[2]], OwnedTape, np.int64])
    looked_up = nn.Embedding(3, 7)(traced)
    assert_type(looked_up, Tensor[Shape[L[2], L[2], L[7]], OwnedTape])
    looked_up.sum().backward()


def accept_detached() -> None:
    assert_type(x.trace().detach(), Tensor[Shape[L[3], L[5]], NoneTape])


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
    loss * 2.0  # E(mypy): mul: x was consumed by backward on line {-1} [tapegrad-tape]


def reject_backward_twice_on_an_attribute() -> None:
    class Step:
        def __init__(self) -> None:
            self.loss = x.trace().sum()

        def run(self) -> None:
            self.loss.backward()
            self.loss.backward()  # E(mypy): backward: self.loss was consumed by backward on line {-1} [tapegrad-tape]

    Step()


def reject_backward_of_what_was_detached() -> None:
    x.trace().sum().detach().backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]


def reject_backward_on_an_open_tape() -> None:
    def differentiated(a: Tensor[tuple[()], T]) -> None:
        a.backward()  # E(mypy): backward: the tensor has no tape; trace an input first [tapegrad-tape]

    differentiated(x.trace().sum())


def reject_a_seed_of_another_shape() -> None:
    (x.trace() * 2.0).backward(seed=w)  # E: backward: seed is (5, 2) but (3, 5) is expected: axis 0 is 5, not 3 [tapegrad-shape]


def reject_a_second_backward_behind_a_branch() -> None:
    def differentiated(a: Tensor[Shape[N], NoneTape], *, early: bool) -> None:
        loss = a.trace().sum()
        if early:
            loss.backward()
        loss.backward()  # E(mypy): backward: loss was consumed by backward on line {-1} [tapegrad-tape]

    differentiated(row, early=False)


def reject_backward_in_a_loop_around_one_forward() -> None:
    loss = row.trace().sum()
    for _ in range(1):
        loss.backward()  # E(mypy): backward: loss was consumed by backward on line {-0} [tapegrad-tape]


def accept_a_forward_for_each_turn() -> None:
    total = 0.0
    for _ in range(2):
        loss = row.trace().sum()
        total += float(loss.detach())
        loss.backward()
    assert total == 6


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
    tg.exp(loss)  # E(mypy): exp: x was consumed by backward on line {-2} [tapegrad-tape]


def reject_use_behind_a_handler() -> None:
    loss = row.trace().sum()
    try:
        float(row.sum() / 2)
    except ValueError:
        loss.backward()
    finally:
        loss + 1.0  # E(mypy): add: x was consumed by backward on line {-2} [tapegrad-tape]


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
        -loss  # E(mypy): neg: x was consumed by backward on line {-3} [tapegrad-tape]

    differentiated(row, 3)


def accept_an_attribute_that_a_method_binds_anew() -> None:
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
            self.loss * 2.0  # E(mypy): mul: x was consumed by backward on line {-1} [tapegrad-tape]

    Step().run(early=False)


def accept_a_variable_that_a_function_inside_binds() -> None:
    loss = row.trace().sum()

    def again() -> None:
        nonlocal loss
        loss = row.trace().sum()

    for _ in range(2):
        loss.backward()
        again()
