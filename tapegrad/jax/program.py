"""Programs: what a step computes, traced once and compiled."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import import_module
from itertools import starmap
from operator import call
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad import sentences
from tapegrad.errors import TapeError
from tapegrad.generator import stand_in
from tapegrad.gradients import Gradients
from tapegrad.jax.arguments import Slots, Survey, parts_of, rebuilt
from tapegrad.jax.draws import NO_SEED, Draws, StandIns
from tapegrad.jax.landed import Landed, LandedWithTape
from tapegrad.jax.library import exact, jax, jnp
from tapegrad.jax.moment import at_once
from tapegrad.jax.traced import Traced, UntraceableError
from tapegrad.nn import Module
from tapegrad.optim import Group, Optimizer
from tapegrad.tensor import Tensor, handle, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.jax.binding import Binding
    from tapegrad.nn.param import State

    Maker = Callable[[Sequence[Any], Binding], Any]

_jaxpr_as_fun: Any = import_module("jax.extend.core").jaxpr_as_fun


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled step.

    Attributes:
        call: From the arrays of a binding to those of `changed`, then of `moved`, then of the result.
        changed: Which parameters and buffers have other values afterwards.
        moved: Which arrays of optimizers do.
        seeded: Which generators it draws from; the last is that of the innermost `random`.
        result: Makes the result of the arrays.
    """

    call: Callable[..., Any]
    changed: tuple[int, ...]
    moved: tuple[int, ...]
    seeded: tuple[int, ...]
    result: Maker


class _Outcome:
    """What tracing a step has found: filled while JAX runs it."""

    changed: tuple[int, ...]
    moved: tuple[int, ...]
    seeded: tuple[int, ...]
    result: Maker


def traced_program(
    step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], survey: Survey, binding: Binding
) -> Program:
    """Runs a step once, on what stands for its arrays, and compiles what it has computed."""
    outcome = _Outcome()
    structs, first = binding.structs()
    with exact():
        noted = _unharmed(
            lambda: _noted(lambda *arrays: _run(step, args, kwargs, survey, binding, arrays, outcome), structs),
            lambda: Survey(step, args, kwargs),
            survey,
            binding,
        )
        carried = [*outcome.changed, *(place + len(binding.states) for place in outcome.moved)]
        unseeded = [first + at for at in range(len(binding.generators) + 1) if at not in outcome.seeded]
        structs = [struct for at, struct in enumerate(structs) if at not in unseeded]
        given, found = noted.in_avals, noted.out_avals
        alike = [place for at, place in enumerate(carried) if _same_memory(given[place], found[at])]
        options: dict[str, Any] = {"donate_argnums": tuple(alike)}
        if binding.home is not None:
            rest = [None] * (len(found) - len(carried))
            options["out_shardings"] = [*(structs[place].sharding for place in carried), *rest]
        compiled = jax.jit(_without(_jaxpr_as_fun(noted), unseeded), **options).lower(*structs).compile()
    return Program(compiled, outcome.changed, outcome.moved, outcome.seeded, outcome.result)


class _StoppedError(Exception):
    """The step has raised an error."""


def _noted(run: Callable[..., Any], structs: list[Any]) -> Any:
    """Returns what a function computes; its errors are its own, for JAX would add to them."""
    raised: list[Exception] = []

    def guarded(*arrays: Any) -> Any:
        try:
            return run(*arrays)
        except Exception as error:  # noqa: BLE001  # raised again as it is
            raised.append(error)
            raise _StoppedError from None

    try:
        return jax.make_jaxpr(guarded)(*structs)
    except _StoppedError:
        pass
    try:
        error = raised.pop()
        public = TapeError(str(error)) if isinstance(error, UntraceableError) else error
        raise public.with_traceback(error.__traceback__) from None
    finally:
        del error, public  # a frame that holds its own error is a cycle


def _without(function: Callable[..., Any], unused: list[int]) -> Callable[..., Any]:
    """Returns a function that is not given the seeds which it does not use: each would cost a call microseconds."""

    def pruned(*arrays: Any) -> Any:
        inputs = list(arrays)
        for place in unused:
            inputs.insert(place, NO_SEED)
        return function(*inputs)

    return pruned


