"""Adaptive moment estimation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from tapegrad.errors import DTypeError
from tapegrad.optim.flat import elementwise
from tapegrad.optim.optimizer import Groups, Optimizer, Parameters
from tapegrad.options import check_at_least_zero, check_fraction
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from tapegrad.backend import Value


@dataclass(frozen=True, slots=True)
class Moments:
    """What Adam remembers of a parameter: how many steps it made, and decaying means of its gradient and its square."""

    steps: int
    first: Any
    second: Any


class Adam(Optimizer[Moments]):
    r"""Goes down the mean gradient, each element in units of its own root mean square.

    $$m \leftarrow \beta_1 m + (1 - \beta_1) \, dx, \quad v \leftarrow \beta_2 v + (1 - \beta_2) \, dx^2, \quad
    x \leftarrow x - \frac{\eta}{1 - \beta_1^t} \, \frac{m}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}$$

    Steps t are counted by parameter, from 1: one without a gradient is not corrected for a step it did not make.

    Args:
        parameters: A module, or parameters by path, or parameters.
        lr: The step size η, at least 0.
        betas: Which fraction of the mean gradient β₁ and of the mean square β₂ is kept per step, from 0 to below 1.
        eps: Added to the root, at least 0.
        weight_decay: The factor λ of decay, at least 0: λx is added to dx.
        groups: Options of their own for some parameters, by path.

    Raises:
        DTypeError: One of them is not a parameter, or is of bfloat16 and not frozen; or an option is not a number.
        ValueError: There are none, or a number is out of its range.

    Source:
        Kingma & Ba, [Adam](https://arxiv.org/abs/1412.6980), algorithm 1, in the faster order of its §2.
    """

    @public_api
    def __init__(
        self,
        parameters: Parameters,
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        groups: Groups | None = None,
    ) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, groups=groups)
        self.betas = betas
        self.eps = eps
        name = type(self).__name__
        if not isinstance(betas, Sequence) or len(betas) != 2:
            message = f"{name}: betas is {betas!r} but two numbers are expected"
            raise DTypeError(message)
        for number, beta in enumerate(betas, start=1):
            check_fraction(name, f"beta {number}", beta)
        check_at_least_zero(name, "eps", eps)

    @override
    def start(self, x: Value[Any, Any]) -> Moments:
        return Moments(0, np.zeros_like(x), np.zeros_like(x))

    @override
    @elementwise
    def update(
        self, x: Value[Any, Any], dx: Value[Any, Any], state: Moments, lr: float
    ) -> tuple[Value[Any, Any], Moments]:
        beta1, beta2 = self.betas

        steps = state.steps + 1
        first = state.first + (dx - state.first) * (1 - beta1)
        second = state.second * beta2 + dx * dx * (1 - beta2)
        # Each correction is one number: where it multiplies the step and ε, no element is divided by it.
        correction = (1 - beta2**steps) ** 0.5
        rate = lr * correction / (1 - beta1**steps)
        return x - first / (second**0.5 + self.eps * correction) * rate, Moments(steps, first, second)


class AdamW(Adam):
    r"""Goes down the gradient as `Adam` does, after it has shortened the parameter by a factor.

    $$x \leftarrow (1 - \eta \lambda) \, x$$

    The decay so does not depend on how large the gradients are.

    Args:
        parameters: A module, or parameters by path, or parameters.
        lr: The step size η, at least 0.
        betas: Which fraction of the mean gradient β₁ and of the mean square β₂ is kept per step, from 0 to below 1.
        eps: Added to the root, at least 0.
        weight_decay: The factor λ of decay, at least 0.
        groups: Options of their own for some parameters, by path.

    Raises:
        DTypeError: One of them is not a parameter, or is of bfloat16 and not frozen; or an option is not a number.
        ValueError: There are none, or a number is out of its range.

    Source:
        Loshchilov & Hutter, [Decoupled weight decay regularization](https://arxiv.org/abs/1711.05101), algorithm 2,
        where η multiplies both the step and the decay, as in PyTorch 2.13.
    """

    @public_api
    def __init__(
        self,
        parameters: Parameters,
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        groups: Groups | None = None,
    ) -> None:
        super().__init__(parameters, lr, betas=betas, eps=eps, weight_decay=weight_decay, groups=groups)
        self.decoupled = True
