"""Lists of tensors and arrays that `append` fills: an item has what all that are appended have in common."""

from __future__ import annotations

from collections import deque
from typing import Any, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn


def accept_items_of_lists() -> None:
    cell = nn.Linear(3, 3)
    h = tg.ones((4, 3))
    states = []
    for _ in range(3):
        h = cell(h)
        states.append(h)
    assert_type(states[-1].shape, Shape[L[4], L[3]])
    recent: deque[Tensor[Any]] = deque(maxlen=2)
    recent.append(tg.ones((4, 3)))
    recent.append(tg.ones((5, 3)))
    assert_type(recent[0], Tensor[Shape[Any, L[3]], NoneTape])
    levels: list[Tensor[Any]] = [tg.ones((16, 8))]
    while len(levels) < 3:
        levels.append(levels[-1][:, ::2])
    levels[-1] @ tg.ones((2, 2))


def reject_the_last_item() -> None:
    outputs = []
    for factor in range(3):
        output = tg.ones((4, 3)) * factor
        outputs.append(output)
    outputs[-1] @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (4, 3) has 3 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_an_item_of_a_declared_list() -> None:
    outputs: list[Tensor[Any]] = []
    while len(outputs) < 3:
        outputs.append(tg.ones((4, 3)))
    for output in outputs:
        output @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (4, 3) has 3 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_a_part_of_a_list() -> None:
    outputs: list[Tensor[Any]] = []
    while len(outputs) < 3:
        outputs.append(tg.ones((4, 3)))
    tg.concat(outputs[1:]).sum(axis=0) + tg.ones((5,))  # E: add: x (3,) and y (5,) do not broadcast: axis -1 is 3 in x but 5 in y [tapegrad-shape]


def reject_an_item_of_a_pair() -> None:
    pairs = []
    for factor in range(3):
        output = tg.ones((4, 3)) * factor
        pairs.append((output, factor))
    for x, _ in pairs:
        x @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (4, 3) has 3 columns but y (5, 2) has 5 rows [tapegrad-shape]


def reject_an_array() -> None:
    arrays = []
    for _ in range(3):
        array = np.ones((4, 3), np.float32)
        arrays.append(array)
    for one in arrays:
        tg.tensor(one) @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (4, 3) has 3 columns but y (5, 2) has 5 rows [tapegrad-shape]


class Heads(nn.Module):
    """Layers by name."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = {"mean": nn.Linear(4, 3), "scale": nn.Linear(4, 5)}

    def forward(self, x: Tensor[Any, Any]) -> dict[str, Tensor[Any, Any]]:
        found = {}
        for name in self.heads:
            found[name] = self.heads[name](x)
        return found

    def scaled(self, x: Tensor[Any, Any]) -> Tensor[Any, Any]:
        found = [self.heads[name](x) for name in self.heads.keys()]  # noqa: SIM118  # the program shows it
        return tg.concat(found, axis=1)


heads = Heads()


def reject_an_output_by_name() -> None:
    heads(tg.ones((2, 4)))["scale"] @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (2, 5) has 5 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_the_outputs_of_all_names() -> None:
    heads.scaled(tg.ones((2, 4))) @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (2, 8) has 8 columns but y (5, 2) has 5 rows [tapegrad-shape]
