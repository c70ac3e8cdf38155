"""Modules, tensors and optimizers as pytrees of JAX, for `jax.tree`, and for libraries that save or inspect such trees.

The leaves are the arrays; the rest of an object is its structure, which two objects share if they are alike in all that
a step under `jit` would be compiled for.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import numpy as np
from typing_extensions import override

from tapegrad.autograd.identity import Same
from tapegrad.autograd.tape import NONE
from tapegrad.errors import DTypeError, TapeError, messages
from tapegrad.errors.tracebacks import trim_on_exit
from tapegrad.jax.arguments import ArgumentTree, parts_of
from tapegrad.jax.device_tensor import DeviceTensor, DeviceTensorWithTape
from tapegrad.jax.library import exact, jax, jnp
from tapegrad.jax.objects import Slots
from tapegrad.nn import Module
from tapegrad.nn.param import State
from tapegrad.optim import Group, Optimizer
from tapegrad.optim.optimizer import OnDevice
from tapegrad.optim.packing import Layout
from tapegrad.quantized import Quantized
from tapegrad.tensors import Tensor, as_compute_dtype
from tapegrad.tensors.subclasses import for_each_subclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Leaves = tuple[tuple[tuple[Any, Any], ...], "Structure"]


def register() -> None:
    """Make pytrees of all modules, tensors and optimizers, also of classes that are defined later."""
    for_each_subclass(Tensor, lambda kind: _register(kind, _tensor_leaves))
    for_each_subclass(Module, lambda kind: _register(kind, _module_leaves))
    for_each_subclass(Optimizer, lambda kind: _register(kind, _optimizer_leaves))


def _register(kind: type, leaves: Callable[[Any], Leaves]) -> None:
    def without_paths(value: Any) -> tuple[tuple[Any, ...], Structure]:
        found, structure = leaves(value)
        return tuple(array for _, array in found), structure

    jax.tree_util.register_pytree_with_keys(kind, leaves, _rebuilt, without_paths)


class Structure:
    """What an object is without its arrays.

    Args:
        key: Equal for objects of one structure.
        rebuild: Returns an object of this structure with other arrays.
    """

    def __init__(self, key: Any, rebuild: Callable[[Sequence[Any]], Any]) -> None:
        self.key = key
        self.rebuild = rebuild

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and bool(self.key == other.key)

    @override
    def __hash__(self) -> int:
        return hash(self.key)

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self.key[0].__name__}"


def _rebuilt(structure: Structure, arrays: Iterable[Any]) -> Any:
    return structure.rebuild([*arrays])


def _named(paths: Iterable[str], arrays: Iterable[Any]) -> tuple[tuple[Any, Any], ...]:
    return tuple((jax.tree_util.GetAttrKey(path), array) for path, array in zip(paths, arrays, strict=True))


# Tensors


class _Hole(NamedTuple):
    """A tensor without its arrays: its class, and its other attributes."""

    kind: Any
    slots: dict[str, Any]
    attributes: dict[str, Any]
    names: tuple[str, ...]  # of its arrays: the empty name, except of a quantized tensor

    @property
    def key(self) -> tuple[Any, ...]:
        """What tensors of one structure share."""
        steps = self.slots.get("node")
        return (self.kind, self.slots.get("frozen"), *((steps.zero, steps.scheme) if steps else ()))

    def filled(self, arrays: list[Any]) -> Any:
        """Return a tensor with the next of the arrays, which are removed from the list; they may be any objects."""
        if "node" in self.slots:
            values, scale = (np.asarray(one) if _is_on_device(one) else one for one in (arrays.pop(0), arrays.pop(0)))
            slots = self.slots | {"node": replace(self.slots["node"], values=values, scale=scale)}
        else:
            slots = self.slots | self._slots_of(arrays.pop(0))
        kind = DeviceTensor if self.kind is Tensor and "node" in slots else self.kind
        tensor = object.__new__(kind)
        filling: Any = Slots(tensor)
        for name, value in slots.items():
            filling[name] = value
        if self.attributes:
            vars(tensor).update(self.attributes)
        return tensor

    def _slots_of(self, array: Any) -> dict[str, Any]:
        if not isinstance(array, jax.Array):
            return {"data": as_compute_dtype(array) if isinstance(array, np.ndarray) else array}
        if not issubclass(self.kind, State):
            return {"node": array if _is_on_device(array) else InTransformation(array)}
        return {"on_device": _copied(array) if _is_on_device(array) else InTransformation(array)}


class InTransformation:
    """The values of a tensor inside `jax.jit`, `jax.grad` and the like: they have a shape and a dtype, and no numbers.

    Attributes:
        array: The traced array of JAX.
    """

    __slots__ = ("array", "dtype", "ndim", "shape", "size")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.dtype, self.ndim, self.size = array.shape, array.dtype, array.ndim, array.size

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TapeError(messages.in_transformation())

    def __getattr__(self, name: str) -> NoReturn:
        """Reject everything that needs the numbers, or their device."""
        raise AttributeError(name) if name.startswith("__") else TapeError(messages.in_transformation())


def _hole(x: Any) -> _Hole:
    attributes = dict(getattr(x, "__dict__", {}))
    if isinstance(x, Quantized):
        empty: dict[str, Any] = {"values": None, "scale": None}
        slots = {"tape": NONE, "node": replace(x.steps, **empty)}
        slots |= {"version": 0, "on_device": None, "placement": None} if isinstance(x, State) else {}
        return _Hole(type(x), slots, attributes, (".values", ".scale"))
    if not isinstance(x, State):
        return _Hole(Tensor, {"tape": NONE}, attributes, ("",))
    held = Slots(x)
    # Tracing a step leaves the slot of the values in the class a second time, as `State.data`.
    slots = {name: held[name] for name in held if name.rpartition(".")[2] not in _OF_VALUES}
    return _Hole(type(x), slots | {"version": 0, "on_device": None}, attributes, ("",))


def _arrays_of(x: Any) -> list[Any]:
    """Return the array of a tensor, on a device if it is there."""
    if isinstance(x, Quantized):
        return [x.steps.values, x.steps.scale]
    if isinstance(x, DeviceTensorWithTape):
        x = x.node
    array = x.node if isinstance(x, DeviceTensor) else x.on_device if isinstance(x, State) else None
    if array is not None:
        return [array.array if isinstance(array, InTransformation) else array]
    data = x.data
    return [x.numpy() if isinstance(data, np.ndarray) else data]


def _tensor_leaves(x: Tensor[Any, Any, Any]) -> Leaves:
    if x.owns_tape:
        with trim_on_exit:
            raise TapeError(messages.tape_unwanted("jax.tree", "a tensor"))
    hole = _hole(x)
    names = [f"data{name}" for name in hole.names]
    return _named(names, _arrays_of(x)), Structure(hole.key, lambda arrays: hole.filled([*arrays]))


# Modules


def _module_leaves(module: Module) -> Leaves:
    tree = ArgumentTree(_given, (module,), {})
    tensors = [*tree.states.items(), *tree.tensors.items()]
    holes = [_hole(x) for x, _ in tensors]
    paths = [
        path.partition(".")[2] + name for (_, path), hole in zip(tensors, holes, strict=True) for name in hole.names
    ]
    arrays = [array for x, _ in tensors for array in _arrays_of(x)]
    shared = [(one, one) for one in tree.generators]
    try:
        empty = _copied_with(module, [*zip((x for x, _ in tensors), holes, strict=True), *shared])
    except TypeError as error:  # from an attribute such as a lock or a file
        message = f"jax.tree: {type(module).__name__} has an attribute that cannot be copied: {error}"
        with trim_on_exit:
            raise DTypeError(message) from None

    def rebuild(arrays: Sequence[Any]) -> Any:
        rest = [*arrays]
        return _copied_with(empty, [*((hole, hole.filled(rest)) for hole in holes), *shared])

    return _named(paths, arrays), Structure((type(module), tree.key, *(one.key for one in holes)), rebuild)


def _copied_with(value: Any, pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Return a deep copy in which the second object of each pair takes the place of the first.

    The memo of `copy.deepcopy` is a dictionary by id. The pairs hold the objects while it is read.
    """
    return copy.deepcopy(value, {id(one): other for one, other in pairs})


