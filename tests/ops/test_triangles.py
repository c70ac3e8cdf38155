"""Triangles and diagonals: NumPy's values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import diag, diagonal, normal, tensor, tri, tril, triu, zeros
from tapegrad.ops.triangles import diag_shape, diagonal_shape, tri_shape, triangle_shape
from tapegrad.sizes import named, show
from tapegrad.testing import check_gradients, check_shape_rule

TRIANGLES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {"tril": (tril, np.tril), "triu": (triu, np.triu)}
OFFSETS = [-4, -1, 0, 2, 7]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize("k", OFFSETS)
def test_a_triangle_of_ones_equals_numpy(k: int) -> None:
    np.testing.assert_array_equal(tri(4, 3, k=k).numpy(), np.tri(4, 3, k))
    np.testing.assert_array_equal(tri(3, k=k, dtype=np.bool_).numpy(), np.tri(3, k=k, dtype=np.bool_))
    assert tri(3).dtype == np.float32
    assert tri(0, 3).shape == (0, 3)
    check_shape_rule(tri, (4, 3), (5,))


def test_a_negative_side_is_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^tri: shape \(-1, 3\) has the negative size -1$"):
        tri(-1, 3)  # type: ignore[tapegrad-shape]  # the mistake under test


@pytest.mark.parametrize("name", TRIANGLES)
@pytest.mark.parametrize("k", OFFSETS)
def test_a_triangle_equals_numpy_and_has_its_gradients(name: str, k: int) -> None:
    (f, numpys), x = TRIANGLES[name], real(2, 4, 3)

    np.testing.assert_array_equal(f(x, k=k).numpy(), numpys(x.numpy(), k))
    check_gradients(lambda x: f(x, k=k), x)
    check_gradients(lambda x: f(x * x, k=k), real(2, 3), order=2)
    check_shape_rule(f, ((2, 4, 3),), ((0, 3),))


@pytest.mark.parametrize("name", TRIANGLES)
def test_a_triangle_keeps_the_dtype_and_replaces_infinities_by_zero(name: str) -> None:
    f, numpys = TRIANGLES[name]

    for dtype, value in ((np.bool_, True), (np.float32, np.inf), (np.int8, 1)):
        array: Any = np.full((2, 2), value, dtype)
        y = f(tensor(array))
        np.testing.assert_array_equal(y.numpy(), numpys(array))
        assert y.dtype == array.dtype
    with pytest.raises(ShapeError, match=rf"^{name}: x \(3,\) has rank 1 but needs at least 2$"):
        f(real(3))
    with pytest.raises(DTypeError, match=rf"^{name}: k is 1\.5 but an int is expected$"):
        f(real(2, 2), k=1.5)


@pytest.mark.parametrize("k", OFFSETS)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3,), (0,), (1, 1), (0, 2)], ids=str)
def test_a_diagonal_equals_numpy_and_has_its_gradients(k: int, shape: tuple[int, ...]) -> None:
    x = real(*shape)

    np.testing.assert_array_equal(diag(x, k=k).numpy(), np.diag(x.numpy(), k))
    check_gradients(lambda x: diag(x, k=k), x)
    check_shape_rule(diag, {"x": shape, "k": k})


def test_a_diagonal_can_be_differentiated_twice() -> None:
    check_gradients(lambda x: diag(x * x, k=1), real(3, 4), order=2)
    check_gradients(lambda x: diag(x * x), real(2), order=2)


def test_diag_of_diag_is_the_vector() -> None:
    x = tensor([3, 1, 2])

    assert diag(diag(x, k=-2), k=-2).tolist() == [3, 1, 2]
    assert diag(x).dtype == np.int64


def test_the_diagonal_of_a_named_square_is_as_long_as_its_side() -> None:
    n, m = named("N"), named("M")

    assert show(diag_shape((n, n))) == "(N,)"
    assert show(diag_shape((n, n), k=-1)) == "(N - 1,)"
    assert show(diag_shape((n, m))) == "(?,)"
    assert show(diag_shape((n,), k=-2)) == "(N + 2, N + 2)"


@pytest.mark.parametrize("shape", [(), (2, 3, 4)], ids=str)
def test_neither_a_scalar_nor_a_stack_has_a_diagonal(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError) as rejected:
        diag(zeros(shape))

    assert str(rejected.value) == f"diag: x {shape} has rank {len(shape)} but a vector or a matrix is expected"


@pytest.mark.parametrize("name", TRIANGLES)
def test_triangles_of_empty_tensors_and_single_elements(name: str) -> None:
    assert TRIANGLES[name][0](zeros((0, 3))).shape == (0, 3)
    assert TRIANGLES[name][0](tensor([[7]])).tolist() == [[7]]


def test_the_size_of_a_diagonal_is_known_where_it_is_certain() -> None:
    n, m = named("N"), named("M")

    assert diag_shape((3, 5), k=1) == (3,)
    assert show(diag_shape((n + m, n + 2))) == "(?,)"
    assert show(diag_shape((n, n), k=-1)) == "(N - 1,)"
    assert show(diag_shape((n, n), k=-2)) == "(?,)"  # of one row the second below is empty, not shorter than nothing
    assert show(diag_shape((n, n), k=-3)) == "(?,)"


def test_a_non_int_size_is_rejected() -> None:
    n: Any = 2.5

    with pytest.raises(DTypeError, match=r"^tri: n is 2\.5 but an int is expected$"):
        tri(n)


@pytest.mark.parametrize("offset", [-5, -2, 0, 1, 7])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (2, 0), (-1, -2)])
def test_diagonals_of_a_stack_equal_numpy_and_have_gradients(offset: int, axes: tuple[int, int]) -> None:
    x: Any = normal((2, 5, 3), dtype=np.float64, rng=0)

    np.testing.assert_array_equal(diagonal(x, offset, *axes).numpy(), np.diagonal(x.numpy(), offset, *axes))
    check_gradients(lambda x: diagonal(x * x, offset, *axes), x, order=2)
    check_shape_rule(diagonal, ((2, 5, 3), offset, *axes), ((0, 3, 1), offset, *axes))


def test_diagonals_of_empty_tensors_and_other_dtypes() -> None:
    assert diagonal(zeros((0, 3, 2))).shape == (2, 0)
    assert diagonal(tensor([[7]])).tolist() == [7]
    assert diagonal(tensor([[True, False], [True, True]]), -1).tolist() == [True]


def test_the_sizes_of_a_diagonal_of_named_sizes() -> None:
    n, m = named("N"), named("M")

    assert show(diagonal_shape((n, n, m))) == "(M, N)"
    assert show(diagonal_shape((n, 3, 3), 1, 1, 2)) == "(N, 2)"


def test_a_diagonal_needs_two_axes() -> None:
    x: Any = zeros((2, 3))
    with pytest.raises(ShapeError, match=r"^diagonal: axis1 and axis2 are both axis 1 of x \(2, 3\)$"):
        diagonal(x, 0, 1, -1)
    with pytest.raises(ShapeError, match=r"^diagonal: x \(3,\) has rank 1 but needs at least 2$"):
        diagonal(x[0])
    with pytest.raises(ShapeError, match=r"^diagonal: axis 2 is out of range for x \(2, 3\)$"):
        diagonal(x, axis2=2)


def test_a_bool_is_no_offset_of_a_diagonal() -> None:
    with pytest.raises(DTypeError, match=r"^diag: k is True but an int is expected$"):
        diag(zeros((3,)), True)  # type: ignore[tapegrad-dtype]  # noqa: FBT003  # the mistake under test


@pytest.mark.parametrize("k", [True, False])
def test_a_bool_is_no_diagonal_of_a_triangle(k: bool) -> None:  # noqa: FBT001  # the mistake under test
    for triangle in (tril, triu):
        with pytest.raises(DTypeError, match=rf"^{triangle.__name__}: k is {k} but an int is expected$"):
            triangle(zeros((3, 3)), k)
    with pytest.raises(DTypeError, match=rf"^tri: k is {k} but an int is expected$"):
        tri(3, k=k)
    with pytest.raises(DTypeError, match=rf"^diagonal: offset is {k} but an int is expected$"):
        diagonal(zeros((3, 3)), k)


def test_the_rules_of_triangles_and_diagonals_name_the_offset_that_is_a_bool() -> None:
    rules: list[tuple[Callable[..., Any], Any]] = [(tri_shape, 3), (triangle_shape, (3, 3)), (diag_shape, (3,))]
    for rule, size in rules:
        with pytest.raises(DTypeError, match=r"^k is True but an int is expected$"):
            rule(size, k=True)
    with pytest.raises(DTypeError, match=r"^offset is True but an int is expected$"):
        diagonal_shape((3, 3), offset=True)
