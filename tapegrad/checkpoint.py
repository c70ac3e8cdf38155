"""Checkpointing: values that a tape does not save but computes again when the way back asks for them.

Closures read values through nodes, `x.data`. The node of a value that may be computed again is emptied as soon as
the op that made it has returned; whoever holds the tensor itself still has the value. On the way back the first to read
the node computes the value from its operands, which are read in the same way, and the step that made it gives it up.
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

from tapegrad.dims import show
from tapegrad.errors import DTypeError, TapeError
from tapegrad.messages import with_article
from tapegrad.nodes import Lazy
from tapegrad.tape import Checkpointing, OwnedTape, strongest
from tapegrad.tensor import Tensor
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapegrad.gradients import Gradients
    from tapegrad.tape import GradientTape, Pullback

F = TypeVar("F")  # a function or a module, of which no checker sees by a bound that both can be called


class NoCheckpointing(Checkpointing):
    """Saves what backward needs: nothing is computed twice. This is what a tape does unless it is told otherwise."""

    extent = 0

    @override
    def remember(
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
    """Saves what took time to compute, and computes again what only took memory.

    Elementwise ops and changes of shape run again on the way back, each at most once and only where a gradient needs
    its value: `add`, `exp`, `gelu`, `layer_norm`, `reshape`, slices and their kin. Products of matrices, reductions,
    gathers and all that draws random numbers are saved. So is what has no tape, such as masks and parameters.

    Source:
        Chen et al., [Training deep nets with sublinear memory cost](https://arxiv.org/abs/1604.06174), §3; which ops
        are worth saving follows burn's strategy of the same name.
    """

    extent = 1

    @override
    def remember(
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
    """Saves nothing but what goes into a segment and what comes out of it."""

    extent = 2

    @override
    def remember(
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
    """Make a function or a module a segment: on the way back, what it computed is computed again, not saved.

    The tape saves what goes in and what comes out. In between nothing is called a second time but the library's ops:
    a layer moves its state once, a random mask is the same, and parameters get their gradients as without. A segment
    inside another is a part of it. Of n layers in segments of √n each, a tape holds as much as of 2 √n layers.

    Args:
        f: From tensors to tensors; both may stand in tuples, lists and dicts.

    Returns:
        A function like `f`; of a module, a module like it which shares its parameters and all it holds. Of tensors
        without a tape it computes what `f` does, in no other way.

    Raises:
        DTypeError: `f` cannot be called.

    Source:
        Chen et al., [Training deep nets with sublinear memory cost](https://arxiv.org/abs/1604.06174), §4.1.
    """
    function: Any = f
    if not callable(f):
        message = f"checkpoint: f is {with_article(type(f).__name__)}, neither a function nor a module"
        raise DTypeError(message)
    if hasattr(f, "forward"):  # a module: called as one, and found by those who look for parameters
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
    """Return a class of modules whose `forward` is a segment, and which is the same in all else."""

    @functools.wraps(layer.forward)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _run(functools.partial(layer.forward, self), args, kwargs)

    def reduce(self: Any) -> Any:
        return _remade, (layer,), vars(self)

    words = {"__doc__": layer.__doc__, "__module__": layer.__module__, "__qualname__": layer.__qualname__}
    twin = type(layer)(layer.__name__, (layer,), {**words, "forward": forward, "__reduce__": reduce})
    twin.__parameters__ = getattr(layer, "__parameters__", ())  # by which a refusal writes the sizes: `Linear(5, 7)`
    return twin


def _remade(layer: Any) -> Any:
    """Return a segment that is to get its attributes, for copies and pickles."""
    return object.__new__(_segmented(layer))


def _run(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function while its tape empties all nodes, and return what comes out its value back for good."""
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
            after = OwnedTape(tape).tape  # what it was merged into, if it was
            restored[after] = strongest(restored.get(after), strategy)
        for tape, strategy in restored.items():
            tape.checkpoint = strategy
    if _SEGMENT not in restored.values():  # else this is a part of another segment
        for y in _tensors(result):
            _fill(y)
    return result


class Emptied(Lazy[Any, Any]):
    """A node without its value: the first to read it computes it, and it stays until its step has run back.

    An op's closure holds its node before the tape knows whether to save the value, so the node becomes one of
    these by a change of its class, which has the same slots.
    """

    __slots__ = ()

    @override
    def read(self) -> Any:
        value = self.node.value()
        return _computed(self) if value is None else value

    @override
    def discard_value(self) -> None:
        self.node.discard_value()
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


_slot: Any = vars(Tensor)["data"]  # its descriptor: a look through the class would compute the value


class _Recipe:
    """How a value is computed, and the value for as long as somebody else holds it.

    Attributes:
        taped: The operands that had tapes, where the way back is made anew with the value; else none.
        entry: That way back, once it is made.
    """

    __slots__ = ("args", "dtype", "entry", "function", "kwargs", "operands", "shape", "taped", "value", "versions")

    def __init__(self, value: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.value = ref(value)
        self.shape, self.dtype = value.shape, value.dtype
        self.function: Callable[..., Any] | None = function
        self.args, self.kwargs = args, kwargs
        self.operands = tuple(_tensors((args, kwargs)))
        self.versions = tuple(x.version for x in self.operands)
        self.taped: frozenset[Any] = frozenset()
        self.entry: Any = None

    def compute(self) -> Any:
        """Run the op again, with the operands' values as they are."""
        if self.function is None:
            self.refuse("was given up when the tape ran backwards past it")
        if tuple(x.version for x in self.operands) != self.versions:
            self.refuse("cannot be computed again: a parameter was assigned since")
        with np.errstate(all="ignore"):  # what there is to warn of was said the first time
            if not self.taped:
                return self.function(*self.args, **self.kwargs).data
            tape = OwnedTape()
            args, kwargs = _mapped((self.args, self.kwargs), lambda x: x.put_tape(tape) if x in self.taped else x)
            value = self.function(*args, **kwargs).data
        self.entry = tape.tape.entries[-1]
        return value

    def way_back(self) -> tuple[Any, Pullback]:
        """Return the result of the op when it ran again, and the closure that it left then."""
        if self.entry is None:  # somebody holds the value, so that nobody has computed it
            for x in self.operands:
                _ = x.data  # each may be the end of a chain longer than Python's stack
            self.compute()
        _, out, _, backward = self.entry
        return out, backward

    def discard_value(self) -> None:
        """Let go of the operands."""
        self.function, self.args, self.kwargs, self.operands = None, (), {}, ()
        self.taped, self.entry = frozenset(), None

    def refuse(self, why: str) -> NoReturn:
        """Say why there is no value."""
        message = f"the value of a tensor of shape {show(self.shape)} {why}"
        raise TapeError(message)


class _UnsuitableError(Exception):
    """An argument may change before the way back, or is the result itself."""


def _empty(
    result: Tensor[Any, OwnedTape, Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Take the value out of the node of a result, if it can be computed again."""
    out = result.node
    entries = result.tape.tape.entries
    if out.__class__ is not Tensor or not entries or entries[-1][1] is not out:
        return  # an op inside the op has done it, or nothing was recorded
    time, _, inputs, backward = entries[-1]

    def untaped(x: Tensor[Any, Any, Any]) -> Any:
        plain = x.split_tape()[0]
        if plain is out:
            raise _UnsuitableError
        return plain

    try:
        recipe = _Recipe(out.data, function, *_mapped((args, kwargs), untaped))
    except (_UnsuitableError, TypeError):  # a NumPy scalar has no weak reference, and is no burden
        return
    if recipe.operands and {*inputs} <= {*recipe.operands} and _is_burdened(backward, out, inputs):
        recipe.taped = frozenset(x.node for x in _tensors((args, kwargs)) if x.owns_tape)
    forgetting = _anew(out, recipe) if recipe.taped else _forgetting(out, backward)
    forgetting.__qualname__ = getattr(backward, "__qualname__", type(backward).__name__)  # for pictures of the tape
    entries[-1] = (time, out, inputs, forgetting)
    node: Any = out
    del node.data
    node.__class__ = Emptied
    node.node = recipe


def _forgetting(out: Any, backward: Pullback) -> Pullback:
    def forgetting(grads: Gradients) -> None:
        backward(grads)
        out.discard_value()

    return forgetting


def _anew(out: Any, recipe: _Recipe) -> Pullback:
    """Return a way back that holds nothing: the op is recorded again before it runs."""

    def anew(grads: Gradients) -> None:
        dy = grads.pop_output(out)
        twin, backward = recipe.way_back()
        grads.add(twin, dy)
        backward(grads)
        out.discard_value()

    return anew


def _is_burdened(backward: Pullback, out: Any, inputs: tuple[Any, ...]) -> bool:
    """Whether a closure holds so much beside operands and result that it is better made anew.

    Attention holds its weights, a recurrent network the gates of each step. A few numbers a row are no burden.
    """
    held: int = sum(x.size for x in _held(backward, {id(x) for x in (out, *inputs)}))
    return 4 * held >= int(out.size)


def _held(value: Any, seen: set[int]) -> Iterator[Any]:
    """Return the arrays, and the tensors that have a value, that a closure holds, each once."""
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
            yield from _held(one, seen)
    else:
        for cell in getattr(value, "__closure__", None) or ():
            with contextlib.suppress(ValueError):  # a name that has no value yet
                yield from _held(cell.cell_contents, seen)


def _computed(node: Emptied) -> Any:
    """Compute a value and those it is made of, oldest first: a chain may be longer than Python's stack."""
    pending: list[Any] = [node]
    while pending:
        x = pending[-1]
        missing = [y for y in x.node.operands if isinstance(y, Emptied) and y.is_missing()]
        if missing:
            pending += missing
        else:
            pending.pop()
            if not x.is_filled():
                x.data = x.node.compute()
    return node.data


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return arguments with each tensor changed.

    Raises:
        _UnsuitableError: One of the others may change before the way back.
    """
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple | list):
        made: Any = getattr(value, "_make", type(value))  # of one with names or without
        return made(_mapped(one, change) for one in value)
    if isinstance(value, dict):
        return {key: _mapped(one, change) for key, one in value.items()}
    if value is None or value is ... or isinstance(value, _FIXED) or _is_of_a_module(value):
        return value
    raise _UnsuitableError


def _is_of_a_module(value: Any) -> bool:
    """Whether it is a function that knows nothing but its arguments."""
    return isinstance(value, FunctionType) and value.__closure__ is None


def _fill(y: Any) -> None:
    """Return what comes out of a segment its value back for good."""
    out = y.node if y.owns_tape else y
    if isinstance(out, Emptied):
        del out.node
        out.__class__ = Tensor  # type: ignore[assignment]  # back to what it was
        out.data = y.data


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _tensors(one)
