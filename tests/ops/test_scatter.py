"""Indexing and assignment by index: NumPy's values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import at_add, at_set, getitem, normal, ones, tensor, zeros
from tapegrad.ops._index import sliced_size
from tapegrad.ops.scatter import at_shape, getitem_shape
from tapegrad.sizes import Name, Size, named, show, size_of_name, value_of
from tapegrad.testing import check_gradients, check_shape_rule

N, M = named("N"), named("M")
S = size_of_name(Name("s", least=0, is_opaque=True))  # such as that of an int variable, which may be negative


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


BASIC: list[Any] = [
    0,
    -1,
    (),
    ...,
    None,
    (1, 2),
    (1, 2, 3),
    slice(None),
    slice(1, None),
    slice(5, None),
    slice(-9, -1),
    (slice(None), slice(None, None, -1), slice(0, 9, 3)),
    (slice(None), slice(None, 0, -2)),
    (..., 0),
    (0, ..., None, 1),
    (None, slice(2, 1), ...),
    np.int64(1),
]
GATHERED: list[Any] = [
    np.array([1, 0]),
    np.array([[0, -1, 0]]),
    np.array([], np.int64),
    (slice(None), np.array([2, 0])),
    (np.array([0, 1]), np.array([[2], [0]])),
    (np.array([0, 1]), slice(None), np.array([3, 0])),
    (0, slice(None), np.array([3, 0])),
    (slice(None), 1, np.array([3, 0])),
    (None, np.array([0]), ..., np.array([1])),
    np.array([True, False]),
    (slice(None), np.array([True, False, True]), 1),
    np.arange(6).reshape(2, 3) % 2 == 0,
]


@pytest.mark.parametrize("index", [*BASIC, *GATHERED], ids=repr)
def test_indexing_equals_numpy_and_has_its_gradient(index: Any) -> None:
    x = real(2, 3, 4)

    np.testing.assert_array_equal(x[index].numpy(), x.numpy()[index])
    check_gradients(lambda x: x[index], x)
    check_gradients(lambda x: (x * x)[index], x, order=2)


@pytest.mark.parametrize("index", [*BASIC, *GATHERED], ids=repr)
def test_results_match_the_shape_rules(index: Any) -> None:
    check_shape_rule(getitem, ((2, 3, 4), index))
    for f in (at_set, at_add):
        check_shape_rule(f, ((2, 3, 4), index, ()), ((2, 3, 4), index, np.zeros((2, 3, 4))[index].shape))


def test_index_tensors_equal_index_arrays_and_bring_their_tape() -> None:
    x, rows, mask = real(3, 2), tensor([2, 0]), tensor([True, False, True])

    np.testing.assert_array_equal(x[rows, 1].numpy(), x.numpy()[[2, 0], 1])
    np.testing.assert_array_equal(x[mask].numpy(), x.numpy()[[0, 2]])
    assert x[rows.trace()].owns_tape
    assert x.trace()[rows.trace()].sum().backward()[x].tolist() == [[1, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize(
    "index",
    [
        *([2, 0], (slice(None), [-1]), (..., [1, 1, 0]), ([0, 2], [1, 0]), [], [np.int64(1)]),
        *((slice(None), (1, 0, 1)), ((0, 2), slice(None)), ((0, 2), [1, 0])),
    ],
    ids=repr,
)
def test_lists_and_tuples_of_ints_serve_as_arrays_do(index: Any) -> None:
    x = real(3, 2)
    of_array = np.zeros(0, np.int64) if index == [] else index  # NumPy takes [] for floats

    np.testing.assert_array_equal(x[index].numpy(), x.numpy()[of_array])
    check_gradients(lambda x: x[index], x)
    check_shape_rule(getitem, ((3, 2), index))


def test_a_list_may_be_changed_before_the_backward_pass() -> None:
    x, index = real(3), [2, 0]
    y = x.trace()[index]
    index[0] = 1

    assert y.sum().backward()[x].tolist() == [1, 0, 1]


def test_slices_of_named_sizes_are_known_where_they_are_certain() -> None:
    n, k = named("N"), named("K")

    assert show(getitem_shape((n,), slice(1, None))) == "(N - 1,)"
    assert show(getitem_shape((n,), slice(None, -1))) == "(N - 1,)"
    assert show(getitem_shape((n,), slice(None, 1))) == "(1,)"
    assert show(getitem_shape((n,), slice(None, None, 2))) == "((N + 1) // 2,)"
    assert show(getitem_shape((n - 5,), slice(None, None, 3))) == "(N // 3 - 1,)"
    assert show(getitem_shape((n,), slice(2, None))) == "(max(N - 2, 0),)"  # 0 where N is 1
    assert show(getitem_shape((n,), slice(None, -2))) == "(max(N - 2, 0),)"
    assert show(getitem_shape((n,), slice(3, 5))) == "(min(max(N - 3, 0), 2),)"
    assert show(getitem_shape((n,), slice(k, k + 8))) == "(min(max(-K + N, 0), 8),)"
    assert show(getitem_shape((n,), slice(-3, -1))) == "(min(N - 1, 2),)"
    assert show(getitem_shape((n,), slice(None, k))) == "(min(K, N),)"
    assert show(getitem_shape((n + k,), slice(None, k))) == "(K,)"
    assert show(getitem_shape((n,), slice(None, None, -1))) == "(N,)"
    assert show(getitem_shape((n,), slice(None, None, -2))) == "((N + 1) // 2,)"


@pytest.mark.parametrize(
    ("size", "item", "text"),
    [
        (N + 5, slice(None, 6), "6"),
        (N + 5, slice(None, 7), "min(N + 5, 7)"),  # 6, where N is 1
        (N + 5, slice(-6, None), "6"),
        (N + 5, slice(-7, None), "min(N + 5, 7)"),
        (N + 2, slice(N * -1, None), "N"),
        (N, slice(None, N + 1), "N"),
        (N + 2, slice(None, N + M), "min(M + N, N + 2)"),
        (N, slice((N + 1) * -1, None), "N"),
        (N + 2, slice((N + M) * -1, None), "min(M + N, N + 2)"),
        (M * 2 - N, slice(M * -1, None), "min(M, 2*M - N)"),
        (M, slice(1 - M, None), "?"),  # from 1 on, but from 0 where M is 1
        (N + 5, slice(N + 1, N), "0"),
        (N + M + 5, slice(N + M, N + 2), "max(-M + 2, 0)"),
        (N, slice(-1, 0), "0"),
        (N, slice(-1, N + 1), "1"),
        (N, slice(N * -1, 1), "1"),
        (N, slice((N + 1) * -1, 1), "1"),
        (N, slice(S, None), "N[slice(s, N)]"),
        (N, slice(None, S), "N[slice(0, s)]"),
        (S, slice(2, None), "max(s - 2, 0)"),  # the size of an axis is not negative
        (7, slice(N, None), "max(-N + 7, 0)"),
        (7, slice(None, N), "min(N, 7)"),
        (7, slice(5, 1, -2), "2"),
        (7, slice(5, None, -2), "3"),
    ],
)
def test_slices_with_named_bounds_are_known_where_they_are_certain(size: Size, item: Any, text: str) -> None:
    assert show(getitem_shape((size,), item)) == f"({text},)"


@pytest.mark.parametrize("step", [1, 3])
def test_a_slice_between_named_places_has_the_size_that_python_gives_it(step: int) -> None:
    places: list[Any] = [None, 0, 2, -1, -3, N, M, N * -1, N - 2, M + 2, (M + 1) * -1, N + M]
    values = [{Name("N"): n, Name("M"): m} for n in (1, 2, 5) for m in (1, 3, 6)]
    known = 0
    for size, start, stop in itertools.product((N, N + 3, 4, 2 * N), places, places):
        found = sliced_size(size, slice(start, stop, step))
        for names in values:
            whole, a, b = (None if one is None else value_of(one, names) for one in (size, start, stop))
            result = value_of(found, names)
            known += result is not None
            assert result in (None, len(range(whole or 0)[a:b:step]))

    assert known > 3000


def test_index_axes_replace_the_first_unless_separated() -> None:
    pair = zeros((2,), np.int64)
    every = slice(None)

    assert getitem_shape((4, 5), (every, pair)) == (4, 2)
    assert getitem_shape((4, 5, 6), (every, pair, pair)) == (4, 2)
    assert getitem_shape((3, 4, 5, 6), (every, pair, every, pair)) == (2, 3, 5)


def test_the_size_of_a_mask_selection_is_unknown_to_mypy() -> None:
    mask = tensor([True, False, True, True])

    assert getitem_shape((4,), mask) == (3,)
    assert show(getitem_shape((4,), SimpleNamespace(shape=(4,), dtype=np.dtype(bool)))) == "(?,)"  # type: ignore[arg-type]  # as the checker has it
    with pytest.raises(ShapeError, match=r"^the mask \(2, 3\) has 3 where axis 2 of x \(5, 2, 4\) is 4$"):
        getitem_shape((5, 2, 4), (slice(None), zeros((2, 3), np.bool_)))


def test_a_value_of_size_one_broadcasts() -> None:
    assert at_shape((3,), slice(None), (1,)) == (3,)


def test_iteration_gives_rows() -> None:
    x = real(3, 2)

    first, *others = x

    assert first.tolist() == x.numpy()[0].tolist()
    assert len(others) == 2
    assert list(zeros((0, 3))) == []
    grads = next(iter(x.trace())).sum().backward()
    assert grads[x].tolist() == [[1, 1], [0, 0], [0, 0]]
    with pytest.raises(TypeError, match=r"^len: a tensor of shape \(\) has no length$"):
        list(real())


@pytest.mark.parametrize("index", [*BASIC, GATHERED[0], *GATHERED[2:]], ids=repr)
def test_at_set_and_at_add_equal_numpy(index: Any) -> None:
    x = real(2, 3, 4)
    value = real(*x[index].shape, seed=1)
    changed, added = x.numpy(copy=True), x.numpy(copy=True)
    changed[index] = value.numpy()
    np.add.at(added, index, value.numpy())

    np.testing.assert_array_equal(x.at_set(index, value).numpy(), changed)
    np.testing.assert_array_equal(x.at_add(index, value).numpy(), added)
    check_gradients(lambda x, v: at_set(x, index, v), x, value)
    check_gradients(lambda x, v: at_add(x, index, v), x, value)
    check_gradients(lambda x, v: at_set(x * x, index, v * v) * x, x, real(), order=2)
    check_gradients(lambda x, v: at_add(x * x, index, v * v) * x, x, real(), order=2)


def test_empty_tensors_and_single_elements() -> None:
    x = zeros((0, 3))

    assert x[:, 1].shape == (0,)
    assert tensor([7])[0].item() == tensor([7])[-1:].item() == 7
    assert x.at_set((slice(None), 1), 2.0).shape == x.at_add((slice(None), 1), 2.0).shape == (0, 3)


def test_repeated_indices_accumulate() -> None:
    x, rows = zeros((3,)), tensor([1, 1, 2])

    assert at_add(x, rows, 2.0).tolist() == [0, 4, 2]
    with pytest.raises(IndexError, match=r"^at_set: index names a position twice; at_add accumulates$"):
        at_set(x, rows, 2.0)


def test_the_tensor_itself_is_unchanged() -> None:
    x = ones((2, 3))

    y = x.at_set((0, slice(1, None)), tensor([5.0, 7.0]))

    assert y.tolist() == [[1, 5, 7], [1, 1, 1]]
    assert x.tolist() == [[1, 1, 1], [1, 1, 1]]
    with pytest.raises(
        TypeError, match=r"^a tensor is immutable: x\[0, 1:\] = \.\.\. has no effect; at_set gives another tensor$"
    ):
        x[0, 1:] = 3  # type: ignore[tapegrad-dtype]  # under test


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (2, "index 2 is out of range for axis 0 of x (2, 3)"),
        ((0, -4), "index -4 is out of range for axis 1 of x (2, 3)"),
        ((0, 0, 0), "index names 3 axes but x (2, 3) has rank 2"),
        ((..., 0, ...), "index has 2 ellipses, not one"),
        (slice(None, None, 0), "the step of a slice is 0"),
        (True, "a bool is neither an int, a slice, ..., None, a list of ints nor a tensor of indices"),
        (1.5, "a float is neither an int, a slice, ..., None, a list of ints nor a tensor of indices"),
        ([0, 1.0], "a list is neither an int, a slice, ..., None, a list of ints nor a tensor of indices"),
        (np.array([True, False, True]), "the mask (3,) has 3 where axis 0 of x (2, 3) is 2"),
        (
            (np.array([0, 1]), np.array([0, 1, 2])),
            "index[0] (2,) and index[1] (3,) do not broadcast: axis -1 is 2 in index[0] but 3 in index[1]",
        ),
    ],
    ids=repr,
)
def test_an_invalid_index_is_rejected(index: Any, message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        real(2, 3)[index]

    assert str(rejected.value) == f"getitem: {message}"


def test_a_bound_of_a_slice_must_be_an_int() -> None:
    with pytest.raises(DTypeError, match=r"^getitem: a bound of a slice is a float but an int is expected$"):
        real(2, 3)[0, :1.5]
    with pytest.raises(DTypeError, match=r"^at_set: a bound of a slice is a str but an int is expected$"):
        at_set(real(2, 3), slice("a"), 0.0)  # type: ignore[tapegrad-dtype]  # the mistake under test

    assert real(2, 3)[np.int64(1) : np.int8(2), : True + 1].shape == (1, 2)


def test_a_number_past_the_end_is_an_index_error_too() -> None:
    with pytest.raises(IndexError, match=r"^getitem: index 2 is out of range for axis 0 of x \(2, 3\)$"):
        real(2, 3)[2]
    with pytest.raises(IndexError, match=r"^getitem: index 7 is out of bounds for axis 0 with size 2$"):
        real(2, 3)[tensor([0, 7])]


def test_values_and_indices_of_wrong_types_are_rejected() -> None:
    x: Any = ones((2, 3))

    with pytest.raises(DTypeError, match=r"^getitem: index is float32 but integer or bool is expected$"):
        x[ones((2,))]
    with pytest.raises(DTypeError, match=r"^at_add: value is a float but x is int64$"):
        at_add(tensor([1, 2]), 0, 0.5)  # type: ignore[tapegrad-dtype]  # the mistake under test
    for name in ("at_set", "at_add"):
        with pytest.raises(DTypeError, match=rf"^{name}: x is float32 but value is int64$"):
            getattr(x, name)(0, tensor([1, 2, 3]))
        with pytest.raises(IndexError, match=rf"^{name}: index 2 is out of bounds for axis 0 with size 2$"):
            getattr(x, name)(tensor([2]), 1.0)
        with pytest.raises(
            ShapeError, match=rf"^{name}: value \(2,\) does not broadcast to the \(3,\) that index names in x \(2, 3\)$"
        ):
            getattr(x, name)(0, ones((2,)))


def test_a_value_with_too_many_axes_is_rejected() -> None:
    # NumPy drops leading axes of one where it assigns; the rule and the backward pass do not.
    x = real(2, 3)

    with pytest.raises(ShapeError, match=r"at_set: value \(1, 3\) does not broadcast to the \(3,\)"):
        at_set(x, 0, real(1, 3))
    with pytest.raises(ShapeError, match=r"at_add: value \(1, 3\) does not broadcast to the \(3,\)"):
        at_add(x, 0, real(1, 3))
