"""The way back of broadcasting."""

from __future__ import annotations

from typing import Any

from tapegrad.backend import engine


def summed_to(gradient: Any, x: Any) -> Any:
    """Adds a gradient up along the axes that broadcasting made, so that it has the shape of `x`."""
    shape = x.shape
    if gradient.shape == shape:
        return gradient
    new = gradient.ndim - len(shape)
    stretched = [new + axis for axis, n in enumerate(shape) if n == 1 and gradient.shape[new + axis] != 1]
    total = engine(gradient).sum(gradient, (*range(new), *stretched), keepdims=True)
    return total.reshape(shape)
