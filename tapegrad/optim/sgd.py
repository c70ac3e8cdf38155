"""Stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from tapegrad.errors.options import check_flag
from tapegrad.errors.ranges import check_options
from tapegrad.errors.tracebacks import public_api
from tapegrad.optim.optimizer import Groups, Optimizer, Parameters
from tapegrad.optim.packing import elementwise

if TYPE_CHECKING:
    from tapegrad.engines import Value


@dataclass(frozen=True, slots=True)
class Velocity:
    """State of SGD with momentum for a parameter: a decaying sum of its gradients.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = tg.optim.SGD([w], lr=0.25, momentum=0.5)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> opt.state[w].velocity.tolist()
        [2.0, -4.0]
    """

    velocity: Any


class SGD(Optimizer[Velocity | None]):
    """Stochastic gradient descent, optionally with momentum.

        v ← μ v + dx
        x ← x - η v

    With `nesterov` the last step is `x ← x - η (dx + μ v)`.

    Args:
        parameters: A module, a mapping of parameters by path, or an iterable of parameters.
        lr: The learning rate η, at least 0.
        momentum: The fraction μ of the velocity that is kept per step, from 0 to below 1.
        nesterov: Whether to use Nesterov momentum.
        weight_decay: The weight decay λ, at least 0: λx is added to dx.
        decoupled: Whether x is multiplied by 1 - ηλ before the step instead, so that momentum excludes the decay.
        groups: Options for some of the parameters, by path pattern.

    Raises:
        DTypeError: An item is not a parameter, or is bfloat16 and not frozen; or an option is not a number.
        ValueError: There are no parameters, a number is out of range, or `nesterov` is set without momentum.

    Source:
        Sutskever et al., [On the importance of initialization and momentum](https://proceedings.mlr.press/v28/sutskever13.html),
        §2, with η outside v and the order of operations of PyTorch 2.13.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = tg.optim.SGD([w], lr=0.25)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> w.tolist()
        [0.5, -1.0]
        >>> opt.lr = 0.125
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> w.tolist()
        [0.375, -0.75]
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
        check_options("SGD", momentum=momentum)
        check_flag("SGD", "nesterov", nesterov)
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
            return dx * -lr + x, None  # equals `x - dx * lr`, but NumPy adds into the buffer of the product
        velocity = state.velocity * self.momentum + dx
        direction = dx + velocity * self.momentum if self.nesterov else velocity
        return x - direction * lr, Velocity(velocity)
