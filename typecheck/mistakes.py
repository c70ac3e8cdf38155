"""Common mistakes, each with its whole error message."""

from typing import Generic, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Gradients, NoneTape, OwnedTape, Shape, Tensor, guarded, nn

N = TypeVar("N", bound=int)
H = TypeVar("H", bound=int)

x = tg.ones((2, 3))


def reject_a_layer_of_another_width() -> None:
    nn.Sequential(nn.Linear(784, 512), nn.Linear(500, 128), nn.Linear(128, 10))  # E(mypy): Sequential[1] Linear(500, 128): x is (..., 512) but (..., 500) is expected: axis -1 is 512, not 500 [tapegrad-shape]


def reject_an_input_of_another_width() -> None:
    nn.Linear(784, 10)(tg.ones((32, 783)))  # E: Linear(784, 10): x is (32, 783) but (..., 784) is expected: axis -1 is 783, not 784 [tapegrad-shape]


def reject_an_input_of_another_width_in_a_model() -> None:
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
    model(tg.ones((32, 783)))  # E: model[0] Linear(784, 512): x is (32, 783) but (..., 784) is expected: axis -1 is 783, not 784 [tapegrad-shape]


def reject_adding_other_shapes() -> None:
    tg.ones((2, 3)) + tg.ones((2, 4))  # E: add: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_multiplying_other_shapes() -> None:
    tg.ones((2, 3)) @ tg.ones((4, 5))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 5) has 4 rows [tapegrad-shape]


def reject_a_broadcast_that_does_not_fit() -> None:
    tg.broadcast_to(tg.ones((3,)), (4, 5))  # E: broadcast_to: x (3,) does not broadcast to (4, 5) [tapegrad-shape]


def reject_an_axis_that_is_not_there() -> None:
    x.sum(axis=2)  # E: sum: axis 2 is out of range for x (2, 3) [tapegrad-shape]


def reject_a_reshape_to_other_elements() -> None:
    x.reshape((7,))  # E: reshape: x (2, 3) has 6 elements but shape (7,) has 7 [tapegrad-shape]


def reject_backward_without_a_tape() -> None:
    x.sum().backward()  # E: backward: the tensor has no tape; trace an input first [tapegrad-tape]


def reject_backward_on_a_matrix() -> None:
    (x.trace() * 2.0).backward()  # E: backward: x (2, 3) is not a scalar; reduce it or pass seed= [tapegrad-shape]


def reject_a_second_backward() -> None:
    loss = x.trace().sum()
    loss.backward()
    loss.backward()  # E(mypy): loss.backward(): loss was consumed by loss.backward() on line {-1}; trace again [tapegrad-tape]


