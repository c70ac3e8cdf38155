"""Creation of tensors from nested lists, arrays and constants, with their sizes."""

from collections.abc import Sequence
from typing import Any, TypeAlias, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

Tree: TypeAlias = "float | Sequence[Tree]"

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3))
array = np.ones((2, 3), np.float32)


def accept_arrays_of_unknown_sizes() -> None:
    def taken(
        a: np.ndarray[Any, np.dtype[np.float64]],
        b: np.ndarray[tuple[Any, ...], np.dtype[np.int64]],
        c: np.ndarray[tuple[int, Any], np.dtype[np.float32]],
    ) -> None:
        assert_type(tg.tensor(a), Tensor[Any, NoneTape, np.float64])
        assert_type(tg.tensor(b), Tensor[Any, NoneTape, np.int64])
        assert_type(tg.tensor(c), Tensor[Shape[Any, Any], NoneTape])
        assert_type(tg.tensor(a, np.float32), Tensor[Any, NoneTape])

    taken(np.ones((2, 3)), np.array([1, 2]), array)


def accept_nested_lists() -> None:
    assert_type(tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.tensor(((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))), Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(tg.tensor([[[1.0]], [[2.0]]]), Tensor[Shape[L[2], L[1], L[1]], NoneTape])


def accept_a_number() -> None:
    assert_type(tg.tensor(2.5), Tensor[tuple[()], NoneTape])


def accept_the_dtype_of_the_numbers() -> None:
    assert_type(tg.tensor([[1], [2]]), Tensor[Shape[L[2], L[1]], NoneTape, np.int64])
    assert_type(tg.tensor([True, False, True]), Tensor[Shape[L[3]], NoneTape, np.bool_])
    assert_type(tg.tensor([1.5, 2.5], np.float64), Tensor[Shape[L[2]], NoneTape, np.float64])
    assert_type(tg.tensor([1, 2], dtype=np.int8), Tensor[Shape[L[2]], NoneTape, np.int8])


def accept_empty_lists() -> None:
    assert_type(tg.tensor([]), Tensor[Shape[L[0]], NoneTape])
    assert_type(tg.tensor([[], []]), Tensor[Shape[L[2], L[0]], NoneTape])


def accept_an_array() -> None:
    assert_type(tg.tensor(array), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.tensor(array, np.float64), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])
    assert_type(tg.tensor([array, array]), Tensor[Any, NoneTape, Any])
    assert_type(tg.tensor(np.float64(2)), Tensor[tuple[()], NoneTape, np.float64])


