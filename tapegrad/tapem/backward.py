"""Gradients of a loss on a pure tape, and programs that read values and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import TypeVar, override

from tapegrad.autograd.gradients import Gradients, MissingGradientError
from tapegrad.autograd.tape import GradientTape
from tapegrad.autograd.tape_repr import listed
from tapegrad.engines import engine
from tapegrad.errors import ShapeError, TapeError, messages
from tapegrad.tapem.lift import check_on
from tapegrad.tapem.program import Query

if TYPE_CHECKING:
    from tapegrad.autograd.tape import NoneTape
    from tapegrad.tapem.program import TapeM
    from tapegrad.tapem.tape import Node, Tape
    from tapegrad.tensors import Tensor

S = TypeVar("S", bound=tuple[Any, ...], default=Any)
D = TypeVar("D", bound=np.generic, default=np.float32)
Float = TypeVar("Float", bound=np.floating[Any], default=np.float32)


class NodeGradients:
    """The gradients of one loss by node, each of the shape and dtype of its node.

    Attributes:
        tape: The tape of the loss; nodes of another tape are rejected.
        gradients: The same gradients by tensor, for the library's optimizers.

    Examples:
        >>> x, tape = tg.tapem.leaf(tg.tensor([3.0, 4.0])).run(tg.tapem.Tape.empty()).unwrap()
        >>> program = tg.tapem.mul(x, x).bind(tg.tapem.sum).bind(tg.tapem.backward)
        >>> grads = program.eval(tape).unwrap()
        >>> grads.of(x).tolist()
        [6.0, 8.0]
        >>> x in grads, len(grads)
        (True, 3)
    """

    def __init__(self, tape: Tape, gradients: Gradients) -> None:
        self.tape = tape
        self.gradients = gradients

    def of(self, node: Node[S, D]) -> Tensor[S, NoneTape, D]:
        """Return the gradient of a node.

        Raises:
            TapeError: The node is of another tape, or of a fork of this one.
            MissingGradientError: No gradient has reached the node, and `dense` did not request zeros.
        """
        check_on(self.tape, node)
        if node not in self:
            message = f"no gradient for node {node}: the loss does not depend on it, or no gradient flows there"
            raise MissingGradientError(message)
        return self.gradients[node.value]

    def __contains__(self, node: Node[Any, Any]) -> bool:
        return node in self.tape and node.value in self.gradients

    def __len__(self) -> int:
        return len(self.gradients)

    @override
    def __repr__(self) -> str:
        return f"NodeGradients({listed([node for node in self.tape if node in self], str)})"


def backward(loss: Node[tuple[()], Float], *, dense: bool = False) -> TapeM[NodeGradients]:
    """Return a program that computes the gradients of a scalar; the tape is unchanged, so it may run again.

    Args:
        loss: A scalar, which depends on a leaf that requires a gradient.
        dense: Whether float nodes that no gradient reaches get a gradient of zeros, instead of none.

    Examples:
        >>> x, tape = tg.tapem.leaf(tg.tensor([3.0, 4.0])).run(tg.tapem.Tape.empty()).unwrap()
        >>> loss, tape = tg.tapem.mul(x, x).bind(tg.tapem.sum).run(tape).unwrap()
        >>> grads = tg.tapem.backward(loss).eval(tape).unwrap()
        >>> grads.of(x).tolist()
        [6.0, 8.0]
    """
    return Query("backward", lambda tape: _gradients(tape, loss, dense=dense))


def gradient(gradients: NodeGradients, node: Node[S, D]) -> TapeM[Tensor[S, NoneTape, D]]:
    """Return a program that returns the gradient of a node, or an `Err` if there is none.

    Examples:
        >>> x, tape = tg.tapem.leaf(tg.tensor([3.0, 4.0])).run(tg.tapem.Tape.empty()).unwrap()
        >>> program = tg.tapem.mul(x, x).bind(tg.tapem.sum).bind(tg.tapem.backward)
        >>> dx = program.bind(lambda grads: tg.tapem.gradient(grads, x))
        >>> dx.eval(tape).unwrap().tolist()
        [6.0, 8.0]
    """
    return Query("gradient", lambda _: gradients.of(node))


def value(node: Node[S, D]) -> TapeM[Tensor[S, NoneTape, D]]:
    """Return a program that returns the value of a node.

    Examples:
        >>> program = tg.tapem.leaf(tg.tensor([1.0, -2.0])).bind(tg.tapem.relu).bind(tg.tapem.value)
        >>> program.eval(tg.tapem.Tape.empty()).unwrap().tolist()
        [1.0, 0.0]
    """

    def held(tape: Tape) -> Tensor[S, NoneTape, D]:
        check_on(tape, node)
        return node.value

    return Query("value", held)


def item(loss: Node[tuple[()], Any]) -> TapeM[float]:
    """Return a program that returns the value of a scalar node as a Python number.

    Examples:
        >>> program = tg.tapem.leaf(tg.tensor([1.0, 2.0, 6.0])).bind(tg.tapem.mean).bind(tg.tapem.item)
        >>> program.eval(tg.tapem.Tape.empty())
        Ok(value=3.0)
    """

    def number(tape: Tape) -> float:
        check_on(tape, loss)
        _scalar_only("item", loss)
        held: float = loss.value.item()
        return held

    return Query("item", number)


def _gradients(tape: Tape, loss: Node[Any, Any], *, dense: bool) -> NodeGradients:
    check_on(tape, loss)
    _scalar_only("backward", loss)
    if not loss.requires_grad:
        message = "the loss depends on no leaf that requires a gradient"
        raise TapeError(message)
    reached = _reached(loss)
    recorded = GradientTape()
    recorded.entries += [entry for node in reached for entry in node.entries]
    one = engine(loss.value.data).ones((), loss.dtype)
    gradients = recorded.backward(loss.value, one, [node.value for node in reached])
    if dense:
        for node in tape:
            if node.value.is_float and node.value not in gradients:
                gradients.add(node.value, engine(node.value.data).zeros(node.shape, node.dtype))
    return NodeGradients(tape, gradients)


def _reached(loss: Node[Any, Any]) -> list[Node[Any, Any]]:
    """Return the nodes that the gradient of a loss reaches, in the order in which they were created."""
    found = {loss.id: loss}
    left = [loss]
    while left:
        for parent in left.pop().parents:
            if parent.requires_grad and parent.id not in found:
                found[parent.id] = parent
                left.append(parent)
    return [found[id] for id in sorted(found)]


def _scalar_only(call: str, loss: Node[Any, Any]) -> None:
    if loss.shape:
        raise ShapeError(messages.wrong_rank(call, "loss", loss.shape, ()))
