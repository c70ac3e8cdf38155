"""The arguments and captured variables of a step: the arrays that it computes with, and what its program depends on."""

from __future__ import annotations

import inspect
from array import array
from collections import deque
from dataclasses import fields
from functools import lru_cache, partial
from operator import is_
from types import BuiltinMethodType, CellType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tapegrad.autograd.identity import Same
from tapegrad.errors import DTypeError, TapeError, messages
from tapegrad.guard._memory import StoredSizes
from tapegrad.jax.captured import Captured, contents_of, module_of
from tapegrad.jax.keys import content_of, counts_by_value, key_of
from tapegrad.jax.objects import Slots, has_python_layout, is_its_attributes, slots_of
from tapegrad.jax.reads import is_of_a_library
from tapegrad.jax.scalars import is_input
from tapegrad.nn import Module
from tapegrad.nn.param import State
from tapegrad.optim import Group, Optimizer
from tapegrad.optim.optimizer import OnDevice
from tapegrad.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

# Of an optimizer: the attributes that are inputs, and those that are derived from them.
MOVING: Final = frozenset({"lr", "parameters", "state", "_groups_of", "_layout"})


class ArgumentTree:
    """The leaves of a step's arguments and of the variables that it reads, each once, under the first path to it.

    Attributes:
        states: Parameters and buffers, with their paths.
        optimizers: Their states and learning rates are inputs too.
        groups: The groups of optimizers.
        objects: Modules, optimizers, and other objects that consist of their attributes alone.
        generators: They seed the random numbers of the step.
        tensors: Tensors that are not parameters, with their paths.
        numbers: Which arguments are numbers, and their values: inputs, unless the step reads the values.
        number_paths: Their paths.
        fixed: What the program is compiled for: all other content of attributes and containers.
        kinds: The key of each object that was visited, so that two trees with equal keys share a program.
        captured: The same for what the step reads without being given it, values included.
        unknown: Parameters, buffers and optimizers among that, by identity, with their paths.
        containers: The lists and dictionaries that were visited, including those of attributes, which tracing must not
            change; for attributes in slots, `Slots`.
        replaced: During tracing, a container, a key or index in it, the tensor there, and its replacement.
    """

    def __init__(
        self, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], static: Collection[str] = ()
    ) -> None:
        self.call = messages.callee(getattr(step, "__qualname__", "jit"))
        self.states: dict[State[Any, Any], str] = {}
        self.optimizers: list[Optimizer[Any]] = []
        self.groups: list[Group] = []
        self.objects: list[Any] = []
        self.generators: dict[np.random.Generator, None] = {}  # in the order of their seeds
        self.tensors: dict[Tensor[Any, Any, Any], str] = {}
        self.numbers: list[tuple[int | str, Any]] = []
        self.number_paths: list[str] = []
        self.fixed: list[tuple[str, Any]] = []
        self.kinds: list[tuple[Any, ...]] = []
        self.captured: list[tuple[Any, ...]] = []
        self.unknown: dict[int, tuple[str, Any]] = {}
        self.containers: list[Any] = []
        self.replaced: list[tuple[Any, Any, Any, Any]] = []
        self.watched: list[Any] = []  # containers whose content may be replaced
        self.items: list[tuple[dict[str, Any], Sequence[str]]] = []  # also replaceable: parts of a container,
        self.attributes: list[tuple[Any, Sequence[str]]] = []  # attributes in slots,
        self.getters: list[tuple[Callable[[Any], Any], Any]] = []  # what a function returns,
        self.arrays: list[Any] = []  # and the content of arrays
        self.repeated: list[Any] = []  # what was found under another path before
        self.read_containers: list[Any] = []  # lists, tuples and dictionaries that are read without being given
        self.reads = Captured(lambda value, path: self._visit(value, path, is_given=False))
        self._seen: dict[int, tuple[str, Any]] = {}
        self._inside: list[tuple[Any, str, bool]] = []  # the parts of the object that is being visited
        self._is_given = True  # whether that object is an argument
        self._later: list[tuple[Any, str]] | None = []  # contents of arguments in which no tensor can be replaced
        owner = getattr(step, "__self__", None)
        if owner is not None and not isinstance(owner, ModuleType):
            self._visit(owner, "self", is_given=True)
        for place, path, value, name in _arguments_of(step, args, kwargs):
            if is_input(value) and name not in static:
                self.numbers.append((place, value))
                self.number_paths.append(path)
                self.kinds.append((path, type(value), "number"))
            else:
                self._visit(value, path, is_given=True)
        later, self._later = self._later, None
        for value, path in [*later, (getattr(step, "__func__", step), self.call)]:
            self._visit(value, path, is_given=False)
        self.reads.read()
        if "type" in self.reads.variables:  # a `TracedNumber` supports `isinstance`, but not `type`
            self.fixed += [(str(place), value) for place, value in self.numbers]
            self.numbers.clear()
            self.number_paths.clear()

    @property
    def key(self) -> tuple[Any, ...]:
        """What two calls must share to run the same program, apart from sizes, devices and numbers."""
        return (*self.kinds, *((path, key_of(value)) for path, value in self.fixed), *self.captured)

    def _visit(self, value: Any, path: str, *, is_given: bool) -> None:
        waiting = [(value, path, is_given)]  # the next one last; a stack, because Python limits the depth of calls
        while waiting:
            value, path, self._is_given = waiting.pop()
            if counts_by_value(value):
                self._hold(value, path)
                continue
            if id(value) in self._seen and (self._is_given or not _is_constant(value)):
                self._note(path, self._seen[id(value)][0])
                self.repeated.append(value)
                continue
            self._seen.setdefault(id(value), (path, value))  # held, so that its address is not reused
            self._inside = []
            self._enter(value, path)
            for one in reversed(self._inside):
                if one[2] or self._later is None:
                    waiting.append(one)
                else:
                    self._later.append(one[:2])

    def _enter(self, value: Any, path: str) -> None:
        if isinstance(value, State):
            self._state(value, path)
        elif isinstance(value, Tensor):
            self._tensor(value, path)
        elif isinstance(value, np.random.Generator):
            self._note(path, type(value))
            if self._is_given:
                self.generators[value] = None
        elif isinstance(value, np.ndarray):
            self._array(value, path)
        elif isinstance(value, Optimizer):
            self._optimizer(value, path)
        elif isinstance(value, Group):
            self._group(value, path)
        elif isinstance(value, StoredSizes):
            self._note(path, repr(value))  # the cache of a guard does not count as state
        elif isinstance(value, dict | MappingProxyType):
            self.read_containers += [value] * (not self._is_given)
            self._mapping(value, path)
        elif isinstance(value, list | tuple | deque):
            self.read_containers += [value] * (not self._is_given)
            self._sequence(value, path)
        elif isinstance(value, set | frozenset):
            self.watched.append(value)
            self._parts(path, value, dict(enumerate(value)))
            self._attributes(value, path)
        elif isinstance(value, FunctionType):
            self._function(value, path)
        elif isinstance(value, type):
            self._hold(value, path)
            self.reads.add_class(value, is_called=True)
        elif isinstance(value, Module) or is_its_attributes(value):
            if self._is_given:
                self.objects.append(value)
            self._attributes(value, path)
        else:
            self._other(value, path)

    def _state(self, value: State[Any, Any], path: str) -> None:
        if self._is_given:
            self.states[value] = path
            self.attributes.append((value, ("frozen",)))
            self._note(path, type(value), value.frozen)
        elif value not in self.states:
            self.unknown[id(value)] = path, value
            self._note(path, type(value), value.frozen, *layout_of(value))

    def _tensor(self, value: Tensor[Any, Any, Any], path: str) -> None:
        if not self._is_given:
            if value.tape.holds and not value.owns_tape:
                raise TapeError(messages.outside_step(self.call, path))
            self._note(path, Same(value))
            return
        if value.owns_tape:
            raise TapeError(messages.tape_unwanted(self.call, path))
        self.tensors[value] = path
        self._note(path, Tensor, value.tape.holds)

    def _array(self, value: np.ndarray[Any, Any], path: str) -> None:
        if self._is_given and "." not in path:
            message = f"jit: {path} is an ndarray; tapegrad.tensor makes a tensor of it"
            raise DTypeError(message)
        if value.dtype.hasobject:
            self.getters.append((_elements_of, value))
            self._parts(path, value, dict(enumerate(_elements_of(value))), is_given=False)
        else:
            self._block(value, path)
        self._attributes(value, path)

    def _optimizer(self, value: Optimizer[Any], path: str) -> None:
        self.reads.add_class(type(value), is_called=False)
        if self._is_given:
            for parameter in value.parameters.values():
                if not parameter.frozen and parameter not in value.state:
                    value.state[parameter] = value.start(parameter.data)  # now, to make the second step like the first
            self.optimizers.append(value)
            self.objects.append(value)
            self.containers += [vars(value), value.state]
            self.watched.append(value.state)
        else:
            self.unknown[id(value)] = path, value
        self._inside += [  # only once, because they never change
            (parameter, f"{path}.parameters.{name}", self._is_given) for name, parameter in value.parameters.items()
        ]
        names = [name for name in vars(value) if name not in MOVING or (name == "lr" and not self._is_given)]
        self.items.append((vars(value), names))
        self._parts(path, value, {name: vars(value)[name] for name in names})
        if self._is_given:
            self.kinds += [
                (path, type(state), tuple(np.ndim(_on_device(part)) for _, part in parts_of(state)))
                for state in value.state.values()
            ]

    def _group(self, value: Group, path: str) -> None:
        rate: dict[str, Any] = {"has_lr": value.lr is not None} if self._is_given else {"lr": value.lr}
        if self._is_given:
            self.groups.append(value)
        self._parts(path, value, {"weight_decay": value.weight_decay, **rate})
        self.attributes.append((value, ["weight_decay"] if self._is_given else ["lr", "weight_decay"]))

    def _mapping(self, value: Any, path: str) -> None:
        if isinstance(value, dict) and self._is_given:
            self.containers.append(value)
        self.watched.append(value)
        self._note(path, tuple(map(key_of, value)))
        names = [name if isinstance(name, str) else place for place, name in enumerate(value)]
        self._parts(path, value, dict(zip(names, value.values(), strict=True)))
        self._attributes(value, path)

    def _sequence(self, value: Any, path: str) -> None:
        if not isinstance(value, tuple):
            self.containers += [value] * self._is_given
            self.watched.append(value)
        self._parts(path, value, dict(enumerate(value)))
        self._attributes(value, path)

    def _function(self, value: FunctionType, path: str) -> None:
        if is_of_a_library(module_of(value)):
            self._note(path, Same(value))
            if inner := vars(value).get("__wrapped__"):
                self._inside.append((inner, path, False))
        else:
            self._note(path, Same(value.__code__), Same(value.__globals__))
            self.attributes.append((value, ["__code__", "__defaults__", "__kwdefaults__"]))
            self.reads.add_function(value)

    def _attributes(self, value: Any, path: str) -> None:
        """Visit the attributes of an object; of a container those besides its elements."""
        kind: Any = type(value)
        if kind in _WITHOUT_ATTRIBUTES:
            return
        self.reads.add_class(kind, is_called=False)
        self.attributes.append((value, ["__class__"]))
        held = getattr(value, "__dict__", None)
        if type(held) is dict:
            self.containers += [held] * self._is_given
            self.watched.append(held)
            self._parts(path, value, held)
        if has_python_layout(kind) and slots_of(kind):
            slots = Slots(value)
            self.containers += [slots] * self._is_given
            self.getters.append((Slots.values, slots))
            self._parts(path, value, {name: slots[name] for name in slots})

    def _other(self, value: Any, path: str) -> None:
        """Visit an object of a class written in C, or of the standard library; compare it by identity if necessary."""
        names = next((names for kind, names in _PARTS_OF.items() if isinstance(value, kind)), ())
        if isinstance(value, BuiltinMethodType) and isinstance(value.__self__, ModuleType | type | None):
            self._hold(value, path)  # a function, not a method
        elif names:
            self._parts(path, value, {name: getattr(value, name) for name in names})
        elif isinstance(value, CellType):
            self.getters.append((_alone(contents_of), value))
            self._parts(path, value, {"cell_contents": contents_of(value)}, is_given=False)
        elif isinstance(value, bytearray | array | memoryview):
            self._block(value, path)
        elif (base := next((base for base in _PLAIN_VALUE if isinstance(value, base)), None)) is not None:
            self._note(path, type(value), key_of(_PLAIN_VALUE[base](value)))
            self._attributes(value, path)
        else:
            self._hold(value, path)
            inner = getattr(value, "__dict__", {}).get("__wrapped__")  # of a function with cached results
            self._inside += [(inner, path, False)] * (inner is not None)

    def _block(self, value: Any, path: str) -> None:
        self.arrays.append(value)
        self._note(path, type(value), *content_of(value))

    def _parts(self, path: str, value: Any, parts: Any, *, is_given: bool = True) -> None:
        self._note(path, type(value), tuple(parts))
        is_given = is_given and self._is_given
        self._inside += [(part, f"{path}.{name}", is_given) for name, part in parts.items()]

    def _hold(self, value: Any, path: str) -> None:
        if self._is_given:
            self.fixed.append((path, value))
        else:
            self.captured.append((path, key_of(value)))

    def _note(self, path: str, *key: Any) -> None:
        (self.kinds if self._is_given else self.captured).append((path, *key))


