"""Functions that are called with each subclass of a class, also with those that are defined later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_REGISTERED: Final[list[tuple[type, Callable[[Any], None]]]] = []


def for_each_subclass(base: type, register: Callable[[Any], None]) -> None:
    """Call a function with a class and each of its subclasses, and with each later one when it is defined."""
    waiting, seen = [base], set[type]()
    while waiting:
        kind = waiting.pop()
        if kind not in seen:
            seen.add(kind)
            register(kind)
            waiting += kind.__subclasses__()
    _REGISTERED.append((base, register))


def subclass_defined(kind: type) -> None:
    """Call the functions of `for_each_subclass` with a new class; its base class calls this."""
    for base, register in _REGISTERED:
        if issubclass(kind, base):
            register(kind)
