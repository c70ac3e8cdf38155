"""Elementwise updates of many parameters at once: small ones are concatenated into one array."""

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

# Largest parameter, in bytes, that is concatenated with others. Above, arithmetic dominates the cost per call.
_SMALL: Final = 48 << 10
# Size of a row in bytes. Below 128 KiB malloc does not mmap the temporaries of an update, and they stay in cache.
_ROW: Final = 96 << 10


def elementwise(update: F) -> F:
    """Mark an optimizer's `update` as elementwise: no element of the result depends on another element.

    Such an `update` may be called with many parameters concatenated into arrays of rank 1. For large parameters it may
    be called with symbolic values, which trace its operations. An `update` that overrides it needs the decorator
    again; otherwise it is called once for each parameter.

    Examples:
        >>> class SignSGD(tg.optim.SGD):
        ...     @tg.optim.elementwise
        ...     def update(self, x, dx, state, lr):
        ...         return x - np.sign(dx) * lr, state
        >>> w = tg.nn.Param(tg.tensor([1.0, -2.0]))
        >>> opt = SignSGD([w], lr=0.5)
        >>> opt.step((w.trace() ** 2).sum().backward(wrt=[w]))
        >>> w.tolist()
        [0.5, -1.5]
    """
    vars(update)["is_elementwise"] = True
    return update


class Row(NamedTuple):
    """Parameters of one kind, concatenated.

    Attributes:
        places: The positions of the parameters in the layout.
        parts: The slice of each parameter in `x`.
        shapes: The shape of each.
        x: Their values.
        state: Their optimizer state, concatenated in the same way.
    """

    places: slice
    parts: Sequence[slice]
    shapes: Sequence[tuple[int, ...]]
    x: Any
    state: Any

    def step(self, update: Update, dxs: Sequence[Any]) -> Row | None:
        """Return the updated row, or None if the new values are not an array of the same shape and dtype."""
        places, parts, shapes, before, state = self
        x, state = update(before, _joined(dxs[places]), state)
        is_alike = type(x) is np.ndarray and x.shape == before.shape and x.dtype is before.dtype
        return Row(places, parts, shapes, x, state) if is_alike else None

    def views(self, array: Any) -> Iterable[Any]:
        """Return a view of an array for each parameter, in the shape of the parameter."""
        return map(np.ndarray.reshape, map(array.__getitem__, self.parts), self.shapes)

    def states(self) -> Iterable[Any]:
        """Return the optimizer state of each parameter."""
        count, columns = len(self.parts), [getattr(self.state, name) for name in names_of(self.state)]
        if not columns:
            return [self.state] * count
        parts = [repeat(one, count) if isinstance(one, int) else self.views(one) for one in columns]
        return starmap(type(self.state), zip(*parts, strict=True))


class Layout(NamedTuple):
    """The order in which a step updates parameters, with their values and states.

    Attributes:
        used: The parameters, in the order of the optimizer.
        parameters: The same parameters in the order of the layout: row by row, then large ones grouped by kind.
        facts: The expected class, shape and dtype of each gradient.
        large: The slice of each group of large parameters of one kind, which are in no row.
        alone: The slices of parameters without a kind, which are updated one by one.
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
        """Return whether the layout has these parameters, and none of their arrays or states was replaced since."""
        return (
            len(used) == len(self.used)
            and all(map(is_, used, self.used))
            and all(map(is_, map(_DATA, self.parameters), self.xs))
            and all(map(is_, map(memory.get, self.parameters), self.states))
        )

    def after(self, xs: Sequence[Any], states: Sequence[Any], rows: Sequence[Row], alone: Sequence[slice]) -> Layout:
        """Return the layout after a step, which may have dissolved a row."""
        return Layout(self.used, self.parameters, self.facts, xs, states, rows, self.large, alone)

    def fits(self, dxs: Sequence[Any]) -> bool:
        """Return whether all gradients have the expected class, shape and dtype, as they nearly always do."""
        return [*map(_FACTS, dxs)] == self.facts


def laid_out(used: Sequence[Param[Any, Any]], states: Sequence[Any], kinds: Sequence[Kind]) -> Layout:
    """Return a layout that groups parameters by kind and concatenates small ones into rows.

    Args:
        used: The parameters, in the order of the optimizer.
        states: The optimizer state of each.
        kinds: A key for each parameter: those with equal keys are updated together, those with None one by one.
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
    """Return a key of dtypes and step count: parameters with equal keys are updated together, those with None alone."""
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
    """Return the field names of a state."""
    kind: Any = type(state)  # Any: mypy does not treat a class as hashable
    return () if state is None else _names(kind)


@functools.cache  # called in each step
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
    """Return the slices of consecutive parts with the given sizes."""
    ends = [*accumulate(sizes, initial=0)]
    return [*map(slice, ends, ends[1:])]


def _joined(arrays: Sequence[Any]) -> Any:
    return np.concatenate(arrays, None)


_DATA: Final = attrgetter("data")
_FACTS: Final = attrgetter("__class__", "shape", "dtype")
