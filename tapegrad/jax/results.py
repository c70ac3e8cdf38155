"""The result of a compiled step, built at each call from the arrays that the program returns."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.gradients import Gradients
from tapegrad.errors import TapeError, messages
from tapegrad.jax.device_tensor import DeviceTensor, LandedWithTape
from tapegrad.jax.scalars import TracedNumber
from tapegrad.jax.traced import Traced
from tapegrad.nn import Module
from tapegrad.optim import Group, Optimizer
from tapegrad.tensor import Tensor, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.jax.arguments import ArgumentTree
    from tapegrad.jax.binding import Binding

    ResultBuilder = Callable[[Sequence[Any], Binding], Any]


class ResultTemplate:
    """Records the arrays of a result, and builds the result from them at each call."""

    def __init__(self, survey: ArgumentTree, binding: Binding, nodes: dict[int, Any], outs: list[Any]) -> None:
        self.states = {id(state): place for place, state in enumerate(binding.states)}
        self.given = {id(given): place for place, given in enumerate(nodes.values())}
        self.survey = survey
        self.outs = outs

    def maker(self, result: Any) -> ResultBuilder:
        """Return a function that builds a result like this one from the arrays of a call."""
        if type(result) is TracedNumber:
            number = result.place
            return lambda _, binding: binding.values[number]
        if isinstance(result, Tensor):
            return self._tensor(result)
        if isinstance(result, Gradients):
            return self._gradients(result)
        if isinstance(result, list | tuple):
            makers = [self.maker(one) for one in result]
            kind: Any = type(result)
            if hasattr(result, "_fields"):
                return lambda outs, binding: kind(*(make(outs, binding) for make in makers))
            return lambda outs, binding: kind(make(outs, binding) for make in makers)
        if type(result) is dict:
            named_makers = {key: self.maker(one) for key, one in result.items()}
            return lambda outs, binding: {key: make(outs, binding) for key, make in named_makers.items()}
        if is_dataclass(result) and not isinstance(result, type | Module | Optimizer | Group):
            names = {field.name: self.maker(getattr(result, field.name)) for field in fields(result)}
            return lambda outs, binding: replace(result, **{key: make(outs, binding) for key, make in names.items()})
        if type(result) is SimpleNamespace and not any(one is result for one in self.survey.objects):
            parts = {name: self.maker(part) for name, part in vars(result).items()}
            return lambda outs, binding: SimpleNamespace(**{name: make(outs, binding) for name, make in parts.items()})
        if isinstance(result, Traced):
            message = "jit: the step returns a raw value; tapegrad.node makes a tensor of it"
            raise TapeError(message)
        place = next((at for at, one in enumerate(self.survey.objects) if one is result), None)
        return (lambda *_: result) if place is None else lambda _, binding: binding.survey.objects[place]

    def _tensor(self, x: Tensor[Any, Any, Any]) -> ResultBuilder:
        if id(x) in self.states:
            place = self.states[id(x)]
            return lambda _, binding: binding.states[place]
        if id(x) in self.given:
            at = self.given[id(x)]
            return lambda _, binding: binding.tensors[at]
        if not x.owns_tape:
            if not isinstance(x.data, Traced):
                return lambda *_: x
            out = self._kept(x.data)
            return lambda outs, _: DeviceTensor.of(outs[out])
        if x.tape.tape.consumed_at is None:
            raise TapeError(messages.tape_unwanted("jit", "the result") + ": detach it")
        taped, tape = self._kept(values_of(x)), x.tape
        return lambda outs, _: LandedWithTape.of(outs[taped], tape)

    def _gradients(self, grads: Gradients) -> ResultBuilder:
        found: list[tuple[ResultBuilder, int]] = []
        for node, value in grads.values_by_node.items():
            if id(node) in self.states or id(node) in self.given:
                found.append((self._tensor(node), self._kept(value)))

        def made(outs: Sequence[Any], binding: Binding) -> Gradients:
            gradients = Gradients()
            gradients.values_by_node = {make(outs, binding): np.asarray(outs[out]) for make, out in found}
            return gradients

        return made

    def _kept(self, value: Any) -> int:
        self.outs.append(value)
        return len(self.outs) - 1
