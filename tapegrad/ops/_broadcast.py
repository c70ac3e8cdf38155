"""The way back of broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.backend import engine

if TYPE_CHECKING:
    from tapegrad.gradients import Gradients


def summed_to(gradient: Any, x: Any) -> Any:
    """Adds a gradient up along the axes that broadcasting made, so that it has the shape of `x`, tensor or value."""
    shape = x.shape
    if gradient.shape == shape:
        return gradient
    new = gradient.ndim - len(shape)
    stretched = [new + axis for axis, n in enumerate(shape) if n == 1 and gradient.shape[new + axis] != 1]
    total = engine(gradient).sum(gradient, (*range(new), *stretched), keepdims=True)
    return total.reshape(shape)


def add_summed(grads: Gradients, x: Any, gradient: Any) -> None:
    """Adds to the gradient of `x`, an operand without a tape, whatever broadcasting has made of its shape."""
    if gradient.shape != (x.data.shape if x.kept else x.shape):
        gradient = summed_to(gradient, x)
    values = grads.values_by_node
    values[x] = values[x] + gradient if x in values else gradient
