"""Elementwise updates of many parameters at once: small ones lie end to end in one array."""

from __future__ import annotations

import functools
from dataclasses import fields, replace
from itertools import accumulate, repeat, starmap
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from tapegrad.backend import engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tapegrad.nn import Param

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Update: TypeAlias = "Callable[[Any, Any, Any], tuple[Any, Any]]"
Kind: TypeAlias = "tuple[Any, ...] | None"
F = TypeVar("F", bound="Callable[..., Any]")

# Bytes up to which a parameter lies beside others: above, what an update costs is its numbers, not beginning it.
_SMALL: Final = 32 << 10
# Bytes of a row. Below 128 KiB malloc maps no memory anew for what an update makes on the way, and it stays in cache.
_ROW: Final = 96 << 10


def elementwise(update: F) -> F:
    """Says of an optimizer's `update` that no element depends on another.

    So it may be given many parameters at once, end to end in arrays of rank 1, and instead of large ones values that
    have no numbers yet and write down what it computes. An `update` that overrides it says so for itself, or is given
    each parameter alone.
    """
    vars(update)["is_elementwise"] = True
    return update


def in_one_pass(update: Update, xs: Sequence[Any], dxs: Sequence[Any], states: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Returns what an elementwise update gives of parameters of one kind, going through large arrays once.

    Args:
        update: From values, their gradient and a state to the next values and the next state.
        xs: The values of each parameter.
        dxs: Their gradients.
        states: What is remembered of each.
    """
    first = states[0]
    names = _arrays_of(first)
    new: Any = None

    def written(x: Any, dx: Any, *memory: Any) -> tuple[Any, ...]:
        nonlocal new
        after, new = update(x, dx, _with(first, names, memory))
        return (after, *(getattr(new, name) for name in _arrays_of(new)))

    rows = [(x, dx, *(getattr(state, name) for name in names)) for x, dx, state in zip(xs, dxs, states, strict=True)]
    try:
        found = engine(*xs, *dxs).update(written, rows)
    except Exception:  # noqa: BLE001  # it asks for more than can be written down, or says again what is wrong
        return [*map(update, xs, dxs, states)]
    return [(after, _with(new, _arrays_of(new), memory)) for after, *memory in found]


def _arrays_of(state: Any) -> list[str]:
    return [name for name in names_of(state) if not isinstance(getattr(state, name), int)]


def _with(state: Any, names: Sequence[str], arrays: Sequence[Any]) -> Any:
    """Returns a state with other arrays under some names."""
    return replace(state, **dict(zip(names, arrays, strict=True))) if names else state


class Row(NamedTuple):
    """Parameters of one kind that lie end to end.

    Attributes:
        places: Which parameters of the layout they are.
        parts: Where each lies, and its shape.
        x: Their values.
        state: What is remembered of them.
    """

    places: list[int]
    parts: list[tuple[slice, tuple[int, ...]]]
    x: Any
    state: Any

    def step(self, update: Update, dxs: Sequence[Any]) -> Row | None:
        """Returns the row that an update makes of this one; None if that is nothing to put in its place."""
        before = self.x
        x, state = update(before, _joined([dxs[place] for place in self.places]), self.state)
        return Row(self.places, self.parts, x, state) if x.shape == before.shape and x.dtype is before.dtype else None

    def taken_apart(self) -> Iterable[tuple[int, Any, Any]]:
        """Gives the place of each parameter, its values, and what is remembered of it: views of the row."""
        return zip(self.places, self._views(self.x), self._states(), strict=False)

    def _views(self, array: Array) -> list[Array]:
        return [array[part].reshape(shape) for part, shape in self.parts]

    def _states(self) -> Iterable[Any]:
        columns = [getattr(self.state, name) for name in names_of(self.state)]
        if not columns:
            return repeat(self.state)
        parts = [repeat(one) if isinstance(one, int) else self._views(one) for one in columns]
        return starmap(type(self.state), zip(*parts, strict=False))


class Layout(NamedTuple):
    """How the parameters of a step lie, with their values, and what is remembered of each.

    Attributes:
        large: The places of those that lie in no row, those of one kind together.
        alone: The places of those that are of no kind.
    """

    parameters: Sequence[Param[Any, Any]] = ()
    xs: Sequence[Any] = ()
    states: Sequence[Any] = ()
    rows: Sequence[Row] = ()
    large: Sequence[list[int]] = ()
    alone: Sequence[int] = ()

    def is_of(self, parameters: Sequence[Param[Any, Any]], memory: Mapping[Any, Any]) -> bool:
        """Says whether these very parameters lie so, and nobody has put anything in the place of what they had."""
        return (
            len(parameters) == len(self.parameters)
            and all(map(is_, parameters, self.parameters))
            and all(map(is_, map(_DATA, parameters), self.xs))
            and all(map(is_, map(memory.get, parameters), self.states))
        )


def laid_out(parameters: Sequence[Param[Any, Any]], states: Sequence[Any], kinds: Sequence[Kind]) -> Layout:
    """Puts small parameters of one kind side by side, until a row is full.

    Args:
        parameters: In the order of the step.
        states: What is remembered of each.
        kinds: What those share that are changed together; None for one that is changed alone.
    """
    xs: list[Any] = [parameter.data for parameter in parameters]
    rows: list[list[int]] = []
    large: dict[Kind, list[int]] = {}
    unfilled: dict[Kind, tuple[list[int], int]] = {}
    for place, (x, kind) in enumerate(zip(xs, kinds, strict=True)):
        if kind is not None and x.nbytes > _SMALL:
            large.setdefault(kind, []).append(place)
        elif kind is not None:
            row, filled = unfilled.get(kind, ([], _ROW))
            if filled + x.nbytes > _ROW:
                row, filled = [], 0
                rows.append(row)
            row.append(place)
            unfilled[kind] = row, filled + x.nbytes
    alone = [place for place, kind in enumerate(kinds) if kind is None]
    return Layout(parameters, xs, states, [_row(places, xs, states) for places in rows], [*large.values()], alone)


def kind_of(x: Any, state: Any) -> Kind:
    """Returns what the values and states of parameters share that are changed together; None for what has no kind."""
    if type(x) is not np.ndarray:
        return None
    kind: list[Any] = [x.dtype, type(state)]
    for name in names_of(state):
        part = getattr(state, name)
        if isinstance(part, np.ndarray) and part.shape == x.shape:
            kind.append(part.dtype)
        elif isinstance(part, int):
            kind.append(part)
        else:
            return None
    return tuple(kind)


def names_of(state: Any) -> tuple[str, ...]:
    """Returns the names of what a state has."""
    kind: Any = type(state)  # Any: mypy takes no class for hashable
    return () if state is None else _names(kind)


@functools.cache  # each step asks
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _row(places: list[int], xs: Sequence[Any], states: Sequence[Any]) -> Row:
    ends = [*accumulate(xs[place].size for place in places)]
    parts = [(slice(end - xs[place].size, end), xs[place].shape) for place, end in zip(places, ends, strict=True)]
    first = states[places[0]]
    arrays = {
        name: _joined([getattr(states[place], name) for place in places])
        for name in names_of(first)
        if isinstance(getattr(first, name), np.ndarray)
    }
    return Row(places, parts, _joined([xs[place] for place in places]), replace(first, **arrays) if arrays else first)


def _joined(arrays: Sequence[Any]) -> Any:
    return np.concatenate(arrays, None)


_DATA: Final = attrgetter("data")
