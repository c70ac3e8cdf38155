"""Sorting: NumPy's values, ties, gradients, shapes and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import argsort, normal, sort, tensor, topk, zeros
from tapegrad.ops.sort import topk_shape
from tapegrad.testing import check_gradients, check_shape_rule


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting_equals_numpy_and_has_its_gradients(axis: int, descending: bool) -> None:  # noqa: FBT001  # a parameter
    x = real(2, 5, 3)
    ordered, order = np.sort(x.numpy(), axis), np.argsort(x.numpy(), axis)

    expected = (np.flip(ordered, axis), np.flip(order, axis)) if descending else (ordered, order)
    np.testing.assert_array_equal(sort(x, axis, descending=descending).numpy(), expected[0])
    np.testing.assert_array_equal(argsort(x.trace(), axis, descending=descending).numpy(), expected[1])
    check_gradients(lambda x: sort(x, axis, descending=descending), x)
    check_gradients(lambda x: sort(x * x, min(axis, 1), descending=descending), real(2, 3), order=2)
    check_shape_rule(sort, ((2, 3, 7), axis), ((0, 3, 1), axis))
    check_shape_rule(argsort, ((2, 3, 7), axis), ((0, 3, 1), axis))


def test_indices_are_ints_and_have_no_tape() -> None:
    order = argsort(real(2, 3).trace())

    assert order.dtype == np.int64
    assert not order.owns_tape


def test_sorting_is_stable_in_both_directions() -> None:
    x = tensor([3.0, 1.0, 3.0, 2.0, 1.0])

    assert argsort(x).tolist() == [1, 4, 3, 0, 2]
    assert argsort(x, descending=True).tolist() == [0, 2, 3, 1, 4]


def test_nan_counts_as_largest() -> None:
    x = tensor([2.0, np.nan, 1.0])

    np.testing.assert_array_equal(sort(x).numpy(), [1, 2, np.nan])
    np.testing.assert_array_equal(sort(x, descending=True).numpy(), [np.nan, 2, 1])
    assert math.isnan(topk(x, 1)[0].item())


def test_ints_bools_and_empty_tensors_are_sorted() -> None:
    assert sort(tensor([3, -1, 2], np.int8)).tolist() == [-1, 2, 3]
    assert sort(tensor([3, 200, 2], np.uint8), descending=True).tolist() == [200, 3, 2]
    assert sort(tensor([True, False])).tolist() == [False, True]
    assert sort(zeros((2, 0))).shape == (2, 0)
    assert argsort(zeros((0, 3)), 0).shape == (0, 3)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("largest", [False, True])
def test_topk_equals_the_first_elements_of_a_sort(axis: int, k: int, largest: bool) -> None:  # noqa: FBT001  # a parameter
    x = real(2, 5, 3)
    place = (*(slice(None),) * (axis % 3), slice(k))

    values, indices = topk(x.trace(), k, axis, largest=largest)

    np.testing.assert_array_equal(values.numpy(), sort(x, axis, descending=largest)[place].numpy())
    np.testing.assert_array_equal(indices.numpy(), argsort(x, axis, descending=largest)[place].numpy())
    assert values.owns_tape
    assert not indices.owns_tape
    check_gradients(lambda x: topk(x, k, axis, largest=largest)[0], x)
    check_gradients(lambda x: topk(x * x, min(k, 1), 0, largest=largest)[0], real(2, 3), order=2)
    check_shape_rule(topk, ((2, 3, 7), k, axis), ((2, 2, 2), k, axis))


def test_topk_takes_the_first_of_equal_elements() -> None:
    x = tensor([1.0, 3.0, 2.0, 3.0])

    values, indices = topk(x.trace(), 1)

    assert (values.tolist(), indices.tolist()) == ([3], [1])
    assert values.sum().backward()[x].tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("f", [sort, argsort, lambda x, axis: topk(x, 1, axis)], ids=["sort", "argsort", "topk"])
def test_missing_axes_are_rejected(f: Any, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.id

    with pytest.raises(ShapeError, match=rf"^{name}: axis 2 is out of range for x \(2, 3\)$"):
        f(real(2, 3), 2)
    with pytest.raises(ShapeError, match=rf"^{name}: axis -1 is out of range for x \(\)$"):
        f(real(), -1)


def test_topk_with_k_out_of_range_is_rejected() -> None:
    x = real(2, 3)

    with pytest.raises(ShapeError, match=r"^topk: k is 4 but axis 1 of x \(2, 3\) has 3$"):
        topk(x, 4)
    with pytest.raises(ShapeError, match=r"^topk: k is -1, below 0$"):
        topk(x, -1)  # type: ignore[tapegrad-shape]  # the mistake under test


@pytest.mark.parametrize("length", [10, 11])
def test_sorting_special_values_equals_numpy(length: int) -> None:
    edges = np.array([0, -0.0, 1, 1, -2.5, 100, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)[:length]

    np.testing.assert_array_equal(sort(tensor(edges)).numpy(), np.sort(edges))
    np.testing.assert_array_equal(argsort(tensor(edges)).numpy(), np.argsort(edges, stable=True))
    np.testing.assert_array_equal(topk(tensor(edges), 3)[0].numpy(), np.sort(edges)[::-1][:3])
    np.testing.assert_array_equal(topk(tensor(edges), 3, largest=False)[0].numpy(), np.sort(edges)[:3])


def test_topk_of_empty_tensors_and_single_elements() -> None:
    assert topk(zeros((0, 3)), 2)[1].shape == (0, 2)
    assert [part.tolist() for part in topk(tensor([7]), 1)] == [[7], [0]]


def test_a_bool_is_no_number_of_elements() -> None:
    with pytest.raises(DTypeError, match=r"^topk: k is True but an int is expected$"):
        topk(zeros((3,)), True)  # type: ignore[tapegrad-dtype]  # noqa: FBT003  # the mistake under test
    with pytest.raises(DTypeError, match=r"^k is True but an int is expected$"):
        topk_shape((3,), k=True)
