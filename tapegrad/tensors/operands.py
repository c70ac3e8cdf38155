"""Operands of ops: check dtypes, convert numbers to tensors, remove the tapes and merge them into one."""

from __future__ import annotations

import operator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from tapegrad.autograd.tape import NONE
from tapegrad.engines import Value
from tapegrad.engines.interface import HALF
from tapegrad.errors import DTypeError, messages
from tapegrad.errors.tracebacks import public_api
from tapegrad.sizes import Dim
from tapegrad.tensors import Tensor, as_compute_dtype, belongs_to_module, described, from_array, node, values_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.autograd.tape import Merge, NoneTape
    from tapegrad.tensors import D2, S2, T2, D, Number, S, T

_ARRAY: Final = np.ndarray
_SCALAR: Final = np.generic
_ALONE: Final = object()  # in place of the second operand of a unary op
_ABSTRACT: Final = (
    np.generic,
    np.number,
    np.integer,
    np.signedinteger,
    np.unsignedinteger,
    np.inexact,
    np.floating,
    np.complexfloating,
    np.flexible,
    np.character,
)
PYTHON_NUMBERS: Final = frozenset({bool, float, int})
# A bool is an int. No union, which is slower (benchmarks/devices.py, "a tuple of types").
_NUMBERS: Final = (float, int)


def known(x: Any) -> np.ndarray[Any, Any] | None:
    """Return the values of a tensor or raw value as an array, or None while `jit` traces and they are unknown."""
    values = values_of(x)
    return values if isinstance(values, np.ndarray) else None


@overload
def unwrap(x: Tensor[S, T, D]) -> tuple[Tensor[S, NoneTape, D], T]: ...
@overload
def unwrap(
    x: Tensor[S, T, D] | Number, y: Tensor[S2, T2, D2] | Number
) -> tuple[Tensor[S, NoneTape, D], Tensor[S2, NoneTape, D2], Merge[T, T2]]: ...
def unwrap(x: Any, y: Any = _ALONE) -> Any:
    """Return the operands without their tapes, as nodes of one dtype, and the tape on which to record the op.

    Two tapes are merged when the op is recorded, so not by an op that raises or whose result has no tape. Ops use only
    the nodes from here on: a closure that refers to a taped tensor would refer to its own tape and leak.
    """
    if y is _ALONE:
        if not isinstance(x, Tensor):  # checked here, without another call
            tensor_only(x, "x")
        tape = x.tape
        return (x, tape) if tape is NONE else (x.node, tape)
    if not isinstance(x, Tensor):
        x = constant(x, y, "x", "y")
    elif not isinstance(y, Tensor):
        y = constant(y, x, "y", "x")
    if x.data.dtype is not y.data.dtype:  # checked here too
        same_dtype(x, y)
    left: Any = x.tape
    right: Any = y.tape
    if left is NONE:
        return (x, y, left) if right is NONE else (x, y.node, right)
    if right is NONE:
        return x.node, y, left
    return x.node, y.node, left if left is right or left._tape is right._tape else left.join(right)


def unwrap_mixed(
    x: Tensor[S, T, D] | Number, y: Tensor[S2, T2, D2] | Number
) -> tuple[Tensor[S, NoneTape, D], Tensor[S2, NoneTape, D2], Merge[T, T2]]:
    """Unwrap two operands whose dtypes may differ."""
    if not isinstance(x, Tensor):
        x = constant(x, y, "x", "y")
    elif not isinstance(y, Tensor):
        y = constant(y, x, "y", "x")
    operands: Any = (x, y)
    (left, right), tape = unwrap_all(operands, "operands")
    return left, right, tape


