"""State space models: every channel remembers at several rates of its own."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.generator import RNG, generator
from tapegrad.guard import guarded
from tapegrad.nn.module import Module
from tapegrad.nn.param import Param
from tapegrad.ops import broadcast_to, exp, expand_dims, normal, ones, ssm_scan, sum, uniform
from tapegrad.shapes import Shape
from tapegrad.tensor import T, Tensor, node

if TYPE_CHECKING:
    from tapegrad.tape import Tape

Width = TypeVar("Width", bound=int, default=Any, covariant=True)
States = TypeVar("States", bound=int, default=Any, covariant=True)
Steps = TypeVar("Steps", bound=int)
Batch = TypeVarTuple("Batch")


class SSM(Module, Generic[Width, States]):
    r"""Reads a sequence channel by channel into states that each forget at a rate of their own, and adds these up.

    $$h_t = \bar a h_{t-1} + \bar b x_t, \quad y_t = \sum_n c_n h_{tn} + d x_t, \quad
    \bar a = e^{\Delta a}, \quad \bar b = \frac{e^{\Delta a} - 1}{a}, \quad a = -e^\alpha, \quad \Delta = e^\delta$$

    Args:
        width: The channels, which is the size of the last axis.
        states: How many states each channel has.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; drawn in the order of the attributes.

    Attributes:
        log_rate: The logarithms of the rates, α, `(Width, States)`; log 1 to log N at first, in one over steps of time.
        log_step: The logarithms of how much time a step takes, δ, `(Width,)`; at first evenly from log 0.001 to
            log 0.1.
        mix: How much each state counts, c, `(Width, States)`; normal at first.
        skip: How much passes by the states, d, `(Width,)`; 1 at first.

    Raises:
        ShapeError: A size is below 1.
        DTypeError: A size is not an int.

    Source:
        Gu et al., [On the parameterization and initialization of diagonal state space
        models](https://arxiv.org/abs/2206.11893): S4D-Real, the input held over each step; b is 1, for of b and c only
        the product matters.
    """

    log_rate: Param[Shape[Width, States]]
    log_step: Param[Shape[Width]]
    mix: Param[Shape[Width, States]]
    skip: Param[Shape[Width]]

    @guarded
    def __init__(self: SSM[Any, Any], width: Width, states: States, *, rng: RNG = None) -> None:
        rng = generator(rng)
        rates: Any = np.log(np.arange(1, states + 1, dtype=np.float32))
        self.log_rate = Param(node(np.tile(rates, (width, 1))))
        self.log_step = Param(uniform((width,), low=log(0.001), high=log(0.1), rng=rng))
        self.mix = Param(normal((width, states), rng=rng))
        self.skip = Param(ones((width,)))

    @override
    @guarded
    def forward(self, x: Tensor[Shape[*Batch, Steps, Width], T]) -> Tensor[Shape[*Batch, Steps, Width], T]:
        """Read float32 `x`, `(..., Steps, Width)`, from states of zero on; gives the same shape."""
        kept, taken = self._over_a_step(x.tape)
        shape: Any = (*x.shape, kept.shape[-1])  # (..., Steps, Width, States)
        rows: Any = broadcast_to(expand_dims(x, -1), shape)
        states = ssm_scan(broadcast_to(kept, shape), broadcast_to(taken, shape), rows, axis=-3)
        passed: Tensor[Shape[*Batch, Steps, Width], T] = x * self.skip
        return passed + sum(states * self.mix, axis=-1)

    def _over_a_step(self, tape: Tape) -> tuple[Any, Any]:
        """Return what is kept of each state, and how much of the input is taken in."""
        # On the tape of the input, for parameters alone start none.
        rate = -exp(self.log_rate.put_tape(tape))
        kept = exp(rate * expand_dims(exp(self.log_step.put_tape(tape)), -1))
        return kept, (kept - 1.0) / rate

    @override
    def __repr__(self) -> str:
        return f"SSM({self.log_rate.shape[0]}, {self.log_rate.shape[1]})"
