"""Embedding tables."""

from __future__ import annotations

import math
from typing import Any, Generic

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.autograd.explain import NoNumbersError
from tapegrad.generator import RNG, generator
from tapegrad.guard import guarded
from tapegrad.nn.layer_names import layer_text
from tapegrad.nn.module import Module
from tapegrad.nn.param import DType, Param
from tapegrad.ops import expand_dims, normal, take, where
from tapegrad.sizes.arithmetic import Given
from tapegrad.tensors import T, Tensor
from tapegrad.tensors.aliases import Shape
from tapegrad.tensors.operands import known

Count = TypeVar("Count", bound=int, default=Any, covariant=True)
Width = TypeVar("Width", bound=int, default=Any, covariant=True)
Batch = TypeVarTuple("Batch")


class Embedding(Module, Generic[Count, Width, DType]):
    """Embedding table: maps each index to a learnable row.

        y[b,j] = w[i[b],j]
        w[i,j] ~ N(0, 1)

    Args:
        count: The number of rows.
        width: The size of each row.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`.

    Attributes:
        weight: `(Count, Width)`.

    Raises:
        ShapeError: A size is below 1.
        DTypeError: A size is not an int.

    Examples:
        >>> embedding = tg.nn.Embedding(1000, 16, rng=0)
        >>> tokens = tg.tensor([[5, 17, 999], [0, 5, 42]])
        >>> embedding(tokens).shape
        (2, 3, 16)
        >>> embedding(tokens)[0, 0].tolist() == embedding.weight[5].tolist()
        True
    """

    weight: Param[Shape[Count, Width], DType]

    @guarded
    def __init__(self: Embedding[Any, Any], count: Given[Count], width: Given[Width], *, rng: RNG = None) -> None:
        self.weight = Param(normal((count, width), rng=generator(rng, "Embedding")))

    @override
    @guarded
    def forward(self, indices: Tensor[Shape[*Batch], T, np.integer[Any]]) -> Tensor[Shape[*Batch, Width], T, DType]:
        """Look up the rows of indices from 0 to Count - 1, `(...)`; the result is `(..., Width)`.

        Under `jit`, where indices are not known, an index out of range gives a row of NaN.

        Raises:
            IndexError: An index is out of range. Negative indices are errors too, because -1 often means padding.
        """
        try:
            numbers = known(indices)
        except NoNumbersError:  # in a summary, which computes shapes only
            return take(self.weight, indices)
        if numbers is None:
            return where(expand_dims(indices < 0, -1), math.nan, take(self.weight, indices))
        if (numbers < 0).any():
            count = self.weight.shape[0]
            index = f"index {numbers[numbers < 0][0]} is below 0"
            message = f"{layer_text(self)}: {index}; the rows of the table are 0 to {count - 1}"
            raise IndexError(message)
        return take(self.weight, indices)

    @override
    def __repr__(self) -> str:
        count, width = self.weight.shape
        return f"Embedding({count}, {width})"
