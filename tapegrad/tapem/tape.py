"""The tape as an immutable value: one node for each op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, Self

import numpy as np
from typing_extensions import TypeVar, override

from tapegrad.autograd.mermaid import bundle, flow
from tapegrad.autograd.tape_repr import listed
from tapegrad.errors import TapeError
from tapegrad.sizes import show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.autograd.tape import Entry, NoneTape
    from tapegrad.tensors import Tensor

S_co = TypeVar("S_co", bound=tuple[Any, ...], covariant=True, default=Any)
D_co = TypeVar("D_co", bound=np.generic, covariant=True, default=np.float32)

_UNSENT: Final = "a pure tape cannot be pickled; run the program where it is needed"


@dataclass(frozen=True, slots=True, eq=False)
class Node(Generic[S_co, D_co]):
    """A value on a tape, identified by its position; programs pass nodes instead of tensors.

    Attributes:
        id: The position, from 0; every parent has a lower one.
        op: The library's name of the op, or `leaf`.
        parents: The operands.
        value: The result of the op.
        requires_grad: Whether a gradient flows to it.
        name: The label given by the user, or None.
        entries: The tape entries that the library's op recorded, for the backward pass.

    Examples:
        >>> program = tg.tapem.leaf(tg.tensor([1.0, -2.0]), name="x").bind(tg.tapem.relu)
        >>> y = program.eval(tg.tapem.Tape.empty()).unwrap()
        >>> y
        Node(1: relu (2,))
        >>> y.parents
        (Node(0: leaf x (2,)),)
        >>> y.value.tolist()
        [1.0, 0.0]
    """

    id: int
    op: str
    parents: tuple[Node[Any, Any], ...]
    value: Tensor[S_co, NoneTape, D_co]
    requires_grad: bool
    name: str | None = None
    entries: tuple[Entry, ...] = ()

    @property
    def shape(self) -> S_co:
        """The shape of the value."""
        return self.value.shape

    @property
    def dtype(self) -> np.dtype[D_co]:
        """The NumPy dtype of the value."""
        return self.value.dtype

    def __copy__(self) -> Self:
        return self  # it is immutable, and a tape identifies it by identity

    def __deepcopy__(self, _: object) -> Self:
        return self

    @override
    def __reduce__(self) -> NoReturn:
        raise TapeError(_UNSENT)

    @override
    def __repr__(self) -> str:
        return f"Node({self})"

    @override
    def __str__(self) -> str:
        return f"{self.id}: {self.op}{f' {self.name}' if self.name else ''} {show(self.shape)}"


class Tape:
    """An immutable sequence of nodes, parents before children.

    A longer tape shares its nodes with the tape that it extends, which is unchanged. Appending to the newest tape takes
    constant time on average; the first push onto an older one makes a fork, which is detected in constant time and
    copies the references up to there. A tape keeps all nodes of its line alive, except an empty one.

    Examples:
        >>> program = tg.tapem.leaf(tg.tensor([1.0, -2.0]), name="x").bind(tg.tapem.relu)
        >>> tape = program.exec(tg.tapem.Tape.empty()).unwrap()
        >>> tape
        Tape(0: leaf x (2,), 1: relu (2,))
        >>> tape[1].op, len(tape)
        ('relu', 2)
        >>> tape == program.exec(tg.tapem.Tape.empty()).unwrap()
        True
    """

    __slots__ = ("_length", "_nodes")

    def __init__(self, nodes: list[Node[Any, Any]], length: int) -> None:
        self._nodes = nodes  # of the whole line; this tape is its first `_length`
        self._length = length

    @classmethod
    def empty(cls) -> Tape:
        """Return a tape without nodes."""
        return cls([], 0)

    def push(self, node: Node[Any, Any]) -> Tape:
        """Return a tape with one more node, whose id is the length of this one."""
        is_newest = len(self._nodes) == self._length > 0  # an empty tape starts a line: it keeps no node alive
        nodes = self._nodes if is_newest else self._nodes[: self._length]
        nodes.append(node)
        if nodes[self._length] is not node:  # another thread appended first, so this tape is the fork
            nodes = [*nodes[: self._length], node]
        return Tape(nodes, self._length + 1)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, id: int) -> Node[Any, Any]:  # noqa: A002  # the name of the node's attribute
        if not 0 <= id < self._length:
            message = f"the tape has {self._length} nodes but node {id} was requested"
            raise IndexError(message)
        return self._nodes[id]

    def __iter__(self) -> Iterator[Node[Any, Any]]:
        return iter(self._nodes[: self._length])

    def __contains__(self, node: object) -> bool:
        return isinstance(node, Node) and node.id < self._length and self._nodes[node.id] is node

    @override
    def __eq__(self, other: object) -> bool:
        """Compare ops, parents and values; two runs of one program are equal."""
        if not isinstance(other, Tape):
            return NotImplemented
        return len(self) == len(other) and all(map(_alike, self, other))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    @override
    def __reduce__(self) -> Any:
        if self._length:
            raise TapeError(_UNSENT)
        return Tape.empty, ()

    __hash__ = None  # type: ignore[assignment]  # compared by values, all of which would have to be hashed

    @override
    def __repr__(self) -> str:
        return f"Tape({listed([*self], str)})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return bundle(repr(self), self.graph())

    def graph(self) -> str:
        """Return the tape as a Mermaid graph, with arrows from operands to results."""
        return flow(map(str, self), ((parent.id, node.id) for node in self for parent in node.parents))


def _alike(node: Node[Any, Any], other: Node[Any, Any]) -> bool:
    if node is other:
        return True
    x, y = node.value.numpy(), other.value.numpy()
    return (
        _description(node) == _description(other)
        and x.dtype == y.dtype
        and np.array_equal(x, y, equal_nan=x.dtype.kind in "fV")
    )


def _description(node: Node[Any, Any]) -> tuple[Any, ...]:
    return node.op, node.name, node.requires_grad, [parent.id for parent in node.parents]
