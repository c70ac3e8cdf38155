"""Gradients of the library's own ops for who has computed the results elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tapegrad.ops.elementwise import broadcast_shape
from tapegrad.ops.matmul import matmul_shape
from tapegrad.tape import Entry, GradientTape, OwnedTape
from tapegrad.tensor import Tensor, node

if TYPE_CHECKING:
    import numpy as np

    from tapegrad.dims import Dims

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Function: TypeAlias = "Callable[..., Tensor[Any, Any, Any]]"
Pullback: TypeAlias = Callable[[Array], Sequence[Array]]  # from the gradient of a result to those of its operands


def of_op(op: Function, *values: Array | Unseen) -> Pullback:
    """Return the closure of an op of operators alone, which does not run: its operands get their elements after it."""
    recording = _recorded(op, [Unseen(value.shape, value.dtype) for value in values])
    for x, value in zip(recording.operands, values, strict=True):
        x.data = value  # type: ignore[assignment]  # an array is a value by what it can do, not by name
    return recording.pull


def of_function(function: Function, *values: Array, wanted: Sequence[int] | None = None) -> Pullback:
    """Return the way back of a function whose gradient is made of what it computes: it runs when it is asked.

    Args:
        function: Of tensors, to one.
        values: What it is differentiated at.
        wanted: The positions of those whose gradients are asked for; None for all.
    """
    return lambda dy: _recorded(function, values, wanted).pull(dy)


@dataclass(frozen=True, slots=True)
class Unseen:
    """An array whose elements nobody knows: what is computed from it has a shape and costs nothing."""

    shape: Dims
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements are known: none, so that no engine is asked for the fastest way."""
        return 0

    def __add__(self, y: Unseen) -> Unseen:
        return Unseen(broadcast_shape(self.shape, y.shape), self.dtype)

    def __mul__(self, y: Unseen) -> Unseen:
        return Unseen(broadcast_shape(self.shape, y.shape), self.dtype)

    def __matmul__(self, y: Unseen) -> Unseen:
        return Unseen(matmul_shape(self.shape, y.shape), self.dtype)


class _Recording(NamedTuple):
    """What a function left on a tape of its own."""

    entries: list[Entry]
    out: Tensor[Any, Any, Any]
    operands: list[Tensor[Any, Any, Any]]

    def pull(self, dy: Array) -> list[Array]:
        tape = GradientTape()
        tape.entries += self.entries  # a copy, for a tape is run once
        grads = tape.backward(self.out, dy.reshape(self.out.shape), self.operands)
        return [grads[x].numpy() for x in self.operands]


def _recorded(function: Function, values: Sequence[Any], wanted: Sequence[int] | None = None) -> _Recording:
    tape = OwnedTape()
    operands: list[Tensor[Any, Any, Any]] = [node(value) for value in values]
    out = function(*(x.put_tape(tape) for x in operands))
    return _Recording(tape.tape.entries, out.node, operands if wanted is None else [operands[one] for one in wanted])
