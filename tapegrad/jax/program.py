"""Programs: steps that were traced once and compiled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import starmap
from operator import call
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.autograd.parameter_tape import lost
from tapegrad.errors import TapeError, messages
from tapegrad.generator import substitutions
from tapegrad.jax.access import Access, NotGivenError, watch
from tapegrad.jax.arguments import ArgumentTree, parts_of, rebuilt
from tapegrad.jax.binding import Binding
from tapegrad.jax.draws import Draws, Substitutions
from tapegrad.jax.keys import key_of
from tapegrad.jax.library import exact, jax, jnp
from tapegrad.jax.parts import compiled_in_parts, native, split_off
from tapegrad.jax.quiet import jaxpr_of
from tapegrad.jax.results import ResultTemplate
from tapegrad.jax.row_indices import indexed
from tapegrad.jax.scalars import NumberPlan, Numbers, TracedNumber
from tapegrad.jax.substitutions import as_before, held_before, put_back, put_in
from tapegrad.jax.traced import Traced, UntraceableError
from tapegrad.tensors import Tensor, node, values_of
from tapegrad.transactions import commit_delaying_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from tapegrad.jax.results import ResultBuilder
    from tapegrad.optim import Optimizer

_jaxpr_as_fun: Any = import_module("jax.extend.core").jaxpr_as_fun


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A compiled step.

    Attributes:
        call: Maps the arrays of a binding to those of `changed`, then of `moved`, then of the result.
        changed: The parameters and buffers whose values it changes.
        moved: The optimizer arrays that it changes.
        seeded: The generators from which it draws; the last is that of the innermost `random`.
        numbers: How it uses the numbers that the step is given.
        result: Builds the result from the arrays.
        returns_given: Whether the result contains a tensor or a parameter that the step was given.
        is_lasting: Whether later calls can use it: tracing it has changed nothing that the step reads.
        run: If it is in parts, see `compiled_in_parts`: what `call` does, without other code of Python in between.
    """

    call: Callable[..., Any]
    changed: tuple[int, ...]
    moved: tuple[int, ...]
    seeded: tuple[int, ...]
    numbers: NumberPlan
    result: ResultBuilder
    returns_given: bool
    is_lasting: bool
    run: Callable[[Sequence[Any], list[Any]], Iterable[object]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call of a step: its arguments, what they consist of, and the arrays of that.

    Attributes:
        static: Names of parameters whose numbers are not inputs.
    """

    step: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    static: Collection[str]
    tree: ArgumentTree
    binding: Binding

    @classmethod
    def of(
        cls, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], static: Collection[str]
    ) -> Call:
        """Return a call, with the arrays of its arguments on the device."""
        tree = ArgumentTree(step, args, kwargs, static)
        return cls(step, args, kwargs, static, tree, Binding(tree, args, kwargs))


class SharedError(Exception):
    """Parts of optimizer state that are stored once differ after the step, see `Binding.separate`.

    Attributes:
        places: Where each part is to be stored.
    """

    def __init__(self, places: list[int]) -> None:
        super().__init__()
        self.places = places


class Outcome:
    """The findings of tracing a step; filled while JAX runs it."""

    changed: tuple[int, ...]
    moved: tuple[int, ...]
    seeded: tuple[int, ...]
    numbers: NumberPlan
    result: ResultBuilder
    returns_given: bool


def traced_program(of: Call) -> Program:
    """Run a step once on traced values, and compile its computation."""
    tree, binding = of.tree, of.binding
    structs, first = binding.structs()
    with exact():
        noted, outcome, is_lasting = computation(of, structs)
        carried = [*outcome.changed, *(position + len(binding.states) for position in outcome.moved)]
        unused = [first + at for at in range(len(binding.generators) + 1) if at not in outcome.seeded]
        if tree.numbers and not outcome.numbers.inputs:
            unused.append(first + len(binding.generators) + 1)
        zeros = {at: np.zeros(structs[at].shape, structs[at].dtype) for at in unused}
        structs = [struct for at, struct in enumerate(structs) if at not in zeros]
        given, found = noted.in_avals, noted.out_avals
        alike = [position for at, position in enumerate(carried) if _same_memory(given[position], found[at])]
        result = _after_effects(outcome.result) if noted.effects else outcome.result
        of_outcome = (
            outcome.changed,
            outcome.moved,
            outcome.seeded,
            outcome.numbers,
            result,
            outcome.returns_given,
            is_lasting,
        )
        parts = split_off(noted.jaxpr) if binding.home is None and _is_on_one_cpu(binding) else None
        if parts is not None:
            reused = {at: position for at, position in enumerate(carried) if position in alike}
            run = compiled_in_parts(noted, parts, structs, zeros, reused)
            return Program(partial(_run_now, run), *of_outcome, run)
        count, function = _of_inputs(noted, binding)
        options: dict[str, Any] = {"donate_argnums": tuple(count + position for position in alike)}
        if binding.home is not None:
            rest = [None] * (len(found) - len(carried))
            options["out_shardings"] = [*(structs[position].sharding for position in carried), *rest]

        def given_indices(*arrays: Any) -> Any:
            return _without(partial(function, arrays[:count]), zeros)(*arrays[count:])

        indices = [jax.device_put(np.int32(at), binding.home) for at in range(count)]
        compiled = native(jax.jit(given_indices, **options).lower(*indices, *structs).compile())
    return Program(partial(compiled, *indices) if indices else compiled, *of_outcome)


def _of_inputs(noted: Any, binding: Binding) -> tuple[int, Callable[..., Any]]:
    """Return how many indices a traced step takes, and a function of a list of them and of its inputs."""
    return indexed(noted) if _is_on_one_cpu(binding) else (0, lambda _, *arrays: _jaxpr_as_fun(noted)(*arrays))


def _is_on_one_cpu(binding: Binding) -> bool:
    devices = jax.devices()[:1] if binding.home is None else [*binding.home.device_set]
    return len(devices) == 1 and devices[0].platform == "cpu"


def _run_now(run: Callable[[Sequence[Any], list[Any]], Iterable[object]], *arrays: Any) -> list[Any]:
    outs: list[Any] = []
    commit_delaying_interrupts(run(arrays, outs))
    return outs


def computation(of: Call, structs: list[Any]) -> tuple[Any, Outcome, bool]:
    """Run a step once on traced values.

    Returns:
        Its computation, from the inputs `structs` to what it changes and then the arrays of its result; what it has
        changed; and whether the values that it reads without being given them are unchanged.
    """
    outcome = Outcome()
    noted, is_lasting = _unharmed(lambda: _noted(lambda *arrays: _run(of, arrays, outcome), structs), of)
    return noted, outcome, is_lasting


def _after_effects(build: ResultBuilder) -> ResultBuilder:
    """Return a function that waits until the program has printed, and then builds the result."""

    def built(outs: Sequence[Any], binding: Binding) -> Any:
        jax.effects_barrier()
        return build(outs, binding)

    return built


def _noted(run: Callable[..., Any], structs: list[Any]) -> Any:
    """Trace a step, and return its computation."""
    try:
        return jaxpr_of(run, structs)
    except (UntraceableError, NotGivenError) as error:
        raise TapeError(str(error)).with_traceback(error.__traceback__) from None


def _without(function: Callable[..., Any], unused: dict[int, Any]) -> Callable[..., Any]:
    """Return a function without its unused seed arguments; each would add microseconds per call."""

    def pruned(*arrays: Any) -> Any:
        inputs = list(arrays)
        for position, zeros in unused.items():
            inputs.insert(position, zeros)
        return function(*inputs)

    return pruned


def _same_memory(given: Any, found: Any) -> bool:
    return (given.shape, given.dtype) == (found.shape, found.dtype)


def _unharmed(note: Callable[[], Any], of: Call) -> tuple[Any, bool]:
    """Trace a step, restore everything it changed, and reject a step that sets attributes that cannot be carried.

    An interrupt at any point either comes after the restoring or restores again.

    Returns:
        The traced computation, and whether the values that the step reads without being given them are unchanged.
    """
    tree = of.tree
    states_before, fixed = as_before(tree, of.binding), dict(tree.fixed)
    held = [one for container in tree.containers for one in held_before(container)]
    drawn = [source.bit_generator.state for source in tree.generators]
    try:
        noted = note()
        commit_delaying_interrupts(starmap(call, states_before))
        put_back(tree)
        after = ArgumentTree(of.step, of.args, of.kwargs, of.static)
        _reject_changes(fixed, dict(after.fixed))
        _reject_kinds(tree, after)
        _reject_tensors(tree, after)
        _reject_draws(tree, drawn)
        commit_delaying_interrupts(starmap(call, held))
    except BaseException:
        commit_delaying_interrupts(starmap(call, states_before), starmap(call, held))
        raise
    return noted, after.captured == tree.captured


def _reject_tensors(before: ArgumentTree, after: ArgumentTree) -> None:
    known = {path: tensor for tensor, path in after.tensors.items()}
    for tensor, path in before.tensors.items():
        if known[path] is not tensor:
            message = f"jit: the step sets {path}, a tensor, which happens but once; a Buffer is carried"
            raise TapeError(message)


def _reject_kinds(before: ArgumentTree, after: ArgumentTree) -> None:
    if after.kinds != before.kinds:
        message = "jit: the step changes what an object or a container holds, which happens but once"
        raise TapeError(message)


def _reject_draws(tree: ArgumentTree, before: list[Any]) -> None:
    for source, state in zip(tree.generators, before, strict=True):
        if repr(source.bit_generator.state) != repr(state):
            source.bit_generator.state = state
            message = "jit: the step draws from a generator by its own methods, which happens but once; give it as rng="
            raise TapeError(message)


def _reject_changes(before: dict[str, Any], after: dict[str, Any]) -> None:
    for path in filter(after.__contains__, before):
        value, other = before[path], after[path]
        if key_of(other) != key_of(value):
            message = (
                f"jit: the step sets {path} from {value!r} to {other!r}, which happens but once; a Buffer is carried"
            )
            raise TapeError(message)


def _run(of: Call, arrays: tuple[Any, ...], outcome: Outcome) -> list[Any]:
    """Run a step on traced values, note what it has changed, and return the changed arrays and those of its result."""
    tree, binding = of.tree, of.binding

    def carries(state: Any) -> bool:
        return state in tree.states

    inputs = iter(arrays)

    def taken(things: Sequence[Any]) -> list[Traced]:
        return [Traced(next(inputs), carries) for _ in things]

    states, cells, rates = taken(binding.states), taken(binding.cells), taken(binding.numbers)
    draws = [Draws(seed) for seed in taken([*binding.generators, None])]
    packed = taken([None])[0] if tree.numbers else None
    nodes: dict[Tensor[Any, Any, Any], Any] = {
        tensor: lost(node(value), messages.OUTSIDE_STEP) if tensor.tape.holds else node(value)
        for tensor, value in zip(binding.tensors, taken(binding.tensors), strict=True)
    }

    def replaced(x: Any) -> Any:
        return nodes.get(x, x)

    for state, value in zip(binding.states, states, strict=True):
        state.data = value
    _trace_states(tree.optimizers, [cells[position] for position in binding.places])
    for holder, rate in zip(binding.numbers, rates, strict=True):
        holder.lr = rate
    numbers = Numbers([value for _, value in tree.numbers], packed)
    traced_numbers = {position: TracedNumber(numbers, at) for at, (position, _) in enumerate(tree.numbers)}
    by_generator = dict(zip(binding.generators, draws, strict=False))
    access = Access(tree)
    is_on_one_device = binding.home is None or len(binding.home.device_set) == 1
    substitutions.set(Substitutions(by_generator, draws[-1], access, is_on_one_device=is_on_one_device))
    watch()
    put_in(tree, replaced)

    def given(position: int | str, value: Any) -> Any:
        return traced_numbers[position] if position in traced_numbers else rebuilt(value, replaced)

    named = {name: given(name, value) for name, value in of.kwargs.items()}
    result = of.step(*map(given, range(len(of.args)), of.args), **named)

    access.finish()
    if any(holder.lr is not rate for holder, rate in zip(binding.numbers, rates, strict=True)):
        message = "jit: the step sets lr, which happens but once; set it between the steps"
        raise TapeError(message)
    values = [values_of(state) for state in binding.states]
    outcome.changed = tuple(at for at, (new, old) in enumerate(zip(values, states, strict=True)) if new is not old)
    parts = [part for opt in tree.optimizers for state in opt.state.values() for _, part in parts_of(state)]
    if len(parts) != len(binding.places):
        message = "jit: the step changes for which parameters an optimizer has a state"
        raise TapeError(message)
    places = _places(binding.places, parts)
    if len({*places}) > len(cells):
        raise SharedError(places)
    now = dict(zip(places, parts, strict=True))
    outcome.moved = tuple(at for at, old in enumerate(cells) if now[at] is not old)
    outcome.seeded = tuple(at for at, one in enumerate(draws) if one.is_used)
    outs = [*(values[at] for at in outcome.changed), *(now[at] for at in outcome.moved)]
    template = ResultTemplate(tree, binding, nodes, outs)
    outcome.result = template.builder(result)
    outcome.returns_given = template.returns_given
    outcome.numbers = numbers.plan()
    return [_copied(out.array, arrays) if isinstance(out, Traced) else jnp.asarray(out) for out in outs]


def _places(before: Sequence[int], parts: Sequence[Any]) -> list[int]:
    """Return where each part of optimizer state is stored after a step: parts that are stored once may differ now."""
    found: dict[int, list[tuple[Any, int]]] = {}
    count = 1 + max(before, default=-1)
    places = []
    for place, part in zip(before, parts, strict=True):
        known = found.setdefault(place, [])
        same = next((at for one, at in known if one is part), None)
        if same is None:
            same, count = (count, count + 1) if known else (place, count)
            known.append((part, same))
        places.append(same)
    return places


def _copied(array: Any, arrays: Sequence[Any]) -> Any:
    """Return a copy of an array that is an input: donating the input must not donate the result."""
    return jnp.copy(array) if any(array is one for one in arrays) else array


def _trace_states(optimizers: list[Optimizer[Any]], cells: list[Traced]) -> None:
    """Replace the states of optimizers by traced values."""
    rest = iter(cells)
    for opt in optimizers:
        for parameter, state in opt.state.items():
            if parts_of(state):
                opt.state[parameter] = replace(state, **{name: next(rest) for name, _ in parts_of(state)})
