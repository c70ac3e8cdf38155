"""Adam and AdamW (adaptive moment estimation)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from tapegrad.errors import DTypeError
from tapegrad.errors.ranges import RANGES, check_options
from tapegrad.errors.tracebacks import public_api
from tapegrad.optim.optimizer import Groups, Optimizer, Parameters
from tapegrad.optim.packing import elementwise

if TYPE_CHECKING:
    from tapegrad.engines import Value


@dataclass(frozen=True, slots=True)
class Moments:
    """Adam's state of a parameter: its step count, and decaying means of its gradient and of the squared gradient.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = tg.optim.Adam([w], betas=(0.5, 0.75))
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> moments = opt.state[w]
        >>> moments.steps, moments.first.tolist(), moments.second.tolist()
        (1, [1.0, -2.0], [1.0, 4.0])
    """

    steps: int
    first: Any
    second: Any


class Adam(Optimizer[Moments]):
    """Adam optimizer, optionally with L2 weight decay.

        m ← β₁ m + (1 - β₁) dx
        v ← β₂ v + (1 - β₂) dx²
        x ← x - (η / (1 - β₁^t)) m / (√(v / (1 - β₂^t)) + ε)

    Each parameter counts its own steps t, from 1. A step in which it has no gradient is not counted.

    Args:
        parameters: A module, a mapping of parameters by path, or an iterable of parameters.
        lr: The learning rate η, at least 0.
        betas: The decay rates of the mean gradient, β₁, and of the mean square, β₂, each from 0 to below 1.
        eps: The ε added to the square root, at least 0.
        weight_decay: The weight decay λ, at least 0: λx is added to dx.
        groups: Options for some of the parameters, by path pattern.

    Raises:
        DTypeError: An item is not a parameter, or is bfloat16 and not frozen; or an option is not a number.
        ValueError: There are no parameters, or a number is out of range.

    Source:
        Kingma & Ba, [Adam](https://arxiv.org/abs/1412.6980), algorithm 1, in the faster order of its §2.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = tg.optim.Adam([w], lr=0.25)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> np.round(w.numpy().astype(float), 3).tolist()
        [0.75, -1.75]
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
        check_options(name, RANGES["Adam"], betas=betas, eps=eps)

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
        # The bias corrections multiply the learning rate and ε, which are scalars, so no array is divided by them.
        correction = (1 - beta2**steps) ** 0.5
        rate = lr * correction / (1 - beta1**steps)
        return x - first / (second**0.5 + self.eps * correction) * rate, Moments(steps, first, second)


class AdamW(Adam):
    """AdamW optimizer: `Adam` with decoupled weight decay.

        x ← (1 - η λ) x

    The decay is applied before the step of `Adam`, so it does not depend on the size of the gradients.

    Args:
        parameters: A module, a mapping of parameters by path, or an iterable of parameters.
        lr: The learning rate η, at least 0.
        betas: The decay rates of the mean gradient, β₁, and of the mean square, β₂, each from 0 to below 1.
        eps: The ε added to the square root, at least 0.
        weight_decay: The weight decay λ, at least 0.
        groups: Options for some of the parameters, by path pattern.

    Raises:
        DTypeError: An item is not a parameter, or is bfloat16 and not frozen; or an option is not a number.
        ValueError: There are no parameters, or a number is out of range.

    Source:
        Loshchilov & Hutter, [Decoupled weight decay regularization](https://arxiv.org/abs/1711.05101), algorithm 2,
        where η multiplies both the step and the decay, as in PyTorch 2.13.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = tg.optim.AdamW([w], lr=0.5, weight_decay=0.5)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> np.round(w.numpy().astype(float), 3).tolist()
        [0.25, -1.0]
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
