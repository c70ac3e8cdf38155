"""take, select, gather and scatter_add."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)

table = tg.ones((7, 5))
row = tg.tensor([1, 0, -1])
block = tg.tensor([[1, 0, 2], [4, 1, 1]])


# take


def accept_rows() -> None:
    assert_type(tg.take(table, row), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(table.take(block), Tensor[Shape[L[2], L[3], L[5]], NoneTape])
    assert_type(table.take(tg.tensor(6)), Tensor[Shape[L[5]], NoneTape])


def accept_another_axis() -> None:
    assert_type(table.take(row, 1), Tensor[Shape[L[7], L[3]], NoneTape])
    assert_type(tg.take(table, block, axis=-1), Tensor[Shape[L[7], L[2], L[3]], NoneTape])
    assert_type(tg.take(tg.ones((2, 5, 3)), row, 1), Tensor[Shape[L[2], L[3], L[3]], NoneTape])


def accept_tapes_on_either_side() -> None:
    assert_type(table.trace().take(row), Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(table.take(row.trace()), Tensor[Shape[L[3], L[5]], OwnedTape])
    assert_type(tg.take(table.trace(), row.trace()), Tensor[Shape[L[3], L[5]], OwnedTape])


def accept_whole_numbers_of_any_width() -> None:
    assert_type(table.take(row.astype(np.int32)), Tensor[Shape[L[3], L[5]], NoneTape])
    assert_type(table.take(block.astype(np.uint8), 1), Tensor[Shape[L[7], L[2], L[3]], NoneTape])
    assert_type(row.take(row), Tensor[Shape[L[3]], NoneTape, np.int64])


def accept_named_sizes() -> None:
    def looked_up(
        w: Tensor[Shape[N, M]], indices: Tensor[Shape[Any, N], NoneTape, np.int64]
    ) -> Tensor[Shape[Any, N, M]]:
        assert_type(w.take(indices, -1), Tensor[Shape[N, Any, N], NoneTape])
        return w.take(indices)

    assert_type(looked_up(tg.ones((3, 5)), tg.tensor([[1, 0, 2]])), Tensor[Shape[Any, L[3], L[5]], NoneTape])


def accept_unknown_sizes() -> None:
    def looked_up(a: Tensor[Any, OwnedTape], i: Tensor[Any, NoneTape, np.int64], axis: int) -> None:
        assert_type(a.take(row), Tensor[Any, OwnedTape])
        assert_type(table.take(i), Tensor[Shape[*tuple[Any, ...], L[5]], NoneTape])
        assert_type(tg.take(table, row, axis), Tensor[Any, NoneTape])

    looked_up(table.trace(), row, 1)


# scatter_add


def accept_rows_added_up() -> None:
    assert_type(tg.scatter_add(tg.ones((3, 5)), row, (7, 5)), Tensor[Shape[L[7], L[5]], NoneTape])
    assert_type(tg.scatter_add(tg.ones((2, 3, 5)).trace(), block, (7, 5)), Tensor[Shape[L[7], L[5]], OwnedTape])


def accept_another_axis_added_up() -> None:
    assert_type(tg.scatter_add(tg.ones((7, 3)), row, (7, 5), 1), Tensor[Shape[L[7], L[5]], NoneTape])
    assert_type(tg.scatter_add(tg.ones((7, 3)), row.trace(), (7, 5), axis=-1), Tensor[Shape[L[7], L[5]], OwnedTape])


def accept_the_way_back_of_take() -> None:
    def there_and_back(w: Tensor[Shape[N, M]], i: Tensor[Shape[L[3]], NoneTape, np.int64]) -> Tensor[Shape[N, M]]:
        n, m = w.shape
        return tg.scatter_add(w.take(i), i, (n, m))

    assert_type(there_and_back(table, row), Tensor[Shape[L[7], L[5]], NoneTape])


def accept_a_shape_that_only_the_run_time_knows() -> None:
    def added(updates: Tensor[Shape[Any, L[5]]], n: int, shape: tuple[int, ...]) -> None:
        n = abs(n)  # assigned again, so that it is unknown
        assert_type(tg.scatter_add(updates, row, (n, 5)), Tensor[Shape[Any, L[5]], NoneTape])
        assert_type(tg.scatter_add(updates, row, shape), Tensor[Any, NoneTape])

    added(tg.ones((3, 5)), 7, (7, 5))


# select, gather


def accept_select() -> None:
    assert_type(tg.select(table, 6), Tensor[Shape[L[5]], NoneTape])
    assert_type(tg.select(table.trace(), -1, 1), Tensor[Shape[L[7]], OwnedTape])


def accept_gather() -> None:
    assert_type(tg.gather(tg.ones((2, 7)), block, 1), Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(tg.gather(tg.ones((5, 3)), block.trace()), Tensor[Shape[L[2], L[3]], OwnedTape])


def accept_picking_of_named_and_unknown_sizes() -> None:
    def picked(a: Tensor[Shape[N, M]], i: Tensor[Shape[N, L[1]], NoneTape, np.int64], b: Tensor[Shape[Any, M]], k: int) -> None:
        assert_type(tg.select(a, k, 1), Tensor[Shape[N], NoneTape])
        assert_type(tg.gather(a, i, 1), Tensor[Shape[N, L[1]], NoneTape])
        assert_type(tg.gather(b, i, 1), Tensor[Shape[N, L[1]], NoneTape])

    picked(tg.ones((2, 5)), tg.tensor([[1], [0]]), tg.ones((2, 5)), 1)


# Rejected


def reject_taking_along_no_axis() -> None:
    table.take(row, 2)  # E: take: axis 2 is out of range for x (7, 5) [tapegrad-shape]


def reject_taking_of_a_scalar() -> None:
    tg.take(tg.ones(()).trace(), row)  # E: take: axis 0 is out of range for x () [tapegrad-shape]


def accept_nothing_of_nothing() -> None:
    assert_type(tg.take(tg.ones((0, 5)), tg.arange(0)), Tensor[Shape[L[0], L[5]], NoneTape])


def reject_taking_of_nothing() -> None:
    tg.take(tg.ones((0, 5)), row)  # E: take: x (0, 5) has no element along axis 0 [tapegrad-shape]


def reject_gathering_of_nothing() -> None:
    tg.gather(tg.ones((2, 0)), block, 1)  # E: gather: x (2, 0) has no element along axis 1 [tapegrad-shape]


def reject_taking_along_no_axis_of_named_sizes() -> None:
    def looked_up(w: Tensor[Shape[N, M]]) -> None:
        tg.take(w, row, axis=-3)  # E(mypy): take: axis -3 is out of range for x (N, M) [tapegrad-shape]

    looked_up(table)


def reject_fractions_as_indices() -> None:
    table.take(tg.ones((3,)))  # E: take: indices is float32 but integer is expected [tapegrad-dtype]


def reject_bools_as_indices() -> None:
    tg.take(table, row > 0)  # E: take: indices is bool but integer is expected [tapegrad-dtype]


def reject_a_number_as_an_index() -> None:
    table.take(1)  # E: take: indices is an int, not a tensor [arg-type]


def reject_updates_of_another_width() -> None:
    tg.scatter_add(tg.ones((3, 5)), row, (7, 4))  # E: scatter_add: updates (3, 5) differ from what (3,) takes of (7, 4): (3, 4) [tapegrad-shape]


def reject_updates_of_another_length() -> None:
    tg.scatter_add(tg.ones((2, 5)).trace(), row, (7, 5))  # E: scatter_add: updates (2, 5) differ from what (3,) takes of (7, 5): (3, 5) [tapegrad-shape]


def reject_updates_of_another_rank() -> None:
    tg.scatter_add(tg.ones((3, 5)), block, (7, 5))  # E: scatter_add: updates (3, 5) differ from what (2, 3) takes of (7, 5): (2, 3, 5) [tapegrad-shape]


def reject_adding_up_along_no_axis() -> None:
    tg.scatter_add(tg.ones((3, 5)), row, (7, 5), axis=2)  # E: scatter_add: axis 2 is out of range for x (7, 5) [tapegrad-shape]


def reject_updates_of_named_sizes() -> None:
    def added(updates: Tensor[Shape[N, L[5]]]) -> None:
        tg.scatter_add(updates, row, (7, 5))  # E(mypy): scatter_add: updates (N, 5) differ from what (3,) takes of (7, 5): (3, 5) [tapegrad-shape]

    added(tg.ones((3, 5)))


def reject_fractions_as_places() -> None:
    tg.scatter_add(tg.ones((3, 5)), tg.ones((3,)), (7, 5))  # E: scatter_add: indices is float32 but integer is expected [tapegrad-dtype]


def reject_select() -> None:
    tg.select(table, 7)  # E: select: index 7 is out of range for axis 0 of x (7, 5) [tapegrad-shape]


def reject_gather() -> None:
    tg.gather(table, block, 1)  # E: gather: indices (2, 3) has 2 along axis 0 but x (7, 5) has 7 [tapegrad-shape]


def reject_gather_of_another_rank() -> None:
    tg.gather(table, row)  # E: gather: indices (3,) has rank 1 but x (7, 5) has rank 2 [tapegrad-shape]


def reject_gather_by_fractions() -> None:
    tg.gather(table, tg.ones((7, 1)), 1)  # E: gather: indices is float32 but integer is expected [tapegrad-dtype]
