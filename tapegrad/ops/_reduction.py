"""Shared code of the losses: checks of the target, and the reduction to a scalar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from tapegrad.engines import engine
from tapegrad.errors import ShapeError, TapeError, messages
from tapegrad.errors.options import check_word
from tapegrad.ops.elementwise import float_only
from tapegrad.sizes import Dims, RankUnknownError, is_unknown, show, surely_differ
from tapegrad.tensors import D2, S2, T2, D, S, T, Tensor, node
from tapegrad.tensors.operands import same_dtype, tensor_only, unwrap_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Merge, NoneTape

Reduction: TypeAlias = Literal["mean", "sum", "none"]
"""How the losses of all elements, or of all rows, are reduced: to their mean, to their sum, or not at all."""


def reduced_shape(losses: Callable[[], Dims], reduction: str) -> Dims:
    """Return the shape of the losses if `reduction` is none; otherwise a scalar, even if their rank is unknown."""
    try:
        dims = losses()
    except RankUnknownError:
        if reduction == "none":
            raise
        return ()
    return dims if reduction == "none" else ()


def same_sizes(expected: Dims, target: Dims, x: Dims) -> Dims:
    """Return the sizes of a target, and reject one that is not of the expected shape: losses do not broadcast."""
    if len(expected) != len(target) or any(surely_differ(n, m) for n, m in zip(expected, target, strict=True)):
        message = f"target {show(target)} does not fit x {show(x)}: expected {show(expected)}"
        raise ShapeError(message)
    return tuple(m if is_unknown(n) else n for n, m in zip(expected, target, strict=True))


def unwrap_with_target(
    x: Tensor[S, T, D], target: Tensor[S2, T2, D2]
) -> tuple[Tensor[S, NoneTape, D], Tensor[S2, NoneTape, D2], Merge[T, T2]]:
    """Return the operands of a loss without their tapes, and the tape on which to record it."""
    tensor_only(target, "target")
    tensor_only(x, "x")
    operands: Any = (x, target)
    (left, right), tape = unwrap_all(operands, "operands")
    return left, right, tape


def untaped_only(target: Tensor[Any, Any, Any]) -> None:
    """Reject a traced target, because a target gets no gradient."""
    if not isinstance(target, Tensor):
        tensor_only(target, "target")
    if target.tape.owns:
        raise TapeError(messages.tape_unwanted(messages.UNNAMED, "target"))


def weight_of(call: str, reduction: str, count: Any) -> Any:
    """Return the weight of each of `count` losses in the result.

    Raises:
        ValueError: The reduction is not `mean`, `sum` or `none`.
    """
    check_word(call, "reduction", reduction, ("mean", "sum", "none"))
    if reduction != "mean":
        return 1.0
    if not isinstance(count, int | float):  # a traced count under `jit`
        return 1 / count
    return 1 / count if count else np.nan


def reduced(losses: Any, reduction: str, weight: float) -> Any:
    """Return the weighted sum of losses, or the losses unchanged if `reduction` is none."""
    return losses if reduction == "none" else engine(losses).sum(losses, None, keepdims=False) * weight


def of_rows(gradient: Any, shape: tuple[int, ...], reduction: str) -> Any:
    """Add an axis of size 1 to the gradients of unreduced rows, so that they broadcast."""
    return gradient.reshape((*shape[:-1], 1)) if reduction == "none" else gradient


def compared(
    call: str,
    x: Tensor[Any, Any, Any],
    target: Tensor[Any, Any, Any],
    reduction: str,
    loss: Callable[[Any, Any], Any],
    derivative: Callable[[Any, Any], Any],
    by_target: Callable[[Any, Any], Any] | None = None,
) -> Tensor[Any, Any, Any]:
    """Compute an elementwise loss from functions of the raw values of `x` and the target.

    Without a derivative by the target it is the negative of that by `x`, as of any function of their difference.
    """
    x, target, tape = unwrap_with_target(x, target)
    if x.data.shape != target.data.shape:  # NumPy would broadcast them
        same_sizes(x.shape, target.shape, x.shape)
    same_dtype(x, target, "target")
    float_only(x)
    weight = weight_of(call, reduction, x.size)
    out = node(reduced(loss(x.data, target.data), reduction, weight))

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out) * weight
        if grads.wants(x):
            grads.add(x, derivative(x.data, target.data) * dy)
        if grads.wants(target):
            dt = -derivative(x.data, target.data) if by_target is None else by_target(x.data, target.data)
            grads.add(target, dt * dy)

    recorded: Tensor[Any, Any, Any] = tape.record(out, (x, target), backward)
    return recorded
