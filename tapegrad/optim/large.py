"""Elementwise updates of large parameters: gone through once, and where they stand if nobody else sees them."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tapegrad.backend import engine
from tapegrad.backend.buffers import unseen
from tapegrad.optim.flat import names_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.optim.flat import Update

Call: TypeAlias = tuple[Any, ...]  # a function that is not written in Python, and its arguments

# References that are known of while a step in place is taken. Values have one of the parameter, of the layout before,
# of that behind, and of a call; what is remembered has one of the state before, of that behind, and of a call; the
# state before has one of the optimizer, unless this is its first step, and of its layout.
_OF_VALUES: Final = 4
_OF_MEMORY: Final = 3
_OF_STATE: Final = 2


def in_one_pass(
    update: Update, xs: Sequence[Any], dxs: Sequence[Any], states: Sequence[Any], *, is_in_place: bool
) -> tuple[list[tuple[Any, Any]], list[Call], list[Call]]:
    """Return what an elementwise update gives of parameters of one kind, going through large arrays once.

    What is given in place stands in the arrays that there are, and they are changed by calls that are left to make.

    Args:
        update: From values, their gradient and a state to the next values and the next state.
        xs: The values of each parameter.
        dxs: Their gradients.
        states: What is remembered of each.
        is_in_place: Whether arrays may be changed where they stand.

    Returns:
        The next values and the next state of each; the looks, which raise a KeyError where an array or a state is seen
        by anybody but the parameter, the optimizer, its layout before the step and what will be that behind it; and
        the calls, for once no look has raised. There are neither where nothing is in place.
    """
    written, of = _Written(update, states[0]), engine(*xs, *dxs)
    rows = written.rows(xs, dxs, states)
    may_change = is_in_place and _is_frozen(states[0])  # a step that somebody has seen into is taken again
    try:
        calls = of.changes(written, rows, [0, *range(2, len(rows[0]))]) if may_change else None
        if calls is None:
            return written.pairs(of.update(written, rows)), [], []
    except Exception:  # noqa: BLE001  # it asks for more than can be written down, or says again what is wrong
        return [*map(update, xs, dxs, states)], [], []
    return written.pairs([(x, *arrays) for x, _, *arrays in rows]), [_look(xs, rows, states)], calls


def _look(xs: Sequence[Any], rows: Sequence[Sequence[Any]], states: Sequence[Any]) -> Call:
    memory = [array for _, _, *arrays in rows for array in arrays]
    states = [state for state in states if state is not None]
    counts = [_OF_VALUES] * len(xs) + [_OF_MEMORY] * len(memory) + [_OF_STATE] * len(states)
    return deque, unseen([*xs, *memory, *states], counts), 0


def _is_frozen(state: Any) -> bool:
    return state is None or type(state).__dataclass_params__.frozen


class _Written:
    """An elementwise update as a function of arrays alone, of which the next state is known once it was called."""

    def __init__(self, update: Update, state: Any) -> None:
        self._update = update
        self._before = self._behind = state
        self._names = _arrays_of(state)

    def __call__(self, x: Any, dx: Any, *memory: Any) -> tuple[Any, ...]:
        x, self._behind = self._update(x, dx, _with(self._before, self._names, memory))
        return (x, *(getattr(self._behind, name) for name in _arrays_of(self._behind)))

    def rows(self, xs: Sequence[Any], dxs: Sequence[Any], states: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return what it is called with for each parameter."""
        memories = [[getattr(state, name) for name in self._names] for state in states]
        return [(x, dx, *memory) for x, dx, memory in zip(xs, dxs, memories, strict=True)]

    def pairs(self, found: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        """Return what the update gives, of what its function of arrays does."""
        names = _arrays_of(self._behind)
        return [(x, _with(self._behind, names, memory)) for x, *memory in found]


def _arrays_of(state: Any) -> list[str]:
    return [name for name in names_of(state) if not isinstance(getattr(state, name), int)]


def _with(state: Any, names: Sequence[str], arrays: Sequence[Any]) -> Any:
    """Return a state with other arrays under some names."""
    return replace(state, **dict(zip(names, arrays, strict=True))) if names else state