def _same_memory(given: Any, found: Any) -> bool:
    return (given.shape, given.dtype) == (found.shape, found.dtype)


def _unharmed(note: Callable[[], Any], again: Callable[[], Survey], survey: Survey, binding: Binding) -> Any:
    """Notes a step, leaves everything as it was, and refuses a step that sets attributes to what cannot be carried.

    Wherever an interrupt comes in, it is behind this or puts back once more.
    """
    standing, fixed = _as_before(survey, binding), dict(survey.fixed)
    held = [one for container in survey.containers for one in _held_before(container)]
    try:
        noted = note()
        at_once(starmap(call, standing))
        _put_back(survey)
        after = again()
        _refuse_changes(fixed, dict(after.fixed))
        _refuse_kinds(survey, after)
        _refuse_tensors(survey, after)
        at_once(starmap(call, held))
    except BaseException:
        at_once(starmap(call, standing), starmap(call, held))
        raise
    return noted


def _as_before(survey: Survey, binding: Binding) -> list[tuple[Any, ...]]:
    """Returns calls of no function that Python is in which put back all in whose place traced values stand."""
    calls: list[tuple[Any, ...]] = [(stand_in.set, stand_in.get())]
    for state in binding.states:
        calls += _values_before(state)
        calls += [(setattr, state, "version", state.version), (setattr, state, "on_device", state.on_device)]
    for opt in survey.optimizers:
        calls += _held_before(opt.state)
    return calls + [(setattr, holder, "lr", holder.lr) for holder in binding.numbers]


def _values_before(state: State[Any, Any]) -> list[tuple[Any, ...]]:
    slots: Any = vars(Tensor)["data"]
    try:
        return [(setattr, state, "data", slots.__get__(state))]
    except AttributeError:  # they are on the device only
        return [(setattr, state, "data", None), (delattr, state, "data")]


def _held_before(container: Any) -> list[tuple[Any, ...]]:
    if isinstance(container, Slots):
        return [(object.__setattr__, container.value, name, container[name]) for name in container]
    put = container.extend if isinstance(container, list) else container.update
    return [(container.clear,), (put, container.copy())]


def _put_in(survey: Survey, replace: Callable[[Any], Any]) -> None:
    """Puts what stands for tensors in their place, wherever attributes, lists and dictionaries hold them."""
    for container in survey.containers:
        places = range(len(container)) if isinstance(container, list) else list(container)
        for place in places:
            before = container[place]
            there = rebuilt(before, replace)
            if there is not before:
                container[place] = there
                survey.replaced.append((container, place, before, there))


def _put_back(survey: Survey) -> None:
    """Puts the tensors back, save where the step has put something else."""
    for container, place, before, there in survey.replaced:
        with suppress(LookupError):  # the place itself is gone
            if container[place] is there:
                container[place] = before
    survey.replaced.clear()


def _refuse_tensors(before: Survey, after: Survey) -> None:
    known = dict(after.tensors.values())
    for path, tensor in before.tensors.values():
        if known[path] is not tensor:
            message = f"jit: the step sets {path}, a tensor, which happens but once; a Buffer is carried"
            raise TapeError(message)


def _refuse_kinds(before: Survey, after: Survey) -> None:
    if after.kinds != before.kinds:
        message = "jit: the step changes what an object or a container holds, which happens but once"
        raise TapeError(message)


def _refuse_changes(before: dict[str, Any], after: dict[str, Any]) -> None:
    for path in filter(after.__contains__, before):
        value, other = before[path], after[path]
        if other is not value and (type(other) is not type(value) or other != value):
            message = (
                f"jit: the step sets {path} from {value!r} to {other!r}, which happens but once; a Buffer is carried"
            )
            raise TapeError(message)