@overload
def split_tape(x: Tensor[S, T, D]) -> tuple[Tensor[S, NoneTape, D], T]: ...
@overload
def split_tape(
    x: Tensor[S, T, D] | Number, y: Tensor[S2, T2, D2] | Number
) -> tuple[Tensor[S, NoneTape, D], Tensor[S2, NoneTape, D2], Merge[T, T2]]: ...
@public_api
def split_tape(x: Any, y: Any = _ALONE) -> Any:
    """Return the operands without their tapes, and the tape on which to record the op.

    Two operands may differ in dtype. All values are saved for the backward pass, regardless of `saved=`.

    Examples:
        >>> def tripled(x):
        ...     operand, tape = tg.split_tape(x)
        ...     out = tg.node(operand.data * 3.0)
        ...     backward = lambda grads: grads.add(operand, grads.pop_output(out) * 3.0)
        ...     return tape.record(out, (operand,), backward)
        >>> x = tg.tensor([1.0, 2.0])
        >>> tripled(x.trace()).sum().backward()[x].tolist()
        [3.0, 3.0]
    """
    *operands, tape = unwrap(x) if y is _ALONE else unwrap_mixed(x, y)
    for operand in operands:
        operand.save_value()
    return (*operands, tape)


def unwrap_all(tensors: Sequence[Tensor[Any, T, D]], name: str) -> tuple[list[Tensor[Any, NoneTape, D]], T]:
    """Return any number of operands without their tapes, and the tape that joins theirs."""
    tape: Any = NONE
    parts: list[Any] = []
    for x in tensors:
        if not isinstance(x, Tensor):
            tensor_only(x, f"{name}[{len(parts)}]")
        own_tape: Any = x.tape
        if own_tape is NONE:
            parts.append(x)
        else:
            tape = joined(tape, own_tape)
            parts.append(x.node)
    return parts, tape


def joined(tape: Any, other: Any) -> Any:
    """Return the tape that joins two, either of which may be a `NoneTape`."""
    return other if tape is NONE else tape if other is NONE else tape.join(other)


def on_one_tape(*tensors: Tensor[Any, Any, Any]) -> tuple[Tensor[Any, Any, Any], ...]:
    """Return the operands, with the joint tape of those that have one put on those that have none.

    An op composed of other ops starts with this: data without a tape may be named in `wrt=`, and reshaping them without
    one would lose their gradient. The tapes merge when an inner op records on both.
    """
    _, tape = unwrap_all(tensors, "operands")
    return tuple(x.put_tape(tape) if tape.owns and x.tape is NONE else x for x in tensors)


def both_on_one_tape(
    x: Tensor[S, T, D], y: Tensor[S2, T2, D2]
) -> tuple[Tensor[S, Merge[T, T2], D], Tensor[S2, Merge[T, T2], D2]]:
    """Return two operands as `on_one_tape` does, with static types."""
    operands: Any = on_one_tape(x, y)
    both: tuple[Tensor[S, Merge[T, T2], D], Tensor[S2, Merge[T, T2], D2]] = operands
    return both


def tensor_only(x: object, name: str) -> None:
    """Raise a DTypeError if `x` is not a tensor."""
    if not isinstance(x, Tensor):
        kind = described(x)
        message = f"{name} is {kind}, not a tensor{messages.tensor_hint(name.rpartition(' ')[2], kind)}"
        raise DTypeError(message)


def as_float32(x: Any) -> Tensor[tuple[()], NoneTape, Any]:
    """Return a Python number as a tensor of the default dtype."""
    return node(np.asarray(x, np.float32))


def same_dtype(x: Tensor[Any, Any, Any], y: Tensor[Any, Any, Any], name: str = "y") -> None:
    """Raise a DTypeError if the dtypes differ: only `astype` converts a tensor."""
    if x.data.dtype is not y.data.dtype and x.data.dtype != y.data.dtype:
        raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, str(x.dtype), "x", str(y.dtype), name))


def of_one_dtype(*, x: Tensor[Any, Any, Any], **others: Tensor[Any, Any, Any]) -> None:
    """Raise a DTypeError if an operand is not a tensor, or if its dtype is not that of `x`."""
    tensor_only(x, "x")
    for name, other in others.items():
        tensor_only(other, name)
        same_dtype(x, other, name)


