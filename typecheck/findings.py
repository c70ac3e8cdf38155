"""Behaviour of mypy that the plugin relies on, each case as a program."""

from functools import partial
from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import (
    NoneTape,
    OwnedTape,
    Rank0,
    Rank2,
    Rank3,
    Shape,
    Tape,
    Tensor,
    Tensor0D,
    Tensor1D,
    Tensor2D,
    Tensor4D,
    nn,
)

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
T = TypeVar("T", bound=Tape)
X = TypeVar("X", bound=Tensor)

x = tg.ones((3, 5))


def accept_a_hook_is_named_by_the_class_of_the_receiver() -> None:
    layer = nn.Linear(5, 7)
    assert_type(layer.weight @ tg.ones((7, 2)), Tensor[Shape[L[5], L[2]], NoneTape])
    assert_type(layer.weight.T, Tensor[Shape[L[7], L[5]], NoneTape])


def accept_no_hook_for_a_receiver_typed_by_a_variable() -> None:
    def doubled(a: X) -> X:
        a + a
        return a

    assert_type(doubled(x), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_no_hook_for_sums_of_type_variables() -> None:
    def sums(n: N, m: M) -> None:
        tg.zeros((n * m, 2)) @ tg.zeros((2, 3))

    sums(2, 3)


def accept_no_hook_through_stored_functions() -> None:
    make, scale, halve = tg.zeros, x.__mul__, partial(tg.mul, 0.5)
    make((3,))
    scale(2.0)
    halve(x)
    list(map(tg.relu, [x, tg.ones((4,))]))


def accept_whole_numbers_may_change() -> None:
    n = 2 * 3
    tg.zeros((n,))
    n = 7
    tg.zeros((n,))


def accept_owns_tape_is_a_plain_bool() -> None:
    def dropped(a: Tensor[Shape[N], T]) -> Tensor[Shape[N], T]:
        if a.owns_tape:
            return a * 0.5
        return a

    assert_type(dropped(tg.ones((3,)).trace()), Tensor[Shape[L[3]], OwnedTape])


def accept_the_aliases_of_ranks() -> None:
    def aliased(
        a: Tensor2D[N, M, T], b: Tensor[Rank2[N, M], T], c: Tensor1D[L[5], NoneTape], d: Tensor0D[NoneTape]
    ) -> Tensor[Rank3[L[1], N, M], T]:
        assert_type(c, Tensor[Shape[L[5]], NoneTape])
        assert_type(d, Tensor[Rank0, NoneTape])
        e: Any = (a + b) * d + c.sum()
        result: Tensor[Rank3[L[1], N, M], T] = e.reshape((1, *e.shape))
        return result

    assert_type(aliased(x, x, tg.ones((5,)), tg.ones(())), Tensor[Shape[L[1], L[3], L[5]], NoneTape])


def accept_an_alias_of_images() -> None:
    def channels(images: Tensor4D[N, L[3], Any, Any, NoneTape]) -> Tensor[Shape[N, L[3]], NoneTape]:
        return images.mean(axis=(2, 3))

    assert_type(channels(tg.ones((2, 3, 7, 8))), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_use_after_an_early_return() -> None:
    loss = x.trace().sum()
    if loss.item() < 0:
        loss.backward()
        return
    loss.backward()


def accept_consumed_and_traced_again() -> None:
    a = x.trace()
    loss = a.sum()
    loss.backward()
    a = x.trace()
    loss = (a * a).sum()
    loss.backward()


def accept_numpy_on_the_left() -> None:
    array = np.ones((3, 5), np.float32)
    assert_type(array + x.trace(), Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(array * x, Tensor[Shape[L[3], L[5]], NoneTape])


def accept_bridges_to_numpy() -> None:
    assert_type(x.numpy(), np.ndarray[tuple[L[3], L[5]], np.dtype[np.float32]])
    assert_type(tg.tensor(x.numpy()), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(x.shape, tuple[L[3], L[5]])


def reject_the_reflected_method_does_not_hide_the_error() -> None:
    x + tg.ones((3, 4))  # E: add: x (3, 5) and y (3, 4) do not broadcast: axis -1 is 5 in x but 4 in y [tapegrad-shape]


def reject_through_a_parameter() -> None:
    nn.Linear(5, 7).weight @ x  # E: matmul: inner sizes differ: x (5, 7) has 7 columns but y (3, 5) has 3 rows [tapegrad-shape]


def reject_after_a_try() -> None:
    loss = x.trace().sum()
    try:
        loss.backward()
    finally:
        pass
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-3}; trace again [tapegrad-tape]


def reject_a_method_without_its_tensor() -> None:
    Tensor.trace()  # E(mypy): Missing positional argument "self" in call to "trace" of "Tensor" [call-arg]


def accept_a_method_as_a_function() -> None:
    x = tg.ones((2, 3))
    assert_type(Tensor.sum(x, 0), Tensor[Any, NoneTape])
