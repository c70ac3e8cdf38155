"""Flatten, Unflatten and Reshape: which axes are joined, and which are restored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.nn import Flatten, Reshape, Sequential, Unflatten
from tapegrad.ops import arange, ones


def test_flatten_joins_all_axes_after_the_batch() -> None:
    x: Any = arange(24).reshape((2, 3, 4))

    assert Flatten()(x).tolist() == [list(range(12)), list(range(12, 24))]


def test_an_empty_batch_stays_empty() -> None:
    assert Flatten()(ones((0, 3, 4))).shape == (0, 12)
    assert Flatten()(ones((5, 0, 4))).shape == (5, 0)


@pytest.mark.parametrize(("start_axis", "shape"), [(0, (210,)), (1, (2, 105)), (2, (2, 3, 35)), (-1, (2, 3, 5, 7))])
def test_flatten_may_start_at_another_axis(start_axis: int, shape: tuple[int, ...]) -> None:
    assert Flatten(start_axis=start_axis)(ones((2, 3, 5, 7))).shape == shape


def test_the_gradient_has_the_shape_of_the_argument() -> None:
    x = ones((2, 3, 5))

    dx = (Flatten()(x.trace()) * np.arange(15, dtype=np.float32)).sum().backward()[x]

    assert dx.numpy()[1].tolist() == np.arange(15).reshape(3, 5).tolist()


@pytest.mark.parametrize(("shape", "shown"), [((3,), r"\(3,\)"), ((), r"\(\)")])
def test_flatten_needs_an_axis_after_the_batch(shape: tuple[int, ...], shown: str) -> None:
    with pytest.raises(ShapeError, match=rf"^Flatten: axis 1 is out of range for x {shown}$"):
        Flatten()(ones(shape))


def test_the_repr_of_flatten_has_its_first_axis() -> None:
    assert (repr(Flatten()), repr(Flatten(start_axis=2))) == ("Flatten()", "Flatten(start_axis=2)")


def test_unflatten_restores_the_axes() -> None:
    x: Any = arange(48).reshape((2, 4, 3, 2))

    assert Sequential(Flatten(), Unflatten((4, 3, 2)))(x).tolist() == x.tolist()
    assert Unflatten((8, 3))(x).shape == (2, 8, 3)
    assert Unflatten(())(ones((5, 1))).shape == (5,)
    assert Unflatten((4, 3))(ones((0, 12))).shape == (0, 4, 3)


def test_the_gradient_of_unflatten_is_flat() -> None:
    x = ones((2, 15))

    dx = (Unflatten((3, 5))(x.trace()) * np.arange(15, dtype=np.float32).reshape(3, 5)).sum().backward()[x]

    assert dx.numpy()[1].tolist() == list(range(15))


def test_another_number_of_elements_is_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^Unflatten: x \(2, 14\) has 28 elements but shape \(2, 3, 5\) has 30$"):
        Unflatten((3, 5))(ones((2, 14)))  # type: ignore[tapegrad-shape]  # under test
    with pytest.raises(ShapeError, match=r"^Unflatten: shape \(3, -1\) has a negative size$"):
        Unflatten((3, -1))  # type: ignore[tapegrad-shape]  # under test


def test_the_repr_of_unflatten_has_its_shape() -> None:
    assert (repr(Unflatten((3, 5))), repr(Unflatten((3,)))) == ("Unflatten((3, 5))", "Unflatten((3,))")


def test_reshape_may_change_the_batch_size() -> None:
    x: Any = arange(24).reshape((2, 3, 4))

    assert Reshape((6, 4))(x).tolist() == x.reshape((6, 4)).tolist()
    assert repr(Reshape((6, 4))) == "Reshape((6, 4))"
    y = ones((3, 5))
    dy = (Reshape((15,))(y.trace()) * np.arange(15, dtype=np.float32)).sum().backward()[y]
    assert dy.tolist() == np.arange(15).reshape(3, 5).tolist()
    with pytest.raises(ShapeError, match=r"^Reshape: x \(2, 3, 4\) has 24 elements but shape \(5, 5\) has 25$"):
        Reshape((5, 5))(x)
    with pytest.raises(ShapeError, match=r"^Reshape: shape \(3, -1\) has a negative size$"):
        Reshape((3, -1))  # type: ignore[tapegrad-shape]  # under test


@pytest.mark.parametrize("layer", [Reshape, Unflatten])
@pytest.mark.parametrize("shape", [3, (2.0, 3), (True, 3), None], ids=repr)
def test_invalid_shapes_are_rejected(layer: Any, shape: Any) -> None:
    with pytest.raises(DTypeError) as rejected:
        layer(shape)

    assert str(rejected.value) == f"{layer.__name__}: shape is {shape!r} but a tuple of ints is expected"
