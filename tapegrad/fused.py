"""Fusion of elementwise functions into one op, which allocates no array but its result."""

from __future__ import annotations

import functools
import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from tapegrad.autograd.op import rematerializable
from tapegrad.autograd.tape import GradientTape, OwnedTape, is_data
from tapegrad.engines import engine
from tapegrad.engines.interface import HALF
from tapegrad.engines.numpy.program import program
from tapegrad.engines.trace import Trace, TracedValue
from tapegrad.engines.underflow import ignore_underflow
from tapegrad.errors import DTypeError, ShapeError, TapeError, messages
from tapegrad.errors.options import check_function
from tapegrad.errors.tracebacks import public_api
from tapegrad.ops._broadcast import sum_to_shape
from tapegrad.sizes import broadcast
from tapegrad.tensors import Tensor, node
from tapegrad.tensors.operands import unwrap_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Tape

F = TypeVar("F", bound="Callable[..., Any]")


@public_api
def fused(function: F) -> F:
    """Fuse an elementwise function into one op.

    Each call runs the function once on tensors that have a shape but no values, and traces its ops into a program. The
    program then runs tile by tile, in the CPU's cache and on as many threads as `set_threads` allows, so that the
    result is the only array allocated. The backward pass is traced in the same way, from the backward closures of the
    function's ops. A taped call saves only its arguments and, for each taped argument, the derivative, which is
    computed together with the result; a derivative that takes only a few products and sums is not saved.

        @fused
        def gate(x: Tensor[S, T], y: Tensor[S, T]) -> Tensor[S, T]:
            return tanh(x) * sigmoid(y) + x * y

    It is faster from about ten thousand elements on; below that, tracing takes longer than running the program. Inside
    the function each tensor has the shape to which all of them broadcast. The function is called without fusion under
    `jit`, because XLA fuses it, in a summary, and on tensors whose gradients are differentiated again.

    Args:
        function: A function that returns a tensor and uses only elementwise ops. Each tensor has to be an argument, by
            position or by name, not an element of a container; other arguments may have any type.

    Returns:
        A function of the same signature. It raises `ShapeError` if its arguments do not broadcast, if an op is not
        elementwise, or if it reads an array that is not an argument; `TapeError` if it needs the values of a tensor, or
        the gradient of a tensor that is not an argument; `DTypeError` if no argument is a tensor, or the result is not
        one.

    Examples:
        >>> @tg.fused
        ... def gate(x, scale):
        ...     return tg.relu(x) * scale + 1.0
        >>> x = tg.tensor([-1.0, 2.0, 3.0])
        >>> gate(x, 0.5).tolist()
        [1.0, 2.0, 2.5]
        >>> gate(x.trace(), 0.5).sum().backward()[x].tolist()
        [0.0, 0.5, 0.5]
    """
    check_function("fused", "function", function)
    names = tuple(inspect.signature(function).parameters)

    @functools.wraps(function)
    @rematerializable(memory_bound=True)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = _Given.among(args, kwargs, names)
        with _named(function.__name__):
            if not given.tensors:
                raise DTypeError("no argument is a tensor")
            if not all(map(_is_array, given.tensors)) or _is_of_parameters(given.tensors):
                return _tensor(function(*args, **kwargs))
            return _record_traced(function, given)

    return call  # type: ignore[return-value]  # wraps() keeps the signature, which mypy cannot see


class _Given(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tensors: list[Tensor[Any, Any, Any]]
    names: list[str]  # of the tensors

    @classmethod
    def among(cls, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]) -> _Given:
        """Find the tensors among some arguments."""
        called = [names[min(position, len(names) - 1)] for position in range(len(args))] + [*kwargs]
        found = [(name, x) for name, x in zip(called, (*args, *kwargs.values()), strict=True) if isinstance(x, Tensor)]
        return cls(args, kwargs, [x for _, x in found], [name for name, _ in found])

    def call(self, function: Callable[..., Any], tensors: Sequence[Any]) -> Tensor[Any, Any, Any]:
        """Call a function with these arguments, but with other tensors."""
        others = iter(tensors)
        args = [next(others) if isinstance(x, Tensor) else x for x in self.args]
        return _tensor(
            function(*args, **{name: next(others) if isinstance(x, Tensor) else x for name, x in self.kwargs.items()})
        )


class _TracedFunction(NamedTuple):
    """The traced program of a function: its result, and the gradients of its operands."""

    out: TracedValue
    shape: tuple[int, ...]  # of the result
    dy: TracedValue
    gradients: dict[int, TracedValue]  # by the position of the operand
    derivatives: dict[int, TracedValue]  # derivatives, gradients divided by `dy`: only those that are worth saving

    def run(self, operands: list[Tensor[Any, Any, Any]], saved: Iterable[int]) -> tuple[Any, dict[int, Any]]:
        """Return the result and the derivatives to save, by the position of the operand."""
        positions = [position for position in saved if position in self.derivatives]
        forward = program([self.out, *(self.derivatives[position] for position in positions)])
        with ignore_underflow():  # as in any op
            out, *derivatives = forward.run(
                [operands[one].data for one in forward.arguments], self.out.trace.numbers, self.shape, _compiler()
            )
        return out, dict(zip(positions, derivatives, strict=True))

    def run_back(self, operands: list[Tensor[Any, Any, Any]], dy: Any, wanted: list[int]) -> list[Any]:
        """Return the gradients of some operands, each in the shape of the result."""
        back = program([self.gradients[position] for position in wanted])
        given = [dy if position == self.dy.ref else operands[position].data for position in back.arguments]
        return back.run(given, self.dy.trace.numbers, self.shape, _compiler())


