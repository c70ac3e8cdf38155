"""Adaptive moment estimation."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from tapegrad.optim.optimizer import Optimizer, Parameters

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

    Raises:
        DTypeError: One of them is not a parameter.
        ValueError: There are none, or a number is out of its range.

    Source:
        Kingma & Ba, [Adam](https://arxiv.org/abs/1412.6980), algorithm 1, computed in the order of PyTorch 2.13.
    """

    def __init__(
        self,
        parameters: Parameters,
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(parameters, lr)
        self.betas = betas
        self.eps = eps
        for number, beta in enumerate(betas, start=1):
            if not 0 <= beta < 1:
                message = f"Adam: beta {number} is {beta} but must be from 0 to below 1"
                raise ValueError(message)
        if not eps >= 0:
            message = f"Adam: eps is {eps} but must be at least 0"
            raise ValueError(message)

    @override
    def update(self, x: Value[Any, Any], dx: Value[Any, Any], state: Moments | None) -> tuple[Value[Any, Any], Moments]:
        beta1, beta2 = self.betas
        before = state or Moments(0, 0.0, 0.0)

        steps = before.steps + 1
        first = before.first + (dx - before.first) * (1 - beta1)
        second = before.second * beta2 + dx * dx * (1 - beta2)
        root = second**0.5 / sqrt(1 - beta2**steps) + self.eps
        return x - first / root * (float(self.lr) / (1 - beta1**steps)), Moments(steps, first, second)
