"""What an instance of a generic class remembers of its class's type variables: what its guarded `__init__` bound."""

from __future__ import annotations

from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FunctionType

_MEMORY: Final = "_bound_by_init"  # on the instance, so that copies and pickles of it remember too


class Memory(dict[str, "Mapping[str, Any]"]):
    """What an instance remembers, by class: of a type of its own, so that no module looks for parameters in it."""


_NOTHING: Mapping[str, Any] = MappingProxyType({})


def class_of(function: FunctionType, instance: object) -> type | None:
    """Return the class whose body has a function, found among those of an instance; None if there is none."""
    name = function.__qualname__.rpartition(".")[0]
    for cls in type(instance).__mro__:
        if cls.__qualname__ == name and cls.__module__ == function.__module__:
            return cls
    return None


def remember(instance: object, owner: type, values: dict[str, Any]) -> None:
    """Note what the variables of a class stand for in an instance, by label."""
    with suppress(AttributeError):  # slots leave no room for it
        instance.__dict__.setdefault(_MEMORY, Memory())[_key(owner)] = values


def remembered(instance: object, owner: type) -> Mapping[str, Any]:
    """Return what an instance remembers of the variables of a class, by label."""
    return recalling(owner)(instance)


def recalling(owner: type | None) -> Callable[[object], Mapping[str, Any]]:
    """Return a function that does what `remembered` does of one class, or of none, in a third of the time."""
    key = "" if owner is None else _key(owner)

    def recalled(instance: object) -> Mapping[str, Any]:
        try:
            memory: Mapping[str, Any] = instance.__dict__[_MEMORY][key]
        except (AttributeError, KeyError):
            return _NOTHING
        return memory

    return recalled


def _key(owner: type) -> str:
    return f"{owner.__module__}.{owner.__qualname__}"