class Argument(NamedTuple):
    """An argument of a call: its position, the path that it begins, its value, and the name of its parameter."""

    place: int | str
    path: str
    value: Any
    parameter: str


def _arguments_of(step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Argument]:
    """Yield the arguments of a call, in the order of the parameters.

    Raises:
        TypeError: The call does not match the signature.
    """
    signature = _signature(step)
    place = 0
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            yield from (Argument(key, f"{name}.{key}", one, name) for key, one in value.items())
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            yield from (Argument(place + at, f"{name}.{at}", one, name) for at, one in enumerate(value))
        elif name in kwargs and kind is not inspect.Parameter.POSITIONAL_ONLY:
            yield Argument(name, name, value, name)
        else:
            yield Argument(place, name, value, name)
            place += 1


@lru_cache(maxsize=4096)
def _signature(step: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(step)


def parts_of(state: Any) -> list[tuple[str, Any]]:
    """Return the state of an optimizer for one parameter, by the name of the field."""
    return [] if state is None else [(field.name, getattr(state, field.name)) for field in fields(state)]


def layout_of(state: State[Any, Any]) -> tuple[Any, Any]:
    """Return the shape and the dtype of a parameter or a buffer, without copying it from a device."""
    values = state.data if state.on_device is None else state.on_device
    return values.shape, values.dtype


def rebuilt(value: Any, replace: Callable[[Any], Any]) -> Any:
    """Return an argument with its tensors replaced; lists, dictionaries and objects are returned unchanged."""
    if isinstance(value, Tensor):
        return replace(value)
    if isinstance(value, tuple):
        parts = [rebuilt(one, replace) for one in value]
        if all(map(is_, parts, value)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, set | frozenset):
        parts = [rebuilt(one, replace) for one in value]
        return value if all(map(is_, parts, value)) else type(value)(parts)
    if isinstance(value, partial):
        function, args = rebuilt((value.func, value.args), replace)
        return value if args is value.args else partial(function, *args, **value.keywords)
    if isinstance(value, MethodType) and isinstance(value.__self__, Tensor):
        return MethodType(value.__func__, replace(value.__self__))
    return value


def _is_constant(value: Any) -> bool:
    """Return whether a value that a step reads without being given it is a constant of the program."""
    return isinstance(value, Tensor) and not isinstance(value, State)


def _elements_of(value: np.ndarray[Any, Any]) -> list[Any]:
    return [*value.flat]


def _on_device(part: Any) -> Any:
    return part.array if isinstance(part, OnDevice) else part


def _alone(get: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda holder: (get(holder),)


_PARTS_OF: Final[dict[type, tuple[str, ...]]] = {
    partial: ("func", "args", "keywords"),
    MethodType: ("__func__", "__self__"),
    BuiltinMethodType: ("__name__", "__self__"),
}
_WITHOUT_ATTRIBUTES: Final = frozenset({dict, list, tuple, set, frozenset, deque, MappingProxyType, np.ndarray})
# The plain value of an instance of a subclass, without the additions of the subclass.
_PLAIN_VALUE: Final[dict[type, Callable[[Any], Any]]] = {
    int: int.__pos__,
    float: float.__pos__,
    complex: complex.__pos__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
}
