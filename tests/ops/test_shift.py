"""flip, roll and pad: NumPy's values, edge cases, gradients, shapes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops import flip, normal, pad, roll, tensor, zeros
from tapegrad.ops.shift import flip_shape, roll_shape
from tapegrad.testing import check_gradients, check_shape_rule


def real(*shape: int, seed: int = 0) -> Any:
    return normal(shape, dtype=np.float64, rng=seed)


SHIFTS: list[tuple[Callable[..., Any], tuple[Any, ...], Callable[..., Any]]] = [
    (flip, (), np.flip),
    (flip, (1,), lambda x: np.flip(x, 1)),
    (flip, ((0, -1),), lambda x: np.flip(x, (0, -1))),
    (roll, (1,), lambda x: np.roll(x, 1)),
    (roll, (-8,), lambda x: np.roll(x, -8)),
    (roll, (2, 1), lambda x: np.roll(x, 2, 1)),
    (roll, ((1, -2), (0, -1)), lambda x: np.roll(x, (1, -2), (0, -1))),
    (roll, (3, (0, 1)), lambda x: np.roll(x, 3, (0, 1))),
    (roll, (0, 0), lambda x: x),
    (roll, (np.uint8(1), 1), lambda x: np.roll(x, 1, 1)),
    (pad, (1,), lambda x: np.pad(x, 1)),
    (pad, ((2, 0),), lambda x: np.pad(x, (2, 0))),
    (pad, (((0, 1), (2, 0), (0, 0)),), lambda x: np.pad(x, ((0, 1), (2, 0), (0, 0)))),
]
REPEATING: Any = ["edge", "reflect", "wrap"]


@pytest.mark.parametrize(("f", "arguments", "numpys"), SHIFTS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_every_op_equals_numpy_and_has_its_gradients(
    f: Callable[..., Any], arguments: tuple[Any, ...], numpys: Callable[..., Any]
) -> None:
    x = real(2, 3, 5)

    np.testing.assert_array_equal(f(x, *arguments).numpy(), numpys(x.numpy()))
    check_gradients(lambda x: f(x, *arguments), x)
    check_gradients(lambda x: f(x * x, *arguments), real(2, 1, 3), order=2)


@pytest.mark.parametrize(("f", "arguments", "_"), SHIFTS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_every_op_matches_its_shape_rule(f: Callable[..., Any], arguments: tuple[Any, ...], _: Any) -> None:
    check_shape_rule(f, ((2, 3, 7), *arguments), ((0, 1, 1), *arguments))


@pytest.mark.parametrize(
    ("f", "arguments", "message"),
    [
        (flip, (-4,), "flip: axis -4 is out of range for x (2, 3, 5)"),
        (roll, (1, 3), "roll: axis 3 is out of range for x (2, 3, 5)"),
        (roll, ((1, 2), 0), "roll: shift (1, 2) has 2 numbers but axis 0 names 1"),
        (roll, ((1, 2),), "roll: shift (1, 2) has 2 numbers but axis is None"),
        (pad, (-1,), "pad: pad_width is -1, below 0; to crop x, slice it"),
        (pad, ((1, -2),), "pad: pad_width is -2, below 0; to crop x, slice it"),
        (pad, (((1, 0), (0, -3), (1, 1)),), "pad: pad_width along axis 1 is -3, below 0; to crop x, slice it"),
        (pad, (((1, 0), (0, 1, 2), (1, 1)),), "pad: pad_width along axis 1 (0, 1, 2) has 3 numbers, not 2"),
        (pad, (((1, 0), (0, 1)),), "pad: x (2, 3, 5) has rank 3 but pad_width has 2 pairs"),
        (pad, (((1, 0),),), "pad: x (2, 3, 5) has rank 3 but pad_width has 1 pair"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_invalid_arguments_are_rejected(f: Callable[..., Any], arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ShapeError) as rejected:
        f(real(2, 3, 5), *arguments)

    assert str(rejected.value) == message


def test_a_scalar_is_unchanged() -> None:
    assert roll(tensor(3.0), 2).item() == 3
    assert roll(zeros((0, 3)), 2, 0).shape == (0, 3)
    assert flip(tensor(3.0)).item() == 3
    assert pad(tensor(3.0), 2).item() == 3


@pytest.mark.parametrize("shift", [1.5, "a", (1, "a"), None, True, tensor([1])], ids=repr)
def test_roll_by_a_non_int_is_rejected(shift: Any) -> None:
    with pytest.raises(DTypeError, match=r"^roll: shift is .* but an int or a tuple of ints is expected$"):
        roll(normal((2, 3), rng=0), shift, (0, 1) if isinstance(shift, tuple) else 0)
    with pytest.raises(DTypeError, match=r"^shift is .* but an int or a tuple of ints is expected$"):
        roll_shape((2, 3), shift, (0, 1))


def test_negative_padding_of_a_scalar_is_rejected() -> None:
    with pytest.raises(ShapeError, match=r"^pad: pad_width is -1, below 0; to crop x, slice it$"):
        pad(tensor(3.0), -1)  # type: ignore[tapegrad-shape]  # the mistake under test


def test_a_non_int_width_is_rejected() -> None:
    width: Any = 1.5

    with pytest.raises(DTypeError, match=r"^pad: pad_width is 1\.5 but an int or a tuple of ints is expected$"):
        pad(zeros((2, 3)), width)
    width = np.int64(1)
    assert pad(zeros((2, 3)), width).shape == (4, 5)


def test_empty_tensors_and_single_elements() -> None:
    assert flip(zeros((0, 1))).shape == (0, 1)
    assert flip(tensor([[7]])).tolist() == [[7]]


@pytest.mark.parametrize("mode", REPEATING)
@pytest.mark.parametrize("widths", [1, (2, 0), ((0, 1), (2, 0), (0, 0)), ((3, 2), (0, 0), (9, 14)), 0], ids=str)
def test_modes_of_pad_equal_numpy_and_have_their_gradients(mode: Any, widths: Any) -> None:
    x = real(2, 3, 5)

    np.testing.assert_array_equal(pad(x, widths, mode=mode).numpy(), np.pad(x.numpy(), widths, mode))
    check_gradients(lambda x: pad(x * x, widths, mode=mode), real(2, 1, 3), order=2)
    check_shape_rule(pad, {"x": (2, 3, 5), "pad_width": widths, "mode": mode})


@pytest.mark.parametrize("mode", REPEATING)
def test_modes_of_pad_in_edge_cases(mode: Any) -> None:
    assert pad(tensor([7]), (2, 1), mode=mode).tolist() == [7, 7, 7, 7]
    assert pad(tensor([True, False]), 0, mode=mode).tolist() == [True, False]
    assert pad(tensor(3.0), 2, mode=mode).item() == 3
    assert pad(zeros((0, 2)), ((0, 0), (1, 1)), mode=mode).shape == (0, 4)
    spread = pad(tensor([np.nan, np.inf, 1e30]), 1, mode=mode).numpy()
    np.testing.assert_array_equal(spread, np.pad(np.array([np.nan, np.inf, 1e30], np.float32), 1, mode))
    with pytest.raises(
        ShapeError, match=rf"^pad: axis 1 of x \(2, 0\) is empty, so mode '{mode}' has no elements to repeat$"
    ):
        pad(zeros((2, 0)), ((0, 0), (0, 1)), mode=mode)
    with pytest.raises(ValueError, match=rf"^pad: value is 0\.5 but mode '{mode}' adds elements of x$"):
        pad(zeros((2,)), 1, mode=mode, value=0.5)


def test_an_unknown_mode_of_pad_is_rejected() -> None:
    with pytest.raises(
        ValueError, match=r"^pad: mode is 'circular' but 'constant', 'edge', 'reflect' or 'wrap' is expected$"
    ):
        pad(zeros((2,)), 1, mode="circular")  # type: ignore[arg-type]  # under test


def test_pad_writes_the_given_value() -> None:
    assert pad(tensor([1, 2]), (1, 2), value=7).tolist() == [7, 1, 2, 7, 7]
    assert pad(zeros((0,)), 1, value=0.5).tolist() == [0.5, 0.5]


def test_padding_ints_with_a_float_is_rejected() -> None:
    with pytest.raises(DTypeError, match=r"^pad: value is a float but x is int64$"):
        pad(tensor([1]), 1, value=0.5)  # type: ignore[tapegrad-dtype]  # the mistake under test


def test_an_axis_to_flip_must_exist() -> None:
    assert flip_shape((2, 3)) == flip_shape((2, 3), 1) == (2, 3)
    with pytest.raises(ShapeError, match=r"^axis 2 is out of range for x \(2, 3\)$"):
        flip_shape((2, 3), 2)
