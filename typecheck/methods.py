"""Methods of tensors that call ops: the sizes, the tape and the dtype are those of the op."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Mul, NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)

x = tg.ones((3, 4))


def accept_methods_of_each_element() -> None:
    assert_type(x.trace().exp(), Tensor[Shape[L[3], L[4]], OwnedTape])
    assert_type(x.trace().clamp(0, 1).softmax(), Tensor[Shape[L[3], L[4]], OwnedTape])
    assert_type(x.pow(2).abs().sqrt(), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(x.trace().sign(), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(x.isfinite().logical_not(), Tensor[Shape[L[3], L[4]], NoneTape, np.bool_])


def accept_methods_that_move_elements() -> None:
    assert_type(x.expand_dims(0), Tensor[Shape[L[1], L[3], L[4]], NoneTape])
    assert_type(x.unflatten(1, (2, 2)), Tensor[Shape[L[3], L[2], L[2]], NoneTape])
    assert_type(x.triu(1).flip(0), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(x.split(2, 1)[1], Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(x.topk(2)[1], Tensor[Shape[L[3], L[2]], NoneTape, np.int64])


def accept_sizes_as_a_tuple_and_one_by_one() -> None:
    assert_type(x.permute(1, 0), Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(x.permute((1, 0)), Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(x.broadcast_to(2, 3, 4), Tensor[Shape[L[2], L[3], L[4]], NoneTape])
    assert_type(x.broadcast_to((2, 3, 4)), Tensor[Shape[L[2], L[3], L[4]], NoneTape])
    assert_type(x.tile(2, 1), Tensor[Shape[L[6], L[4]], NoneTape])


def accept_methods_with_a_second_operand() -> None:
    assert_type(x.matmul(tg.ones((4, 5)).trace()), Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(x.maximum(tg.ones((4,))), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(x.masked_fill(x > 0, 0.0), Tensor[Shape[L[3], L[4]], NoneTape])


def accept_named_and_unknown_sizes() -> None:
    def methods(a: Tensor[Shape[N, L[4]], NoneTape], b: Tensor[Shape[Any, L[4]], NoneTape], c: Tensor[Any, NoneTape]) -> None:
        assert_type(a.log_softmax(1), Tensor[Shape[N, L[4]], NoneTape])
        assert_type(a.tile(2, 1), Tensor[Shape[Mul[L[2], N], L[4]], NoneTape])
        assert_type(b.tanh(), Tensor[Shape[Any, L[4]], NoneTape])
        assert_type(c.exp(), Tensor[Any, NoneTape])

    methods(x, x, x)


def accept_a_method_of_the_class() -> None:
    assert_type(Tensor.exp(x), Tensor[Shape[L[3], L[4]], NoneTape])


def accept_options_by_position() -> None:
    assert_type(tg.clamp(x, 0, 1), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(tg.dropout(tg.tril(x, -1), 0.5), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(tg.normal((3, 4), 0, 1), Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(tg.max_pool2d(tg.ones((1, 1, 6, 6)), 2, 2, 1), Tensor[Shape[L[1], L[1], L[4], L[4]], NoneTape])


def reject_an_axis_out_of_range() -> None:
    x.softmax(2)  # E: softmax: axis 2 is out of range for x (3, 4) [tapegrad-shape]


def reject_inner_sizes() -> None:
    x.matmul(x)  # E: matmul: inner sizes differ: x (3, 4) has 4 columns but y (3, 4) has 3 rows [tapegrad-shape]


def reject_the_dtype_of_an_op() -> None:
    x.logical_not()  # E: logical_not: x is float32 but bool is expected [tapegrad-dtype]


def reject_sizes_that_do_not_broadcast() -> None:
    x.broadcast_to(4, 3)  # E: broadcast_to: x (3, 4) does not broadcast to (4, 3) [tapegrad-shape]
