"""Elementwise arithmetic: broadcasting, numbers and arrays on either side, every pair of tapes."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
S = TypeVar("S", bound=tuple[Any, ...])

x = tg.ones((2, 3))
y = tg.ones((3,))
column = tg.ones((2, 1))
whole = tg.tensor([1, 2, 3])
truth = tg.tensor([True, False, True])
array = np.ones((2, 3), np.float32)


# Broadcasting


def accept_equal_shapes() -> None:
    assert_type(x + x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(x - x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(x * x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(x / x, Tensor[Shape[L[2], L[3]], NoneTape])


def accept_functions() -> None:
    assert_type(tg.add(x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.sub(y, x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.mul(x, column), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.div(column, y), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_operators() -> None:
    assert_type(x + y, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(y - x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(x * column, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(column / y, Tensor[Shape[L[2], L[3]], NoneTape])


def accept_ranks_and_ones() -> None:
    stack = tg.ones((7, 1, 3))

    assert_type(stack + column, Tensor[Shape[L[7], L[2], L[3]], NoneTape])
    assert_type(tg.ones(()) * stack, Tensor[Shape[L[7], L[1], L[3]], NoneTape])
    assert_type(tg.ones((1, 1)) - tg.ones((1,)), Tensor[Shape[L[1], L[1]], NoneTape])
    assert_type(tg.ones((0, 1)) + y, Tensor[Shape[L[0], L[3]], NoneTape])


def accept_named_sizes() -> None:
    def added(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[N, L[1]]]) -> Tensor[Shape[N, M]]:
        assert_type(a + b, Tensor[Shape[N, M], NoneTape])
        assert_type(a * c, Tensor[Shape[N, M], NoneTape])
        assert_type(b / c, Tensor[Shape[N, M], NoneTape])
        assert_type(tg.ones((1, 1)) - a, Tensor[Shape[N, M], NoneTape])
        return a + b * c

    assert_type(added(x, y, column), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_unknown_sizes() -> None:
    def added(a: Tensor[Shape[Any, L[3]]], b: Tensor[Shape[L[2], Any]], c: Tensor[Any], d: Tensor) -> None:
        assert_type(a + x, Tensor[Shape[L[2], L[3]], NoneTape])
        assert_type(a + y, Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(a * column, Tensor[Shape[L[2], L[3]], NoneTape])
        assert_type(a - b, Tensor[Shape[L[2], L[3]], NoneTape])
        assert_type(b * column, Tensor[Shape[L[2], Any], NoneTape])
        assert_type(c + x, Tensor[Shape[*tuple[Any, ...], L[2], L[3]], NoneTape])
        assert_type(tg.exp(d), Tensor[Any, Any, Any])

    added(x, x, x, x)


def accept_an_unknown_size_beside_a_name() -> None:
    def added(a: Tensor[Shape[N]], b: Tensor[Shape[Any]]) -> None:
        assert_type(a + b, Tensor[Shape[Any], NoneTape])  # N may be 1

    added(tg.ones((1,)), y)


def accept_any_shape() -> None:
    def doubled(a: Tensor[S]) -> Tensor[S]:
        assert_type(a + a, Tensor[S, NoneTape])
        assert_type(-a, Tensor[S, NoneTape])
        return a * 2.0

    assert_type(doubled(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(doubled(tg.ones(())), Tensor[tuple[()], NoneTape])


# Numbers and arrays


def accept_numbers_on_both_sides() -> None:
    assert_type(2.0 * x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(x - 1, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(1 / x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(1 - x.trace(), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(x.trace() / 2, Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.add(1, x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.div(x, 2.0), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_numbers_that_the_dtype_holds() -> None:
    assert_type(whole + 1, Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(True + whole, Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(truth + True, Tensor[Shape[L[3]], NoneTape, np.bool_])


def accept_an_array_on_either_side() -> None:
    assert_type(array + x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(x - array, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(array * x.trace(), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.mul(array, x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(array + y, Tensor[Shape[L[2], L[3]], NoneTape])


def accept_a_number_of_numpys() -> None:
    assert_type(np.float32(2) * x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(x + np.float64(2), Tensor[Shape[L[2], L[3]], NoneTape])


# Tapes


def accept_tapes_on_either_side() -> None:
    assert_type(x.trace() + y, Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(x - y.trace(), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(x.trace() * y.trace(), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.div(x, y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_a_tensor_used_twice() -> None:
    a = x.trace()

    assert_type(a * a + a, Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_rebinding() -> None:
    a = x
    a += y
    assert_type(a, Tensor[Shape[L[2], L[3]], NoneTape])
    a *= y.trace()
    assert_type(a, Tensor[Shape[L[2], L[3]], OwnedTape])


# One operand


def accept_functions_of_one_tensor() -> None:
    assert_type(-x, Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.neg(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.exp(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.log(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.tanh(x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.relu(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_ints_where_there_is_a_sign() -> None:
    assert_type(-whole, Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(tg.relu(whole), Tensor[Shape[L[3]], NoneTape, np.int64])


def accept_named_sizes_of_one_tensor() -> None:
    def squashed(a: Tensor[Shape[N, M], OwnedTape], b: Tensor[Shape[Any, N]]) -> Tensor[Shape[N, M], OwnedTape]:
        assert_type(tg.exp(b), Tensor[Shape[Any, N], NoneTape])
        return tg.tanh(tg.relu(-a))

    assert_type(squashed(x.trace(), x.T), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_conversions() -> None:
    assert_type(x.astype(np.float64), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])
    assert_type(tg.astype(x.trace(), np.int64), Tensor[Shape[L[2], L[3]], OwnedTape, np.int64])
    assert_type(x.astype(np.float64) + y.astype(np.float64), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])
    assert_type(whole.astype(np.float32) / 2, Tensor[Shape[L[3]], NoneTape])


# Rejected


def reject_columns() -> None:
    tg.ones((2, 3)) + tg.ones((2, 4))  # E: add: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_a_difference() -> None:
    x - tg.ones((2,))  # E: sub: x (2, 3) and y (2,) do not broadcast: axis -1 is 3 in x but 2 in y [tapegrad-shape]


def reject_a_product_of_another_rank() -> None:
    tg.mul(tg.ones((7, 4, 3)), x)  # E: mul: x (7, 4, 3) and y (2, 3) do not broadcast: axis -2 is 4 in x but 2 in y [tapegrad-shape]


def reject_a_quotient() -> None:
    tg.div(y, tg.ones((5, 4)))  # E: div: x (3,) and y (5, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_an_empty_axis_beside_three() -> None:
    y + tg.ones((0,))  # E: add: x (3,) and y (0,) do not broadcast: axis -1 is 3 in x but 0 in y [tapegrad-shape]


def reject_an_unknown_size_beside_two_others() -> None:
    def added(a: Tensor[Shape[Any, L[4]]]) -> None:
        a + x  # E(mypy): add: x (?, 4) and y (2, 3) do not broadcast: axis -1 is 4 in x but 3 in y [tapegrad-shape]

    assert callable(added)  # a call would show its sizes


def reject_a_traced_operand_of_another_size() -> None:
    y.trace() * tg.ones((4,)).trace()  # E: mul: x (3,) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_names_that_are_two_sizes() -> None:
    def added(a: Tensor[Shape[N]], b: Tensor[Shape[M]]) -> None:
        a + b  # E(mypy): add: x (N,) and y (M,) do not broadcast: axis -1 is N in x but M in y [tapegrad-shape]

    added(y, y)


def reject_a_name_beside_a_number() -> None:
    def added(a: Tensor[Shape[N, L[3]]]) -> None:
        a * tg.ones((5, 1))  # E(mypy): mul: x (N, 3) and y (5, 1) do not broadcast: axis -2 is N in x but 5 in y [tapegrad-shape]

    added(x)


def reject_two_dtypes() -> None:
    x + whole  # E: add: x is float32 but y is int64 [tapegrad-dtype]


def reject_two_floats() -> None:
    tg.mul(x.astype(np.float64), y)  # E: mul: x is float64 but y is float32 [tapegrad-dtype]


def reject_an_array_of_another_dtype() -> None:
    np.ones((2, 3)) + x  # E: add: x is float64 but y is float32 [tapegrad-dtype]


def reject_a_number_of_another_dtype() -> None:
    x - np.float16(1)  # E: sub: x is float32 but y is float16 [tapegrad-dtype]


def reject_a_fraction_beside_ints() -> None:
    whole * 0.5  # E: mul: y is a float but x is int64 [tapegrad-dtype]


def reject_a_fraction_on_the_left_of_ints() -> None:
    0.5 + whole  # E: add: x is a float but y is int64 [tapegrad-dtype]


def reject_an_int_beside_bools() -> None:
    truth + 1  # E: add: y is an int but x is bool [tapegrad-dtype]


def reject_a_difference_of_bools() -> None:
    truth - truth  # E: sub: x is bool but number is expected [tapegrad-dtype]


def reject_a_quotient_of_ints() -> None:
    whole / whole  # E: div: x is int64 but floating is expected [tapegrad-dtype]


def reject_a_quotient_of_a_number_and_ints() -> None:
    1 / whole  # E: div: y is int64 but floating is expected [tapegrad-dtype]


def reject_the_sign_of_bools() -> None:
    -truth  # E: neg: x is bool but number is expected [tapegrad-dtype]


def reject_relu_of_bools() -> None:
    tg.relu(truth)  # E: relu: x is bool but number is expected [tapegrad-dtype]


def reject_exp_of_ints() -> None:
    tg.exp(whole)  # E: exp: x is int64 but floating is expected [tapegrad-dtype]


def reject_log_of_ints() -> None:
    tg.log(whole)  # E: log: x is int64 but floating is expected [tapegrad-dtype]


def reject_tanh_of_bools() -> None:
    tg.tanh(truth)  # E: tanh: x is bool but floating is expected [tapegrad-dtype]


def reject_two_numbers() -> None:
    tg.add(1.0, 2)  # E: add: neither a float nor an int is a tensor [tapegrad-dtype]


def reject_a_number_where_only_a_tensor_is_one() -> None:
    tg.exp(2.0)  # E: exp: x is a float, not a tensor [arg-type]


def reject_a_tuple_of_tensors() -> None:
    tg.exp((tg.ones(3), tg.ones(3)))  # E: exp: x is a tuple, not a tensor [arg-type]


def reject_a_word() -> None:
    x + "a"  # E: add: a str is neither a tensor nor a number nor a NumPy array [operator]


def reject_a_list_in_an_operation() -> None:
    x @ [[1.0], [2.0], [3.0]]  # E: matmul: a list is neither a tensor nor a number nor a NumPy array [operator]


def reject_none_as_an_operand() -> None:
    tg.add(x, None)  # E: add: a NoneType is neither a tensor nor a number nor a NumPy array [arg-type]


def reject_what_is_no_dtype_of_numpys() -> None:
    x.astype(bool)  # E: astype: dtype is the class bool but a dtype of NumPy, or its scalar type, is expected [tapegrad-dtype]


def reject_complex_numbers() -> None:
    x.astype(np.complex64)  # E: astype: dtype is complex64 but floating, integer or bool is expected [tapegrad-dtype]


def reject_objects() -> None:
    tg.zeros((2,), np.object_)  # E: zeros: dtype is object but floating, integer or bool is expected [tapegrad-dtype]


def reject_times() -> None:
    tg.full((2,), 1, np.dtype(np.timedelta64))  # E: full: dtype is timedelta64 but floating, integer or bool is expected [tapegrad-dtype]


def reject_a_dtype_by_its_word() -> None:
    tg.zeros((2,), "float32")  # E: zeros: dtype is a str but a dtype of NumPy, or its scalar type, is expected [tapegrad-dtype]


def reject_a_result_of_another_shape() -> None:
    def added(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]]) -> Tensor[Shape[M, N]]:
        return a + b  # E(mypy): added: the result is (N, M) but (M, N) is expected: axis 0 is N, not M [return-value]

    added(x, y)


def accept_scale() -> None:
    assert_type(tg.scale(x, factor=0.5), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.scale(x.trace(), factor=0.5), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.scale(x.astype(np.float64), factor=0.5), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])


def reject_scale_of_ints() -> None:
    tg.scale(whole, factor=0.5)  # E: scale: x is int64 but floating is expected [tapegrad-dtype]


def accept_positive() -> None:
    assert_type(+x.trace(), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.positive(whole), Tensor[Shape[L[3]], NoneTape, np.int64])

    def kept(a: Tensor[S]) -> Tensor[S]:
        return +a

    assert_type(kept(x), Tensor[Shape[L[2], L[3]], NoneTape])


def reject_positive_of_bools() -> None:
    +truth  # E: positive: x is bool but number is expected [tapegrad-dtype]


def accept_interpolation() -> None:
    assert_type(tg.lerp(x, x.trace(), 0.5), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.lerp(x, tg.ones((5, 1, 1)), tg.ones(3)), Tensor[Shape[L[5], L[2], L[3]], NoneTape])

    def between(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], share: Tensor[Shape[Any, L[1]]]) -> None:
        assert_type(tg.lerp(a, b, 0.25), Tensor[Shape[N, M], NoneTape])
        assert_type(tg.lerp(b, b, share), Tensor[Shape[Any, M], NoneTape])

    between(x, tg.ones(3), tg.ones((2, 1)))


def reject_interpolation_of_two_shapes() -> None:
    tg.lerp(x, tg.ones(2), 0.5)  # E: lerp: x (2, 3) and y (2,) do not broadcast: axis -1 is 3 in x but 2 in y [tapegrad-shape]


def reject_interpolation_of_two_dtypes() -> None:
    tg.lerp(x, x, tg.ones(3, np.float64))  # E: lerp: x is float32 but weight is float64 [tapegrad-dtype]


def reject_a_mean_of_ints_and_floats_with_a_weight() -> None:
    tg.lerp(tg.tensor([1, 2, 3]), tg.ones(3), 0.5)  # E: lerp: x is int64 but y is float32 [tapegrad-dtype]


def reject_a_mean_of_ints_with_a_weight() -> None:
    tg.lerp(tg.tensor([1, 2, 3]), tg.tensor([1, 2, 3]), 0.5)  # E: lerp: weight is a float but x is int64 [tapegrad-dtype]
