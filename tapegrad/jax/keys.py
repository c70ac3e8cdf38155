"""Keys of compiled programs; they hold references to the objects they identify, so that no address is reused."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tapegrad.autograd.identity import Same

if TYPE_CHECKING:
    from collections.abc import Callable


def counts_by_value(value: object) -> bool:
    """Return whether a value is compared by its value, and not by identity."""
    return type(value) in _BY_TYPE or isinstance(value, np.generic | np.dtype)


def key_of(value: Any) -> tuple[Any, ...]:
    """Return a key that is equal for values of the same type that no program can distinguish.

    0.0 and -0.0 have two keys, and a NaN has one. Tuples and frozensets of values are compared by their elements, in
    order. Every other object is compared by identity.
    """
    kind = type(value)
    if (of_value := _BY_TYPE.get(kind)) is not None:
        return kind, of_value(value)
    if kind in (tuple, frozenset):
        return kind, tuple(map(key_of, value))
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return kind, value.dtype, value.tobytes()
    if isinstance(value, np.dtype):
        return kind, value
    return kind, Same(value)


def content_of(value: Any) -> tuple[Any, ...]:
    """Return the current content of a NumPy array, or of another block of memory."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    view = memoryview(value)
    return view.format, view.shape, view.tobytes()


def _itself(value: Any) -> Any:
    return value


def _bits(value: complex) -> bytes:
    return pack("<dd", value.real, value.imag)


_BY_TYPE: Final[dict[type, Callable[[Any], Any]]] = {
    bool: _itself,
    int: _itself,
    float: _bits,
    complex: _bits,
    str: _itself,
    bytes: _itself,
    type(None): _itself,
    type(...): _itself,
    type(NotImplemented): _itself,
    range: lambda value: (value.start, value.stop, value.step),
    slice: lambda value: (key_of(value.start), key_of(value.stop), key_of(value.step)),
}
