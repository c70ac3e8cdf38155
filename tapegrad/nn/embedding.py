"""Tables that are looked up by index."""

from __future__ import annotations

from typing import Any, Generic

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.generator import RNG
from tapegrad.guard import guarded
from tapegrad.nn.module import Module
from tapegrad.nn.param import Param
from tapegrad.ops import normal, take
from tapegrad.shapes import Shape
from tapegrad.tensor import T, Tensor

Count = TypeVar("Count", bound=int, default=Any, covariant=True)
Width = TypeVar("Width", bound=int, default=Any, covariant=True)
Batch = TypeVarTuple("Batch")


class Embedding(Module, Generic[Count, Width]):
    r"""Gives each index a row of numbers to learn.

    $$y_{bj} = w_{i_b j}, \quad w_{ij} \sim \mathcal{N}(0, 1)$$

    Args:
        count: How many indices there are.
        width: How many numbers each of them gets.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Attributes:
        weight: `(Count, Width)`.

    Raises:
        ShapeError: A size is below 1.
        DTypeError: A size is no int.
    """

    weight: Param[Shape[Count, Width]]

    @guarded
    def __init__(self: Embedding[Any, Any], count: Count, width: Width, *, rng: RNG = None) -> None:
        self.weight = Param(normal((count, width), rng=rng))

    @override
    @guarded
    def forward(self, indices: Tensor[Shape[*Batch], T, np.integer[Any]]) -> Tensor[Shape[*Batch, Width], T]:
        """Looks up whole numbers from 0 to Count - 1, or from -1 backwards, `(...)`; gives `(..., Width)`."""
        return take(self.weight, indices)

    @override
    def __repr__(self) -> str:
        count, width = self.weight.shape
        return f"Embedding({count}, {width})"
