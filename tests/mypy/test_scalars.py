"""Scalars of every spelling with tensors: the type of one call does not depend on calls that were checked before."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from tests.mypy.programs import reports

if TYPE_CHECKING:
    from pathlib import Path

BEGINNING = """from enum import IntEnum
from typing import NewType
from typing import Literal as L

import numpy as np
from typing_extensions import TypeVar

import tapegrad as tg

N = TypeVar("N", bound=int)
Width = NewType("Width", int)
Rate = NewType("Rate", float)


class Level(IntEnum):
    LOW = 2
"""

PAIR = """

def pair{position}(n: N, k: int, u: float | int, lit: L[2], w: Width, r: Rate, level: Level, s: np.float32) -> None:
    x = tg.ones(({position}, 3)).trace()
"""

SPELLINGS = ["2", "2.0", "True", "n", "k", "u", "lit", "w", "r", "level", "Level.LOW", "s", "n * 2", "n ** 0.5"]

USES = ["(x / {})", "({} - x)", "tg.maximum({}, x)"]


def test_a_mistake_is_reported_for_each_spelling_in_every_order(tmp_path: Path) -> None:
    # Each pair has its own shape, so that no cached result of another pair is used.
    program, shapes = BEGINNING, []
    for position, pair in enumerate(product(SPELLINGS, repeat=2), start=10):
        program += PAIR.format(position=position)
        for use, number in product(USES, pair):
            program += f"    reveal_type({use.format(number)} @ tg.ones((3, 5)))\n"
            shapes.append(f"Tensor[tuple[Literal[{position}], Literal[5]], tapegrad.autograd.tape.OwnedTape")

    revealed = reports(tmp_path, program)[:-1]

    assert len(revealed) == len(shapes)
    for line, shape in zip(revealed, shapes, strict=True):
        assert shape in line


def test_a_power_without_a_tensor_has_mypys_type(tmp_path: Path) -> None:
    program = "def root(n: int, m: float) -> None:\n    reveal_type(n**0.5)\n    reveal_type(m**0.5)\n"

    without = reports(tmp_path, program)
    beside = reports(tmp_path, f"import tapegrad as tg\n\n{program}")

    assert ["Any" in line for line in without[:2]] == [True, True]
    assert ['"float"' in line for line in beside[:2]] == [True, True]
