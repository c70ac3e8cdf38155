"""Gradients of the library's ops for callers that compute the results elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tapegrad.autograd.tape import Entry, GradientTape, OwnedTape
from tapegrad.ops.elementwise import broadcast_shape
from tapegrad.ops.matmul import matmul_shape
from tapegrad.tensors import Tensor, node

if TYPE_CHECKING:
    import numpy as np

    from tapegrad.sizes import Dims

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Function: TypeAlias = "Callable[..., Tensor[Any, Any, Any]]"
Pullback: TypeAlias = Callable[[Array], Sequence[Array]]  # from the gradient of a result to those of its operands


def of_op(op: Function, *values: Array | Unseen) -> Pullback:
    """Return the backward function of an op of operators alone, traced on shapes; the values are assigned later."""
    recording = _recorded(op, [Unseen(value.shape, value.dtype) for value in values])
    for x, value in zip(recording.operands, values, strict=True):
        x.data = value  # type: ignore[assignment]  # an array satisfies the type by its methods, not by name
    return recording.pull


def of_function(function: Function, *values: Array, wanted: Sequence[int] | None = None) -> Pullback:
    """Return the backward function of a function whose gradient needs its results: it runs in the backward pass.

    Args:
        function: Of tensors, to one.
        values: Its arguments.
        wanted: The positions of the arguments that need gradients; None for all.
    """
    return lambda dy: _recorded(function, values, wanted).pull(dy)


@dataclass(frozen=True, slots=True)
class Unseen:
    """An array without elements: operations on it compute only the shape, at no cost."""

    shape: Dims
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of stored elements: 0, so that no engine chooses a faster implementation for large arrays."""
        return 0

    def __add__(self, y: Unseen) -> Unseen:
        return Unseen(broadcast_shape(self.shape, y.shape), self.dtype)

    def __mul__(self, y: Unseen) -> Unseen:
        return Unseen(broadcast_shape(self.shape, y.shape), self.dtype)

    def __matmul__(self, y: Unseen) -> Unseen:
        return Unseen(matmul_shape(self.shape, y.shape), self.dtype)


class _Recording(NamedTuple):
    """What a function recorded on a tape of its own."""

    entries: list[Entry]
    out: Tensor[Any, Any, Any]
    operands: list[Tensor[Any, Any, Any]]

    def pull(self, dy: Array) -> list[Array]:
        tape = GradientTape()
        tape.entries += self.entries  # a copy, because a tape can be run backward only once
        grads = tape.backward(self.out, dy.reshape(self.out.shape), self.operands)
        return [grads[x].numpy() for x in self.operands]


def _recorded(function: Function, values: Sequence[Any], wanted: Sequence[int] | None = None) -> _Recording:
    tape = OwnedTape()
    operands: list[Tensor[Any, Any, Any]] = [node(value) for value in values]
    out = function(*(x.put_tape(tape) for x in operands))
    return _Recording(tape.tape.entries, out.node, operands if wanted is None else [operands[one] for one in wanted])
