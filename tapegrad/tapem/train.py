"""A small training loop: the loss is a program, which each step runs on a new tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tapegrad.autograd.gradients import Gradients
from tapegrad.autograd.tape import NoneTape
from tapegrad.errors.tracebacks import public_api
from tapegrad.nn import Param
from tapegrad.optim import SGD
from tapegrad.tapem.backward import backward, item
from tapegrad.tapem.lift import leaf
from tapegrad.tapem.program import Do, TapeM, do
from tapegrad.tapem.result import Err, Ok, Result
from tapegrad.tapem.tape import Node, Tape
from tapegrad.tensors import Tensor

Loss = Callable[..., TapeM[Node[tuple[()], Any]]]
Plain = Tensor[Any, NoneTape, Any]


class Trained(NamedTuple):
    """The result of a training loop.

    Examples:
        >>> def loss(w):
        ...     return tg.tapem.mul(w, w).bind(tg.tapem.sum)
        >>> trained = tg.tapem.sgd(loss, [tg.tensor([1.0, -2.0])], lr=0.25, steps=2).unwrap()
        >>> trained.losses
        (5.0, 1.25)
        >>> [x.tolist() for x in trained.parameters]
        [[0.25, -0.5]]
    """

    parameters: tuple[Plain, ...]
    losses: tuple[float, ...]  # before each step


@public_api
def sgd(loss: Loss, parameters: Sequence[Plain], *, lr: float, steps: int) -> Result[Trained]:
    """Minimize a loss by stochastic gradient descent, with the library's `SGD`.

        x ← x - η dL/dx

    Args:
        loss: Maps a node for each parameter to a program whose value is a scalar node.
        parameters: The initial values; they are not changed.
        lr: The learning rate η, at least 0.
        steps: The number of steps.

    Returns:
        The parameters after the last step and the losses before each step, or the error of the first run that failed.

    Raises:
        ValueError: `lr` is negative.

    Examples:
        >>> def loss(w, b):
        ...     return tg.tapem.add(w, b).bind(lambda y: tg.tapem.mul(y, y)).bind(tg.tapem.sum)
        >>> result = tg.tapem.sgd(loss, [tg.tensor([1.0, 3.0]), tg.tensor([0.0, 1.0])], lr=0.25, steps=2)
        >>> w, b = result.unwrap().parameters
        >>> w.tolist(), b.tolist()
        ([0.5, 1.0], [-0.5, -1.0])
        >>> result.unwrap().losses
        (17.0, 0.0)
    """
    params = [Param(x) for x in parameters]
    optimizer = SGD(params, lr)
    losses: list[float] = []
    for _ in range(steps):
        outcome = _differentiated(loss, params).eval(Tape.empty())
        if isinstance(outcome, Err):
            return outcome
        number, gradients = outcome.value
        losses.append(number)
        optimizer.step(gradients)
    return Ok(Trained(tuple(param.detach() for param in params), tuple(losses)))


@do
def _differentiated(loss: Loss, params: Sequence[Param[Any, Any]]) -> Do[tuple[float, Gradients]]:
    nodes = []
    for param in params:
        nodes.append((yield from leaf(param)))  # noqa: PERF401  # no comprehension can yield
    scalar = yield from loss(*nodes)
    grads = yield from backward(scalar)
    by_param = Gradients()
    for param, node in zip(params, nodes, strict=True):
        by_param.add(param, grads.of(node).data)
    return (yield from item(scalar)), by_param