def _run(
    step: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    survey: Survey,
    binding: Binding,
    arrays: tuple[Any, ...],
    outcome: _Outcome,
) -> list[Any]:
    """Runs a step on traced values, notes what it has changed, and returns the arrays of that and of its result."""

    def carries(state: object) -> bool:
        return id(state) in survey.states

    inputs = iter(arrays)

    def taken(things: Sequence[Any]) -> list[Traced]:
        return [Traced(next(inputs), carries) for _ in things]

    states, cells, rates = taken(binding.states), taken(binding.cells), taken(binding.numbers)
    draws = [Draws(seed) for seed in taken([*binding.generators, None])]
    handles: dict[int, Any] = {
        id(tensor): handle(value) for tensor, value in zip(binding.tensors, taken(binding.tensors), strict=True)
    }

    def replaced(x: Any) -> Any:
        return handles.get(id(x), x)

    for state, value in zip(binding.states, states, strict=True):
        state.data = value
    _remember(survey.optimizers, cells)
    for holder, rate in zip(binding.numbers, rates, strict=True):
        holder.lr = rate
    by_generator = {id(source): one for source, one in zip(binding.generators, draws, strict=False)}
    stand_in.set(StandIns(by_generator, draws[-1]))
    _put_in(survey, replaced)

    result = step(*rebuilt(args, replaced), **{name: rebuilt(value, replaced) for name, value in kwargs.items()})

    if any(holder.lr is not rate for holder, rate in zip(binding.numbers, rates, strict=True)):
        message = "jit: the step sets lr, which happens but once; set it between the steps"
        raise TapeError(message)
    values = [values_of(state) for state in binding.states]
    outcome.changed = tuple(at for at, (new, old) in enumerate(zip(values, states, strict=True)) if new is not old)
    parts = [part for opt in survey.optimizers for state in opt.state.values() for _, part in parts_of(state)]
    if len(parts) != len(cells):
        message = "jit: the step changes for which parameters an optimizer remembers something"
        raise TapeError(message)
    outcome.moved = tuple(at for at, (new, old) in enumerate(zip(parts, cells, strict=True)) if new is not old)
    outcome.seeded = tuple(at for at, one in enumerate(draws) if one.is_used)
    outs = [*(values[at] for at in outcome.changed), *(parts[at] for at in outcome.moved)]
    keeper = _Keeper(survey, binding, handles, outs)
    outcome.result = keeper.maker(result)
    return [_copied(out.array, arrays) if isinstance(out, Traced) else jnp.asarray(out) for out in outs]


def _copied(array: Any, arrays: Sequence[Any]) -> Any:
    """Returns an array of its own for what is an input: whoever gives that away must not give away the result."""
    return jnp.copy(array) if any(array is one for one in arrays) else array


def _remember(optimizers: list[Optimizer[Any]], cells: list[Traced]) -> None:
    """Lets traced values stand for what optimizers remember."""
    rest = iter(cells)
    for opt in optimizers:
        for parameter, state in opt.state.items():
            if parts_of(state):
                opt.state[parameter] = replace(state, **{name: next(rest) for name, _ in parts_of(state)})


class _Keeper:
    """Notes which arrays a result is made of, and makes it of them at each call."""

    def __init__(self, survey: Survey, binding: Binding, handles: dict[int, Any], outs: list[Any]) -> None:
        self.states = {id(state): place for place, state in enumerate(binding.states)}
        self.given = {id(given): place for place, given in enumerate(handles.values())}
        self.survey = survey
        self.outs = outs

    def maker(self, result: Any) -> Maker:
        """Returns what makes a result like this one of the arrays of a call."""
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
            message = "jit: the step returns a raw value; tapegrad.handle makes a tensor of it"
            raise TapeError(message)
        place = next((at for at, one in enumerate(self.survey.objects) if one is result), None)
        return (lambda *_: result) if place is None else lambda _, binding: binding.survey.objects[place]

    def _tensor(self, x: Tensor[Any, Any, Any]) -> Maker:
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
            return lambda outs, _: Landed.of(outs[out])
        if x.tape.tape.consumed_at is None:
            raise TapeError(sentences.tape_unwanted("jit", "the result") + ": detach it")
        taped, tape = self._kept(values_of(x)), x.tape
        return lambda outs, _: LandedWithTape.of(outs[taped], tape)

    def _gradients(self, grads: Gradients) -> Maker:
        found: list[tuple[Maker, int]] = []
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
