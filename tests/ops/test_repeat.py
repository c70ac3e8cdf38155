"""repeat, tile and sliding windows: NumPy's values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import meshgrid, normal, repeat, tensor, tile, unfold, zeros
from tapegrad.ops.repeat import meshgrid_shape, repeat_shape, unfold_shape
from tapegrad.sizes import named, show
from tapegrad.testing import check_gradients, check_shape_rule

COPIES: list[tuple[Callable[..., Any], tuple[Any, ...], Callable[..., Any]]] = [
    (repeat, (3,), np.repeat),
    (repeat, (0,), np.repeat),
    (repeat, (1, 0), np.repeat),
    (repeat, (2, 1), np.repeat),
    (repeat, (2, -1), np.repeat),
    (tile, (2,), np.tile),
    (tile, ((),), np.tile),
    (tile, ((2, 3),), np.tile),
    (tile, ((1, 2, 1),), np.tile),
    (tile, ((2, 1, 2, 1),), np.tile),
    (tile, ((0, 1),), np.tile),
]
BELOW: Any = -1  # what mypy would reject by itself
WINDOWS = [(1, 2, 1), (1, 3, 2), (-1, 3, 1), (0, 1, 1), (1, 5, 3), (1, 1, 4)]


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


@pytest.mark.parametrize(("f", "arguments", "numpys"), COPIES, ids=lambda value: getattr(value, "__name__", str(value)))
def test_every_op_equals_numpy_and_has_its_gradients(
    f: Callable[..., Any], arguments: tuple[Any, ...], numpys: Callable[..., Any]
) -> None:
    x = real(2, 5, 3)

    np.testing.assert_array_equal(f(x, *arguments).numpy(), numpys(x.numpy(), *arguments))
    check_gradients(lambda x: f(x, *arguments), x)
    check_gradients(lambda x: f(x * x, *arguments), real(1, 2, 2), order=2)
    check_shape_rule(f, ((2, 3, 7), *arguments), ((0, 1, 1), *arguments))


def test_a_scalar_is_repeated_into_a_vector() -> None:
    assert repeat(tensor(3.0), 2).tolist() == [3, 3]
    assert tile(tensor(3.0), 2).tolist() == [3, 3]
    assert tile(zeros((0, 3)), 2).shape == (0, 6)
    check_gradients(lambda x: repeat(x, 2), real())


def test_a_named_number_of_copies_is_multiplied() -> None:
    assert show(repeat_shape((named("N"), 3), named("R"), 0)) == "(N*R, 3)"


@pytest.mark.parametrize(("axis", "size", "step"), WINDOWS)
def test_windows_equal_numpy_and_overlapping_gradients_are_summed(axis: int, size: int, step: int) -> None:
    x = real(2, 5, 3)
    places = (*(slice(None),) * (axis % 3), slice(None, None, step))

    y = unfold(x, axis, size=size, step=step)

    np.testing.assert_array_equal(y.numpy(), sliding_window_view(x.numpy(), size, axis)[places])
    check_gradients(lambda x: unfold(x, axis, size=size, step=step), x)
    check_gradients(lambda x: unfold(x * x, axis, size=1, step=step), real(2, 3, 1), order=2)
    check_shape_rule(unfold, {"x": (2, 5, 3), "axis": axis, "size": size, "step": step})


def test_a_window_as_long_as_a_named_axis_fits_once() -> None:
    n = named("N")

    assert show(unfold_shape((3, n), 1, size=n)) == "(3, 1, N)"
    assert show(unfold_shape((3, n), 1, size=1)) == "(3, N, 1)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: repeat(x, 2, 2), "repeat: axis 2 is out of range for x (2, 3); tile repeats a whole tensor"),
        (lambda x: repeat(x, BELOW), "repeat: repeats is -1, below 0"),
        (lambda x: tile(x, (2, BELOW)), "tile: reps has -1, below 0"),
        (lambda x: unfold(x, 2, size=1), "unfold: axis 2 is out of range for x (2, 3)"),
        (lambda x: unfold(x, 1, size=0), "unfold: size is 0 but at least 1 is expected"),  # type: ignore[tapegrad-shape]  # the mistake under test
        (lambda x: unfold(x, 1, size=2, step=0), "unfold: step is 0 but at least 1 is expected"),  # type: ignore[tapegrad-shape]  # the mistake under test
        (lambda x: unfold(x, 1, size=4), "unfold: a window of 4 does not fit into 3 cells along axis 1 of x (2, 3)"),
    ],
)
def test_invalid_arguments_are_rejected(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        call(real(2, 3))

    assert str(rejected.value) == message


def test_empty_tensors_and_windows_over_single_elements() -> None:
    assert repeat(zeros((0, 3)), 2, 1).shape == (0, 6)
    assert unfold(zeros((0, 3)), 1, size=2).shape == (0, 2, 2)
    assert unfold(tensor([7]), 0, size=1).tolist() == [[7]]


def test_non_int_repetitions_are_rejected() -> None:
    reps: Any = 2.5

    with pytest.raises(DTypeError, match=r"^tile: reps is 2\.5 but an int or a tuple of ints is expected$"):
        tile(zeros((4,)), reps)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("lengths", [(), (3,), (3, 2), (3, 2, 5), (1, 1), (0, 2), (2, 1, 3, 2)], ids=str)
def test_grids_equal_numpy_and_have_gradients(lengths: tuple[int, ...], indexing: Any) -> None:
    vectors = [real(n, seed=n) for n in lengths]

    found = meshgrid(*vectors, indexing=indexing)

    expected = np.meshgrid(*(one.numpy() for one in vectors), indexing=indexing)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    for position in range(len(vectors)):
        check_gradients(lambda *xs, k=position: meshgrid(*xs, indexing=indexing)[k], *vectors, order=2)
    for rule_of in ([*lengths], [*reversed(lengths)]):
        shapes: Any = meshgrid_shape(indexing, tuple((n,) for n in rule_of))
        assert shapes == tuple(one.shape for one in meshgrid(*(real(n) for n in rule_of), indexing=indexing))


def test_grids_of_edges_and_of_ints_copy_them() -> None:
    x = tensor([0.0, -0.0, np.inf, -np.inf, np.nan, 3e38])

    np.testing.assert_array_equal(meshgrid(x, x)[0].numpy()[5], x.numpy())
    assert meshgrid(tensor([1, 2]), tensor([3]))[1].dtype == np.int64


def test_grids_match_the_shape_rule() -> None:
    shapes = [((3,), (2,)), ((1,),), ((0,), (2,), (5,))]
    check_shape_rule(meshgrid, *({"indexing": indexing, "tensors": one} for one in shapes for indexing in ("xy", "ij")))


def test_grids_of_matrices_and_of_two_dtypes_are_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^meshgrid: tensors\[1\] \(2, 3\) has rank 2, not 1$"):
        meshgrid(real(2), real(2, 3))
    with pytest.raises(DTypeError, match=r"^meshgrid: tensors\[0\] is float64 but tensors\[1\] is float32$"):
        meshgrid(real(2), zeros(2))
    other: Any = "yx"
    with pytest.raises(ValueError, match=r"^meshgrid: indexing is 'yx' but 'xy' or 'ij' is expected$"):
        meshgrid(real(2), indexing=other)


def test_a_bool_is_no_size_of_windows() -> None:
    with pytest.raises(DTypeError, match=r"^unfold: size is True but an int is expected$"):
        unfold(zeros((3,)), 0, True)  # type: ignore[tapegrad-dtype]  # noqa: FBT003  # the mistake under test
    for name, sizes in (("size", {"size": True}), ("step", {"size": 2, "step": True})):
        with pytest.raises(DTypeError, match=rf"^{name} is True but an int is expected$"):
            unfold_shape((3,), 0, **sizes)


def test_a_bool_is_no_number_of_repetitions() -> None:
    with pytest.raises(DTypeError, match=r"^repeat: repeats is True but an int is expected$"):
        repeat(zeros((3,)), True)  # type: ignore[tapegrad-dtype]  # noqa: FBT003  # the mistake under test
    with pytest.raises(DTypeError, match=r"^repeats is True but an int is expected$"):
        repeat_shape((3,), repeats=True)
