"""Dropout: noise that only training sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from tapegrad.generator import RNG, generator
from tapegrad.nn.module import Module
from tapegrad.ops import dropout
from tapegrad.options import check_fraction
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from tapegrad.tensor import Float, S, T, Tensor


class Dropout(Module):
    r"""Under a tape, sets elements to zero at random and scales up the others; without one, changes nothing.

    $$y_i = \frac{m_i}{1 - p} \, x_i, \quad m_i \sim \mathrm{Bernoulli}(1 - p)$$

    Whether a model trains or predicts is so the tape of its argument, and nothing that could be forgotten.

    Args:
        p: The fraction of elements dropped, from 0 to below 1.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`. One number is drawn from it here, and
            seeds the layer's own generator.

    Attributes:
        p: The fraction of elements dropped.
        rng: The generator of its own, whose state is saved and loaded with the model.

    Raises:
        DTypeError: `p` is not a number.
        ValueError: `p` is out of its range.

    Source:
        Srivastava et al., [Dropout](https://jmlr.org/papers/v15/srivastava14a.html), §4; scaled while training, §10.
    """

    @public_api
    def __init__(self, p: float = 0.5, *, rng: RNG = None) -> None:
        check_fraction("Dropout", "p", p)
        self.p = p
        self.rng = np.random.default_rng(int(generator(rng).integers(2**63)))

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Compute `x` times the mask where `x` has a tape, of any shape."""
        return dropout(x, rate=self.p, rng=self.rng)

    @override
    def __repr__(self) -> str:
        return f"Dropout({self.p})"
