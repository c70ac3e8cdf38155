"""The result of a compiled step, built at each call from the arrays that the program returns."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tapegrad.autograd.gradients import Gradients
from tapegrad.autograd.tape import NONE
from tapegrad.errors import TapeError, messages
from tapegrad.jax.device_tensor import DeviceTensor, DeviceTensorWithTape, here
from tapegrad.jax.scalars import TracedNumber
from tapegrad.jax.traced import Traced
from tapegrad.nn import Module
from tapegrad.optim import Group, Optimizer
from tapegrad.tensors import Tensor, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.jax.arguments import ArgumentTree
    from tapegrad.jax.binding import Binding

    ResultBuilder = Callable[[Sequence[Any], Binding], Any]


class ResultTemplate:
    """Records the arrays of a result, and builds the result from them at each call.

    Attributes:
        outs: The arrays.
        returns_given: Whether the result contains a tensor or a parameter that the step was given.
    """

    def __init__(
        self, tree: ArgumentTree, binding: Binding, nodes: dict[Tensor[Any, Any, Any], Any], outs: list[Any]
    ) -> None:
        self.states: dict[Tensor[Any, Any, Any], int] = {state: at for at, state in enumerate(binding.states)}
        self.given = {given: position for position, given in enumerate(nodes.values())}
        # The key of a gradient is the node.
        self.given |= {given.node: position for position, given in enumerate(nodes.values()) if given.tape.holds}
        self.tree = tree
        self.outs = outs
        self.returns_given = False

    def builder(self, result: Any) -> ResultBuilder:
        """Return a function that builds a result like this one from the arrays of a call."""
        if type(result) is TracedNumber:
            number = result.position
            return lambda _, binding: binding.values[number]
        if isinstance(result, Tensor):
            return self._tensor(result)
        if isinstance(result, Gradients):
            return self._gradients(result)
        if isinstance(result, list | tuple):
            builders = [self.builder(one) for one in result]
            kind: Any = type(result)
            if hasattr(result, "_fields"):
                return lambda outs, binding: kind(*(make(outs, binding) for make in builders))
            return lambda outs, binding: kind(make(outs, binding) for make in builders)
        if type(result) is dict:
            named_builders = {key: self.builder(one) for key, one in result.items()}
            return lambda outs, binding: {key: make(outs, binding) for key, make in named_builders.items()}
        if is_dataclass(result) and not isinstance(result, type | Module | Optimizer | Group):
            names = {field.name: self.builder(getattr(result, field.name)) for field in fields(result)}
            return lambda outs, binding: replace(result, **{key: make(outs, binding) for key, make in names.items()})
        if type(result) is SimpleNamespace and not any(one is result for one in self.tree.objects):
            parts = {name: self.builder(part) for name, part in vars(result).items()}
            return lambda outs, binding: SimpleNamespace(**{name: make(outs, binding) for name, make in parts.items()})
        if isinstance(result, Traced):
            message = "jit: the step returns a raw value; tapegrad.node makes a tensor of it"
            raise TapeError(message)
        position = next((at for at, one in enumerate(self.tree.objects) if one is result), None)
        return (lambda *_: result) if position is None else lambda _, binding: binding.tree.objects[position]

    def _tensor(self, x: Tensor[Any, Any, Any]) -> ResultBuilder:
        self.returns_given |= x in self.states or x in self.given
        if x in self.states:
            position = self.states[x]
            return lambda _, binding: binding.states[position]
        if x in self.given:
            at = self.given[x]
            return lambda _, binding: binding.tensors[at]
        if not x.owns_tape:
            if not isinstance(x.data, Traced):
                return lambda *_: x
            return _tensor_at(self._add_output(x.data))
        if x.tape.tape.consumed_at is None:
            raise TapeError(messages.tape_unwanted("jit", "the result") + ": detach it")
        taped, tape = self._add_output(values_of(x)), x.tape
        return lambda outs, _: DeviceTensorWithTape.of(outs[taped], tape)

    def _gradients(self, grads: Gradients) -> ResultBuilder:
        found: list[tuple[ResultBuilder, int]] = []
        for node, value in grads.values_by_node.items():
            if node in self.states or node in self.given:
                found.append((self._tensor(node), self._add_output(value)))
        constants = [self._tensor(node) for node in grads.constants if node in self.states or node in self.given]

        def build(outs: Sequence[Any], binding: Binding) -> Gradients:
            gradients = Gradients()
            gradients.constants = frozenset(make(outs, binding) for make in constants)
            gradients.values_by_node = {make(outs, binding).split_tape()[0]: here(outs[out]) for make, out in found}
            return gradients

        return build

    def _add_output(self, value: Any) -> int:
        self.outs.append(value)
        return len(self.outs) - 1


def _tensor_at(place: int) -> ResultBuilder:
    """Return a function that makes a tensor of one array, without another call (benchmarks/jit.py, "call")."""

    def built(outs: Sequence[Any], _: Binding) -> Any:
        tensor = _new(DeviceTensor)
        tensor.tape, tensor.node = NONE, outs[place]
        return tensor

    return built


_new: Any = object.__new__  # Any: the caller annotates the result
