"""Layers of one kind as a loop: their parameters are stacked, and one layer is traced for all."""

from __future__ import annotations

from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tapegrad.engines import engine
from tapegrad.guard._memory import StoredSizes
from tapegrad.nn.module import Module
from tapegrad.nn.param import Buffer, Param
from tapegrad.ops import stack
from tapegrad.scan import looped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tapegrad.tensors import Tensor


def in_a_loop(
    layers: Sequence[Module], x: Tensor[Any, Any, Any], call: Callable[[Module, Any], Any]
) -> Tensor[Any, Any, Any] | None:
    """Return the result of layers one after the other, which a compiled loop computes; None if they have to differ.

    They must have the same attributes and parameters of the same shapes and dtypes, and no buffers, which may change.

    Args:
        layers: At least two.
        x: The argument of the first layer.
        call: Calls a layer; the result has the shape and dtype of its argument.
    """
    if len(layers) < LEAST_LAYERS or not engine(x.data).compiles_loops:
        return None
    parameters = [_parameters_in_parallel(layers[0], layer) for layer in layers[1:]]
    if any(found is None for found in parameters):
        return None
    first = [one for one, _ in parameters[0] or ()]
    if any([one for one, _ in found or ()] != first for found in parameters) or not first:
        return None
    rows = [[one, *(found[at][1] for found in parameters if found)] for at, one in enumerate(first)]
    sequences = [stack([one.put_tape(x.tape) for one in row]) for row in rows]

    @contextmanager
    def placed(values: Sequence[Any]) -> Iterator[list[Any]]:
        before = [one.data for one in first]
        try:
            for one, value in zip(first, values, strict=True):
                one.data = value
            yield list(first)
        finally:
            for one, value in zip(first, before, strict=True):
                one.data = value

    last, _ = looped(lambda now, _: ([call(layers[0], now[0])], []), [x], sequences, placed)
    y: Tensor[Any, Any, Any] = last[0]
    return y


def _parameters_in_parallel(one: Any, other: Any) -> list[tuple[Any, Any]] | None:
    """Return the pairs of different parameters at the same paths in two layers; None if something else differs."""
    if one is other:
        return []
    if type(one) is not type(other) or isinstance(one, Buffer):
        return None
    if isinstance(one, Param):
        is_alike = (one.shape, one.dtype, one.frozen) == (other.shape, other.dtype, other.frozen)
        return [(one, other)] if is_alike else None
    if isinstance(one, FunctionType):
        return [] if one.__code__ is other.__code__ and one.__closure__ is None else None
    if isinstance(one, np.random.Generator):  # that of the first layer draws for all, in each step other numbers
        return []
    if isinstance(one, StoredSizes):  # the cache of a guard: the sizes of the layer
        return [] if repr(one) == repr(other) else None
    if isinstance(one, _PLAIN):
        return [] if one == other else None
    if isinstance(one, Module | dict):
        ours, theirs = (vars(part) if isinstance(part, Module) else part for part in (one, other))
        if [*ours] != [*theirs]:
            return None
        parts: Any = zip(ours.values(), theirs.values(), strict=True)
    elif isinstance(one, tuple | list) and len(one) == len(other):
        parts = zip(one, other, strict=True)
    else:
        return None
    found: list[tuple[Any, Any]] = []
    for left, right in parts:
        pairs = _parameters_in_parallel(left, right)
        if pairs is None:
            return None
        found += pairs
    return found


# From this number on the loop is compiled as one layer. It copies the parameters to stack them, in each step.
LEAST_LAYERS: Final = 16
_PLAIN: Final = (bool, int, float, str, bytes)
