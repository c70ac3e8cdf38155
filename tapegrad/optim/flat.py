"""Elementwise updates of many parameters at once: small ones lie end to end in one array."""

from __future__ import annotations

import functools
from dataclasses import fields, replace
from itertools import accumulate, chain, repeat, starmap
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tapegrad.nn import Param

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Update: TypeAlias = "Callable[[Any, Any, Any], tuple[Any, Any]]"
Kind: TypeAlias = "tuple[Any, ...] | None"
F = TypeVar("F", bound="Callable[..., Any]")

# Bytes up to which a parameter lies beside others: above, what an update costs is its numbers, not beginning it.
_SMALL: Final = 48 << 10
# Bytes of a row. Below 128 KiB malloc maps no memory anew for what an update makes on the way, and it stays in cache.
_ROW: Final = 96 << 10


def elementwise(update: F) -> F:
    """Say of an optimizer's `update` that no element depends on another.

    So it may be given many parameters at once, end to end in arrays of rank 1, and instead of large ones values that
    have no numbers yet and write down what it computes. An `update` that overrides it says so for itself, or is given
    each parameter alone.
    """
    vars(update)["is_elementwise"] = True
    return update


class Row(NamedTuple):
    """Parameters of one kind that lie end to end.

    Attributes:
        places: Which parameters of the layout they are.
        parts: Where each lies.
        shapes: The shape of each.
        x: Their values.
        state: What is remembered of them.
    """

    places: slice
    parts: Sequence[slice]
    shapes: Sequence[tuple[int, ...]]
    x: Any
    state: Any

    def step(self, update: Update, dxs: Sequence[Any]) -> Row | None:
        """Return the row that an update makes of this one; None if that is nothing to put in its place."""
        places, parts, shapes, before, state = self
        x, state = update(before, _joined(dxs[places]), state)
        is_alike = type(x) is np.ndarray and x.shape == before.shape and x.dtype is before.dtype
        return Row(places, parts, shapes, x, state) if is_alike else None

    def views(self, array: Any) -> Iterable[Any]:
        """Return the part of an array that belongs to each parameter, in its shape."""
        return map(np.ndarray.reshape, map(array.__getitem__, self.parts), self.shapes)

    def states(self) -> Iterable[Any]:
        """Return what is remembered of each parameter."""
        count, columns = len(self.parts), [getattr(self.state, name) for name in names_of(self.state)]
        if not columns:
            return [self.state] * count
        parts = [repeat(one, count) if isinstance(one, int) else self.views(one) for one in columns]
        return starmap(type(self.state), zip(*parts, strict=True))


class Layout(NamedTuple):
    """How the parameters of a step lie, with their values, and what is remembered of each.

    Attributes:
        used: The parameters, in the order of the optimizer.
        parameters: The same as they lie: those of a row, then those of one kind, side by side.
        facts: What class, shape and dtype nearly every gradient has that fits.
        large: Where those of one kind are that lie in no row.
        alone: Where those are that are of no kind.
    """

    used: Sequence[Param[Any, Any]] = ()
    parameters: Sequence[Param[Any, Any]] = ()
    facts: Sequence[Any] = ()
    xs: Sequence[Any] = ()
    states: Sequence[Any] = ()
    rows: Sequence[Row] = ()
    large: Sequence[slice] = ()
    alone: Sequence[slice] = ()

    def is_of(self, used: Sequence[Param[Any, Any]], memory: Mapping[Any, Any]) -> bool:
        """Return whether these very parameters lie so, and nobody has put anything in the place of what they had."""
        return (
            len(used) == len(self.used)
            and all(map(is_, used, self.used))
            and all(map(is_, map(_DATA, self.parameters), self.xs))
            and all(map(is_, map(memory.get, self.parameters), self.states))
        )

    def after(self, xs: Sequence[Any], states: Sequence[Any], rows: Sequence[Row], alone: Sequence[slice]) -> Layout:
        """Return how the parameters lie after a step, which may have torn up a row."""
        return Layout(self.used, self.parameters, self.facts, xs, states, rows, self.large, alone)

    def fits(self, dxs: Sequence[Any]) -> bool:
        """Say of gradients that they fit, as nearly all do."""
        return [*map(_FACTS, dxs)] == self.facts


def laid_out(used: Sequence[Param[Any, Any]], states: Sequence[Any], kinds: Sequence[Kind]) -> Layout:
    """Put small parameters of one kind side by side, until a row is full.

    Args:
        used: The parameters, in the order of the optimizer.
        states: What is remembered of each.
        kinds: What those share that are changed together; None for one that is changed alone.
    """
    rows: list[list[int]] = []
    large: dict[Kind, list[int]] = {}
    alone: list[int] = []
    unfilled: dict[Kind, tuple[list[int], int]] = {}
    for place, (parameter, kind) in enumerate(zip(used, kinds, strict=True)):
        if kind is None:
            alone.append(place)
        elif (size := parameter.nbytes) > _SMALL:
            large.setdefault(kind, []).append(place)
        else:
            row, filled = unfilled.get(kind, ([], _ROW))
            if filled + size > _ROW:
                row, filled = [], 0
                rows.append(row)
            row.append(place)
            unfilled[kind] = row, filled + size

    groups = [*rows, *large.values(), alone]
    order = [*chain(*groups)]
    parameters, states = [used[place] for place in order], [states[place] for place in order]
    xs = [parameter.data for parameter in parameters]
    facts = [(np.ndarray, x.shape, x.dtype) for x in xs]
    places = _parts([len(group) for group in groups])
    filled_rows = [_row(places.pop(0), xs, states) for _ in rows]
    return Layout(used, parameters, facts, xs, states, filled_rows, places[:-1], places[-1:] if alone else ())


def kind_of(x: Any, state: Any) -> Kind:
    """Return what the values and states of parameters share that are changed together; None for what has no kind."""
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
    """Return the names of what a state has."""
    kind: Any = type(state)  # Any: mypy takes no class for hashable
    return () if state is None else _names(kind)


@functools.cache  # each step asks
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _row(places: slice, xs: Sequence[Any], states: Sequence[Any]) -> Row:
    xs, states = xs[places], states[places]
    first = states[0]
    arrays = {
        name: _joined([getattr(state, name) for state in states])
        for name in names_of(first)
        if isinstance(getattr(first, name), np.ndarray)
    }
    state = replace(first, **arrays) if arrays else first
    return Row(places, _parts([x.size for x in xs]), [x.shape for x in xs], _joined(xs), state)


def _parts(sizes: Sequence[int]) -> list[slice]:
    """Return where parts of some sizes are that lie end to end."""
    ends = [*accumulate(sizes, initial=0)]
    return [*map(slice, ends, ends[1:])]


def _joined(arrays: Sequence[Any]) -> Any:
    return np.concatenate(arrays, None)


_DATA: Final = attrgetter("data")
_FACTS: Final = attrgetter("__class__", "shape", "dtype")