def _record_traced(function: Callable[..., Any], given: _Given) -> Any:
    """Trace a function, run the program, and record it as one op."""
    operands, tape = unwrap_all(given.tensors, "operands")
    training = tape.is_training
    shape: Any = broadcast(**dict(zip(given.names, (x.shape for x in operands), strict=True)))
    traced = _trace(function, given, operands, shape, tape)
    saves_derivatives = tape.owns and tape.checkpoint is None  # a checkpointing tape runs the function again
    tracked = [
        position
        for position, x in enumerate(given.tensors)
        if saves_derivatives and (x.tape.holds or not x.has_plain_state)
    ]
    value, derivatives = traced.run(operands, tracked)
    out = node(value)
    if not traced.gradients:
        return out

    def backward(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        wanted = [position for position in traced.gradients if grads.wants(operands[position])]
        if isinstance(dy, np.ndarray | np.generic):
            saved = dict(derivatives)
            derivatives.clear()  # a gradient may overwrite one; if the closure runs again, it computes them
            others = [position for position in wanted if position not in saved]
            found = dict(zip(others, traced.run_back(operands, dy, others), strict=True)) if others else {}
            for position in {*wanted} & {*saved}:
                found[position] = engine(dy).scale_in_place(saved, position, dy)
                del saved[position]
        else:  # a gradient that is to be differentiated again
            found = dict(zip(wanted, _op_by_op(function, given, operands, wanted, dy, training=training), strict=True))
        for position in wanted:
            grads.add(operands[position], sum_to_shape(found[position], operands[position]))

    backward.__qualname__ = f"{function.__name__}.<locals>.backward"  # the tape's repr and graph show it
    return tape.record(out, tuple(operands), backward, saved=tuple(operands))


def _trace(
    function: Callable[..., Any],
    given: _Given,
    operands: list[Tensor[Any, Any, Any]],
    shape: tuple[int, ...],
    outer: Tape,
) -> _TracedFunction:
    """Trace what a function computes, and if it is recorded on an outer tape, what the backward pass computes."""
    trace, is_taped = Trace(shape), outer.owns
    leaves = [node(trace.argument(x.dtype)) for x in operands]  # first, so that they have the operands' positions
    tape = OwnedTape(GradientTape(training=outer.is_training))
    ours = tape.tape
    with np.errstate(all="ignore"):  # the values are placeholders
        result = given.call(function, [x.put_tape(tape) for x in leaves] if is_taped else leaves)
        if result.owns_tape and not (is_taped and result.tape.tape is ours and not ours.leaves and not ours.watched):
            raise TapeError(
                "its result hangs on a tensor that is traced, or a parameter, and is not among its arguments"
            )
        value: Any = result.data
        if not isinstance(value, TracedValue):
            raise ShapeError("its result is computed from none of its arguments")
        shape = np.broadcast_shapes(*(operands[position].shape for position in program([value]).arguments))
        dy = trace.argument(value.dtype)
        derivatives: dict[int, TracedValue] = {}
        gradients: dict[int, TracedValue] = {}
        if result.owns_tape and result.is_float:
            targets = [x for x in leaves if x.is_float]
            # A gradient of 1 removes most multiplications; with half precision, loss scaling has to stay in `dy`.
            is_one = value.dtype.itemsize > 2 and all(x.dtype == value.dtype for x in targets)
            seed = trace.number(np.ones((), value.dtype)) if is_one else dy
            grads = result.backward(wrt=targets, seed=node(seed))
            gradients = {
                position: _traced_value(grads.ref(x), trace) for position, x in enumerate(leaves) if x in grads
            }
            if is_one:
                derivatives = {
                    position: derivative
                    for position, derivative in gradients.items()
                    if not program([derivative]).is_cheap
                }
                gradients = {position: dy * derivative for position, derivative in gradients.items()}
    return _TracedFunction(value, shape, dy, gradients, derivatives)


def _op_by_op(
    function: Callable[..., Any],
    given: _Given,
    operands: list[Tensor[Any, Any, Any]],
    wanted: list[int],
    dy: Any,
    *,
    training: bool,
) -> list[Any]:
    """Return the gradients of some operands, computed op by op as values of the backend of `dy`."""
    tape = OwnedTape(GradientTape(training=training))
    leaves = [node(x.data) for x in operands]
    result = given.call(function, [x.put_tape(tape) for x in leaves])
    grads = result.backward(wrt=[leaves[position] for position in wanted], seed=node(dy))
    return [grads.ref(leaves[position]) for position in wanted]


def _traced_value(value: Any, trace: Trace) -> TracedValue:
    """Return a gradient as a value; a constant gradient is converted to one."""
    return value if isinstance(value, TracedValue) else trace.record(np.positive, value)


def _compiler() -> Any:
    """Return the compiler for programs on NumPy arrays, or None if there is none."""
    primitives: Any = engine(np.float32(0))
    return primitives.compiler


def _is_of_parameters(tensors: Sequence[Tensor[Any, Any, Any]]) -> bool:
    """Return whether a result without a tape may be recorded all the same, op by op: no tensor is data."""
    return not any(x.owns_tape or (is_data(x) and not x.tape.holds) for x in tensors)


def _is_array(x: Tensor[Any, Any, Any]) -> bool:
    # Half precision is computed op by op: a compiled program does not support it either.
    return isinstance(x.data, np.ndarray | np.generic) and x.data.dtype.char not in HALF


def _tensor(result: Any) -> Tensor[Any, Any, Any]:
    if not isinstance(result, Tensor):
        message = f"its result is {messages.with_article(type(result).__name__)}, not a tensor"
        raise DTypeError(message)
    return result


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Prefix the messages of errors with the name of the function."""
    try:
        yield
    except (ShapeError, DTypeError, TapeError) as error:
        named: Any = type(error)(f"{name}: {error}")
        named.op = name  # an outer op does not change an error that has an op
        raise named from None
