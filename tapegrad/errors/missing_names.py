"""Raise the errors about names of PyTorch and NumPy: of modules, classes and arguments."""

from __future__ import annotations

import sys
from inspect import Parameter, signature
from typing import TYPE_CHECKING, NoReturn

from typing_extensions import override

from tapegrad.errors.other_names import (
    ARGUMENTS,
    WITHOUT,
    missing,
    name_error,
    parameters_by_kind,
    unexpected,
    unnamed,
)
from tapegrad.errors.tracebacks import trim_on_exit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def attribute_of_instance(owner: str) -> Callable[[object, str], NoReturn]:
    """Return the `__getattr__` of a class, which says what to use for a name of PyTorch."""

    def reject(instance: object, name: str) -> NoReturn:
        kind = type(instance).__name__
        message = missing(owner, name, kind) or f"{kind!r} object has no attribute {name!r}"
        with trim_on_exit:
            raise AttributeError(message, name=name, obj=instance)

    return reject


def attribute_of(module: str) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module, which says what to use for a name of PyTorch or NumPy."""

    def reject(name: str) -> NoReturn:
        with trim_on_exit:
            raise name_error(module, name, sys._getframe(1))

    return reject


class MissingMethod:
    """A class attribute that raises an AttributeError which says what to use instead, also where it is assigned to."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, _instance: object, _owner: type) -> NoReturn:
        with trim_on_exit:
            raise AttributeError(missing("Tensor", self.name))

    def __set__(self, _instance: object, _value: object) -> NoReturn:
        with trim_on_exit:
            raise AttributeError(missing("Tensor", self.name))

    @override
    def __repr__(self) -> str:
        return f"<{missing('Tensor', self.name)}>"


def check_arguments(cls: type, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
    """Raise if an argument of a class has the name that PyTorch gives it, or no name where it needs one.

    Raises:
        TypeError: The class has the argument by another name, or by name only, or does without it.
    """
    is_named = ARGUMENTS.keys().isdisjoint(kwargs) and WITHOUT.keys().isdisjoint(kwargs)
    if is_named and not (args and cls.__module__.startswith("tapegrad.")):
        return
    parameters = _parameters_of(cls)
    message = ""
    if not is_named and all(one.kind is not Parameter.VAR_KEYWORD for one in parameters.values()):
        message = unexpected(cls.__name__, kwargs, parameters)
    kinds = parameters_by_kind(parameters.values())
    if kinds is not None and len(args) > len(kinds[0]):
        message = unnamed(cls.__name__, *kinds)
    if message:
        with trim_on_exit:
            raise TypeError(message)


def _parameters_of(cls: type) -> Mapping[str, Parameter]:
    created = cls.__init__  # type: ignore[misc]  # of the class that is instantiated
    if created is object.__init__:
        return {}
    _, *parameters = signature(created).parameters.values()
    return {one.name: one for one in parameters}
