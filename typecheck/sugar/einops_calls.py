"""einops on tensors: the shape of a result is that of the pattern."""

from typing import Any, TypeVar, assert_type
from typing import Literal as L

import einops
import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, OwnedTape, Shape, Tape, Tensor

B = TypeVar("B", bound=int)
T = TypeVar("T", bound=Tape)

x = tg.ones((2, 3, 4))


def accept_rearrange() -> None:
    assert_type(einops.rearrange(tg.ones((2, 12)), "b (h d) -> b h d", h=4), Tensor[Shape[L[2], L[4], L[3]], NoneTape])
    assert_type(einops.rearrange(x.trace(), "b c d -> b (c d)"), Tensor[Shape[L[2], L[12]], OwnedTape])
    assert_type(einops.rearrange(x, "b ... -> ... b"), Tensor[Shape[L[3], L[4], L[2]], NoneTape])
    assert_type(einops.rearrange(x, "b c d -> b () (d c)"), Tensor[Shape[L[2], L[1], L[12]], NoneTape])
    assert_type(einops.rearrange([x, x, x], "n b c d -> b (n c) d"), Tensor[Shape[L[2], L[9], L[4]], NoneTape])


def accept_reduce() -> None:
    assert_type(einops.reduce(x, "b c d -> b", "mean"), Tensor[Shape[L[2]], NoneTape])
    assert_type(einops.reduce(x, "b c (d two) -> c d", "max", two=2), Tensor[Shape[L[3], L[2]], NoneTape])
    assert_type(einops.reduce(x > 0.0, "b c d -> b 1 d", "any"), Tensor[Shape[L[2], L[1], L[4]], NoneTape, Any])


def accept_repeat() -> None:
    assert_type(einops.repeat(x, "b c d -> b c d r", r=5), Tensor[Shape[L[2], L[3], L[4], L[5]], NoneTape])
    assert_type(einops.repeat(x, "b c d -> b (c 2) d"), Tensor[Shape[L[2], L[6], L[4]], NoneTape])


def accept_named_and_unknown_sizes() -> None:
    def heads(y: Tensor[Shape[B, L[12]], T], pattern: str) -> Tensor[Shape[B, L[4], L[3]], T]:
        assert_type(einops.rearrange(y, pattern), Tensor[Any, T])
        return einops.rearrange(y, "b (h d) -> b h d", h=4)

    assert_type(heads(tg.ones((5, 12)), "b d -> d b"), Tensor[Shape[L[5], L[4], L[3]], NoneTape])


def accept_other_functions() -> None:
    assert_type(einops.einsum(x, x, "b c d, b e d -> b c e"), Tensor[Any, Any])
    packed, shapes = einops.pack([x, x], "b * d")
    assert packed.shape == (2, 6, 4)
    assert [one.shape for one in einops.unpack(packed, shapes, "b * d")] == [(2, 3, 4)] * 2


def accept_arrays_of_numpy() -> None:
    assert einops.rearrange(np.ones((2, 3)), "b c -> c b").shape == (3, 2)


def reject_what_does_not_fit_the_result() -> None:
    y = einops.rearrange(tg.ones((2, 12)), "b (h d) -> b h d", h=4)
    y @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 4, 3) has 3 columns but y (4, 2) has 4 rows
