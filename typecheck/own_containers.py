"""Programs about subclasses of `nn.Sequential`, which are models of the layers that their constructors pass on."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal as L
from typing import assert_type

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn


class Perceptron(nn.Sequential):
    """Two layers with sizes from the constructor."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))


class Deep(nn.Sequential):
    """Layers from a list."""

    def __init__(self, sizes: list[int]) -> None:
        layers: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU()]
        super().__init__(*layers[:-1])


class Holder(nn.Module):
    """A model with both."""

    def __init__(self, width: int) -> None:
        self.first = Perceptron(width, 4 * width)
        self.deep = Deep([width, 7, 3])

    def forward(self, x: Tensor) -> Tensor:
        return self.deep(x + self.first(x))


def accept_layers_that_a_constructor_passes_on() -> None:
    x = tg.ones((2, 8))
    assert_type(Perceptron(8, 32)(x), Tensor[Shape[L[2], L[8]], NoneTape])  # pyright: ignore[reportAssertTypeFailure]  # unknown to it
    assert_type(Deep([8, 9, 10])(x), Tensor[Shape[L[2], L[10]], NoneTape])  # pyright: ignore[reportAssertTypeFailure]  # unknown to it
    assert_type(Holder(8)(x), Tensor[Shape[L[2], L[3]], NoneTape])  # pyright: ignore[reportAssertTypeFailure]  # unknown to it
    model = nn.Sequential(nn.Linear(4, 8), Perceptron(8, 3))
    assert_type(model(tg.ones((2, 4))), Tensor[Shape[L[2], L[8]], NoneTape])  # pyright: ignore[reportAssertTypeFailure]  # unknown to it


def reject_rows_of_another_length() -> None:
    Perceptron(8, 32)(tg.ones((2, 9)))  # E: Perceptron[0] Linear(8, 32): x is (2, 9) but (..., 8) is expected: axis -1 is 9, not 8


def reject_rows_of_another_length_for_layers_of_a_list() -> None:
    Deep([8, 9, 10])(tg.ones((2, 9)))  # E: Deep[0] Linear(8, 9): x is (2, 9) but (..., 8) is expected: axis -1 is 9, not 8


def reject_layers_that_do_not_follow_one_another() -> None:
    nn.Sequential(nn.Linear(4, 9), Perceptron(8, 3))(tg.ones((2, 4)))  # E: Sequential[1][0] Linear(8, 3): x is (2, 9) but (..., 8) is expected: axis -1 is 9, not 8


def reject_a_result_without_a_tape() -> None:
    Perceptron(8, 32)(tg.ones((2, 8))).sum().backward()  # E: backward: the tensor has no tape; trace an input first
