"""Ops on nodes, made from the library's ops on tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

import numpy as np
from typing_extensions import TypeVar, override

from tapegrad.autograd.tape import OwnedTape
from tapegrad.errors import TapeError, messages
from tapegrad.sizes import show
from tapegrad.tapem.program import Action, TapeM
from tapegrad.tapem.result import ERRORS, Err
from tapegrad.tapem.tape import Node, Tape
from tapegrad.tensors import Tensor, from_array, node

if TYPE_CHECKING:
    from tapegrad.autograd.tape import NoneTape

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S", bound=tuple[Any, ...], default=Any)
D = TypeVar("D", bound=np.generic, default=np.float32)


class Lifted(Generic[F]):
    """An op on nodes, made from an op on tensors: called with nodes it returns a program that appends its result.

    It takes the op's arguments, with a node for each tensor, and the plugin types it by the op's own shape rule. An
    error of the op becomes an `Err`, and so does a node that is not on the tape; the message is the library's.
    """

    def __init__(self, op: F, check: Callable[..., None] | None = None) -> None:
        self.op = op
        self.check = check
        functools.update_wrapper(self, op)

    def __call__(self, *operands: Any, **settings: Any) -> TapeM[Node[Any, Any]]:
        """Return the program that runs the op."""
        return _Applied(self, _copied(operands), {name: _copied(setting) for name, setting in settings.items()})

    @override
    def __repr__(self) -> str:
        return f"lift({_name(self.op)})"


def lift(op: F, check: Callable[..., None] | None = None) -> Lifted[F]:
    """Return an op on nodes for an op on tensors, the library's or your own.

        relu = lift(tapegrad.relu)

    Args:
        op: A function from tensors, and settings, to one tensor.
        check: A check of the operands for values that the op itself accepts silently; raises `ValueError`.

    Returns:
        The function from nodes, and the same settings, to a program whose value is a node.

    Examples:
        >>> def cubed(x):
        ...     return x * x * x
        >>> program = tg.tapem.leaf(tg.tensor([1.0, -2.0])).bind(tg.tapem.lift(cubed)).bind(tg.tapem.value)
        >>> program.eval(tg.tapem.Tape.empty()).unwrap().tolist()
        [1.0, -8.0]
    """
    return Lifted(op, check)


def leaf(
    value: Tensor[S, NoneTape, D] | np.ndarray[S, np.dtype[D]],
    requires_grad: bool = True,  # noqa: FBT001, FBT002  # every framework of the field has this name and position
    name: str | None = None,
) -> TapeM[Node[S, D]]:
    """Return a program that appends a leaf: a value that is not the result of an op.

    Args:
        value: A tensor without a tape; or an array or a parameter, which is copied immediately.
        requires_grad: Whether a gradient flows to it. Ints and bools never have one.
        name: The label of the leaf in graphs of the tape.

    Examples:
        >>> program = tg.tapem.leaf(tg.tensor([1.0, 2.0, 3.0]), name="x")
        >>> x, tape = program.run(tg.tapem.Tape.empty()).unwrap()
        >>> x
        Node(0: leaf x (3,))
        >>> x.requires_grad, len(tape)
        (True, 1)
    """
    return _Entered(value if isinstance(value, list) else _copied(value), requires_grad, name)


@dataclass(frozen=True, slots=True, repr=False)
class _Entered(Action[Node[Any, Any]]):
    value: Any
    requires_grad: bool
    name: str | None

    @property
    @override
    def op(self) -> str:
        return "leaf"

    @override
    def step(self, tape: Tape) -> tuple[Node[Any, Any], Tape] | Err:
        value = self.value
        if isinstance(value, Tensor) and value.owns_tape:
            return Err("tape", "leaf", "must have none", "value has a tape")
        if not isinstance(value, Tensor | np.ndarray | np.generic):
            kind = messages.with_article(type(value).__name__)
            return Err("dtype", "leaf", "a tensor or an array is expected", f"value is {kind}")
        data: Any = value.data if isinstance(value, Tensor) else value
        entered: Tensor[Any, NoneTape, Any] = node(data)
        leaf = Node(len(tape), "leaf", (), entered, self.requires_grad and entered.is_float, self.name)
        return leaf, tape.push(leaf)


@dataclass(frozen=True, slots=True, repr=False)
class _Applied(Action[Node[Any, Any]]):
    lifted: Lifted[Any]
    operands: tuple[Any, ...]
    settings: dict[str, Any]

    @property
    @override
    def op(self) -> str:
        return _name(self.lifted.op)

    @override
    def step(self, tape: Tape) -> tuple[Node[Any, Any], Tape] | Err:
        op, name = self.lifted.op, self.op
        call = _Call(tape, OwnedTape(), [])
        try:
            operands = [call.tensor_of(operand) for operand in self.operands]
            settings = {key: call.tensor_of(setting) for key, setting in self.settings.items()}
            if self.lifted.check is not None:
                self.lifted.check(*operands, **settings)
            result = op(*operands, **settings)
        except ERRORS as error:
            return Err.of(name, error)
        if not isinstance(result, Tensor):
            kind = messages.with_article(type(result).__name__)
            message = f"{name}: an op that is lifted gives one tensor, not {kind}"
            raise TypeError(message)
        value = result.split_tape()[0]
        entries = tuple(call.owned.tape.entries)
        node = Node(len(tape), name, tuple(call.parents), value, result.owns_tape and value.is_float, None, entries)
        return node, tape.push(node)


class _Call(NamedTuple):
    """One call of an op: the tape of the program, the library's tape, and the nodes found so far."""

    tape: Tape
    owned: OwnedTape
    parents: list[Node[Any, Any]]

    def tensor_of(self, value: Any) -> Any:
        """Return the tensor of a node, tensors for nodes in a container, and any other value unchanged.

        Raises:
            TapeError: A node is of another tape, a tensor is on none, or a program has not run.
        """
        if isinstance(value, tuple):
            return tuple(map(self.tensor_of, value))
        if isinstance(value, Tensor):
            message = f"a tensor {show(value.shape)} is on no tape but a node is expected"
            raise TapeError(message)
        if isinstance(value, TapeM):
            message = f"{value!r} is a program but the node that it gives is expected"
            raise TapeError(message)
        if not isinstance(value, Node):
            return value
        check_on(self.tape, value)
        self.parents.append(value)
        return value.value.put_tape(self.owned) if value.requires_grad else value.value


def check_on(tape: Tape, node: Node[Any, Any]) -> None:
    """Reject a node of another tape, or of a fork of this one, in constant time.

    Raises:
        TapeError: The node is not on the tape.
    """
    if node not in tape:
        message = f"node {node.id} is of another tape but one of this tape of {len(tape)} nodes is expected"
        raise TapeError(message)


def _copied(value: Any) -> Any:
    """Return a copy of an argument: changing a list or an array later does not change the program."""
    if isinstance(value, list | tuple):
        return tuple(map(_copied, value))
    if isinstance(value, Tensor) and value.version is not None:
        return from_array(value.numpy(copy=True))  # a tensor is immutable, except parameters, which optimizers write
    return np.array(value) if isinstance(value, np.ndarray | np.generic) else value


def _name(op: Callable[..., Any]) -> str:
    return getattr(op, "__name__", type(op).__name__)
