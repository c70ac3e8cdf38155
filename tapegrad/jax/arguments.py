"""What a step is given: which arrays it computes with, and what else its program hangs on."""

from __future__ import annotations

import inspect
import sys
from argparse import Namespace
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter, is_, itemgetter
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tapegrad import sentences
from tapegrad.errors import DTypeError, TapeError
from tapegrad.guard._memory import Memory
from tapegrad.nn import Module
from tapegrad.nn.param import State
from tapegrad.optim import Group, Optimizer
from tapegrad.optim.optimizer import OnDevice
from tapegrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BY_VALUE: Final = (bool, int, float, complex, str, bytes, type(None), type)
# Of an optimizer: its inputs and what they are.
MOVING: Final = frozenset({"lr", "parameters", "state", "_groups_of", "_layout"})


class Survey:
    """All that the arguments of a step hold, each once, under the first path that leads to it.

    Attributes:
        states: Parameters and buffers, by identity.
        optimizers: Their memory and their step sizes are inputs too.
        groups: The groups of optimizers.
        objects: Modules, optimizers, and whatever else is no more than its attributes.
        generators: They seed what the step draws.
        tensors: Tensors that are no parameters.
        fixed: What the program is compiled for: whatever else attributes and containers hold.
        kinds: Each thing on the way, so that two surveys of one kind share a program.
        containers: The lists and dictionaries on the way, those of attributes as well, which tracing must leave as
            they are; for those of a dataclass without one, `Slots`.
        replaced: While it is traced, a container, a place in it, the tensor there, and what stands for it.
    """

    def __init__(self, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.call = sentences.callee(getattr(step, "__qualname__", "jit"))
        self.states: dict[int, tuple[str, State[Any, Any]]] = {}
        self.optimizers: list[Optimizer[Any]] = []
        self.groups: list[Group] = []
        self.objects: list[Any] = []
        self.generators: dict[int, np.random.Generator] = {}
        self.tensors: dict[int, tuple[str, Tensor[Any, Any, Any]]] = {}
        self.fixed: list[tuple[str, Any]] = []
        self.kinds: list[tuple[Any, ...]] = []
        self.containers: list[Any] = []
        self.replaced: list[tuple[Any, Any, Any, Any]] = []
        self.views: list[Any] = []  # live views of what attributes hold
        self.getters: list[tuple[Callable[[Any], Any], Any]] = []
        self._seen: dict[int, str] = {}
        self._inside: list[tuple[Any, str]] = []  # of what is being entered
        owner = getattr(step, "__self__", None)
        arguments = _signature(step).bind(*args, **kwargs).arguments
        for name, value in (arguments if owner is None else {"self": owner, **arguments}).items():
            self._visit(value, name)

    @property
    def key(self) -> tuple[Any, ...]:
        """What two calls must share to run the same program, sizes and devices aside."""
        fixed = tuple(
            (path, type(value), value if type(value) in BY_VALUE else id(value)) for path, value in self.fixed
        )
        return (*self.kinds, *fixed)

    def seen(self) -> Iterator[Any]:
        """Goes over every object that the views and the getters see."""
        for view in self.views:
            yield from view
        for get, holder in self.getters:
            yield from get(holder)

    def _visit(self, value: Any, path: str) -> None:
        waiting = [(value, path)]  # the next one last; not by calls, whose depth Python limits
        while waiting:
            value, path = waiting.pop()
            if id(value) in self._seen and not isinstance(value, BY_VALUE):
                self.kinds.append((path, self._seen[id(value)]))
                continue
            self._seen[id(value)] = path
            self._inside = []
            self._enter(value, path)
            waiting += reversed(self._inside)

    def _enter(self, value: Any, path: str) -> None:
        if isinstance(value, State):
            self.states[id(value)] = path, value
            self.kinds.append((path, type(value), value.frozen))
        elif isinstance(value, Tensor):
            if value.owns_tape:
                raise TapeError(sentences.tape_unwanted(self.call, path))
            self.tensors[id(value)] = path, value
            self.kinds.append((path, Tensor))
        elif isinstance(value, np.random.Generator):
            self.generators[id(value)] = value
            self.kinds.append((path, np.random.Generator))
        elif isinstance(value, np.ndarray) and "." not in path:
            message = f"jit: {path} is an ndarray; tapegrad.tensor makes a tensor of it"
            raise DTypeError(message)
        elif isinstance(value, Optimizer):
            self._optimizer(value, path)
        elif isinstance(value, Group):
            self.groups.append(value)
            self._parts(path, value, {"weight_decay": value.weight_decay, "has_lr": value.lr is not None})
            self.getters.append((_DECAY, value))
        elif isinstance(value, Module):
            self._attributes(value, path)
        elif isinstance(value, list | tuple):
            self._sequence(value, path)
        elif isinstance(value, Memory):
            self.kinds.append((path, repr(value)))  # what a guard remembers stays as it is
        elif isinstance(value, dict | MappingProxyType):
            if isinstance(value, dict):
                self.containers.append(value)
            self.views.append(value.values())
            self._parts(path, value, value)
        elif is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in fields(value)]
            self.getters += [(_alone(attrgetter(name)), value) for name in names]
            self.containers.append(vars(value) if hasattr(value, "__dict__") else Slots(value, names))
            self._parts(path, value, {name: getattr(value, name) for name in names})
        elif _is_its_attributes(value):
            self._attributes(value, path)
        else:
            self.fixed.append((path, value))

    def _optimizer(self, value: Optimizer[Any], path: str) -> None:
        for parameter in value.parameters.values():
            if not parameter.frozen and parameter not in value.state:
                value.state[parameter] = value.start(parameter.data)  # now, so that the second step is as the first
        self.optimizers.append(value)
        self.objects.append(value)
        self._inside += [  # once and for all: nothing changes which they are
            (parameter, f"{path}.parameters.{name}") for name, parameter in value.parameters.items()
        ]
        names = [name for name in vars(value) if name not in MOVING]
        self.containers += [vars(value), value.state]
        self.views.append(value.state.values())
        self.getters.append((itemgetter(*names), vars(value)))
        self._parts(path, value, {name: vars(value)[name] for name in names})
        self.kinds += [
            (path, type(state), tuple(np.ndim(_on_device(part)) for _, part in parts_of(state)))
            for state in value.state.values()
        ]

    def _attributes(self, value: Any, path: str) -> None:
        self.objects.append(value)
        self.containers.append(vars(value))
        self.views.append(vars(value).values())
        self._parts(path, value, vars(value))

    def _sequence(self, value: Any, path: str) -> None:
        if isinstance(value, list):
            self.containers.append(value)
            self.views.append(value)
        self._parts(path, value, {str(place): one for place, one in enumerate(value)})

    def _parts(self, path: str, value: Any, parts: Any) -> None:
        self.kinds.append((path, type(value), tuple(parts)))
        self._inside += [(part, f"{path}.{name}") for name, part in parts.items()]


