"""Comparisons give bools without a tape; `where` has the tape of either operand."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
y = tg.ones((3,))
column = tg.ones((2, 1))
whole = tg.tensor([1, 2, 3])
truth = tg.tensor([True, False, True])
array = np.ones((2, 3), np.float32)


def accept_operators() -> None:
    assert_type(x == y, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(x != y, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(y < x, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(x <= column, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(column > y, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(y >= column, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def accept_functions() -> None:
    assert_type(tg.equal(x, y), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.not_equal(x, column), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.less(column, y), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.less_equal(x, 2), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.greater(0.5, x), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.greater_equal(whole, 2), Tensor[Shape[L[3]], NoneTape, np.bool_])


def accept_that_no_tape_is_left() -> None:
    assert_type(x.trace() > y.trace(), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(tg.equal(x.trace(), 1), Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def accept_numbers_and_arrays() -> None:
    assert_type(x > 0, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(0.5 < x, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])  # noqa: SIM300  # int asks the tensor
    assert_type(x == 1, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(truth == True, Tensor[Shape[L[3]], NoneTape, np.bool_])  # noqa: E712  # compares element by element
    assert_type(whole != 2, Tensor[Shape[L[3]], NoneTape, np.bool_])
    assert_type(x <= array, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])
    assert_type(array >= x, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])


def accept_named_and_unknown_sizes() -> None:
    def compared(a: Tensor[Shape[N, M]], b: Tensor[Shape[M]], c: Tensor[Shape[Any, L[3]]]) -> None:
        assert_type(a > b, Tensor[Shape[N, M], NoneTape, np.bool_])
        assert_type(c == y, Tensor[Shape[Any, L[3]], NoneTape, np.bool_])
        assert_type(c < x, Tensor[Shape[L[2], L[3]], NoneTape, np.bool_])

    compared(x, y, x)


def accept_choices() -> None:
    assert_type(tg.where(x > 0, x, y), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.where(truth, column, 0), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.where(truth, 1.0, 0), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.where(truth, 1.0, x), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.where(truth, whole, 0), Tensor[Shape[L[3]], NoneTape, np.int64])
    assert_type(tg.where(tg.ones((7, 1, 1), np.bool_), column, y), Tensor[Shape[L[7], L[2], L[3]], NoneTape])


def accept_choices_between_tapes() -> None:
    assert_type(tg.where(truth, x.trace(), y), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.where(truth, 0, x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.where(truth, x.trace(), y.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])
    assert_type(tg.where(truth.trace(), x, y), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_choices_of_named_sizes() -> None:
    def rectified(a: Tensor[Shape[N, M], OwnedTape]) -> Tensor[Shape[N, M], OwnedTape]:
        return tg.where(a > 0, a, 0.1 * a)

    assert_type(rectified(x.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])


def reject_equality() -> None:
    x == tg.ones((2, 4))  # E: equal: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_inequality() -> None:
    x != tg.ones((2,))  # E: not_equal: x (2, 3) and y (2,) do not broadcast: axis -1 is 3 in x but 2 in y [tapegrad-shape]


def reject_less() -> None:
    y < tg.ones((4,))  # E: less: x (3,) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_at_most() -> None:
    tg.less_equal(x.trace(), tg.ones((5, 3)))  # E: less_equal: x (2, 3) and y (5, 3) do not broadcast: axis -2 is 2 in x but 5 in y [tapegrad-shape]


def reject_greater() -> None:
    tg.greater(x, tg.ones((4,)))  # E: greater: x (2, 3) and y (4,) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_at_least() -> None:
    x >= tg.ones((3, 1))  # E: greater_equal: x (2, 3) and y (3, 1) do not broadcast: axis -2 is 2 in x but 3 in y [tapegrad-shape]


def reject_names_that_are_two_sizes() -> None:
    def compared(a: Tensor[Shape[N]], b: Tensor[Shape[M]]) -> None:
        a == b  # E(mypy): equal: x (N,) and y (M,) do not broadcast: axis -1 is N in x but M in y [tapegrad-shape]

    compared(y, y)


def reject_two_dtypes() -> None:
    x < whole  # E: less: x is float32 but y is int64 [tapegrad-dtype]


def reject_an_array_of_another_dtype() -> None:
    x > np.ones((2, 3))  # E: greater: x is float32 but y is float64 [tapegrad-dtype]


def reject_a_fraction_beside_ints() -> None:
    whole == 1.5  # E: equal: y is a float but x is int64 [tapegrad-dtype]


def reject_a_fraction_on_the_left_of_ints() -> None:
    1.5 < whole  # noqa: SIM300  # E: greater: y is a float but x is int64 [tapegrad-dtype]


def reject_a_condition_that_is_no_bool() -> None:
    tg.where(x, x, y)  # E: where: condition is float32 but bool is expected [tapegrad-dtype]


def reject_a_condition_of_another_size() -> None:
    tg.where(tg.ones((4,)) > 0, x, 0)  # E: where: condition (4,) and x (2, 3) do not broadcast: axis -1 is 4 in condition but 3 in x [tapegrad-shape]


def reject_choices_of_two_sizes() -> None:
    tg.where(tg.ones(()) > 0, x, tg.ones((2, 4)).trace())  # E: where: x (2, 3) and y (2, 4) do not broadcast: axis -1 is 3 in x but 4 in y [tapegrad-shape]


def reject_choices_of_two_dtypes() -> None:
    tg.where(truth, y, whole)  # E: where: x is float32 but y is int64 [tapegrad-dtype]


def reject_a_choice_between_two_numbers() -> None:
    tg.where(truth, 1, 0)  # E: where: neither an int nor an int is a tensor [tapegrad-dtype]


def reject_a_fraction_among_ints() -> None:
    tg.where(truth, whole, 0.5)  # E: where: y is a float but x is int64 [tapegrad-dtype]


def reject_a_shape_for_a_tensor() -> None:
    x == x.shape  # E: equal: a tuple is neither a tensor nor a number nor a NumPy array [tapegrad-dtype]


def reject_a_shape_of_another_length() -> None:
    y != y.shape  # E: not_equal: a tuple is neither a tensor nor a number nor a NumPy array [tapegrad-dtype]


def reject_none_for_a_tensor() -> None:
    x == None  # noqa: E711  # E: equal: a NoneType is neither a tensor nor a number nor a NumPy array [tapegrad-dtype]


def reject_a_word_for_a_tensor() -> None:
    x == "x"  # E: equal: a str is neither a tensor nor a number nor a NumPy array [tapegrad-dtype]


def accept_what_may_be_a_tensor() -> None:
    def compared(a: object, b: float | None, c: Any) -> None:
        assert_type(x == a, Tensor[Shape[*tuple[Any, ...], L[2], L[3]], NoneTape, np.bool_])
        x == b  # may be a number
        x == c  # may be anything

    compared(x, 2.0, y)
