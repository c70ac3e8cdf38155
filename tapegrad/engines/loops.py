"""Loops whose steps pass a state on: step after step in Python, with values of any engine."""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING, Any

from tapegrad.engines.registry import engine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def run_steps(
    step: Callable[..., Any], state: Sequence[Any], xs: Sequence[Any], axis: int, *, is_reversed: bool
) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
    """Run a step for each element along an axis, see `Backend.scan`."""
    order = range(xs[0].shape[axis])[:: -1 if is_reversed else 1]
    now, steps = tuple(state), []
    for at in order:
        now, ys, backward_step = step(now, _elements(xs, at, axis))
        steps.append((ys, backward_step))

    def backward(dlast: Sequence[Any], dys: Sequence[Any]) -> Any:
        dstate, rows, sums = tuple(dlast), [], None
        for at, (_, backward_step) in zip(reversed(order), reversed(steps), strict=True):
            dstate, drows, dsums = backward_step(dstate, _elements(dys, at, axis))
            rows.append(drows)
            sums = dsums if sums is None else tuple(map(add, sums, dsums))
        return dstate, _stacked(rows, axis, is_reversed=not is_reversed), sums

    ys = _stacked([one for one, _ in steps], axis, is_reversed=is_reversed)
    return now, ys, None if steps[0][1] is None else backward


def _elements(values: Sequence[Any], at: int, axis: int) -> tuple[Any, ...]:
    """Return an element of each value along an axis; of a number, the number."""
    index = (*[slice(None)] * axis, at)
    return tuple(engine(x).getitem(x, index) if hasattr(x, "shape") else x for x in values)


def _stacked(steps: Sequence[Sequence[Any]], axis: int, *, is_reversed: bool) -> tuple[Any, ...]:
    """Stack the values of all steps along a new axis."""
    found: list[Any] = []
    for values in zip(*(steps[::-1] if is_reversed else steps), strict=True):
        rows = [one.reshape((*one.shape[:axis], 1, *one.shape[axis:])) for one in values]
        found.append(engine(*rows).concat(rows, axis))
    return tuple(found)
