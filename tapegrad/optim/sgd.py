"""Stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from tapegrad.optim.flat import elementwise
from tapegrad.optim.optimizer import Groups, Optimizer, Parameters
from tapegrad.options import check_fraction
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from tapegrad.backend import Value


@dataclass(frozen=True, slots=True)
class Velocity:
    """What SGD with momentum remembers of a parameter: a decaying sum of its gradients."""

    velocity: Any


class SGD(Optimizer[Velocity | None]):
    r"""Goes down the gradient, with momentum down a decaying sum of gradients.

    $$v \leftarrow \mu v + dx, \quad x \leftarrow x - \eta \, v$$

    With `nesterov` the last step is $x \leftarrow x - \eta \, (dx + \mu v)$.

    Args:
        parameters: A module, or parameters by path, or parameters.
        lr: The step size η, at least 0.
        momentum: Which fraction μ of the velocity is kept per step, from 0 to below 1.
        nesterov: Whether the step looks one step of momentum ahead.
        weight_decay: The factor λ of decay, at least 0: λx is added to dx.
        decoupled: Whether instead x is first multiplied by 1 - ηλ, which momentum does not see.
        groups: Options of their own for some parameters, by path.

    Raises:
        DTypeError: One of them is not a parameter, or is of bfloat16 and not frozen; or an option is not a number.
        ValueError: There are none, a number is out of its range, or `nesterov` has no momentum.

    Source:
        Sutskever et al., [On the importance of initialization and momentum](https://proceedings.mlr.press/v28/sutskever13.html),
        §2, with η outside of v and computed in the order of PyTorch 2.13.
    """

    @public_api
    def __init__(
        self,
        parameters: Parameters,
        lr: float,
        *,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
        decoupled: bool = False,
        groups: Groups | None = None,
    ) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, decoupled=decoupled, groups=groups)
        self.momentum = momentum
        self.nesterov = nesterov
        check_fraction("SGD", "momentum", momentum)
        if nesterov and not momentum:
            message = "SGD: nesterov needs momentum above 0"
            raise ValueError(message)

    @override
    def start(self, x: Value[Any, Any]) -> Velocity | None:
        return Velocity(np.zeros_like(x)) if self.momentum else None

    @override
    @elementwise
    def update(
        self, x: Value[Any, Any], dx: Value[Any, Any], state: Velocity | None, lr: float
    ) -> tuple[Value[Any, Any], Velocity | None]:
        if state is None:
            return dx * -lr + x, None  # as `x - dx * lr`, but NumPy adds in the place of the product
        velocity = state.velocity * self.momentum + dx
        way = dx + velocity * self.momentum if self.nesterov else velocity
        return x - way * lr, Velocity(velocity)
