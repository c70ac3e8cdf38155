"""Indexing and assignment: numbers, slices that clamp, tensors of indices, masks, rows."""

from contextlib import suppress
from typing import Any, assert_type
from typing import Literal as L

from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Sub, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

x = tg.ones((2, 3, 5))
table = tg.ones((60, 3))
rows = tg.tensor([1, 0, 1, 1])


def accept_numbers() -> None:
    assert_type(x[0], Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(x[-1, 2, 4], Tensor[tuple[()], NoneTape])
    assert_type(x.trace()[..., 0], Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_slices_that_clamp() -> None:
    assert_type(x[5:], Tensor[Shape[L[0], L[3], L[5]], NoneTape])
    assert_type(x[:, -9:2, ::2], Tensor[Shape[L[2], L[2], L[3]], NoneTape])
    assert_type(x[::-1, 1:1], Tensor[Shape[L[2], L[0], L[5]], NoneTape])


def accept_slices_in_a_loop() -> None:
    data = tg.ones((64, 3))
    for start in range(0, len(data), 16):
        assert_type(data[start : start + 16], Tensor[Shape[L[16], L[3]], NoneTape])
    for step in range(4):
        assert_type(data[step * 16 : (step + 1) * 16, ::2], Tensor[Shape[L[16], L[2]], NoneTape])
    parts = [data[begin : begin + 8] for begin in range(56, -1, -8)]
    assert_type(parts[0] @ tg.ones((3, 1)), Tensor[Shape[L[8], L[1]], NoneTape])


def accept_slices_in_a_loop_of_several_sizes() -> None:
    data = tg.ones((60, 3))
    for start in range(0, 60, 16):
        last = data[start : start + 16]
        assert_type(last, Tensor[Shape[Any, L[3]], NoneTape])
        last + tg.ones((12 if start == 48 else 16, 3))
    for end in range(1, 3):
        assert_type(data[:end], Tensor[Shape[Any, L[3]], NoneTape])
    for moved in range(0, 60, 30):
        moved = moved + 7  # noqa: PLW2901  # a program may do so
        data[moved : moved + 30] + tg.ones((23 if moved > 30 else 30, 3))


def reject_a_slice_in_a_loop() -> None:
    for start in range(0, 60, 20):
        table[start : start + 20] + tg.ones((16, 3))  # E: add: x (20, 3) and y (16, 3) do not broadcast: axis -2 is 20 in x but 16 in y [tapegrad-shape]


def accept_new_axes() -> None:
    assert_type(x[None, ..., 0, None], Tensor[Shape[L[1], L[2], L[3], L[1]], NoneTape])


def accept_tensors_of_indices() -> None:
    assert_type(x[rows], Tensor[Shape[L[4], L[3], L[5]], NoneTape])
    assert_type(x[:, 0, rows], Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(x[rows, :, rows], Tensor[Shape[L[4], L[3]], NoneTape])
    assert_type(x[rows.trace()], Tensor[Shape[L[4], L[3], L[5]], OwnedTape])


def accept_lists_of_indices() -> None:
    assert_type(x[[1, 0, 1]], Tensor[Shape[L[3], L[3], L[5]], NoneTape])
    assert_type(x[:, [-1]], Tensor[Shape[L[2], L[1], L[5]], NoneTape])
    assert_type(x.trace()[..., [0, 2], 1], Tensor[Shape[L[2], L[2]], OwnedTape])
    assert_type(x[:, [-1, 2], [4, 0]], Tensor[Shape[L[2], L[2]], NoneTape])
    places = [2, 0]
    assert_type(x[:, places], Tensor[Shape[L[2], L[2], L[5]], NoneTape])
    assert_type(x[..., (0, 2, 4)], Tensor[Shape[L[2], L[3], L[3]], NoneTape])

    def chosen(a: Tensor[Shape[N, L[3]], NoneTape], places: list[int], place: int) -> None:
        assert_type(a[places], Tensor[Shape[Any, L[3]], NoneTape])
        assert_type(a[[place, 0]], Tensor[Shape[L[2], L[3]], NoneTape])

    chosen(tg.ones((2, 3)), [1], 1)


def accept_masks() -> None:
    assert_type(x[x > 0], Tensor[Shape[Any], NoneTape])


def accept_named_sizes() -> None:
    def cut(a: Tensor[Shape[N, L[3], L[5]]], k: int) -> None:
        assert_type(a[1:], Tensor[Shape[Sub[N, L[1]], L[3], L[5]], NoneTape])
        assert_type(a[k], Tensor[Shape[L[3], L[5]], NoneTape])
        for step in range(0, 4, 2):
            assert_type(a[step : step + 2], Tensor[Shape[Any, L[3], L[5]], NoneTape])

    def difference(a: Tensor[Shape[N, L[3]]], k: int) -> None:
        second = a[2:] - 2 * a[1:-1] + a[:-2]
        tg.reveal_shape(second)
        assert_type(second.T @ a[2:], Tensor[Shape[L[3], L[3]], NoneTape])
        assert_type(a[k : k + 8].T @ a[k : k + 8], Tensor[Shape[L[3], L[3]], NoneTape])

    cut(x, 1)
    difference(tg.ones((5, 3)), 1)


def accept_rows() -> None:
    for row in x:
        assert_type(row, Tensor[Shape[L[3], L[5]], NoneTape])
    _, second = x.trace()
    assert_type(second, Tensor[Shape[L[3], L[5]], OwnedTape])
    for _position, row in enumerate(x):
        assert_type(row, Tensor[Shape[L[3], L[5]], NoneTape])
    for row, scalar in zip(x, x[0, 0], strict=False):
        assert_type((row, scalar), tuple[Tensor[Shape[L[3], L[5]], NoneTape], Tensor[Shape[()], NoneTape]])
    assert_type(list(x), list[Tensor[Shape[L[3], L[5]], NoneTape]])
    assert_type(next(iter(x)), Tensor[Shape[L[3], L[5]], NoneTape])


def accept_rows_of_named_and_unknown_sizes() -> None:
    def listed(a: Tensor[Shape[N, M], NoneTape], b: Tensor[Any, NoneTape]) -> None:
        assert_type(list(a), list[Tensor[Shape[M], NoneTape]])
        for row in b:
            assert_type(row.sum(0, keepdims=True), Tensor[Any, NoneTape])

    listed(tg.ones((2, 3)), x)


def accept_values_in_place() -> None:
    assert_type(x.at_set(0, 1.0), Tensor[Shape[L[2], L[3], L[5]], NoneTape])
    assert_type(x.at_set((..., 0), tg.ones((3,)).trace()), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])
    assert_type(tg.at_add(x.trace(), rows, 1.0), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])


def reject_a_number_past_the_end() -> None:
    x[0, 3]  # E: getitem: index 3 is out of range for axis 1 of x (2, 3, 5) [tapegrad-shape]


def reject_a_number_past_the_end_in_a_list() -> None:
    x[:, [0, 3]]  # E: getitem: index 3 is out of range for axis 1 of x (2, 3, 5) [tapegrad-shape]


def reject_a_number_past_the_end_in_a_named_list() -> None:
    places = [0, 3]
    x[:, places]  # E: getitem: index 3 is out of range for axis 1 of x (2, 3, 5) [tapegrad-shape]


def reject_a_number_past_the_end_in_a_tuple() -> None:
    x[:, (0, 3)]  # E: getitem: index 3 is out of range for axis 1 of x (2, 3, 5) [tapegrad-shape]


def reject_lists_of_different_lengths() -> None:
    x[[0, 1], [0, 1, 2]]  # E: getitem: index[0] (2,) and index[1] (3,) do not broadcast: axis -1 is 2 in index[0] but 3 in index[1] [tapegrad-shape]


def reject_too_many_places() -> None:
    x[0, 0, 0, 0]  # E: getitem: index names 4 axes but x (2, 3, 5) has rank 3 [tapegrad-shape]


def reject_a_bool() -> None:
    x[True]  # E: getitem: a bool is neither an int, a slice, ..., None, a list of ints nor a tensor of indices [tapegrad-shape]


def reject_more_than_a_slice_can_have() -> None:
    def few(a: Tensor[Shape[N, L[3]]], k: int) -> None:
        a[:4].T @ tg.ones((5, 2))  # E(mypy): matmul: inner sizes differ: x (3, min(N, 4)) has min(N, 4) columns but y (5, 2) has 5 rows [tapegrad-shape]
        a[k : k + 8].T @ tg.ones((9, 2))  # E(mypy): matmul: inner sizes differ: x (3, N[slice(k, k + 8)]) has N[slice(k, k + 8)] columns but y (9, 2) has 9 rows [tapegrad-shape]
        a[k:].T @ tg.concat([a[k:], tg.ones((1, 3))])  # E(mypy): matmul: inner sizes differ: x (3, N[slice(k, N)]) has N[slice(k, N)] columns but y (N[slice(k, N)] + 1, 3) has N[slice(k, N)] + 1 rows [tapegrad-shape]

    few(tg.ones((4, 3)), 0)


def reject_a_slice_between_fractions() -> None:
    x[slice(0.5, 2)]  # E: getitem: a bound of a slice is a float but an int is expected [tapegrad-dtype]


def reject_a_mask_of_another_size() -> None:
    x[tg.tensor([True, False, True])]  # E: getitem: the mask (3,) has 3 where axis 0 of x (2, 3, 5) is 2 [tapegrad-shape]


def reject_rows_of_a_scalar() -> None:
    for _ in tg.ones(()):  # E: len: a tensor of shape () has no length [tapegrad-shape]
        pass


def reject_at_set() -> None:
    x.at_set(0, tg.ones((3,)))  # E: at_set: value (3,) does not broadcast to the (3, 5) that index names in x (2, 3, 5) [tapegrad-shape]


def reject_at_add() -> None:
    x.at_add(2, 1.0)  # E: at_add: index 2 is out of range for axis 0 of x (2, 3, 5) [tapegrad-shape]


def reject_a_float_put_among_ints() -> None:
    rows.at_set(0, 0.5)  # E: at_set: value is a float but x is int64 [tapegrad-dtype]


def reject_an_assignment_to_an_item() -> None:
    x[0, 1:] = 1.0  # E: a tensor is immutable: x[0, 1:] = ... has no effect; at_set gives another tensor [tapegrad-dtype]


def reject_an_assignment_by_a_tensor() -> None:  # between whose brackets Python writes numbers
    with suppress(TypeError):
        x[tg.ones((2,))] = 1.0  # E(mypy): a tensor is immutable: x[...] = ... has no effect; at_set gives another tensor [tapegrad-dtype]

    with suppress(TypeError):
        x[rows] = 1.0  # E(mypy): a tensor is immutable: x[...] = ... has no effect; at_set gives another tensor [tapegrad-dtype]


def reject_what_stands_behind_an_assignment_to_an_item() -> None:
    def tried(a: Tensor[Shape[N, L[5]], NoneTape], index: Any) -> None:
        a[index] += 1.0  # E(mypy): a tensor is immutable: x[...] = ... has no effect; at_set gives another tensor [tapegrad-dtype]
        a @ a  # E(mypy): matmul: inner sizes differ: x (N, 5) has 5 columns but y (N, 5) has N rows [tapegrad-shape]

    tried(tg.ones((2, 5)), 0)


def reject_indices_that_are_no_whole_numbers() -> None:
    x[0, tg.ones((2,))]  # E: getitem: index is float32 but integer or bool is expected [tapegrad-dtype]
