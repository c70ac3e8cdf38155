"""Loops over the steps of a sequence, with a state that is passed on from step to step."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from tapegrad.autograd.gradients import Gradients
from tapegrad.autograd.parameter_tape import lost
from tapegrad.autograd.several import record_several
from tapegrad.autograd.tape import GradientTape, is_data
from tapegrad.engines import engine
from tapegrad.errors import DTypeError, ShapeError, TapeError, messages
from tapegrad.errors.options import check_function
from tapegrad.errors.tracebacks import public_api
from tapegrad.ops import stack, unstack
from tapegrad.sizes import show
from tapegrad.tensors import Tensor, described, node
from tapegrad.tensors.operands import fixed, joined, unwrap_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from tapegrad.autograd.tape import Entry
    from tapegrad.engines import Backend

State = TypeVar("State")

_NOT_LIFTED = (
    "a compiled loop has no second derivative, because its operands are of the level below; "
    "lift one of them by from_inner, or use disable_jit"
)
_LOST = "a compiled loop computed it without a tape; trace its state or its sequence"


@public_api
def scan(step: Callable[[Any, Any], Any], state: State, xs: Any) -> tuple[State, Any]:
    """Run a step for each element of a sequence, and pass a state on from step to step.

        s[t+1], y[t] = f(s[t], x[t])
        t = 0, ..., n - 1

    It computes what a loop in Python computes, with the same gradients, also of parameters and tensors that the step
    reads without being given them. Under `jit` the step is traced once and runs in a compiled loop (`lax.scan`), so
    that the time to compile does not grow with the number of steps. There the step must not change a parameter or a
    buffer: make it a part of the state. A second derivative under `jit` traces every step.

    To save memory, checkpoint the step: `scan(checkpoint(step), state, xs)` saves the states only.

    Args:
        step: Takes the state and an element of `xs`. Returns the new state and a result: a tensor, a tuple of tensors,
            or None. The shapes and dtypes of the state must stay the same.
        state: The state before the first step: a tensor, or a tuple of tensors, which may be nested.
        xs: A sequence, `(n, ...)`, of at least one element, or a tuple of sequences of the same length n.

    Returns:
        The last state, and the results of all steps, stacked along a new first axis, `(n, ...)`. If a part of `state`
        or `xs` has a tape, all float parts are put on it.

    Raises:
        ShapeError: A step changes the shape of the state, or the shape of its results; a sequence has no elements; or
            the sequences have different lengths.
        DTypeError: A step changes the dtype of the state or its structure, or does not return a state and a result; or
            a part of `state` or `xs` is not a tensor.
        TapeError: Under `jit`, the step changes a parameter or a buffer; or the gradient of a loop is differentiated
            again although no operand of the loop is of that level of `Autodiff`.

    Source:
        JAX 0.10, `jax.lax.scan`.

    Examples:
        >>> def discounted(total, reward):
        ...     total = 0.5 * total + reward
        ...     return total, total
        >>> last, totals = tg.scan(discounted, tg.tensor(0.0), tg.tensor([8.0, 0.0, 0.0, 4.0]))
        >>> last.item(), totals.tolist()
        (5.0, [8.0, 4.0, 2.0, 5.0])
        >>> rewards = tg.tensor([1.0, 1.0, 1.0])
        >>> last, totals = tg.scan(discounted, tg.tensor(0.0), rewards.trace())
        >>> last.backward()[rewards].tolist()
        [0.25, 0.5, 1.0]
    """
    check_function("scan", "step", step)
    states, rows = _leaves(state, "state"), _leaves(xs, "xs")
    _check_lengths(rows)
    results: list[Any] = []  # what the last step has returned, for its structure

    def checked(now: list[Any], elements: list[Any]) -> tuple[list[Any], list[Any]]:
        new, y = _pair(step(_rebuilt(state, iter(now)), _rebuilt(xs, iter(elements))))
        after, ys = _leaves(new, "the new state"), [] if y is None else _leaves(y, "the result")
        if _structure(new) != _structure(state):
            message = f"scan: the new state is {_structure(new)} but {_structure(state)} is expected"
            raise DTypeError(message)
        for (place, one), (_, before) in zip(after, states, strict=True):
            _check_kind(place, one, before)
        results[:] = [y]
        return [one for _, one in after], [one for _, one in ys]

    last, stacked = looped(checked, [one for _, one in states], [one for _, one in rows])
    return _rebuilt(state, iter(last)), None if results[0] is None else _rebuilt(results[0], iter(stacked))


def looped(
    step: Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]],
    states: Sequence[Tensor[Any, Any, Any]],
    xs: Sequence[Tensor[Any, Any, Any]],
    placed: Callable[[Sequence[Any]], AbstractContextManager[list[Any]]] | None = None,
) -> tuple[list[Any], list[Any]]:
    """Run a step for each element of some tensors along their first axis.

    Args:
        step: Takes the parts of the state and the elements; returns the parts of the new state, and the results.
        states: The parts of the state before the first step.
        xs: The sequences, of the same length, at least one.
        placed: Under `jit`, a context in which certain tensors have the values of the elements; by default new ones.

    Returns:
        The parts of the last state, and the results of all steps, each stacked along a new first axis.
    """
    nodes, tape = unwrap_all([*states, *xs], "operands")
    primitives = engine(*(x.data for x in nodes))
    if primitives.compiles_loops:
        with suppress(_LiftedError):
            of_module = [x.tape.holds or not is_data(x) for x in (*states, *xs)]
            return _Loop(step, nodes, of_module, len(states), tape, placed or _new_nodes).run(primitives)
    given = [_on(x, tape) for x in (*states, *xs)]
    now, elements = given[: len(states)], [_unstacked(x) for x in given[len(states) :]]
    results: list[list[Any]] = []
    for row in zip(*elements, strict=True):
        now, ys = step(now, [*row])
        if results and len(ys) != len(results[0]):
            message = f"scan: a step has {len(ys)} results but the first step has {len(results[0])}"
            raise ShapeError(message)
        for one, first in zip(ys, results[0] if results else (), strict=bool(results)):
            _check_kind("the result", one, first)
        results.append(ys)
    return now, [stack(list(one)) for one in zip(*results, strict=True)]


class _LiftedError(Exception):
    """A step computes with tensors as values, whose gradients are to be differentiated again: each step is recorded."""


class _Loop:
    """A loop that the engine compiles: one step is recorded, and its entries are its backward pass.

    Attributes:
        tape: The tape of the operands, or of what the step has read; None if there is none.
        read: The nodes that the step has read without being given them, such as parameters.
    """

    def __init__(
        self,
        step: Callable[[list[Any], list[Any]], tuple[list[Any], list[Any]]],
        nodes: list[Any],
        of_module: list[bool],
        count: int,
        tape: Any,
        placed: Callable[[Sequence[Any]], AbstractContextManager[list[Any]]],
    ) -> None:
        self.tape: Any = tape if tape.owns else None
        self.read: list[Any] = []
        self._untraced: Any = tape
        self._of_module = of_module  # whether each operand is a parameter, or was computed from parameters alone
        self._step, self._nodes, self._count, self._placed = step, nodes, count, placed
        self._is_of_parameters = False

    def run(self, primitives: Backend[Any]) -> tuple[list[Any], list[Any]]:
        """Run all steps, and record them as one op."""
        values = [x.data for x in self._nodes]
        first, rows = values[: self._count], values[self._count :]
        last, ys, steps_back = primitives.scan(self._one_step, first, rows, 0)
        outs: Any = [node(value) for value in (*last, *ys)]
        if self.tape is not None:
            operands = (*filter(_is_float, self._nodes), *self.read)

            def backward(grads: Gradients, dys: list[Any]) -> None:
                if any(isinstance(dy, Tensor) for dy in dys):
                    raise TapeError(_NOT_LIFTED)  # another run of the step would draw other random numbers
                dys = [0.0 if dy is None else dy for dy in dys]
                dstate, drows, sums = steps_back(dys[: self._count], dys[self._count :])
                of_floats = [one for one, x in zip(dstate, self._nodes, strict=False) if x.is_float]
                for x, gradient in zip(operands, (*of_floats, *drows, *sums), strict=True):
                    if grads.wants(x):
                        grads.add(x, gradient)

            outs = record_several(self.tape, outs, operands, backward, "scan")
        elif self._is_of_parameters:
            outs = [lost(one, _LOST) if one.is_float else one for one in outs]
        return outs[: self._count], outs[self._count :]

    def _one_step(self, now: Sequence[Any], elements: Sequence[Any]) -> Any:
        """Run a step on values; return the new state, the results, and the backward pass, see `Backend.scan`."""
        with self._placed(elements) as rows:
            before, nodes = self.tape, self._nodes_with(now, rows)
            outs, entries = self._recorded(nodes)
            if self.tape is not before:
                engine(*(x.data for x in nodes)).restart_step()
                nodes = self._nodes_with(now, rows)
                outs, entries = self._recorded(nodes)
            values = [x.data for x in outs]
        if any(isinstance(value, Tensor) for value in values):
            raise _LiftedError
        results = values[: self._count], values[self._count :]
        known = {*nodes, *(out for _, out, _, _ in entries)}
        inputs = dict.fromkeys(x for _, _, inputs, _ in entries for x in inputs)
        self.read = [x for x in inputs if x not in known and x.is_float]
        if self.tape is None:
            is_of_module = any(x.is_float and not is_data(x) for x in outs)
            self._is_of_parameters = any(x.tape.holds for x in outs) or (self._untraced.holds and is_of_module)
            return *results, None
        keys = [x.node if x.owns_tape else x for x in outs]
        floats = [x for x in nodes[self._count :] if x.is_float]

        def backward(dstate: Sequence[Any], dys: Sequence[Any]) -> Any:
            grads, tape = Gradients(), GradientTape(wrt=[*filter(_is_float, nodes), *self.read])
            for x, dy in zip(keys, (*dstate, *dys), strict=True):
                if x.is_float and hasattr(dy, "shape"):
                    grads.add(x, dy)
            tape.put_back(entries)
            with self._placed(elements):  # closures read values through nodes
                found = tape.execute(grads).values_by_node
            return (
                tuple(found.get(x, 0.0) for x in nodes[: self._count]),
                tuple(_found(found, x) for x in floats),
                tuple(_found(found, x) for x in self.read),
            )

        return *results, backward

    def _nodes_with(self, now: Sequence[Any], rows: list[Any]) -> list[Any]:
        """Return the nodes of a step; without a tape, what parameters alone have computed is no data inside it."""
        nodes = [*map(node, now), *rows]
        if self.tape is not None:
            return nodes
        pairs = zip(nodes, self._of_module, strict=True)
        return [fixed(x.data) if of_module and is_data(x) else x for x, of_module in pairs]

    def _recorded(self, nodes: list[Any]) -> tuple[list[Any], list[Entry]]:
        """Run the step on its nodes; return its results, and the entries that it has recorded.

        If the step has read a tensor with a tape, the state is on that tape from here on, and the step must run again.
        """
        start = GradientTape.time()
        given = [x if self.tape is None else _on(x, self.tape) for x in nodes]
        new, ys = self._step(given[: self._count], given[self._count :])
        outs = [*new, *ys]
        _, tape = unwrap_all(outs, "operands")
        if not tape.owns:
            return outs, []
        entries: list[Entry] = tape.tape.cut(start)
        if self.tape is None:
            self.tape = joined(tape, self._untraced)
        return outs, entries


def _unstacked(x: Tensor[Any, Any, Any]) -> list[Any]:
    """Return the elements of a tensor along its first axis; on an owned tape they are recorded as one op."""
    if x.owns_tape:
        return _recorded_elements(x)
    if x.tape.holds or x.is_of_module:
        return list(unstack(x))
    values: Any = x.data
    return [node(values[at]) for at in range(x.shape[0])]


def _recorded_elements(x: Tensor[Any, Any, Any]) -> list[Any]:
    plain: Any = x.node
    outs = [node(plain.data[at]) for at in range(plain.shape[0])]

    def backward(grads: Gradients, dys: list[Any]) -> None:
        known = next(dy for dy in dys if dy is not None)
        zeros = engine(known).zeros(known.shape, known.dtype)
        rows = [(zeros if dy is None else dy).reshape((1, *known.shape)) for dy in dys]
        grads.add(plain, engine(*rows).concat(rows, 0))

    return record_several(x.tape, outs, (plain,), backward, "scan")


@contextmanager
def _new_nodes(values: Sequence[Any]) -> Iterator[list[Any]]:
    yield [node(value) for value in values]


def _on(x: Tensor[Any, Any, Any], tape: Any) -> Any:
    """Return a float tensor on a tape, if it has none; an int has no gradient, and stays as it is."""
    return x if x.tape.holds or not tape.owns or not x.is_float else x.put_tape(tape)


def _is_float(x: Tensor[Any, Any, Any]) -> bool:
    return x.is_float


def _found(gradients: dict[Any, Any], x: Tensor[Any, Any, Any]) -> Any:
    """Return the gradient of a node; zeros if none has reached it."""
    return gradients[x] if x in gradients else engine(x.data).zeros(x.shape, x.dtype)


def _leaves(value: Any, place: str) -> list[tuple[str, Any]]:
    """Return each tensor in nested tuples, with its place."""
    if isinstance(value, tuple):
        return [leaf for at, one in enumerate(value) for leaf in _leaves(one, f"{place}[{at}]")]
    if not isinstance(value, Tensor):
        message = f"scan: {place} is {described(value)}, neither a tensor nor a tuple of tensors"
        raise DTypeError(message)
    return [(place, value)]


def _rebuilt(value: Any, leaves: Iterator[Any]) -> Any:
    """Return nested tuples like `value` of other tensors."""
    if not isinstance(value, tuple):
        return next(leaves)
    make: Any = getattr(value, "_make", tuple)  # a named tuple has `_make`
    return make([_rebuilt(one, leaves) for one in value])


def _structure(value: Any) -> str:
    if not isinstance(value, tuple):
        return "a tensor"
    return f"({', '.join(map(_structure, value))}{',' * (len(value) == 1)})"


def _pair(result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        given = f"a tuple of {len(result)}" if isinstance(result, tuple) else described(result)
        message = f"scan: step returns {given} but a state and a result are expected"
        raise DTypeError(message)
    return result


def _check_lengths(rows: list[tuple[str, Any]]) -> None:
    if not rows:
        message = "scan: xs is an empty tuple, so the number of steps is unknown"
        raise ShapeError(message)
    first, x = rows[0]
    for place, one in rows:
        if not one.ndim:
            message = f"scan: {place} has shape () but needs an axis of steps"
            raise ShapeError(message)
        if one.shape[0] != x.shape[0]:
            message = f"scan: {place} has {one.shape[0]} steps but {first} has {x.shape[0]}"
            raise ShapeError(message)
    if not x.shape[0]:
        message = f"scan: {first} {show(x.shape)} has no steps"
        raise ShapeError(message)


def _check_kind(place: str, x: Tensor[Any, Any, Any], expected: Tensor[Any, Any, Any]) -> None:
    """Reject a part of a state or a result whose shape or dtype differs from that of an earlier step."""
    if x.shape != expected.shape:
        raise ShapeError(messages.other_sizes("scan", place, x.shape, expected.shape))
    if x.dtype != expected.dtype:
        raise DTypeError(messages.wrong_dtype("scan", place, str(x.dtype), str(expected.dtype)))
