"""The way back of broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.backend import engine
from tapegrad.backend.thresholds import ACCUMULATE_MIN_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.gradients import Gradients


def sum_to_shape(gradient: Any, x: Any) -> Any:
    """Add a gradient up along the axes that broadcasting made, so that it has the shape of `x`, tensor or value."""
    shape = x.shape
    if gradient.shape == shape:
        return gradient
    new = gradient.ndim - len(shape)
    stretched = [new + axis for axis, n in enumerate(shape) if n == 1 and gradient.shape[new + axis] != 1]
    if not stretched:
        return engine(gradient).sum(gradient, tuple(range(new)), keepdims=False)
    return engine(gradient).sum(gradient, (*range(new), *stretched), keepdims=True).reshape(shape)


def adder(x: Any, y: Any) -> Callable[[Gradients, Any, Any], None]:
    """Return what adds to the gradient of either operand: where both have one shape, nobody need look at another."""
    same = (x.data.shape if x.is_saved else x.shape) == (y.data.shape if y.is_saved else y.shape)
    return accumulate_like if same else accumulate_broadcast


def accumulate_broadcast(grads: Gradients, x: Any, gradient: Any) -> None:
    """Add to the gradient of `x`, an operand without a tape, whatever broadcasting has made of its shape."""
    accumulate_like(grads, x, sum_to_shape(gradient, x))


def accumulate_like(grads: Gradients, x: Any, gradient: Any) -> None:
    """Add to the gradient of `x`, an operand without a tape, what is known to have its shape: nobody asks again."""
    values = grads.values_by_node
    if x not in values:
        values[x] = gradient
    else:  # asked here, for in most sums a call more costs as much as they do
        values[x] = (
            values[x] + gradient
            if gradient.size < ACCUMULATE_MIN_ELEMENTS
            else engine(gradient).accumulate(values, x, gradient)
        )
