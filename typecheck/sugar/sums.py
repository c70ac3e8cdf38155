"""Python's `sum` of tensors, and `reduce`: typeshed and pyright add the 0 of an empty list to the type of a sum."""

from functools import reduce
from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor

N = TypeVar("N", bound=int)
T = TypeVar("T", bound=Tape)

x = tg.ones((2, 3))


def accept_a_sum_of_losses() -> None:
    y = x.trace()
    losses = [(y * 2.0).sum(), (y * 3.0).mean()]
    total = sum(losses)
    assert_type(total, Tensor[Shape[()], OwnedTape])
    total.backward()


def accept_a_mean_of_losses() -> None:
    y = x.trace()
    losses = [(y * 2.0).sum(), (y * 3.0).mean()]
    mean = sum(losses) / len(losses)
    assert_type(mean, Tensor[Shape[()], OwnedTape])
    mean.backward()


def accept_a_start() -> None:
    losses = [x.sum(), x.mean()]
    assert_type(sum(losses, start=tg.zeros(())), Tensor[Shape[()], NoneTape])
    assert_type(sum(losses, tg.zeros(()).trace()), Tensor[Shape[()], OwnedTape])
    assert_type(sum(losses, 0.5), Tensor[Shape[()], NoneTape])
    assert_type(sum([x, x], tg.zeros((4, 1, 3))), Tensor[Shape[L[4], L[2], L[3]], NoneTape])


def accept_other_iterables() -> None:
    assert_type(sum(row * 2.0 for row in x), Tensor[Shape[L[3]], NoneTape])
    assert_type(sum((x, tg.ones((3,)).trace())), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(sum({"a": x, "b": x}.values()), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_named_and_unknown_sizes() -> None:
    def of_any(xs: list[Tensor[Shape[N], T]], ys: list[Tensor[Any, OwnedTape]]) -> None:
        assert_type(sum(xs), Tensor[Shape[N], T])
        assert_type(sum(ys), Tensor[Any, OwnedTape])

    of_any([x[0]], [x.trace()])


def accept_numbers() -> None:
    assert_type(sum([1, 2]), int)
    assert_type(sum([1.5, 2.5], 0.5), float)


def reject_losses_without_a_tape() -> None:
    losses = [x.sum(), x.mean()]
    sum(losses).backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]


def reject_a_sum_that_is_consumed() -> None:
    losses = [x.trace().sum()]
    total = sum(losses)
    total.backward()
    total.backward()  # E(mypy): total.backward(): total was consumed by total.backward() on line {-1}; trace again [tapegrad-tape]


def accept_a_reduction_that_keeps_the_shape() -> None:
    assert_type(reduce(lambda a, b: a + b, [x, x, x]), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_a_sum_by_reduce() -> None:
    reduce(lambda a, b: a + b, [x, x, x]) + tg.ones((4,))  # E: add: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_terms_that_do_not_broadcast() -> None:
    sum([x, tg.ones((4,))])  # E: add: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_a_start_that_does_not_broadcast() -> None:
    sum([x, x], tg.ones((4,)))  # E: add: x (4,) and y (2, 3) do not broadcast: axis -1 is 4 in x but 3 in y [tapegrad-shape]


def reject_terms_of_two_dtypes() -> None:
    sum((x, x.astype(np.float64)))  # E: add: x is float32 but y is float64 [tapegrad-dtype]
