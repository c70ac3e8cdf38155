"""Steps in units of the root mean square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from tapegrad.optim.flat import elementwise
from tapegrad.optim.optimizer import Groups, Optimizer, Parameters
from tapegrad.options import check_at_least_zero, check_fraction
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from tapegrad.backend import Value


@dataclass(frozen=True, slots=True)
class Squares:
    """What RMSprop remembers of a parameter: a decaying mean of its gradient's square."""

    square: Any


@dataclass(frozen=True, slots=True)
class RollingSquares(Squares):
    """What RMSprop with momentum remembers besides: a decaying sum of its steps."""

    velocity: Any


class RMSprop(Optimizer[Squares]):
    r"""Goes down the gradient, each element in units of its own root mean square.

    $$v \leftarrow \alpha v + (1 - \alpha) \, dx^2, \quad u \leftarrow \mu u + \frac{dx}{\sqrt v + \epsilon}, \quad
    x \leftarrow x - \eta \, u$$

    The mean starts at zero, so first steps are longer than η by up to $1 / \sqrt{1 - \alpha}$.

    Args:
        parameters: A module, or parameters by path, or parameters.
        lr: The step size η, at least 0.
        alpha: Which fraction α of the mean square is kept per step, from 0 to below 1.
        eps: Added to the root ε, at least 0.
        momentum: Which fraction μ of the last step is kept, from 0 to below 1.
        weight_decay: The factor λ of decay, at least 0: λx is added to dx.
        groups: Options of their own for some parameters, by path.

    Raises:
        DTypeError: One of them is not a parameter, or is of bfloat16 and not frozen; or an option is not a number.
        ValueError: There are none, or a number is out of its range.

    Source:
        Hinton, [Neural networks for machine learning](https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf),
        lecture 6e, with ε outside of the root and computed in the order of PyTorch 2.13.
    """

    @public_api
    def __init__(
        self,
        parameters: Parameters,
        lr: float = 1e-2,
        *,
        alpha: float = 0.99,
        eps: float = 1e-8,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        groups: Groups | None = None,
    ) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, groups=groups)
        self.alpha = alpha
        self.eps = eps
        self.momentum = momentum
        for name, fraction in (("alpha", alpha), ("momentum", momentum)):
            check_fraction("RMSprop", name, fraction)
        check_at_least_zero("RMSprop", "eps", eps)

    @override
    def start(self, x: Value[Any, Any]) -> Squares:
        zeros = np.zeros_like(x)
        return RollingSquares(zeros, zeros) if self.momentum else Squares(zeros)

    @override
    @elementwise
    def update(
        self, x: Value[Any, Any], dx: Value[Any, Any], state: Squares, lr: float
    ) -> tuple[Value[Any, Any], Squares]:
        square = state.square * self.alpha + dx * dx * (1 - self.alpha)
        way = dx / (square**0.5 + self.eps)
        if not isinstance(state, RollingSquares):
            return x - way * lr, Squares(square)
        velocity = state.velocity * self.momentum + way
        return x - velocity * lr, RollingSquares(square, velocity)
