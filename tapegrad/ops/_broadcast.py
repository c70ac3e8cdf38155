"""Accumulate gradients of operands: of those that broadcast after a sum to their shape, and of selected elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.engines import engine
from tapegrad.engines.thresholds import ACCUMULATE_MIN_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.autograd.gradients import Gradients


def sum_to_shape(gradient: Any, x: Any) -> Any:
    """Sum a gradient over the axes that broadcasting added or stretched, to the shape of `x`, a tensor or raw value."""
    shape = x.shape
    if gradient.shape == shape:
        return gradient
    new = gradient.ndim - len(shape)
    stretched = [new + axis for axis, n in enumerate(shape) if n == 1 and gradient.shape[new + axis] != 1]
    if not stretched:
        return engine(gradient).sum(gradient, tuple(range(new)), keepdims=False)
    return engine(gradient).sum(gradient, (*range(new), *stretched), keepdims=True).reshape(shape)


def adder(x: Any, y: Any) -> Callable[[Gradients, Any, Any], None]:
    """Return the function that accumulates gradients of both operands; equal shapes need no sum over axes."""
    same = (x.data.shape if x.is_saved else x.shape) == (y.data.shape if y.is_saved else y.shape)
    return accumulate_like if same else accumulate_broadcast


def accumulate_broadcast(grads: Gradients, x: Any, gradient: Any) -> None:
    """Accumulate a gradient of `x`, an operand without a tape, after summing it to the shape of `x`."""
    accumulate_like(grads, x, sum_to_shape(gradient, x))


def accumulate_like(grads: Gradients, x: Any, gradient: Any) -> None:
    """Accumulate a gradient of `x`, an operand without a tape; the gradient has its shape, which is not checked."""
    values = grads.values_by_node
    if x not in values:
        values[x] = gradient
    else:  # without a call of the engine for a small sum (benchmarks/devices.py, "a small accumulation")
        values[x] = (
            values[x] + gradient
            if gradient.size < ACCUMULATE_MIN_ELEMENTS
            else engine(gradient).accumulate(values, x, gradient)
        )


def accumulate_at(grads: Gradients, x: Any, index: Any, gradient: Any, primitives: Any) -> None:
    """Accumulate a gradient of `x[index]`, in place if that of `x` is large and has no other reference."""
    values, key = grads.values_by_node, x.node if x.tape.holds else x
    if key in values and values[key].size >= ACCUMULATE_MIN_ELEMENTS:
        values[key] = primitives.accumulate_at(values, key, index, gradient)
    else:
        grads.add(x, primitives.place(x.shape, index, gradient))
