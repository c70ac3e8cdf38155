"""Loss scaling: prevents gradients of half precision from underflowing to zero in the backward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypeVar

from tapegrad import ops
from tapegrad.autograd.gradients import Gradients, gradients_only
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, TapeError
from tapegrad.errors.messages import with_article
from tapegrad.errors.ranges import check_options
from tapegrad.errors.tracebacks import public_api
from tapegrad.optim.optimizer import Optimizer
from tapegrad.tensors.operands import known

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tapegrad.autograd.tape import OwnedTape
    from tapegrad.tensors import Tensor

Float = TypeVar("Float", bound=np.floating[Any], default=np.float32)


@public_api
class LossScaler:
    """Dynamic loss scaling: multiplies the loss before `backward`, and unscales the gradients before a step.

        g = (1/s) ∂(s ℓ) / ∂w

    A function under `jit` would treat the scale as a constant and cannot check whether gradients are finite. Pass the
    scale as an argument, and step outside of it:

        @tg.jit
        def gradients(model, x, scale):
            return tg.scale(model(x.trace()).mean(), factor=scale).backward(wrt=model)

        scaler.step(opt, gradients(model, x, scaler.scale))

    In float16 a gradient below 6e-8 is 0, and above 65504 infinite. The scale s therefore grows while all gradients
    are finite. If one is not, the step is skipped and s is reduced. Without `jit`, NumPy warns where a gradient becomes
    infinite; `np.errstate(over="ignore", invalid="ignore")` around `backward` silences it.

        loss = model(x.astype(np.float16).trace()).astype(np.float32).mean()
        scaler.step(opt, scaler.scaled(loss).backward(wrt=model))

    Args:
        scale: The initial scale s, above 0 and finite.
        growth: The factor by which s grows after `interval` consecutive steps without a skip, at least 1 and finite.
        backoff: The factor by which s is reduced after a skipped step, between 0 and 1.
        interval: The number of consecutive steps before s grows, at least 1.

    Attributes:
        scale: The current scale.
        taken: The number of consecutive steps taken since the scale last changed.
        skipped: The number of all steps that were skipped.

    Raises:
        DTypeError: An option is not a number, or `interval` is not an int.
        ValueError: A number is out of range.

    Source:
        Micikevicius et al., [Mixed Precision Training](https://arxiv.org/abs/1710.03740), §3.2; the defaults are those
        of PyTorch's `GradScaler`.

    Examples:
        >>> w = tg.nn.Param(tg.tensor([1.0, 2.0]))
        >>> opt, scaler = tg.optim.SGD([w], lr=0.25), tg.optim.LossScaler(16.0)
        >>> loss = (w.trace() ** 2).sum()
        >>> scaler.step(opt, scaler.scaled(loss).backward(wrt=[w])), w.tolist()
        (True, [0.5, 1.0])
        >>> loss = (w.trace() * np.inf).sum()
        >>> scaler.step(opt, scaler.scaled(loss).backward(wrt=[w])), scaler.scale, scaler.skipped
        (False, 8.0, 1)
    """

    def __init__(
        self, scale: float = 2.0**16, *, growth: float = 2.0, backoff: float = 0.5, interval: int = 2000
    ) -> None:
        check_options("LossScaler", scale=scale, growth=growth, backoff=backoff, interval=interval)
        self.scale = float(scale)
        self.growth, self.backoff, self.interval = growth, backoff, interval
        self.taken = self.skipped = 0

    @public_api
    def scaled(self, loss: Tensor[tuple[()], OwnedTape, Float]) -> Tensor[tuple[()], OwnedTape, Float]:
        """Return the loss multiplied by the scale; its `backward` returns gradients multiplied by the scale.

        Raises:
            DTypeError: `loss` is not of a float dtype.
            TapeError: It is called inside a function under `jit`.
        """
        if known(loss) is None:
            message = (
                "LossScaler.scaled: a step under jit would keep the scale; give it scaler.scale for tapegrad.scale"
            )
            raise TapeError(message)
        return ops.scale(loss, factor=self.scale)

    @public_api
    def step(self, opt: Optimizer[Any], grads: Gradients, *, allow_unused: bool = False) -> bool:
        """Unscale the gradients of an optimizer's parameters and step, or skip the step if one is not finite.

        Args:
            opt: The optimizer.
            grads: The result of `backward` of a scaled loss. After a step its parameter gradients are unscaled.
            allow_unused: Whether a parameter without a gradient is left unchanged, see `Optimizer.step`.

        Returns:
            Whether the step was taken.

        Raises:
            DTypeError: `opt` is not an optimizer, or `grads` is not a `Gradients`.
            TapeError: A parameter has no gradient, or all gradients are of other tensors; or it is called inside a
                function under `jit`.
        """
        if not isinstance(opt, Optimizer):
            message = f"LossScaler.step: opt is {with_article(type(opt).__name__)} but an optimizer is expected"
            raise DTypeError(message)
        gradients_only("LossScaler.step", grads)
        used = [parameter for parameter in opt.parameters.values() if not parameter.frozen and parameter in grads]
        if any(known(grads.ref(parameter)) is None for parameter in used):
            message = (
                "LossScaler.step: whether gradients are finite is not known under jit; return them, and step outside"
            )
            raise TapeError(message)
        is_finite = all(_is_finite(grads.ref(parameter)) for parameter in used)
        if is_finite:
            divided = Gradients()
            divided.constants = grads.constants
            divided.values_by_node = dict(grads.values_by_node)
            for parameter in used:
                divided.replace(parameter, parameter.with_data(grads.ref(parameter) * (1 / self.scale)))
            opt.step(divided, allow_unused=allow_unused)
            grads.values_by_node = divided.values_by_node
        self._adapt(is_finite=is_finite)
        return is_finite

    def arrays(self) -> dict[str, Any]:
        """Return what is needed to resume a run exactly."""
        counts = {"taken": np.array(self.taken), "skipped": np.array(self.skipped)}
        return {"scale": np.array(self.scale), **counts}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        """Restore the result of `arrays`."""
        self.scale, self.taken = float(arrays["scale"]), int(arrays["taken"])
        self.skipped = int(arrays.get("skipped", 0))  # which older files do not have

    def _adapt(self, *, is_finite: bool) -> None:
        self.taken = self.taken + 1 if is_finite else 0
        if not is_finite:
            self.scale *= self.backoff
            self.skipped += 1
        elif self.taken == self.interval:
            self.scale, self.taken = self.scale * self.growth, 0


def _is_finite(gradient: Any) -> bool:
    primitives = engine(gradient)
    return bool(primitives.all(primitives.map("isfinite", gradient), None, keepdims=False))
