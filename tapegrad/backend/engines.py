"""Which engine a value belongs to: asked by type, answered from a table that engines enter themselves in."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.backend.numpy import NumPy

if TYPE_CHECKING:
    from tapegrad.backend.value import Backend

_by_type: dict[type, Backend[Any]] = {}
# Engines above this floor register when they are imported, and that is when the first of their values is seen.
_rooms = {"tapegrad.tensor.Tensor": "tapegrad.autodiff"}


def register(backend: Backend[Any], *types: type) -> None:
    """Makes `backend` the engine of all values of these types."""
    _by_type.update(dict.fromkeys(types, backend))


def engine(*values: Any) -> Backend[Any]:
    """Returns the engine that computes with these values: of several, the one that is not NumPy.

    Raises:
        TypeError: No engine computes with a value of this type.
    """
    kind = type(values[0])
    for value in values[1:]:
        if type(value) not in _numpy_types:
            kind = type(value)
            break
    try:
        return _by_type[kind]
    except KeyError:
        return _entered(kind)


def _entered(kind: type) -> Backend[Any]:
    """Enters the engine of the nearest base in the table."""
    for base in kind.__mro__:
        room = _rooms.get(f"{base.__module__}.{base.__qualname__}")
        if room is not None:
            importlib.import_module(room)
        if base in _by_type:
            return _by_type.setdefault(kind, _by_type[base])
    message = f"no engine computes with a {kind.__name__}"
    raise TypeError(message)


_numpy_types: frozenset[type] = frozenset({np.ndarray, *np.sctypeDict.values()})
register(NumPy(), *_numpy_types)
