"""RMSprop."""

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
class Squares:
    """RMSprop's state of a parameter: a decaying mean of its squared gradient.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = tg.optim.RMSprop([w], alpha=0.75)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> opt.state[w].square.tolist()
        [1.0, 4.0]
    """

    square: Any


@dataclass(frozen=True, slots=True)
class RollingSquares(Squares):
    """State of RMSprop with momentum: additionally a decaying sum of its steps.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = tg.optim.RMSprop([w], alpha=0.75, eps=0.0, momentum=0.5)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> opt.state[w].square.tolist(), opt.state[w].velocity.tolist()
        ([1.0, 4.0], [2.0, -2.0])
    """

    velocity: Any


@dataclass(frozen=True, slots=True)
class CenteredSquares(Squares):
    """State of centered RMSprop: a decaying mean of the gradient; `square` is the decaying variance around it.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = tg.optim.RMSprop([w], alpha=0.75, centered=True)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> opt.state[w].square.tolist(), opt.state[w].mean.tolist()
        ([0.75, 3.0], [0.5, -1.0])
    """

    mean: Any


@dataclass(frozen=True, slots=True)
class RollingCenteredSquares(CenteredSquares):
    """State of centered RMSprop with momentum: additionally a decaying sum of its steps.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([2.0, -4.0]))
        >>> opt = tg.optim.RMSprop([w], alpha=0.5, eps=0.0, momentum=0.5, centered=True)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> opt.state[w].mean.tolist(), opt.state[w].velocity.tolist()
        ([2.0, -4.0], [2.0, -2.0])
    """

    velocity: Any


class RMSprop(Optimizer[Squares]):
    """RMSprop optimizer, optionally with momentum, and optionally centered.

        v ← α v + (1 - α) dx²
        u ← μ u + dx / (√v + ε)
        x ← x - η u

    A centered optimizer divides by the standard deviation of the gradient, where the formula above divides by the root
    of its mean square: the second mean is of squared distances from the first,

        v ← α v + α (1 - α) (dx - m)²
        m ← m + (1 - α) (dx - m)

    which is the mean of `dx²` minus `m²`, computed without their difference, so that it is never negative.

    The mean square starts at zero, so the first steps are larger than η by a factor of up to `1 / √(1 - α)`.

    Args:
        parameters: A module, a mapping of parameters by path, or an iterable of parameters.
        lr: The learning rate η, at least 0.
        alpha: The decay rate α of the mean square, from 0 to below 1.
        eps: The ε added to the square root, at least 0.
        momentum: The fraction μ of the last step that is kept, from 0 to below 1.
        centered: Whether v is the variance of the gradient.
        weight_decay: The weight decay λ, at least 0: λx is added to dx.
        groups: Options for some of the parameters, by path pattern.

    Raises:
        DTypeError: An item is not a parameter, or is bfloat16 and not frozen; or an option is not a number.
        ValueError: There are no parameters, or a number is out of range.

    Source:
        Hinton, [Neural networks for machine learning](https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf),
        lecture 6e, with ε outside the square root and the order of operations of PyTorch 2.13; centered as in Graves,
        [Generating sequences with recurrent neural networks](https://arxiv.org/abs/1308.0850), eqs. 38 to 41.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = tg.optim.RMSprop([w], lr=0.25, alpha=0.75, eps=0.0)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> w.tolist()
        [0.5, -1.5]
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
        centered: bool = False,
        weight_decay: float = 0.0,
        groups: Groups | None = None,
    ) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, groups=groups)
        self.alpha = alpha
        self.eps = eps
        self.momentum = momentum
        self.centered = centered
        check_options("RMSprop", alpha=alpha, momentum=momentum, eps=eps)
        check_flag("RMSprop", "centered", centered)

    @override
    def start(self, x: Value[Any, Any]) -> Squares:
        zeros = np.zeros_like(x)
        if self.centered:
            return RollingCenteredSquares(zeros, zeros, zeros) if self.momentum else CenteredSquares(zeros, zeros)
        return RollingSquares(zeros, zeros) if self.momentum else Squares(zeros)

    @override
    @elementwise
    def update(
        self, x: Value[Any, Any], dx: Value[Any, Any], state: Squares, lr: float
    ) -> tuple[Value[Any, Any], Squares]:
        if isinstance(state, CenteredSquares):
            distance = dx - state.mean
            mean = state.mean + distance * (1 - self.alpha)
            square = (state.square + distance * distance * (1 - self.alpha)) * self.alpha
            direction = dx / (square**0.5 + self.eps)
            if not isinstance(state, RollingCenteredSquares):
                return x - direction * lr, CenteredSquares(square, mean)
            velocity = state.velocity * self.momentum + direction
            return x - velocity * lr, RollingCenteredSquares(square, mean, velocity)
        square = state.square * self.alpha + dx * dx * (1 - self.alpha)
        direction = dx / (square**0.5 + self.eps)
        if not isinstance(state, RollingSquares):
            return x - direction * lr, Squares(square)
        velocity = state.velocity * self.momentum + direction
        return x - velocity * lr, RollingSquares(square, velocity)
