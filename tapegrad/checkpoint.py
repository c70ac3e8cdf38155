"""Checkpointing: values that a tape does not save but computes again when the backward pass reads them.

Closures read values through nodes, `x.data`. If a value may be computed again, its node is emptied as soon as the op
that computed it has returned; the tensor that the op returned keeps the value. In the backward pass the first closure
that reads the node computes the value again from its operands, which are read in the same way. The value is released
after the backward step of the op that computed it.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar
from weakref import ref

import numpy as np
from typing_extensions import override

from tapegrad.autograd.tape import Checkpointing, GradientTape, OwnedTape, strongest
from tapegrad.errors import DTypeError, TapeError
from tapegrad.errors.messages import with_article
from tapegrad.errors.tracebacks import public_api
from tapegrad.sizes import show
from tapegrad.tensors import Tensor
from tapegrad.tensors.nodes import Lazy, set_lazy, set_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import Pullback

F = TypeVar("F")  # a function or a module; no bound means to all type checkers that both can be called


class NoCheckpointing(Checkpointing):
    """The default strategy: save all values that the backward pass needs, and compute nothing twice.

    Examples:
        >>> x = tg.tensor([1.0, -2.0, 3.0])
        >>> y = tg.square(tg.relu(x.trace(checkpoint=tg.NoCheckpointing())))
        >>> grads = y.sum().backward()
        >>> grads[x].tolist()
        [2.0, 0.0, 6.0]
    """

    extent = 0

    @override
    def register(
        self,
        result: Any,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        memory_bound: bool,
    ) -> None:
        pass


class BalancedCheckpointing(Checkpointing):
    """Save the results of compute-bound ops, and recompute those of memory-bound ops in the backward pass.

    Elementwise ops and changes of shape run again, each at most once and only if a gradient needs its value: `add`,
    `exp`, `gelu`, `layer_norm`, `reshape`, slices and similar ops. The results of matrix products, reductions, gathers
    and random ops are saved, and so are tensors without a tape, such as masks and parameters.

    Source:
        Chen et al., [Training deep nets with sublinear memory cost](https://arxiv.org/abs/1604.06174), §3; which ops
        are worth saving follows burn's strategy of the same name.

    Examples:
        >>> x = tg.tensor([1.0, -2.0, 3.0])
        >>> y = tg.square(tg.relu(x.trace(checkpoint=tg.BalancedCheckpointing())))
        >>> grads = y.sum().backward()
        >>> grads[x].tolist()
        [2.0, 0.0, 6.0]
    """

    extent = 1

    @override
    def register(
        self,
        result: Any,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        memory_bound: bool,
    ) -> None:
        if memory_bound:
            _empty(result, function, args, kwargs)


class _Segment(Checkpointing):
    """Save only the inputs and outputs of a segment."""

    extent = 2

    @override
    def register(
        self,
        result: Any,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        memory_bound: bool,
    ) -> None:
        _empty(result, function, args, kwargs)


_SEGMENT: Final = _Segment()
_FIXED: Final = (int, float, str, slice, type, np.generic, np.dtype)  # arguments that never change


@public_api
def checkpoint(f: F) -> F:
    """Checkpoint a function or a module: the backward pass recomputes its intermediate values, which are not saved.

    The function or module becomes a segment, of which the tape saves the inputs and outputs. Only the library's ops
    run a second time: a layer updates its state once, a random mask stays the same, and the parameters get the same
    gradients. A segment inside another is a part of it. For n layers in segments of √n layers each, a tape holds as
    much as for 2 √n layers.

    Args:
        f: From tensors to tensors; both may be nested in tuples, lists and dicts.

    Returns:
        A function with the signature of `f`; for a module, a module of the same kind that shares its parameters and
        all other attributes. If no argument has a tape, it computes the same as `f`, in the same way.

    Raises:
        DTypeError: `f` is not callable.

    Source:
        Chen et al., [Training deep nets with sublinear memory cost](https://arxiv.org/abs/1604.06174), §4.1.

    Examples:
        >>> @tg.checkpoint
        ... def block(x):
        ...     return tg.relu(tg.square(x) - 2.0)
        >>> x = tg.tensor([1.0, -2.0, 3.0])
        >>> grads = block(x.trace()).sum().backward()
        >>> grads[x].tolist()
        [0.0, -4.0, 6.0]
    """
    function: Any = f
    if not callable(f):
        message = f"checkpoint: f is {with_article(type(f).__name__)}, neither a function nor a module"
        raise DTypeError(message)
    if hasattr(f, "forward"):  # a module has to stay one, so that its parameters are found
        module: Any = copy.copy(f)
        module.__class__ = _segmented(module.__class__)
        twin: F = module
        return twin

    @functools.wraps(function)
    def segment(*args: Any, **kwargs: Any) -> Any:
        return _run(function, args, kwargs)

    wrapped: Any = segment  # with the signature of `f`
    segmented: F = wrapped
    return segmented


@functools.cache
def _segmented(layer: Any) -> Any:
    """Return a subclass of a module class whose `forward` is a segment."""

    @functools.wraps(layer.forward)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _run(functools.partial(layer.forward, self), args, kwargs)

    def reduce(self: Any) -> Any:
        return _new_segment, (layer,), vars(self)

    attributes = {"__doc__": layer.__doc__, "__module__": layer.__module__, "__qualname__": layer.__qualname__}
    twin = type(layer)(layer.__name__, (layer,), {**attributes, "forward": forward, "__reduce__": reduce})
    twin.__parameters__ = getattr(layer, "__parameters__", ())  # error messages print them: `Linear(5, 7)`
    return twin


def _new_segment(layer: Any) -> Any:
    """Return a segment without attributes, which copy and pickle then set."""
    return object.__new__(_segmented(layer))


def _run(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function while its tapes empty all nodes, then restore the values of its outputs for good."""
    tapes = [x.tape for x in _tensors((args, kwargs)) if x.owns_tape]
    outside = {tape.tape: tape.tape.checkpoint for tape in tapes}
    if not tapes:
        return f(*args, **kwargs)
    for tape in outside:
        tape.checkpoint = _SEGMENT
    try:
        result = f(*args, **kwargs)
    finally:
        restored: dict[GradientTape, Checkpointing | None] = {}
        for tape, strategy in outside.items():
            after = OwnedTape(tape).tape  # if the call merged the tape, the tape that it was merged into
            restored[after] = strongest(restored.get(after), strategy)
        for tape, strategy in restored.items():
            tape.checkpoint = strategy
    if _SEGMENT not in restored.values():  # otherwise this is a part of another segment
        for y in _tensors(result):
            _fill(y)
    return result


class Recomputed(Lazy[Any, Any]):
    """A node without its value: the first read computes the value, which is kept until its backward step has run.

    An op's closure refers to the node before the tape knows whether to save the value. So the node stays the same
    object, and its class is changed to this one, which has the same slots.
    """

    __slots__ = ()

    @override
    def read(self) -> Any:
        value = self.node.value()
        return _computed(self) if value is None else value

    @override
    def discard_value(self, *, for_good: bool) -> None:
        self.node.discard(for_good=for_good)
        if self.is_filled():
            del self.data

    def is_filled(self) -> bool:
        """Return whether the value has been computed again."""
        try:
            _slot.__get__(self)
        except AttributeError:
            return False
        return True

    def is_missing(self) -> bool:
        """Return whether the value has to be computed before it can be read."""
        return not self.is_filled() and self.node.value() is None

    @override
    def __reduce__(self) -> Any:
        return Tensor, (self.data,)


_slot: Any = vars(Tensor)["data"]  # the descriptor: reading the attribute instead would compute the value


class _Recipe:
    """The op and arguments that compute a value, and a weak reference to the value.

    Attributes:
        taped: The operands that had tapes, if the op is recorded again when it recomputes the value; otherwise empty.
        training: Whether layers train on these tapes.
        entry: The entry that was recorded when the op ran again, or None.
    """

    __slots__ = (
        "args",
        "dtype",
        "entry",
        "function",
        "kwargs",
        "operands",
        "shape",
        "taped",
        "training",
        "value",
        "versions",
    )

    def __init__(self, value: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.value = ref(value)
        self.shape, self.dtype = value.shape, value.dtype
        self.function: Callable[..., Any] | None = function
        self.args, self.kwargs = args, kwargs
        self.operands = tuple(_tensors((args, kwargs)))
        self.versions = tuple(x.version for x in self.operands)
        self.taped: frozenset[Any] = frozenset()
        self.training = True
        self.entry: Any = None

    def compute(self) -> Any:
        """Run the op again on the current values of its operands."""
        if self.function is None:
            self.reject("was released after its step of the backward pass")
        if tuple(x.version for x in self.operands) != self.versions:
            self.reject("cannot be computed again: a parameter was assigned since")
        with np.errstate(all="ignore"):  # NumPy warned the first time
            if not self.taped:
                return self.function(*self.args, **self.kwargs).data
            tape = OwnedTape(GradientTape(training=self.training))
            args, kwargs = _mapped((self.args, self.kwargs), lambda x: x.put_tape(tape) if x in self.taped else x)
            value = self.function(*args, **kwargs).data
        self.entry = tape.tape.entries[-1]
        return value

    def recompute_backward(self) -> tuple[Any, Pullback]:
        """Return the result and the backward closure of the op's second run."""
        if self.entry is None:  # the value is still referenced, so it was not computed again
            for x in self.operands:
                _ = x.data  # computed here, iteratively: each may end a chain longer than Python's stack
            self.compute()
        _, out, _, backward = self.entry
        return out, backward

    def discard(self, *, for_good: bool) -> None:
        """Release what the second run of the op has saved; for good also what it needs to run once more."""
        self.entry = None
        if for_good:
            self.function, self.args, self.kwargs, self.operands = None, (), {}, ()
            self.taped = frozenset()

    def reject(self, why: str) -> NoReturn:
        """Raise a TapeError that says why there is no value."""
        message = f"the value of a tensor of shape {show(self.shape)} {why}"
        raise TapeError(message)


class _UnsuitableError(Exception):
    """An argument may change before the backward pass, or is the result itself."""


def _empty(
    result: Tensor[Any, OwnedTape, Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Remove the value from the node of a result if it can be computed again."""
    out = result.node
    entries = result.tape.tape.entries
    if out.__class__ is not Tensor or not entries or entries[-1][1] is not out:
        return  # an inner op has emptied the node, or nothing was recorded
    time, _, inputs, backward = entries[-1]

    def untaped(x: Tensor[Any, Any, Any]) -> Any:
        plain = x.split_tape()[0]
        if plain is out:
            raise _UnsuitableError
        return plain

    try:
        recipe = _Recipe(out.data, function, *_mapped((args, kwargs), untaped))
    except (_UnsuitableError, TypeError):  # a NumPy scalar has no weak references, and is small
        return
    if recipe.operands and {*inputs} <= {*recipe.operands} and _saves_much(backward, out, inputs):
        recipe.taped = frozenset(x.node for x in _tensors((args, kwargs)) if x.owns_tape)
        recipe.training = result.is_training
    if recipe.taped:
        backward_again = _record_again(out, recipe)
        backward_again.__qualname__ = getattr(backward, "__qualname__", type(backward).__name__)  # for the tape's repr
        entries[-1] = (time, out, inputs, backward_again)
    result.tape.tape.recomputes = True
    set_lazy(out, Recomputed, recipe)


def _record_again(out: Any, recipe: _Recipe) -> Pullback:
    """Return a backward closure that saves no arrays: it records the op again, then runs the new closure."""

    def backward_again(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        twin, backward = recipe.recompute_backward()
        grads.add(twin, dy)
        backward(grads)

    return backward_again


def _saves_much(backward: Pullback, out: Any, inputs: tuple[Any, ...]) -> bool:
    """Return whether a closure holds a quarter of the result's size or more, not counting operands and result.

    Such a closure is better recorded again. Attention holds its weights, a recurrent network the gates of each step. A
    few numbers a row stay below the limit.
    """
    held: int = sum(x.size for x in _saved_values(backward, {id(x) for x in (out, *inputs)}))
    return 4 * held >= int(out.size)


def _saved_values(value: Any, seen: set[int]) -> Iterator[Any]:
    """Return the arrays and the tensors with a value that a closure holds, each once."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Tensor):
        if value.is_saved:
            yield value
    elif hasattr(value, "dtype"):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _saved_values(one, seen)
    else:
        for cell in getattr(value, "__closure__", None) or ():
            with contextlib.suppress(ValueError):  # an empty cell: the variable is not assigned yet
                yield from _saved_values(cell.cell_contents, seen)


def _computed(node: Recomputed) -> Any:
    """Compute a value and the missing values that it depends on, without recursion: a chain may be very long."""
    pending: list[Any] = [node]
    while pending:
        x = pending[-1]
        missing = [y for y in x.node.operands if isinstance(y, Recomputed) and y.is_missing()]
        if missing:
            pending += missing
        else:
            pending.pop()
            if not x.is_filled():
                x.data = x.node.compute()
    return node.data


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return arguments with each tensor replaced by `change` of it.

    Raises:
        _UnsuitableError: Another argument may change before the backward pass.
    """
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple | list):
        constructor: Any = getattr(value, "_make", type(value))  # a named tuple has `_make`
        return constructor(_mapped(one, change) for one in value)
    if isinstance(value, dict):
        return {key: _mapped(one, change) for key, one in value.items()}
    if value is None or value is ... or isinstance(value, _FIXED) or _is_of_a_module(value):
        return value
    raise _UnsuitableError


def _is_of_a_module(value: Any) -> bool:
    """Return whether a value is a function without captured variables."""
    return isinstance(value, FunctionType) and value.__closure__ is None


def _fill(y: Any) -> None:
    """Restore the value of a segment's output for good."""
    out = y.node if y.owns_tape else y
    if isinstance(out, Recomputed):
        set_plain(out, y.data)


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _tensors(one)
