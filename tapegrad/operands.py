"""What ops take: tensors, and numbers beside them, of one dtype, taken off their tapes and put on one."""

from __future__ import annotations

import operator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from tapegrad import messages
from tapegrad.backend import Value
from tapegrad.backend.value import HALF
from tapegrad.dims import Dim
from tapegrad.errors import DTypeError
from tapegrad.tape import NONE
from tapegrad.tensor import Constant, Tensor, as_compute_dtype, described, from_array, node, values_of
from tapegrad.tracebacks import public_api

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.tape import Merge, NoneTape
    from tapegrad.tensor import D2, S2, T2, D, Number, S, T

_ALONE: Final = object()  # the second operand of an op that has one
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
_NUMBERS: Final = (float, int)  # made once: a union would be made at each call; a bool is an int


def known(x: Any) -> np.ndarray[Any, Any] | None:
    """Return the numbers of a tensor or of a raw value, or None where `jit` traces: nothing can be asked of them."""
    values = values_of(x)
    return values if isinstance(values, np.ndarray) else None


@overload
def unwrap(x: Tensor[S, T, D]) -> tuple[Tensor[S, NoneTape, D], T]: ...
@overload
def unwrap(
    x: Tensor[S, T, D] | Number, y: Tensor[S2, T2, D2] | Number
) -> tuple[Tensor[S, NoneTape, D], Tensor[S2, NoneTape, D2], Merge[T, T2]]: ...
def unwrap(x: Any, y: Any = _ALONE) -> Any:
    """Return the operands, of one dtype, as nodes without their tapes, and the tape on which the op is to be recorded.

    Two tapes merge when something is recorded on it, so not in an op that is rejected or whose result has no tape.
    A closure that held a taped tensor would hold its own tape and leak: from here on an op knows tapeless tensors only.
    """
    if y is _ALONE:
        if not isinstance(x, Tensor):  # asked here: a call more costs a fiftieth of an op
            tensor_only(x, "x")
        tape = x.tape
        return (x, tape) if tape is NONE else (x.node, tape)
    if not isinstance(x, Tensor):
        x = constant(x, y, "x", "y")
    elif not isinstance(y, Tensor):
        y = constant(y, x, "y", "x")
    if x.data.dtype is not y.data.dtype:  # asked here too
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
    """Return the operands without their tapes, and the tape on which the op is to be recorded.

    Two operands may differ in dtype. Every value is kept for the backward pass, whatever `saved=` names later.
    """
    *operands, tape = unwrap(x) if y is _ALONE else unwrap_mixed(x, y)
    for operand in operands:
        operand.save_value()
    return (*operands, tape)


def unwrap_all(tensors: Sequence[Tensor[Any, T, D]], name: str) -> tuple[list[Tensor[Any, NoneTape, D]], T]:
    """Return any number of operands without their tapes, and the one tape they make together."""
    tape: Any = NONE
    parts: list[Any] = []
    for x in tensors:
        if not isinstance(x, Tensor):
            tensor_only(x, f"{name}[{len(parts)}]")
        own_tape: Any = x.tape
        if own_tape is NONE:
            parts.append(x)
        else:
            tape = own_tape if tape is NONE else tape.join(own_tape)
            parts.append(x.node)
    return parts, tape


def on_one_tape(*tensors: Tensor[Any, Any, Any]) -> tuple[Tensor[Any, Any, Any], ...]:
    """Return operands, of which those that have no tape get the one that the others make together.

    An op made of ops begins so: a parameter has no tape, and were it reshaped without one, nobody would know whose the
    gradient is. The tapes of the others merge where an op within records on both.
    """
    parts, tape = unwrap_all(tensors, "operands")
    return tuple(x if x.owns_tape else x.put_tape(tape) for x in tensors) if tape.owns else tuple(parts)


