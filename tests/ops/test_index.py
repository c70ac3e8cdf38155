"""take, select, gather and scatter_add: values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import gather, normal, scatter_add, select, take, tensor, zeros
from tapegrad.ops.index import gather_shape
from tapegrad.sizes import UNKNOWN, show
from tapegrad.testing import check_gradients, check_shape_rule

PLACES: list[tuple[Any, int]] = [
    ([4, 0, 4], 1),
    ([[1, 0, -1], [1, 1, -3]], 0),
    ([[1, 0], [5, -6]], -1),
    (2, 0),
    ([], 1),
]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


def whole(places: Any) -> Any:
    return tensor(places, np.int64)


# take


@pytest.mark.parametrize(("places", "axis"), PLACES, ids=str)
def test_take_equals_numpy_and_has_its_gradient(places: Any, axis: int) -> None:
    x, indices = real(3, 5, 6), whole(places)

    np.testing.assert_array_equal(
        take(x, indices, axis).numpy(), np.take(x.numpy(), np.array(places, np.int64), axis=axis)
    )
    check_gradients(lambda x: take(x, indices, axis), x)
    check_gradients(lambda x: take(x * x, indices, axis), real(3, 5, 6), order=2)


def test_indices_that_repeat_accumulate() -> None:
    x: Any = tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    grads = take(x.trace(), tensor([2, 0, 2, -1])).sum().backward()

    assert grads[x].tolist() == [[1, 1], [0, 0], [3, 3]]


def test_take_along_the_last_axis_counted_from_the_back() -> None:
    # Axis -1 once sent the gradient back along axis 0.
    x = real(2, 3)

    grads = take(x.trace(), tensor([1]), -1).sum().backward()

    assert grads[x].tolist() == [[0, 1, 0], [0, 1, 0]]


def test_take_accepts_a_numpy_array_of_indices() -> None:
    x, indices = real(3, 5), cast("Any", np.array([2, 0]))  # a tensor, for a checker

    assert take(x, indices).shape == (2, 5)


def test_take_matches_its_shape_rule() -> None:
    check_shape_rule(
        take,
        ((3, 5), (7,)),
        ((3, 5), (2, 7), 1),
        ((3, 5), (), -1),
        ((2, 3, 5), (7, 1), -2),
        ((3,), (0,)),
        ((3,), (2,), 1),
    )


def test_take_along_a_missing_axis_is_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^take: axis 2 is out of range for x \(3, 5\)$"):
        take(real(3, 5), whole([0]), 2)
    with pytest.raises(ShapeError, match=r"^take: axis 0 is out of range for x \(\)$"):
        take(real(), whole([0]))


def test_indices_out_of_range_are_rejected() -> None:
    with pytest.raises(IndexError, match=r"^take: index 5 is out of range for axis 1 of size 5$"):
        take(real(3, 5), whole([0, 5]), 1)
    with pytest.raises(IndexError, match=r"^take: index -4 is out of range for axis 0 of size 3$"):
        take(real(3, 5), whole([[-4]]))


def test_indices_into_an_empty_tensor_are_rejected() -> None:
    with pytest.raises(IndexError, match=r"^take: x \(0, 5\) has no element along axis 0$"):
        take(zeros((0, 5)), whole([0]))
    with pytest.raises(ShapeError, match=r"^gather: x \(2, 0\) has no element along axis 1$"):
        gather(zeros((2, 0)), whole([[0], [0]]), 1)
    with pytest.raises(ShapeError, match=r"^scatter_add: x \(2, 0\) has no element along axis 1$"):
        scatter_add(zeros((2, 3)), whole([0, 0, 0]), (2, 0), 1)
    assert take(zeros((0, 5)), whole([])).shape == (0, 5)
    check_shape_rule(take, ((2, 0), (0,), 1), ((2, 0), (3, 0), 1))


def test_non_int_indices_are_rejected() -> None:
    wrong: list[tuple[Any, str]] = [
        (tensor([0.0]), "float32 but integer is expected"),
        (tensor([True]), "bool but integer is expected"),
        (0.5, "a float, not a tensor"),
        (1, "an int, not a tensor"),
    ]
    for indices, misfit in wrong:
        with pytest.raises(DTypeError, match=f"^take: indices is {misfit}$"):
            take(real(3, 5), indices)


# scatter_add


@pytest.mark.parametrize(("places", "axis"), PLACES, ids=str)
def test_scatter_add_is_the_gradient_of_take(places: Any, axis: int) -> None:
    shape, indices = (3, 5, 6), whole(places)
    x = real(*shape)
    updates = real(*take(x, indices, axis).shape, seed=1)

    y = scatter_add(updates, indices, shape, axis)

    # The adjoint identity: <take(x), u> = <x, scatter_add(u)>
    assert (take(x, indices, axis) * updates).sum().item() == pytest.approx((x * y).sum().item(), rel=1e-12)
    check_gradients(lambda u: scatter_add(u, indices, shape, axis), updates)
    check_gradients(lambda u: scatter_add(u * u, indices, shape, axis), updates, order=2)


def test_scatter_add_adds_where_the_indices_point() -> None:
    updates: Any = tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    assert scatter_add(updates, tensor([3, 0, 3]), (4, 2)).tolist() == [[3, 4], [0, 0], [0, 0], [6, 8]]
    assert scatter_add(zeros((0, 2)), whole([]), (4, 2)).tolist() == zeros((4, 2)).tolist()


def test_scatter_add_matches_its_shape_rule() -> None:
    check_shape_rule(
        scatter_add,
        ((7, 5), (7,), (3, 5)),
        ((3, 2, 7), (2, 7), (3, 5), 1),
        ((3,), (), (3, 5), -1),
        ((0, 2), (0,), (4, 2)),
        ((7, 5), (7,), (3, 4)),
    )


def test_updates_of_a_wrong_shape_are_rejected() -> None:
    # NumPy would broadcast them.
    with pytest.raises(ShapeError) as rejected:
        scatter_add(real(1, 3), tensor([0, 1]), (4, 3))

    assert str(rejected.value) == "scatter_add: updates (1, 3) differ from what (2,) takes of (4, 3): (2, 3)"


def test_scatter_add_out_of_range_is_rejected() -> None:
    shape = real(4, 3).shape

    with pytest.raises(ShapeError, match=r"^scatter_add: axis 2 is out of range for x \(4, 3\)$"):
        scatter_add(real(2, 3), tensor([0, 1]), shape, 2)
    with pytest.raises(IndexError, match=r"^scatter_add: index 4 is out of range for axis 0 of size 4$"):
        scatter_add(real(2, 3), tensor([0, 4]), (4, 3))
    with pytest.raises(DTypeError, match=r"^scatter_add: indices is float64 but integer is expected$"):
        scatter_add(real(2, 3), real(2), (4, 3))


# select


@pytest.mark.parametrize(("index", "axis"), [(1, 0), (-1, 1), (4, -1), (-6, 2)])
def test_select_gives_one_slice(index: int, axis: int) -> None:
    x = real(3, 5, 6)

    np.testing.assert_array_equal(select(x, index, axis).numpy(), np.take(x.numpy(), index, axis))
    check_gradients(lambda x: select(x, index, axis), x)
    check_gradients(lambda x: select(x * x, 0, axis), real(2, 3, 1), order=2)
    check_shape_rule(select, ((3, 5, 6), index, axis))


def test_select_out_of_range_is_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^select: index 3 is out of range for axis 0 of x \(3, 5\)$"):
        select(real(3, 5), 3)
    with pytest.raises(IndexError, match=r"^select: index -6 is out of range for axis 1 of x \(3, 5\)$"):
        select(real(3, 5), -6, 1)
    with pytest.raises(ShapeError, match=r"^select: axis 2 is out of range for x \(3, 5\)$"):
        select(real(3, 5), 0, 2)


# gather

EACH: list[tuple[Any, int]] = [
    ([[4, 0, 4], [1, -1, 1]], 1),
    ([[1, 0, -2, 1, 1]], 0),
    ([[1, 0, -1, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], -2),
    ([[], []], 1),
]


@pytest.mark.parametrize(("places", "axis"), EACH, ids=str)
def test_gather_equals_numpy_and_repeated_indices_accumulate(places: Any, axis: int) -> None:
    x, indices = real(2, 5), whole(places)

    y = gather(x, indices, axis)

    np.testing.assert_array_equal(y.numpy(), np.take_along_axis(x.numpy(), np.array(places, np.int64), axis))
    check_gradients(lambda x: gather(x, indices, axis), x)
    check_gradients(lambda x: gather(x * x, indices, axis), x, order=2)
    check_shape_rule(gather, ((2, 5), indices.shape, axis))


def test_the_gradient_of_gather_counts_each_index() -> None:
    x: Any = tensor([[1.0, 2.0, 3.0]])

    assert gather(x.trace(), tensor([[2, 0, 2, -1]]), 1).sum().backward()[x].tolist() == [[1, 0, 3]]
    assert gather(x, tensor([[1]]).trace(), 1).owns_tape


def test_gather_accepts_a_numpy_array_of_indices() -> None:
    x, indices = real(1, 5), cast("Any", np.array([[2, 0]]))  # a tensor, for a checker

    assert gather(x, indices, 1).shape == (1, 2)


def test_gather_rejects_invalid_arguments() -> None:
    x = real(3, 5)

    with pytest.raises(ShapeError) as rejected:
        gather(x, whole([[0, 1]]), 1)
    assert str(rejected.value) == "gather: indices (1, 2) has 1 along axis 0 but x (3, 5) has 3"
    with pytest.raises(ShapeError, match=r"^gather: indices \(2,\) has rank 1 but x \(3, 5\) has rank 2$"):
        gather(x, whole([0, 1]))
    with pytest.raises(ShapeError, match=r"^gather: axis 2 is out of range for x \(3, 5\)$"):
        gather(x, whole([[0]]), 2)
    with pytest.raises(IndexError, match=r"^gather: index 3 is out of range for axis 0 of size 3$"):
        gather(x, whole([[0, 1, 2, 3, 0]]))
    with pytest.raises(DTypeError, match=r"^gather: indices is float64 but integer is expected$"):
        gather(x, x)
    number: Any = 1
    with pytest.raises(ShapeError, match=r"^gather: indices \(\) has rank 0 but x \(3, 5\) has rank 2$"):
        gather(x, number)


def test_select_from_empty_tensors_and_single_elements() -> None:
    assert select(zeros((0, 3)), 1, 1).shape == (0,)
    assert select(tensor([[7]]), 0).tolist() == [7]
    assert gather(zeros((0, 3)), zeros((0, 1), np.int64), 1).shape == (0, 1)
    assert gather(tensor([[7]]), tensor([[0]])).tolist() == [[7]]


def test_a_size_known_from_either_operand_is_known() -> None:
    assert show(gather_shape((UNKNOWN, 5), (4, 3), 1)) == "(4, 3)"
    assert show(gather_shape((4, 5), (UNKNOWN, 3), 1)) == "(4, 3)"
