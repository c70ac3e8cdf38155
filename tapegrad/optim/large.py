"""Elementwise updates of large parameters: in one pass, and in place if no other reference exists."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tapegrad.engines import engine
from tapegrad.engines.numpy.buffers import check_references
from tapegrad.optim.state_fields import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Update: TypeAlias = "Callable[[Any, Any, Any], tuple[Any, Any]]"
Call: TypeAlias = tuple[Any, ...]  # a function implemented in C, and its arguments

# Reference counts expected during an in-place step. Values are referenced by the parameter, the old layout and the new
# layout. Arrays of a state are referenced by the old state and the new state. The old state is referenced by the
# optimizer, unless this is its first step, and by the old layout.
_OF_VALUES: Final = 3
_OF_MEMORY: Final = 2
_OF_STATE: Final = 2


def in_one_pass(
    update: Update, xs: Sequence[Any], dxs: Sequence[Any], states: Sequence[Any], *, is_in_place: bool
) -> tuple[list[tuple[Any, Any]], list[Call], list[Call]]:
    """Compute an elementwise update of parameters of one kind in one pass over their arrays.

    The results of an in-place update share the arrays of the operands, which the returned calls will overwrite.

    Args:
        update: Maps values, their gradient and a state to the next values and the next state.
        xs: The values of each parameter.
        dxs: Their gradients.
        states: The optimizer state of each.
        is_in_place: Whether arrays may be overwritten.

    Returns:
        The next values and the next state of each; checks, which raise a KeyError if an array or a state has other
        references than those of the parameter, the optimizer, and its layouts before and after the step; and the
        calls to make once all checks have passed. Checks and calls are empty if the update is not in place.
    """
    traced, of = _ArrayUpdate(update, states[0]), engine(*xs, *dxs)
    rows = traced.rows(xs, dxs, states)
    may_change = is_in_place and _is_frozen(states[0])  # a retried step needs the state unchanged
    try:
        calls = of.changes(traced, rows, [0, *range(2, len(rows[0]))]) if may_change else None
        if calls is None:
            return traced.pairs(of.update(traced, rows)), [], []
    except Exception:  # noqa: BLE001  # either it cannot be traced, or the direct call raises the same error
        return [*map(update, xs, dxs, states)], [], []
    return traced.pairs([(x, *arrays) for x, _, *arrays in rows]), [_checks(xs, rows, states)], calls


def _checks(xs: Sequence[Any], rows: Sequence[Sequence[Any]], states: Sequence[Any]) -> Call:
    memory = [array for _, _, *arrays in rows for array in arrays]
    states = [state for state in states if state is not None]
    counts = [_OF_VALUES] * len(xs) + [_OF_MEMORY] * len(memory) + [_OF_STATE] * len(states)
    return deque, check_references([*xs, *memory, *states], counts), 0


def _is_frozen(state: Any) -> bool:
    return state is None or type(state).__dataclass_params__.frozen


class _ArrayUpdate:
    """An elementwise update as a function of arrays only; the structure of the next state is known after a call."""

    def __init__(self, update: Update, state: Any) -> None:
        self._update = update
        self._before = self._after = state
        self._names = _arrays_of(state)

    def __call__(self, x: Any, dx: Any, *memory: Any) -> tuple[Any, ...]:
        x, self._after = self._update(x, dx, _with(self._before, self._names, memory))
        return (x, *(getattr(self._after, name) for name in _arrays_of(self._after)))

    def rows(self, xs: Sequence[Any], dxs: Sequence[Any], states: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the arguments of the function for each parameter."""
        memories = [[getattr(state, name) for name in self._names] for state in states]
        return [(x, dx, *memory) for x, dx, memory in zip(xs, dxs, memories, strict=True)]

    def pairs(self, found: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        """Return the values and states of the update, given the arrays that the function returned."""
        names = _arrays_of(self._after)
        return [(x, _with(self._after, names, memory)) for x, *memory in found]


def _arrays_of(state: Any) -> list[str]:
    return [name for name in names_of(state) if not isinstance(getattr(state, name), int)]


def _with(state: Any, names: Sequence[str], arrays: Sequence[Any]) -> Any:
    """Return a copy of a state with some arrays replaced."""
    return replace(state, **dict(zip(names, arrays, strict=True))) if names else state
