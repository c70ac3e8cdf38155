"""Replacement of the contents of a step's arguments by traced values, and their restoration after tracing."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tapegrad.generator import substitutions
from tapegrad.jax.access import unwatch
from tapegrad.jax.arguments import rebuilt
from tapegrad.jax.objects import UNSET, Slots
from tapegrad.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.jax.arguments import ArgumentTree
    from tapegrad.jax.binding import Binding
    from tapegrad.nn.param import State


def as_before(tree: ArgumentTree, binding: Binding) -> list[tuple[Any, ...]]:
    """Return calls of functions that are not written in Python, that restore the values replaced by traced ones."""
    calls: list[tuple[Any, ...]] = [*unwatch(), (substitutions.set, substitutions.get())]
    for state in binding.states:
        calls += _values_before(state)
        calls += [(setattr, state, "version", state.version), (setattr, state, "on_device", state.on_device)]
    for opt in tree.optimizers:
        calls += held_before(opt.state)
    return calls + [(setattr, holder, "lr", holder.lr) for holder in binding.numbers]


def _values_before(state: State[Any, Any]) -> list[tuple[Any, ...]]:
    slots: Any = vars(Tensor)["data"]
    try:
        return [(setattr, state, "data", slots.__get__(state))]
    except AttributeError:  # they are only on the device
        return [(setattr, state, "data", None), (delattr, state, "data")]


def held_before(container: Any) -> list[tuple[Any, ...]]:
    """Return calls that restore the current content of a container, like those of `as_before`."""
    if isinstance(container, Slots):
        return [
            call
            for member, held in zip(container.members.values(), container.values(), strict=True)
            for call in _slot_before(member, container.value, held)
        ]
    put = container.extend if isinstance(container, list | deque) else container.update
    return [(container.clear,), (put, container.copy())]


def _slot_before(member: Any, value: Any, held: Any) -> list[tuple[Any, ...]]:
    if held is UNSET:
        return [(member.__set__, value, None), (member.__delete__, value)]
    return [(member.__set__, value, held)]


def put_in(tree: ArgumentTree, replace: Callable[[Any], Any]) -> None:
    """Replace tensors in attributes, lists and dictionaries."""
    for container in tree.containers:
        keys = range(len(container)) if isinstance(container, list | deque) else list(container)
        for key in keys:
            before = container[key]
            there = rebuilt(before, replace)
            if there is not before:
                container[key] = there
                tree.replaced.append((container, key, before, there))


def put_back(tree: ArgumentTree) -> None:
    """Restore the tensors, except where the step has assigned another value."""
    for container, key, before, there in tree.replaced:
        with suppress(LookupError):  # the key or index is gone
            if container[key] is there:
                container[key] = before
    tree.replaced.clear()