def both_on_one_tape(
    x: Tensor[S, T, D], y: Tensor[S2, T2, D2]
) -> tuple[Tensor[S, Merge[T, T2], D], Tensor[S2, Merge[T, T2], D2]]:
    """Do what `on_one_tape` does of two operands, typed."""
    operands: Any = on_one_tape(x, y)
    both: tuple[Tensor[S, Merge[T, T2], D], Tensor[S2, Merge[T, T2], D2]] = operands
    return both


def tensor_only(x: object, name: str) -> None:
    """Reject a number or an array where neither stands for a tensor."""
    if not isinstance(x, Tensor):
        message = f"{name} is {described(x)}, not a tensor"
        raise DTypeError(message)


def same_dtype(x: Tensor[Any, Any, Any], y: Tensor[Any, Any, Any], name: str = "y") -> None:
    """Reject two dtypes: nothing is converted unless somebody writes `astype`."""
    if x.data.dtype is not y.data.dtype and x.data.dtype != y.data.dtype:
        raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, str(x.dtype), "x", str(y.dtype), name))


def of_one_dtype(*, x: Tensor[Any, Any, Any], **others: Tensor[Any, Any, Any]) -> None:
    """Reject operands that are no tensors, or of another dtype than `x`."""
    tensor_only(x, "x")
    for name, other in others.items():
        tensor_only(other, name)
        same_dtype(x, other, name)


def same_dtypes(tensors: Sequence[Tensor[Any, Any, Any]], name: str) -> None:
    """Reject any number of tensors that are not all of the first one's dtype."""
    dtypes = [str(x.dtype) for x in tensors]
    for position, dtype in enumerate(dtypes):
        if dtype != dtypes[0]:
            first, other = f"{name}[0]", f"{name}[{position}]"
            raise DTypeError(messages.mixed_dtypes(messages.UNNAMED, dtypes[0], first, dtype, other))


def constant(value: Any, like: Any, name: str, name_of_like: str) -> Tensor[Any, NoneTape, Any]:
    """Return a number the dtype of the tensor it stands beside, and take an array as it is."""
    if not isinstance(like, Tensor):
        raise DTypeError(messages.no_tensor(messages.UNNAMED, described(value), described(like)))
    if type(value) not in PYTHON_NUMBERS and hasattr(value, "beside"):  # a number that a step under `jit` is given
        return value.beside(constant(value.plain, like, name, name_of_like))  # type: ignore[no-any-return]  # a tensor
    if not isinstance(value, _NUMBERS):
        if isinstance(value, np.ndarray | np.generic):
            return from_array(copy_native(value))  # a copy: the caller may write into the array before backward
        if isinstance(value, Value):
            return node(value)  # what a step under `jit` has in the place of labels, beside a tensor of a level
        if isinstance(value, Dim):
            operator.index(value)  # refused, for it is a name; the op is then answered by its rule
        raise DTypeError(messages.no_operand(messages.UNNAMED, described(value)))
    dtype = like.data.dtype
    kind = dtype.kind
    if kind not in "fV" and (isinstance(value, float) or (kind == "b" and not isinstance(value, bool))):
        message = messages.mixed_dtypes(messages.UNNAMED, described(value), name, str(dtype), name_of_like)
        raise DTypeError(message)
    number: Any = np.array(value, dtype)
    if dtype.char in HALF:
        number = as_compute_dtype(number)
    return Constant(number)  # NumPy adds an array of rank 0 in half the time of a number


def is_concrete(scalar_type: type) -> bool:
    """Return whether arrays of a NumPy scalar type exist."""
    return scalar_type not in _ABSTRACT


def limits(dtype: np.dtype[Any]) -> Any:
    """Return what `numpy.finfo` says of a float dtype; it does not know bfloat16, of which ml_dtypes does."""
    return np.finfo(dtype) if dtype.kind == "f" else import_module("ml_dtypes").finfo(dtype)


def copy_native(data: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Return a copy as an array whose bytes stand in the order of this machine, so that a dtype is only one."""
    return in_native_order(np.array(data, dtype))


def in_native_order(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array with its bytes in the order of this machine."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
