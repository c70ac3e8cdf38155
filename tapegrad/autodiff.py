"""The backend whose values are tensors, so that a backward pass is itself recorded and can be differentiated."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, overload

import numpy as np
from typing_extensions import TypeVar, override

from tapegrad import ops
from tapegrad.autograd.gradients import gradients_only
from tapegrad.autograd.registry import IMPLEMENTATIONS
from tapegrad.autograd.tape import Checkpointing
from tapegrad.checkpoint import NoCheckpointing
from tapegrad.engines import Backend, engine, register
from tapegrad.engines.numpy.engine import NumPy
from tapegrad.engines.rows import Rows
from tapegrad.errors import DTypeError, ShapeError, TapeError, messages
from tapegrad.errors.tracebacks import public_api, trim_on_exit
from tapegrad.ops._lowering import correlate, scatter_sum
from tapegrad.ops.scatter_along import reduce_at
from tapegrad.quantized import Quantized
from tapegrad.tensors import Float, Tensor, described, node
from tapegrad.tensors.operands import fixed, tensor_only

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.autograd.gradients import Gradients
    from tapegrad.autograd.tape import NoneTape, OwnedTape
    from tapegrad.engines import Axis, ConvWindow, Decomposition, Elementwise, Int, Pairwise
    from tapegrad.engines.interface import Combining

S = TypeVar("S", bound=tuple[Any, ...], default=Any)
D = TypeVar("D", bound=np.generic, default=np.float32)
V = TypeVar("V", default=Any)
I = TypeVar("I", default=V)
T = TypeVar("T", default=V)
Q = TypeVar("Q", default=Any)
B = TypeVar("B", bound=Backend[Any], default=Backend[Any])
C = TypeVar("C", bound=Checkpointing, default=NoCheckpointing)
Whole: TypeAlias = Tensor[Any, Any, np.integer[Any]]
Truths: TypeAlias = Tensor[Any, Any, np.bool_]
Recorded: TypeAlias = Tensor[Any, Any, Any]
Ints = TypeVar("Ints", bound=Whole)
Bools = TypeVar("Bools", bound=Truths)
Steps = TypeVar("Steps", bound=Quantized[Any, Any])


class AutodiffBackend(Backend[V, I, T, Q], Generic[B, V, I, T, Q]):
    """The interface of a backend that adds gradients to another one, `B`, whose values are called inner values.

    Floats have values of their own; ints, bools and quantized tensors are the same values as in the backend below.

    Source:
        burn's trait of the same name, whose tensors also carry their backend in their type.
    """

    below: B

    @abstractmethod
    def from_inner(self, x: Any) -> Any:
        """Return a new leaf tensor of this backend that is not tracked."""

    @abstractmethod
    def inner(self, y: Any) -> Any:
        """Return the inner value, that of the backend below."""

    @abstractmethod
    def int_from_inner(self, x: I) -> I:
        """Return the same integer tensor."""

    @abstractmethod
    def int_inner(self, y: I) -> I:
        """Return the same integer tensor."""

    @abstractmethod
    def bool_from_inner(self, x: T) -> T:
        """Return the same bool tensor."""

    @abstractmethod
    def bool_inner(self, y: T) -> T:
        """Return the same bool tensor."""

    @abstractmethod
    def q_from_inner(self, x: Q) -> Q:
        """Return the same quantized tensor."""

    @abstractmethod
    def q_inner(self, y: Q) -> Q:
        """Return the same quantized tensor."""

    @abstractmethod
    def require_grad(self, x: Any) -> Any:
        """Return the same tensor, tracked."""

    @abstractmethod
    def detach(self, x: Any) -> Any:
        """Return a new tensor of the same values that is not tracked."""

    @abstractmethod
    def backward(self, y: Any) -> Gradients:
        """Return the gradients of a scalar and release the recorded steps."""

    @abstractmethod
    def grad(self, x: Any, grads: Gradients) -> Any:
        """Return the gradient of a tensor as an inner value, or None if there is none."""

    @abstractmethod
    def grad_remove(self, x: Any, grads: Gradients) -> Any:
        """Return the gradient of a tensor and remove it."""

    @abstractmethod
    def grad_replace(self, x: Any, grads: Gradients, gradient: Any) -> None:
        """Set the gradient of a tensor to an inner value; an existing gradient is replaced, not added to."""


class Autodiff(AutodiffBackend[B, Recorded, Whole, Truths, Quantized[Any, Any]], Generic[B, C]):
    """The backend for higher-order derivatives: its primitives are ops on tensors, so a backward pass is recorded.

    A tensor made by `from_inner` holds another tensor instead of an array. Its tape is a separate level: the gradients
    of that tape hold tensors that the tape below has recorded, and can be differentiated in turn. Arrays and tensors
    without a tape are constants on every level; call `from_inner` on each tensor to differentiate the gradient by.

        x = tensor(3.0).trace()
        inner = Autodiff().from_inner(x)
        y = inner.trace()
        gradient = Autodiff().inner((y * y * y).backward()[inner])  # 27, on the tape of x
        gradient.backward()[x]  # 18

    Args:
        below: The backend that computes; by default that of the tensor given to `from_inner`. Over `NumPy()` the values
            below have no tapes, and their types say so.
        checkpoint: Which values its tapes save and which they compute again; by default they save all.

    Examples:
        >>> x = tg.tensor(3.0).trace()
        >>> backend = tg.testing.Autodiff()
        >>> inner = backend.from_inner(x)
        >>> gradient = backend.inner((inner.trace() ** 3).backward()[inner])
        >>> round(gradient.item(), 4)
        27.0
        >>> round(gradient.backward()[x].item(), 4)
        18.0
    """

    name = "autodiff"

    def __init__(self, below: B | None = None, checkpoint: C | None = None) -> None:
        if below is not None and not isinstance(below, Backend):
            message = f"Autodiff: below is {described(below)} but a backend is expected"
            with trim_on_exit:
                raise DTypeError(message)
        if checkpoint is not None and not isinstance(checkpoint, Checkpointing):
            message = f"Autodiff: checkpoint is {described(checkpoint)} but a strategy is expected"
            with trim_on_exit:
                raise DTypeError(message)
        given: Any = (NumPy() if below is None else below, NoCheckpointing() if checkpoint is None else checkpoint)
        self.below: B = given[0]
        self._is_lowest = isinstance(below, NumPy)
        self.checkpoint: C = given[1]

    @override
    def __repr__(self) -> str:
        below = repr(self.below) if isinstance(self.below, Autodiff) else f"{type(self.below).__name__}()"
        return f"Autodiff({below}, {type(self.checkpoint).__name__}())"

    exp = staticmethod(ops.exp)
    log = staticmethod(ops.log)
    tanh = staticmethod(ops.tanh)
    relu = staticmethod(ops.relu)
    max = staticmethod(ops.max)
    min = staticmethod(ops.min)
    prod = staticmethod(ops.prod)
    cumsum = staticmethod(ops.cumsum)
    cumprod = staticmethod(ops.cumprod)
    argmax = staticmethod(ops.argmax)
    argmin = staticmethod(ops.argmin)
    argsort = staticmethod(ops.argsort)
    all = staticmethod(ops.all)
    any = staticmethod(ops.any)
    cast = staticmethod(ops.astype)
    inv = staticmethod(ops.inv)
    det = staticmethod(ops.det)

    @override
    @public_api
    def from_inner(self, x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]:
        """Return a new tensor without a tape whose value is `x`, a tensor of the level below.

        Raises:
            TapeError: `x` has a tape, and the backend below is NumPy.
            DTypeError: `x` is not a tensor.
        """
        below = self._of_below("Autodiff.from_inner", "x", x)
        lifted: Tensor[S, NoneTape, D] = below.with_data(below)
        return lifted

    @overload
    def inner(self: Autodiff[NumPy, Any], y: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]: ...
    @overload
    def inner(self, y: Tensor[S, Any, D]) -> Tensor[S, Any, D]: ...
    @override
    @public_api
    def inner(self, y: Any) -> Any:
        """Return the value of a tensor of this level: a tensor of the level below, with the tape it has there.

        Raises:
            TapeError: The value has a tape, and the backend below is NumPy; or `y` itself is on a tape of the level
                below, as after a second call of `inner`.
        """
        tensor_only(y, "Autodiff.inner: y")
        if y.owns_tape:
            if not self._is_lowest and not isinstance(y.data, Tensor):
                raise TapeError(messages.of_level_below("Autodiff.inner", "y"))
            y.tape.tape.note_constants(y.data)
        return self._of_below("Autodiff.inner", "the value of y", _lifted(y.data))

    def _of_below(self, call: str, place: str, x: Any) -> Any:
        """Reject a value that is not a tensor, and one with a tape if the backend below is NumPy."""
        tensor_only(x, f"{call}: {place}")
        if self._is_lowest and x.owns_tape:
            raise TapeError(messages.tape_unwanted(call, place))
        return x

    @override
    def int_from_inner(self, x: Ints) -> Ints:
        """Return the same integer tensor: only floats are recorded.

        Raises:
            DTypeError: `x` is not an integer tensor.
        """
        return _of_kind("iu", "integer", "Autodiff.int_from_inner", "x", x)

    @override
    def int_inner(self, y: Ints) -> Ints:
        """Return the same integer tensor, or raise a DTypeError as `int_from_inner` does."""
        return _of_kind("iu", "integer", "Autodiff.int_inner", "y", y)

    @override
    def bool_from_inner(self, x: Bools) -> Bools:
        """Return the same bool tensor: only floats are recorded.

        Raises:
            DTypeError: `x` is not a bool tensor.
        """
        return _of_kind("b", "bool", "Autodiff.bool_from_inner", "x", x)

    @override
    def bool_inner(self, y: Bools) -> Bools:
        """Return the same bool tensor, or raise a DTypeError as `bool_from_inner` does."""
        return _of_kind("b", "bool", "Autodiff.bool_inner", "y", y)

    @override
    def q_from_inner(self, x: Steps) -> Steps:
        """Return the same quantized tensor: it has no gradient on any level.

        Raises:
            DTypeError: `x` is not a quantized tensor.
        """
        return _quantized("Autodiff.q_from_inner", "x", x)

    @override
    def q_inner(self, y: Steps) -> Steps:
        """Return the same quantized tensor, or raise a DTypeError as `q_from_inner` does."""
        return _quantized("Autodiff.q_inner", "y", y)

    @override
    @public_api
    def require_grad(self, x: Tensor[S, NoneTape, Float]) -> Tensor[S, OwnedTape, Float]:
        """Return the same tensor with a tape that uses the checkpointing strategy of this backend.

        Raises:
            TapeError: It has a tape already.
            DTypeError: It is not a float tensor and so has no gradient.
        """
        tensor_only(x, "Autodiff.require_grad: x")
        if x.owns_tape:
            raise TapeError(messages.tape_unwanted("Autodiff.require_grad", "x"))
        if not x.is_float:
            raise DTypeError(messages.wrong_dtype("Autodiff.require_grad", "x", str(x.dtype), "floating"))
        return x.trace(checkpoint=self.checkpoint)

    @override
    @public_api
    def detach(self, x: Tensor[S, Any, D]) -> Tensor[S, NoneTape, D]:
        tensor_only(x, "Autodiff.detach: x")
        return x.detach()

    @override
    @public_api
    def backward(self, y: Tensor[tuple[()], OwnedTape, D]) -> Gradients:
        """Return the gradients of a scalar and consume its tape.

        Raises:
            TapeError: There is no tape, it has been consumed, or a parameter was assigned since.
            ShapeError: `y` is not a scalar.
            DTypeError: `y` is not a float tensor.
        """
        _tracked("Autodiff.backward", "y", y)
        return y.backward()

    @overload
    def grad(
        self: Autodiff[NumPy, Any], x: Tensor[S, OwnedTape, D], grads: Gradients
    ) -> Tensor[S, NoneTape, D] | None: ...
    @overload
    def grad(self, x: Tensor[S, OwnedTape, D], grads: Gradients) -> Tensor[S, Any, D] | None: ...
    @override
    @public_api
    def grad(self, x: Any, grads: Gradients) -> Any:
        """Return the gradient of a tensor as a tensor of the level below, or None if there is none.

        Raises:
            TapeError: `x` has no tape, so it was never tracked.
            DTypeError: `x` is not a tensor, or `grads` are not gradients.
        """
        _tracked("Autodiff.grad", "x", x)
        gradients_only("Autodiff.grad", grads)
        gradient = grads.get(x)
        return None if gradient is None else self.inner(gradient)

    @overload
    def grad_remove(
        self: Autodiff[NumPy, Any], x: Tensor[S, OwnedTape, D], grads: Gradients
    ) -> Tensor[S, NoneTape, D] | None: ...
    @overload
    def grad_remove(self, x: Tensor[S, OwnedTape, D], grads: Gradients) -> Tensor[S, Any, D] | None: ...
    @override
    @public_api
    def grad_remove(self, x: Any, grads: Gradients) -> Any:
        """Return the gradient of a tensor, as `grad` does, and remove it from the gradients.

        Raises:
            TapeError: `x` has no tape, so it was never tracked.
            DTypeError: `x` is not a tensor, or `grads` are not gradients.
        """
        _tracked("Autodiff.grad_remove", "x", x)
        gradients_only("Autodiff.grad_remove", grads)
        gradient: Any = grads.remove(x)
        return None if gradient is None else self.inner(gradient)

    @override
    @public_api
    def grad_replace(self, x: Tensor[S, OwnedTape, D], grads: Gradients, gradient: Tensor[S, Any, D]) -> None:
        """Set the gradient of a tensor to a tensor of the level below; an existing gradient is replaced.

        Raises:
            ShapeError: The shapes of gradient and tensor differ.
            DTypeError: The dtypes differ, one of them is not a tensor, or `grads` are not gradients.
            TapeError: `x` has no tape, so it was never tracked.
        """
        _tracked("Autodiff.grad_replace", "x", x)
        gradients_only("Autodiff.grad_replace", grads)
        tensor_only(gradient, "Autodiff.grad_replace: gradient")
        if gradient.shape != x.shape:
            raise ShapeError(messages.other_sizes("Autodiff.grad_replace", "gradient", gradient.shape, x.shape))
        if gradient.dtype != x.dtype:
            raise DTypeError(
                messages.wrong_dtype("Autodiff.grad_replace", "gradient", str(gradient.dtype), str(x.dtype))
            )
        is_lifted = isinstance(x.data, Tensor)
        grads.values_by_node[x.split_tape()[0]] = gradient if is_lifted else gradient.data

    @override
    def map(self, name: Elementwise, *operands: Recorded) -> Recorded:
        result: Recorded = IMPLEMENTATIONS[name](*map(_lifted, operands))
        return result

    @override
    def pair(self, name: Pairwise, *operands: Recorded) -> tuple[Recorded, Recorded]:
        first, second = IMPLEMENTATIONS[name](*map(_lifted, operands))
        return first, second

    @override
    def sum(self, x: Recorded, axis: Axis, *, keepdims: bool) -> Recorded:
        return ops.sum(_lifted(x), axis, keepdims=keepdims)

    @override
    def rowwise(
        self, formula: Callable[..., Any], *values: Any, axis: Axis, is_free: bool = False, **options: Any
    ) -> Any:
        return formula(_RecordedRows(self, axis), *map(_lifted, values), **options)

    @override
    def equal(self, x: Recorded, y: Recorded) -> Truths:
        return ops.equal(_lifted(x), _lifted(y))

    @override
    def greater(self, x: Recorded, y: Recorded | float) -> Truths:
        return ops.greater(_lifted(x), _lifted(y))

    @override
    def where(self, condition: Recorded, x: Recorded, y: Recorded | float) -> Recorded:
        return ops.where(_lifted(condition), _lifted(x), _lifted(y))

    @override
    def broadcast_to(self, x: Recorded, shape: Sequence[int]) -> Recorded:
        return ops.broadcast_to(x, tuple(shape))

    @override
    def argcummax(self, x: Recorded, axis: Int) -> Recorded:
        return node(engine(x.data).argcummax(x.data, axis))

    @override
    def argcummin(self, x: Recorded, axis: Int) -> Recorded:
        return node(engine(x.data).argcummin(x.data, axis))

    @override
    def concat(self, values: Sequence[Recorded], axis: Int) -> Recorded:
        return ops.concat([_lifted(value) for value in values], axis)

    @override
    def pad(self, x: Recorded, pad_width: Sequence[tuple[int, int]], value: float) -> Recorded:
        return ops.pad(x, tuple(pad_width), value=value)

    @override
    def getitem(self, x: Recorded, index: Any) -> Recorded:
        return ops.getitem(x, index)

    @override
    def at_set(self, x: Recorded, index: Any, value: Recorded | float, *, is_free: bool = False) -> Recorded:
        return ops.at_set(_lifted(x), index, _lifted(value))

    @override
    def at_add(self, x: Recorded, index: Any, value: Recorded | float) -> Recorded:
        return ops.at_add(_lifted(x), index, _lifted(value))

    @override
    def reduce_at(self, x: Recorded, index: Any, value: Recorded, name: Combining) -> Recorded:
        return reduce_at(_lifted(x), index, _lifted(value), name)

    @override
    def place(self, shape: Sequence[int], index: Any, value: Recorded) -> Recorded:
        return ops.at_add(ops.zeros(tuple(shape), value.dtype.type), index, value)

    @override
    def swap_last_axes(self, x: Recorded) -> Recorded:
        axes = tuple(range(x.ndim))
        return ops.transpose(x, (*axes[:-2], *axes[-2:][::-1]))

    @override
    def einsum(self, subscripts: str, *values: Recorded) -> Recorded:
        return ops.einsum(subscripts, *map(_lifted, values))

    @override
    def solve(self, x: Recorded, y: Recorded) -> Recorded:
        return ops.solve(_lifted(x), _lifted(y))

    @override
    def decompose(self, name: Decomposition, x: Recorded) -> tuple[Recorded, ...]:
        found = IMPLEMENTATIONS[name](_lifted(x))
        return found if isinstance(found, tuple) else (found,)

    @override
    def pinv(self, x: Recorded, rtol: float) -> Recorded:
        return ops.pinv(_lifted(x), rtol=rtol)

    @override
    def take(self, x: Recorded, indices: Recorded, axis: Int) -> Recorded:
        return ops.take(_lifted(x), _lifted(indices), axis)

    @override
    def scatter_add(self, shape: Sequence[int], indices: Recorded, updates: Recorded, axis: Int) -> Recorded:
        return ops.scatter_add(_lifted(updates), _lifted(indices), tuple(shape), axis)

    @override
    def scatter_sum(self, shape: Sequence[int], indices: Sequence[Any], values: Sequence[Recorded]) -> Recorded:
        return scatter_sum([_lifted(value) for value in values], tuple(shape), indices)

    @override
    def convolve(self, x: Recorded, w: Recorded, window: ConvWindow) -> Recorded:
        shape = (*x.shape[:2], w.shape[1], *window.sizes)
        return correlate(_lifted(x), _lifted(w), window, x.shape, w.shape, shape)

    @override
    def one_hot(self, indices: Recorded, size: int, dtype: Any) -> Recorded:
        return node(engine(indices.data).one_hot(indices.data, size, dtype))

    @override
    def ones(self, shape: Sequence[int], dtype: Any) -> Recorded:
        return ops.ones(tuple(shape), dtype)

    @override
    def zeros(self, shape: Sequence[int], dtype: Any) -> Recorded:
        return ops.zeros(tuple(shape), dtype)


class _RecordedRows(Rows):
    """The operations of a formula over rows, recorded; the maximum is a constant."""

    @override
    def max(self, x: Any) -> Any:
        return super().max(fixed(x.data))


def _tracked(call: str, place: str, x: Any) -> None:
    """Raise a TapeError if a tensor has no tape, and a DTypeError if `x` is not a tensor."""
    tensor_only(x, f"{call}: {place}")
    if not x.owns_tape:
        raise TapeError(messages.tape_missing(call, place))


def _of_kind(kinds: str, expected: str, call: str, place: str, x: V) -> V:
    """Return a tensor, and reject one whose dtype is of another kind."""
    with trim_on_exit:
        tensor_only(x, f"{call}: {place}")
        dtype: Any = x.dtype  # type: ignore[attr-defined]  # checked above
        if dtype.kind not in kinds:
            raise DTypeError(messages.wrong_dtype(call, place, str(dtype), expected))
    return x


def _quantized(call: str, place: str, x: V) -> V:
    if not isinstance(x, Quantized):
        message = f"{call}: {place} is {described(x)} but a quantized tensor is expected"
        with trim_on_exit:
            raise DTypeError(message)
    return x


def _lifted(value: Any) -> Any:
    """Return a value of the backend below, such as labels or a mask, as a tensor, the value of this backend."""
    return fixed(value) if hasattr(value, "dtype") and not isinstance(value, Tensor) else value


register(Autodiff(), Tensor)
