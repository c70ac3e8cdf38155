"""While a step is traced, other values stand in the place of what its arguments hold; afterwards all is as before."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tapegrad.generator import stand_in
from tapegrad.jax.arguments import Slots, rebuilt
from tapegrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.jax.arguments import Survey
    from tapegrad.jax.binding import Binding
    from tapegrad.nn.param import State


def as_before(survey: Survey, binding: Binding) -> list[tuple[Any, ...]]:
    """Returns calls, of functions that are not written in Python, that put back whatever traced values stand for."""
    calls: list[tuple[Any, ...]] = [(stand_in.set, stand_in.get())]
    for state in binding.states:
        calls += _values_before(state)
        calls += [(setattr, state, "version", state.version), (setattr, state, "on_device", state.on_device)]
    for opt in survey.optimizers:
        calls += held_before(opt.state)
    return calls + [(setattr, holder, "lr", holder.lr) for holder in binding.numbers]


def _values_before(state: State[Any, Any]) -> list[tuple[Any, ...]]:
    slots: Any = vars(Tensor)["data"]
    try:
        return [(setattr, state, "data", slots.__get__(state))]
    except AttributeError:  # they are on the device only
        return [(setattr, state, "data", None), (delattr, state, "data")]


def held_before(container: Any) -> list[tuple[Any, ...]]:
    """Returns calls that put back what a container holds now, as those of `as_before` do."""
    if isinstance(container, Slots):
        return [(object.__setattr__, container.value, name, container[name]) for name in container]
    put = container.extend if isinstance(container, list) else container.update
    return [(container.clear,), (put, container.copy())]


def put_in(survey: Survey, replace: Callable[[Any], Any]) -> None:
    """Puts what stands for tensors in their place, wherever attributes, lists and dictionaries hold them."""
    for container in survey.containers:
        places = range(len(container)) if isinstance(container, list) else list(container)
        for place in places:
            before = container[place]
            there = rebuilt(before, replace)
            if there is not before:
                container[place] = there
                survey.replaced.append((container, place, before, there))


def put_back(survey: Survey) -> None:
    """Puts the tensors back, save where the step has put something else."""
    for container, place, before, there in survey.replaced:
        with suppress(LookupError):  # the place itself is gone
            if container[place] is there:
                container[place] = before
    survey.replaced.clear()
