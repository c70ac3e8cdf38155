"""Slots, and the checks of the arguments of a slot tape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from tapegrad.autograd.tape_repr import counted
from tapegrad.errors import DTypeError, ShapeError, TapeError, messages

if TYPE_CHECKING:
    from collections.abc import Sequence

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class NumericalInstabilityError(TapeError, ArithmeticError):
    """A gradient is NaN or infinite.

    Attributes:
        op: The op that was differentiated, `loss` for the given gradient of the loss, or `buffers` if only the sum with
            the content of the caller's buffer is not finite.
        slot: The slot of the gradient.
    """

    def __init__(self, op: str, slot: int, count: int, length: int) -> None:
        super().__init__(f"{op}: the gradient of slot {slot} is NaN or infinite at {count} of {length} elements")
        self.op = op
        self.slot = slot


class Slot(NamedTuple):
    """The length and dtype of a value, and the op that computed it."""

    op: str
    length: int
    dtype: np.dtype[Any]


def floats(call: str, value: Any, name: str, dtype: np.dtype[Any] | None = None) -> Array:
    """Return a copy of a float array, of one dtype if given, to which a Python number is converted.

    It is copied because the caller may write to the array before the backward pass.
    """
    if dtype is not None and isinstance(value, int | float):
        return np.array(value, dtype)
    check_floats(call, value, name, dtype)
    return np.array(value)


def check_floats(call: str, value: Any, name: str, dtype: np.dtype[Any] | None = None) -> None:
    """Reject a value that is not a float array, or has another dtype than required."""
    if not isinstance(value, np.ndarray | np.generic):
        message = f"{call}: {name} is {messages.with_article(type(value).__name__)}, not a NumPy array"
        raise DTypeError(message)
    if value.dtype.kind != "f" or (dtype is not None and value.dtype != dtype):
        floats = "floating" if value.dtype.name != "bfloat16" else "float16, float32 or float64"
        raise DTypeError(messages.wrong_dtype(call, name, str(value.dtype), str(dtype or floats)))


def check_length(call: str, value: Array, name: str, number: int, slot: Slot) -> None:
    """Reject an array whose length differs from that of its slot."""
    if value.size != slot.length:
        message = f"{call}: {name} has {value.size} elements but slot {number} has {slot.length}"
        raise ShapeError(message)


def check_alike(call: str, a: Slot, b: Slot, *, by_length: bool = True) -> None:
    """Reject two slots of different dtypes or lengths, because nothing is broadcast."""
    if by_length and a.length != b.length:
        message = f"{call}: a has {a.length} elements but b has {b.length}"
        raise ShapeError(message)
    if a.dtype != b.dtype:
        raise DTypeError(messages.mixed_dtypes(call, str(a.dtype), "a", str(b.dtype), "b"))


def check_moment(name: str, given: Array, real: Array, largest: float) -> None:
    """Reject a mean or a variance that differs from that of its row by more than rounding errors of `largest`."""
    tolerance = float(np.finfo(real.dtype).eps) ** 0.5
    with np.errstate(invalid="ignore"):  # NaN is detected in the backward pass, as in any other gradient
        wrong = np.abs(np.subtract(given, real, dtype=np.float64)) > tolerance * (np.abs(real) + largest)
    if wrong.any():
        row = int(wrong.argmax())
        message = f"record_layer_norm: {name} of row {row} is {given[row]:.6g} but that of x_data is {real[row]:.6g}"
        raise ValueError(message)


def check_buffers(slots: Sequence[Slot], tensors: Sequence[Any]) -> None:
    """Reject gradient buffers that are too few, of another length or dtype, read-only, or shared by two slots."""
    if len(tensors) < len(slots):
        message = f"backward: {counted(len(tensors), 'buffer')} given but the tape has {counted(len(slots), 'slot')}"
        raise ShapeError(message)
    owners: dict[int, int] = {}
    for number, (slot, buffer) in enumerate(zip(slots, tensors, strict=False)):
        name = f"tensors[{number}]"
        check_floats("backward", buffer, name, slot.dtype)
        check_length("backward", buffer, name, number, slot)
        if not buffer.flags.writeable:
            message = f"backward: {name} is read-only"
            raise ValueError(message)
        if owners.setdefault(id(buffer), number) != number:
            message = f"backward: tensors[{owners[id(buffer)]}] and {name} are one buffer"
            raise TapeError(message)


def check_finite(gradient: Array, op: str, slot: int) -> None:
    """Reject a gradient with a NaN or an infinity."""
    finite = np.isfinite(gradient)
    if not finite.all():
        raise NumericalInstabilityError(op, slot, int((~finite).sum()), finite.size)
