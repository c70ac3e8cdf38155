"""Ops on nodes: shapes, dtypes and messages are those of the library's ops on tensors."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple

import tapegrad as tg
from tapegrad import Add, NoneTape, Shape, Tensor, tapem
from tapegrad.tapem import Node

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
Batch = TypeVarTuple("Batch")


@tapem.do
def three_leaves() -> tapem.Do[tuple[Node[Shape[L[2], L[3]]], Node[Shape[L[3], L[5]]], Node[Shape[L[5]]]]]:
    x = yield from tapem.leaf(tg.ones((2, 3)), name="x")
    w = yield from tapem.leaf(tg.ones((3, 5)), name="w")
    b = yield from tapem.leaf(tg.ones((5,)), name="b")
    return x, w, b


(x, w, b), tape = three_leaves().run(tapem.Tape.empty()).unwrap()


def accept_the_sizes_of_rules() -> None:
    y = tapem.matmul(x, w).eval(tape).unwrap()
    assert_type(y, Node[Shape[L[2], L[5]]])
    assert_type(tapem.add(x, 2.0).eval(tape).unwrap(), Node[Shape[L[2], L[3]]])
    assert_type(tapem.sum(w, axis=0).eval(tape).unwrap(), Node[Shape[L[5]]])
    assert_type(tapem.max(w, 1, keepdims=True).eval(tape).unwrap(), Node[Shape[L[3], L[1]]])
    assert_type(tapem.mean(x).eval(tape).unwrap(), Node[tuple[()]])
    assert_type(tapem.softmax(w, axis=0).eval(tape).unwrap(), Node[Shape[L[3], L[5]]])
    assert_type(tapem.reshape(w, (5, 3)).eval(tape).unwrap(), Node[Shape[L[5], L[3]]])
    assert_type(tapem.transpose(w).eval(tape).unwrap(), Node[Shape[L[5], L[3]]])
    assert_type(tapem.concat([b, b]).eval(tape).unwrap(), Node[Shape[L[10]]])
    assert_type(tapem.mse_loss(x, x).eval(tape), tapem.Result[Node[tuple[()]]])


def accept_layers() -> None:
    assert_type(tapem.linear(x, w, b).eval(tape).unwrap(), Node[Shape[L[2], L[5]]])
    assert_type(tapem.concat_vectors([b, b]).eval(tape).unwrap(), Node[Shape[L[10]]])
    assert_type(tapem.scale(x, factor=3.0).eval(tape).unwrap(), Node[Shape[L[2], L[3]]])
    assert_type(tapem.safe_log(x).eval(tape).unwrap(), Node[Shape[L[2], L[3]]])
    assert_type(tapem.layer_norm(w, b, b).eval(tape).unwrap(), Node[Shape[L[3], L[5]]])
    assert_type(tapem.multi_head_attention(x, x, x, heads=3).eval(tape).unwrap(), Node[Shape[L[2], L[3]]])


def accept_images() -> None:
    images, longer = tapem.leaf(tg.ones((2, 3, 8, 6))).run(tape).unwrap()
    kernels, longer = tapem.leaf(tg.ones((4, 3, 3, 3))).run(longer).unwrap()
    spread, longer = tapem.leaf(tg.ones((3, 5, 2, 2))).run(longer).unwrap()
    ones, longer = tapem.leaf(tg.ones((3,))).run(longer).unwrap()
    assert_type(tapem.conv2d(images, kernels, padding=1).eval(longer).unwrap(), Node[Shape[L[2], L[4], L[8], L[6]]])
    assert_type(tapem.conv_transpose(images, spread, stride=2).eval(longer).unwrap(), Node[Shape[L[2], L[5], L[16], L[12]]])
    assert_type(tapem.conv_transpose2d(images, spread).eval(longer).unwrap(), Node[Shape[L[2], L[5], L[9], L[7]]])
    assert_type(tapem.max_pool2d(images, 2).eval(longer).unwrap(), Node[Shape[L[2], L[3], L[4], L[3]]])
    assert_type(tapem.max_pool2d_pad(images, 3, stride=1, padding=1).eval(longer).unwrap(), Node[Shape[L[2], L[3], L[8], L[6]]])
    assert_type(tapem.smooth_max_pool2d(images, 2, beta=3.0).eval(longer).unwrap(), Node[Shape[L[2], L[3], L[4], L[3]]])
    assert_type(tapem.avg_pool2d(images, (4, 3)).eval(longer).unwrap(), Node[Shape[L[2], L[3], L[2], L[2]]])
    assert_type(tapem.avg_pool2d_pad(images, 2, padding=1).eval(longer).unwrap(), Node[Shape[L[2], L[3], L[5], L[4]]])
    assert_type(tapem.batchnorm_channel_first(images, ones, ones).eval(longer).unwrap(), Node[Shape[L[2], L[3], L[8], L[6]]])


def accept_one_operand_of_any_kind() -> None:
    assert_type(tapem.abs(x).eval(tape).unwrap(), Node[Shape[L[2], L[3]]])
    assert_type(tapem.clamp(x, min=0.5).eval(tape).unwrap(), Node[Shape[L[2], L[3]]])
    assert_type(tapem.log(x).eval(tape).unwrap(), Node[Shape[L[2], L[3]]])
    assert_type(tapem.inv(b).eval(tape).unwrap(), Node[Shape[L[5]]])


def accept_named_sizes() -> None:
    def outer(a: Node[Shape[N]], c: Node[Shape[M]]) -> tapem.TapeM[Node[Shape[Add[N, M]]]]:
        assert_type(tapem.mul(a, a).eval(tape).unwrap(), Node[Shape[N]])
        return tapem.concat_vectors([a, c])

    assert_type(outer(b, b).eval(tape).unwrap(), Node[Shape[L[10]]])


def accept_any_number_of_sizes() -> None:
    def projected(a: Node[Shape[*Batch, L[3]]]) -> tapem.TapeM[Node[Shape[*Batch, L[5]]]]:
        return tapem.linear(a, w, b)

    assert_type(projected(x).eval(tape).unwrap(), Node[Shape[L[2], L[5]]])


def accept_unknown_sizes() -> None:
    def multiplied(a: Node[Any], c: Node[Shape[Any, L[5]]]) -> None:
        assert_type(tapem.matmul(a, c).eval(tape).unwrap(), Node[Shape[*tuple[Any, ...], L[5]]])
        assert_type(tapem.exp(c).eval(tape).unwrap(), Node[Shape[Any, L[5]]])

    multiplied(x, w)


def accept_dtypes() -> None:
    exact, longer = tapem.leaf(tg.ones((2, 3), np.float64)).run(tape).unwrap()
    assert_type(tapem.exp(exact).eval(longer).unwrap(), Node[Shape[L[2], L[3]], np.float64])
    labels = tapem.leaf(tg.tensor([1, 2])).eval(tape).unwrap()
    assert_type(labels, Node[Shape[L[2]], np.int64])


def accept_an_op_of_ones_own() -> None:
    def doubled(x: Tensor[Shape[N, M], Any]) -> Tensor[Shape[M, N], Any]:
        return (x + x).T

    turned = tapem.lift(doubled)
    assert_type(turned(x).eval(tape).unwrap(), Node[Shape[L[3], L[2]]])


def accept_a_wrapper_handed_on() -> None:
    assert_type(tapem.matmul(x, w).bind(tapem.exp).bind(tapem.transpose).eval(tape).unwrap(), Node[Shape[L[5], L[2]]])


def accept_wrappers_that_are_compared() -> None:
    assert_type(tapem.exp == tapem.log, bool)
    assert_type(repr(tapem.exp), str)
    assert {tapem.exp: 1}[tapem.exp] == 1


def accept_gradients_of_the_shape_of_their_nodes() -> None:
    loss, longer = tapem.matmul(x, w).bind(tapem.sum).run(tape).unwrap()
    grads = tapem.backward(loss).eval(longer).unwrap()
    assert_type(grads.of(w), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(tapem.gradient(grads, x).eval(longer).unwrap(), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tapem.value(loss).eval(longer).unwrap(), Tensor[tuple[()], NoneTape])
    assert_type(tapem.item(loss).eval(longer).unwrap(), float)


def reject_inner_sizes() -> None:
    tapem.matmul(w, x).eval(tape).unwrap()  # E: matmul: inner sizes differ: x (3, 5) has 5 columns but y (2, 3) has 2 rows [tapegrad-shape]


def reject_what_does_not_broadcast() -> None:
    tapem.add(x, b).eval(tape).unwrap()  # E: add: x (2, 3) and y (5,) do not broadcast: axis -1 is 3 in x but 5 in y [tapegrad-shape]


def reject_an_axis_that_is_not_there() -> None:
    tapem.softmax(b, axis=1).eval(tape).unwrap()  # E: softmax: axis 1 is out of range for x (5,) [tapegrad-shape]


def reject_a_target_of_another_shape() -> None:
    tapem.mse_loss(x, w).eval(tape).unwrap()  # E: mse: target (3, 5) does not fit x (2, 3): expected (2, 3) [tapegrad-shape]


def reject_parts_that_differ() -> None:
    tapem.concat([x, w]).eval(tape).unwrap()  # E: concat: tensors[1] (3, 5) has 5 along axis 1 but tensors[0] (2, 3) has 3 [tapegrad-shape]


def reject_two_dtypes() -> None:
    exact, longer = tapem.leaf(tg.ones((2, 3), np.float64)).run(tape).unwrap()
    tapem.add(x, exact).eval(longer).unwrap()  # E: add: x is float32 but y is float64 [tapegrad-dtype]


def reject_ints_in_the_place_of_floats() -> None:
    labels, longer = tapem.leaf(tg.tensor([1, 2])).run(tape).unwrap()
    tapem.tanh(labels).eval(longer).unwrap()  # E: tanh: x is int64 but floating is expected [tapegrad-dtype]


def reject_a_leaf_with_a_tape() -> None:
    tapem.leaf(tg.ones((2,)).trace()).eval(tape).unwrap()  # E: leaf: value has a tape but must have none [tapegrad-tape]


def reject_the_gradient_of_what_is_no_scalar() -> None:
    tapem.backward(b).eval(tape).unwrap()  # E: backward: loss is (5,) but () is expected: rank 1, not 0 [tapegrad-shape]


def reject_the_number_of_what_is_no_scalar() -> None:
    tapem.item(x).eval(tape).unwrap()  # E: item: loss is (2, 3) but () is expected: rank 2, not 0 [tapegrad-shape]


def reject_a_wrapper_handed_on_to_ints() -> None:
    tapem.leaf(tg.tensor([1, 2])).bind(tapem.tanh).eval(tape).unwrap()  # E: tanh: x is int64 but floating is expected [tapegrad-dtype]


def reject_a_tensor_in_the_place_of_a_node() -> None:
    _ = tapem.exp(tg.ones((2,)))  # E(mypy): Argument 1 to "exp" has incompatible type "Tensor[tuple[Literal[2]], NoneTape, floating[_32Bit]]"; expected "Node[Any, Any]" [arg-type]


def reject_an_argument_that_is_missing() -> None:
    _ = tapem.matmul(x)  # E(mypy): Missing positional argument "y" in call to "matmul" [call-arg]


def reject_a_setting_of_another_type() -> None:
    _ = tapem.softmax(x, axis="rows")  # E(mypy): softmax: axis is 'rows' but an int is expected [arg-type]


def reject_named_sizes_that_are_two() -> None:
    def wrong(a: Node[Shape[N, M]]) -> None:
        tapem.matmul(a, a).eval(tape).unwrap()  # E(mypy): matmul: inner sizes differ: x (N, M) has M columns but y (N, M) has N rows [tapegrad-shape]

    wrong(x)


def reject_a_bias_of_another_size() -> None:
    short, longer = tapem.leaf(tg.ones((4,))).run(tape).unwrap()
    tapem.linear(x, w, short).eval(longer).unwrap()  # E: linear: weight (3, 5) has 5 columns but bias (4,) has 4 [tapegrad-shape]


def reject_one_gradient_for_another() -> None:
    loss, longer = tapem.sum(x).run(tape).unwrap()
    dx: Tensor[Shape[L[3], L[2]], NoneTape] = tapem.backward(loss).eval(longer).unwrap().of(x)  # E(mypy): reject_one_gradient_for_another: dx is (2, 3) but (3, 2) is expected: axis 0 is 2, not 3 [assignment]
