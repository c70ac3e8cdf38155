"""The values of a generic class's type variables, stored in the instance by its guarded `__init__`."""

from __future__ import annotations

from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FunctionType

_ATTRIBUTE: Final = "_bound_by_init"  # an attribute of the instance, so that copies and pickles have it too


class StoredSizes(dict[str, "Mapping[str, Any]"]):
    """The stored values, by class; a separate type, so that modules do not search it for parameters."""


_NOTHING: Mapping[str, Any] = MappingProxyType({})


def class_of(function: FunctionType, instance: object) -> type | None:
    """Return the class of an instance, or the base class, that defines a function; None if there is none."""
    name = function.__qualname__.rpartition(".")[0]
    for cls in type(instance).__mro__:
        if cls.__qualname__ == name and cls.__module__ == function.__module__:
            return cls
    return None


def store_sizes(instance: object, owner: type, values: dict[str, Any]) -> None:
    """Store the values of a class's type variables in an instance, by label."""
    with suppress(AttributeError):  # an instance with slots has no `__dict__`
        instance.__dict__.setdefault(_ATTRIBUTE, StoredSizes())[_key(owner)] = values


def stored_sizes(instance: object, owner: type) -> Mapping[str, Any]:
    """Return the stored values of a class's type variables in an instance, by label."""
    return stored_sizes_of(owner)(instance)


def stored_sizes_of(owner: type | None) -> Callable[[object], Mapping[str, Any]]:
    """Return a function that does what `stored_sizes` does for one class, or for None."""
    key = "" if owner is None else _key(owner)

    def of_instance(instance: object) -> Mapping[str, Any]:
        try:
            memory: Mapping[str, Any] = instance.__dict__[_ATTRIBUTE][key]
        except (AttributeError, KeyError):
            return _NOTHING
        return memory

    return of_instance


def _key(owner: type) -> str:
    return f"{owner.__module__}.{owner.__qualname__}"
