"""`assert_shape` and the other assertions, checked at run time."""

from __future__ import annotations

from typing import Any

import pytest

import tapegrad as tg


def test_a_true_assertion_passes() -> None:
    x = tg.ones((2, 6)).trace()

    tg.assert_divides(3, 6)
    tg.assert_same(2, 2)

    assert tg.assert_shape(x, (2, 6)) is x


@pytest.mark.parametrize(("divisor", "number"), [(4, 6), (0, 6), (12, 6)])
def test_a_remainder_is_rejected(divisor: int, number: int) -> None:
    with pytest.raises(tg.ShapeError, match=rf"^assert_divides: {divisor} does not divide {number}$"):
        tg.assert_divides(divisor, number)


def test_different_sizes_are_rejected() -> None:
    sizes: Any = (2, 3)

    with pytest.raises(tg.ShapeError, match=r"^assert_same: 2 is not 3$"):
        tg.assert_same(*sizes)


def unknown() -> Any:
    return tg.ones((2, 6))


def test_a_wrong_shape_is_rejected_with_its_axis() -> None:
    with pytest.raises(tg.ShapeError, match=r"x is \(2, 6\) but \(2, 5\) is expected: axis 1 is 6, not 5$"):
        tg.assert_shape(unknown(), (2, 5))
    with pytest.raises(tg.ShapeError, match=r"x is \(2, 6\) but \(2,\) is expected: rank 2, not 1$"):
        tg.assert_shape(unknown(), (2,))


def test_a_shape_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    x = unknown().trace()

    assert tg.reveal_shape(x) is x
    assert capsys.readouterr().err == "Runtime shape is (2, 6) float32, owned tape\n"


def test_non_tensors_and_invalid_shapes_are_rejected() -> None:
    array: Any = 3
    shape: Any = [2, 6]
    with pytest.raises(tg.DTypeError, match=r"^assert_shape: x is an int, not a tensor$"):
        tg.assert_shape(array, (2,))
    with pytest.raises(tg.DTypeError, match=r"^assert_shape: shape is a list but a tuple of ints is expected$"):
        tg.assert_shape(unknown(), shape)
    with pytest.raises(tg.DTypeError, match=r"^reveal_shape: x is an int, not a tensor$"):
        tg.reveal_shape(array)