def same_dtypes(tensors: Sequence[Tensor[Any, Any, Any]], name: str) -> None:
    """Raise a DTypeError if the dtypes of the tensors are not all the same."""
    dtypes = [str(x.dtype) for x in tensors]
    for position, dtype in enumerate(dtypes):
        if dtype != dtypes[0]:
            first, other = f"{name}[0]", f"{name}[{position}]"
            raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, dtypes[0], first, dtype, other))


def constant(value: Any, like: Any, name: str, name_of_like: str) -> Tensor[Any, NoneTape, Any]:
    """Return a number as a tensor with the dtype of the other operand, or an array as a tensor with its own dtype."""
    if not isinstance(like, Tensor):
        raise DTypeError(messages.no_tensor(messages.UNNAMED, described(value), described(like)))
    # Before the other questions: benchmarks/devices.py, "an array copied".
    is_array = type(value) is _ARRAY
    if is_array or (isinstance(value, _SCALAR) and not isinstance(value, _NUMBERS) and not hasattr(value, "beside")):
        copied = value.__copy__() if is_array else np.array(value)  # the caller may write into the array
        other = like.data
        is_alike = copied.dtype is other.dtype and isinstance(other, _ARRAY) and type(other) is _ARRAY
        made: Tensor[Any, NoneTape, Any] = node(copied) if is_alike else from_array(in_native_order(copied))
        if not is_alike or like.is_of_module or like.tape.holds:
            made.mark_frozen()  # like a number: a gradient computed with it still reaches the parameters
        return made
    if type(value) not in PYTHON_NUMBERS and hasattr(value, "beside"):  # a number argument of a step under `jit`
        return value.beside(constant(value.plain, like, name, name_of_like))  # type: ignore[no-any-return]  # a tensor
    if not isinstance(value, _NUMBERS):
        if isinstance(value, _ARRAY):  # of a subclass
            return from_array(copy_native(value))
        if isinstance(value, Value):
            return fixed(value)  # labels of a step under `jit`, next to a tensor of `Autodiff`
        if isinstance(value, Dim):
            operator.index(value)  # raises for a symbolic size; the op's rule then gives the result
        raise DTypeError(messages.no_operand(messages.UNNAMED, described(value)))
    dtype = like.data.dtype
    kind = dtype.kind
    if kind not in "fV" and (isinstance(value, float) or (kind == "b" and not isinstance(value, bool))):
        message = messages.mixed_dtypes(messages.UNNAMED, described(value), name, str(dtype), name_of_like)
        raise DTypeError(message)
    number: Any = np.array(value, dtype)
    if dtype.char in HALF:
        number = as_compute_dtype(number)
    return node(number)  # NumPy converts a Python number at each call (benchmarks/devices.py, "a number of rank 0")


def fixed(data: Value[S, D] | np.ndarray[S, np.dtype[D]]) -> Tensor[S, NoneTape, D]:
    """Return a tensor that is no data but a part of the model, as a number is; ops on it and parameters are recorded.

    An op or a layer composed of other ops needs it for arrays of its own, such as an initial state of zeros.
    """
    x = node(data)
    x.mark_frozen()
    return x


def of_same_kind(out: Tensor[S, NoneTape, D], *operands: Any) -> Tensor[S, NoneTape, D]:
    """Return the result of an op without a gradient: of operands that belong to a module, it is no data either."""
    if all(not isinstance(x, Tensor) or belongs_to_module(x) for x in operands):
        out.mark_frozen()
    return out


def is_concrete(scalar_type: type) -> bool:
    """Return whether a NumPy scalar type is concrete, so that arrays can have it as dtype."""
    return scalar_type not in _ABSTRACT


def limits(dtype: np.dtype[Any]) -> Any:
    """Return the `numpy.finfo` of a float dtype; for bfloat16, which NumPy does not know, that of ml_dtypes."""
    return np.finfo(dtype) if dtype.kind == "f" else import_module("ml_dtypes").finfo(dtype)


def copy_native(data: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Return a copy as an array in native byte order, so that equal dtypes are the same object."""
    return in_native_order(np.array(data, dtype))


def in_native_order(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array in native byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
