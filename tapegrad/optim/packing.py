"""Update many parameters at once: small ones are concatenated into one array, large ones updated in one pass."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, chain, repeat, starmap
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from tapegrad.autograd.identity import Same
from tapegrad.engines import Value
from tapegrad.optim.large import in_one_pass
from tapegrad.optim.state_fields import names_of
from tapegrad.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tapegrad.nn import Param
    from tapegrad.optim.large import Call, Update

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
        positions: The positions of the parameters in the layout.
        parts: The slice of each parameter in `x`.
        shapes: The shape of each.
        x: Their values.
        state: Their optimizer state, concatenated in the same way.
    """

    positions: slice
    parts: Sequence[slice]
    shapes: Sequence[tuple[int, ...]]
    x: Any
    state: Any

    def step(self, update: Update, dxs: Sequence[Any]) -> Row | None:
        """Return the updated row, or None if the new values are not an array of the same shape and dtype."""
        positions, parts, shapes, old, state = self
        x, state = update(old, _joined(dxs[positions]), state)
        is_alike = type(x) is np.ndarray and x.shape == old.shape and x.dtype is old.dtype
        return Row(positions, parts, shapes, x, state) if is_alike else None

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
        expected: The expected class, shape and dtype of each gradient.
        large: The slice of each group of large parameters of one kind, which are in no row.
        unpacked: The slices of parameters without a kind, which are updated one by one.
    """

    used: Sequence[Param[Any, Any]] = ()
    parameters: Sequence[Param[Any, Any]] = ()
    expected: Sequence[Any] = ()
    xs: Sequence[Any] = ()
    states: Sequence[Any] = ()
    rows: Sequence[Row] = ()
    large: Sequence[slice] = ()
    unpacked: Sequence[slice] = ()

    def is_of(self, used: Sequence[Param[Any, Any]], state_of: Mapping[Any, Any]) -> bool:
        """Return whether the layout has these parameters, and none of their arrays or states was replaced since."""
        return (
            len(used) == len(self.used)
            and all(map(is_, used, self.used))
            and all(map(is_, map(_DATA, self.parameters), self.xs))
            and all(map(is_, map(state_of.get, self.parameters), self.states))
        )

    def after(self, xs: Sequence[Any], states: Sequence[Any], rows: Sequence[Row], unpacked: Sequence[slice]) -> Layout:
        """Return the layout after a step, which may have dissolved a row."""
        return Layout(self.used, self.parameters, self.expected, xs, states, rows, self.large, unpacked)

    def fits(self, dxs: Sequence[Any]) -> bool:
        """Return whether all gradients have the expected class, shape and dtype, as they nearly always do."""
        return [*map(_CLASS_SHAPE_DTYPE, dxs)] == self.expected


def advanced(
    layout: Layout,
    gradients: Sequence[Any],
    update_of: Callable[[Param[Any, Any]], Update],
    *,
    is_in_place: bool,
) -> tuple[Layout, list[Call]]:
    """Compute the step of an optimizer: all new values and states, without changing a parameter.

    Args:
        layout: The parameters, their values and states.
        gradients: Their gradients, in the order of the layout.
        update_of: Returns the update of a parameter with its options. Parameters of one kind have the same options.
        is_in_place: Whether large arrays may be overwritten. They keep their old values until the calls are made.

    Returns:
        The layout after the step, and the calls that commit it, all checks before the first change.
    """
    parameters, checks, changes = layout.parameters, [], []
    xs, states, rows, unpacked = [*layout.xs], [*layout.states], [], layout.unpacked
    for row in layout.rows:
        positions = row.positions
        after = row.step(update_of(parameters[positions.start]), gradients)
        if after is None:
            unpacked = [*unpacked, positions]
            continue
        rows.append(after)
        xs[positions] = after.views(after.x)
        if after.state is not None:
            states[positions] = after.states()
    for positions in layout.large:
        update = update_of(parameters[positions.start])
        pairs, check, calls = in_one_pass(
            update, xs[positions], gradients[positions], states[positions], is_in_place=is_in_place
        )
        xs[positions], states[positions] = zip(*pairs, strict=True)
        checks += check
        changes += calls
    for position in chain(*[range(len(xs))[positions] for positions in unpacked]):
        update = update_of(parameters[position])
        xs[position], states[position] = update(xs[position], gradients[position], states[position])
    return layout.after(xs, states, rows, unpacked), [*checks, *changes]


def packed(used: Sequence[Param[Any, Any]], states: Sequence[Any], options: Sequence[Kind]) -> Layout:
    """Return a layout that groups parameters by kind and concatenates small ones into rows.

    Args:
        used: The parameters, in the order of the optimizer.
        states: The optimizer state of each.
        options: A key for each parameter: those with equal keys may be updated together, those with None not.
    """
    rows: list[list[int]] = []
    large: dict[Kind, list[int]] = {}
    unpacked: list[int] = []
    unfilled: dict[Kind, tuple[list[int], int]] = {}
    for position, (parameter, state, key) in enumerate(zip(used, states, options, strict=True)):
        kind = None if key is None else _kind_of(parameter.data, state, key)
        if kind is None:
            unpacked.append(position)
        elif not isinstance(parameter.data, np.ndarray) or (size := parameter.nbytes) > _SMALL:
            large.setdefault(kind, []).append(position)
        else:
            row, filled = unfilled.get(kind, ([], _ROW))
            if filled + size > _ROW:
                row, filled = [], 0
                rows.append(row)
            row.append(position)
            unfilled[kind] = row, filled + size

    groups = [*rows, *large.values(), unpacked]
    order = [*chain(*groups)]
    parameters, states = [used[position] for position in order], [states[position] for position in order]
    xs = [parameter.data for parameter in parameters]
    expected = [(np.ndarray, x.shape, x.dtype) for x in xs]
    positions = _parts([len(group) for group in groups])
    filled_rows = [_row(positions.pop(0), xs, states) for _ in rows]
    return Layout(
        used, parameters, expected, xs, states, filled_rows, positions[:-1], positions[-1:] if unpacked else ()
    )


def _kind_of(x: Any, state: Any, options: tuple[Any, ...]) -> Kind:
    """Return a key of dtypes, step count and options for parameters that are updated together, or None."""
    is_traced = isinstance(x, Value) and not isinstance(x, np.ndarray | Tensor)
    if type(x) is not np.ndarray and not is_traced:
        return None
    kind = [x.dtype, type(state), *options]
    for name in names_of(state):
        part = getattr(state, name)
        if is_traced and np.ndim(part) == 0 and part.dtype.kind == "i":
            kind.append(Same(part))  # a step count under `jit`
        elif isinstance(part, type(x)) and part.shape == x.shape:
            kind.append(part.dtype)
        elif isinstance(part, int):
            kind.append(part)
        else:
            return None
    return tuple(kind)


def _row(positions: slice, xs: Sequence[Any], states: Sequence[Any]) -> Row:
    xs, states = xs[positions], states[positions]
    first = states[0]
    arrays = {
        name: _joined([getattr(state, name) for state in states])
        for name in names_of(first)
        if isinstance(getattr(first, name), np.ndarray)
    }
    state = replace(first, **arrays) if arrays else first
    return Row(positions, _parts([x.size for x in xs]), [x.shape for x in xs], _joined(xs), state)


def _parts(sizes: Sequence[int]) -> list[slice]:
    """Return the slices of consecutive parts with the given sizes."""
    ends = [*accumulate(sizes, initial=0)]
    return [*map(slice, ends, ends[1:])]


def _joined(arrays: Sequence[Any]) -> Any:
    return np.concatenate(arrays, None)


_DATA: Final = attrgetter("data")
_CLASS_SHAPE_DTYPE: Final = attrgetter("__class__", "shape", "dtype")
