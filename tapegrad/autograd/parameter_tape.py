"""The tape of what is computed from parameters before it meets an owned tape, such as `weight.T`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from numpy import ndarray
from typing_extensions import override

from tapegrad.autograd.tape import (
    NONE,
    RELEASE_MIN_BYTES,
    NoneTape,
    OwnedTape,
    is_among,
    is_data,
    note_constants,
    now,
    renamed,
)
from tapegrad.errors import TapeError
from tapegrad.sizes import show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.autograd.tape import Entry, Node, Pullback, Tape

MAX_OPS: Final = 256
MAX_BYTES: Final = 1 << 20  # and four times the bytes of the parameters
_REMEDY: Final = "compute it from a traced tensor, or detach it"


class ParameterTape(NoneTape):
    """The tape of what was computed from parameters, buffers, numbers and integers alone.

    To the program it is a `NoneTape`: floats without a tape are data, and what is computed from them is not recorded.
    The first owned tape that the tensor meets takes over the ops that computed it, so that their gradients reach the
    parameters. A tensor refers to its tape, the tape to its entry and to the tapes of the operands, and none of these
    back to the tensor; so a tensor that is dropped is freed at once.

    A chain of too many ops is lost: otherwise a model that predicts from integers would keep all of its values. A copy
    is lost as well.

    Attributes:
        out: The node of the tensor with this tape; None for the joint tape of several operands.
        entry: The op that computed the tensor; None for a joint tape and for a lost one.
        parents: The tapes of the operands.
        versions: The parameters and buffers among the operands, and the version of each.
        lost: Why the ops are lost, and the remedy; empty if they are not.
    """

    __slots__ = ("_ops", "_own_bytes", "_parameters", "_saved_bytes", "entry", "lost", "out", "parents", "versions")

    holds = True
    checkpoint: Final = None

    def __init__(
        self,
        out: Node | None = None,
        entry: Entry | None = None,
        parents: tuple[ParameterTape, ...] = (),
        saved_bytes: int = 0,
        lost: str = "",
    ) -> None:
        self.out = out
        self.entry = entry
        self.parents = parents
        self.versions = tuple((x, x.version) for x in entry[2] if x.version is not None) if entry is not None else ()
        self.lost = lost
        self._own_bytes = saved_bytes
        self._saved_bytes: int = saved_bytes + sum(parent._saved_bytes for parent in parents)
        self._ops: int = (entry is not None) + sum(parent._ops for parent in parents)
        self._parameters: frozenset[Any] = frozenset(x for x, _ in self.versions).union(
            *(parent._parameters for parent in parents)
        )

    @property
    def _tape(self) -> Self:
        return self

    def join(self, other: Tape) -> Tape:
        """Return a tape for the result of operands on both tapes."""
        if isinstance(other, OwnedTape):
            return other.join(self)
        if other is self or not isinstance(other, ParameterTape):
            return self
        return ParameterTape(parents=(*self._parts(), *other._parts()))

    @override
    def record(
        self,
        out: Node,
        inputs: tuple[Node, ...],
        backward: Pullback,
        saved: tuple[Node, ...] | None = None,
        *,
        reads: tuple[Node, ...] | None = None,
    ) -> Any:
        if reads is not None:
            saved = renamed(reads)
        parents = self._parts()
        computed = tuple(parent.out for parent in parents if parent.out is not None)
        if not out.is_float or any(is_data(x) and not is_among(x, computed) for x in inputs):
            note_constants(out.data, self._parameters)
            return out
        return record_parameters(out, inputs, backward, saved, parents)

    def chain(self) -> Iterator[ParameterTape]:
        """Yield the tape of each op that led here, once, without recursion."""
        pending, seen = [*self._parts()], set[ParameterTape]()
        while pending:
            tape = pending.pop()
            if tape not in seen:
                seen.add(tape)
                yield tape
                pending += tape.parents

    def check(self) -> None:
        """Raise a TapeError if the ops that led here are lost."""
        for part in self._parts():
            if part.lost and part.out is not None:
                message = f"the ops that computed a tensor {show(part.out.shape)} from parameters are lost: {part.lost}"
                raise TapeError(message)

    def excess(self) -> str:
        """Return why the chain is too long to be kept, or an empty string."""
        limit = MAX_BYTES + 4 * sum(x.nbytes for x in self._parameters)
        if self._ops > MAX_OPS or self._saved_bytes > limit:  # an op that two operands share was counted twice
            chain = [*self.chain()]
            self._ops, self._saved_bytes = len(chain), sum(tape._own_bytes for tape in chain)
        if self._ops > MAX_OPS:
            return f"there are more than {MAX_OPS} of them; {_REMEDY}"
        return f"their results take more than {limit:,} bytes; {_REMEDY}" if self._saved_bytes > limit else ""

    def _parts(self) -> tuple[ParameterTape, ...]:
        return self.parents if self.out is None else (self,)

    @override
    def __reduce__(self) -> Any:
        return ParameterTape, (self.out, None, (), 0, f"it is a copy; {_REMEDY}")


def record_parameters(
    out: Node, inputs: tuple[Node, ...], backward: Pullback, saved: tuple[Node, ...] | None, parents: Any = ()
) -> Any:
    """Return the result of an op on parameters with its own tape, from which an owned tape takes the op later."""
    result: Any = out.carrying(NONE)  # first: below, the node's reference to the value may be released
    why = next((parent.lost for parent in parents if parent.lost), "")
    if not why:
        saved_bytes = _save(out, inputs, saved)
        result.tape = ParameterTape(out, (now(), out, inputs, backward), parents, saved_bytes)
        why = result.tape.excess()
    if why:
        result.tape = ParameterTape(out, lost=why)
    return result


def lost(x: Node, why: str) -> Node:
    """Return a tensor computed from parameters by ops that are lost, so that an owned tape rejects it."""
    return x.carrying(ParameterTape(x, lost=why))


def _save(out: Node, inputs: tuple[Node, ...], saved: tuple[Node, ...] | None) -> int:
    """Save the values that the backward pass reads, as an owned tape does, and return their bytes."""
    size = 0
    for x in inputs:
        if not x.is_saved and (saved is None or is_among(x, saved)):
            x.save_value()
            size += x.nbytes
    data: Any = out.data
    if saved is not None and type(data) is ndarray and data.nbytes >= RELEASE_MIN_BYTES and not is_among(out, saved):
        out.release_value()
        return size
    return size if getattr(data, "base", None) is not None else size + out.nbytes