def accept_an_array_of_a_typed_shape() -> None:
    rows: np.ndarray[Shape[L[2], L[3]], np.dtype[np.float32]] = x.numpy()

    assert_type(tg.tensor(rows), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_lists_that_only_the_run_time_can_count() -> None:
    def made(row: list[float], rows: list[list[int]]) -> None:
        assert_type(tg.tensor(row), Tensor[Shape[Any], NoneTape])
        assert_type(tg.tensor(rows), Tensor[Any, NoneTape, np.int64])
        assert_type(tg.tensor([row, row]), Tensor[Shape[L[2], Any], NoneTape])

    made([1.0, 2.0], [[1], [2]])


def accept_data_of_any_type() -> None:
    def made(data: Any, numbers: list[Any]) -> None:
        assert_type(tg.tensor(data), Tensor[Any, NoneTape, Any])
        assert_type(tg.tensor(data, np.int64), Tensor[Any, NoneTape, np.int64])
        assert_type(tg.tensor(numbers), Tensor[Any, NoneTape, Any])

    made([[1.0, 2.0]], [1, 2])


def accept_trees_without_end() -> None:
    def read(data: Tree) -> Tensor[Any]:
        return tg.tensor(data)

    assert_type(read([[1.0, 2.0], [3.0, 4.0]]), Tensor[Any, NoneTape])


def accept_filled() -> None:
    assert_type(tg.zeros((2, 3)), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.ones((5,)), Tensor[Shape[L[5]], NoneTape])
    assert_type(tg.zeros(()), Tensor[tuple[()], NoneTape])
    assert_type(tg.ones((2, 0, 3)), Tensor[Shape[L[2], L[0], L[3]], NoneTape])
    assert_type(tg.empty((2, 3)), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.full((2, 3), 0.5), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.full_like(x.trace(), 0.5), Tensor[Shape[L[2], L[3]], NoneTape])


def accept_a_dtype() -> None:
    assert_type(tg.zeros((2, 3), np.int64), Tensor[Shape[L[2], L[3]], NoneTape, np.int64])
    assert_type(tg.ones((2,), dtype=np.bool_), Tensor[Shape[L[2]], NoneTape, np.bool_])
    assert_type(tg.normal((2,), dtype=np.float64), Tensor[Shape[L[2]], NoneTape, np.float64])


def accept_a_tape_at_once() -> None:
    assert_type(tg.tensor([1.0, 2.0]).trace(), Tensor[Shape[L[2]], OwnedTape])


def accept_named_sizes() -> None:
    def like(a: Tensor[Shape[N, M]]) -> Tensor[Shape[M, N, L[2]]]:
        n, m = a.shape
        assert_type(tg.zeros((n, 3)), Tensor[Shape[N, L[3]], NoneTape])
        return tg.ones((m, n, 2))

    assert_type(like(x), Tensor[Shape[L[3], L[2], L[2]], NoneTape])


def accept_sizes_that_are_arguments() -> None:
    def square(n: N) -> Tensor[Shape[N, N]]:
        return tg.normal((n, n), rng=0)

    assert_type(square(3), Tensor[Shape[L[3], L[3]], NoneTape])


def accept_unknown_sizes() -> None:
    def made(n: int, shape: tuple[int, ...]) -> None:
        n = abs(n)  # assigned again, so that it is unknown
        assert_type(tg.zeros((n, 3)), Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(tg.ones(shape), Tensor[Any, NoneTape])
        assert_type(tg.uniform(shape, dtype=np.float64), Tensor[Any, NoneTape, np.float64])

    made(2, (2, 3))


def reject_backward_of_data_of_any_type() -> None:
    def made(data: Any) -> None:
        tg.tensor(data).sum().backward()  # E(mypy): backward: the tensor has no tape; trace an input first [tapegrad-tape]

    made([1.0])


def reject_ragged_lists() -> None:
    tg.tensor([[1.0, 2.0], [3.0]])  # E: tensor: data is ragged: item 1 has shape (1,) but item 0 has (2,) [tapegrad-shape]


def reject_a_list_beside_a_number() -> None:
    tg.tensor([1, [2]])  # E: tensor: data is ragged: item 1 has shape (1,) but item 0 has () [tapegrad-shape]


def reject_ragged_tuples_of_a_dtype() -> None:
    tg.tensor(((1, 2), (3, 4, 5)), np.float64)  # E: tensor: data is ragged: item 1 has shape (3,) but item 0 has (2,) [tapegrad-shape]


def reject_a_tensor_of_a_tensor() -> None:
    tg.tensor(x)  # E(mypy): No overload variant of "tensor" matches argument type "Tensor[tuple[Literal[2], Literal[3]], NoneTape, floating[_32Bit]]" [call-overload]


def reject_negative_zeros() -> None:
    tg.zeros((-1,))  # E: zeros: shape (-1,) has the negative size -1 [tapegrad-shape]


def reject_negative_empty() -> None:
    tg.empty((2, -3))  # E: empty: shape (2, -3) has the negative size -3 [tapegrad-shape]


def reject_negative_ones() -> None:
    tg.ones((2, -3))  # E: ones: shape (2, -3) has the negative size -3 [tapegrad-shape]


def reject_another_size_than_was_promised() -> None:
    def square(n: N) -> Tensor[Shape[N, N]]:
        return tg.zeros((n, 3))  # E(mypy): square: the result is (N, 3) but (N, N) is expected: axis 1 is 3, not N [return-value]

    square(3)


def accept_shapes_of_others() -> None:
    def blank(a: Tensor[Shape[N, L[3]]]) -> None:
        assert_type(tg.empty_like(a), Tensor[Shape[N, L[3]], NoneTape])
        assert_type(tg.zeros_like(a), Tensor[Shape[N, L[3]], NoneTape])
        assert_type(tg.ones_like(a), Tensor[Shape[N, L[3]], NoneTape])

    blank(x)


def reject_full() -> None:
    tg.full((-2,), 1.0)  # E: full: shape (-2,) has the negative size -2 [tapegrad-shape]


def reject_a_dtype_of_another_kind_for_an_interval() -> None:
    tg.linspace(0, 1, 5, dtype=np.int64)  # E: linspace: dtype is int64 but floating is expected [tapegrad-dtype]


def accept_one_size() -> None:
    assert_type(tg.zeros(5), Tensor[Shape[L[5]], NoneTape])
    assert_type(tg.ones(4, np.bool_), Tensor[Shape[L[4]], NoneTape, np.bool_])
    assert_type(tg.full(3, np.float64(7)), Tensor[Shape[L[3]], NoneTape])
    assert_type(tg.normal(3, rng=0), Tensor[Shape[L[3]], NoneTape])

    def made(n: N, m: int) -> Tensor[Shape[N]]:
        m = abs(m)  # assigned again, so that it is unknown
        assert_type(tg.zeros(m), Tensor[Shape[Any], NoneTape])
        return tg.zeros(n)

    made(3, 4)


def accept_a_dtype_in_the_place_of_its_scalar_type() -> None:
    assert_type(tg.zeros((2, 3), dtype=np.dtype(np.float64)), Tensor[Shape[L[2], L[3]], NoneTape, np.float64])
    assert_type(tg.ones(5, np.dtype("int64")), Tensor[Shape[L[5]], NoneTape, np.int64])
    assert_type(tg.eye(3, dtype=np.dtype(np.int8)), Tensor[Shape[L[3], L[3]], NoneTape, np.int8])
    assert_type(tg.ones((2,)).astype(np.dtype(np.int32)), Tensor[Shape[L[2]], NoneTape, np.int32])
    assert_type(tg.tensor([1.0], np.dtype(np.float64)), Tensor[Shape[L[1]], NoneTape, np.float64])
    assert_type(tg.ones((2,), tg.ones((3,), np.float64).dtype), Tensor[Shape[L[2]], NoneTape, np.float64])


def reject_one_negative_size() -> None:
    tg.zeros(-5)  # E: zeros: shape (-5,) has the negative size -5 [tapegrad-shape]


def reject_a_list_for_a_shape() -> None:
    tg.zeros([2, 3])  # E: zeros: shape is [2, 3] but an int or a tuple of ints is expected [arg-type]


def reject_sizes_that_are_no_tuple() -> None:
    tg.zeros(2, 3)  # E: zeros: dtype is an int but a dtype of NumPy, or its scalar type, is expected: write the sizes as one tuple, (2, 3) [tapegrad-dtype]


def reject_an_array_of_another_dtype_where_one_is_declared() -> None:
    rows = [[1.0, 2.0]]
    whole: Tensor[Any, NoneTape, np.int64] = tg.tensor(np.array(rows, np.float32))  # E(mypy): reject_an_array_of_another_dtype_where_one_is_declared: whole is float32 but int64 is expected [assignment]
    whole.sum()


def reject_an_array_of_another_dtype_beside_a_tensor() -> None:
    rows = [[1.0, 2.0]]
    tg.ones((2,), np.int64) + np.array(rows, np.float32)  # E: add: x is int64 but y is float32 [tapegrad-dtype]


def accept_an_array_of_the_declared_dtype() -> None:
    rows = [[1.0, 2.0]]
    whole: Tensor[Any, NoneTape, np.int64] = tg.tensor(np.array(rows, np.int64))
    same: Tensor[Any, NoneTape, np.int64] = tg.tensor(np.array([[1, 2]]))
    other: Tensor[Any, NoneTape, np.int64] = tg.tensor(np.array(rows, np.float32), np.int64)
    (whole + same + other).sum()