class Slots:
    """The fields of a dataclass with slots as a container, of a frozen one as well."""

    def __init__(self, value: Any, names: list[str]) -> None:
        self.value = value
        self.names = names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, name: str) -> Any:
        return getattr(self.value, name)

    def __setitem__(self, name: str, part: Any) -> None:
        object.__setattr__(self.value, name, part)


@cache
def _signature(step: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(step)


def parts_of(state: Any) -> list[tuple[str, Any]]:
    """Returns what an optimizer remembers of one parameter, by the name of the field."""
    return [] if state is None else [(field.name, getattr(state, field.name)) for field in fields(state)]


def rebuilt(value: Any, replace: Callable[[Any], Any]) -> Any:
    """Returns an argument with other tensors in the place of its own; what has a place to put them is left as it is."""
    if isinstance(value, Tensor):
        return replace(value)
    if isinstance(value, tuple):
        parts = [rebuilt(one, replace) for one in value]
        if all(map(is_, parts, value)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _is_its_attributes(value: Any) -> bool:
    """Says whether an object holds what its attributes say and no more, as one of a class written in Python does.

    Those of Python's own library are left alone but for the namespaces: a logger leads to all others.
    """
    if isinstance(value, SimpleNamespace | Namespace):
        return True
    kind = type(value)
    is_plain = all(getattr(kind, name) == getattr(_Plain, name) for name in _LAYOUT)
    return is_plain and kind.__module__.partition(".")[0] not in sys.stdlib_module_names


class _Plain:
    """Has attributes, and nothing else."""


def _on_device(part: Any) -> Any:
    return part.array if isinstance(part, OnDevice) else part


def _compared(value: Any) -> Any:
    return value if type(value) in BY_VALUE else id(value)


def _alone(get: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda holder: (get(holder),)


_LAYOUT: Final = ("__basicsize__", "__dictoffset__", "__weakrefoffset__")
_DECAY: Final = _alone(attrgetter("weight_decay"))
