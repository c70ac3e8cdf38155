"""Adadelta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from tapegrad.errors.ranges import check_options
from tapegrad.errors.tracebacks import public_api
from tapegrad.optim.optimizer import Groups, Optimizer, Parameters
from tapegrad.optim.packing import elementwise

if TYPE_CHECKING:
    from tapegrad.engines import Value


@dataclass(frozen=True, slots=True)
class SquaredUpdates:
    """Adadelta's state of a parameter: decaying means of its squared gradient and of its squared updates.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, 0.0]))
        >>> opt = tg.optim.Adadelta([w], rho=0.25, eps=1.0)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> opt.state[w].square.tolist(), opt.state[w].update.tolist()
        ([3.0, 0.0], [0.75, 0.0])
    """

    square: Any
    update: Any


class Adadelta(Optimizer[SquaredUpdates]):
    """Adadelta optimizer, whose updates are as large as its earlier ones, so that it needs no learning rate.

        v ← ρ v + (1 - ρ) dx²
        u = (√(d + ε) / √(v + ε)) dx
        d ← ρ d + (1 - ρ) u²
        x ← x - η u

    Both means start at zero, so ε decides how large the first updates are.

    Args:
        parameters: A module, a mapping of parameters by path, or an iterable of parameters.
        lr: The factor η of each update, at least 0.
        rho: The decay rate `ρ` of both means, from 0 to below 1.
        eps: The ε added to both means, above 0.
        weight_decay: The weight decay λ, at least 0: λx is added to dx.
        groups: Options for some of the parameters, by path pattern.

    Raises:
        DTypeError: An item is not a parameter, or is bfloat16 and not frozen; or an option is not a number.
        ValueError: There are no parameters, or a number is out of range.

    Source:
        Zeiler, [Adadelta](https://arxiv.org/abs/1212.5701), algorithm 1, with the factor η and the defaults of PyTorch
        2.13.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = tg.optim.Adadelta([w], rho=0.75, eps=1.0)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> np.round(w.numpy().astype(float), 3).tolist()
        [-0.414, -0.211]
    """

    @public_api
    def __init__(
        self,
        parameters: Parameters,
        lr: float = 1.0,
        *,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        groups: Groups | None = None,
    ) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, groups=groups)
        self.rho = rho
        self.eps = eps
        check_options("Adadelta", rho=rho, eps=eps)

    @override
    def start(self, x: Value[Any, Any]) -> SquaredUpdates:
        return SquaredUpdates(np.zeros_like(x), np.zeros_like(x))

    @override
    @elementwise
    def update(
        self, x: Value[Any, Any], dx: Value[Any, Any], state: SquaredUpdates, lr: float
    ) -> tuple[Value[Any, Any], SquaredUpdates]:
        square = state.square * self.rho + dx * dx * (1 - self.rho)
        step = (state.update + self.eps) ** 0.5 / (square + self.eps) ** 0.5 * dx
        return x - step * lr, SquaredUpdates(square, state.update * self.rho + step * step * (1 - self.rho))
