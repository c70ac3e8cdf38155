"""The arguments of a call, bound to the program compiled for their kind; this determines the overhead of a call."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, repeat, starmap
from operator import add, attrgetter, is_, setitem
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from tapegrad.autograd.identity import Same
from tapegrad.autograd.tape import NONE
from tapegrad.generator import generator
from tapegrad.jax.arguments import parts_of
from tapegrad.jax.device_tensor import DeviceTensor
from tapegrad.jax.direct import direct
from tapegrad.jax.draws import NO_SEED, seeds_of
from tapegrad.jax.library import exact, jax, jnp
from tapegrad.jax.scalars import MOST_INPUTS
from tapegrad.jax.unchanged import unchanged
from tapegrad.nn.param import State, fetched
from tapegrad.optim.optimizer import OnDevice
from tapegrad.optim.packing import Layout
from tapegrad.tensors import Tensor
from tapegrad.tensors.nodes import Deferred, Frozen
from tapegrad.transactions import commit, commit_delaying_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from tapegrad.jax.arguments import ArgumentTree
    from tapegrad.jax.program import Program

MISS: Final = object()
_running = RLock()  # from reading the arguments until the changes are stored
_END: Final = object()


class Binding:
    """Objects that a program computes with, and their arrays on the device.

    Attributes:
        states: Parameters and buffers.
        cells: The states of optimizers, array by array; a step count that many parameters share is one of them.
        places: The index in `cells` of each part of the state of each parameter.
        numbers: Optimizers and groups, whose learning rate is an input.
        generators: The sources of the seeds of the program, in the order of its inputs.
        tensors: All other tensors of the call.
        given: The arguments that are numbers.
        values: These, and the numbers that the program has computed from them.
        names: Of the arguments that are passed by name.
        home: The default device for arrays that were not placed explicitly; None for JAX's default.
        call: A function of the binding and of arguments that does what `run_with` does, as fast as possible.
    """

    program: Program
    call: Callable[[Binding, tuple[Any, ...]], Any]
    latest: ClassVar[int] = 0  # number of bindings so far

    def __init__(self, tree: ArgumentTree, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.states: list[State[Any, Any]] = [*tree.states]
        self.cells, self.places, changes = _cells(tree)
        self.numbers: list[Any] = [*tree.optimizers, *(group for group in tree.groups if group.lr is not None)]
        self.generators = [*tree.generators]
        self.tensors: list[Any] = [*tree.tensors]
        self.tree = tree
        self.home = _home([*map(_placement_of, self.states), *map(sharding_of, map(_array_of, self.tensors))])

        for state in self.states:
            if state.on_device is None or not self._is_home(state.on_device):
                values = state.data if state.on_device is None else state.on_device
                state.on_device = self._uploaded(values, self._if_home(state.placement))
        for cell, beside in self._with_parameters(tree):
            if not isinstance(cell.array, jax.Array) or not self._is_home(cell.array):
                cell.array = self._uploaded(cell.array, beside)
            elif beside is not None and cell.array.sharding != beside:  # the parameter was placed again
                cell.array = jax.device_put(cell.array, beside)
        commit(changes)  # an interrupt before leaves the state in host memory
        self._rates = [holder.lr for holder in self.numbers]
        self._rates_there = [self._uploaded(float(rate)) for rate in self._rates]
        self._there = [self._tensor_there(tensor) for tensor in self.tensors]
        self.given = [value for _, value in tree.numbers]
        self._packed: Any = None  # the numbers that are inputs, packed as the program takes them
        self._arguments(args, kwargs)

    def layout(self) -> tuple[Any, ...]:
        """Return what a program is compiled for: shapes, dtypes, and, on several devices, the sharding."""
        return (
            *self.places,
            *(
                (array.shape, array.dtype, array.weak_type, None if self.home is None else array.sharding)
                for array in self.carried()
            ),
        )

    def separate(self, places: Sequence[int]) -> None:
        """Store optimizer state so that parts with different numbers share no array.

        Args:
            places: A number for each part; those with the same number have shared an array so far.
        """
        cells: dict[int, OnDevice] = {}
        rest = iter(places)
        for opt in self.tree.optimizers:
            for parameter, state in opt.state.items():
                parts = dict(parts_of(state))
                for name, part in parts.items():
                    place = next(rest)
                    if place not in cells:
                        is_shared = any(one is part for one in cells.values())
                        cells[place] = OnDevice(self._uploaded(part.array)) if is_shared else part
                    parts[name] = cells[place]
                if any(parts[name] is not part for name, part in parts_of(state)):
                    opt.state[parameter] = replace(state, **parts)
        self.cells, self.places, _ = _cells(self.tree)  # all of it is on the device

    def carried(self) -> list[Any]:
        """Return every input of the program except the seeds, which come between the numbers and the tensors."""
        return [*self._held(), *self._rates_there, *self._there]

    @property
    def arrays_of_tensors(self) -> list[Any]:
        """The arrays of `tensors` on the device."""
        return [*self._there]

    def structs(self) -> tuple[list[Any], int]:
        """Return the shape, dtype and placement of each input, and the index of the first seed.

        After the seeds comes the array of the packed numbers, if there are any.
        """
        seed = jax.ShapeDtypeStruct(NO_SEED.shape, NO_SEED.dtype, sharding=self.home)
        found = [
            jax.ShapeDtypeStruct(
                array.shape,
                array.dtype,
                weak_type=array.weak_type,
                sharding=None if self.home is None else array.sharding,
            )
            for array in self.carried()
        ]
        first = len(found) - len(self.tensors)
        seeds = [seed] * (len(self.generators) + 1)
        packed = [jax.ShapeDtypeStruct((2 * MOST_INPUTS,), np.uint32, sharding=self.home)] if self.given else []
        return [*found[:first], *seeds, *packed, *found[first:]], first

    def take(self, program: Program) -> None:
        """Bind the objects to a program."""
        self.program = program
        self._execute, self._result = program.call, program.result
        self._changed = [self.states[position] for position in program.changed]
        self._moved = [self.cells[position] for position in program.moved]
        self._is_unchanged = unchanged(self.tree, self._others, self._containers)
        self._has_packed = bool(program.numbers.inputs)
        self._has_tensors_alone = not (self.states or self.numbers or program.seeded or self._has_packed)
        values = program.numbers.values(self.given)
        self._kinds = [*map(type, self.given)]
        self._hold_numbers(self.given, [] if values is None else values)
        Binding.latest += 1
        self._checked = 0
        for opt in self.tree.optimizers:
            opt._layout = Layout()  # releases the references to the old arrays of the parameters
        self._pairs = [*zip(self.tensors, self._there, strict=True)]
        self.call = Binding.run_with  # no bound method: a cycle would keep old parameters in memory
        is_direct = self._has_tensors_alone and not (self._number_positions or self._lists or self._count < 0)
        if is_direct and not program.returns_given:
            takes_new = self.home is None
            self.call = direct(
                program, self._pairs, self._positions, self._count, self._is_unchanged, takes_new=takes_new
            )

    def run_with(self, args: tuple[Any, ...]) -> Any:
        """Run the program, store what it has changed, and return its result.

        Returns:
            `MISS` instead, with nothing done, unless the call has the same objects, unchanged except for the values of
            tensors, and as many tensors; and numbers that the program is valid for. Arguments by name come last.
        """
        with _running:
            return self._run_with(args)

    def run(self) -> Any:
        """Run the program with its current tensors, store what it has changed, and return its result."""
        with _running:
            return self._run()

    def _run_with(self, args: tuple[Any, ...]) -> Any:
        if len(args) != self._count or (self._lists and (args := self._with_elements(args)) is None):
            return MISS
        tensors, has_others = self.tensors, False
        for leaf, position in self._positions:
            if args[position] is not tensors[leaf]:
                if not self._fits(leaf, args[position]):
                    return MISS
                has_others = True
        if has_others and not self._are_distinct(args):
            return MISS
        try:
            if not self._is_unchanged(args):
                return MISS
        except (AttributeError, KeyError, RuntimeError, ValueError):  # an object is gone, or another thread changes it
            return MISS
        if self._number_positions and not self._numbers([args[position] for position in self._number_positions]):
            return MISS
        for leaf, position in self._positions if has_others else ():
            if args[position] is not tensors[leaf]:
                self._take_tensor(leaf, args[position])
        return self._run()

    def _run(self) -> Any:
        if self._has_tensors_alone:
            outs = self._execute(*self._there)
        elif self.states:
            outs = self._carried_over()
        else:
            arrays, draws = self._inputs()
            commit(draws)
            outs = self._execute(*arrays)
        return self._result(outs, self)

    def _carried_over(self) -> list[Any]:
        """Run the program and store its results without interruption, because JAX reuses the old memory."""
        outs: list[Any] = []
        arrays, draws = self._inputs()
        changed, moved, in_parts = self._changed, self._moved, self.program.run
        commit_delaying_interrupts(
            draws,
            map(outs.extend, starmap(self._execute, [arrays])) if in_parts is None else in_parts(arrays, outs),
            map(setattr, changed, _TO_ON_DEVICE, outs),
            map(setattr, changed, _TO_VERSION, map(add, map(_VERSION, changed), _ONE)),
            map(setattr, moved, _TO_ARRAY, islice(outs, len(changed), None)) if moved else (),
            map(delattr, self._here(), _TO_DATA) if fetched or self._checked != Binding.latest else (),
        )
        if fetched:
            fetched[:] = [one for one in fetched if (state := one()) is not None and has_data(state)]
        self._checked = Binding.latest
        return outs

    def _here(self) -> list[State[Any, Any]]:
        """Return the states that the program changes and that have values in host memory, which become outdated."""
        is_new = self._checked != Binding.latest  # another one may have uploaded some, which leaves their values here
        known = {reference() for reference in fetched}
        return [state for state in self._changed if (is_new or state in known) and has_data(state)]

    def _inputs(self) -> tuple[list[Any], Iterable[object]]:
        """Return every array that the program takes, and the iterator that draws the seeds among them."""
        arrays = [*map(_ON_DEVICE, self.states)]
        if self.cells:
            arrays += map(_ARRAY, self.cells)
        for position, holder in enumerate(self.numbers):
            if holder.lr is not self._rates[position]:
                self._rates[position] = _END  # after an interrupt it is uploaded again
                self._rates_there[position] = self._uploaded(float(holder.lr))
                self._rates[position] = holder.lr
        arrays += self._rates_there
        draws: Iterable[object] = ()
        if self.program.seeded:
            if any(array is None for array in arrays):
                raise TypeError  # before a seed is drawn
            first, count = len(arrays), len(self.program.seeded)
            arrays += [None] * count
            draws = map(arrays.__setitem__, range(first, first + count), self._drawn())
        if self._has_packed:
            arrays.append(self._packed)
        arrays += self._there
        return arrays, draws

    def _with_elements(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return arguments and then the elements of those that are lists of tensors; None if these lists do not fit."""
        elements: list[Any] = []
        for position, kind, size in self._lists:
            value = args[position]
            if type(value) is not kind or ([*value] if kind is dict else len(value)) != size:
                return None
            if any(value is one for one in self._read):
                return None
            elements += _elements_of(value)
        return (*args, *elements)

    def _are_distinct(self, args: tuple[Any, ...]) -> bool:
        """Return whether no tensor would be given twice, for which a step may be another program."""
        tensors = [*self.tensors]
        for leaf, position in self._positions:
            tensors[leaf] = args[position]
        return len({*tensors}) == len(tensors)  # a tensor is hashed by identity

    def _fits(self, leaf: int, tensor: Any) -> bool:
        """Return whether another tensor can replace one: it has no tape, and the same shape and dtype."""
        if type(tensor) not in _PLAIN or tensor.tape is not NONE:
            return False
        before, now = self._there[leaf], tensor.node if type(tensor) is DeviceTensor else tensor.data
        return bool(now.shape == before.shape and now.dtype == before.dtype)

    def _take_tensor(self, leaf: int, tensor: Any) -> None:
        """Replace a tensor by another one."""
        array = self._tensor_there(tensor)
        self.tensors[leaf] = _END  # after an interrupt no tensor is paired with the values of another
        self._there[leaf] = array
        self.tensors[leaf] = tensor
        self._pairs[leaf] = tensor, array

    def _held(self) -> list[Any]:
        return [*(state.on_device for state in self.states), *(cell.array for cell in self.cells)]

    def _drawn(self) -> Iterator[Any]:
        sources = [*self.generators, None]
        seeds = seeds_of([generator(sources[position]) for position in self.program.seeded])
        return seeds if self.home is None else map(jax.device_put, seeds, repeat(self.home))

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Sort the arguments of a call into tensors, numbers, and the rest.

        Another tensor may replace one that is an argument, or an element of a list, a tuple or a dictionary that is,
        and that the step has in no other way. All other tensors must be the same in each call.
        """
        values = [*args, *kwargs.values()]
        self.names = tuple(kwargs)
        at: dict[int | str, int] = {name: len(args) + position for position, name in enumerate(kwargs)}
        self._number_positions = [
            at[position] if isinstance(position, str) else position for position, _ in self.tree.numbers
        ]
        leaves = {tensor: leaf for leaf, tensor in enumerate(self.tensors)}
        for repeated in self.tree.repeated:
            if isinstance(repeated, Tensor):
                leaves.pop(repeated, None)
        lists = [(position, value) for position, value in enumerate(values) if self._is_of_tensors(value, leaves)]
        self._lists = [(at, type(value), [*value] if type(value) is dict else len(value)) for at, value in lists]
        self._containers = [value for _, value in lists]
        self._read = [
            value for value in self.tree.read_containers if any(isinstance(x, Tensor) for x in _elements_of(value))
        ]
        elements = [one for value in self._containers for one in _elements_of(value)]
        self._positions = [
            (leaves[value], position)
            for position, value in enumerate([*values, *elements])
            if isinstance(value, Tensor) and value in leaves
        ]
        known = [position for _, position in self._positions] + [position for position, _ in lists]
        rest = {*range(len(values))} - {*known, *self._number_positions}
        self._others = [(position, values[position]) for position in sorted(rest)]
        self._count = len(values) if all(type(tensor) in _PLAIN for tensor in self.tensors) else -1

    def _is_of_tensors(self, value: Any, leaves: Collection[Any]) -> bool:
        """Return whether an argument is a list, a tuple or a dictionary whose elements other tensors may replace."""
        if type(value) not in _REPLACEABLE or not value or any(value is one for one in self.tree.repeated):
            return False
        is_named = type(value) is not dict or all(type(key) is str for key in value)
        return is_named and all(isinstance(one, Tensor) and one in leaves for one in _elements_of(value))

    def _numbers(self, given: list[Any]) -> bool:
        """Store new numbers; return whether the program is valid for them."""
        if all(map(is_, given, self.given)):
            if type(self._packed) is np.ndarray and self._has_packed:
                self._packed = jax.device_put(self._packed)  # upload them, because they seem to be constant
            return True
        values = self.program.numbers.values(given) if [*map(type, given)] == self._kinds else None
        if values is None:
            return False
        self._hold_numbers(given, values)
        return True

    def _hold_numbers(self, given: list[Any], values: list[Any]) -> None:
        self.given = [_END] * len(given)  # after an interrupt they are packed again
        self.values = values
        self._packed = self.program.numbers.packed(values)
        if self.home is not None and self._has_packed:
            self._packed = jax.device_put(self._packed, self.home)
        self.given = given

    def _is_home(self, array: Any) -> bool:
        return self.home is None or array.sharding.device_set == self.home.device_set

    def _if_home(self, sharding: Any) -> Any:
        """Return a sharding if it is over the devices of this call, else None."""
        if self.home is None or sharding is None or sharding.device_set != self.home.device_set:
            return None
        return sharding

    def _tensor_there(self, tensor: Tensor[Any, Any, Any]) -> Any:
        array = _array_of(tensor)
        if array is not None and self._is_home(array):
            return array
        with exact():
            return jax.device_put(tensor.data if array is None else array, self.home)

    def _uploaded(self, value: Any, sharding: Any = None) -> Any:
        """Return a copy on the device, because its memory is donated; a Python number becomes weakly typed."""
        with exact():
            array = jnp.asarray(value) if isinstance(value, int | float) else jnp.array(value, copy=True)
            return array if self.home is None else jax.device_put(array, sharding or self.home)

    def _with_parameters(self, tree: ArgumentTree) -> Iterator[tuple[OnDevice, Any]]:
        """Place the state of an optimizer with the shape of its parameter on the device of the parameter."""
        cells = iter([self.cells[place] for place in self.places])
        for opt in tree.optimizers:
            for parameter, state in opt.state.items():
                for _ in parts_of(state):
                    cell = next(cells)
                    is_alike = np.shape(cell.array) == parameter.on_device.shape
                    yield cell, self._if_home(parameter.on_device.sharding) if is_alike else None


def _cells(tree: ArgumentTree) -> tuple[list[OnDevice], list[int], Iterator[None]]:
    """Collect all states of optimizers for the device; equal step counts of what is updated together are stored once.

    Returns:
        The arrays, the index among them of each part of the state of each parameter, and the changes that let the
        optimizers hold these arrays, to be committed when all are on the device.
    """
    found: dict[OnDevice, int] = {}  # by identity
    places: list[int] = []
    changes: list[tuple[Any, Any, Any]] = []
    for opt in tree.optimizers:
        counts: dict[Any, OnDevice] = {}
        for parameter, state in opt.state.items():
            parts = dict(parts_of(state))
            for name, part in parts.items():
                if type(part) is int and hasattr(opt.update, "is_elementwise"):
                    # As in `Optimizer._packed`.
                    alike = (name, part, parameter.dtype, *map(Same, opt._groups_of[parameter]))
                    parts[name] = counts.setdefault(alike, OnDevice(part))
                elif not isinstance(part, OnDevice):
                    parts[name] = OnDevice(part)
            if any(parts[name] is not part for name, part in parts_of(state)):
                changes.append((opt.state, parameter, replace(state, **parts)))
            places += [found.setdefault(part, len(found)) for part in parts.values()]
    return [*found], places, starmap(setitem, changes)


def _home(shardings: list[Any]) -> Any:
    """Return the default device for arrays that were not placed explicitly, given where the others lie."""
    placed = [sharding for sharding in shardings if sharding is not None]
    several = next((one for one in placed if len(one.device_set) > 1), None)
    if several is None:  # a mesh of one device divides axes too, which numbers do not have
        return jax.sharding.SingleDeviceSharding(*placed[0].device_set) if placed else None
    return jax.sharding.NamedSharding(several.mesh, jax.sharding.PartitionSpec())


def _elements_of(value: Any) -> Iterable[Any]:
    """Return the elements of a list, a tuple or a dictionary."""
    return value.values() if type(value) is dict else value


def _placement_of(state: State[Any, Any]) -> Any:
    """Return where a parameter lies, or was placed before it was assigned; None if it was not placed explicitly."""
    return state.placement if state.on_device is None else sharding_of(state.on_device)


def sharding_of(array: Any) -> Any:
    """Return where an array lies; None if it was not placed explicitly."""
    return array.sharding if array is not None and array.committed else None


def _array_of(tensor: Tensor[Any, Any, Any]) -> Any:
    return tensor.node if isinstance(tensor, DeviceTensor) else None


def has_data(state: State[Any, Any]) -> bool:
    """Return whether a parameter or a buffer has its values in host memory."""
    try:
        _DATA.__get__(state)
    except AttributeError:
        return False
    return True


_TO_ON_DEVICE, _TO_VERSION, _TO_ARRAY, _TO_DATA = map(repeat, ("on_device", "version", "array", "data"))
_ONE: Final = repeat(1)
_ARRAY: Final = attrgetter("array")
_ON_DEVICE: Final = attrgetter("on_device")
_VERSION: Final = attrgetter("version")
_PLAIN: Final = frozenset({Tensor, Deferred, DeviceTensor, Frozen})
_REPLACEABLE: Final = (list, tuple, dict)
_DATA: Any = vars(Tensor)["data"]  # the slot itself, because `__getattr__` would fetch a missing attribute
