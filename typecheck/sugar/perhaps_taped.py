"""Functions that return a tensor with a tape or without one, which only the plugin distinguishes."""

from typing import TypeVar, assert_type

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor

N = TypeVar("N", bound=int)
T = TypeVar("T", bound=Tape)

row = tg.ones((3,))


def accept_a_result_with_no_tape_or_the_declared_one() -> None:
    def mean_or_zero(a: Tensor[Shape[N], T], *, empty: bool) -> Tensor[Shape[()], NoneTape | T]:
        return tg.zeros(()) if empty else a.mean()

    def row_or_zeros(a: Tensor[Shape[N], T], *, empty: bool) -> Tensor[Shape[N], NoneTape] | Tensor[Shape[N], T]:
        return tg.zeros_like(a) if empty else a * 2.0

    def row_or_zeros_again(a: Tensor[Shape[N], T], *, empty: bool) -> Tensor[Shape[N], NoneTape | T]:
        return row_or_zeros(a, empty=empty)

    def doubled(a: Tensor[Shape[N], T], *, empty: bool) -> Tensor[Shape[N], NoneTape] | Tensor[Shape[N], T]:
        return row_or_zeros_again(a, empty=empty)

    mean_or_zero(row.trace(), empty=False).backward()
    row_or_zeros(row.trace(), empty=False).sum().backward()
    doubled(row.trace(), empty=False).sum().backward()
    loss = mean_or_zero(row.trace(), empty=False)
    assert_type(loss, Tensor[Shape[()], OwnedTape | NoneTape])
    if loss.owns_tape:
        loss.backward()
