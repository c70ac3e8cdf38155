"""What shape rules are made of: windows along several axes, open sizes that broadcast, and arguments that are ints."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tapegrad import ops
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.sizes import UNKNOWN, Dims, broadcast, named, one_int, several_ints, show, window, windows

N, H = named("N"), named("H")


def counted(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Count the windows of `ceil_mode` one by one.

    A window starts before the padding at the end, and less than one stride of it is beyond the padded cells.
    """
    span, padded = dilation * (kernel - 1) + 1, size + 2 * padding
    starts = range(0, size + padding, stride)
    return sum(start + span - padded < stride for start in starts)


def test_with_ceil_mode_the_last_window_may_reach_beyond_the_cells() -> None:
    options = itertools.product(range(1, 7), range(1, 5), range(1, 5), range(3), (1, 2))
    for size, kernel, stride, padding, dilation in options:
        arguments = {"stride": stride, "padding": padding, "dilation": dilation}
        count = counted(size, kernel, **arguments)
        if count:
            assert window(size, kernel, **arguments, ceil_mode=True) == count
        else:
            with pytest.raises(ShapeError, match="does not fit"):
                window(size, kernel, **arguments, ceil_mode=True)

    assert str(window(H, 2, stride=2, ceil_mode=True)) == "(H + 1) // 2"


def test_windows_along_several_axes_are_those_along_each() -> None:
    x, kernels, strides = (2, 11, 9, 3), (3, 2), (2, 3)

    assert windows(x, 1, kernels, strides) == (window(11, 3, stride=2), window(9, 2, stride=3))
    assert windows(x, 1, kernels, strides, (2, 1), (3, 4), ceil_mode=True) == (
        window(11, 3, stride=2, padding=2, dilation=3, ceil_mode=True),
        window(9, 2, stride=3, padding=1, dilation=4, ceil_mode=True),
    )


def test_a_window_that_does_not_fit_is_described_with_its_axis() -> None:
    with pytest.raises(ShapeError, match=r"^a window of 4 does not fit into 3 cells along axis 2 of x \(9, 5, 3\)$"):
        windows((9, 5, 3), 1, (2, 4), (1, 1))

    message = r"^a window of 5 does not fit into 2 cells, nor with ceil_mode into 3, along axis 1 of x \(9, 2\)$"
    with pytest.raises(ShapeError, match=message):
        windows((9, 2), 1, (5,), (2,), ceil_mode=True)


@pytest.mark.parametrize(
    ("x", "both"), [((0,), "(0,)"), ((5,), "(5,)"), ((N + 1,), "(N + 1,)"), ((1,), "(?,)"), ((N,), "(?,)")]
)
def test_an_unknown_size_broadcasts_to_one_that_is_never_1(x: Dims, both: str) -> None:
    assert show(broadcast(x=x, y=(UNKNOWN,))) == both
    assert show(broadcast(x=(UNKNOWN,), y=x)) == both


def test_an_int_of_numpy_becomes_an_int_of_python() -> None:
    assert type(one_int(np.int8(100))) is int
    assert one_int(np.int8(100)) * 2 == 200
    assert [type(one) for one in several_ints((np.int64(3), 4))] == [int, int]


@pytest.mark.parametrize(
    ("given", "described"),
    [
        (2.5, r"2\.5"),
        ("3", "'3'"),
        (None, "None"),
        (np.array(0), r"array\(0\)"),
        (np.zeros((2, 3), np.int64), "an ndarray"),
        (ops.zeros((2, 3)), "a Tensor"),
    ],
)
def test_what_is_no_int_is_described_and_an_array_only_by_its_class(given: Any, described: str) -> None:
    with pytest.raises(DTypeError, match=f"^stride is {described} but an int is expected$"):
        one_int(given, "stride")
    with pytest.raises(DTypeError, match=f"^stride is {described} but an int or a tuple of ints is expected$"):
        several_ints(given, "stride")
