"""flip, roll and pad: literal sizes, as functions and methods."""

from typing import Any, assert_type
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg
from tapegrad import Add, NoneTape, OwnedTape, Shape, Tensor

N = TypeVar("N", bound=int)

x = tg.ones((2, 3, 5))


def accept_flip() -> None:
    assert_type(tg.flip(x, 1), Tensor[Shape[L[2], L[3], L[5]], NoneTape])


def accept_roll() -> None:
    assert_type(tg.roll(x.trace(), 1), Tensor[Shape[L[2], L[3], L[5]], OwnedTape])
    assert_type(tg.roll(x, (1, -2), (0, 2)), Tensor[Shape[L[2], L[3], L[5]], NoneTape])


def accept_roll_by_what_only_the_run_time_knows() -> None:
    def rolled(a: Tensor[Shape[N, Any]], by: int) -> None:
        assert_type(tg.roll(a, by, 0), Tensor[Shape[N, Any], NoneTape])

    rolled(tg.ones((2, 3)), 1)


def accept_pad() -> None:
    assert_type(tg.pad(x, 1), Tensor[Shape[L[4], L[5], L[7]], NoneTape])
    assert_type(tg.pad(x, ((0, 0), (1, 0), (2, 2)), value=0.5), Tensor[Shape[L[2], L[4], L[9]], NoneTape])


def accept_modes_of_pad() -> None:
    assert_type(tg.pad(x, 1, mode="edge"), Tensor[Shape[L[4], L[5], L[7]], NoneTape])
    assert_type(tg.pad(x.trace(), ((0, 0), (1, 0), (2, 9)), mode="reflect"), Tensor[Shape[L[2], L[4], L[16]], OwnedTape])

    def padded(a: Tensor[Shape[N, L[3]]]) -> None:
        assert_type(tg.pad(a, (2, 1), mode="wrap"), Tensor[Shape[Add[N, L[3]], L[6]], NoneTape])

    padded(tg.ones((2, 3)))


def reject_padding_with_elements_of_an_empty_axis() -> None:
    tg.pad(tg.ones((2, 0)), 1, mode="edge")  # E: pad: axis 1 of x (2, 0) is empty, so mode 'edge' has no elements to repeat [tapegrad-shape]


def reject_flip() -> None:
    tg.flip(x, (0, -4))  # E: flip: axis -4 is out of range for x (2, 3, 5) [tapegrad-shape]


def reject_pad() -> None:
    tg.pad(x, ((1, 0), (0, 1)))  # E: pad: x (2, 3, 5) has rank 3 but pad_width has 2 pairs [tapegrad-shape]


def reject_a_scalar_padded_by_less_than_nothing() -> None:
    tg.pad(tg.ones(()), -1)  # E: pad: pad_width is -1, below 0; to crop x, slice it [tapegrad-shape]


def reject_less_than_nothing_along_one_axis() -> None:
    tg.pad(x, ((1, 0), (0, -3), (1, 1)))  # E: pad: pad_width along axis 1 is -3, below 0; to crop x, slice it [tapegrad-shape]


def reject_roll() -> None:
    tg.roll(x, (1, 2), 0)  # E: roll: shift (1, 2) has 2 numbers but axis 0 names 1 [tapegrad-shape]


def reject_a_float_in_pad_of_ints() -> None:
    tg.pad(tg.tensor([1, 2]), 1, value=0.5)  # E: pad: value is a float but x is int64 [tapegrad-dtype]


def accept_padding_with_a_number_of_numpy() -> None:
    assert_type(tg.pad(tg.ones((2,)), 1, value=np.float32(0.5)), Tensor[Shape[L[4]], NoneTape])


def reject_padding_ints_with_a_float_of_numpy() -> None:
    tg.pad(tg.tensor([1, 2]), 1, value=np.float32(0.5))  # E: pad: value is a float but x is int64 [tapegrad-dtype]


def reject_a_bool_as_a_shift() -> None:
    tg.roll(x, shift=True)  # E: roll: shift is True but an int or a tuple of ints is expected [tapegrad-dtype]


def reject_a_bool_as_a_padding() -> None:
    tg.pad(x, pad_width=True)  # E: pad: pad_width is True but an int or a tuple of ints is expected [tapegrad-dtype]
