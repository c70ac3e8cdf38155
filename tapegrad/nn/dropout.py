"""Dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from tapegrad.errors.ranges import check_options
from tapegrad.errors.tracebacks import public_api
from tapegrad.generator import RNG, generator
from tapegrad.nn.module import Module
from tapegrad.ops import dropout

if TYPE_CHECKING:
    from tapegrad.tensors import Float, S, T, Tensor


class Dropout(Module):
    """Dropout: if `x` has a tape, sets random elements to zero and scales up the others.

        y[i] = (m[i] / (1 - p)) x[i]
        m[i] ~ Bernoulli(1 - p)

    Without a tape, and after `trace(training=False)`, `x` is returned unchanged, so there is no training flag to set.

    Args:
        p: The probability that an element is dropped, from 0 to 1.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`. One number is drawn from it to seed the
            generator of the layer.

    Attributes:
        p: The probability that an element is dropped.
        rng: The generator of the layer, whose state is saved and loaded with the model.

    Raises:
        DTypeError: `p` is not a number.
        ValueError: `p` is out of range.

    Source:
        Srivastava et al., [Dropout](https://jmlr.org/papers/v15/srivastava14a.html), §4; scaled during training, §10.

    Examples:
        >>> dropout = tg.nn.Dropout(0.5, rng=0)
        >>> x = tg.ones((100,))
        >>> np.unique(dropout(x.trace()).numpy()).tolist()
        [0.0, 2.0]
        >>> np.unique(dropout(x).numpy()).tolist()
        [1.0]
    """

    @public_api
    def __init__(self, p: float = 0.5, *, rng: RNG = None) -> None:
        check_options("Dropout", p=p)
        self.p = p
        self.rng = np.random.default_rng(int(generator(rng, "Dropout").integers(2**63)))

    @override
    def forward(self, x: Tensor[S, T, Float]) -> Tensor[S, T, Float]:
        """Apply dropout to `x` of any shape if it trains."""
        return dropout(x, rate=self.p, rng=self.rng)

    @override
    def __repr__(self) -> str:
        return f"Dropout({self.p})"
