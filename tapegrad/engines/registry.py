"""Lookup of the engine for a value, by its type; each engine registers its types."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapegrad.engines.interface import Backend

_by_type: dict[type, Backend[Any]] = {}
_numpy_types: set[type] = set()
# An engine registers when its module is imported, which happens when the first of its values is used: some of these
# modules are in a higher layer, and code that only reads the shape rules of the ops needs no NumPy.
_modules = {
    "tapegrad.jax.traced.Traced": "tapegrad.jax.engine",
    "numpy.generic": "tapegrad.engines.numba.engine",
    "numpy.ndarray": "tapegrad.engines.numba.engine",
    "tapegrad.engines.numpy.half_array.Halves": "tapegrad.engines.numpy.half",
    "tapegrad.tensors.Tensor": "tapegrad.autodiff",
}


def register(backend: Backend[Any], *types: type) -> None:
    """Register `backend` as the engine of all values of these types."""
    _by_type.update(dict.fromkeys(types, backend))
    if backend.name == "numpy":
        _numpy_types.update(types)


def engine(value: Any, *others: Any) -> Backend[Any]:
    """Return the engine for these values: the one that is not NumPy if there is one.

    Of two such engines it is that of tensors, which accepts raw values as operands.

    Raises:
        TypeError: No engine computes with a value of this type.
    """
    chosen = value
    for other in others:
        if type(other) not in _numpy_types and not hasattr(chosen, "tape"):
            chosen = other
    kind = type(chosen)
    try:
        return _by_type[kind]
    except KeyError:
        _enter(kind)
        return engine(value, *others)  # the import may have registered more of them as NumPy's


def _enter(kind: type) -> None:
    """Register a type with the engine of the nearest of its bases in the table."""
    for base in kind.__mro__:
        module = _modules.get(f"{base.__module__}.{base.__qualname__}")
        if module is not None:
            importlib.import_module(module)
            if kind in _by_type:
                return
        if base in _by_type:
            register(_by_type[base], kind)
            return
    from tapegrad.errors.messages import with_article

    message = f"no engine computes with {with_article(kind.__name__)}"
    raise TypeError(message)
