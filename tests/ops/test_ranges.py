"""arange, linspace and other ranges: NumPy's values, edge cases and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import arange, eye, linspace, one_hot, tensor, tri, zeros
from tapegrad.ops.ranges import arange_shape, eye_shape, linspace_shape, one_hot_shape
from tapegrad.sizes import named, show
from tapegrad.testing import check_shape_rule


@pytest.mark.parametrize("arguments", [(5,), (0,), (-3,), (2, 9, 3), (9, 2, -3), (2, 9, -1), (0, 6, 2)], ids=str)
def test_arange_equals_numpy(arguments: tuple[int, ...]) -> None:
    assert arange(*arguments).tolist() == np.arange(*arguments).tolist()
    assert arange(*arguments).dtype == np.int64
    check_shape_rule(arange, arguments)


FAR = [(2**63 - 2, 2**63), (0, 2**63, 2**62), (-(2**63), -(2**63) + 3), (2**63 - 1, -(2**63), -(2**62)), (0, 5, 2**70)]
FAR += [(10**30, 0), (0, -(10**30)), (2**53, 2**53 + 3)]


@pytest.mark.parametrize("arguments", FAR, ids=str)
def test_arange_of_large_ints_is_exact(arguments: tuple[int, ...]) -> None:
    assert arange(*arguments).tolist() == list(range(*arguments))


@pytest.mark.parametrize("arguments", [(2**63 - 2, 2**63 + 2), (2**70, 2**70 + 3), (0, 2**64, 2**63)], ids=str)
def test_arange_rejects_bounds_beyond_int64(arguments: tuple[int, ...]) -> None:
    with pytest.raises(
        DTypeError, match=r"^arange: a number is too large for its dtype or its place \(the last is \d+\)$"
    ):
        arange(*arguments)


def test_arange_accepts_a_named_size() -> None:
    assert show(arange_shape(named("N"))) == "(N,)"
    assert show(arange_shape(0, named("N"), 2)) == "((N + 1) // 2,)"


def test_linspace_and_eye_equal_numpy() -> None:
    np.testing.assert_allclose(linspace(0, 1, 7, dtype=np.float64).numpy(), np.linspace(0, 1, 7))
    assert linspace(2, 3, 1).tolist() == [2]
    assert linspace(2, 3, 0).shape == (0,)
    assert eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert eye(0).shape == (0, 0)
    check_shape_rule(eye, (2, 3), (5,))
    check_shape_rule(linspace, (0.0, 1.0, 7))


def test_one_hot_gives_each_index_its_row() -> None:
    assert one_hot(tensor([0, 2]), 3).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert one_hot(tensor(1), 2).tolist() == [0, 1]
    assert not one_hot(tensor([0, 2]).trace(), 3).owns_tape
    assert one_hot(zeros((0, 2), np.int64), 3).shape == (0, 2, 3)
    check_shape_rule(one_hot, ((2, 3), 7), ((), 1))


def test_invalid_arguments_are_rejected() -> None:
    size: Any = -1

    with pytest.raises(ShapeError, match=r"^arange: step is 0$"):
        arange(0, 3, size + 1)
    with pytest.raises(ShapeError, match=r"^linspace: num is -1, below 0$"):
        linspace(0, 1, size)
    with pytest.raises(DTypeError, match=r"^linspace: dtype is int64 but floating is expected$"):
        linspace(0, 1, 3, dtype=np.int64)  # type: ignore[tapegrad-dtype]  # the mistake under test
    with pytest.raises(ShapeError, match=r"^eye: shape \(-1, 3\) has the negative size -1$"):
        eye(size, 3)
    with pytest.raises(ShapeError, match=r"^one_hot: size is -1, below 0$"):
        one_hot(tensor([0]), size)
    with pytest.raises(IndexError, match=r"^one_hot: index 3 is out of range for rows of 3$"):
        one_hot(tensor([0, 3]), 3)
    floats: Any = tensor([0.0])
    with pytest.raises(DTypeError, match=r"^one_hot: indices is float32 but integer is expected$"):
        one_hot(floats, 3)


@pytest.mark.parametrize(
    ("f", "arguments", "message"),
    [
        (arange, (2.5,), "arange: start is 2.5 but an int is expected"),
        (arange, (True,), "arange: start is True but an int is expected"),
        (arange, (2.5, 4), "arange: start is 2.5 but an int is expected"),
        (arange, (0, "a"), "arange: stop is 'a' but an int is expected"),
        (arange, (0, 3, np.float32(1)), "arange: step is np.float32(1.0) but an int is expected"),
        (arange, (tensor(3),), "arange: start is a Tensor but an int is expected"),
        (eye, (2.5,), "eye: n is 2.5 but an int is expected"),
        (eye, (2, "a"), "eye: m is 'a' but an int is expected"),
        (tri, (True,), "tri: n is True but an int is expected"),
        (linspace, ("a", 1), "linspace: start is 'a' but a number is expected"),
        (linspace, (0, [1, 2]), "linspace: stop is [1, 2] but a number is expected"),
        (linspace, (0, 1j), "linspace: stop is 1j but a number is expected"),
        (linspace, (0, 1, 2.5), "linspace: num is 2.5 but an int is expected"),
        (linspace, (0, 1, True), "linspace: num is True but an int is expected"),
        (one_hot, (tensor([0]), 2.5), "one_hot: size is 2.5 but an int is expected"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_non_numbers_are_rejected(f: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DTypeError) as rejected:
        f(*arguments)

    assert str(rejected.value) == message


@pytest.mark.parametrize(
    ("rule", "arguments", "message"),
    [
        (eye_shape, (True,), "n is True but an int is expected"),
        (eye_shape, (2, 2.5), "m is 2.5 but an int is expected"),
        (linspace_shape, (0, 1, True), "num is True but an int is expected"),
        (arange_shape, (True,), "start is True but an int is expected"),
        (arange_shape, (2.5, 4), "start is 2.5 but an int is expected"),
        (arange_shape, (0, True), "stop is True but an int is expected"),
        (arange_shape, (0, 5, "a"), "step is 'a' but an int is expected"),
        (one_hot_shape, ((3,), True), "size is True but an int is expected"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_shape_rules_reject_what_is_no_int(rule: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DTypeError) as rejected:
        rule(*arguments)

    assert str(rejected.value) == message


def test_numpy_scalars_are_accepted() -> None:
    assert arange(np.int64(2), np.int8(9), np.uint8(3)).tolist() == [2, 5, 8]
    assert eye(np.int64(2), np.int8(3)).shape == (2, 3)
    assert tri(np.int64(2)).tolist() == [[1, 0], [1, 1]]
    assert linspace(np.float32(0), np.float64(1), np.int64(3)).tolist() == [0, 0.5, 1]
    assert one_hot(tensor([1]), np.int64(2)).tolist() == [[0, 1]]


def test_the_shape_is_known_where_it_is_certain() -> None:
    n = named("N")

    assert arange_shape(5, 0, -2) == (3,)
    assert show(arange_shape(n, 0)) == "(?,)"
    assert show(arange_shape(n + 1, n)) == "(?,)"
    assert one_hot_shape((3,), 0) == (3, 0)
