"""Recording an op that has several results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.engines import engine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Node, OwnedTape


def record_several(
    tape: OwnedTape,
    outs: Sequence[Node],
    inputs: tuple[Node, ...],
    backward: Callable[[Gradients, list[Any]], None],
    name: str,
) -> list[Any]:
    """Record an op with several results, of which those that are floats get the tape.

    An entry of a tape has one output. So each result has an entry that only collects its gradient; they share an input,
    which the entry of the op itself has as its output, and which runs after all of them.

    Args:
        tape: The tape.
        outs: The results.
        inputs: The operands.
        backward: Takes the gradients, and that of each result, or None if none has reached it; at least one has.
        name: The name of the op.
    """
    collected: dict[int, Any] = {}
    number: Any = np.zeros((), np.float32)
    shared = outs[0].with_data(number)

    def backward_of_all(grads: Gradients) -> None:
        grads.pop_output(shared)
        dys = [collected.pop(at, None) for at in range(len(outs))]
        backward(grads, dys)

    def collecting(at: int, out: Node) -> Callable[[Gradients], None]:
        def backward_of_one(grads: Gradients) -> None:
            dy = grads.pop_output(out)
            collected[at] = dy
            grads.add(shared, engine(dy).zeros((), np.dtype(np.float32)))

        backward_of_one.__qualname__ = f"{name}.<locals>.backward"
        return backward_of_one

    backward_of_all.__qualname__ = f"{name}.<locals>.backward"
    tape.record(shared, inputs, backward_of_all, saved=())
    return [
        tape.record(out, (shared,), collecting(at, out), saved=()) if out.is_float else out
        for at, out in enumerate(outs)
    ]
