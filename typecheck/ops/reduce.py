"""Reductions over no, one or several axes, kept or dropped; sizes that are known, named or unknown."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
stack = tg.ones((2, 3, 5))
whole = tg.tensor([1, 2, 3])


def accept_all_axes() -> None:
    assert_type(x.sum(), Tensor[tuple[()], NoneTape])
    assert_type(tg.mean(stack), Tensor[tuple[()], NoneTape])
    assert_type(tg.max(x.trace()), Tensor[tuple[()], OwnedTape])
    assert_type(tg.sum(tg.ones(())), Tensor[tuple[()], NoneTape])


def accept_one_axis() -> None:
    assert_type(stack.sum(0), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(tg.mean(stack, 1), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(stack.trace().max(axis=2), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_an_axis_from_the_back() -> None:
    assert_type(stack.sum(-1), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(stack.mean(axis=-2), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(tg.max(stack, -3), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_unknown_axes() -> None:
    def summed(axis: int, n: N) -> None:
        assert_type(stack.sum(axis), Tensor[Any, NoneTape])
        assert_type(stack.sum((axis, 0)), Tensor[Any, NoneTape])
        assert_type(stack.sum(n), Tensor[Any, NoneTape])

    summed(1, 2)


def accept_several_axes() -> None:
    assert_type(stack.sum((0, 2)), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.mean(stack, (-1, 0)), Tensor[Shape[L[3]], NoneTape])
    assert_type(stack.max((0, 1, 2)), Tensor[tuple[()], NoneTape])
    assert_type(stack.sum(()), Tensor[Shape[L[2], L[3], L[5]], NoneTape])


def accept_keepdims() -> None:
    assert_type(stack.sum(1, keepdims=True), Tensor[Shape[L[2], L[1], L[5]], NoneTape])
    assert_type(stack.mean((0, -1), keepdims=True), Tensor[Shape[L[1], L[3], L[1]], NoneTape])
    assert_type(tg.max(stack, keepdims=True), Tensor[Shape[L[1], L[1], L[1]], NoneTape])
    assert_type(tg.sum(x, axis=0, keepdims=False), Tensor[Shape[L[3]], NoneTape])


def accept_that_keepdims_broadcasts() -> None:
    assert_type(x - x.mean(1, keepdims=True), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_named_sizes() -> None:
    def reduced(a: Tensor[Shape[N, M], OwnedTape]) -> Tensor[Shape[M], OwnedTape]:
        assert_type(a.sum(), Tensor[tuple[()], OwnedTape])
        assert_type(a.max(-1), Tensor[Shape[N], OwnedTape])
        assert_type(a.sum(0, keepdims=True), Tensor[Shape[L[1], M], OwnedTape])
        return a.mean(0)

    assert_type(reduced(x.trace()), Tensor[Shape[L[3]], OwnedTape])


def accept_unknown_sizes() -> None:
    def reduced(a: Tensor[Shape[Any, L[3]]], b: Tensor[Any, OwnedTape], c: Tensor) -> None:
        assert_type(a.sum(0), Tensor[Shape[L[3]], NoneTape])
        assert_type(a.max(1), Tensor[Shape[Any], NoneTape])
        assert_type(a.mean(keepdims=True), Tensor[Shape[L[1], L[1]], NoneTape])
        assert_type(b.sum(0), Tensor[Any, OwnedTape])
        assert_type(b.mean(), Tensor[tuple[()], OwnedTape])
        assert_type(c.sum(), Tensor[tuple[()], Any, Any])
        assert_type(c.max(), Tensor[Any, Any, Any])

    reduced(x, x.trace(), x)


def accept_an_axis_that_only_the_run_time_knows() -> None:
    def reduced(axis: int, axes: tuple[int, ...], *, keepdims: bool) -> None:
        assert_type(stack.sum(axis), Tensor[Any, NoneTape])
        assert_type(stack.mean(axes), Tensor[Any, NoneTape])
        assert_type(stack.max(0, keepdims=keepdims), Tensor[Any, NoneTape])

    reduced(1, (0, 2), keepdims=True)


def accept_an_axis_by_name() -> None:
    axis = -1

    assert_type(stack.sum(axis), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_dtypes() -> None:
    assert_type(whole.sum(), Tensor[tuple[()], NoneTape, np.int64])
    assert_type(whole.astype(np.int8).sum(0), Tensor[tuple[()], NoneTape, np.int8])
    assert_type(tg.max(whole > 1), Tensor[tuple[()], NoneTape, np.bool_])
    assert_type(x.astype(np.float64).mean(), Tensor[tuple[()], NoneTape, np.float64])


def accept_sums_and_means_of_bools() -> None:
    assert_type((x > 0).sum(), Tensor[tuple[()], NoneTape, np.int64])
    assert_type(tg.sum(x > 0, 1, keepdims=True), Tensor[Shape[L[2], L[1]], NoneTape, np.int64])
    assert_type((x > 0).mean(0), Tensor[Shape[L[3]], NoneTape])
    assert_type(x / (x > 0).mean(), Tensor[Shape[L[2], L[3]], NoneTape])

    def accuracy(
        predicted: Tensor[Shape[N], NoneTape, np.int64], labels: Tensor[Shape[N], NoneTape, np.int64]
    ) -> None:
        assert_type((predicted == labels).mean(), Tensor[tuple[()], NoneTape])

    accuracy(whole, whole)


def accept_empty_axes_where_there_is_something_to_say() -> None:
    assert_type(tg.ones((0, 3)).sum(0), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.ones((0, 3)).max(1), Tensor[Shape[L[0]], NoneTape])


def reject_a_sum_along_no_axis() -> None:
    x.sum(2)  # E: sum: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_a_mean_along_no_axis() -> None:
    tg.mean(stack.trace(), -4)  # E: mean: axis -4 is out of range for x (2, 3, 5) [tapegrad-shape]


def reject_a_max_along_no_axis() -> None:
    x.max((0, 2), keepdims=True)  # E: max: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_an_axis_of_a_scalar() -> None:
    tg.sum(tg.ones(()), 0)  # E: sum: axis 0 is out of range for x () [tapegrad-shape]


def reject_an_axis_twice() -> None:
    x.sum((0, 0))  # E: sum: axis (0, 0) names an axis of x (2, 3) twice [tapegrad-shape]


def reject_an_axis_twice_from_both_ends() -> None:
    stack.mean((1, -2))  # E: mean: axis (1, -2) names an axis of x (2, 3, 5) twice [tapegrad-shape]


def reject_the_max_of_nothing() -> None:
    tg.ones((0, 3)).max(0)  # E: max: x (0, 3) has no element along axis 0 [tapegrad-shape]


def reject_the_max_of_nothing_at_all() -> None:
    tg.max(tg.ones((2, 0)))  # E: max: x (2, 0) has no element along axis 1 [tapegrad-shape]


def reject_an_axis_of_named_sizes() -> None:
    def reduced(a: Tensor[Shape[N, M]]) -> None:
        a.sum(2)  # E(mypy): sum: axis 2 is out of range for x (N, M) [tapegrad-shape]

    reduced(x)


def reject_an_axis_of_unknown_sizes() -> None:
    def reduced(a: Tensor[Shape[Any, Any]]) -> None:
        a.mean(-3)  # E(mypy): mean: axis -3 is out of range for x (?, ?) [tapegrad-shape]

    assert callable(reduced)  # a call would show its sizes


def reject_a_mean_of_ints() -> None:
    whole.mean()  # E: mean: x is int64 but floating or bool is expected [tapegrad-dtype]


def reject_a_product_of_bools() -> None:
    (x > 0).prod()  # E: prod: x is bool but number is expected [tapegrad-dtype]


def reject_an_axis_that_is_no_int() -> None:
    x.sum(0.5)  # E: sum: axis is 0.5 but an int or a tuple of ints is expected [arg-type]


def reject_a_truth_value_for_an_axis() -> None:
    tg.sum(tg.ones((2, 3)), axis=True)  # E: sum: axis is True but an int or a tuple of ints is expected [tapegrad-dtype]


def reject_a_truth_value_for_the_axis_of_a_method() -> None:
    tg.ones((2, 3)).cumsum(axis=True)  # E: cumsum: axis is True but an int is expected [tapegrad-dtype]
