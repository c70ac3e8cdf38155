"""Printing: tensors with and without a tape, values and numbers; nothing else has numbers to print."""

from typing import TypeVar

import tapegrad as tg
from tapegrad import Shape, Tape, Tensor

N = TypeVar("N", bound=int)
T = TypeVar("T", bound=Tape)


def accept_known_sizes() -> None:
    x = tg.ones((2, 3))
    tg.debug.print("{x} {y:.2f}", x=x.trace(), y=x)
    tg.debug.print("{x} {n} {k}", x=x.numpy(), n=3, k=0.5)
    tg.debug.print("no tensor")


def accept_named_sizes() -> None:
    def norm(x: Tensor[Shape[N], T]) -> Tensor[Shape[()], T]:
        y = tg.square(x).sum()
        tg.debug.print("norm {y}", y=y)
        return y

    norm(tg.ones((3,)))