def _given(tree: Any) -> Any:
    return tree


# Optimizers


def _optimizer_leaves(opt: Optimizer[Any]) -> Leaves:
    holders: list[tuple[str, Any]] = [
        ("", opt),
        *((f"groups.{pattern}.", one) for pattern, one in opt.groups.items() if one.lr is not None),
    ]
    states = {path: started(opt, parameter) for path, parameter in opt.parameters.items()}
    parts = [(f"{path}.{name}", part) for path, state in states.items() for name, part in parts_of(state)]
    arrays = [*(holder.lr for _, holder in holders)]
    arrays += [_array_of(part) for _, part in parts]
    options = {name: value for name, value in vars(opt).items() if name not in _OF_OPTIMIZER}
    groups = {pattern: Group(one.lr, one.weight_decay) for pattern, one in opt.groups.items()}
    parameters, groups_of = dict(opt.parameters), {x: list(held) for x, held in opt._groups_of.items()}
    pattern_of = {Same(one): pattern for pattern, one in opt.groups.items()}
    kinds = {path: (type(state), [name for name, _ in parts_of(state)]) for path, state in states.items()}

    def rebuild(arrays: Sequence[Any]) -> Any:
        rest = iter(arrays)
        fresh = object.__new__(type(opt))
        copies = {pattern: Group(one.lr, one.weight_decay) for pattern, one in groups.items()}
        vars(fresh).update(options, parameters=parameters, groups=copies, _layout=Layout(), state={})
        fresh.lr = _rate(next(rest))
        for group in copies.values():
            group.lr = None if group.lr is None else _rate(next(rest))
        fresh._groups_of = {x: [copies[pattern_of[Same(one)]] for one in held] for x, held in groups_of.items()}
        for path, (kind, names) in kinds.items():
            if names:
                fresh.state[parameters[path]] = kind(**{name: _part(next(rest)) for name in names})
            elif kind is not type(None):
                fresh.state[parameters[path]] = kind()
        return fresh

    tree = ArgumentTree(_given, (options,), {})
    decays = tuple((pattern, one.lr is None, one.weight_decay) for pattern, one in groups.items())
    layout = tuple((path, kind, *names) for path, (kind, names) in kinds.items())
    key = (type(opt), tree.key, decays, layout)
    paths = [*(f"{prefix}lr" for prefix, _ in holders), *(path for path, _ in parts)]
    return _named(paths, arrays), Structure(key, rebuild)


def started(opt: Optimizer[Any], parameter: Any) -> Any:
    """Return the state of a parameter, or the one that its first step would start with."""
    return opt.state[parameter] if parameter in opt.state else opt.start(parameter.data)


def _rate(value: Any) -> Any:
    return float(value) if isinstance(value, np.ndarray | np.generic) or _is_on_device(value) else value


def _array_of(part: Any) -> Any:
    """Return an array of optimizer state; of a step count a copy, because parameters may share it."""
    if not isinstance(part, OnDevice):
        return part
    return part.array if part.array.ndim or not _is_on_device(part.array) else _copied(part.array)


def _part(array: Any) -> Any:
    if not isinstance(array, jax.Array):
        return array
    return OnDevice(_copied(array) if _is_on_device(array) else array)


def _copied(array: Any) -> Any:
    """Return a copy, because a step donates the memory of what it changes."""
    with exact():
        return jnp.copy(array)


def _is_on_device(value: Any) -> bool:
    """Return whether a value is an array of JAX with numbers, and none that is being traced."""
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)


_OF_VALUES: Final = frozenset({"data", "node", "on_device", "version", "__weakref__"})
_OF_OPTIMIZER: Final = frozenset({"lr", "parameters", "state", "groups", "_groups_of", "_layout"})
