"""Normalisation keeps the shape; axes must exist, and weight and bias are as long as the last axis."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
stack = tg.ones((2, 3, 5)).trace()
three, five = tg.ones((3,)), tg.ones((5,))


def accept_any_axes() -> None:
    assert_type(tg.normalize(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.normalize(stack, 0), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])
    assert_type(tg.normalize(stack, (0, -1), eps=1e-3), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])
    assert_type(tg.normalize(x, None), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_weight_and_bias() -> None:
    assert_type(tg.layer_norm(x, three, three), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.layer_norm(stack, five, five, eps=1e-3), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])
    assert_type(tg.rms_norm(stack, five), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])


def accept_rows_of_several_axes() -> None:
    rows = tg.ones((3, 5))
    assert_type(tg.layer_norm(stack, rows, rows), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])
    assert_type(tg.rms_norm(x, tg.ones((2, 3)).trace()), Tensor[Shape[L[2], L[3]], OwnedTape])

    def normed(a: Tensor[Shape[N, M, L[7]]], w: Tensor[Shape[M, L[7]]]) -> None:
        assert_type(tg.layer_norm(a, w, w), Tensor[Shape[N, M, L[7]], NoneTape])
        assert_type(tg.rms_norm(a, w), Tensor[Shape[N, M, L[7]], NoneTape])

    normed(tg.ones((3, 4, 7)), tg.ones((4, 7)))


def accept_channels() -> None:
    assert_type(tg.batch_norm(x, three, three), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.batch_norm(stack, three, three, eps=1e-3), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])
    assert_type(tg.group_norm(stack, three, three, groups=3), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])
    assert_type(tg.instance_norm(stack.detach(), three, three.trace()), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])


def accept_channels_by_name() -> None:
    def normed(a: Tensor[Shape[N, M, L[7]]], w: Tensor[Shape[M]], groups: int) -> None:
        assert_type(tg.batch_norm(a, w, w), Tensor[Shape[N, M, L[7]], NoneTape])
        assert_type(tg.group_norm(a, w, w, groups=groups), Tensor[Shape[N, M, L[7]], NoneTape])
        tg.assert_divides(2, a.shape[1])
        assert_type(tg.group_norm(a, w, w, groups=2), Tensor[Shape[N, M, L[7]], NoneTape])
        assert_type(tg.instance_norm(a, w, w), Tensor[Shape[N, M, L[7]], NoneTape])

    normed(tg.ones((3, 4, 7)), tg.ones((4,)), 4)


def accept_the_tape_of_any_operand() -> None:
    assert_type(tg.layer_norm(x, three.trace(), three), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.layer_norm(x, three, three.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.rms_norm(x, three.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_named_sizes() -> None:
    def normed(a: Tensor[Shape[N, M], OwnedTape], w: Tensor[Shape[M], NoneTape]) -> Tensor[Shape[N, M], OwnedTape]:
        assert_type(tg.normalize(a, 0), Tensor[Shape[N, M], OwnedTape])
        assert_type(tg.rms_norm(a, w), Tensor[Shape[N, M], OwnedTape])
        return tg.layer_norm(a, w, w)

    assert_type(normed(x.trace(), three), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_unknown_sizes() -> None:
    def normed(a: Tensor[Shape[Any, L[3]]], b: Tensor[Any, OwnedTape], c: Tensor) -> None:
        assert_type(tg.normalize(a), Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(tg.normalize(b), Tensor[Any, OwnedTape])
        assert_type(tg.rms_norm(a, three), Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(tg.normalize(c, 1), Tensor[Any, Any, Any])
        tg.layer_norm(b, three, three)
        tg.rms_norm(x, c.sum(0) + three)

    normed(x, x.trace(), x)


def accept_dtypes() -> None:
    assert_type(tg.normalize(x.astype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_normalize_along_no_axis() -> None:
    tg.normalize(stack, 3)  # E: normalize: axis 3 is out of range for x (2, 3, 5) [tapegrad-shape]


def reject_normalize_along_an_axis_twice() -> None:
    tg.normalize(x, (0, -2))  # E: normalize: axis (0, -2) names an axis of x (2, 3) twice [tapegrad-shape]


def reject_a_weight_of_another_width() -> None:
    tg.layer_norm(x, five, three)  # E: layer_norm: axis -1 of x (2, 3) is 3 but weight (5,) has 5 [tapegrad-shape]


def reject_a_bias_that_would_broadcast() -> None:
    tg.layer_norm(x, three, tg.ones((1,)))  # E: layer_norm: axis -1 of x (2, 3) is 3 but bias (1,) has 1 [tapegrad-shape]


def reject_a_weight_for_the_rows() -> None:
    def normed(a: Tensor[Shape[N, M]], w: Tensor[Shape[N]]) -> None:
        tg.rms_norm(a, w)  # E(mypy): rms_norm: axis -1 of x (N, M) is M but weight (N,) has N [tapegrad-shape]

    normed(tg.ones((3, 3)), three)


def reject_a_weight_of_other_rows() -> None:
    tg.rms_norm(x, tg.ones((3, 3)))  # E: rms_norm: axis -2 of x (2, 3) is 2 but weight (3, 3) has 3 [tapegrad-shape]


def reject_a_bias_of_another_rank() -> None:
    tg.layer_norm(x, x, three)  # E: layer_norm: bias (3,) has rank 1, not 2 [tapegrad-shape]


def reject_a_weight_of_more_axes() -> None:
    tg.rms_norm(three, x)  # E: rms_norm: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]


def reject_a_scalar() -> None:
    tg.rms_norm(tg.ones(()), three)  # E: rms_norm: x () has rank 0 but needs at least 1 [tapegrad-shape]


def reject_ints() -> None:
    tg.normalize(tg.tensor([1, 2]))  # E: normalize: x is int64 but floating is expected [tapegrad-dtype]


def reject_a_weight_of_another_dtype() -> None:
    tg.layer_norm(x, three.astype(np.float64), three)  # E: layer_norm: x is float32 but weight is float64 [tapegrad-dtype]


def reject_a_weight_for_other_channels() -> None:
    tg.batch_norm(stack, five, three)  # E: batch_norm: axis 1 of x (2, 3, 5) is 3 but weight (5,) has 5 [tapegrad-shape]


def reject_a_batch_without_channels() -> None:
    tg.batch_norm(three, three, three)  # E: batch_norm: x (3,) has rank 1 but needs at least 2 [tapegrad-shape]


def reject_groups_that_do_not_divide_the_channels() -> None:
    tg.group_norm(stack, three, three, groups=2)  # E: group_norm: axis 1 of x (2, 3, 5) is 3, which does not divide into 2 groups [tapegrad-shape]


def reject_no_groups() -> None:
    tg.group_norm(stack, three, three, groups=0)  # E: group_norm: groups is 0 but at least 1 is expected [tapegrad-shape]


def reject_an_instance_of_nothing() -> None:
    tg.instance_norm(x, three, three)  # E: instance_norm: x (2, 3) has rank 2 but needs at least 3 [tapegrad-shape]


def reject_groups_that_nothing_says_divide_the_channels() -> None:
    def normed(a: Tensor[Shape[N, M]], w: Tensor[Shape[M]]) -> None:
        tg.group_norm(a, w, w, groups=2)  # E(mypy): group_norm: axis 1 of x (N, M) is M, and it is not known that this divides into 2 groups: add tg.assert_divides(2, a.shape[1]) [tapegrad-shape]

    normed(tg.ones((3, 4)), tg.ones((4,)))
