"""Loss scaling: gradients of half precision that would round to zero on the way, kept by a factor."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypeVar

from tapegrad import ops
from tapegrad.backend import engine
from tapegrad.errors import TapeError
from tapegrad.gradients import Gradients
from tapegrad.operands import known
from tapegrad.options import check_count, check_range
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tapegrad.optim.optimizer import Optimizer
    from tapegrad.tape import OwnedTape
    from tapegrad.tensor import Tensor

Float = TypeVar("Float", bound=np.floating[Any], default=np.float32)


@public_api
class LossScaler:
    r"""Multiplies a loss before `backward`, and divides the gradients of the parameters before a step.

    $$g = \frac{1}{s} \frac{\partial (s \, \ell)}{\partial w}$$

    Under `jit` the scale would be kept as it was, and nobody can ask yet whether a gradient is finite. There the scale
    is an argument, and the step is taken outside:

        @tg.jit
        def gradients(model, x, scale):
            return tg.scale(model(x.trace()).mean(), factor=scale).backward(wrt=model)

        scaler.step(opt, gradients(model, x, scaler.scale))

    A gradient below 6e-8 is 0 in float16, and above 65504 infinite. So the scale s grows while all gradients are
    finite, and where one is not, the step is left out and s falls.

        loss = model(x.astype(np.float16).trace()).astype(np.float32).mean()
        scaler.step(opt, scaler.scaled(loss).backward(wrt=model))

    Args:
        scale: The scale s to begin with, above 0 and finite.
        growth: What s is multiplied by after `interval` steps in a row that were taken, at least 1 and finite.
        backoff: What it is multiplied by after a step that was left out, between 0 and 1.
        interval: How many steps, at least 1.

    Attributes:
        scale: The scale in force.
        taken: How many steps in a row have been taken since it last changed.

    Raises:
        DTypeError: An option is not a number, or `interval` not a whole one.
        ValueError: A number is out of its range.

    Source:
        Micikevicius et al., [Mixed Precision Training](https://arxiv.org/abs/1710.03740), §3.2; the numbers are those
        of PyTorch's `GradScaler`.
    """

    def __init__(
        self, scale: float = 2.0**16, *, growth: float = 2.0, backoff: float = 0.5, interval: int = 2000
    ) -> None:
        check_range("LossScaler", "scale", scale, "above 0 and finite", lambda scale: 0 < scale < inf)
        check_range("LossScaler", "growth", growth, "at least 1 and finite", lambda growth: 1 <= growth < inf)
        check_range("LossScaler", "backoff", backoff, "between 0 and 1", lambda backoff: 0 < backoff < 1)
        check_count("LossScaler", "interval", interval)
        self.scale = float(scale)
        self.growth, self.backoff, self.interval = growth, backoff, interval
        self.taken = 0

    @public_api
    def scaled(self, loss: Tensor[tuple[()], OwnedTape, Float]) -> Tensor[tuple[()], OwnedTape, Float]:
        """Return a loss times the scale, whose `backward` gives gradients times the scale.

        Raises:
            DTypeError: `loss` is not a float.
            TapeError: It is called inside a step under `jit`.
        """
        if known(loss) is None:
            message = (
                "LossScaler.scaled: a step under jit would keep the scale; give it scaler.scale for tapegrad.scale"
            )
            raise TapeError(message)
        return ops.scale(loss, factor=self.scale)

    @public_api
    def step(self, opt: Optimizer[Any], grads: Gradients, *, allow_unused: bool = False) -> bool:
        """Divide the gradients of an optimizer's parameters by the scale and steps, unless one of them is not finite.

        Args:
            opt: The optimizer.
            grads: What `backward` of a scaled loss gave; once the step is taken, those of the parameters are divided.
            allow_unused: Whether a parameter without a gradient stays as it is, see `Optimizer.step`.

        Returns:
            Whether the step was taken.

        Raises:
            TapeError: A parameter has no gradient, or the gradients are all of other tensors; or it is called inside a
                step under `jit`.
        """
        used = [parameter for parameter in opt.parameters.values() if not parameter.frozen and parameter in grads]
        if any(known(grads.ref(parameter)) is None for parameter in used):
            message = (
                "LossScaler.step: whether gradients are finite is not known under jit; return them, and step outside"
            )
            raise TapeError(message)
        is_finite = all(_is_finite(grads.ref(parameter)) for parameter in used)
        if is_finite:
            divided = Gradients()
            divided.values_by_node = dict(grads.values_by_node)
            for parameter in used:
                divided.replace(parameter, parameter.with_data(grads.ref(parameter) * (1 / self.scale)))
            opt.step(divided, allow_unused=allow_unused)
            grads.values_by_node = divided.values_by_node
        self._adapt(is_finite=is_finite)
        return is_finite

    def arrays(self) -> dict[str, Any]:
        """Return what a run needs to go on as if it had never stopped."""
        return {"scale": np.array(self.scale), "taken": np.array(self.taken)}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Take over what `arrays` gave."""
        self.scale, self.taken = float(arrays["scale"]), int(arrays["taken"])

    def _adapt(self, *, is_finite: bool) -> None:
        self.taken = self.taken + 1 if is_finite else 0
        if not is_finite:
            self.scale *= self.backoff
        elif self.taken == self.interval:
            self.scale, self.taken = self.scale * self.growth, 0


def _is_finite(gradient: Any) -> bool:
    primitives = engine(gradient)
    return bool(primitives.all(primitives.map("isfinite", gradient), None, keepdims=False))