def accept_a_traced_operand_on_the_right() -> None:
    assert_type(x * x.trace(), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_a_traced_tensor_twice() -> None:
    y = x.trace()
    assert_type(y * y, Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_a_number_on_the_left() -> None:
    assert_type(2.0 * x.trace(), Tensor[Shape[L[2], L[3]], OwnedTape])


def reject_scores_against_targets_of_another_width() -> None:
    tg.cross_entropy(tg.ones((32, 10)), tg.ones((32, 9)))  # E: cross_entropy: target (32, 9) does not fit x (32, 10): expected (32, 10) [tapegrad-shape]


def reject_a_tape_put_on_a_traced_tensor() -> None:
    x.trace().put_tape(x.trace().tape)  # E: put_tape: x has a tape but must have none [tapegrad-tape]


def reject_concatenated_tapes_by_hand() -> None:
    x.trace().trace()  # E: trace: the tensor has a tape already [tapegrad-tape]


def reject_a_module_wired_wrongly_inside() -> None:
    class Wrong(nn.Module, Generic[H]):
        def __init__(self, hidden: H) -> None:
            self.rise = nn.Linear(64, hidden)
            self.fall = nn.Linear(hidden, 10)

        def forward(self, image: Tensor[Shape[N, L[64]], NoneTape]) -> Tensor[Shape[N, L[10]], NoneTape]:
            return self.fall(tg.relu(self.fall(self.rise(image))))  # E(mypy): Wrong.fall Linear(H, 10): x is (N, 10) but (..., H) is expected: axis -1 is 10, not H [tapegrad-shape]

    Wrong(32)


def reject_a_gradient_of_another_shape() -> None:
    def square(a: Tensor[Shape[N, H], OwnedTape]) -> Tensor[Shape[N, H], OwnedTape]:
        a_, tape = tg.split_tape(a)
        out = tg.node(a_.data * a_.data)

        def backward(grads: Gradients) -> None:
            grads.add(a_, grads.pop_output(out).T)  # E(mypy): Gradients.add: S is (N, H) in x but (H, N) in gradient [tapegrad-shape]

        return tape.record(out, (a_,), backward)

    square(x.trace())


def reject_the_guarded_signature() -> None:
    @guarded
    def same(a: Tensor[Shape[N], NoneTape], b: Tensor[Shape[N], NoneTape]) -> Tensor[Shape[N], NoneTape]:
        return a + b

    same(tg.ones((3,)), tg.ones((4,)))  # E: same: N is 3 in a but 4 in b [tapegrad-shape]


def reject_a_list_for_the_array_of_a_tensor() -> None:
    tg.Tensor([1.0])  # E: Tensor: data is a list, not an array; tg.tensor(data) makes a tensor of it [arg-type]


def reject_a_string_for_a_rate() -> None:
    tg.dropout(x, "a")  # E: dropout: rate is 'a' but a number is expected [arg-type]


def reject_a_string_for_a_rate_of_a_layer() -> None:
    nn.Dropout("a")  # E: Dropout: p is 'a' but a number is expected [arg-type]


def reject_a_fraction_as_an_index() -> None:
    x[0, 1.5]  # E: getitem: a float is neither an int, a slice, ..., None, a list of ints nor a tensor of indices [index]


def reject_a_string_as_an_index() -> None:
    x["a"]  # E: getitem: a str is neither an int, a slice, ..., None, a list of ints nor a tensor of indices [index]


def reject_a_string_for_a_number_of_a_norm() -> None:
    nn.LayerNorm(3, eps="a")  # E: LayerNorm: eps is a str but a float is expected [arg-type]


def reject_a_bool_for_a_number_of_a_norm() -> None:
    nn.LayerNorm(3, eps=True)  # E: LayerNorm: eps is True but a number is expected [arg-type]


def reject_a_bool_for_a_rate() -> None:
    nn.Dropout(p=True)  # E: Dropout: p is True but a number is expected [arg-type]


def reject_a_fraction_as_a_width() -> None:
    nn.Linear(1.5, 3)  # E: Linear: in_features is a float but an int is expected [arg-type]


def reject_a_number_as_a_flag_of_a_layer() -> None:
    nn.Upsample(2, align_corners=1)  # E: Upsample: align_corners is an int but a bool is expected [arg-type]


def reject_a_pair_as_a_scale() -> None:
    nn.Upsample((2, 2))  # E: Upsample: scale is a tuple of 2 but an int is expected [arg-type]


@tg.guarded
def row_of(n: N) -> Tensor[Shape[N], NoneTape]:
    """Return ones."""
    return tg.ones(n)


def reject_a_bool_for_a_size_of_a_guarded_function() -> None:
    row_of(n=True)  # E: row_of: n is a bool but an int is expected [tapegrad-dtype]


def reject_a_bool_among_the_sizes_of_a_layer() -> None:
    nn.LayerNorm((3, True))  # E: LayerNorm: width is a tuple of 2 but an int or a tuple of ints is expected [tapegrad-dtype]


def reject_a_number_for_a_flag_of_a_layer() -> None:
    nn.Linear(4, 3, bias=0)  # E: Linear: bias is an int but a bool is expected [type-var]


def reject_a_text_for_the_sizes_of_a_pool() -> None:
    nn.MaxPool2d("a")  # E: MaxPool2d: kernel is 'a' but an int or a tuple of ints is expected [tapegrad-dtype]


def reject_a_bool_for_a_number_of_an_op() -> None:
    tg.leaky_relu(tg.ones((3, 4)), negative_slope=True)  # E: leaky_relu: negative_slope is True but a number is expected [arg-type]


def reject_a_bool_for_a_number_of_an_op_whose_default_is_equal() -> None:
    tg.elu(tg.ones((3, 4)), alpha=True)  # E: elu: alpha is True but a number is expected [arg-type]


def reject_a_bool_for_an_axis_with_another_name() -> None:
    tg.swapaxes(tg.ones((3, 4)), axis1=True, axis2=0)  # E: swapaxes: axis1 is True but an int is expected [tapegrad-dtype]


def reject_a_bool_for_a_count_that_no_rule_reads() -> None:
    tg.group_norm(tg.ones((3, 4)), tg.ones((4,)), tg.ones((4,)), groups=True)  # E: group_norm: groups is True but an int is expected [tapegrad-dtype]
