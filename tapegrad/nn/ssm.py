"""State space models."""

from __future__ import annotations

from math import log
from typing import Any, ClassVar, Generic

import numpy as np
from typing_extensions import TypeVar, TypeVarTuple, override

from tapegrad.generator import RNG, generator
from tapegrad.guard import guarded
from tapegrad.nn.half import in_float32, is_half
from tapegrad.nn.module import Module
from tapegrad.nn.param import DType, Param
from tapegrad.ops import broadcast_to, exp, expand_dims, normal, ones, ssm_scan, sum, uniform
from tapegrad.sizes.arithmetic import Given
from tapegrad.tensors import T, Tensor, node
from tapegrad.tensors.aliases import Shape

Width = TypeVar("Width", bound=int, default=Any, covariant=True)
States = TypeVar("States", bound=int, default=Any, covariant=True)
Steps = TypeVar("Steps", bound=int)
Batch = TypeVarTuple("Batch")


class SSM(Module, Generic[Width, States, DType]):
    """Diagonal state space model (S4D): each channel is a sum of states with different decay rates.

        h[t] = ā h[t-1] + b̄ x[t]
        y[t] = ∑_n c[n] h[t,n] + d x[t]
        ā = e^(Δ a)
        b̄ = (e^(Δ a) - 1) / a
        a = -e^α
        Δ = e^δ

    Args:
        width: The number of channels, the size of the last axis.
        states: The number of states N of each channel.
        rng: A generator, a seed, or None for the innermost `tapegrad.random`; drawn in the order of the attributes.

    Attributes:
        log_rate: The logarithms α of the decay rates, in one over time, `(Width, States)`; initially log 1 to log N.
        log_step: The logarithms δ of the time per step, `(Width,)`; initially uniform from log 0.001 to log 0.1.
        mix: The weights c of the states, `(Width, States)`; initially normal.
        skip: The weights d of the skip connection, `(Width,)`; initially 1.

    Raises:
        ShapeError: A size is below 1.
        DTypeError: A size is not an int.

    Source:
        Gu et al., [On the parameterization and initialization of diagonal state space
        models](https://arxiv.org/abs/2206.11893): S4D-Real with zero-order hold; b is 1, because only the product of b
        and c matters.

    Examples:
        >>> ssm = tg.nn.SSM(8, 16, rng=0)
        >>> sequences = tg.normal((2, 100, 8), rng=0)
        >>> ssm(sequences).shape
        (2, 100, 8)
    """

    float32_state: ClassVar[tuple[str, ...]] = ("log_rate", "log_step")

    log_rate: Param[Shape[Width, States], DType]
    log_step: Param[Shape[Width], DType]
    mix: Param[Shape[Width, States], DType]
    skip: Param[Shape[Width], DType]

    @guarded
    def __init__(self: SSM[Any, Any], width: Given[Width], states: Given[States], *, rng: RNG = None) -> None:
        rng = generator(rng)
        rates: Any = np.log(np.arange(1, states + 1, dtype=np.float32))
        self.log_rate = Param(node(np.tile(rates, (width, 1))))
        self.log_step = Param(uniform((width,), low=log(0.001), high=log(0.1), rng=rng))
        self.mix = Param(normal((width, states), rng=rng))
        self.skip = Param(ones((width,)))

    @override
    @guarded
    def forward(
        self, x: Tensor[Shape[*Batch, Steps, Width], T, DType]
    ) -> Tensor[Shape[*Batch, Steps, Width], T, DType]:
        """Process `x`, `(..., Steps, Width)`, from states of zero; keeps the shape."""
        if is_half(x):  # which would round the decay per step of a slow state to 1
            x, dtype = in_float32(x), x.dtype.type
            rounded: Tensor[Shape[*Batch, Steps, Width], T, DType] = self._scanned(x).astype(dtype)
            return rounded
        y: Tensor[Shape[*Batch, Steps, Width], T, DType] = self._scanned(x)
        return y

    def _scanned(self, x: Any) -> Any:
        decay, gain = self._over_a_step()
        shape: Any = (*x.shape, decay.shape[-1])  # (..., Steps, Width, States)
        rows: Any = broadcast_to(expand_dims(x, -1), shape)
        states = ssm_scan(broadcast_to(decay, shape), broadcast_to(gain, shape), rows, axis=-3)
        return x * in_float32(self.skip) + sum(states * in_float32(self.mix), axis=-1)

    def _over_a_step(self) -> tuple[Any, Any]:
        """Return the factors of the state and of the input in each step."""
        rate = -exp(in_float32(self.log_rate))
        decay = exp(rate * expand_dims(exp(in_float32(self.log_step)), -1))
        return decay, (decay - 1.0) / rate

    @override
    def __repr__(self) -> str:
        return f"SSM({self.log_rate.shape[0]}, {self.log_rate.shape[1]})"
