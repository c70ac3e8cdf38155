"""Elementwise ops of one operand, whose backward pass multiplies by a derivative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.engines import engine
from tapegrad.ops._broadcast import accumulate_like
from tapegrad.ops.elementwise import float_only
from tapegrad.tensors import D, S, T, Tensor, node
from tapegrad.tensors.operands import unwrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.engines import Elementwise


def mapped(
    x: Tensor[S, T, D],
    forward: Callable[[Any], Any],
    derivative: Callable[[Any, Any], Any],
    reject: Callable[[Tensor[Any, Any, Any]], None] = float_only,
) -> Tensor[S, T, D]:
    """Apply an elementwise function; the backward pass multiplies by its derivative at operand and result."""
    x, tape = unwrap(x)
    reject(x)
    out = node(engine(x.data).fuse(forward, x.data))

    def backward(grads: Gradients) -> None:
        values = (x.data, out.data) if x.is_saved and out.is_saved else _values_read(derivative, x, out)
        accumulate_like(grads, x, _times(derivative, values, grads.pop_output(out)))

    backward.__qualname__ = forward.__qualname__  # a printed tape shows the op, not this helper
    return tape.record(out, (x,), backward)


def _times(derivative: Callable[[Any, Any], Any], values: tuple[Any, ...], dy: Any) -> Any:
    """Multiply a gradient by a derivative, fused for large arrays."""
    given = [value for value in values if value is not None]

    def product(dy: Any, *given: Any) -> Any:
        left = iter(given)
        return dy * derivative(*(None if value is None else next(left) for value in values))

    return engine(dy, *given).fuse(product, dy, *given)


def _values_read(derivative: Callable[[Any, Any], Any], *operands: Any) -> tuple[Any, ...]:
    """Return the values that a derivative reads: one whose parameter is named `_` need not be recomputed."""
    names: Any = derivative.__code__.co_varnames
    return tuple(None if name == "_" else x.data for name, x in zip(names, operands, strict=False))


def apply(name: Elementwise, *values: Any) -> Any:
    """Apply one of the elementwise functions of an engine, by name, to raw values."""
    return engine(*values).map(name, *values)
